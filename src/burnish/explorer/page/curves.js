// Charts of one curve: the raw values, their mean over the last ones, and the value under the pointer.

import { drawn, element, number } from "./draw.js";

const MOST_POINTS = 1500; // in a line; a screen has no more columns for it

// Draws into a figure. chart: { title, points: [[x, y]], ends: [least x, most x], smooth, mark, steps, xText }.
export function draw(figure, chart) {
  const now = element("span", {});
  const caption = element("figcaption", {}, element("b", {}, chart.title), now);
  const width = Math.max(200, figure.clientWidth), height = figure.classList.contains("large") ? 190 : 110;
  const [left, right, top, bottom] = [46, 8, 8, 18];
  const { points } = chart, last = points.at(-1);
  now.textContent = last ? yText(last[1]) : "";
  const means = chart.smooth > 1 ? mean(points, chart.smooth) : null;
  const ys = points.map(([, y]) => y).concat(chart.mark !== undefined ? [chart.mark] : []);
  const [low, high] = span(ys), [first, end] = chart.ends ?? [points[0]?.[0] ?? 0, last?.[0] ?? 1];
  const x = (value) => left + (end === first ? 0.5 : (value - first) / (end - first)) * (width - left - right);
  const y = (value) => top + ((high - value) / (high - low)) * (height - top - bottom);
  const picture = drawn("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": `${chart.title}: ${points.length} values, the last one ${last ? yText(last[1]) : "missing"}` });
  for (const value of ticks(low, high, height > 150 ? 5 : 3)) {
    picture.append(drawn("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: "grid" }));
    picture.append(drawn("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, short(value)));
  }
  for (const value of ticks(first, end, width / 110)) {
    const anchor = x(value) > width - 30 ? "end" : x(value) < left + 10 ? "start" : "middle";
    picture.append(drawn("text", { x: x(value), y: height - 4, "text-anchor": anchor }, chart.xText ? chart.xText(value) : short(value, end >= 1e4 ? 1e3 : 1e4)));
  }
  if (chart.mark !== undefined) picture.append(drawn("line", { x1: left, x2: width - right, y1: y(chart.mark), y2: y(chart.mark), class: "one" }));
  const line = (values, kind) => {
    const found = fewer(values).flatMap(([a, b], i, all) => (chart.steps && i ? [[a, all[i - 1][1]], [a, b]] : [[a, b]]));
    picture.append(drawn("polyline", { points: found.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" "), class: kind }));
  };
  line(points, means ? "raw" : "");
  if (means) line(means, "");
  if (points.length < 30) for (const [a, b] of points) picture.append(drawn("circle", { cx: x(a), cy: y(b), r: 2.5 }));
  const cursor = drawn("line", { y1: top, y2: height - bottom, class: "cursor", visibility: "hidden" });
  picture.append(cursor);
  picture.addEventListener("pointermove", (event) => {
    if (!points.length) return;
    const at = ((event.clientX - picture.getBoundingClientRect().left) * width) / picture.clientWidth;
    const [a, b] = points.reduce((one, other) => (Math.abs(x(other[0]) - at) < Math.abs(x(one[0]) - at) ? other : one));
    for (const end of ["x1", "x2"]) cursor.setAttribute(end, x(a));
    cursor.setAttribute("visibility", "visible");
    now.textContent = `${chart.xText ? chart.xText(a) : a.toLocaleString("en")}: ${yText(b)}`;
  });
  picture.addEventListener("pointerleave", () => {
    cursor.setAttribute("visibility", "hidden");
    now.textContent = last ? yText(last[1]) : "";
  });
  figure.replaceChildren(caption, picture);
}

const yText = (value) => number(value).replace("-", "−");

export function short(value, thousands = 1e4) {
  const size = Math.abs(value);
  for (const [least, letter] of [[1e9, "G"], [1e6, "M"], [thousands, "k"]])
    if (size >= least) return `${number(value / (letter === "k" ? 1e3 : least))}${letter}`;
  if (size && size < 1e-3) return value.toExponential(0).replace("-", "−");
  return number(value).replace("-", "−");
}

// The mean of each value and those before it.
function mean(points, most) {
  let sum = 0;
  return points.map(([x, y], i) => {
    sum += y - (i >= most ? points[i - most][1] : 0);
    return [x, sum / Math.min(i + 1, most)];
  });
}

// Of long lines, the lowest and the highest value of each part, in order.
function fewer(points) {
  if (points.length <= MOST_POINTS) return points;
  const size = Math.ceil((2 * points.length) / MOST_POINTS), kept = [];
  for (let i = 0; i < points.length; i += size) {
    const part = points.slice(i, i + size);
    const ends = [part.reduce((a, b) => (b[1] < a[1] ? b : a)), part.reduce((a, b) => (b[1] > a[1] ? b : a))];
    kept.push(...ends.sort((a, b) => a[0] - b[0]));
  }
  return kept;
}

function span(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
  if (!values.length) return [0, 1];
  const room = high === low ? Math.abs(high) * 0.1 || 1 : (high - low) * 0.06;
  return [low - room, high + room];
}

function ticks(low, high, most) {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, most), size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((by) => by * size).find((by) => by >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high * (1 + 1e-12) + 1e-12; i++) found.push(Number((i * step).toPrecision(12)));
  return found;
}
