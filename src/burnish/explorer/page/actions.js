// The legal actions of the shown state.

import { $, change, element } from "./draw.js";
import { go, nodes, page } from "./state.js";

const MOST_SHOWN = 400; // actions in the list: filter to see the others
let shown = [], chosen = 0;

export function drawSites() {
  const before = $("site").value;
  const sites = new Map([["*", "everywhere"], ["", "whole program"]]);
  for (const one of page.legal) if (one.site) sites.set(one.site, one.title);
  $("site").replaceChildren(...[...sites].map(([value, text]) => element("option", { value }, text)));
  $("site").value = sites.has(before) ? before : page.legal.some((one) => !one.site) ? "" : "*";
}

export function drawActions() {
  const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const site = $("site").value;
  const found = page.legal.filter((one) => {
    const text = `${one.title} ${one.entry}`.toLowerCase();
    return (site === "*" || one.site === site) && words.every((word) => text.includes(word));
  });
  shown = found.slice(0, MOST_SHOWN);
  chosen = Math.min(chosen, Math.max(0, shown.length - 1));
  const known = new Map();
  for (const node of nodes.values())
    if (node.parent === page.here.key && node.trace.length) known.set(node.trace.at(-1), node);
  $("action-list").replaceChildren(...shown.map((one, i) => {
    const action = one.site ? one.entry.slice(one.site.length + 2) : one.entry;
    const text = one.site && site === "*" ? `${one.title}: ${action}` : action;
    const item = element("li", { role: "option", id: `action-${i}`, "aria-selected": i === chosen }, text);
    const after = known.get(one.entry);
    if (after) {
      const kind = after.error ? "failed" : after.cost < page.here.cost ? "better" : after.cost > page.here.cost ? "worse" : "even";
      item.prepend(element("span", { class: `known ${kind}` }, after.error ? "crash" : change(page.here.cost, after.cost)));
    }
    item.addEventListener("click", () => apply(i));
    return item;
  }));
  if (!shown.length) $("action-list").append(element("li", { class: "empty" }, page.legal.length ? "No action matches the filter." : "No action is legal here."));
  $("action-count").textContent = found.length > shown.length ? `${shown.length} of ${found.length} shown` : `${found.length}`;
  if (shown.length) $("action-list").setAttribute("aria-activedescendant", `action-${chosen}`);
}

export function choose(by) {
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
  go([...page.here.trace, shown[i].entry]);
}

export const applyChosen = () => apply(chosen);

export function filterNothing() {
  $("filter").value = "";
  drawActions();
  $("action-list").focus();
}

for (const [id, kind] of [["filter", "input"], ["site", "change"]])
  $(id).addEventListener(kind, () => { chosen = 0; drawActions(); });
