"""A report that is updated equals a report that is built from nothing."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from run_samples import RAN, TESTS, problem, result, submission, write_run
from support.runs import Fingerprint, ReportOptions, ResultLog, failure_row, result_row

from ioi_eval.errors import InputError, JudgeFailure
from ioi_eval.models import Problem, Submission
from ioi_eval.reports import page, pages, summarize_run, write_reports
from ioi_eval.reports import tables as tests_table
from ioi_eval.reports.records import PageChoice
from ioi_eval.reports.summary import RunSummaryBuilder
from ioi_eval.store.rows import read_result
from ioi_eval.store.tasks import Task, write_tasks

MADE_OF = Fingerprint(dump="d" * 64)
PROBLEMS = [problem("sum"), problem("tree"), problem("plain", subtasks=False)]
OWN = {page.INDEX, page.ROWS, ".lock"}  # files that only the next report needs


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Let small runs count as large, and record how many rows each report reads."""
    for module, name, value in (
        (page, "MIN_INDEXED_BYTES", 1),
        (page, "CHUNK_BYTES", 1000),
        (tests_table, "MAX_BUFFERED_TESTS", 10),
        (tests_table, "PIECE_BYTES", 100),
        (pages, "LONGEST_LIST", 7),
        (pages, "SAMPLE_SIZE", 9),
        (pages, "MAX_COLOURED_SUBMISSIONS", 12),
        (pages, "MAX_LISTED", 3),
    ):
        monkeypatch.setattr(module, name, value)
    counts = list[int]()
    read_rows: Callable[..., None] = RunSummaryBuilder.read_rows

    def counting(self: RunSummaryBuilder, *more: Any, **keywords: Any) -> None:
        counts.append(0)

        def count(row: object, found_row: object, offset: int) -> None:
            counts[-1] += offset >= keywords.get("count_start_offset", 0)

        read_rows(self, *more, count, **keywords)

    monkeypatch.setattr(RunSummaryBuilder, "read_rows", counting)
    yield counts


def files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name not in OWN)
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def same_as_anew(folder: Path, options: ReportOptions | None = None) -> None:
    """Write the report, and compare it with a report of a copy without its cache."""
    copy = folder.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for path in folder.iterdir():
        if path.suffix in (".json", ".jsonl") and path.name != "summary.json":
            shutil.copy(path, copy)
    problems_raised = list[str]()
    for run_folder in (folder, copy):
        try:
            write_reports(run_folder, options)
        except InputError as error:
            problems_raised.append(error.problem)
    assert len(problems_raised) in (0, 2) and len(set(problems_raised)) <= 1
    if not problems_raised:
        assert files(folder) == files(copy)


class History:
    """A run with random changes."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.dice, self.number = folder, random.Random(seed), 0
        self.of: dict[str, tuple[Submission, Problem]] = {}
        self.options = ReportOptions()

    def new(self, model: str = "") -> tuple[Submission, Problem]:
        of = self.dice.choice(PROBLEMS)
        self.number += 1
        subtask_names = [subtask.name for subtask in of.subtasks]
        row = {
            "model": model or f"model {self.dice.randrange(3)}",
            "difficulty": self.dice.choice(["easy", "hard", None]),
            "tags": self.dice.sample(["dp", "trees"], self.dice.randrange(3)),
            "solution_number": self.dice.choice([None, self.number]),
            "generation": "x" * self.dice.randrange(9),
        }
        target = self.dice.choice([None, *subtask_names])
        sent = submission(f"key {self.number}", problem_id=of.id, row=row, target_subtask=target)
        self.of[sent.key] = sent, of
        return sent, of

    def row(self, one: Submission, of: Problem) -> dict[str, Any]:
        statuses = {test: self.dice.choice(RAN) for test in TESTS if self.dice.random() < 0.5}
        result_options = {"compiles": self.dice.random() < 0.8, "compile_output": "no", "feedback": "fine"}
        judged_result = result(
            one,
            statuses,
            problem=of,
            compiler=f"g++ 12.{self.dice.randrange(2)}",
            checker="diff",
            **result_options,
        )
        repeats = self.dice.choice([*self.of]) if self.dice.random() < 0.2 else ""
        return result_row(one, of, msgspec.structs.replace(judged_result, repeats=repeats))

    def add(self) -> None:
        with ResultLog.open(self.folder, MADE_OF, allows_several_compilers=True) as journal:
            for _ in range(self.dice.randrange(1, 9)):
                journal.record_result(self.row(*self.new()))

    def fail(self) -> None:
        with ResultLog.open(self.folder, MADE_OF) as journal:
            sent, of = self.new()
            journal.record_failure(failure_row(sent, JudgeFailure("no server", phase="run"), of))

    def judge_failed(self) -> None:
        """Record results of failed submissions, and leave their lines in failures.jsonl."""
        journal = ResultLog.open(self.folder, MADE_OF, allows_several_compilers=True)
        for key in sorted(journal.failed):
            journal.record_result(self.row(*self.of[key]))
        failures = (self.folder / "failures.jsonl").read_bytes()
        journal.close()
        (self.folder / "failures.jsonl").write_bytes(failures)

    def rename(self) -> None:
        with ResultLog.open(self.folder, MADE_OF, allows_several_compilers=True) as journal:
            gone = [key for key in sorted(journal.done) if self.dice.random() < 0.3]
            for key in gone:
                journal.mark_superseded(key)
            journal.start_run()
            for key in gone:
                sent, of = self.of[key]
                self.of[key] = msgspec.structs.replace(sent, row={**sent.row, "model": "renamed"}), of
                journal.record_result(self.row(*self.of[key]))

    def twice(self) -> None:
        """Check that a duplicate row is refused, and remove it."""
        path = self.folder / "results.jsonl"
        rows = path.read_bytes()
        path.write_bytes(rows + self.dice.choice(rows.splitlines(keepends=True)))
        with pytest.raises(InputError, match="duplicate key"):
            write_reports(self.folder, self.options)
        same_as_anew(self.folder, self.options)
        path.write_bytes(rows)

    def torn(self) -> None:
        """Update the report with a partial last row, and remove the partial row."""
        path = self.folder / "results.jsonl"
        rows = path.read_bytes()
        path.write_bytes(rows + rows[: self.dice.randrange(1, 50)])
        same_as_anew(self.folder, self.options)
        path.write_bytes(rows)

    def other_options(self) -> None:
        self.options = ReportOptions(
            ks=self.dice.choice([(1, 5, 10), (2,)]),
            submissions=self.dice.choice([2, 50]),
            pages=self.dice.choice([None, *PageChoice]),
        )

    def other_problem(self) -> None:
        of = self.dice.choice(PROBLEMS)
        write_tasks(self.folder, {of.id: Task.from_problem(of, str(self.number))})


STEPS = (
    *(History.add,) * 5,
    History.fail,
    History.judge_failed,
    History.rename,
    History.twice,
    History.torn,
    History.other_options,
    History.other_problem,
)


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(2, 40))])
def test_incremental_report_equals_full_report(tmp_path: Path, read: list[int], seed: int) -> None:
    history = History(tmp_path / "run", seed)
    write_run(history.folder, [history.row(*history.new())], made_of=MADE_OF)
    for _ in range(12):
        history.dice.choice(STEPS)(history)
        same_as_anew(history.folder, history.options)


def grown(folder: Path) -> History:
    """Write fourteen rows with their report, and three more rows."""
    history = History(folder, 7)
    write_run(folder, [history.row(*history.new()) for _ in range(14)], made_of=MADE_OF)
    write_reports(folder)
    with ResultLog.open(folder, MADE_OF, allows_several_compilers=True) as journal:
        for _ in range(3):
            journal.record_result(history.row(*history.new()))
    return history


def test_incremental_report_reads_only_new_rows(tmp_path: Path, read: list[int]) -> None:
    grown(tmp_path / "run")
    same_as_anew(tmp_path / "run")
    assert read == [14, 3, 17]
    rows = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    keys = {row["key"] for row in rows if read_result(row).tests}
    table = pq.read_table(tmp_path / "run" / "tests.parquet")
    assert len(keys) > 9 and set(table["key"].to_pylist()) == keys
    write_reports(tmp_path / "run")
    assert read == [14, 3, 17]


def changed_early(folder: Path) -> None:
    rows = (folder / "results.jsonl").read_bytes()
    middle = rows.index(b'"model":"model', len(rows) // 3)
    (folder / "results.jsonl").write_bytes(
        rows[:middle] + rows[middle:].replace(b'"model":"model', b'"model":"nodel', 1)
    )


def test_rows_edited_at_same_size_are_read_again(tmp_path: Path, read: list[int]) -> None:
    """The edit is in the middle of the file, so that its first and last bytes are unchanged."""
    grown(tmp_path / "run")
    write_reports(tmp_path / "run")
    stamp = pages.ReportStamp.of_run_folder(tmp_path / "run", ReportOptions())
    changed_early(tmp_path / "run")
    assert pages.ReportStamp.of_run_folder(tmp_path / "run", ReportOptions()) == stamp
    same_as_anew(tmp_path / "run")
    assert "nodel" in (tmp_path / "run" / "report.md").read_text()


def flipped(name: str, where: float) -> Callable[[Path], None]:
    def flip(folder: Path) -> None:
        content = bytearray((folder / name).read_bytes())
        content[int(len(content) * where)] ^= 1
        (folder / name).write_bytes(content)

    return flip


def gone(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def other_confinement(folder: Path) -> None:
    info = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**info, "confinements": {"x": {"v": 1}}}))


DOUBTS = {
    "an early row changed": changed_early,
    "rows of lists changed": flipped(page.ROWS, 0.9),
    "rows of lists are gone": gone(page.ROWS),
    "the index is not a valid index": flipped(page.INDEX, 0),
    "the index is gone": gone(page.INDEX),
    "the table changed": flipped("tests.parquet", 0.2),
    "the table is gone": gone("tests.parquet"),
    "a problem is described": lambda folder: write_tasks(
        folder, {"sum": Task.from_problem(PROBLEMS[0], "s")}
    ),
    "the confinement is shown": other_confinement,
}


@pytest.mark.nightly(unless="^(?!.*gone|an early row)")
@pytest.mark.parametrize("doubt", DOUBTS)
def test_invalid_report_cache_is_rebuilt(tmp_path: Path, read: list[int], doubt: str) -> None:
    grown(tmp_path / "run")
    DOUBTS[doubt](tmp_path / "run")
    same_as_anew(tmp_path / "run")
    assert read == [14, 17, 17]


def test_changed_report_sources_cause_a_full_rebuild(
    tmp_path: Path, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    grown(tmp_path / "run")
    stamp_of = pages.ReportStamp.of_run_folder

    def stamp_of_other_sources(*arguments: Any) -> pages.ReportStamp:
        return msgspec.structs.replace(stamp_of(*arguments), program="other")

    monkeypatch.setattr(pages.ReportStamp, "of_run_folder", stamp_of_other_sources)
    same_as_anew(tmp_path / "run")
    assert read == [14, 17, 17]


def test_summary_without_report_writes_no_cache(tmp_path: Path) -> None:
    grown(tmp_path / "run")
    assert summarize_run(tmp_path / "run").scored == 17
    assert not {path.name for path in (tmp_path / "run").iterdir()} & {page.INDEX, page.ROWS}
