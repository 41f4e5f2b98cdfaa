// Figures: costs and seconds by step, features before and after, the costs of the last search; the trace.

import { $, change, drawn, element, number, say } from "./draw.js";
import { addressOf, ask, edges, nodes, page, pathKeys } from "./state.js";
import { tabs } from "./tabs.js";
import { exactly, readable } from "./titles.js";
import { amount, duration, isTime, quantity } from "./values.js";

const WIDTH = 320, HEIGHT = 150, LEFT = 8, RIGHT = 70, TOP = 12, BOTTOM = 14;
const DOT = 3, WIDEST = 40; // pixels of a bar
const SPARK = { width: 72, height: 16 }; // pixels
const MOST_SHARE = 0.95; // of a search's costs are inside of its picture
let wanted = "figure-cost"; // the shown figure
let turn = 0; // of requests for features

const figures = { "figure-cost": drawCosts, "figure-seconds": drawSeconds, "figure-features": askFeatures, "figure-search": drawSearch };

export function drawFigures() {
  figures[wanted]();
  drawTrace();
}

// Draws again what depends on news: the trace's steps until all are known, and the search.
export function drawNews(steps) {
  if (wanted === "figure-search" || (steps && wanted !== "figure-features")) figures[wanted]();
  if (steps) drawTrace();
}

function steps() {
  const keys = pathKeys();
  return keys.map((key, i) => ({ key, node: i === keys.length - 1 ? page.here : nodes.get(key), edge: i ? edges.get(keys[i - 1])?.get(page.here.trace[i - 1]) : undefined }));
}

function drawTrace() {
  const all = steps();
  $("trace").replaceChildren(...page.here.trace.map((entry, i) => {
    const [before, now] = [all[i].node?.cost ?? null, all[i + 1].node?.cost ?? null];
    const kind = now < before ? "better" : now > before ? "worse" : "even";
    return element("li", {}, element("a", { href: addressOf(page.here.trace.slice(0, i + 1)), ...exactly(entry) }, readable(entry)), element("span", { class: kind }, change(before, now)));
  }));
}

function plot(label, every) {
  const low = Math.min(...every), high = Math.max(...every);
  return {
    picture: drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label }),
    x: (i, count) => LEFT + (count < 2 ? 0 : (i / (count - 1)) * (WIDTH - LEFT - RIGHT)),
    y: (value) => TOP + (high === low ? 0.5 : (high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM),
  };
}

// Lines of the baselines; those with equal costs share one, and labels do not overlap.
function baselines({ picture, y }) {
  const groups = new Map();
  for (const one of known()) groups.set(one.cost, [...(groups.get(one.cost) ?? []), one.label]);
  let last = -Infinity, below = groups.size;
  for (const [cost, labels] of [...groups].sort((a, b) => b[0] - a[0])) {
    const isReference = labels.includes(page.program.reference);
    picture.append(drawn("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(cost), y2: y(cost), class: isReference ? "baseline reference" : "baseline" }));
    below--;
    last = Math.max(Math.min(y(cost) + 4, HEIGHT - 3 - 12 * below), last + 12);
    picture.append(drawn("text", { x: WIDTH - RIGHT + 6, y: last }, labels.join(" ")));
  }
}

const known = () => page.program.baselines.filter((one) => Number.isFinite(one.cost));

function drawCosts() {
  const costs = steps().map(({ node }) => node?.cost ?? null);
  const made = plot(`Cost by step, ${page.program.unit}: ${costs.map((cost) => (cost === null ? "unknown" : amount(cost, page.program.unit))).join(", ")}`, [...costs.filter((cost) => cost !== null), ...known().map((one) => one.cost)]);
  baselines(made);
  const points = costs.map((cost, i) => (cost === null ? null : [made.x(i, costs.length), made.y(cost)])).filter(Boolean);
  made.picture.append(drawn("polyline", { points: points.map((point) => point.join(",")).join(" "), class: "line" }));
  for (const [cx, cy] of points) made.picture.append(drawn("circle", { cx, cy, r: DOT, class: "point" }));
  show("figure-cost", made.picture, isTime(page.program.unit) ? "time" : page.program.unit);
}

// A bar for each step; a cross for each action that failed in the state before the step.
function drawSeconds() {
  const all = steps();
  const failed = all.flatMap(({ key }, i) => [...(edges.get(key)?.values() ?? [])].filter((edge) => nodes.get(edge.to)?.error).map((edge) => [i, edge]));
  const bars = all.slice(1).map(({ edge }) => edge?.seconds ?? 0);
  if (!bars.length && !failed.length) return show("figure-seconds", empty("Apply an action to see how long it takes."), "");
  const high = Math.max(...bars, ...failed.map(([, edge]) => edge.seconds), 1e-6);
  const made = plot(`Time by step: ${bars.map(duration).join(", ")}; ${failed.length} failures`, [0, high]);
  const count = Math.max(bars.length, all.length), step = (WIDTH - LEFT - RIGHT) / count;
  bars.forEach((seconds, i) => {
    const bar = drawn("rect", { x: LEFT + i * step + 1, width: Math.min(WIDEST, Math.max(1, step - 2)), y: made.y(seconds), height: HEIGHT - BOTTOM - made.y(seconds), class: "bar" });
    bar.append(drawn("title", {}, `${readable(page.here.trace[i])}\n${duration(seconds)}`));
    made.picture.append(bar);
  });
  for (const [i, edge] of failed) {
    const [cx, cy] = [LEFT + (i + 0.5) * step, made.y(edge.seconds)];
    const cross = drawn("path", { d: `M${cx - 4} ${cy - 4}L${cx + 4} ${cy + 4}M${cx - 4} ${cy + 4}L${cx + 4} ${cy - 4}`, class: "cross" });
    cross.append(drawn("title", {}, `${readable(edge.entry)}\n${nodes.get(edge.to).error}`));
    made.picture.append(cross);
  }
  made.picture.append(drawn("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM, class: "axis" }), drawn("text", { x: WIDTH - RIGHT + 6, y: made.y(high) + 4 }, duration(high)));
  show("figure-seconds", made.picture, failed.length ? `by step; ${failed.length} failed` : "by step");
}

// Each evaluated trace is a dot, in the order of the search; the line is the best cost so far.
function drawSearch() {
  const costs = page.evaluated, found = costs.filter((cost) => cost !== null).sort((a, b) => a - b);
  if (!found.length) return show("figure-search", empty("Search to see the costs of the evaluated traces."), "");
  const reference = page.program.reference_cost ?? found[0];
  const most = Math.max(reference, found[Math.floor(MOST_SHARE * (found.length - 1))]); // a few costs are far above all others
  const made = plot(`Costs of ${costs.length} evaluated traces, the best ${quantity(found[0], page.program.unit)}`, [found[0], reference, most]);
  if (page.program.reference_cost) {
    made.picture.append(drawn("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: made.y(reference), y2: made.y(reference), class: "baseline reference" }));
    const near = Math.abs(made.y(reference) - made.y(found[0])) < 12;
    made.picture.append(drawn("text", { x: WIDTH - RIGHT + 6, y: made.y(reference) + (near ? -8 : 4) }, page.program.reference));
  }
  let best = Infinity, way = "";
  costs.forEach((cost, i) => {
    const cx = made.x(i, costs.length);
    if (cost === null) return void made.picture.append(drawn("path", { d: `M${cx} ${HEIGHT - BOTTOM}v6`, class: "cross" }));
    made.picture.append(drawn("circle", { cx, cy: cost > most ? TOP - 6 : made.y(cost), r: 2, class: "evaluated" }));
    best = Math.min(best, cost);
    const y = made.y(Math.min(best, most));
    way += way ? `H${cx}V${y}` : `M${cx} ${y}`;
  });
  made.picture.append(drawn("path", { d: way, class: "line" }), drawn("text", { x: WIDTH - RIGHT + 6, y: made.y(best) + 4 }, amount(best, page.program.unit)));
  const above = found.filter((cost) => cost > most).length;
  show("figure-search", made.picture, `${costs.length} evaluated${above ? `, ${above} above the picture` : ""}`);
}

async function askFeatures() {
  const mine = ++turn, trace = page.here.trace;
  const since = $("feature-since").value === "start" ? [] : trace.slice(0, -1);
  try {
    const found = await ask("features", { trace, since, observation: $("observation").value });
    if (mine === turn) drawFeatures(found);
  } catch (error) {
    if (mine === turn) say(error.message);
  }
}

function drawFeatures(found) {
  $("feature-list").replaceChildren(...found.map(([name, before, now, along]) =>
    element("li", {}, element("span", {}, name), sparkline(name, along), element("span", { class: "value" }, `${number(before)} → ${number(now)}`))));
  if (!found.length) $("feature-list").append(element("li", { class: "empty" }, page.here.trace.length ? "No number changed." : "This is the program as it was opened."));
  $("figure-unit").textContent = `${found.length} changed`;
}

// The values along the trace as a small line, with a dot for the shown state.
function sparkline(name, values) {
  const known = values.map((value, i) => [i, value]).filter(([, value]) => value !== null);
  const numbers = known.map(([, value]) => value), low = Math.min(...numbers), high = Math.max(...numbers);
  const x = (i) => 2 + (i / Math.max(1, values.length - 1)) * (SPARK.width - 5);
  const y = (value) => 2 + (high === low ? 0.5 : (high - value) / (high - low)) * (SPARK.height - 4);
  const text = `${name} by step: ${values.map((value) => (value === null ? "unknown" : number(value))).join(", ")}`;
  const line = drawn("svg", { viewBox: `0 0 ${SPARK.width} ${SPARK.height}`, role: "img", "aria-label": text });
  line.append(drawn("title", {}, text), drawn("polyline", { points: known.map(([i, value]) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(" "), class: "line" }));
  if (known.length) line.append(drawn("circle", { cx: x(known.at(-1)[0]), cy: y(numbers.at(-1)), r: 2, class: "point" }));
  return line;
}

const empty = (text) => element("p", { class: "empty" }, text);

function show(id, content, unit) {
  $(id).replaceChildren(content);
  $("figure-unit").textContent = unit;
}

export function startFigures() {
  $("observation").replaceChildren(...page.program.observations.map((name) => element("option", { value: name }, name)));
  $("observation").hidden = page.program.observations.length < 2;
  $("features-tab").hidden = !page.program.observations.length;
  tabs($("figure-tabs"), (id) => { wanted = id; if (page.here) figures[wanted](); });
}

for (const id of ["feature-since", "observation"]) $(id).addEventListener("change", askFeatures);
