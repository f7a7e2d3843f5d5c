"""A tiny random model and its tokenizer, created without downloads."""

from __future__ import annotations

import json
from typing import Any

from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TESTS = json.dumps({"inputs": ["2\n", "5\n"], "outputs": ["4\n", "10\n"]})
CHAT = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer whose tokens are bytes."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    token_ids = {character: number for number, character in enumerate(["<pad>", "<eos>", *alphabet])}
    inner = Tokenizer(models.BPE(vocab=token_ids, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    fast_tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>")
    fast_tokenizer.chat_template = CHAT
    return fast_tokenizer


def model(vocabulary_size: int) -> LlamaForCausalLM:
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary_size,
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=512,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=1,
        )
    )


def dataset(rows: int, *, conversational: bool = False, **columns: Any) -> Dataset:
    prompt: Any = "Double it."
    if conversational:
        prompt = [{"role": "user", "content": prompt}]
    return Dataset.from_list([{"prompt": prompt, **columns} for _ in range(rows)])
