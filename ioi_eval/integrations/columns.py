"""From the columns of a training row to the problem that a completion is judged on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from ioi_eval.cases import NO_CASES, Case, Cases, CasesError, read_call, read_cases, with_cases
from ioi_eval.errors import InputError
from ioi_eval.models import Blob, Checker, CheckerKind, Limits, Problem, Value

# Columns that hold tests, the first that a row has: APPS's own, and what trainers call it.
CASES_COLUMNS = ("input_output", "ground_truth", "test_cases", "tests")
_MEMORY_LIMIT = 512 << 20  # bytes, where a row says nothing


class Finder(Protocol):
    """Problems by id, as `load_problems` gives them. Raises InputError."""

    def find(self, problem_id: str, year: int | None = None) -> Problem: ...


class Columns(Value):
    """One row, as far as judging needs it."""

    values: Mapping[str, Any]
    number: int  # of the row, for messages

    def problem(self, problems: Finder | None, time_limit: float) -> Problem:
        """The problem that the row names, or one of the tests that it holds. CasesError: these are broken."""
        if problems is not None and self.values.get("problem_id") is not None:
            return problems.find(str(self.values["problem_id"]), _year(self.values.get("year")))
        for column in CASES_COLUMNS:
            if self.values.get(column) is not None:
                return self._of_cases(column, time_limit)
        raise InputError(
            "nothing says which tests there are",
            row=self.number,
            remedy=f"Give a column {', '.join(CASES_COLUMNS)}, or problem_id together with problems",
        )

    def _of_cases(self, column: str, time_limit: float) -> Problem:
        problem = Problem(
            id=str(self.values.get("problem_id", "")) or f"row {self.number}",
            limits=Limits.contest(time_limit, _MEMORY_LIMIT),
            checker=Checker(kind=CheckerKind.STRIPPED),
        )
        return with_cases(problem, _cases(self.values[column]), Blob.of)


def rows(columns: Mapping[str, Any], count: int) -> Iterator[Columns]:
    """Row by row what trainers give column by column. What is no list of that length says nothing of rows."""
    per_row = {name: values for name, values in columns.items() if _is_column(values, count)}
    for number in range(count):
        yield Columns(values={name: values[number] for name, values in per_row.items()}, number=number)


def _is_column(values: Any, count: int) -> bool:
    return isinstance(values, Sequence) and not isinstance(values, str | bytes) and len(values) == count


def _cases(value: Any) -> Cases:
    """APPS's form, as JSON or parsed; or a list of tests, each with `input` and `output`."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = _list(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _of_list(value)
    return read_cases(value)


def _list(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise CasesError(f"the tests are no JSON: {error}") from error


def _of_list(tests: Sequence[Any]) -> Cases:
    """Where tests call a function, an input is its arguments, one a line, and the output its result."""
    if not tests:
        raise CasesError(NO_CASES)
    cases, called = [_case(test) for test in tests], {_function(test) for test in tests}
    if len(called) > 1:
        raise CasesError(f"the tests do not all call the same: {', '.join(sorted(called))}")
    function = next(iter(called), "")
    if function:
        cases = [read_call(case.input, case.output) for case in cases]
    return Cases(cases=tuple(cases), function=function)


def _case(test: Any) -> Case:
    if isinstance(test, Mapping):
        given, wanted = test.get("input"), test.get("output")
        if isinstance(given, str) and isinstance(wanted, str):
            return Case(given, wanted)
    raise CasesError("a test must have the texts `input` and `output`")


def _function(test: Mapping[str, Any]) -> str:
    """As sets made of LiveCodeBench and its like write it; empty: the test is read from standard input."""
    if test.get("testtype") != "functional":
        return ""
    metadata = test.get("metadata")
    name = metadata.get("func_name") if isinstance(metadata, Mapping) else None
    if not (isinstance(name, str) and name):
        raise CasesError("a functional test must name its function in metadata.func_name")
    return name


def _year(value: Any) -> int | None:
    return None if value is None else int(value)
