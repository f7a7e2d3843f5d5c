"""Completions side by side, and those that are not judged: each kind is told once, counted to the end."""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading
from collections import Counter
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from ioi_eval.errors import CasesError, InputError, IoiEvalError, ModuleMissing

T = TypeVar("T")
_log = logging.getLogger(__name__)
_KINDS = (
    (CasesError, "tests that cannot be read"),
    (ModuleMissing, "a package that the judge lacks"),
    (InputError, "a row that cannot be judged"),
    (IoiEvalError, "a failure of the judge"),
)


async def together(parts: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """All of them, or the first failure as it is; the others are cancelled."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(part) for part in parts]
    except ExceptionGroup as errors:
        raise (errors.subgroup(IoiEvalError) or errors).exceptions[0] from None
    return [task.result() for task in tasks]


class _Misses:
    def __init__(self) -> None:
        self.start_anew()

    def start_anew(self) -> None:
        """Forget all. A forked child does so, too: the parent tells of its own."""
        self.lock = threading.Lock()
        self.counts: Counter[str] = Counter()

    def note(self, error: IoiEvalError) -> None:
        """Count a completion that is not judged because of an error; warn of the first of its kind."""
        kind = next(words for classes, words in _KINDS if isinstance(error, classes))
        with self.lock:
            is_new = kind not in self.counts
            self.counts[kind] += 1
        if is_new:
            _log.warning("not judged because of %s: %s (told once, counted to the end)", kind, error)

    def tell(self) -> None:
        if self.counts:
            kinds = ", ".join(f"{count} because of {kind}" for kind, count in self.counts.items())
            # What a handler writes to may be closed by now, as by pytest: no reason for a traceback.
            logging.raiseExceptions = False
            _log.warning("%d not judged: %s", self.counts.total(), kinds)


_own = _Misses()
note = _own.note
atexit.register(_own.tell)
os.register_at_fork(after_in_child=_own.start_anew)
