"use strict";
// Shows the state that the server sends, and each change of it. All text goes in as text.

const ORDER = ["AC", "PA", "WA", "OLE", "TLE", "MLE", "RE", "CE"];
const place = (id) => document.getElementById(id);
const number = (value) => value.toLocaleString("en", { maximumFractionDigits: 1 });
const several = (value, one) => `${number(value)} ${one}${value === 1 ? "" : "s"}`;

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

// The mean over this call; what has come in the last minute says nothing once a run has ended.
function perMinute({ counts, step }) {
  const results = counts.flatMap((one) => Object.values(one)).reduce((sum, some) => sum + some, 0);
  return (60 * results) / (counts.length * step);
}

function tiles(run) {
  const done = run.judged + run.unscored;
  const now = [
    ["A minute", number(run.rate * 60)],
    ["Tests a second", number(run.tests_rate)],
    ["Time left", run.left === null ? "–" : `about ${span(run.left)}`],
    ["Being judged", number(run.under_way)],
    ["Builds waiting", number(run.builds_waiting)],
  ];
  const ended = run.timeline?.counts.length ? [["A minute, on average", number(perMinute(run.timeline))]] : [];
  const pairs = [
    ["Done", run.total === null ? number(done) : `${number(done)} of ${number(run.total)}`],
    ...(run.ended ? ended : now),
    ["Not judged", number(run.unscored)],
  ];
  return pairs.map(([what, text]) => {
    const tile = document.createElement("div");
    for (const [name, inner] of [["dt", what], ["dd", text]]) tile.append(Object.assign(document.createElement(name), { textContent: inner }));
    return tile;
  });
}

function facts(run) {
  const pairs = [
    ["Last row", run.last === null ? "–" : new Date(run.last * 1000).toLocaleString("en-GB")],
    ["Engine", run.engine || "–"],
  ];
  if (run.servers) pairs.push(["Servers when it began", `${number(run.servers)}, with ${several(run.slots, "slot")}`]);
  for (const why of run.unreachable) pairs.push(["Not reached", why]);
  return pairs.map(([what, text]) => line([{ text: what }, { text, style: "text" }]));
}

const STATES = { healthy: ["works", "good"], "on trial": ["on trial", "warn"], gone: ["left", ""], down: ["lost", "bad"], new: ["joins", ""] };

function servers(run) {
  return run.standings.map((one) => {
    const [word, style] = STATES[one.state] ?? [one.state, "bad"];
    const since = one.since === null ? "–" : new Date(one.since * 1000).toLocaleTimeString("en-GB");
    const counts = [number(one.busy), number(one.slots), one.rate.toFixed(2), number(one.errors)].map((text) => ({ text, style: "number" }));
    return line([{ text: one.url }, { text: word, style: `word ${style}` }, { text: since }, ...counts, { text: one.why || "–", style: "text" }]);
  });
}

// --- results over time

function piece(name, places, inner) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(places)) made.setAttribute(key, value);
  if (inner) made.append(inner);
  return made;
}

const LEFT = 44, RIGHT = 916, TOP = 30, FOOT = 160, CLASSES = { "no program": "none" };
const look = (verdict) => `v-${CLASSES[verdict] ?? verdict.toLowerCase()}`;
const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });

function chart({ begin, step, counts }) {
  const sums = counts.map((one) => Object.values(one).reduce((sum, each) => sum + each, 0));
  const most = Math.max(1, ...sums), wide = (RIGHT - LEFT) / Math.max(24, counts.length);
  const there = new Set(counts.flatMap((one) => Object.keys(one)));
  const kinds = [...ORDER.filter((name) => there.has(name)), ...[...there].filter((name) => !ORDER.includes(name)).sort()];
  const drawn = [
    piece("line", { class: "axis", x1: LEFT, x2: RIGHT, y1: FOOT, y2: FOOT }),
    piece("text", { x: LEFT - 6, y: TOP + 4, "text-anchor": "end" }, number((60 * most) / step)),
    piece("text", { x: LEFT - 6, y: FOOT + 4, "text-anchor": "end" }, "0"),
    piece("text", { x: LEFT, y: FOOT + 20 }, clock(begin)),
    piece("text", { x: LEFT + wide * counts.length, y: FOOT + 20, "text-anchor": counts.length > 12 ? "end" : "start" }, counts.length > 12 ? clock(begin + step * counts.length) : ""),
  ];
  let across = LEFT;
  for (const kind of kinds) {
    drawn.push(piece("rect", { class: `${look(kind)} key`, x: across, y: 0, width: 12, height: 12 }));
    drawn.push(piece("text", { x: across + 17, y: 11 }, kind));
    across += 32 + 8 * kind.length;
  }
  counts.forEach((one, place) => {
    let foot = FOOT;
    for (const kind of kinds.filter((name) => one[name])) {
      const high = ((FOOT - TOP) * one[kind]) / most;
      foot -= high;
      const title = piece("title", {}, `${clock(begin + place * step)}, ${kind}: ${number(one[kind])} in ${span(step)}`);
      drawn.push(piece("rect", { class: look(kind), x: LEFT + wide * place, y: foot, width: Math.max(1, wide - 1), height: high }, title));
    }
  });
  place("chart").replaceChildren(...drawn);
  const all = sums.reduce((sum, one) => sum + one, 0);
  place("chart-text").textContent = `Results per minute: ${number(perMinute({ counts, step }))} on average, at most ${number((60 * most) / step)}. ` +
    `${several(all, "result")} of this call, in steps of ${span(step)}.`;
}

// --- what is being judged

function doing(one) {
  const kind = { build: "build", tests: "tests", waits: "waits for an equal program" }[one.step] ?? one.step;
  const where = one.where || (one.step === "waits" ? "–" : "waits for a slot");
  const seconds = { text: span(Math.max(0, Date.now() / 1000 - one.since)), style: "number" };
  return line([{ text: one.key }, { text: one.problem }, { text: kind }, { text: where }, seconds]);
}

function now(run) {
  place("now").hidden = run.ended || !run.under_way;
  const { under_way: all, building, builds_waiting: waiting, submissions } = run;
  const others = all - submissions.length;
  const slotless = waiting ? `, of these waiting for a slot: ${number(waiting)}` : "";
  place("now-text").textContent = `${several(all, "submission")}. Building: ${number(building)}${slotless}. ` +
    `Running tests or waiting: ${number(all - building)}.${others > 0 ? ` The ${number(submissions.length)} that have taken the longest:` : ""}`;
  place("doing").replaceChildren(...submissions.map(doing));
}

function results(run) {
  place("latest").hidden = !run.latest.length;
  place("results").replaceChildren(...run.latest.map((one) => line([
    { text: one.key }, { text: one.problem }, { text: one.model || "(no name)" },
    { text: one.verdict, style: ORDER.includes(one.verdict) ? `status ${one.verdict.toLowerCase()}` : "" },
  ])));
}

const SILENT = 60; // seconds; a run says every 10 that it is there

function condition(run) {
  if (run.stopped) return "The run was stopped before its end. The command below goes on with it.";
  if (run.ended) return "The run has ended.";
  const silent = run.alive === null ? 0 : Date.now() / 1000 - run.alive;
  return silent > SILENT ? `No sign of the run for ${span(silent)}: it was interrupted, or its machine is.` : "Running.";
}

function age(run) {
  place("state").textContent = condition(run);
  const ago = () => `Last result ${span(Math.max(0, Date.now() / 1000 - run.last))} ago.`;
  place("age").textContent = run.ended ? "" : run.last ? ago() : "No result yet.";
}

function show(run, news) {
  document.title = `${run.name}: ${number(run.judged + run.unscored)} done`;
  place("name").textContent = run.name;
  age(run);
  const bar = place("bar");
  if (run.total) [bar.max, bar.value] = [run.total, run.judged + run.unscored];
  else if (run.ended) [bar.max, bar.value] = [1, 1];
  else bar.removeAttribute("value");
  place("tiles").replaceChildren(...tiles(run));
  place("facts").replaceChildren(...facts(run));
  place("over-time").hidden = !run.timeline;
  if (news.timeline) chart(run.timeline);
  now(run);
  if (news.latest) results(run);
  place("fleet").hidden = !run.standings.length;
  place("servers").replaceChildren(...servers(run));
  place("failing").hidden = !run.failures.length;
  place("going-on").hidden = !run.stopped && !run.failures.length;
  place("command").textContent = run.command || "the command that began the run";
  if (!news.failures) return; // so that whoever reads them or copies from them is left alone
  place("failures").replaceChildren(...run.failures.map((one) => line([
    { text: one.key }, { text: one.problem }, { text: one.phase }, { text: one.reason, style: "text" }, { text: one.remedy, style: "text" },
  ])));
}

place("copy").hidden = !navigator.clipboard; // browsers have one on this machine and behind https
place("copy").addEventListener("click", () => navigator.clipboard.writeText(place("command").textContent));

// The leaderboard of the report so far, or the scoreboard of a contest. The server makes the report at most every 30 seconds.
let done = -1;
async function lead() {
  const now = (state.judged ?? 0) + (state.unscored ?? 0);
  if (!now || now === done) return;
  const answer = await fetch("report.html");
  if (!answer.ok) return;
  done = Number(answer.headers.get("Ioi-Eval-Rows"));
  const text = await answer.text(), begin = text.indexOf("<body>"); // its style and script are not for here
  const page = new DOMParser().parseFromString(text.slice(begin, text.indexOf("<script>", begin)), "text/html");
  const scoreboard = page.querySelector("[data-kind=board]");
  const table = scoreboard ?? page.querySelector("[data-kind=leaderboard]");
  if (!table) return;
  for (const rest of table.querySelectorAll("tbody[hidden]")) rest.hidden = false;
  for (const link of table.querySelectorAll("a[href^='#']")) link.href = `report.html${link.hash}`;
  const name = scoreboard ? "Scoreboard" : "Leaderboard";
  place("so-far-title").textContent = state.ended ? name : `${name} so far`;
  place("so-far").hidden = false;
  place("answer").textContent = page.querySelector(".answer")?.textContent ?? "";
  place("about").replaceChildren(...(page.querySelector(".about")?.childNodes ?? []));
  place("leaderboard").replaceChildren(table);
}

const source = new EventSource("events");
const state = {}; // what comes first is whole
source.addEventListener("message", (event) => {
  const news = JSON.parse(event.data);
  show(Object.assign(state, news), news);
  if (news.ended) done = -1;
  if (done < 0) lead();
});
setInterval(() => {
  if (!state.name) return;
  age(state);
  now(state);
}, 1000);
setInterval(lead, 5000);
source.addEventListener("error", () => { place("state").textContent = "The server is gone; trying again."; });
