"""Contests as a taskset of verifiers: a problem with tools for each rollout.

verifiers finds a taskset by the name of a module, which you write and may extend:

    from ioi_eval.plugins.contest.verifiers import ContestSet

    __all__ = ["ContestSet"]

Every rollout is a separate contest with a single problem and a single participant. Its tools `run`, `test`
and `submit` may be called many times.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

from ioi_eval.errors import JudgeFailure
from ioi_eval.integrations import require_extra
from ioi_eval.plugins.contest import RefusedCall, UnjudgedCall
from ioi_eval.plugins.contest.episodes import Episode, EpisodeSource
from ioi_eval.plugins.contest.tools import Tool, make_tool_method, run, submit, test

with require_extra("verifiers"):
    from mcp.server.mcpserver.exceptions import ToolError
    from pydantic import Field
    from verifiers import v1 as vf

    from ioi_eval.integrations.verifiers import ProblemData

__all__ = [
    "ContestConfig",
    "ContestSet",
    "ContestSetConfig",
    "ContestState",
    "ContestTask",
    "ContestTools",
    "ContestToolsConfig",
]
_MAX_IDLE_S = 6 * 3600  # seconds after which a rollout without a call is dropped


class ContestConfig(vf.TaskConfig):
    """`--env.taskset.task.*`: the problems, options of judging, and the rules of the contest."""

    source: str = "ioi"  # name of a benchmark, path of problem packages, or path of a file of rows
    options: dict[str, Any] = Field(default_factory=dict)  # options of ProblemConfig, and fields of Rules

    def open_episodes(self) -> EpisodeSource:
        return EpisodeSource(self.source, self.options)


class ContestSetConfig(vf.TasksetConfig):
    task: ContestConfig = ContestConfig()


class ContestState(vf.State):
    """A rollout's state, which its tools write."""

    rollout: str = ""
    problem: str = ""
    share: float = 0.0  # share of the maximum points that all submissions together have earned
    points: float = 0.0
    submissions: int = 0
    done: bool = False  # True if the problem has full points, or further submissions are refused
    unjudged: str = ""  # reason why the last submission was not judged; empty if it was judged


class ContestTask(vf.Task[ProblemData, ContestState, ContestConfig]):
    """A problem with tools. The reward is the share of the points that all submissions reach together."""

    async def setup(self, trace: vf.Trace, runtime: Any) -> None:
        trace.state = ContestState(rollout=trace.id, problem=self.data.problem_id)

    @vf.stop
    async def finished(self, trace: vf.Trace) -> bool:
        return bool(trace.state.done)

    @vf.reward
    async def points(self, trace: vf.Trace) -> float:
        """Return the share of the points. If the judge failed, raise instead of returning a reward."""
        state: ContestState = trace.state
        trace.info["ioi_eval"] = state.model_dump(
            include={"problem", "points", "submissions", "done", "unjudged"}
        )
        if state.unjudged:
            raise JudgeFailure(state.unjudged, phase="judging")
        trace.record_metrics({"solved": float(state.share == 1), "submissions": float(state.submissions)})
        return state.share


class ContestToolsConfig(vf.SharedToolsetConfig):
    task: ContestConfig = ContestConfig()


class ContestTools(vf.Toolset[ContestToolsConfig, ContestState]):
    """The tools of all rollouts. They share a judge, and each rollout has a separate episode."""

    TOOL_PREFIX = None

    async def setup(self) -> None:
        self._episodes = await asyncio.to_thread(self.config.task.open_episodes)
        self._active_episodes: dict[str, tuple[Episode, float]] = {}

    async def _call_tool(self, tool: Tool, *positional: Any, **keywords: Any) -> dict[str, Any]:
        state, now_s = self.state, time.monotonic()
        for idle_rollout in [
            name
            for name, (_, last_call_s) in self._active_episodes.items()
            if now_s - last_call_s > _MAX_IDLE_S
        ]:
            del self._active_episodes[idle_rollout]
        if state.done:
            raise ToolError("the contest is over: no further submissions are accepted")
        if state.rollout not in self._active_episodes:
            if state.submissions:
                raise ToolError("this rollout was dropped because it was idle for too long")
            new_episode = await asyncio.to_thread(self._episodes.start, state.problem)
            self._active_episodes.setdefault(state.rollout, (new_episode, now_s))
        episode = self._active_episodes[state.rollout][0]
        self._active_episodes[state.rollout] = episode, now_s
        try:
            reply: dict[str, Any] = await getattr(episode, tool.__name__)(*positional, **keywords)
        except RefusedCall as error:
            raise ToolError(str(error)) from None
        except UnjudgedCall as error:
            # Return the error as a reply, because verifiers drops the state of a call that raises.
            reply = {"error": str(error)}
        finally:
            state.share, state.points, state.done = episode.points_share, episode.points, episode.is_done
            state.submissions, state.unjudged = episode.submission_count, episode.unjudged_reason
            if episode.is_done:
                self._active_episodes.pop(state.rollout, None)
        return reply

    run_program = vf.tool(name="run")(make_tool_method(run))
    test_samples = vf.tool(name="test")(make_tool_method(test))
    submit_program = vf.tool(name="submit")(make_tool_method(submit))


class ContestSet(vf.Taskset[ContestTask, ContestSetConfig]):
    """The problems of a source that can be judged, each with the tools of a contest."""

    def load(self) -> Iterator[ContestTask]:
        episodes = self.config.task.open_episodes()
        for label, problem in episodes.problems.items():
            prompt = episodes.start(label).prompt
            data = ProblemData(id=label, problem_id=label, year=problem.year, prompt=prompt)
            yield ContestTask(data, self.config.task)

    @classmethod
    def toolsets(cls, config: ContestSetConfig) -> list[vf.Toolset]:
        return [ContestTools(ContestToolsConfig(task=config.task))]


if __name__ == "__main__":  # verifiers starts the server of the tools by running this module
    ContestTools.run()
