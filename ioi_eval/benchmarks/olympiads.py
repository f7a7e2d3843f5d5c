"""Benchmarks of informatics olympiads, with subtasks: the IOI (open-r1) and LiveOIBench."""

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
    ColumnNames,
    ContentStore,
    ProblemCandidate,
    Unusable,
    list_testlib_folders,
    make_statement_blob,
)
from ioi_eval.benchmarks.tables import Row, Table, Tables
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import Faults, Fields, suggest_names
from ioi_eval.model.nesting import NestingChecker, require_shallow
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
from ioi_eval.problems.package import TESTLIB, collect_program_files, find_first_by_stem
from ioi_eval.rules.json_tests import NO_CASES, CasesError, unparsable_tests
from ioi_eval.rules.languages import grader_name
from ioi_eval.rules.plan import needs_answers
from ioi_eval.store.rows import as_number
from ioi_eval.store.tasks import ContestResults, People

# --- IOI: a row for each subtask, and another table with the tests of each year ---------------------------
# The grader files of a row have the layout of an export of CMS, the contest system of the IOI, and are read
# by the same code. The file graders/grader_config.json replaces the export's problem.json.

TESTS = "open-r1/ioi-test-cases"  # hub id of the dataset with the tests
CONFIG = "graders/grader_config.json"
_PARAMETER_PREFIX = "task_type_parameters_"  # prefix of the parameters' names in CMS


class Ioi(Benchmark):
    """The IOI. A dump needs the year only if an id occurs in several years."""

    name: ClassVar = "ioi"
    about: ClassVar = "IOI 2020 to 2024, with subtasks, graders, checkers and managers"
    ids: ClassVar = r"[a-z][a-z0-9_]*"
    dump_columns: ClassVar = ("year", "subtask")
    dataset: ClassVar = "open-r1/ioi"
    split: ClassVar = "train+test"
    columns: ClassVar = ("year", "id", "subtask", "score", "time_limit", "test_names", "grader_files")

    def candidates(self, main: Table) -> Iterator[ProblemCandidate]:
        row_indexes: dict[tuple[str, int], list[int]] = {}
        for row in main:
            row_indexes.setdefault((row.read_name("id"), row.read_integer("year")), []).append(row.index)
        return (
            ProblemCandidate(id=problem_id, year=year, rows=tuple(indexes))
            for (problem_id, year), indexes in row_indexes.items()
        )

    def fingerprint(self, candidate: ProblemCandidate, tables: Tables) -> str:
        return f"{tables.main.fingerprint} {_open_tests_table(candidate, tables).fingerprint}"

    def problem(
        self, candidate: ProblemCandidate, tables: Tables, contents: ContentStore, options: BenchmarkOptions
    ) -> Problem:
        subtask_rows = [tables.main[index] for index in candidate.rows]
        tests_table = _open_tests_table(candidate, tables)
        problem = _make_problem_without_tests(subtask_rows[0], candidate)
        subtasks = _make_subtasks(subtask_rows)
        row_indexes = _find_row_indexes(tests_table, candidate)
        # If each subtask has its own statement, the statement in the last row is the complete statement.
        statements = [subtask_rows[-1].read_text(field, "") for field in ("statement", "problem")]
        return replace(
            problem,
            tests=tuple(
                _make_test(tests_table[row_indexes[test_name]], problem, contents)
                for test_name in _list_test_names(subtask_rows, row_indexes)
            ),
            subtasks=subtasks,
            statement=next(map(make_statement_blob, filter(str.strip, statements)), None),
        )


def _open_tests_table(candidate: ProblemCandidate, tables: Tables) -> Table:
    """Return the table with the tests of the problem's year."""
    columns = ("problem_id", "test_name", "test_input", "test_output")
    return tables.open_other_table(TESTS, config=str(candidate.year), columns=columns)


# --- grader files ------------------------------------------------------------------------------------


def _make_problem_without_tests(row: Row, candidate: ProblemCandidate) -> Problem:
    """Return the problem without tests and subtasks. Raise the first error in its grader files."""
    faults = Faults(f"{row.table.where}, row {row.index + 1}")
    files = _read_files(row)
    header = _read_problem_config(row, files, faults)
    task = header.read_enum("task_type", TaskType, TaskType.BATCH)
    params = cms.read_params(header, task, faults)
    graders = tuple(file for file in files if file.name.startswith("graders/") and file.name != CONFIG)
    options = cms.read_options(params, task, find_first_by_stem(graders, [grader_name(task)]) is not None)
    cms.check_grader(task, options, graders, faults)
    checkers = tuple(file for file in files if file.name.startswith("checker/"))
    problem = Problem(
        id=candidate.id,
        name=row.read_text("name", candidate.id),
        year=candidate.year,
        source=row.table.where,
        task_type=task,
        options=options,
        limits=Limits()  # output-only tasks run no program, so the limits do not matter
        if task is TaskType.OUTPUT_ONLY
        else Limits.contest(
            row.read_number("time_limit", above=0), row.read_integer("memory_limit", 0) or None
        ),
        grader_files=graders,
        checker=cms.find_checker(header, params, task, checkers),
        manager=cms.find_manager(header, task, graders, faults),
        score_precision=row.read_integer("score_precision", 2),
        cpp_standard=cms.read_cpp_standard(header, candidate.year),
        starter_code=row.read_text("starting_code", ""),
    )
    if faults.errors:
        raise faults.errors[0]
    return problem


def _read_files(row: Row) -> tuple[NamedBlob, ...]:
    """Return the grader files of a row. Files without content are ignored."""
    path_content_pairs = row.raw_value("grader_files") or []
    for path_content_pair in path_content_pairs:
        if not (
            isinstance(path_content_pair, list)
            and len(path_content_pair) == 2
            and isinstance(path_content_pair[0], str)
            and path_content_pair[0]
        ):
            raise row.make_error(
                "grader_files", f"{str(path_content_pair)[:60]!r} is not a pair of path and content"
            )
    return tuple(
        NamedBlob(name=path, content=Blob.of(content)) for path, content in path_content_pairs if content
    )


def _read_problem_config(row: Row, files: Sequence[NamedBlob], faults: Faults) -> Fields:
    """Return grader_config.json as a problem.json of the contest system, with the task type of the row."""
    config_content = next((file.content.read() for file in files if file.name == CONFIG), b"{}")
    try:
        config = msgspec.json.decode(require_shallow(config_content), type=dict[str, Any])
    except ValueError as error:
        raise row.make_error("grader_files", f"{CONFIG} is not a JSON object ({error})") from error
    task_type_params = {name: value for name, value in config.items() if name.startswith(_PARAMETER_PREFIX)}
    header_values = {
        "task_type_params": task_type_params,
        "task_type": row.read_text("task_type", "") or config.get("task_type"),
    }
    return Fields({name: value for name, value in header_values.items() if value}, CONFIG, faults)


# --- tests and subtasks ------------------------------------------------------------------------------


def _make_subtasks(rows: Sequence[Row]) -> tuple[Subtask, ...]:
    """Return the subtasks in the order of the rows. The subtask of the examples has 0 points."""
    subtasks: dict[str, Subtask] = {}
    for row in rows:
        name, tests = row.read_name("subtask"), row.read_texts("test_names")
        if name in subtasks:
            raise row.make_error("subtask", f"subtask {name!r} occurs twice", "Remove the duplicate subtask")
        if not tests:
            raise row.make_error("test_names", "the subtask has no tests")
        subtasks[name] = Subtask(name=name, points=row.read_number("score"), tests=tests)
    return tuple(subtasks.values())


def _find_row_indexes(tests_table: Table, candidate: ProblemCandidate) -> dict[str, int]:
    """Return the indexes of the rows with the problem's tests, by the tests' names."""
    row_indexes = tests_table.group_rows("problem_id").get(candidate.id, ())
    indexes_by_test_name = {tests_table[index].read_name("test_name"): index for index in row_indexes}
    if len(indexes_by_test_name) != len(row_indexes):
        problem = f"two tests of problem {candidate.id!r} have the same name"
        raise InputError(
            problem, where=tests_table.where, field="test_name", remedy="Remove the duplicate test"
        )
    return indexes_by_test_name


def _list_test_names(rows: Sequence[Row], existing_tests: Mapping[str, int]) -> tuple[str, ...]:
    """Return the sorted names of all tests in subtasks. Raise an InputError if a test does not exist."""
    for row in rows:
        for test_name in row.read_texts("test_names"):
            if test_name not in existing_tests:
                problem = f"names the test {test_name!r}, which is not among the tests"
                raise row.make_error("test_names", problem, suggest_names(test_name, tuple(existing_tests)))
    return tuple(sorted({test_name for row in rows for test_name in row.read_texts("test_names")}))


def _make_test(row: Row, problem: Problem, contents: ContentStore) -> Test:
    """Return a test. An empty expected output counts as missing if a checker or a manager decides."""
    answer = contents.store(row.read_content("test_output")) if row.has_field("test_output") else None
    is_answer_needed = needs_answers(problem.task_type, problem.checker)
    if answer is None and is_answer_needed:
        raise row.make_error("test_output", "the test has no expected output")
    if answer is not None and not answer.size and not is_answer_needed:
        answer = None
    return Test(
        name=row.read_name("test_name"), input=contents.store(row.read_content("test_input")), answer=answer
    )


# --- LiveOIBench: tasks of 14 olympiads; a JSON string has all tests of a task -----------------------

LIVE_TESTS = "LiveOIBench/LiveOIBench_tests"  # hub id of the dataset with the tests
PEOPLE = "LiveOIBench/LiveOIBench_contestants"  # hub id of the dataset with the results of human contestants
NO_INTERACTOR = "interactive, and the dataset has no interactor"
SCRIPTS = "interactive, and only a shell script runs its manager: judge the task's package (problems=FOLDER)"
_CPP_STANDARD = "gnu++17"
_LIMIT_FACTOR = 1.2  # factor by which the benchmark's judge multiplies the contest's time and memory limits
_MEBIBYTE = 1 << 20
_TOLERANCE = 1e-6  # tolerance for an answer that is a single number, as in the benchmark's judge
# Pattern of an answer that is a single number with a decimal point or an exponent.
_REAL = re.compile(r"\s*[+-]?(?=[0-9.]*[.eE])([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
_PIECE_BYTES = 1 << 20  # size in bytes of a piece of JSON whose nesting is checked at once
_GRADER = "grader.cpp"

_T = TypeVar("_T")


class _Case(msgspec.Struct):
    input: str = ""
    output: str = ""


class _SubtaskRow(msgspec.Struct):
    score: float
    testcases: list[str]


class LiveOIBench(Benchmark):
    """Tasks of informatics olympiads, with the results of their contestants."""

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

    def candidate(self, row: Row) -> ProblemCandidate:
        difficulty = row.read_number("difficulty", 0)
        problem_id = row.read_name("problem_id")
        id_match = re.match(r"([^-]+)-([0-9]{4})-[^-]+-.", problem_id)  # such as IOI-2024-contest-nile
        if id_match is None:
            raise row.make_error(
                "problem_id", f"{problem_id!r} does not consist of contest, year, round and task"
            )
        return ProblemCandidate(
            id=problem_id,
            rows=(row.index,),
            year=int(id_match[2]),
            difficulty=f"{difficulty:g}" if difficulty else "",
            tags=(id_match[1],),
        )

    def read_people(self, tables: Tables) -> People:
        columns = ("contest_id", "contestants_ranking", "problems")
        table = tables.open_other_table(PEOPLE, path="data/contest_results.parquet", columns=columns)
        return People(source=PEOPLE, contests=tuple(filter(None, map(_read_contest_results, table))))

    def fingerprint(self, candidate: ProblemCandidate, tables: Tables) -> str:
        return f"{tables.main.fingerprint} {_open_tests_of_year(candidate, tables).fingerprint}"

    def problem(
        self, candidate: ProblemCandidate, tables: Tables, contents: ContentStore, options: BenchmarkOptions
    ) -> Problem:
        row, tests_table = tables.main[candidate.rows[0]], _open_tests_of_year(candidate, tables)
        testlib_folders, is_interactive = list_testlib_folders(options), row.read_text("task_type") != "batch"
        problem_fields = (
            _read_interactive_fields(row, tests_table, testlib_folders)
            if is_interactive
            else _read_grader_fields(row, testlib_folders)
        )
        return self.make_problem_from_row(
            row,
            candidate,
            lambda problem: _add_tests(problem, tests_table, contents),
            **problem_fields,
            limits=Limits.contest(
                round(_LIMIT_FACTOR * row.read_number("time_limit", above=0), 6),
                int(_LIMIT_FACTOR * row.read_number("memory_limit", above=0) * _MEBIBYTE),
            ),
            cpp_standard=_CPP_STANDARD,
            starter_code=_read_source_files(row, "starter_code").get(f"{row.read_text('task_name')}.cpp", ""),
        )


def _open_tests_of_year(candidate: ProblemCandidate, tables: Tables) -> Table:
    """Return the table with the tests of the task's year."""
    path = f"liveoibench_testcases_v1_{candidate.year}.parquet"
    return tables.open_other_table(LIVE_TESTS, path=path, columns=("problem_id", "tests", "subtasks"))


# --- people ------------------------------------------------------------------------------------------


# Key of a contestant's total over those problems that the dataset contains.
_RECALCULATED = "recalculatedtotal"
_RATING_KEYS = ("cfrating", "codeforcesrating")
_UNRATED = (0, -1000)  # ratings that mean that a contestant has no rating


def _read_contest_results(row: Row) -> ContestResults | None:
    """Return the contestants' totals, or None if results of any of the contest's problems are missing."""
    contest_id, problem_ids = row.read_name("contest_id"), row.read_json("problems") or []
    rankings = [
        {_normalize_key(rating_key): value for rating_key, value in ranking.items()}
        for ranking in row.read_json("contestants_ranking") or []
    ]
    # Skip USACO's combined results, which mix divisions with different contestants.
    if not rankings or not problem_ids or contest_id.endswith("-combined"):
        return None
    task_keys = [_normalize_key(str(problem_id).split("-", 3)[-1]) for problem_id in problem_ids]
    score_columns = [_RECALCULATED] if any(_RECALCULATED in ranking for ranking in rankings) else task_keys
    if not all(any(score_column in ranking for ranking in rankings) for score_column in score_columns):
        return None
    ratings = [
        next((as_number(ranking[rating_key]) for rating_key in _RATING_KEYS if rating_key in ranking), None)
        for ranking in rankings
    ]
    return ContestResults(
        contest=contest_id,
        problems=tuple(map(str, problem_ids)),
        totals=tuple(
            sum(as_number(ranking.get(score_column)) or 0.0 for score_column in score_columns)
            for ranking in rankings
        ),
        ratings=tuple(None if rating in _UNRATED else rating for rating in ratings),
    )


def _normalize_key(text: str) -> str:
    """Return the lower-case letters and digits of a key."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


# --- graders -----------------------------------------------------------------------------------------


def _read_grader_fields(row: Row, testlib_folders: Sequence[Path]) -> dict[str, Any]:
    """Return the problem's fields if it has a grader with a header, which the benchmark's judge compiles."""
    sources = {**_read_source_files(row, "starter_code"), **_read_source_files(row, "grader_code")}
    header_names = [name for name in sources if name.endswith(".h")]
    if _GRADER not in sources or not header_names:
        return {}
    grader_files = collect_program_files(_GRADER, sources[_GRADER], *testlib_folders)
    headers = (
        NamedBlob(name=name, content=Blob.of(sources[name])) for name in header_names if name != TESTLIB
    )
    graders = tuple(replace(file, name=f"graders/{file.name}") for file in (*grader_files, *headers))
    return {"options": TaskOptions(with_grader=True), "grader_files": graders}


def _read_interactive_fields(row: Row, tests_table: Table, testlib_folders: Sequence[Path]) -> dict[str, Any]:
    """Return the fields of a problem with an interactor, which accepts with exit code 0.

    Raises:
        Unusable: The interactor is missing, or only a shell script can start it.
    """
    sources = {**_read_source_files(row, "starter_code"), **_read_source_files(row, "grader_code")}
    for row_index in tests_table.group_rows("problem_id").get(row.read_name("problem_id"), ()):
        for field in ("starter_codes", "grader_codes"):
            sources |= _read_source_files(tests_table[row_index], field)
    headers = [
        NamedBlob(name=file_name, content=Blob.of(sources[file_name]))
        for file_name in sources
        if file_name.endswith(".h") and file_name != TESTLIB
    ]
    for file_name, language in (("interactor.cpp", "c++"), ("interactor.py", "python")):
        if file_name in sources:
            interactor_files = (
                *collect_program_files(file_name, sources[file_name], *testlib_folders),
                *headers,
            )
            manager = Manager(sources=interactor_files, kind=CheckerKind.TESTLIB, language=language)
            return {"task_type": TaskType.INTERACTIVE, "manager": manager}
    raise Unusable(SCRIPTS if "manager.cpp" in sources else NO_INTERACTOR)


def _read_source_files(row: Row, field: str) -> Mapping[str, str]:
    """Return the contents of the files in a JSON field, by name."""
    contents_by_name: Any = row.read_json(field) or {}
    if isinstance(contents_by_name, dict) and all(
        isinstance(content, str) for content in contents_by_name.values()
    ):
        return contents_by_name
    raise row.make_error(field, "the value is not an object of strings")


# --- tests -------------------------------------------------------------------------------------------


def _add_tests(problem: Problem, tests_table: Table, contents: ContentStore) -> Problem:
    """Return the problem with its tests, subtasks and comparison. Raise CasesError if tests are missing."""
    indexes = tests_table.group_rows("problem_id").get(problem.id, ())
    if len(indexes) != 1:
        raise CasesError(NO_CASES)
    tests_row = tests_table[indexes[0]]
    subtasks = _decode_json(tests_row.read_text("subtasks", "{}").encode(), dict[str, _SubtaskRow])
    used_tests = {test_name for subtask in subtasks.values() for test_name in subtask.testcases}
    cases_by_name = _decode_json(tests_row.read_content("tests"), dict[str, msgspec.Raw])
    for test_name in sorted(used_tests - cases_by_name.keys()):
        raise unparsable_tests(f"a subtask names the test {test_name!r}, which does not exist")
    if not all(subtask.testcases for subtask in subtasks.values()):
        raise unparsable_tests("a subtask has no tests")
    tests, has_reals = [], False
    for test_name in sorted(used_tests or cases_by_name):
        case = _decode_json(memoryview(cases_by_name[test_name]), _Case)
        has_reals = has_reals or _REAL.fullmatch(case.output) is not None
        tests.append(
            Test(name=test_name, input=contents.store(case.input), answer=contents.store(case.output))
        )
    if not tests:
        raise CasesError(NO_CASES)
    # Outputs are compared as by the benchmark's judge, except that numbers may differ only if an answer has a
    # decimal point.
    token_checker = Checker(kind=CheckerKind.TOKENS, absolute=_TOLERANCE, relative=_TOLERANCE)
    comparison = token_checker if has_reals else Checker(kind=CheckerKind.LINES)
    return replace(
        problem,
        tests=tuple(tests),
        subtasks=tuple(
            Subtask(name=test_name, points=subtask.score, tests=tuple(subtask.testcases))
            for test_name, subtask in subtasks.items()
        ),
        checker=Checker() if problem.manager is not None else comparison,
    )


def _decode_json(text: bytes | memoryview, kind: type[_T]) -> _T:
    """Decode JSON without copying it. Raise CasesError if it is broken or nested too deeply."""
    try:
        nesting = NestingChecker()
        for piece_start in range(0, len(text), _PIECE_BYTES):
            nesting.check_piece(bytes(text[piece_start : piece_start + _PIECE_BYTES]))
        return msgspec.json.decode(text, type=kind)
    except ValueError as error:
        raise unparsable_tests(str(error)) from error
