"""Rewards for verl: name this file as `custom_reward_function.path` and a function of it as its name.

    custom_reward_function.path=.../ioi_eval/integrations/verl.py
    custom_reward_function.name=compute_score            (or compute_score_async, compute_score_batch)
    +custom_reward_function.reward_kwargs.mode=partial

`ground_truth` holds the tests as APPS has them, or a list of {input, output}. verl has no word for a row
without a reward: where the judge cannot say or the tests are broken, it is `on_failure`, 0 unless told
otherwise, with a warning. `on_failure=None` raises, and so stops the training with most of verl's managers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ioi_eval.integrations.classic_rows import together
from ioi_eval.integrations.misses import note
from ioi_eval.integrations.rewards import CASES_COLUMNS, Columns, RewardOptions, Rewards
from ioi_eval.integrations.runtime import Runtime, runtime
from ioi_eval.model.errors import InputError, IoiEvalError

# What reward managers hand to every function besides the user's own keywords.
_OF_VERL = frozenset({"reward_router_address", "reward_model_tokenizer"})


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    on_failure: float | None = 0.0,
    **options: Any,
) -> float:
    """What one solution is worth. `options` are those of RewardOptions."""
    rewards, own = _rewards(options), runtime()
    return own.call(_worth(rewards, own, solution_str, _row(ground_truth, extra_info), on_failure))


async def compute_score_async(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    on_failure: float | None = 0.0,
    **options: Any,
) -> float:
    """The same for reward managers that await: many at once keep all cores busy."""
    rewards, own = _rewards(options), await asyncio.to_thread(runtime)
    return await own.wait(_worth(rewards, own, solution_str, _row(ground_truth, extra_info), on_failure))


def compute_score_batch(
    data_sources: Sequence[str],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
    on_failure: float | None = 0.0,
    **options: Any,
) -> list[float]:
    """The same for the manager `batch`, which has all of them at once."""
    rewards, own = _rewards(options), runtime()
    infos = [None] * len(solution_strs) if extra_infos is None else extra_infos
    given = zip(solution_strs, ground_truths, infos, strict=True)
    worth = (_worth(rewards, own, solution, _row(truth, info), on_failure) for solution, truth, info in given)
    return own.call(together(worth))


def _rewards(options: Mapping[str, Any]) -> Rewards:
    """A word that means nothing is a mistake, and would train with another reward than was meant."""
    own = {name: value for name, value in options.items() if name not in _OF_VERL}
    unknown = sorted(own.keys() - set(RewardOptions.__struct_fields__))
    if unknown:
        known = ", ".join((*RewardOptions.__struct_fields__, "on_failure"))
        raise InputError("no such option of rewards", field=unknown[0], remedy=f"There are {known}")
    try:
        return Rewards(options=msgspec.convert(own, RewardOptions))
    except msgspec.ValidationError as error:
        raise InputError(str(error), where="reward_kwargs") from error


def _row(ground_truth: Any, extra_info: Mapping[str, Any] | None) -> Columns:
    """The tests are the ground truth, whatever else the row has."""
    known = extra_info if isinstance(extra_info, Mapping) else {}
    others = {name: value for name, value in known.items() if name not in CASES_COLUMNS}
    return Columns(values={**others, "ground_truth": ground_truth}, number=0)


async def _worth(
    rewards: Rewards, own: Runtime, solution: str, row: Columns, on_failure: float | None
) -> float:
    try:
        return await rewards.of_one(solution, row, own)
    except IoiEvalError as error:
        if on_failure is None:
            raise
        note(error)
        return on_failure
