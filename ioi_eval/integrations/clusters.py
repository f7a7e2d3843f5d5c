"""Clusters and tests by the variables and names that today's pipelines know."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from ioi_eval.engines import Engine
from ioi_eval.engines.piston.endpoints import Discovery
from ioi_eval.errors import InputError
from ioi_eval.integrations.classic_clients import ClusterClient

_ENDPOINTS, _PER_ENDPOINT, _TOKEN = "PISTON_ENDPOINTS", "PISTON_MAX_REQUESTS_PER_ENDPOINT", "IOI_EVAL_TOKEN"
_CACHE = "IOI_EVAL_CACHE"


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


def get_piston_client_from_env(session: object = None) -> ClusterClient:
    """A client for the servers of PISTON_ENDPOINTS (a list, `slurm`, `k8s:SERVICE`, `@FILE`).

    PISTON_MAX_REQUESTS_PER_ENDPOINT bounds the jobs on each, one where it is not set. Under a launcher that
    sets WORLD_SIZE, each process takes its share of the servers. `session` is not needed and passed over.
    """
    servers = os.environ.get(_ENDPOINTS, "").strip()
    if not servers:
        remedy = "Set it to the addresses of servers, commas between them, or to `slurm`"
        raise InputError(f"{_ENDPOINTS} is not set", remedy=remedy)
    per_endpoint = _number(_PER_ENDPOINT, 1)
    rank, world = _number("RANK", _number("LOCAL_RANK", 0)), _number("WORLD_SIZE", 1)
    token = os.environ.get(_TOKEN) or None
    return ClusterClient(partial(_engine, servers, per_endpoint, rank, world, token))


def _engine(servers: str, per_endpoint: int, rank: int, world: int, token: str | None) -> Engine:
    from ioi_eval.engines.piston import PistonEngine  # loads aiohttp, which not everybody here needs
    from ioi_eval.engines.piston.discovery import discovery

    found: Discovery = discovery(servers)
    mine = Share(found, rank, world) if world > 1 else found
    return PistonEngine(mine, per_endpoint=per_endpoint, token=token)


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "").strip()
    if text and not text.isdecimal():
        raise InputError(f"{text!r} is not a whole number", where=name)
    return int(text) if text else default


def get_slurm_piston_endpoints() -> list[str]:
    """The addresses of the running jobs named piston-worker-PORT, as `http://HOST:PORT/api/v2`."""
    from ioi_eval.engines.piston.discovery import Slurm

    with ThreadPoolExecutor(1) as thread:  # whoever calls may have an event loop running
        found = thread.submit(lambda: asyncio.run(Slurm().find())).result()
    return [f"{url}/api/v2" for url in sorted(found)]


def load_ioi_tests(year: int, problem_id: str) -> Mapping[str, tuple[str, str]]:
    """Input and output of every test of a problem, by name, from the published set."""
    from ioi_eval.benchmarks import BenchmarkOptions, find_benchmark, load
    from ioi_eval.store import default_root

    options = BenchmarkOptions(years=frozenset({int(year)}), problems=frozenset({problem_id}))
    problem = load(find_benchmark("ioi"), options, cache=default_root(os.environ.get(_CACHE))).find(
        problem_id, int(year)
    )
    return {
        test.name: (test.input.read().decode(), test.answer.read().decode() if test.answer else "")
        for test in problem.tests
    }
