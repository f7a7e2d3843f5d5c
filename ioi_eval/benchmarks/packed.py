"""Tests that a dataset packed to save space: base64 of zlib of a pickled text.

A pickle is a program, and one from a dataset is a stranger's. It is never run: its instructions are only
read, and there may be none but those that push one text.
"""

from __future__ import annotations

import base64
import binascii
import pickletools
import zlib
from collections.abc import Iterator

from ioi_eval.cases import broken

LARGEST = 1 << 30  # bytes, unpacked: far more than any problem that is known has
_TEXTS = frozenset({"UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"})
_HARMLESS = frozenset({"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"})


def unpacked(text: str, *, largest: int = LARGEST) -> str:
    """The text that was packed. CasesError where it is anything else."""
    try:
        packed = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise broken(f"packed, and no base64 ({error})") from error
    return pickled_text(_inflated(packed, largest))


def _inflated(packed: bytes, largest: int) -> bytes:
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(packed, largest)
    except zlib.error as error:
        raise broken(f"packed, and no zlib ({error})") from error
    if inflater.unconsumed_tail:
        raise broken(f"more than {largest >> 20} MiB when it is unpacked")
    if not inflater.eof:
        raise broken("packed, and cut off")
    return data


def pickled_text(data: bytes) -> str:
    """The one text in a pickle, without unpickling."""
    texts = [text for name, text in _instructions(data) if name in _TEXTS]
    if len(texts) != 1 or not isinstance(texts[0], str):
        raise broken(f"a pickle of {len(texts)} texts, and not of one")
    return texts[0]


def _instructions(data: bytes) -> Iterator[tuple[str, object]]:
    try:
        for operation, argument, _ in pickletools.genops(data):
            if operation.name not in _TEXTS | _HARMLESS:
                raise broken(f"a pickle that is more than a text ({operation.name})")
            yield operation.name, argument
    except (ValueError, OverflowError) as error:
        raise broken(f"packed, and no pickle ({error})") from error
