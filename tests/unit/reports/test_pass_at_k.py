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
from ioi_eval.reports.comparison import name_runs, write_comparison

KS = (1, 2, 3, 5)
PROBLEMS = [SUM, problem("other"), problem("plain", subtasks=False)]
TARGETS = [None, *(subtask.name for subtask in SUM.subtasks)]


@st.composite
def rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw rows of two models with any number for each problem and subtask."""
    result_rows = list[dict[str, Any]]()
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
            result_rows.append(result_row(sent, of, result(sent, failed, problem=of)))
    return result_rows


def columns_of_pages(page: str) -> Iterator[list[str]]:
    """Yield the cells of table rows under the headings of pass@k, in rising k."""
    for table in re.findall(r"<table.*?</table>", page, re.DOTALL):
        lines = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.DOTALL) for line in table.split("<tr")[1:]]
        yield from below([[re.sub("<[^>]*>", "", cell) for cell in line] for line in lines])


def columns_of_markdown(markdown_text: str) -> Iterator[list[str]]:
    for is_table, lines in itertools.groupby(markdown_text.splitlines(), lambda line: line.startswith("|")):
        if is_table:
            yield from below([[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines])


def below(lines: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    headings, *body_lines = lines
    columns = [index for index, head in enumerate(headings) if head.strip().startswith("pass@")]
    assert [headings[index] for index in columns] == sorted(
        (headings[index] for index in columns), key=lambda head: int(head.split("@")[1])
    )
    yield from (
        [line[index] for index in columns] for line in body_lines if len(line) == len(headings) and columns
    )


def columns_of_terminal(printed: str) -> Iterator[list[str]]:
    """Yield the cells under the headings of pass@k, which are aligned right at the same column."""
    ends: list[int] = []
    for line in printed.splitlines():
        if (
            heading_matches := list(re.finditer(r"\S+(?: \S+)*", line))
            if "pass@" in line and "  " in line
            else []
        ):
            ends = [head.end() for head in heading_matches]
            first = next(index for index, head in enumerate(heading_matches) if "pass@" in head[0])
            last = first + sum("pass@" in head[0] for head in heading_matches)
        elif not line.strip() or any(line[end : end + 1].strip() for end in ends):
            ends = []  # the line is a sentence
        elif ends:
            cells = [line[a:b].strip() for a, b in itertools.pairwise([0, *ends])]
            yield cells[first:last]


def columns_of_figures(page: str) -> Iterator[list[float]]:
    for numbers in re.findall(r'data-numbers="([^"]*)"', page):
        lines = list(csv.DictReader(io.StringIO(html.unescape(numbers))))
        for _, model_lines in itertools.groupby(lines, lambda line: line.get("model")):
            yield [float(line["pass_at_k"]) for line in model_lines if line.get("pass_at_k")]


def columns_of_json(value: Any) -> Iterator[list[float]]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        estimates = [
            estimate
            for estimate in value
            if isinstance(estimate, dict) and {"k", "value", "lacking"} <= estimate.keys()
        ]
        assert [estimate["k"] for estimate in estimates] == sorted(estimate["k"] for estimate in estimates)
        assert all((estimate["value"] is None) >= (estimate["lacking"] > 0) for estimate in estimates)
        yield [estimate["value"] for estimate in estimates if estimate["value"] is not None]
        for inner in value:
            yield from columns_of_json(inner)


def never_fall(columns: Iterable[Sequence[str | float]]) -> int:
    """Check that the numbers do not fall and that no number follows a dash. Return how many there are."""
    value_count = 0
    for column in columns:
        shown = [
            re.fullmatch(r"[█░ ]*(\d+\.\d)( %.*)?", cell) if isinstance(cell, str) else None
            for cell in column
        ]
        cells = [
            float(number_match[1]) if number_match else cell
            for number_match, cell in zip(shown, column, strict=True)
        ]
        values = [cell for cell in cells if isinstance(cell, float)]
        assert values == sorted(values), column
        assert all(str(cell)[0] in "–-" for cell in cells[len(values) :]), column  # noqa: RUF001
        value_count += len(values)
    return value_count


# Each example is slow, and shrinking an example lasts minutes.
@settings(max_examples=example_count(3, 40), phases=[Phase.explicit, Phase.generate])
@given(rows(), rows())
def test_pass_at_k_never_falls_with_k(one: list[dict[str, Any]], two: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as temporary, redirect_stdout(io.StringIO()) as terminal:
        options = ReportOptions(ks=KS)
        folders = [
            write_run(Path(temporary) / name, result_rows)
            for name, result_rows in (("one", one), ("two", two))
        ]
        summaries = {folder: write_reports(folder, options) for folder in folders}
        for run_summary in summaries.values():
            print_scores(run_summary)
        write_comparison(name_runs(summaries), Path(temporary) / "both")
        print_comparison(name_runs(summaries))
        folders.append(Path(temporary) / "both")
        files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
        of_kind = {
            ending: [file.read_text("utf-8") for file in files if file.suffix == ending]
            for ending in (".md", ".html", ".json")
        }
    expected_count = sum(
        len(column) for content in of_kind[".json"] for column in columns_of_json(json.loads(content))
    )
    for ending, columns_of in (
        (".json", lambda text: columns_of_json(json.loads(text))),
        (".md", columns_of_markdown),
        (".html", columns_of_pages),
    ):
        value_count = sum(never_fall(columns_of(content)) for content in of_kind[ending])
        assert value_count or not expected_count, ending
    never_fall(column for content in of_kind[".html"] for column in columns_of_figures(content))
    never_fall(columns_of_terminal(terminal.getvalue()))


def test_every_output_format_shows_pass_at_k_values(tmp_path: Path) -> None:
    """Each reader in this file finds values, and detects a falling value."""
    result_rows = [
        result_row(sent, SUM, result(sent, {} if number else {"1-a": Verdict.WA}))
        for number in range(3)
        for sent in [submission(f"m1-{number}", row={"model": "m1", "difficulty": "easy"})]
    ]
    run_summary = write_reports(write_run(tmp_path / "run", result_rows), ReportOptions(ks=KS))
    with redirect_stdout(io.StringIO()) as terminal:
        print_scores(run_summary)
    page, markdown = (tmp_path / "run/report.html").read_text(), (tmp_path / "run/report.md").read_text()
    assert never_fall(columns_of_pages(page)) == never_fall(columns_of_markdown(markdown)) > 0
    assert never_fall(columns_of_figures(page)) and never_fall(columns_of_terminal(terminal.getvalue()))
    for falling in (["51.0 %", "0.0 %"], ["– (3 lack)", "0.0 %"], [0.51, 0.0]):  # noqa: RUF001
        with pytest.raises(AssertionError):
            never_fall([falling])
