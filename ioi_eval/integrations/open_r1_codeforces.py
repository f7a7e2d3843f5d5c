"""Rewards for rows of `open-r1/codeforces`, as today's pipelines compute them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from ioi_eval.errors import InputError
from ioi_eval.integrations.classic_clients import ClassicClient
from ioi_eval.integrations.classic_rows import Row, batched, result_of, text_file, together
from ioi_eval.models import JobResult

ScoringMode = Literal["pass_fail", "partial", "weighted_sum"]

_MODES = ("pass_fail", "partial", "weighted_sum")
_MORE_TIME = 10  # seconds that the contract adds for the job
_PARTIAL_WEIGHT = 0.1


async def get_generated_contest_tests(contest_id: str) -> dict[str, list[dict[str, str]]]:
    """Return the generated tests of a contest of `open-r1/codeforces`, by problem: `input` and `output`.

    Read from `test_cases_NNNN.parquet` in the folder of CF_TESTS_FOLDER; none where that has no such file.
    """
    return await asyncio.to_thread(_tests_of, str(contest_id))


def _tests_of(contest: str) -> dict[str, list[dict[str, str]]]:
    from ioi_eval.benchmarks.parquet import batches

    folder = os.environ.get("CF_TESTS_FOLDER", "").strip()
    remedy = "Download the generated tests of open-r1/codeforces, and let it name their folder"
    if not folder:
        raise InputError("it is not set", where="CF_TESTS_FOLDER", remedy=remedy)
    if not Path(folder).is_dir():
        raise InputError(f"there is no folder {folder}", where="CF_TESTS_FOLDER", remedy=remedy)
    if not contest.isdecimal():
        raise InputError(f"{contest!r} is no number of a contest", field="contest_id")
    path = Path(folder, f"test_cases_{contest:0>4}.parquet")
    found: dict[str, list[dict[str, str]]] = {}
    if not path.exists():
        return found
    try:
        for batch in batches(path, ["problem_id", "input", "output"]):
            for row in batch.to_pylist():
                test = {"input": row["input"], "output": row["output"]}
                found.setdefault(row["problem_id"], []).append(test)
    except InputError:
        raise
    except KeyError as error:
        raise InputError("there is no such column", where=str(path), field=error.args[0]) from error
    except (OSError, ValueError) as error:
        raise InputError(f"it cannot be read: {error}", where=str(path), remedy=remedy) from error
    return found


async def get_generated_tests(problem_id: str) -> list[dict[str, str]]:
    """Return the generated tests of a problem such as `1234/A`; see `get_generated_contest_tests`."""
    return (await get_generated_contest_tests(problem_id.partition("/")[0])).get(problem_id, [])


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
    tests = [*(problem_data.get("official_tests") or ()), *await _generated(problem_data)]
    if not tests:
        return None
    if not submission:
        return no_submission_reward
    passed = 0
    for batch in batched(tests, test_batch_size):
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


async def _generated(problem: Row) -> Sequence[Row]:
    """Return a row's generated tests: its own; for a number of them, those of CF_TESTS_FOLDER."""
    tests = problem.get("generated_tests")
    if isinstance(tests, int) and tests > 0:
        return await get_generated_tests(problem["id"])
    if tests is None and problem.get("id") and os.environ.get("CF_TESTS_FOLDER", "").strip():
        return await get_generated_tests(problem["id"])
    return tests or ()


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
