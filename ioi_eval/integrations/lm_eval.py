"""A replacement for the metric `code_eval` of lm-evaluation-harness, which judges programs in sandboxes.

    python -m ioi_eval.integrations.lm_eval --tasks humaneval,mbpp --confirm_run_unsafe_code --model hf ...

The arguments are those of `lm_eval`. In your own tasks, use this module's `code_eval` instead of
`evaluate.load("code_eval")`. If a program loads the metric by its name, call `install()` first.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from typing import Any

from ioi_eval.errors import IoiEvalError
from ioi_eval.integrations import require_extra
from ioi_eval.integrations.runtime import Runtime, Setup, runtime
from ioi_eval.integrations.unjudged import count_unjudged, gather_results
from ioi_eval.models import (
    Blob,
    Checker,
    CheckerKind,
    Limits,
    Problem,
    Submission,
    SubmissionResult,
    Test,
    Verdict,
)
from ioi_eval.scoring import pass_at_k
from ioi_eval.store.resources import graders_folder

_MEMORY_LIMIT_BYTES = 4 << 30
# A dict with the keys task_id, completion_id, passed and result; passed is None if the candidate was not
# judged.
Result = dict[str, Any]


class CodeEval:
    """The metric. `compute` has the arguments and results of the original metric."""

    def __init__(self, setup: Setup | None = None) -> None:
        self._setup = setup or Setup()

    def compute(
        self,
        *,
        predictions: Sequence[Sequence[str]],
        references: Sequence[str],
        k: Sequence[int] = (1, 10, 100),
        num_workers: int = 0,
        timeout: float = 3.0,
    ) -> tuple[dict[str, float], dict[int, list[tuple[int, Result]]]]:
        """Return pass@k as a mean over tasks, and the results of all candidates.

        A candidate that cannot be judged does not count as failed. If a task then has fewer than k
        candidates, pass@k is NaN.

        Args:
            predictions: The candidates for each task.
            references: The test program for each task.
            k: The values of k.
            num_workers: Not used; the engine's slots decide.
            timeout: The time limit of a candidate in seconds.
        """
        judge_runtime = runtime(self._setup)
        programs = [
            (task_number, candidate_number, candidate, test_code)
            for task_number, (candidates, test_code) in enumerate(zip(predictions, references, strict=True))
            for candidate_number, candidate in enumerate(candidates)
        ]
        # Random input of the program, which prints it if all tests pass.
        random_token = Blob.of(secrets.token_hex(16))
        problem = Problem(
            id="code_eval",
            limits=Limits.contest(timeout, _MEMORY_LIMIT_BYTES),
            checker=Checker(kind=CheckerKind.EXACT),
            tests=(Test(name="1", input=random_token, answer=random_token),),
        )
        candidate_results = judge_runtime.call(
            gather_results(_judge_candidate(judge_runtime, problem, *program) for program in programs)
        )
        results: dict[int, list[tuple[int, Result]]] = {}
        for candidate_result in candidate_results:
            results.setdefault(candidate_result["task_id"], []).append(
                (candidate_result["completion_id"], candidate_result)
            )
        return _estimate_pass_at_ks(
            [
                [candidate_result for _, candidate_result in numbered_results]
                for numbered_results in results.values()
            ],
            k,
        ), results


def _estimate_pass_at_ks(tasks: Sequence[Sequence[Result]], ks: Sequence[int]) -> dict[str, float]:
    """Return pass@k for each k that is not larger than any task's number of candidates."""
    possible_ks = [k for k in ks if all(len(results) >= k for results in tasks)] if tasks else []
    return {
        f"pass@{k}": math.fsum(_estimate_pass_at_k(results, k) for results in tasks) / len(tasks)
        for k in possible_ks
    }


def _estimate_pass_at_k(results: Sequence[Result], k: int) -> float:
    """Return pass@k of one task, or NaN if too few candidates were judged."""
    judged_rows = [row for row in results if row["passed"] is not None]
    estimate = pass_at_k(len(judged_rows), sum(row["passed"] for row in judged_rows), k)
    return math.nan if estimate is None else estimate


async def _judge_candidate(
    judge_runtime: Runtime,
    problem: Problem,
    task_number: int,
    candidate_number: int,
    candidate: str,
    test_code: str,
) -> Result:
    """Return the result of one candidate with the test program of its task."""
    source = f"{candidate}\n{test_code}"
    harness = (graders_folder() / "python" / "code_eval.py").read_text()
    code = f"{harness}\n\nmain({source!a})\n"
    submission = Submission(
        key=f"{task_number}/{candidate_number}", problem_id=problem.id, code=code, language="python"
    )
    try:
        has_passed, description = _make_acceptance_and_description(
            await judge_runtime.score(problem, submission)
        )
    except IoiEvalError as error:
        count_unjudged(error)
        has_passed, description = None, f"not judged: {error}"
    return {
        "task_id": task_number,
        "completion_id": candidate_number,
        "passed": has_passed,
        "result": description,
    }


def _make_acceptance_and_description(result: SubmissionResult) -> tuple[bool, str]:
    """Return whether the candidate passed, and the original metric's description."""
    test = result.tests[0]
    if test.status is Verdict.AC:
        return True, "passed"
    if test.status is Verdict.TLE:
        return False, "timed out"
    error_text = test.feedback.partition("exit code 1): ")[2] if test.status is Verdict.RE else ""
    return False, f"failed: {error_text or test.feedback}"


code_eval = CodeEval()


def install() -> None:
    """Make `evaluate.load("code_eval")` return this metric in this process."""
    with require_extra("lm-eval"):
        import evaluate

    original_load = evaluate.load

    def load_metric(path: str, *arguments: Any, **options: Any) -> Any:
        return code_eval if path == "code_eval" else original_load(path, *arguments, **options)

    evaluate.load = load_metric


def main() -> None:
    """Run lm-evaluation-harness with this metric."""
    install()
    with require_extra("lm-eval"):
        from lm_eval.__main__ import cli_evaluate

    cli_evaluate()


if __name__ == "__main__":
    main()
