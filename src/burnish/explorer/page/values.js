// Values with their units, and tables of names and values.

import { element, number } from "./draw.js";

const SCALES = [[3600, "h", 6000], [60, "min", 100], [1, "s", 1], [1e-3, "ms", 1e-3], [1e-6, "µs", 0]]; // and the least seconds

// A time with three digits: 15.3 µs, 2.4 ms, 12 s. The same as seconds_text of burnish/console/numbers.py.
export function duration(seconds) {
  if (!seconds) return "0 s";
  const [size, unit] = SCALES.find(([, , least]) => Math.abs(seconds) >= least);
  return `${Number((seconds / size).toPrecision(3))} ${unit}`;
}

export const isTime = (unit) => unit === "s" || unit === "seconds"; // of an objective

// A value with its unit; `amount` leaves the unit out, except that of a time.
export const quantity = (value, unit) => (isTime(unit) ? duration(value) : `${number(value)} ${unit}`);
export const amount = (value, unit) => (isTime(unit) ? duration(value) : number(value));

// A mapping's entries as lists of names and values; nested mappings get headings.
export function values(table, heading = "") {
  const plain = element("dl", {}), nested = [];
  for (const [name, value] of Object.entries(table)) {
    if (value === null || value === "" || (Array.isArray(value) && !value.length)) continue;
    if (typeof value === "object" && !Array.isArray(value)) nested.push(...values(value, heading ? `${heading}.${name}` : name));
    else plain.append(element("dt", {}, name), element("dd", {}, text(value)));
  }
  const parts = plain.childElementCount ? [...(heading ? [element("h3", {}, heading)] : []), plain] : [];
  return [...parts, ...nested];
}

function text(value) {
  if (Array.isArray(value)) return value.map(text).join(", ");
  if (value && typeof value === "object") return Object.entries(value).filter(([, one]) => one !== "").map(([name, one]) => `${name} ${text(one)}`).join(", ");
  return typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(6))) : String(value);
}
