"use strict";
// Tables sort by a click on a head; a field above a long one filters its rows. Without this script they are tables.

const LONG = 15; // rows

function value(row, place) {
  const text = row.cells[place].textContent.trim();
  const number = parseFloat(text.replaceAll(",", ""));
  return Number.isNaN(number) ? -Infinity : number;
}

function sortable(table) {
  const body = table.tBodies[0];
  for (const [place, head] of [...table.tHead.rows[0].cells].entries()) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const numeric = head.classList.contains("number");
      const first = numeric ? "descending" : "ascending";
      const other = numeric ? "ascending" : "descending";
      const order = head.ariaSort === first ? other : first;
      const sign = order === "ascending" ? 1 : -1;
      const rows = [...body.rows].sort((a, b) => sign * (numeric
        ? value(a, place) - value(b, place) || 0
        : a.cells[place].textContent.localeCompare(b.cells[place].textContent, "en", { numeric: true })));
      for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
      head.ariaSort = order;
      body.append(...rows);
    });
  }
}

function filterable(table) {
  const field = document.createElement("input");
  field.type = "search";
  field.className = "filter";
  field.placeholder = `Filter ${table.tBodies[0].rows.length.toLocaleString("en")} rows`;
  field.ariaLabel = "Filter rows: all of these words";
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
  table.closest(".scroll").before(field);
}

for (const table of document.querySelectorAll("table")) {
  const rows = [...table.tBodies[0].rows];
  // A row that goes on from the one above it, without a first cell, is nothing without that one.
  if (rows.length > 1 && rows.every((row) => row.cells[0].textContent)) sortable(table);
  if (rows.length > LONG && rows.every((row) => row.cells[0].textContent)) filterable(table);
}
