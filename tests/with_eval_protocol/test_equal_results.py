"""The evaluators of APPS of eval-protocol and ioi_eval agree.

Score, validity, reason, and the names and values of metrics are equal. docs/apps.md lists the intended
differences with reasons; the last tests show them.
"""

from __future__ import annotations

import asyncio
import copy
import json
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from support.cached_lookups import cached_toolchains

pytest.importorskip("eval_protocol.models", reason="eval-protocol is not installed")

from apps_cases import SUM, SUMS, Example, examples
from eval_protocol.rewards import apps_coding_reward
from eval_protocol.rewards.apps_coding_reward import evaluate_apps_solution as theirs

from ioi_eval.integrations import eval_protocol as ours
from ioi_eval.integrations.eval_protocol import evaluate_apps_solution, evaluate_apps_solution_async
from ioi_eval.integrations.runtime import Setup, close_all

CASES = list(examples())
PATIENCE = 60  # seconds; large where time does not matter, so that a busy machine does not decide
SETUP = Setup(python=f"{sys.version_info.major}.{sys.version_info.minor}")  # errors differ between versions
# Python's messages for these differ between releases of a version, and between builds of a release.
WORDS_OF_A_BUILD = {"program: import of no name", "program: zero byte"}


def answer(reply: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": "Add."}, {"role": "assistant", "content": reply}]


def comparable_result(result: Any) -> dict[str, Any]:
    """Return a result without paths of the evaluator's files and without bell characters."""
    plain: dict[str, Any] = result.model_dump()
    plain["reason"] = printable(plain["reason"])
    for name, metric in plain["metrics"].items():
        if name == "execution_error_details":
            reason = json.loads(metric["reason"])
            traceback = _of_the_program(reason.get("traceback", ""), reason["error"])
            metric["reason"] = {**reason, "traceback": traceback}
        elif name == "execution_metadata":
            reason = json.loads(metric["reason"])
            shown = [
                {**entry, "output": printable(entry["output"])} if "output" in entry else entry
                for entry in reason
            ]
            metric["reason"] = shown
    return plain


def printable(content: str) -> str:
    """Return a string with blanks instead of control characters, as ioi_eval's evaluator shows it."""
    return "".join(
        " " if unicodedata.category(character) in ("Cc", "Zl", "Zp") and character != "\n" else character
        for character in content
    )


def _of_the_program(traceback: str, error: str) -> list[str]:
    """Return the traceback lines of the program and of its errors, without lines of the evaluator."""
    if error == "Exception in _temp_run/run_test":
        return []
    kept_lines, skipping = [], False
    for line in traceback.splitlines():
        if line.startswith("  File "):
            skipping = '"<string>"' not in line
        elif not line.startswith("    "):
            skipping = False
        if not skipping:
            kept_lines.append(line)
    return kept_lines


@pytest.fixture(scope="module")
def eval_protocol_results() -> list[dict[str, Any]]:
    """Run eval-protocol's evaluator before ioi_eval's has threads, because it forks this process.

    So this file runs first.
    """
    close_all()
    return [
        comparable_result(theirs(answer(case.reply), copy.deepcopy(case.truth), execution_timeout=PATIENCE))
        for case in CASES
    ]


@pytest.fixture(scope="module")
def own_results(eval_protocol_results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    async def all_of_them() -> list[Any]:
        few = asyncio.Semaphore(16)

        async def one(case: Example) -> Any:
            async with few:
                return await evaluate_apps_solution_async(
                    answer(case.reply), case.truth, execution_timeout=PATIENCE, engine=SETUP
                )

        return await asyncio.gather(*map(one, CASES))

    return [comparable_result(result) for result in asyncio.run(all_of_them())]


def test_apps_cases_cover_all_kinds_of_results(eval_protocol_results: list[dict[str, Any]]) -> None:
    assert len(CASES) >= 300
    raw = [
        result["metrics"]["raw_results"]["reason"]
        for result in eval_protocol_results
        if "raw_results" in result["metrics"]
    ]
    assert {outcome for raw_text in raw for outcome in json.loads(raw_text)} == {True, False, -1, -2}
    names = {name for result in eval_protocol_results for name in result["metrics"]}
    assert names == {
        *("pass_rate", "raw_results", "execution_metadata", "execution_error_details"),
        *("execution_error", "parsability", "error"),
    }


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_apps_evaluation_equals_that_of_eval_protocol(
    number: int, eval_protocol_results: list[dict[str, Any]], own_results: list[dict[str, Any]]
) -> None:
    actual, expected = own_results[number], eval_protocol_results[number]
    if CASES[number].name in WORDS_OF_A_BUILD and not boxes_see_this_python():
        actual, expected = without_words(actual), without_words(expected)
    assert actual == expected


def boxes_see_this_python() -> bool:
    own_python = cached_toolchains(python=SETUP.python)["python3"]
    return Path(own_python.path).samefile(sys.executable)


def without_words(result: dict[str, Any]) -> dict[str, Any]:
    metrics = {**result["metrics"], "execution_error_details": None}
    return {**result, "metrics": metrics, "reason": result["reason"].partition(" Execution Error: ")[0]}


# --- further names -----------------------------------------------------------------------------------


def test_module_exports_all_names_of_eval_protocol() -> None:
    """Names from the standard library are excluded."""
    names = {
        name
        for name, value in vars(apps_coding_reward).items()
        if callable(value) and value.__module__.startswith("eval_protocol.")
    }
    assert names >= {"_extract_python_code", "check_correctness", "evaluate_apps_solution", "reward_function"}
    assert {name for name in names if not hasattr(ours, name)} == set()


REPLIES = sorted({case.reply for case in CASES})


def test_extracted_code_equals_that_of_eval_protocol() -> None:
    more = [
        "",
        " ",
        "<think>a</think>",
        "<think>a</think> \n",
        "```python\n```",
        "a <THINK>b</think> def f(): 0",
    ]
    for reply in [*REPLIES, *more]:
        assert ours._extract_python_code(reply) == apps_coding_reward._extract_python_code(reply), reply


@pytest.mark.parametrize(
    ("tests", "code"),
    [
        (SUMS, SUM),
        (SUMS, "print(3)"),
        (SUMS, "1 / 0"),
        (SUMS, "this is no program"),
        ({"inputs": [], "outputs": []}, SUM),
        ({"inputs": ["1 2"], "outputs": []}, SUM),
        ({"inputs": None, "outputs": []}, SUM),
        ({"outputs": []}, SUM),
        (None, SUM),
    ],
)
def test_check_correctness_equals_that_of_eval_protocol(tests: dict[str, Any] | None, code: str) -> None:
    close_all()
    outputs = []
    for module in (apps_coding_reward, ours):
        results, details = module.check_correctness(copy.deepcopy(tests), code, timeout=PATIENCE)
        for detail in details:
            detail["traceback"] = _of_the_program(detail.get("traceback", ""), detail.get("error", ""))
        outputs.append((results, details))
    assert outputs[0] == outputs[1]


# --- differences -------------------------------------------------------------------------------------


def both(code: str, truth: Any, **options: Any) -> tuple[Any, Any]:
    own_options = {"memory_limit", "engine"}
    shared_options = {name: value for name, value in options.items() if name not in own_options}
    close_all()
    return theirs(answer(code), truth, **shared_options), evaluate_apps_solution(
        answer(code), truth, engine=SETUP, **options
    )


def test_apps_tests_do_not_share_interpreter_state() -> None:
    code = "math.seen = getattr(math, 'seen', 0) + 1\nprint(math.seen)"
    leaking, apart = both(code, {"inputs": ["a", "b"], "outputs": ["1", "1"]}, execution_timeout=PATIENCE)
    assert (leaking.score, apart.score) == (0.5, 1.0)


def test_apps_program_cannot_read_files_of_the_machine() -> None:
    code = f"print(open({__file__!r}).readline().strip())"
    first = Path(__file__).read_text().splitlines()[0]
    open_to_all, closed = both(code, {"inputs": [""], "outputs": [first]}, execution_timeout=PATIENCE)
    assert (open_to_all.score, closed.score) == (1.0, 0.0)
    assert "FileNotFoundError" in closed.reason


def test_apps_program_has_a_memory_limit() -> None:
    code = "x = b'x' * (200 << 20)\nprint(len(x) >> 20)"
    free, bound = both(
        code, {"inputs": [""], "outputs": ["200"]}, memory_limit=64 << 20, execution_timeout=PATIENCE
    )
    assert (free.score, bound.score) == (1.0, 0.0)
    error_details = json.loads(bound.metrics["execution_error_details"].reason)
    assert error_details["details"].startswith("Memory limit exceeded")


def test_execution_timeout_may_be_fractional() -> None:
    failing, right = both(SUM, SUMS, execution_timeout=PATIENCE + 0.5)
    assert (failing.score, right.score) == (0.0, 1.0)


def test_timeout_of_one_test_marks_all_tests_as_killed() -> None:
    """Programs that never exit show that both evaluators agree."""
    endless = "a, b = map(int, input().split())\nwhile a == 3: pass\nprint(a + b)"
    ended, same = both(endless, SUMS, execution_timeout=1)
    assert comparable_result(ended) == comparable_result(same)
    assert json.loads(same.metrics["raw_results"].reason) == [-1, -1, -1]
