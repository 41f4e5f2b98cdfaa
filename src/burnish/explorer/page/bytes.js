// Bytes by function: a treemap of the state, coloured by the change.

import { $, change, drawn, element, number } from "./draw.js";
import { passes, showText } from "./functions.js";

const STRONGEST = 0.25; // of a colour's share beyond 0.2: names stay readable on it

let shown = null;

export function drawBytes(found) {
  shown = found;
  $("treemap").replaceChildren();
  $("vanished").hidden = true;
  $("byte-legend").hidden = Boolean(found.missing);
  if (found.missing) return void ($("byte-sum").textContent = found.missing);
  const matching = found.functions.filter((one) => passes(one.title));
  const sum = (i) => matching.reduce((total, one) => total + (one.bytes[i] ?? 0), 0);
  const [before, after] = [sum(0), sum(1)];
  const arrow = (from, to) => (from === to ? `${number(to)} bytes, as before` : `${number(from)} → ${number(to)} bytes (${change(from, to)})`);
  $("byte-sum").replaceChildren(
    element("b", {}, arrow(before, after)), ` in ${matching.length} ${matching.length === 1 ? "function" : "functions"}. `,
    element("span", { title: found.description }, `The whole program's ${found.objective}: ${arrow(...found.whole)}.`));
  const gone = matching.filter((one) => one.bytes[1] === null);
  if (found.hidden) $("change-count").textContent = `${found.hidden} of the library hidden`;
  $("vanished").hidden = !gone.length;
  $("vanished").textContent = `Gone: ${gone.map((one) => `${one.title} (${number(one.bytes[0])})`).join(", ")}`;
  const left = matching.filter((one) => one.bytes[1]).sort((a, b) => b.bytes[1] - a.bytes[1]);
  const { clientWidth: width, clientHeight: height } = $("treemap");
  if (!left.length || !width || !height) return;
  const picture = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Bytes of ${left.length} functions` });
  const places = squarified(left.map((one) => one.bytes[1]), width, height);
  left.forEach(({ title, bytes: [from, to] }, i) => {
    const [x, y, w, h] = places[i];
    const kind = from === null || to > from ? "worse" : to < from ? "better" : "even";
    const strength = kind === "even" ? 0.12 : 0.2 + STRONGEST * Math.min(1, Math.abs(to - (from ?? 0)) / Math.max(from ?? 0, 1));
    const text = from === null ? `${number(to)}, new` : from === to ? number(to) : `${number(from)} → ${number(to)}`;
    const cell = drawn("g", { class: "cell", tabindex: 0, role: "button", "aria-label": `${title}: ${text} bytes` });
    cell.append(drawn("rect", { x: x + 1, y: y + 1, width: Math.max(0, w - 2), height: Math.max(0, h - 2), class: kind, "fill-opacity": strength.toFixed(2) }));
    cell.append(drawn("title", {}, `${title}\n${text} bytes`));
    const letters = Math.floor((w - 10) / 6.7);
    if (letters > 3 && h > 18) cell.append(drawn("text", { x: x + 6, y: y + 15 }, title.length > letters ? `${title.slice(0, letters - 1)}…` : title));
    if (text.length <= letters && h > 34) cell.append(drawn("text", { x: x + 6, y: y + 30, class: "count" }, text));
    const open = () => showText(title);
    cell.addEventListener("click", open);
    cell.addEventListener("keydown", (event) => event.key === "Enter" && (event.stopPropagation(), open()));
    picture.append(cell);
  });
  $("treemap").replaceChildren(picture);
}

// Rectangles [x, y, width, height] with areas in proportion to the sizes, largest first, and sides as equal as
// possible: rows along the shorter side (Bruls et al. 2000).
export function squarified(sizes, width, height) {
  const scale = (width * height) / sizes.reduce((a, b) => a + b, 0);
  const areas = sizes.map((size) => size * scale);
  const places = [];
  let [x, y, w, h] = [0, 0, width, height];
  const worst = (row, side) => {
    const total = row.reduce((a, b) => a + b, 0);
    return Math.max((side * side * Math.max(...row)) / (total * total), (total * total) / (side * side * Math.min(...row)));
  };
  for (let i = 0; i < areas.length;) {
    const side = Math.min(w, h), row = [areas[i++]];
    while (i < areas.length && worst([...row, areas[i]], side) <= worst(row, side)) row.push(areas[i++]);
    const total = row.reduce((a, b) => a + b, 0), thick = total / side;
    let at = 0;
    for (const area of row) {
      const long = area / thick;
      places.push(w >= h ? [x, y + at, thick, long] : [x + at, y, long, thick]);
      at += long;
    }
    if (w >= h) [x, w] = [x + thick, w - thick];
    else [y, h] = [y + thick, h - thick];
  }
  return places;
}

addEventListener("resize", () => shown && $("bytes-view").classList.contains("shown") && drawBytes(shown));
