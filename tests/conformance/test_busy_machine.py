"""A busy machine gives the verdicts of a quiet one. scripts/bench/load has more."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
from crowd import crowd, one_processor
from lent import judge_on
from support.places import examples

from ioi_eval import EmbeddedEngine, JudgeOptions, Store, load_problems
from ioi_eval.classic import run_classic
from ioi_eval.models import Blob, Limits, Problem, Solution, Submission, Test, Verdict

pytestmark = pytest.mark.once

# The task types in which programs wait for each other.
SOLUTIONS: Mapping[str, tuple[str, ...]] = {
    "cairn": ("thirds.cpp",),
    "flock": ("sum.cpp",),
    "compass": ("halves.py",),
}
Rows = list[tuple[float, list[tuple[str, float, Verdict]]]]


def submission(problem: Problem, own: Solution) -> Submission:
    language = own.language or "c++"
    return Submission(key=own.name, problem_id=problem.id, code=own.code, language=language)


async def rows(engine: EmbeddedEngine, store: Store, problems: Mapping[str, Problem]) -> Rows:
    async with judge_on(engine, store, JudgeOptions()) as judge:
        todo = [
            (problem, submission(problem, each))
            for problem in problems.values()
            for each in problem.solutions
            if each.name in SOLUTIONS[problem.id]
        ]
        results = await asyncio.gather(*(judge.judge(*each) for each in todo))
    return [
        (each.points, [(test.test_name, test.score, test.status) for test in each.tests]) for each in results
    ]


@pytest.mark.long
async def test_verdicts_are_those_of_a_quiet_machine(
    engine: EmbeddedEngine, store: Store, cache: Path
) -> None:
    problems = load_problems(examples() / "problems", cache=cache, only=set(SOLUTIONS))
    quiet = await rows(engine, store, problems)
    assert len(quiet) == 3 and any(points for points, _ in quiet)
    with crowd(20):
        assert await rows(engine, store, problems) == quiet


# Of its 0.25 s of CPU time it gets a fifth of each second, which is twice what it may idle.
LIMITS = Limits(cpu_time=1.0, wall_time=0.6, memory=256 << 20)
BURNS = "#include <ctime>\nint main() { while (clock() < 0.25 * CLOCKS_PER_SEC) {} }\n"
SLEEPS = "#include <unistd.h>\nint main() { for (;;) sleep(9); }\n"


@pytest.mark.sample("computes")
@pytest.mark.parametrize(
    ("code", "status"), [(BURNS, Verdict.AC), (SLEEPS, Verdict.TLE)], ids=["computes", "sleeps"]
)
async def test_the_script_of_classic_jobs_tells_idling_from_waiting(
    engine: EmbeddedEngine, code: str, status: Verdict
) -> None:
    test = Test(name="1", input=Blob.of(""), answer=Blob.of(""))
    problem = Problem(id="busy", limits=LIMITS, tests=(test,))
    own = Submission(key="1", problem_id=problem.id, code=code)
    with one_processor(), crowd(4):
        result = await run_classic(engine, problem, test, own, runtime="ioi_eval")
    assert result.status is status, result
