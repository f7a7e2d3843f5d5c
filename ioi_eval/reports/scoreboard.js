// A contest's scoreboard at each moment: a slider goes from submission to submission. At its end is the board as it was written.

class Replay {
  constructor(table) {
    const { columns, rows } = JSON.parse(table.dataset.replay);
    this.columns = columns;
    this.listing = listings.get(table);
    this.heads = [...table.tHead.rows[0].cells];
    this.lines = this.listing.every.map((row, place) => ({
      row,
      name: row.cells[1].textContent,
      problems: Object.entries(rows[place]),
      final: [...row.cells].map((cell) => cell.textContent),
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
    this.tell(this.lines.map(({ final }) => final));
  }

  show() {
    const moment = this.moments[this.slider.value], ended = this.slider.value === this.slider.max;
    const order = this.lines.map((line) => this.standing(line, moment));
    const ahead = (a, b) => b.sum - a.sum || (a.gained ?? 0) - (b.gained ?? 0);
    if (!ended) order.sort((a, b) => ahead(a, b) || (a.name < b.name ? -1 : 1));
    for (const own of order) {
      const { row, texts, line } = own;
      texts[0] = String(1 + order.findIndex((other) => ahead(other, own) === 0));
      for (const [column, text] of (ended ? line.final : texts).entries()) {
        const cell = row.cells[column];
        (cell.querySelector("a") ?? cell).textContent = text;
      }
    }
    this.listing.every = order.map(({ row }) => row);
    for (const head of this.heads) head.removeAttribute("aria-sort");
    this.listing.show();
    this.tell(order.map(({ texts, line }) => (ended ? line.final : texts)));
  }

  // A line's points at a moment; nothing is known of the rule of so many submissions before the end.
  standing(line, moment) {
    let sum = 0, last = null;
    const cells = new Map();
    for (const [name, steps] of line.problems) {
      let points = 0, attempts = 0, gained = null;
      for (const [at, now] of steps) {
        if (at > moment) break;
        attempts += 1;
        if (now > points) gained = at;
        points = now;
      }
      sum += points;
      if (gained !== null) last = Math.max(last ?? 0, gained);
      if (attempts) cells.set(name, `${digits(points)} (${attempts}${gained === null ? "" : `, ${clock(gained)}`})`);
    }
    const texts = ["", line.name, digits(sum), "–", clock(last), ...this.columns.map((name) => cells.get(name) ?? "–")];
    sum = Math.round(sum * 1e6) / 1e6; // as the board at the end
    return { line, row: line.row, name: line.name, sum, gained: last, texts };
  }

  tell(rows) {
    const moment = this.moments[this.slider.value];
    const when = moment < 0 ? "before the first submission" : `at ${clock(moment)}`;
    const first = rows.filter(([place]) => place === "1").map(([, name]) => name), points = rows[0][2];
    const lead = first.length > 1 ? "lead" : "leads";
    const leads = Number(points) > 0 ? `: ${first.join(", ")} ${lead} with ${points} points` : "";
    this.when.textContent = `${when}${leads}`;
    this.slider.setAttribute("aria-valuetext", this.when.textContent);
  }
}

// As the board at the end: in the middle, as at 2.125, the even digit. Of such numbers JavaScript rounds only these otherwise.
const digits = (value) => String(parseFloat((value % 0.5 === 0.125 ? value - 0.005 : value).toFixed(2)));
const clock = (seconds) => {
  if (seconds === null) return "–";
  const whole = Math.floor(seconds), two = (value) => String(value).padStart(2, "0");
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
};

for (const table of document.querySelectorAll("table[data-replay]")) new Replay(table);

// On paper, all of its rows.
for (const table of document.querySelectorAll("#scoreboard table")) addEventListener("beforeprint", () => listings.get(table).show(Infinity));
