// A station's view: what stands at the right, always in the same order. A view is
//   { title, tensor, where, strips, extra?, main, hand0, formula(i), stats, sentence(i) }
// `main` is the strip whose cell is in hand, `hand0` the cell in hand when nobody chose another.

function tools(packet, station, words) {
  const { t, num } = words;
  const block = station.block - 1;
  const nameOf = (short) => `blocks.${block}.${short}`;
  const get = (name) => packet.get(name);

  // A recorded number inside a formula: it says where it comes from, to the last digit.
  const rec = (name, i, digits = packet.digits(name)) => {
    const value = get(name)[i];
    return el("b", { "data-name": name, "data-index": i, "data-value": String(value) }, num(value, digits));
  };
  // A number made from recorded ones.
  const made = (value, digits = 4) => el("b", { "data-made": String(value) }, num(value, digits));
  const power = (node) => el("sup", {}, node);
  // A factor: a negative one stands in brackets.
  const factor = (node) => (node.textContent.startsWith(MINUS) ? ["(", node, ")"] : [node]);
  const line = (key, values = {}) => {
    const woven = weave(t(key), values).flat();
    return woven.map((part) => (part instanceof Node ? part.cloneNode(true) : String(part)));
  };

  const component = (values, name) => (i) =>
    t("cell_component", { i: words.int(i), value: words.say(values[i], packet.has(name) ? packet.digits(name) : 4) });
  // Six heads side by side in one vector: which head, which of its numbers.
  const inHead = (values, name) => (i) => {
    const width = packet.config.d_model / packet.config.n_head;
    return t("cell_head", { head: Math.floor(i / width) + 1, i: i % width, value: words.say(values[i], packet.digits(name)) });
  };
  const strip = (label, name, values, options = {}) => ({
    label, name, values,
    short: options.short ?? name.replace(/^blocks\.\d+\./, ""),
    columns: options.columns ?? columnsFor(values.length),
    rowName: options.rowName,
    scale: options.scale,
    note: options.note ?? t("norm_is", { short: options.short ?? name.replace(/^blocks\.\d+\./, ""), value: num(normOf(values)) }),
    describe: (options.describe ?? component)(values, name),
  });
  return { t, num, words, packet, station, config: packet.config, nameOf, get, rec, made, factor, power, line, strip, inHead };
}

// Strips that are compared share one scale.
function sameScale(strips) {
  const scale = maxAbs(strips.map((s) => s.values));
  strips.forEach((s) => { s.scale = scale; });
  return strips;
}
function ownScale(strips) {
  strips.forEach((s) => { s.scale = maxAbs([s.values]); });
  return strips;
}

function statsOf(values, shape, words, extra = []) {
  return [
    { key: "shape", text: `[${shape.map((n) => n).join(", ")}]` },
    { key: "mean", value: meanOf(values) },
    { key: "std", value: Math.sqrt(varOf(values)) },
    { key: "norm", value: normOf(values) },
    ...extra,
  ];
}

// What is no number is a result: it is said before anything else is.
function strangeSentence(values, words) {
  const bad = countOf(values, (x) => !Number.isFinite(x));
  if (bad) return words.t("say_strange", { bad: words.int(bad), all: words.int(values.length) });
  if (values.length && !values.some((x) => x !== 0)) return words.t("say_all_zero", { all: words.int(values.length) });
  return null;
}
