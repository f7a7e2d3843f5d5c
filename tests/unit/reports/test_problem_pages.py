"""Descriptions of problems in a run's folder, and their pages."""

from __future__ import annotations

import re
import tempfile
from html import unescape
from pathlib import Path

import msgspec
import pytest
from run_samples import SUM, result, submission, write_run
from support.runs import result_row, summarize_run
from test_html_page import HOSTILE

from ioi_eval.errors import InputError
from ioi_eval.model.text import visible
from ioi_eval.models import Blob, Limits, Solution, Verdict
from ioi_eval.reports import write_reports
from ioi_eval.reports.document import make_submission_page_filename, name_problem_page
from ioi_eval.store.tasks import TASKS, Task, read_tasks, write_tasks

PROBLEM = msgspec.structs.replace(
    SUM,
    name="Sum",
    limits=Limits.contest(0.4, 4 << 20),
    statement=Blob.of("# Sum\n\nAdd <b>all</b> numbers."),
    document="statement/sum.pdf",
    solutions=(Solution(name="right.cpp", expected="model_solution"),),
)


def run(folder: Path, text: str = "") -> Path:
    rows = []
    for number, statuses in enumerate(({}, {"2-a": Verdict.WA}, {"2-a": Verdict.WA, "3-a": Verdict.WA})):
        sent = submission(f"s{number}", row={"model": "m"})
        rows.append(result_row(sent, SUM, result(sent, statuses)))
    sent = submission("broken", row={"model": "m"})
    rows.append(result_row(sent, SUM, result(sent, {"1-a": Verdict.CE}, compiles=False)))
    write_run(folder, rows)
    problem = msgspec.structs.replace(PROBLEM, name=text) if text else PROBLEM
    write_tasks(folder, {"sum": Task.from_problem(problem, "0" * 64)})
    write_reports(folder)
    return folder


@pytest.fixture(scope="module")
def finished(own_folder: Path) -> Path:
    """Return a run that tests only read."""
    return run(Path(tempfile.mkdtemp(prefix="problem-pages-", dir=own_folder)) / "run")


def words(page: Path) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", page.read_text()))


def test_problem_page_shows_statement_limits_and_solutions(finished: Path) -> None:
    page = words(finished / "report" / name_problem_page("sum"))
    for content in (
        "Add <b>all</b> numbers.",
        "statement/sum.pdf",
        "0.4 s of CPU time, 1.8 s on the clock",
        "4 MiB",
        "right.cpp",
    ):
        assert content in page
    assert "model_solution" in page and "Time limit" in words(
        finished / "report" / make_submission_page_filename("s0")
    )


def test_problem_page_counts_subtasks_that_fail_by_a_single_test(finished: Path) -> None:
    page = (finished / "report" / name_problem_page("sum")).read_text()
    decides = dict(re.findall(r'<td>(\d-\w)</td><td class="number">\d+</td><td class="number">(\d+)<', page))
    # 2-a: two subtasks of s1, and of s2 the subtask without 3-a.
    assert decides == {"1-a": "0", "2-a": "3", "2-b": "0", "3-a": "0"}


def test_time_and_memory_use_are_shares_of_limits(finished: Path) -> None:
    [model] = summarize_run(finished).models
    uses = {use.what: use for use in model.uses}
    # Every test of the samples uses 0.1 s and 1 MiB: a quarter of both. Compile errors use nothing.
    assert {kind: sum(use.counts) for kind, use in uses.items()} == {"time": 3, "memory": 3}
    assert [uses["time"].compute_fraction_below_usage(share) for share in (0.2, 0.25, 1)] == [0, 1, 1]
    assert "Time and memory" in (finished / "report.html").read_text()


def test_problem_page_lists_solving_models_with_share(finished: Path) -> None:
    page = (finished / "report" / name_problem_page("sum")).read_text()
    [solved] = re.findall(r"<h2>Solved by</h2>(.*?)</section>", page, re.S)
    assert "<strong>1 model of 1 solves it.</strong>" in solved and "25.0 %" in solved
    assert re.findall(r'<td class="number">([\d.]+)</td>', solved) == ["1", "4", "100"]


def test_problem_page_has_histograms_of_scores_and_times(finished: Path) -> None:
    page = (finished / "report" / name_problem_page("sum")).read_text()
    scores, times = [
        dict(line.split(",", 1) for line in unescape(numbers).splitlines()[1:])
        for numbers in re.findall(r'data-numbers="([^"]*)"', page)
    ]
    # All points; twice the points of the first subtask alone; and 0 points.
    assert {label: count for label, count in scores.items() if count != "0"} == {
        "100": "1",
        "to 20": "2",
        "0": "1",
    }
    # 0.1 s of 0.4 s on every test; compile errors use no time.
    assert {label: counts for label, counts in times.items() if counts != "0,0"} == {"to 0.12 s": "1,2"}
    assert len(times) == 11 and "(limit 0.4 s)" in page


def test_problem_page_names_pdf_only_statement(tmp_path: Path) -> None:
    folder = run(tmp_path)
    tasks = read_tasks(folder)
    write_tasks(folder, {"sum": msgspec.structs.replace(tasks["sum"], statement="")})
    write_reports(folder)
    assert "only as a PDF, which no model is asked with: statement/sum.pdf" in words(
        folder / "report" / name_problem_page("sum")
    )


def test_report_works_without_tasks_file(tmp_path: Path) -> None:
    folder = run(tmp_path)
    (folder / TASKS).unlink()
    [model] = write_reports(folder).models
    assert model.uses == () and read_tasks(folder) == {}
    assert "Statement" not in (folder / "report" / name_problem_page("sum")).read_text()


def test_malformed_tasks_file_is_input_error(tmp_path: Path) -> None:
    (tmp_path / TASKS).write_text("[]")
    with pytest.raises(InputError, match=TASKS):
        read_tasks(tmp_path)


def test_binary_statement_is_omitted() -> None:
    pdf = msgspec.structs.replace(PROBLEM, statement=Blob.of(b"%PDF-1.7\xe2\xe3\xcf\xd3"))
    assert Task.from_problem(pdf, "").statement == ""


@pytest.mark.parametrize("hostile", HOSTILE)
def test_markup_in_package_text_is_escaped_on_problem_page(tmp_path: Path, hostile: str) -> None:
    folder = run(tmp_path, hostile)
    page = (folder / "report" / name_problem_page("sum")).read_text()
    assert page.count("<script") == 1 and "<img" not in page
    assert visible(hostile.replace("\ud800", "\ufffd")) in unescape(page)
