"""Divide the rows of a run into shards by a hash of each row's key; separate calls judge the shards."""

from __future__ import annotations

import hashlib
import re
from typing import Self

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Value

_HASH_BYTES = 8
_FORM = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")


class Shard(Value):
    """Shard `index` of `number` shards, counted from 1."""

    index: int
    number: int

    def __post_init__(self) -> None:
        if not 1 <= self.index <= self.number:
            remedy = "Give I/N with I from 1 to N, such as 1/4"
            raise InputError(f"the shard {self} does not exist", field="shard", remedy=remedy)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the shard in a string such as `1/4`. Raises InputError for other strings."""
        if (shard_match := _FORM.fullmatch(text.strip())) is None:
            remedy = "Give I/N with I from 1 to N, such as 1/4"
            raise InputError(f"{text!r} is not a valid shard", field="shard", remedy=remedy)
        return cls(index=int(shard_match[1]), number=int(shard_match[2]))

    def __str__(self) -> str:
        return f"{self.index}/{self.number}"

    def contains(self, key: str) -> bool:
        """Return True if the row with this key belongs to the shard. The hash is SHA-256."""
        key_hash = hashlib.sha256(key.encode(errors="surrogatepass")).digest()
        return int.from_bytes(key_hash[:_HASH_BYTES], "big") % self.number == self.index - 1
