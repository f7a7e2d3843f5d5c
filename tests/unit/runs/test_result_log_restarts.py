"""Runs that are restarted, superseded results, and killed writers."""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import interrupted_run
import msgspec
import pytest
from journal_rows import MADE_OF, failure, keys, row
from run_samples import in_any_order

from ioi_eval import Problem, Submission
from ioi_eval.errors import InputError
from ioi_eval.runs import ResultChange
from ioi_eval.runs.work import supersede_changed_submissions
from ioi_eval.store.folder import Fingerprint, decode_lines, read_failures, read_info, read_rows
from ioi_eval.store.result_log import ResultLog

# --- results that count no longer --------------------------------------------------------------------


def of_problem(key: str, problem: str) -> dict[str, Any]:
    return row(key, problem_id=problem, compiler="g++ 12")


@pytest.fixture
def of_two(folder: Path) -> Path:
    with ResultLog.open(folder, MADE_OF) as journal:
        for key, problem in (("a1", "sum"), ("b1", "tree"), ("a2", "sum")):
            journal.record_result(of_problem(key, problem))
    return folder


EDITED = msgspec.structs.replace(MADE_OF, problems={**MADE_OF.problems, "sum": "x" * 64})


def test_results_of_edited_problem_are_superseded(of_two: Path) -> None:
    results_before = (of_two / "results.jsonl").read_bytes()
    with ResultLog.open(of_two, EDITED) as journal:
        assert journal.done == {"b1"} and journal.edited == {"sum": 2} and not journal.has_same_fingerprint
        assert journal.find_result(of_problem("a1", "sum")["submission_sha256"], "sum") is None
        assert (of_two / "results.jsonl").read_bytes() == results_before  # nothing has started
    with ResultLog.open(of_two, EDITED) as journal:
        journal.record_result(of_problem("a1", "sum"))
        assert journal.read_row("b1")["key"] == "b1" and journal.read_row("a1")["key"] == "a1"
    assert keys(of_two) == ["b1", "a1"]
    assert [
        (superseded_row["key"], superseded_row["problem_sha256"])
        for _, superseded_row in decode_lines(of_two / "earlier.jsonl", dict[str, Any])
    ] == [
        ("a1", "b" * 64),
        ("a2", "b" * 64),
    ]
    with ResultLog.open(of_two, EDITED) as journal:
        assert journal.done == {"a1", "b1"} and journal.has_same_fingerprint
    with ResultLog.open(of_two, MADE_OF) as journal:  # with the original problem, its results count again
        reused_row = journal.find_result(of_problem("a2", "sum")["submission_sha256"], "sum")
        assert reused_row is not None and reused_row["key"] == "a2"


def test_problem_of_a_changed_program_is_not_named_as_changed(of_two: Path) -> None:
    problems = {name: Problem(id=name) for name in ("sum", "tree")}
    submissions = [
        Submission(key=key, problem_id=name, code="x", language="c++")
        for key, name in (("a1", "sum"), ("b1", "tree"), ("a2", "sum"))
    ]
    with ResultLog.open(of_two, EDITED) as journal:
        event = supersede_changed_submissions(journal, problems, submissions, ())
    assert event is not None and event.problems == ("sum",)
    assert event.reasons == {ResultChange.PROBLEM: 2, ResultChange.PROGRAM: 1}


@pytest.mark.parametrize("change", ["edited", "fresh", "removed"])
def test_reused_results_stay_readable_while_their_run_changes(
    of_two: Path, tmp_path: Path, change: str
) -> None:
    """Another process may supersede rows of that run meanwhile."""
    with ResultLog.open(tmp_path / "mine", MADE_OF, reused_folders=[of_two]) as journal:
        if change == "removed":
            shutil.rmtree(of_two)
        else:
            made_of = EDITED if change == "edited" else MADE_OF
            with ResultLog.open(of_two, made_of, discards_earlier_run=change == "fresh") as other:
                other.start_run()
        for key, problem in (("a1", "sum"), ("b1", "tree"), ("a2", "sum")):
            reused_row = journal.find_result(of_problem(key, problem)["submission_sha256"], problem)
            assert reused_row is not None and reused_row["key"] == key


@pytest.mark.parametrize("number", range(5))
def test_kill_while_superseding_loses_no_result(of_two: Path, number: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        steps_until_killed(patch, number)
        try:
            with ResultLog.open(of_two, EDITED) as journal:
                journal.start_run()
        except Killed:
            pass
    with ResultLog.open(of_two, EDITED) as journal:
        assert journal.done == {"b1"}
        journal.record_result(of_problem("a1", "sum"))
    assert keys(of_two) == ["b1", "a1"]
    aside = {
        superseded_row["key"] for _, superseded_row in decode_lines(of_two / "earlier.jsonl", dict[str, Any])
    }
    assert aside == {"a1", "a2"}


# --- starting anew -----------------------------------------------------------------------------------


def test_fresh_discards_the_old_run_with_the_first_new_row(scored: Path) -> None:
    (scored / "report.md").write_text("of the old rows")
    (scored / "notes.txt").write_text("the user's own")
    with ResultLog.open(scored, MADE_OF, discards_earlier_run=True) as journal:
        assert journal.done == set()
        assert keys(scored) == ["a1", "a2", "a3"]
        journal.record_result(row("a2"))
        assert keys(scored) == ["a2"] and journal.done == {"a2"}
    assert not (scored / "report.md").exists() and (scored / "notes.txt").exists()


def test_fresh_run_cannot_reuse_its_own_results(scored: Path, tmp_path: Path) -> None:
    """They would be counted twice. The error comes before any change."""
    results_before = (scored / "results.jsonl").read_bytes()
    (tmp_path / "link").symlink_to(scored)
    for run_folder in (scored, tmp_path / "link"):
        with pytest.raises(InputError, match="'reuse': `reuse` names this run's folder"):
            ResultLog.open(scored, MADE_OF, discards_earlier_run=True, reused_folders=[run_folder])
    assert (scored / "results.jsonl").read_bytes() == results_before
    with ResultLog.open(scored, MADE_OF, reused_folders=[scored]) as journal:
        assert journal.done == {"a1", "a2", "a3"}


def test_fresh_run_without_rows_keeps_old_run(scored: Path) -> None:
    with ResultLog.open(scored, Fingerprint(dump="new"), discards_earlier_run=True):
        pass
    with ResultLog.open(scored, MADE_OF) as journal:
        assert journal.done == {"a1", "a2", "a3"}


class Killed(BaseException):
    pass


def steps_until_killed(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Kill the process before its n-th change to the names in a folder."""
    steps_left = [number]

    def dying(method: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            steps_left[0] -= 1
            if steps_left[0] < 0:
                raise Killed
            return method(*args, **kwargs)

        return call

    monkeypatch.setattr(Path, "replace", dying(Path.replace))
    monkeypatch.setattr(Path, "unlink", dying(Path.unlink))


def test_temporary_files_of_a_killed_writer_are_removed(scored: Path) -> None:
    (scored / ".failures.jsonl.123.tmp").write_text("half")
    (scored / ".own.tmp").write_text("the user's own")
    with ResultLog.open(scored, MADE_OF):
        pass
    assert [path.name for path in scored.glob(".*.tmp")] == [".own.tmp"]


@pytest.mark.parametrize("number", range(12))
def test_kill_during_fresh_leaves_the_old_or_the_new_run(scored: Path, number: int) -> None:
    with ResultLog.open(scored, MADE_OF) as journal:
        journal.record_failure(failure("a9"))
    new_fingerprint = msgspec.structs.replace(MADE_OF, dump="new")
    with pytest.MonkeyPatch.context() as patch:
        steps_until_killed(patch, number)
        try:
            with ResultLog.open(scored, new_fingerprint, discards_earlier_run=True) as journal:
                journal.record_result(row("b1"))
        except Killed:
            pass
    info = read_info(scored)
    assert info is not None
    with ResultLog.open(scored, info.fingerprint) as journal:
        old_keys, begun = {"a1", "a2", "a3"}, {"b1"}
        assert journal.done in ((old_keys,) if info.fingerprint.dump == MADE_OF.dump else (set(), begun))
        assert journal.failed == ({"a9"} if journal.done == old_keys else set())
        journal.record_result(row("b2"))
    assert set(keys(scored)) - {"b2"} in (old_keys, set(), begun)


# --- killed for real ---------------------------------------------------------------------------------

NUMBER, ROUNDS = 800, 16


def run_for(folder: Path, seconds: float | None) -> int:
    with interrupted_run.start(folder, NUMBER) as process:
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        if seconds is not None:
            time.sleep(seconds)
            process.send_signal(signal.SIGKILL)
        process.communicate()
        return process.returncode


def run_to_the_end(folder: Path) -> list[Mapping[str, Any]]:
    """Run until no failure is left. Return the rows sorted by key."""
    for _ in range(20):
        assert run_for(folder, None) == 0
        if not read_failures(folder):
            return in_any_order(read_rows(folder))
    raise AssertionError("failures remain")


def interruptions(tmp_path: Path) -> Iterator[Path]:
    """Yield a run's folder after each kill at a random time. Completed runs are replaced by new runs."""
    kills, number, longest = 0, 0, 0.12
    while kills < ROUNDS:
        folder = tmp_path / f"run-{number}"
        if run_for(folder, random.uniform(0, longest)) == -signal.SIGKILL:
            kills += 1
            yield folder
            if not any(read_rows(folder)):  # a slow machine needs more time
                longest *= 1.5
        else:
            number += 1


@pytest.mark.nightly
def test_kills_at_random_times_neither_duplicate_nor_lose_results(tmp_path: Path) -> None:
    rows_before: dict[Path, dict[str, Any]] = {}
    for folder in interruptions(tmp_path):
        rows = list(read_rows(folder))
        rows_after = {row["key"]: row for row in rows}
        assert len(rows_after) == len(rows)
        assert rows_before.get(folder, {}).items() <= rows_after.items()
        rows_before[folder] = rows_after
    assert sum(map(len, rows_before.values())) > 0, (
        "every kill came before the first row, so the test proves nothing"
    )
    undisturbed = run_to_the_end(tmp_path / "undisturbed")
    assert [row["key"] for row in undisturbed] == [s.key for s in interrupted_run.submissions(NUMBER)]
    for folder in rows_before:
        assert run_to_the_end(folder) == undisturbed
        assert (folder / "failures.jsonl").read_bytes() == b""
