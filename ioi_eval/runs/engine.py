"""The engine of a run: events about its servers, and errors if they cannot judge."""

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

_CHECK_S = 5.0  # seconds between two checks of the servers' states

# The engine of a use case. The call opens and closes it, except a scorer, which is open and stays open.
AnyEngine = EngineChoice | Engine | Scorer


async def stop(*tasks: asyncio.Task[None]) -> None:
    """Cancel tasks, and wait until they have ended. Raises the exception of a task that failed."""
    for task in tasks:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def watch(engine: Engine, on_server: OnServer) -> None:
    """Set the callback for events about an engine's servers, if it has servers."""
    if (cluster := cluster_of(engine)) is not None:
        cluster.tell = on_server


def servers_found(engine: Engine) -> ServersFound | None:
    """Return the event about the servers of an open engine, or None if it has no servers."""
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
async def server_events(engine: Engine, on_event: OnEvent) -> AsyncIterator[None]:
    """Context manager: emit the states of the servers at the start, after changes, and at the end."""
    cluster = cluster_of(engine)
    if cluster is None:
        yield
        return

    async def watch() -> None:
        last: tuple[ServerState, ...] = ()
        while True:
            if (now := cluster.servers().now()) != last:
                on_event(ServersNow(servers=now))
                last = now
            await asyncio.sleep(_CHECK_S)

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        await stop(watching)
        on_event(ServersNow(servers=cluster.servers().now()))


def refuse_unfit(used: Mapping[str, Sequence[HealthCheck]]) -> None:
    """Raise InputError if no server can judge submissions. `used`: health checks by server."""
    lacking = {url: [line for line in lines if line.ok is False] for url, lines in used.items()}
    if not lacking or not all(lacking.values()):
        return
    first, *others = lacking
    reasons = "; ".join(f"{line.name} {line.detail}" for line in lacking[first])
    raise InputError(
        f"submissions cannot be judged there: {reasons}",
        where=f"{first} and {len(others)} more" if others else first,
        remedy="; ".join(dict.fromkeys(line.remedy for line in lacking[first] if line.remedy)),
    )
