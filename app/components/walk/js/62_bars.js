// The end: the next token's probabilities, a temperature, and "take this token and go on".

const BARS = 8;
const ROOFS = [0.05, 0.1, 0.25, 0.5, 1]; // a full bar is the smallest of these that holds the first

function makeBars(view, detail) {
  const { walk } = detail, { words } = walk;
  const { next } = view.bars;
  const list = el("ol", { class: "bars" });
  const output = el("output", {}, words.num(walk.state.temperature));
  const slider = el("input", {
    type: "range", min: "-1", max: "1", step: "0.05", value: String(Math.log10(walk.state.temperature) / Math.log10(4)),
    "aria-label": words.t("temperature"), "aria-valuetext": words.num(walk.state.temperature),
  });
  slider.addEventListener("input", () => {
    const raw = Number(slider.value);
    walk.state.temperature = Math.abs(raw) < 0.03 ? 1 : Number((4 ** raw).toPrecision(3));
    walk.refreshEnd();
  });
  const draw = el("button", { type: "button", class: "draw", onclick: () => drawOne(view, walk) }, words.t("draw_one"));
  if (!walk.canTake) draw.disabled = true;
  const note = el("p", { class: "legend" });
  const node = el("div", { class: "end" },
    el("div", { class: "temp" }, el("label", {}, words.t("temperature")), slider, output), list, draw,
    note);
  const paint = (bars) => {
    output.textContent = words.num(walk.state.temperature);
    slider.setAttribute("aria-valuetext", output.textContent);
    const now = bars ?? view.bars, roof = ROOFS.find((r) => r >= now.p[next.ids[0]]) ?? 1;
    list.replaceChildren(...next.ids.slice(0, BARS).map((id, r) => barRow(detail, now, id, r, roof)));
    note.textContent = words.t("draw_note", { n: words.int(next.ids.length), share: words.share(sumOf(next.ids, (id) => now.p[id])), roof: words.share(roof) });
  };
  paint();
  return { node, paint, update: () => {} };
}

function barRow(detail, { p, logits, next }, id, rank, roof) {
  const { walk } = detail, { words } = walk;
  const text = next.texts[rank];
  const shown = visible(next.labels[rank]);
  const reason = text === null ? words.t("take_not") : walk.canTake ? "" : words.t("take_closed");
  const take = el("button", {
    type: "button", class: "take", title: reason || words.t("take_title", { token: quoted(next.labels[rank]) }),
    "aria-label": reason ? `${words.t("take_title", { token: quoted(next.labels[rank]) })}: ${reason}` : words.t("take_title", { token: quoted(next.labels[rank]) }),
    onclick: () => walk.take(id, text),
  }, words.t("take"));
  if (reason) take.disabled = true;
  return el("li", {},
    el("bdi", { class: "tok", title: words.t("token_number", { id }) }, shown), bar(p[id] / roof),
    el("span", { class: "value", "data-share": String(p[id]), "data-id": id }, words.share(p[id])),
    el("span", { class: "logit", "data-name": "logits", "data-index": id, "data-value": String(logits[id]) }, words.num(logits[id], 3)), take);
}

// Draw among the tokens whose text is known here, by their shares at this temperature.
function drawOne(view, walk) {
  const { next } = view.bars;
  const p = walk.endShares();
  const open = next.ids.map((id, r) => [id, next.texts[r]]).filter(([, text]) => text !== null);
  let u = crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32 * sumOf(open, ([id]) => p[id]);
  const chosen = open.find(([id]) => (u -= p[id]) < 0) ?? open[0];
  walk.take(chosen[0], chosen[1]);
}
