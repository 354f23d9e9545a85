// The drawing: values, the normal curve and slopes over one x axis, and the point on all of them.

const LEFT = 34, RIGHT = 16; // room for the numbers at the axes
const PANELS = {
  value: { low: -0.55, high: 4.3, ticks: [0, 1, 2, 3, 4], digits: 0, wide: 236, narrow: 178 },
  bell: { low: 0, high: 0.43, ticks: [], digits: 0, wide: 74, narrow: 52 },
  slope: { low: -0.5, high: 1.4, ticks: [0, 0.5, 1], digits: 1, wide: 148, narrow: 110 },
};
const LINES = [["value", "gelu", "gelu"], ["value", "relu", "relu"], ["value", "tanh", "tanh"], ["slope", "gelu_slope", "gelu"], ["slope", "relu_slope", "relu"], ["slope", "tanh_slope", "tanh"]];
const POINTS = [["value", "relu", "relu"], ["value", "gelu", "gelu"], ["slope", "relu_slope", "relu"], ["slope", "gelu_slope", "gelu"]];

// A piece of each line as it is drawn, for the legend and for the formulas' headings.
function sample(curve) {
  return draw("svg", { viewBox: "0 0 30 10", width: 30, height: 10, class: "sample", "aria-hidden": "true" }, draw("path", { class: `line ${curve}`, d: "M1 5H29" }));
}

class Drawing {
  constructor(svg) { this.svg = svg; }

  // Everything that does not move, for a width in pixels: a letter is as large as it says.
  build(data, width, written) {
    const { arrays, words } = data, { svg } = this;
    this.arrays = arrays;
    this.width = width;
    this.written = written;
    const x = arrays.x, last = x[x.length - 1];
    this.X = (v) => LEFT + ((width - LEFT - RIGHT) * (v - x[0])) / (last - x[0]);
    this.place(width > 520 ? "wide" : "narrow");
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    svg.setAttribute("height", this.height);
    svg.setAttribute("aria-label", words.alt);
    for (const [from, to] of [[x[0], -data.far], [data.far, last]]) {
      for (const p of Object.values(this.panels)) svg.append(draw("rect", { class: "region", x: this.X(from), y: p.top, width: this.X(to) - this.X(from), height: p.bottom - p.top }));
    }
    this.axes([words.value, words.bell, words.slopes]);
    this.area = svg.appendChild(draw("path", { class: "area" }));
    svg.append(draw("path", { class: "bell", d: this.path("bell", "density") }));
    for (const [panel, name, curve] of LINES) svg.append(draw("path", { class: `line ${curve}`, d: this.path(panel, name) }));
    for (const y of [0, 1]) svg.append(draw("circle", { class: "open", cx: this.X(0), cy: this.panels.slope.Y(y), r: 4 }));
    this.upright = svg.appendChild(draw("path", { class: "upright" }));
    this.tall = svg.appendChild(draw("path", { class: "density" }));
    for (const [at, text] of data.regions) this.text(Math.abs(at) > data.far ? "halo far" : "halo", this.X(at), this.panels.value.Y(2.6), text, "middle");
    for (const mark of data.marks) this.mark(mark);
    this.points = POINTS.map(([panel, name, curve]) => {
      const shape = curve === "relu" ? draw("rect", { width: 11, height: 11 }) : draw("circle", { r: 6.5 });
      shape.setAttribute("class", `dot ${curve}`);
      shape.dataset.name = name;
      return { panel, name, shape: svg.appendChild(shape) };
    });
    this.flag = this.text("flag halo", 0, 13, "", "middle");
  }

  place(size) {
    let y = 20;
    this.panels = {};
    for (const [name, spec] of Object.entries(PANELS)) {
      const top = y + 22, bottom = top + spec[size];
      this.panels[name] = { ...spec, top, bottom, Y: (v) => bottom - ((bottom - top) * (v - spec.low)) / (spec.high - spec.low) };
      y = bottom;
    }
    this.height = y + 22;
  }

  text(cls, x, y, words, anchor = "start") {
    return this.svg.appendChild(draw("text", { class: cls, x, y, "text-anchor": anchor }, words));
  }

  path(panel, name) {
    const { Y } = this.panels[panel], { x, [name]: y } = this.arrays;
    return x.map((v, i) => (y[i] === null ? "" : `${i && y[i - 1] !== null ? "L" : "M"}${this.X(v).toFixed(1)} ${Y(y[i]).toFixed(1)}`)).join("");
  }

  axes(titles) {
    const { svg, X, width, panels } = this, { slope } = panels;
    const whole = this.arrays.x.filter(Number.isInteger);
    Object.values(panels).forEach((p, k) => {
      this.text("name halo", 0, p.top - 7, titles[k]);
      for (const v of whole) svg.append(draw("path", { class: v ? "grid" : "grid zero", d: `M${X(v)} ${p.top}V${p.bottom}` }));
      for (const v of p.ticks) {
        svg.append(draw("path", { class: v ? "grid" : "grid zero", d: `M${LEFT} ${p.Y(v)}H${width - RIGHT}` }));
        this.text("tick", LEFT - 7, p.Y(v) + 4, this.written.fixed(v, p.digits), "end");
      }
    });
    for (const v of whole) this.text("tick", X(v), slope.bottom + 16, this.written.fixed(v, 0), "middle");
  }

  // A diamond with its words: the minimum's in the room above it, left of where the curve climbs; a
  // slope's on the far side of the line.
  mark([panel, x, y, words]) {
    const across = this.X(x), up = this.panels[panel].Y(y);
    this.svg.append(draw("path", { class: "diamond", d: `M${across} ${up - 5}l5 5l-5 5l-5-5z` }));
    if (panel === "slope") return this.text("mark halo", across, up + (y > 0 ? -10 : 19), words, "middle");
    this.svg.append(draw("path", { class: "leader", d: `M${across} ${up - 6}V${up - 41}` }));
    return this.text("mark halo", this.X(0.6), up - 46, words, "end");
  }

  // Which stop lies under a place on the screen.
  stopAt(clientX) {
    const { x } = this.arrays, box = this.svg.getBoundingClientRect();
    const share = ((clientX - box.left) * this.width / box.width - LEFT) / (this.width - LEFT - RIGHT);
    return Math.max(0, Math.min(x.length - 1, Math.round(share * (x.length - 1))));
  }

  move(i) {
    const { arrays, panels, X } = this, x = arrays.x[i], { bell } = panels;
    const across = X(x), part = arrays.x.slice(0, i + 1);
    this.area.setAttribute("d", `M${X(arrays.x[0])} ${bell.bottom}${part.map((v, j) => `L${X(v).toFixed(1)} ${bell.Y(arrays.density[j]).toFixed(1)}`).join("")}V${bell.bottom}Z`);
    this.tall.setAttribute("d", `M${across} ${bell.bottom}V${bell.Y(arrays.density[i])}`);
    this.upright.setAttribute("d", Object.values(panels).map((p, k) => `M${across} ${k ? p.top : 19}V${p.bottom}`).join(""));
    for (const { panel, name, shape } of this.points) {
      const y = arrays[name][i];
      shape.setAttribute("visibility", y === null ? "hidden" : "visible");
      if (y === null) continue;
      const up = panels[panel].Y(y);
      const spot = shape.tagName === "rect" ? { x: across - 5.5, y: up - 5.5 } : { cx: across, cy: up };
      for (const [k, v] of Object.entries(spot)) shape.setAttribute(k, v);
    }
    this.flag.textContent = `x = ${this.written.fixed(x, 2)}`;
    this.flag.setAttribute("x", Math.max(30, Math.min(this.width - 30, across)));
  }
}
