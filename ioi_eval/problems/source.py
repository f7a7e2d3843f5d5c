"""Sources of problems: a folder of packages, a single package, or a zip. Finding, loading, checking them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from ioi_eval.errors import InputError
from ioi_eval.models import Problem
from ioi_eval.problems.archive import ArchiveLimits, extracted, open_cache
from ioi_eval.problems.collection import Problems, twice
from ioi_eval.problems.formats import format_of
from ioi_eval.problems.package import Package

_HEADERS = "problem.json or problem.yaml"
_ARCHIVES = frozenset({".zip", ".kpp"})


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
    with ExitStack() as kept:
        folders = [found for place in _places(Path(source)) for found in _folders(place, cache, limits, kept)]
        wanted = (found for found in folders if not only or _id(*found) in {*only, None})
        problems = [_sound(_read(folder, where)) for folder, where in wanted]
        _check_found(only, problems, source)
        return Problems(problems, kept=kept.pop_all())


def _check_found(only: Collection[str], problems: Iterable[Problem], source: str | Path) -> None:
    for missing in sorted(set(only) - {problem.id for problem in problems}):
        raise InputError(
            f"no problem {missing!r} in it",
            where=str(source),
            remedy=f"List them with `ioi-eval problems {source}`",
        )


def check_problems(
    source: str | Path, *, cache: Path, limits: ArchiveLimits | None = None
) -> tuple[Package, ...]:
    """Every package of a source with its problem, or with all that is wrong with it.

    For looking at: the cache may evict what a zip's problems were read from. `load_problems` prevents that.
    """
    packages: list[Package] = []
    with ExitStack() as kept:
        for place in _places(Path(source)):
            try:
                folders = _folders(place, cache, limits, kept)
            except InputError as error:
                packages.append(Package(where=str(place), errors=(error,)))
                continue
            packages.extend(_read(folder, where) for folder, where in folders)
    return tuple(_without_twins(packages))


def _id(folder: Path, where: str) -> str | None:
    found = format_of(folder)
    return found.package_id(folder, where) if found else None


def _read(folder: Path, where: str) -> Package:
    found = format_of(folder)
    assert found is not None, "only what has a format is taken for a package"
    return found.read(folder, where)


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
    if source.is_file() or format_of(source):
        return [source]
    visible = [path for path in sorted(source.iterdir()) if not path.name.startswith(".")]
    places = [path for path in visible if _is_place(path)]
    if not places:
        raise InputError(
            "no problem packages in this folder",
            where=str(source),
            remedy=f"A package is a folder with a {_HEADERS}, or a zip of one",
        )
    return places


def _is_place(path: Path) -> bool:
    return format_of(path) is not None if path.is_dir() else path.suffix.lower() in _ARCHIVES


def _folders(
    place: Path, cache: Path, limits: ArchiveLimits | None, kept: ExitStack
) -> list[tuple[Path, str]]:
    """The package folders in a place, each with what messages call it: in a zip, the path inside the zip.

    `kept` gets what keeps an extracted zip in the cache.
    """
    if place.is_dir():
        return [(place, str(place))]
    root, pin = extracted(place, open_cache(cache), limits)
    kept.enter_context(pin)
    if format_of(root):
        return [(root, str(place))]
    inside = [path for path in sorted(root.iterdir()) if path.is_dir() and format_of(path)]
    if not inside:
        raise InputError(
            f"no {_HEADERS} in this zip", where=str(place), remedy="Expected a package as exported"
        )
    return [(path, f"{place}/{path.name}") for path in inside]
