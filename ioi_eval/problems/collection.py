"""Find problem packages in folders and zips, read them, and collect the problems by id and year."""

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
from ioi_eval.model.fields import suggest_names
from ioi_eval.model.languages import find_language
from ioi_eval.model.paths import missing_path_error
from ioi_eval.model.text import format_count
from ioi_eval.model.values import Problem, Solution
from ioi_eval.problems.archive import ArchiveLimits, extract_archive, open_cache
from ioi_eval.problems.cms import Cms
from ioi_eval.problems.hydro import Hydro
from ioi_eval.problems.kattis.package import Kattis
from ioi_eval.problems.missing import MISSING
from ioi_eval.problems.package import ARCHIVES, Package, PackageFormat
from ioi_eval.problems.python_programs import find_unrunnable_programs, remove_broken_graders
from ioi_eval.problems.statements import find_attachments, find_statement, read_statement_document
from ioi_eval.problems.tps import Tps
from ioi_eval.registries import Registry, load_entries
from ioi_eval.store import private_folder
from ioi_eval.store.files import MAY_READ, convert_read_errors, find_unreadable_folders

NOT_SELECTED = "not selected"


class LeftOut(InputError):
    """Raised for a problem of the source that is not judged: it is not selected, or it cannot be judged."""

    def __init__(self, problem_id: str, reason: str) -> None:
        self.reason = reason
        super().__init__(f"problem {problem_id!r} is excluded: {reason}", field="problem_id")


class Problems(Mapping[str, Problem]):
    """Problems by label: the id, or `id@year` if problems of several years have the same id.

    The files of problems from zips stay in the cache until `close` is called or the process ends.

    Args:
        problems: The problems. Two problems with the same id and year are an InputError.
        packages: Python packages that submissions may import. The judge must have them.
        unselected_ids: Ids of problems in the source that are not selected.
        resources: Releases the cached files when it is closed.
    """

    def __init__(
        self,
        problems: Iterable[Problem],
        *,
        packages: Collection[str] = (),
        unselected_ids: Collection[str] = (),
        resources: ExitStack | None = None,
    ) -> None:
        self._resources, self.packages, self._unselected_ids = (
            resources or ExitStack(),
            tuple(packages),
            frozenset(unselected_ids),
        )
        self._problems_by_id: dict[str, dict[int | None, Problem]] = {}
        for problem in sorted(problems, key=lambda problem: (problem.id, problem.year or 0)):
            problems_by_year = self._problems_by_id.setdefault(problem.id, {})
            if problem.year in problems_by_year:
                raise make_duplicate_error(problem, problems_by_year[problem.year].source)
            problems_by_year[problem.year] = problem
        all_problems = (
            problem
            for problems_by_year in self._problems_by_id.values()
            for problem in problems_by_year.values()
        )
        self._problems_by_label = {self.label(problem): problem for problem in all_problems}

    def __getitem__(self, label: str) -> Problem:
        return self._problems_by_label[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self._problems_by_label)

    def __len__(self) -> int:
        return len(self._problems_by_label)

    @property
    def left_out(self) -> dict[str, int]:
        """Return how many selected problems cannot be judged, by reason."""
        return {}

    def close(self) -> None:
        """Release the cached files of the problems, so that the cache may remove them."""
        self._resources.close()

    def find(self, problem_id: str, year: int | None = None) -> Problem:
        """Return the problem with this id and year.

        The year may be missing here or in the problem if only one problem matches.

        Raises:
            InputError: No problem matches, or several problems do.
            LeftOut: The problem exists but is not selected.
        """
        problems_by_year = self._problems_by_id.get(problem_id)
        if problems_by_year is None and problem_id in self._unselected_ids:
            raise LeftOut(problem_id, NOT_SELECTED)
        if problems_by_year is None:
            raise InputError(
                f"unknown problem {problem_id!r}",
                field="problem_id",
                remedy=suggest_names(problem_id, tuple(self._problems_by_id)),
            )
        matching_problems = (
            list(problems_by_year.values())
            if year is None
            else [problems_by_year[key] for key in (year, None) if key in problems_by_year]
        )
        if not matching_problems or (year is None and len(matching_problems) > 1):
            years = ", ".join(str(year or "no year") for year in problems_by_year)
            problem, remedy = f"no problem {problem_id!r} of {year}", f"Available years: {years}"
            if year is None:
                problem = f"problem {problem_id!r} without a year is ambiguous; years: {years}"
                remedy = "Add a column `year`"
            raise InputError(problem, field="year", remedy=remedy)
        return matching_problems[0]

    def label(self, problem: Problem) -> str:
        """Return the problem's id, with the year if several problems have the same id."""
        has_several_years = len(self._problems_by_id.get(problem.id, ())) > 1
        return f"{problem.id}@{problem.year or 'none'}" if has_several_years else problem.id


def make_duplicate_error(problem: Problem, first_package: str) -> InputError:
    """Return the error for a problem whose id and year are those of an earlier package."""
    year_suffix = f" of {problem.year}" if problem.year is not None else ""
    return InputError(
        f"a second package with the id {problem.id!r}{year_suffix}; the first is {first_package}",
        where=problem.source,
        field="code",
        remedy="Remove one of them, or set a `year` in both",
    )


# --- identity ----------------------------------------------------------------------------------------


def compute_problem_hashes(problems: Mapping[str, Problem]) -> dict[str, str]:
    """Return a hash for each problem, by name. It covers everything that can change a score."""
    return {name: problem_digest(problem) for name, problem in problems.items()}


# --- formats ----------------------------------------------------------------------------------------


class Format(Protocol):
    """A package format: a module or an object that recognizes and reads packages.

    `where` is the package's name in messages. docs/extending.md shows how to add a format.
    """

    def looks_like_package(self, folder: Path) -> bool:
        """Return True if the folder looks like a package of this format."""

    def package_id(self, folder: Path, where: str) -> str | None:
        """Return the problem's id, or None if the package is too broken to contain it."""

    def read_package(self, folder: Path, where: str) -> Package:
        """Return the package with its problem, or with all errors in it."""


@once
def list_formats() -> tuple[Format, ...]:
    """Return all package formats. The first format that recognizes a folder reads it.

    Formats of plugins come first, because their packages may partly look like those of built-in formats.
    Packages in TPS's format also look like packages in CMS's format, so TPS comes before CMS.
    """
    plugin_formats = load_entries(Registry.FORMATS)
    missing_formats = (
        missing_format for plugin, missing_format in MISSING.items() if plugin not in plugin_formats
    )
    return tuple(
        sorted(
            (*plugin_formats.values(), Hydro(), Kattis(), Tps(), Cms(), *missing_formats), key=_detection_rank
        )
    )


def _detection_rank(package_format: Format) -> int:
    """Return the format's position in the order of detection. Formats without a rank come first."""
    return package_format.rank if isinstance(package_format, PackageFormat) else 0


def detect_format(folder: Path) -> Format | None:
    """Return the format that reads the folder, or None if the folder is not a package."""
    return next((candidate for candidate in list_formats() if candidate.looks_like_package(folder)), None)


# --- loading -----------------------------------------------------------------------------------------

_HEADERS = "problem.json, problem.yaml, problem.xml, task.yaml, config.yaml or init.yml"
_EXPECTED = f"A package is a folder with a {_HEADERS}, or a zip of one"
_MAX_DEPTH = 2  # maximum number of folder levels between a source and its packages


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
    """Return the problems of a source.

    Zips are extracted once into the cache. Packages that are not selected may be broken.

    Args:
        source: A package, or a folder of packages. Each package is a folder or a zip.
        cache: The folder for extracted zips; by default the private folder.
        only: Ids of the problems to return; by default all problems.
        choose: Selects from these ids, which it gets in the order of the packages.
        change: Returns a changed problem, for example with other limits.
        limits: Limits on the contents of zips.
        packages: Python packages that submissions may import.

    Raises:
        InputError: A package has an error, or an id in `only` does not exist.
    """
    cache_folder = Path(cache) if cache else private_folder()
    with ExitStack() as resources:
        folders = find_package_folders(source, cache_folder, resources, limits)
        excluded_ids: Collection[str] = ()
        if choose is not None:
            package_ids = _read_package_ids(folders, only)
            only = choose(package_ids)
            excluded_ids = set(package_ids).difference(only)
        selected_folders = (
            folder_and_name
            for folder_and_name in folders
            if not only or _read_package_id(*folder_and_name) in {*only, None}
        )
        problems = list[Problem]()
        for folder, where in selected_folders:
            package = _read_package(folder, where)
            if package.problem is None:
                raise package.errors[0]
            problems.append(package.problem)
        problems = problems if change is None else list(map(change, problems))
        _check_missing_ids(only, {problem.id for problem in problems}, folders, source)
        return Problems(
            problems, packages=packages, unselected_ids=excluded_ids, resources=resources.pop_all()
        )


def check_problems(
    source: str | Path,
    *,
    cache: Path,
    only: Collection[str] = frozenset(),
    choose: Callable[[Sequence[str]], Collection[str]] | None = None,
    change: Callable[[Problem], Problem] | None = None,
    limits: ArchiveLimits | None = None,
) -> tuple[Package, ...]:
    """Return the packages of a source, each with its problem or with all errors in it.

    Use `load_problems` to judge the problems: here the cache may remove the extracted zips afterwards.

    Args:
        source: A package, or a folder of packages. Each package is a folder or a zip.
        cache: The folder for extracted zips.
        only: Ids of the packages to return; by default all. Packages too broken to have an id are included.
        choose: Selects from these ids, which it gets in the order of the packages.
        change: Returns a changed problem, for example with other limits.
        limits: Limits on the contents of zips.

    Raises:
        InputError: An id in `only` does not exist.
    """
    packages_or_folders: list[Package | tuple[Path, str]] = []
    with ExitStack() as resources:
        for path in _find_package_paths(Path(source)):
            try:
                packages_or_folders.extend(_list_package_folders(path, cache, limits, resources))
            except InputError as error:
                packages_or_folders.append(Package(where=str(path), errors=(error,)))
        folders = [
            package_or_folder
            for package_or_folder in packages_or_folders
            if not isinstance(package_or_folder, Package)
        ]
        if choose is not None:
            only = choose(_read_package_ids(folders, only))
        packages = [
            package_or_folder if isinstance(package_or_folder, Package) else _read_package(*package_or_folder)
            for package_or_folder in packages_or_folders
            if isinstance(package_or_folder, Package)
            or not only
            or _read_package_id(*package_or_folder) in {*only, None}
        ]
        if all(package.problem is not None for package in packages):
            _check_missing_ids(
                only, {package.problem.id for package in packages if package.problem}, folders, source
            )
    return tuple(
        package
        if change is None or package.problem is None
        else msgspec.structs.replace(package, problem=change(package.problem))
        for package in _skip_duplicate_packages(packages)
    )


def _check_missing_ids(
    requested_ids: Collection[str],
    found_ids: Collection[str],
    folders: Sequence[tuple[Path, str]],
    source: str | Path,
) -> None:
    """Raise an InputError if a requested id is not among the found ids."""
    for missing_id in sorted(set(requested_ids) - set(found_ids)):
        existing_ids = tuple(
            package_id for folder_and_name in folders if (package_id := _read_package_id(*folder_and_name))
        )
        raise InputError(
            f"the source has no problem {missing_id!r}",
            where=str(source),
            remedy=suggest_names(missing_id, existing_ids),
        )


def _read_package_ids(folders: Iterable[tuple[Path, str]], requested_ids: Collection[str]) -> list[str]:
    """Return the ids of the requested packages, or of all packages, in the order of the packages."""
    return [
        package_id
        for folder_and_name in folders
        if (package_id := _read_package_id(*folder_and_name))
        and (not requested_ids or package_id in requested_ids)
    ]


def _read_package_id(folder: Path, where: str) -> str | None:
    """Return the id of the package in a folder, or None if it has none or the folder is not a package."""
    package_format = detect_format(folder)
    return package_format.package_id(folder, where) if package_format else None


def _read_package(folder: Path, where: str) -> Package:
    """Return the package in a folder with its problem, or with all errors in it.

    Checks that apply to all formats are made here, and statement and attachments are added.
    """
    package_format = detect_format(folder)
    assert package_format is not None, "only folders with a format are packages"
    if unreadable_folders := tuple(_find_unreadable_folders(folder, where)):
        return Package(where=where, errors=unreadable_folders)
    package = package_format.read_package(folder, where)
    problem = package.problem
    if problem is None:
        return package
    problem, grader_findings = remove_broken_graders(problem)
    findings = (*find_unrunnable_programs(problem), *grader_findings)
    errors = (
        *(
            *_find_unfetched_tests(problem, folder, where),
            *_find_undecodable_names(problem, where),
            *_find_unusable_programs(problem, where),
        ),
        *(
            InputError(finding.problem, where=f"{where}/{finding.file}", remedy=finding.remedy)
            for finding in findings
            if finding.fails
        ),
    )
    if errors:
        return Package(where=where, format=package.format, errors=errors)
    statement, document = problem.statement or find_statement(folder), read_statement_document(folder)
    notes = [*_note_other_matching_formats(package_format, folder), *package.notes]
    notes += [f"{where}/{finding.file}: {finding.problem}. {finding.remedy}" for finding in findings]
    if problem is not package.problem:
        notes.append(f"Python is excluded because {problem.left_out['python'].partition(':')[0]} cannot run")
    solutions = tuple(
        solution
        for solution in problem.solutions
        if not any(map(_UNDECODABLE.search, _list_file_names(solution)))
    )
    if undecodable_solutions := [
        repr(solution.name) for solution in problem.solutions if solution not in solutions
    ]:
        notes.append(
            f"solutions are ignored because their names are not UTF-8: {', '.join(undecodable_solutions)}"
        )
    if document and statement is None:
        notes.append("its statement is a PDF, which is not included in prompts")
    if unused_tests := _list_tests_without_subtask(problem):
        names = ", ".join(unused_tests[:_MAX_NAMED]) + (", ..." if len(unused_tests) > _MAX_NAMED else "")
        notes.append(
            f"tests that are in no subtask do not run, {len(unused_tests)} of {len(problem.tests)}: {names}"
        )
    attachments = find_attachments(folder) or problem.attachments
    problem = msgspec.structs.replace(
        problem,
        statement=statement,
        document=document,
        attachments=attachments,
        solutions=solutions,
    )
    return msgspec.structs.replace(package, problem=problem, notes=tuple(notes))


def _note_other_matching_formats(package_format: Format, folder: Path) -> Iterator[str]:
    """Yield a note for each other format that recognizes the package and may define other points."""
    if not isinstance(package_format, PackageFormat):
        return
    for other_format in list_formats():
        if not isinstance(other_format, PackageFormat):
            continue
        has_other_header = (
            other_format.header != package_format.header and (folder / other_format.header).exists()
        )
        if has_other_header and other_format.looks_like_package(folder):
            other_file = f"{other_format.header} of {other_format.name}, which also exists"
            yield f"read by {package_format.header}; {other_file}, is ignored"


_MAX_NAMED = 5  # maximum number of test names in a note


def _find_unreadable_folders(folder: Path, where: str) -> Iterator[InputError]:
    """Yield an error for each folder in the package that this process must not read."""
    for error in find_unreadable_folders(folder):
        name = Path(where, os.path.relpath(error.filename, folder))
        yield InputError(f"cannot be read ({error.strerror})", where=str(name), remedy=MAY_READ)


_LFS_HEADER = b"version https://git-lfs.github.com/spec/"
_MAX_LFS_POINTER_BYTES = 1023  # maximum size of a pointer file of Git LFS, in bytes


def _find_unfetched_tests(problem: Problem, folder: Path, where: str) -> tuple[InputError, ...]:
    """Return an error if files of tests are pointers of Git LFS, whose contents were not fetched."""
    blobs = [blob for test in problem.tests for blob in (test.input, test.answer) if blob]
    small_blobs = (blob for blob in blobs if len(_LFS_HEADER) < blob.size <= _MAX_LFS_POINTER_BYTES)
    pointer_blobs = [blob for blob in small_blobs if blob.read().startswith(_LFS_HEADER)]
    if not pointer_blobs:
        return ()
    pointer_path = (
        Path(where, os.path.relpath(pointer_blobs[0].path, folder)) if pointer_blobs[0].path else where
    )
    problem_text = (
        f"{format_count(len(pointer_blobs), 'file of tests is a pointer', 'files of tests are pointers')}"
        " of Git LFS"
    )
    return (InputError(problem_text, where=str(pointer_path), remedy="Fetch their contents: git lfs pull"),)


# Pattern for the characters that stand for bytes of a file name that are not UTF-8.
_UNDECODABLE = re.compile("[\ud800-\udfff]")


def _find_undecodable_names(problem: Problem, where: str) -> Iterator[InputError]:
    """Yield an error for each subtask and program file whose name is not UTF-8."""
    programs = (program for program in (problem.checker, problem.manager, problem.grader) if program)
    file_groups = (problem.grader_files, problem.included, *(program.sources for program in programs))
    names = (
        *(subtask.name for subtask in problem.subtasks),
        *(file.name for file_group in file_groups for file in file_group),
    )
    for name in filter(_UNDECODABLE.search, names):
        yield InputError(f"the name {name!r} is not UTF-8", where=where, remedy="Rename the file")


def _find_unusable_programs(problem: Problem, where: str) -> Iterator[InputError]:
    """Yield an error for each checker, manager or grader in a language that only submissions may use.

    An example is Java.
    """
    programs = {"checker": problem.checker, "manager": problem.manager, "grader": problem.grader}
    for kind, program in programs.items():
        if program and program.sources:
            language, source_name = find_language(program.language), program.sources[0].name
            if language.syntax != "python" and language.run_command() != (language.artifact_name,):
                problem_text, remedy = (
                    f"a {kind} in {language.name} cannot be run",
                    "Write it in C++ or Python",
                )
                yield InputError(problem_text, where=f"{where}/{source_name}", remedy=remedy)


def _list_file_names(solution: Solution) -> Iterator[str]:
    """Yield the solution's name, its folder and the names of its files."""
    yield from (solution.name, solution.expected, *(file.name for file in solution.files))


def _list_tests_without_subtask(problem: Problem) -> list[str]:
    """Return the names of tests that are in no subtask, if the problem has subtasks."""
    tests_in_subtasks = {name for subtask in problem.subtasks for name in subtask.tests}
    return (
        [test.name for test in problem.tests if test.name not in tests_in_subtasks]
        if problem.subtasks
        else []
    )


def _skip_duplicate_packages(packages: Iterable[Package]) -> Iterator[Package]:
    """Yield the packages. A package with the id and year of an earlier package is replaced by an error."""
    first_packages: dict[tuple[str, int | None], str] = {}
    for package in packages:
        problem = package.problem
        first_package = (
            first_packages.setdefault((problem.id, problem.year), package.where) if problem else package.where
        )
        if problem is not None and first_package != package.where:
            yield Package(where=package.where, errors=(make_duplicate_error(problem, first_package),))
        else:
            yield package


def find_package_folders(
    source: str | Path, cache: Path, resources: ExitStack, limits: ArchiveLimits | None = None
) -> list[tuple[Path, str]]:
    """Return the folders of a source's packages, each with the package's name for messages.

    Args:
        source: A package, or a folder of packages. Each package is a folder or a zip.
        cache: The folder for extracted zips.
        resources: Keeps extracted zips in the cache until it is closed.
        limits: Limits on the contents of zips. None means the default limits.
    """
    return [
        folder_and_name
        for path in _find_package_paths(Path(source))
        for folder_and_name in _list_package_folders(path, cache, limits, resources)
    ]


# --- finding -----------------------------------------------------------------------------------------


def _find_package_paths(source: Path) -> list[Path]:
    """Return the paths of a source's packages: folders and zips."""
    with convert_read_errors(source):
        if not source.exists():
            raise missing_path_error(source, "Name a folder or zip of packages")
        if source.is_file() or detect_format(source):
            return [source]
        if package_paths := list(_find_packages_below(source, _MAX_DEPTH)):
            return package_paths
    raise InputError("the folder contains no problem packages", where=str(source), remedy=_EXPECTED)


def _find_packages_below(folder: Path, max_depth: int) -> Iterator[Path]:
    """Yield the packages and zips in a folder, sorted by name. Search up to `max_depth` levels of folders."""
    for path in sorted(path for path in folder.iterdir() if not path.name.startswith(".")):
        if path.name == "__MACOSX":  # macOS adds this folder to zips
            continue
        if path.is_dir():
            if detect_format(path):
                yield path
            elif max_depth:
                yield from _find_packages_below(path, max_depth - 1)
        elif path.suffix.lower() in ARCHIVES:
            yield path


def _list_package_folders(
    package_path: Path, cache: Path, limits: ArchiveLimits | None, resources: ExitStack
) -> list[tuple[Path, str]]:
    """Return the packages in a folder or zip: their folders, each with its name in messages.

    Extracted zips stay in the cache until `resources` is closed.
    """
    if package_path.is_dir():
        return [(package_path, str(package_path))]
    archive_folder, pin = extract_archive(package_path, open_cache(cache), limits)
    resources.enter_context(pin)
    if detect_format(archive_folder):
        return [(archive_folder, str(package_path))]
    package_paths = list(_find_packages_below(archive_folder, _MAX_DEPTH))
    if zip_paths := [
        path.relative_to(archive_folder).as_posix() for path in package_paths if not path.is_dir()
    ]:
        message = f"zips in zips are not supported: {zip_paths[0]}"
        raise InputError(
            message, where=str(package_path), remedy="Extract this archive, and name its folder instead"
        )
    if not package_paths:
        raise InputError(
            "the zip archive contains no problem packages", where=str(package_path), remedy=_EXPECTED
        )
    return [(path, f"{package_path}/{path.relative_to(archive_folder).as_posix()}") for path in package_paths]
