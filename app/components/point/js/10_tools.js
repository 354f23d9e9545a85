// Numbers as the reader's language writes them, and a few helpers. No number is computed here.

const MINUS = "\u2212";
const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

function makeWriter(decimal) {
  const tidy = (text) => text.replace("-", MINUS).replace(".", decimal);
  const fixed = (v, digits) => tidy((Number(v.toFixed(digits)) || 0).toFixed(digits)); // no minus zero
  // Four decimals, more where they would leave less than three digits, then a power of ten.
  const number = (v) => {
    if (v === 0) return "0";
    const digits = Math.max(4, 2 - Math.floor(Math.log10(Math.abs(v))));
    if (digits <= 7) return fixed(v, digits);
    const [head, power] = v.toExponential(2).split("e");
    return `${tidy(head)} × 10${[...String(Number(power))].map((c) => RAISED[c]).join("")}`;
  };
  return { fixed, number };
}

const filled = (template, values) => template.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);

// Text only ever goes in as text, never as markup.
function made(namespace, tag, attributes, children) {
  const node = document.createElementNS(namespace, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
const el = (tag, attributes = {}, ...children) => made("http://www.w3.org/1999/xhtml", tag, attributes, children);
const draw = (tag, attributes = {}, ...children) => made("http://www.w3.org/2000/svg", tag, attributes, children);
