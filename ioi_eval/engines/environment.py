"""Variables of the environment that say where a process judges, and what part of it is its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self, TypeVar

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Value

if TYPE_CHECKING:
    from ioi_eval.engines.piston.discovery import Discovery

ENDPOINTS, PER_ENDPOINT = "PISTON_ENDPOINTS", "PISTON_MAX_REQUESTS_PER_ENDPOINT"
TOKEN, PYTHON = "IOI_EVAL_TOKEN", "IOI_EVAL_PYTHON"
CALLER = "caller"  # in place of an interpreter's path: the one that runs us
Default = TypeVar("Default", int, None)


def read_number(
    variables: Mapping[str, str], name: str, default: Default, *, least: int = 0
) -> int | Default:
    """Return a variable's whole number, and the default where it is not set or empty."""
    text = variables.get(name, "").strip()
    if text and not (text.isdecimal() and int(text) >= least):
        raise InputError(f"{text!r} is not a whole number from {least}", where=name)
    return int(text) if text else default


class Launch(Value):
    """A process among those that a launcher starts: together they use each core and each server once."""

    rank: int = 0  # among all of them
    world: int = 1
    neighbours: int = 1  # processes on this machine

    @classmethod
    def of(cls, variables: Mapping[str, str]) -> Self:
        return cls(
            rank=read_number(variables, "RANK", read_number(variables, "LOCAL_RANK", 0)),
            world=read_number(variables, "WORLD_SIZE", 1),
            neighbours=read_number(variables, "LOCAL_WORLD_SIZE", 1),
        )

    def cores(self, processors: int) -> int:
        """Return how many of this machine's cores are this process's."""
        return max(1, processors // max(1, self.neighbours))

    def servers(self, found: Discovery) -> Discovery:
        return Share(found, self.rank, self.world) if self.world > 1 else found


class Share:
    """The part of a cluster that one of several processes of a training uses."""

    def __init__(self, whole: Discovery, rank: int, world: int) -> None:
        self._whole, self._rank, self._world = whole, rank, world

    @property
    def every(self) -> float | None:
        return self._whole.every

    async def find(self) -> frozenset[str]:
        """Find this process's servers. Where there are fewer servers than processes, some share one."""
        found = sorted(await self._whole.find())
        return frozenset(found[self._rank % min(len(found), self._world) :: self._world] if found else ())
