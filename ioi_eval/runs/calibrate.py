"""Judge a package's own solutions under raised limits, to see how far they are from its limits here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from ioi_eval.model.errors import JudgeFailure
from ioi_eval.model.values import Problem, Submission
from ioi_eval.rules.expectations import (
    Calibration,
    Distance,
    calibration,
    distance,
    kind_of,
    of_packages,
    with_time_factor,
)
from ioi_eval.runs.runner import Judging

REACH = 5.0  # times the limit: what a solution may take before it is ended


async def calibrate(
    problems: Mapping[str, Problem],
    judge: Judging,
    *,
    reach: float = REACH,
    at_once: int = 1,
    on_distance: Callable[[Distance], None] | None = None,
) -> Calibration:
    """Return how far right solutions and those meant to be too slow are from their limits, and a factor.

    One solution at a time by default: the machine is what is measured. JudgeFailure of one solution makes
    it unclear and no more.
    """
    room = asyncio.Semaphore(at_once)
    submissions, _ = of_packages(problems)

    async def measured(problem: Problem, number: int, submission: Submission) -> Distance | str | None:
        solution = problem.solutions[number]
        if (kind := kind_of(problem, solution)) is None:
            return None
        async with room:
            try:
                result = await judge.judge(with_time_factor(problem, reach), submission)
            except JudgeFailure as failure:
                return f"{submission.key}: {failure}"
        found = distance(problem, solution, kind, result)
        if isinstance(found, Distance):
            (on_distance or _ignore)(found)
            return found
        return f"{submission.key}: {found}"

    numbers = [number for problem in problems.values() for number in range(len(problem.solutions))]
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(measured(problems[submission.problem_id], number, submission))
            for number, submission in zip(numbers, submissions, strict=True)
        ]
    found = [task.result() for task in tasks]
    return calibration(
        [one for one in found if isinstance(one, Distance)], [one for one in found if isinstance(one, str)]
    )


def _ignore(found: Distance) -> None:
    pass
