"""Where jobs can go: the places that are known, what is found about them, and who finds them."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from ioi_eval.engines.piston.timing import ServerTimes


class Discovery(Protocol):
    """Finds the servers. A look that fails raises an error of ours; what was known then stands."""

    @property
    def every(self) -> float | None:
        """Seconds between two looks. None: what is found first is all there will be."""
        ...

    async def find(self) -> frozenset[str]:
        """The base URLs of all servers: `http://host:2000`."""
        ...


class Condition(StrEnum):
    HEALTHY = "healthy"
    TRIAL = "trial"  # it answers again; one job will tell
    DOWN = "down"  # no jobs until it answers
    GONE = "gone"  # not found any more: what runs there may end, nothing more begins


class Endpoint:
    """One server and what goes on there. Its engine alone changes it."""

    def __init__(self, url: str, slots: int, times: ServerTimes | None = None) -> None:
        self.url, self.slots = url, slots
        self.times = times or ServerTimes()
        self.condition = Condition.HEALTHY
        self.busy = 0  # jobs of ours under way
        self.faults = 0  # in a row
        self.rests = 0  # since it was last well

    @property
    def usable(self) -> bool:
        return self.condition in (Condition.HEALTHY, Condition.TRIAL)

    @property
    def room(self) -> int:
        """How many jobs it may have at a time."""
        if self.condition is Condition.TRIAL:
            return 1
        return self.slots if self.usable else 0

    def __repr__(self) -> str:
        return f"Endpoint({self.url}, {self.condition.value}, {self.busy}/{self.slots})"
