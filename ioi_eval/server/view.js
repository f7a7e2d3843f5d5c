"use strict";
// Shows the state that the server sends, and each change of it. All text goes in as text.

const ORDER = ["AC", "PA", "WA", "OLE", "TLE", "MLE", "RE", "CE"];
const place = (id) => document.getElementById(id);
const number = (value) => value.toLocaleString("en", { maximumFractionDigits: 1 });

function line(cells, kind = "td") {
  const row = document.createElement("tr");
  for (const { text, style } of cells) {
    const cell = document.createElement(kind);
    if (kind === "th") cell.scope = "col";
    cell.textContent = text;
    if (style) cell.className = style;
    row.append(cell);
  }
  return row;
}

function span(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

function facts(run) {
  const done = run.judged + run.unscored;
  const pairs = [
    ["Done", run.total === null ? number(done) : `${number(done)} of ${number(run.total)}`],
    ["Judged", number(run.judged)],
    ["Could not be judged", number(run.unscored)],
    ["Rate", `${number(run.rate * 60)} a minute`],
    ["Time left", run.left === null ? "–" : `about ${span(run.left)}`],
    ["Last row", run.last === null ? "–" : new Date(run.last * 1000).toLocaleString("en-GB")],
    ["Engine", run.engine || "–"],
  ];
  if (run.servers) pairs.push(["Servers when it began", `${number(run.servers)}, ${number(run.slots)} slots`]);
  for (const why of run.unreachable) pairs.push(["Not reached", why]);
  return pairs.map(([what, text]) => line([{ text: what }, { text, style: "text" }]));
}

function verdicts(run) {
  const there = new Set(run.models.flatMap((one) => Object.keys(one.verdicts)));
  const known = [...ORDER.filter((name) => there.has(name)), ...[...there].filter((name) => !ORDER.includes(name)).sort()];
  const heads = ["Model", ...known, "Unscored"].map((text, column) => ({ text, style: column ? "number" : "" }));
  const rows = run.models.map((one) => line([
    { text: one.model || "(no name)" },
    ...[...known.map((name) => one.verdicts[name] ?? 0), one.unscored].map((count) => ({ text: number(count), style: "number" })),
  ]));
  return [line(heads, "th"), rows];
}

const STATES = { healthy: ["works", "good"], trial: ["on trial", "warn"], gone: ["left", ""], down: ["lost", "bad"] };

function servers(run) {
  return run.standings.map((one) => {
    const [word, style] = STATES[one.state] ?? [one.state, "bad"];
    const since = one.since === null ? "–" : new Date(one.since * 1000).toLocaleTimeString("en-GB");
    const counts = [one.busy, one.slots, one.errors].map((count) => ({ text: number(count), style: "number" }));
    return line([{ text: one.url }, { text: word, style: `word ${style}` }, { text: since }, ...counts, { text: one.why || "–", style: "text" }]);
  });
}

function age(run) {
  const ago = () => `Last result ${span(Math.max(0, Date.now() / 1000 - run.last))} ago.`;
  place("age").textContent = run.ended ? "" : run.last ? ago() : "No result yet.";
}

function show(run, news) {
  document.title = `${run.name}: ${number(run.judged + run.unscored)} done`;
  place("name").textContent = run.name;
  place("state").textContent = run.ended ? "The run has ended." : "Running.";
  age(run);
  const bar = place("bar");
  if (run.total) [bar.max, bar.value] = [run.total, run.judged + run.unscored];
  else bar.removeAttribute("value");
  place("facts").replaceChildren(...facts(run));
  const [heads, rows] = verdicts(run);
  place("heads").replaceChildren(heads);
  place("verdicts").replaceChildren(...rows);
  place("fleet").hidden = !run.standings.length;
  place("servers").replaceChildren(...servers(run));
  place("failing").hidden = !run.failures.length;
  place("command").textContent = run.command || "the command that began the run";
  if (!news.failures) return; // so that whoever reads them or copies from them is left alone
  place("failures").replaceChildren(...run.failures.map((one) => line([
    { text: one.key }, { text: one.problem }, { text: one.phase }, { text: one.reason, style: "text" }, { text: one.remedy, style: "text" },
  ])));
}

place("copy").hidden = !navigator.clipboard; // browsers have one on this machine and behind https
place("copy").addEventListener("click", () => navigator.clipboard.writeText(place("command").textContent));

const source = new EventSource("events");
const state = {}; // what comes first is whole
source.addEventListener("message", (event) => {
  const news = JSON.parse(event.data);
  show(Object.assign(state, news), news);
});
setInterval(() => { if (state.name) age(state); }, 1000);
source.addEventListener("error", () => { place("state").textContent = "The server is gone; trying again."; });
