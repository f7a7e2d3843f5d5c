"""`evaluate_apps_solution` as the document of the package's example describes it."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ioi_eval import Store
from ioi_eval.integrations.eval_protocol import (
    SURROUNDINGS,
    EvaluateResult,
    Message,
    apps_dataset_to_evaluation_row,
    code_of,
    evaluate_apps_solution,
    evaluate_apps_solution_async,
    with_surroundings,
)
from ioi_eval.integrations.runtime import Setup, close_all
from ioi_eval.testing import Broken, FakeEngine

pytestmark = pytest.mark.once

# The diagonal moves of the document's example: a point and a number of moves, the most diagonal ones or -1.
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
# The entry of the dataset as the document shows it: all three queries in one test.
ENTRY = {
    "id": 1,
    "question": "Mikhail walks on a Cartesian plane.",
    "solutions": [SOLVED],
    "input_output": {"inputs": ["3\n2 2 3\n4 3 7\n10 1 9\n"], "outputs": ["1\n6\n-1\n"]},
    "difficulty": "interview",
    "starter_code": "",
}


@pytest.fixture(autouse=True, scope="module")
def own_runtimes(shared_cache: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IOI_EVAL_CACHE", str(shared_cache))
        yield
    close_all()


def evaluate(code: str, truth: Any = TRUTH, **options: Any) -> EvaluateResult:
    said = f"Here is my solution.\n```python\n{code}\n```\nIt is fast."
    messages = [Message(role="user", content="Mikhail walks"), Message(role="assistant", content=said)]
    return evaluate_apps_solution(messages, truth, **options)


def raw(result: EvaluateResult) -> list[Any]:
    found: list[Any] = json.loads(result.metrics["raw_results"].reason)
    return found


def failures(result: EvaluateResult) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(result.metrics["execution_metadata"].reason)
    return found


def test_all_pass() -> None:
    result = evaluate(SOLVED, json.dumps(TRUTH))
    assert (result.score, result.reason, result.is_score_valid) == (1.0, "Passed 3/3 test cases", True)
    assert (result.metrics["pass_rate"].score, result.metrics["pass_rate"].reason) == (1.0, "3/3")
    assert raw(result) == [True, True, True]
    assert failures(result) == []


@pytest.mark.parametrize("written", [ENTRY["input_output"], json.dumps(ENTRY["input_output"])])
def test_the_entry_of_the_document(written: Any) -> None:
    (row,) = apps_dataset_to_evaluation_row([{**ENTRY, "input_output": written}])
    assert (row.messages[0].role, row.messages[0].content) == ("user", ENTRY["question"])
    assert row.ground_truth == written
    said = Message(role="assistant", content=f"```python\n{SOLVED}```")
    result = evaluate_apps_solution(messages=[*row.messages, said], ground_truth=row.ground_truth)
    assert (result.score, result.reason) == (1.0, "Passed 1/1 test cases")
    assert (result.metrics["pass_rate"].score, result.metrics["pass_rate"].reason) == (1.0, "1/1")
    assert result.metrics.keys() == {"pass_rate", "raw_results", "execution_metadata"}
    unsolved = evaluate_apps_solution(messages=row.messages, ground_truth=row.ground_truth)
    assert (unsolved.score, "No valid Python code" in unsolved.reason) == (0, True)


def test_some_pass() -> None:
    result = evaluate(PARTIAL)
    assert (result.score, result.reason) == (pytest.approx(2 / 3), "Passed 2/3 test cases")
    assert raw(result) == [True, True, False]
    (failed,) = failures(result)
    assert (failed["test"], failed["inputs"], failed["expected"]) == (2, "1\n10 1 9\n", "-1\n")
    assert failed["error_message"] == "Wrong Answer"


def test_the_first_failure_is_shown_where_nothing_passes() -> None:
    result = evaluate(WRONG, engine=Setup(slots=1))
    assert result.score == 0
    assert result.reason == (
        "Passed 0/3 test cases. First fail details: Inputs: 1\n2 2 3\n, Expected: 1\n, Got: 3\n"
    )
    assert raw(result) == [False] * 3


def test_runtime_errors_and_time() -> None:
    code = "n = int(input())\nif n == 1:\n    raise KeyError('x')\nwhile n == 2:\n    pass\nprint(n)\n"
    truth = {"inputs": ["1", "2", "3"], "outputs": ["1", "2", "3"]}
    result = evaluate(code, truth, execution_timeout=0.5)
    assert raw(result) == [-1, -1, True]
    assert result.reason == "Passed 1/3 test cases"
    error, slow = failures(result)
    assert (error["error_message"], error["error_code"], "KeyError" in error["error"]) == (
        "Runtime Error",
        -1,
        True,
    )
    assert (slow["error_message"], slow["error_code"]) == ("Time Limit Exceeded", -1)


def test_where_nothing_ends_well_the_first_error_is_told() -> None:
    result = evaluate("raise KeyError(input())")
    assert raw(result) == [-1] * 3
    assert result.reason.startswith("Passed 0/3 test cases. Execution Error: Runtime error")
    assert "KeyError" in result.reason


def test_what_does_not_compile() -> None:
    result = evaluate("for _ in range(3)\n    print(1)\n")
    assert (result.score, result.is_score_valid, raw(result)) == (0, True, [-2] * 3)
    assert result.reason.startswith("Passed 0/3 test cases. Execution Error: SyntaxError")
    assert json.loads(result.metrics["execution_error_details"].reason)["error_code"] == -2


def test_no_code() -> None:
    result = evaluate_apps_solution([Message(role="assistant", content="I cannot do this.")], TRUTH)
    assert (result.score, result.is_score_valid) == (0, True)
    assert "No valid Python code found" in result.reason
    assert result.metrics["parsability"].score == 0


@pytest.mark.parametrize(
    "truth", [None, "", "{", "[]", 7, {"inputs": ["1"]}, {"inputs": ["1"], "outputs": []}]
)
def test_a_truth_that_is_none_is_not_held_against_the_solution(truth: Any) -> None:
    result = evaluate(SOLVED, truth)
    assert (result.is_score_valid, result.metrics["error"].is_score_valid) == (False, False)
    assert "ground_truth" in result.error


def test_no_messages() -> None:
    assert evaluate_apps_solution([], TRUTH).is_score_valid is False


def no_machine(_store: Store) -> FakeEngine:
    return FakeEngine(faults=itertools.repeat(Broken("no machine")))


def test_a_judge_failure_is_no_score() -> None:
    result = evaluate(SOLVED, engine=Setup(engine=no_machine))
    assert result.is_score_valid is False
    assert "could not say" in result.error
    assert "pass_rate" not in result.metrics


def test_functions_are_called_or_read_standard_input() -> None:
    truth = {"fn_name": "double", "inputs": [[2], [21]], "outputs": [4, 42]}
    assert evaluate("def double(n):\n    return 2 * n", truth).score == 1
    read = {"fn_name": "double", "inputs": ["2", "21"], "outputs": ["4", "42"]}
    assert evaluate("print(2 * int(input()))", read, call_functions=False).score == 1


def test_recursion_and_imports_are_there_and_other_keywords_pass() -> None:
    code = (
        "def deep(n):\n    return 0 if n == 0 else 1 + deep(n - 1)\nprint(deep(int(input())), math.gcd(4, 6))"
    )
    assert evaluate(code, {"inputs": ["100000"], "outputs": ["100000 2"]}, temperature=0.7).score == 1


def test_many_at_once_and_messages_of_any_kind() -> None:
    part = {"type": "text", "text": f"```python\n{SOLVED}\n```"}
    forms: list[Any] = [{"role": "assistant", "content": [part]}, Message(role="assistant", content=[part])]

    async def all_of_them() -> list[EvaluateResult]:
        return await asyncio.gather(*(evaluate_apps_solution_async([form], TRUTH) for form in forms))

    assert [result.score for result in asyncio.run(all_of_them())] == [1, 1]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("```python\nprint(1)\n```", "print(1)\n"),
        ("<think>```python\nprint(0)\n```</think>\n```\nprint(1)\n```", "print(1)\n"),
        ("print(1)", "print(1)"),
        ("The idea is simple:\nimport sys\nprint(sys.maxsize)", "import sys\nprint(sys.maxsize)"),
        ("Just call `print(1)` and be done.", "print(1)"),
        ("I don't know.", None),
        ("", None),
    ],
)
def test_forms_of_answers(said: str, code: str | None) -> None:
    found = code_of(said)
    assert (found and found.strip()) == (code and code.strip())


def test_imports_come_after_those_from_the_future() -> None:
    code = '"""Solution."""\nfrom __future__ import annotations\nprint(math.pi)\n'
    whole = with_surroundings(code)
    assert whole.index("__future__") < whole.index(SURROUNDINGS) < whole.index("print")
    compile(whole, "solution", "exec")
