"""Send requests to an author and store the replies in a dump, one line each.

Several requests run at a time. Each reply is stored and reported as soon as it arrives. `ioi-eval score`
reads the dump.
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

from ioi_eval.generate.model_requests import (
    Author,
    GeneratedReply,
    GenerationFailed,
    ModelRequest,
    OutOfBudget,
)
from ioi_eval.model.errors import InputError
from ioi_eval.model.nesting import require_shallow
from ioi_eval.model.quoting import encode_terminal_safe_json
from ioi_eval.model.values import Value
from ioi_eval.store.files import (
    LineFile,
    Lock,
    create_folder_if_missing,
    read_complete_lines,
    remove_abandoned_file_drafts,
    remove_incomplete_line,
    replace,
)

DUMP_NAME, REQUESTS_NAME = "generations.jsonl", "generations.json"
_LOCK = ".generations.lock"


class Generations:
    """The stored replies in a folder, by key. Use it as a context manager; it locks the folder.

    The replies belong to certain requests: other requests need another folder or `fresh=True`, which discards
    stored replies when the first new reply arrives. Only the lines' offsets are in memory, so the dump may be
    large. An incomplete last line, left by a process that died, is removed.

    Raises:
        InputError: The folder contains replies to other requests.
    """

    def __init__(self, folder: Path, fingerprint: str, author: str, *, fresh: bool = False) -> None:
        self.path, self._author, self._fingerprint = folder / DUMP_NAME, author, fingerprint
        self._request_file, self._fresh = folder / REQUESTS_NAME, fresh
        self._offsets: dict[str, int] = {}
        self._dump: LineFile | None = None
        self._resources = ExitStack()

    def __enter__(self) -> Self:
        folder = self.path.parent
        is_new = create_folder_if_missing(folder)
        lock = self._resources.enter_context(Lock(folder / _LOCK))
        self._resources.callback(_remove_if_unused, folder, lock, is_new)
        try:
            self._open()
        except BaseException:
            self._resources.close()
            raise
        return self

    def __exit__(self, *raised: object) -> None:
        self._resources.close()

    def _open(self) -> None:
        """Read the offsets of stored replies.

        Raises:
            InputError: The replies were generated for other prompts, or with another model or other settings.
        """
        remove_abandoned_file_drafts(self._request_file)
        if self._fresh:
            return
        remove_incomplete_line(self.path)
        for offset, line in read_complete_lines(self.path):
            self._offsets[self._parse_row(offset, line)["uuid"]] = offset
        try:
            stored_fields = msgspec.json.decode(self._request_file.read_bytes(), type=dict[str, str])
        except (FileNotFoundError, ValueError):
            stored_fields = {}
        if self._offsets and stored_fields.get("fingerprint", "") != self._fingerprint:
            raise InputError(
                "the folder contains generations for other prompts, another model or other settings",
                where=str(self.path.parent),
                remedy="Choose another out=FOLDER, or discard the generations with fresh=True",
            )

    def _parse_row(self, offset: int, line: bytes) -> dict[str, Any]:
        """Return the row in a line of the dump. A broken line is an InputError."""
        try:
            row = msgspec.json.decode(require_shallow(line), type=dict[str, Any])
            if not isinstance(row["uuid"], str):
                raise TypeError("uuid is not a string")
        except (ValueError, KeyError, TypeError) as error:
            message = f"the line at byte {offset} is not a generation: {error}"
            raise InputError(
                message, where=str(self.path), remedy="Remove this line from the file"
            ) from error
        return row

    # --- stored replies ---

    def __contains__(self, key: str) -> bool:
        return key in self._offsets

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for key in list(self._offsets):
            yield self.read_row(key)

    def read_row(self, key: str) -> dict[str, Any]:
        """Return the row with this key, read from the dump."""
        offset = self._offsets[key]
        return self._parse_row(offset, self._open_dump().read_line_at(offset))

    # --- new replies ---

    def add(self, request: ModelRequest, reply: GeneratedReply) -> None:
        """Append the reply to the dump. An incomplete line after a crash is removed by the next start."""
        self._offsets[request.key] = self._open_dump().append(
            encode_terminal_safe_json(_make_reply_row(request, reply, self._author))
        )

    def _open_dump(self) -> LineFile:
        """Return the open dump.

        If no replies are stored, first remove an old dump and then write the new fingerprint, so that replies
        are never attributed to other requests.
        """
        if self._dump is None:
            if not self._offsets:
                self.path.unlink(missing_ok=True)
                request_fields = {"fingerprint": self._fingerprint, "author": self._author}
                replace(self._request_file, [encode_terminal_safe_json(request_fields), b"\n"])
            self._dump = LineFile(self.path)
            self._resources.callback(self._dump.close)
        return self._dump


def _remove_if_unused(folder: Path, lock: Lock, is_new: bool) -> None:
    """Remove the folder if this process created it and no reply was stored."""
    if is_new and all(path.name.endswith(_LOCK) for path in folder.iterdir()):
        lock.remove()
        with suppress(OSError):
            folder.rmdir()


def _make_reply_row(request: ModelRequest, reply: GeneratedReply, author: str) -> dict[str, Any]:
    """Return the row of a reply: the columns of published dumps, then a few further columns."""
    timestamp = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    optional_columns = {
        "year": request.year,
        "code": reply.code,
        "reasoning": reply.reasoning or None,
    }
    return {
        "uuid": request.key,
        "problem_id": request.problem_id,
        "prompt": request.prompt,
        "generation": reply.generation,
        "language": reply.language or request.language,
        "solution_number": request.number,
        "model": author,
        "model_kwargs": dict(reply.settings),
        "metadata": {
            "usage": dict(reply.usage),
            "cost": reply.cost,
            "timestamp": timestamp,
            "stop_reason": reply.stop_reason,
        },
        **{name: value for name, value in optional_columns.items() if value is not None},
    }


class StoredReplyEvent(Value):
    """The event that a reply is stored in the dump."""

    key: str
    is_old: bool = False  # True if an earlier call stored the reply


class FailedRequestEvent(Value):
    """The event that there is no reply to a request."""

    key: str
    reason: str


class RequestRunner:
    """Sends requests and yields an event for each reply: first for stored replies, then for new ones.

        async with RequestRunner(requests, author, generations, max_concurrent=8) as events:
            async for event in events: ...

    Leaving the block cancels running requests. Several tasks may iterate at the same time. A slow consumer
    does not delay requests, because replies are on disk and events are small.
    """

    def __init__(
        self,
        requests: Sequence[ModelRequest],
        author: Author,
        generations: Generations,
        *,
        max_concurrent: int,
    ) -> None:
        self._author, self._generations, self._max_concurrent = author, generations, max_concurrent
        self._stored_keys = deque(request.key for request in requests if request.key in generations)
        self._pending = deque(request for request in requests if request.key not in generations)
        # When a writer ends, it puts an exception into the queue, or None if it has no more requests.
        self._events = asyncio.Queue[StoredReplyEvent | FailedRequestEvent | BaseException | None]()
        self._writers: list[asyncio.Task[None]] = []
        self._running_writers = 0

    async def __aenter__(self) -> Self:
        self._running_writers = min(self._max_concurrent, len(self._pending))
        self._writers = [
            asyncio.create_task(self._send_pending_requests()) for _ in range(self._running_writers)
        ]
        return self

    async def __aexit__(self, *raised: object) -> None:
        for task in self._writers:
            task.cancel()
        await asyncio.gather(*self._writers, return_exceptions=True)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StoredReplyEvent | FailedRequestEvent:
        if self._stored_keys:
            return StoredReplyEvent(key=self._stored_keys.popleft(), is_old=True)
        while self._running_writers:
            event = await self._events.get()
            if isinstance(event, StoredReplyEvent | FailedRequestEvent):
                return event
            self._running_writers -= 1
            if event is not None:
                raise event
        raise StopAsyncIteration

    async def _send_pending_requests(self) -> None:
        """Send pending requests one by one, and put an event for each reply into `_events`.

        An error that another attempt cannot fix is put into `_events`, too, and ends this task.
        """
        try:
            while self._pending:
                request = self._pending.popleft()
                try:
                    self._generations.add(request, await self._author.write(request))
                    self._events.put_nowait(StoredReplyEvent(key=request.key))
                except (GenerationFailed, OutOfBudget) as failure:
                    self._events.put_nowait(FailedRequestEvent(key=request.key, reason=str(failure)))
        except BaseException as error:
            if not isinstance(error, asyncio.CancelledError):
                self._events.put_nowait(error)
            raise
        self._events.put_nowait(None)
