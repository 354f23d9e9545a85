// The walk as one SVG file: the diagram, the station's strips, formula, numbers and sentence.

const PICTURE_STYLE = `
text{font-family:"Source Sans 3","Source Sans Pro",system-ui,sans-serif;font-size:14px;fill:var(--ink)}
.node rect,.node circle{fill:var(--card);stroke:var(--line);stroke-width:1.4}
.node.passed rect,.node.passed circle{stroke:var(--acc)}
.node.on rect,.node.on circle{stroke:var(--acc);stroke-width:2.6;fill:var(--soft)}
.back{fill:var(--card);stroke:var(--line)}
.sign{font-size:22px}.cap{font-size:12px;fill:var(--mute)}
.stream{fill:none;stroke:var(--acc2);stroke-width:5;stroke-linecap:round}.stream.ahead{opacity:.35}
.ghost{fill:none;stroke:var(--mute);stroke-width:2;stroke-dasharray:2 7;opacity:.7}.cut{fill:none;stroke:var(--neg);stroke-width:2.5}
.wire{fill:none;stroke:var(--line);stroke-width:2}.wire.past{stroke:var(--acc);stroke-width:2.6}
.title{font-size:21px;font-weight:600}.small{font-size:12.5px;fill:var(--mute)}.strong{font-weight:600}
.formula{font-family:"STIX Two Text",Cambria,Georgia,serif;font-size:15px}`;

function pictureOf(walk) {
  const host = getComputedStyle(walk.root);
  const colour = (name) => host.getPropertyValue(name).trim();
  const resolve = (css) => css.replace(/var\((--\w+)\)/g, (_, name) => colour(name));
  const diagram = walk.diagram.svg.cloneNode(true);
  for (const node of diagram.querySelectorAll("[tabindex]")) node.removeAttribute("tabindex");
  for (const node of diagram.querySelectorAll(".touch")) node.remove();
  const side = pictureSide(walk, colour);
  const height = Math.max(D.H + 60, side.height + 30), width = D.W + 490;
  const title = walk.words.t("picture_title", { block: walk.words.int(walk.station.block), token: quoted(walk.packet.token) });
  const svg = svgEl("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": title },
    svgEl("title", {}, title), svgEl("style", {}, resolve(PICTURE_STYLE)),
    svgEl("rect", { width, height, fill: colour("--card") }),
    svgEl("g", { transform: "translate(16 44)" }, ...diagram.childNodes),
    svgEl("text", { x: 20, y: 30, class: "small strong" }, title), svgEl("g", { transform: `translate(${D.W + 40} 24)` }, ...side.nodes));
  return new XMLSerializer().serializeToString(svg);
}

function pictureSide(walk, colour) {
  const { view, words } = { view: walk.detail.view, words: walk.words };
  const nodes = [];
  let y = 20;
  const write = (text, cls, step, limit) => wrapText(text, limit).forEach((part) => { nodes.push(svgEl("text", { x: 0, y, class: cls }, part)); y += step; });
  write(view.title, "title", 22, 40);
  write(`${view.tensor} · ${view.where}`, "small", 18, 66);
  view.strips.forEach((spec) => {
    y += 10;
    nodes.push(svgEl("text", { x: 0, y, class: "strong" }, spec.label), svgEl("text", { x: 430, y, class: "small", "text-anchor": "end" }, spec.note));
    y += 7;
    y += pictureStrip(nodes, spec, y, walk.theme, colour) + 8;
  });
  y += 14;
  view.formula(walk.detail.hand).forEach((parts) => write(parts.map((p) => (p instanceof Node ? p.textContent : p)).join(""), "formula", 20, 60));
  y += 8;
  let x = 0;
  view.stats.forEach((s) => {
    const label = words.t(`stat_${s.key}`), value = s.text ?? words.say(s.value);
    const wide = Math.max(label.length * 7, value.length * 8.6) + 12;
    if (x + wide > 450) { x = 0; y += 44; }
    nodes.push(svgEl("text", { x, y, class: "small" }, label), svgEl("text", { x, y: y + 18, class: "strong" }, value));
    x += wide;
  });
  y += 50;
  write(view.sentence(walk.detail.hand), "", 20, 58);
  return { nodes, height: y };
}

function pictureStrip(nodes, spec, y, theme, colour) {
  const rows = Math.ceil(spec.values.length / spec.columns), width = 430 / spec.columns;
  const high = spec.rowName ? 10 : Math.min(width, 9), gap = spec.rowName ? 2 : 0;
  spec.values.forEach((x, i) => nodes.push(svgEl("rect", {
    x: ((i % spec.columns) * width).toFixed(2), y: (y + Math.floor(i / spec.columns) * (high + gap)).toFixed(2),
    width: (width + 0.05).toFixed(2), height: (high + 0.05).toFixed(2), fill: `rgb(${colourOf(x, spec.scale, theme).join(",")})`,
  })));
  nodes.push(svgEl("rect", { x: 0, y, width: 430, height: rows * (high + gap) - gap, fill: "none", stroke: colour("--line") }));
  return rows * (high + gap);
}

function wrapText(text, limit) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last && last.length + word.length + 1 > limit) lines.push(word);
    else lines[lines.length - 1] = last ? `${last} ${word}` : word;
  }
  return lines;
}

function savePicture(walk) {
  const url = URL.createObjectURL(new Blob([pictureOf(walk)], { type: "image/svg+xml" }));
  const link = el("a", { href: url, download: `walk-${walk.station.id}.svg` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
