"""A reward manager for verl, which loads it by module and name.

    reward.reward_manager.source=importlib
    reward.reward_manager.module.path=pkg://ioi_eval.integrations.verl_manager
    reward.reward_manager.name=RewardManager
    +reward.reward_kwargs.mode=pass_fail           options as for compute_score, `on_failure` among them

The manager needs no reward function and ignores a configured function. This module imports verl.
"""

from __future__ import annotations

import asyncio
from typing import Any

from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase

from ioi_eval.integrations.rewards import NOT_JUDGED
from ioi_eval.integrations.verl import judge_solution, make_reward_row, make_rewards
from ioi_eval.scoring import Deduplication


class RewardManager(RewardManagerBase):  # type: ignore[misc]
    """Judges rows at the same time. Equal programs are judged once while rows are being judged."""

    def __init__(
        self,
        config: Any,
        tokenizer: Any,
        compute_score: Any = None,
        reward_router_address: str | None = None,
        reward_model_tokenizer: Any = None,
    ) -> None:
        super().__init__(config, tokenizer, compute_score)
        options = dict(config.reward.get("reward_kwargs") or {})
        self._on_failure: float | None = options.pop("on_failure", 0.0)
        self._rewards = make_rewards(options)
        self._deduplication, self._active_rows = Deduplication(), 0

    async def run_single(self, data: Any) -> dict[str, Any]:
        """Return the reward of one row. If there are several sequences, the last one counts, as in verl."""
        last_row = data[-1:][0]
        reply = await asyncio.to_thread(self._decode_reply_tokens, last_row)
        row_columns = last_row.non_tensor_batch
        reward_row = make_reward_row(
            (row_columns.get("reward_model") or {}).get("ground_truth"), row_columns.get("extra_info")
        )
        runtime = await asyncio.to_thread(self._rewards.runtime)
        deduplication = self._deduplication if self._rewards.options.share else None
        self._active_rows += 1
        try:
            outcome = await runtime.wait(
                judge_solution(self._rewards, runtime, reply, reward_row, self._on_failure, deduplication)
            )
        finally:
            self._active_rows -= 1
            if self._active_rows == 0:
                # Forget the programs of this batch, because the next batch has other programs.
                self._deduplication = Deduplication()
        extra_info = {
            "acc": float(outcome.solved),
            "verdict": str(outcome.verdict),
            "judged": outcome.verdict != NOT_JUDGED,
        }
        return {"reward_score": outcome.reward, "reward_extra_info": extra_info}

    def _decode_reply_tokens(self, batch_row: Any) -> str:
        """Return the text of the reply in a row."""
        responses = batch_row.batch["responses"]
        token_count = batch_row.batch["attention_mask"][-responses.shape[-1] :].sum()
        return str(self.tokenizer.decode(responses[:token_count], skip_special_tokens=True))
