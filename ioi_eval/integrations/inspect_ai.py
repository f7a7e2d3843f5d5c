"""Tasks of inspect_ai for benchmarks and packages, and their scorer.

    inspect eval ioi_eval/ioi --model openai/gpt-5 -T years=2024 --epochs 50

There is a task for each benchmark, and `ioi_eval/problems -T source=FOLDER` for packages. `judged(FOLDER)` is
a scorer for any task: the problem is the sample's `metadata["problem_id"]`, or else the sample's id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any

from ioi_eval.benchmarks.row_files import read_reasoning
from ioi_eval.errors import InputError
from ioi_eval.integrations import require_extra
from ioi_eval.integrations.tasks import (
    JUDGE_ERRORS,
    compute_score_fraction,
    explain_result,
    make_problem_metadata,
    make_result_metadata,
    open_evaluation_source,
    summarize_scores,
)
from ioi_eval.models import Reason
from ioi_eval.registries import find_removed_plugin_name
from ioi_eval.scoring import SUBMISSIONS, Budget
from ioi_eval.sources import Benchmark, benchmarks

with require_extra("inspect-ai"):
    from inspect_ai import Task, task
    from inspect_ai._util.error import PrerequisiteError
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, mean, metric, scorer, stderr
    from inspect_ai.solver import TaskState, generate
    from inspect_ai.util import concurrency

__all__ = ["judged", "pass_at", "points", "problems"]


# --- metrics -----------------------------------------------------------------------------------------


@metric(scores="unreduced")
def points(submissions: int = SUBMISSIONS) -> Metric:
    """Return the metric of contest points: the best subtasks of `submissions` epochs for each problem."""

    def measure(scores: list[SampleScore]) -> dict[str, float]:
        if not scores:
            return {}
        summary = summarize_scores((score.score.metadata for score in scores), submissions=submissions)
        solved_metric = {"problems_solved": float(summary.problems_solved)}
        if not summary.budgets:
            return solved_metric
        return {"points": summary.budgets[Budget.LIMITED], "max_points": summary.max_points, **solved_metric}

    return measure


@metric(scores="unreduced")
def pass_at(ks: tuple[int, ...] | list[int] = (1, 5, 10)) -> Metric:
    """Return the metric pass@k, unbiased, for each k with at least k scored epochs of every sample."""

    def measure(scores: list[SampleScore]) -> dict[str, float]:
        summary = summarize_scores((score.score.metadata for score in scores), ks=tuple(ks))
        return {
            f"pass@{estimate.k}": estimate.value for estimate in summary.pass_at if estimate.value is not None
        }

    return measure


# --- the scorer --------------------------------------------------------------------------------------


@scorer(metrics=[mean(), stderr(), points(), pass_at()])
def judged(source: str, **options: Any) -> Scorer:
    """Return a scorer that judges the program in a reply. The value is the share of the points, in [0, 1].

    A reply that cannot be judged is unscored and in no metric.

    Args:
        source: The name of a benchmark, or a path of packages.
        options: The options of a task.
    """
    evaluation_source = open_evaluation_source(source, options)

    async def score(state: TaskState, target: Target) -> Score:
        metadata = state.metadata or {}
        problem_id, year = str(metadata.get("problem_id", state.sample_id)), metadata.get("year")
        try:
            problem = evaluation_source.problems.find(problem_id, year)
        except InputError as error:
            if evaluation_source.judging.unscored == "error":
                raise
            metadata = {
                "problem_id": problem_id,
                "year": year,
                "epoch": state.epoch,
                "failure": type(error).__name__,
            }
            return Score.unscored(
                reason="scoring_failed", explanation=f"Not judged: {error}", metadata=metadata
            )
        submission = evaluation_source.make_submission(
            f"{state.sample_id}#{state.epoch}", problem, state.output.completion
        )
        code, usage = submission.code, state.output.usage
        runtime = await asyncio.to_thread(evaluation_source.runtime)
        # Tokens of the reply or, if they are not counted, characters of its reasoning. Among submissions with
        # equal scores on the samples, contest points select the longest reply first.
        reply_length = len(read_reasoning(state.output) or state.output.completion)
        reply_length = reply_length if usage is None else int(usage.output_tokens)
        more_fields = {"language": submission.language, "epoch": state.epoch, "length": reply_length}
        no_program_note = "" if code is not None else "\n\nThe reply contains no program."
        if no_program_note:
            more_fields["reason"] = Reason.NO_PROGRAM.value
        try:
            # inspect_ai then shows that samples beyond the number of slots wait.
            async with concurrency("ioi_eval judge", runtime.slots):
                result = await runtime.wait(runtime.score(problem, submission))
        except JUDGE_ERRORS as error:
            if evaluation_source.judging.unscored == "error":
                raise
            failure_metadata = {
                **make_problem_metadata(problem),
                **more_fields,
                "failure": type(error).__name__,
            }
            return Score.unscored(
                reason="scoring_failed",
                answer=code,
                explanation=f"Not judged: {error}",
                metadata=failure_metadata,
            )
        return Score(
            value=compute_score_fraction(result),
            answer=code,
            explanation=explain_result(result) + no_program_note,
            metadata=make_result_metadata(problem, result, **more_fields),
        )

    return score


# --- tasks -------------------------------------------------------------------------------------------


@task
def problems(source: str, prompt: str = "", **options: Any) -> Task:
    """Return a task of the problems in packages (a folder or a zip), a benchmark, or a file of its rows."""
    return _make_task(source, prompt, options)


def _make_benchmark_task(benchmark: Benchmark) -> Any:
    """Return the task of a benchmark, which inspect_ai registers under the benchmark's name."""

    def of_benchmark(prompt: str = "", **options: Any) -> Task:
        return _make_task(benchmark.name, prompt, options)

    of_benchmark.__doc__ = benchmark.about
    return task(name=benchmark.name)(of_benchmark)


tasks = {benchmark.name: _make_benchmark_task(benchmark) for benchmark in benchmarks()}


def _make_task(source: str, prompt: str, options: Mapping[str, Any]) -> Task:
    """Return a task. Raise errors in the one type that inspect_ai's command prints without a traceback."""
    samples = []
    try:
        evaluation_source = open_evaluation_source(source, options)
        for label, problem, problem_prompt in evaluation_source.make_prompts(prompt):
            metadata = {
                **make_problem_metadata(problem),
                "language": evaluation_source.choose_language(problem).name,
            }
            optional_metadata = {"difficulty": problem.difficulty, "tags": list(problem.tags)}
            metadata |= {name: value for name, value in optional_metadata.items() if value}
            samples.append(Sample(id=label, input=problem_prompt, metadata=metadata))
        return Task(
            dataset=MemoryDataset(samples, name=evaluation_source.name or source),
            solver=generate(),
            scorer=judged(source, **options),
            version=1 if evaluation_source.benchmark is None else evaluation_source.benchmark.version,
            metadata={"left_out": evaluation_source.left_out} if evaluation_source.left_out else None,
        )
    except InputError as error:
        raise PrerequisiteError(str(error)) from error


for _entry in entry_points(group="inspect_ai"):  # loads the tasks of plugins
    if _entry.name.startswith("ioi_eval.") and not find_removed_plugin_name(_entry):
        _entry.load()
