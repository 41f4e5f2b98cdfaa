// The filter of functions, which all views of changes share.

import { $ } from "./draw.js";

// True if a function passes the filter: all words are parts of its name.
export function passes(title) {
  const words = $("function-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  return words.every((word) => title.toLowerCase().includes(word));
}

// Shows one function's text.
export const showText = (title) => {
  $("function-filter").value = title;
  $("text-tab").click();
};
