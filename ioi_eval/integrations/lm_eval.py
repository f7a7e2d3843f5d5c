"""lm-evaluation-harness' code tasks, judged in boxes: what `evaluate.load("code_eval")` gives, from here.

    python -m ioi_eval.integrations.lm_eval --tasks humaneval,mbpp --confirm_run_unsafe_code --model hf ...

The arguments are those of `lm_eval`. In tasks of your own `code_eval` takes the place of what `evaluate.load`
gives; where a program loads it by that name, `install()` comes first.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from typing import Any

from ioi_eval.errors import IoiEvalError
from ioi_eval.integrations import needs
from ioi_eval.integrations.misses import note, together
from ioi_eval.integrations.runtime import Runtime, Setup, runtime
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
from ioi_eval.store.resources import graders

_MEMORY = 4 << 30  # bytes
Result = dict[str, Any]  # task_id, completion_id, passed (None: not judged), result


class CodeEval:
    """Candidates and tests as one program each; `compute` takes and returns what that metric does."""

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
        """pass@k as a mean over tasks, and every candidate's result.

        NaN where candidates that could not be judged leave a task with fewer than k: never a 0. `num_workers`
        is that metric's; the slots decide here.
        """
        own = runtime(self._setup)
        programs = [
            (task, number, candidate, test)
            for task, (candidates, test) in enumerate(zip(predictions, references, strict=True))
            for number, candidate in enumerate(candidates)
        ]
        word = Blob.of(secrets.token_hex(16))  # a program that reaches its end prints this, its input
        problem = Problem(
            id="code_eval",
            limits=Limits.contest(timeout, _MEMORY),
            checker=Checker(kind=CheckerKind.EXACT),
            tests=(Test(name="1", input=word, answer=word),),
        )
        outcomes = own.call(together(_result(own, problem, *program) for program in programs))
        results: dict[int, list[tuple[int, Result]]] = {}
        for outcome in outcomes:
            results.setdefault(outcome["task_id"], []).append((outcome["completion_id"], outcome))
        return _estimates([[outcome for _, outcome in found] for found in results.values()], k), results


def _estimates(tasks: Sequence[Sequence[Result]], ks: Sequence[int]) -> dict[str, float]:
    """For each k of which every task has as many candidates."""
    asked = [k for k in ks if all(len(found) >= k for found in tasks)] if tasks else []
    return {f"pass@{k}": math.fsum(_estimate(found, k) for found in tasks) / len(tasks) for k in asked}


def _estimate(found: Sequence[Result], k: int) -> float:
    judged = [row for row in found if row["passed"] is not None]
    value = pass_at_k(len(judged), sum(row["passed"] for row in judged), k)
    return math.nan if value is None else value


async def _result(
    own: Runtime, problem: Problem, task: int, number: int, candidate: str, test: str
) -> Result:
    source = f"{candidate}\n{test}"
    harness = (graders() / "python" / "code_eval.py").read_text()
    code = f"{harness}\n\nmain({source!a})\n"
    submission = Submission(key=f"{task}/{number}", problem_id=problem.id, code=code, language="python")
    try:
        passed, detail = _outcome(await own.score(problem, submission))
    except IoiEvalError as error:
        note(error)
        passed, detail = None, f"not judged: {error}"
    return {"task_id": task, "completion_id": number, "passed": passed, "result": detail}


def _outcome(result: SubmissionResult) -> tuple[bool, str]:
    test = result.tests[0]
    if test.status is Verdict.AC:
        return True, "passed"
    if test.status is Verdict.TLE:
        return False, "timed out"
    detail = test.feedback.partition("exit code 1): ")[2] if test.status is Verdict.RE else ""
    return False, f"failed: {detail or test.feedback}"


code_eval = CodeEval()


def install() -> None:
    """Let `evaluate.load("code_eval")` give ours, in this process; other metrics are loaded as ever."""
    with needs("lm-eval"):
        import evaluate

    load = evaluate.load

    def ours_or_theirs(path: str, *arguments: Any, **options: Any) -> Any:
        return code_eval if path == "code_eval" else load(path, *arguments, **options)

    evaluate.load = ours_or_theirs


def main() -> None:
    install()
    with needs("lm-eval"):
        from lm_eval.__main__ import cli_evaluate

    cli_evaluate()


if __name__ == "__main__":
    main()
