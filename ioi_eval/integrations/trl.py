"""Rewards for TRL's trainers.

    from ioi_eval.integrations.trl import reward

    GRPOTrainer(model=..., reward_funcs=reward, train_dataset=...)

The dataset's column `input_output` contains each row's tests. It may also be called ground_truth, test_cases,
tests or verification_info, or have the columns of LiveCodeBench, HumanEval or MBPP. `reward_async` is for
trainers that await several rewards at once. `make_reward` and `make_async_reward` return functions with other
options, or for problems of packages and benchmarks.
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
    make_rows,
    reply_text,
)
from ioi_eval.integrations.runtime import Runtime, Setup
from ioi_eval.model.fields import suggest_similar

Completion = str | Sequence[Mapping[str, Any]]


class Reward:
    """A reward function for TRL, which calls it with columns. A row without a reward gets None."""

    def __init__(self, rewards: Rewards, name: str) -> None:
        self._rewards, self.__name__ = rewards, name

    def __call__(
        self,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Completion] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """Return the rewards of the completions. `columns` are the columns of the dataset."""
        completions = _check_reward_arguments(prompts, completions, columns)
        runtime, start_time = self._rewards.runtime(), time.monotonic()
        outcomes = runtime.call(self._score_completions(completions, columns, runtime))
        return self._log_and_return_rewards(outcomes, time.monotonic() - start_time, columns)

    async def compute_rewards(
        self, completions: Sequence[Completion], columns: Mapping[str, Any]
    ) -> list[float | None]:
        """Return the rewards of the completions, for a caller with an event loop."""
        runtime, start_time = await asyncio.to_thread(self._rewards.runtime), time.monotonic()
        outcomes = await runtime.wait(self._score_completions(completions, columns, runtime))
        return self._log_and_return_rewards(outcomes, time.monotonic() - start_time, columns)

    def _score_completions(
        self, completions: Sequence[Completion], columns: Mapping[str, Any], runtime: Runtime
    ) -> Coroutine[Any, Any, list[RewardOutcome]]:
        """Return a coroutine for the runtime that judges the completions."""
        if not isinstance(completions, Sequence) or isinstance(completions, str):
            message = f"completions must be a list, not {type(completions).__name__}"
            raise InputError(message, field="completions", remedy=_CALL_REMEDY)
        replies = [reply_text(completion) for completion in completions]
        return self._rewards.score_all(replies, tuple(make_rows(columns, len(replies))), runtime)

    def _log_and_return_rewards(
        self, outcomes: Sequence[RewardOutcome], seconds: float, columns: Mapping[str, Any]
    ) -> list[float | None]:
        """Return the rewards. If the trainer has log functions, log verdicts, shares and the time."""
        log_extra, log_metric = columns.get("log_extra"), columns.get("log_metric")
        if callable(log_extra):
            log_extra(f"{self.__name__}/verdict", [str(outcome.verdict) for outcome in outcomes])
        if callable(log_metric):
            outcome_count = max(1, len(outcomes))
            log_metric(f"{self.__name__}/solved", sum(outcome.solved for outcome in outcomes) / outcome_count)
            for verdict in (NO_CODE, NOT_JUDGED):
                outcome_share = sum(outcome.verdict == verdict for outcome in outcomes) / outcome_count
                log_metric(f"{self.__name__}/{verdict.replace(' ', '_')}", outcome_share)
            log_metric(f"{self.__name__}/seconds", seconds)
        return [outcome.reward for outcome in outcomes]


_ARGUMENTS_REMEDY = (
    "The arguments of make_reward are RewardOptions(mode=..., ...), problems=, setup=, engine=, name="
)
_CALL_REMEDY = "Call the function with names: reward(completions=[...], ground_truth=[...])"


def _check_reward_arguments(
    prompts: Sequence[Any] | None, completions: Sequence[Completion] | None, columns: Mapping[str, Any]
) -> Sequence[Completion]:
    """Return the completions. Raise an InputError for arguments that were passed without their names."""
    if completions is None or (prompts and isinstance(completions, Sequence) and not completions):
        message = "the call has prompts but no completions" if prompts else "the call has no completions"
        similar = suggest_similar("completions", columns) and "Did you mean 'completions'? "
        raise InputError(message, field="completions", remedy=f"{similar}{_CALL_REMEDY}")
    if prompts and completions and not columns:
        message = "the call has no column with tests: its first two arguments are prompts and completions"
        raise InputError(message, field="completions", remedy=_CALL_REMEDY)
    return completions


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
        problems: The problems of rows with a `problem_id`.
        setup: The engine and its settings.
        engine: The engine if there is no `setup`: a name as for --engine.
        name: The function's name in TRL's logs.
        others: Not supported. The error says where the argument belongs.
    """
    for argument in others:
        is_option = argument in RewardOptions.__struct_fields__
        remedy = f"Write make_reward(RewardOptions({argument}=...))" if is_option else _ARGUMENTS_REMEDY
        raise InputError(f"make_reward has no argument {argument!r}", field=argument, remedy=remedy)
    if not isinstance(options, RewardOptions | None):
        message = f"options must be RewardOptions, not {type(options).__name__}"
        raise InputError(message, field="options", remedy=_ARGUMENTS_REMEDY)
    setup = setup or Setup(engine=engine)
    return Reward(Rewards(options=options or RewardOptions(), setup=setup, problems=problems), name)


def make_async_reward(
    options: RewardOptions | None = None, *, name: str = "ioi_eval_reward", **others: Any
) -> Callable[..., Awaitable[list[float | None]]]:
    """Return a reward function that trainers await. `make_reward` describes the arguments."""
    sync_reward = make_reward(options, name=name, **others)

    async def compute_rewards(
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Completion] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        completions = _check_reward_arguments(prompts, completions, columns)
        return await sync_reward.compute_rewards(completions, columns)

    compute_rewards.__name__ = name
    return compute_rewards


reward = make_reward()
reward_async = make_async_reward()
