"""Attacks on a worker and on resources that a judge shares with other users, and replacements for the layers that
stop them.
"""

from __future__ import annotations

import asyncio
import socket
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from unittest import mock

from attack import Outcome
from attack_rounds import Found, Round
from attacks_worker import Siege, Site
from harness import Bench

from ioi_eval import EmbeddedEngine, Store
from ioi_eval.engines.embedded.sandboxes import SandboxUidPool
from ioi_eval.models import JobResult
from ioi_eval.server import jobs, queue, routes
from ioi_eval.store import contents


async def sieges(engine: EmbeddedEngine, attacks: Iterable[Siege], *, listens: bool) -> Round:
    """Try attacks. Attacks of a worker need `listens`: that a worker is running."""
    outcomes = {}
    for siege in attacks:
        if siege.of_worker and not listens:
            outcomes[siege.name] = Found("none")
            continue
        with tempfile.TemporaryDirectory() as folder:
            verdict = await siege.attempt(Site(engine, Path(folder)))
        outcomes[siege.name] = Found(
            verdict, "" if verdict in siege.verdicts else f"unexpected outcome: {verdict}"
        )
    return outcomes


def attempt_siege(bench: Bench, siege: Siege, layers_away: Collection[str]) -> Outcome:
    assert bench.store is not None, "the engine needs a store for its proctor"
    store = Store(bench.store)

    async def attempt() -> Round:
        async with EmbeddedEngine(store=store, slots=1, layers=tuple(bench.layers)) as engine:
            with ExitStack() as stack:
                for layer in layers_away:
                    stack.enter_context(REPLACED[layer]())
                return await sieges(engine, [siege], listens=True)

    outcome = asyncio.run(attempt())[siege.name]
    return Outcome(bool(outcome.fault), outcome.verdict)


# --- replacements for the layers ---


@contextmanager
def _without_bounds() -> Iterator[None]:
    def as_it_came(self: jobs.Jobs, result: JobResult) -> JobResult:
        return result

    def taken(self: queue.QueueEntry, more: int) -> None:
        pass

    with (
        mock.patch.object(jobs.Jobs, "shorten_output", as_it_came),
        mock.patch.object(queue.QueueEntry, "count_bytes", taken),
        # a fraction of a store's limit becomes a multiple
        mock.patch.object(contents, "MAX_ENTRY_DIVISOR", 1e-9),
    ):
        yield


@contextmanager
def _reserved_by_sockets() -> Iterator[None]:
    """Reserve uids by names of abstract sockets, which the kernel frees when a process exits."""

    def naive(self: SandboxUidPool, path: Path) -> bool:
        name = socket.socket(socket.AF_UNIX)
        try:
            name.bind(f"\0ioi-eval-uid-{path.name}")
        except OSError:
            name.close()
            return False
        self._exit_stack.callback(name.close)
        return True

    with mock.patch.object(SandboxUidPool, "try_lock_uid_file", naive):
        yield


def _nothing(*_: object, **__: object) -> None:
    pass


REPLACED: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "bounds": _without_bounds,
    "names": partial(mock.patch.object, routes, "check_hosts", _nothing),
    "owner": partial(mock.patch.object, contents, "refuse_folder_others_can_write", _nothing),
    "reserving": _reserved_by_sockets,
}
