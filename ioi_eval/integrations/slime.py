"""Rewards for slime: give this module's function to `--custom-rm-path`, with or without `--group-rm`.

    --custom-rm-path ioi_eval.integrations.slime.custom_rm --label-key input_output [--group-rm]

A sample's `label`, or else its `metadata`, has its tests in any form that benchmarks have (docs/apps.md).
`make_custom_rm(mode="pass_fail")` returns a function with other options.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from ioi_eval.errors import InputError
from ioi_eval.integrations.rewards import RewardRow
from ioi_eval.integrations.unjudged import gather_results
from ioi_eval.integrations.verl import judge_solution, make_reward_row, make_rewards
from ioi_eval.scoring import Deduplication

CustomRm = Callable[..., Awaitable[float | list[float | None] | None]]


def make_custom_rm(on_failure: float | None = 0.0, **options: Any) -> CustomRm:
    """Return a reward function of slime.

    Args:
        on_failure: The reward of a sample that cannot be judged. None raises the error instead.
        options: Fields of RewardOptions, and `engine`.
    """
    rewards = make_rewards(options)

    async def custom_rm(args: Any, samples: Any, **keywords: Any) -> float | list[float | None] | None:
        """Return the reward of a sample, or the rewards of a list of samples.

        `keywords` are further arguments of slime, which are ignored.
        """
        runtime = await asyncio.to_thread(rewards.runtime)
        sample_list = samples if isinstance(samples, Sequence) else [samples]
        rows = [_convert_sample(sample) for sample in sample_list]
        deduplication = Deduplication() if rewards.options.share else None
        outcomes = gather_results(
            judge_solution(rewards, runtime, sample.response, row, on_failure, deduplication)
            for sample, row in zip(sample_list, rows, strict=True)
        )
        sample_rewards = [reward_outcome.reward for reward_outcome in await runtime.wait(outcomes)]
        return sample_rewards if sample_list is samples else sample_rewards[0]

    return custom_rm


def _convert_sample(sample: Any) -> RewardRow:
    """Return a sample's tests as a row. Raise an InputError if the object is not a sample of slime."""
    if not hasattr(sample, "response") or not hasattr(sample, "label"):
        remedy = "Call custom_rm(args, sample), or custom_rm(args, samples) with a list of samples"
        raise InputError(f"{sample!r:.60} is not a sample of slime", field="samples", remedy=remedy)
    metadata = sample.metadata if isinstance(getattr(sample, "metadata", None), Mapping) else {}
    return make_reward_row(sample.label, metadata) if sample.label else RewardRow(values=metadata, number=0)


custom_rm = make_custom_rm()
