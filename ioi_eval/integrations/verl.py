"""Rewards for verl: name this file as `custom_reward_function.path` and `compute_score` as its name.

    custom_reward_function.path=.../ioi_eval/integrations/verl.py
    custom_reward_function.name=compute_score            (or compute_score_async)
    +custom_reward_function.reward_kwargs.mode=partial

`ground_truth` holds the tests as APPS has them, or a list of {input, output}. What the judge cannot say is
raised, as JudgeFailure or, where the tests are broken, as CasesError: verl has no word for a row without a
reward. `on_failure` names a number instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ioi_eval.cases import CasesError
from ioi_eval.errors import JudgeFailure
from ioi_eval.integrations.columns import Columns
from ioi_eval.integrations.rewards import RewardOptions, Rewards
from ioi_eval.integrations.runtime import Runtime


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    on_failure: float | None = None,
    **options: Any,
) -> float:
    """What one solution is worth. `options` are those of RewardOptions."""
    rewards, own = _rewards(options)
    work = _worth(rewards, own, solution_str, _row(ground_truth, extra_info), on_failure)
    return own.call(work)


async def compute_score_async(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    on_failure: float | None = None,
    **options: Any,
) -> float:
    """The same for reward managers that await: many at once keep all cores busy."""
    rewards, own = _rewards(options)
    work = _worth(rewards, own, solution_str, _row(ground_truth, extra_info), on_failure)
    return await own.wait(work)


def _rewards(options: Mapping[str, Any]) -> tuple[Rewards, Runtime]:
    rewards = Rewards(options=msgspec.convert(dict(options), RewardOptions))
    return rewards, rewards.runtime()


def _row(ground_truth: Any, extra_info: Mapping[str, Any] | None) -> Columns:
    return Columns(values={**(extra_info or {}), "ground_truth": ground_truth}, number=0)


async def _worth(
    rewards: Rewards, own: Runtime, solution: str, row: Columns, on_failure: float | None
) -> float:
    try:
        return await rewards.of_one(solution, row, rewards.problem(row), own)
    except (JudgeFailure, CasesError):
        if on_failure is None:
            raise
        return on_failure
