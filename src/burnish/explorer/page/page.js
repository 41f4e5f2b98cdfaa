// The page of burnish explore. The address' fragment is the trace of the shown state, as JSON.

import { applyChosen, askActions, askPredictions, choose, drawActions, drawEffects, filterNothing, toggleTrials } from "./actions.js";
import { compare, prepareChanges } from "./changes.js";
import { $, change, element, say } from "./draw.js";
import { openExports } from "./exports.js";
import { drawFigures, drawNews, startFigures } from "./figures.js";
import { add, addEdge, addressOf, ask, go, nodes, page, pathKeys, seen, traceOf } from "./state.js";
import { show, tabs } from "./tabs.js";
import { learn, readable } from "./titles.js";
import { drawTree } from "./tree.js";
import { quantity } from "./values.js";

const MOST_WAITING = 500; // edges whose states may still arrive

let turn = 0; // of requests: answers to earlier ones are dropped
let drawing = 0; // the frame that will draw news
let arrived = []; // edges that the frame will draw
let notice = ""; // shown when the next state is open
let errors = ""; // of searches and trials, as the server last sent them

// Going to a state

async function open() {
  const mine = ++turn;
  const trace = traceOf();
  document.body.setAttribute("aria-busy", "true");
  try {
    const node = await ask("state", { trace });
    if (mine !== turn) return;
    say(notice, true);
    notice = "";
    learn(node.titles);
    add(node);
    if (node.error) {
      say(`The compiler failed: ${node.error}`);
      drawTree();
      history.replaceState(null, "", addressOf(trace.slice(0, -1)));
      if (!page.here) open();
      return;
    }
    page.here = { ...nodes.get(node.key), trace };
    draw();
    const wanted = () => mine === turn;
    await Promise.all([askActions(trace, wanted), compare(wanted)]);
    askPredictions(trace, wanted);
  } catch (error) {
    if (mine !== turn) return;
    say(error.message);
    if (!page.here && trace.length) history.replaceState(null, "", "#"), open();
    else if (page.here) history.replaceState(null, "", addressOf(page.here.trace));
  } finally {
    if (mine === turn) document.body.removeAttribute("aria-busy");
  }
}

async function minimize() {
  const trace = page.here.trace;
  if (!trace.length || $("minimize").disabled) return;
  $("minimize").disabled = true;
  say("Leaving out steps…", true);
  try {
    const { trace: kept, minimal } = await ask("minimize", { trace });
    let next = 0;
    const left = trace.filter((entry) => (entry === kept[next] ? (next++, false) : true));
    const late = minimal ? "" : " The time ran out: perhaps more steps can be left out.";
    notice = left.length ? `Left out ${left.length} of ${trace.length} steps: ${left.map(readable).join(", ")}.${late}` : `No step can be left out.${late}`;
    go(kept);
  } catch (error) {
    say(error.message);
  } finally {
    $("minimize").disabled = !page.here.trace.length;
  }
}

const undo = () => page.here?.trace.length && go(page.here.trace.slice(0, -1));

function draw() {
  const start = seen.root?.cost ?? null;
  const facts = $("facts");
  const [cost, ...unit] = quantity(page.here.cost, page.program.unit).split(" ");
  facts.replaceChildren(`${page.program.task} · `, element("b", {}, cost), ` ${unit.join(" ")}`);
  for (const [label, cost] of [["the start", start], [page.program.reference, page.program.reference_cost]])
    if (cost) {
      const kind = page.here.cost < cost ? "gain" : page.here.cost > cost ? "loss" : "";
      facts.append(" · ", element("span", { class: kind }, change(cost, page.here.cost)), ` against ${label}`);
    }
  $("undo").disabled = $("minimize").disabled = !page.here.trace.length;
  drawTree();
  drawFigures();
}

// Events

$("undo").addEventListener("click", undo);
$("help").addEventListener("click", () => $("keys").showModal());
$("search").addEventListener("click", toggleSearch);
$("minimize").addEventListener("click", minimize);
$("export").addEventListener("click", openExports);
window.addEventListener("hashchange", open);

function toggleSearch() {
  ask(page.searching ? "stop" : "search", { trace: page.here.trace, work: "search" }).catch((error) => say(error.message));
}

document.addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === $("function-filter")) return;
  const field = event.target.closest("input, select, summary, button, a");
  const typing = event.target === $("filter");
  if (event.key === "Escape" && typing) return filterNothing();
  if (field && !typing && ["ArrowUp", "ArrowDown", "Enter"].includes(event.key)) return;
  if (typing && !["ArrowUp", "ArrowDown", "Enter"].includes(event.key)) return;
  const keys = {
    "/": () => { show($("actions-tab")); $("filter").focus(); $("filter").select(); },
    ArrowUp: () => choose(-1), ArrowDown: () => choose(1), Enter: applyChosen,
    u: undo, s: toggleSearch, t: toggleTrials, m: minimize, e: openExports, "?": () => $("keys").showModal(),
  };
  if (!keys[event.key] || event.target.closest("select")) return;
  event.preventDefault();
  keys[event.key]();
});

function listen() {
  const events = new EventSource(`api/events`);
  events.onmessage = (event) => {
    const news = JSON.parse(event.data);
    learn(news.titles);
    news.states.forEach(add);
    news.edges.forEach(addEdge);
    arrived.push(...news.edges);
    page.evaluated = news.evaluated;
    page.leftOut = news.left_out;
    page.searching = news.searching;
    page.trying = news.trying;
    $("try").textContent = page.trying ? "Stop" : "Try all";
    $("try").classList.toggle("running", page.trying);
    $("search").textContent = page.searching ? "Stop" : "Search";
    $("search").classList.toggle("running", page.searching);
    if (news.errors.join() !== errors) errors = news.errors.join(), errors && say(`Stopped: ${errors}`);
    if (page.here) drawing ||= requestAnimationFrame(drawArrived);
  };
  events.onerror = () => page.here && say("burnish explore does not answer. If it has ended, start it again and open its new address.", true);
  events.onopen = () => $("message").classList.contains("note") && say("");
}

function drawArrived() {
  const known = pathKeys(), own = arrived.some((edge) => known.includes(edge.from));
  drawTree();
  drawEffects(arrived);
  drawNews(own);
  drawing = 0;
  arrived = arrived.filter((edge) => !nodes.has(edge.to)).slice(-MOST_WAITING); // a state arrives after its edge
}

async function askBaselines() {
  Object.assign(page.program, await ask("baselines"));
  if (page.here) draw();
}

page.program = { ...(await (await fetch("api/program")).json()), baselines: [], reference_cost: null };
document.title = `${page.program.program} · burnish explore`;
$("program").textContent = page.program.program;
for (const place of document.querySelectorAll(".legend .reference")) place.textContent = page.program.reference;
$("minimize").hidden = !page.program.exact;
$("bytes-tab").hidden = !page.program.bytes;
$("graph-tab").hidden = !page.program.graphs.length;
startFigures();
tabs(document.querySelector("nav"), () => page.here && drawTree());
askBaselines().catch((error) => say(error.message));
prepareChanges();
await open();
listen();
