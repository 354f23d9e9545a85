// A strip: a vector as signed colours on a canvas. Hover, touch or keyboard give any cell's value.

const PALETTE = {
  light: { mid: [247, 245, 241], neg: [179, 88, 6], pos: [33, 102, 172], odd: [190, 40, 140] },
  dark: { mid: [36, 39, 45], neg: [224, 130, 20], pos: [90, 165, 224], odd: [230, 110, 190] },
};

// Orange below zero, blue above, by the square root of |x| / scale; what is no number is magenta.
function colourOf(x, scale, theme) {
  const palette = PALETTE[theme];
  if (Number.isNaN(x)) return palette.odd;
  const size = scale > 0 ? Math.sqrt(Math.min(1, Math.abs(x) / scale)) : 0;
  const end = x < 0 ? palette.neg : palette.pos;
  return palette.mid.map((m, i) => Math.round(m + (end[i] - m) * size));
}

function columnsFor(n) {
  if (n <= 48) return n;
  if (n <= 384) return 48;
  if (n <= 1024) return 64;
  if (n <= 8192) return 96;
  return Math.ceil(Math.sqrt(3.4 * n));
}

function paintStrip(canvas, spec, theme) {
  const { values, columns, scale } = spec;
  const rows = Math.ceil(values.length / columns);
  // Rows that mean something (heads) are drawn three pixels high with a gap between them.
  const [high, gap] = spec.rowName ? [5, 1] : [1, 0];
  canvas.width = columns;
  canvas.height = rows * (high + gap) - gap;
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  values.forEach((x, i) => {
    const [r, g, b] = colourOf(x, scale, theme);
    const column = i % columns, row = Math.floor(i / columns);
    for (let k = 0; k < high; k++) {
      image.data.set([r, g, b, 255], 4 * ((row * (high + gap) + k) * columns + column));
    }
  });
  context.putImageData(image, 0, 0);
  canvas.style.aspectRatio = spec.rowName ? "" : `${columns} / ${rows}`;
}

// spec: { label, name, note, values, columns, scale, rowName?, describe(i) }; onHand(i, how)
// with how = "hover", "leave", "pin" or "quit".
function makeStrip(spec, walk, onHand) {
  const { values, columns } = spec;
  const rows = Math.ceil(values.length / columns);
  const canvas = el("canvas", { "aria-hidden": "true" });
  const mark = el("div", { class: "mark", hidden: true });
  const note = el("span", { class: "note" }, spec.note);
  const cells = el("div", {
    class: spec.rowName ? "cells rowed" : "cells", role: "slider", tabindex: "0",
    "aria-label": walk.words.t("strip_label", { label: spec.label, name: spec.name }),
    "aria-valuemin": "0", "aria-valuemax": values.length - 1, "aria-orientation": "horizontal",
    "data-name": spec.name,
  }, canvas, mark);
  if (spec.rowName) cells.style.height = `${rows * Math.max(8, Math.min(20, 150 / rows))}px`;
  const node = el("div", { class: "strip" },
    el("div", { class: "striphead" }, el("b", {}, spec.label), note), cells);

  const show = (i, active) => {
    const row = Math.floor(i / columns), column = i % columns;
    Object.assign(mark.style, {
      left: `${(100 * column) / columns}%`, top: `${(100 * row) / rows}%`,
      width: `${100 / columns}%`, height: `${100 / rows}%`,
    });
    mark.hidden = false;
    const text = spec.describe(i);
    cells.setAttribute("aria-valuenow", i);
    cells.setAttribute("aria-valuetext", text);
    cells.dataset.index = i;
    cells.dataset.value = String(values[i]);
    note.textContent = active ? text : spec.note;
    note.classList.toggle("live", active);
  };
  const at = (event) => {
    const box = cells.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * columns);
    const row = Math.floor(((event.clientY - box.top) / box.height) * rows);
    const i = Math.min(rows - 1, Math.max(0, row)) * columns + Math.min(columns - 1, Math.max(0, column));
    return Math.min(values.length - 1, i);
  };
  cells.addEventListener("pointermove", (event) => onHand(at(event), "hover"));
  cells.addEventListener("pointerleave", () => onHand(null, "leave"));
  cells.addEventListener("click", (event) => onHand(at(event), "pin"));
  cells.addEventListener("focus", () => onHand(Number(cells.dataset.index), "focus"));
  cells.addEventListener("blur", () => onHand(null, "leave"));
  cells.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const here = Number(cells.dataset.index), row = here - (here % columns);
    const moves = {
      ArrowLeft: here - 1, ArrowRight: here + 1, ArrowUp: here - columns, ArrowDown: here + columns,
      Home: row, End: Math.min(values.length, row + columns) - 1,
      PageUp: here % columns, PageDown: values.length - 1 - ((values.length - 1 - here) % columns),
    };
    if (event.key === "Escape") onHand(here, "quit");
    else if (event.key === "Enter" || event.key === " ") onHand(here, "pin");
    else if (event.key in moves) {
      const next = moves[event.key];
      if (next >= 0 && next < values.length) onHand(next, "focus");
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  paintStrip(canvas, spec, walk.theme);
  return { node, show, cells, repaint: () => paintStrip(canvas, spec, walk.theme) };
}
