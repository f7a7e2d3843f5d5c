"use strict";
// Tables sort by a click on a head; above a long one its rows are filtered. Without this script they are tables.

const LONG = 15; // rows
const AUTHORS = ["Model", "Participant"];
const CHOSEN = [...AUTHORS, "Problem", "Verdict"]; // columns that have a list to choose from
const CARDS = ["leaderboard", "causes", "pass@k", "subtasks"]; // kinds of tables whose rows are cards on a phone
const MOST = 400; // entries of such a list
const listings = new Map(); // by table

// The rows of a table in their order, those of them that were asked for, and as many of these as the page shows.
class Listing {
  constructor(table) {
    this.body = table.tBodies[0];
    this.step = table.tBodies.length > 1 ? this.body.rows.length : Infinity;
    this.every = [...table.tBodies].flatMap((body) => [...body.rows]);
    for (const rest of [...table.tBodies].slice(1)) rest.remove();
    this.fits = this.keep = () => true; // what the table's own filter asks for, and what the page's does
    this.found = this.every;
    this.whole = this.every.every((row) => row.cells[0].textContent);
    if (this.every.length > this.step) this.more = this.moreBelow(table);
  }

  refresh() { this.show(); }

  show(number = this.step) {
    this.found = this.every.filter((row) => this.keep(row) && this.fits(row));
    const shown = this.found.slice(0, number);
    this.body.replaceChildren(...shown);
    if (!this.more) return;
    this.more.hidden = shown.length === this.found.length;
    this.more.textContent = `Show more: ${count(shown)} of ${count(this.found)} rows are here`;
  }

  moreBelow(table) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "save more";
    button.addEventListener("click", () => {
      const next = this.body.rows.length;
      this.show(next + this.step);
      if (button.hidden) this.body.rows[next].querySelector("a")?.focus(); // the keyboard goes on from there
    });
    table.after(button);
    return button;
  }
}

function cards(table, listing) { // on a phone a cell says which column it is of
  table.classList.add("cards");
  const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent);
  for (const row of listing.every) [...row.cells].forEach((cell, place) => { if (place) cell.dataset.head = heads[place]; });
}

const count = (rows) => rows.length.toLocaleString("en");

function value(row, place) {
  const text = row.cells[place].textContent.trim().replace(/^up /, "").replace(/^down /, "-");
  const time = /^(\d+):(\d\d):(\d\d)$/.exec(text);
  if (time) return time.slice(1).reduce((sum, part) => 60 * sum + Number(part), 0);
  const number = parseFloat(text.replaceAll(",", ""));
  return Number.isNaN(number) ? -Infinity : number;
}

function sortable(table, listing) {
  const heads = [...table.tHead.rows[0].cells];
  for (const [place, head] of heads.entries()) {
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
      listing.every.sort((a, b) => sign * (numeric
        ? value(a, place) - value(b, place) || 0
        : WORDS.compare(a.cells[place].textContent, b.cells[place].textContent)));
      for (const cell of heads) cell.removeAttribute("aria-sort");
      head.ariaSort = order;
      listing.show();
    });
  }
}

const WORDS = new Intl.Collator("en", { numeric: true });

function choice(listing, place, name, changed) {
  const values = [...new Set(listing.every.map((row) => row.cells[place].textContent))];
  if (values.length < 2 || values.length > MOST) return [];
  const list = document.createElement("select");
  list.ariaLabel = `Only of this ${name.toLowerCase()}`;
  list.add(new Option(`${name}: all`, ""));
  for (const text of values.sort(WORDS.compare)) list.add(new Option(text, text));
  list.addEventListener("change", changed);
  return [{ list, place }];
}

function filterable(table, listing) {
  const tools = document.createElement("div");
  const field = document.createElement("input");
  const shown = document.createElement("span");
  const changed = () => {
    const words = field.value.toLowerCase().split(/\s+/);
    const chosen = lists.filter(({ list }) => list.value);
    listing.fits = (row) => {
      if (!chosen.every(({ list, place }) => row.cells[place].textContent === list.value)) return false;
      const text = row.textContent.toLowerCase();
      return words.every((word) => text.includes(word));
    };
    listing.refresh();
  };
  listing.refresh = () => {
    listing.show();
    const all = listing.found.length === listing.every.length;
    shown.textContent = all ? "" : `${count(listing.found)} of ${count(listing.every)}`;
  };
  const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent);
  const wanted = CHOSEN.filter((name) => !AUTHORS.includes(name) || table.dataset.kind !== "submissions"); // the page has a filter for models
  const lists = heads.flatMap((name, place) => (wanted.includes(name) && place ? choice(listing, place, name, changed) : []));
  tools.className = "tools";
  field.type = "search";
  field.className = "filter";
  field.placeholder = `Filter ${count(listing.every)} rows`;
  field.ariaLabel = "Filter rows: all of these words";
  field.addEventListener("input", changed);
  shown.role = "status";
  tools.append(field, ...lists.map(({ list }) => list), shown);
  table.closest(".scroll").before(tools);
}

for (const table of document.querySelectorAll("table:not(.plain, .outputs, #live table)")) {
  const listing = new Listing(table);
  if (CARDS.includes(table.dataset.kind)) cards(table, listing);
  listings.set(table, listing);
  // A row that goes on from the one above it, without a first cell, is nothing without that one.
  if (listing.every.length > LONG && listing.whole && table.dataset.kind !== "leaderboard") filterable(table, listing);
  if (listing.every.length > 1 && listing.whole) sortable(table, listing);
}
for (const listing of listings.values()) if (listing.more) listing.show();
addEventListener("beforeprint", () => { for (const listing of listings.values()) if (listing.more) listing.show(Infinity); });
