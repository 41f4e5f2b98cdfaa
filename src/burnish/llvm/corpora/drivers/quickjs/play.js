"use strict";
// Longer work: queens, life in a string, words in a map, generators, a small interpreter.
const queens = (n, columns = 0, left = 0, right = 0) => {
  if (columns === (1 << n) - 1) return 1;
  let count = 0;
  for (let free = ~(columns | left | right) & ((1 << n) - 1); free; free &= free - 1) {
    const place = free & -free;
    count += queens(n, columns | place, (left | place) << 1, (right | place) >> 1);
  }
  return count;
};
print("queens", queens(9));

let seed = 99;
const random = (bound) => (seed = (seed * 48271) % 2147483647) % bound;

const side = 40;
let cells = new Set(Array.from({ length: 500 }, () => random(side * side)));
const near = (cell) => {
  const [x, y] = [cell % side, Math.floor(cell / side)];
  return [-1, 0, 1].flatMap((dy) => [-1, 0, 1].filter((dx) => dx || dy).map((dx) =>
    ((y + dy + side) % side) * side + ((x + dx + side) % side)));
};
for (let generation = 0; generation < 8; generation++) {
  const counts = new Map();
  for (const cell of cells) for (const other of near(cell)) counts.set(other, (counts.get(other) ?? 0) + 1);
  cells = new Set([...counts].filter(([cell, count]) => count === 3 || (count === 2 && cells.has(cell))).map(([cell]) => cell));
}
print("life", cells.size, [...cells].reduce((a, b) => a + b, 0));

const words = new Map();
const text = Array.from({ length: 4000 }, () => "abcdefgh"[random(8)] + (random(3) ? "" : " ")).join("");
for (const [word] of text.matchAll(/[a-h]+/g)) words.set(word, (words.get(word) || 0) + 1);
print("words", words.size, [...words].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, 3).join(" "));

function* walk(tree) {
  if (!tree) return;
  yield* walk(tree.left);
  yield tree.key;
  yield* walk(tree.right);
}
let tree = null;
for (let i = 0; i < 2000; i++) {
  const key = random(100000);
  let at = tree, node = { key, left: null, right: null };
  if (!tree) tree = node;
  while (at) {
    const way = key < at.key ? "left" : "right";
    if (!at[way]) { at[way] = node; break; }
    at = at[way];
  }
}
let last = -1, ordered = 0;
for (const key of walk(tree)) { if (key >= last) ordered++; last = key; }
print("tree", ordered, last);

const run = (source) => {
  const stack = [], tokens = source.split(" "), loops = [];
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    if (token === "+") stack.push(stack.pop() + stack.pop());
    else if (token === "*") stack.push((stack.pop() * stack.pop()) % 1000003);
    else if (token === "dup") stack.push(stack[stack.length - 1]);
    else if (token === "[") loops.push([at, stack.pop()]);
    else if (token === "]") { const loop = loops[loops.length - 1]; if (--loop[1] > 0) at = loop[0]; else loops.pop(); }
    else stack.push(Number(token));
  }
  return stack.pop();
};
print("stack", run("7 300 [ dup * 3 + 20 [ 2 * 1 + ] ]"));
