"""Datasets that bring checkers with testlib, in a problem's row or in a package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, ClassVar

from msgspec.structs import replace

from ioi_eval.benchmarks.benchmark import (
    Benchmark,
    BenchmarkOptions,
    Candidate,
    ColumnNames,
    Keep,
    Unusable,
    header_folders,
    statement_of,
    written,
)
from ioi_eval.benchmarks.hub import file_of_hub
from ioi_eval.benchmarks.row_files import read_columns
from ioi_eval.benchmarks.tables import Row, Table, Tables, TableSource, one_file
from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Blob, Checker, CheckerKind, Limits, NamedBlob, Problem, Solution, Test
from ioi_eval.problems import Package
from ioi_eval.problems.archive import extracted
from ioi_eval.problems.dmoj import Dmoj
from ioi_eval.problems.lightcp import LightCp
from ioi_eval.problems.package import TESTLIB_REMEDY, is_plain, with_testlib
from ioi_eval.rules.json_tests import NO_CASES, CasesError
from ioi_eval.store import Store

_MB = 1 << 20
_STANDARD = "gnu++17"


class Checked(Benchmark):
    uses_testlib: ClassVar = True
    version: ClassVar[int] = 2
    milliseconds_from: ClassVar = 0.0  # times below that count seconds

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        row = tables.main[candidate.rows[0]]
        time, source = row.number("time_limit", above=0), row.text("checker", "")
        checker = Checker(kind=CheckerKind.TOKENS)
        if source.strip():
            program = with_testlib("checker.cpp", source, *header_folders(options))
            checker = Checker(kind=CheckerKind.TESTLIB, sources=program)

        def finish(problem: Problem) -> Problem:
            pairs = enumerate(row.contents("test_cases", "input", "output"), 1)
            tests = tuple(
                Test(name=str(number), input=keep.blob(given), answer=keep.blob(wanted))
                for number, (given, wanted) in pairs
            )
            if not tests:
                raise CasesError(NO_CASES)
            return replace(problem, tests=tests)

        return self.of_row(
            row,
            candidate,
            finish,
            limits=Limits.contest(
                time if time < self.milliseconds_from else time / 1000,
                int(row.number("memory_limit", above=0) * _MB),
            ),
            checker=checker,
            cpp_standard=_STANDARD,
        )


def of_package(package: Package, keep: Keep) -> Problem:
    """The problem of a package, of which nothing lies any longer where that is. Unusable: it is flawed."""
    problem = package.problem
    if problem is None:
        error = package.errors[0]
        if error.remedy == TESTLIB_REMEDY:  # what somebody here can mend is said
            raise error
        raise Unusable(f"its package is flawed: {error.problem}")
    tests = (
        replace(test, input=keep.file(test.input), answer=test.answer and keep.file(test.answer))
        for test in problem.tests
    )
    problem = replace(problem, tests=tuple(tests))
    if problem.manager is not None:
        return replace(problem, manager=replace(problem.manager, sources=_held(problem.manager.sources)))
    return replace(problem, checker=replace(problem.checker, sources=_held(problem.checker.sources)))


def _held(sources: Sequence[NamedBlob]) -> tuple[NamedBlob, ...]:
    return tuple(replace(source, content=Blob.of(source.content.read())) for source in sources)


# --- CodeContests+ -----------------------------------------------------------------------------------


_OURS: Mapping[str, str] = MappingProxyType(
    {"cpp": "c++", "py3": "python3", "py2": "python2", "java": "java"}
)


class CodeContestsPlus(Checked):
    name: ClassVar = "code_contests_plus"
    about: ClassVar = "11,690 problems of CodeContests with better tests, and checkers"
    ids: ClassVar = r"[0-9]+_[A-Z][0-9]?"
    dataset: ClassVar = "ByteDance-Seed/Code-Contests-Plus"
    config: ClassVar = "1x"
    split: ClassVar = "train"
    columns: ClassVar = (
        "source",
        "id",
        "title",
        "description",
        "time_limit",
        "memory_limit",
        "checker",
        "test_cases",
    )
    named = ColumnNames(tags=("source",), title="title", statement="description")
    milliseconds_from: ClassVar = 100.0

    def candidate(self, row: Row) -> Candidate:
        found = super().candidate(row)
        return replace(found, alias=found.id.replace("_", "/") if "_" in found.id else "")

    def references(self, candidate: Candidate, tables: Tables) -> tuple[Solution, ...]:
        row = tables.main[candidate.rows[0]]
        return (
            *_solutions(row, "correct_submissions", "correct"),
            *_solutions(row, "incorrect_submissions", "rejected"),
        )


def _solutions(row: Row, field: str, expected: str) -> Iterator[Solution]:
    for number, item in enumerate(row.items(field) if row.has(field) else ()):
        if isinstance(code := item.get("code"), str):
            language = _OURS.get(str(item.get("language")), "")
            yield Solution(name=f"{field} {number}", language=language, code=code, expected=expected)


# --- AetherCode --------------------------------------------------------------------------------------


class AetherCode(Checked):
    name: ClassVar = "aethercode"
    about: ClassVar = "problems of premier contests, with checkers by experts"
    dataset: ClassVar = "m-a-p/AetherCode"
    config: ClassVar = "v1_2024"
    split: ClassVar = "test"
    columns: ClassVar = (
        "id",
        "description",
        "time_limit",
        "memory_limit",
        "checker",
        "test_cases",
        "contest_name",
    )
    named = ColumnNames(
        difficulty="difficulty",
        tags=("contest_category", "contest_name"),
        date="date",
        title="contest_name",
        statement="description",
    )

    def candidate(self, row: Row) -> Candidate:
        return replace(super().candidate(row), year=row.whole("year", 0) or None)


# --- LiveCodeBench Pro: contests since October 2024, a zip of tests and a checker for each problem ---


TESTS = "QAQAQAQAQ/LiveCodeBench-Pro-Testcase"
NO_TESTS = "the dataset has no tests of it"


class LiveCodeBenchPro(Benchmark):
    name: ClassVar = "livecodebench_pro"
    about: ClassVar = "problems of contests since October 2024, with checkers and interactors"
    ids: ClassVar = r"[0-9]{4}[A-Z][0-9]?"
    dataset: ClassVar = "QAQAQAQAQ/LiveCodeBench-Pro"
    split: ClassVar = "quater_2024_10_12+quater_2025_1_3+quater_2025_4_6+quater_2025_7_9"
    columns: ClassVar = ("problem_id", "problem_title", "difficulty", "platform", "problem_statement")
    named = ColumnNames(id="problem_id", difficulty="difficulty", tags=("platform",))
    uses_testlib: ClassVar = True
    version: ClassVar[int] = 2

    def candidates(self, main: Table) -> Iterator[Candidate]:
        """A problem may be of several quarters."""
        return (self.candidate(main[rows[0]]) for rows in main.groups(self.named.id).values())

    def fingerprint(self, candidate: Candidate, tables: Tables) -> str:
        return f"{tables.main.fingerprint} {tables.stamp(TESTS, f'{candidate.id}.zip')}"

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        row = tables.main[candidate.rows[0]]
        archive = _archive(f"{candidate.id}.zip", options)
        with TemporaryDirectory(prefix="ioi-eval-") as place:  # nothing of the problem stays there
            folder = extracted(archive, Store(Path(place))).folder
            package = LightCp(*header_folders(options)).read_package(folder, str(archive))
            problem = of_package(package, keep)
        return replace(
            problem,
            id=candidate.id,
            name=row.text("problem_title", candidate.id),
            difficulty=candidate.difficulty,
            tags=candidate.tags,
            statement=statement_of(row.text("problem_statement", "")),
        )


def _archive(name: str, options: BenchmarkOptions) -> Path:
    if not options.data_dir:
        found = file_of_hub(TESTS, name)
        if found is None:
            raise Unusable(NO_TESTS)
        return found
    try:
        return one_file(Path(options.data_dir), TableSource(dataset=TESTS, path=name))[0]
    except InputError as error:
        raise Unusable(NO_TESTS) from error


# --- OJBench: problems of NOI and ICPC, each a package of DMOJ's judge in a copy of the authors' dataset ---

LEFT_OUT = "its own judge leaves it out"
_SKIPPED = frozenset({"nwerc2023_H", "swerc2023_L", "loj-3897"})
_TIME, _MEMORY = 10.0, 1 << 30  # seconds and bytes, of its judge: the same for all problems
_ROWS, _FOLDER = "prompts/full.jsonl", "folder"
_NOI = "NOI"
_WHAT_TO_WRITE = "### Format: "  # of the prompt: what differs by language begins here


class OJBench(Benchmark):
    name: ClassVar = "ojbench"
    about: ClassVar = "232 problems of NOI and ICPC, with checkers and interactors"
    ids: ClassVar = r"loj-[0-9]+|[ns]werc20[0-9]{2}_[A-Z]"
    dataset: ClassVar = "He-Ren/OJBench_testdata"
    version: ClassVar[int] = 2
    split: ClassVar = "train"
    columns: ClassVar = ("id", "prompt", "dataset", "language", "difficulty", _FOLDER)
    named = ColumnNames(difficulty="difficulty", tags=("dataset",))

    def rows(self, data_dir: str, cache: Path) -> Path:
        """Write a row for each problem, with the place of its package; the file has one for each language."""
        found = sorted(Path(data_dir).rglob(_ROWS)) if data_dir else []
        if not found:
            remedy = f"Clone the dataset {self.dataset} with Git LFS and name its folder with data_dir=FOLDER"
            raise InputError(f"there is no {_ROWS}", where=data_dir or self.name, remedy=remedy)
        root = found[0].absolute().parents[1]
        problems: dict[str, dict[str, Any]] = {}
        for row in read_columns(found[0], self.columns):
            name, part = str(row.get("id")), str(row.get("dataset"))
            name = f"loj-{name}" if name.isdecimal() else name  # numbers are those of LibreOJ
            if not (is_plain(name) and is_plain(part)):
                what = f"{part!r} and {name!r} are no names of folders"
                raise InputError(what, where=str(found[0]), remedy="Fetch it again")
            problems.setdefault(name, {**row, "id": name, _FOLDER: str(root / part / name)})
        return written(problems.values(), self.name, cache)

    def candidate(self, row: Row) -> Candidate:
        found = super().candidate(row)
        alias = found.id.removeprefix("loj-") if found.tags == (_NOI,) else ""
        return replace(found, alias=alias, unusable=LEFT_OUT if found.id in _SKIPPED else "")

    def fingerprint(self, candidate: Candidate, tables: Tables) -> str:
        folder = Path(tables.main[candidate.rows[0]].text(_FOLDER))
        files = ((path, path.stat()) for path in sorted(folder.rglob("*")))
        return " ".join(
            (tables.main.fingerprint, *(f"{path} {of.st_size} {of.st_mtime_ns}" for path, of in files))
        )

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        """All cases must be right, whatever points the package gives them, as its judge has it."""
        row = tables.main[candidate.rows[0]]
        folder = row.text(_FOLDER)
        problem = of_package(Dmoj().read_package(Path(folder), folder), keep)
        limits = problem.limits
        wall = _TIME * (limits.wall_time or 0) / (limits.cpu_time or 1)  # DMOJ's multiple of the time
        return replace(
            problem,
            id=candidate.id,
            subtasks=(),
            limits=replace(limits, cpu_time=_TIME, wall_time=wall, memory=_MEMORY),
            difficulty=candidate.difficulty,
            tags=candidate.tags,
            cpp_standard="c++17",
            statement=statement_of(row.text("prompt").partition(_WHAT_TO_WRITE)[0]),
        )
