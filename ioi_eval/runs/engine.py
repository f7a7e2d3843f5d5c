"""The engine of a run while it works, and what a user should know of its servers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence

from ioi_eval.engines import Engine
from ioi_eval.engines.contract import HealthCheck, OnServer, cluster_of
from ioi_eval.engines.registry import EngineChoice
from ioi_eval.model.errors import InputError
from ioi_eval.model.values import ServerState
from ioi_eval.runs.events import OnEvent, ServersFound, ServersNow
from ioi_eval.runs.scorer import Scorer

_LOOK = 5.0  # seconds between two looks at the servers


# What a use case judges on: opened and closed by the call, but for a scorer, which is open and stays so.
AnyEngine = EngineChoice | Engine | Scorer


async def stop(*tasks: asyncio.Task[None]) -> None:
    """Cancel tasks, and wait until each has ended. Raises what one failed with."""
    for task in tasks:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def watch(engine: Engine, tell: OnServer) -> None:
    """Have an engine tell of its servers while it works, if it has any."""
    if (cluster := cluster_of(engine)) is not None:
        cluster.tell = tell


def servers_found(engine: Engine) -> ServersFound | None:
    """Return what a user should know of the servers of an engine that was entered; None where it has none."""
    if (cluster := cluster_of(engine)) is None:
        return None
    servers = cluster.servers()
    refuse_unfit(servers.used)
    return ServersFound(
        servers=servers.found,
        used=len(servers.used),
        slots=servers.slots,
        unreachable=tuple(servers.unreachable[url] for url in sorted(servers.unreachable)),
        left_out=servers.left_out,
        differences=servers.differences,
        uses=servers.uses,
        jobs=servers.jobs,
        cores=servers.cores,
    )


@contextlib.asynccontextmanager
async def telling_of_servers(engine: Engine, tell: OnEvent) -> AsyncIterator[None]:
    """Tell how the engine's servers do, at first and when something about them has changed."""
    cluster = cluster_of(engine)
    if cluster is None:
        yield
        return

    async def watch() -> None:
        last: tuple[ServerState, ...] = ()
        while True:
            if (now := cluster.servers().now()) != last:
                tell(ServersNow(servers=now))
                last = now
            await asyncio.sleep(_LOOK)

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        await stop(watching)
        tell(ServersNow(servers=cluster.servers().now()))


def refuse_unfit(used: Mapping[str, Sequence[HealthCheck]]) -> None:
    """Raise InputError where not one server can judge, as the doctor says: every row would fail there."""
    lacking = {url: [line for line in lines if line.ok is False] for url, lines in used.items()}
    if not lacking or not all(lacking.values()):
        return
    first, *others = lacking
    what = "; ".join(f"{line.name} {line.detail}" for line in lacking[first])
    raise InputError(
        f"submissions cannot be judged there: {what}",
        where=f"{first} and {len(others)} more" if others else first,
        remedy="; ".join(dict.fromkeys(line.remedy for line in lacking[first] if line.remedy)),
    )
