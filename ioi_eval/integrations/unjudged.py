"""Judge several completions at once, and log how many completions could not be judged.

The first error of each kind is logged at once, and the numbers of all kinds when the process ends.
"""

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


class UnknownProblemError(CasesError):
    """A row names an unknown problem or subtask."""


_log = logging.getLogger(__name__)
# Kinds of errors in messages, by class. The first class that matches is used.
_KINDS = (
    (UnknownProblemError, "a row that names an unknown problem or subtask"),
    (CasesError, "tests that cannot be read"),
    (ModuleMissing, "a package that the judge lacks"),
    (InputError, "a row that cannot be judged"),
    (IoiEvalError, "a failure of the judge"),
)


async def gather_results(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run the coroutines at once and return their results.

    If a coroutine fails, cancel the other coroutines and raise its error.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in coroutines]
    except ExceptionGroup as errors:
        raise (errors.subgroup(IoiEvalError) or errors).exceptions[0] from None
    return [task.result() for task in tasks]


class _UnjudgedCompletionCounter:
    """Counts the completions that were not judged, by kind of error."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Set the counts to 0. Forked children call this, because the parent logs its own counts."""
        self.lock = threading.Lock()
        self.counts: Counter[str] = Counter()

    def count_unjudged(self, error: IoiEvalError) -> None:
        """Count a completion that was not judged because of an error. Log the first error of each kind."""
        kind = next(kind for classes, kind in _KINDS if isinstance(error, classes))
        with self.lock:
            is_first = kind not in self.counts
            self.counts[kind] += 1
        if is_first:
            _log.warning(
                "a submission was not judged because of %s: %s (logged once; the"
                " number of such submissions is logged at the end)",
                kind,
                error,
            )

    def log_counts(self) -> None:
        """Log the number of completions that were not judged, by kind of error."""
        if self.counts:
            counts_text = ", ".join(f"{count} because of {kind}" for kind, count in self.counts.items())
            # A log handler's stream may already be closed, as in pytest. Do not print a traceback then.
            logging.raiseExceptions = False
            _log.warning(
                "number of submissions that were not judged: %d (%s)", self.counts.total(), counts_text
            )


_unjudged_counter = _UnjudgedCompletionCounter()
count_unjudged = _unjudged_counter.count_unjudged
atexit.register(_unjudged_counter.log_counts)
os.register_at_fork(after_in_child=_unjudged_counter.reset)
