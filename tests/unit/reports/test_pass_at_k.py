"""pass@k never falls as k rises, in any table, figure, CSV or JSON file, or terminal."""

from __future__ import annotations

import csv
import html
import io
import itertools
import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from run_samples import SUM, problem, result, submission, write_run
from support.properties import example_count
from support.runs import ReportOptions, result_row

from ioi_eval.cli.scores import print_comparison, print_scores
from ioi_eval.models import Verdict
from ioi_eval.reports import write_reports
from ioi_eval.reports.comparison import named, write_comparison

KS = (1, 2, 3, 5)
PROBLEMS = [SUM, problem("other"), problem("plain", subtasks=False)]
TARGETS = [None, *(subtask.name for subtask in SUM.subtasks)]


@st.composite
def rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw rows of two models with any number for each problem and subtask."""
    made = list[dict[str, Any]]()
    for model, of, target in itertools.product(("m1", "m2"), PROBLEMS, TARGETS):
        if target and not of.subtasks:
            continue
        right = draw(st.lists(st.booleans(), max_size=6))
        for number, passes in enumerate(right):
            sent = submission(
                f"{model}-{of.id}-{target}-{number}",
                problem_id=of.id,
                target_subtask=target,
                row={"model": model, "difficulty": "easy" if of is SUM else "hard", "tags": [of.id, "all"]},
            )
            failed = {} if passes else {"1-a": Verdict.WA}
            made.append(result_row(sent, of, result(sent, failed, problem=of)))
    return made


def columns_of_pages(text: str) -> Iterator[list[str]]:
    """Yield the cells of table rows under the headings of pass@k, in rising k."""
    for table in re.findall(r"<table.*?</table>", text, re.DOTALL):
        lines = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.DOTALL) for line in table.split("<tr")[1:]]
        yield from below([[re.sub("<[^>]*>", "", cell) for cell in line] for line in lines])


def columns_of_markdown(text: str) -> Iterator[list[str]]:
    for is_table, lines in itertools.groupby(text.splitlines(), lambda line: line.startswith("|")):
        if is_table:
            yield from below([[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines])


def below(lines: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    heads, *others = lines
    places = [place for place, head in enumerate(heads) if head.strip().startswith("pass@")]
    assert [heads[place] for place in places] == sorted(
        (heads[place] for place in places), key=lambda head: int(head.split("@")[1])
    )
    yield from ([line[place] for place in places] for line in others if len(line) == len(heads) and places)


def columns_of_terminal(text: str) -> Iterator[list[str]]:
    """Yield the cells under the headings of pass@k, which are aligned right at the same column."""
    ends: list[int] = []
    for line in text.splitlines():
        if heads := list(re.finditer(r"\S+(?: \S+)*", line)) if "pass@" in line and "  " in line else []:
            ends = [head.end() for head in heads]
            first = next(place for place, head in enumerate(heads) if "pass@" in head[0])
            last = first + sum("pass@" in head[0] for head in heads)
        elif not line.strip() or any(line[end : end + 1].strip() for end in ends):
            ends = []  # a sentence
        elif ends:
            cells = [line[a:b].strip() for a, b in itertools.pairwise([0, *ends])]
            yield cells[first:last]


def columns_of_figures(text: str) -> Iterator[list[float]]:
    for numbers in re.findall(r'data-numbers="([^"]*)"', text):
        lines = list(csv.DictReader(io.StringIO(html.unescape(numbers))))
        for _, own in itertools.groupby(lines, lambda line: line.get("model")):
            yield [float(line["pass_at_k"]) for line in own if line.get("pass_at_k")]


def columns_of_json(value: Any) -> Iterator[list[float]]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        estimates = [
            one for one in value if isinstance(one, dict) and {"k", "value", "lacking"} <= one.keys()
        ]
        assert [one["k"] for one in estimates] == sorted(one["k"] for one in estimates)
        assert all((one["value"] is None) >= (one["lacking"] > 0) for one in estimates)
        yield [one["value"] for one in estimates if one["value"] is not None]
        for inner in value:
            yield from columns_of_json(inner)


def never_fall(columns: Iterable[Sequence[str | float]]) -> int:
    """Check that the numbers do not fall and that no number follows a dash. Return how many there are."""
    seen = 0
    for column in columns:
        shown = [
            re.fullmatch(r"[█░ ]*(\d+\.\d)( %.*)?", cell) if isinstance(cell, str) else None
            for cell in column
        ]
        cells = [float(found[1]) if found else cell for found, cell in zip(shown, column, strict=True)]
        values = [cell for cell in cells if isinstance(cell, float)]
        assert values == sorted(values), column
        assert all(str(cell)[0] in "–-" for cell in cells[len(values) :]), column  # noqa: RUF001
        seen += len(values)
    return seen


# Each example is slow, and shrinking an example lasts minutes.
@settings(max_examples=example_count(3, 40), phases=[Phase.explicit, Phase.generate])
@given(rows(), rows())
def test_pass_at_k_never_falls_with_k(one: list[dict[str, Any]], two: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as place, redirect_stdout(io.StringIO()) as terminal:
        options = ReportOptions(ks=KS)
        folders = [write_run(Path(place) / name, own) for name, own in (("one", one), ("two", two))]
        summaries = {folder: write_reports(folder, options) for folder in folders}
        for found in summaries.values():
            print_scores(found)
        write_comparison(named(summaries), Path(place) / "both")
        print_comparison(named(summaries))
        folders.append(Path(place) / "both")
        files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
        of_kind = {
            ending: [file.read_text("utf-8") for file in files if file.suffix == ending]
            for ending in (".md", ".html", ".json")
        }
    known = sum(len(column) for text in of_kind[".json"] for column in columns_of_json(json.loads(text)))
    for ending, columns_of in (
        (".json", lambda text: columns_of_json(json.loads(text))),
        (".md", columns_of_markdown),
        (".html", columns_of_pages),
    ):
        seen = sum(never_fall(columns_of(text)) for text in of_kind[ending])
        assert seen or not known, ending
    never_fall(column for text in of_kind[".html"] for column in columns_of_figures(text))
    never_fall(columns_of_terminal(terminal.getvalue()))


def test_every_output_format_shows_pass_at_k_values(tmp_path: Path) -> None:
    """Each reader in this file finds values, and detects a falling value."""
    made = [
        result_row(sent, SUM, result(sent, {} if number else {"1-a": Verdict.WA}))
        for number in range(3)
        for sent in [submission(f"m1-{number}", row={"model": "m1", "difficulty": "easy"})]
    ]
    found = write_reports(write_run(tmp_path / "run", made), ReportOptions(ks=KS))
    with redirect_stdout(io.StringIO()) as terminal:
        print_scores(found)
    page, text = (tmp_path / "run/report.html").read_text(), (tmp_path / "run/report.md").read_text()
    assert never_fall(columns_of_pages(page)) == never_fall(columns_of_markdown(text)) > 0
    assert never_fall(columns_of_figures(page)) and never_fall(columns_of_terminal(terminal.getvalue()))
    for falling in (["51.0 %", "0.0 %"], ["– (3 lack)", "0.0 %"], [0.51, 0.0]):  # noqa: RUF001
        with pytest.raises(AssertionError):
            never_fall([falling])
