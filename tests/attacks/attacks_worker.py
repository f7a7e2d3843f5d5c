"""Attacks on a worker by its clients and by web pages, and on resources that users of a machine share."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import aiohttp
from support.servers import Server, ServerOptions

from ioi_eval import EmbeddedEngine, Store
from ioi_eval.engines.embedded.sandboxes import SandboxUidPool
from ioi_eval.errors import EngineUnavailable, InputError
from ioi_eval.models import Ending
from ioi_eval.server.prepared import BuildCache
from ioi_eval.store import contents

_MOST = 1 << 16  # bytes of output
_BODY, _BODIES = 1 << 18, 12


@dataclass(frozen=True)
class Site:
    engine: EmbeddedEngine  # open
    place: Path  # a folder of the attack's own


@dataclass(frozen=True, kw_only=True)
class Siege:
    """An attack on a worker. `attempt` returns its outcome."""

    name: str
    attempt: Callable[[Site], Awaitable[str]]
    verdicts: tuple[str, ...]
    layers: tuple[str, ...]
    heading: str = "stopping"
    language: str = "http"
    needs: str = ""
    of_worker: bool = True  # it needs a worker that listens


def _job(script: str) -> dict[str, Any]:
    return {"language": "bash", "version": "*", "files": [{"name": "run", "content": script}]}


@contextlib.asynccontextmanager
async def _worker(site: Site, **options: Any) -> Any:
    async with (
        Server(site.engine, ServerOptions(port=0, **options)) as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        yield session


async def _reply_of_nul(site: Site) -> str:
    """Request output of NUL bytes, each of which is six bytes in JSON.

    A reply contains each output twice.
    """
    script = f"head -c {_MOST} /dev/zero; head -c {_MOST} /dev/zero >&2"
    async with (
        _worker(site, max_output=_MOST) as session,
        session.post("/api/v2/execute", json=_job(script)) as reply,
    ):
        return "bounded" if len(await reply.read()) < 10 * _MOST else "larger"


def _addressed(**headers: str) -> Callable[[Site], Awaitable[str]]:
    async def attempt(site: Site) -> str:
        async with (
            _worker(site) as session,
            session.post("/api/v2/execute", json=_job("echo won"), headers=headers) as reply,
        ):
            return str(reply.status)

    return attempt


async def _bodies_that_wait(site: Site) -> str:
    """Send large requests. All except the first wait for a slot while the worker holds their bodies."""
    work = _job("sleep 600 #" + "x" * _BODY)

    async def send() -> int:
        async with session.post("/api/v2/execute", json=work) as reply:
            return reply.status

    async with _worker(site, max_body=2 * _BODY, max_bodies=2 * _BODY) as session:
        requests = [asyncio.create_task(send()) for _ in range(_BODIES)]
        finished, waiting = await asyncio.wait(requests, timeout=40, return_when=asyncio.FIRST_COMPLETED)
        for request in waiting:
            request.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    return str(next(iter(finished)).result()) if finished else "all taken"


async def _all_the_room(site: Site) -> str:
    # A small store, in which only the contents count.
    with (
        mock.patch.object(contents, "MIN_MAX_ENTRY_BYTES", 0),
        mock.patch.object(contents, "ENTRY_OVERHEAD_BYTES", 0),
    ):
        store = Store(site.place / "cache", limit=16_000)
        cache = BuildCache(store)
        for key, size in (("neighbour", 900), *((f"large-{number}", 8_000) for number in range(3))):
            (site.place / key).write_bytes(b"x" * size)
            cache.add(key, Ending(code=0), {"built/submission": str(site.place / key)})
    return "kept" if store.get("neighbour") else "evicted"


async def _folder_of_all(site: Site) -> str:
    """Open a cache in a folder that all users can write."""
    folder = site.place / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    try:
        Store(folder)
    except InputError:
        return "refused"
    return "taken"


# Resources that another user can occupy: names of sockets, and locks on readable files.
_HOLDING = """
import contextlib, fcntl, os, socket
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
held = []
for uid in range(60578, 61184):
    held.append(socket.socket(socket.AF_UNIX))
    with contextlib.suppress(OSError):
        held[-1].bind(f"\\0ioi-eval-uid-{uid}")
    for place in ("/run", "/var/lib"):
        with contextlib.suppress(OSError):
            fcntl.flock(os.open(f"{place}/ioi-eval-uids/{uid}", os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX | fcntl.LOCK_NB)
print("ready", flush=True)
input()
"""


async def _uids_of_others(site: Site) -> str:
    if os.geteuid() != 0:
        return "ok"  # only root has uids for sandboxes
    pipe = asyncio.subprocess.PIPE
    holder = await asyncio.create_subprocess_exec(sys.executable, "-c", _HOLDING, stdin=pipe, stdout=pipe)
    assert holder.stdout is not None
    uids = SandboxUidPool()
    try:
        assert await holder.stdout.readline() == b"ready\n"
        return "ok" if len(set(uids.reserve(2))) == 2 else "none left"
    except EngineUnavailable:
        return "none left"
    finally:
        uids.release()
        await holder.communicate(b"\n")


WORKER = (
    Siege(name="a-reply-of-nul", attempt=_reply_of_nul, verdicts=("bounded",), layers=("bounds",)),
    Siege(name="bodies-that-wait", attempt=_bodies_that_wait, verdicts=("503",), layers=("bounds",)),
    Siege(
        name="a-program-that-fills-the-cache", attempt=_all_the_room, verdicts=("kept",), layers=("bounds",)
    ),
    Siege(
        name="a-name-that-leads-here",
        attempt=_addressed(Host="evil.example:2000"),
        verdicts=("403",),
        layers=("names",),
        heading="forging",
    ),
    Siege(
        name="a-page-that-sends-jobs",
        attempt=_addressed(Origin="http://evil.example"),
        verdicts=("403",),
        layers=("names",),
        heading="forging",
    ),
    Siege(
        name="a-cache-of-all",
        attempt=_folder_of_all,
        verdicts=("refused",),
        layers=("owner",),
        heading="forging",
        language="files",
        of_worker=False,
    ),
    Siege(
        name="sockets-that-reserve-uids",
        attempt=_uids_of_others,
        verdicts=("ok",),
        layers=("reserving",),
        language="python",
        needs="root",
        of_worker=False,
    ),
)
