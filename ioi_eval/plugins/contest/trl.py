"""Contests as environments of TRL's trainers.

from ioi_eval.plugins.contest.trl import make_environment

GRPOTrainer(..., environment_factory=make_environment("packages", submissions=5))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ioi_eval.plugins.contest.episodes import EpisodeSource
from ioi_eval.plugins.contest.tools import Tool, make_tool_method, run, submit, test


class ContestEnvironment:
    """A contest with a single problem as an environment of a trainer.

    Its public methods are the model's tools.
    """

    def __init__(self, episodes: EpisodeSource) -> None:
        self._episodes = episodes

    def reset(self, problem_id: str = "", seed: int | None = None, **columns: Any) -> str:
        """Start with the problem of a row's column `problem_id`, or with a problem that `seed` chooses."""
        self._episode = self._episodes.start(problem_id, seed)
        return self._episode.prompt

    def get_reward(self) -> float | None:
        """Wait for calls in progress, and return the share of the points, or None if the judge failed."""
        self._episode.block_until_calls_end()
        return None if self._episode.unjudged_reason else self._episode.points_share

    async def _call_tool(self, tool: Tool, *positional: Any, **keywords: Any) -> dict[str, Any]:
        reply: dict[str, Any] = await getattr(self._episode, tool.__name__)(*positional, **keywords)
        return reply

    run = make_tool_method(run)
    test = make_tool_method(test)
    submit = make_tool_method(submit)


def make_environment(source: str, **options: Any) -> Callable[[], ContestEnvironment]:
    """Return an `environment_factory`, which creates contests with problems of a benchmark or of packages.

    `options` are rules of a contest and options of the problems, as in inspect_ai's task `ioi_eval/contest`.
    """
    episodes = EpisodeSource(source, options)
    return lambda: ContestEnvironment(episodes)
