"""A taskset of verifiers for benchmarks and packages, with a prompt and a reward for each problem.

verifiers finds a taskset by the name of a module, which you write and may extend:

    from ioi_eval.integrations.verifiers import ProblemSet

    __all__ = ["ProblemSet"]

`vf-eval MODULE --env.taskset.task.source ioi` evaluates. prime-rl and other trainers use the same name.

`ioi_eval.plugins.contest.verifiers` has a taskset for contests, in which models use tools.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from ioi_eval.integrations import require_extra
from ioi_eval.integrations.tasks import (
    JUDGE_ERRORS,
    EvaluationSource,
    compute_score_fraction,
    make_result_metadata,
    open_evaluation_source,
)
from ioi_eval.integrations.unjudged import count_unjudged

with require_extra("verifiers"):
    from pydantic import Field
    from verifiers import v1 as vf

__all__ = [
    "ProblemConfig",
    "ProblemData",
    "ProblemSet",
    "ProblemSetConfig",
    "ProblemTask",
]


class ProblemConfig(vf.TaskConfig):
    """The options `--env.taskset.task.*`: the problems, and how replies are judged."""

    source: str = "ioi"  # name of a benchmark, path of problem packages, or path of a file of rows
    options: dict[str, Any] = Field(default_factory=dict)  # options of a task as in docs/inspect_ai.md

    def open_evaluation_source(self) -> EvaluationSource:
        """Return the problems of `source`, and how replies are judged."""
        return open_evaluation_source(self.source, self.options)


class ProblemSetConfig(vf.TasksetConfig):
    """The options of the taskset."""

    prompt: str = ""  # name or path of a prompt template, as for `ioi-eval run`
    task: ProblemConfig = ProblemConfig()


class ProblemData(vf.TaskData):
    """The data of one problem."""

    problem_id: str
    year: int | None = None


class ProblemTask(vf.Task[ProblemData, vf.State, ProblemConfig]):
    """A problem. The submission is the last program in the model's last reply."""

    @vf.reward
    async def points(self, trace: vf.Trace) -> float:
        """Return the share of the points. Raise the error if the reply cannot be judged."""
        evaluation_source = await asyncio.to_thread(self.config.open_evaluation_source)
        problem = evaluation_source.problems.find(self.data.problem_id, self.data.year)
        submission = evaluation_source.make_submission(trace.id, problem, trace.last_reply)
        runtime = await asyncio.to_thread(evaluation_source.runtime)
        try:
            result = await runtime.wait(runtime.score(problem, submission))
        except JUDGE_ERRORS as error:
            count_unjudged(error)
            raise
        metadata = make_result_metadata(problem, result, language=submission.language)
        trace.info["ioi_eval"] = metadata
        trace.record_metrics({"solved": float(metadata["solved"]), "compiles": float(result.compiles)})
        return compute_score_fraction(result)


class ProblemSet(vf.Taskset[ProblemTask, ProblemSetConfig]):
    """The usable problems of a source."""

    def load(self) -> Iterator[ProblemTask]:
        """Yield a task for each problem."""
        for label, problem, prompt in self.config.task.open_evaluation_source().make_prompts(
            self.config.prompt
        ):
            data = ProblemData(id=label, problem_id=problem.id, year=problem.year, prompt=prompt)
            yield ProblemTask(data, self.config.task)
