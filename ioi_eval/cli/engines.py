"""Where jobs run, as the user says it: by `--engine`, else by the environment, else here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from ioi_eval.cli.environment import read_token
from ioi_eval.cli.injecting import takes
from ioi_eval.cli.options import Unconfined, Workers
from ioi_eval.engines.registry import EMBEDDED, find
from ioi_eval.integrations.environment import ENDPOINTS, servers_of
from ioi_eval.model.errors import InputError
from ioi_eval.model.options import JobShape
from ioi_eval.model.secret import Secret
from ioi_eval.runs.engine import EngineChoice

EngineText = Annotated[
    str | None,
    typer.Option(
        metavar="ENGINE",
        help="Where jobs run: embedded (here), URL[,URL...] of Piston servers, slurm, k8s:SERVICE, @FILE, or"
        " the NAME of an installed engine.",
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
        token=Secret() if text == EMBEDDED else read_token(token_file),
        allow_unconfined=allow_unconfined,
    )


def from_environment(variables: Mapping[str, str]) -> tuple[str, int | None]:
    """Engine and jobs per server, for who does not say on the command line."""
    servers = servers_of(variables)
    return (EMBEDDED, None) if servers is None else (servers.text, servers.per_endpoint)


def check_engine(text: str, field: str) -> None:
    try:
        find(text)
    except InputError as error:
        raise error.but(field=field) from None


chooses_engine = takes("engine", choose_engine)
