"""Benchmarks and packages as a taskset of verifiers: a prompt for each problem, and its reward.

verifiers finds a taskset by the name of a module. It is one of yours, which may say more:

    from ioi_eval.integrations.verifiers import ProblemSet

    __all__ = ["ProblemSet"]

`vf-eval MODULE --env.taskset.task.source ioi` evaluates; prime-rl and others train with the same name.

`ioi_eval.plugins.contest.verifiers` has a taskset whose rollouts are contests, with tools.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from ioi_eval.integrations import needs
from ioi_eval.integrations.misses import note
from ioi_eval.integrations.tasks import NO_ANSWER, Asked, asked_for, metadata_of, share

with needs("verifiers"):
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
    """`--env.taskset.task.*`: which problems, and how replies are judged."""

    source: str = "ioi"  # a benchmark, packages, or a file of rows
    options: dict[str, Any] = Field(default_factory=dict)  # as for a task of inspect_ai: docs/inspect_ai.md

    def asked(self) -> Asked:
        return asked_for(self.source, self.options)


class ProblemSetConfig(vf.TasksetConfig):
    prompt: str = ""  # a template, as for `ioi-eval run`
    task: ProblemConfig = ProblemConfig()


class ProblemData(vf.TaskData):
    problem_id: str
    year: int | None = None


class ProblemTask(vf.Task[ProblemData, vf.State, ProblemConfig]):
    """A problem; the program is the last one in the model's last reply."""

    @vf.reward
    async def points(self, trace: vf.Trace) -> float:
        """The share of the points. What cannot be judged is an error of the trace, and no reward."""
        asked = await asyncio.to_thread(self.config.asked)
        problem = asked.problems.find(self.data.problem_id, self.data.year)
        submission = asked.submission(trace.id, problem, trace.last_reply)
        own = await asyncio.to_thread(asked.runtime)
        try:
            result = await own.wait(own.score(problem, submission))
        except NO_ANSWER as error:
            note(error)
            raise
        metadata = metadata_of(problem, result, language=submission.language)
        trace.info["ioi_eval"] = metadata
        trace.record_metrics({"solved": float(metadata["solved"]), "compiles": float(result.compiles)})
        return share(result)


class ProblemSet(vf.Taskset[ProblemTask, ProblemSetConfig]):
    """The problems of a source that can be judged."""

    def load(self) -> Iterator[ProblemTask]:
        for label, problem, prompt in self.config.task.asked().prompts(self.config.prompt):
            data = ProblemData(id=label, problem_id=problem.id, year=problem.year, prompt=prompt)
            yield ProblemTask(data, self.config.task)
