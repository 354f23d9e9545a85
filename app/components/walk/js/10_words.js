// Words and numbers. Every text comes from Python, already in the reader's language; every number
// is written here, with the decimal mark of that language and a minus sign that can be seen.

const MINUS = "\u2212";
const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

function makeWords(lang, strings) {
  const plain = new Map();
  const whole = new Intl.NumberFormat(lang, { maximumFractionDigits: 0 });
  const ungrouped = new Intl.NumberFormat(lang, { maximumFractionDigits: 0, useGrouping: false });
  const digitsOf = (d) => {
    if (!plain.has(d)) plain.set(d, new Intl.NumberFormat(lang, { minimumSignificantDigits: d, maximumSignificantDigits: d, useGrouping: false }));
    return plain.get(d);
  };
  const signed = (text) => text.replace(/^-/, MINUS);

  // "{name}" in a template becomes its value; a missing template shows its key, so that it is seen.
  const t = (key, values = {}) =>
    (strings[key] ?? key).replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all));

  // Four significant digits; very large and very small numbers as powers of ten.
  const num = (x, digits = 4) => {
    if (Number.isNaN(x)) return "NaN";
    if (!Number.isFinite(x)) return x > 0 ? "∞" : MINUS + "∞";
    const size = Math.abs(x);
    if (Number.isInteger(x) && size < 1e4) return signed(ungrouped.format(x));
    if (size >= 1e-3 && size < 1e4) return signed(digitsOf(digits).format(x));
    const [head, power] = x.toExponential(digits - 1).split("e");
    const raised = [...String(Number(power))].map((c) => RAISED[c]).join("");
    return `${signed(digitsOf(digits).format(Number(head)))} × 10${raised}`;
  };

  // The same for a number that stands alone: zero and the non-finite ones are said in words.
  const say = (x, digits = 4) => {
    if (Number.isNaN(x)) return t("nan");
    if (!Number.isFinite(x)) return t(x > 0 ? "infinity" : "minus_infinity");
    return x === 0 ? t("zero") : num(x, digits);
  };

  const share = (x) => {
    if (!Number.isFinite(x)) return num(x);
    const percent = 100 * x;
    const small = Math.abs(percent) < 9.95;
    if (percent > 0 && percent < 0.05) return t("percent_below", { n: digitsOf(1).format(0.1) });
    const format = new Intl.NumberFormat(lang, { maximumFractionDigits: small ? 1 : 0 });
    return t("percent", { n: signed(format.format(percent)) });
  };

  quotes = t("quoted", { label: "\n" }).split("\n");
  const degrees = (x) => (Number.isFinite(x) ? num(x, x < 10 ? 2 : 3) + "°" : num(x));
  return { lang, t, num, say, share, degrees, int: (n) => signed(whole.format(n)) };
}

// A token's text with what cannot be seen made visible.
function visible(label) {
  if (label === "<bos>") return "BOS";
  const marks = { " ": "·", "\n": "↵", "\t": "⇥", "\u00a0": "·" };
  const asByte = (c) => `<${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}>`;
  return label.replace(/[\u0000-\u0020\u007f-\u00a0]/g, (c) => marks[c] ?? asByte(c));
}
let quotes = ["“", "”"]; // those of the language in force
const quoted = (label) => quotes[0] + visible(label) + quotes[1];

// DOM helpers. Text only ever goes in as text, never as markup.
function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}
function svgEl(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// A template whose values may be nodes: "{a} + {b} = {c}" -> text and elements in order.
function weave(template, values) {
  return template.split(/(\{\w+\})/).filter(Boolean).map((part) => {
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    return name && name in values ? values[name] : part;
  });
}
