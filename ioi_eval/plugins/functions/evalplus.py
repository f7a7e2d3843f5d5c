"""HumanEval+ and MBPP+ of EvalPlus: functions with hundreds of inputs each, from the hub or from files.

A row's test on the hub has lists of inputs and results, and a loop with a comparison. Most compare by `==`
with a tolerance for numbers, for which the comparison `json` is used. Other comparisons become checkers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from ioi_eval.benchmarks.benchmark import (
    Benchmark,
    BenchmarkOptions,
    ColumnNames,
    ContentStore,
    ProblemCandidate,
)
from ioi_eval.benchmarks.tables import Row, Tables
from ioi_eval.model.nesting import require_shallow
from ioi_eval.model.values import Limits, Problem, Solution
from ioi_eval.rules.assertions import INPUTS, READ_VALUES, Asserted, make_python_checker, read_evalplus_test
from ioi_eval.rules.json_tests import NO_CASES, Case, CasesError, format_arguments

# Time limit for a test. EvalPlus uses four times the reference solution's time, at least 1 s, but the
# datasets do not contain that time.
TIME_LIMIT_S = 4.0
MEMORY_LIMIT_BYTES = 4 << 30


class _EvalPlusBenchmark(Benchmark):
    """Base class of the benchmarks of EvalPlus."""

    split: ClassVar = "test"
    language: ClassVar = "python"
    named = ColumnNames(statement="prompt")
    packages: ClassVar = ("numpy",)
    version: ClassVar[int] = 4
    _prefix: ClassVar[str]
    _solution: ClassVar[tuple[str, ...]]  # columns whose texts are joined to the solution

    def accepts_row(self, row: Mapping[str, Any]) -> bool:
        """Return False for rows of plain HumanEval, which have the same columns but no list of inputs."""
        test = row.get("test")
        return not isinstance(test, str) or INPUTS.search(test) is not None

    def candidate(self, row: Row) -> ProblemCandidate:
        number = row.read_name("task_id").rpartition("/")[2]
        return ProblemCandidate(id=f"{self._prefix}/{number}", rows=(row.index,), alias=number)

    def problem(
        self, candidate: ProblemCandidate, tables: Tables, contents: ContentStore, options: BenchmarkOptions
    ) -> Problem:
        row = tables.main[candidate.rows[0]]

        def add_tests(problem: Problem) -> Problem:
            return read_evalplus_test(row.read_text("test"), row.read_text("entry_point", "")).add_to(
                problem, contents.store
            )

        return self.make_problem_from_row(
            row,
            candidate,
            add_tests,
            limits=Limits.contest(TIME_LIMIT_S, MEMORY_LIMIT_BYTES),
            starter_code=_join_columns(row, self._solution[:-1]),
        )

    def references(self, candidate: ProblemCandidate, tables: Tables) -> tuple[Solution, ...]:
        code = _join_columns(tables.main[candidate.rows[0]], self._solution)
        return (Solution(name="canonical", language="python", code=code, expected="correct"),)


class HumanEvalPlus(_EvalPlusBenchmark):
    """HumanEval+ from the hub."""

    name: ClassVar = "humaneval_plus"
    about: ClassVar = "HumanEval+ of EvalPlus: 164 functions in Python with many inputs"
    ids: ClassVar = r"HumanEval/[0-9]+"
    adds_to: ClassVar = "humaneval"
    dataset: ClassVar = "evalplus/humanevalplus"
    columns: ClassVar = ("task_id", "prompt", "canonical_solution", "entry_point", "test")
    _prefix: ClassVar = "HumanEval"
    _solution: ClassVar = ("prompt", "canonical_solution")


class MbppPlus(_EvalPlusBenchmark):
    """MBPP+ from the hub."""

    name: ClassVar = "mbpp_plus"
    about: ClassVar = "MBPP+ of EvalPlus: 378 functions in Python with many inputs"
    ids: ClassVar = r"Mbpp/[0-9]+"
    dataset: ClassVar = "evalplus/mbppplus"
    columns: ClassVar = ("task_id", "code", "prompt", "test_list", "test")
    _prefix: ClassVar = "Mbpp"
    _solution: ClassVar = ("code",)


# --- EvalPlus's own files ----------------------------------------------------------------------------


class EvalPlus(_EvalPlusBenchmark):
    """EvalPlus's files HumanEvalPlus.jsonl and MbppPlus.jsonl.

    They have inputs without results, so a checker runs the file's solution to get the expected results.
    """

    name: ClassVar = "evalplus"
    about: ClassVar = "EvalPlus' own files: HumanEvalPlus.jsonl, MbppPlus.jsonl"
    dataset: ClassVar = "HumanEvalPlus.jsonl"  # this dataset is not on the hub, so the user names a file
    columns: ClassVar = ("task_id", "prompt", "entry_point", "canonical_solution", "base_input", "plus_input")
    mixed: ClassVar = ("base_input", "plus_input")
    relevant_options: ClassVar = ("generated_tests",)

    def candidate(self, row: Row) -> ProblemCandidate:
        task_id = row.read_name("task_id")
        return ProblemCandidate(id=task_id, rows=(row.index,), alias=task_id.rpartition("/")[2])

    def problem(
        self, candidate: ProblemCandidate, tables: Tables, contents: ContentStore, options: BenchmarkOptions
    ) -> Problem:
        row = tables.main[candidate.rows[0]]
        is_mbpp = candidate.id.startswith("Mbpp/")

        def add_tests(problem: Problem) -> Problem:
            columns = self.mixed if options.generated_tests else self.mixed[:1]
            inputs = [arguments for column in columns for arguments in _read_inputs(row, column)]
            if not inputs:
                raise CasesError(NO_CASES)
            if is_mbpp and (
                argument_types := _ARGUMENT_TYPES.get(int(row.read_name("task_id").rpartition("/")[2]))
            ):
                inputs = [
                    [
                        _CONVERT[argument_types[min(index, len(argument_types) - 1)]](argument)
                        for index, argument in enumerate(arguments)
                    ]
                    for arguments in inputs
                ]
            function = row.read_text("entry_point")
            cases = tuple(Case(format_arguments(arguments), "null") for arguments in inputs)
            comparison = (_MBPP_COMPARISONS if is_mbpp else _HUMANEVAL_COMPARISONS).get(
                function, "out == exp"
            )
            checker_source = _CHECKER.format(
                reference=_join_columns(row, ("prompt", "canonical_solution")),
                function=function,
                absolute=row.read_number("atol", 0.0),
                comparison=comparison,
            )
            checker = make_python_checker(READ_VALUES + checker_source, failure_means_wrong=True)
            return Asserted(function, cases, checker).add_to(problem, contents.store)

        return self.make_problem_from_row(
            row,
            candidate,
            add_tests,
            limits=Limits.contest(TIME_LIMIT_S, MEMORY_LIMIT_BYTES),
            starter_code="" if is_mbpp else row.read_text("prompt"),
        )

    _solution: ClassVar = ("prompt", "canonical_solution")


def _read_inputs(row: Row, column: str) -> list[list[Any]]:
    """Return the lists of arguments in a column, which is a JSON string."""
    # The module json is used because this JSON may contain Infinity.
    inputs = json.loads(require_shallow(row.read_text(column, "") or "[]"))
    if inputs == {}:  # EvalPlus writes an empty list as {}
        return []
    if not isinstance(inputs, list) or not all(isinstance(arguments, list) for arguments in inputs):
        raise row.make_error(column, "the value is not a list of argument lists")
    return inputs


# Types of arguments that JSON lacks, by the number of the problem in MBPP+, as EvalPlus restores them. There
# is a letter for each argument; the last letter is also for all further arguments. `t` is a tuple, `l` a list
# of tuples, `b` a tuple of tuples, `m` a tuple whose lists are tuples, `a` tuples at all levels, `s` a list
# of sets, `v` an object whose values are tuples, `f` a float, `c` a complex number, `.` an unchanged
# argument.
_ARGUMENT_TYPES: Mapping[int, str] = {
    **dict.fromkeys((2, 116, 132, 143, 222, 261, 273, 394, 399, 421, 424, 429, 470, 560, 579), "t"),
    **dict.fromkeys((596, 616, 630, 726, 740, 744, 809), "t"),
    **dict.fromkeys((63, 64, 70, 94, 120, 237, 272, 299, 400, 409, 417, 438, 473, 614, 780), "l"),
    **dict.fromkeys((75, 413, 444, 753), "l."),
    **dict.fromkeys((106, 750), ".t"),
    **dict.fromkeys((250, 307, 405, 446, 617, 720, 763, 808), "t."),
    **dict.fromkeys((259, 401, 445), "b"),
    **dict.fromkeys((580, 615, 791), "a"),
    **{115: "s", 124: "fc", 252: "c", 278: "m", 722: "v."},
}
# Functions that convert an argument, by letter in _ARGUMENT_TYPES.
_CONVERT: Mapping[str, Callable[[Any], Any]] = {
    ".": lambda argument: argument,
    "t": tuple,
    "l": lambda argument: [tuple(item) for item in argument],
    "b": lambda argument: tuple(tuple(item) for item in argument),
    "m": lambda argument: tuple(tuple(item) if isinstance(item, list) else item for item in argument),
    "a": lambda argument: tuple(map(_CONVERT["a"], argument)) if isinstance(argument, list) else argument,
    "s": lambda argument: [set(item) if isinstance(item, list) and item else {} for item in argument],
    "v": lambda argument: {key: tuple(value) for key, value in argument.items()},
    "f": float,
    "c": complex,
}


# Special comparisons of EvalPlus, by the problem's function.
_HUMANEVAL_COMPARISONS: Mapping[str, str] = {
    "find_zero": "abs(sum(c * out ** i for i, c in enumerate(inp[0]))) <= atol",
}
_MBPP_COMPARISONS: Mapping[str, str] = {
    "are_equivalent": "True",
    "sum_div": "out == exp or out == 0",
    "surface_Area": "out == exp or abs(out - area(*inp)) <= atol",
    "digit_distance_nums": "out == exp or out == distance(*inp)",
    **dict.fromkeys(
        (
            *("similar_elements", "find_char_long", "common_in_nested_lists", "extract_singly", "larg_nnum"),
            *("intersection_array", "find_dissimilar", "Diff"),
        ),
        "set(out) == set(exp)",
    ),
    **dict.fromkeys(
        ("check_str", "text_match_three", "text_starta_endb"),
        "out == exp if isinstance(out, bool) else exp == (out is not None)",
    ),
}
_CHECKER = """\
import copy, math

def near(out, exp, atol):
    if isinstance(exp, (list, tuple)):
        return len(out) == len(exp) and all(near(one, other, atol) for one, other in zip(out, exp))
    return out == exp or abs(out - exp) <= atol + 1e-7 * abs(exp)

def area(base, height):
    return round(base * base + 2 * base * math.sqrt((base / 2) ** 2 + height ** 2))

def distance(one, two):
    width = max(len(str(one)), len(str(two)))
    return sum(abs(int(a) - int(b)) for a, b in zip(str(one).zfill(width), str(two).zfill(width)))

inp, atol, names = ast.literal_eval(given), {absolute!r}, {{}}
exec({reference!r}, names)
exp = names[{function!r}](*copy.deepcopy(inp))
every = exp if isinstance(exp, (list, tuple)) and exp else [exp]
atol = atol or (1e-6 if all(isinstance(one, float) for one in every) else 0)
try:
    out = value(json.loads(got))
    print(int(bool({comparison}) or bool(atol) and type(out) is type(exp) and near(out, exp, atol)))
except Exception:  # as in EvalPlus: what cannot be compared is wrong
    print(0)
"""


def _join_columns(row: Row, columns: Sequence[str]) -> str:
    """Return the joined strings of these columns."""
    return "".join(map(row.read_text, columns))
