"""A reward manager for verl, which loads it by its module and name.

    reward.reward_manager.source=importlib
    reward.reward_manager.module.path=pkg://ioi_eval.integrations.verl_manager
    reward.reward_manager.name=RewardManager
    +reward.reward_kwargs.mode=pass_fail           options as for compute_score, `on_failure` among them

It needs no reward function, and passes over one that is configured. Needs verl itself.
"""

from __future__ import annotations

import asyncio
from typing import Any

from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase

from ioi_eval.integrations.rewards import NOT_JUDGED
from ioi_eval.integrations.verl import outcome, rewards_of, row_of
from ioi_eval.scoring import Deduplication


class RewardManager(RewardManagerBase):  # type: ignore[misc]
    """Judges the rows of a batch side by side. Programs that are equal meanwhile are judged once."""

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
        self._rewards = rewards_of(options)
        self._sharing, self._under_way = Deduplication(), 0

    async def run_single(self, data: Any) -> dict[str, Any]:
        """The reward of one row. Of several sequences the last one counts, as in verl's own managers."""
        item = data[-1:][0]
        text = await asyncio.to_thread(self._text, item)
        row = item.non_tensor_batch
        columns = row_of((row.get("reward_model") or {}).get("ground_truth"), row.get("extra_info"))
        own = await asyncio.to_thread(self._rewards.runtime)
        deduplication = self._sharing if self._rewards.options.share else None
        self._under_way += 1
        try:
            found = await own.wait(
                outcome(self._rewards, own, text, columns, self._on_failure, deduplication)
            )
        finally:
            self._under_way -= 1
            if self._under_way == 0:
                self._sharing = Deduplication()  # the next batch has other programs
        extra = {
            "acc": float(found.solved),
            "verdict": str(found.verdict),
            "judged": found.verdict != NOT_JUDGED,
        }
        return {"reward_score": found.reward, "reward_extra_info": extra}

    def _text(self, item: Any) -> str:
        responses = item.batch["responses"]
        length = item.batch["attention_mask"][-responses.shape[-1] :].sum()
        return str(self.tokenizer.decode(responses[:length], skip_special_tokens=True))
