"""Rewards for rows of `open-r1/codeforces`, as today's pipelines compute them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ioi_eval.integrations.classic_clients import ClassicClient
from ioi_eval.integrations.classic_rows import Row, batches, result_of, text_file, together
from ioi_eval.models import JobResult

ScoringMode = Literal["pass_fail", "partial", "weighted_sum"]

_MODES = ("pass_fail", "partial", "weighted_sum")
_MORE_TIME = 10  # seconds that the contract adds for the job
_PARTIAL_WEIGHT = 0.1


async def score_submission(
    client: ClassicClient,
    problem_data: Row,
    submission: str | None,
    test_batch_size: int = 1,
    scoring_mode: ScoringMode = "weighted_sum",
    no_compile_reward: float = -0.1,
    no_submission_reward: float = -1.0,
    submission_language: str = "cpp",
) -> float | None:
    """The reward of a submission. None for a problem without tests.

    `test_batch_size`: so many tests run at the same time, -1: all. `submission_language`: cpp or python.
    """
    if scoring_mode not in _MODES:
        raise ValueError(f"Invalid scoring mode: {scoring_mode}")
    tests = [*(problem_data.get("official_tests") or ()), *(problem_data.get("generated_tests") or ())]
    if not tests:
        return None
    if not submission:
        return no_submission_reward
    passed = 0
    for batch in batches(tests, test_batch_size):
        results = await together(
            _run(client, problem_data, test, submission, submission_language) for test in batch
        )
        if any(result.compile is not None and result.compile.code != 0 for result in results):
            return no_compile_reward
        good = sum(map(_is_passed, results))
        passed += good
        if scoring_mode == "pass_fail" and good < len(batch):
            break
    return _reward(passed, len(tests), scoring_mode)


async def _run(client: ClassicClient, problem: Row, test: Row, submission: str, language: str) -> JobResult:
    data = {
        "files": list(_files(problem, test, submission, language)),
        "run_timeout": round((problem["time_limit"] + _MORE_TIME) * 1000),
    }
    package = "cf_python3" if language == "python" else "c++17"
    return result_of(await client.send_execute(data, language=package))


def _files(problem: Row, test: Row, submission: str, language: str) -> Iterator[dict[str, str]]:
    yield text_file(f"main.{language}", submission)
    if problem.get("generated_checker"):
        yield text_file("checker.py", problem["generated_checker"])
    yield text_file("input.txt", test["input"])
    yield text_file("correct_output.txt", test["output"])
    names = {"TIME_LIMIT": "time_limit", "MEMORY_LIMIT": "memory_limit", "INPUT_MODE": "input_mode"}
    yield text_file("grader_config", "\n".join(f"{key}={problem[name]}" for key, name in names.items()))


def _is_passed(result: JobResult) -> bool:
    return result.run.code == 0 and result.run.stdout.strip() == "1"


def _reward(passed: int, total: int, mode: ScoringMode) -> float:
    whole = 1.0 if passed == total else 0.0
    share = passed / total
    if mode == "weighted_sum":
        return whole + _PARTIAL_WEIGHT * share
    return whole if mode == "pass_fail" else share
