"""Runs that stop early: unusable input, cancellation, signals."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
from pathlib import Path

import interrupted_run
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_samples import result, submission
from runner_judges import MADE_OF, PROBLEMS, FakeJudge, rows, score, some
from support.properties import example_count
from support.runs import ResultLog, read_failures, read_rows
from support.waiting import until

from ioi_eval.errors import CheckerBroken, EngineUnavailable, InputError
from ioi_eval.models import Problem, Submission
from ioi_eval.runs import SubmissionJudged
from ioi_eval.runs.runner import judge_all

# --- unusable input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("submissions", "message"),
    [
        ([*some(3), submission("x", problem_id="nosuch")], r"unknown problem 'nosuch'.*sum, tree"),
        ([*some(3), submission("k001")], "duplicate key 'k001'"),
    ],
)
async def test_run_with_unusable_submissions_writes_nothing(
    tmp_path: Path, submissions: list[Submission], message: str
) -> None:
    judge = FakeJudge()
    with pytest.raises(InputError, match=message):
        await score(tmp_path / "run", judge, submissions)
    assert judge.judged == [] and not (tmp_path / "run").exists()


def broken(where: str) -> CheckerBroken:
    return CheckerBroken("the checker does not compile", where=where, log="x", remedy="Correct it")


async def test_broken_checker_fails_submissions_of_its_problem_only(tmp_path: Path) -> None:
    async def prepare(problem: Problem) -> None:
        if problem.id == "tree":
            raise broken("tree.zip")

    judge = FakeJudge(lambda one: broken("tree.zip") if one.problem_id == "tree" else result(one))
    both = [*some(3), submission("t", problem_id="tree")]
    summary, _ = await score(tmp_path / "run", judge, both, prepare_problem=prepare)
    assert (summary.judged, summary.failed) == (3, 1)
    failures = read_failures(tmp_path / "run")
    assert list(failures) == ["t"]
    assert "tree.zip: the checker does not compile. Correct it" in str(failures["t"])


async def test_run_writes_nothing_if_no_problem_can_be_built(tmp_path: Path) -> None:
    async def prepare(problem: Problem) -> None:
        raise broken(f"{problem.id}.zip")

    judge = FakeJudge()
    with pytest.raises(CheckerBroken, match="does not compile"):
        await score(
            tmp_path / "run", judge, [*some(3), submission("t", problem_id="tree")], prepare_problem=prepare
        )
    assert judge.judged == [] and not (tmp_path / "run").exists()


async def test_input_error_in_preparation_ends_run_before_writing(tmp_path: Path) -> None:
    prepared = []

    async def prepare(problem: Problem) -> None:
        prepared.append(problem.id)
        await asyncio.sleep(0)
        if problem.id == "tree":
            raise InputError("the checker does not compile", where="tree.zip")

    judge = FakeJudge()
    with pytest.raises(InputError, match="does not compile"):
        await score(
            tmp_path / "run", judge, [*some(3), submission("t", problem_id="tree")], prepare_problem=prepare
        )
    assert judge.judged == [] and not (tmp_path / "run").exists()
    await score(tmp_path / "run", judge, some(3), prepare_problem=prepare)
    assert prepared == ["sum", "tree", "sum"]
    await score(tmp_path / "run", judge, some(3), prepare_problem=prepare)
    assert prepared == ["sum", "tree", "sum"], "a judged submission needs no checker"


async def test_unavailable_engine_in_preparation_does_not_end_run(tmp_path: Path) -> None:
    async def prepare(problem: Problem) -> None:
        raise EngineUnavailable("not yet")

    summary, _ = await score(tmp_path / "run", FakeJudge(), some(2), prepare_problem=prepare)
    assert summary.judged == 2


async def test_input_error_of_first_submission_writes_nothing(tmp_path: Path) -> None:
    judge = FakeJudge(lambda s: InputError("the checker does not compile", where="sum.zip"))
    with pytest.raises(InputError, match="does not compile"):
        await score(tmp_path / "run", judge, some(8))
    assert not (tmp_path / "run").exists()


async def test_input_error_during_a_run_keeps_complete_rows(tmp_path: Path) -> None:
    judge = FakeJudge(lambda s: InputError("broken") if s.key == "k005" else result(s))
    with pytest.raises(InputError, match="broken"):
        await score(tmp_path / "run", judge, iter(some(8)), 2)
    complete_keys = set(rows(tmp_path / "run"))
    assert complete_keys >= {"k000", "k001", "k002"} and "k005" not in complete_keys
    await score(tmp_path / "run", FakeJudge(), some(8))
    assert len(rows(tmp_path / "run")) == 8


async def test_unexpected_exception_ends_run(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        await score(tmp_path / "run", FakeJudge(lambda s: ZeroDivisionError()), some(2))


async def test_exception_of_the_event_callback_is_raised_unchanged(tmp_path: Path) -> None:
    def tell(event: object) -> None:
        if isinstance(event, SubmissionJudged):
            raise LookupError(event.key)

    with ResultLog.open(tmp_path / "run", MADE_OF) as journal, pytest.raises(LookupError):
        await judge_all(FakeJudge(), PROBLEMS, some(2), journal, workers=2, on_event=tell)
    assert rows(tmp_path / "run")


# --- stopping ----------------------------------------------------------------------------------------


@settings(max_examples=example_count(6, 150))
@given(moment=st.integers(0, 120), workers=st.integers(1, 5), seed=st.integers(0, 5))
def test_run_cancelled_at_any_time_is_completed_by_the_next_call(
    tmp_path_factory: pytest.TempPathFactory, moment: int, workers: int, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("cancelled") / "run"
    submissions = [submission(f"k{n:03}", code=f"// {n // 2}") for n in range(40)]
    dice = random.Random(seed)

    async def cancelled() -> FakeJudge:
        judge = FakeJudge(pause=lambda: dice.randrange(6))
        task = asyncio.create_task(score(folder, judge, submissions, workers))
        for _ in range(moment):
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return judge

    first = asyncio.run(cancelled())
    rows_before = rows(folder)
    assert len(first.judged) - len(first.cancelled) == len(
        {row["submission_sha256"] for row in rows_before.values()}
    )
    asyncio.run(score(folder, second := FakeJudge(), submissions, workers))
    rows_after = rows(folder)
    assert set(rows_after) == {s.key for s in submissions} and rows_before.items() <= rows_after.items()
    assert len(list(read_rows(folder))) == 40
    assert len(first.judged) - len(first.cancelled) + len(second.judged) == 20


@pytest.mark.nightly(unless="2")
@pytest.mark.parametrize("signals", [1, 2])
async def test_interrupt_leaves_only_complete_rows(tmp_path: Path, signals: int) -> None:
    with interrupted_run.start(tmp_path / "run", 20000) as process:
        await until(lambda: (tmp_path / "run" / "results.jsonl").exists() or process.poll() is not None)
        for _ in range(signals):
            process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert process.returncode != 0 and "KeyboardInterrupt" in errors
    assert (tmp_path / "run" / "results.jsonl").read_bytes()[-1:] in (b"", b"\n")
    with ResultLog.open(tmp_path / "run", interrupted_run.FINGERPRINT) as journal:
        assert len(list(read_rows(tmp_path / "run"))) == len(journal.done) < 20000
