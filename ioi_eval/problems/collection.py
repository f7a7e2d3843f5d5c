"""Problems together: found by id and year, and known by a hash of all that can change a score."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import msgspec

from ioi_eval.errors import InputError
from ioi_eval.models import Blob, Problem, Value
from ioi_eval.problems.fields import nearest

# What cannot change a score: labels, what is asked, and the solutions that a package brings.
_NO_MATTER = ("name", "source", "solutions", "difficulty", "tags", "statement", "starter_code")


class Problems(Mapping[str, Problem]):
    """Problems by label: the id, or `id@year` where several years have one of the same id.

    Problems from zips lie in a cache that keeps them until `close` is called or the process ends.
    """

    def __init__(self, problems: Iterable[Problem], *, kept: ExitStack | None = None) -> None:
        self._kept = kept or ExitStack()
        self._by_id: dict[str, dict[int | None, Problem]] = {}
        for problem in sorted(problems, key=lambda problem: (problem.id, problem.year or 0)):
            same = self._by_id.setdefault(problem.id, {})
            if problem.year in same:
                raise twice(problem, same[problem.year].source)
            same[problem.year] = problem
        every = (problem for same in self._by_id.values() for problem in same.values())
        self._by_label = {self.label(problem): problem for problem in every}

    def __getitem__(self, label: str) -> Problem:
        return self._by_label[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_label)

    def __len__(self) -> int:
        return len(self._by_label)

    def close(self) -> None:
        """Lets the cache evict what the problems were read from."""
        self._kept.close()

    def find(self, problem_id: str, year: int | None = None) -> Problem:
        """The problem of this id. A year that either side does not give is no hindrance, if only one fits."""
        same = self._by_id.get(problem_id)
        if same is None:
            raise InputError(
                f"unknown problem {problem_id!r}",
                field="problem_id",
                remedy=nearest(problem_id, tuple(self._by_id)),
            )
        fitting = list(same.values()) if year is None else [same[key] for key in (year, None) if key in same]
        if not fitting or (year is None and len(fitting) > 1):
            raise _no_year(problem_id, year, same)
        return fitting[0]

    def label(self, problem: Problem) -> str:
        """What to call a problem where its id alone may not be enough."""
        several = len(self._by_id.get(problem.id, ())) > 1
        return f"{problem.id}@{problem.year or 'none'}" if several else problem.id


def _no_year(problem_id: str, year: int | None, same: Mapping[int | None, Problem]) -> InputError:
    there = ", ".join(str(known or "no year") for known in same)
    if year is None:
        return InputError(
            f"problem {problem_id!r} without a year, and there is one for each of {there}",
            field="year",
            remedy="Add a column `year`",
        )
    return InputError(
        f"no problem {problem_id!r} of {year}", field="year", remedy=f"There is one for {there}"
    )


def twice(problem: Problem, other: str) -> InputError:
    of_year = f" of {problem.year}" if problem.year is not None else ""
    return InputError(
        f"a second package with the id {problem.id!r}{of_year}; the first is {other}",
        where=problem.source,
        field="code",
        remedy="Remove one of them, or give each its `year`",
    )


# --- identity ----------------------------------------------------------------------------------------


def fingerprint(problems: Mapping[str, Problem]) -> dict[str, str]:
    """A hash per problem over everything that can change a score, under the names of the mapping."""
    return {name: _hash(problem) for name, problem in problems.items()}


def _hash(problem: Problem) -> str:
    matter = {name: _identity(value) for name, value in _fields(problem) if name not in _NO_MATTER}
    return hashlib.sha256(msgspec.json.encode(matter, order="deterministic")).hexdigest()


def _identity(value: Any) -> Any:
    """A value without where its contents lie, so that an extracted zip and a folder count as the same."""
    if isinstance(value, Blob):
        return value.sha256
    if isinstance(value, Value):
        return {name: _identity(field) for name, field in _fields(value)}
    if isinstance(value, tuple):
        return [_identity(item) for item in value]
    return value


def _fields(value: Value) -> Iterator[tuple[str, Any]]:
    return ((field.name, getattr(value, field.name)) for field in msgspec.structs.fields(value))
