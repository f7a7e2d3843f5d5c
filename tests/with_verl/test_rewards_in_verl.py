"""verl's reward managers and loop of workers with ioi_eval's rewards, and a step of GRPO.

Its trainers need a GPU, so a step here is verl's rewards, advantages and loss over a tiny random model, with
scripted rollouts. It runs if verl is installed; tools/peers creates such an environment.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verl", reason="verl is not installed")

import numpy as np
import ray
import torch
from hydra import compose, initialize_config_module
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from verl import DataProto
from verl.experimental.reward_loop import RewardLoopManager
from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage, compute_policy_loss_vanilla
from verl.trainer.ppo.reward import load_reward_manager
from verl.utils.config import omega_conf_to_dataclass
from verl.workers.reward_manager.batch import BatchRewardManager

from ioi_eval.integrations.runtime import close_all
from ioi_eval.integrations.verl import compute_score_batch

TESTS = json.dumps({"inputs": ["2\n", "5\n"], "outputs": ["4\n", "10\n"]})
RIGHT, HALF, WRONG = "print(2 * int(input()))", "print(min(4, 2 * int(input())))", "print(0)"
TEXTS = [f"```python\n{code}\n```" for code in (RIGHT, HALF, WRONG)] + ["I do not know."]
LONGEST = max(len(text.encode()) for text in TEXTS)
MANAGER = [
    "reward.reward_manager.source=importlib",
    "reward.reward_manager.module.path=pkg://ioi_eval.integrations.verl_manager",
    "reward.reward_manager.name=RewardManager",
]
FUNCTION = "reward.custom_reward_function.path=pkg://ioi_eval.integrations.verl"


@pytest.fixture(scope="module", autouse=True)
def own_runtime() -> Iterator[None]:
    yield
    close_all()


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """Return a tokenizer whose tokens are bytes, and its folder."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate(["<pad>", "<eos>", *alphabet])}
    inner = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    fast_tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>")
    folder = tmp_path_factory.mktemp("model")
    fast_tokenizer.save_pretrained(folder)
    LlamaConfig(vocab_size=len(fast_tokenizer)).save_pretrained(folder)
    return fast_tokenizer, folder


def configured(folder: Path, *options: str) -> Any:
    """Return verl's configuration with these options."""
    with initialize_config_module("verl.trainer.config", version_base=None):
        return compose("ppo_trainer", [f"actor_rollout_ref.model.path={folder}", *options])


def rollouts(tokenizer_object: Any, texts_of_replies: list[str] = TEXTS, truths: Any = TESTS) -> DataProto:
    """Return rollouts in the format of agent loops: prompts padded on the left, responses on the right."""
    truths = truths if isinstance(truths, list) else [truths] * len(texts_of_replies)
    responses = torch.zeros((len(texts_of_replies), LONGEST), dtype=torch.long)
    mask = torch.zeros_like(responses)
    for row, prompt_text in enumerate(texts_of_replies):
        ids = tokenizer_object(prompt_text)["input_ids"]
        responses[row, : len(ids)] = torch.tensor(ids)
        mask[row, : len(ids)] = 1
    prompts = torch.tensor([tokenizer_object("Double it.")["input_ids"]] * len(texts_of_replies))
    tensors = {
        "prompts": prompts,
        "responses": responses,
        "response_mask": mask,
        "attention_mask": torch.cat([torch.ones_like(prompts), mask], dim=1),
    }
    columns: dict[str, Any] = {
        "data_source": ["apps"] * len(texts_of_replies),
        "reward_model": [{"ground_truth": truth} for truth in truths],
        "extra_info": [{"index": number} for number in range(len(texts_of_replies))],
        "uid": ["one"] * len(texts_of_replies),
    }
    arrays = {name: np.array(values, dtype=object) for name, values in columns.items()}
    return DataProto.from_dict(tensors=tensors, non_tensors=arrays)


def run_all(manager: Any, data: DataProto) -> list[dict[str, Any]]:
    """Judge each row separately and all at once, like verl's workers."""

    async def together() -> list[dict[str, Any]]:
        manager.loop = asyncio.get_running_loop()
        return await asyncio.gather(*(manager.run_single(data[i : i + 1]) for i in range(len(data))))

    return asyncio.run(together())


@pytest.mark.parametrize("name", ["compute_score", "compute_score_async"])
def test_verl_reward_manager_calls_custom_reward_function(words: tuple[Any, Path], name: str) -> None:
    tokenizer, folder = words
    options = [FUNCTION, f"reward.custom_reward_function.name={name}"]
    config = configured(folder, *options, "+reward.custom_reward_function.reward_kwargs.mode=pass_fail")
    rewards = run_all(load_reward_manager(config, tokenizer), rollouts(tokenizer))
    assert [row_reward["reward_score"] for row_reward in rewards] == [1, 0, 0, 0]


def test_verl_batch_reward_manager_calls_compute_score_batch(words: tuple[Any, Path]) -> None:
    tokenizer, _ = words
    manager = BatchRewardManager(tokenizer, 0, compute_score_batch, mode="partial")
    data = rollouts(tokenizer, truths=[TESTS, TESTS, "{", TESTS])
    assert manager(data).sum(dim=1).tolist() == [1, 0.5, 0, 0]


def test_ioi_eval_reward_manager_in_verl_scores_rows_with_broken_tests(words: tuple[Any, Path]) -> None:
    tokenizer, folder = words
    options = ["+reward.reward_kwargs.on_failure=-2", "+reward.reward_kwargs.no_code=-1"]
    config = configured(folder, *MANAGER, *options)
    manager = load_reward_manager(config, tokenizer, reward_router_address=None, reward_model_tokenizer=None)
    data = rollouts(tokenizer, [*TEXTS, TEXTS[0], TEXTS[0]], [TESTS] * 4 + ["{", None])
    data.non_tensor_batch["extra_info"][1] = None
    data.non_tensor_batch["reward_model"][5] = None
    rewards = run_all(manager, data)
    assert [row_reward["reward_score"] for row_reward in rewards] == [1, 0.5, 0, -1, -2, -2]
    extra = [row_reward["reward_extra_info"] for row_reward in rewards]
    assert [row_reward["verdict"] for row_reward in extra] == [
        "AC",
        "WA",
        "WA",
        "no code",
        "not judged",
        "not judged",
    ]
    assert [row_reward["acc"] for row_reward in extra] == [1, 0, 0, 0, 0, 0]
    assert [row_reward["judged"] for row_reward in extra] == [True] * 4 + [False] * 2


def test_unknown_reward_option_is_refused_when_manager_is_loaded(words: tuple[Any, Path]) -> None:
    tokenizer, folder = words
    config = configured(folder, *MANAGER, "+reward.reward_kwargs.mod=partial")
    with pytest.raises(Exception, match="unknown reward option"):
        load_reward_manager(config, tokenizer)


def test_verl_grpo_step_uses_rewards_of_workers(words: tuple[Any, Path]) -> None:
    """Each worker is a process. The advantages and the loss change the model."""
    tokenizer, folder = words
    # A separate cluster, in a separate folder whose path is short enough for sockets.
    temporary = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    ray.init("local", num_cpus=2, include_dashboard=False, logging_level="ERROR", _temp_dir=temporary)
    try:
        manager = RewardLoopManager(configured(folder, *MANAGER, "reward.num_workers=2"))
        data = rollouts(tokenizer)
        data = data.union(manager.compute_rm_score(data))
    finally:
        ray.shutdown()
        shutil.rmtree(temporary, ignore_errors=True)
    assert data.batch["rm_scores"].sum(dim=1).tolist() == [1, 0.5, 0, 0]
    assert data.non_tensor_batch["verdict"].tolist() == ["AC", "WA", "WA", "no code"]

    mask, index = data.batch["response_mask"], data.non_tensor_batch["uid"]
    advantages, _ = compute_grpo_outcome_advantage(data.batch["rm_scores"], mask, index)
    tiny = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **tiny))
    log_probabilities_before = log_probabilities(model, data).detach()
    actor = omega_conf_to_dataclass(
        configured(folder, "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4").actor_rollout_ref.actor
    )
    loss, _ = compute_policy_loss_vanilla(
        log_probabilities_before, log_probabilities(model, data), advantages, mask, config=actor
    )
    loss.backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    gained = ((log_probabilities(model, data) - log_probabilities_before) * mask).sum(dim=1)
    assert gained[0] > gained[2], "the right program became more likely than the wrong program"


def log_probabilities(model: Any, data: DataProto) -> torch.Tensor:
    tokens = torch.cat([data.batch["prompts"], data.batch["responses"]], dim=1)
    logits = model(input_ids=tokens, attention_mask=data.batch["attention_mask"]).logits[:, :-1]
    chosen = logits.log_softmax(dim=-1).gather(2, tokens[:, 1:, None]).squeeze(2)
    return chosen[:, -data.batch["responses"].shape[1] :]
