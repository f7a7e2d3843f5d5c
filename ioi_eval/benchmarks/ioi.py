"""The International Olympiad in Informatics: a row for each subtask, the tests of a year in another table.

The grader files of a row are those of the contest system's export, so they are read as such a package is;
graders/grader_config.json stands for its problem.json.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from ioi_eval.benchmarks.benchmark import Benchmark, BenchmarkOptions, Candidate, Keep
from ioi_eval.benchmarks.tables import Row, Table, Tables
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import Faults, Fields, nearest
from ioi_eval.model.nesting import shallow
from ioi_eval.model.values import Blob, Limits, NamedBlob, Problem, Subtask, TaskType, Test
from ioi_eval.problems import cms
from ioi_eval.problems.cms import read_options, read_params
from ioi_eval.problems.package import first_named
from ioi_eval.rules.languages import grader_name

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
        return msgspec.structs.replace(
            problem,
            tests=tuple(_test(tests[places[name]], problem, keep) for name in _names(rows, places)),
            subtasks=subtasks,
            statement=_statement(rows),
        )


def _tests_of(candidate: Candidate, tables: Tables) -> Table:
    columns = ("problem_id", "test_name", "test_input", "test_output")
    return tables.other(TESTS, config=str(candidate.year), columns=columns)


def _statement(rows: Sequence[Row]) -> Blob | None:
    """Return the whole statement; where there is one for each subtask, the last, which has everything."""
    texts = [rows[-1].text(field, "") for field in ("statement", "problem")]
    return next((Blob.of(text) for text in texts if text.strip()), None)


# --- grader files ------------------------------------------------------------------------------------


def _built(row: Row, candidate: Candidate) -> Problem:
    """The problem without tests and subtasks."""
    faults = Faults(f"{row.table.where}, row {row.index + 1}")
    files = _files(row)
    header = _header(row, files, faults)
    task = header.word("task_type", TaskType, TaskType.BATCH)
    params = read_params(header, task, faults)
    graders = tuple(file for file in files if file.name.startswith("graders/") and file.name != CONFIG)
    options = read_options(params, task, first_named(graders, [grader_name(task)]) is not None)
    cms.check_grader(task, options, graders, faults)
    checkers = tuple(file for file in files if file.name.startswith("checker/"))
    problem = Problem(
        id=candidate.id,
        name=row.text("name", candidate.id),
        year=candidate.year,
        source=row.table.where,
        task_type=task,
        options=options,
        limits=_limits(row, task),
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
    config = _config(row, files)
    params = {name: value for name, value in config.items() if name.startswith(_PARAMETERS)}
    values = {"task_type_params": params, "task_type": row.text("task_type", "") or config.get("task_type")}
    return Fields({name: value for name, value in values.items() if value}, CONFIG, faults)


def _config(row: Row, files: Sequence[NamedBlob]) -> Mapping[str, Any]:
    found = next((file.content.read() for file in files if file.name == CONFIG), b"{}")
    try:
        return msgspec.json.decode(shallow(found), type=dict[str, Any])
    except msgspec.DecodeError as error:
        problem = f"{CONFIG} is not a JSON object ({error})"
        raise row.wrong("grader_files", problem) from error


def _limits(row: Row, task: TaskType) -> Limits:
    if task is TaskType.OUTPUT_ONLY:  # no program runs
        return Limits()
    memory = row.whole("memory_limit", 0)
    return Limits.contest(row.number("time_limit", above=0), memory or None)


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
    needed = cms.needs_answers(problem.task_type, problem.checker)
    if answer is None and needed:
        raise row.wrong("test_output", "no expected output to compare with")
    if answer is not None and not answer.size and not needed:
        answer = None
    return Test(name=row.name("test_name"), input=keep.blob(row.content("test_input")), answer=answer)
