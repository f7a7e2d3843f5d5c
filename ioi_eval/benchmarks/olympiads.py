"""Informatics olympiads, with subtasks: the IOI (open-r1), and LiveOIBench."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
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
    header_folders,
    statement_of,
)
from ioi_eval.benchmarks.tables import Row, Table, Tables
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import Faults, Fields, nearest
from ioi_eval.model.nesting import Nesting, shallow
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
from ioi_eval.problems import cms
from ioi_eval.problems.package import TESTLIB, first_named, with_testlib
from ioi_eval.rules.json_tests import NO_CASES, CasesError, broken
from ioi_eval.rules.languages import grader_name
from ioi_eval.rules.plan import needs_answers
from ioi_eval.store.rows import as_number
from ioi_eval.store.tasks import ContestResults, People

# --- IOI: a row for each subtask, the tests of a year in another table ------------------------------------
# The grader files of a row are those of the contest system's export, so they are read as such a package is;
# graders/grader_config.json stands for its problem.json.

TESTS = "open-r1/ioi-test-cases"
CONFIG = "graders/grader_config.json"
_PARAMETERS = "task_type_parameters_"


class Ioi(Benchmark):
    name: ClassVar = "ioi"
    about: ClassVar = "IOI 2020 to 2024, with subtasks, graders, checkers and managers"
    ids: ClassVar = r"[a-z][a-z0-9_]*"
    dump_columns: ClassVar = ("year", "subtask")
    dataset: ClassVar = "open-r1/ioi"
    split: ClassVar = "train+test"
    columns: ClassVar = ("year", "id", "subtask", "score", "time_limit", "test_names", "grader_files")

    def candidates(self, main: Table) -> Iterator[Candidate]:
        rows: dict[tuple[str, int], list[int]] = {}
        for row in main:
            rows.setdefault((row.name("id"), row.whole("year")), []).append(row.index)
        return (Candidate(id=name, year=year, rows=tuple(found)) for (name, year), found in rows.items())

    def fingerprint(self, candidate: Candidate, tables: Tables) -> str:
        return f"{tables.main.fingerprint} {_tests_of(candidate, tables).fingerprint}"

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        rows = [tables.main[index] for index in candidate.rows]
        tests = _tests_of(candidate, tables)
        problem = _built(rows[0], candidate)
        subtasks = _subtasks(rows)
        places = _places(tests, candidate)
        # Where there is a statement for each subtask, the last one has everything.
        texts = [rows[-1].text(field, "") for field in ("statement", "problem")]
        return replace(
            problem,
            tests=tuple(_test(tests[places[name]], problem, keep) for name in _names(rows, places)),
            subtasks=subtasks,
            statement=next(map(statement_of, filter(str.strip, texts)), None),
        )


def _tests_of(candidate: Candidate, tables: Tables) -> Table:
    columns = ("problem_id", "test_name", "test_input", "test_output")
    return tables.other(TESTS, config=str(candidate.year), columns=columns)


# --- grader files ------------------------------------------------------------------------------------


def _built(row: Row, candidate: Candidate) -> Problem:
    """The problem without tests and subtasks."""
    faults = Faults(f"{row.table.where}, row {row.index + 1}")
    files = _files(row)
    header = _header(row, files, faults)
    task = header.word("task_type", TaskType, TaskType.BATCH)
    params = cms.read_params(header, task, faults)
    graders = tuple(file for file in files if file.name.startswith("graders/") and file.name != CONFIG)
    options = cms.read_options(params, task, first_named(graders, [grader_name(task)]) is not None)
    cms.check_grader(task, options, graders, faults)
    checkers = tuple(file for file in files if file.name.startswith("checker/"))
    problem = Problem(
        id=candidate.id,
        name=row.text("name", candidate.id),
        year=candidate.year,
        source=row.table.where,
        task_type=task,
        options=options,
        limits=Limits()  # no program runs
        if task is TaskType.OUTPUT_ONLY
        else Limits.contest(row.number("time_limit", above=0), row.whole("memory_limit", 0) or None),
        grader_files=graders,
        checker=cms.checker_of(header, params, task, checkers),
        manager=cms.manager_of(header, task, graders, faults),
        score_precision=row.whole("score_precision", 2),
        cpp_standard=cms.cpp_standard(header, candidate.year),
        starter_code=row.text("starting_code", ""),
    )
    if faults.errors:
        raise faults.errors[0]
    return problem


def _files(row: Row) -> tuple[NamedBlob, ...]:
    """[path, content] each; those without content are left out, as pipelines in use do."""
    pairs = row.value("grader_files") or []
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) and pair[0]):
            what = f"{str(pair)[:60]!r} is not a pair of path and content"
            raise row.wrong("grader_files", what)
    return tuple(NamedBlob(name=path, content=Blob.of(content)) for path, content in pairs if content)


def _header(row: Row, files: Sequence[NamedBlob], faults: Faults) -> Fields:
    """grader_config.json as the contest system's problem.json; the row's own task type wins."""
    found = next((file.content.read() for file in files if file.name == CONFIG), b"{}")
    try:
        config = msgspec.json.decode(shallow(found), type=dict[str, Any])
    except ValueError as error:
        problem = f"{CONFIG} is not a JSON object ({error})"
        raise row.wrong("grader_files", problem) from error
    params = {name: value for name, value in config.items() if name.startswith(_PARAMETERS)}
    values = {"task_type_params": params, "task_type": row.text("task_type", "") or config.get("task_type")}
    return Fields({name: value for name, value in values.items() if value}, CONFIG, faults)


# --- tests and subtasks ------------------------------------------------------------------------------


def _subtasks(rows: Sequence[Row]) -> tuple[Subtask, ...]:
    """In the order of the rows; the one of the examples is worth nothing and is judged all the same."""
    found: dict[str, Subtask] = {}
    for row in rows:
        name, tests = row.name("subtask"), row.texts("test_names")
        if name in found:
            raise row.wrong("subtask", f"a second subtask {name!r}", "Is a file there twice?")
        if not tests:
            raise row.wrong("test_names", "a subtask without tests")
        found[name] = Subtask(name=name, points=row.number("score"), tests=tests)
    return tuple(found.values())


def _places(tests: Table, candidate: Candidate) -> dict[str, int]:
    """The rows of the problem's tests, by name."""
    rows = tests.groups("problem_id").get(candidate.id, ())
    names = {tests[index].name("test_name"): index for index in rows}
    if len(names) != len(rows):
        what = f"tests of problem {candidate.id!r} with the same name"
        raise InputError(what, where=tests.where, field="test_name", remedy="Is a file there twice?")
    return names


def _names(rows: Sequence[Row], places: Mapping[str, int]) -> tuple[str, ...]:
    """Every test that a subtask names, once, by name."""
    for row in rows:
        for name in row.texts("test_names"):
            if name not in places:
                what = f"names the test {name!r}, which is not among the tests"
                raise row.wrong("test_names", what, nearest(name, tuple(places)))
    return tuple(sorted({name for row in rows for name in row.texts("test_names")}))


def _test(row: Row, problem: Problem, keep: Keep) -> Test:
    """An expected output that is not there is none; an empty one is one, except to a checker or a manager."""
    answer = keep.blob(row.content("test_output")) if row.has("test_output") else None
    needed = needs_answers(problem.task_type, problem.checker)
    if answer is None and needed:
        raise row.wrong("test_output", "no expected output to compare with")
    if answer is not None and not answer.size and not needed:
        answer = None
    return Test(name=row.name("test_name"), input=keep.blob(row.content("test_input")), answer=answer)


# --- LiveOIBench: tasks of 14 olympiads; the tests of a task are one JSON text ------------------------------

LIVE_TESTS = "LiveOIBench/LiveOIBench_tests"
PEOPLE = "LiveOIBench/LiveOIBench_contestants"
NO_INTERACTOR = "interactive, and the dataset has no interactor"
SCRIPTS = (
    "interactive, and only a shell script runs its manager: judge the task's package (--problems FOLDER)"
)
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
    uses_testlib: ClassVar = True

    def candidate(self, row: Row) -> Candidate:
        difficulty = row.number("difficulty", 0)
        name = row.name("problem_id")
        found = re.match(r"([^-]+)-([0-9]{4})-[^-]+-.", name)  # IOI-2024-contest-nile
        if found is None:
            raise row.wrong("problem_id", f"{name!r} is not contest, year, round and task")
        return Candidate(
            id=name,
            rows=(row.index,),
            year=int(found[2]),
            difficulty=f"{difficulty:g}" if difficulty else "",
            tags=(found[1],),
        )

    def people(self, tables: Tables) -> People:
        needed = ("contest_id", "contestants_ranking", "problems")
        table = tables.other(PEOPLE, path="data/contest_results.parquet", columns=needed)
        return People(source=PEOPLE, contests=tuple(filter(None, map(_contest_results, table))))

    def fingerprint(self, candidate: Candidate, tables: Tables) -> str:
        return f"{tables.main.fingerprint} {_tests_of_year(candidate, tables).fingerprint}"

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        row, tests = tables.main[candidate.rows[0]], _tests_of_year(candidate, tables)
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
            starter_code=_sources(row, "starter_code").get(f"{row.text('task_name')}.cpp", ""),
        )


def _tests_of_year(candidate: Candidate, tables: Tables) -> Table:
    path = f"liveoibench_testcases_v1_{candidate.year}.parquet"
    return tables.other(LIVE_TESTS, path=path, columns=("problem_id", "tests", "subtasks"))


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
    given = {**_sources(row, "starter_code"), **_sources(row, "grader_code")}
    headers = [name for name in given if name.endswith(".h")]
    if _GRADER not in given or not headers:
        return {}
    program = with_testlib(_GRADER, given[_GRADER], *folders)
    beside = (NamedBlob(name=name, content=Blob.of(given[name])) for name in headers if name != TESTLIB)
    graders = tuple(replace(file, name=f"graders/{file.name}") for file in (*program, *beside))
    return {"options": TaskOptions(with_grader=True), "grader_files": graders}


def _interactive(row: Row, tests: Table, folders: Sequence[Path]) -> dict[str, Any]:
    """Return the fields of a task with an interactor, which exits with another code than 0 if it rejects.

    Raises Unusable if there is no interactor. Scripts that start a manager are not run.
    """
    given = {**_sources(row, "starter_code"), **_sources(row, "grader_code")}
    for place in tests.groups("problem_id").get(row.name("problem_id"), ()):
        for field in ("starter_codes", "grader_codes"):
            given |= _sources(tests[place], field)
    headers = [NamedBlob(name=name, content=Blob.of(given[name])) for name in given if name.endswith(".h")]
    beside = [header for header in headers if header.name != TESTLIB]
    for name, language in (("interactor.cpp", "c++"), ("interactor.py", "python")):
        if name in given:
            sources = (*with_testlib(name, given[name], *folders), *beside)
            manager = Manager(sources=sources, kind=CheckerKind.TESTLIB, language=language)
            return {"task_type": TaskType.INTERACTIVE, "manager": manager}
    raise Unusable(SCRIPTS if "manager.cpp" in given else NO_INTERACTOR)


def _sources(row: Row, field: str) -> Mapping[str, str]:
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
    # As its judge, but that numbers may differ a little only where an answer is one with a point.
    near = Checker(kind=CheckerKind.TOKENS, absolute=_NEAR, relative=_NEAR)
    compared = near if reals else Checker(kind=CheckerKind.LINES)
    return replace(
        problem,
        tests=tuple(tests),
        subtasks=tuple(
            Subtask(name=name, points=part.score, tests=tuple(part.testcases)) for name, part in parts.items()
        ),
        checker=Checker() if problem.manager is not None else compared,
    )


def _decoded(text: bytes | memoryview, kind: type[_T]) -> _T:
    """Decode JSON where it lies, since tests are read one by one. Raises CasesError."""
    try:
        nesting = Nesting()
        for start in range(0, len(text), _PIECE):
            nesting.feed(bytes(text[start : start + _PIECE]))
        return msgspec.json.decode(text, type=kind)
    except ValueError as error:
        raise broken(str(error)) from error
