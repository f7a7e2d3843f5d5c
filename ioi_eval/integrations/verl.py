"""Rewards for verl: configure this module and one of its functions as the reward function.

    reward.custom_reward_function.path=pkg://ioi_eval.integrations.verl
    reward.custom_reward_function.name=compute_score_async      (or compute_score, compute_score_batch)
    +reward.custom_reward_function.reward_kwargs.mode=pass_fail
    +reward.custom_reward_function.reward_kwargs.engine=ray     (where jobs run, as for --engine)

`ioi_eval.integrations.verl_manager` has a reward manager, which needs no function.
`ground_truth` contains the tests in any form that benchmarks have: see docs/apps.md. Every row needs a reward
in verl. If the judge fails or the tests are broken, the reward is `on_failure`, by default 0, and a warning
is logged. `on_failure=None` raises the error, which stops the training with most of verl's managers. A Python
interpreter that no sandbox can use always raises an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ioi_eval.errors import InputError, InterpreterRefused, IoiEvalError
from ioi_eval.integrations.rewards import (
    CASES_COLUMNS,
    NOT_JUDGED,
    RewardOptions,
    RewardOutcome,
    RewardRow,
    Rewards,
    reply_text,
)
from ioi_eval.integrations.runtime import Runtime, Setup
from ioi_eval.integrations.unjudged import count_unjudged, gather_results
from ioi_eval.models import CheckerKind
from ioi_eval.scoring import Deduplication

COMPARISON = CheckerKind.PRIME_CODE  # the comparison of outputs that verl's own reward for code uses
# Names of arguments that verl's reward managers pass to every reward function, next to the user's arguments.
_VERL_ARGUMENTS = frozenset({"reward_router_address", "reward_model_tokenizer"})


def compute_score(
    data_source: str,
    solution_str: Any,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    on_failure: float | None = 0.0,
    **options: Any,
) -> float:
    """Return the reward of one solution.

    Args:
        data_source: Not used.
        solution_str: The model's reply.
        ground_truth: The tests.
        extra_info: Further columns of the row.
        on_failure: The reward of a row that cannot be judged. None raises the error instead.
        options: Fields of RewardOptions, and `engine`.
    """
    rewards = make_rewards(options)
    runtime = rewards.runtime()
    return _require_reward(
        runtime.call(
            judge_solution(
                rewards, runtime, solution_str, make_reward_row(ground_truth, extra_info), on_failure
            )
        )
    )


async def compute_score_async(
    data_source: str,
    solution_str: Any,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    on_failure: float | None = 0.0,
    **options: Any,
) -> float:
    """Return the reward of one solution, for reward managers that await. See `compute_score`.

    Args:
        data_source: Not used.
        solution_str: The model's reply.
        ground_truth: The tests.
        extra_info: Further columns of the row.
        on_failure: The reward of a row that cannot be judged. None raises the error instead.
        options: Fields of RewardOptions, and `engine`.
    """
    rewards = make_rewards(options)
    runtime = await asyncio.to_thread(rewards.runtime)
    row = make_reward_row(ground_truth, extra_info)
    return _require_reward(
        await runtime.wait(judge_solution(rewards, runtime, solution_str, row, on_failure))
    )


def compute_score_batch(
    data_sources: Sequence[str],
    solution_strs: Sequence[Any],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
    on_failure: float | None = 0.0,
    **options: Any,
) -> list[float]:
    """Return the rewards of a batch, in which equal programs are judged once. See `compute_score`.

    Args:
        data_sources: Not used.
        solution_strs: The model's replies.
        ground_truths: The tests of each reply.
        extra_infos: Further columns of each reply's row. None means that no row has any.
        on_failure: The reward of a row that cannot be judged. None raises the error instead.
        options: Fields of RewardOptions, and `engine`. With `share=False`, equal programs are judged again.
    """
    rewards = make_rewards(options)
    runtime = rewards.runtime()
    deduplication = Deduplication() if rewards.options.share else None
    row_infos = [None] * len(solution_strs) if extra_infos is None else extra_infos
    solutions = zip(solution_strs, ground_truths, row_infos, strict=True)
    outcomes = (
        judge_solution(
            rewards, runtime, solution, make_reward_row(ground_truth, info), on_failure, deduplication
        )
        for solution, ground_truth, info in solutions
    )
    return [_require_reward(reward_outcome) for reward_outcome in runtime.call(gather_results(outcomes))]


def make_rewards(options: Mapping[str, Any]) -> Rewards:
    """Return the rewards with these options. Raise an InputError for an unknown option."""
    option_values = {name: value for name, value in options.items() if name not in _VERL_ARGUMENTS}
    setup = Setup(engine=option_values.pop("engine", None))
    unknown_options = sorted(option_values.keys() - set(RewardOptions.__struct_fields__))
    if unknown_options:
        option_names = ", ".join((*RewardOptions.__struct_fields__, "engine", "on_failure"))
        raise InputError(
            f"unknown reward option {unknown_options[0]!r}",
            field=unknown_options[0],
            remedy=f"The options are {option_names}",
        )
    try:
        return Rewards(
            options=msgspec.convert({"checker": COMPARISON, **option_values}, RewardOptions), setup=setup
        )
    except msgspec.ValidationError as error:
        raise InputError(str(error), where="reward_kwargs") from error


def make_reward_row(ground_truth: Any, extra_info: Mapping[str, Any] | None) -> RewardRow:
    """Return the row whose tests are the ground truth."""
    columns = extra_info if isinstance(extra_info, Mapping) else {}
    other_columns = {name: value for name, value in columns.items() if name not in CASES_COLUMNS}
    return RewardRow(values={**other_columns, "ground_truth": ground_truth}, number=0)


async def judge_solution(
    rewards: Rewards,
    runtime: Runtime,
    solution: Any,
    row: RewardRow,
    on_failure: float | None,
    deduplication: Deduplication | None = None,
) -> RewardOutcome:
    """Return the outcome of one solution.

    Args:
        rewards: The options.
        runtime: The runtime that judges.
        solution: The model's reply.
        row: The row with the tests.
        on_failure: The reward if the solution cannot be judged. None raises the error instead.
        deduplication: Judges equal programs once.

    Raises:
        InterpreterRefused: No row can have a reward.
        InputError: The reply has a form that is wrong for all rows.
    """
    reply = reply_text(solution)
    try:
        return await rewards.score_one(reply, row, runtime, deduplication)
    except InterpreterRefused:
        raise
    except IoiEvalError as error:
        if on_failure is None:
            raise
        count_unjudged(error)
        return RewardOutcome(on_failure, NOT_JUDGED)


def _require_reward(outcome: RewardOutcome) -> float:
    """Return the reward, which exists because `on_failure` replaces a missing reward."""
    assert outcome.reward is not None, "a missing reward raises, or is on_failure"
    return outcome.reward
