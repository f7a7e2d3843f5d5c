"""A comparison of comparisons: problems that each built-in one decides differently."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.benchmarks import BenchmarkOptions
from ioi_eval.model.errors import InputError
from ioi_eval.model.values import CheckerKind, Value, Verdict
from ioi_eval.runs.solutions import ValidatedSolutions, validate

# Those for programs; results of functions are compared as JSON whatever is asked for.
KINDS = tuple(kind for kind in CheckerKind if not kind.is_program and not kind.value.startswith("json"))


class Decision(Value):
    """The verdicts of one comparison on one problem's solutions."""

    problem: str
    checker: str
    accepts: int  # solutions that the benchmark's own comparison rejects
    rejects: int  # solutions that it accepts


async def compare_checkers(
    solutions: str | Path, problems: str | Path | None = None, *, out: str | Path, **same: Any
) -> tuple[ValidatedSolutions, tuple[Decision, ...]]:
    """Validate by the benchmark's own comparison, then by each of `KINDS`, each in a folder below `out`.

    Takes what `validate` takes. Only solutions that were judged in both are compared.
    """
    choice = same.pop("choice", None) or BenchmarkOptions()
    if choice.checker:
        problem = "this command tries every comparison"
        raise InputError(problem, field="choice.checker", remedy="Leave it out")
    own = await validate(solutions, problems, out=Path(out) / "own", choice=choice, **same)
    found: list[Decision] = []
    for kind in KINDS:
        chosen = msgspec.structs.replace(choice, checker=kind.value)
        other = await validate(solutions, problems, out=Path(out) / kind.value, choice=chosen, **same)
        found.extend(_differing(kind.value, _solved(own), _solved(other)))
    return own, tuple(found)


def _solved(outcome: ValidatedSolutions) -> dict[str, tuple[str, bool]]:
    checks = outcome.validation.solutions
    return {one.key: (one.problem, one.status is Verdict.AC) for one in checks}


def _differing(
    checker: str, own: Mapping[str, tuple[str, bool]], other: Mapping[str, tuple[str, bool]]
) -> list[Decision]:
    """By problem, those of which some solution is decided differently."""
    changed: dict[str, list[bool]] = {}
    for key, (problem, solved) in own.items():
        if key in other and other[key][1] != solved:
            changed.setdefault(problem, []).append(not solved)
    return [
        Decision(problem=problem, checker=checker, accepts=sum(all_), rejects=len(all_) - sum(all_))
        for problem, all_ in sorted(changed.items())
    ]
