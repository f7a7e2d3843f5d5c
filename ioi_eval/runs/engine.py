"""The engine of a run: events about its servers, and errors if they cannot judge."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence

from ioi_eval.engines import Engine
from ioi_eval.engines.contract import HealthCheck, OnServer, as_server_cluster
from ioi_eval.engines.registry import EngineChoice
from ioi_eval.model.errors import InputError
from ioi_eval.model.values import ServerState
from ioi_eval.runs.events import OnEvent, ServersFound, ServersNow
from ioi_eval.runs.scorer import Scorer

_CHECK_S = 5.0  # seconds between two checks of the servers' states

# An engine for a use case. The call opens and closes the engine, except a Scorer, which is already open and
# stays open.
AnyEngine = EngineChoice | Engine | Scorer


async def cancel_tasks(*tasks: asyncio.Task[None]) -> None:
    """Cancel tasks and wait for them. Raises the exception of a task that failed."""
    for task in tasks:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def set_server_callback(engine: Engine, on_server_change: OnServer) -> None:
    """Set the callback for events about an engine's servers, if it has servers."""
    if (cluster := as_server_cluster(engine)) is not None:
        cluster.on_event = on_server_change


def make_servers_found_event(engine: Engine) -> ServersFound | None:
    """Return the event about the servers of an open engine, or None for an engine without servers."""
    if (cluster := as_server_cluster(engine)) is None:
        return None
    servers = cluster.servers()
    refuse_unfit_servers(servers.used)
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
async def emit_server_events(engine: Engine, on_event: OnEvent) -> AsyncIterator[None]:
    """Context manager: emit the states of the servers on entry, after changes, and on exit."""
    cluster = as_server_cluster(engine)
    if cluster is None:
        yield
        return

    async def emit_changes() -> None:
        last_states: tuple[ServerState, ...] = ()
        while True:
            if (states := cluster.servers().list_states()) != last_states:
                on_event(ServersNow(servers=states))
                last_states = states
            await asyncio.sleep(_CHECK_S)

    watch_task = asyncio.create_task(emit_changes())
    try:
        yield
    finally:
        await cancel_tasks(watch_task)
        on_event(ServersNow(servers=cluster.servers().list_states()))


def refuse_unfit_servers(checks_by_server: Mapping[str, Sequence[HealthCheck]]) -> None:
    """Raise InputError if no server can judge submissions. `checks_by_server`: health checks by server."""
    failed_checks = {
        url: [check for check in checks if check.ok is False] for url, checks in checks_by_server.items()
    }
    if not failed_checks or not all(failed_checks.values()):
        return
    first_url, *other_urls = failed_checks
    reasons = "; ".join(f"{check.name} {check.detail}" for check in failed_checks[first_url])
    raise InputError(
        f"the server cannot judge the submissions: {reasons}",
        where=f"{first_url} and {len(other_urls)} more" if other_urls else first_url,
        remedy="; ".join(dict.fromkeys(check.remedy for check in failed_checks[first_url] if check.remedy)),
    )
