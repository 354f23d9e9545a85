// Stations of the MLP branch, and the end: logits.

function mlpInput(k) {
  return k.config.norm === "pre" ? k.nameOf("ln2.out") : k.nameOf("resid_mid");
}
const activationName = (k) => (k.config.act_fn === "relu" ? "ReLU" : "GELU");

function viewMlpPre(k) {
  const input = mlpInput(k), name = k.nameOf("mlp.pre");
  const x = k.get(input), pre = k.get(name);
  const strips = ownScale([k.strip(k.t("strip_read"), input, x), k.strip(k.t("strip_pre"), name, pre)]);
  const positive = countOf(pre, (u) => u > 0);
  return {
    title: k.t("station_mlp_pre"), tensor: name, strips, main: 1, hand0: largestIndex(pre), ownScales: true,
    formula: (i) => [
      k.line("f_expand", { x: k.config.norm === "pre" ? "LayerNorm(x)" : "x" }),
      k.line("f_expand_numbers", { i: k.words.int(i), n: k.words.int(x.length), u: k.rec(name, i) }),
    ],
    stats: statsOf(pre, [pre.length], k.words),
    sentence: () => strangeSentence(pre, k.words) ?? k.t("say_mlp_pre", {
      d: k.words.int(x.length), m: k.words.int(pre.length), ratio: k.num(pre.length / x.length), n: k.words.int(positive), share: k.words.share(positive / pre.length),
    }),
  };
}

function viewMlpPost(k) {
  const preName = k.nameOf("mlp.pre"), name = k.nameOf("mlp.post");
  const pre = k.get(preName), post = k.get(name), form = k.config.act_fn;
  const strips = sameScale([k.strip(k.t("strip_pre_short"), preName, pre), k.strip(k.t("strip_post", { f: activationName(k) }), name, post)]);
  const firing = countOf(post, (u) => u > 0);
  const energy = sumOf(post, (u) => u * u), sorted = Float32Array.from(post, (u) => u * u).sort();
  const tenth = Math.max(1, Math.round(post.length / 10));
  const top = sumOf(sorted.subarray(sorted.length - tenth), (u) => u) / energy;
  return {
    title: k.t(form === "relu" ? "station_relu" : "station_gelu"), tensor: name, strips, main: 1, hand0: largestIndex(post),
    curve: { form, pre, post, name: activationName(k) },
    formula: (i) => form === "relu"
      ? [k.line("f_relu"), k.line("f_relu_numbers", { i: k.words.int(i), u: k.factor(k.rec(preName, i)), y: k.rec(name, i) })]
      : [
        form === "gelu" ? k.line("f_gelu_exact") : k.line("f_gelu", { c: k.num(0.044715, 5) }),
        k.line("f_gelu_numbers", { i: k.words.int(i), u: k.rec(preName, i), phi: k.made(gateOf(pre[i], form)), y: k.rec(name, i) }),
      ],
    stats: statsOf(post, [post.length], k.words),
    sentence: () => strangeSentence(post, k.words) ?? k.t(form === "relu" ? "say_relu" : "say_gelu", {
      n: k.words.int(firing), m: k.words.int(post.length), share: k.words.share(firing / post.length), top: k.words.share(top), tenth: k.words.int(tenth),
    }),
  };
}

function viewMlpOut(k) {
  const postName = k.nameOf("mlp.post"), name = k.nameOf("mlp_out");
  const post = k.get(postName), out = k.get(name);
  const strips = ownScale([k.strip(k.t("strip_units"), postName, post), k.strip(k.t("strip_mlp_out"), name, out)]);
  return {
    title: k.t("station_mlp_out"), tensor: name, strips, main: 1, hand0: largestIndex(out), ownScales: true,
    formula: (i) => [
      k.line("f_contract"),
      k.line("f_contract_numbers", { i: k.words.int(i), n: k.words.int(post.length), y: k.rec(name, i) }),
    ],
    stats: statsOf(out, [out.length], k.words),
    sentence: () => strangeSentence(out, k.words) ?? k.t("say_mlp_out", {
      m: k.words.int(post.length), d: k.words.int(out.length), norm: k.num(normOf(out), 3),
      before: k.num(normOf(k.get(k.nameOf("resid_mid"))), 3),
    }),
  };
}

function viewLogits(k, state) {
  const logits = k.get("logits");
  const next = k.packet.head.next;
  const labelOf = (id) => { const at = next.ids.indexOf(id); return at >= 0 ? quoted(next.labels[at]) : k.t("token_number", { id: k.words.int(id) }); };
  const describe = (values) => (i) => k.t("cell_logit", { token: labelOf(i), value: k.words.say(values[i]) });
  const strips = ownScale([k.strip(k.t("strip_logits"), "logits", logits, { describe })]);
  const p = softmaxOf(logits, state.temperature);
  const best = next.ids[0];
  const one = softmaxOf(logits, 1);
  let top = -Infinity;
  for (const x of logits) if (x > top) top = x;
  const total = sumOf(logits, (x) => Math.exp((x - top) / state.temperature));
  return {
    title: k.t("station_logits"), tensor: "logits", strips, main: 0, hand0: best, bars: { p, logits, next },
    formula: (i) => [
      k.line(k.config.norm === "pre" ? "f_logit" : "f_logit_plain"),
      k.line("f_logit_numbers", { token: labelOf(i), z: k.rec("logits", i) }),
      k.line("f_softmax_logits", { power: k.power(el("span", {}, "(", k.rec("logits", i), " − ", ...k.factor(k.made(top)), ") / ", k.made(state.temperature))), total: k.made(total), p: k.made(p[i]) }),
    ],
    stats: statsOf(logits, [logits.length], k.words),
    sentence: () => strangeSentence(logits, k.words) ?? k.t("say_logits", {
      token: labelOf(best), p: k.words.share(one[best]), n: k.num(perplexityOf(one), 3),
    }),
  };
}

const VIEWS = {
  embed: viewEmbed, ln1: (k) => viewNorm(k, "ln1"), qkv: viewQkv, pattern: viewPattern, attn_out: viewAttnOut,
  resid_mid: (k) => viewAddition(k, true), ln2: (k) => viewNorm(k, "ln2"), mlp_pre: viewMlpPre, mlp_post: viewMlpPost,
  mlp_out: viewMlpOut, resid_post: (k) => viewAddition(k, false), ln_final: (k) => viewNorm(k, "ln_final"), logits: viewLogits,
};

function viewOf(packet, station, words, state) {
  const view = VIEWS[station.kind](tools(packet, station, words), state);
  const token = quoted(packet.token), place = packet.head.position;
  view.where = ["embed", "ln_final", "logits"].includes(station.kind)
    ? words.t("where_outside", { token, position: place })
    : words.t("where_block", { block: words.int(station.block), token, position: place });
  return view;
}
