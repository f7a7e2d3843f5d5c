"""A contest as a task of inspect_ai: an agent tries and submits programs with tools.

    inspect eval ioi_eval/contest --model openai/gpt-5 -T source=FOLDER -T submissions=10

Every sample is a separate contest with a single problem and a single participant. `contest_tools(FOLDER)`
returns the tools for other agents, and `contest_points()` the scorer.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import threading
from typing import TYPE_CHECKING, Any

from ioi_eval.errors import InputError
from ioi_eval.integrations import require_extra

if TYPE_CHECKING:  # at run time, the judge is imported when the first task starts
    from ioi_eval.plugins.contest.episodes import Episode, EpisodeSource

with require_extra("inspect-ai"):
    from inspect_ai import Task, task
    from inspect_ai._util.error import PrerequisiteError
    from inspect_ai.agent import AgentState, as_solver, react
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import TaskState
    from inspect_ai.solver._task_state import sample_state
    from inspect_ai.tool import Tool, ToolDef, ToolError
    from inspect_ai.util import store

__all__ = ["contest", "contest_points", "contest_tools"]

_SUMMARY_KEY = "ioi_eval:contest"  # key of the episode's summary in a sample's store
_MAX_MESSAGES = 200  # maximum number of messages in a sample, unless --message-limit is set


@task
def contest(source: str, **options: Any) -> Task:
    """Return a task: problems of packages (a folder or a zip) or a benchmark, with tools to submit."""
    from ioi_eval.plugins.contest.episodes import EpisodeSource

    try:
        episodes = EpisodeSource(source, options)
        samples = [
            Sample(id=label, input=episodes.start(label).prompt, metadata={"problem_id": label})
            for label in episodes.problems
        ]
    except InputError as error:
        raise PrerequisiteError(str(error)) from error
    return Task(
        dataset=MemoryDataset(samples, name=episodes.source.name or source),
        solver=as_solver(
            react(tools=contest_tools(source, **options), submit=False, on_continue=_should_continue)
        ),
        scorer=contest_points(),
        message_limit=_MAX_MESSAGES,
    )


def contest_tools(source: str, **options: Any) -> list[Tool]:
    """Return the tools `run`, `test` and `submit`, for any agent; a sample's metadata has `problem_id`."""
    from ioi_eval.plugins.contest.episodes import EpisodeSource
    from ioi_eval.plugins.contest.tools import select_tools

    episodes = EpisodeSource(source, options)
    return [_make_tool(episodes, tool.__name__) for tool in select_tools(episodes.problems.values())]


@scorer(metrics=[mean(), stderr()])
def contest_points() -> Scorer:
    """Return a scorer: the share of the points that all submissions of a sample reach, in [0, 1]."""

    async def score(state: TaskState, target: Target) -> Score:
        if (episode := _episodes.pop(state.uuid, None)) is not None:
            await episode.wait_for_calls()
            state.store.set(_SUMMARY_KEY, episode.make_summary())
        episode_summary = state.store.get(_SUMMARY_KEY) or {"share": 0.0, "submissions": 0}
        if unjudged_reason := episode_summary.get("unjudged"):
            return Score.unscored(
                reason="scoring_failed",
                explanation=f"Not judged: {unjudged_reason}",
                metadata=episode_summary,
            )
        explanation = (
            f"{episode_summary.get('points', 0):g} points by {episode_summary['submissions']} submissions"
        )
        return Score(value=episode_summary["share"], explanation=explanation, metadata=episode_summary)

    return score


async def _should_continue(state: AgentState) -> bool:
    """Return False at full marks, if no submissions are left, or if the model calls no tool."""
    is_done = bool((store().get(_SUMMARY_KEY) or {}).get("done"))
    return not is_done and bool(state.output.message.tool_calls)


def _make_tool(episodes: EpisodeSource, name: str) -> Tool:
    from ioi_eval.plugins.contest import RefusedCall, UnjudgedCall
    from ioi_eval.plugins.contest.episodes import Episode

    tool_method = getattr(Episode, name)

    @functools.wraps(tool_method)
    async def execute(**arguments: Any) -> str:
        episode = await asyncio.to_thread(_find_episode, episodes, sample_state())
        try:
            return json.dumps(await tool_method(episode, **arguments))
        except (RefusedCall, UnjudgedCall) as error:
            raise ToolError(str(error)) from None
        finally:
            store().set(_SUMMARY_KEY, episode.make_summary())

    call_signature = inspect.signature(tool_method)
    del execute.__dict__["__wrapped__"]
    execute.__dict__["__signature__"] = call_signature.replace(
        parameters=list(call_signature.parameters.values())[1:]
    )
    return ToolDef(execute, name=name).as_tool()


_episodes: dict[str, Episode] = {}  # episodes by the id of the sample, until the sample is scored
_episodes_lock = threading.Lock()


def _find_episode(episodes: EpisodeSource, state: TaskState) -> Episode:
    with _episodes_lock:
        if state.uuid not in _episodes:
            _episodes[state.uuid] = episodes.start(str(state.metadata["problem_id"]))
        return _episodes[state.uuid]
