// The cost by step, beside the baselines.

import { $, change, drawn, element, number } from "./draw.js";
import { addressOf, nodes, page } from "./state.js";

export function drawCosts() {
  const byTrace = new Map([...nodes.values()].map((node) => [JSON.stringify(node.trace), node]));
  const costs = page.here.trace.map((_, i) => byTrace.get(JSON.stringify(page.here.trace.slice(0, i)))?.cost ?? null).concat(page.here.cost);
  const lines = page.program.baselines.filter((one) => Number.isFinite(one.cost));
  const every = [...costs.filter((cost) => cost !== null), ...lines.map((one) => one.cost)];
  const low = Math.min(...every), high = Math.max(...every);
  const [width, height, left, right, top, bottom] = [320, 150, 8, 70, 12, 14];
  const x = (i) => left + (costs.length < 2 ? 0 : (i / (costs.length - 1)) * (width - left - right));
  const y = (cost) => top + (high === low ? 0.5 : (high - cost) / (high - low)) * (height - top - bottom);
  const picture = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Cost by step: ${costs.map((cost) => cost ?? "unknown").join(", ")} ${page.program.unit}` });
  const groups = new Map();
  for (const one of lines) groups.set(one.cost, [...(groups.get(one.cost) ?? []), one.label]);
  let last = -Infinity, below = groups.size;
  for (const [cost, labels] of [...groups].sort((a, b) => b[0] - a[0])) {
    const isReference = labels.includes(page.program.reference);
    picture.append(drawn("line", { x1: left, x2: width - right, y1: y(cost), y2: y(cost), class: isReference ? "baseline reference" : "baseline" }));
    below--;
    const at = Math.max(Math.min(y(cost) + 4, height - 3 - 12 * below), last + 12);
    last = at;
    picture.append(drawn("text", { x: width - right + 6, y: at }, `${labels.join(" ")}`));
  }
  const points = costs.map((cost, i) => (cost === null ? null : [x(i), y(cost)])).filter(Boolean);
  picture.append(drawn("polyline", { points: points.map((point) => point.join(",")).join(" "), class: "line" }));
  for (const [cx, cy] of points) picture.append(drawn("circle", { cx, cy, r: 3, class: "point" }));
  $("chart").replaceChildren(picture);
  $("cost-unit").textContent = page.program.unit;
  $("trace").replaceChildren(...page.here.trace.map((entry, i) => {
    const link = element("a", { href: addressOf(page.here.trace.slice(0, i + 1)) }, entry);
    const [before, after] = [costs[i], costs[i + 1]];
    const kind = after < before ? "better" : after > before ? "worse" : "even";
    return element("li", {}, link, element("span", { class: kind }, change(before, after)));
  }));
}
