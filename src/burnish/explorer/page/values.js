// Tables of names and values.

import { element } from "./draw.js";

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
