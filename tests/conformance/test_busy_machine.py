"""Verdicts on a busy machine equal verdicts on an idle machine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
from borrowed_engine import judge_on
from cpu_load import busy_processes, single_processor
from support.folders import examples_folder, graders_folder

from ioi_eval import EmbeddedEngine, JudgeOptions, Store, load_problems
from ioi_eval.classic import run_classic
from ioi_eval.models import Blob, Limits, Problem, Solution, Submission, Test, Verdict
from ioi_eval.server.prepared import ClassicJobEngine

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
            (problem, submission(problem, solution))
            for problem in problems.values()
            for solution in problem.solutions
            if solution.name in SOLUTIONS[problem.id]
        ]
        results = await asyncio.gather(*(judge.judge(*solution) for solution in todo))
    return [
        (solution.points, [(test.test_name, test.score, test.status) for test in solution.tests])
        for solution in results
    ]


@pytest.mark.nightly
async def test_verdicts_on_busy_machine_equal_verdicts_on_idle_machine(store: Store, cache: Path) -> None:
    problems = load_problems(examples_folder() / "problems", cache=cache, only=set(SOLUTIONS))
    async with EmbeddedEngine(store=store) as engine:  # a slot for each processor
        quiet = await rows(engine, store, problems)
        assert len(quiet) == 3 and any(points for points, _ in quiet)
        with busy_processes(20):
            assert await rows(engine, store, problems) == quiet


# The program gets 1/24 of each second, so it needs 2.4 s for 0.1 s of CPU time. It may idle for 1.4 s.
LIMITS = Limits(cpu_time=0.2, memory=256 << 20)
BURNS = "#include <ctime>\nint main() { while (clock() < 0.1 * CLOCKS_PER_SEC) {} }\n"
SLEEPS = "#include <unistd.h>\nint main() { for (;;) sleep(9); }\n"


@pytest.mark.nightly  # outlasting the idle limit needs 2 s of a whole processor
@pytest.mark.parametrize(
    ("code", "status"), [(BURNS, Verdict.AC), (SLEEPS, Verdict.TLE)], ids=["computes", "sleeps"]
)
async def test_classic_job_script_distinguishes_idling_from_waiting_for_cpu(
    store: Store, code: str, status: Verdict
) -> None:
    test = Test(name="1", input=Blob.of(""), answer=Blob.of(""))
    problem = Problem(id="busy", limits=LIMITS, tests=(test,))
    candidate = Submission(key="1", problem_id=problem.id, code=code, language="c++")
    async with EmbeddedEngine(store=store, packages=(graders_folder() / "classic",)) as engine:
        judging = partial(
            run_classic, ClassicJobEngine(engine, store), problem, test, candidate, runtime="cms_ioi"
        )
        await judging()  # builds the program before the machine is busy
        with single_processor(), busy_processes(23):
            result = await judging()
    assert result.status is status, result
