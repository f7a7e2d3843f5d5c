"""Each row belongs to the same single shard, on every machine and in every call."""

from __future__ import annotations

from collections import Counter

import pytest

from ioi_eval import InputError
from ioi_eval.rules.shards import Shard

KEYS = [*map(str, range(500)), "", "a/0", "\ud800", "é"]


@pytest.mark.parametrize("number", [1, 2, 3, 7, 100, pytest.param(1000, marks=pytest.mark.nightly)])
def test_each_key_is_in_one_shard(number: int) -> None:
    shards = [Shard(index=index, number=number) for index in range(1, number + 1)]
    assert all(sum(shard.contains(key) for shard in shards) == 1 for key in KEYS)


def test_shards_are_of_similar_size() -> None:
    shard_sizes = Counter(
        index for key in KEYS for index in range(1, 5) if Shard(index=index, number=4).contains(key)
    )
    assert len(shard_sizes) == 4 and min(shard_sizes.values()) > 90


def test_shard_of_a_key_is_stable() -> None:
    """It is the first 8 bytes of SHA-256 as an integer, modulo the number of shards."""
    five = [
        next(index for index in range(1, 6) if Shard(index=index, number=5).contains(key)) for key in "abcdef"
    ]
    assert five == [1, 2, 1, 5, 3, 3]


@pytest.mark.parametrize(
    "shard_text", ["", "1", "0/4", "5/4", "1/0", "-1/4", "1/4/2", "a/b", "1.0/2", "1/9999999"]
)
def test_malformed_shard_text_is_input_error(shard_text: str) -> None:
    with pytest.raises(InputError) as refused:
        Shard.parse(shard_text)
    assert refused.value.field == "shard" and "such as 1/4" in refused.value.remedy


def test_shard_text_is_parsed() -> None:
    assert Shard.parse(" 2/4 ") == Shard(index=2, number=4) and str(Shard.parse("2/4")) == "2/4"
