"""Rewards for verl: name this module as the path of a reward function, and a function of it as its name.

    reward.custom_reward_function.path=pkg://ioi_eval.integrations.verl
    reward.custom_reward_function.name=compute_score_async      (or compute_score, compute_score_batch)
    +reward.custom_reward_function.reward_kwargs.mode=pass_fail
    +reward.custom_reward_function.reward_kwargs.engine=ray     (where jobs run, as for --engine)

`ioi_eval.integrations.verl_manager` has a reward manager, which needs no function.
`ground_truth` holds the tests in any form that benchmarks have: see docs/apps.md. verl has no word for a row
without a reward: where the judge cannot say or the tests are broken, it is `on_failure`, 0 unless told
otherwise, with a warning. `on_failure=None` raises, and so stops the training with most of verl's managers.
So does a Python that no sandbox can show to programs, whatever `on_failure` is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ioi_eval.errors import InputError, InterpreterRefused, IoiEvalError
from ioi_eval.integrations.misses import note, together
from ioi_eval.integrations.rewards import (
    CASES_COLUMNS,
    NOT_JUDGED,
    RewardOptions,
    RewardOutcome,
    RewardRow,
    Rewards,
    text_of,
)
from ioi_eval.integrations.runtime import Runtime, Setup
from ioi_eval.models import CheckerKind
from ioi_eval.scoring import Deduplication

COMPARISON = CheckerKind.PRIME_CODE  # of outputs, as verl's own reward for code compares them
# What reward managers hand to every function besides the user's own keywords.
_OF_VERL = frozenset({"reward_router_address", "reward_model_tokenizer"})


def compute_score(
    data_source: str,
    solution_str: Any,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    on_failure: float | None = 0.0,
    **options: Any,
) -> float:
    """Return the reward of one solution. `options` are those of RewardOptions, and `engine`."""
    rewards = rewards_of(options)
    own = rewards.runtime()
    return _number(
        own.call(outcome(rewards, own, solution_str, row_of(ground_truth, extra_info), on_failure))
    )


async def compute_score_async(
    data_source: str,
    solution_str: Any,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    on_failure: float | None = 0.0,
    **options: Any,
) -> float:
    """The same for reward managers that await: many at once keep all cores busy."""
    rewards = rewards_of(options)
    own = await asyncio.to_thread(rewards.runtime)
    row = row_of(ground_truth, extra_info)
    return _number(await own.wait(outcome(rewards, own, solution_str, row, on_failure)))


def compute_score_batch(
    data_sources: Sequence[str],
    solution_strs: Sequence[Any],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
    on_failure: float | None = 0.0,
    **options: Any,
) -> list[float]:
    """The same for managers that have all of a batch at once. Equal programs are judged once."""
    rewards = rewards_of(options)
    own = rewards.runtime()
    deduplication = Deduplication() if rewards.options.share else None
    infos = [None] * len(solution_strs) if extra_infos is None else extra_infos
    given = zip(solution_strs, ground_truths, infos, strict=True)
    outcomes = (
        outcome(rewards, own, solution, row_of(truth, info), on_failure, deduplication)
        for solution, truth, info in given
    )
    return [_number(each) for each in own.call(together(outcomes))]


def rewards_of(options: Mapping[str, Any]) -> Rewards:
    """A word that means nothing is a mistake, and would train with another reward than was meant."""
    own = {name: value for name, value in options.items() if name not in _OF_VERL}
    setup = Setup(engine=own.pop("engine", None))
    unknown = sorted(own.keys() - set(RewardOptions.__struct_fields__))
    if unknown:
        names = ", ".join((*RewardOptions.__struct_fields__, "engine", "on_failure"))
        raise InputError("rewards have no such option", field=unknown[0], remedy=f"The options are {names}")
    try:
        return Rewards(options=msgspec.convert({"checker": COMPARISON, **own}, RewardOptions), setup=setup)
    except msgspec.ValidationError as error:
        raise InputError(str(error), where="reward_kwargs") from error


def row_of(ground_truth: Any, extra_info: Mapping[str, Any] | None) -> RewardRow:
    """The tests are the ground truth, whatever else the row has."""
    facts = extra_info if isinstance(extra_info, Mapping) else {}
    others = {name: value for name, value in facts.items() if name not in CASES_COLUMNS}
    return RewardRow(values={**others, "ground_truth": ground_truth}, number=0)


async def outcome(
    rewards: Rewards,
    own: Runtime,
    solution: Any,
    row: RewardRow,
    on_failure: float | None,
    deduplication: Deduplication | None = None,
) -> RewardOutcome:
    """Return a solution's result; where nobody can say, `on_failure`, or None to hear of it.

    Raises InterpreterRefused: it is the same for all rows, and not one of them would have a reward.
    """
    text = text_of(solution)  # InputError: not of this row alone
    try:
        return await rewards.of_one(text, row, own, deduplication)
    except InterpreterRefused:
        raise
    except IoiEvalError as error:
        if on_failure is None:
            raise
        note(error)
        return RewardOutcome(on_failure, NOT_JUDGED)


def _number(outcome: RewardOutcome) -> float:
    assert outcome.reward is not None, "who has none has raised, or has on_failure"
    return outcome.reward
