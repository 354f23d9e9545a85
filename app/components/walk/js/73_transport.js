// First, previous, play, next, last; a slider over the stations, one over the blocks; the keys.

const PACE = 1100; // milliseconds a station while playing

class Transport {
  constructor(root, walk) {
    this.root = root;
    this.walk = walk;
    this.timer = 0;
    const part = (name) => root.querySelector(`[data-part="${name}"]`);
    this.buttons = Object.fromEntries(["first", "prev", "play", "next", "last"].map((n) => [n, part(n)]));
    this.place = part("place");
    this.layer = part("layer");
    this.placeText = part("place-text");
    this.layerText = part("layer-text");
    const act = { first: () => walk.go(0), prev: () => walk.go(walk.at - 1, "back"), next: () => walk.go(walk.at + 1, "forward"), last: () => walk.go(Infinity) };
    for (const [name, run] of Object.entries(act)) this.buttons[name].addEventListener("click", () => { this.pause(); run(); });
    this.buttons.play.addEventListener("click", () => this.toggle());
    this.place.addEventListener("input", () => { this.pause(); walk.go(Number(this.place.value)); });
    this.layer.addEventListener("input", () => { this.pause(); walk.goBlock(Number(this.layer.value)); });
    root.addEventListener("keydown", (event) => this.key(event));
  }

  words(words, packet) {
    for (const name of ["first", "prev", "next", "last"]) {
      this.buttons[name].setAttribute("aria-label", words.t(`button_${name}`));
      this.buttons[name].setAttribute("title", words.t(`button_${name}`));
    }
    this.place.setAttribute("aria-label", words.t("slider_station"));
    this.layer.setAttribute("aria-label", words.t("slider_block"));
    this.place.max = packet.stations.length - 1;
    this.layer.max = packet.config.n_layer;
    this.layer.min = 1;
    this.face();
  }

  show(at, station, name) {
    const { words, packet } = this.walk;
    this.place.value = at;
    this.layer.value = station.block;
    const text = words.t("station_of", { n: words.int(at + 1), all: words.int(packet.stations.length) });
    const block = words.t("block_of", { n: words.int(station.block), all: words.int(packet.config.n_layer) });
    this.place.setAttribute("aria-valuetext", `${text}: ${name}`);
    this.layer.setAttribute("aria-valuetext", block);
    this.placeText.replaceChildren(el("b", {}, `${words.int(at + 1)} / ${words.int(packet.stations.length)}`), ` ${name}`);
    this.layerText.textContent = block;
    const end = packet.stations.length - 1; // not "disabled": that would take the focus away
    for (const name of ["first", "prev"]) this.buttons[name].setAttribute("aria-disabled", at === 0);
    for (const name of ["next", "last"]) this.buttons[name].setAttribute("aria-disabled", at === end);
  }

  get playing() { return this.timer !== 0; }

  toggle() {
    if (this.playing) return this.pause();
    const { walk } = this;
    if (walk.at === walk.packet.stations.length - 1) walk.go(0);
    this.timer = setInterval(() => {
      if (walk.at >= walk.packet.stations.length - 1 || !this.root.isConnected) return this.pause();
      walk.go(walk.at + 1, "forward");
    }, PACE);
    this.face();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = 0;
    this.face();
  }

  face() {
    if (!this.walk.words) return;
    const { t } = this.walk.words;
    const sign = svgEl("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, svgEl("path", { d: this.playing ? "M3 2h4v12H3zM9 2h4v12H9z" : "M4 1.5v13L14 8z" }));
    this.buttons.play.replaceChildren(sign, t(this.playing ? "pause" : "play"));
  }

  // Keys work while the focus is inside the walk; sliders and strips keep theirs.
  key(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const target = event.composedPath()[0];
    if (target.closest?.("input, select, textarea, [role=slider]")) return;
    const { walk } = this;
    const onButton = target.closest?.("button");
    const moves = {
      ArrowRight: () => walk.go(walk.at + 1, "forward"), ArrowLeft: () => walk.go(walk.at - 1, "back"),
      ArrowUp: () => walk.stepBlock(1), ArrowDown: () => walk.stepBlock(-1),
      Home: () => walk.go(0), End: () => walk.go(Infinity),
    };
    if (event.key in moves) { this.pause(); moves[event.key](); walk.followFocus(target); }
    else if (event.key === " " && !onButton) this.toggle();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
