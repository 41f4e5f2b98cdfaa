// The page of burnish explore. The address' fragment is the trace of the shown state, as JSON.

import { applyChosen, choose, drawActions, drawSites, filterNothing } from "./actions.js";
import { compare, prepareChanges } from "./changes.js";
import { drawCosts } from "./costs.js";
import { $, change, element, number, say } from "./draw.js";
import { add, addressOf, ask, go, nodes, page, traceOf } from "./state.js";
import { show, tabs } from "./tabs.js";
import { drawTree } from "./tree.js";

let turn = 0; // of requests: answers to earlier ones are dropped
let drawing = 0; // the frame that will draw news

// Going to a state

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
      if (!page.here) open();
      return;
    }
    page.here = { ...nodes.get(node.key), trace };
    draw();
    const [found] = await Promise.all([ask("actions", { trace }), compare(() => mine === turn)]);
    if (mine !== turn) return;
    page.legal = found;
    drawSites();
    drawActions();
  } catch (error) {
    if (mine !== turn) return;
    say(error.message);
    if (!page.here && trace.length) history.replaceState(null, "", "#"), open();
    else if (page.here) history.replaceState(null, "", addressOf(page.here.trace));
  } finally {
    if (mine === turn) document.body.removeAttribute("aria-busy");
  }
}

const undo = () => page.here?.trace.length && go(page.here.trace.slice(0, -1));

function draw() {
  const start = [...nodes.values()].find((node) => !node.trace.length)?.cost ?? null;
  const facts = $("facts");
  facts.replaceChildren(`${page.program.task} · `, element("b", {}, number(page.here.cost)), ` ${page.program.unit}`);
  for (const [label, cost] of [["the start", start], [page.program.reference, page.program.reference_cost]])
    if (cost) {
      const kind = page.here.cost < cost ? "gain" : page.here.cost > cost ? "loss" : "";
      facts.append(" · ", element("span", { class: kind }, change(cost, page.here.cost)), ` against ${label}`);
    }
  $("undo").disabled = !page.here.trace.length;
  drawTree();
  drawCosts();
}

// Events

$("undo").addEventListener("click", undo);
$("help").addEventListener("click", () => $("keys").showModal());
$("search").addEventListener("click", toggleSearch);
$("export").addEventListener("click", () => {
  const link = element("a", { download: `${page.program.program}.trace.txt`, href: URL.createObjectURL(new Blob([page.here.trace.map((entry) => `${entry}\n`).join("")])) });
  link.click();
  URL.revokeObjectURL(link.href);
});
window.addEventListener("hashchange", open);

function toggleSearch() {
  ask(page.searching ? "stop" : "search", { trace: page.here.trace }).catch((error) => say(error.message));
}

document.addEventListener("keydown", (event) => {
  if ($("keys").open || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === $("function-filter")) return;
  const field = event.target.closest("input, select, summary, button, a");
  const typing = event.target === $("filter");
  if (event.key === "Escape" && typing) return filterNothing();
  if (field && !typing && ["ArrowUp", "ArrowDown", "Enter"].includes(event.key)) return;
  if (typing && !["ArrowUp", "ArrowDown", "Enter"].includes(event.key)) return;
  const keys = {
    "/": () => { show($("actions-tab")); $("filter").focus(); $("filter").select(); },
    ArrowUp: () => choose(-1), ArrowDown: () => choose(1), Enter: applyChosen,
    u: undo, s: toggleSearch, "?": () => $("keys").showModal(),
  };
  if (!keys[event.key] || event.target.closest("select")) return;
  event.preventDefault();
  keys[event.key]();
});

function listen() {
  const events = new EventSource(`api/events`);
  events.onmessage = (event) => {
    const news = JSON.parse(event.data);
    news.states.forEach(add);
    page.searching = news.searching;
    $("search").textContent = page.searching ? "Stop search" : "Search";
    $("search").classList.toggle("running", page.searching);
    if (news.error) say(`The search ended: ${news.error}`);
    if (page.here && news.states.length && !drawing) drawing = requestAnimationFrame(() => { drawing = 0; draw(); drawActions(); });
  };
  events.onerror = () => page.here && say("burnish explore does not answer. If it has ended, start it again and open its new address.", true);
  events.onopen = () => $("message").classList.contains("note") && say("");
}

page.program = await (await fetch("api/program")).json();
document.title = `${page.program.program} · burnish explore`;
$("program").textContent = page.program.program;
for (const place of document.querySelectorAll(".legend .reference")) place.textContent = page.program.reference;
tabs(document.querySelector("nav"), () => page.here && drawTree());
prepareChanges();
await open();
listen();
