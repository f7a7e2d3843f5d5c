"""The engine of a run: which one and how it is used, as a value, and what makes it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ioi_eval.engines import Engine, Transport
from ioi_eval.engines.registry import EMBEDDED, RAY, EngineSetup, find_engine
from ioi_eval.engines.watching import OnServer
from ioi_eval.judge import Scorer
from ioi_eval.model.errors import InputError
from ioi_eval.model.options import JobShape, MissingModules
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import Value
from ioi_eval.runs.events import OnEvent, ServersFound, ServersNow
from ioi_eval.store import Store
from ioi_eval.store.folder import Standing

if TYPE_CHECKING:
    from ioi_eval.engines.piston import EndpointReport

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
    from ioi_eval.engines.piston import PistonEngine

    if isinstance(engine, PistonEngine):
        engine.tell = tell


def servers_found(engine: Engine | Transport) -> ServersFound | None:
    """Return what a user should know of the servers of an engine that was entered; None where it has none."""
    from ioi_eval.engines.piston import PistonEngine, differences
    from ioi_eval.engines.ray import RayEngine

    if isinstance(engine, RayEngine):
        return ServersFound(
            servers=len(engine.nodes) + len(engine.left_out),
            used=len(engine.nodes),
            slots=engine.slots,
            unreachable=(),
            left_out=dict(engine.left_out),
            differences=engine.differences,
        )
    if not isinstance(engine, PistonEngine):
        return None
    reports = engine.reports
    used = [report for report in reports if report.reachable and report.url not in engine.left_out]
    refuse_unfit(used)
    return ServersFound(
        servers=len(reports),
        used=len(used),
        slots=engine.slots,
        unreachable=tuple(report.reason for report in reports if not report.reachable),
        left_out=dict(engine.left_out),
        differences=tuple(differences(used)),
    )


def servers_now(engine: Engine | Transport) -> tuple[Standing, ...]:
    """How the servers of an engine do; empty where it has none."""
    from ioi_eval.engines.piston import PistonEngine
    from ioi_eval.engines.ray import RayEngine

    if not isinstance(engine, PistonEngine | RayEngine):
        return ()
    found = {
        one.url: Standing(
            url=one.url,
            state=one.state,
            slots=one.slots,
            busy=one.busy,
            errors=one.errors,
            why=one.why,
            since=one.since,
        )
        for one in engine.endpoints
    }
    absent = {url: Standing(url=url, state="left out", why=why) for url, why in engine.left_out.items()}
    if isinstance(engine, PistonEngine):
        gone = (report for report in engine.reports if not report.reachable)
        absent |= {one.url: Standing(url=one.url, state="unreachable", why=one.reason) for one in gone}
    return tuple(({**absent, **found})[url] for url in sorted({**absent, **found}))


@contextlib.asynccontextmanager
async def telling_of_servers(engine: Engine | Transport, tell: OnEvent) -> AsyncIterator[None]:
    """Tell how the engine's servers do, at first and when something about them has changed."""

    if not servers_now(engine):
        yield
        return

    async def watch() -> None:
        last: tuple[Standing, ...] = ()
        while True:
            if (now := servers_now(engine)) != last:
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
        tell(ServersNow(servers=servers_now(engine)))


def refuse_unfit(used: Sequence[EndpointReport]) -> None:
    """Raise InputError where not one server can judge, as the doctor says: every row would fail there."""
    lacking = [[line for line in report.findings if line.ok is False] for report in used]
    if not lacking or not all(lacking):
        return
    first = used[0].url if len(used) == 1 else f"{used[0].url} and {len(used) - 1} more"
    what = "; ".join(f"{line.name} {line.detail}" for line in lacking[0])
    raise InputError(
        f"submissions cannot be judged there: {what}",
        where=first,
        remedy="; ".join(dict.fromkeys(line.remedy for line in lacking[0] if line.remedy)),
    )
