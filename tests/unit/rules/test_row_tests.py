"""The reader of a row's tests, which benchmarks and rewards share."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

from ioi_eval.integrations.eval_protocol import evaluate_apps_solution
from ioi_eval.integrations.open_r1 import code_reward
from ioi_eval.integrations.runtime import close_all
from ioi_eval.integrations.trl import reward
from ioi_eval.integrations.verl import compute_score
from ioi_eval.rules.assertions import Asserted
from ioi_eval.rules.json_tests import CasesError
from ioi_eval.rules.row_tests import read_tests


@pytest.fixture(autouse=True, scope="module")
def engines_are_closed(shared_cache: Path) -> Iterator[None]:
    """Close the engine that rewards open for all calls of a process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IOI_EVAL_CACHE", str(shared_cache))
        yield
        close_all()


def packed(tests: Any) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(json.dumps(tests)))).decode()


PAIR = {"input": "2\n", "output": "4\n"}
OF_STDIN: dict[str, Any] = {
    "lists": {"inputs": ["2\n"], "outputs": ["4\n"]},
    "lists in JSON in JSON": {"inputs": '["2\\n"]', "outputs": '["4\\n"]'},
    "lists of input": {"input": ["2\n"], "output": ["4\n"]},
    "pairs": [PAIR],
    "pairs of texts": [["2\n", "4\n"]],
    "JSON of pairs": json.dumps([PAIR]),
    "JSON of JSON": json.dumps(json.dumps([PAIR])),
    "texts of JSON": [json.dumps(PAIR)],
    "literal": str([PAIR]),
    "stdin": [{"input": {"stdin": "2\n"}, "output": {"stdout": "4\n"}, "type": "stdin_stdout"}],
    "expected_output": [{"input": "2\n", "expected_output": "4\n"}],
    "one": PAIR,
    "test_cases": {"test_cases": json.dumps([PAIR]), "language": "python"},
    "ground_truth": {"ground_truth": {"tests": [PAIR]}},
    "packed": packed([PAIR | {"testtype": "stdin"}]),
    "LiveCodeBench": {
        "public_test_cases": json.dumps([PAIR]),
        "private_test_cases": packed([PAIR]),
        "metadata": "{}",
    },
}
CALL = {"input": "2", "output": "4", "testtype": "functional"}
OF_FUNCTIONS: dict[str, Any] = {
    "check": {"test": "def check(candidate):\n    assert candidate(2) == 4\n", "entry_point": "twice"},
    "program": "import math\n\nassert twice(2) == 4\nassert twice(0) == 0",
    "statements": ["assert twice(2) == 4", "assert twice(0) == 0"],
    "JSON of statements": json.dumps(["assert twice(2) == 4"]),
    "MBPP": {"test_list": ["assert math.isclose(twice(2), 4)"], "test_setup_code": "import math"},
    "assert_case": {"assert_case": ["assert twice(2) == 4"]},
    "EvalPlus": "inputs = [[2]]\nresults = [4]\nfor i, (inp, exp) in enumerate(zip(inputs, results)):\n"
    "    assert twice(*inp) == exp\n",
    "values": [{"input": [2], "output": 4, "fn_name": "twice", "type": "function_call"}],
    "lists": json.dumps({"inputs": [[2]], "outputs": [4], "fn_name": "twice"}),
    "functional": [{**CALL, "metadata": {"func_name": "twice"}}],
    "metadata in JSON": [{**CALL, "metadata": '{"func_name": "twice"}'}],
    "LiveCodeBench": {
        "private_test_cases": packed([CALL]),
        "metadata": '{"func_name": "twice"}',
    },
}
PROGRAM = "```python\nprint(2 * int(input()))\n```"
FUNCTION = "```python\ndef twice(n): return 2 * n\n```"
FORMS = [(form, PROGRAM) for form in OF_STDIN.values()] + [(form, FUNCTION) for form in OF_FUNCTIONS.values()]
NAMES = [*OF_STDIN, *OF_FUNCTIONS]


def test_every_reward_function_reads_every_test_schema() -> None:
    forms = [form for form, _ in FORMS]
    replies = [reply for _, reply in FORMS]
    wrong = [reply.replace("2 *", "3 *") for reply in replies]
    assert dict(zip(NAMES, reward(completions=replies, ground_truth=forms), strict=True)) == dict.fromkeys(
        NAMES, 1
    )
    assert all(share is not None and share < 1 for share in reward(completions=wrong, tests=forms))
    infos = [{"test_cases": form, "language": "python"} for form in forms]
    assert code_reward(replies, verification_info=infos) == [1] * len(forms)


@pytest.mark.parametrize("form", ["packed", "LiveCodeBench"])
def test_compute_score_reads_packed_tests(form: str) -> None:
    assert compute_score("x", PROGRAM, OF_STDIN[form]) == 1
    assert compute_score("x", FUNCTION, OF_FUNCTIONS["check"]) == 1


def test_reward_reads_tests_from_humaneval_and_mbpp_columns() -> None:
    humaneval = {
        "task_id": ["HumanEval/0"],
        "entry_point": ["twice"],
        "test": [OF_FUNCTIONS["check"]["test"]],
        "prompts": ["?"],
    }
    assert reward(completions=[FUNCTION], **humaneval) == [1]
    mbpp = {"test_list": [OF_FUNCTIONS["MBPP"]["test_list"]], "test_setup_code": ["import math"]}
    assert reward(completions=[FUNCTION], **mbpp) == [1]
    lcb = {name: [value] for name, value in OF_STDIN["LiveCodeBench"].items()}
    assert reward(completions=[PROGRAM], **lcb) == [1]


def test_evaluator_of_eval_protocol_reads_every_form_if_it_calls_functions() -> None:
    forms = [*zip(OF_FUNCTIONS.values(), repeat(FUNCTION)), (OF_STDIN["packed"], PROGRAM)]
    for form, reply in forms:
        messages = [{"role": "assistant", "content": reply}]
        assert evaluate_apps_solution(messages, form, call_functions=True).score == 1
    as_package = evaluate_apps_solution(messages, OF_STDIN["packed"])
    assert (as_package.score, as_package.is_score_valid) == (0, True)


def test_equal_tests_of_two_functions_are_two_problems() -> None:
    check = "def check(candidate):\n    assert candidate(2) == 4\n"
    rewards = reward(completions=[FUNCTION] * 2, test=[check] * 2, entry_point=["twice", "other"])
    assert rewards == [1, 0]


def test_numbers_in_row_tests_keep_their_digits() -> None:
    row_tests = read_tests('{"inputs": [1.10, 1e400], "outputs": [' + "9" * 5000 + ", 2]}")
    assert not isinstance(row_tests, Asserted)
    assert row_tests.cases == (("1.10", "9" * 5000), ("1e400", "2"))


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "No test cases"),
        ({}, "No test cases"),
        ({"metadata": "x"}, "No test cases"),
        ("no tests", "is not a literal value"),
        ("assert", "no tests|is not a literal value|No test cases"),
        ([PAIR, CALL], "several kinds"),
        ([CALL], "but its name is missing"),
        ("x" * 100, "packed tests are not valid"),
        (b"[]", "must be pairs or lists"),
        ([["1", "2"], ["3"]], "must be pairs or lists"),
        (base64.b64encode(zlib.compress(pickle.dumps([print]))).decode(), "more than a string"),
    ],
)
def test_unsupported_tests_value_raises_cases_error(written: Any, message: str) -> None:
    with pytest.raises(CasesError, match=message):
        read_tests(written)
