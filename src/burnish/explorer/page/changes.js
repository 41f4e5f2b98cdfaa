// What changed between two states.

import { $, element, number, say } from "./draw.js";
import { ask, page } from "./state.js";

export async function compare(wanted = () => true) {
  const trace = page.here.trace;
  const since = $("since").value === "start" ? [] : trace.slice(0, -1);
  const found = await ask("changes", { trace, since, details: $("details").checked });
  if (wanted()) drawChanges(found, trace.length);
}

function drawChanges(found, steps) {
  const parts = found.sections.map((section, i) => {
    const summary = element("summary", {}, section.title,
      element("span", { class: "plus" }, section.added ? `+${section.added}` : ""),
      element("span", { class: "minus" }, section.removed ? `−${section.removed}` : ""));
    const [before, after] = section.costs;
    if (before !== null && after !== null)
      summary.append(element("span", { class: "cost" }, before === after ? `${number(after)} ${page.program.unit}` : `${number(before)} → ${number(after)} ${page.program.unit}`));
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

$("since").addEventListener("change", () => compare().catch((error) => say(error.message)));
$("details").addEventListener("change", () => compare().catch((error) => say(error.message)));
