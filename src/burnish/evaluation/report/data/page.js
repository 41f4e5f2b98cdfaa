// Tables that are sorted by a click on a column's head, and filtered by words.
for (const head of document.querySelectorAll("thead th")) {
  head.tabIndex = 0;
  const sort = () => {
    const table = head.closest("table"), body = table.tBodies[0], column = head.cellIndex;
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = row => row.cells[column].dataset.value ?? row.cells[column].textContent;
    const compare = (a, b) => {
      const x = value(a), y = value(b), numbers = x !== "" && y !== "" && !isNaN(x) && !isNaN(y);
      return numbers ? x - y : x.localeCompare(y);
    };
    const rows = Array.from(body.rows).sort((a, b) => down ? compare(b, a) : compare(a, b));
    body.append(...rows);
  };
  head.addEventListener("click", sort);
  head.addEventListener("keydown", event => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    sort();
  });
}
for (const box of document.querySelectorAll("input[data-filters]")) {
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/);
    for (const row of document.getElementById(box.dataset.filters).tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
    }
  });
}
