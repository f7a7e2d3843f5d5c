"""A look at all servers of an engine, for the doctor."""

from __future__ import annotations

import asyncio
import gzip
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ioi_eval.cli.environment import open_store
from ioi_eval.engines.conditions import Condition
from ioi_eval.engines.embedded.toolchains import find_compiler, proctor_binary
from ioi_eval.engines.piston.reports import EndpointReport
from ioi_eval.model.errors import EngineUnavailable
from ioi_eval.model.values import Value
from ioi_eval.runs.engine import EngineChoice
from ioi_eval.store.resources import graders

if TYPE_CHECKING:
    from ioi_eval.engines.piston.probe import Prober

_AT_ONCE = 64


class Cluster(Value):
    """What was found. `together`: what shows only where servers are compared."""

    ok: bool
    good: tuple[str, ...]  # where submissions can be judged
    servers: tuple[EndpointReport, ...]
    together: tuple[Condition, ...] = ()

    def alike(self) -> Iterator[tuple[list[str], tuple[Condition, ...]]]:
        """Servers of which the same is to be said, and what it is."""
        groups = dict[str, tuple[list[str], tuple[Condition, ...]]]()
        for report in self.servers:
            key = repr(report.findings).replace(report.url, "")
            groups.setdefault(key, ([], report.findings))[0].append(report.url)
        yield from groups.values()


async def look(choice: EngineChoice) -> Cluster:
    """Raises InputError or EngineUnavailable where there is nothing to look at."""
    from ioi_eval.engines.piston.discovery import discovery
    from ioi_eval.engines.piston.probe import Prober
    from ioi_eval.engines.piston.sending import Wire

    urls = await discovery(choice.text).find()
    if not urls:
        raise EngineUnavailable(f"no server was found by {choice.text}")
    async with Wire(token=choice.token) as wire:
        return summed_up(await _probed(Prober(wire), sorted(urls), await _packed_proctor()))


async def _packed_proctor() -> bytes | None:
    """For servers to try; None where there is no compiler here."""
    with tempfile.TemporaryDirectory(prefix="ioi-eval-doctor-") as folder:
        compiler = await asyncio.to_thread(find_compiler)
        try:
            binary = await proctor_binary(compiler, graders() / "proctor", open_store(), Path(folder))
        except EngineUnavailable:
            return None
        return await asyncio.to_thread(gzip.compress, binary)


async def _probed(prober: Prober, urls: list[str], proctor: bytes | None) -> list[EndpointReport]:
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(url: str) -> EndpointReport:
        async with room:
            report = await prober.probe(url)
            return report if proctor is None else await prober.confined(report, proctor)

    return await asyncio.gather(*map(one, urls))


def summed_up(reports: list[EndpointReport]) -> Cluster:
    from ioi_eval.engines.piston.members import differences, merged

    there = [report for report in reports if report.reachable]
    left_out = merged(there).left_out if there else {}
    good = tuple(report.url for report in there if report.url not in left_out and _fit(report))
    together = [Condition(name=url, ok=None, detail=f"gets no jobs: {why}") for url, why in left_out.items()]
    return Cluster(
        ok=bool(good), good=good, servers=tuple(reports), together=(*together, *differences(there))
    )


def _fit(report: EndpointReport) -> bool:
    return all(finding.ok is not False for finding in report.findings)
