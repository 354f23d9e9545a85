// The walk: one token, one place, and everything that shows it. Nothing here asks the server,
// but "take this token and go on".

const bus = (globalThis.andreaWalk ??= { packets: [], settings: {}, wake: new Set() });

class Walk {
  constructor(root) {
    this.root = root;
    this.at = 0;
    this.state = { temperature: 1 };
    this.echoes = []; // places this walk itself wrote into the address
    this.path = location.pathname;
    const part = (name) => root.querySelector(`[data-part="${name}"]`);
    this.parts = { head: part("tower-head"), note: part("tower-note"), title: part("block-title"), live: part("live"), bytes: part("bytes"), save: part("save"), keys: part("keys") };
    this.tower = new Tower(part("tower"), this);
    this.diagram = new Diagram(part("diagram"), this);
    this.motion = new Motion(this);
    this.detail = new Detail(part("detail"), this);
    this.transport = new Transport(root, this);
    this.parts.save.addEventListener("click", () => savePicture(this));
  }

  // Data, words or theme may have changed: draw again what they touch, and keep the place.
  receive(settings, bytes, component) {
    this.component = component;
    const packet = openPacket(bytes);
    const theme = themeOf(this.root, settings.theme);
    const sameWords = this.settings?.lang === settings.lang && this.settings?.can_take === settings.can_take;
    const same = this.packet === packet && sameWords && this.theme === theme;
    const wanted = this.placeWanted(settings, packet), first = !this.packet;
    const held = this.root.getRootNode().activeElement;
    this.settings = settings;
    this.packet = packet;
    this.canTake = settings.can_take;
    if (same && wanted === this.at) return;
    if (!same) this.dress(settings, theme);
    this.at = wanted;
    this.draw("jump");
    if (!first) this.write();
    if (held && !held.isConnected) this.hold(held);
  }

  // The focused thing was drawn anew: focus what took its place, so that Enter can write on.
  hold(old) {
    const same = [".take", ".draw"].find((name) => old.matches(name));
    const next = same && this.root.querySelector(`${same}:not(:disabled)`);
    if (next) next.focus({ preventScroll: true });
    else this.focusHome();
  }

  // Python's word counts when it is news; its echo of what was written from here does not.
  placeWanted(settings, packet) {
    const first = !this.packet;
    const news = first || settings.jump !== this.settings.jump || (settings.station !== this.settings.station && !this.echoes.includes(settings.station));
    if (news) return placeOf(packet, settings.station ?? "embed");
    return placeOf(packet, this.station.id);
  }

  dress(settings, theme) {
    this.theme = theme;
    this.root.dataset.theme = theme;
    this.root.lang = settings.lang;
    this.root.dataset.digest = this.packet.digest;
    this.words = makeWords(settings.lang, settings.strings);
    const { t, int } = this.words;
    const layers = this.packet.config.n_layer;
    this.parts.head.textContent = layers === 1 ? t("tower_title_one") : t("tower_title", { n: int(layers) });
    this.parts.note.textContent = this.tower.build();
    this.parts.save.textContent = t("save_svg");
    const size = { kb: int(Math.round(this.packet.nBytes / 1000)) };
    const halved = this.packet.head.halved;
    this.parts.bytes.textContent = halved.length ? `${t("bytes", size)} ${t("halved", { names: halved.join(", ") })}` : t("bytes", size);
    this.parts.bytes.dataset.bytes = this.packet.nBytes;
    this.parts.keys.replaceChildren(...weave(t("keys"), Object.fromEntries([["left", "←"], ["right", "→"], ["up", "↑"], ["down", "↓"], ["space", t("space_key")]].map(([n, k]) => [n, el("kbd", {}, k)]))));
    this.transport.words(this.words, this.packet);
    this.root.hidden = false;
  }

  get station() { return this.packet.stations[this.at]; }

  go(at, way = "jump") {
    const next = Math.max(0, Math.min(this.packet.stations.length - 1, at));
    if (next === this.at) return;
    this.at = next;
    this.draw(way);
    this.write();
  }

  goKind(kind) {
    const i = this.packet.stations.findIndex((s) => s.kind === kind && s.block === this.station.block);
    this.transport.pause();
    if (i >= 0) this.go(i, i === this.at + 1 ? "forward" : i === this.at - 1 ? "back" : "jump");
  }

  // The same station of another block; block 0 is the embedding.
  goBlock(block) {
    this.transport.pause();
    if (block === 0) return this.go(0);
    const inside = this.packet.head.order.includes(this.station.kind) ? this.station.kind : this.packet.head.order[0];
    this.go(this.packet.stations.findIndex((s) => s.id === `${block}.${inside}`));
  }

  stepBlock(by) {
    const here = this.station.kind === "embed" ? 0 : this.station.block;
    const outside = ["ln_final", "logits"].includes(this.station.kind);
    if (outside && by < 0) return this.goBlock(here);
    if (here + by > this.packet.config.n_layer) return this.go(Infinity);
    this.goBlock(Math.max(0, here + by));
  }

  draw(way) {
    const { station, words } = this;
    const previous = this.diagram.nodes && this.shown?.block === station.block ? this.diagram.nodes[this.shown.kind] : null;
    const view = viewOf(this.packet, station, words, this.state);
    const place = this.diagram.draw(station);
    this.detail.render(view);
    this.parts.title.textContent = words.t("block_title", { block: words.int(station.block) });
    this.tower.mark(station);
    this.transport.show(this.at, station, view.title);
    this.motion.bring(this.diagram.vector, place, this.traveller(view), way === "back" && !previous ? "jump" : way, previous);
    this.root.dataset.station = station.id;
    this.shown = station;
    this.announce(view);
  }

  // What runs along the wire: the station's tensor; for the pattern, the row of the head in hand.
  traveller(view) {
    const main = view.strips[view.main];
    if (!view.heads) return main.values;
    const h = Math.floor(this.detail.hand / view.heads.keys);
    return main.values.subarray(h * view.heads.keys, (h + 1) * view.heads.keys);
  }

  announce(view) {
    const name = `${view.title}, ${view.where}.`;
    this.parts.live.textContent = this.transport.playing ? name : `${name} ${view.sentence(this.detail.hand)}`;
  }

  // The address keeps every other parameter; no rerun follows.
  write() {
    this.wrote = true;
    clearTimeout(this.writing);
    this.writing = setTimeout(() => {
      const query = new URLSearchParams(location.search);
      if (!this.root.isConnected || location.pathname !== this.path || query.get("at") === this.station.id) return;
      query.set("at", this.station.id);
      this.echoes = [...this.echoes.slice(-200), this.station.id];
      history.replaceState(history.state, "", `${location.pathname}?${query}${location.hash}`);
    }, 120);
  }

  // When Python changes the address, Streamlit writes it from a memory of its own that knows
  // nothing of our steps: look from time to time and put the place back.
  keepAddress() {
    if (!this.wrote || location.pathname !== this.path) return;
    if (new URLSearchParams(location.search).get("at") !== this.station.id) this.write();
  }

  endShares() { return softmaxOf(this.packet.get("logits"), this.state.temperature); }

  // The temperature moved: the bars and the formula follow, the slider keeps its focus.
  refreshEnd() {
    const view = viewOf(this.packet, this.station, this.words, this.state);
    this.detail.view = { ...this.detail.view, bars: view.bars, formula: view.formula, sentence: view.sentence };
    this.detail.extra.paint(view.bars);
    this.detail.show(this.detail.hand, false);
  }

  // The digest says which probabilities were in sight: of two quick clicks the second is stale.
  take(id, text) { this.component.setTriggerValue("take", { id, text, digest: this.packet.digest }); }

  focusHome() { this.diagram.svg.querySelector('[tabindex="0"]')?.focus({ preventScroll: true }); }

  // After a key the focus stays where it was: on the current node, the current row, or the button.
  followFocus(target) {
    if (target.isConnected && !target.closest(".lay, .node")) return;
    if (target.closest(".lay")) this.tower.rows.find((row) => row.getAttribute("tabindex") === "0").focus({ preventScroll: true });
    else this.focusHome();
  }
}

// Streamlit hands its theme over as CSS variables: dark is what has a dark background.
function themeOf(root, told) {
  const raw = getComputedStyle(root).getPropertyValue("--st-background-color").trim();
  const hex = /^#([0-9a-f]{6})/i.exec(raw)?.[1];
  const rgb = hex ? [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)) : (raw.match(/\d+/g) ?? []).map(Number);
  if (rgb.length < 3) return told === "dark" ? "dark" : "light";
  return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2] < 128 ? "dark" : "light";
}

export default function mount(component) {
  const root = component.parentElement.querySelector(".walk");
  if (!root) return undefined;
  const key = component.data.key;
  root.walk ??= new Walk(root);
  const wake = () => {
    const settings = bus.settings[key];
    const bytes = settings && bus.packets.find((packet) => openPacket(packet).digest === settings.digest);
    if (bytes) root.walk.receive(settings, bytes, component);
  };
  if (root.wake) bus.wake.delete(root.wake);
  root.wake = wake;
  bus.wake.add(wake);
  wake();
  clearInterval(root.keeper);
  root.keeper = setInterval(() => root.walk.packet && root.walk.keepAddress(), 500);
  return () => { bus.wake.delete(root.wake); clearInterval(root.keeper); clearTimeout(root.walk.writing); root.walk.transport.pause(); };
}
