"""The hard stop of a test without progress, which is then repeated alone."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Any

import msgspec
import pytest

from ioi_eval import (
    EmbeddedEngine,
    JudgeFailure,
    JudgeOptions,
    Limits,
    Problem,
    Scorer,
    Store,
    Submission,
    Test,
)
from ioi_eval.engines import Check
from ioi_eval.models import Blob, Job, JobResult, SubmissionResult, Verdict
from ioi_eval.testing import FakeEngine

LIMITS = Limits(cpu_time=60.0, wall_time=0.2, memory=256 << 20)  # a test stops after two seconds
SHORTER = msgspec.structs.replace(LIMITS, wall_time=0.1)  # a test stops after a second
WAITS = """
#include <cstdio>
#include <ctime>
int main() {
    double until;
    std::scanf("%lf", &until);
    timespec now;
    do clock_gettime(CLOCK_MONOTONIC, &now); while (now.tv_sec + now.tv_nsec / 1e9 < until);
    std::puts("done");
}
"""


class Counting(EmbeddedEngine):
    """Records how many tests each run job had."""

    def __init__(self, store: Store) -> None:
        super().__init__(store=store, slots=2)
        self.tests: list[int] = []

    async def execute(self, job: Job, check: Check | None = None) -> JobResult:
        if any(file.name == "plan.json" for file in job.files):
            self.tests.append(sum(file.name.endswith(".in") for file in job.files))
        return await super().execute(job, check)


async def judge_delays(
    engine: Counting, store: Store, *delays: float, code: str = WAITS, limits: Limits = LIMITS
) -> SubmissionResult:
    """Judge a program that exits after these seconds on each test.

    The seconds are counted after a first run, because a build on a busy machine is slower.
    """
    async with Scorer(engine, store=store, options=JudgeOptions(all_tests=True)) as scorer:
        submission = Submission(key="1", problem_id="stalling", code=code, language="c++")
        await scorer.score(stalling(limits, 0), submission)
        engine.tests.clear()
        start = time.monotonic()
        return await scorer.score(
            stalling(limits, *(start + seconds if seconds else 0 for seconds in delays)), submission
        )


def stalling(limits: Limits, *until: float) -> Problem:
    tests = (
        Test(name=str(number), input=Blob.of(f"{moment:f} {number}\n"), answer=Blob.of("done\n"))
        for number, moment in enumerate(until)
    )
    return Problem(id="stalling", limits=limits, tests=tuple(tests))


@pytest.mark.nightly  # a later test starts with the same steps
async def test_stalled_test_that_passes_alone_is_accepted(store: Store) -> None:
    result = await judge_delays(engine := Counting(store), store, 3.5)
    assert [test.status for test in result.tests] == [Verdict.AC], (result, engine.tests)


@pytest.mark.nightly  # `test_stalled_tests_get_verdicts_after_repeat_alone`, which computes nothing
async def test_second_stall_fails_all_remaining_tests(store: Store) -> None:
    never = 1e12
    result = await judge_delays(engine := Counting(store), store, 0, never, 0, never)
    statuses = [test.status for test in result.tests]
    assert statuses == [Verdict.AC, Verdict.TLE, Verdict.TLE, Verdict.TLE]
    assert "wall time" in result.tests[1].feedback
    assert "stalls on test 1" in result.tests[2].feedback
    assert engine.tests == [4, 1], "only one of the stalled tests runs again"


@pytest.mark.nightly
async def test_tests_after_a_stall_run_alone(store: Store) -> None:
    result = await judge_delays(engine := Counting(store), store, 3.5, 0, 0)
    assert [test.status for test in result.tests] == [Verdict.AC] * 3, (result, engine.tests)
    assert engine.tests == [3, 1, 2]


SPINS_THEN_SLEEPS = """
#include <cstdio>
#include <ctime>
#include <unistd.h>
int main() {
    double until;
    std::scanf("%lf", &until);
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec + now.tv_nsec / 1e9 < until) for (;;);
    if (until > 0) for (;;) sleep(9);
    std::puts("done");
}
"""


async def test_idle_test_run_alone_fails_only_that_test(store: Store) -> None:
    """Before, the machine's load may have prevented it, which gives no verdict."""
    result = await judge_delays(
        engine := Counting(store), store, 0.9, 0, 0, code=SPINS_THEN_SLEEPS, limits=SHORTER
    )
    statuses = [test.status for test in result.tests]
    assert statuses == [Verdict.TLE, Verdict.AC, Verdict.AC], (result, engine.tests)
    assert engine.tests == [3, 1, 2], "it started to spin in time"


# --- without a program -------------------------------------------------------------------------------


class Stalling(FakeEngine):
    """An engine whose tests stall as their inputs request: never, always, once, or once and then sleep.

    Other inputs are killed from outside, once or always.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tests: list[int] = []
        self._tried = Counter[int]()

    async def execute(self, job: Job, check: object = None) -> JobResult:
        result = await super().execute(job, check)
        if not job.keep:
            inputs = {file.name: file.content.read().decode() for file in job.files}
            tests = json.loads(inputs["plan.json"])["tests"]
            plan = {test["index"]: inputs[test["input"]].split()[0] for test in tests}
            self.tests.append(len(plan))
            stage = msgspec.structs.replace(result.run, stdout=self._stalled(result.run.stdout, plan))
            result = msgspec.structs.replace(result, run=stage)
        return result

    def _stalled(self, said: str, how: dict[int, str]) -> str:
        lines, stalls = list[dict[str, Any]](), False
        for line in map(json.loads, said.splitlines()):
            if "test" in line:
                if stalls:
                    continue  # the job is finished
                number = line["test"]
                self._tried[number] += 1
                if how[number] == "killed" or (how[number] == "killed-once" and self._tried[number] == 1):
                    line = {key: line[key] for key in ("v", "nonce", "test")}
                    line |= {"failure": "killed from outside", "outside": True}
                stalls = how[number] == "always" or (
                    how[number] in ("once", "sleeps") and self._tried[number] == 1
                )
                if stalls or how[number] == "sleeps":
                    line |= {"end": "wall", "score": 0.0, "stalled": stalls}
            lines.append(line)
        return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


@pytest.mark.parametrize(
    ("tests", "statuses", "ran"),
    [
        (["never", "always", "never", "always"], ["AC", "TLE", "TLE", "TLE"], [4, 1]),
        (["once", "never", "never"], ["AC", "AC", "AC"], [3, 1, 2]),
        (["sleeps", "never", "never"], ["TLE", "AC", "AC"], [3, 1, 2]),
        (["killed-once", "never", "killed-once"], ["AC", "AC", "AC"], [3, 2]),
        (["killed-once", "once", "never"], ["AC", "AC", "AC"], [3, 2, 1]),
    ],
)
async def test_stalled_tests_get_verdicts_after_repeat_alone(
    tests: list[str], statuses: list[str], ran: list[int]
) -> None:
    engine = Stalling()
    result = await ends(engine, tests)
    assert [test.status for test in result.tests] == statuses
    assert engine.tests == ran
    if "always" in tests:
        assert "wall time" in result.tests[1].feedback
        assert "stalls on test 1" in result.tests[2].feedback


async def test_kill_that_recurs_when_test_runs_alone_is_judge_failure() -> None:
    """It was killed neither by a limit nor by itself."""
    engine = Stalling()
    with pytest.raises(JudgeFailure, match="killed from outside") as failed:
        await ends(engine, ["never", "killed"])
    assert failed.value.test == "1"
    assert engine.tests == [2, 1]


async def ends(engine: FakeEngine, tests: list[str]) -> SubmissionResult:
    test_objects = (
        Test(name=str(n), input=Blob.of(f"{delay_kind} {n}"), answer=Blob.of(""))
        for n, delay_kind in enumerate(tests)
    )
    problem = Problem(id="stalling", limits=LIMITS, tests=tuple(test_objects))
    async with Scorer(engine, options=JudgeOptions(all_tests=True)) as scorer:
        return await scorer.score(
            problem, Submission(key="1", problem_id="stalling", code=WAITS, language="c++")
        )
