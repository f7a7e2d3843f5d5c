"""The dump on disk: a line for each generation, written when it comes. `ioi-eval score` takes it as it is."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from ioi_eval.errors import InputError
from ioi_eval.generate.asking import Ask, Text

NAME, ASKED = "generations.jsonl", "generations.json"


class Generations:
    """The generations of a folder. They belong to what was asked: other asks need another folder, or `fresh`.

    A line that was cut off when its writer died is taken away, and asked for again.
    """

    def __init__(self, folder: Path, fingerprint: str, author: str, *, fresh: bool = False) -> None:
        self.path, self._author = folder / NAME, author
        self._asked = folder / ASKED
        if fresh:
            self.path.unlink(missing_ok=True)
            self._asked.unlink(missing_ok=True)
        self._check(fingerprint)
        self._fingerprint = fingerprint
        self._end = 0
        self.rows = {str(row["uuid"]): row for row in self._read()}
        self._stream: Any = None

    def _check(self, fingerprint: str) -> None:
        try:
            known = msgspec.json.decode(self._asked.read_bytes())
        except FileNotFoundError:
            known = None
        except msgspec.DecodeError:
            known = {}
        if known is None and self.path.exists():
            known = {}
        if known is not None and (not isinstance(known, dict) or known.get("fingerprint") != fingerprint):
            raise InputError(
                "holds generations of other prompts, another model or other settings",
                where=str(self.path.parent),
                remedy="Name another folder with --out, or give them up with --fresh",
            )

    def _read(self) -> Iterator[dict[str, Any]]:
        if not self.path.exists():
            return
        with self.path.open("rb") as stream:
            for line in stream:
                if not line.endswith(b"\n"):
                    return
                yield self._row(line)
                self._end += len(line)

    def _row(self, line: bytes) -> dict[str, Any]:
        try:
            row = msgspec.json.decode(line)
            return {**row, "uuid": row["uuid"]}
        except (msgspec.DecodeError, KeyError, TypeError) as error:
            problem = f"the line at byte {self._end} is no generation: {error}"
            raise InputError(problem, where=str(self.path), remedy="Take the line out") from error

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._asked.write_bytes(
            msgspec.json.encode({"fingerprint": self._fingerprint, "author": self._author})
        )
        self._stream = self.path.open("r+b" if self.path.exists() else "w+b")
        self._stream.truncate(self._end)
        self._stream.seek(0, os.SEEK_END)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    def add(self, ask: Ask, text: Text) -> dict[str, Any]:
        """One whole line, in one write: whoever is killed leaves it or nothing, or a part that is cut off."""
        row = _row(ask, text, self._author)
        self._stream.write(msgspec.json.encode(row) + b"\n")
        self._stream.flush()
        self.rows[ask.key] = row
        return row


def _row(ask: Ask, text: Text, author: str) -> dict[str, Any]:
    """The columns of published dumps; a few of ours behind them."""
    stamp = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    optional = {
        "year": ask.year,
        "code": text.code,
        "reasoning": text.reasoning or None,
    }
    return {
        "uuid": ask.key,
        "problem_id": ask.problem_id,
        "prompt": ask.prompt,
        "generation": text.generation,
        "language": text.language or ask.language,
        "solution_number": ask.number,
        "model": author,
        "model_kwargs": dict(text.settings),
        "metadata": {
            "usage": dict(text.usage),
            "cost": text.cost,
            "timestamp": stamp,
            "stop_reason": text.stop_reason,
        },
        **{name: value for name, value in optional.items() if value is not None},
    }
