// The station in hand: name, tensor and place, strips, formula, four numbers, one sentence.

class Detail {
  constructor(node, walk) {
    this.node = node;
    this.walk = walk;
    this.pins = new Map(); // kind of vector -> the cell a reader pinned, kept from station to station
  }

  render(view) {
    const { walk } = this, { words } = walk;
    this.view = view;
    const main = view.strips[view.main];
    const pinned = this.pins.get(this.kind());
    this.rest = pinned ?? view.hand0;
    this.strips = view.strips.map((spec) => makeStrip(spec, walk, (i, how) => this.onHand(spec, i, how)));
    this.strips.forEach((s, j) => s.node.classList.toggle("crossed", Boolean(view.strips[j].crossed)));
    this.formula = el("div", { class: "f", "data-part": "formula" });
    this.say = el("p", { class: "say", "data-part": "sentence" });
    this.extra = view.heads ? makeHeads(view, this) : view.curve ? makeCurve(view, this) : view.bars ? makeBars(view, this) : null;
    const atEnd = Boolean(view.bars);
    this.node.replaceChildren(
      el("h3", { tabindex: "-1" }, view.title),
      el("div", { class: "where" }, el("code", {}, view.alias ? `${view.tensor} = ${view.alias.replace(/^blocks\.\d+\./, "")}` : view.tensor), ` · ${view.where}`),
      ...this.strips.map((s) => s.node),
      this.legend(view),
      atEnd ? null : this.extra?.node ?? null,
      this.formula,
      this.stats(view),
      this.say,
      atEnd ? this.extra.node : null,
    );
    for (const child of [...this.node.childNodes]) if (child.nodeType === 3) child.remove(); // replaceChildren writes "null"
    this.show(this.rest, false);
    return this;
  }

  // Vectors whose cells mean the same: of one length; heads x tokens are another matter.
  kind() {
    const { heads, strips, main } = this.view;
    return `${heads ? "heads" : "vector"} ${strips[main].values.length}`;
  }

  legend(view) {
    const { words } = this.walk;
    const scale = maxAbs(view.strips.map((s) => s.values));
    const text = view.ownScales ? words.t("scale_own") : words.t("scale_same", { max: words.num(scale, 3) });
    return el("p", { class: "legend" }, el("span", { class: "ramp", "aria-hidden": "true" }), el("span", {}, view.note ? `${text} ${view.note}` : text));
  }

  stats(view) {
    const { words } = this.walk;
    return el("dl", { "data-part": "stats" }, ...view.stats.map((s) => el("div", {},
      el("dt", {}, words.t(`stat_${s.key}`)),
      el("dd", { "data-stat": s.key, "data-value": s.text ?? String(s.value) }, s.text ?? words.say(s.value)))));
  }

  // Hovering or focusing a cell takes that component in hand; a click pins it, Escape lets it go.
  onHand(spec, i, how) {
    const main = this.view.strips[this.view.main];
    const same = spec.values.length === main.values.length;
    if (how === "quit") {
      this.pins.delete(this.kind());
      this.rest = this.view.hand0;
      this.show(this.rest, false);
      this.walk.focusHome();
      return;
    }
    if (how === "pin" && same) {
      if (this.pins.get(this.kind()) === i) this.pins.delete(this.kind());
      else this.pins.set(this.kind(), i);
      this.rest = this.pins.get(this.kind()) ?? this.view.hand0;
    }
    if (how === "focus" && same) this.rest = i;
    if (how === "leave") this.show(this.rest, false);
    else if (same) this.show(i, true);
    else this.alone(spec, i);
  }

  alone(spec, i) { // a strip of another width: only its own cell lights up
    this.strips[this.view.strips.indexOf(spec)].show(i, true);
  }

  show(i, active) {
    const { view } = this;
    const length = view.strips[view.main].values.length;
    this.hand = i;
    this.strips.forEach((strip, j) => {
      const spec = view.strips[j];
      if (spec.values.length === length) strip.show(i, active);
      else strip.show(largestIndex(spec.values), false);
    });
    this.formula.replaceChildren(...view.formula(i).map((parts) => el("div", {}, ...parts)));
    this.say.textContent = view.sentence(i);
    this.extra?.update?.(i);
  }

  take(i) { // a chosen head, a clicked bar: in hand from now on
    this.rest = i;
    this.pins.set(this.kind(), i);
    this.show(i, false);
  }
}
