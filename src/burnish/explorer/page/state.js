// The states and edges that the page knows, the shown state, and requests to the server.

export const nodes = new Map(); // by key
export const children = new Map(); // by the key of the state before: nodes in the order of their arrival
export const edges = new Map(); // by the key of the state before: by entry
export const page = { program: null, here: null, legal: [], predictions: { probabilities: {}, ratios: {} }, searching: false, trying: false, evaluated: [], leftOut: 0 };
const searched = new Map(); // by address: the key of a state that only a search has reached
export const seen = { version: 0, root: null, best: null }; // of the nodes and edges; the version changes with each

export async function request(name, body = {}) {
  const answer = await fetch(`api/${name}`, { method: "POST", body: JSON.stringify(body) });
  if (!answer.ok) throw new Error((await answer.json()).error);
  return answer;
}

export const ask = async (name, body) => (await request(name, body)).json();

export const traceOf = () => { try { return JSON.parse(decodeURIComponent(location.hash.slice(1)) || "[]"); } catch { return []; } };
export const addressOf = (trace) => (trace.length ? `#${encodeURIComponent(JSON.stringify(trace))}` : "#");

export function go(trace) {
  const address = addressOf(trace);
  if (location.hash === address || (address === "#" && !location.hash)) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = address;
}

export function kindOf(node) {
  if (node.error) return "failed";
  const reference = page.program.reference_cost ?? seen.root?.cost;
  if (node.cost === null || node.cost === reference) return "even";
  return node.cost < reference ? "better" : "worse";
}

// The keys of the states on the way to the shown one, the program first; undefined where an edge is unknown yet.
export function pathKeys() {
  let key = seen.root?.key;
  return [key, ...page.here.trace.map((entry) => (key = edges.get(key)?.get(entry)?.to))];
}

// The state after an entry in the shown state, and whether the entry changes nothing.
export function after(entry) {
  const edge = edges.get(page.here.key)?.get(entry);
  const node = edge && (nodes.get(edge.to) ?? nodes.get(`${page.here.key}!${entry}`));
  return node && { node, edge, idle: edge.to === edge.from };
}

export function addEdge(edge) {
  if (!edges.has(edge.from)) edges.set(edge.from, new Map());
  edges.get(edge.from).set(edge.entry, edge);
  seen.version++;
}

// A state that a search has found gets another key when it is opened: its digest.
export function add(node) {
  if (nodes.has(node.key)) return;
  nodes.set(node.key, node);
  seen.version++;
  if (!node.parent) seen.root ??= node;
  if (node.cost !== null && !(seen.best?.cost <= node.cost)) seen.best = node;
  if (node.parent && node.parent !== node.key) {
    if (!children.has(node.parent)) children.set(node.parent, []);
    children.get(node.parent).push(node);
  }
  const address = addressOf(node.trace);
  if (node.searched) return void searched.set(address, node.key);
  const replaced = nodes.get(searched.get(address));
  if (!replaced || replaced.key === node.key) return;
  searched.delete(address);
  nodes.delete(replaced.key);
  const beside = children.get(replaced.parent);
  beside?.splice(beside.indexOf(replaced), 1);
  if (seen.best === replaced) seen.best = node;
  for (const child of children.get(replaced.key) ?? []) {
    child.parent = node.key;
    if (!children.has(node.key)) children.set(node.key, []);
    children.get(node.key).push(child);
  }
  children.delete(replaced.key);
}
