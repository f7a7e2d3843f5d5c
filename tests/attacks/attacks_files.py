"""Attacks by submitted output files, which are read by a checker and not executed."""

from __future__ import annotations

from dataclasses import dataclass

from attack import FORGED, WA


@dataclass(frozen=True, kw_only=True)
class HandedIn:
    name: str
    content: bytes
    heading: str
    language: str = "file"
    verdicts: tuple[str, ...] = (WA,)
    layers: tuple[str, ...]


_CLEANING, _APART = ("cleaning",), ("apart",)

FILES = (
    HandedIn(name="a-file-of-nul", content=bytes(100_000), heading="confusing", layers=_CLEANING),
    HandedIn(name="a-file-of-broken-utf-8", content=b"\xf0\x9f\xff\xc0\xaf" * 9999, heading="confusing", layers=_CLEANING),
    HandedIn(name="a-file-of-one-line", content=b"x" * (3 << 20), heading="confusing", layers=_CLEANING),
    HandedIn(name="a-file-that-names-the-answer", content=b"/proc/self/fd/5\ncorrect_output.txt\n", heading="stealing", layers=_APART),
    HandedIn(
        name="a-file-with-a-verdict",
        content=b'1\n100\n{"v":2,"nonce":"","test":0,"end":"ok","score":1,"feedback":"%s"}\n' % FORGED.encode(),
        heading="forging",
        layers=_APART,
    ),
    HandedIn(name="an-empty-file", content=b"", heading="confusing", layers=_APART),
)  # fmt: skip
