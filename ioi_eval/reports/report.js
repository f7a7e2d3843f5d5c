// A report's parts, and what is chosen for the whole page: models, problems by tag, difficulty and date, a language.
// It stands behind the address: report.html#problems;model=a,b;tag=dp;difficulty=hard;language=c%2B%2B;from=2024;to=2025;with=a
// Another choice counts anew from the numbers of each model, problem and language that the page holds.

// As in rules/paired.py, which says why: the sign-flip test of A minus B, and its interval.
const FEWEST = 6, ALL = 12, MANY = 300, DRAWN = 4000, DRAWN_OF_MANY = 1000, REJECTED = 0.025, SHOWN = 0.0005 + 1e-9;

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
  if (found.number === 1) return `A single problem is not evidence about other problems. ${size}.`;
  if (!found.sure) return `No difference is shown in ${noun}: fewer than ${FEWEST} problems cannot show one. ${size}, over ${over}.`;
  const band = `(95 % interval ${found.sure.map(signed).join(" to ")}, over ${over})`;
  if (!found.sign) return `No difference is shown in ${noun}: chance alone explains it. ${size} ${band}.`;
  const [better, worse] = found.sign > 0 ? [a, b] : [b, a];
  return `The difference is real: ${better} is better than ${worse} in ${noun}. ${size} ${band}.`;
}

// The 95 % interval of a mean over problems: a bootstrap as in rules/metrics.py, with other draws.
function interval(values, weights) {
  if (values.every((value) => value === values[0])) return null;
  const next = dice(2), means = [], times = Math.max(200, Math.min(1000, Math.floor(3e5 / values.length)));
  for (let draw = 0; draw < times; draw += 1) {
    let sum = 0, whole = 0;
    for (let one = 0; one < values.length; one += 1) {
      const place = next() % values.length;
      sum += values[place] * weights[place];
      whole += weights[place];
    }
    means.push(sum / whole);
  }
  means.sort((a, b) => a - b);
  const at = (share) => {
    const place = share * (times - 1), low = Math.floor(place);
    return means[low] + (place - low) * (means[Math.min(low + 1, times - 1)] - means[low]);
  };
  return [at(0.025), at(0.975)];
}

// --- the address

const RUN = typeof CHOICES === "undefined" ? JSON.parse(document.querySelector("main").dataset.run || "null") : CHOICES;
const AUTHOR = RUN?.author && RUN.author[0].toUpperCase() + RUN.author.slice(1); // head of the column of names
const parts = new Map([...document.querySelectorAll(".part")].map((part) => [part.id, part]));
const FILTERS = ["tag", "difficulty", "language", "from", "to"];
const chosen = { part: "", model: [], with: "" };

function read() {
  const [part, ...pairs] = location.hash.slice(1).split(";");
  const given = new Map(pairs.map((pair) => [pair.split("=")[0], pair.split("=").slice(1).join("=")]));
  const text = (name) => {
    try { return decodeURIComponent(given.get(name) ?? ""); } catch { return ""; } // somebody else's address
  };
  const anchored = part && !parts.has(part) ? document.getElementById(part)?.closest(".part")?.id : "";
  chosen.part = parts.has(part) ? part : anchored || chosen.part || [...parts.keys()][0] || part;
  if (anchored || (part && !parts.has(part) && !pairs.length)) return; // a place on the page keeps what is chosen
  for (const name of FILTERS) chosen[name] = text(name);
  chosen.with = text("with");
  chosen.model = text("model") ? (given.get("model") ?? "").split(",").map((name) => {
    try { return decodeURIComponent(name); } catch { return ""; }
  }) : [];
}

function choices() { // as they stand in an address
  const values = { model: chosen.model.map(encodeURIComponent).join(","), with: encodeURIComponent(chosen.with) };
  for (const name of FILTERS) values[name] = encodeURIComponent(chosen[name] ?? "");
  return Object.entries(values).filter(([, value]) => value).map(([name, value]) => `;${name}=${value}`).join("");
}

function choose() {
  update();
  history.replaceState(null, "", `#${chosen.part}${choices()}`);
}

function carry() { // links to other parts and pages of the report keep what is chosen
  for (const link of document.querySelectorAll("nav.tabs a")) {
    const [page, part] = link.getAttribute("href").split("#");
    link.setAttribute("href", `${page}#${(part ?? "").split(";")[0]}${choices()}`);
    if (parts.size) link.ariaCurrent = parts.has(chosen.part) && part?.split(";")[0] === chosen.part ? "page" : null;
  }
}

// --- what is chosen

const hasModel = (model) => !chosen.model.length || chosen.model.includes(RUN.models[model]);
const hasLanguage = (language) => !chosen.language || RUN.languages[language] === chosen.language;
function hasProblem(problem) {
  const date = RUN.dates[problem];
  return (!chosen.tag || RUN.tags[problem].includes(chosen.tag))
    && (!chosen.difficulty || RUN.difficulty[problem] === chosen.difficulty)
    && (!chosen.from || date >= chosen.from) && (!chosen.to || (date && date <= `${chosen.to}-99`));
}
const isFiltered = () => chosen.model.length > 0 || FILTERS.some((name) => chosen[name]);

// The values of a model by problem, of those that are chosen; null: nothing was scored.
function valuesOf(model) {
  const own = RUN.problems.map(() => null);
  if (!chosen.language) return own.map((_, problem) => (hasProblem(problem) ? RUN.values[model][problem] : null));
  for (const [of, problem, language, , value] of RUN.cells) if (of === model && hasLanguage(language) && hasProblem(problem)) own[problem] = value;
  return own;
}

function countsOf(model) { // scored submissions, those without a program, unscored ones
  const found = { scored: 0, none: 0, unscored: 0 };
  for (const [of, problem, language, scored, , none] of RUN.cells) {
    if (of !== model || !hasLanguage(language) || !hasProblem(problem)) continue;
    found.scored += scored;
    found.none += none;
  }
  for (const [of, problem, number] of RUN.unscored) if (of === model && hasProblem(problem)) found.unscored += number;
  return found;
}

// A model's headline with its interval, as a share of all.
function headlineOf(values) {
  const there = [...values.keys()].filter((place) => values[place] !== null);
  const weights = there.map((place) => (RUN.measure === "points" ? RUN.worth[place] : 1));
  const whole = RUN.measure === "pass@1" ? weights.length
    : values.reduce((sum, _, place) => sum + (hasProblem(place) ? RUN.worth[place] ?? 1 : 0), 0);
  const sum = there.reduce((all, place, one) => all + values[place] * weights[one], 0);
  const sure = RUN.measure === "solved" || !whole ? null : interval(there.map((place) => values[place]), weights);
  return { value: there.length ? sum / whole : null, whole, sure };
}

// --- tables

const byKind = (kind) => [...document.querySelectorAll(`table[data-kind^="${kind}"]`)];
const shadeOf = (share) => `g${share <= 0 ? 0 : share > 1 - 1e-9 ? 10 : Math.max(1, Math.min(9, Math.round(10 * share)))}`;
const points = (value) => Number(value.toFixed(2)).toLocaleString("en");
const shares = (part, whole) => (whole ? `${tenths((100 * part) / whole)} %` : "–");

function put(rect, places) {
  for (const [name, value] of Object.entries(places)) rect.setAttribute(name, value.toFixed(2));
}

function whisker(svg, low, high, least, most) {
  const width = Math.max(1, (100 * (high - low)) / (most - least));
  put(svg.querySelector(".sure"), { x: (100 * (low - least)) / (most - least), width: low === high && !low ? 0 : width });
}

class Leaderboard {
  constructor(table) {
    this.listing = listings.get(table);
    this.rows = [...this.listing.every]; // in the order of RUN.models
    this.made = this.rows.map((row) => row.innerHTML);
    this.heads = [...table.tHead.rows[0].cells].map((head) => head.textContent);
    this.less = table.tHead.rows[0].cells[this.heads.indexOf("Minus the leader")]?.firstChild;
    this.answer = document.querySelector(".answer");
    this.said = this.answer?.textContent;
    if (!this.less) return; // models are not compared
    this.list = select("Compared with", "with", [["", "the leader"], ...RUN.models.map((name) => [name, name])]);
    table.closest(".scroll").before(made("div", { className: "tools" }, this.list.parentNode));
  }

  show() {
    if (this.list) this.list.value = chosen.with;
    if (this.less) this.less.textContent = `Minus ${chosen.with || "the leader"}`;
    const is_made = !isFiltered() && !chosen.with;
    this.rows.forEach((row, model) => { row.innerHTML = this.made[model]; });
    if (this.answer) this.answer.textContent = this.said;
    if (is_made) [this.listing.every, this.listing.keep] = [[...this.rows], () => true];
    else this.count();
    this.listing.show();
  }

  count() {
    const models = [...RUN.models.keys()].filter(hasModel), values = RUN.models.map((_, model) => valuesOf(model));
    const found = RUN.models.map((_, model) => headlineOf(values[model]));
    models.sort((a, b) => (found[b].value ?? -1) - (found[a].value ?? -1) || a - b);
    const ranks = ranksOf(models.map((model) => values[model]));
    const other = RUN.models.includes(chosen.with) ? RUN.models.indexOf(chosen.with) : models[0];
    const less = (a, b) => difference(values[a].map((value, place) => [value, values[b][place]])
      .filter(([one, two]) => one !== null && two !== null).map(([one, two]) => one - two));
    const offsets = new Map(models.map((model) => [model, less(model, other)]));
    const ends = [0, ...[...offsets.values()].flatMap(({ mean, sure }) => [mean ?? 0, ...(sure ?? [])])];
    for (const [place, model] of models.entries()) {
      const cells = Object.fromEntries(this.heads.map((head, column) => [head, this.rows[model].cells[column]]));
      const counts = countsOf(model);
      for (const [column, [head, cell]] of Object.entries(cells).entries()) {
        if (head === "Rank") cell.textContent = ranks[place];
        else if (head === "Minus the leader") this.offset(cell, model === other ? null : offsets.get(model), Math.min(...ends), Math.max(...ends));
        else if (head === RUN.head) this.meter(cell, found[model]);
        else if (head === "No program") cell.textContent = shares(counts.none, counts.scored);
        else if (head === "Submissions") cell.textContent = counts.scored.toLocaleString("en");
        else if (head === "Unscored") cell.textContent = counts.unscored.toLocaleString("en");
        else if (head === "Solved" && !chosen.language) {
          const problems = [...RUN.problems.keys()].filter(hasProblem);
          cell.textContent = `${problems.filter((one) => RUN.solved[model][one]).length} of ${problems.length}`;
        } else if (column && isFiltered()) cell.textContent = "–"; // nothing here can be counted again
      }
    }
    this.listing.every = [...models.map((model) => this.rows[model]), ...this.rows.filter((_, model) => !hasModel(model))];
    this.listing.keep = (row) => hasModel(this.rows.indexOf(row));
    if (!this.answer) return;
    const [a, b] = chosen.with && other !== models[0] ? [models[0], other] : models;
    this.answer.textContent = b === undefined ? "" : sentence(RUN.models[a], RUN.models[b], RUN.noun, less(a, b));
  }

  meter(cell, { value, whole, sure }) {
    const svg = cell.querySelector("svg");
    if (!svg || value === null) { cell.textContent = "–"; return; }
    const text = (share) => (RUN.measure === "pass@1" ? tenths(100 * share) : points(share * whole));
    const end = (share) => (RUN.measure === "points" && whole >= 100 ? points(Math.round(share * whole)) : text(share));
    put(svg.querySelector(".full"), { width: 100 * value });
    whisker(svg, ...(sure ?? [0, 0]), 0, 1);
    const of = RUN.measure === "pass@1" ? " %" : isFiltered() ? ` of ${points(whole)}` : "";
    cell.querySelector("span").textContent = `${text(value)}${of}${sure ? ` (${end(sure[0])} to ${end(sure[1])})` : ""}`;
  }

  offset(cell, found, least, most) {
    const svg = cell.querySelector("svg") ?? this.rows.map((row) => row.querySelector(".dot")?.closest("svg")).find(Boolean)?.cloneNode(true);
    if (!found || found.mean === null || !svg) { cell.textContent = "–"; return; }
    const [low, high] = least < most ? [least, most] : [-0.01, 0.01], at = (value) => (100 * (value - low)) / (high - low);
    put(svg.querySelector(".zero"), { x: at(0) });
    put(svg.querySelector(".dot"), { x: at(found.mean) - 1, width: 2 });
    whisker(svg, ...(found.sure ?? [0, 0]), low, high);
    if (!found.sure) put(svg.querySelector(".sure"), { width: 0 });
    const text = signed(found.mean) + (found.sure ? ` (${found.sure.map(signed).join(" to ")})` : "");
    cell.replaceChildren(made("div", { className: "meter" }, svg, made("span", { textContent: text })));
  }
}

function colour(cell, value, text) {
  const target = cell.querySelector("a") ?? cell;
  target.textContent = value === null ? "–" : text(value);
  cell.className = `number ${value === null ? "" : shadeOf(value)}`;
}

// A table with a column for each model from the third one on: by problem, or by group of problems.
class Matrix {
  constructor(table, problemsOf) {
    this.listing = listings.get(table);
    this.table = table;
    this.rows = [...this.listing.every];
    this.made = this.rows.map((row) => row.innerHTML);
    this.of = this.rows.map((row, place) => problemsOf(row, place));
  }

  show(values) {
    const by_problem = this.table.dataset.kind === "problems";
    for (const line of [this.table.tHead.rows[0], ...this.rows]) {
      RUN.models.forEach((_, model) => { line.cells[2 + model].hidden = !hasModel(model); });
    }
    this.rows.forEach((row, place) => {
      const there = this.of[place].filter(hasProblem);
      if (row.dataset.filtered) row.innerHTML = this.made[place];
      delete row.dataset.filtered;
      if (!isFiltered() || !there.length) return;
      row.dataset.filtered = "yes";
      if (!by_problem) row.cells[1].textContent = there.length;
      else if (RUN.measure !== "points") {
        const found = values.map((own) => own[there[0]]).filter((value, model) => value !== null && hasModel(model));
        row.cells[1].textContent = found.length ? tenths(100 * average(found)) : "–";
      }
      RUN.models.forEach((_, model) => {
        const cell = row.cells[2 + model], value = average(there.map((one) => values[model][one]).filter((one) => one !== null));
        cell.hidden = !hasModel(model);
        const worth = by_problem && RUN.measure === "points" ? RUN.worth[there[0]] : 0;
        if (chosen.language || !by_problem) colour(cell, value, (one) => (worth ? points(one * worth) : tenths(100 * one).replace(/\.0$/, "")));
      });
    });
    this.listing.keep = (row) => this.of[this.rows.indexOf(row)].some(hasProblem);
    this.listing.show();
  }
}

class Causes {
  constructor(table) {
    this.listing = listings.get(table);
    this.rows = [...this.listing.every];
  }

  show() {
    const counts = this.rows.map(() => 0);
    let scored = 0;
    for (const [model, problem, language, number, , , ...pairs] of RUN.cells) {
      if (!hasModel(model) || !hasLanguage(language) || !hasProblem(problem)) continue;
      scored += number;
      for (let one = 0; one < pairs.length; one += 2) counts[pairs[one]] += pairs[one + 1];
    }
    this.rows.forEach((row, place) => {
      row.cells[2].textContent = counts[place].toLocaleString("en");
      row.cells[3].textContent = shares(counts[place], scored);
    });
    this.listing.keep = (row) => counts[this.rows.indexOf(row)] > 0;
    this.listing.show();
  }
}

// A list of submissions: its columns say what a row is of.
class Submissions {
  constructor(table) {
    this.listing = listings.get(table);
    const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent);
    const problems = new Map(RUN.problems.map((name, problem) => [name, problem]));
    const text = (row, head) => row.cells[heads.indexOf(head)].textContent;
    this.listing.keep = (row) => hasProblem(problems.get(text(row, "Problem")))
      && (!chosen.model.length || chosen.model.includes(text(row, AUTHOR))) && (!chosen.language || text(row, "Language") === chosen.language);
  }

  show() { this.listing.refresh(); }
}

// --- the page

function select(title, name, entries) {
  const shown = made("select");
  for (const [own, text] of entries) shown.add(new Option(text, own));
  shown.addEventListener("change", () => { chosen[name] = shown.value; choose(); });
  made("label", {}, `${title} `, shown);
  return shown;
}

class Filters {
  constructor() {
    const sorted = (values) => [...new Set(values)].filter(Boolean).sort(WORDS.compare);
    const dates = sorted(RUN.dates);
    const offered = [
      ["Tag", "tag", sorted(RUN.tags.flat())], ["Difficulty", "difficulty", sorted(RUN.difficulty)],
      ["Language", "language", sorted(RUN.languages)], ["From", "from", dates], ["To", "to", dates],
    ];
    this.lists = offered.filter(([, , values]) => values.length > 1).map(([title, name, values]) =>
      [name, select(title, name, [["", "all"], ...values.map((value) => [value, value])])]);
    this.boxes = RUN.models.map((name) => {
      const box = made("input", { type: "checkbox" });
      box.addEventListener("change", () => {
        const left = RUN.models.filter((_, model) => this.boxes[model].checked);
        chosen.model = left.length < RUN.models.length ? left : [];
        choose();
      });
      return box;
    });
    const clear = made("button", { type: "button", className: "save", textContent: "Clear" });
    clear.addEventListener("click", () => {
      for (const name of FILTERS) chosen[name] = "";
      [chosen.model, chosen.with] = [[], ""];
      choose();
    });
    this.said = made("summary");
    this.models = made("details", { className: "choice" }, made("summary", { textContent: `${AUTHOR}s` }),
      made("div", { className: "models" }, ...this.boxes.map((box, model) => made("label", {}, box, ` ${RUN.models[model]}`))));
    const inside = made("div", { className: "tools" }, ...this.lists.map(([, list]) => list.parentNode), clear);
    if (RUN.models.length > 1) inside.append(this.models);
    this.fold = made("details", { className: "filters" }, this.said, inside);
    if (this.lists.length || RUN.models.length > 1) document.querySelector("nav.tabs").after(this.fold);
  }

  show() {
    for (const [name, list] of this.lists) list.value = chosen[name] ?? "";
    this.boxes.forEach((box, model) => { box.checked = hasModel(model); });
    const said = FILTERS.filter((name) => chosen[name]).map((name) => `${name} ${chosen[name]}`);
    if (chosen.model.length) said.unshift(`${chosen.model.length} of ${several(RUN.models.length, RUN.author)}`);
    const number = [...RUN.problems.keys()].filter(hasProblem).length;
    if (said.length) said.push(several(number, "problem"));
    this.said.textContent = `Filter: ${said.join(", ") || "everything"}`;
  }
}

const shown = [];
function update() {
  for (const [id, part] of parts) part.hidden = id !== chosen.part;
  carry();
  if (!RUN) return;
  document.body.classList.toggle("filtered", isFiltered());
  const values = RUN.values?.map((_, model) => valuesOf(model));
  for (const one of shown) one.show(values);
  for (const piece of document.querySelectorAll("figure [data-of]")) {
    piece.style.display = hasModel(RUN.models.indexOf(piece.dataset.of)) ? "" : "none";
  }
}

function begin() {
  read();
  if (RUN) {
    shown.push(new Filters());
    for (const table of byKind("leaderboard")) shown.push(new Leaderboard(table));
    for (const table of byKind("problems")) shown.push(new Matrix(table, (_, problem) => [problem]));
    for (const table of byKind("by ")) {
      const labels = { tag: RUN.tags, difficulty: RUN.difficulty.map((one) => [one]), year: RUN.years.map((one) => [one]) }[table.dataset.kind.slice(3)];
      shown.push(new Matrix(table, (row) => [...RUN.problems.keys()].filter((one) =>
        (labels[one].length ? labels[one] : [""]).includes(row.cells[0].textContent.replace(/^\(none\)$/, "")))));
    }
    for (const table of byKind("causes")) shown.push(new Causes(table));
    for (const table of byKind("submissions")) shown.push(new Submissions(table));
  }
  addEventListener("hashchange", () => { read(); update(); document.getElementById(location.hash.slice(1))?.scrollIntoView(); });
  const place = location.hash.slice(1);
  update();
  if (place && !parts.has(place)) document.getElementById(place)?.scrollIntoView();
}

begin();
