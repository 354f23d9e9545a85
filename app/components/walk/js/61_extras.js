// What some stations show besides their strips: the heads, the activation's curve.

// One button a head, and the tokens that the chosen head reads most.
function makeHeads(view, detail) {
  const { words, packet } = detail.walk;
  const { count, keys, pattern, patternName } = view.heads;
  const buttons = Array.from({ length: count }, (_, h) => el("button", {
    type: "button", class: "head", "aria-label": words.t("head_button", { head: h + 1 }),
    onclick: () => detail.take(h * keys + largestIndex(pattern.subarray(h * keys, (h + 1) * keys))),
  }, String(h + 1)));
  const list = el("ul", { class: "reads" });
  const update = (i) => {
    const h = Math.floor(i / keys), own = pattern.subarray(h * keys, (h + 1) * keys);
    buttons.forEach((b, g) => b.setAttribute("aria-pressed", g === h));
    const shown = topIndices(own, 5);
    if (!shown.includes(i % keys)) shown[shown.length - 1] = i % keys;
    list.replaceChildren(...shown.map((j) => el("li", { "aria-current": j === i % keys ? "true" : null },
      el("button", { type: "button", onclick: () => detail.take(h * keys + j), title: words.t("key_title", { j }) },
        el("bdi", { class: "tok" }, j === 0 ? "BOS" : visible(packet.head.labels[j])), el("small", {}, String(j))),
      bar(own[j], pattern, patternName, h * keys + j),
      el("span", { class: "value", "data-name": patternName, "data-index": h * keys + j, "data-value": String(own[j]) }, words.share(own[j])))));
  };
  const node = el("div", { class: "heads" },
    el("div", { class: "headrow", role: "group", "aria-label": words.t("heads_group") }, el("span", { class: "rowlabel" }, words.t("head")), ...buttons), list);
  return { node, update };
}

function bar(share) {
  const inner = el("i");
  inner.style.width = `${100 * Math.min(1, Math.max(0, share || 0))}%`;
  return el("span", { class: "bar2", "aria-hidden": "true" }, inner);
}

// The activation's curve with the unit in hand as a dot, and where all the others lie.
function makeCurve(view, detail) {
  const { words } = detail.walk;
  const { form, pre, post, name } = view.curve;
  const reach = Math.min(8, Math.max(3, Math.ceil(maxAbs([pre]))));
  const X = (x) => 150 + (140 * Math.max(-reach, Math.min(reach, x))) / reach;
  const high = reach, low = -0.35 * reach;
  const Y = (y) => 96 - (90 * (Math.max(low, Math.min(high, y)) - low)) / (high - low);
  const points = Array.from({ length: 121 }, (_, i) => { const x = -reach + (2 * reach * i) / 120; return `${X(x).toFixed(1)} ${Y(x * gateOf(x, form)).toFixed(1)}`; });
  const dot = svgEl("circle", { r: 5.5, class: "dot" });
  const drop = svgEl("path", { class: "drop" });
  const bins = histogram(pre, -reach, reach, 56);
  const tallest = Math.max(...bins);
  const svg = svgEl("svg", { viewBox: "0 0 300 112", class: "curve", role: "img", "aria-label": words.t("curve_label", { f: name }) },
    ...bins.map((n, i) => svgEl("rect", { class: "bin", x: X(-reach) + i * 5, width: 4, y: 96 - (34 * n) / tallest, height: (34 * n) / tallest })),
    svgEl("path", { class: "axis", d: `M10 ${Y(0)} H290 M150 4 V96` }),
    svgEl("path", { class: "line", d: `M${points.join("L")}` }), drop, dot,
    svgEl("text", { x: 10, y: 109 }, words.num(-reach)), svgEl("text", { x: 150, y: 109, "text-anchor": "middle" }, "0"),
    svgEl("text", { x: 290, y: 109, "text-anchor": "end" }, words.num(reach)));
  const update = (i) => {
    dot.setAttribute("cx", X(pre[i])); dot.setAttribute("cy", Y(post[i]));
    dot.setAttribute("class", `dot ${post[i] < 0 ? "neg" : "pos"}`);
    drop.setAttribute("d", `M${X(pre[i])} 96 V${Y(post[i])} H150`);
  };
  return { node: el("div", { class: "curvebox" }, svg, el("p", { class: "legend" }, words.t("curve_note"))), update };
}

function histogram(values, low, high, count) {
  const bins = new Array(count).fill(0);
  for (const x of values) {
    if (!Number.isFinite(x)) continue;
    bins[Math.max(0, Math.min(count - 1, Math.floor(((x - low) / (high - low)) * count)))]++;
  }
  return bins;
}
