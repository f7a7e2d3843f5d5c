"""Rows in the schema of CodeContests, built from example solutions, with planted faults."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from ioi_eval import Problem, load_problems

EXAMPLES = Path(__file__).parents[3] / "examples" / "problems"
FAULTS = ("clean", "broken test", "broken spaces", "weak", "limits")
CHECKER = "needs a checker"
# By problem whose answers are compared: right solutions, and wrong solutions that a test rejects.
COMPARED: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "carousel": (("divisors.py", "borders.cpp"), ()),
    "carrier": (("shouted.py", "bisect.cpp"), ("glued.py",)),
    "frame": (("joined.py", "lines.cpp"), ()),
    "garland": (("matrix.py", "doubling.cpp"), ("rounded.py",)),
    "kettle": (("capitals.py", "sorted.cpp"), ()),
    "tide": (("backwards.py", "bisection.cpp"), ()),
    "verse": (("with_room.py", "backwards.cpp"), ()),
}
# By problem with several answers: right solutions; the outputs of the first become the answers.
SEVERAL_ANSWERS = {
    "banners": ("flat_start.py", "steep.cpp"),
    "relay": ("tails.py", "quadratic.cpp", "tails.cpp"),
    "shelves": ("tries.py", "subsets.cpp"),
    "threes": ("two_groups.py", "insertion.cpp"),
}
_CODES = {"python": 3, "c++": 2}
_MAX_INPUT, _TESTS = 2000, 5
_SLOW = {
    "python": "import time\nwhile time.process_time() < 0.3: pass\n",
    "c++": "#include <ctime>\nstruct Slow { Slow() { while (std::clock() < 300000) {} } } slow_start;\n",
}

Program = tuple[str, str]  # language and code


class Row(NamedTuple):
    columns: dict[str, Any]
    fault: str  # the planted fault


def make_rows(repeats: int, only: Sequence[str] = (*COMPARED, *SEVERAL_ANSWERS)) -> Iterator[Row]:
    """Yield each problem with each fault `repeats` times, with different tests.

    There are twice as many clean problems.
    """
    problems = load_problems(EXAMPLES, only=frozenset(only))
    for name, (right, wrong) in ((name, COMPARED[name]) for name in only if name in COMPARED):
        for fault in FAULTS:
            for number in range(repeats * (2 if fault == "clean" else 1)):
                random = Random(f"{name} {fault} {number}")
                tests = _choose_tests(problems[name], random)
                if fault == "broken spaces" and not any(len(answer.split()) > 1 for _, answer in tests):
                    continue
                programs = _read_programs(problems[name], right), _read_programs(problems[name], wrong)
                yield _make_row(f"{name} {fault} {number}", problems[name], tests, *programs, fault, random)
    for name, right in ((name, SEVERAL_ANSWERS[name]) for name in only if name in SEVERAL_ANSWERS):
        for number in range(repeats):
            random, programs = Random(f"{name} {number}"), _read_programs(problems[name], right)
            tests = [
                (input_text, _run_program(programs[0], input_text))
                for input_text, _ in _choose_tests(problems[name], random, 8)
            ]
            yield _make_row(
                f"{name} several answers {number}", problems[name], tests, programs, [], CHECKER, random
            )


def _choose_tests(problem: Problem, random: Random, number: int = _TESTS) -> list[tuple[str, str]]:
    small = [test for test in problem.tests if test.input.size <= _MAX_INPUT]
    chosen = random.sample(small, min(number, len(small)))
    return [
        (test.input.read().decode(), test.answer.read().decode() if test.answer else "") for test in chosen
    ]


def _read_programs(problem: Problem, names: Sequence[str]) -> list[Program]:
    solutions_by_name = {solution.name.rpartition("/")[2]: solution for solution in problem.solutions}
    return [(solutions_by_name[name].language, solutions_by_name[name].code) for name in names]


def _run_program(program: Program, input_text: str) -> str:
    language, code = program
    assert language == "python"
    process = subprocess.run(
        [sys.executable, "-c", code], input=input_text, capture_output=True, text=True, check=True
    )
    return process.stdout


def _make_lookup_program(tests: Sequence[tuple[str, str]], file: str) -> Program:
    """Return a program that contains the answers of some tests and computes nothing."""
    read_input = f"open({file!r}).read()" if file else "sys.stdin.read()"
    answers = dict(tests)
    out = f", file=open({file.replace('.in', '.out')!r}, 'w')" if file else ""
    return "python", f"import sys\nprint({answers!r}.get({read_input}, 'unknown'), end=''{out})\n"


def _make_row(
    name: str,
    problem: Problem,
    tests: list[tuple[str, str]],
    right: list[Program],
    wrong: list[Program],
    fault: str,
    random: Random,
) -> Row:
    file, seconds = problem.options.input_file, 2.0
    wrong = [*wrong, _make_lookup_program(tests[:2], file)]
    if fault == "broken test":
        index = random.randrange(len(tests))
        tests[index] = tests[index][0], f"{tests[index][1].rstrip()} 77\n"
    if fault == "broken spaces":
        index = next(number for number, (_, answer) in enumerate(tests) if len(answer.split()) > 1)
        tests[index] = tests[index][0], "".join(tests[index][1].split()) + "\n"
    if fault == "weak":
        tests = tests[:2]
        wrong = wrong[-1:]
    if fault == "limits":
        tests, seconds = tests[:3], 0.1
        right = [(language, _SLOW[language] + code) for language, code in right]
        wrong = [("python", "print('unknown')")]
    return Row(
        {
            "name": name,
            "description": "An example.",
            "public_tests": _make_test_columns(tests[:1]),
            "private_tests": _make_test_columns(tests[1:]),
            "solutions": _make_solution_columns(right),
            "incorrect_solutions": _make_solution_columns(wrong),
            "time_limit": {"seconds": int(seconds), "nanos": round(seconds % 1 * 1e9)},
            "memory_limit_bytes": 256 << 20,
            "input_file": file,
            "output_file": problem.options.output_file,
        },
        fault,
    )


def _make_test_columns(tests: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    return {"input": [input_text for input_text, _ in tests], "output": [answer for _, answer in tests]}


def _make_solution_columns(programs: Sequence[Program]) -> dict[str, list[Any]]:
    return {
        "language": [_CODES[language] for language, _ in programs],
        "solution": [code for _, code in programs],
    }
