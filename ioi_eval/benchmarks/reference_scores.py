"""Read solutions with expected scores: a dump with an additional column, which holds each solution's score.

The column holds scores of the whole problem, in points or as fractions, or verdicts. It is detected only if
there is a single candidate. Whether its numbers are points or fractions is decided by the whole column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType

from ioi_eval.benchmarks.dumps import Dump, LocatedSubmission
from ioi_eval.benchmarks.row_files import FileRow, read_rows_or_errors
from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Problem, Value
from ioi_eval.rules.expectations import (
    Expectation,
    ExpectedScore,
    KeyedExpectation,
    compute_max_points,
    is_known_keyword,
    list_tests_that_count,
)
from ioi_eval.store.rows import as_json_value, as_number

# Column with the kind of a solution. Its values are verdicts, so a column of scores is preferred.
_LABEL = "label"
# Parts of the names of columns that may contain reference scores.
_NAME_PARTS = ("score", "points", "grade", "expected", "verdict")
# Names of columns that contain a part in `_NAME_PARTS`, but no reference scores.
_OTHER_COLUMNS = frozenset({"score_precision"})
_MAX_DIGITS = 6  # maximum number of decimals of a score; further decimals are rounding errors
_ROUNDING_ERROR = 1e-6  # maximum rounding error of a binary fraction
# Names of verdicts in problem packages, by other common names of the same verdict.
_VERDICTS: Mapping[str, str] = MappingProxyType(
    {
        "ok": "accepted",
        "ac": "accepted",
        "pa": "partially_correct",
        "re": "run_time_error",
        "idleness_limit_exceeded": "time_limit_exceeded",
        "compilation_error": "compile_error",
    }
)


class ReferenceScores(Value):
    """The expected results of the solutions in a file."""

    column: str
    kind: str  # kind of the reference scores, for messages: points, fractions or verdicts
    cases: tuple[KeyedExpectation, ...]


def read_reference_scores(
    dump: Dump,
    problems: Mapping[str, Problem],
    *,
    column: str | None = None,
    scale: str | None = None,
) -> ReferenceScores:
    """Return the expected results of a dump's submissions.

    Args:
        dump: The dump.
        problems: The problems by id.
        column: The column with the expected results. None means that it is detected.
        scale: `points` or `fraction`. None means that it is detected from the column's numbers.

    Raises:
        InputError: The column cannot be detected, or a value is not an expected result.
    """
    dump_files = [Path(file.path) for file in dump.info.files]
    score_column = _find_expected_column(dump_files, column)
    numbers = [
        number
        for value in (as_json_value(row.columns.get(score_column)) for row in _read_rows(dump_files))
        if (number := as_number(value)) is not None
    ]
    is_fraction = scale == "fraction" if scale else max(numbers, default=0.0) <= 1
    digits = max(map(_count_decimals, numbers), default=0)
    cases = [
        _make_expectation(row, problems, score_column, is_fraction, digits)
        for row in dump.read_with_locations()
    ]
    has_scores = any(case.score is not None for case in cases)
    kind = ("fractions" if is_fraction else "points") if has_scores else "verdicts"
    return ReferenceScores(column=score_column, kind=kind, cases=tuple(cases))


# --- the column --------------------------------------------------------------------------------------


def _find_expected_column(files: Sequence[Path], requested_column: str | None) -> str:
    """Return the column with the expected results: the requested column, or the only candidate."""
    column_names = dict.fromkeys(str(column_name) for row in _read_rows(files) for column_name in row.columns)
    where = ", ".join(map(str, files))
    if requested_column is not None:
        if requested_column not in column_names:
            remedy = f"The columns are: {', '.join(column_names)}"
            raise InputError(
                f"the file has no column {requested_column!r}", where=where, field="column", remedy=remedy
            )
        return requested_column
    candidate_columns = [
        column_name
        for column_name in column_names
        if column_name not in _OTHER_COLUMNS
        and any(name_part in column_name.lower() for name_part in _NAME_PARTS)
    ] or [column_name for column_name in column_names if column_name == _LABEL]
    if len(candidate_columns) == 1:
        return candidate_columns[0]
    problem = (
        f"several columns may hold what is expected: {', '.join(candidate_columns)}"
        if candidate_columns
        else "no column that looks like an expected score or verdict"
    )
    remedy = f"Name it with column=NAME; the columns are: {', '.join(column_names)}"
    raise InputError(problem, where=where, remedy=remedy)


# --- its values --------------------------------------------------------------------------------------


def _read_rows(files: Sequence[Path]) -> Iterator[FileRow]:
    """Yield the usable rows. Errors in other rows were reported when the dump was opened."""
    return (row for path in files for row in read_rows_or_errors(path) if isinstance(row, FileRow))


def _count_decimals(number: float) -> int:
    """Return the number of decimals, up to `_MAX_DIGITS`."""
    exponent = Decimal(repr(number)).normalize().as_tuple().exponent
    return min(_MAX_DIGITS, max(0, -exponent)) if isinstance(exponent, int) else 0


def _make_expectation(
    row: LocatedSubmission, problems: Mapping[str, Problem], column: str, is_fraction: bool, decimals: int
) -> KeyedExpectation:
    """Return the expected result of a submission.

    Args:
        row: The row with the submission.
        problems: The problems by id.
        column: The column with the expected result.
        is_fraction: A number is a fraction of the problem's points.
        decimals: The number of decimals of the column's scores.
    """
    submission = row.submission
    problem, expected_value = problems[submission.problem_id], submission.row.get(column)
    expected_number, score, expectation = as_number(expected_value), None, None
    if expected_number is not None:
        max_score = 1.0 if is_fraction else compute_max_points(problem)
        if not 0 <= expected_number <= max_score + _ROUNDING_ERROR:
            reason = f"{expected_number:g} is not a score between 0 and {max_score:g}"
            raise _make_row_error(
                row, column, reason, "Check that the column contains scores in the unit that scale=... names"
            )
        decimals = max(decimals, problem.score_precision)
        score = ExpectedScore(value=expected_number, fraction=is_fraction, digits=decimals)
    elif isinstance(expected_value, str) and expected_value.strip():
        verdict_name = expected_value.strip().lower().replace("-", "_").replace(" ", "_")
        expectation = Expectation(
            subtask="", word=_VERDICTS.get(verdict_name, verdict_name), tests=list_tests_that_count(problem)
        )
    else:
        value_text = "nothing" if expected_value is None else repr(expected_value)
        reason = f"{value_text} is neither a score nor a verdict"
        raise _make_row_error(row, column, reason, "Give the row a score or a verdict, or remove the row")
    location, solution_label = f"{Path(row.file).name}:{row.line}", submission.row.get(_LABEL)
    is_known_verdict = expectation is not None and is_known_keyword(expectation.word)
    return KeyedExpectation(
        key=submission.key,
        problem=submission.problem_id,
        solution=f"{location} {solution_label}" if solution_label and column != _LABEL else location,
        expected=str(expected_value).strip(),
        words=(expectation,) if expectation is not None and is_known_verdict else (),
        unknown=(str(expected_value).strip(),) if expectation is not None and not is_known_verdict else (),
        score=score,
    )


def _make_row_error(row: LocatedSubmission, column: str, problem: str, remedy: str) -> InputError:
    """Return the error for a row."""
    return InputError(problem, where=row.file, row=row.line, field=column, remedy=remedy)
