"""Each integration compares outputs like the reward that it replaces.

Results of the original code were recorded. `open_r1`: `code_reward` in huggingface/open-r1,
src/open_r1/rewards.py, at commit 0056faa6b77d. `prime`: `check_correctness` in verl 0.9.1,
verl/utils/reward_score/prime_code; tests/with_verl runs it. `lcb`: `grade_stdio` in nemo-gym's
resources_servers/code_gen/lcb_integration; lighteval 0.13.0 has the same.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
from reward_answers import fenced

from ioi_eval.integrations.open_r1 import code_reward
from ioi_eval.integrations.trl import reward
from ioi_eval.integrations.verl import compute_score, compute_score_batch

pytestmark = pytest.mark.usefixtures("closing_reward_runtimes")

ECHO = fenced("import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())")


class Pair(NamedTuple):
    expected: str
    printed: str
    open_r1: bool
    prime: bool
    lcb: bool


PAIRS = [
    Pair("A \nB\n", "A\nB\n", True, True, True),
    Pair("A\nB\n", "A \nB\n", True, True, True),
    Pair("A \nB\n", "A  \nB\n", True, False, True),
    Pair(" A\nB\n", "A\nB", True, True, True),
    Pair("A\n B\n", "A\nB\n", True, True, True),
    Pair("A\nB\n", "\n\nA\nB\n\n", True, True, True),
    Pair("A\n\nB\n", "A\nB\n", False, True, False),
    Pair("A\nB\n", "A\n\nB\n", False, True, False),
    Pair("A\r\nB\r\n", "A\nB\n", True, True, True),
    Pair("A\nB\n", "A\r\nB\r\n", True, True, True),
    Pair("A B\n", "A  B\n", False, False, False),
    Pair("A\nB\n", "A B\n", False, False, False),
    Pair("A\nB\n", "B\nA\n", False, False, False),
    Pair("a b\n", "b a\n", False, False, False),
    Pair("A\nB\n", "A\n", True, False, False),
    Pair("A\n", "A\nB\n", False, False, False),
    Pair("A\nB\n", "", False, False, False),
    Pair("", "A", False, False, False),
    Pair("", "\n", True, True, True),
    Pair("\n\n", "", True, True, True),
    Pair("\nA\n", "A\n", False, True, True),
    Pair("\nA\n", "\nA\n", False, True, True),
    Pair("2\n", "2.0\n", False, True, True),
    Pair("0.5\n", "0.500001\n", False, True, False),
    Pair("0.5\n", "0.6\n", False, False, False),
    Pair("0.5\nx\n", "0.500001\nx\n", False, False, False),
    Pair("1000000000000000000\n", "1000000000000000007\n", False, False, False),
    Pair("-1000000000000000000\n", "-1000000000000000007\n", False, True, False),
    Pair("1 2\n", "1.0 2\n", False, False, True),
    Pair("yes\n", "YES\n", False, False, False),
    Pair("007\n", "7\n", False, False, True),
    Pair("nan\n", "NaN\n", False, False, False),
    Pair("7", "7\t", True, True, True),
    Pair("1.0\n2\n", "1\n2", False, True, True),
    Pair("12\n34\n", "12 \n34.0", False, True, True),
    Pair("01 2\n", "1 2.00\n", False, False, True),
    Pair("0.1\n", "0.10000000000000001\n", False, True, False),
]
# open-r1 compares as many lines as the shorter output has, and strips only the printed output.
OTHERWISE = {("A\nB\n", "A\n"): False, ("\nA\n", "A\n"): True, ("\nA\n", "\nA\n"): True}


def answers(checker: str | None = None) -> list[float]:
    options = {} if checker is None else {"checker": checker}
    tests = [{"inputs": [pair.printed], "outputs": [pair.expected]} for pair in PAIRS]
    return compute_score_batch(["apps"] * len(tests), [ECHO] * len(tests), tests, **options)


def test_comparisons_match_open_r1_except_known_cases() -> None:
    cases = [[{"input": pair.printed, "output": pair.expected, "type": "stdin_stdout"}] for pair in PAIRS]
    info = [{"language": "python", "test_cases": tests} for tests in cases]
    expected = [OTHERWISE.get(pair[:2], pair.open_r1) for pair in PAIRS]
    assert code_reward([ECHO] * len(PAIRS), verification_info=info) == expected
    assert reward(completions=[ECHO] * len(PAIRS), test_cases=cases) == expected


def test_default_comparison_matches_prime_code() -> None:
    assert answers() == [pair.prime for pair in PAIRS]


def test_lines_comparison_matches_livecodebench() -> None:
    assert answers("lines") == [pair.lcb for pair in PAIRS]


def test_checker_option_changes_comparison() -> None:
    tests = {"inputs": ["A\nB\n"], "outputs": ["A \nB\n"]}
    assert compute_score("apps", ECHO, tests) == 1
    assert compute_score("apps", ECHO, tests, checker="stripped") == 0
