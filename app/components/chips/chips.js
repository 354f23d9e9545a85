// The text's tokens as chips, shaded by how much each surprised the model. One tab stop: arrows
// move among the chips, Enter or a click chooses.

const MOST = 12; // nats: about one in 160,000; full shade

function visible(label) {
  const marks = { " ": "·", "\n": "↵", "\t": "⇥", "\u00a0": "·" };
  const asByte = (c) => `<${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}>`;
  return label.replace(/[\u0000-\u0020\u007f-\u00a0]/g, (c) => marks[c] ?? asByte(c));
}

function isDark(node) {
  const raw = getComputedStyle(node).getPropertyValue("--st-background-color").trim();
  const hex = /^#([0-9a-f]{6})/i.exec(raw)?.[1];
  const rgb = hex ? [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)) : (raw.match(/\d+/g) ?? []).map(Number);
  return rgb.length >= 3 && 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2] < 128;
}

export default function mount(component) {
  const { data, parentElement } = component;
  const group = parentElement.querySelector(".chips");
  const tip = parentElement.querySelector(".tip");
  const about = parentElement.querySelector(".about");
  if (!group) return;
  const had = parentElement.activeElement?.dataset?.position;
  group.dataset.theme = isDark(group) ? "dark" : "light";
  group.setAttribute("aria-label", data.words.group);
  let home = data.position;
  const say = (text) => { tip.hidden = !text; tip.textContent = text ?? ""; };
  const chips = data.chips.map(([label, id, share, text], position) => {
    const chip = document.createElement("button");
    chip.type = "button";
    chip.className = "chip";
    chip.dataset.position = position;
    chip.title = text;
    chip.setAttribute("aria-pressed", position === data.position);
    chip.setAttribute("aria-label", `${position === 0 ? "BOS" : visible(label)}. ${text}`);
    chip.tabIndex = position === home ? 0 : -1;
    if (share !== null) {
      chip.style.setProperty("--heat-share", Math.min(1, share / MOST).toFixed(3));
      chip.dataset.nats = share;
    }
    const word = document.createElement("bdi");
    word.textContent = position === 0 ? "BOS" : visible(label);
    const small = document.createElement("small");
    small.textContent = position === 0 ? "0" : id;
    chip.append(word, small);
    chip.onclick = () => component.setTriggerValue("choose", position);
    chip.onfocus = () => say(text);
    chip.onblur = () => say(null);
    chip.onmouseenter = () => say(text);
    chip.onmouseleave = () => say(null);
    return chip;
  });
  group.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const here = chips.indexOf(parentElement.activeElement);
    const moves = { ArrowRight: here + 1, ArrowDown: here + 1, ArrowLeft: here - 1, ArrowUp: here - 1, Home: 0, End: chips.length - 1 };
    if (here < 0 || !(event.key in moves)) return;
    const next = Math.max(0, Math.min(chips.length - 1, moves[event.key]));
    chips[here].tabIndex = -1;
    chips[next].tabIndex = 0;
    chips[next].focus();
    home = next;
    event.preventDefault();
    event.stopPropagation();
  };
  group.replaceChildren(...chips);
  const ramp = document.createElement("span");
  ramp.className = "ramp";
  about.replaceChildren(ramp, data.words.about);
  if (had !== undefined) chips[Math.min(chips.length - 1, Number(had))].focus({ preventScroll: true });
  const chosen = chips[data.position]; // scroll the row of chips, never the page
  if (chosen && group.scrollHeight > group.clientHeight + 4) group.scrollTop = chosen.offsetTop - group.offsetTop - group.clientHeight / 2;
}
