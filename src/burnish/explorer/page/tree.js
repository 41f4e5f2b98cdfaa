// The tree of states. Only the rows in view are drawn, so that thousands of states move smoothly.

import { $, drawn, say } from "./draw.js";
import { children, edges, go, kindOf, nodes, page, seen } from "./state.js";
import { readable } from "./titles.js";
import { amount, quantity } from "./values.js";

const LEFT = 18, COLUMN = 34, ROW = 22; // pixels
const MARGIN = 4; // rows that are drawn above and below the view
const MOST_MERGES = 200; // dashed edges in view
const x = (depth) => LEFT + COLUMN * depth, y = (row) => LEFT + ROW * row;
const view = $("tree-view");
const picture = drawn("svg", { role: "img" }), lines = drawn("g", {}), dots = drawn("g", {});
picture.append(lines, dots);
view.append(picture);

let layout = { version: -1, place: new Map(), rows: [], trunks: [], merges: [], deepest: 0 };
let shownKey = ""; // the state that was scrolled into view
let drawing = 0;

// Places states depth first; the first child is on its parent's row.
function laidOut() {
  const place = new Map(), rows = [], trunks = [], merges = [];
  let row = -1, deepest = 0, before = Infinity;
  const stack = [[seen.root, 0]];
  while (stack.length) {
    const [node, depth] = stack.pop();
    if (place.has(node.key)) continue;
    if (depth <= before) rows[++row] = [];
    before = depth;
    place.set(node.key, [depth, row]);
    rows[row].push(node);
    deepest = Math.max(deepest, depth);
    const after = children.get(node.key) ?? [];
    for (let i = after.length - 1; i >= 0; i--) stack.push([after[i], depth + 1]);
  }
  for (const [key, after] of children) {
    const last = place.get(after.at(-1).key), from = place.get(key);
    if (last && from && last[1] > from[1]) trunks.push([from[0], from[1], last[1]]);
  }
  for (const byEntry of edges.values())
    for (const { from, to } of byEntry.values())
      if (from !== to && place.has(from) && place.has(to) && nodes.get(to).parent !== from) merges.push([place.get(from), place.get(to)]);
  return { version: seen.version, place, rows, trunks, merges, deepest };
}

export function drawTree() {
  if (!seen.root) return;
  if (layout.version !== seen.version) {
    layout = laidOut();
    picture.setAttribute("width", x(layout.deepest) + 96);
    picture.setAttribute("height", y(layout.rows.length - 1) + 20);
    picture.setAttribute("aria-label", `${layout.place.size} states`);
    const left = page.leftOut ? `, ${page.leftOut} more were found` : "";
    $("state-count").textContent = `${layout.place.size}${left}, best ${quantity(seen.best?.cost ?? seen.root.cost, page.program.unit)}`;
  }
  const here = layout.place.get(page.here?.key);
  if (here && shownKey !== page.here.key) {
    shownKey = page.here.key;
    const [cx, cy] = [x(here[0]), y(here[1])];
    if (cx < view.scrollLeft + 20 || cx > view.scrollLeft + view.clientWidth - 80) view.scrollLeft = cx - view.clientWidth / 2;
    if (cy < view.scrollTop + 20 || cy > view.scrollTop + view.clientHeight - 20) view.scrollTop = cy - view.clientHeight / 2;
  }
  drawRows();
}

function drawRows() {
  const { place, rows, trunks, merges } = layout;
  const top = Math.floor((view.scrollTop - LEFT) / ROW) - MARGIN, bottom = top + Math.ceil(view.clientHeight / ROW) + 2 * MARGIN;
  const inView = (first, last) => Math.min(first, last) <= bottom && Math.max(first, last) >= top;
  const path = new Set();
  for (let node = nodes.get(page.here?.key); node && !path.has(node.key); node = nodes.get(node.parent)) path.add(node.key);
  const edgesDrawn = [], pathDrawn = [], dotsDrawn = [];
  for (const [depth, first, last] of trunks)
    if (inView(first, last)) edgesDrawn.push(drawn("path", { d: `M${x(depth)} ${y(Math.max(first, top))}V${y(Math.min(last, bottom)) - 8}`, class: "edge" }));
  const elbow = (node) => {
    const from = place.get(node.parent), [depth, row] = place.get(node.key);
    if (!from) return null;
    const [px, py, cx, cy] = [x(from[0]), y(from[1]), x(depth), y(row)];
    if (py === cy) return `M${px} ${py}H${cx}`;
    return `M${px} ${path.has(node.key) ? py : cy - 8}V${cy - 8}Q${px} ${cy} ${px + 8} ${cy}H${cx}`;
  };
  for (const key of path) {
    const node = nodes.get(key), way = place.has(key) && elbow(node);
    if (way && inView(place.get(key)[1], place.get(node.parent)[1])) pathDrawn.push(drawn("path", { d: way, class: "edge path" }));
  }
  for (let row = Math.max(0, top); row <= Math.min(bottom, rows.length - 1); row++)
    for (const node of rows[row]) {
      const way = !path.has(node.key) && elbow(node);
      if (way) edgesDrawn.push(drawn("path", { d: way, class: "edge" }));
      dotsDrawn.push(...dotOf(node));
    }
  const mergesDrawn = merges.filter(([from, to]) => inView(from[1], to[1])).slice(0, MOST_MERGES).map(([from, to]) => drawn("path", { d: arc(from, to), class: "edge merge" }));
  lines.replaceChildren(...edgesDrawn, ...mergesDrawn, ...pathDrawn);
  dots.replaceChildren(...dotsDrawn);
}

function dotOf(node) {
  const [depth, row] = layout.place.get(node.key), [cx, cy] = [x(depth), y(row)];
  const isHere = node.key === page.here?.key;
  const dot = drawn("circle", { cx, cy, r: isHere ? 8 : 6, "data-key": node.key, class: `node ${kindOf(node)}${isHere ? " here" : ""}${node === seen.best ? " best" : ""}` });
  dot.append(drawn("title", {}, `${node.trace.length ? readable(node.trace.at(-1)) : "start"}\n${node.error || quantity(node.cost, page.program.unit)}`));
  const hasRoom = (children.get(node.key) ?? []).every((other) => layout.place.get(other.key)?.[1] !== row); // beside the dot
  return isHere && hasRoom ? [dot, drawn("text", { x: cx + 13, y: cy + 4, class: "cost" }, amount(node.cost, page.program.unit))] : [dot];
}

// A curve beside the tree's own edges, which are straight.
function arc([fromDepth, fromRow], [toDepth, toRow]) {
  const [ax, ay, bx, by] = [x(fromDepth), y(fromRow), x(toDepth), y(toRow)];
  const bend = COLUMN / 2;
  if (ay === by) return `M${ax} ${ay}Q${(ax + bx) / 2} ${ay - bend} ${bx} ${by}`;
  return `M${ax} ${ay}C${ax + bend} ${ay + Math.sign(by - ay) * bend} ${bx + bend} ${by - Math.sign(by - ay) * bend} ${bx} ${by}`;
}

view.addEventListener("scroll", () => { drawing ||= requestAnimationFrame(() => { drawing = 0; drawRows(); }); }, { passive: true });
new ResizeObserver(() => seen.root && drawTree()).observe(view);
view.addEventListener("click", (event) => {
  const node = nodes.get(event.target.dataset?.key);
  if (node?.error) say(`The compiler failed: ${node.error}`);
  else if (node) go(node.trace);
});
view.addEventListener("keydown", (event) => {
  const beside = (key) => (children.get(key) ?? []).filter((node) => !node.error);
  const parent = nodes.get(nodes.get(page.here.key)?.parent);
  const siblings = beside(parent?.key), at = siblings.findIndex((node) => node.key === page.here.key);
  const best = beside(page.here.key).reduce((one, other) => (one && one.cost <= other.cost ? one : other), undefined);
  const next = { ArrowLeft: parent, ArrowRight: best, ArrowUp: siblings[at - 1], ArrowDown: siblings[at + 1] };
  if (!(event.key in next)) return;
  event.preventDefault();
  event.stopPropagation();
  if (next[event.key]) go(next[event.key].trace);
});
