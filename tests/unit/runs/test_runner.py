from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_samples import RAN, TESTS, in_any_order, result, submission
from runner_judges import MADE_OF, PROBLEMS, FakeJudge, rows, score, some
from support.clocks import FastForwardClock
from support.runs import ResultLog, RunSummary, read_failures, read_rows

from ioi_eval.errors import EngineUnavailable, InputError, JudgeFailure
from ioi_eval.model.doing import BUILD, WAITS, mark_step_executing, track_step
from ioi_eval.models import Problem, Reason, Submission, SubmissionResult, Verdict
from ioi_eval.runs.events import (
    Event,
    RunFinished,
    RunStarted,
    SubmissionFailed,
    SubmissionJudged,
    SubmissionsNow,
)
from ioi_eval.runs.runner import judge_all

# --- judged submissions ------------------------------------------------------------------------------


async def test_every_submission_gets_its_row(tmp_path: Path) -> None:
    judge = FakeJudge(lambda s: result(s, {"2-a": Verdict.WA} if s.key == "k001" else {}))
    summary, _ = await score(tmp_path / "run", judge, some(5))
    assert summary == RunSummary(judged=5, tests=20, verdicts={Verdict.AC: 4, Verdict.WA: 1})
    assert sorted(rows(tmp_path / "run")) == [f"k{n:03}" for n in range(5)]
    assert rows(tmp_path / "run")["k001"]["all_subtasks_points"] == 20


async def test_run_starts_more_workers_if_the_engine_gains_slots(tmp_path: Path) -> None:
    """Two workers wait for two more, which start only when the slots are read again."""
    slots = iter([0, 2, 4, 3])
    together = asyncio.Barrier(4)

    class Meeting(FakeJudge):
        async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
            await together.wait()
            return await super().judge(problem, submission)

    judge = Meeting()
    with ResultLog.open(tmp_path / "run", MADE_OF) as journal:
        await judge_all(judge, PROBLEMS, some(8), journal, workers=lambda: next(slots, 1))
    assert len(rows(tmp_path / "run")) == 8


@pytest.mark.parametrize("workers", [1, 3, 50])
async def test_concurrency_is_at_most_the_number_of_workers(tmp_path: Path, workers: int) -> None:
    judge = FakeJudge(pause=lambda: 3)
    await score(tmp_path / "run", judge, some(20), workers)
    assert judge.most == min(workers, 20)


async def test_active_submissions_are_reported(tmp_path: Path) -> None:
    """Each second, and at most 30 of them by their keys."""
    clock, is_reported = FastForwardClock(), asyncio.Event()

    class Slow(FakeJudge):
        async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
            kind, endpoint = (
                BUILD if submission.key < "k002" else WAITS,
                mark_step_executing(f"server {submission.key}"),
            )
            with track_step(kind), endpoint if submission.key != "k000" else contextlib.nullcontext():
                await is_reported.wait()
            return await super().judge(problem, submission)

    def look(event: Event) -> None:
        if isinstance(event, SubmissionsNow) and event.number == 31:
            reports.append(event)
            is_reported.set()

    reports = list[SubmissionsNow]()
    with ResultLog.open(tmp_path / "run", MADE_OF) as journal:
        run = asyncio.create_task(judge_all(Slow(), PROBLEMS, some(31), journal, workers=31, on_event=look))
        for _ in range(4):
            await clock.advance(0.5)
        assert reports
        await run
    assert (reports[0].building, reports[0].builds_waiting) == (2, 1)
    assert [(active.key, active.step, active.where) for active in reports[0].longest] == [
        ("k000", BUILD, ""),
        ("k001", BUILD, "server k001"),
        *((f"k{number:03}", WAITS, f"server k{number:03}") for number in range(2, 30)),
    ]


async def test_zero_workers_is_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the number of workers must be at least 1, not 0"):
        await score(tmp_path / "run", FakeJudge(), some(1), 0)


async def test_second_call_skips_judged_submissions(tmp_path: Path) -> None:
    await score(tmp_path / "run", FakeJudge(), some(5))
    judge = FakeJudge()
    summary, events = await score(tmp_path / "run", judge, some(5))
    assert judge.judged == [] and summary == RunSummary(skipped=5)
    assert events == [RunStarted(total=5, skipped=5), RunFinished(summary=summary)]


async def test_run_without_submissions_creates_its_files(tmp_path: Path) -> None:
    await score(tmp_path / "run", FakeJudge(), [])
    assert (tmp_path / "run" / "run.json").exists() and rows(tmp_path / "run") == {}


async def test_submission_stream_is_read_ahead_by_at_most_the_worker_count(tmp_path: Path) -> None:
    judge = FakeJudge(pause=lambda: 2)
    recorded = 0
    read_ahead: list[int] = []

    def stream() -> Iterator[Submission]:
        for number, sent in enumerate(some(200)):
            read_ahead.append(number - recorded)
            yield sent

    def count(event: Event) -> None:
        nonlocal recorded
        recorded += isinstance(event, SubmissionJudged)

    with ResultLog.open(tmp_path / "run", MADE_OF) as journal:
        summary = await judge_all(judge, PROBLEMS, stream(), journal, workers=4, on_event=count)
    assert summary.judged == 200 and max(read_ahead) <= 4


# --- equal submissions -------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 4])
async def test_equal_submissions_are_judged_once(tmp_path: Path, workers: int) -> None:
    judge = FakeJudge(lambda s: result(s, {"3-a": Verdict.TLE}), pause=lambda: 5)
    same = [submission(f"s{n}", code="same", row={"model": f"m{n}"}, repairs=(f"r{n}",)) for n in range(6)]
    summary, events = await score(tmp_path / "run", judge, [*same, submission("other")], workers)
    assert sorted(judge.judged) == ["other", "s0"]
    assert (summary.judged, summary.repeated, summary.tests) == (7, 5, 8)
    result_rows = rows(tmp_path / "run")
    assert [result_rows[f"s{n}"]["model"] for n in range(6)] == [f"m{n}" for n in range(6)]
    assert [result_rows[f"s{n}"]["repairs"] for n in range(6)] == [[f"r{n}"] for n in range(6)]
    assert [result_rows[f"s{n}"]["repeats"] for n in range(6)] == [None, *["s0"] * 5]
    same_but = {"key": "", "model": "", "repairs": [], "repeats": None}
    results = [{**result_rows[f"s{n}"], **same_but} for n in range(6)]
    assert all(judged_result == results[0] for judged_result in results)
    assert sum(event.repeated for event in events if isinstance(event, SubmissionJudged)) == 5


async def test_submission_equal_to_an_earlier_one_is_not_judged(tmp_path: Path) -> None:
    await score(tmp_path / "run", FakeJudge(), [submission("a", code="same")])
    judge = FakeJudge()
    await score(tmp_path / "run", judge, [submission("a", code="same"), submission("b", code="same")])
    await score(tmp_path / "run", judge, [submission("c", code="same")])
    assert judge.judged == []
    assert {key: row["repeats"] for key, row in rows(tmp_path / "run").items()} == {
        "a": None,
        "b": "a",
        "c": "a",
    }


@pytest.mark.parametrize("workers", [1, 4])
async def test_equal_submissions_are_judged_each_without_sharing(tmp_path: Path, workers: int) -> None:
    same = [submission(f"s{n}", code="same") for n in range(6)]
    judge = FakeJudge(pause=lambda: 5)
    summary, _ = await score(tmp_path / "run", judge, same, workers, shares_results=False)
    assert sorted(judge.judged) == [f"s{n}" for n in range(6)]
    assert (summary.judged, summary.repeated, summary.tests) == (6, 0, 24)
    assert {row["repeats"] for row in rows(tmp_path / "run").values()} == {None}


async def test_equal_code_for_another_problem_or_language_is_judged(tmp_path: Path) -> None:
    judge = FakeJudge(lambda s: result(s, problem=PROBLEMS[s.problem_id]))
    different = [
        submission("a", code="same"),
        submission("b", code="same", language="python"),
        submission("c", code="same", problem_id="tree"),
    ]
    await score(tmp_path / "run", judge, different)
    assert sorted(judge.judged) == ["a", "b", "c"]


async def test_many_equal_submissions_are_not_held_in_memory(tmp_path: Path) -> None:
    count_read = 0
    read_counts: list[int] = []

    def stream() -> Iterator[Submission]:
        nonlocal count_read
        for n in range(500):
            count_read += 1
            yield submission(f"s{n}", code="same")

    def reply(of: Submission) -> SubmissionResult:
        read_counts.append(count_read)
        return result(of)

    judge = FakeJudge(reply, pause=lambda: 1000)
    summary, _ = await score(tmp_path / "run", judge, stream(), 2)
    assert summary.judged == 500 and judge.judged == ["s0"] and read_counts[0] < 80


# --- failures ----------------------------------------------------------------------------------------


async def test_run_continues_after_a_judge_failure(tmp_path: Path) -> None:
    down = JudgeFailure("it crashed", phase="checking", test="1-a", remedy="Mend the checker")
    judge = FakeJudge(lambda s: down if s.key in {"k001", "k002"} else result(s))
    summary, events = await score(tmp_path / "run", judge, some(4))
    assert (summary.judged, summary.failed) == (2, 2)
    assert set(rows(tmp_path / "run")) == {"k000", "k003"}
    assert read_failures(tmp_path / "run")["k001"] == {
        "key": "k001",
        "problem_id": "sum",
        "reason": "it crashed",
        "phase": "checking",
        "test": "1-a",
        "remedy": "Mend the checker",
        "final": False,
    }
    assert SubmissionFailed(key="k002", problem_id="sum", reason=str(down)) in events
    retry = FakeJudge()
    await score(tmp_path / "run", retry, some(4))
    assert sorted(retry.judged) == ["k001", "k002"] and read_failures(tmp_path / "run") == {}


async def test_unavailable_engine_is_a_judge_failure(tmp_path: Path) -> None:
    await score(tmp_path / "run", FakeJudge(lambda s: EngineUnavailable("nobody answers")), some(1))
    failure = read_failures(tmp_path / "run")["k000"]
    assert (failure["reason"], failure["phase"]) == ("nobody answers", "engine")


async def test_equal_submissions_do_not_inherit_failure(tmp_path: Path) -> None:
    """The first submission fails, the second does not, and the rest get its result."""
    judge = FakeJudge(lambda s: JudgeFailure("no") if s.key == "s0" else result(s), pause=lambda: 5)
    same = [submission(f"s{n}", code="same") for n in range(4)]
    summary, _ = await score(tmp_path / "run", judge, same)
    assert (summary.judged, summary.failed, judge.judged) == (3, 1, ["s0", "s1"])
    assert set(read_failures(tmp_path / "run")) == {"s0"}
    assert {key: row["repeats"] for key, row in rows(tmp_path / "run").items()} == {
        "s1": None,
        "s2": "s1",
        "s3": "s1",
    }


async def test_failing_equal_submissions_are_each_tried(tmp_path: Path) -> None:
    judge = FakeJudge(lambda s: JudgeFailure("no"), pause=lambda: 5)
    same = [submission(f"s{n}", code="same") for n in range(3)]
    summary, _ = await score(tmp_path / "run", judge, same)
    assert summary.failed == 3 and judge.judged == ["s0", "s1", "s2"]
    assert set(read_failures(tmp_path / "run")) == {"s0", "s1", "s2"}


# --- order -------------------------------------------------------------------------------------------


@settings(max_examples=settings().max_examples // 4)
@given(seed=st.integers(0, 1000), workers=st.integers(1, 6))
def test_order_of_finishing_does_not_change_sorted_results(
    tmp_path_factory: pytest.TempPathFactory, seed: int, workers: int
) -> None:
    def reply(of: Submission) -> SubmissionResult:
        dice = random.Random(of.code)
        return result(of, {test: dice.choice(RAN) for test in TESTS})

    folder, dice = tmp_path_factory.mktemp("order"), random.Random(seed)
    submissions = [submission(f"k{n}", code=f"// {n % 9}") for n in range(15)]
    asyncio.run(score(folder / "plain", FakeJudge(reply), submissions, 1))
    shuffled = dice.sample(submissions, len(submissions))
    asyncio.run(score(folder / "other", FakeJudge(reply, lambda: dice.randrange(9)), shuffled, workers))
    assert in_any_order(read_rows(folder / "plain")) == in_any_order(read_rows(folder / "other"))


# --- events ------------------------------------------------------------------------------------------


async def test_events_report_every_submission(tmp_path: Path) -> None:
    statuses = {"1-a": Verdict.WA, "2-a": Verdict.SKIPPED}
    of = submission("a")

    def reply(sent: Submission) -> SubmissionResult:
        return result(sent, statuses) if sent.key == "a" else result(sent, compiles=False)

    summary, events = await score(tmp_path / "run", FakeJudge(reply), [of, submission("c")], 1)
    assert events == [
        RunStarted(total=2, skipped=0),
        SubmissionJudged(
            key="a",
            problem_id="sum",
            status=Verdict.WA,
            points=0.0,
            verdicts={Verdict.WA: 1, Verdict.SKIPPED: 1, Verdict.AC: 2},
            tests=3,
        ),
        SubmissionJudged(
            key="c",
            problem_id="sum",
            status=Verdict.CE,
            points=0.0,
            verdicts={Verdict.CE: 4},
            tests=0,
            reason=Reason.NOT_COMPILED,
        ),
        RunFinished(summary=summary),
    ]


async def test_run_of_streamed_submissions_starts_without_a_total(tmp_path: Path) -> None:
    _, events = await score(tmp_path / "run", FakeJudge(), iter(some(2)))
    assert events[0] == RunStarted(total=None, skipped=0)


async def test_streamed_submissions_are_judged_as_they_arrive(tmp_path: Path) -> None:
    """Each submission is generated while the submission before it is judged."""
    judged_count = asyncio.Semaphore(1)

    def reply(sent: Submission) -> SubmissionResult:
        judged_count.release()
        return result(sent)

    async def writing() -> AsyncIterator[Submission]:
        for sent in some(3):
            await judged_count.acquire()
            yield sent

    summary, events = await score(tmp_path / "run", FakeJudge(reply), writing())
    assert (summary.judged, events[0]) == (3, RunStarted(total=None, skipped=0))


async def test_failing_stream_loses_no_result(tmp_path: Path) -> None:
    async def writing() -> AsyncIterator[Submission]:
        for sent in some(2):
            yield sent
            await asyncio.sleep(0.01)
        raise InputError("the model is gone")

    with pytest.raises(InputError, match="the model is gone"):
        await score(tmp_path / "run", FakeJudge(), writing())
    assert sorted(rows(tmp_path / "run")) == ["k000", "k001"]


async def test_duplicate_key_in_stream_is_input_error(tmp_path: Path) -> None:
    async def writing() -> AsyncIterator[Submission]:
        for sent in (*some(1), *some(1)):
            yield sent

    with pytest.raises(InputError, match="duplicate key 'k000'"):
        await score(tmp_path / "run", FakeJudge(), writing())


class Known(list[Submission]):
    """Scanned submissions that count how often they are iterated."""

    def __init__(self, given: Iterable[Submission]) -> None:
        super().__init__(given)
        self.went = 0

    @property
    def problem_ids(self) -> Mapping[str, str]:
        return {sent.key: sent.problem_id for sent in list.__iter__(self)}

    def __iter__(self) -> Iterator[Submission]:
        for sent in super().__iter__():
            self.went += 1
            yield sent


async def test_only_first_rows_of_indexed_dump_are_read_before_judging(tmp_path: Path) -> None:
    """Only 10,000 rows are read for the languages, so that a large dump's first job starts soon."""

    async def stop(languages: object) -> None:
        raise InputError("stopped before the first submission")

    scanned = Known(some(10_010))
    with pytest.raises(InputError, match="stopped before"):
        await score(tmp_path / "run", FakeJudge(), scanned, check_languages=stop)
    assert scanned.went == 10_000


async def test_indexed_dump_is_read_twice_and_judged_once(tmp_path: Path) -> None:
    scanned = Known(some(20))
    summary, events = await score(tmp_path / "run", FakeJudge(), scanned)
    assert scanned.went == 20 + 20 and summary.judged == 20
    assert events[0] == RunStarted(total=20, skipped=0)
    second_summary, events = await score(tmp_path / "run", FakeJudge(), Known(some(25)))
    assert (second_summary.judged, second_summary.skipped) == (5, 20) and events[0] == RunStarted(
        total=25, skipped=20
    )
