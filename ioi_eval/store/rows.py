"""Convert between results and rows: a row is a flat JSON object for a submission and its result.

A row has the columns of the dump and the result columns. The names in `RESULT_COLUMNS` are reserved for the
result. If a dump has such a column (a scored dump that is scored again), the result replaces it, and a column
that this result does not fill is removed.

Rows in results.jsonl are compact: each test occurs once, as a list for each field, and the confinement is a
name.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import Annotated, Any

import msgspec

from ioi_eval.model.errors import InputError, JudgeFailure
from ioi_eval.model.values import (
    LanguageFrom,
    Number,
    Problem,
    Submission,
    SubmissionResult,
    SubtaskResult,
    TestResult,
    Verdict,
)
from ioi_eval.rules import scoring

TEST_COLUMNS = "test_columns"
_TESTS, _SUBTASKS, _CONFINEMENT = "test_results", "all_subtasks_results", "confinement"
# Fields that only few tests have, with the value that means that a test lacks the field. A test has
# `cpu_times` if it ran again, `points` if a grader counts its points, `processes` if it starts processes.
RARE: Mapping[str, Any] = {"cpu_times": [], "points": None, "processes": None}
_NO_VALUE = object()
_Row = dict[str, Any]
_SANDBOX_USER = "uid"  # key of the sandbox's user id in a description of the sandbox; it is not stored
MAX_COMPILE_OUTPUT = 4096  # maximum length of a compiler's output, in characters
MAX_OUTPUT = 400  # maximum length of a failed test's output, input and expected output, in bytes
PASSED = (Verdict.AC, Verdict.SKIPPED)  # verdicts of tests that lose no points
# Prefix of `program_sha256`: the version of the rule by which programs are equal.
PROGRAM_RULE = "2:"
MODEL_COLUMNS = ("model", "model_id", "model_name")
# Prefix of the keys of rows that another judge wrote without keys, such as "row 5" for the fifth row.
ROW_KEY_PREFIX = "row "

RESULT_COLUMNS = frozenset(
    {
        "key",
        "problem_id",
        "language",
        "language_from",
        "read_from",
        "dump_row",
        "points",
        "max_points",
        "solved",
        "verdict",
        "reason",
        "submission_sha256",
        "program_sha256",
        "repeats",
        "target_subtask",
        "code_compiles",
        "target_subtask_score",
        "target_subtask_status",
        "all_subtasks_points",
        "all_subtasks_results",
        "all_subtasks_exact_scores",
        "test_results",
        TEST_COLUMNS,
        "resolved",
        "passed",
        "total",
        "pass_rate",
        "compile_output",
        "wrong_output",
        "repairs",
        "checker",
        "compiler",
        "confinement",
    }
)


def hash_submission(problem: Problem, submission: Submission) -> str:
    """Return a hash that is equal for submissions with the same problem, language, code and files."""
    output_hashes = sorted([file.name, file.content.sha256] for file in submission.outputs)
    source_hashes = sorted([file.name, file.content.sha256] for file in submission.files)
    optional_parts: list[Any] = (
        [output_hashes, source_hashes] if source_hashes else [output_hashes] if output_hashes else []
    )
    # A submission whose language was detected in the reply scores 0 if the language cannot run, so the hash
    # includes this fact.
    if submission.language_from is LanguageFrom.REPLY:
        optional_parts.append(submission.language_from)
    source_code = submission.code
    code_or_bytes: str | bytes | None = source_code
    # Code with lone surrogates, which rows cannot store, is hashed as bytes.
    if source_code is not None and as_json_value(source_code) != source_code:
        code_or_bytes = source_code.encode(errors="surrogatepass")
    hashed_values = [problem.id, problem.year, submission.language, code_or_bytes, *optional_parts]
    return hashlib.sha256(msgspec.json.encode(as_json_value(hashed_values))).hexdigest()


# --- a result as a row -------------------------------------------------------------------------------


def result_row(
    submission: Submission, problem: Problem, result: SubmissionResult, *, outputs: bool = False
) -> dict[str, Any]:
    """Return the row of results.jsonl; reading it back from JSON gives an equal row.

    Args:
        submission: the submission, with the dump's columns.
        problem: its problem.
        result: its result.
        outputs: include the start of the first wrong output.
    """
    return _create_row(
        submission, problem, result, outputs, lambda tests: [as_json_value(_test_row(test)) for test in tests]
    )


def make_compact_row(
    submission: Submission, problem: Problem, result: SubmissionResult, *, outputs: bool = False
) -> dict[str, Any]:
    """Return the row in the form that `compact_row_and_confinement` returns, but with the whole confinement.

    Args:
        submission: The submission, with the dump's columns.
        problem: The submission's problem.
        result: The submission's result.
        outputs: True if the row contains the start of the first wrong output.
    """
    tests = DistinctTestList()
    row = _create_row(submission, problem, result, outputs, tests.find_or_add)
    return {**row, TEST_COLUMNS: columns} if (columns := tests.columns()) else row


def _create_row(
    submission: Submission,
    problem: Problem,
    result: SubmissionResult,
    with_outputs: bool,
    convert_tests: Callable[[Sequence[TestResult]], list[Any]],
) -> dict[str, Any]:
    """Return the row of results.jsonl. `convert_tests` converts a list of tests to its form in the row."""
    dump_columns = {name: value for name, value in submission.row.items() if name not in RESULT_COLUMNS}
    # If the problem has no subtask with the target's name, the target's score is null.
    target_subtask = next(
        (subtask for subtask in result.subtasks if subtask.subtask == submission.target_subtask), None
    )
    verdict = result.verdict
    first_columns = {
        **dump_columns,
        "key": submission.key,
        "problem_id": submission.problem_id,
        "language": submission.language or None,
        "language_from": submission.language_from,
        **({"read_from": submission.read_from} if submission.read_from else {}),
        **({"dump_row": submission.dump_row} if submission.dump_row else {}),
        "verdict": verdict,
        "reason": scoring.find_unjudged_reason(result),
        "solved": verdict is Verdict.AC,
        "points": result.points,
        "max_points": math.fsum(subtask.points for subtask in result.subtasks) if result.subtasks else 1.0,
        "submission_sha256": hash_submission(problem, submission),
        "program_sha256": result.program_sha256 or None,
        "repeats": result.repeats or None,
        **_make_problem_label_columns(problem),
        "target_subtask": submission.target_subtask,
        "code_compiles": result.compiles,
        "target_subtask_score": target_subtask.score if target_subtask else None,
        "target_subtask_status": target_subtask.status if target_subtask else None,
        "all_subtasks_points": result.points,
    }
    last_columns = {
        "compile_output": shorten(submission.no_program or result.compile_output, MAX_COMPILE_OUTPUT),
        **(_wrong_output_column(problem, result) if with_outputs else {}),
        "repairs": result.repairs,
        "checker": result.checker,
        "compiler": result.compiler,
        "confinement": result.confinement,
    }
    # A subtask has exactly the fields of published result sets, so that sets can be combined.
    subtasks = [
        {
            name: convert_tests(subtask.test_results)
            if name == "test_results"
            else as_json_value(getattr(subtask, name))
            for name in SubtaskResult.__struct_fields__
            if name != "exact_score"
        }
        for subtask in result.subtasks
    ]
    pass_rate_columns = {} if problem.subtasks else scoring.pass_rate(result).columns
    return {
        **{str(name): as_json_value(value) for name, value in first_columns.items()},
        "all_subtasks_results": subtasks,
        "all_subtasks_exact_scores": [as_json_value(subtask.exact_score) for subtask in result.subtasks],
        **{name: as_json_value(value) for name, value in pass_rate_columns.items()},
        **({} if problem.subtasks else {"test_results": convert_tests(result.tests)}),
        **{name: as_json_value(value) for name, value in last_columns.items()},
    }


class DistinctTestList:
    """The tests of a row without repetitions, as `compact_row_and_confinement` lists them."""

    def __init__(self) -> None:
        self._distinct_tests = list[TestResult]()
        # Indexes of tests by name. Two different tests may have the same name.
        self._indices_by_name = dict[str, list[int]]()

    def find_or_add(self, tests: Sequence[TestResult]) -> list[int]:
        """Return the index of each test, and add new tests."""
        return [self._find_or_add_index(test) for test in tests]

    def _find_or_add_index(self, test: TestResult) -> int:
        indices = self._indices_by_name.setdefault(test.test_name, [])
        for index in indices:
            known_test = self._distinct_tests[index]
            if known_test is test or known_test == test or _test_row(known_test) == _test_row(test):
                return index
        indices.append(len(self._distinct_tests))
        self._distinct_tests.append(test)
        return indices[-1]

    def columns(self) -> dict[str, Any]:
        """Return the tests by field: a list of values, or a single value if all tests have an equal value.

        The result is empty if there are no tests.
        """
        field_names = dict.fromkeys(
            name for test in self._distinct_tests[:1] for name in _list_stored_fields(test)
        )
        for test in self._distinct_tests:
            if test.cpu_times or test.points is not None or test.processes is not None:
                field_names |= dict.fromkeys(_list_stored_fields(test))
        return {name: self._field_values(name) for name in field_names}

    def _field_values(self, name: str) -> Any:
        """Return the values of a field, or one value if it is equal for all tests."""
        values = [getattr(test, name) for test in self._distinct_tests]
        first_value = values[0]
        if name == "test_name":
            return [as_json_value(value) for value in values]
        if (
            values.count(first_value) == len(values)
            and not isinstance(first_value, tuple)
            and len({*map(type, values)}) == 1
        ):
            return as_json_value(first_value)
        return merge_equal_values([as_json_value(value) for value in values])


def has_same_columns(stored_row: Mapping[str, Any], submission: Submission, problem: Problem) -> bool:
    """Return True if a row has the columns that a new row of the submission would have."""
    dump_columns = {name: value for name, value in submission.row.items() if name not in RESULT_COLUMNS}
    new_columns = {
        **dump_columns,
        **_make_problem_label_columns(problem),
        "target_subtask": submission.target_subtask,
    }
    result_columns = RESULT_COLUMNS - {"target_subtask"}
    return bool(
        as_json_value(new_columns)
        == {name: value for name, value in stored_row.items() if name not in result_columns}
    )


def _make_problem_label_columns(problem: Problem) -> dict[str, Any]:
    """Return the labels by which reports group problems. Empty labels do not replace the dump's columns."""
    labels = {"year": problem.year, "difficulty": problem.difficulty, "tags": problem.tags}
    return {name: value for name, value in labels.items() if value}


# Names of the fields that are stored for every test. Outputs and errors are stored only on request.
_COMMON_FIELDS = tuple(
    name for name in TestResult.__struct_fields__ if name not in {"output", "error", *RARE}
)


def _list_stored_fields(test: TestResult) -> tuple[str, ...]:
    """Return the names of the fields that are stored: the common fields, and rare fields with a value."""
    if not test.cpu_times and test.points is None and test.processes is None:
        return _COMMON_FIELDS
    present_fields = {*_COMMON_FIELDS, *(name for name in RARE if getattr(test, name) not in (None, ()))}
    return tuple(name for name in TestResult.__struct_fields__ if name in present_fields)


def _test_row(test: TestResult) -> dict[str, Any]:
    return {name: getattr(test, name) for name in _list_stored_fields(test)}


def _wrong_output_column(problem: Problem, result: SubmissionResult) -> dict[str, Any]:
    """Return the column with the start of the first wrong output, of its input and of the expected output.

    If no output is stored, for instance because the tests ended early, the output is null and the input is
    that of the first failing test.
    """
    failed_tests = [test for test in result.tests if test.status not in PASSED]
    failed_test = next((test for test in failed_tests if test.output), next(iter(failed_tests), None))
    if failed_test is None or not result.compiles:
        return {}
    test = next((test for test in problem.tests if test.name == failed_test.test_name), None)
    input_blob, answer_blob = (None, None) if test is None else (test.input, test.answer)
    wrong_output = {
        "test_name": failed_test.test_name,
        "input": None if input_blob is None else input_blob.read_beginning(MAX_OUTPUT),
        "output": shorten(failed_test.output, MAX_OUTPUT) if failed_test.output else None,
        "expected": None if answer_blob is None else answer_blob.read_beginning(MAX_OUTPUT),
    }
    return {"wrong_output": wrong_output}


def failure_row(
    submission: Submission, failure: JudgeFailure, problem: Problem | None = None
) -> dict[str, Any]:
    """Return the row of failures.jsonl: the submission, its model, and the reason of the failure."""
    model_columns = {
        name: submission.row[name] for name in (*MODEL_COLUMNS, "model_kwargs") if name in submission.row
    }
    columns = {
        **model_columns,
        **({} if problem is None else _make_problem_label_columns(problem)),
        "key": submission.key,
        "problem_id": submission.problem_id,
        "reason": failure.reason,
        "phase": failure.phase,
        "test": failure.test,
        "remedy": failure.remedy,
        "final": failure.final,
    }
    return {name: as_json_value(value) for name, value in columns.items()}


# --- a row as a result -------------------------------------------------------------------------------


class _WrongOutput(msgspec.Struct):
    """The start of the first wrong output."""

    test_name: str
    output: str | None = None


class _ResultColumns(msgspec.Struct):
    """The columns that a result is read from. Users may have edited them."""

    key: str
    problem_id: str
    code_compiles: bool
    compile_output: str
    all_subtasks_points: Number
    all_subtasks_results: list[dict[str, Any]]
    all_subtasks_exact_scores: list[Any]
    repairs: tuple[str, ...]
    checker: str
    compiler: str
    confinement: dict[str, Any]
    submission_sha256: str | None = None
    program_sha256: str | None = None
    repeats: str | None = None
    wrong_output: _WrongOutput | None = None
    test_results: tuple[TestResult, ...] | None = None


def read_result(row: Mapping[str, Any]) -> SubmissionResult:
    """Return the result that a row was made from. The row's tests may be columns or lists.

    Tests are in the order in which the subtasks name them. Raises InputError if the row is not a valid
    result.
    """
    row_with_tests = restore_test_results(row)
    with _report_invalid_row(row):
        columns = msgspec.convert(row_with_tests, _ResultColumns)
    with _report_invalid_row(row, _SUBTASKS):
        subtasks_with_scores = zip(
            columns.all_subtasks_results, columns.all_subtasks_exact_scores, strict=True
        )
        subtasks = msgspec.convert(
            [{**subtask, "exact_score": exact_score} for subtask, exact_score in subtasks_with_scores],
            tuple[SubtaskResult, ...],
        )
    tests = columns.test_results
    if tests is None:
        tests = tuple(
            {test.test_name: test for subtask in subtasks for test in subtask.test_results}.values()
        )
    if (wrong_output := columns.wrong_output) is not None:
        tests = tuple(
            msgspec.structs.replace(test, output=wrong_output.output or "")
            if test.test_name == wrong_output.test_name
            else test
            for test in tests
        )
    return SubmissionResult(
        key=columns.key,
        problem_id=columns.problem_id,
        compiles=columns.code_compiles,
        compile_output=columns.compile_output,
        points=columns.all_subtasks_points,
        subtasks=subtasks,
        tests=tests,
        repairs=columns.repairs,
        checker=columns.checker,
        compiler=columns.compiler,
        confinement=columns.confinement,
        program_sha256=columns.program_sha256 or "",
        repeats=columns.repeats or "",
    )


@contextmanager
def _report_invalid_row(row: Mapping[str, Any], column: str = "") -> Iterator[None]:
    """Context manager: raise InputError if the code inside reads an invalid row.

    `column`: the column that is read.
    """
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        reason, _, path = str(error).partition(" - at `$")
        if reason.startswith("zip()"):
            reason = "its lists have different lengths"
        elif not isinstance(error, msgspec.ValidationError):  # a message about Python would not help users
            reason = "a value has the wrong form"
        subject = f"the row of {key!r}" if (key := row.get("key")) is not None else "the row"
        raise InputError(
            f"{subject} is not a valid result: {reason}",
            field=f"{column}{path.removesuffix('`')}".removeprefix("."),
            remedy="Delete that line and run again: its submission is judged again",
        ) from error


def read_model_name(row: Mapping[str, Any]) -> str:
    """Return the name of the model that wrote the submission; empty if the dump does not name it."""
    model_kwargs = row.get("model_kwargs")
    for source_columns in (row, model_kwargs if isinstance(model_kwargs, Mapping) else {}):
        for name in MODEL_COLUMNS:
            value = source_columns.get(name)
            if isinstance(value, int) and not isinstance(value, bool):
                return str(value)
            if isinstance(value, str) and (name := value.strip()):
                return name
    return ""


# --- the compact form of a row -----------------------------------------------------------------------
# A test of three subtasks is in three lists of `test_results`, and most of its fields equal those of other
# tests. Without compaction, tests would be 90 % of a run's size. Rows that are not compact, as in earlier
# versions, are read as they are.


def compact_row_and_confinement(row: Mapping[str, Any]) -> tuple[_Row, dict[str, Mapping[str, Any]]]:
    """Return the row in its stored form, and the row's confinement by its name.

    In the stored form, the row contains this name instead of the confinement, a description of the sandbox.
    """
    compacted_row, named_confinements = dict(row), dict[str, Mapping[str, Any]]()
    if isinstance(confinement := row.get(_CONFINEMENT), Mapping) and confinement:
        shared_confinement = {name: value for name, value in confinement.items() if name != _SANDBOX_USER}
        name = hashlib.sha256(msgspec.json.encode(shared_confinement, order="sorted")).hexdigest()[:12]
        compacted_row[_CONFINEMENT], named_confinements[name] = name, shared_confinement
    if TEST_COLUMNS in row:  # `make_compact_row` has already compacted the row
        return compacted_row, named_confinements
    index_by_test, tests = dict[bytes, int](), list[_Row]()
    test_lists = _change_test_lists(
        row, lambda tests_of_list: [_find_or_add_index(index_by_test, tests, test) for test in tests_of_list]
    )
    if columns := _convert_tests_to_columns(tests):
        compacted_row |= {**test_lists, TEST_COLUMNS: columns}
    return compacted_row, named_confinements


def restore_compact_row(row: _Row, confinement_by_name: Mapping[str, Mapping[str, Any]]) -> _Row:
    """Return the row as `result_row` made it, except the sandbox's user id, which is not stored.

    `confinement_by_name`: the run's descriptions of the sandbox, by the name that rows contain.
    """
    return _replace_test_indices(restore_row_confinement(row, confinement_by_name), _convert_columns_to_tests)


def restore_test_results(row: Mapping[str, Any]) -> _Row:
    """Return the row with a `TestResult` for each test, which is faster than making plain values."""
    return _replace_test_indices(row, lambda columns: msgspec.convert(columns, TestColumns).results())


def _replace_test_indices(
    row: Mapping[str, Any], read_tests: Callable[[Mapping[str, Any]], Sequence[Any]]
) -> _Row:
    """Return the row with tests instead of test indexes. `read_tests` converts the columns to tests."""
    if (columns := row.get(TEST_COLUMNS)) is None:
        return dict(row)
    with _report_invalid_row(row, TEST_COLUMNS):
        tests = read_tests(columns)
    with _report_invalid_row(row, _SUBTASKS if row.get(_SUBTASKS) else _TESTS):
        test_lists = _change_test_lists(row, lambda indices: [tests[index] for index in indices])
    return _remove_column(row, TEST_COLUMNS) | test_lists


def restore_row_confinement(row: _Row, confinement_by_name: Mapping[str, Mapping[str, Any]]) -> _Row:
    """Return the row with its confinement instead of the confinement's name. Its tests stay in columns."""
    if isinstance(name := row.get(_CONFINEMENT), str):
        row = {**row, _CONFINEMENT: confinement_by_name.get(name, {})}
    return row


_Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class TestColumns(msgspec.Struct):
    """The tests of a row in their stored form: for each field a list, or one value for all tests."""

    __test__ = False

    test_name: list[str]
    score: Number | list[Number]
    status: Verdict | list[Verdict]
    feedback: str | list[str] = ""
    cpu_time: Number | list[Number | None] | None = None
    cpu_times: list[tuple[Number, ...]] = []
    wall_time: Number | list[Number | None] | None = None
    waited_time: Number | list[Number | None] | None = None
    memory: _Int64 | list[_Int64 | None] | None = None
    points: Number | list[Number | None] | None = None
    processes: _Int64 | list[_Int64 | None] | None = None

    def results(self) -> list[TestResult]:
        """Return a result for each test.

        Raises ValueError if a list is not as long as the list of names.
        """
        columns = (
            self.test_name,
            self._repeat_value(self.score),
            self._repeat_value(self.status),
            self._repeat_value(self.feedback),
            self._repeat_value(self.cpu_time),
            self._repeat_value(self.cpu_times) if self.cpu_times else repeat((), len(self.test_name)),
            self._repeat_value(self.wall_time),
            self._repeat_value(self.waited_time),
            self._repeat_value(self.memory),
            self._repeat_value(self.points),
            self._repeat_value(self.processes),
        )
        return [
            TestResult(
                test_name=name,
                score=score,
                status=status,
                feedback=feedback,
                cpu_time=cpu_time,
                cpu_times=cpu_times,
                wall_time=wall_time,
                waited_time=waited_time,
                memory=memory,
                points=points,
                processes=processes,
            )
            for (
                name,
                score,
                status,
                feedback,
                cpu_time,
                cpu_times,
                wall_time,
                waited_time,
                memory,
                points,
                processes,
            ) in zip(*columns, strict=True)
        ]

    def _repeat_value(self, value: Any) -> Iterable[Any]:
        """Return a stored field's value for each test: its list, or its single value repeated."""
        return value if isinstance(value, list) else repeat(value, len(self.test_name))


def _convert_columns_to_tests(columns: Mapping[str, Any]) -> list[_Row]:
    """Return the tests in the stored columns."""
    test_count = len(columns["test_name"])
    # Omit a rare field from each test for which the column contains the value "lacks the field".
    present_columns = {name: value for name, value in columns.items() if value != RARE.get(name, _NO_VALUE)}
    value_lists = [
        value if isinstance(value, list) else [value] * test_count for value in present_columns.values()
    ]
    tests = [dict(zip(present_columns, values, strict=True)) for values in zip(*value_lists, strict=True)]
    for name in RARE.keys() & present_columns.keys():
        tests = [_remove_column(test, name) if test[name] == RARE[name] else test for test in tests]
    return tests


def _change_test_lists(row: Mapping[str, Any], change: Callable[[list[Any]], list[Any]]) -> _Row:
    """Apply `change` to every list of tests in the row and return the changed columns."""
    changed_columns: _Row = {_TESTS: change(row[_TESTS])} if _TESTS in row else {}
    subtasks = row.get(_SUBTASKS) or ()
    return (
        changed_columns | {_SUBTASKS: [{**subtask, _TESTS: change(subtask[_TESTS])} for subtask in subtasks]}
        if subtasks
        else changed_columns
    )


def _find_or_add_index(index_by_test: dict[bytes, int], tests: list[_Row], test: _Row) -> int:
    """Return a test's index among the tests of its row, and append the test if it is new.

    Tests with the same name but different fields are different tests.
    """
    index = index_by_test.setdefault(msgspec.json.encode(test), len(tests))
    if index == len(tests):
        tests.append(test)
    return index


def _convert_tests_to_columns(tests: list[_Row]) -> _Row:
    """Return the tests by column, or `{}` if there are no tests or if they have unknown fields."""
    field_names = {name: None for test in tests for name in test}
    if (
        any(field_names.keys() - test.keys() - RARE.keys() for test in tests)
        or "test_name" not in field_names
    ):
        return {}
    columns = {name: [test.get(name, RARE.get(name)) for test in tests] for name in field_names}
    return {
        name: values if name == "test_name" else merge_equal_values(values)
        for name, values in columns.items()
    }


def merge_equal_values(values: list[Any]) -> Any:
    """Return one value if all values are equal, else the list. Values that are lists stay in a list."""
    first_value, *other_values = values
    are_equal = not isinstance(first_value, list) and all(
        value == first_value and type(value) is type(first_value) for value in other_values
    )
    return first_value if are_equal else values


def _remove_column(row: Mapping[str, Any], name: str) -> _Row:
    return {key: value for key, value in row.items() if key != name}


# --- conversion to values that JSON can represent ----------------------------------------------------


def shorten(string: str, limit: int) -> str:
    """Return a string with at most `limit` characters."""
    return string if len(string) <= limit else string[: limit - 1] + "…"


def as_json_value(value: Any) -> Any:
    """Return a value as it is after JSON, so that a row that is read back equals the row that was written.

    Columns of tables hold values that JSON lacks: dates, bytes (which may be text), arrays, NaN. Lone
    surrogates, which models do write, become U+FFFD, because most readers refuse them.
    """
    if isinstance(value, str):
        return (
            str(value)
            if value.isascii()
            else value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        )
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if -(2**63) <= value < 2**64 else str(value)
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json_value(item) for item in value]
    if isinstance(value, dict | Mapping):
        return {as_json_value(str(name)): as_json_value(item) for name, item in value.items()}
    if isinstance(value, bytes | bytearray | memoryview):
        try:
            return bytes(value).decode()
        except UnicodeDecodeError:  # the bytes are not text, such as an image
            return base64.b64encode(value).decode()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    # Arrays and scalars of numpy have the method `tolist`.
    if (to_list := getattr(value, "tolist", None)) is not None:
        return as_json_value(to_list())
    return as_json_value(str(value))


def convert_to_label(value: Any) -> str:
    """Return a string or number as a string.

    A trailing `.0` is removed, because whole numbers become floats in table columns with missing values.
    """
    label = str(value)
    return label.removesuffix(".0") if as_number(value) is not None else label


def as_number(value: Any) -> float | None:
    """Return a finite number, also from a string in a table; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
