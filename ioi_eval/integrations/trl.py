"""Rewards for TRL's trainers.

    from ioi_eval.integrations.trl import reward

    GRPOTrainer(model=..., reward_funcs=reward, train_dataset=...)

The dataset's column `input_output` (or ground_truth, test_cases, tests) holds each row's tests. For problems
of packages or benchmarks, for other modes and penalties, `make_reward` makes another function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ioi_eval.integrations.rewards import Finder, RewardOptions, Rewards, rows, text_of
from ioi_eval.integrations.runtime import Setup

Completion = str | Sequence[Mapping[str, Any]]


class Reward:
    """A reward function. TRL calls it with columns, and takes None for a row that has no reward."""

    def __init__(self, rewards: Rewards, name: str) -> None:
        self._rewards, self.__name__ = rewards, name

    def __call__(
        self, prompts: Sequence[Any] | None = None, completions: Sequence[Completion] = (), **columns: Any
    ) -> list[float | None]:
        texts = [text_of(completion) for completion in completions]
        own = self._rewards.runtime()
        return own.call(self._rewards.of_all(texts, tuple(rows(columns, len(texts))), own))


def make_reward(
    options: RewardOptions | None = None,
    *,
    problems: Finder | None = None,
    setup: Setup | None = None,
    name: str = "ioi_eval_reward",
) -> Reward:
    """A reward function of its own; `name` is what TRL logs it under."""
    return Reward(
        Rewards(options=options or RewardOptions(), setup=setup or Setup(), problems=problems), name
    )


reward = make_reward()
