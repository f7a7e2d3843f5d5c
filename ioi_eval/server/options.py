"""What a server may be told: where it listens, what it takes, how much of it."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from ioi_eval.errors import InputError
from ioi_eval.models import Value
from ioi_eval.secret import Secret


class ServerOptions(Value):
    """Times in ms, sizes in bytes. A limit of -1 is none, as for Piston."""

    host: str = "127.0.0.1"
    port: int = 2000  # 0: one that is free
    queue: int = 64  # requests that may wait while all slots are taken
    max_body: int = 512 << 20  # of a request, inflated
    run_timeout: int = 900_000
    compile_timeout: int = 120_000
    run_cpu_time: int = 900_000
    compile_cpu_time: int = 120_000
    run_memory_limit: int = -1
    compile_memory_limit: int = -1
    token: Secret = Secret()  # that requests must bring; empty: none

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
    if token or open_to_all or _is_loopback(host):
        return
    raise InputError(
        f"on {host}, everybody who reaches this machine could run programs on it",
        field="--host",
        remedy="Give --token-file or IOI_EVAL_TOKEN; --open-to-all if the network is closed",
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
