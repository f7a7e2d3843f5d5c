"""Clusters and tests by the variables and names that today's pipelines know."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import msgspec

from ioi_eval.errors import InputError
from ioi_eval.integrations.classic_clients import ClusterClient
from ioi_eval.integrations.environment import ENDPOINTS, cache_folder, servers_of


def get_piston_client_from_env(session: object = None) -> ClusterClient:
    """A client for the servers of PISTON_ENDPOINTS (a list, `slurm`, `k8s:SERVICE`, `@FILE`).

    PISTON_MAX_REQUESTS_PER_ENDPOINT bounds the jobs on each, one where it is not set. Under a launcher that
    sets WORLD_SIZE, each process takes its share of the servers. `session` is not needed and passed over.
    """
    servers = servers_of(os.environ)
    if servers is None:
        remedy = "Set it to the addresses of servers, commas between them, or to `slurm`"
        raise InputError(f"{ENDPOINTS} is not set", remedy=remedy)
    one = msgspec.structs.replace(servers, per_endpoint=servers.per_endpoint or 1)
    return ClusterClient(one.engine)


def get_slurm_piston_endpoints() -> list[str]:
    """The addresses of the running jobs named piston-worker-PORT, as `http://HOST:PORT/api/v2`."""
    from ioi_eval.engines.piston.discovery import Slurm

    with ThreadPoolExecutor(1) as thread:  # whoever calls may have an event loop running
        found = thread.submit(lambda: asyncio.run(Slurm().find())).result()
    return [f"{url}/api/v2" for url in sorted(found)]


def load_ioi_tests(year: int, problem_id: str) -> Mapping[str, tuple[str, str]]:
    """Input and output of every test of a problem, by name, from the published set."""
    from ioi_eval.benchmarks import BenchmarkOptions, find_benchmark, load

    options = BenchmarkOptions(years=frozenset({int(year)}), problems=frozenset({problem_id}))
    problem = load(find_benchmark("ioi"), options, cache=cache_folder()).find(problem_id, int(year))
    return {
        test.name: (test.input.read().decode(), test.answer.read().decode() if test.answer else "")
        for test in problem.tests
    }
