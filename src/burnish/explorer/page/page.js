// The page of burnish explore. The address' fragment is the trace of the shown state, as JSON.

const token = document.body.dataset.token;
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const MOST_SHOWN = 400; // actions in the list: filter to see the others

const nodes = new Map(); // by key
let program, here, legal = [], shown = [], chosen = 0, turn = 0, searching = false;

async function ask(name, body = {}) {
  const answer = await fetch(`api/${name}?token=${token}`, { method: "POST", body: JSON.stringify(body) });
  const read = await answer.json();
  if (!answer.ok) throw new Error(read.error);
  return read;
}

function say(text, note = false) {
  $("message").textContent = text;
  $("message").hidden = !text;
  $("message").classList.toggle("note", note);
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function drawn(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

const number = (value) => (Number.isInteger(value) ? String(value) : Number(value.toPrecision(4)).toString());
const traceOf = () => { try { return JSON.parse(decodeURIComponent(location.hash.slice(1)) || "[]"); } catch { return []; } };
const addressOf = (trace) => (trace.length ? `#${encodeURIComponent(JSON.stringify(trace))}` : "#");

function kindOf(node) {
  if (node.error) return "failed";
  const reference = program.reference_cost ?? [...nodes.values()][0]?.cost;
  if (node.cost === null || node.cost === reference) return "even";
  return node.cost < reference ? "better" : "worse";
}

function change(from, to) {
  if (from === null || to === null || !from) return "";
  const percent = 100 * (to / from - 1);
  return `${percent > 0 ? "+" : percent < 0 ? "−" : "±"}${Math.abs(percent).toFixed(1)} %`;
}

// A state that a search has found gets another key when it is opened: its digest.
function add(node) {
  if (nodes.has(node.key)) return;
  nodes.set(node.key, node);
  if (node.searched) return;
  const address = addressOf(node.trace);
  const found = [...nodes.values()].find((other) => other.searched && other.key !== node.key && addressOf(other.trace) === address);
  if (!found) return;
  nodes.delete(found.key);
  for (const other of nodes.values()) if (other.parent === found.key) other.parent = node.key;
}

// Going to a state

function go(trace) {
  const address = addressOf(trace);
  if (location.hash === address || (address === "#" && !location.hash)) open();
  else location.hash = address;
}

async function open() {
  const mine = ++turn;
  const trace = traceOf();
  document.body.setAttribute("aria-busy", "true");
  try {
    const node = await ask("state", { trace });
    if (mine !== turn) return;
    say("");
    add(node);
    if (node.error) {
      say(`The compiler failed: ${node.error}`);
      drawTree();
      history.replaceState(null, "", addressOf(trace.slice(0, -1)));
      if (!here) open();
      return;
    }
    here = { ...nodes.get(node.key), trace };
    draw();
    const [found] = await Promise.all([ask("actions", { trace }), compare(mine)]);
    if (mine !== turn) return;
    legal = found;
    drawSites();
    drawActions();
  } catch (error) {
    if (mine !== turn) return;
    say(error.message);
    if (!here && trace.length) history.replaceState(null, "", "#"), open();
    else if (here) history.replaceState(null, "", addressOf(here.trace));
  } finally {
    if (mine === turn) document.body.removeAttribute("aria-busy");
  }
}

async function compare(mine = turn) {
  const trace = here.trace;
  const since = $("since").value === "start" ? [] : trace.slice(0, -1);
  const found = await ask("changes", { trace, since, details: $("details").checked });
  if (mine === turn) drawChanges(found, trace.length);
}

const undo = () => here?.trace.length && go(here.trace.slice(0, -1));

// The parts of the page

function draw() {
  const start = [...nodes.values()].find((node) => !node.trace.length)?.cost ?? null;
  const facts = $("facts");
  facts.replaceChildren(`${program.task} · `, element("b", {}, number(here.cost)), ` ${program.unit}`);
  for (const [label, cost] of [["the start", start], [program.reference, program.reference_cost]])
    if (cost) {
      const kind = here.cost < cost ? "gain" : here.cost > cost ? "loss" : "";
      facts.append(" · ", element("span", { class: kind }, change(cost, here.cost)), ` against ${label}`);
    }
  $("undo").disabled = !here.trace.length;
  drawTree();
  drawCosts();
}

function drawSites() {
  const before = $("site").value;
  const sites = new Map([["*", "everywhere"], ["", "whole program"]]);
  for (const one of legal) if (one.site) sites.set(one.site, one.title);
  $("site").replaceChildren(...[...sites].map(([value, text]) => element("option", { value }, text)));
  $("site").value = sites.has(before) ? before : legal.some((one) => !one.site) ? "" : "*";
}

function drawActions() {
  const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const site = $("site").value;
  const found = legal.filter((one) => {
    const text = `${one.title} ${one.entry}`.toLowerCase();
    return (site === "*" || one.site === site) && words.every((word) => text.includes(word));
  });
  shown = found.slice(0, MOST_SHOWN);
  chosen = Math.min(chosen, Math.max(0, shown.length - 1));
  const known = new Map();
  for (const node of nodes.values())
    if (node.parent === here.key && node.trace.length) known.set(node.trace.at(-1), node);
  $("action-list").replaceChildren(...shown.map((one, i) => {
    const action = one.site ? one.entry.slice(one.site.length + 2) : one.entry;
    const text = one.site && site === "*" ? `${one.title}: ${action}` : action;
    const item = element("li", { role: "option", id: `action-${i}`, "aria-selected": i === chosen }, text);
    const after = known.get(one.entry);
    if (after) {
      const kind = after.error ? "failed" : after.cost < here.cost ? "better" : after.cost > here.cost ? "worse" : "even";
      item.prepend(element("span", { class: `known ${kind}` }, after.error ? "crash" : change(here.cost, after.cost)));
    }
    item.addEventListener("click", () => apply(i));
    return item;
  }));
  if (!shown.length) $("action-list").append(element("li", { class: "empty" }, legal.length ? "No action matches the filter." : "No action is legal here."));
  $("action-count").textContent = found.length > shown.length ? `${shown.length} of ${found.length} shown` : `${found.length}`;
  if (shown.length) $("action-list").setAttribute("aria-activedescendant", `action-${chosen}`);
}

function choose(by) {
  const items = $("action-list").children;
  if (!shown.length) return;
  items[chosen]?.setAttribute("aria-selected", "false");
  chosen = Math.max(0, Math.min(shown.length - 1, chosen + by));
  items[chosen].setAttribute("aria-selected", "true");
  items[chosen].scrollIntoView({ block: "nearest" });
  $("action-list").setAttribute("aria-activedescendant", `action-${chosen}`);
}

function apply(i) {
  if (!shown[i]) return;
  chosen = i;
  go([...here.trace, shown[i].entry]);
}

function drawChanges(found, steps) {
  const parts = found.sections.map((section, i) => {
    const summary = element("summary", {}, section.title,
      element("span", { class: "plus" }, section.added ? `+${section.added}` : ""),
      element("span", { class: "minus" }, section.removed ? `−${section.removed}` : ""));
    const [before, after] = section.costs;
    if (before !== null && after !== null)
      summary.append(element("span", { class: "cost" }, before === after ? `${number(after)} ${program.unit}` : `${number(before)} → ${number(after)} ${program.unit}`));
    const details = element("details", {}, summary);
    const fill = () => details.open && details.children.length === 1 && details.append(element("pre", {}, ...section.lines.map(drawLine)));
    details.addEventListener("toggle", fill);
    details.open = i < 2;
    fill();
    return details;
  });
  if (!parts.length)
    parts.push(element("p", { class: "empty" }, steps ? "Nothing changed." : "This is the program as it was opened. Apply an action to see what it changes."));
  $("change-list").replaceChildren(...parts);
  $("change-count").textContent = steps ? `${found.sections.length} changed, ${found.unchanged} unchanged` : "";
}

function drawLine([kind, text, [from, to], count]) {
  if (kind === "same" && !text) return element("span", { class: "skipped" }, `  ⋯ ${count} unchanged`);
  const sign = { same: "  ", removed: "− ", added: "+ " }[kind];
  const parts = to > from ? [text.slice(0, from), element("mark", {}, text.slice(from, to)), text.slice(to)] : [text];
  return element("span", { class: kind }, sign, ...parts);
}

function drawTree() {
  const children = new Map();
  for (const node of nodes.values())
    if (node.parent && nodes.has(node.parent) && node.parent !== node.key) children.set(node.parent, [...(children.get(node.parent) ?? []), node]);
  const root = [...nodes.values()].find((node) => !node.parent);
  if (!root) return;
  const path = new Set();
  for (let node = nodes.get(here?.key); node && !path.has(node.key); node = nodes.get(node.parent)) path.add(node.key);
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
    const isHere = node.key === here?.key;
    const dot = drawn("circle", { cx, cy, r: isHere ? 8 : 6, "data-key": node.key, class: `node ${kindOf(node)}${isHere ? " here" : ""}${node === best ? " best" : ""}` });
    const steps = node.trace.length ? node.trace.at(-1) : "start";
    dot.append(drawn("title", {}, `${steps}\n${node.error || `${number(node.cost)} ${program.unit}`}`));
    dots.append(dot);
    if (isHere) dots.append(drawn("text", { x: cx + 13, y: cy + 4, class: "cost" }, number(node.cost)));
  }
  picture.append(edges, dots);
  $("tree-view").replaceChildren(picture);
  $("state-count").textContent = `${order.length}, best ${number(best.cost)} ${program.unit}`;
  const mark = picture.querySelector(".here");
  if (mark) {
    const view = $("tree-view"), [cx, cy] = [+mark.getAttribute("cx"), +mark.getAttribute("cy")];
    if (cx < view.scrollLeft + 20 || cx > view.scrollLeft + view.clientWidth - 80) view.scrollLeft = cx - view.clientWidth / 2;
    if (cy < view.scrollTop + 20 || cy > view.scrollTop + view.clientHeight - 20) view.scrollTop = cy - view.clientHeight / 2;
  }
}

function drawCosts() {
  const byTrace = new Map([...nodes.values()].map((node) => [JSON.stringify(node.trace), node]));
  const costs = here.trace.map((_, i) => byTrace.get(JSON.stringify(here.trace.slice(0, i)))?.cost ?? null).concat(here.cost);
  const lines = program.baselines.filter((one) => Number.isFinite(one.cost));
  const every = [...costs.filter((cost) => cost !== null), ...lines.map((one) => one.cost)];
  const low = Math.min(...every), high = Math.max(...every);
  const [width, height, left, right, top, bottom] = [320, 150, 8, 70, 12, 14];
  const x = (i) => left + (costs.length < 2 ? 0 : (i / (costs.length - 1)) * (width - left - right));
  const y = (cost) => top + (high === low ? 0.5 : (high - cost) / (high - low)) * (height - top - bottom);
  const picture = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Cost by step: ${costs.map((cost) => cost ?? "unknown").join(", ")} ${program.unit}` });
  const groups = new Map();
  for (const one of lines) groups.set(one.cost, [...(groups.get(one.cost) ?? []), one.label]);
  let last = -Infinity, below = groups.size;
  for (const [cost, labels] of [...groups].sort((a, b) => b[0] - a[0])) {
    const isReference = labels.includes(program.reference);
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
  $("cost-unit").textContent = program.unit;
  $("trace").replaceChildren(...here.trace.map((entry, i) => {
    const link = element("a", { href: addressOf(here.trace.slice(0, i + 1)) }, entry);
    const [before, after] = [costs[i], costs[i + 1]];
    const kind = after < before ? "better" : after > before ? "worse" : "even";
    return element("li", {}, link, element("span", { class: kind }, change(before, after)));
  }));
}

// Events

$("tree-view").addEventListener("click", (event) => {
  const node = nodes.get(event.target.dataset?.key);
  if (node?.error) say(`The compiler failed: ${node.error}`);
  else if (node) go(node.trace);
});
$("tree-view").addEventListener("keydown", (event) => {
  const beside = (key) => [...nodes.values()].filter((node) => node.parent === key && !node.error && node.key !== key);
  const siblings = beside(nodes.get(here.key)?.parent), at = siblings.findIndex((node) => node.key === here.key);
  const after = beside(here.key).sort((a, b) => a.cost - b.cost);
  const next = { ArrowLeft: nodes.get(nodes.get(here.key)?.parent), ArrowRight: after[0], ArrowUp: siblings[at - 1], ArrowDown: siblings[at + 1] };
  if (!(event.key in next)) return;
  event.preventDefault();
  event.stopPropagation();
  if (next[event.key]) go(next[event.key].trace);
});
$("filter").addEventListener("input", () => { chosen = 0; drawActions(); });
$("site").addEventListener("change", () => { chosen = 0; drawActions(); });
$("since").addEventListener("change", () => compare().catch((error) => say(error.message)));
$("details").addEventListener("change", () => compare().catch((error) => say(error.message)));
$("undo").addEventListener("click", undo);
$("help").addEventListener("click", () => $("keys").showModal());
$("search").addEventListener("click", toggleSearch);
$("export").addEventListener("click", () => {
  const link = element("a", { download: `${program.program}.trace.txt`, href: URL.createObjectURL(new Blob([here.trace.map((entry) => `${entry}\n`).join("")])) });
  link.click();
  URL.revokeObjectURL(link.href);
});
window.addEventListener("hashchange", open);

function toggleSearch() {
  ask(searching ? "stop" : "search", { trace: here.trace }).catch((error) => say(error.message));
}

document.addEventListener("keydown", (event) => {
  if ($("keys").open || event.ctrlKey || event.metaKey || event.altKey) return;
  const field = event.target.closest("input, select, summary, button, a");
  const typing = event.target === $("filter");
  if (event.key === "Escape" && typing) return $("filter").value = "", drawActions(), $("action-list").focus();
  if (field && !typing && ["ArrowUp", "ArrowDown", "Enter"].includes(event.key)) return;
  if (typing && !["ArrowUp", "ArrowDown", "Enter"].includes(event.key)) return;
  const keys = {
    "/": () => { show("actions"); $("filter").focus(); $("filter").select(); },
    ArrowUp: () => choose(-1), ArrowDown: () => choose(1), Enter: () => apply(chosen),
    u: undo, s: toggleSearch, "?": () => $("keys").showModal(),
  };
  if (!keys[event.key] || event.target.closest("select")) return;
  event.preventDefault();
  keys[event.key]();
});

function show(panel) {
  for (const tab of document.querySelectorAll("[role=tab]")) {
    tab.setAttribute("aria-selected", tab.dataset.panel === panel);
    tab.tabIndex = tab.dataset.panel === panel ? 0 : -1;
    $(tab.dataset.panel).classList.toggle("shown", tab.dataset.panel === panel);
  }
}
document.querySelector("nav").addEventListener("click", (event) => event.target.dataset.panel && (show(event.target.dataset.panel), here && drawTree()));
document.querySelector("nav").addEventListener("keydown", (event) => {
  const tabs = [...document.querySelectorAll("[role=tab]")], by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!by) return;
  const next = tabs[(tabs.indexOf(event.target) + by + tabs.length) % tabs.length];
  next.focus();
  next.click();
});

let drawing = 0;
function listen() {
  const events = new EventSource(`api/events?token=${token}`);
  events.onmessage = (event) => {
    const news = JSON.parse(event.data);
    news.states.forEach(add);
    searching = news.searching;
    $("search").textContent = searching ? "Stop search" : "Search";
    $("search").classList.toggle("running", searching);
    if (news.error) say(`The search ended: ${news.error}`);
    if (here && news.states.length && !drawing) drawing = requestAnimationFrame(() => { drawing = 0; draw(); drawActions(); });
  };
  events.onerror = () => here && say("burnish explore does not answer. If it has ended, start it again and open its new address.", true);
  events.onopen = () => $("message").classList.contains("note") && say("");
}

const answer = await fetch(`api/program?token=${token}`);
program = await answer.json();
document.title = `${program.program} · burnish explore`;
$("program").textContent = program.program;
for (const place of document.querySelectorAll(".legend .reference")) place.textContent = program.reference;
show("actions");
await open();
listen();
