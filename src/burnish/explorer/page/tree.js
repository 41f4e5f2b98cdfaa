// The tree of states.

import { $, drawn, number, say } from "./draw.js";
import { go, kindOf, nodes, page } from "./state.js";

export function drawTree() {
  const children = new Map();
  for (const node of nodes.values())
    if (node.parent && nodes.has(node.parent) && node.parent !== node.key) children.set(node.parent, [...(children.get(node.parent) ?? []), node]);
  const root = [...nodes.values()].find((node) => !node.parent);
  if (!root) return;
  const path = new Set();
  for (let node = nodes.get(page.here?.key); node && !path.has(node.key); node = nodes.get(node.parent)) path.add(node.key);
  const place = new Map();
  let row = 0, deepest = 0;
  const stack = [[root, 0]];
  const order = [];
  while (stack.length) { // depth first; the first child is on its parent's row
    const [node, depth] = stack.pop();
    if (place.has(node.key)) continue;
    if (order.length && depth <= place.get(order.at(-1).key)[0]) row++;
    place.set(node.key, [depth, row]);
    deepest = Math.max(deepest, depth);
    order.push(node);
    const after = children.get(node.key) ?? [];
    for (let i = after.length - 1; i >= 0; i--) stack.push([after[i], depth + 1]);
  }
  const x = (depth) => 18 + 34 * depth, y = (line) => 18 + 22 * line;
  const best = order.reduce((a, b) => (b.cost !== null && (a.cost === null || b.cost < a.cost) ? b : a));
  const picture = drawn("svg", { width: x(deepest) + 96, height: y(row) + 20, role: "img", "aria-label": `${order.length} states` });
  const edges = drawn("g", {}), dots = drawn("g", {});
  for (const node of order) {
    const [depth, line] = place.get(node.key), [cx, cy] = [x(depth), y(line)];
    if (node.parent && place.has(node.parent)) {
      const [px, py] = place.get(node.parent).map((value, i) => (i ? y(value) : x(value)));
      const way = py === cy ? `M${px} ${py}H${cx}` : `M${px} ${py}V${cy - 8}Q${px} ${cy} ${px + 8} ${cy}H${cx}`;
      edges.append(drawn("path", { d: way, class: path.has(node.key) ? "edge path" : "edge" }));
    }
    const isHere = node.key === page.here?.key;
    const dot = drawn("circle", { cx, cy, r: isHere ? 8 : 6, "data-key": node.key, class: `node ${kindOf(node)}${isHere ? " here" : ""}${node === best ? " best" : ""}` });
    const steps = node.trace.length ? node.trace.at(-1) : "start";
    dot.append(drawn("title", {}, `${steps}\n${node.error || `${number(node.cost)} ${page.program.unit}`}`));
    dots.append(dot);
    if (isHere) dots.append(drawn("text", { x: cx + 13, y: cy + 4, class: "cost" }, number(node.cost)));
  }
  picture.append(edges, dots);
  $("tree-view").replaceChildren(picture);
  $("state-count").textContent = `${order.length}, best ${number(best.cost)} ${page.program.unit}`;
  const mark = picture.querySelector(".here");
  if (mark) {
    const view = $("tree-view"), [cx, cy] = [+mark.getAttribute("cx"), +mark.getAttribute("cy")];
    if (cx < view.scrollLeft + 20 || cx > view.scrollLeft + view.clientWidth - 80) view.scrollLeft = cx - view.clientWidth / 2;
    if (cy < view.scrollTop + 20 || cy > view.scrollTop + view.clientHeight - 20) view.scrollTop = cy - view.clientHeight / 2;
  }
}

$("tree-view").addEventListener("click", (event) => {
  const node = nodes.get(event.target.dataset?.key);
  if (node?.error) say(`The compiler failed: ${node.error}`);
  else if (node) go(node.trace);
});
$("tree-view").addEventListener("keydown", (event) => {
  const beside = (key) => [...nodes.values()].filter((node) => node.parent === key && !node.error && node.key !== key);
  const siblings = beside(nodes.get(page.here.key)?.parent), at = siblings.findIndex((node) => node.key === page.here.key);
  const after = beside(page.here.key).sort((a, b) => a.cost - b.cost);
  const next = { ArrowLeft: nodes.get(nodes.get(page.here.key)?.parent), ArrowRight: after[0], ArrowUp: siblings[at - 1], ArrowDown: siblings[at + 1] };
  if (!(event.key in next)) return;
  event.preventDefault();
  event.stopPropagation();
  if (next[event.key]) go(next[event.key].trace);
});
