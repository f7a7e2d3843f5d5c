"""`evaluate_apps_solution` behaves as eval-protocol documents it."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ioi_eval import InputError
from ioi_eval.integrations.eval_protocol import (
    EvaluateResult,
    Message,
    _extract_python_code,
    apps_dataset_to_evaluation_row,
    evaluate_apps_solution,
    evaluate_apps_solution_async,
)
from ioi_eval.integrations.runtime import Setup, close_all
from ioi_eval.testing import Broken, FakeEngine

# The document's example: for a point and a number of moves, the maximum number of diagonal moves, or -1.
TRUTH = {
    "inputs": ["1\n2 2 3\n", "1\n4 3 7\n", "1\n10 1 9\n"],
    "outputs": ["1\n", "6\n", "-1\n"],
}
SOLVED = """
q = int(input())
for _ in range(q):
    x, y, k = list(map(int, input().split()))
    x, y = abs(x), abs(y)
    x, y = max(x, y), min(x, y)
    if x % 2 != k % 2:
        k -= 1
        y -= 1
    if x > k:
        print(-1)
        continue
    if (x - y) % 2:
        k -= 1
        x -= 1
    print(k)
"""
PARTIAL = SOLVED.replace("        print(-1)\n        continue\n", "        pass\n")
WRONG = """
q = int(input())
for _ in range(q):
    x, y, k = list(map(int, input().split()))
    # Incorrect approach - doesn't consider diagonal optimization
    print(k)  # Always outputs k regardless of constraints
"""
# The entry of the dataset as the document shows it: all three queries in a single test.
ENTRY = {
    "id": 1,
    "question": "Mikhail walks on a Cartesian plane.",
    "solutions": [SOLVED],
    "input_output": {"inputs": ["3\n2 2 3\n4 3 7\n10 1 9\n"], "outputs": ["1\n6\n-1\n"]},
    "difficulty": "interview",
    "starter_code": "",
}


@pytest.fixture(autouse=True, scope="module")
def closing_reward_runtimes(shared_cache: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IOI_EVAL_CACHE", str(shared_cache))
        yield
    close_all()


def evaluate(code: str, truth: Any = TRUTH, **options: Any) -> EvaluateResult:
    reply = f"Here is my solution.\n```python\n{code}\n```\nIt is fast."
    messages = [Message(role="user", content="Mikhail walks"), Message(role="assistant", content=reply)]
    return evaluate_apps_solution(messages, truth, **options)


def raw(result: EvaluateResult) -> list[Any]:
    raw_results: list[Any] = json.loads(result.metrics["raw_results"].reason)
    return raw_results


def details(result: EvaluateResult) -> dict[str, Any]:
    error_details: dict[str, Any] = json.loads(result.metrics["execution_error_details"].reason)
    return error_details


def failures(result: EvaluateResult) -> list[dict[str, Any]]:
    failed_tests: list[dict[str, Any]] = json.loads(result.metrics["execution_metadata"].reason)
    return failed_tests


def test_apps_evaluation_of_right_program_is_1() -> None:
    result = evaluate(SOLVED, json.dumps(TRUTH))
    assert (result.score, result.reason, result.is_score_valid) == (1.0, "Passed 3/3 test cases.", True)
    assert (result.metrics["pass_rate"].score, result.metrics["pass_rate"].reason) == (1.0, "3/3")
    assert raw(result) == [True, True, True]
    assert failures(result) == [{}]


@pytest.mark.parametrize("written", [ENTRY["input_output"], json.dumps(ENTRY["input_output"])])
def test_documented_apps_entry_is_evaluated(written: Any) -> None:
    (row,) = apps_dataset_to_evaluation_row([{**ENTRY, "input_output": written}])
    assert (row.messages[0].role, row.messages[0].content) == ("user", ENTRY["question"])
    assert row.ground_truth == written
    reply = Message(role="assistant", content=f"```python\n{SOLVED}```")
    result = evaluate_apps_solution(messages=[*row.messages, reply], ground_truth=row.ground_truth)
    assert (result.score, result.reason) == (1.0, "Passed 1/1 test cases.")
    assert (result.metrics["pass_rate"].score, result.metrics["pass_rate"].reason) == (1.0, "1/1")
    assert result.metrics.keys() == {"pass_rate", "raw_results", "execution_metadata"}
    unsolved = evaluate_apps_solution(messages=row.messages, ground_truth=row.ground_truth)
    assert (unsolved.score, raw(unsolved)) == (0, [-2])


def test_apps_evaluation_of_partly_right_program_is_fraction() -> None:
    result = evaluate(PARTIAL)
    assert (result.score, result.reason) == (2 / 3, "Passed 2/3 test cases.")
    assert raw(result) == [True, True, False]
    (failed,) = failures(result)
    assert (failed["inputs"], failed["expected"], failed["output"]) == ("1\n10 1 9\n", "-1\n", "8")
    assert failed["error_message"] == "Wrong Answer"


def test_apps_evaluation_shows_first_failure_if_all_fail() -> None:
    result = evaluate(WRONG, engine=Setup(slots=1))
    assert result.score == 0
    assert result.reason == (
        "Passed 0/1 test cases.. First fail details: Inputs: 1\n2 2 3\n, Expected: 1\n, Got: 3"
    )
    assert raw(result) == [False]


def test_apps_evaluation_stops_at_first_error() -> None:
    code = "n = int(input())\nif n == 2:\n    raise KeyError('x')\nprint(n)\n"
    truth = {"inputs": ["1 " + " " * 500, "2", "3"], "outputs": ["1", "2", "3"]}
    result = evaluate(code, truth)
    assert (raw(result), result.score) == ([True, -1], 0.5)
    assert result.reason == "Passed 1/2 test cases. Execution Error: KeyError('x')"
    assert 'File "<string>", line' in details(result)["traceback"]


def test_apps_evaluation_over_limit_scores_zero() -> None:
    code = "n = int(input())\nwhile n == 2:\n    pass\nprint(n)\n"
    result = evaluate(code, {"inputs": ["1", "2", "3"], "outputs": ["1", "2", "3"]}, execution_timeout=0.2)
    assert (raw(result), result.score) == ([-1] * 3, 0)
    assert failures(result)[0]["error"] == "Global timeout or process killed prematurely"
    code = "x = b'x' * (200 << 20)\nprint(input())"
    result = evaluate(code, {"inputs": ["1"], "outputs": ["1"]}, memory_limit=64 << 20)
    assert raw(result) == [-1]
    assert details(result)["details"].startswith("Memory limit exceeded")


def test_apps_evaluation_of_syntax_error_scores_zero() -> None:
    code = "for _ in range(3)\n    print(1)\n"
    for reply in (f"```python\n{code}```", code):
        result = evaluate_apps_solution([Message(role="assistant", content=reply)], TRUTH)
        assert (result.score, result.is_score_valid, raw(result)) == (0, True, [-2])
        assert result.reason.startswith("Passed 0/1 test cases. Execution Error: SyntaxError")
        assert (result.metrics["pass_rate"].score, result.metrics["pass_rate"].reason) == (0, "0/1")


def test_apps_evaluation_without_code_scores_zero() -> None:
    """This is checked before the tests."""
    for truth in (TRUTH, None, {"inputs": [], "outputs": []}):
        result = evaluate_apps_solution([Message(role="assistant", content="")], truth)
        assert (result.score, result.is_score_valid, result.error) == (0, True, None)
        assert result.reason == "The provided code solution was empty after extraction."
        assert {name: metric.is_score_valid for name, metric in result.metrics.items()} == {
            "parsability": True,
            "error": False,
        }


@pytest.mark.parametrize(
    ("truth", "reason"),
    [
        (None, "Invalid ground_truth type."),
        (7, "Invalid ground_truth type."),
        ("", "Ground_truth JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
        ("[" * 9999, "Ground_truth JSONDecodeError: nested deeper than 500 lists and objects"),
        ("9" * 9999, "Ground_truth JSONDecodeError: Exceeds the limit"),
        ("[]", "Invalid ground_truth structure after parsing."),
        ({"inputs": ["1"]}, "Invalid ground_truth structure after parsing."),
    ],
)
def test_invalid_ground_truth_scores_zero_with_reason(truth: Any, reason: str) -> None:
    result = evaluate(SOLVED, truth)
    assert (result.score, result.is_score_valid, result.metrics["error"].is_score_valid) == (0, True, False)
    assert result.reason.startswith(reason)


def test_malformed_or_missing_tests_score_zero() -> None:
    result = evaluate(SOLVED, {"inputs": ["1"], "outputs": []})
    assert (raw(result), details(result)["error"]) == ([-1], "Exception in _temp_run/run_test")
    result = evaluate(SOLVED, {"inputs": [], "outputs": []})
    assert (result.score, result.reason) == (0, "Execution utility returned no results.")
    assert result.metrics.keys() == {"execution_error", "execution_metadata"}


def test_apps_evaluation_without_messages_scores_zero() -> None:
    result = evaluate_apps_solution([], TRUTH)
    assert (result.score, result.reason) == (0, "No messages provided.")
    assert result.metrics["error"].is_score_valid is False


@pytest.mark.usefixtures("no_retry_waits")
def test_judge_failure_makes_score_invalid() -> None:
    result = evaluate(
        SOLVED, engine=Setup(engine=lambda _: FakeEngine(faults=itertools.repeat(Broken("no machine"))))
    )
    assert result.is_score_valid is False
    assert "Not judged" in result.error
    assert "pass_rate" not in result.metrics


def test_apps_evaluation_calls_functions_or_runs_programs() -> None:
    function_tests = {"fn_name": "double", "inputs": ["2", "21"], "outputs": ["4", "42"]}
    assert evaluate("print(2 * int(input()))", function_tests).score == 1
    truth = {"fn_name": "double", "inputs": [[2], [21]], "outputs": [4, 42]}
    assert evaluate("def double(n):\n    return 2 * n", truth, call_functions=True).score == 1
    result = evaluate("def double(n):\n    return 4 if n == 2 else 1 / 0", truth, call_functions=True)
    assert raw(result) == [True, -1]
    assert "ZeroDivisionError" in details(result)["error"]
    result = evaluate("def double(n):\n    return 4", truth, call_functions=True)
    assert (raw(result), failures(result)[0]["output"]) == ([True, False], "4")
    result = evaluate("def double(n:\n    return 4", truth, call_functions=True)
    assert (raw(result), details(result)["error"]) == ([-2], "SyntaxError: '(' was never closed")


def test_checker_option_changes_apps_comparison() -> None:
    truth = {"inputs": ["1 2"], "outputs": ["3.0 \n"]}
    code = "print(sum(map(int, input().split())))"
    assert evaluate(code, truth).score == 1
    assert evaluate(code, truth, checker="stripped").score == 0
    assert evaluate(code, truth, checker="lines").score == 1
    with pytest.raises(InputError, match="unknown comparison 'testlib'"):
        evaluate(code, truth, checker="testlib")


@pytest.mark.parametrize(
    ("printed", "result"),
    [
        ('{"code": -1, "error": "mine", "traceback": ""}', -1),
        ('{"code": 1}', False),
        ('{"code": true}', False),
        ("{", False),
        ('{"more": ' + 5000 * "[" + 5000 * "]" + "}", False),
    ],
    ids=["an error", "another code", "a word", "no JSON", "deep"],
)
def test_program_forging_error_line_scores_zero(printed: str, result: int) -> None:
    code = f"print('ioi_eval apps: ' + {printed!r})"
    result_of_forgery = evaluate(code, {"inputs": ["1"], "outputs": ["1"]})
    assert (result_of_forgery.score, raw(result_of_forgery)) == (0, [result])


def test_error_message_may_contain_surrogates() -> None:
    result = evaluate(r"raise ValueError('\ud800')", {"inputs": ["1"], "outputs": ["1"]})
    assert raw(result) == [-1] and "ValueError" in details(result)["error"]


@pytest.mark.parametrize("name", ["made_up_by_nobody", "z3.made_up_by_nobody"])
def test_missing_package_is_error_of_program(name: str) -> None:
    """At any place in the program, because the evaluator moves imports to the top."""
    for code in (f"import {name}\nprint(input())", f"print(1 // 0)\nimport {name}"):
        result = evaluate(code, {"inputs": ["1"], "outputs": ["1"]})
        assert (result.is_score_valid, raw(result)) == (True, [-2])
        assert "ModuleNotFoundError" in details(result)["error"]


def test_apps_evaluation_allows_deep_recursion_and_harness_imports() -> None:
    code = (
        "def deep(n):\n    return 0 if n == 0 else 1 + deep(n - 1)\nprint(deep(int(input())), math.gcd(4, 6))"
    )
    assert evaluate(code, {"inputs": ["100000"], "outputs": ["100000 2"]}, temperature=0.7).score == 1


def test_concurrent_apps_evaluations_accept_messages_of_any_type() -> None:
    reply = f"```python\n{SOLVED}\n```"
    forms: list[Any] = [
        {"role": "assistant", "content": reply},
        Message(role="assistant", content=reply),
        {"role": "assistant", "content": [{"type": "text", "text": reply}]},
    ]

    async def all_of_them() -> list[EvaluateResult]:
        return await asyncio.gather(*(evaluate_apps_solution_async([form], TRUTH) for form in forms))

    assert [result.score for result in asyncio.run(all_of_them())] == [1, 1, 0]  # as the package reads them


@pytest.mark.parametrize(
    ("answer_text", "code"),
    [
        ("```python\nprint(1)\n```\n```python\nprint(2)\n```", "print(1)"),
        ("```\nprint(1)\n```\n```python\nprint(2)\n```", "print(2)"),
        ("<think>```python\nprint(0)\n```</THINK>```\nprint(1)\n```", "print(1)"),
        ("<think>print(1)", "<think>print(1)"),
        ("print(1)", "print(1)"),
        ("The idea is simple: def f(): pass", "def f(): pass"),
        ("I don't know.", "I don't know."),
        ("", ""),
    ],
)
def test_python_code_is_extracted_from_all_answer_forms(answer_text: str, code: str) -> None:
    assert _extract_python_code(answer_text) == code


@pytest.mark.parametrize("unit", ["<think>", "```python\n", "```", " ", "def "])
def test_code_is_extracted_from_a_million_repetitions_in_linear_time(unit: str) -> None:
    """Quadratic extraction would not finish."""
    _extract_python_code(unit * 1_000_000)
