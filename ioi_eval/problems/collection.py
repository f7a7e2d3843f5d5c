"""Problems together: found in folders and zips, by id and year, with statements and a hash."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache as once
from pathlib import Path
from typing import Protocol

import msgspec

from ioi_eval.model.digests import problem_digest
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import nearest
from ioi_eval.model.languages import find
from ioi_eval.model.values import Problem, Solution
from ioi_eval.problems.archive import ArchiveLimits, extracted, open_cache
from ioi_eval.problems.cms import Cms
from ioi_eval.problems.hydro import Hydro
from ioi_eval.problems.kattis import Kattis
from ioi_eval.problems.missing import MISSING
from ioi_eval.problems.package import ARCHIVES, Package, PackageFormat
from ioi_eval.problems.python_programs import unrunnable, without_broken_graders
from ioi_eval.problems.statements import attachments_of, document_of, statement_of
from ioi_eval.problems.tps import Tps
from ioi_eval.registries import Registry, registered
from ioi_eval.store import private_folder
from ioi_eval.store.files import MAY_READ, closed_folders, readable

NOT_SELECTED = "not selected"


class LeftOut(InputError):
    """A problem that the source has, and that is not to be judged: not selected, or it cannot be."""

    def __init__(self, problem_id: str, reason: str) -> None:
        self.reason = reason
        super().__init__(f"problem {problem_id!r} is left out: {reason}", field="problem_id")


class Problems(Mapping[str, Problem]):
    """Problems by label: the id, or `id@year` where several years have one of the same id.

    Problems from zips lie in a cache that keeps them until `close` is called or the process ends.
    `packages`: of Python, that programs may count on; the judge must have them. `others`: ids that the source
    has as well, and that were not chosen.
    """

    def __init__(
        self,
        problems: Iterable[Problem],
        *,
        packages: Collection[str] = (),
        others: Collection[str] = (),
        kept: ExitStack | None = None,
    ) -> None:
        self._kept, self.packages, self._others = kept or ExitStack(), tuple(packages), frozenset(others)
        self._by_id: dict[str, dict[int | None, Problem]] = {}
        for problem in sorted(problems, key=lambda problem: (problem.id, problem.year or 0)):
            same = self._by_id.setdefault(problem.id, {})
            if problem.year in same:
                raise twice(problem, same[problem.year].source)
            same[problem.year] = problem
        of_all = (problem for same in self._by_id.values() for problem in same.values())
        self._by_label = {self.label(problem): problem for problem in of_all}

    def __getitem__(self, label: str) -> Problem:
        return self._by_label[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_label)

    def __len__(self) -> int:
        return len(self._by_label)

    @property
    def left_out(self) -> dict[str, int]:
        """Count the problems that were asked for and cannot be judged, by reason."""
        return {}

    def close(self) -> None:
        """Let the cache evict what the problems were read from."""
        self._kept.close()

    def find(self, problem_id: str, year: int | None = None) -> Problem:
        """Return the problem of this id. A year may be missing on either side, if only one fits."""
        same = self._by_id.get(problem_id)
        if same is None and problem_id in self._others:
            raise LeftOut(problem_id, NOT_SELECTED)
        if same is None:
            raise InputError(
                f"unknown problem {problem_id!r}",
                field="problem_id",
                remedy=nearest(problem_id, tuple(self._by_id)),
            )
        fitting = list(same.values()) if year is None else [same[key] for key in (year, None) if key in same]
        if not fitting or (year is None and len(fitting) > 1):
            there = ", ".join(str(year or "no year") for year in same)
            what, remedy = f"no problem {problem_id!r} of {year}", f"There is one for {there}"
            if year is None:
                what = f"problem {problem_id!r} without a year, and there is one for each of {there}"
                remedy = "Add a column `year`"
            raise InputError(what, field="year", remedy=remedy)
        return fitting[0]

    def label(self, problem: Problem) -> str:
        """Return the problem's id, with its year where several problems have it."""
        several = len(self._by_id.get(problem.id, ())) > 1
        return f"{problem.id}@{problem.year or 'none'}" if several else problem.id


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
    """Return a hash per problem over everything that can change a score, by the mapping's names."""
    return {name: problem_digest(problem) for name, problem in problems.items()}


# --- formats ----------------------------------------------------------------------------------------


class Format(Protocol):
    """A reader of packages of one format: a module or an object. `where` is the package's name in messages.

    A new one is a module with these functions, and an entry in the registry of formats. docs/extending.md
    shows one.
    """

    def looks_like_package(self, folder: Path) -> bool: ...

    def package_id(self, folder: Path, where: str) -> str | None:
        """Return the problem's id; None where the package is not sound enough to say it."""

    def read_package(self, folder: Path, where: str) -> Package: ...


@once
def formats() -> tuple[Format, ...]:
    """Return all formats: the first that fits a folder reads it.

    Formats of other packages come first: their packages may look like ours in part. A package for the
    preparation system (TPS) also has what one for the contest system (CMS) has.
    """
    found = registered(Registry.FORMATS)
    missing = (stand_in for plugin, stand_in in MISSING.items() if plugin not in found)
    return tuple(sorted((*found.values(), Hydro(), Kattis(), Tps(), Cms(), *missing), key=_rank))


def _rank(found: Format) -> int:
    return found.rank if isinstance(found, PackageFormat) else 0


def format_of(folder: Path) -> Format | None:
    return next((found for found in formats() if found.looks_like_package(folder)), None)


# --- loading -----------------------------------------------------------------------------------------

_HEADERS = "problem.json, problem.yaml, problem.xml, task.yaml, config.yaml or init.yml"
_EXPECTED = f"A package is a folder with a {_HEADERS}, or a zip of one"
_DEEPEST = 2  # folders around the packages, within the one that was named


def load_problems(
    source: str | Path,
    *,
    cache: str | Path | None = None,
    only: Collection[str] = frozenset(),
    choose: Callable[[Sequence[str]], Collection[str]] | None = None,
    change: Callable[[Problem], Problem] | None = None,
    limits: ArchiveLimits | None = None,
    packages: Collection[str] = (),
) -> Problems:
    """Return the problems of a source, all or `only` those with these ids. Raise the first InputError.

    `choose` takes the ids that are left, in the order of their packages, and returns those that are wanted.
    `change` gives each problem the form in which it is judged, as other limits.

    Zips are extracted once into `cache`, by default the private folder. Packages that `only` leaves out may
    be broken.
    """
    place = Path(cache) if cache else private_folder()
    with ExitStack() as kept:
        folders = package_folders(source, place, kept, limits)
        others: Collection[str] = ()
        if choose is not None:
            ids = _ids(folders, only)
            only = choose(ids)
            others = set(ids).difference(only)
        wanted = (found for found in folders if not only or _id(*found) in {*only, None})
        problems = list[Problem]()
        for folder, where in wanted:
            package = _read(folder, where)
            if package.problem is None:
                raise package.errors[0]
            problems.append(package.problem)
        problems = problems if change is None else list(map(change, problems))
        _refuse_missing(only, {problem.id for problem in problems}, folders, source)
        return Problems(problems, packages=packages, others=others, kept=kept.pop_all())


def check_problems(
    source: str | Path,
    *,
    cache: Path,
    only: Collection[str] = frozenset(),
    choose: Callable[[Sequence[str]], Collection[str]] | None = None,
    change: Callable[[Problem], Problem] | None = None,
    limits: ArchiveLimits | None = None,
) -> tuple[Package, ...]:
    """Return every package of a source with its problem, or with all that is wrong with it.

    `only` and `choose` leave packages of other ids out; those that are too broken to say their id stay. An id
    that none has is an InputError. For looking at: the cache may evict what a zip's problems were read from.
    `load_problems` prevents that.
    """
    places: list[Package | tuple[Path, str]] = []
    with ExitStack() as kept:
        for place in _places(Path(source)):
            try:
                places.extend(_folders(place, cache, limits, kept))
            except InputError as error:
                places.append(Package(where=str(place), errors=(error,)))
        folders = [found for found in places if not isinstance(found, Package)]
        if choose is not None:
            only = choose(_ids(folders, only))
        packages = [
            found if isinstance(found, Package) else _read(*found)
            for found in places
            if isinstance(found, Package) or not only or _id(*found) in {*only, None}
        ]
        if all(package.problem is not None for package in packages):
            _refuse_missing(
                only, {package.problem.id for package in packages if package.problem}, folders, source
            )
    return tuple(
        package
        if change is None or package.problem is None
        else msgspec.structs.replace(package, problem=change(package.problem))
        for package in _without_twins(packages)
    )


def _refuse_missing(
    only: Collection[str], found: Collection[str], folders: Sequence[tuple[Path, str]], source: str | Path
) -> None:
    for missing in sorted(set(only) - set(found)):
        names = tuple(name for place in folders if (name := _id(*place)))
        raise InputError(f"no problem {missing!r} in it", where=str(source), remedy=nearest(missing, names))


def _ids(folders: Iterable[tuple[Path, str]], only: Collection[str]) -> list[str]:
    """Return the ids of packages, all or those in `only`, in the order of the packages."""
    return [name for found in folders if (name := _id(*found)) and (not only or name in only)]


def _id(folder: Path, where: str) -> str | None:
    found = format_of(folder)
    return found.package_id(folder, where) if found else None


def _read(folder: Path, where: str) -> Package:
    found = format_of(folder)
    assert found is not None, "only what has a format is taken for a package"
    if closed := tuple(_closed(folder, where)):
        return Package(where=where, errors=closed)
    package = found.read_package(folder, where)
    problem = package.problem
    if problem is None:
        return package
    problem, python = without_broken_graders(problem)
    findings = (*unrunnable(problem), *([python] if python else []))
    errors = (
        *(*_pointers(problem, folder, where), *_misnamed(problem, where), *_idle(problem, where)),
        *(
            InputError(found.problem, where=f"{where}/{found.file}", remedy=found.remedy)
            for found in findings
            if found.fails
        ),
    )
    if errors:
        return Package(where=where, format=package.format, errors=errors)
    statement, document = problem.statement or statement_of(folder), document_of(folder)
    notes = [*_of_other_formats(found, folder), *package.notes]
    notes += [f"{where}/{one.file}: {one.problem}. {one.remedy}" for one in findings]
    if python is not None:
        notes.append(f"submissions in Python are not judged, as {python.file} cannot run")
    solutions = tuple(one for one in problem.solutions if not any(map(_BYTES.search, _names(one))))
    if unnamed := [repr(one.name) for one in problem.solutions if one not in solutions]:
        notes.append(f"solutions are left out, as they are not named in UTF-8: {', '.join(unnamed)}")
    if document and statement is None:
        notes.append("its statement is a PDF, which no model is asked with")
    if idle := _in_no_subtask(problem):
        names = ", ".join(idle[:_NAMED]) + (", ..." if len(idle) > _NAMED else "")
        notes.append(f"tests in no subtask do not run, {len(idle)} of {len(problem.tests)}: {names}")
    attachments = attachments_of(folder) or problem.attachments
    problem = msgspec.structs.replace(
        problem,
        statement=statement,
        document=document,
        attachments=attachments,
        solutions=solutions,
    )
    return msgspec.structs.replace(package, problem=problem, notes=tuple(notes))


def _of_other_formats(found: Format, folder: Path) -> Iterator[str]:
    """Yield what is to be told where a package is one of several formats, which may differ in points."""
    if not isinstance(found, PackageFormat):
        return
    for other in formats():
        if not isinstance(other, PackageFormat):
            continue
        there = other.header != found.header and (folder / other.header).exists()
        if there and other.looks_like_package(folder):
            also = f"{other.header} of {other.name}, which is there as well"
            yield f"read by {found.header}; {also}, is passed over"


_NAMED = 5  # tests


def _closed(folder: Path, where: str) -> Iterator[InputError]:
    for error in closed_folders(folder):
        name = Path(where, os.path.relpath(error.filename, folder))
        yield InputError(f"cannot be read ({error.strerror})", where=str(name), remedy=MAY_READ)


_POINTER = b"version https://git-lfs.github.com/spec/"
_LARGEST_POINTER = 1023  # bytes


def _pointers(problem: Problem, folder: Path, where: str) -> tuple[InputError, ...]:
    """Return a fault where Git LFS has not fetched tests: their files say where their contents are."""
    contents = [blob for test in problem.tests for blob in (test.input, test.answer) if blob]
    small = (blob for blob in contents if len(_POINTER) < blob.size <= _LARGEST_POINTER)
    found = [blob for blob in small if blob.read().startswith(_POINTER)]
    if not found:
        return ()
    file = Path(where, os.path.relpath(found[0].path, folder)) if found[0].path else where
    words = f"{len(found)} files of tests are pointers of Git LFS"
    return (InputError(words, where=str(file), remedy="Fetch their contents: git lfs pull"),)


_BYTES = re.compile("[\ud800-\udfff]")  # of names that are not UTF-8, as Python keeps them


def _misnamed(problem: Problem, where: str) -> Iterator[InputError]:
    """Yield a fault for each subtask and file of a program that is not named in UTF-8."""
    programs = (one for one in (problem.checker, problem.manager, problem.grader) if one)
    files = (problem.grader_files, problem.included, *(one.sources for one in programs))
    names = (*(subtask.name for subtask in problem.subtasks), *(file.name for some in files for file in some))
    for name in filter(_BYTES.search, names):
        yield InputError(f"the name {name!r} is not UTF-8", where=where, remedy="Rename the file")


def _idle(problem: Problem, where: str) -> Iterator[InputError]:
    """Yield a fault for each program of the package in a language that only submissions have, as Java."""
    programs = {"checker": problem.checker, "manager": problem.manager, "grader": problem.grader}
    for kind, program in programs.items():
        if program and program.sources:
            language, file = find(program.language), program.sources[0].name
            if language.syntax != "python" and language.run() != (language.artifact_name,):
                words, remedy = f"a {kind} in {language.name} cannot be run", "Write it in C++ or Python"
                yield InputError(words, where=f"{where}/{file}", remedy=remedy)


def _names(solution: Solution) -> Iterator[str]:
    yield from (solution.name, solution.expected, *(file.name for file in solution.files))


def _in_no_subtask(problem: Problem) -> list[str]:
    counted = {name for subtask in problem.subtasks for name in subtask.tests}
    return [test.name for test in problem.tests if test.name not in counted] if problem.subtasks else []


def _without_twins(packages: Iterable[Package]) -> Iterator[Package]:
    first: dict[tuple[str, int | None], str] = {}
    for package in packages:
        problem = package.problem
        other = first.setdefault((problem.id, problem.year), package.where) if problem else package.where
        if problem is not None and other != package.where:
            yield Package(where=package.where, errors=(twice(problem, other),))
        else:
            yield package


def package_folders(
    source: str | Path, cache: Path, kept: ExitStack, limits: ArchiveLimits | None = None
) -> list[tuple[Path, str]]:
    """Return the folders of a source's packages and their names in messages. `kept` keeps those of zips."""
    return [found for place in _places(Path(source)) for found in _folders(place, cache, limits, kept)]


# --- finding -----------------------------------------------------------------------------------------


def _places(source: Path) -> list[Path]:
    """Return the package folders and the zips of a source."""
    with readable(source):
        if not source.exists():
            remedy = "Name a folder or zip of packages"
            raise InputError("no such file or folder", where=str(source), remedy=remedy)
        if source.is_file() or format_of(source):
            return [source]
        if places := list(_below(source, _DEEPEST)):
            return places
    raise InputError("no problem packages in this folder", where=str(source), remedy=_EXPECTED)


def _below(folder: Path, deep: int) -> Iterator[Path]:
    """Yield the packages and zips in a folder, in order, and those in its folders."""
    for path in sorted(path for path in folder.iterdir() if not path.name.startswith(".")):
        if path.name == "__MACOSX":  # of a desktop's zip: what it adds has the folders of a package
            continue
        if path.is_dir():
            if format_of(path):
                yield path
            elif deep:
                yield from _below(path, deep - 1)
        elif path.suffix.lower() in ARCHIVES:
            yield path


def _folders(
    place: Path, cache: Path, limits: ArchiveLimits | None, kept: ExitStack
) -> list[tuple[Path, str]]:
    """Return the package folders in a place with their names in messages: in a zip, the path inside it.

    `kept` gets what keeps an extracted zip in the cache.
    """
    if place.is_dir():
        return [(place, str(place))]
    root, pin = extracted(place, open_cache(cache), limits)
    kept.enter_context(pin)
    if format_of(root):
        return [(root, str(place))]
    inside = list(_below(root, _DEEPEST))
    if zips := [path.relative_to(root).as_posix() for path in inside if not path.is_dir()]:
        words = f"a zip within this zip is not read: {zips[0]}"
        raise InputError(words, where=str(place), remedy="Extract this one, and name the folder instead")
    if not inside:
        raise InputError("no problem packages in this zip", where=str(place), remedy=_EXPECTED)
    return [(path, f"{place}/{path.relative_to(root).as_posix()}") for path in inside]
