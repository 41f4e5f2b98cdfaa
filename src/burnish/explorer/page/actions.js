// The legal actions of the shown state: what a policy predicts, and what was measured.

import { $, change, element, say } from "./draw.js";
import { after, ask, go, page } from "./state.js";
import { exactly, learn, readable } from "./titles.js";

const MOST_SHOWN = 400; // actions in the list: filter to see the others
const ORDERS = { // the smallest value first; actions without a value keep the list's order, at the end
  chance: (one) => -(page.predictions.probabilities[one.entry] ?? NaN),
  predicted: (one) => page.predictions.ratios[one.entry] ?? NaN,
  measured: (one) => { const found = after(one.entry); return found && !found.idle && !found.node.error ? found.node.cost : NaN; },
};
let shown = [], chosen = 0, order = "listed";
const items = new Map(); // by entry

let leftOut = 0; // sites whose actions are not listed

// Asks for the actions at the chosen site; a state without this site answers with those of another one.
export async function askActions(trace, wanted) {
  const found = await ask("actions", { trace, site: $("site").value });
  if (!wanted()) return;
  [page.legal, leftOut] = [found.actions, found.left_out];
  page.predictions = { probabilities: {}, ratios: {} };
  $("unpredicted").hidden = true;
  learn(Object.fromEntries(found.sites.map((one) => [one.name, one.title])));
  const options = [["*", "everywhere"], ...(found.whole ? [["", "whole program"]] : []), ...found.sites.map((one) => [one.name, one.title])];
  $("site").replaceChildren(...options.map(([value, text]) => element("option", { value }, text)));
  $("site").value = found.site;
  drawActions();
}

// Asks for the policy's predictions, which take longer than all else, for the listed actions.
export async function askPredictions(trace, wanted) {
  if (!page.program.policy) return;
  try {
    const found = await ask("predictions", { trace, site: $("site").value });
    if (!wanted()) return;
    page.predictions = found;
    drawPredictions();
  } catch (error) {
    if (!wanted()) return;
    $("unpredicted").hidden = false;
    $("unpredicted").title = `The policy ${page.program.policy} predicts nothing here: ${error.message}`;
  }
}

function ordered(found) {
  if (order === "listed") return found;
  const values = new Map(found.map((one) => [one, ORDERS[order](one)]));
  const last = (value) => (Number.isNaN(value) ? 1 : 0);
  return [...found].sort((a, b) => last(values.get(a)) - last(values.get(b)) || (last(values.get(a)) ? 0 : values.get(a) - values.get(b)));
}

export function drawActions() {
  const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const site = $("site").value;
  const found = ordered(page.legal.filter((one) => {
    const text = `${readable(one.entry)} ${one.entry}`.toLowerCase();
    return words.every((word) => text.includes(word));
  }));
  shown = found.slice(0, MOST_SHOWN);
  chosen = Math.min(chosen, Math.max(0, shown.length - 1));
  items.clear();
  $("action-list").replaceChildren(...shown.map((one, i) => {
    const action = one.site ? one.entry.slice(one.site.length + 2) : one.entry;
    const name = element("span", { class: "name" }, one.site && site === "*" ? readable(one.entry) : action);
    const values = ["chance", "predicted", "measured"].map((kind) => element("span", { class: kind }));
    const item = element("li", { role: "option", id: `action-${i}`, "aria-selected": i === chosen }, ...values, name);
    item.addEventListener("click", () => apply(i));
    items.set(one.entry, item);
    fill(item, one.entry);
    return item;
  }));
  if (!shown.length) $("action-list").append(element("li", { class: "empty" }, page.legal.length ? "No action matches the filter." : "No action is legal here."));
  $("action-count").textContent = [
    found.length > shown.length ? `${shown.length} of ${found.length} shown` : `${found.length}`,
    ...(leftOut ? [`choose a site for those of ${leftOut} more`] : []),
  ].join("; ");
  $("try").disabled = !shown.length && !page.trying;
  if (shown.length) $("action-list").setAttribute("aria-activedescendant", `action-${chosen}`);
}

// Writes an action's numbers; the row itself stays, so that news cost little.
function fill(item, entry) {
  const [chance, predicted, measured] = item.children;
  const probability = page.predictions.probabilities[entry], ratio = page.predictions.ratios[entry], found = after(entry);
  chance.textContent = probability === undefined ? "" : percent(probability);
  predicted.textContent = ratio === undefined ? "" : change(1, ratio);
  predicted.className = `predicted ${kind(1, ratio ?? 1)}`;
  item.classList.toggle("idle", Boolean(found?.idle));
  measured.textContent = !found ? "" : found.node.error ? "crash" : change(page.here.cost, found.node.cost);
  measured.className = `measured known ${!found ? "" : found.node.error ? "failed" : kind(page.here.cost, found.node.cost)}`;
  const notes = [found?.idle ? "This action changes nothing here." : found?.node.error, exactly(entry).title];
  item.title = notes.filter(Boolean).join("\n");
}

const kind = (before, now) => (now < before ? "better" : now > before ? "worse" : "even");
const percent = (share) => (share >= 0.0995 ? `${(100 * share).toFixed(0)} %` : share >= 0.001 ? `${(100 * share).toFixed(1)} %` : "<0.1 %");

// Shows the policy's predictions, which arrive after the list; until then the columns stay as they are.
function drawPredictions() {
  $("actions").classList.toggle("with-chance", Object.keys(page.predictions.probabilities).length > 0);
  $("actions").classList.toggle("with-predicted", Object.keys(page.predictions.ratios).length > 0);
  if (order === "chance" || order === "predicted") return drawActions();
  for (const [entry, item] of items) fill(item, entry);
}

// Shows the effects of edges that have arrived.
export function drawEffects(news) {
  const own = news.filter((edge) => edge.from === page.here.key);
  if (own.length && order === "measured") return drawActions();
  for (const edge of own) if (items.has(edge.entry)) fill(items.get(edge.entry), edge.entry);
}

export function choose(by) {
  const rows = $("action-list").children;
  if (!shown.length) return;
  rows[chosen]?.setAttribute("aria-selected", "false");
  chosen = Math.max(0, Math.min(shown.length - 1, chosen + by));
  rows[chosen].setAttribute("aria-selected", "true");
  rows[chosen].scrollIntoView({ block: "nearest" });
  $("action-list").setAttribute("aria-activedescendant", `action-${chosen}`);
}

function apply(i) {
  if (!shown[i]) return;
  chosen = i;
  go([...page.here.trace, shown[i].entry]);
}

export const applyChosen = () => apply(chosen);

export function toggleTrials() {
  const asked = page.trying ? ask("stop", { work: "trials" }) : ask("try", { trace: page.here.trace, entries: shown.map((one) => one.entry) });
  asked.catch((error) => say(error.message));
}

export function filterNothing() {
  $("filter").value = "";
  drawActions();
  $("action-list").focus();
}

$("filter").addEventListener("input", () => { chosen = 0; drawActions(); });
$("site").addEventListener("change", () => {
  const { trace } = page.here, site = $("site").value;
  chosen = 0;
  const wanted = () => page.here.trace === trace && $("site").value === site;
  $("try").disabled = !page.trying; // until the list is that of the chosen site
  askActions(trace, wanted).then(() => askPredictions(trace, wanted)).catch((error) => { say(error.message); drawActions(); });
});
$("try").addEventListener("click", toggleTrials);
$("action-order").addEventListener("click", (event) => {
  if (!event.target.dataset.order) return;
  order = event.target.dataset.order;
  for (const button of $("action-order").children) button.setAttribute("aria-pressed", button === event.target);
  chosen = 0;
  drawActions();
});
