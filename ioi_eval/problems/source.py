"""Sources of problems: a folder of packages, a single package, or a zip. Finding, loading, checking them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.errors import InputError
from ioi_eval.models import Blob, Problem, Value
from ioi_eval.problems.archive import ArchiveLimits, extracted
from ioi_eval.problems.cms import HEADER, Package, looks_like_package, package_id, read_package
from ioi_eval.problems.fields import nearest

# What cannot change a score: labels, and the solutions that a package brings.
_NO_MATTER = ("name", "source", "solutions")


class Problems:
    """Problems by id, and by year where several years have one of the same id."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self._all = tuple(sorted(problems, key=lambda problem: (problem.id, problem.year or 0)))
        self._by_id: dict[str, dict[int | None, Problem]] = {}
        for problem in self._all:
            same = self._by_id.setdefault(problem.id, {})
            if problem.year in same:
                raise twice(problem, same[problem.year].source)
            same[problem.year] = problem

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self._by_id)

    def find(self, problem_id: str, year: int | None = None) -> Problem:
        """The problem of this id. A year that either side does not give is no hindrance, if only one fits."""
        same = self._by_id.get(problem_id)
        if same is None:
            raise InputError(
                f"unknown problem {problem_id!r}", field="problem_id", remedy=nearest(problem_id, self.ids)
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


# --- loading -----------------------------------------------------------------------------------------


def load_problems(
    source: str | Path,
    *,
    cache: Path,
    only: Collection[str] = frozenset(),
    limits: ArchiveLimits | None = None,
) -> Problems:
    """The problems of a source, all or `only` those with these ids. Raises the first InputError.

    Zips are extracted once into `cache`. Packages that `only` leaves out may be broken.
    """
    problems = []
    for place in _places(Path(source)):
        for folder, where in _folders(place, cache, limits):
            if not only or package_id(folder) in {*only, None}:
                problems.append(_sound(read_package(folder, where)))
    loaded = Problems(problem for problem in problems if not only or problem.id in only)
    for wanted in sorted(set(only) - set(loaded.ids)):
        raise InputError(
            f"no problem {wanted!r} in it",
            where=str(source),
            remedy=f"List them with `ioi-eval problems {source}`",
        )
    return loaded


def check_problems(
    source: str | Path, *, cache: Path, limits: ArchiveLimits | None = None
) -> tuple[Package, ...]:
    """Every package of a source with its problem, or with all that is wrong with it."""
    packages: list[Package] = []
    for place in _places(Path(source)):
        try:
            folders = _folders(place, cache, limits)
        except InputError as error:
            packages.append(Package(where=str(place), errors=(error,)))
            continue
        packages.extend(read_package(folder, where) for folder, where in folders)
    return tuple(_without_twins(packages))


def _sound(package: Package) -> Problem:
    if package.problem is None:
        raise package.errors[0]
    return package.problem


def _without_twins(packages: Iterable[Package]) -> Iterator[Package]:
    first: dict[tuple[str, int | None], str] = {}
    for package in packages:
        problem = package.problem
        other = first.setdefault((problem.id, problem.year), package.where) if problem else package.where
        if problem is not None and other != package.where:
            yield Package(where=package.where, errors=(twice(problem, other),))
        else:
            yield package


# --- finding -----------------------------------------------------------------------------------------


def _places(source: Path) -> list[Path]:
    """The package folders and the zips of a source."""
    try:
        return _found(source)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", where=str(source)) from error


def _found(source: Path) -> list[Path]:
    if not source.exists():
        raise InputError(
            "no such file or folder", where=str(source), remedy="Name a folder or zip of packages"
        )
    if source.is_file() or looks_like_package(source):
        return [source]
    visible = [path for path in sorted(source.iterdir()) if not path.name.startswith(".")]
    places = [path for path in visible if _is_place(path)]
    if not places:
        raise InputError(
            "no problem packages in this folder",
            where=str(source),
            remedy=f"A package is a folder with a {HEADER}, or a zip of one",
        )
    return places


def _is_place(path: Path) -> bool:
    return looks_like_package(path) if path.is_dir() else path.suffix.lower() == ".zip"


def _folders(place: Path, cache: Path, limits: ArchiveLimits | None) -> list[tuple[Path, str]]:
    """The package folders in a place, each with what messages call it: in a zip, the path inside the zip."""
    if place.is_dir():
        return [(place, str(place))]
    root = extracted(place, cache, limits)
    if looks_like_package(root):
        return [(root, str(place))]
    inside = [path for path in sorted(root.iterdir()) if path.is_dir() and looks_like_package(path)]
    if not inside:
        raise InputError(
            f"no {HEADER} in this zip", where=str(place), remedy="Expected a package as exported"
        )
    return [(path, f"{place}/{path.name}") for path in inside]


# --- identity ----------------------------------------------------------------------------------------


def fingerprint(problems: Problems) -> dict[str, str]:
    """A hash per problem over everything that can change a score, by the problem's label."""
    return {problems.label(problem): _hash(problem) for problem in problems}


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
