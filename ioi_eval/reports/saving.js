// Figures as SVG and as CSV, tables as CSV, Markdown and LaTeX: what people put into papers.

const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size", "display"];

function save(name, kind, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function fileName(title, ending) {
  return `${title.toLowerCase().replace(/[^a-z0-9@]+/g, "-").replace(/^-|-$/g, "") || "report"}.${ending}`;
}

// A drawing that needs no page: what the style sheet says stands in it, in the colours of paper.
function alone(drawing) {
  drawing.classList.add("paper");
  const copy = drawing.cloneNode(true);
  const pairs = [...copy.querySelectorAll("*")].map((piece, place) => [piece, drawing.querySelectorAll("*")[place]]);
  for (const [piece, original] of pairs) {
    const style = getComputedStyle(original);
    for (const name of LOOKS) if (style.getPropertyValue(name)) piece.setAttribute(name, style.getPropertyValue(name));
    piece.removeAttribute("class");
    piece.removeAttribute("href");
  }
  drawing.classList.remove("paper");
  copy.removeAttribute("class");
  return new XMLSerializer().serializeToString(copy);
}

// `number` changes the text of cells with numbers.
function cells(table, number = (text) => text) {
  const text = (cell) => {
    const words = cell.textContent.trim().replace(/\s+/g, " ");
    return cell.matches(".number, :has(.meter)") ? number(words) : words;
  };
  const heads = [...table.tHead.rows[0].cells].map((head) => head.dataset.whole ?? text(head));
  const shown = (row, place) => !table.tHead.rows[0].cells[place].hidden;
  return [heads, ...listings.get(table).found.map((row) => [...row.cells].map(text))].map((row) => row.filter(shown));
}

function csv(table) {
  const safe = (text) => (/^[=+@-]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text);
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const withoutSeparators = (text) => text.replace(/(?<=\d),(?=\d{3})/g, "");
  return cells(table, withoutSeparators).map((row) => row.map((text) => quoted(safe(text))).join(",")).join("\n") + "\n";
}

function aligned(table, right, left) {
  return [...table.tHead.rows[0].cells].filter((head) => !head.hidden).map((head) => (head.classList.contains("number") ? right : left));
}

function markdown(table) {
  const line = (row) => `| ${row.map((text) => text.replace(/[\\|`*_<>[\]]/g, "\\$&")).join(" | ")} |`;
  const [heads, ...rows] = cells(table);
  return [line(heads), `| ${aligned(table, "--:", "---").join(" | ")} |`, ...rows.map(line), ""].join("\n");
}

function latex(table) {
  const WORDS = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "–": "--" };
  const escaped = (text) => text.replace(/[\\~^–]|[&%$#_{}]/g, (one) => WORDS[one] ?? `\\${one}`);
  const safe = (text) => escaped(text).replace(/^[[*]/, "{}$&"); // behind an end of a line they would be its options
  const line = (row) => `${row.map(safe).join(" & ")} \\\\`;
  const [heads, ...rows] = cells(table);
  const lines = [`\\begin{tabular}{${aligned(table, "r", "l").join("")}}`, "\\toprule", line(heads), "\\midrule"];
  return [...lines, ...rows.map(line), "\\bottomrule", "\\end{tabular}", ""].join("\n");
}

function button(text, what, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "save";
  made.textContent = text;
  made.ariaLabel = `${text}: ${what}`;
  made.addEventListener("click", act);
  return made;
}

for (const figure of document.querySelectorAll("figure")) {
  const { name, numbers } = figure.dataset;
  figure.querySelector("figcaption").append(
    button("SVG", name, () => save(fileName(name, "svg"), "image/svg+xml", alone(figure.querySelector("svg")))),
    button("CSV", name, () => save(fileName(name, "csv"), "text/csv", numbers)),
  );
}

for (const table of document.querySelectorAll("table[data-name]")) {
  const { name } = table.dataset;
  const menu = document.createElement("details");
  const summary = document.createElement("summary");
  summary.textContent = "Save";
  summary.ariaLabel = `Save table ${name}`;
  menu.className = "menu tools";
  menu.append(
    summary,
    button("CSV", `table ${name}`, () => save(fileName(name, "csv"), "text/csv", csv(table))),
    button("Markdown", `table ${name}`, () => save(fileName(name, "md"), "text/markdown", markdown(table))),
    button("LaTeX", `table ${name}`, () => save(fileName(name, "tex"), "text/x-tex", latex(table))),
  );
  table.closest(".scroll").after(menu);
}
