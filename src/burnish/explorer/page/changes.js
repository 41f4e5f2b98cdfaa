// What changed between two states: the choices, and the view of texts.

import { drawBytes } from "./bytes.js";
import { $, element, number, say } from "./draw.js";
import { passes } from "./functions.js";
import { drawGraph, wantedGraph } from "./graph.js";
import { drawLines, drawSides } from "./lines.js";
import { ask, page } from "./state.js";
import { tabs } from "./tabs.js";
import { readable } from "./titles.js";

const LETTERS = 40; // of a pinned step's entry in the list of choices
const shortened = (text) => (text.length > LETTERS ? `${text.slice(0, LETTERS - 1)}…` : text);

let view = "text-view", pinned = null, found = null, asked = null;
let turn = 0; // of questions: answers to earlier ones are dropped

// Asks for the shown view's data, and draws it if the state is still wanted.
export async function compare(wanted = () => true) {
  const mine = ++turn, trace = page.here.trace;
  const since = { start: [], pinned: pinned ?? [], parent: trace.slice(0, -1) }[$("since").value];
  const both = { trace, since, library: $("library").checked };
  const [name, more] = {
    "text-view": ["changes", { text: $("text-choice").value, details: $("details").checked }],
    "graph-view": ["graph", wantedGraph()],
    "bytes-view": ["bytes", {}],
  }[view];
  const answer = name === "graph" && !page.program.graphs.length ? null : await ask(name, { ...both, ...more });
  if (!wanted() || mine !== turn) return;
  [found, asked] = [answer, { ...both, ...more }];
  $("change-count").textContent = "";
  draw(JSON.stringify(trace) === JSON.stringify(since));
  if (name === "changes") count().catch((error) => say(error.message));
}

// Asks for the numbers of lines of the sections that came without: to compare them takes longer than the rest.
async function count() {
  const drawn = found;
  if (drawn.sections.every((section) => section.counts)) return;
  const counts = await ask("counts", asked);
  if (drawn !== found) return;
  for (const section of drawn.sections) {
    section.counts ??= counts[section.name];
    section.count?.();
  }
}

function draw(alone = false) {
  if (view === "text-view") drawTexts(found, alone);
  else if (view === "graph-view") drawGraph(found);
  else drawBytes(found);
}

function drawTexts(found, alone) {
  const sections = found.sections.filter((section) => passes(section.title));
  const parts = sections.map((section, i) => {
    const plus = element("span", { class: "plus" }), minus = element("span", { class: "minus" });
    const summary = element("summary", {}, section.title, plus, minus);
    section.count = () => {
      const [added, removed] = section.counts ?? [];
      [plus.textContent, minus.textContent] = [added ? `+${added}` : "", removed ? `−${removed}` : ""];
    };
    section.count();
    const [before, after] = section.costs;
    if (before !== null && after !== null)
      summary.append(element("span", { class: "cost" }, before === after ? `${number(after)} ${page.program.unit}` : `${number(before)} → ${number(after)} ${page.program.unit}`));
    const details = element("details", {}, summary);
    const drawn = $("sides").checked ? drawSides : drawLines;
    const fill = async () => {
      if (!details.open || details.children.length > 1) return;
      const place = element("div");
      details.append(place);
      try {
        if (!section.lines) Object.assign(section, (await ask("changes", { ...asked, section: section.name })).sections[0]);
        section.count();
        place.append(drawn(section.lines));
      } catch (error) {
        place.append(element("p", { class: "empty" }, error.message));
      }
    };
    details.addEventListener("toggle", fill);
    details.open = section.name ? i < 2 : !i;
    fill();
    return details;
  });
  if (!parts.length) {
    const text = found.sections.length ? "No changed function matches the filter."
      : alone ? "Both states are the same. Apply an action to see what it changes." : "Nothing changed in this text.";
    parts.push(element("p", { class: "empty" }, text));
  }
  $("change-list").replaceChildren(...parts);
  const counts = [`${found.sections.length} changed`, `${found.unchanged} unchanged`];
  if (found.hidden) counts.push(`${found.hidden} of the library hidden`);
  $("change-count").textContent = counts.join(", ");
}

// The choices

const again = () => page.here && compare().catch((error) => say(error.message));

export function prepareChanges() {
  const options = (list, text) => list.map((one) => element("option", { value: one.name }, text(one)));
  $("text-choice").replaceChildren(...options(page.program.texts, (one) => one.label));
  $("library-choice").hidden = !page.program.functions;
  $("text-choice").hidden = page.program.texts.length < 2;
  $("graph-choice").replaceChildren(...options(page.program.graphs, (one) => one.name));
  tabs($("views"), (id) => { [view, found] = [id, null]; again(); });
}

for (const id of ["since", "library", "text-choice", "details", "graph-choice", "graph-section"])
  $(id).addEventListener("change", again);
for (const [id, kind] of [["sides", "change"], ["function-filter", "input"]])
  $(id).addEventListener(kind, () => found && draw());
$("pin").addEventListener("click", () => {
  pinned = page.here.trace;
  const option = $("since").querySelector("[value=pinned]");
  option.disabled = false;
  option.textContent = pinned.length ? `step ${pinned.length}: ${shortened(readable(pinned.at(-1)))}` : "the pinned start";
  $("since").value = "pinned";
  again();
});
