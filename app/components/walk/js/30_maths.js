// Small sums over the recorded numbers, in double precision.

function sumOf(values, f) {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += f(values[i], i);
  return total;
}
const normOf = (v) => Math.sqrt(sumOf(v, (x) => x * x));
const meanOf = (v) => sumOf(v, (x) => x) / v.length;
const dotOf = (a, b) => sumOf(a, (x, i) => x * b[i]);
const countOf = (v, test) => sumOf(v, (x) => (test(x) ? 1 : 0));

// Variance as LayerNorm takes it: divided by n.
function varOf(v) {
  const mean = meanOf(v);
  return sumOf(v, (x) => (x - mean) ** 2) / v.length;
}

function largestIndex(v) {
  let best = 0, size = -1;
  for (let i = 0; i < v.length; i++) {
    const s = Math.abs(v[i]);
    if (s > size) { best = i; size = s; }
  }
  return best;
}

function topIndices(v, count) {
  return Array.from(v.keys()).sort((a, b) => v[b] - v[a] || a - b).slice(0, count);
}

function maxAbs(list) {
  let best = 0;
  for (const v of list) for (const x of v) if (Number.isFinite(x)) best = Math.max(best, Math.abs(x));
  return best;
}

function angleOf(a, b) {
  const cosine = dotOf(a, b) / (normOf(a) * normOf(b));
  return (Math.acos(Math.max(-1, Math.min(1, cosine))) * 180) / Math.PI;
}

// float32 sums, as the model makes them.
const addOf = (a, b) => Float32Array.from(a, (x, i) => Math.fround(x + b[i]));
const largestError = (a, b, c) => {
  let worst = 0;
  for (let i = 0; i < c.length; i++) {
    const e = Math.abs(a[i] + b[i] - c[i]);
    if (!(e <= worst)) worst = e; // a NaN counts as the worst
  }
  return worst;
};

// Softmax of logits / temperature over the whole vocabulary, with its natural-log normaliser.
function softmaxOf(logits, temperature) {
  let top = -Infinity;
  for (const x of logits) if (x > top) top = x;
  const out = Float64Array.from(logits, (x) => Math.exp((x - top) / temperature));
  const total = sumOf(out, (x) => x);
  for (let i = 0; i < out.length; i++) out[i] /= total;
  return out;
}
const perplexityOf = (p) => Math.exp(-sumOf(p, (x) => (x > 0 ? x * Math.log(x) : 0)));

// The gate of GELU, Phi(x): the tanh form (ANDREA, GPT-2) or the exact one.
const GELU_SCALE = Math.sqrt(2 / Math.PI);
function gateOf(x, form) {
  if (form === "relu") return x > 0 ? 1 : 0;
  if (form === "gelu_tanh") return 0.5 * (1 + Math.tanh(GELU_SCALE * (x + 0.044715 * x ** 3)));
  return 0.5 * erfc(-x / Math.SQRT2);
}

// Complementary error function, fractional error below 1.2e-7 (Press et al., Numerical Recipes, 6.2).
function erfc(x) {
  const z = Math.abs(x), t = 1 / (1 + z / 2);
  const c = [-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277];
  const value = t * Math.exp(-z * z + c.reduceRight((acc, k) => k + t * acc, 0));
  return x >= 0 ? value : 2 - value;
}
