"""Rewards for TRL's trainers.

    from ioi_eval.integrations.trl import reward

    GRPOTrainer(model=..., reward_funcs=reward, train_dataset=...)

The dataset's column `input_output` (or ground_truth, test_cases, tests, verification_info, or those of
LiveCodeBench, HumanEval and MBPP) holds each row's tests. `reward_async` is the same for trainers that await
several rewards at once. For problems of packages or benchmarks, for other modes and shaping terms,
`make_reward` and `make_async_reward` make other functions.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

from ioi_eval.errors import InputError
from ioi_eval.integrations.rewards import (
    NO_CODE,
    NOT_JUDGED,
    ProblemFinder,
    RewardOptions,
    RewardOutcome,
    Rewards,
    rows,
    text_of,
)
from ioi_eval.integrations.runtime import Runtime, Setup

Completion = str | Sequence[Mapping[str, Any]]


class Reward:
    """A reward function. TRL calls it with columns, and takes None for a row that has no reward."""

    def __init__(self, rewards: Rewards, name: str) -> None:
        self._rewards, self.__name__ = rewards, name

    def __call__(
        self, prompts: Sequence[Any] | None = None, completions: Sequence[Completion] = (), **columns: Any
    ) -> list[float | None]:
        _check_call(prompts, completions)
        own, began = self._rewards.runtime(), time.monotonic()
        outcomes = own.call(self._outcomes(completions, columns, own))
        return self._told(outcomes, time.monotonic() - began, columns)

    async def awaited(
        self, completions: Sequence[Completion], columns: Mapping[str, Any]
    ) -> list[float | None]:
        """The same for a caller with an event loop."""
        own, began = await asyncio.to_thread(self._rewards.runtime), time.monotonic()
        outcomes = await own.wait(self._outcomes(completions, columns, own))
        return self._told(outcomes, time.monotonic() - began, columns)

    def _outcomes(
        self, completions: Sequence[Completion], columns: Mapping[str, Any], own: Runtime
    ) -> Coroutine[Any, Any, list[RewardOutcome]]:
        if not isinstance(completions, Sequence) or isinstance(completions, str):
            what = f"completions must be a list, not {type(completions).__name__}"
            raise InputError(what, field="completions", remedy=_CALL)
        texts = [text_of(completion) for completion in completions]
        return self._rewards.of_all(texts, tuple(rows(columns, len(texts))), own)

    def _told(
        self, outcomes: Sequence[RewardOutcome], seconds: float, columns: Mapping[str, Any]
    ) -> list[float | None]:
        """The rewards; a trainer that keeps logs gets verdicts, shares of the completions, and the time."""
        log_extra, log_metric = columns.get("log_extra"), columns.get("log_metric")
        if callable(log_extra):
            log_extra(f"{self.__name__}/verdict", [str(outcome.verdict) for outcome in outcomes])
        if callable(log_metric):
            count = max(1, len(outcomes))
            log_metric(f"{self.__name__}/solved", sum(outcome.solved for outcome in outcomes) / count)
            for verdict in (NO_CODE, NOT_JUDGED):
                share = sum(outcome.verdict == verdict for outcome in outcomes) / count
                log_metric(f"{self.__name__}/{verdict.replace(' ', '_')}", share)
            log_metric(f"{self.__name__}/seconds", seconds)
        return [outcome.reward for outcome in outcomes]


_MAKE = "Its arguments are RewardOptions(mode=..., ...), problems=, setup=, engine=, name="
_CALL = "Call it with names: reward(completions=[...], ground_truth=[...]), a value for each completion"


def _check_call(prompts: Sequence[Any] | None, completions: Sequence[Completion]) -> None:
    """Raise InputError for completions in the place of prompts, which come first."""
    if prompts and isinstance(completions, Sequence) and not completions:
        raise InputError("prompts without completions", field="completions", remedy=_CALL)


def make_reward(
    options: RewardOptions | None = None,
    *,
    problems: ProblemFinder | None = None,
    setup: Setup | None = None,
    engine: str | None = None,
    name: str = "ioi_eval_reward",
    **others: Any,
) -> Reward:
    """Return a reward function.

    Args:
        options: How results become rewards.
        problems: Problems for rows with a `problem_id`.
        setup: The engine and its settings.
        engine: Where jobs run, as for --engine, if there is no `setup`.
        name: What TRL logs it under.
        others: None; each is an InputError that says where it belongs.
    """
    for wrong in others:
        is_option = wrong in RewardOptions.__struct_fields__
        remedy = f"Write make_reward(RewardOptions({wrong}=...))" if is_option else _MAKE
        raise InputError("make_reward has no such argument", field=wrong, remedy=remedy)
    if not isinstance(options, RewardOptions | None):
        what = f"options must be RewardOptions, not {type(options).__name__}"
        raise InputError(what, field="options", remedy=_MAKE)
    setup = setup or Setup(engine=engine)
    return Reward(Rewards(options=options or RewardOptions(), setup=setup, problems=problems), name)


def make_async_reward(
    options: RewardOptions | None = None, *, name: str = "ioi_eval_reward", **others: Any
) -> Callable[..., Awaitable[list[float | None]]]:
    """Return the same reward as a coroutine function, which trainers await. `others` as in make_reward."""
    own = make_reward(options, name=name, **others)

    async def awaited(
        prompts: Sequence[Any] | None = None, completions: Sequence[Completion] = (), **columns: Any
    ) -> list[float | None]:
        _check_call(prompts, completions)
        return await own.awaited(completions, columns)

    awaited.__name__ = name
    return awaited


reward = make_reward()
reward_async = make_async_reward()
