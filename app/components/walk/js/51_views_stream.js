// Stations on the stream: the embedding, the LayerNorms, the two additions (or replacements).

function viewEmbed(k) {
  const token = k.get("embed"), position = k.get("pos_embed"), sum = k.get("blocks.0.resid_pre");
  const id = k.packet.head.ids[k.packet.head.position], place = k.packet.head.position;
  const strips = sameScale([
    k.strip(k.t("strip_token", { token: quoted(k.packet.token) }), "embed", token),
    k.strip(k.t("strip_position", { position: place }), "pos_embed", position),
    k.strip(k.t("strip_sum"), "blocks.0.resid_pre", sum),
  ]);
  return {
    title: k.t("station_embed"), tensor: "blocks.0.resid_pre", strips, main: 2, hand0: largestIndex(sum),
    formula: (i) => [
      k.line("f_embed", { id, position: place }),
      k.line("f_component_sum", { i: k.words.int(i), a: k.rec("embed", i), b: k.factor(k.rec("pos_embed", i)), c: k.rec("blocks.0.resid_pre", i) }),
    ],
    stats: statsOf(sum, [sum.length], k.words),
    sentence: () => strangeSentence(sum, k.words) ?? k.t(place === 0 ? "say_embed_bos" : "say_embed", {
      token: quoted(k.packet.token), a: k.num(normOf(token), 3), b: k.num(normOf(position), 3), c: k.num(normOf(sum), 3),
    }),
  };
}

// What a LayerNorm reads, and under which name it was recorded (a sum before a post-norm was not).
function normInput(k, which) {
  if (which === "ln_final") return { values: k.get(`blocks.${k.config.n_layer - 1}.resid_post`), name: `blocks.${k.config.n_layer - 1}.resid_post` };
  const first = which === "ln1";
  if (k.config.norm === "pre") {
    const name = k.nameOf(first ? "resid_pre" : "resid_mid");
    return { values: k.get(name), name };
  }
  return sumBefore(k, first);
}

// Post-norm: the addition (or the replacement) before the LayerNorm.
function sumBefore(k, first) {
  const before = k.nameOf(first ? "resid_pre" : "resid_mid"), delta = k.nameOf(first ? "attn_out" : "mlp_out");
  if (!k.config.residual) return { values: k.get(delta), name: delta };
  return { values: addOf(k.get(before), k.get(delta)), name: null, label: first ? "resid_pre + attn_out" : "resid_mid + mlp_out" };
}

function viewNorm(k, which) {
  const prefix = which === "ln_final" ? "ln_final" : k.nameOf(which);
  const input = normInput(k, which);
  const normalized = k.get(`${prefix}.normalized`), out = k.get(`${prefix}.out`);
  const affine = k.packet.has(`${prefix}.gamma`);
  const mean = meanOf(input.values), variance = varOf(input.values), eps = k.config.ln_eps;
  const strips = ownScale([
    k.strip(k.t("strip_before"), input.name ?? input.label, input.values),
    k.strip(k.t("strip_normalized"), `${prefix}.normalized`, normalized),
    ...(affine ? [k.strip(k.t("strip_scaled"), `${prefix}.out`, out)] : []),
  ]);
  const last = affine ? `${prefix}.out` : `${prefix}.normalized`;
  const x = (i) => (input.name ? k.rec(input.name, i) : k.made(input.values[i]));
  const formula = (i) => [
    k.line("f_norm"),
    k.line("f_norm_numbers", { i: k.words.int(i), x: x(i), mean: k.factor(k.made(mean)), var: k.made(variance), eps: k.made(eps), y: k.rec(`${prefix}.normalized`, i) }),
    ...(affine ? [k.line("f_affine", { g: k.rec(`${prefix}.gamma`, i), x: k.factor(k.rec(`${prefix}.normalized`, i)), b: k.factor(k.rec(`${prefix}.beta`, i)), y: k.rec(last, i) })] : []),
  ];
  return {
    title: k.t(`station_${which}`), tensor: last, strips, main: strips.length - 1, hand0: largestIndex(k.get(last)), formula,
    alias: k.config.norm === "post" ? k.nameOf(which === "ln1" ? "resid_mid" : "resid_post") : null,
    ownScales: true,
    stats: statsOf(k.get(last), [out.length], k.words),
    sentence: () => strangeSentence(out, k.words) ?? normSentence(k, { mean, variance, eps, normalized, out, affine, which }),
  };
}

function normSentence(k, n) {
  const key = n.which === "ln_final" ? "say_norm_final" : k.config.norm === "post" ? "say_norm_post" : "say_norm_pre";
  return k.t(key, {
    mean: k.num(n.mean, 2), std: k.num(Math.sqrt(n.variance), 3), var: k.num(n.variance / (n.variance + n.eps), 7),
    norm: k.num(normOf(n.out), 3),
  });
}

// Before + delta = after; without a residual the branch's output takes the stream's place.
function viewAddition(k, first) {
  const before = k.nameOf(first ? "resid_pre" : "resid_mid"), delta = k.nameOf(first ? "attn_out" : "mlp_out");
  const recorded = k.nameOf(first ? "resid_mid" : "resid_post");
  const post = k.config.norm === "post";
  const after = post ? sumBefore(k, first) : { values: k.get(recorded), name: recorded };
  const shown = after.name ?? after.label;
  const replaced = !k.config.residual;
  const strips = sameScale([
    { ...k.strip(k.t(replaced ? "strip_dropped" : "strip_before"), before, k.get(before)), crossed: replaced },
    k.strip(k.t(replaced ? "strip_branch" : "strip_delta"), delta, k.get(delta)),
    k.strip(k.t("strip_after"), shown, after.values, { short: after.label }),
  ]);
  const c = (i) => (after.name ? k.rec(after.name, i) : k.made(after.values[i]));
  const branch = first ? "Attention" : "MLP";
  const rule = replaced ? "f_replace" : "f_add";
  const inner = k.config.norm === "pre" ? `${branch}(LayerNorm(x))` : `${branch}(x)`;
  const error = replaced ? largestError(k.get(delta), new Float32Array(after.values.length), after.values) : largestError(k.get(before), k.get(delta), after.values);
  return {
    title: k.t(replaced ? (first ? "station_replace_1" : "station_replace_2") : first ? "station_resid_mid" : "station_resid_post"),
    tensor: shown, strips, main: 2, hand0: largestIndex(after.values),
    formula: (i) => [
      k.line(rule, { branch: inner }),
      replaced
        ? k.line("f_component_replace", { i: k.words.int(i), a: k.rec(before, i), b: k.rec(delta, i), c: c(i) })
        : k.line("f_component_sum", { i: k.words.int(i), a: k.rec(before, i), b: k.factor(k.rec(delta, i)), c: c(i) }),
    ],
    stats: statsOf(after.values, [after.values.length], k.words, [{ key: "error", value: error }]),
    sentence: () => strangeSentence(after.values, k.words) ?? additionSentence(k, k.get(before), k.get(delta), after.values),
  };
}

function additionSentence(k, before, delta, after) {
  const ratio = normOf(delta) / normOf(before), angle = angleOf(before, after);
  const values = { share: k.words.share(ratio), angle: k.words.degrees(angle), a: k.num(normOf(before), 3), b: k.num(normOf(after), 3) };
  if (!k.config.residual) return k.t("say_replace", values);
  if (!Number.isFinite(ratio)) return k.t("say_add_from_zero", values);
  if (ratio < 0.15) return k.t("say_add_small", values);
  return k.t(ratio < 1 ? "say_add" : "say_add_large", values);
}
