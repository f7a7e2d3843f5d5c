"""A contest as an environment of OpenEnv: reset it with a problem or a seed, then call its tools.

    IOI_EVAL_SOURCE=packages uvicorn --factory ioi_eval.plugins.contest.openenv:app

Each session is a separate contest with a single problem and a single participant. The reward of a step is the
share of the points that it gained, so that the rewards of an episode add up to its share of the points. The
reward is None if the judge failed.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
from collections.abc import Callable
from types import MethodType
from typing import Any

from ioi_eval.errors import InputError
from ioi_eval.integrations import require_extra
from ioi_eval.plugins.contest import RefusedCall, UnjudgedCall
from ioi_eval.plugins.contest.episodes import Episode, EpisodeSource
from ioi_eval.plugins.contest.tools import select_tools

with require_extra("openenv"):
    from fastmcp import FastMCP
    from fastmcp.exceptions import ToolError
    from openenv.core.env_server.http_server import create_app
    from openenv.core.env_server.mcp_environment import MCPEnvironment
    from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
    from openenv.core.env_server.types import Action, EnvironmentMetadata, Observation, State

# Names of environment variables: the source of the problems, and the options as JSON.
SOURCE, OPTIONS = "IOI_EVAL_SOURCE", "IOI_EVAL_OPTIONS"
_NAME = "ioi-eval-contest"
_CALL_TIMEOUT_S = 600.0  # maximum seconds for a step without a timeout
_SESSIONS = 1024


class StartObservation(Observation):
    """The observation of a reset."""

    problem: str
    prompt: str  # the problem's statement and the rules, as the tool `statement` shows them


class OpenEnvContest(MCPEnvironment):
    """A contest with a single problem at a time, with the tools `statement`, `run`, `test` and `submit`."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, episodes: EpisodeSource) -> None:
        self._episodes, self._state = episodes, State()
        self._episode: Episode | None = None
        self._earlier_rewards = 0.0  # sum of the rewards of all earlier steps
        server = FastMCP(_NAME)
        server.tool(self.statement)
        for tool in select_tools(episodes.problems.values()):
            server.tool(self._make_tool(getattr(Episode, tool.__name__)))
        super().__init__(server)

    @property
    def supports_code_mode(self) -> bool:
        return False  # in code mode, the server would run code of agents

    @property
    def episode(self) -> Episode:
        """Return the episode. Without a reset, start one with any problem."""
        if self._episode is None:
            self._episode = self._episodes.start()
        return self._episode

    @property
    def state(self) -> State:
        state = self._state.model_dump()
        return State(**(state if self._episode is None else {**state, **self._episode.make_summary()}))

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, problem: str = "", **extra_options: Any
    ) -> StartObservation:
        """Start a new episode. If `problem` is empty, choose a problem at random by `seed`."""
        self._episode, self._earlier_rewards = self._episodes.start(problem, seed), 0.0
        self._state = State(episode_id=episode_id, step_count=0)
        return StartObservation(reward=0.0, problem=self.episode.label, prompt=self.episode.read_statement())

    async def reset_async(self, *positional: Any, **keywords: Any) -> StartObservation:
        return await asyncio.to_thread(self.reset, *positional, **keywords)

    async def step_async(
        self, action: Action, timeout_s: float | None = None, **extra_options: Any
    ) -> Observation:
        episode = await asyncio.to_thread(lambda: self.episode)
        observation = await super().step_async(
            action, timeout_s=timeout_s or _CALL_TIMEOUT_S, **extra_options
        )
        self._state.step_count += 1
        observation.done = episode.is_done
        if episode.unjudged_reason:
            observation.reward = None
        else:  # the reward includes points of earlier calls that were cancelled by their callers
            share = episode.points_share
            observation.reward, self._earlier_rewards = share - self._earlier_rewards, share
        return observation

    def step(self, action: Action, timeout_s: float | None = None, **extra_options: Any) -> Observation:
        return asyncio.run(self.step_async(action, timeout_s=timeout_s, **extra_options))

    def _step_impl(self, action: Action, timeout_s: float | None = None, **extra_options: Any) -> Observation:
        raise InputError(f"unknown action {type(action).__name__!r}", remedy="Call a tool")

    def get_metadata(self) -> EnvironmentMetadata:
        description = "Problems of programming contests, with an exact judge"
        return EnvironmentMetadata(name=_NAME, description=description, version="1")

    def statement(self, offset: int = 0) -> str:
        """Read the problem: its text, limits, languages, samples, files, and the rules.

        Args:
            offset: The offset of the first character. A long reply ends with the offset of the next part.
        """
        return self.episode.read_statement(offset)

    def _make_tool(self, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        async def tool(self: OpenEnvContest, **arguments: Any) -> dict[str, Any]:
            try:
                return dict(await call(self.episode, **arguments))
            except (RefusedCall, UnjudgedCall) as error:
                raise ToolError(str(error)) from None

        return MethodType(tool, self)


def app(source: str = "", **options: Any) -> Any:
    """Return the web application. Arguments replace the variables IOI_EVAL_SOURCE and IOI_EVAL_OPTIONS."""
    source_name = source or os.environ.get(SOURCE, "")
    if not source_name:
        raise InputError(
            "the source of problems is missing", field="source", remedy=f"Pass a source, or set {SOURCE}"
        )
    try:
        options = options or json.loads(os.environ.get(OPTIONS) or "{}")
    except ValueError as error:
        raise InputError(f"the value is not valid JSON: {error}", field=OPTIONS) from error
    episodes = EpisodeSource(source_name, options)
    return create_app(
        lambda: OpenEnvContest(episodes),
        CallToolAction,
        CallToolObservation,
        env_name=_NAME,
        max_concurrent_envs=_SESSIONS,
        reset_observation_cls=StartObservation,
    )
