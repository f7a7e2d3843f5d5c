"""LiveOIBench: tasks of 14 informatics olympiads with subtasks; the tests of a task are one JSON text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import msgspec
from msgspec.structs import replace

from ioi_eval.benchmarks.benchmark import (
    Benchmark,
    BenchmarkOptions,
    Candidate,
    ColumnNames,
    Keep,
    Unusable,
)
from ioi_eval.benchmarks.checked import header_folders, header_stamp
from ioi_eval.benchmarks.tables import Row, Table, Tables
from ioi_eval.model.nesting import Nesting
from ioi_eval.model.values import (
    Blob,
    Checker,
    CheckerKind,
    Limits,
    Manager,
    NamedBlob,
    Problem,
    Subtask,
    TaskOptions,
    TaskType,
    Test,
)
from ioi_eval.problems import testlib
from ioi_eval.rules.json_tests import NO_CASES, CasesError, broken
from ioi_eval.store.rows import as_number
from ioi_eval.store.tasks import ContestResults, People

TESTS = "LiveOIBench/LiveOIBench_tests"
PEOPLE = "LiveOIBench/LiveOIBench_contestants"
NO_INTERACTOR = "interactive, and there is neither an interactor nor a manager with a stub"
SCRIPTS = "interactive, and only shell scripts say how its manager is run"
_STANDARD = "gnu++17"
_MORE = 1.2  # its judge gives a fifth more time and memory than the contest
_MB = 1 << 20
_NEAR = 1e-6  # of single numbers, in its judge, too
_REAL = re.compile(r"\s*[+-]?(?=[0-9.]*[.eE])([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
_PIECE = 1 << 20
_GRADER = "grader.cpp"

_T = TypeVar("_T")


class _Case(msgspec.Struct):
    input: str = ""
    output: str = ""


class _Part(msgspec.Struct):
    score: float
    testcases: list[str]


class LiveOIBench(Benchmark):
    name: ClassVar = "liveoibench"
    about: ClassVar = "403 tasks of 14 informatics olympiads since 2023, with subtasks"
    ids: ClassVar = r"[A-Za-z]+-20[0-9]{2}-[^-]+-.+"
    dataset: ClassVar = "LiveOIBench/LiveOIBench"
    split: ClassVar = "train"
    columns: ClassVar = (
        *("problem_id", "task_name", "task_type", "problem_statement", "time_limit", "memory_limit"),
        *("grader_code", "starter_code"),
    )
    other_files: ClassVar = "*_testcases_*"
    named = ColumnNames(title="task_name", statement="problem_statement")

    def candidate(self, row: Row) -> Candidate:
        difficulty = row.number("difficulty", 0)
        contest, year = _contest(row)
        return Candidate(
            id=row.name("problem_id"),
            rows=(row.index,),
            year=year,
            difficulty=f"{difficulty:g}" if difficulty else "",
            tags=(contest,),
        )

    def people(self, tables: Tables) -> People:
        needed = ("contest_id", "contestants_ranking", "problems")
        table = tables.other(PEOPLE, path="data/contest_results.parquet", columns=needed)
        return People(source=PEOPLE, contests=tuple(filter(None, map(_contest_results, table))))

    def fingerprint(self, candidate: Candidate, tables: Tables) -> str:
        return f"{tables.main.fingerprint} {_tests_of(candidate, tables).fingerprint}"

    def matter(self, options: BenchmarkOptions) -> str:
        return header_stamp(options)

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        row, tests = tables.main[candidate.rows[0]], _tests_of(candidate, tables)
        folders, interactive = header_folders(options), row.text("task_type") != "batch"
        judged = _interactive(row, tests, folders) if interactive else _with_grader(row, folders)
        return self.of_row(
            row,
            candidate,
            lambda problem: _with_tests(problem, tests, keep),
            **judged,
            limits=Limits.contest(
                round(_MORE * row.number("time_limit", above=0), 6),
                int(_MORE * row.number("memory_limit", above=0) * _MB),
            ),
            cpp_standard=_STANDARD,
            starter_code=_files(row, "starter_code").get(f"{row.text('task_name')}.cpp", ""),
        )


def _contest(row: Row) -> tuple[str, int]:
    """IOI and 2024, of IOI-2024-contest-nile."""
    found = re.match(r"([^-]+)-([0-9]{4})-[^-]+-.", row.name("problem_id"))
    if found is None:
        what = f"{row.name('problem_id')!r} is not contest, year, round and task"
        raise row.wrong("problem_id", what)
    return found[1], int(found[2])


def _tests_of(candidate: Candidate, tables: Tables) -> Table:
    path = f"liveoibench_testcases_v1_{candidate.year}.parquet"
    return tables.other(TESTS, path=path, columns=("problem_id", "tests", "subtasks"))


# --- people ------------------------------------------------------------------------------------------


_RECALCULATED = "recalculatedtotal"  # over the problems that the dataset has
_RATING = ("cfrating", "codeforcesrating")
_UNRATED = (0, -1000)


def _contest_results(row: Row) -> ContestResults | None:
    """The contestants' totals; None where they cannot be made for all of the contest's problems here."""
    name, problems = row.name("contest_id"), row.json("problems") or []
    rankings = [
        {_bare(key): value for key, value in each.items()} for each in row.json("contestants_ranking") or []
    ]
    # USACO's combined results are of divisions whose contestants are not the same people.
    if not rankings or not problems or name.endswith("-combined"):
        return None
    tasks = [_bare(str(problem).split("-", 3)[-1]) for problem in problems]
    columns = [_RECALCULATED] if any(_RECALCULATED in ranking for ranking in rankings) else tasks
    if not all(any(column in ranking for ranking in rankings) for column in columns):
        return None
    ratings = [
        next((as_number(ranking[key]) for key in _RATING if key in ranking), None) for ranking in rankings
    ]
    return ContestResults(
        contest=name,
        problems=tuple(map(str, problems)),
        totals=tuple(
            sum(as_number(ranking.get(column)) or 0.0 for column in columns) for ranking in rankings
        ),
        ratings=tuple(None if rating in _UNRATED else rating for rating in ratings),
    )


def _bare(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


# --- graders -----------------------------------------------------------------------------------------


def _with_grader(row: Row, folders: Sequence[Path]) -> dict[str, Any]:
    """Return the fields of a task with a grader: its judge compiles one where there is a header, too."""
    given = {**_files(row, "starter_code"), **_files(row, "grader_code")}
    headers = [name for name in given if name.endswith(".h")]
    if _GRADER not in given or not headers:
        return {}
    program = testlib.program(_GRADER, given[_GRADER], *folders)
    beside = (NamedBlob(name=name, content=Blob.of(given[name])) for name in headers if name != testlib.NAME)
    graders = tuple(replace(file, name=f"graders/{file.name}") for file in (*program, *beside))
    return {"options": TaskOptions(with_grader=True), "grader_files": graders}


def _interactive(row: Row, tests: Table, folders: Sequence[Path]) -> dict[str, Any]:
    """Return the fields of a task with a program on the other side. Unusable where none can be run here.

    An interactor is run as its judge does: an exit code other than 0 is wrong. Others have scripts; where
    these start a manager with pipes to a stub, that is a Communication task, as of the contest system.
    """
    given = {**_files(row, "starter_code"), **_files(row, "grader_code")}
    for place in tests.groups("problem_id").get(row.name("problem_id"), ()):
        for field in ("starter_codes", "grader_codes"):
            given |= _files(tests[place], field)
    headers = [NamedBlob(name=name, content=Blob.of(given[name])) for name in given if name.endswith(".h")]
    beside = [header for header in headers if header.name != testlib.NAME]
    for name, language in (("interactor.cpp", "c++"), ("interactor.py", "python")):
        if name in given:
            sources = (*testlib.program(name, given[name], *folders), *beside)
            manager = Manager(sources=sources, kind=CheckerKind.TESTLIB, language=language)
            return {"task_type": TaskType.INTERACTIVE, "manager": manager}
    if "manager.cpp" not in given or "stub.cpp" not in given:
        raise Unusable(NO_INTERACTOR)
    script = row.text("evaluation_script", "") or given.get("evaluate.sh", "")
    fifos = re.findall(r"^[^#\n]*?\bmkfifo\s+([^;&|\n]*)", script, re.M)
    pipes = sum(len(names.split()) for names in fifos)
    if not pipes or pipes % 2:
        raise Unusable(SCRIPTS)
    stub = NamedBlob(name="stub.cpp", content=Blob.of(given["stub.cpp"]))
    sources = (*testlib.program("manager.cpp", given["manager.cpp"], *folders), *beside)
    options = TaskOptions(
        with_grader=True,
        processes=pipes // 2,
        user_io="fifo_io" if "argv" in given["stub.cpp"] else "std_io",
    )
    return {
        "task_type": TaskType.COMMUNICATION,
        "manager": Manager(sources=sources),
        "options": options,
        "grader_files": tuple(replace(file, name=f"graders/{file.name}") for file in (stub, *beside)),
    }


def _files(row: Row, field: str) -> Mapping[str, str]:
    """Contents by names, from JSON."""
    found: Any = row.json(field) or {}
    if isinstance(found, dict) and all(isinstance(content, str) for content in found.values()):
        return found
    raise row.wrong(field, "not an object of texts")


# --- tests -------------------------------------------------------------------------------------------


def _with_tests(problem: Problem, table: Table, keep: Keep) -> Problem:
    places = table.groups("problem_id").get(problem.id, ())
    if len(places) != 1:
        raise CasesError(NO_CASES)
    row = table[places[0]]
    parts = _decoded(row.text("subtasks", "{}").encode(), dict[str, _Part])
    named = {name for part in parts.values() for name in part.testcases}
    text = row.content("tests")
    cases = _decoded(text, dict[str, msgspec.Raw])
    for name in sorted(named - cases.keys()):
        raise broken(f"a subtask names the test {name!r}, which is not there")
    if not all(part.testcases for part in parts.values()):
        raise broken("a subtask without tests")
    tests, reals = [], False
    for name in sorted(named or cases):
        case = _decoded(memoryview(cases[name]), _Case)
        reals = reals or _REAL.fullmatch(case.output) is not None
        tests.append(Test(name=name, input=keep.blob(case.input), answer=keep.blob(case.output)))
    if not tests:
        raise CasesError(NO_CASES)
    return replace(
        problem,
        tests=tuple(tests),
        subtasks=tuple(
            Subtask(name=name, points=part.score, tests=tuple(part.testcases)) for name, part in parts.items()
        ),
        checker=Checker() if problem.manager is not None else _checker(reals),
    )


def _checker(reals: bool) -> Checker:
    """As its judge, but that numbers may differ a little only where an answer is one with a point."""
    if reals:
        return Checker(kind=CheckerKind.TOKENS, absolute=_NEAR, relative=_NEAR)
    return Checker(kind=CheckerKind.LINES)


def _decoded(text: bytes | memoryview, kind: type[_T]) -> _T:
    """Decode JSON where it lies, since tests are read one by one. Raises CasesError."""
    try:
        nesting = Nesting()
        for start in range(0, len(text), _PIECE):
            nesting.feed(bytes(text[start : start + _PIECE]))
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        raise broken(str(error)) from error
