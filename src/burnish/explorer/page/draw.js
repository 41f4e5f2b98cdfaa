// Small parts of pages: elements, numbers, messages.

const SVG = "http://www.w3.org/2000/svg";
export const $ = (id) => document.getElementById(id);

export function say(text, note = false) {
  $("message").textContent = text;
  $("message").hidden = !text;
  $("message").classList.toggle("note", note);
}

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function drawn(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

export const number = (value) => (Number.isInteger(value) ? String(value) : Math.abs(value) < 1e-3 ? value.toExponential(3) : String(Number(value.toPrecision(4))));

export function change(from, to) {
  if (from === null || to === null || !from) return "";
  const percent = 100 * (to / from - 1), size = Math.abs(percent);
  return `${percent > 0 ? "+" : percent < 0 ? "−" : "±"}${size.toFixed(size && size < 0.1 ? 2 : 1)} %`;
}
