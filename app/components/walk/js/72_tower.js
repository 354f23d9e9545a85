// The tower of blocks: how long the stream is after each, what the lens would say there, and
// whether the model's final answer has come nearer (up) or gone further (down).

class Tower {
  constructor(node, walk) {
    this.node = node;
    this.walk = walk;
  }

  build() {
    const { packet, words } = this.walk;
    const layers = packet.config.n_layer, { lens, answer } = packet.head;
    const norms = [normOf(packet.get("blocks.0.resid_pre"))];
    for (let l = 0; l < layers; l++) norms.push(normOf(packet.get(`blocks.${l}.resid_post`)));
    const longest = Math.max(...norms.filter(Number.isFinite), 1e-30);
    const rows = norms.map((norm, l) => {
      const s = 2 * l; // the lens reads the embedding, then mid and post of each block
      return this.row({ l, norm, longest, word: lens.words[s], rank: lens.rank[s], before: l ? lens.rank[s - 2] : null });
    });
    this.rows = rows;
    this.node.replaceChildren(...rows);
    this.node.setAttribute("aria-label", words.t("tower_label"));
    return words.t("tower_note", { token: quoted(answer) });
  }

  row({ l, norm, longest, word, rank, before }) {
    const { words } = this.walk;
    const arrow = before === null || rank === before ? "" : rank < before ? "▲" : "▼";
    const name = l === 0 ? words.t("tower_embed") : words.t("tower_block", { block: words.int(l) });
    const inner = el("b");
    inner.style.width = `${Number.isFinite(norm) ? Math.max(2, (100 * norm) / longest) : 100}%`;
    return el("button", {
      type: "button", class: "lay", tabindex: "-1", "data-block": l,
      "aria-label": words.t("tower_row", { name, norm: words.num(norm, 3), word: quoted(word), rank: words.int(rank) }),
      title: words.t("tower_row", { name, norm: words.num(norm, 3), word: quoted(word), rank: words.int(rank) }),
      onclick: () => this.walk.goBlock(l),
    },
    el("i", {}, l === 0 ? "0" : words.int(l)), el("span", { class: "bar", "aria-hidden": "true" }, inner),
    el("bdi", { class: "w" }, visible(word)), el("span", { class: `rank ${arrow === "▲" ? "up" : arrow === "▼" ? "down" : ""}` }, `${arrow} ${words.int(rank)}`));
  }

  mark(station) {
    const at = station.kind === "embed" ? 0 : station.block;
    this.rows.forEach((row, l) => {
      row.setAttribute("tabindex", l === at ? "0" : "-1");
      if (l === at) row.setAttribute("aria-current", "step");
      else row.removeAttribute("aria-current");
    });
    // Bring the row to the middle of the tower; the page itself does not move.
    const row = this.rows[at].getBoundingClientRect(), box = this.node.getBoundingClientRect();
    this.node.scrollTop += row.top + row.height / 2 - box.top - box.height / 2;
    this.node.scrollLeft += row.left + row.width / 2 - box.left - box.width / 2;
  }
}
