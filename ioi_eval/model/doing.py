"""The steps of submissions under way: the judge and engines note them, a run shows them while it goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple

BUILD, TESTS, WAITS = "build", "tests", "waits"


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
def at(place: str) -> Iterator[None]:
    """Hold a slot there."""
    here = _HERE.get()
    if here is None or here.step is None:
        yield
        return
    here.step.where = place
    try:
        yield
    finally:
        here.step.where = ""
