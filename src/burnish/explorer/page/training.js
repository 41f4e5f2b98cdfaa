// A training: its curves as they grow, its policy's card and its configuration.

import { draw, short } from "./curves.js";
import { $, element, number, say } from "./draw.js";
import { addressOf, ask } from "./state.js";
import { tabs } from "./tabs.js";
import { amount, duration, values } from "./values.js";

const SCORE = "validation/ratio";
const HIDDEN = new Set(["iteration", "steps", "seconds"]);
let run, rows = [], chosen = null, first = true, growing = false;

export function open(found) {
  run = found;
  tabs($("training").querySelector("nav"), () => drawCurves());
  new ResizeObserver(drawCurves).observe($("charts"));
  for (const id of ["axis", "smooth"]) $(id).addEventListener("change", drawCurves);
  $("choose").addEventListener("click", chooseMetrics);
  $("metrics").addEventListener("change", (event) => {
    chosen ??= new Set(shown);
    chosen[event.target.checked ? "add" : "delete"](event.target.value);
    drawCurves();
  });
  $("episode-rows").addEventListener("click", (event) => explore(event.target.closest("tr[data-key]")?.dataset.key));
  drawTexts();
}

let shown = [];

export async function news({ again, rows: found, shown: names, changed }) {
  if (again) rows = [];
  for (const row of found) {
    while (rows.length && rows.at(-1).iteration >= row.iteration) rows.pop(); // resumed from a checkpoint
    rows.push(row);
  }
  growing ||= !first && found.length > 0;
  shown = names;
  if (first && rows.length) {
    $("axis").value = rows.some((row) => row.steps !== undefined) ? "steps" : "iteration";
    $("smooth").value = rows.length >= 400 ? "20" : rows.length >= 60 ? "5" : "1";
  }
  first &&= !rows.length;
  if (changed) Object.assign(run, await ask("run"));
  if (changed) drawTexts();
  drawFacts();
  drawMetrics();
  drawCurves();
}

const next = (select) => { select.selectedIndex = (select.selectedIndex + 1) % select.options.length; drawCurves(); };
export const keys = { x: () => next($("axis")), s: () => next($("smooth")), m: chooseMetrics };

function drawFacts() {
  const last = rows.at(-1);
  const best = rows.reduce((a, b) => ((b[SCORE] ?? -Infinity) > (a?.[SCORE] ?? -Infinity) ? b : a), null);
  const ended = run.card.training;
  const facts = [run.config.algorithm?.name, run.config.objective].filter(Boolean);
  if (last) facts.push(`iteration ${last.iteration}`);
  const steps = rows.findLast((row) => row.steps !== undefined)?.steps;
  if (steps) facts.push(`${short(steps)} steps`);
  if (last) facts.push(duration(last.seconds));
  $("facts").replaceChildren(facts.join(" · "));
  if (best?.[SCORE] !== undefined) $("facts").append(" · best score ", element("b", {}, number(best[SCORE])), ` at iteration ${best.iteration}`);
  if (growing) $("facts").append(" · ", element("span", { class: "gain" }, "running"));
  else if (ended && last && ended.iterations >= last.iteration) $("facts").append(` · ended: ${ended.ended}`);
  $("curves-count").textContent = rows.length ? `${rows.length} lines in the log` : "";
}

function drawTexts() {
  const { training = {}, file, ...card } = run.card;
  const { config, ...ended } = training;
  $("policy-file").textContent = file ?? "";
  const { results = {}, ...others } = card;
  $("card").replaceChildren(...(file ? [...values(results, "results"), ...values({ ...others, training: ended })] : [element("p", { class: "empty" }, "The training writes the policy and its card when it ends.")]));
  const settings = values(run.config);
  drawEpisodes();
  $("settings").replaceChildren(...(settings.length ? settings : [element("p", { class: "empty" }, "The folder has no config.json yet.")]));
}

// The episodes of the last validation, the largest reward first; a click opens the best state.
function drawEpisodes() {
  const found = [...run.episodes].sort((a, b) => b.reward - a.reward), some = found.length > 0;
  for (const id of ["episodes", "episodes-tab"]) $(id).hidden = !some;
  $("training").classList.toggle("played", some);
  $("episode-count").textContent = `of the last validation: ${found.length}; a click opens the best state`;
  const cells = (kind, texts) => texts.map((text, i) => element(kind, { class: i ? "number" : "program" }, text));
  const unit = [...new Set(found.map((one) => one.unit).filter(Boolean))].join(", ");
  const head = element("tr", {}, ...cells("th", ["program", "steps", "reward", unit || "cost", "ratio"]));
  const body = found.map((one) => element("tr", { "data-key": one.key }, ...cells("td", [
    element("button", { type: "button" }, one.program), String(one.steps), one.reward.toFixed(3), amount(one.cost, one.unit), one.ratio === null ? "–" : one.ratio.toFixed(3),
  ])));
  $("episode-rows").replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
}

async function explore(key) {
  if (!key) return;
  say("Opening the program…", true);
  try {
    const { address, trace } = await ask("open", { key });
    location.assign(`${address}${addressOf(trace)}`);
  } catch (error) {
    say(error.message);
  }
}

const metrics = () => [...new Set(rows.flatMap(Object.keys))].filter((name) => !HIDDEN.has(name));

function drawMetrics() {
  const names = metrics();
  if ($("metrics").childElementCount === names.length) return;
  const on = chosen ?? new Set(shown);
  $("metrics").replaceChildren(...names.map((name) => {
    const box = element("input", { type: "checkbox", value: name });
    box.checked = on.has(name);
    return element("label", {}, box, ` ${name}`);
  }));
}

function chooseMetrics() {
  $("metrics").hidden = !$("metrics").hidden;
  $("choose").setAttribute("aria-expanded", !$("metrics").hidden);
  if (!$("metrics").hidden) $("metrics").querySelector("input")?.focus();
}

function drawCurves() {
  if (!$("charts").clientWidth) return;
  const names = chosen ? [...shown, ...metrics().filter((name) => !shown.includes(name))].filter((name) => chosen.has(name)) : shown;
  const axis = $("axis").value, smooth = Number($("smooth").value);
  const at = (row) => row[axis] ?? row.iteration; // the first line has no steps
  const ends = rows.length ? [at(rows[0]), at(rows.at(-1))] : undefined;
  const figures = new Map([...$("charts").querySelectorAll("figure")].map((figure) => [figure.dataset.name, figure]));
  const parts = names.map((name) => figures.get(name) ?? element("figure", { class: name in run.large ? "chart large" : "chart", "data-name": name }));
  if (parts.some((part, i) => part !== $("charts").children[i]) || parts.length !== $("charts").childElementCount) $("charts").replaceChildren(...parts);
  for (const figure of parts) {
    const name = figure.dataset.name;
    const points = rows.filter((row) => Number.isFinite(row[name])).map((row) => [at(row), row[name]]);
    const raw = name.startsWith("validation/");
    draw(figure, { title: run.large[name] ?? name, points, ends, smooth: raw ? 1 : smooth, mark: name === SCORE ? 1 : undefined, xText: axis === "seconds" ? duration : undefined });
  }
  if (!parts.length) $("charts").replaceChildren(element("p", { class: "empty" }, rows.length ? "No metric has changed yet." : "The log has no line yet. Lines appear here when the training writes them."));
}
