// The block's diagram. The stream runs up the left as one thick line; the branches leave it to the
// right and come back. Everything is drawn from the order of the stations, so that post-norm, no
// norm and no residual are drawn as they are.

const D = { W: 380, H: 664, SX: 60, BX: 142, BW: 156, BH: 42, R: 19, TOP: 64, SPAN: 266 };
D.BOT = D.TOP + 2 * D.SPAN;
D.CX = D.BX + D.BW / 2;
const IN_BLOCK = { first: ["qkv", "pattern", "attn_out"], second: ["mlp_pre", "mlp_post", "mlp_out"] };

// Where everything stands: nodes by kind with an anchor (where the vector rests) and a route (the
// way the vector takes from the station before).
function layOut(packet, block) {
  const { norm } = packet.config, last = block === packet.config.n_layer;
  const nodes = {};
  if (block === 1) nodes.embed = plusNode("embed", D.BOT + 24, []);
  let from = block === 1 ? [[D.SX, D.BOT + 24]] : [[D.SX, D.H]];
  const halves = [["first", "ln1", "resid_mid"], ["second", "ln2", "resid_post"]].map(([half, ln, add], h) => {
    const base = D.BOT - h * D.SPAN;
    const place = halfOf(nodes, { base, norm, ln, add, boxes: IN_BLOCK[half], from });
    from = [[D.SX, place.leave]];
    return place;
  });
  const end = [...from, [D.SX, 34]];
  if (last && norm === "pre") nodes.ln_final = boxNode("ln_final", 104, 13, 130, [...end, [169, 34]], 169);
  if (last) {
    const x = norm === "pre" ? 256 : 142;
    nodes.logits = boxNode("logits", x, 13, 112, norm === "pre" ? [[169, 34], [x + 56, 34]] : [...end, [x + 56, 34]], x + 56);
  }
  return { nodes, halves, last };
}

function halfOf(nodes, { base, norm, ln, add, boxes, from }) {
  const tap = base - 8;
  const roof = norm === "post" ? 60 : 0; // the LayerNorm on the stream, above the addition
  const join = base - D.SPAN + 26 + roof;
  const kinds = norm === "pre" ? [ln, ...boxes] : boxes;
  const bottom = tap - 14, top = join + 16;
  const gap = (bottom - top - kinds.length * D.BH) / Math.max(1, kinds.length - 1);
  kinds.forEach((kind, i) => {
    const y = bottom - D.BH - i * (D.BH + gap);
    const route = i === 0 ? [...from, [D.SX, tap], [D.CX, tap], [D.CX, y + D.BH / 2]] : [[D.CX, y + D.BH + gap + D.BH / 2], [D.CX, y + D.BH / 2]];
    nodes[kind] = boxNode(kind, D.BX, y, D.BW, route, D.CX);
  });
  const highest = nodes[kinds[kinds.length - 1]];
  nodes[add] = plusNode(add, join, [[D.CX, highest.y + D.BH / 2], [D.CX, join]]);
  let leave = join;
  if (norm === "post") {
    const y = join - D.R - 11 - D.BH;
    nodes[ln] = boxNode(ln, D.SX - 52, y, 104, [[D.SX + D.R + 58, join], [D.SX, join], [D.SX, y + D.BH / 2]], D.SX);
    nodes[ln].onStream = true;
    leave = y;
  }
  return { tap, join, base, leave, highest, lowest: nodes[kinds[0]], kinds };
}

function boxNode(kind, x, y, w, route, cx) {
  return { kind, x, y, w, h: D.BH, route, anchor: [cx, y + D.BH - 11], round: false };
}
function plusNode(kind, y, route) {
  const anchor = [D.SX + D.R + 58, y];
  return { kind, x: D.SX, y, route: [...route, anchor], anchor, round: true };
}

// The vector itself, as a few cells that travel: real components, evenly chosen.
function vectorCells(values, scale, theme, room) {
  const n = values.length, cells = room > 150 && (n > 500 || n <= 24) ? 24 : 16;
  const count = Math.min(cells, n), width = 6;
  const back = svgEl("rect", { class: "back", x: (-count / 2) * width - 2, y: -7.5, width: count * width + 3, height: 15, rx: 4 });
  return [back, ...Array.from({ length: count }, (_, i) => {
    const x = values[Math.floor((i * n) / count)];
    return svgEl("rect", { x: (i - count / 2) * width, y: -5.5, width: width - 1, height: 11, fill: `rgb(${colourOf(x, scale, theme).join(",")})` });
  })];
}

class Diagram {
  constructor(svg, walk) {
    this.svg = svg;
    this.walk = walk;
  }

  // Draw the block of a station; the station's node is the current one.
  draw(station) {
    const { packet, words } = this.walk;
    const { nodes, halves, last } = layOut(packet, station.block);
    this.nodes = nodes;
    const order = Object.keys(nodes).sort((a, b) => this.rank(a) - this.rank(b));
    const here = this.rank(station.kind);
    this.svg.setAttribute("viewBox", `0 0 ${D.W} ${D.H}`);
    this.svg.setAttribute("aria-label", words.t("diagram_label", { block: words.int(station.block) }));
    this.vector = svgEl("g", { class: "vector", "aria-hidden": "true" });
    this.svg.replaceChildren(
      ...this.streamLines(station, halves, last, here), ...this.branchLines(halves, here), ...this.captions(station, halves, last),
      ...order.map((kind) => this.node(nodes[kind], kind === station.kind, this.rank(kind) < here)), this.vector);
    return nodes[station.kind];
  }

  rank(kind) {
    const order = ["embed", ...this.walk.packet.head.order, "ln_final", "logits"];
    return order.indexOf(kind);
  }

  // The stream: whole with a residual, broken between tap and junction without one.
  streamLines(station, halves, last, here) {
    const start = station.block === 1 ? D.BOT + 24 : D.H, whole = this.walk.packet.config.residual;
    const lines = [];
    const adds = ["resid_mid", "resid_post"];
    let y = start;
    halves.forEach((half, h) => {
      const done = here >= this.rank(adds[h]);
      const until = whole ? half.join : half.tap;
      const reached = h === 0 || here >= this.rank(adds[h - 1]);
      lines.push(svgEl("path", { class: reached ? "stream" : "stream ahead", d: `M${D.SX} ${y} V${until}` }));
      if (!whole) lines.push(svgEl("path", { class: "ghost", d: `M${D.SX} ${half.tap - 8} V${half.join + D.R + 6}` }),
        svgEl("path", { class: "cut", d: `M${D.SX - 9} ${half.tap - 22} l18 -12 M${D.SX - 9} ${half.tap - 34} l18 -12` }));
      y = half.join;
      if (h === 1) {
        const ends = last ? `M${D.SX} ${y} V34 H${this.walk.packet.config.norm === "pre" ? 104 : 142}` : `M${D.SX} ${y} V4`;
        lines.push(svgEl("path", { class: done ? "stream" : "stream ahead", d: ends }));
      }
    });
    if (last && this.nodes.ln_final) lines.push(svgEl("path", { class: here >= this.rank("ln_final") ? "wire past" : "wire", d: "M234 34 H256" }));
    return lines;
  }

  branchLines(halves, here) {
    const lines = [];
    const draw = (d, kind) => lines.push(svgEl("path", { class: here >= this.rank(kind) ? "wire past" : "wire", d }));
    halves.forEach((half, h) => {
      const boxes = half.kinds.map((kind) => this.nodes[kind]);
      draw(`M${D.SX} ${half.tap} H${D.CX - 8} Q${D.CX} ${half.tap} ${D.CX} ${half.tap - 8} V${boxes[0].y + D.BH}`, half.kinds[0]);
      boxes.slice(1).forEach((box, i) => draw(`M${D.CX} ${boxes[i].y} V${box.y + D.BH}`, half.kinds[i + 1]));
      const top = boxes[boxes.length - 1].y;
      draw(`M${D.CX} ${top} V${half.join + 8} Q${D.CX} ${half.join} ${D.CX - 8} ${half.join} H${D.SX + D.R}`, h ? "resid_post" : "resid_mid");
    });
    if (this.nodes.embed) {
      const y = this.nodes.embed.y;
      draw(`M${D.SX - 34} ${D.H - 16} V${y + 24} Q${D.SX - 34} ${y + 18} ${D.SX - 28} ${y + 16} L${D.SX - 15} ${y + 11}`, "embed");
      draw(`M${D.SX + 34} ${D.H - 16} V${y + 24} Q${D.SX + 34} ${y + 18} ${D.SX + 28} ${y + 16} L${D.SX + 15} ${y + 11}`, "embed");
    }
    return lines;
  }

  captions(station, halves, last) {
    const { packet, words } = this.walk, { config } = packet;
    const text = (x, y, content, extra = {}) => svgEl("text", { class: "cap", x, y, ...extra }, content);
    const middle = (halves[0].tap + halves[0].join) / 2;
    const out = [text(D.SX - 18, middle, words.t(config.residual ? "stream" : "stream_cut"), { transform: `rotate(-90 ${D.SX - 18} ${middle})`, "text-anchor": "middle" })];
    const beside = (kind, content) => { const n = this.nodes[kind]; out.push(text(n.x + n.w + 8, n.y + 25, content)); };
    beside("pattern", words.t("n_heads", { n: words.int(config.n_head) }));
    beside("mlp_pre", words.int(config.d_mlp));
    beside("mlp_out", words.int(config.d_model));
    beside("qkv", `3 × ${words.int(config.d_model)}`);
    if (station.block === 1) out.push(text(D.SX - 34, D.H - 3, words.t("foot_token"), { "text-anchor": "middle" }), text(D.SX + 34, D.H - 3, words.t("foot_position"), { "text-anchor": "middle" }));
    else out.push(text(D.SX + 14, D.H - 4, words.t("from_block", { block: words.int(station.block - 1) })));
    if (!last) out.push(text(D.SX + 14, 16, words.t("to_block", { block: words.int(station.block + 1) })));
    return out;
  }

  node(place, current, passed) {
    const { words, packet } = this.walk;
    const label = this.label(place.kind);
    const group = svgEl("g", {
      class: `node${current ? " on" : ""}${passed ? " passed" : ""}`, role: "button", tabindex: current ? "0" : "-1",
      "aria-label": words.t(this.title(place.kind)), "aria-current": current ? "step" : null, "data-kind": place.kind,
      onclick: () => this.walk.goKind(place.kind),
    });
    group.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); this.walk.goKind(place.kind); } });
    if (place.round) {
      group.append(svgEl("circle", { class: "touch", cx: place.x, cy: place.y, r: D.R + 3 }), svgEl("circle", { cx: place.x, cy: place.y, r: D.R }));
      group.append(svgEl("text", { class: "sign", x: place.x, y: place.y + 7, "text-anchor": "middle" }, place.kind === "embed" || packet.config.residual ? "+" : "←"));
    } else {
      group.append(svgEl("rect", { x: place.x, y: place.y, width: place.w, height: place.h, rx: 9 }),
        svgEl("text", { x: place.x + place.w / 2, y: place.y + (current ? 18 : 26), "text-anchor": "middle" }, label));
    }
    return group;
  }

  title(kind) {
    const { config } = this.walk.packet;
    if (!config.residual && kind === "resid_mid") return "station_replace_1";
    if (!config.residual && kind === "resid_post") return "station_replace_2";
    if (kind === "mlp_post") return config.act_fn === "relu" ? "station_relu" : "station_gelu";
    return `station_${kind}`;
  }

  label(kind) {
    const { words, packet } = this.walk, { config } = packet;
    if (kind === "mlp_post") return config.act_fn === "relu" ? "ReLU" : "GELU";
    if (kind === "mlp_pre") return words.t("node_mlp_pre", { ratio: words.num(config.d_mlp / config.d_model) });
    return words.t(`node_${kind}`);
  }
}
