// Stations of the attention branch: queries, keys, values; scores and pattern; values gathered.

function headsOf(k) {
  const heads = k.config.n_head;
  return { heads, width: k.config.d_model / heads };
}

function viewQkv(k) {
  const { heads, width } = headsOf(k);
  const names = ["q", "k", "v"].map((letter) => k.nameOf(`attn.${letter}`));
  const options = { columns: width, rowName: true, describe: k.inHead };
  const strips = sameScale(names.map((name, j) => k.strip(k.t(`strip_${"qkv"[j]}`), name, k.get(name), options)));
  const q = k.get(names[0]), key = k.get(names[1]);
  const own = k.packet.head.position;
  const norms = Array.from({ length: heads }, (_, h) => normOf(q.subarray(h * width, (h + 1) * width)));
  return {
    title: k.t("station_qkv"), tensor: names[0], strips, main: 0, hand0: largestIndex(q), note: k.t("row_is_head"),
    formula: (i) => {
      const h = Math.floor(i / width);
      const dot = dotOf(q.subarray(h * width, (h + 1) * width), key.subarray(h * width, (h + 1) * width));
      const keys = own + 1;
      return [
        k.line("f_qkv", { x: k.config.norm === "pre" ? "LayerNorm(x)" : "x" }),
        k.line("f_qkv_numbers", { head: h + 1, i: i % width, q: k.rec(names[0], i), k: k.rec(names[1], i), v: k.rec(names[2], i) }),
        k.line("f_self_score", { width, dot: k.made(dot), root: k.made(Math.sqrt(width)), score: k.rec(k.nameOf("attn.scores"), h * keys + own) }),
      ];
    },
    stats: statsOf(q, [heads, width], k.words),
    sentence: () => strangeSentence(q, k.words) ?? k.t("say_qkv", {
      heads: k.words.int(heads), width: k.words.int(width), head: largestIndex(norms) + 1, norm: k.num(norms[largestIndex(norms)], 3),
    }),
  };
}

const keyName = (k, j) => (j === 0 ? "BOS" : visible(k.packet.head.labels[j]));

function viewPattern(k) {
  const { heads, width } = headsOf(k);
  const keys = k.packet.head.position + 1;
  const scoreName = k.nameOf("attn.scores"), patternName = k.nameOf("attn.pattern");
  const scores = k.get(scoreName), pattern = k.get(patternName);
  const describe = (template) => (values, name) => (i) => k.t(template, {
    head: Math.floor(i / keys) + 1, key: keyName(k, i % keys), j: i % keys,
    value: template === "cell_share" ? k.words.share(values[i]) : k.words.say(values[i], k.packet.digits(name)),
  });
  const options = (template) => ({ columns: keys, rowName: true, describe: describe(template), note: " " });
  const strips = ownScale([
    k.strip(k.t("strip_scores"), scoreName, scores, options("cell_score")),
    k.strip(k.t("strip_pattern"), patternName, pattern, options("cell_share")),
  ]);
  strips.forEach((s) => { s.note = s.short; });
  const row = (i) => Math.floor(i / keys);
  return {
    title: k.t("station_pattern"), tensor: patternName, strips, main: 1, hand0: largestIndex(pattern), note: k.t("row_is_head_keys"),
    ownScales: true, heads: { count: heads, keys, pattern, patternName },
    formula: (i) => patternFormula(k, { i, keys, width, scores, scoreName, patternName }),
    stats: statsOf(pattern, [heads, keys], k.words),
    sentence: (i) => strangeSentence(pattern, k.words) ?? patternSentence(k, pattern, row(i), keys, heads),
  };
}

function patternFormula(k, { i, keys, width, scores, scoreName, patternName }) {
  const h = Math.floor(i / keys), j = i % keys;
  const own = scores.subarray(h * keys, (h + 1) * keys);
  const top = Math.max(...own);
  const shift = Math.abs(top) > 40 ? top : 0; // e^score as it is, unless it would overflow
  const total = sumOf(own, (s) => Math.exp(s - shift));
  const values = {
    head: h + 1, key: keyName(k, j), j, width, dot: k.made(scores[h * keys + j] * Math.sqrt(width)), root: k.made(Math.sqrt(width)),
    score: k.rec(scoreName, i), power: k.power(shift ? el("span", {}, k.rec(scoreName, i), " − ", ...k.factor(k.made(top))) : k.rec(scoreName, i)), e: k.made(Math.exp(scores[i] - shift)), total: k.made(total), p: k.rec(patternName, i),
    n: keys,
  };
  return [k.line("f_score"), k.line("f_score_numbers", values), k.line("f_softmax", values)];
}

function patternSentence(k, pattern, h, keys, heads) {
  const own = pattern.subarray(h * keys, (h + 1) * keys);
  const best = largestIndex(own);
  const onBos = countOf(Array.from({ length: heads }, (_, g) => largestIndex(pattern.subarray(g * keys, (g + 1) * keys))), (j) => j === 0);
  if (keys === 1) return k.t("say_pattern_bos", { heads: k.words.int(heads) });
  const what = best === 0 ? "say_pattern_to_bos" : best === keys - 1 ? "say_pattern_self" : "say_pattern";
  return `${k.t(what, { head: h + 1, share: k.words.share(own[best]), key: keyName(k, best), j: best })} ${k.t("say_pattern_all", { n: k.words.int(onBos), heads: k.words.int(heads) })}`;
}

// z = sum of pattern x values, then the output projection.
function viewAttnOut(k) {
  const { heads, width } = headsOf(k);
  const zName = k.nameOf("attn.z"), outName = k.nameOf("attn_out"), vName = k.nameOf("attn.v");
  const z = k.get(zName), out = k.get(outName), v = k.get(vName);
  const keys = k.packet.head.position + 1;
  const strips = ownScale([
    k.strip(k.t("strip_z"), zName, z, { columns: width, rowName: true, describe: k.inHead }),
    k.strip(k.t("strip_attn_out"), outName, out),
  ]);
  return {
    title: k.t("station_attn_out"), tensor: outName, strips, main: 1, hand0: largestIndex(out), ownScales: true, note: k.t("row_is_head_z"),
    formula: (i) => {
      const h = Math.floor(i / width), p = h * keys + keys - 1; // z is the heads side by side
      const self = k.get(k.nameOf("attn.pattern"))[p] * v[i];
      return [
        k.line("f_z"),
        k.line(keys === 1 ? "f_z_alone" : "f_z_numbers", {
          head: h + 1, i: i % width, p: k.rec(k.nameOf("attn.pattern"), p), v: k.factor(k.rec(vName, i)), n: keys - 1,
          rest: k.factor(k.made(z[i] - self)), z: k.rec(zName, i),
        }),
        k.line("f_project", { i: k.words.int(i), n: k.words.int(z.length), out: k.rec(outName, i) }),
      ];
    },
    stats: statsOf(out, [out.length], k.words),
    sentence: () => strangeSentence(out, k.words) ?? k.t("say_attn_out", {
      heads: k.words.int(heads), z: k.num(normOf(z), 3), out: k.num(normOf(out), 3),
    }),
  };
}
