"""Environment variables that select the engine of a process, and its share of cores and servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self, TypeVar

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Value

if TYPE_CHECKING:
    from ioi_eval.engines.piston.discovery import Discovery

ENDPOINTS, PER_ENDPOINT = "PISTON_ENDPOINTS", "PISTON_MAX_REQUESTS_PER_ENDPOINT"
TOKEN, PYTHON = "IOI_EVAL_TOKEN", "IOI_EVAL_PYTHON"
CALLER = "caller"  # value of the option `python` that selects the interpreter of this process
Default = TypeVar("Default", int, None)


def read_number(
    variables: Mapping[str, str], name: str, default: Default, *, minimum: int = 0
) -> int | Default:
    """Return the whole number in a variable, or the default if the variable is unset or empty.

    Args:
        variables: Environment variables, by name.
        name: Name of the variable.
        default: Returned without a check, so it may be less than `minimum`.
        minimum: Smallest number that the variable may contain.

    Raises:
        InputError: The variable contains something else.
    """
    text = variables.get(name, "").strip()
    if text and not (text.isdecimal() and int(text) >= minimum):
        raise InputError(f"{text!r} is not a whole number of at least {minimum}", where=name)
    return int(text) if text else default


class DistributedProcess(Value):
    """A process of a distributed launch, such as torchrun's. The processes share cores and servers."""

    rank: int = 0  # number of this process among all processes, from 0
    world: int = 1
    local_processes: int = 1  # number of processes on this machine, including this process

    @classmethod
    def from_environment_variables(cls, variables: Mapping[str, str]) -> Self:
        """Return the process that the environment variables of a launcher describe."""
        return cls(
            rank=read_number(variables, "RANK", read_number(variables, "LOCAL_RANK", 0)),
            world=read_number(variables, "WORLD_SIZE", 1),
            local_processes=read_number(variables, "LOCAL_WORLD_SIZE", 1),
        )

    def count_process_cores(self, machine_cores: int) -> int:
        """Return how many of the machine's cores this process may use."""
        return max(1, machine_cores // max(1, self.local_processes))

    def select_process_servers(self, all_servers: Discovery) -> Discovery:
        return ProcessServerDiscovery(all_servers, self.rank, self.world) if self.world > 1 else all_servers


class ProcessServerDiscovery:
    """The discovery of the servers that one process of a distributed training uses."""

    def __init__(self, all_servers: Discovery, process_index: int, process_count: int) -> None:
        self._discovery, self._process_index, self._process_count = (
            all_servers,
            process_index,
            process_count,
        )

    @property
    def search_interval_s(self) -> float | None:
        return self._discovery.search_interval_s

    async def find(self) -> frozenset[str]:
        """Find this process's servers. If there are fewer servers than processes, processes share servers."""
        addresses = sorted(await self._discovery.find())
        return frozenset(
            addresses[self._process_index % min(len(addresses), self._process_count) :: self._process_count]
            if addresses
            else ()
        )
