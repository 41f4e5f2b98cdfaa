// Results: a table, and one of them with its trace.

import { draw, short } from "./curves.js";
import { $, change, element, number, say } from "./draw.js";
import { addressOf, ask } from "./state.js";
import { show, tabs } from "./tabs.js";
import { exactly, learn, readable } from "./titles.js";
import { duration, isTime } from "./values.js";

const MOST_SHOWN = 500; // rows of the table: filter to see the others
const all = (value) => (value === null ? "" : value.toLocaleString("en"));
const COLUMNS = [
  { name: "program", title: "Program", kind: "program" },
  { name: "file", title: "File", kind: "wide" },
  { name: "objective", title: "Objective", kind: "wide long" },
  { name: "method", title: "Method", kind: "wide" },
  { name: "budget", title: "Budget", kind: "wide" },
  { name: "cost", title: "Cost", kind: "number", text: (row) => (row.cost === null ? "–" : isTime(row.unit) ? duration(row.cost) : all(Number(row.cost.toPrecision(6)))) },
  { name: "ratio", title: "Ratio", kind: "number", text: (row) => (row.ratio === null ? "–" : row.ratio.toFixed(3)) },
  { name: "steps", title: "Steps", kind: "number", text: (row) => (row.is_baseline ? "–" : row.fallback ? "kept" : String(row.steps)) },
  { name: "verified", title: "Verified", kind: "" },
];
const OPTIONAL = ["file", "objective", "method", "budget"]; // shown if the rows differ in it
let run, shown = [], chosen = "", sorting = { name: "", down: false }, turn = 0;

export function open(found) {
  run = found;
  tabs($("results").querySelector("nav"));
  chosen = decodeURIComponent(location.hash.slice(1));
  $("filter").addEventListener("input", drawTable);
  $("only-better").addEventListener("change", drawTable);
  $("rows").addEventListener("click", (event) => {
    const column = event.target.closest("th button")?.dataset.name, row = event.target.closest("tr[data-key]");
    if (column) sortBy(column);
    else if (row) choose(row.dataset.key), show($("one-tab"));
  });
  $("explore").addEventListener("click", explore);
  $("picture").addEventListener("change", drawPicture);
  window.addEventListener("hashchange", () => choose(decodeURIComponent(location.hash.slice(1))));
  window.addEventListener("pageshow", () => { $("explore").textContent = "Explore"; $("explore").disabled = !chosen; });
  new ResizeObserver(() => drawCurve()).observe($("details"));
  drawPictures();
}

export async function news() {
  Object.assign(run, await ask("run"));
  say(run.notes.join(" · "), true);
  const reference = new Set(run.rows.map((row) => row.reference).filter(Boolean)), objectives = new Set(run.rows.map((row) => row.objective));
  $("facts").textContent = [`${run.rows.length} results`, objectives.size === 1 ? [...objectives][0] : `${objectives.size} objectives`, `ratio: ${reference.size === 1 ? [...reference][0] : "reference"} / result, above 1 is better`].join(" · ");
  drawTable();
  await choose(run.rows.some((row) => row.key === chosen) ? chosen : shown[0]?.key ?? "");
}

const step = (by) => {
  const at = shown.findIndex((row) => row.key === chosen);
  if (shown.length) choose(shown[Math.max(0, Math.min(shown.length - 1, at + by))].key);
};
export const keys = {
  "/": () => { show($("table-tab")); $("filter").focus(); $("filter").select(); },
  ArrowUp: (event) => !event.target.closest("#details, #shown-picture") && step(-1),
  ArrowDown: (event) => !event.target.closest("#details, #shown-picture") && step(1),
  e: () => { if (!$("explore").disabled) explore(); },
};

function sortBy(name) {
  sorting = sorting.name !== name ? { name, down: false } : sorting.down ? { name: "", down: false } : { name, down: true };
  drawTable();
  $("rows").querySelector(`[data-name="${name}"]`)?.focus();
}

function drawTable() {
  const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = run.rows.filter((row) => {
    const text = [row.program, row.objective, row.method, row.budget, row.file, row.verified, row.error].join(" ").toLowerCase();
    return words.every((word) => text.includes(word)) && (!$("only-better").checked || row.ratio > 1);
  });
  const { name, down } = sorting, sign = down ? -1 : 1;
  if (name) found.sort((a, b) => {
    if (a[name] === null || b[name] === null) return (a[name] === null) - (b[name] === null); // missing ones last
    return sign * (typeof a[name] === "string" ? a[name].localeCompare(b[name], "en", { numeric: true }) : a[name] - b[name]);
  });
  shown = found.slice(0, MOST_SHOWN);
  const columns = COLUMNS.filter((column) => !OPTIONAL.includes(column.name) || new Set(run.rows.map((row) => row[column.name])).size > 1);
  const head = element("tr", {}, ...columns.map((column) => {
    const arrow = column.name === name ? (down ? " ↓" : " ↑") : "";
    const cell = element("th", { scope: "col", class: column.kind }, element("button", { type: "button", "data-name": column.name }, `${column.title}${arrow}`));
    if (arrow) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
    return cell;
  }));
  const body = shown.map((row) => element("tr", { "data-key": row.key, "aria-selected": row.key === chosen }, ...columns.map((column) => {
    const text = column.text ? column.text(row) : String(row[column.name]);
    const colour = column.name === "ratio" && row.ratio !== null ? (row.ratio > 1 ? " better" : row.ratio < 1 ? " worse" : " even") : text === "failed" ? " failed" : "";
    const cell = element("td", { class: `${column.kind}${colour}` }, text);
    if (column.kind.includes("long") || row.error) cell.title = row.error || text;
    return cell;
  })));
  const table = element("table", { role: "grid" }, element("thead", {}, head), element("tbody", {}, ...body));
  const parts = [table];
  if (!shown.length) parts.push(element("p", { class: "empty" }, "No result matches the filter."));
  if (found.length > shown.length) parts.push(element("p", { class: "more" }, `${shown.length} of ${found.length} are shown. Filter to see the others.`));
  $("rows").replaceChildren(...parts);
  $("row-count").textContent = found.length === run.rows.length ? `${found.length}` : `${found.length} of ${run.rows.length}`;
}

let details = null;

async function choose(key) {
  const row = run.rows.find((one) => one.key === key);
  if (!row) return;
  chosen = key;
  history.replaceState(null, "", `#${encodeURIComponent(key)}`);
  for (const line of $("rows").querySelectorAll("tr[data-key]")) {
    line.setAttribute("aria-selected", line.dataset.key === key);
    if (line.dataset.key === key) line.scrollIntoView({ block: "nearest" });
  }
  const mine = ++turn;
  const found = await ask("result", { key }).catch((error) => (say(error.message), null));
  if (mine !== turn || !found) return;
  details = found;
  $("explore").disabled = false;
  drawOne(row);
}

function drawOne(row) {
  $("one-title").textContent = row.program;
  learn(details.titles);
  const cost = row.cost === null ? "" : isTime(row.unit) ? duration(row.cost) : `${all(row.cost)} ${row.unit}`;
  const facts = [["cost", cost], [`${row.reference || "reference"} / result`, row.ratio === null ? "" : row.ratio.toFixed(4)]];
  const { low, high, verdict, confidence } = details.timing;
  if (low !== undefined) facts.push(["interval", `${number(low)} to ${number(high)}${confidence ? `, ${100 * confidence} %` : ""}${verdict ? `: ${verdict}` : ""}`]);
  facts.push(["objective", row.objective], ["method", row.method], ["budget", row.budget], ["used", `${all(row.evaluations)} evaluations, ${duration(row.seconds)}`], ["seed", String(row.seed)], ["kept", row.fallback && !row.is_baseline && `${row.fallback}: nothing better was found`], ["failure", row.error]);
  const list = element("dl", {});
  for (const [name, value] of facts) if (value) list.append(element("dt", {}, name), element("dd", {}, value));
  const parts = [list];
  if (details.curve.length > 1) parts.push(element("figure", { class: "chart", id: "best-so-far" }));
  const steps = details.trace.map((entry) => element("li", exactly(entry), readable(entry)));
  parts.push(element("h3", {}, `Trace, ${steps.length} ${steps.length === 1 ? "step" : "steps"}`), steps.length ? element("ol", {}, ...steps) : element("p", { class: "empty" }, "The trace is empty."));
  parts.push(element("h3", {}, "Baselines"), costs(["baseline", "cost", "result"], details.baselines.map(([name, cost]) => [name, row.unit, cost, row.cost])));
  const beside = Object.entries(details.beside);
  if (beside.length) parts.push(element("h3", {}, "Other objectives"), costs(["objective", row.reference || "reference", "result", "change"], beside.map(([name, one]) => [name, one.unit, one.reference, one.result]), true));
  if (details.checks.length) parts.push(element("h3", {}, "Checks"), ...details.checks.map((check) => element("p", {}, check)));
  if (details.source?.length) parts.push(element("h3", {}, "Source"), element("code", {}, details.source.join(" ")));
  $("details").replaceChildren(...parts);
  $("details").scrollTop = 0;
  drawCurve();
}

function costs(titles, lines, both = false) {
  const cells = (kind, texts) => element("tr", {}, ...texts.map((text) => element(kind, {}, text)));
  const figure = (value, unit) => (value === null || value === undefined ? "–" : isTime(unit) ? duration(value) : short(value));
  return element("table", {}, cells("th", titles), ...lines.map(([name, unit, from, to]) => cells("td", [name, figure(from, unit), ...(both ? [figure(to, unit)] : []), change(from, to) || "–"])));
}

function drawCurve() {
  const figure = $("best-so-far");
  if (!figure?.clientWidth) return;
  const points = details.curve.map(([, count, cost]) => [count, cost]);
  const end = Math.max(details.evaluations, points.at(-1)[0]);
  draw(figure, { title: "Best cost so far, by evaluations", points: [...points, [end, points.at(-1)[1]]], steps: true });
}

async function explore() {
  $("explore").disabled = true;
  $("explore").textContent = "Opening…";
  try {
    const { address, trace } = await ask("open", { key: chosen });
    location.assign(`${address}${addressOf(trace)}`);
  } catch (error) {
    say(error.message);
    $("details").prepend(element("p", {}, "The program did not open. If it is at another place:"), element("code", {}, details.command));
    $("explore").textContent = "Explore";
    $("explore").disabled = false;
  }
}

function drawPictures() {
  const some = run.pictures.length > 0;
  for (const id of ["pictures", "pictures-tab"]) $(id).hidden = !some;
  $("results").classList.toggle("pictured", some);
  $("picture").replaceChildren(...run.pictures.map((name, i) => element("option", { value: i }, name)));
  if (some) drawPicture();
}

function drawPicture() {
  const number = $("picture").value;
  $("shown-picture").replaceChildren(element("img", { src: `picture/${number}`, alt: run.pictures[number] }));
}
