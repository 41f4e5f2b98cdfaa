// Lists of tabs. A tab shows the element that its aria-controls names, and hides the others of its list.

import { $ } from "./draw.js";

export function show(tab) {
  for (const other of tab.parentElement.querySelectorAll("[role=tab]")) {
    other.setAttribute("aria-selected", other === tab);
    other.tabIndex = other === tab ? 0 : -1;
    $(other.getAttribute("aria-controls")).classList.toggle("shown", other === tab);
  }
}

// Shows the first tab, and calls `shown` with the id of the element that a later click shows.
export function tabs(list, shown = () => {}) {
  const all = [...list.querySelectorAll("[role=tab]")];
  list.addEventListener("click", (event) => {
    if (!all.includes(event.target)) return;
    show(event.target);
    shown(event.target.getAttribute("aria-controls"));
  });
  list.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || !all.includes(event.target)) return;
    const seen = all.filter((tab) => !tab.hidden);
    const next = seen[(seen.indexOf(event.target) + by + seen.length) % seen.length];
    next.focus();
    next.click();
  });
  show(all[0]);
}
