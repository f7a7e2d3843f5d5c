"""The time factor between right solutions and solutions that should be too slow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from ioi_eval import EmbeddedEngine, Limits, Problem, Scorer, Store, Test
from ioi_eval.cli.calibrate import describe_calibration
from ioi_eval.models import Blob, Solution
from ioi_eval.problems import Problems
from ioi_eval.rules.calibration import ExpectedSpeed, TimeRatio, propose_time_factor, with_time_factor
from ioi_eval.runs import calibrate

LIMIT = 0.1  # seconds
# Computes for a share of the limit, by its CPU clock, so that the machine's speed does not matter.
WORKS = """
#include <cstdio>
#include <ctime>
int main() {{
    while (std::clock() < {seconds} * CLOCKS_PER_SEC) {{}}
    std::puts("done");
}}
"""
SLEEPS = "#include <unistd.h>\nint main() { sleep(60); }\n"


def works(share: float) -> str:
    return WORKS.format(seconds=share * LIMIT)


def package(solutions: Mapping[str, tuple[str, str]]) -> Problems:
    problem = Problem(
        id="work",
        limits=Limits.contest(LIMIT, 256 << 20),
        tests=(Test(name="1", input=Blob.of(""), answer=Blob.of("done\n")),),
        solutions=tuple(
            Solution(name=name, language="c++", code=code, expected=keyword)
            for name, (keyword, code) in solutions.items()
        ),
    )
    return Problems([problem])


async def factor_of(solutions: Mapping[str, tuple[str, str]], cache: Path) -> float | None:
    store = Store(cache)
    async with Scorer(EmbeddedEngine(store=store, slots=1), store=store) as scorer:
        calibration = await calibrate(package(solutions), engine=scorer)
    assert len(calibration.distances) + len(calibration.unclear) == len(solutions)
    return calibration.factor


@pytest.mark.nightly
async def test_slow_solution_at_three_times_limit_needs_no_factor(shared_cache: Path) -> None:
    solutions = {"quick": ("correct", works(0.2)), "slow": ("time_limit", works(3.0))}
    assert await factor_of(solutions, shared_cache) == 1


async def test_time_factor_is_between_right_and_slow_solutions(shared_cache: Path) -> None:
    solutions = {"right": ("correct", works(1.2)), "slow": ("time_limit", works(3.6))}
    factor = await factor_of(solutions, shared_cache)
    assert factor is not None and 1.3 < factor < 3.5


@pytest.mark.nightly
async def test_no_time_factor_is_proposed_if_slow_solution_is_faster(shared_cache: Path) -> None:
    solutions = {"right": ("correct", works(1.5)), "slow": ("time_limit", works(0.5))}
    assert await factor_of(solutions, shared_cache) is None


async def test_idle_or_wrong_solutions_are_excluded_from_calibration(store: Store) -> None:
    solutions = {
        "right": ("correct", works(0.1)),
        "sleeper": ("time_limit", SLEEPS),
        "wrong here": ("correct", "int main() {}"),
    }
    async with Scorer(EmbeddedEngine(store=store, slots=1), store=store) as scorer:
        calibration = await calibrate(package(solutions), engine=scorer, reach=1.1)
    assert [distance.solution for distance in calibration.distances] == ["right"]
    assert sorted(calibration.unclear) == [
        "work/correct/wrong here: it is not right here",
        "work/time_limit/sleeper: it exceeds the limit by idling, so no factor helps",
    ]


def at(kind: ExpectedSpeed, ratio: float, *, at_least: bool = False) -> TimeRatio:
    return TimeRatio(
        problem="p", solution=f"{kind} {ratio}", kind=kind, ratio=ratio, test="1", at_least=at_least
    )


@pytest.mark.parametrize(
    ("right", "slow", "factor"),
    [
        (0.5, 3.0, 1.0),
        (0.9, 3.0, 1.6),
        (2.0, 8.0, 4.0),
        (2.0, None, 3.0),
        (0.1, None, 1.0),
        (3.0, 2.0, None),
        (0.009, 0.4, None),
        (0.5, 1.0, None),
        (0.5, 1.1, 0.74),
    ],
)
def test_time_factor_is_midway_between_right_and_slow_solutions(
    right: float, slow: float | None, factor: float | None
) -> None:
    distances = [at(ExpectedSpeed.RIGHT, 0.01), at(ExpectedSpeed.RIGHT, right)]
    if slow is not None:
        distances += [at(ExpectedSpeed.SLOW, slow), at(ExpectedSpeed.SLOW, 9.0, at_least=True)]
    proposal = propose_time_factor(distances)
    assert proposal.factor == factor
    if factor is not None:
        assert proposal.time_limit_margins == (factor / right, slow / factor if slow is not None else None)


def test_calibration_margins_are_rounded() -> None:
    proposal = propose_time_factor([at(ExpectedSpeed.RIGHT, 0.0029), at(ExpectedSpeed.SLOW, 5.76)])
    assert describe_calibration(proposal)[-2:] == [
        "Proposed: --time-factor 1. With it, the slowest right solution passes until it takes 340 times its"
        " time here.",
        "The fastest solution that should be too slow fails until it takes 1/5.8 of its time here.",
    ]


def test_slow_solution_within_limit_prevents_a_proposed_factor() -> None:
    proposal = propose_time_factor([at(ExpectedSpeed.RIGHT, 0.009), at(ExpectedSpeed.SLOW, 0.4)])
    assert describe_calibration(proposal)[1:] == [
        "The fastest solution that should be too slow takes 0.40 of it (p, slow 0.4).",
        "That is within the limit, so no factor is proposed: larger tests, or another expected verdict for"
        " this solution, must separate it from right solutions first.",
    ]


def test_right_solution_stopped_by_limit_prevents_factor() -> None:
    assert (
        propose_time_factor([at(ExpectedSpeed.RIGHT, 5.0, at_least=True), at(ExpectedSpeed.SLOW, 9.0)]).factor
        is None
    )


def test_no_time_factor_without_right_solutions() -> None:
    assert propose_time_factor([at(ExpectedSpeed.SLOW, 9.0)]).factor is None


def test_time_factor_changes_only_time_limits() -> None:
    (problem,) = package({}).values()
    limits = with_time_factor(problem, 2.0).limits
    assert (limits.cpu_time, limits.wall_time) == (2 * LIMIT, 2 * (problem.limits.wall_time or 0))
    assert limits.memory == problem.limits.memory
    assert with_time_factor(problem, 1.0) == problem
