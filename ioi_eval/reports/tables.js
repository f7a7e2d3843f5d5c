"use strict";
// Tables sort by a click on a head; above a long one its rows are filtered. Without this script they are tables.

const LONG = 15; // rows
const CHOSEN = ["Model", "Problem", "Verdict"]; // columns that have a list to choose from
const MOST = 400; // entries of such a list

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

function choice(table, place, name, changed) {
  const values = [...new Set([...table.tBodies[0].rows].map((row) => row.cells[place].textContent))];
  if (values.length < 2 || values.length > MOST) return [];
  const list = document.createElement("select");
  list.ariaLabel = `Only of this ${name.toLowerCase()}`;
  list.add(new Option(`${name}: all`, ""));
  values.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  for (const text of values) list.add(new Option(text, text));
  list.addEventListener("change", changed);
  return [{ list, place }];
}

function filterable(table) {
  const rows = [...table.tBodies[0].rows];
  const tools = document.createElement("div");
  const field = document.createElement("input");
  const shown = document.createElement("span");
  const changed = () => {
    const words = field.value.toLowerCase().split(/\s+/);
    let left = 0;
    for (const row of rows) {
      const fits = lists.every(({ list, place }) => !list.value || row.cells[place].textContent === list.value);
      const text = fits ? row.textContent.toLowerCase() : "";
      row.hidden = !(fits && words.every((word) => text.includes(word)));
      left += !row.hidden;
    }
    shown.textContent = left < rows.length ? `${left.toLocaleString("en")} of ${rows.length.toLocaleString("en")}` : "";
  };
  const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent);
  const lists = heads.flatMap((name, place) => (CHOSEN.includes(name) ? choice(table, place, name, changed) : []));
  tools.className = "tools";
  field.type = "search";
  field.className = "filter";
  field.placeholder = `Filter ${rows.length.toLocaleString("en")} rows`;
  field.ariaLabel = "Filter rows: all of these words";
  field.addEventListener("input", changed);
  shown.role = "status";
  tools.append(field, ...lists.map(({ list }) => list), shown);
  table.closest(".scroll").before(tools);
  return (words) => { field.value = words; changed(); };
}

// What the report's search box asks for stands behind the address: submissions.html#find=words
function asked() {
  const found = /^#find=(.*)$/.exec(location.hash);
  return found ? decodeURIComponent(found[1]) : "";
}

const filters = [];
for (const table of document.querySelectorAll("table")) {
  const rows = [...table.tBodies[0].rows];
  // A row that goes on from the one above it, without a first cell, is nothing without that one.
  const whole = rows.every((row) => row.cells[0].textContent);
  const filter = rows.length > LONG && whole ? filterable(table) : null;
  if (rows.length > 1 && whole) sortable(table);
  if (filter) filters.push(filter);
}
if (asked() && filters.length) filters[0](asked());

for (const box of document.querySelectorAll("form.search")) {
  box.addEventListener("submit", (event) => {
    event.preventDefault();
    location.href = `${box.dataset.page}#find=${encodeURIComponent(box.elements.words.value)}`;
  });
}
