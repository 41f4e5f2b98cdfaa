// The page of a finished or running run: a training's curves, or results.

import { $, element, say } from "./draw.js";
import { ask } from "./state.js";

const run = await ask("run").catch((error) => (say(error.message), null));
if (run) {
  document.title = `${run.name} · burnish explore`;
  $("name").textContent = run.name;
  $(run.kind).hidden = false;
  for (const kind of ["training", "results"]) for (const part of document.querySelectorAll(`.of-${kind}`)) part.hidden = kind !== run.kind;
  const { open, keys, news } = await import(`./${run.kind}.js`);
  open(run);
  const events = new EventSource("api/events");
  events.onmessage = (event) => Promise.resolve(news(JSON.parse(event.data))).catch((error) => say(error.message));
  events.onerror = () => say("burnish explore does not answer. If it has ended, start it again and open its new address.", true);
  events.onopen = () => $("message").classList.contains("note") && say("");
  document.addEventListener("keydown", (event) => {
    if ($("keys").open || event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches('input[type="search"]');
    if (typing && event.key === "Escape") {
      event.target.value = "";
      event.target.dispatchEvent(new Event("input"));
      return event.target.blur();
    }
    if (event.target.closest("select") || (typing && !["ArrowUp", "ArrowDown"].includes(event.key))) return;
    const act = event.key === "?" ? () => $("keys").showModal() : keys[event.key];
    if (!act || act(event) === false) return;
    event.preventDefault();
  });
}
$("help").addEventListener("click", () => $("keys").showModal());
