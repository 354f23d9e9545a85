// The point: one stop, and everything that shows it. Nothing here asks the server.

const NUMBER = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;
const kept = (globalThis.andreaPoint ??= {}); // where it stood, for who comes back from another page

class Point {
  constructor(root) {
    this.root = root;
    this.path = location.pathname;
    const part = (cls) => root.querySelector(`.${cls}`);
    this.parts = { title: part("title"), legend: part("legend"), frame: part("frame"), slider: part("slider"), label: root.querySelector("label"), output: root.querySelector("output"), keys: part("keys"), live: part("unseen") };
    this.drawing = new Drawing(part("drawing"));
    this.formulas = new Formulas(part("formulas"));
    this.sizes = new ResizeObserver(() => this.resize());
    this.parts.slider.addEventListener("input", () => this.go(Number(this.parts.slider.value)));
    this.followPointer(this.drawing.svg);
  }

  // Words may have changed with the language: write again, and keep the place.
  receive(data) {
    this.data = data;
    this.written = makeWriter(data.decimal);
    this.at ??= this.wanted();
    const { parts } = this, { words } = data;
    parts.slider.max = data.arrays.x.length - 1;
    parts.title.textContent = words.title;
    parts.label.textContent = words.place;
    parts.keys.textContent = words.keys;
    parts.legend.replaceChildren(...[["gelu", "GELU"], ["tanh", words.form], ["relu", "ReLU"]].map(([curve, name]) => el("span", { class: `key ${curve}` }, sample(curve), name)));
    this.formulas.build(words);
    this.root.hidden = false;
    this.resize(true);
    this.write();
    this.sizes.observe(parts.frame);
  }

  stopOf(x) {
    const distances = this.data.arrays.x.map((v) => Math.abs(v - x));
    return distances.indexOf(Math.min(...distances));
  }

  // The stop that the address asks for; one between two stops is snapped. The server decides alike,
  // from the address that it was given, and says so.
  wanted() {
    const { x } = this.data.arrays, said = new URLSearchParams(location.search).getAll("x");
    if (!said.length) return kept.at ?? this.stopOf(this.data.start);
    const value = said.length === 1 && NUMBER.test(said[0]) ? Number(said[0]) : NaN;
    const inside = value >= x[0] && value <= x[x.length - 1];
    return this.stopOf(inside ? value : this.data.start);
  }

  resize(anew = false) {
    const width = Math.max(260, Math.floor(this.parts.frame.clientWidth));
    if (!anew && width === this.drawing.width) return;
    this.drawing.build(this.data, width, this.written);
    this.show();
  }

  go(stop) {
    if (stop === this.at) return;
    this.at = stop;
    this.show();
    this.say();
    this.write();
  }

  show() {
    const { parts, written, data } = this;
    const text = `x = ${written.fixed(data.arrays.x[this.at], 2)}`;
    parts.slider.value = this.at;
    parts.slider.setAttribute("aria-valuetext", text);
    parts.output.textContent = text;
    this.lines = linesAt(data.arrays, this.at, written, data.words);
    this.formulas.show(this.lines);
    this.drawing.move(this.at);
    kept.at = this.at;
  }

  // The slider itself says x at each step; the values follow once it rests.
  say() {
    clearTimeout(this.saying);
    this.saying = setTimeout(() => {
      const result = (name) => this.lines[name][2];
      this.parts.live.textContent = filled(this.data.words.says, { gelu: result("gelu"), tanh: result("tanh"), relu: result("relu"), slope: result("gelu_slope") });
    }, 400);
  }

  followPointer(svg) {
    const follow = (event) => this.go(this.drawing.stopAt(event.clientX));
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      svg.setPointerCapture(event.pointerId);
      this.parts.slider.focus({ preventScroll: true });
      event.preventDefault();
      follow(event);
    });
    svg.addEventListener("pointermove", (event) => { if (svg.hasPointerCapture(event.pointerId)) follow(event); });
  }

  // In the address the first place is left out, as every default is; a shared link has it.
  get inAddress() {
    const x = this.data.arrays.x[this.at];
    return x === this.data.start ? null : String(x);
  }

  write() {
    clearTimeout(this.writing);
    this.writing = setTimeout(() => {
      const query = new URLSearchParams(location.search);
      if (!this.root.isConnected || location.pathname !== this.path || query.get("x") === this.inAddress) return;
      if (this.inAddress === null) query.delete("x");
      else query.set("x", this.inAddress);
      const text = query.toString();
      history.replaceState(history.state, "", `${location.pathname}${text && `?${text}`}${location.hash}`);
    }, 120);
  }

  // When Python changes the address, Streamlit writes it from a memory of its own that may know
  // nothing of our steps: look from time to time and put the place back.
  keepAddress() {
    if (location.pathname === this.path && new URLSearchParams(location.search).get("x") !== this.inAddress) this.write();
  }
}

export default function mount({ data, parentElement }) {
  const root = parentElement.querySelector(".point");
  if (!root) return undefined;
  root.point ??= new Point(root);
  root.point.receive(data);
  clearInterval(root.keeper);
  root.keeper = setInterval(() => root.point.keepAddress(), 500);
  return () => { clearInterval(root.keeper); clearTimeout(root.point.writing); clearTimeout(root.point.saying); root.point.sizes.disconnect(); };
}
