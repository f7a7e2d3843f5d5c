"""The steps of submissions under way: the judge and engines note them, a run shows them while it goes on.

Each step can also be logged, at the level DEBUG, with the key of its submission.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple

from ioi_eval.model.errors import IoiEvalError

BUILD, TESTS, WAITS = "build", "tests", "waits"
_log = logging.getLogger(__name__)
_NAMED = 8  # maximum number of tests that a log line names
_LONGEST_KEY = 100  # maximum length of a submission's key in the log, in characters


@dataclass(eq=False)
class _Step:
    """A part of the work on a submission."""

    kind: str
    where: str = ""  # the server or slot that does it; empty: it waits for one


class Doing:
    """A submission under way. Some of its steps go on side by side."""

    def __init__(self, key: str, problem: str) -> None:
        self.key, self.problem, self.since = key, problem, time.time()
        self._steps = list[_Step]()

    @property
    def step(self) -> _Step:
        """Return the step that goes on, or one that waits."""
        return next((step for step in self._steps if step.where), self._steps[0] if self._steps else _WAITING)


class _Here(NamedTuple):
    doing: Doing
    step: _Step | None


_WAITING = _Step(WAITS)
_HERE: ContextVar[_Here | None] = ContextVar("_HERE", default=None)


@contextmanager
def doing(key: str, problem: str) -> Iterator[Doing]:
    """Work on a submission: what is awaited within notes its steps there."""
    found = Doing(key, problem)
    before = _HERE.set(_Here(found, None))
    try:
        yield found
    finally:
        _HERE.reset(before)


def under_way() -> Doing | None:
    """Return the submission that is worked on here."""
    here = _HERE.get()
    return None if here is None else here.doing


@contextmanager
def step(kind: str) -> Iterator[None]:
    if (here := _HERE.get()) is None:
        yield
        return
    own = _Step(kind)
    before = _HERE.set(_Here(here.doing, own))
    here.doing._steps.append(own)
    try:
        yield
    finally:
        here.doing._steps.remove(own)
        _HERE.reset(before)


@contextmanager
def at(place: str, logger: logging.Logger = _log) -> Iterator[None]:
    """Hold a slot there, and log when the work goes there and what comes back."""
    here = _HERE.get()
    step = None if here is None else here.step
    if step is not None:
        step.where = place
    began = time.perf_counter()
    log_step(logger, "sent to %s", place)
    try:
        yield
    except IoiEvalError as error:
        log_step(logger, "failed on %s: %s: %s", place, type(error).__name__, error)
        raise
    else:
        log_step(logger, "answered by %s in %.3f s", place, time.perf_counter() - began)
    finally:
        if step is not None:
            step.where = ""


# --- the log -----------------------------------------------------------------------------------------


_WORK: ContextVar[str] = ContextVar("_WORK", default="")


def log_step(logger: logging.Logger, text: str, *args: object) -> None:
    """Log a step of the work that goes on here, with the key of its submission, at the level DEBUG.

    Log lines name tests, programs and servers. They never hold contents of files, outputs or tokens.
    """
    if logger.isEnabledFor(logging.DEBUG):
        found = under_way()
        key = "" if found is None else found.key[:_LONGEST_KEY]
        subject = ", ".join(filter(None, (key if key.isprintable() else ascii(key), _WORK.get())))
        logger.debug(f"%s: {text}" if subject else f"%s{text}", subject, *args)


def logged_work(logger: logging.Logger, kind: str, names: Iterable[str] = ()) -> AbstractContextManager[None]:
    """Return a context in which log lines name this work, such as "tests 01, 02".

    Of many names, the first are shown: each test has a line of its own in the end.
    """
    if not logger.isEnabledFor(logging.DEBUG):
        return nullcontext()
    listed = [*names]
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return _named(f"{kind} {', '.join(listed[:_NAMED])}{more}".strip())


@contextmanager
def _named(work: str) -> Iterator[None]:
    before = _WORK.set(work)
    try:
        yield
    finally:
        _WORK.reset(before)
