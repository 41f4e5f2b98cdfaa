// The lines of a difference, one below the other or side by side.

import { element } from "./draw.js";

const PART = 50; // rows of a part: the browser leaves out parts that are not on the screen (2,000 lines: 190 ms)

export const drawLines = (lines) => inParts(lines.map((line) => drawLine(line, true)), 1);

function inParts(cells, columns) {
  const parts = [];
  for (let i = 0; i < cells.length; i += PART * columns) {
    const some = cells.slice(i, i + PART * columns);
    const part = element("div", {}, ...some);
    part.style.containIntrinsicHeight = `auto ${(1.5 * some.length) / columns}em`;
    parts.push(part);
  }
  return element("pre", columns > 1 ? { class: "sides" } : {}, ...parts);
}

function drawLine([kind, text, [from, to], count], signed) {
  if (kind === "same" && !text) return element("span", { class: "skipped" }, `  ⋯ ${count} unchanged`);
  const sign = signed ? { same: "  ", removed: "− ", added: "+ " }[kind] : "";
  const parts = to > from ? [text.slice(0, from), element("mark", {}, text.slice(from, to)), text.slice(to)] : [text];
  return element("span", { class: kind }, sign, ...parts);
}

// Two columns: a removed line is beside the added line at the same place of its change.
export function drawSides(lines) {
  const cells = [];
  const blank = () => element("span", { class: "blank" });
  for (let i = 0; i < lines.length;) {
    const [kind, text, mark, count, before] = lines[i];
    if (kind === "same") {
      cells.push(drawLine([kind, before || text, mark, count], false), drawLine(lines[i], false));
      i++;
      continue;
    }
    const removed = [], added = [];
    while (i < lines.length && lines[i][0] === "removed") removed.push(lines[i++]);
    while (i < lines.length && lines[i][0] === "added") added.push(lines[i++]);
    for (let row = 0; row < Math.max(removed.length, added.length); row++)
      cells.push(...[removed[row], added[row]].map((line) => (line ? drawLine(line, false) : blank())));
  }
  return inParts(cells, 2);
}
