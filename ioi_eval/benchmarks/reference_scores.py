"""Solutions of known worth from a file: a dump with one more column, which says what each is worth.

The column holds scores of the whole problem, in points or as fractions, or verdicts. Which column it is is
guessed only where there is one candidate, and what its scores count is decided by the whole column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType

from ioi_eval.benchmarks.dumps import Dump, Located
from ioi_eval.benchmarks.row_files import FileRow, rows_or_faults
from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Problem, Value
from ioi_eval.rules.expectations import (
    Expectation,
    ExpectedScore,
    KeyedExpectation,
    counting_tests,
    is_known,
    max_points,
)
from ioi_eval.store.rows import as_number, plain

_LABEL = "label"  # of a solution's kind: what it says is a verdict too, and less than a score
_CANDIDATES = ("score", "points", "grade", "expected", "verdict")  # parts of names
_NEVER = frozenset({"score_precision"})
_MOST_DIGITS = 6  # more are an artefact of binary fractions
_BINARY = 1e-6  # and what these add
# Words for whole submissions where the words of packages mean something else or are not known.
_WORDS: Mapping[str, str] = MappingProxyType(
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
    """The facts that a file gives about its solutions."""

    column: str
    kind: str  # points, fractions or verdicts: for people
    cases: tuple[KeyedExpectation, ...]


def read_reference_scores(
    dump: Dump,
    problems: Mapping[str, Problem],
    *,
    column: str | None = None,
    scale: str | None = None,
) -> ReferenceScores:
    """The expectations of a dump's submissions. `scale` is points or fraction; None: the column decides."""
    files = [Path(file.path) for file in dump.info.files]
    name = _column(files, column)
    numbers = [
        number
        for value in (plain(row.columns.get(name)) for row in _rows(files))
        if (number := as_number(value)) is not None
    ]
    fraction = scale == "fraction" if scale else max(numbers, default=0.0) <= 1
    digits = max(map(_digits, numbers), default=0)
    cases = [_case(row, problems, name, fraction, digits) for row in dump.located()]
    scores = any(case.score is not None for case in cases)
    kind = ("fractions" if fraction else "points") if scores else "verdicts"
    return ReferenceScores(column=name, kind=kind, cases=tuple(cases))


# --- which column ------------------------------------------------------------------------------------


def _column(files: Sequence[Path], wanted: str | None) -> str:
    names = dict.fromkeys(str(name) for row in _rows(files) for name in row.columns)
    where = ", ".join(map(str, files))
    if wanted is not None:
        if wanted not in names:
            remedy = f"The columns are: {', '.join(names)}"
            raise InputError(f"no column {wanted!r}", where=where, field="column", remedy=remedy)
        return wanted
    found = [
        name for name in names if name not in _NEVER and any(part in name.lower() for part in _CANDIDATES)
    ] or [name for name in names if name == _LABEL]
    if len(found) == 1:
        return found[0]
    several = f"several columns may hold what is expected: {', '.join(found)}"
    what = several if found else "no column that looks like an expected score or verdict"
    remedy = f"Name it with column=NAME; the columns are: {', '.join(names)}"
    raise InputError(what, where=where, remedy=remedy)


# --- what it says ------------------------------------------------------------------------------------


def _rows(files: Sequence[Path]) -> Iterator[FileRow]:
    """Yield the usable rows; the others were reported, or are to be left out."""
    return (row for path in files for row in rows_or_faults(path) if isinstance(row, FileRow))


def _digits(number: float) -> int:
    exponent = Decimal(repr(number)).normalize().as_tuple().exponent
    return min(_MOST_DIGITS, max(0, -exponent)) if isinstance(exponent, int) else 0


def _case(
    row: Located, problems: Mapping[str, Problem], column: str, fraction: bool, digits: int
) -> KeyedExpectation:
    submission = row.submission
    problem, value = problems[submission.problem_id], submission.row.get(column)
    number, score, expectation = as_number(value), None, None
    if number is not None:
        most = 1.0 if fraction else max_points(problem)
        if not 0 <= number <= most + _BINARY:
            what = f"{number:g} is no score between 0 and {most:g}"
            raise _wrong(row, column, what, "Is it the right column, and scale=... the right one?")
        digits = max(digits, problem.score_precision)
        score = ExpectedScore(value=number, fraction=fraction, digits=digits)
    elif isinstance(value, str) and value.strip():
        word = value.strip().lower().replace("-", "_").replace(" ", "_")
        expectation = Expectation(subtask="", word=_WORDS.get(word, word), tests=counting_tests(problem))
    else:
        what = f"{'nothing' if value is None else repr(value)} is neither a score nor a verdict"
        raise _wrong(row, column, what, "Fill it in, or leave the row out")
    place, label = f"{Path(row.file).name}:{row.line}", submission.row.get(_LABEL)
    understood = expectation is not None and is_known(expectation.word)
    return KeyedExpectation(
        key=submission.key,
        problem=submission.problem_id,
        solution=f"{place} {label}" if label and column != _LABEL else place,
        expected=str(value).strip(),
        words=(expectation,) if expectation is not None and understood else (),
        unknown=(str(value).strip(),) if expectation is not None and not understood else (),
        score=score,
    )


def _wrong(row: Located, column: str, what: str, remedy: str) -> InputError:
    return InputError(what, where=row.file, row=row.line, field=column, remedy=remedy)
