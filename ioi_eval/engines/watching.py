"""What an engine says of its servers while it works: once per change."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from ioi_eval.model.values import Value


class Change(StrEnum):
    LOST = "lost"  # it cannot be reached, or answers nothing that can be used
    SLOW = "slow"  # it is there, and does not answer
    FULL = "full"  # it turns jobs away
    BACK = "back"  # it takes jobs again, after any of these
    JOINED = "joined"
    GONE = "gone"  # not found any more


class ServerChanged(Value, kw_only=True):
    """One that is lost, slow or full gets no jobs until it is back."""

    url: str
    change: Change
    reason: str = ""
    usable: int  # servers that get jobs now
    slots: int  # of theirs


class JobsWait(Value):
    """No server can be used. Jobs wait for one, and are given up after that time."""

    seconds: float


ServerEvent = ServerChanged | JobsWait
OnServer = Callable[[ServerEvent], None]


def ignore(event: ServerEvent) -> None:
    """Take an event where nobody listens."""
