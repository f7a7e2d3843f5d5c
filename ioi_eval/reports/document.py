"""The parts of a document (sections, tables, cells), and the document as Markdown and as HTML.

All parts are plain text. Text of users is escaped, so that it shows as it is and is never markup.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ioi_eval.model.text import remove_invisible, visible
from ioi_eval.model.values import Reason, Value, Verdict
from ioi_eval.store.rows import shorten

if TYPE_CHECKING:
    import jinja2

_MAX_CELL = 300  # maximum characters of a cell or a heading in Markdown
_BINARY = 1e-9  # tolerance for rounding errors in sums of binary fractions
_MAX_PADDED = 60  # maximum width of a padded column in Markdown, in characters
_SPECIAL = re.compile(r"[\\`*\[\]<>|~&$#]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.")


class Markdown(str):
    """A string in Markdown. All other strings are escaped when a page is rendered."""

    __slots__ = ()


def escape_inline(value: Any) -> Markdown:
    """Return a value as Markdown on one line, for a paragraph or a list."""
    if isinstance(value, Markdown):
        return value
    return Markdown(_SPECIAL.sub(lambda found: "\\" + found.group(), visible(str(value))))


def escape_cell(value: Any) -> Markdown:
    """Return a value as Markdown for a cell or a heading, cut at 300 characters."""
    return escape_inline(value if isinstance(value, Markdown) else shorten(visible(str(value)), _MAX_CELL))


def format_code_block(text: str, language: str = "sh") -> Markdown:
    """Return lines as a fenced block of code. The lines cannot close the fence."""
    visible_text = "\n".join(visible(line) for line in text.split("\n"))
    fence = choose_code_fence(visible_text)
    return Markdown(f"{fence}{language}\n{visible_text}\n{fence}")


def choose_code_fence(text: str) -> str:
    """Return a fence that is longer than any run of backticks in a string."""
    return "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))


def format_table(
    column_titles: Sequence[Any], rows: Iterable[Sequence[Any]], column_alignments: str
) -> Markdown:
    """Return a table as Markdown with padded columns. `column_alignments` has `l` or `r` for each column."""
    escaped_rows = [[escape_cell(value) for value in row] for row in (column_titles, *rows)]
    widths = [
        max(3, *(min(_MAX_PADDED, len(row[column_index])) for row in escaped_rows))
        for column_index in range(len(column_titles))
    ]
    separator_cells = [
        ("-" * (width - 1)) + (":" if side == "r" else "-")
        for width, side in zip(widths, column_alignments, strict=True)
    ]
    lines = [_format_table_line(row, widths, column_alignments) for row in escaped_rows]
    return Markdown(
        "\n".join([lines[0], _format_table_line(separator_cells, widths, column_alignments), *lines[1:]])
    )


def _format_table_line(cells: Sequence[str], widths: Sequence[int], align: str) -> str:
    padded_cells = (
        cell.rjust(width) if side == "r" else cell.ljust(width)
        for cell, width, side in zip(cells, widths, align, strict=True)
    )
    return f"| {' | '.join(padded_cells)} |"


# --- numbers -----------------------------------------------------------------------------------------

NOTHING = "–"  # noqa: RUF001 - shown instead of a missing value


def format_number(value: float | None) -> str:
    """Return a number with up to two decimals, without trailing zeros: 100, 30.5, 33.33, 28,130."""
    if value is None:
        return NOTHING
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def format_share(part: float | None, whole: float | None) -> str:
    """Return a share in percent, or a dash if `part` is None or `whole` is None or 0."""
    return NOTHING if part is None or not whole else f"{format_percent(part / whole, 1)} %"


def format_percent(fraction: float, digits: int) -> str:
    """Return a number in [0, 1] in percent. A number below 1 is never rounded to 100."""
    max_percent = 100 - 0.1**digits if fraction < 1 - _BINARY else math.inf
    return f"{min(100 * fraction, max_percent):.{digits}f}"


def format_interval(low: float, high: float) -> str:
    """Return an interval of shares as ` (30.0 to 55.2)`, in percent."""
    return f" ({100 * low:.1f} to {100 * high:.1f})"


def draw_text_bar(part: float, whole: float, width: int = 12) -> str:
    """Return a bar of block characters."""
    full_length = round(min(max(width * part / whole, 0), width)) if whole else 0
    return "█" * full_length + "░" * (width - full_length)


class ShareBar(Value):
    """A cell with a bar that shows a share of a whole, and its interval."""

    part: float
    whole: float
    low: float | None = None
    high: float | None = None
    said: str = ""  # text of the cell (default: `part` divided by `whole`, with the interval)

    def __str__(self) -> str:
        return f"{draw_text_bar(self.part, self.whole)} {self.text}"

    @property
    def text(self) -> str:
        interval_text = "" if self.low is None or self.high is None else format_interval(self.low, self.high)
        return self.said or format_share(self.part, self.whole) + interval_text

    @property
    def bar_svg(self) -> str:
        full_percent = 100 * self.part / self.whole if self.whole else 0.0
        return _METER.format(
            f"{full_percent:.2f}", *_format_interval_start_and_length(self.low, self.high, 0, 1)
        )


class DifferenceBar(Value):
    """A cell that draws a number and its interval relative to a line at 0."""

    text: str
    value: float | None
    low: float | None
    high: float | None
    min_value: float  # minimum of the column's scale, 0 or less
    max_value: float  # maximum of the column's scale

    def __str__(self) -> str:
        return self.text

    @property
    def bar_svg(self) -> str:
        zero, at = (
            _format_position_percent(value, self.min_value, self.max_value) for value in (0, self.value or 0)
        )
        width = "0" if self.value is None else "2"
        return _OFFSET.format(
            zero,
            *_format_interval_start_and_length(self.low, self.high, self.min_value, self.max_value),
            at,
            width,
        )


def _format_position_percent(value: float, min_value: float, max_value: float) -> str:
    return f"{100 * (value - min_value) / ((max_value - min_value) or 1):.2f}"


def _format_interval_start_and_length(
    low: float | None, high: float | None, min_value: float, max_value: float
) -> tuple[str, str]:
    """Return the position and the length of a line from low to high, in percent of the width."""
    if low is None or high is None:
        return "0", "0"
    return _format_position_percent(
        low, min_value, max_value
    ), f"{max(1.0, 100 * (high - low) / ((max_value - min_value) or 1)):.2f}"


class Link(Value):
    """A cell, or an entry at the top of a page, that links to another page of the report."""

    text: str
    href: str  # address of the link; empty for no link
    share: float | None = None  # share in [0, 1] that decides the colour of the cell
    note: str = ""  # small text below the link

    def __str__(self) -> str:
        return f"{self.text} ({self.note})" if self.note else self.text


class Links(Value):
    """A cell with several links."""

    links: Sequence[Link]

    def __str__(self) -> str:
        return ", ".join(map(str, self.links))


class VerdictSquares(Value):
    """A cell with a coloured square for each test."""

    tests: Sequence[tuple[str, str]]  # pairs of a test's name and its verdict

    def __str__(self) -> str:
        return " ".join(verdict for _, verdict in self.tests)

    def html(self) -> Any:
        """Return HTML with a coloured square for each test."""
        from markupsafe import Markup, escape

        visible_tests = (
            f'<i class="v-{verdict.lower()}" title="{escape(shorten(visible(name), MAX_TEXT))}: {verdict}">'
            f"{'' if verdict == Verdict.AC else verdict[0]}</i>"
            for name, verdict in self.tests
        )
        return Markup(f'<span class="squares" aria-hidden="true">{"".join(visible_tests)}</span>')


class Code(Value):
    """A program, shown with line numbers."""

    text: str
    lexer: str = ""  # name of the language in Pygments (default: the text has no colours)


class Outputs(Value):
    """A program's output and the expected output."""

    output: str
    expected: str


Cell = str | ShareBar | DifferenceBar | Link | Links | VerdictSquares


class TableBlock(Value):
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    align: str = ""  # alignment of each column, `l` or `r` (default: `l` for the first column, then `r`)
    meanings: Mapping[str, str] = {}  # explanations of column heads, by head
    script_data: str = ""  # JSON data for the script of the section
    short: Mapping[str, str] = {}  # short forms of column heads for browsers, by head
    # Name of the table's kind. report.js finds tables by their kind when filters change. tables.js shows rows
    # of some kinds as cards on narrow pages. A table of the kind `board` keeps two columns in view.
    kind: str = ""

    @property
    def column_alignments(self) -> str:
        """Return the alignment of each column, `l` (left) or `r` (right)."""
        return self.align or "l" + "r" * (len(self.heads) - 1)


class Figure(Value):
    """A drawing, and the numbers that it shows."""

    title: str
    drawing: str  # SVG picture, in which all text from users is escaped
    numbers: str  # CSV


class CodeLines(Value):
    """Lines that are shown as they are, such as a command. `sentence` comes before them."""

    lines: Sequence[str]
    sentence: str = ""
    language: str = "sh"  # language of the code block in Markdown


class HtmlPart(Protocol):
    """A part that renders itself as HTML and escapes all text of users."""

    def html(self) -> Any: ...


OVERVIEW, PROBLEMS, FAILED, SLICES, SUBMISSIONS, SETTINGS = TABS = (
    "Overview",
    "Problems",
    "Failures",
    "Slices",
    "Submissions",
    "Settings",
)


class Section(Value):
    title: str
    anchor: str = ""  # id of the section for links (default: its number)
    level: int = 2
    lead: str = ""  # highlighted sentence above the section's text
    text: Sequence[str] = ()  # paragraphs above the table; in Markdown, the first paragraph follows the lead
    figures: Sequence[Figure] = ()
    table: TableBlock | None = None
    notes: Sequence[str] = ()  # paragraphs below the table
    code: Code | None = None
    outputs: Outputs | None = None
    items: Sequence[str] = ()
    lines: Sequence[CodeLines] = ()
    folded: str = ""  # text that a reader clicks to unfold the lines (default: the lines are not folded)
    drawn: HtmlPart | None = None
    long: bool = False  # True if the table is folded
    tab: str = OVERVIEW  # name of the report's tab in which the section is
    side: str = ""  # column of the section on a wide screen: `code-side` or `beside` (default: both columns)
    is_whole: bool = False  # True if the section shows the whole run even if the page is filtered
    script: str = ""  # JavaScript from a plugin, which runs after the scripts of all pages


class LiveBlock(Value):
    """The parts that only a served page has: HTML above the tabs, and a script that may fetch."""

    script: str  # JavaScript that runs after all other scripts
    html: str = ""  # HTML in which all text from users is escaped


class Tab(NamedTuple):
    """An entry in a report's bar of tabs."""

    name: str
    href: str
    is_here: bool


class Document(Value):
    title: str
    about: str = ""  # line below the title with the numbers of models, problems and submissions
    ribbon: Sequence[str] = ()  # short notes about incomplete results at the top of the page
    answer: str = ""  # sentence that says which model is best
    lead: str = ""
    text: Sequence[str] = ()
    links: Sequence[Link] = ()  # links to other pages at the top of the page
    lists_submissions: bool = False  # True if the folder report/ contains a list of the submissions
    sections: Sequence[Section] = ()
    page: str = ""  # file name of the page, if a script adds links to other attempts at the problem
    script: str = ""  # file name of a script in the same folder
    data: str = ""  # JSON data for report.js: filters, and the figures for all their values
    in_parts: bool = False  # True if the sections are shown in tabs
    tab: str = ""  # tab of the report to which this page in the folder report/ belongs
    live: LiveBlock | None = None

    @property
    def sections_by_tab_or_column(self) -> list[tuple[str, list[tuple[str, Section]]]]:
        """Return pairs of a tab (or a column of the page) and its sections, each with its anchor.

        Titles of sections are users' text, so they are not used as anchors.
        """
        anchored_sections = [
            (section.anchor or f"s{number}", section) for number, section in enumerate(self.sections, start=1)
        ]
        sections_by_part = dict[str, list[tuple[str, Section]]]()
        for anchor, section in anchored_sections:
            sections_by_part.setdefault(section.tab if self.in_parts else section.side, []).append(
                (anchor, section)
            )
        return (
            sorted(sections_by_part.items(), key=lambda part: TABS.index(part[0]))
            if self.in_parts
            else [*sections_by_part.items()]
        )

    @property
    def tabs(self) -> list[Tab]:
        """Return the bar of tabs, which is the same on the pages in report/."""
        if not (self.in_parts or self.tab):
            return []
        present_parts = {name for name, _ in self.sections_by_tab_or_column} | (
            {SUBMISSIONS} if self.lists_submissions else set()
        )
        report_href, list_href = ("", f"{FOLDER}/{ALL}") if self.in_parts else ("../report.html", ALL)
        return [
            Tab(name, list_href if name == SUBMISSIONS else f"{report_href}#{name.lower()}", name == self.tab)
            for name in TABS
            if self.tab or name in present_parts
        ]


# --- names of pages ----------------------------------------------------------------------------------
# Names of pages are hashes, because keys and names of problems are text from users.


FOLDER, ALL = "report", "submissions.html"
EQUAL = "equal"  # anchor of the list of equal programs on a problem's page


def make_submission_page_filename(key: str) -> str:
    return f"submission-{_compute_short_hash(key)}.html"


def make_list_page_filename(number: int) -> str:
    """Return the file name of a page of the list of all submissions. Pages are counted from 0."""
    return f"submissions-{number + 1}.html"


def name_problem_page(problem: str) -> str:
    return f"problem-{_compute_short_hash(problem)}.html"


def name_attempts_script(problem: str) -> str:
    return f"attempts-{_compute_short_hash(problem)}.js"


def make_model_page_filename(model: str) -> str:
    return f"model-{_compute_short_hash(model)}.html"


def make_model_anchor(model: str) -> str:
    return f"m-{_compute_short_hash(model)}"


def hash_key_for_sampling(key: str) -> int:
    """Return a number from a key's hash, which decides whether a sample contains the key."""
    return int(_compute_short_hash(key)[-15:], 16)


def _compute_short_hash(name: str) -> str:
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:16]


# --- as Markdown -------------------------------------------------------------------------------------


def render_markdown(document: Document) -> str:
    """Return the document as Markdown, with all text escaped."""
    return _load_markdown_template().render(document=document).rstrip("\n") + "\n"


@cache
def _load_markdown_template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(
        finalize=escape_inline,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # nothing is escaped as HTML, because `finalize` escapes for Markdown
    )
    source = importlib.resources.files("ioi_eval.reports").joinpath("report.md.j2").read_text("utf-8")
    helpers = {
        "block": format_code_block,
        "heading": escape_cell,
        "table": format_table,
        "paragraphs": lambda text: Markdown("\n\n".join(map(escape_inline, text))),
        "hashes": lambda level: Markdown("#" * level),
    }
    return environment.from_string(source, globals=helpers)


# --- as HTML -----------------------------------------------------------------------------------------


STYLE, SCRIPT = "style.css", "script.js"  # names of files in the folder report/
_PARTS = {
    STYLE: ("style.css", "figures.css"),
    SCRIPT: ("tables.js", "report.js", "saving.js", "attempts.js"),
}
_DRAWN = '<svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">'
_SURE = '<rect class="sure" x="{}" y=".4" width="{}" height=".2"/>'
_METER = (
    f'{_DRAWN}<rect class="track" width="100" height="1"/><rect class="full" width="{{}}" height="1"/>'
    f"{_SURE}</svg>"
)
_OFFSET = (
    f'{_DRAWN}<rect class="zero" x="{{}}" width=".7" height="1"/>{_SURE}'
    '<rect class="dot" x="{}" y=".15" width="{}" height=".7"/></svg>'
)
_FOLDER = Path(__file__).parent
MAX_TEXT = 2000  # maximum characters of a string in a page
_SHORT = 34  # maximum characters of a cell that is not wrapped
_PAGE = 200  # number of a table's rows that are shown at first
_STATUSES = frozenset(verdict.value for verdict in Verdict)
_MEDALS = frozenset({"gold", "silver", "bronze"})
_WORDS = {"yes": "good", "NO": "bad", "not judged": "bad", Reason.NO_PROGRAM: "bad"}


@cache
def read_asset(name: str) -> str:
    """Return the style sheet or the script of all pages."""
    return "".join((_FOLDER / file_name).read_text("utf-8") for file_name in _PARTS[name])


def render_html(document: Document, *, has_asset_files: bool = False) -> str:
    """Return the document as HTML, with all text of users escaped.

    `has_asset_files`: style and script are files in the same folder. Otherwise the page contains them.
    """
    scripts = [section.script for section in document.sections]
    scripts += [document.live.script] if document.live else []
    scripts = [] if has_asset_files else list(dict.fromkeys(filter(None, scripts)))
    return _load_html_template(has_asset_files).render(document=document, scripts=scripts) + "\n"


@cache
def _load_html_template(has_asset_files: bool) -> jinja2.Template:
    import jinja2
    from markupsafe import Markup, escape

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER, encoding="utf-8"),
        finalize=_shorten_and_show_controls,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        autoescape=True,
    )
    style, script = read_asset(STYLE), read_asset(SCRIPT)

    def policy(document: Document, scripts: Sequence[str]) -> str:
        # Chromium does not match 'self' for local files, so all local files are allowed as styles and
        # scripts.
        sources = "file: 'self'" if has_asset_files else ""
        hashes = " ".join(map(_format_csp_hash, (script, *scripts)))
        allowed_sources = [
            f"style-src {sources or _format_csp_hash(style)}",
            f"script-src {sources or hashes}",
        ]
        allowed_sources += ["connect-src 'self'"] if document.live else []
        return "; ".join(("default-src 'none'", *allowed_sources, "base-uri 'none'", "form-action 'none'"))

    environment.filters |= {"drawn": Markup, "raw": escape, "indented": render_indented, "trusted": Markup}
    environment.globals |= {
        "rows": render_rows,
        "numbered": render_numbered_code,
        "compared": render_output_diff_rows,
        "beside": has_asset_files,
        "style": Markup(style),
        "script": Markup(script),
        "policy": policy,
    }
    return environment.get_template("report.html.j2")


def _format_csp_hash(text: str) -> str:
    """Return the SHA-256 of a script or style in the form that content-security policies use."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _shorten_and_show_controls(value: Any) -> Any:
    """Return a string without invisible characters and with bounded length; other values as they are."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return shorten(visible(value), MAX_TEXT)


def render_rows(table: TableBlock) -> Any:
    """Return the rows of a table as HTML. A template would be too slow for tables with many cells."""
    from markupsafe import Markup

    lines = []
    for row_index, row in enumerate(table.rows):
        # A browser needs seconds to lay out 10,000 rows, so a script shows the remaining rows on request.
        if row_index == _PAGE:
            lines.append("</tbody>\n<tbody hidden>\n")
        pieces = (
            _render_cached_text_cell(cell, side) if isinstance(cell, str) else _render_cell(cell, side)
            for cell, side in zip(row, table.column_alignments, strict=True)
        )
        lines.append(f"<tr>{''.join(pieces)}</tr>\n")
    return Markup("".join(lines))


def _render_cell(cell: Cell, alignment: str) -> str:
    from markupsafe import escape

    if isinstance(cell, ShareBar | DifferenceBar):
        return f'<td><div class="meter">{cell.bar_svg}<span>{escape(cell.text)}</span></div></td>'
    if isinstance(cell, VerdictSquares):
        return f"<td>{cell.html()}</td>"
    if isinstance(cell, Links):
        return f'<td class="text">{", ".join(map(_render_link, cell.links))}</td>'
    cell_html = (
        _render_link(cell) if isinstance(cell, Link) else str(escape(shorten(visible(cell), MAX_TEXT)))
    )
    if isinstance(cell, Link) and cell.note:
        cell_html += f"<small>{escape(cell.note)}</small>"
    style = choose_cell_style(cell, alignment)
    return f'<td class="{style}">{cell_html}</td>' if style else f"<td>{cell_html}</td>"


def _render_link(link: Link) -> str:
    from markupsafe import escape

    label_html = str(escape(shorten(visible(link.text), MAX_TEXT)))
    return f'<a href="{link.href}">{label_html}</a>' if link.href else label_html


# Cached, because the tests of thousands of submissions have the same names, verdicts and scores.
_render_cached_text_cell = lru_cache(1 << 14)(_render_cell)


def choose_score_colour_class(score_fraction: float) -> str:
    """Return the class of a share's colour. Only 0 is g0, and only 1 is g10."""
    shade_step = max(1, min(9, math.floor(10 * score_fraction + 0.5)))  # rounds in the same way as report.js
    return f"g{0 if score_fraction <= 0 else 10 if score_fraction > 1 - _BINARY else shade_step}"


def choose_cell_style(cell: Cell, alignment: str) -> str:
    """Return the classes of a cell. Verdicts, medals and a few other keywords have colours."""
    if isinstance(cell, ShareBar | DifferenceBar | Links | VerdictSquares):
        return ""
    classes = ["number"] if alignment == "r" else ["text"] if len(str(cell)) > _SHORT else []
    if isinstance(cell, Link):
        return " ".join([*classes, *([] if cell.share is None else [choose_score_colour_class(cell.share)])])
    last_word = cell.rpartition(" ")[2]
    if cell in _STATUSES:
        classes += ["status", cell.lower()]
    elif cell in _WORDS:
        classes += ["word", _WORDS[cell]]
    elif alignment == "r" and last_word in _MEDALS:
        classes += ["word", last_word]
    return " ".join(classes)


# --- listings ----------------------------------------------------------------------------------------
# Programs, replies of models and messages of compilers as HTML, line by line with all their spaces.


# Maximum characters of a shown program, and of a coloured program.
_MAX_CODE, _MAX_COLOURED = (
    200_000,
    50_000,
)
# Maximum characters without punctuation in coloured code, and pattern of punctuation: without punctuation,
# Pygments needs quadratic time, which is minutes for a page of text.
_MAX_STRETCH, _ENDS = 1000, re.compile(r"[;(){},=+]")


@cache
def _load_pygments(language: str) -> tuple[Any, Any]:
    """Return the lexer and the formatter for a language. Both are stateless."""
    # Imported here, because the package pygments.formatters replaces this module when it is loaded.
    from pygments.formatters.html import HtmlFormatter
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(language, stripnl=False), HtmlFormatter(nowrap=True)


def render_numbered_code(code: Code) -> Any:
    """Return a program as HTML lines. Each line starts with its number, which links to the line."""
    from markupsafe import Markup, escape
    from pygments import highlight

    source_code = "\n".join(remove_invisible(line, "\t") for line in code.text.split("\n"))
    if len(source_code) > _MAX_CODE:
        source_code = source_code[:_MAX_CODE] + "\n…"
    escaped_code = str(escape(source_code))
    is_coloured = code.lexer and len(source_code) <= _MAX_COLOURED
    if is_coloured and max(map(len, _ENDS.split(source_code))) <= _MAX_STRETCH:
        lexer, formatter = _load_pygments(code.lexer)
        escaped_code = highlight(source_code, lexer, formatter)
    lines = enumerate(escaped_code.rstrip("\n").split("\n"), start=1)
    return Markup(
        "".join(f'<a id="L{number}" href="#L{number}">{number}</a>{line}\n' for number, line in lines)
    )


def render_indented(line: str) -> Any:
    """Return a line of a program or a compiler as HTML, with all its spaces."""
    from markupsafe import escape

    return escape(shorten(remove_invisible(line, "\t"), MAX_TEXT))


# --- outputs next to expected outputs ----------------------------------------------------------------
# A wrong output next to the expected output, line by line. Differences are marked, including white space.


# Pattern of a word, of white space between words, or of the end of a line.
_PIECE = re.compile(r"\n|[^\S\n]+|\S+")
_SYMBOLS = {" ": "·", "\t": "⇥", "\r": r"\r", "\n": "↵"}


def render_output_diff_rows(output: str, expected: str) -> Any:
    """Return rows of a table as HTML: line number, line of the output, expected line."""
    from markupsafe import Markup

    pairs = enumerate(_pair_lines(_split_lines(output), _split_lines(expected)), start=1)
    pieces = (
        (number, (None if line is None else _PIECE.findall(line) for line in pair)) for number, pair in pairs
    )
    rows = ((number, *_render_output_and_expected_cells(*pair)) for number, pair in pieces)
    return Markup(
        "".join(f"<tr><td>{number}</td>{output_cell}{other}</tr>\n" for number, output_cell, other in rows)
    )


def _split_lines(text: str) -> list[str]:
    """Return the lines with their line breaks. The last line may lack a line break."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _pair_lines(output: Sequence[str], expected: Sequence[str]) -> Iterator[tuple[str | None, str | None]]:
    """Yield pairs of lines of the output and the expected output. None means a missing line."""
    left_lines, right_lines = ([tuple(line.split()) for line in lines] for lines in (output, expected))
    for _, start, end, other_start, other_end in SequenceMatcher(
        None, left_lines, right_lines, autojunk=False
    ).get_opcodes():
        yield from zip_longest(output[start:end], expected[other_start:other_end])


def _render_output_and_expected_cells(
    output: list[str] | None, expected: list[str] | None
) -> tuple[str, str]:
    if output is None or expected is None:
        return _render_changed_line(output, "del"), _render_changed_line(expected, "ins")
    left_parts, right_parts = list[str](), list[str]()
    for same, start, end, other_start, other_end in SequenceMatcher(
        None, output, expected, autojunk=False
    ).get_opcodes():
        for cell_parts, fragments, tag in (
            (left_parts, output[start:end], "del"),
            (right_parts, expected[other_start:other_end], "ins"),
        ):
            cell_parts += (
                map(_render_common_text, fragments)
                if same == "equal"
                else [_render_html_element(tag, fragments)]
                if fragments
                else []
            )
    return f"<td>{''.join(left_parts)}</td>", f"<td>{''.join(right_parts)}</td>"


def _render_changed_line(pieces: list[str] | None, tag: str) -> str:
    """Return the cell of a removed or added line. If `pieces` is None, this side has no line: it is empty."""
    return '<td class="none"></td>' if pieces is None else f"<td>{_render_html_element(tag, pieces)}</td>"


def _render_html_element(tag: str, text_fragments: Sequence[str]) -> str:
    return f"<{tag}>{''.join(map(_render_text_showing_whitespace, text_fragments))}</{tag}>"


def _render_common_text(text: str) -> str:
    """Return a piece that both sides have, as HTML. A single space stays a space."""
    if text == " ":
        return text
    return (
        f'<span class="blank">{_render_text_showing_whitespace(text)}</span>'
        if text.isspace()
        else _render_text_showing_whitespace(text)
    )


def _render_text_showing_whitespace(text: str) -> str:
    """Return a piece as HTML, with a symbol for each white-space character."""
    from markupsafe import escape

    if text.isspace():
        return "".join(_SYMBOLS.get(char, "␣") for char in text)
    return str(escape(visible(text)))
