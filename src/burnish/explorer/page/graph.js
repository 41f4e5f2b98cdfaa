// Two states' graphs in one picture. The server has the positions.

import { $, drawn, element } from "./draw.js";
import { passes } from "./functions.js";
import { drawLines } from "./lines.js";
import { page } from "./state.js";

const SIGNS = { added: "+ ", removed: "− ", changed: "± ", same: "" };

export const wantedGraph = () => ({ graph: $("graph-choice").value, section: $("graph-section").value });

export function drawGraph(found) {
  $("graph-text").hidden = true;
  $("graph-note").hidden = Boolean(found) && !found.picture.left_out;
  $("graph-section").hidden = !found?.sections.length;
  if (!found) {
    $("graph-note").textContent = `${page.program.task} has no graphs.`;
    return $("graph-picture").replaceChildren();
  }
  const options = found.sections.filter((one) => passes(one.title) || one.name === found.section);
  $("graph-section").replaceChildren(...options.map((one) => element("option", { value: one.name }, `${SIGNS[one.kind]}${one.title}`)));
  $("graph-section").value = found.section;
  const { boxes, curves, width, height, left_out: leftOut } = found.picture;
  if (leftOut) $("graph-note").textContent = `${boxes.length} of ${boxes.length + leftOut} are shown: those that changed, their neighbours, and the first others.`;
  const count = (kind) => boxes.filter((box) => box.kind === kind).length;
  $("change-count").textContent = ["changed", "added", "removed", "same"].filter(count)
    .map((kind) => `${count(kind)} ${kind === "same" ? "equal" : kind}`).join(", ");
  const margin = 6;
  const picture = drawn("svg", {
    viewBox: `${-margin} ${-margin} ${width + 2 * margin} ${height + 2 * margin}`,
    width: width + 2 * margin, height: height + 2 * margin,
    role: "group", "aria-label": `${boxes.length} boxes, ${curves.length} arrows`,
  });
  const tips = drawn("defs", {});
  for (const kind of Object.keys(SIGNS)) {
    const tip = drawn("marker", { id: `tip-${kind}`, class: kind, viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto", markerUnits: "userSpaceOnUse" });
    tip.append(drawn("path", { d: "M0 0L8 4L0 8z" }));
    tips.append(tip);
  }
  picture.append(tips);
  for (const { kind, label, points, label_at: [x, y] } of curves) {
    if (!points.length) continue;
    const [first, ...rest] = points.map((point) => point.join(" "));
    picture.append(drawn("path", { d: `M${first}C${rest.join(" ")}`, class: `arrow ${kind}`, "marker-end": `url(#tip-${kind})` }));
    if (label) picture.append(drawn("text", { x, y: y + 3, class: "label" }, label));
  }
  const whole = !found.sections.length; // boxes are functions, or loops
  for (const box of boxes) {
    const dim = whole && !passes(box.title) ? " dim" : "";
    const group = drawn("g", { class: `box ${box.kind}${dim}`, tabindex: 0, role: "button", "aria-label": `${box.kind === "same" ? "equal" : box.kind}: ${box.title}` });
    group.append(
      drawn("rect", { x: box.x - box.width / 2, y: box.y - box.height / 2, width: box.width, height: box.height, rx: 4 }),
      drawn("text", { x: box.x, y: box.y + 4 }, SIGNS[box.kind] + box.text),
    );
    group.append(drawn("title", {}, [box.title, ...box.lines.slice(0, 12).map((line) => line[1])].join("\n")));
    const open = () => showBox(box, group);
    group.addEventListener("click", open);
    group.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      open();
    });
    picture.append(group);
  }
  $("graph-picture").replaceChildren(picture);
  $("graph-picture").scrollLeft = boxes[0].x + margin - $("graph-picture").clientWidth / 2;
}

// A click on a box shows its text below the picture; another click hides it.
function showBox(box, group) {
  const wasOpen = group.classList.contains("open");
  for (const other of group.parentElement.querySelectorAll(".open")) other.classList.remove("open");
  $("graph-text").hidden = wasOpen;
  if (wasOpen) return;
  group.classList.add("open");
  $("graph-text").replaceChildren(element("h3", {}, SIGNS[box.kind] + box.title),
    box.lines.length ? drawLines(box.lines) : element("p", { class: "empty" }, "This box has no text."));
}

$("fit").addEventListener("change", () => $("graph-picture").classList.toggle("fit", $("fit").checked));
