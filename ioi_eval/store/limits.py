"""Time limits that were measured, where a package leaves them to its solutions; kept in a run's folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Limits, Problem, Solution, Value
from ioi_eval.rules.expectations import must_be_right
from ioi_eval.store.files import replace
from ioi_eval.store.rows import plain

LIMITS = "limits.json"


class MeasuredLimit(Value, kw_only=True):
    problem: str
    cpu_time: float  # seconds: the limit
    slowest: float  # seconds that the slowest accepted solution took
    solution: str
    test: str
    multiplier: float


def is_measured(problem: Problem) -> bool:
    """Whether the problem's solutions set its time limit."""
    return problem.limits.cpu_time is None and problem.time_from_solutions is not None


def with_limit(problem: Problem, seconds: float) -> Problem:
    times = Limits.contest(seconds, problem.limits.memory)
    limits = msgspec.structs.replace(
        problem.limits, cpu_time=times.cpu_time, wall_time=problem.limits.wall_time or times.wall_time
    )
    return msgspec.structs.replace(problem, limits=limits)


def accepted(problem: Problem) -> Iterator[Solution]:
    return (solution for solution in problem.solutions if must_be_right(solution.expected))


# --- remembered in a run's folder --------------------------------------------------------------------


def identity(problem: Problem) -> str:
    """Of all that a measured limit depends on but the machine."""
    content = [
        problem.id,
        problem.year,
        problem.time_from_solutions,
        [test.input.sha256 for test in problem.tests],
        [
            (one.name, one.language, one.code, *(file.content.sha256 for file in one.files))
            for one in accepted(problem)
        ],
    ]
    return hashlib.sha256(msgspec.json.encode(plain(content))).hexdigest()


def read_limits(folder: Path) -> dict[str, MeasuredLimit]:
    """The measured limits that a run was begun with."""
    path = folder / LIMITS
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, MeasuredLimit])
    except FileNotFoundError:
        return {}
    except (msgspec.MsgspecError, OSError) as error:
        remedy = "Give --fresh to start anew"
        raise InputError(f"holds no measured limits: {error}", where=str(path), remedy=remedy) from error


def limits_of(folder: Path, problems: Mapping[str, Problem]) -> dict[str, MeasuredLimit]:
    """The measured limits of a run's problems, by label."""
    known = read_limits(folder)
    keys = {label: identity(problem) for label, problem in problems.items() if is_measured(problem)}
    return {label: known[key] for label, key in keys.items() if key in known}


def write_limits(folder: Path, limits: Mapping[str, MeasuredLimit]) -> None:
    replace(folder / LIMITS, [msgspec.json.format(msgspec.json.encode(limits)), b"\n"])
