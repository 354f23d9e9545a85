// The formulas with the point's numbers. Each line: the formula, the numbers in it, the result.

const LONG = ["gelu_slope", "tanh"]; // their numbers begin a line of their own

function linesAt(arrays, i, written, words) {
  const at = Object.fromEntries(Object.entries(arrays).map(([name, values]) => [name, values[i]]));
  const n = (name) => written.number(at[name]);
  const x = written.fixed(at.x, 2), X = at.x < 0 ? `(${x})` : x;
  const short = (v) => (v === 0 ? "0" : written.fixed(v, 2));
  return {
    gelu: ["x · Φ(x)", `${x} · ${n("phi")}`, n("gelu")],
    gelu_slope: ["Φ(x) + x · φ(x)", `${n("phi")} + ${X} · ${n("density")}`, n("gelu_slope")],
    tanh: ["x · ½ (1 + tanh …)", `${x} · ${n("phi_tanh")}`, n("tanh")],
    tanh_slope: ["", "", n("tanh_slope")],
    difference: [`${words.form} − GELU`, "", n("difference")],
    relu: ["max(0, x)", "", short(at.relu)],
    relu_slope: ["", "", at.relu_slope === null ? words.kink : written.fixed(at.relu_slope, 0)],
    cut: ["GELU − ReLU", "", n("cut")],
  };
}

class Formulas {
  constructor(box) { this.box = box; }

  build(words) {
    const cards = [["gelu", "GELU", ["gelu", "gelu_slope"]], ["tanh", words.form, ["tanh", "tanh_slope", "difference"]], ["relu", "ReLU", ["relu", "relu_slope", "cut"]]];
    const kinds = { gelu_slope: words.slope, tanh_slope: words.slope, relu_slope: words.slope, difference: words.difference, cut: words.difference };
    this.lines = {};
    this.box.replaceChildren(...cards.map(([curve, title, names]) => el("div", { class: "card", "data-curve": curve },
      el("h3", {}, sample(curve), title),
      el("dl", {}, ...names.flatMap((name) => {
        this.lines[name] = el("dd", { "data-line": name });
        return [el("dt", {}, kinds[name] ?? words.value), this.lines[name]];
      })))));
  }

  show(lines) {
    for (const [name, [formula, numbers, result]] of Object.entries(lines)) {
      const parts = formula ? [el("span", { class: LONG.includes(name) ? "own" : "" }, formula)] : [];
      if (numbers) parts.push(" = ", el("span", {}, numbers));
      if (parts.length) parts.push(" = ");
      this.lines[name].replaceChildren(...parts, el("b", {}, result));
    }
  }
}
