// The names of sites as people read them: those of C++ functions, demangled.

const titles = new Map();

export const learn = (found) => { for (const [site, title] of Object.entries(found)) titles.set(site, title); };

// An entry of a trace as people read it.
export function readable(entry) {
  const end = entry.lastIndexOf(": "), site = entry.slice(0, Math.max(0, end));
  return titles.has(site) ? `${titles.get(site)}${entry.slice(end)}` : entry;
}

// The attributes of an element that shows an entry: a tool tip with the entry itself, where it reads differently.
export const exactly = (entry) => (readable(entry) === entry ? {} : { title: entry });
