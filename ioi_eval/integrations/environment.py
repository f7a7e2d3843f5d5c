"""What the environment says: the cache, servers and their secret, this process's part of all that."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from ioi_eval import Store, Transport
from ioi_eval.errors import InputError
from ioi_eval.models import Secret, Value

if TYPE_CHECKING:
    from ioi_eval.engines import Discovery

ENDPOINTS, _PER_ENDPOINT, TOKEN = "PISTON_ENDPOINTS", "PISTON_MAX_REQUESTS_PER_ENDPOINT", "IOI_EVAL_TOKEN"
_CACHE, _PYTHON = "IOI_EVAL_CACHE", "IOI_EVAL_PYTHON"
Default = TypeVar("Default", int, None)


def own_store(limit: int | None = None) -> Store:
    return Store.usual(os.environ.get(_CACHE), limit)


def python_of(variables: Mapping[str, str], wanted: str = "") -> str:
    """The path or version of the interpreter for submissions; empty: the judge chooses."""
    return wanted or variables.get(_PYTHON, "").strip()


class Servers(Value):
    """Where jobs go. Under a launcher that sets WORLD_SIZE, each process takes its share of the servers."""

    text: str  # a list of addresses, `slurm`, `k8s:SERVICE`, `@FILE`
    per_endpoint: int | None = None  # jobs at a time; None: as many as a server says
    token: Secret = Secret()
    rank: int = 0
    world: int = 1

    def engine(self) -> Transport:
        from ioi_eval import PistonEngine, discovery  # loads aiohttp, which not everybody here needs

        found = discovery(self.text)
        mine = Share(found, self.rank, self.world) if self.world > 1 else found
        return PistonEngine(mine, per_endpoint=self.per_endpoint, token=self.token)


def servers_of(variables: Mapping[str, str]) -> Servers | None:
    """None where PISTON_ENDPOINTS names none."""
    text = variables.get(ENDPOINTS, "").strip()
    if not text:
        return None
    return Servers(
        text=text,
        per_endpoint=_number(variables, _PER_ENDPOINT, None, least=1),
        token=Secret(variables.get(TOKEN, "").strip()),
        rank=_number(variables, "RANK", _number(variables, "LOCAL_RANK", 0)),
        world=_number(variables, "WORLD_SIZE", 1),
    )


def share_of_cores(variables: Mapping[str, str], cores: int) -> int:
    """Of a machine whose processes all judge, as launchers start them: together they use each core once."""
    return max(1, cores // max(1, _number(variables, "LOCAL_WORLD_SIZE", 1)))


class Share:
    """The part of a cluster that one of several processes of a training uses."""

    def __init__(self, whole: Discovery, rank: int, world: int) -> None:
        self._whole, self._rank, self._world = whole, rank, world

    @property
    def every(self) -> float | None:
        return self._whole.every

    async def find(self) -> frozenset[str]:
        """Where there are fewer servers than processes, some share one."""
        found = sorted(await self._whole.find())
        return frozenset(found[self._rank % min(len(found), self._world) :: self._world] if found else ())


def _number(variables: Mapping[str, str], name: str, default: Default, *, least: int = 0) -> int | Default:
    text = variables.get(name, "").strip()
    if text and not (text.isdecimal() and int(text) >= least):
        raise InputError(f"{text!r} is not a whole number from {least}", where=name)
    return int(text) if text else default
