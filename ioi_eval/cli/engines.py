"""Where jobs run, as the user says it: by `--engine`, else by the environment, else here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ioi_eval.cli import console
from ioi_eval.cli.environment import read_token
from ioi_eval.cli.injecting import takes
from ioi_eval.cli.options import Unconfined, Workers
from ioi_eval.engines import Engine
from ioi_eval.engines.conditions import Condition
from ioi_eval.engines.embedded import EmbeddedEngine
from ioi_eval.errors import InputError
from ioi_eval.integrations.environment import ENDPOINTS, servers_of
from ioi_eval.judge.options import JobShape
from ioi_eval.models import Value
from ioi_eval.store import Store

EMBEDDED = "embedded"
_RAY = "ray"
_TOLD = 3  # servers of which something is said in a line each; of the others, how many they are

EngineText = Annotated[
    str | None,
    typer.Option(
        metavar="ENGINE",
        help="Where jobs run: embedded (here), URL[,URL...] of Piston servers, slurm, k8s:SERVICE, or @FILE.",
        show_default=f"{ENDPOINTS} where it is set, else {EMBEDDED}",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="What servers want to be told, if not IOI_EVAL_TOKEN.",
    ),
]
_PerEndpoint = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Jobs at a time on each server.", show_default="what it says, else 1"
    ),
]
_SameCompiler = Annotated[
    bool, typer.Option("--same-compiler", help="Refuse servers whose compilers differ.")
]
_Job = Annotated[
    JobShape,
    typer.Option("--job", help="batched: many tests a job; classic: one; auto: what the servers can."),
]


class EngineChoice(Value):
    """Which engine, and how it is to be used."""

    text: str = EMBEDDED
    slots: int | None = None  # None: one per core here; on servers, all they have
    per_endpoint: int | None = None
    same_compiler: bool = False
    job: JobShape = "auto"
    token_file: str | None = None
    allow_unconfined: bool = False

    @property
    def remote(self) -> bool:
        return self.text != EMBEDDED

    @property
    def settings(self) -> Mapping[str, Any]:
        """For the reader of a report."""
        return {"engine": self.text, **({} if self.job == "auto" else {"job": self.job})}


class Opening(NamedTuple):
    """Engines to be entered: the one for jobs, and one here for what we trust, where jobs run elsewhere."""

    engine: Engine
    trusted: Engine | None = None


# --- choosing ----------------------------------------------------------------------------------------


def choose_engine(
    engine: EngineText = None,
    workers: Workers = None,
    per_endpoint: _PerEndpoint = None,
    same_compiler: _SameCompiler = False,
    job: _Job = "auto",
    token_file: TokenFile = None,
    allow_unconfined: Unconfined = False,
) -> EngineChoice:
    """Raises InputError for what cannot be meant, before anything is begun."""
    text, most = (engine.strip(), None) if engine is not None else from_environment(os.environ)
    check_engine(text, "--engine" if engine is not None else ENDPOINTS)
    if text == EMBEDDED and per_endpoint is not None:
        raise InputError("only servers can be given so many jobs each", field="--per-endpoint")
    return EngineChoice(
        text=text,
        slots=workers,
        per_endpoint=per_endpoint or most,
        same_compiler=same_compiler,
        job=job,
        token_file=None if token_file is None else str(token_file),
        allow_unconfined=allow_unconfined,
    )


def from_environment(variables: Mapping[str, str]) -> tuple[str, int | None]:
    """Engine and jobs per server, for who does not say on the command line."""
    servers = servers_of(variables)
    return (EMBEDDED, None) if servers is None else (servers.text, servers.per_endpoint)


def check_engine(text: str, field: str) -> None:
    if text.partition(":")[0] == _RAY:
        remedy = "Use embedded, slurm, k8s:SERVICE, @FILE or the addresses of servers"
        raise InputError("Ray is not there yet", field=field, remedy=remedy)
    if text == EMBEDDED:
        return
    from ioi_eval.engines.piston.discovery import discovery

    try:
        discovery(text)
    except InputError as error:
        remedy = f"{error.remedy}; or embedded, slurm, k8s:SERVICE, @FILE"
        raise error.but(field=field, remedy=remedy) from None


chooses_engine = takes("engine", choose_engine)


# --- making ------------------------------------------------------------------------------------------


def open_engine(choice: EngineChoice, store: Store) -> Opening:
    if not choice.remote:
        return Opening(_here(choice.slots, choice, store))
    from ioi_eval.engines.piston import PistonEngine
    from ioi_eval.engines.piston.discovery import discovery

    engine = PistonEngine(
        discovery(choice.text),
        per_endpoint=choice.per_endpoint,
        total=choice.slots,
        token=read_token(choice.token_file),
        same_compiler=choice.same_compiler,
    )
    return Opening(engine, _here(None, choice, store))


def _here(slots: int | None, choice: EngineChoice, store: Store) -> EmbeddedEngine:
    slots = slots or len(os.sched_getaffinity(0))
    return EmbeddedEngine(store=store, slots=slots, allow_unconfined=choice.allow_unconfined)


def news(engine: Engine) -> Iterator[str]:
    """What a user should know of an engine that was entered, a line each."""
    from ioi_eval.engines.piston import PistonEngine, differences

    if not isinstance(engine, PistonEngine):
        return
    reports = engine.reports
    used = [report for report in reports if report.reachable and report.url not in engine.left_out]
    servers, jobs = console.counted(len(reports), "server"), console.counted(engine.slots, "job")
    yield f"{len(used)} of {servers}, {jobs} at a time"
    yield from _some([report.reason for report in reports if not report.reachable])
    yield from _some([f"{url} is left out: {reason}" for url, reason in engine.left_out.items()])
    yield from map(sentence, differences(used))


def sentence(line: Condition) -> str:
    return f"{line.name}: {line.detail}" + (f". {line.remedy}" if line.remedy else "")


def _some(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:_TOLD]
    if len(lines) > _TOLD:
        yield f"and {len(lines) - _TOLD} more like these"
