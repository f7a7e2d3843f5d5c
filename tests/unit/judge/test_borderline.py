"""Times near the limit: what is measured again, alone, and what counts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest
from support.waits import settle

from ioi_eval import (
    EmbeddedEngine,
    InputError,
    JudgeOptions,
    Limits,
    Problem,
    Scorer,
    Store,
    Submission,
    Test,
)
from ioi_eval.engines.jobs.engine import TurnTaking
from ioi_eval.models import Blob, Borderline, TaskType, TestResult, Verdict
from ioi_eval.rules.limits import is_open, read_borderline, settled, stretched

pytestmark = pytest.mark.alike

LIMIT = 0.2  # seconds
PROBLEM = Problem(
    id="work",
    limits=Limits.contest(LIMIT, 256 << 20),
    tests=(Test(name="1", input=Blob.of(""), answer=Blob.of("done\n")),),
)
# Takes a share of the limit by its own clock of CPU time, so that the machine's speed does not matter.
WORKS = """
#include <cstdio>
#include <ctime>
int main() {{
    while (std::clock() < {seconds} * CLOCKS_PER_SEC) {{}}
    std::puts("{says}");
}}
"""


async def judged(share: float, cache: Path, *, says: str = "done", band: Borderline | None) -> TestResult:
    store = Store(cache)
    code = WORKS.format(seconds=share * LIMIT, says=says)
    engine = EmbeddedEngine(store=store, slots=2)
    async with Scorer(engine, store=store, options=JudgeOptions(borderline=band)) as scorer:
        result = await scorer.score(PROBLEM, Submission(key="1", problem_id="work", code=code))
    return result.tests[0]


@pytest.mark.long
async def test_over_the_limit_every_time_is_too_slow(shared_cache: Path) -> None:
    test = await judged(1.05, shared_cache, band=Borderline(high=10))
    assert test.status is Verdict.TLE and test.score == 0
    assert len(test.cpu_times) == 4 and test.cpu_time == min(test.cpu_times)
    assert "s of 0.200 s, the least of 4 runs)" in test.feedback


async def test_beyond_the_band_nothing_runs_again(shared_cache: Path) -> None:
    test = await judged(3.0, shared_cache, band=Borderline())
    assert test.status is Verdict.TLE and test.cpu_times == ()
    assert test.cpu_time is not None and test.cpu_time < 2 * LIMIT and "s of 0.200 s)" in test.feedback


async def test_a_wrong_answer_is_not_measured_again(shared_cache: Path) -> None:
    test = await judged(1.05, shared_cache, says="wrong", band=Borderline(high=10))
    assert (test.status, test.cpu_times) == (Verdict.TLE, ())


async def test_within_the_limit_is_as_without_a_band(shared_cache: Path) -> None:
    test = await judged(0.5, shared_cache, band=Borderline())
    assert (test.status, test.cpu_times) == (Verdict.AC, ())


async def test_without_a_band_the_limit_ends_it(shared_cache: Path) -> None:
    test = await judged(1.05, shared_cache, band=None)
    assert (test.status, test.cpu_times) == (Verdict.TLE, ())


def run(share: float, score: float = 1.0, status: Verdict = Verdict.AC) -> TestResult:
    return TestResult(test_name="1", score=score, status=status, cpu_time=share * LIMIT)


@pytest.mark.parametrize(
    ("runs", "status"),
    [
        ([run(1.02), run(0.98)], Verdict.AC),
        ([run(1.02), run(1.05), run(1.01)], Verdict.TLE),
        ([run(1.02), run(0.25, 0.0, Verdict.RE)], Verdict.TLE),  # failing quickly saves nothing
        ([run(1.02, 0.5, Verdict.PA), run(0.98, 0.5, Verdict.PA)], Verdict.PA),
        ([run(1.0)], Verdict.TLE),  # from the limit on
        ([run(1.02, 0.0, Verdict.MLE)], Verdict.MLE),
    ],
)
def test_the_least_time_counts(runs: Iterable[TestResult], status: Verdict) -> None:
    found = settled(list(runs), PROBLEM)
    assert found.status is status and (found.score > 0) == (status in (Verdict.AC, Verdict.PA))


def test_only_what_could_be_saved_runs_again() -> None:
    assert is_open(run(1.02), PROBLEM)
    assert not is_open(run(0.98), PROBLEM)
    assert not is_open(run(1.02, 0.0, Verdict.WA), PROBLEM)


def test_programs_are_ended_at_the_upper_end_and_idle_as_before() -> None:
    longer = stretched(PROBLEM, Borderline()).limits
    assert longer.cpu_time == pytest.approx(1.15 * LIMIT)
    assert longer.wall_time == PROBLEM.limits.wall_time == 2 * LIMIT + 1
    steps = Problem(id="steps", limits=PROBLEM.limits, task_type=TaskType.TWO_STEPS)
    assert stretched(steps, Borderline()) is steps and stretched(PROBLEM, None) is PROBLEM


@pytest.mark.parametrize("text", ["0.9", "1.1:1.2", "0.5:0.9", "a:b", "0:2", "1:nan", "1:20"])
def test_bands_that_mean_nothing_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="1:1 measures nothing again"):
        read_borderline(text)


def test_bands_are_read() -> None:
    assert read_borderline("0.8:1.2") == Borderline(low=0.8, high=1.2)
    assert read_borderline("1:1") is None
    assert str(Borderline()) == "0.9:1.15"


async def test_who_is_alone_waits_for_all_and_all_for_it() -> None:
    turns, log = TurnTaking(), list[str]()

    async def work(name: str, *, alone: bool = False) -> None:
        async with turns.take(alone=alone):
            log.append(f"{name} begins")
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            log.append(f"{name} ends")

    async with asyncio.TaskGroup() as group:
        for name in ("a", "b"):
            group.create_task(work(name))
        await asyncio.sleep(0)
        group.create_task(work("alone", alone=True))
        await asyncio.sleep(0)
        group.create_task(work("late"))
    assert sorted(log[:4]) == ["a begins", "a ends", "b begins", "b ends"]
    assert log[4:] == ["alone begins", "alone ends", "late begins", "late ends"]


async def test_who_is_last_waits_for_those_that_come(monkeypatch: pytest.MonkeyPatch) -> None:
    turns, log = TurnTaking(), list[str]()

    async def last() -> None:
        async with turns.take(alone=True, last=True):
            log.append("last")

    async def after() -> None:
        async with turns.take():
            log.append("after")

    async with turns.take():
        waiting = asyncio.create_task(last())
        await asyncio.sleep(0)
        async with turns.take():  # who is alone would keep it waiting
            log.append("another")
    await waiting
    assert log == ["another", "last"]
    monkeypatch.setattr("ioi_eval.engines.jobs.engine._OTHERS_FIRST", 0.0)
    async with asyncio.TaskGroup() as group, turns.take():
        group.create_task(last())
        await settle()  # its patience is at an end
        group.create_task(after())
        await asyncio.sleep(0)
        log.append("first")
    assert log[2:] == ["first", "last", "after"]


async def test_a_turn_that_is_cancelled_holds_nobody_up() -> None:
    turns = TurnTaking()
    async with turns.take():
        waiting = asyncio.create_task(turns.take(alone=True).__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        async with turns.take():
            pass
    async with turns.take(alone=True):
        pass


async def test_a_turn_that_fails_holds_nobody_up() -> None:
    turns = TurnTaking()
    async with asyncio.timeout(30):
        for alone in (False, True):
            with pytest.raises(ValueError, match="no power"):
                async with turns.take(alone=alone):
                    raise ValueError("no power")
        async with turns.take(alone=True):
            pass
