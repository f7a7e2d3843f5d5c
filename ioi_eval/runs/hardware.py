"""Calibrate: a package's own solutions under raised limits, to see how far they are from its limits here."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ioi_eval.benchmarks import BenchmarkOptions
from ioi_eval.engines.registry import EngineChoice
from ioi_eval.model.errors import JudgeFailure
from ioi_eval.model.values import Problem, Submission
from ioi_eval.problems import Problems
from ioi_eval.rules.calibration import Calibration, Distance, calibration, distance, kind_of, with_time_factor
from ioi_eval.rules.expectations import of_packages
from ioi_eval.runs.engine import AnyEngine
from ioi_eval.runs.events import DistanceMeasured, OnEvent, ignore
from ioi_eval.runs.runner import Judging
from ioi_eval.runs.sources import Source, opened
from ioi_eval.runs.work import RunOptions, RunSetup, judging, synchronous
from ioi_eval.store import Store

REACH = 5.0  # times the limit: what a solution may take before it is ended


async def calibrate(
    problems: Source,
    *,
    choice: BenchmarkOptions | None = None,
    reach: float = REACH,
    at_once: int = 1,
    engine: AnyEngine | None = None,
    store: Store | None = None,
    on_event: OnEvent = ignore,
) -> Calibration:
    """Return how far right solutions and those meant to be too slow are from their limits, and a factor.

        found = await calibrate("packages")
        print(found.factor)

    One solution at a time by default: the machine is what is measured. JudgeFailure of one solution makes
    it unclear and no more.
    """
    setup = RunSetup(Path(), engine or EngineChoice(), RunOptions(), store or Store.private(), on_event)
    with opened(problems, choice, setup.store) as usable:
        async with judging(setup) as (judge, _):
            return await _measured(
                usable, judge.but(trusts=True), reach, asyncio.Semaphore(at_once), on_event
            )


calibrate_sync = synchronous(calibrate)


async def _measured(
    problems: Problems, judge: Judging, reach: float, room: asyncio.Semaphore, tell: OnEvent
) -> Calibration:
    submissions, _ = of_packages(problems)

    async def one(problem: Problem, number: int, submission: Submission) -> Distance | str | None:
        solution = problem.solutions[number]
        if (kind := kind_of(problem, solution)) is None:
            return None
        async with room:
            try:
                result = await judge.judge(with_time_factor(problem, reach), submission)
            except JudgeFailure as failure:
                return f"{submission.key}: {failure}"
        found = distance(problem, solution, kind, result)
        if not isinstance(found, Distance):
            return f"{submission.key}: {found}"
        tell(DistanceMeasured(distance=found))
        return found

    numbers = [number for problem in problems.values() for number in range(len(problem.solutions))]
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(one(problems[submission.problem_id], number, submission))
            for number, submission in zip(numbers, submissions, strict=True)
        ]
    found = [task.result() for task in tasks]
    distances = [each for each in found if isinstance(each, Distance)]
    return calibration(distances, [each for each in found if isinstance(each, str)])
