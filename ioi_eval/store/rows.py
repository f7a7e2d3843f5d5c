"""A run's rows: how a submission and its result become one flat JSON object, and how a result comes back.

A row is the dump's own columns and the result columns. The names in `RESULT_COLUMNS` belong to the result:
where a dump has a column of such a name (a scored dump that is scored again), the result wins, and a
column that this result does not fill is left out rather than kept from an earlier scoring.

In results.jsonl rows are compact: each test once, a list for each field, confinement by name.
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
# Fields of few tests, with what stands for them in others: of those that ran again, that a grader counts,
# that start processes.
RARE: Mapping[str, Any] = {"cpu_times": [], "points": None, "processes": None}
_NEVER = object()
_Row = dict[str, Any]
_OWN = "uid"  # of a box, which says nothing
MAX_COMPILE_OUTPUT = 4096  # characters
MAX_OUTPUT = 400  # bytes of the output, of the input and of the expected output of a test that failed
PASSED = (Verdict.AC, Verdict.SKIPPED)  # of a test that costs no points
# Begins `program_sha256`: the rule by which programs are equal. Rows without it were judged by the first one,
# which took some programs in Python for equal that were not.
PROGRAM_RULE = "2:"
MODEL_COLUMNS = ("model", "model_id", "model_name")
PLACE = "row "  # begins the key of a row that was judged elsewhere and brings none; its place follows

RESULT_COLUMNS = frozenset(
    {
        "key",
        "problem_id",
        "language",
        "language_from",
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


def identity(problem: Problem, submission: Submission) -> str:
    """Return a hash, equal for submissions of the same problem, language, code and files."""
    files = sorted([file.name, file.content.sha256] for file in submission.outputs)
    sources = sorted([file.name, file.content.sha256] for file in submission.files)
    more: list[Any] = [files, sources] if sources else [files] if files else []
    if submission.language_from is LanguageFrom.REPLY:  # where it cannot run, it is worth nothing
        more.append(submission.language_from)
    text = submission.code
    code: str | bytes | None = text
    if text is not None and plain(text) != text:  # halves of surrogate pairs, of which rows keep nothing
        code = text.encode(errors="surrogatepass")
    content = [problem.id, problem.year, submission.language, code, *more]
    return hashlib.sha256(msgspec.json.encode(plain(content))).hexdigest()


# --- a result as a row -------------------------------------------------------------------------------


def result_row(
    submission: Submission, problem: Problem, result: SubmissionResult, *, outputs: bool = False
) -> dict[str, Any]:
    """The row of results.jsonl, with the beginnings of `outputs` if asked for. It survives JSON unchanged."""
    return _row(
        submission, problem, result, outputs, lambda tests: [plain(_test_row(test)) for test in tests]
    )


def short_row(
    submission: Submission, problem: Problem, result: SubmissionResult, *, outputs: bool = False
) -> dict[str, Any]:
    """The same with each test once, as `compact` makes it of the row, but for its confinement."""
    tests = DistinctTests()
    row = _row(submission, problem, result, outputs, tests.places)
    return {**row, TEST_COLUMNS: columns} if (columns := tests.columns()) else row


def _row(
    submission: Submission,
    problem: Problem,
    result: SubmissionResult,
    outputs: bool,
    listed: Callable[[Sequence[TestResult]], list[Any]],
) -> dict[str, Any]:
    """`listed`: what stands in the places of tests, as it is after JSON."""
    own = {name: value for name, value in submission.row.items() if name not in RESULT_COLUMNS}
    # A target that is not one of the problem's subtasks has no score: null, not 0.
    target = next(
        (subtask for subtask in result.subtasks if subtask.subtask == submission.target_subtask), None
    )
    verdict = result.verdict
    beginning = {
        **own,
        "key": submission.key,
        "problem_id": submission.problem_id,
        "language": submission.language or None,
        "language_from": submission.language_from,
        "verdict": verdict,
        "reason": scoring.reason(result),
        "solved": verdict is Verdict.AC,
        "points": result.points,
        "max_points": math.fsum(subtask.points for subtask in result.subtasks) if result.subtasks else 1.0,
        "submission_sha256": identity(problem, submission),
        "program_sha256": result.program_sha256 or None,
        "repeats": result.repeats or None,
        **_labels(problem),
        "target_subtask": submission.target_subtask,
        "code_compiles": result.compiles,
        "target_subtask_score": target.score if target else None,
        "target_subtask_status": target.status if target else None,
        "all_subtasks_points": result.points,
    }
    end = {
        "compile_output": bounded(submission.no_program or result.compile_output, MAX_COMPILE_OUTPUT),
        **(_wrong_output(problem, result) if outputs else {}),
        "repairs": result.repairs,
        "checker": result.checker,
        "compiler": result.compiler,
        "confinement": result.confinement,
    }
    # Fields of published result sets and no other, so that sets can be put together.
    subtasks = [
        {
            name: listed(subtask.test_results) if name == "test_results" else plain(getattr(subtask, name))
            for name in SubtaskResult.__struct_fields__
            if name != "exact_score"
        }
        for subtask in result.subtasks
    ]
    rate = {} if problem.subtasks else scoring.pass_rate(result).columns
    return {
        **{str(name): plain(value) for name, value in beginning.items()},
        "all_subtasks_results": subtasks,
        "all_subtasks_exact_scores": [plain(subtask.exact_score) for subtask in result.subtasks],
        **{name: plain(value) for name, value in rate.items()},
        **({} if problem.subtasks else {"test_results": listed(result.tests)}),
        **{name: plain(value) for name, value in end.items()},
    }


class DistinctTests:
    """The tests of a row, each once, as `compact` would list them."""

    def __init__(self) -> None:
        self._found = list[TestResult]()
        self._named = dict[str, list[int]]()  # two of one name that differ are two

    def places(self, tests: Sequence[TestResult]) -> list[int]:
        return [self._place(test) for test in tests]

    def _place(self, test: TestResult) -> int:
        places = self._named.setdefault(test.test_name, [])
        for place in places:
            found = self._found[place]
            if found is test or found == test or _test_row(found) == _test_row(test):
                return place
        places.append(len(self._found))
        self._found.append(test)
        return places[-1]

    def columns(self) -> dict[str, Any]:
        """Return a list for each field that a test has, or one value for all. Empty where there is none."""
        fields = dict.fromkeys(name for test in self._found[:1] for name in _fields(test))
        for test in self._found:
            if test.cpu_times or test.points is not None or test.processes is not None:
                fields |= dict.fromkeys(_fields(test))
        return {name: self._column(name) for name in fields}

    def _column(self, name: str) -> Any:
        values = [getattr(test, name) for test in self._found]
        first = values[0]
        if name == "test_name":
            return [plain(value) for value in values]
        if (
            values.count(first) == len(values)
            and not isinstance(first, tuple)
            and len({*map(type, values)}) == 1
        ):
            return plain(first)
        return folded([plain(value) for value in values])


def has_columns_of(row: Mapping[str, Any], submission: Submission, problem: Problem) -> bool:
    """Return True if a row has the columns of a new one: the dump's own and the target."""
    own = {name: value for name, value in submission.row.items() if name not in RESULT_COLUMNS}
    now = {**own, **_labels(problem), "target_subtask": submission.target_subtask}
    kept = RESULT_COLUMNS - {"target_subtask"}
    return bool(plain(now) == {name: value for name, value in row.items() if name not in kept})


def _labels(problem: Problem) -> dict[str, Any]:
    """Return the labels by which reports group problems. A dump's own columns stay where there is none."""
    labels = {"year": problem.year, "difficulty": problem.difficulty, "tags": problem.tags}
    return {name: value for name, value in labels.items() if value}


_ALWAYS = tuple(
    name for name in TestResult.__struct_fields__ if name not in {"output", "error", *RARE}
)  # the beginnings of texts are for who asks for them


def _fields(test: TestResult) -> tuple[str, ...]:
    """The fields of published result sets."""
    if not test.cpu_times and test.points is None and test.processes is None:
        return _ALWAYS
    there = {*_ALWAYS, *(name for name in RARE if getattr(test, name) not in (None, ()))}
    return tuple(name for name in TestResult.__struct_fields__ if name in there)


def _test_row(test: TestResult) -> dict[str, Any]:
    return {name: getattr(test, name) for name in _fields(test)}


def _wrong_output(problem: Problem, result: SubmissionResult) -> dict[str, Any]:
    """The beginning of the first wrong output, of its input and of the expected one. More would cost room.

    Where there is none, as of tests that ended early, it is null beside the input of the first failing test.
    """
    failed = [test for test in result.tests if test.status not in PASSED]
    wrong = next((test for test in failed if test.output), next(iter(failed), None))
    if wrong is None or not result.compiles:
        return {}
    test = next((test for test in problem.tests if test.name == wrong.test_name), None)
    given, answer = (None, None) if test is None else (test.input, test.answer)
    kept = {
        "test_name": wrong.test_name,
        "input": None if given is None else given.beginning(MAX_OUTPUT),
        "output": bounded(wrong.output, MAX_OUTPUT) if wrong.output else None,
        "expected": None if answer is None else answer.beginning(MAX_OUTPUT),
    }
    return {"wrong_output": kept}


def failure_row(
    submission: Submission, failure: JudgeFailure, problem: Problem | None = None
) -> dict[str, Any]:
    """The row of failures.jsonl: which submission, why, and the columns that say whose it is and of what."""
    own = {name: submission.row[name] for name in (*MODEL_COLUMNS, "model_kwargs") if name in submission.row}
    columns = {
        **own,
        **({} if problem is None else _labels(problem)),
        "key": submission.key,
        "problem_id": submission.problem_id,
        "reason": failure.reason,
        "phase": failure.phase,
        "test": failure.test,
        "remedy": failure.remedy,
        "final": failure.final,
    }
    return {name: plain(value) for name, value in columns.items()}


# --- a row as a result -------------------------------------------------------------------------------


class _Seen(msgspec.Struct):
    """The beginning of a first wrong output."""

    test_name: str
    output: str | None = None


class _Judged(msgspec.Struct):
    """The columns that a result is made of: somebody may have edited them."""

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
    wrong_output: _Seen | None = None
    test_results: tuple[TestResult, ...] | None = None


def result_of(row: Mapping[str, Any]) -> SubmissionResult:
    """The result that a row was made of, whether its tests are written out or not.

    Tests come in the order in which the subtasks name them. Raises InputError for a row that is no result.
    """
    given = with_tests(row)
    with _telling(row):
        judged = msgspec.convert(given, _Judged)
    with _telling(row, _SUBTASKS):
        pairs = zip(judged.all_subtasks_results, judged.all_subtasks_exact_scores, strict=True)
        subtasks = msgspec.convert(
            [{**subtask, "exact_score": exact} for subtask, exact in pairs], tuple[SubtaskResult, ...]
        )
    tests = judged.test_results
    if tests is None:
        tests = tuple(
            {test.test_name: test for subtask in subtasks for test in subtask.test_results}.values()
        )
    if (seen := judged.wrong_output) is not None:
        tests = tuple(
            msgspec.structs.replace(test, output=seen.output or "")
            if test.test_name == seen.test_name
            else test
            for test in tests
        )
    return SubmissionResult(
        key=judged.key,
        problem_id=judged.problem_id,
        compiles=judged.code_compiles,
        compile_output=judged.compile_output,
        points=judged.all_subtasks_points,
        subtasks=subtasks,
        tests=tests,
        repairs=judged.repairs,
        checker=judged.checker,
        compiler=judged.compiler,
        confinement=judged.confinement,
        program_sha256=judged.program_sha256 or "",
        repeats=judged.repeats or "",
    )


@contextmanager
def _telling(row: Mapping[str, Any], column: str = "") -> Iterator[None]:
    """Raise InputError where what is read inside is no result's. `column`: what is read of the row."""
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        words, _, path = str(error).partition(" - at `$")
        if words.startswith("zip()"):
            words = "its lists are not of one length"
        raise InputError(
            f"the row of {row.get('key')!r} is no result: {words}",
            field=f"{column}{path.removesuffix('`')}".removeprefix("."),
            remedy="Delete that line and run again: its submission is judged again",
        ) from error


def model_of(row: Mapping[str, Any]) -> str:
    """The name of the model that wrote the submission; empty where the dump does not say."""
    kwargs = row.get("model_kwargs")
    for columns in (row, kwargs if isinstance(kwargs, Mapping) else {}):
        for name in MODEL_COLUMNS:
            value = columns.get(name)
            if isinstance(value, int) and not isinstance(value, bool):
                return str(value)
            if isinstance(value, str) and (name := value.strip()):
                return name
    return ""


# --- the compact form of a row -----------------------------------------------------------------------
# A test of three subtasks is in three lists of `test_results`, and most of its fields are those of its
# neighbours: written out, tests are nine tenths of a run. Rows that stand there written out, as earlier
# versions wrote them, are read as they are.


def compact(row: Mapping[str, Any]) -> tuple[_Row, dict[str, Mapping[str, Any]]]:
    """Return the row as it is written, and its confinement by the name that stands in it."""
    short, named = dict(row), dict[str, Mapping[str, Any]]()
    if isinstance(confinement := row.get(_CONFINEMENT), Mapping) and confinement:
        same = {name: value for name, value in confinement.items() if name != _OWN}
        name = hashlib.sha256(msgspec.json.encode(same, order="sorted")).hexdigest()[:12]
        short[_CONFINEMENT], named[name] = name, same
    if TEST_COLUMNS in row:  # as `rows.short_row` makes it
        return short, named
    places, tests = dict[bytes, int](), list[_Row]()
    lists = _mapped(row, lambda listed: [_place(places, tests, test) for test in listed])
    if columns := _columns(tests):
        short |= {**lists, TEST_COLUMNS: columns}
    return short, named


def whole(row: _Row, confinements: Mapping[str, Mapping[str, Any]]) -> _Row:
    """Return the row as `rows.result_row` made it, without its box's user."""
    return _spread_out(with_confinement(row, confinements), _tests)


def with_tests(row: Mapping[str, Any]) -> _Row:
    """Return the row with values in the places of its tests: quicker than to write them out first."""
    return _spread_out(row, lambda columns: msgspec.convert(columns, TestColumns).results())


def _spread_out(row: Mapping[str, Any], read: Callable[[Mapping[str, Any]], Sequence[Any]]) -> _Row:
    if (columns := row.get(TEST_COLUMNS)) is None:
        return dict(row)
    with _telling(row, TEST_COLUMNS):
        tests = read(columns)
    with _telling(row, _SUBTASKS if row.get(_SUBTASKS) else _TESTS):
        lists = _mapped(row, lambda places: [tests[place] for place in places])
    return _without(row, TEST_COLUMNS) | lists


def with_confinement(row: _Row, confinements: Mapping[str, Mapping[str, Any]]) -> _Row:
    """Return the row with its confinement in the place of the name, and its tests as they are written."""
    if isinstance(name := row.get(_CONFINEMENT), str):
        row = {**row, _CONFINEMENT: confinements.get(name, {})}
    return row


_Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class TestColumns(msgspec.Struct):
    """The tests of a row as they are written: a list for each field, or one value for all."""

    __test__ = False

    test_name: list[str]
    score: Number | list[Number]
    status: Verdict | list[Verdict]
    feedback: str | list[str] = ""
    cpu_time: Number | list[Number | None] | None = None
    cpu_times: list[tuple[Number, ...]] = []
    wall_time: Number | list[Number | None] | None = None
    waited_time: Number | list[Number | None] | None = None
    memory: _Whole | list[_Whole | None] | None = None
    points: Number | list[Number | None] | None = None
    processes: _Whole | list[_Whole | None] | None = None

    def results(self) -> list[TestResult]:
        """Return a result for each test. Raises ValueError where a list is not as long as the names."""
        columns = (
            self.test_name,
            self._spread(self.score),
            self._spread(self.status),
            self._spread(self.feedback),
            self._spread(self.cpu_time),
            self._spread(self.cpu_times) if self.cpu_times else repeat((), len(self.test_name)),
            self._spread(self.wall_time),
            self._spread(self.waited_time),
            self._spread(self.memory),
            self._spread(self.points),
            self._spread(self.processes),
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

    def _spread(self, value: Any) -> Iterable[Any]:
        return value if isinstance(value, list) else repeat(value, len(self.test_name))


def _tests(columns: Mapping[str, Any]) -> list[_Row]:
    number = len(columns["test_name"])
    # A rare field that no test has is no field; that some have is taken from the others.
    there = {name: value for name, value in columns.items() if value != RARE.get(name, _NEVER)}
    lists = [value if isinstance(value, list) else [value] * number for value in there.values()]
    tests = [dict(zip(there, values, strict=True)) for values in zip(*lists, strict=True)]
    for name in RARE.keys() & there.keys():
        tests = [_without(test, name) if test[name] == RARE[name] else test for test in tests]
    return tests


def _mapped(row: Mapping[str, Any], change: Callable[[list[Any]], list[Any]]) -> _Row:
    """The columns of a row that list tests, with other lists."""
    found: _Row = {_TESTS: change(row[_TESTS])} if _TESTS in row else {}
    parts = row.get(_SUBTASKS) or ()
    return found | {_SUBTASKS: [{**part, _TESTS: change(part[_TESTS])} for part in parts]} if parts else found


def _place(places: dict[bytes, int], tests: list[_Row], test: _Row) -> int:
    """Return a test's place among those of its row. Two of one name that differ are two."""
    place = places.setdefault(msgspec.json.encode(test), len(tests))
    if place == len(tests):
        tests.append(test)
    return place


def _columns(tests: list[_Row]) -> _Row:
    """Empty where there are no tests, or tests with other fields than ours."""
    fields = {name: None for test in tests for name in test}
    if any(fields.keys() - test.keys() - RARE.keys() for test in tests) or "test_name" not in fields:
        return {}
    columns = {name: [test.get(name, RARE.get(name)) for test in tests] for name in fields}
    return {name: values if name == "test_name" else folded(values) for name, values in columns.items()}


def folded(values: list[Any]) -> Any:
    """Fold equal values of all tests into one; a value that is a list itself stays in a list."""
    first, *more = values
    same = not isinstance(first, list) and all(
        value == first and type(value) is type(first) for value in more
    )
    return first if same else values


def _without(row: Mapping[str, Any], name: str) -> _Row:
    return {key: value for key, value in row.items() if key != name}


# --- values that JSON can hold -----------------------------------------------------------------------


def bounded(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def plain(value: Any) -> Any:
    """Return a value as it is after JSON, so that a row read back equals the row that was written.

    Columns of tables hold more than JSON can: dates, bytes (which may be a text), arrays, numbers that are
    not numbers. Halves of surrogate pairs, which models do write, become U+FFFD: most readers refuse them.
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
        return [plain(item) for item in value]
    if isinstance(value, dict | Mapping):
        return {plain(str(name)): plain(item) for name, item in value.items()}
    if isinstance(value, bytes | bytearray | memoryview):
        try:
            return bytes(value).decode()
        except UnicodeDecodeError:  # an image
            return base64.b64encode(value).decode()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if (to_list := getattr(value, "tolist", None)) is not None:  # arrays and their scalars
        return plain(to_list())
    return plain(str(value))


def as_label(value: Any) -> str:
    """A word or a number as a text. Tables with gaps make floats of whole numbers."""
    text = str(value)
    return text.removesuffix(".0") if as_number(value) is not None else text


def as_number(value: Any) -> float | None:
    """A finite number, also one that a table holds as a text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
