"""What a server may be told: where it listens, what it takes, how much of it."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from pathlib import Path

from ioi_eval.model.errors import InputError
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import Value

_SHARE = 8  # of the memory: a body that is being decoded takes three times its size, and its box once more
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class ServerOptions(Value):
    """Times in ms, sizes in bytes. A limit of -1 is none, as for Piston."""

    host: str = "127.0.0.1"
    port: int = 2000  # 0: one that is free
    queue: int = 64  # requests that may wait while all slots are taken
    max_body: int = 512 << 20  # of a request, inflated
    max_bodies: int | None = None  # of all requests that run or wait; None: a share of the memory
    max_output: int = 64 << 20  # of standard output, and of standard error
    run_timeout: int = 900_000
    compile_timeout: int = 120_000
    run_cpu_time: int = 900_000
    compile_cpu_time: int = 120_000
    run_memory_limit: int = -1
    compile_memory_limit: int = -1
    token: Secret = Secret()  # that requests must bring; empty: none
    allow_hosts: tuple[str, ...] = ()  # further names of the worker, for requests without a token

    @property
    def room(self) -> int:
        """Bytes of all bodies; always enough for one."""
        share = machine_memory() // _SHARE if self.max_bodies is None else self.max_bodies
        return max(self.max_body, share)

    def limits(self) -> Mapping[str, int]:
        """By the names that requests have for them: what a job gets, and the most that it may ask for."""
        return {
            "run_timeout": self.run_timeout,
            "compile_timeout": self.compile_timeout,
            "run_cpu_time": self.run_cpu_time,
            "compile_cpu_time": self.compile_cpu_time,
            "run_memory_limit": self.run_memory_limit,
            "compile_memory_limit": self.compile_memory_limit,
        }


def check_address(host: str, *, token: str, open_to_all: bool) -> None:
    """Whoever reaches a worker runs programs on it: from elsewhere only with a token, or on request."""
    if token or open_to_all or is_loopback(host):
        return
    raise InputError(
        f"on {host}, everybody who reaches this machine could run programs on it",
        field="--host",
        remedy="Give --token-file or IOI_EVAL_TOKEN; --open-to-all if the network is closed",
    )


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def machine_memory() -> int:
    """Bytes that this machine has, or that a container gives us of them."""
    texts = (Path(group).read_text() for group in _GROUPS if Path(group).is_file())
    limits = (int(text) for text in texts if text.strip().isdecimal())
    return min(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), *limits)
