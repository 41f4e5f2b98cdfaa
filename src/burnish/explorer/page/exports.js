// The shown state in other forms: texts to copy, files to save.

import { $, element, say } from "./draw.js";
import { ask, page, request } from "./state.js";

const SHOWN_MS = 1500; // "Copied" on a button

export async function openExports() {
  const trace = page.here.trace;
  try {
    const texts = await ask("exports", { trace });
    $("export-texts").replaceChildren(...Object.entries(texts).map(([label, text]) => {
      const copy = element("button", { type: "button", "aria-label": `Copy: ${label}` }, "Copy");
      copy.addEventListener("click", () => copied(copy, text));
      return element("section", {}, element("h3", {}, label, copy), element("pre", { tabindex: 0 }, text || "The trace is empty."));
    }));
    $("export-files").replaceChildren(...[[".trace.txt", () => new Blob([texts.Trace])], ...page.program.files.map((suffix) => [suffix, async () => (await request("file", { trace, suffix })).blob()])].map(([suffix, make]) => {
      const button = element("button", { type: "button" }, suffix);
      button.addEventListener("click", () => save(button, suffix, make));
      return button;
    }));
    $("exports").showModal();
  } catch (error) {
    say(error.message);
  }
}

async function copied(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select the text and copy it";
  }
  setTimeout(() => { button.textContent = "Copy"; }, SHOWN_MS);
}

async function save(button, suffix, make) {
  button.disabled = true;
  $("export-error").textContent = "";
  try {
    const link = element("a", { download: `${page.program.program.replace(/\.\w+$/, "")}${suffix}`, href: URL.createObjectURL(await make()) });
    link.click();
    URL.revokeObjectURL(link.href);
  } catch (error) {
    $("export-error").textContent = `${suffix}: ${error.message}`;
  } finally {
    button.disabled = false;
  }
}
