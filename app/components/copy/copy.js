// Runs again at every rerun of the page: everything is rebuilt from `data`, no listener piles up.
function linkNow(link) {
  const url = new URL(link, window.location.href);
  const now = new URLSearchParams(window.location.search);
  if (now.has("at")) url.searchParams.set("at", now.get("at"));
  if (now.has("x") && url.searchParams.has("x")) url.searchParams.set("x", now.get("x"));
  return url.href.replace(/\+/g, "%20");
}

// Without https the browser has no clipboard; a selected text area can still be copied.
function copyBySelection(root, text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.style.cssText = "position:fixed;opacity:0;top:0;left:0";
  root.appendChild(area);
  area.select();
  let done = false;
  try { done = document.execCommand("copy"); } catch { done = false; }
  area.remove();
  return done;
}

async function copy(root, text) {
  if (window.isSecureContext && navigator.clipboard) {
    try { await navigator.clipboard.writeText(text); return true; } catch { /* not permitted */ }
  }
  return copyBySelection(root, text);
}

function showLink(box, text, title) {
  box.querySelector("label")?.remove();
  const label = document.createElement("label");
  label.textContent = title;
  const field = document.createElement("input");
  field.readOnly = true;
  field.value = text;
  label.appendChild(field);
  box.appendChild(label);
  field.select();
}

export default function ({ parentElement, data }) {
  const box = parentElement.querySelector(".box");
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = data.copy;
  const said = document.createElement("span");
  said.setAttribute("role", "status");
  said.style.cssText = "position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)";
  button.onclick = async () => {
    const text = linkNow(data.link);
    if (await copy(box, text)) {
      button.textContent = "✓ " + data.copied;
      said.textContent = data.copied;
      setTimeout(() => { button.textContent = data.copy; said.textContent = ""; }, 2500);
    } else {
      showLink(box, text, data.manual);
    }
  };
  box.replaceChildren(button, said);
}
