"""HumanEval+ and MBPP+ of EvalPlus: functions with hundreds of inputs each, in tables or its own files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from ioi_eval.benchmarks.benchmark import Benchmark, BenchmarkOptions, Candidate, ColumnNames, Keep
from ioi_eval.benchmarks.tables import Row, Tables
from ioi_eval.model.nesting import shallow
from ioi_eval.model.values import Limits, Problem, Solution
from ioi_eval.rules.assertions import INPUTS, READ_VALUES, Asserted, python_checker, read_test
from ioi_eval.rules.json_tests import NO_CASES, Case, CasesError, as_arguments

# A row's test is lists of inputs and results, and a loop that asserts something of each. Most compare by `==`
# with a tolerance for floating numbers: that is the comparison `json`. The few that do something else, as
# comparing sets or asking a reference, become checkers, which are run where all checkers are.

# EvalPlus gives an input four times what its reference took, at least 1 s. What that took nobody knows here.
TIME_LIMIT = 4.0  # seconds
MEMORY_LIMIT = 4 << 30  # bytes


class _Plus(Benchmark):
    split: ClassVar = "test"
    language: ClassVar = "python"
    named = ColumnNames(statement="prompt")
    packages: ClassVar = ("numpy",)
    version: ClassVar[int] = 4
    _prefix: ClassVar[str]
    _solution: ClassVar[tuple[str, ...]]  # columns that are its beginning and its end

    def may_have(self, row: Mapping[str, Any]) -> bool:
        """Return False for rows of plain HumanEval, which have the same columns and no list of inputs."""
        test = row.get("test")
        return not isinstance(test, str) or INPUTS.search(test) is not None

    def candidate(self, row: Row) -> Candidate:
        number = row.name("task_id").rpartition("/")[2]
        return Candidate(id=f"{self._prefix}/{number}", rows=(row.index,), alias=number)

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        row = tables.main[candidate.rows[0]]

        def finish(problem: Problem) -> Problem:
            return read_test(row.text("test"), row.text("entry_point", "")).of(problem, keep.blob)

        return self.of_row(
            row,
            candidate,
            finish,
            limits=Limits.contest(TIME_LIMIT, MEMORY_LIMIT),
            starter_code=_joined(row, self._solution[:-1]),
        )

    def references(self, candidate: Candidate, tables: Tables) -> tuple[Solution, ...]:
        code = _joined(tables.main[candidate.rows[0]], self._solution)
        return (Solution(name="canonical", language="python", code=code, expected="correct"),)


class HumanEvalPlus(_Plus):
    name: ClassVar = "humaneval_plus"
    about: ClassVar = "HumanEval+ of EvalPlus: 164 functions in Python with many inputs"
    ids: ClassVar = r"HumanEval/[0-9]+"
    adds_to: ClassVar = "humaneval"
    dataset: ClassVar = "evalplus/humanevalplus"
    columns: ClassVar = ("task_id", "prompt", "canonical_solution", "entry_point", "test")
    _prefix: ClassVar = "HumanEval"
    _solution: ClassVar = ("prompt", "canonical_solution")


class MbppPlus(_Plus):
    name: ClassVar = "mbpp_plus"
    about: ClassVar = "MBPP+ of EvalPlus: 378 functions in Python with many inputs"
    ids: ClassVar = r"Mbpp/[0-9]+"
    dataset: ClassVar = "evalplus/mbppplus"
    columns: ClassVar = ("task_id", "code", "prompt", "test_list", "test")
    _prefix: ClassVar = "Mbpp"
    _solution: ClassVar = ("code",)


# --- EvalPlus' own files -----------------------------------------------------------------------------


class EvalPlus(_Plus):
    """HumanEvalPlus.jsonl and MbppPlus.jsonl: inputs without results, which the file's own solution gives.

    They differ from the tables on the hub, of which each row has a program of its own.
    """

    name: ClassVar = "evalplus"
    about: ClassVar = "EvalPlus' own files: HumanEvalPlus.jsonl, MbppPlus.jsonl"
    dataset: ClassVar = "HumanEvalPlus.jsonl"  # nowhere on the hub: a file is named
    columns: ClassVar = ("task_id", "prompt", "entry_point", "canonical_solution", "base_input", "plus_input")
    mixed: ClassVar = ("base_input", "plus_input")
    heeds: ClassVar = ("generated_tests",)

    def candidate(self, row: Row) -> Candidate:
        name = row.name("task_id")
        return Candidate(id=name, rows=(row.index,), alias=name.rpartition("/")[2])

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        row = tables.main[candidate.rows[0]]
        is_mbpp = candidate.id.startswith("Mbpp/")

        def finish(problem: Problem) -> Problem:
            columns = self.mixed if options.generated_tests else self.mixed[:1]
            inputs = [given for column in columns for given in _inputs(row, column)]
            if not inputs:
                raise CasesError(NO_CASES)
            if is_mbpp and (shape := _SHAPES.get(int(row.name("task_id").rpartition("/")[2]))):
                inputs = [
                    [_MAKE[shape[min(n, len(shape) - 1)]](argument) for n, argument in enumerate(given)]
                    for given in inputs
                ]
            function = row.text("entry_point")
            cases = tuple(Case(as_arguments(given), "null") for given in inputs)
            oracle = (_MBPP if is_mbpp else _HUMANEVAL).get(function, "out == exp")
            source = _OWN_CHECKER.format(
                reference=_joined(row, ("prompt", "canonical_solution")),
                function=function,
                absolute=row.number("atol", 0.0),
                oracle=oracle,
            )
            checker = python_checker(READ_VALUES + source, decides=True)
            return Asserted(function, cases, checker).of(problem, keep.blob)

        return self.of_row(
            row,
            candidate,
            finish,
            limits=Limits.contest(TIME_LIMIT, MEMORY_LIMIT),
            starter_code="" if is_mbpp else row.text("prompt"),
        )

    _solution: ClassVar = ("prompt", "canonical_solution")


def _inputs(row: Row, column: str) -> list[list[Any]]:
    """A list of lists of arguments; as JSON, since a table has no column of many types."""
    found = json.loads(shallow(row.text(column, "") or "[]"))  # JSON with Infinity
    if found == {}:  # so EvalPlus writes none
        return []
    if not isinstance(found, list) or not all(isinstance(item, list) for item in found):
        raise row.wrong(column, "not a list of lists of arguments")
    return found


# What JSON could not hold, by the number of the problem in MBPP+, as EvalPlus restores it: a letter for each
# argument (the last one for the others): `t` a tuple, `l` a list of tuples, `b` a tuple of tuples, `m` one
# whose lists are tuples, `a` tuples all the way down, `s` a list of sets, `v` values that are tuples,
# `f` a float, `c` a complex number, `.` as it is.
_SHAPES: Mapping[int, str] = {
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
_MAKE: Mapping[str, Callable[[Any], Any]] = {
    ".": lambda given: given,
    "t": tuple,
    "l": lambda given: [tuple(item) for item in given],
    "b": lambda given: tuple(tuple(item) for item in given),
    "m": lambda given: tuple(tuple(item) if isinstance(item, list) else item for item in given),
    "a": lambda given: tuple(map(_MAKE["a"], given)) if isinstance(given, list) else given,
    "s": lambda given: [set(item) if isinstance(item, list) and item else {} for item in given],
    "v": lambda given: {key: tuple(value) for key, value in given.items()},
    "f": float,
    "c": complex,
}


# The problems that EvalPlus compares otherwise, by their functions.
_HUMANEVAL: Mapping[str, str] = {
    "find_zero": "abs(sum(c * out ** i for i, c in enumerate(inp[0]))) <= atol",
}
_MBPP: Mapping[str, str] = {
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
_OWN_CHECKER = """\
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
    print(int(bool({oracle}) or bool(atol) and type(out) is type(exp) and near(out, exp, atol)))
except Exception:  # as in EvalPlus: what cannot be compared is wrong
    print(0)
"""


def _joined(row: Row, columns: Sequence[str]) -> str:
    return "".join(map(row.text, columns))
