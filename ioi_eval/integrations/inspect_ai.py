"""Benchmarks as tasks of inspect_ai, and the scorer that judges them.

    inspect eval ioi_eval/ioi --model openai/gpt-5 -T years=2024 --epochs 50

A task for each benchmark, and `ioi_eval/problems -T source=FOLDER` for packages. `judged(FOLDER)` is a scorer
for any task: the problem is what a sample's `metadata["problem_id"]` names, else the sample's id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any

from ioi_eval.benchmarks.row_files import reasoning_of
from ioi_eval.errors import InputError
from ioi_eval.integrations import needs
from ioi_eval.integrations.tasks import (
    NO_ANSWER,
    asked_for,
    explanation_of,
    metadata_of,
    of_problem,
    share,
    summary_of,
)
from ioi_eval.models import Reason
from ioi_eval.registries import removed_plugin
from ioi_eval.scoring import SUBMISSIONS, Budget
from ioi_eval.sources import Benchmark, benchmarks

with needs("inspect-ai"):
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
    """Points as at the contest: so many epochs of each problem are handed in, the best of subtasks counts."""

    def measure(scores: list[SampleScore]) -> dict[str, float]:
        if not scores:
            return {}
        found = summary_of((score.score.metadata for score in scores), submissions=submissions)
        solved = {"problems_solved": float(found.problems_solved)}
        if not found.budgets:
            return solved
        return {"points": found.budgets[Budget.LIMITED], "max_points": found.max_points, **solved}

    return measure


@metric(scores="unreduced")
def pass_at(ks: tuple[int, ...] | list[int] = (1, 5, 10)) -> Metric:
    """pass@k over all epochs, without bias, for each k of which every sample has as many scored epochs."""

    def measure(scores: list[SampleScore]) -> dict[str, float]:
        found = summary_of((score.score.metadata for score in scores), ks=tuple(ks))
        return {
            f"pass@{estimate.k}": estimate.value for estimate in found.pass_at if estimate.value is not None
        }

    return measure


# --- the scorer --------------------------------------------------------------------------------------


@scorer(metrics=[mean(), stderr(), points(), pass_at()])
def judged(source: str, **options: Any) -> Scorer:
    """Judge the program in a reply; the value is the share of the points, in [0, 1].

    `source` names a benchmark or packages, `options` are those of a task. What cannot be judged is unscored,
    and in no metric.
    """
    asked = asked_for(source, options)

    async def score(state: TaskState, target: Target) -> Score:
        metadata = state.metadata or {}
        name, year = str(metadata.get("problem_id", state.sample_id)), metadata.get("year")
        try:
            problem = asked.problems.find(name, year)
        except InputError as error:
            if asked.judging.unscored == "error":
                raise
            about = {"problem_id": name, "year": year, "epoch": state.epoch, "failure": type(error).__name__}
            return Score.unscored(reason="scoring_failed", explanation=f"Not judged: {error}", metadata=about)
        submission = asked.submission(f"{state.sample_id}#{state.epoch}", problem, state.output.completion)
        code, usage = submission.code, state.output.usage
        own = await asyncio.to_thread(asked.runtime)
        # In tokens if counted, else characters: longer ones are handed in first.
        length = len(reasoning_of(state.output) or state.output.completion)
        length = length if usage is None else int(usage.output_tokens)
        more = {"language": submission.language, "epoch": state.epoch, "length": length}
        nothing = "" if code is not None else "\n\nThe reply holds no program."
        if nothing:
            more["reason"] = Reason.NO_PROGRAM.value
        try:
            # As many at a time as there are slots: inspect_ai shows the others as waiting.
            async with concurrency("ioi_eval judge", own.slots):
                result = await own.wait(own.score(problem, submission))
        except NO_ANSWER as error:
            if asked.judging.unscored == "error":
                raise
            facts = {**of_problem(problem), **more, "failure": type(error).__name__}
            return Score.unscored(
                reason="scoring_failed", answer=code, explanation=f"Not judged: {error}", metadata=facts
            )
        return Score(
            value=share(result),
            answer=code,
            explanation=explanation_of(result) + nothing,
            metadata=metadata_of(problem, result, **more),
        )

    return score


# --- tasks -------------------------------------------------------------------------------------------


@task
def problems(source: str, prompt: str = "", **options: Any) -> Task:
    """The problems of packages (a folder or a zip), of a benchmark, or of a file of its rows."""
    return _task(source, prompt, options)


def _of_benchmark(benchmark: Benchmark) -> Any:
    """A task of the benchmark's name, as inspect_ai registers it for this package."""

    def of_benchmark(prompt: str = "", **options: Any) -> Task:
        return _task(benchmark.name, prompt, options)

    of_benchmark.__doc__ = benchmark.about
    return task(name=benchmark.name)(of_benchmark)


tasks = {benchmark.name: _of_benchmark(benchmark) for benchmark in benchmarks()}


def _task(source: str, prompt: str, options: Mapping[str, Any]) -> Task:
    """Raise the one error that the command of inspect_ai tells without a traceback."""
    samples = []
    try:
        asked = asked_for(source, options)
        for label, problem, text in asked.prompts(prompt):
            facts = {**of_problem(problem), "language": asked.language(problem).name}
            about = {"difficulty": problem.difficulty, "tags": list(problem.tags)}
            facts |= {name: value for name, value in about.items() if value}
            samples.append(Sample(id=label, input=text, metadata=facts))
        return Task(
            dataset=MemoryDataset(samples, name=asked.name or source),
            solver=generate(),
            scorer=judged(source, **options),
            version=1 if asked.benchmark is None else asked.benchmark.version,
            metadata={"left_out": asked.left_out} if asked.left_out else None,
        )
    except InputError as error:
        raise PrerequisiteError(str(error)) from error


for _entry in entry_points(group="inspect_ai"):  # tasks of plugins
    if _entry.name.startswith("ioi_eval.") and not removed_plugin(_entry):
        _entry.load()
