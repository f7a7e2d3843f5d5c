"""The engine of a run: which one and how it is used, as a value, and what makes it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ioi_eval.engines import Engine, Transport
from ioi_eval.engines.contract import Cluster, Condition, OnServer
from ioi_eval.engines.registry import EMBEDDED, RAY, EngineSetup, find_engine
from ioi_eval.model.errors import InputError
from ioi_eval.model.options import JobShape, MissingModules
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import ServerState, Value
from ioi_eval.runs.events import OnEvent, ServersFound, ServersNow
from ioi_eval.runs.scorer import Scorer
from ioi_eval.store import Store

_LOOK = 5.0  # seconds between two looks at the servers


class EngineChoice(Value):
    """Which engine, and how it is to be used."""

    text: str = EMBEDDED
    slots: int | None = None  # None: one per core here; on servers, all they have
    per_endpoint: int | None = None
    cpus_per_slot: float = 1.0  # of what Ray gives
    same_compiler: bool = False
    job: JobShape = "auto"
    token: Secret = Secret()
    allow_unconfined: bool = False
    python: str = ""  # here: the path or version of the interpreter for submissions
    missing_modules: MissingModules = "failure"

    @property
    def remote(self) -> bool:
        return self.text != EMBEDDED

    @property
    def on_ray(self) -> bool:
        return self.text.partition(":")[0] == RAY

    @property
    def settings(self) -> Mapping[str, Any]:
        """For the reader of a report."""
        return {"engine": self.text, **({} if self.job == "auto" else {"job": self.job})}


# What a use case judges on: opened and closed by the call, but for a scorer, which is open and stays so.
AnyEngine = EngineChoice | Engine | Transport | Scorer


class Opening(NamedTuple):
    """Engines to be entered: the one for jobs, and one here for what we trust, where jobs run elsewhere."""

    engine: Engine | Transport
    trusted: Engine | Transport | None = None


def open_engine(choice: EngineChoice | Engine | Transport, store: Store) -> Opening:
    if not isinstance(choice, EngineChoice):
        return Opening(choice)
    own = "" if choice.remote else choice.python
    here = EngineSetup(text=EMBEDDED, store=store, allow_unconfined=choice.allow_unconfined, python=own)
    engine = find_engine(choice.text)(
        msgspec.structs.replace(
            here,
            text=choice.text,
            slots=choice.slots,
            per_endpoint=choice.per_endpoint,
            same_compiler=choice.same_compiler,
            token=choice.token,
            cpus_per_slot=choice.cpus_per_slot,
        )
    )
    brings_compilers = choice.text == EMBEDDED or choice.on_ray
    return Opening(engine, None if brings_compilers else find_engine(EMBEDDED)(here))


def watch(engine: Engine | Transport, tell: OnServer) -> None:
    """Have an engine tell of its servers while it works, if it has any."""
    if isinstance(engine, Cluster):
        engine.tell = tell


def servers_found(engine: Engine | Transport) -> ServersFound | None:
    """Return what a user should know of the servers of an engine that was entered; None where it has none."""
    if not isinstance(engine, Cluster):
        return None
    servers = engine.servers()
    refuse_unfit(servers.used)
    return ServersFound(
        servers=servers.found,
        used=len(servers.used),
        slots=servers.slots,
        unreachable=tuple(servers.unreachable[url] for url in sorted(servers.unreachable)),
        left_out=servers.left_out,
        differences=servers.differences,
    )


@contextlib.asynccontextmanager
async def telling_of_servers(engine: Engine | Transport, tell: OnEvent) -> AsyncIterator[None]:
    """Tell how the engine's servers do, at first and when something about them has changed."""

    if not isinstance(engine, Cluster):
        yield
        return

    async def watch() -> None:
        last: tuple[ServerState, ...] = ()
        while True:
            if (now := engine.servers().now()) != last:
                tell(ServersNow(servers=now))
                last = now
            await asyncio.sleep(_LOOK)

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
        tell(ServersNow(servers=engine.servers().now()))


def refuse_unfit(used: Mapping[str, Sequence[Condition]]) -> None:
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
