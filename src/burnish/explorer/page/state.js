// The states that the page knows, the shown one, and requests to the server.

export const nodes = new Map(); // by key
export const page = { program: null, here: null, legal: [], searching: false };

export async function ask(name, body = {}) {
  const answer = await fetch(`api/${name}`, { method: "POST", body: JSON.stringify(body) });
  const read = await answer.json();
  if (!answer.ok) throw new Error(read.error);
  return read;
}

export const traceOf = () => { try { return JSON.parse(decodeURIComponent(location.hash.slice(1)) || "[]"); } catch { return []; } };
export const addressOf = (trace) => (trace.length ? `#${encodeURIComponent(JSON.stringify(trace))}` : "#");

export function go(trace) {
  const address = addressOf(trace);
  if (location.hash === address || (address === "#" && !location.hash)) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = address;
}

export function kindOf(node) {
  if (node.error) return "failed";
  const reference = page.program.reference_cost ?? [...nodes.values()][0]?.cost;
  if (node.cost === null || node.cost === reference) return "even";
  return node.cost < reference ? "better" : "worse";
}

// A state that a search has found gets another key when it is opened: its digest.
export function add(node) {
  if (nodes.has(node.key)) return;
  nodes.set(node.key, node);
  if (node.searched) return;
  const address = addressOf(node.trace);
  const found = [...nodes.values()].find((other) => other.searched && other.key !== node.key && addressOf(other.trace) === address);
  if (!found) return;
  nodes.delete(found.key);
  for (const other of nodes.values()) if (other.parent === found.key) other.parent = node.key;
}
