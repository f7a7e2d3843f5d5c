"""Asks become generations: so many at a time, each kept when it comes, given on as it comes.

The dump on disk has a line for each. `ioi-eval score` takes it as it is.
"""

from __future__ import annotations

import asyncio
import datetime
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self

import msgspec

from ioi_eval.generate.asks import Ask, Author, GenerationFailed, OutOfBudget, Text
from ioi_eval.model.errors import InputError
from ioi_eval.model.nesting import shallow
from ioi_eval.model.quoting import as_json
from ioi_eval.model.values import Value
from ioi_eval.store.files import Lines, Lock, cut_torn_line, lines, make_folder, replace, sweep_drafts

NAME, ASKED = "generations.jsonl", "generations.json"
_LOCK = ".generations.lock"


class Generations:
    """The generations of a folder, by key: `with Generations(...) as generations`, one process at a time.

    They belong to what was asked: other asks need another folder, or `fresh`. Old ones are given up when the
    first new one is there, not before. Only where they stand is in memory, so there may be any number. A line
    that was cut off when its writer died is taken away, and asked for again.
    """

    def __init__(self, folder: Path, fingerprint: str, author: str, *, fresh: bool = False) -> None:
        self.path, self._author, self._fingerprint = folder / NAME, author, fingerprint
        self._asked, self._fresh = folder / ASKED, fresh
        self._offsets: dict[str, int] = {}
        self._file: Lines | None = None
        self._held = ExitStack()

    def __enter__(self) -> Self:
        folder = self.path.parent
        is_new = make_folder(folder)
        lock = self._held.enter_context(Lock(folder / _LOCK))
        self._held.callback(_unmake, folder, lock, is_new)
        try:
            self._open()
        except BaseException:
            self._held.close()
            raise
        return self

    def __exit__(self, *raised: object) -> None:
        self._held.close()

    def _open(self) -> None:
        sweep_drafts(self._asked)
        if self._fresh:
            return
        cut_torn_line(self.path)
        for offset, line in lines(self.path):
            self._offsets[self._row(offset, line)["uuid"]] = offset
        try:
            asked = msgspec.json.decode(self._asked.read_bytes(), type=dict[str, str])
        except (FileNotFoundError, ValueError):
            asked = {}
        if self._offsets and asked.get("fingerprint", "") != self._fingerprint:
            raise InputError(
                "holds generations of other prompts, another model or other settings",
                where=str(self.path.parent),
                remedy="Choose another out=FOLDER, or discard them with fresh=True",
            )

    def _row(self, offset: int, line: bytes) -> dict[str, Any]:
        try:
            row = msgspec.json.decode(shallow(line), type=dict[str, Any])
            if not isinstance(row["uuid"], str):
                raise TypeError("uuid is no text")
        except (ValueError, KeyError, TypeError) as error:
            problem = f"the line at byte {offset} is no generation: {error}"
            raise InputError(problem, where=str(self.path), remedy="Take the line out") from error
        return row

    # --- what is there ---

    def __contains__(self, key: str) -> bool:
        return key in self._offsets

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for key in list(self._offsets):
            yield self.row(key)

    def row(self, key: str) -> dict[str, Any]:
        offset = self._offsets[key]
        return self._row(offset, self._writer().at(offset))

    # --- what comes ---

    def add(self, ask: Ask, text: Text) -> None:
        """Append one whole line in one write: a kill leaves the line, nothing, or a part that is cut off."""
        self._offsets[ask.key] = self._writer().append(as_json(_row(ask, text, self._author)))

    def _writer(self) -> Lines:
        """Old generations go before it is said what new ones belong to: none is ever taken for another."""
        if self._file is None:
            if not self._offsets:
                self.path.unlink(missing_ok=True)
                asked = {"fingerprint": self._fingerprint, "author": self._author}
                replace(self._asked, [as_json(asked), b"\n"])
            self._file = Lines(self.path)
            self._held.callback(self._file.close)
        return self._file


def _unmake(folder: Path, lock: Lock, is_new: bool) -> None:
    """Takes away a folder that we made and that nothing came into."""
    if is_new and all(path.name.endswith(_LOCK) for path in folder.iterdir()):
        lock.remove()
        with suppress(OSError):
            folder.rmdir()


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


class Written(Value):
    key: str  # its row is in the dump
    kept: bool = False  # since an earlier call


class Failed(Value):
    key: str
    reason: str


class Producing:
    """The news of a dump that is being written: first what is kept already, then what comes.

        async with Producing(asks, author, generations, at_once=8) as news:
            async for one in news: ...

    Whoever leaves the block ends what is under way. Any task may take the next piece of news. Nobody waits
    for who takes them slowly: the dump is on disk, and news are short.
    """

    def __init__(
        self, asks: Sequence[Ask], author: Author, generations: Generations, *, at_once: int
    ) -> None:
        self._author, self._generations, self._at_once = author, generations, at_once
        self._kept = deque(ask.key for ask in asks if ask.key in generations)
        self._waiting = deque(ask for ask in asks if ask.key not in generations)
        self._news = asyncio.Queue[
            Written | Failed | BaseException | None
        ]()  # at the end of a writer: why, or None
        self._crew: list[asyncio.Task[None]] = []
        self._writing = 0

    async def __aenter__(self) -> Self:
        self._writing = min(self._at_once, len(self._waiting))
        self._crew = [asyncio.create_task(self._write()) for _ in range(self._writing)]
        return self

    async def __aexit__(self, *raised: object) -> None:
        for task in self._crew:
            task.cancel()
        await asyncio.gather(*self._crew, return_exceptions=True)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Written | Failed:
        if self._kept:
            return Written(key=self._kept.popleft(), kept=True)
        while self._writing:
            news = await self._news.get()
            if isinstance(news, Written | Failed):
                return news
            self._writing -= 1
            if news is not None:
                raise news
        raise StopAsyncIteration

    async def _write(self) -> None:
        """Run one writer. Errors that no other attempt can mend go into the queue of news."""
        try:
            while self._waiting:
                ask = self._waiting.popleft()
                try:
                    self._generations.add(ask, await self._author.write(ask))
                    self._news.put_nowait(Written(key=ask.key))
                except (GenerationFailed, OutOfBudget) as failure:
                    self._news.put_nowait(Failed(key=ask.key, reason=str(failure)))
        except BaseException as error:
            if not isinstance(error, asyncio.CancelledError):
                self._news.put_nowait(error)
            raise
        self._news.put_nowait(None)
