// The board: sorts, groups and narrows its columns, switches models off for all figures of the page, compares two.
// What is chosen stands behind the address: report.html#board;off=...;by=year;only=2024;a=...;b=...

// As in rules/paired.py, which says why: the sign-flip test of A minus B, and its interval.
const FEWEST = 6, ALL = 12, MANY = 300, DRAWN = 4000, DRAWN_OF_MANY = 1000, REJECTED = 0.025, SHOWN = 0.0005 + 1e-9;
const PRINTED = 20; // columns of problems in one table on paper; to move rows of so few takes no time
const AT_ONCE = 50; // columns that are laid out before others, which nobody sees yet: all of 300 take 200 ms
const CELLS = 3000; // of rows that are shown again before others: all of 30 x 300 take 200 ms
const FIRST = 4; // column of a problem: before it are the model, its rank, its mean and the problems that it solves
const KINDS = ["difficulty", "tag", "year"];

const made = (name, more = {}, ...inner) => {
  const one = Object.assign(document.createElement(name), more);
  one.append(...inner);
  return one;
};
const average = (values) => (values.length ? values.reduce((sum, one) => sum + one, 0) / values.length : null);
// As the tables of the page: in the middle, as at 91.25, the even digit. Of such numbers only those with .25 are rounded up.
const tenths = (percent) => (percent % 1 === 0.25 ? percent - 0.05 : percent).toFixed(1);
const inPercent = (value) => (value === null ? "–" : tenths(100 * value));
const signed = (value) => {
  const text = tenths(Math.abs(100 * (Math.round(1e9 * value) / 1e9)));
  return text === "0.0" ? text : `${value < 0 ? "−" : "+"}${text}`;
};
const several = (number, one) => `${number.toLocaleString("en")} ${one}${number === 1 ? "" : "s"}`;

function dice(seed) { // mulberry32, so that the same choice gets the same interval
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let word = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word;
    return (word ^ (word >>> 14)) >>> 0;
  };
}

// Subsets of so many problems, none of them empty, as bytes of 0 and 1; the problems that one leaves out are another.
const SUBSETS = new Map();
function subsets(number) {
  if (SUBSETS.has(number)) return SUBSETS.get(number);
  const every = [], next = dice(1);
  if (number <= ALL) {
    for (let bits = 1; bits < 2 ** number; bits += 2) every.push(Uint8Array.from({ length: number }, (_, place) => bits >> place & 1));
  } else {
    for (let drawn = 0; drawn < (number <= MANY ? DRAWN : DRAWN_OF_MANY) / 2; drawn += 1) {
      const words = Array.from({ length: Math.ceil(number / 32) }, next);
      every.push(Uint8Array.from({ length: number }, (_, place) => words[place >> 5] >>> (31 - (place & 31)) & 1));
    }
  }
  const found = every.map((subset) => [subset, subset.reduce((sum, one) => sum + one, 0)]).filter(([, size]) => size);
  SUBSETS.clear();
  SUBSETS.set(number, found);
  return found;
}

function subsetMeans(values) {
  const total = values.reduce((sum, one) => sum + one, 0), means = [];
  for (const [subset, size] of subsets(values.length)) {
    let part = 0;
    for (let place = 0; place < values.length; place += 1) part += subset[place] * values[place];
    means.push(part / size);
    if (size < values.length) means.push((total - part) / (values.length - size));
  }
  return Float64Array.from(means);
}

// The mean of A minus B with its 95 % interval, and which of the two is really better: 1 is A, -1 is B.
function difference(values) {
  const mean = average(values), found = { mean, sure: null, number: values.length, zero: values.every((one) => !one), sign: 0 };
  if (values.length < FEWEST) return found;
  const means = subsetMeans(values).sort(), place = Math.floor(REJECTED * (means.length + 1));
  const [low, high] = [Math.min(means[place - 1], mean), Math.max(means[means.length - place], mean)];
  return { ...found, sure: [low, high], sign: (low > SHOWN) - (high < -SHOWN) };
}

// The rank of each model: 1, and 1 for each model that is really better over the problems that both have.
function ranksOf(models) {
  const ranks = models.map(() => 1), means = models.map(() => new Map());
  const meansOf = (model, both) => {
    const key = both.join();
    if (!means[model].has(key)) means[model].set(key, subsetMeans(both.map((place) => models[model][place])));
    return means[model].get(key);
  };
  models.forEach((ofA, a) => models.slice(0, a).forEach((ofB, b) => {
    const both = [...ofA.keys()].filter((place) => ofA[place] !== null && ofB[place] !== null);
    if (both.length < FEWEST) return;
    const [left, right] = [meansOf(a, both), meansOf(b, both)], place = Math.floor(REJECTED * (left.length + 1));
    let low = 0, high = 0;
    for (let one = 0; one < left.length; one += 1) {
      low += left[one] - right[one] <= SHOWN;
      high += left[one] - right[one] >= -SHOWN;
    }
    ranks[b] += low < place;
    ranks[a] += high < place;
  }));
  return ranks;
}

// Whether A and B differ, in the words of reports/headline.py.
function sentence(a, b, noun, found) {
  if (found.mean === null) return `No problem has scored submissions of both ${a} and ${b}.`;
  const over = several(found.number, "problem"), size = `${a} minus ${b} is ${signed(found.mean)} percentage points`;
  if (found.zero && found.number > 1) return `There is no difference in ${noun}: ${a} and ${b} have the same for each of ${over}.`;
  if (found.number === 1) return `One problem says nothing about others. ${size}.`;
  if (!found.sure) return `No difference is shown in ${noun}: fewer than ${FEWEST} problems cannot show one. ${size}, over ${over}.`;
  const band = `(95 % interval ${found.sure.map(signed).join(" to ")}, over ${over})`;
  if (!found.sign) return `No difference is shown in ${noun}: chance alone explains it. ${size} ${band}.`;
  const [better, worse] = found.sign > 0 ? [a, b] : [b, a];
  return `The difference is real: ${better} is better than ${worse} in ${noun}. ${size} ${band}.`;
}

function list(name, entries, value, chosen) {
  const shown = made("select");
  for (const [own, text] of entries) shown.add(new Option(text, own));
  shown.value = value;
  shown.addEventListener("change", chosen);
  made("label", {}, `${name} `, shown);
  return shown;
}

class Board {
  constructor(table) {
    this.table = table;
    this.data = JSON.parse(table.dataset.board);
    this.rows = [...table.tBodies[0].rows];
    this.rows.forEach((row, model) => { row.id = `row-${model}`; });
        this.sorted = { column: 2, sign: -1 };
    this.off = new Set();
    this.by = this.only = "";
    this.a = this.b = 0;
    if (this.rows.length > 1) this.b = 1;
    this.read();
    this.controls();
    this.table.tHead.addEventListener("click", (event) => this.clickHead(event));
    this.table.tBodies[0].addEventListener("click", (event) => this.open(event.target.closest("td")));
    this.table.tBodies[0].addEventListener("mouseover", ({ target }) => this.explain(target.closest("td")));
    this.table.closest(".scroll").addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("selectstart", ({ target }) => { if (!this.table.tHead.contains(target)) this.settle(); });
    listings.set(table, this);
    this.draw();
  }

  get found() { // as they are seen
    this.finish();
    this.show();
    return this.order.filter((row) => !row.hidden);
  }

  read() {
    const { models } = this.data;
    if (!location.hash.startsWith("#board;")) return;
    let given;
    try {
      given = Object.fromEntries(location.hash.split(";").slice(1).map((part) => {
        const [name, ...value] = part.split("=");
        return [name, value.join("=")];
      }));
      const text = (name) => decodeURIComponent(given[name] ?? "");
      const place = (name, otherwise) => (models.includes(text(name)) ? models.indexOf(text(name)) : otherwise);
      this.off = new Set((given.off ?? "").split(",").map((name) => models.indexOf(decodeURIComponent(name))).filter((one) => one >= 0));
      this.by = KINDS.includes(text("by")) ? text("by") : "";
      this.only = text("only");
      [this.a, this.b] = [place("a", this.a), place("b", this.b)];
    } catch {
      // somebody else's address
    }
  }

  write() {
    const { models } = this.data;
    const kept = { off: [...this.off].map((one) => encodeURIComponent(models[one])).join(",") };
    kept.by = this.by;
    kept.only = encodeURIComponent(this.only);
    if (this.compared) Object.assign(kept, { a: encodeURIComponent(models[this.a]), b: encodeURIComponent(models[this.b]) });
    const parts = Object.entries(kept).filter(([, value]) => value).map(([name, value]) => `;${name}=${value}`);
    history.replaceState(null, "", parts.length ? `#board${parts.join("")}` : "#board");
  }

  // --- what is chosen

  controls() {
    const { models, groups } = this.data;
    const kinds = KINDS.filter((kind) => new Set(groups[kind].flat()).size > 1);
    const tools = made("div", { className: "tools" });
    if (kinds.length) {
      this.byList = list("Columns", [["", "Problems"], ...kinds.map((kind) => [kind, `By ${kind}`])], this.by, () => this.choose());
      const names = kinds.flatMap((kind) => [...new Set(groups[kind].flat())].sort(WORDS.compare)
        .map((name) => [`${kind}:${name}`, `${kind}: ${name || "(none)"}`]));
      this.onlyList = list("Only", [["", "All problems"], ...names], this.only, () => this.choose());
      tools.append(this.byList.parentNode, this.onlyList.parentNode);
      if (!this.onlyList.value) this.only = "";
      if (!this.byList.value) this.by = "";
    }
    const boxes = models.map((name, model) => {
      const box = made("input", { type: "checkbox", checked: !this.off.has(model) });
      box.addEventListener("change", () => {
        if (box.checked) this.off.delete(model); else this.off.add(model);
        this.hide();
        this.write();
      });
      return box;
    });
    const every = made("button", { type: "button", className: "save", textContent: "all or none" });
    every.addEventListener("click", () => {
      this.off = this.off.size ? new Set() : new Set(models.keys());
      boxes.forEach((box, model) => { box.checked = !this.off.has(model); });
      this.hide();
      this.write();
    });
    this.counted = made("summary");
    const chosen = made("div", { className: "models" }, ...boxes.map((box, model) => made("label", {}, box, ` ${models[model]}`)), every);
    const folded = made("details", { className: "choice" }, this.counted, chosen);
    tools.append(folded);
    this.table.closest(".scroll").before(tools);
    if (models.length > 1) this.comparison();
  }

  choose() {
    [this.by, this.only, this.sorted] = [this.byList.value, this.onlyList.value, { column: 2, sign: -1 }];
    this.draw();
    this.write();
  }

  get problems() {
    const [kind, ...name] = this.only.split(":");
    const wanted = name.join(":");
    return [...this.data.problems.keys()].filter((one) => !this.only || this.data.groups[kind][one].includes(wanted));
  }

  get columns() { // each with a name and its problems
    const problems = this.problems;
    if (!this.by) return problems.map((one) => ({ name: this.data.problems[one], of: [one], page: this.data.pages[one] }));
    const groups = this.data.groups[this.by];
    return [...new Set(problems.flatMap((one) => groups[one]))].sort(WORDS.compare)
      .map((name) => ({ name: name || "(none)", of: problems.filter((one) => groups[one].includes(name)), only: `${this.by}:${name}` }));
  }

  // --- what is shown

  // New columns: their heads, and the cells of each row.
  draw() {
    const { models, shares, solved } = this.data;
    this.drawn = this.columns;
    const of = (model, problems) => average(problems.map((one) => shares[model][one]).filter((one) => one !== null));
    const problems = this.problems;
    const ranks = ranksOf(shares.map((own) => problems.map((one) => own[one])));
    this.lines = models.map((_, model) => ({
      model,
      rank: ranks[model],
      mean: of(model, problems),
      solved: problems.filter((one) => solved[model][one]).length,
      cells: this.drawn.map((column) => of(model, column.of)),
    }));
    const first = ["Model", "Rank", this.data.head, "Solved"].map((name, place) =>
      made("th", { scope: "col", className: place ? "number" : "" }, made("button", { type: "button", tabIndex: -1, textContent: name })));
    this.table.tHead.rows[0].replaceChildren(...first);
    const asMade = this.drawn.length === this.data.problems.length && !this.by && !this.table.dataset.drawn;
    this.table.dataset.drawn = "yes";
    for (const line of asMade ? [] : this.lines) {
      const row = this.rows[line.model];
      row.replaceChildren(row.cells[0]);
      row.insertAdjacentHTML("beforeend", `<td>${line.rank}</td><td>${inPercent(line.mean)}</td><td>${line.solved}</td>`);
    }
    this.there = 0;
    this.extend(asMade ? Infinity : AT_ONCE, asMade ? [] : this.lines);
    this.table.classList.toggle("opens", Boolean(this.by || this.data.pages.length));
    this.sort();
    this.hide();
    if (this.compared) this.compare();
  }

  // Adds the next columns, and those behind them once these are drawn.
  extend(most, lines) {
    const { drawn, there } = this;
    this.there = Math.min(drawn.length, there + most);
    this.table.tHead.rows[0].append(...drawn.slice(there, this.there).map(({ name, page, of }) => {
      const head = made("th", { className: "turned number", scope: "col", title: this.by ? `${name}: ${several(of.length, "problem")}` : name });
      head.append(made("button", { type: "button", tabIndex: -1, textContent: name, ariaLabel: `Sort by ${name}` }));
      if (page) head.append(made("a", { href: page, tabIndex: -1, textContent: "↗", ariaLabel: `Open ${name}` }));
      return head;
    }));
    // Nothing but numbers, so they are HTML as they are: that takes half as long as elements made one by one.
    const cell = (value) => (value === null ? "<td>–</td>" : `<td class="g${Math.round(10 * value)}">${Math.floor(100 * value + 1e-6)}</td>`);
    for (const { model, cells } of lines) this.rows[model].insertAdjacentHTML("beforeend", cells.slice(there, this.there).map(cell).join(""));
    if (this.there === drawn.length) return;
    requestAnimationFrame(() => setTimeout(() => { if (drawn === this.drawn) this.finish(AT_ONCE); }));
  }

  // Adds the columns that are not there yet.
  finish(most = Infinity) {
    if (this.there < this.drawn.length) this.extend(most, this.lines);
  }

  sort() {
    const { models } = this.data;
    const { column, sign } = this.sorted;
    const key = (line) => [null, line.rank, line.mean, line.solved, ...line.cells][column] ?? -1;
    const other = (a, b) => (column ? key(a) - key(b) : WORDS.compare(models[a.model], models[b.model]));
    const lines = [...this.lines].sort((a, b) => sign * other(a, b) || a.model - b.model);
    this.order = lines.map((line) => this.rows[line.model]);
    this.table.tHead.querySelector("[aria-sort]")?.removeAttribute("aria-sort");
    this.table.tHead.rows[0].cells[column].ariaSort = sign < 0 ? "descending" : "ascending";
  }

  // Shows rows in their order and leaves them where they are in the document: cells of rows that move are styled and laid
  // out anew, for 30 x 300 five times as long. Rows of different heights move.
  shift() {
    this.show();
    const body = this.table.tBodies[0];
    const shown = [...body.rows].filter((row) => !row.hidden);
    const heights = new Set(shown.map((row) => row.getBoundingClientRect().height));
    if (this.drawn.length <= PRINTED || heights.size > 1) {
      this.settle();
      return;
    }
    this.found.forEach((row, place) => { row.style.transform = `translateY(${100 * (place - shown.indexOf(row))}%)`; });
    body.setAttribute("aria-owns", this.found.map((row) => row.id).join(" ")); // what a screen reader goes by
  }

  // Moves rows to where they are seen: for paper, and for text that is chosen and copied.
  settle() {
    const body = this.table.tBodies[0];
    body.removeAttribute("aria-owns");
    for (const row of this.rows) row.style.transform = "";
    if (this.order.some((row, place) => row !== body.rows[place])) body.replaceChildren(...this.order);
  }

  hide() {
    const { models } = this.data;
    this.settle();
    for (const model of this.off) this.rows[model].hidden = true;
    this.show(Math.ceil(CELLS / this.drawn.length));
    this.counted.textContent = `Models: ${models.length - this.off.size} of ${models.length}`;
    for (const piece of document.querySelectorAll("figure [data-of]")) {
      piece.style.display = this.off.has(models.indexOf(piece.dataset.of)) ? "none" : "";
    }
  }

  // Shows the next rows again that are not switched off, and those behind them once these are drawn.
  show(most = Infinity) {
    const left = this.order.filter((row) => row.hidden && !this.off.has(this.rows.indexOf(row)));
    for (const row of left.slice(0, most)) row.hidden = false;
    if (left.length > most) requestAnimationFrame(() => setTimeout(() => this.show(most)));
  }

  clickHead(event) {
    const button = event.target.closest("button");
    if (!button) return;
    const column = button.parentNode.cellIndex;
    const first = column > 1 ? -1 : 1; // names and ranks rise
    this.sorted = { column, sign: this.sorted.column === column ? -this.sorted.sign : first };
    this.sort();
    this.shift();
    if (event.detail === 0) this.table.tHead.rows[0].cells[column].firstChild.focus(); // by the keyboard
  }

  place(cell) {
    const model = this.rows.indexOf(cell.parentNode);
    return [model, this.drawn[cell.cellIndex - FIRST]];
  }

  explain(cell) {
    if (!cell || cell.title || cell.cellIndex < FIRST) return;
    const [model, column] = this.place(cell);
    const value = cell.textContent === "–" ? "nothing was scored" : `${cell.textContent} % (${this.data.measure})`;
    cell.title = `${this.data.models[model]}, ${column.name}: ${value}`;
  }

  open(cell) {
    if (!cell || cell.cellIndex < FIRST) return;
    const [model, column] = this.place(cell);
    if (column.page && cell.textContent !== "–") location.href = `${column.page}#${this.data.anchors[model]}`;
    if (column.only) {
      [this.byList.value, this.onlyList.value] = ["", column.only];
      this.choose();
    }
  }

  key(event) {
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    const now = document.activeElement.closest("td, th");
    if (event.key === "Enter" && now?.tagName === "TD") this.open(now);
    if (!(event.key in moves)) return;
    event.preventDefault();
    const rows = [this.table.tHead.rows[0], ...this.found];
    const [down, right] = now ? moves[event.key] : [0, 0];
    const row = now ? rows.indexOf(now.parentNode) + down : 1;
    const column = now ? now.cellIndex + right : 1;
    const cell = rows[Math.max(0, Math.min(rows.length - 1, row))]?.cells[Math.max(0, column)];
    if (!cell) return;
    const target = cell.querySelector("button") ?? cell;
    target.tabIndex = -1;
    if (cell.tagName === "TD") this.explain(cell);
    target.focus();
    cell.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // --- two models

  showComparison() {
    this.compared = true;
    this.compare();
    this.write();
  }

  comparison() {
    const { models } = this.data;
    const entries = models.map((name, model) => [String(model), name]);
    const chosen = (name) => ({ target }) => {
      this[name] = Number(target.value);
      this.showComparison();
    };
    this.compared = location.hash.includes(";a=");
    const lists = ["a", "b"].map((name) => list(`Model ${name.toUpperCase()}`, entries, String(this[name]), chosen(name)));
    const button = made("button", { type: "button", className: "act", textContent: "Compare" });
    button.addEventListener("click", () => this.showComparison());
    this.answer = made("div", { className: "answer", role: "status" });
    const tools = made("div", { className: "tools two" }, ...lists.map((list) => list.parentNode), button);
    this.table.closest(".board").append(tools, this.answer);
  }

  compare() {
    const { models, shares, scores, solved } = this.data;
    const [a, b, problems] = [this.a, this.b, this.problems];
    const ofBoth = (of) => problems.filter((one) => of[a][one] !== null && of[b][one] !== null);
    const scored = ofBoth(shares).length; // of fewer, pass@k would be one over other problems
    const measured = Object.entries({ [this.data.measure]: shares, ...scores }).map(([name, of]) => {
      const both = ofBoth(of);
      return {
        name, ...difference(both.map((one) => of[a][one] - of[b][one])), lack: name.startsWith("pass@") ? scored - both.length : 0,
        a: average(both.map((one) => of[a][one])), b: average(both.map((one) => of[b][one])),
      };
    });
    const solves = (model, other) => problems.filter((one) => solved[model][one] && shares[other][one] !== null && !solved[other][one]);
    this.answer.replaceChildren(
      made("p", {}, made("strong", { textContent: a === b ? "Choose two models." : sentence(models[a], models[b], this.data.noun, measured[0]) })),
      this.measures(measured.filter((one) => one.number)),
      this.solved(`${models[a]} solves, ${models[b]} does not`, solves(a, b)),
      this.solved(`${models[b]} solves, ${models[a]} does not`, solves(b, a)),
      made("p", { className: "quiet", textContent: this.crossing() }),
    );
  }

  measures(measured) {
    const { models } = this.data;
    const cell = (text) => made("td", { className: "number", textContent: text });
    const heads = ["In percent", models[this.a], models[this.b], "A minus B", "95 % interval", "Problems"];
    const numbers = (one) => (one.lack
      ? ["–", "–", "–", "–", `${one.lack} ${one.lack === 1 ? "lacks" : "lack"} k`]
      : [inPercent(one.a), inPercent(one.b), signed(one.mean), one.sure ? one.sure.map(signed).join(" to ") : "–", one.number]);
    const rows = measured.map((one) => made("tr", {}, made("th", { scope: "row", textContent: one.name }), ...numbers(one).map(cell)));
    const head = made("thead", {}, made("tr", {}, ...heads.map((text, place) => made("th", { scope: "col", className: place ? "number" : "", textContent: text }))));
    const scroll = made("div", { className: "scroll", tabIndex: 0, role: "group", ariaLabel: "Table: two models" });
    scroll.append(made("table", {}, head, made("tbody", {}, ...rows)));
    return scroll;
  }

  solved(title, problems) {
    const { pages, problems: names } = this.data;
    const links = problems.flatMap((one, place) => [place ? ", " : "", pages.length ? made("a", { href: pages[one], textContent: names[one] }) : names[one]]);
    return made("p", {}, `${title} (${problems.length})${problems.length ? ": " : "."}`, ...links);
  }

  crossing() {
    const { models, steps } = this.data;
    const other = new Map(steps[this.b]);
    const both = steps[this.a].filter(([number]) => other.has(number)).map(([number, points]) => [number, other.get(number) - points]);
    if (!both.length || this.a === this.b) return "";
    const crossed = both.filter(([, difference], place) => {
      const before = both.slice(0, place).findLast(([, one]) => one)?.[1] ?? 0;
      return before * difference < 0;
    });
    const ahead = (difference) => (difference > 0 ? models[this.b] : difference < 0 ? models[this.a] : "neither");
    const start = `By points with the first submissions for each problem, ${ahead(both[0][1])} is ahead with ${both[0][0]}`;
    if (!crossed.length) return `${start}, and the two curves never cross.`;
    return `${start}; ${crossed.map(([number, difference]) => `from ${number} on ${ahead(difference)}`).join(", ")}.`;
  }

  // --- paper

  print() {
    this.finish();
    this.show();
    this.settle();
    if (this.drawn.length <= PRINTED) return;
    this.pieces = made("div", { className: "pieces" });
    for (let start = FIRST; start < this.drawn.length + FIRST; start += PRINTED) {
      const copy = this.table.cloneNode(true);
      for (const row of copy.rows) {
        [...row.cells].forEach((cell, place) => { if (place >= FIRST && (place < start || place >= start + PRINTED)) cell.remove(); });
      }
      copy.removeAttribute("data-board");
      this.pieces.append(copy);
    }
    this.table.hidden = true;
    this.table.before(this.pieces);
  }

  unprint() {
    this.pieces?.remove();
    this.table.hidden = false;
  }
}

for (const table of document.querySelectorAll("table[data-board]")) {
  const board = new Board(table);
  addEventListener("beforeprint", () => board.print());
  addEventListener("afterprint", () => board.unprint());
}
