// Replays a contest: a slider goes from submission to submission. At its end the board is as it was written.

class Replay {
  constructor(table) {
    const { columns, max_points: maxPoints, rows, has_medals: hasMedals } = JSON.parse(table.dataset.script);
    [this.columns, this.maxPoints, this.hasMedals] = [columns, new Map(Object.entries(maxPoints)), hasMedals];
    this.listing = listings.get(table);
    this.heads = [...table.tHead.rows[0].cells];
    this.lines = this.listing.every.map((row, place) => ({
      row,
      name: row.cells[1].textContent,
      problems: Object.entries(rows[place]),
      final: [...row.cells].map((cell) => ({ nodes: [...cell.cloneNode(true).childNodes], style: cell.className })),
    }));
    const times = this.lines.flatMap(({ problems }) => problems.flatMap(([, steps]) => steps.map(([at]) => at)));
    this.moments = [-1, ...[...new Set(times)].sort((a, b) => a - b)];
    this.slider = made("input", { type: "range", min: 0, max: this.moments.length - 1, className: "replay" });
    this.slider.value = this.slider.max;
    this.when = made("span", { className: "when" });
    this.when.ariaHidden = "true"; // the slider says the same
    this.slider.addEventListener("input", () => this.show());
    addEventListener("beforeprint", () => { this.slider.value = this.slider.max; this.show(); });
    table.closest(".scroll").before(made("div", { className: "tools" }, made("label", {}, "Replay ", this.slider), this.when));
    this.tell(this.standings(Infinity));
  }

  standings(moment) {
    const order = this.lines.map((line) => this.standing(line, moment));
    const ahead = (a, b) => b.sum - a.sum || (a.gained ?? 0) - (b.gained ?? 0);
    for (const own of order) own.place = 1 + order.filter((other) => ahead(other, own) < 0).length;
    return order.sort((a, b) => a.place - b.place || (a.name < b.name ? -1 : 1));
  }

  show() {
    const isEnd = this.slider.value === this.slider.max;
    const order = this.standings(this.moments[this.slider.value]);
    const first = new Map(); // by problem: when it was first solved
    for (const { problems } of order) for (const [name, { solved }] of problems) if (solved !== null) first.set(name, Math.min(solved, first.get(name) ?? Infinity));
    for (const own of order) this.fill(own, isEnd, first);
    this.listing.every = isEnd ? this.lines.map(({ row }) => row) : order.map(({ line }) => line.row);
    for (const head of this.heads) head.removeAttribute("aria-sort");
    this.listing.show();
    this.tell(order);
  }

  fill({ line, place, sum, gained, problems }, isEnd, first) {
    if (isEnd) {
      line.final.forEach(({ nodes, style }, column) => {
        line.row.cells[column].replaceChildren(...nodes.map((node) => node.cloneNode(true)));
        line.row.cells[column].className = style;
      });
      return;
    }
    const texts = [String(place), line.name, ...(this.hasMedals ? ["–"] : []), digits(sum), clock(gained)];
    const begin = texts.length;
    [...line.row.cells].forEach((cell, column) => {
      const name = this.columns[column - begin], state = problems.get(name);
      const link = cell.querySelector("a");
      cell.className = line.final[column].style.replace(/\b(g\d+|word|gold|silver|bronze)\b/g, "");
      if (!state) {
        (link ?? cell).textContent = texts[column] ?? "–";
        cell.querySelector("small")?.remove();
        return;
      }
      cell.classList.add(shadeOf(state.points / this.maxPoints.get(name)));
      if (link) link.textContent = digits(state.points);
      else cell.textContent = digits(state.points);
      cell.querySelector("small")?.remove();
      const star = state.solved !== null && state.solved === first.get(name) ? "★ " : "";
      const when = state.gained === null ? "" : `, ${clock(state.gained)}`;
      cell.append(made("small", {}, `${star}${state.attempts}${when}`));
    });
  }

  // Returns a participant's points at a moment. The report's own rule and medals are known only at the end.
  standing(line, moment) {
    const problems = new Map();
    let sum = 0, gained = null;
    for (const [name, steps] of line.problems) {
      const state = { points: 0, attempts: 0, gained: null, solved: null };
      for (const [at, points] of steps) {
        if (at > moment) break;
        state.attempts += 1;
        if (points > state.points) state.gained = at;
        if (points >= this.maxPoints.get(name) - 1e-9) state.solved ??= at;
        state.points = points;
      }
      if (!state.attempts) continue;
      problems.set(name, state);
      sum += state.points;
      if (state.gained !== null) gained = Math.max(gained ?? 0, state.gained);
    }
    return { line, name: line.name, problems, gained, sum: Math.round(sum * 1e6) / 1e6 }; // rounded as the board at the end
  }

  tell(order) {
    const moment = this.moments[this.slider.value];
    const when = moment < 0 ? "before the first submission" : `at ${clock(moment)}`;
    const leaders = order.filter(({ place }) => place === 1), points = leaders[0].sum;
    const lead = leaders.length > 1 ? "lead" : "leads";
    const names = leaders.map(({ name }) => name).join(", ");
    this.when.textContent = points > 0 ? `${when}: ${names} ${lead} with ${digits(points)} points` : when;
    this.slider.setAttribute("aria-valuetext", this.when.textContent);
  }
}

// Rounds as the board at the end: in the middle, as at 2.125, to the even digit, which only such numbers need in JavaScript.
const digits = (value) => parseFloat((value % 0.5 === 0.125 ? value - 0.005 : value).toFixed(2)).toLocaleString("en");
const clock = (seconds) => {
  if (seconds === null) return "–";
  const whole = Math.floor(seconds), two = (value) => String(value).padStart(2, "0");
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
};

for (const table of document.querySelectorAll("#scoreboard table")) {
  if (table.dataset.script) new Replay(table);
  addEventListener("beforeprint", () => listings.get(table).show(Infinity)); // after the replay has shown its end
}
