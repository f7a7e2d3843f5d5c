"""What is known of one server, as a value."""

from __future__ import annotations

from collections.abc import Mapping

from ioi_eval.engines.conditions import Condition
from ioi_eval.model.values import Toolchain, Value

CODEFORCES = "cf_python3"
"""The package `codeforces` provides no language of its own name. This one shows that it is there."""


_OURS = "ioi-eval worker"  # as server/routes.py says hello


class EndpointReport(Value):
    """What a probe found. Times in ms, sizes in bytes; None: no limit, or none as far as was tried."""

    url: str
    reachable: bool = True
    reason: str = ""  # why it is not
    server: str = ""  # what it calls itself: Piston v3.1.1
    isolates: bool | None = None  # the current server does; the one before says nothing of statuses and times
    runtimes: tuple[str, ...] = ()  # names and aliases
    runtime: str = ""  # the one that was tried
    slots: int | None = None  # jobs at a time, where it says so
    architecture: str = ""
    cores: int | None = None
    toolchains: Mapping[str, Toolchain] = {}  # by command
    cpp_standard: str = ""  # the highest that g++ takes
    static: bool | None = None  # whether g++ links statically
    max_run_time: int | None = None
    max_compile_time: int | None = None
    max_run_cpu_time: int | None = None
    max_compile_cpu_time: int | None = None
    max_run_memory: int | None = None
    max_compile_memory: int | None = None
    max_body: int | None = None
    max_output: int | None = None
    max_file: int | None = None
    max_processes: int | None = None
    max_open_files: int | None = None
    findings: tuple[Condition, ...] = ()  # a line each for the doctor

    @property
    def is_ours(self) -> bool:
        """A worker: its boxes are the proctor's, and it counts time as we do."""
        return _OURS in self.server

    @property
    def is_strict(self) -> bool:
        """Whether its limits are known and are of time that passes: those of all servers but ours."""
        return self.max_run_time is not None and not self.is_ours
