"""The options that say where jobs run, and with what."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from ioi_eval.cli.environment import read_token
from ioi_eval.engines.environment import ENDPOINTS
from ioi_eval.engines.registry import EMBEDDED, EngineChoice
from ioi_eval.model.errors import InputError
from ioi_eval.model.options import JobShape, MissingModules
from ioi_eval.model.secret import Secret

Unconfined = Annotated[
    bool, typer.Option("--allow-unconfined", help="Judge even where the kernel offers no confinement.")
]
EngineText = Annotated[
    str | None,
    typer.Option(
        metavar="ENGINE",
        help="Where jobs run: embedded (here), URL[,URL...] of Piston servers, slurm, k8s:SERVICE, @FILE,"
        " ray, ray://HOST:PORT, or the NAME of an installed engine.",
        show_default=f"{ENDPOINTS} where it is set, else {EMBEDDED}",
    ),
]
PythonText = Annotated[
    str,
    typer.Option(
        metavar="PATH|VERSION",
        help="The Python for submissions, here.",
        show_default="$IOI_EVAL_PYTHON, else the system's newest",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", exists=True, dir_okay=False, help="Token for the servers. Default: $IOI_EVAL_TOKEN."
    ),
]


@dataclass(frozen=True)
class EngineOptions:
    """Where jobs run: by `--engine`, else by the environment, else here."""

    title: ClassVar = "Engine"
    engine: EngineText = None
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Jobs at the same time.", show_default="one per core here"),
    ] = None
    per_endpoint: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Jobs at a time on each server.", show_default="what it says, else 1"
        ),
    ] = None
    cpus_per_slot: Annotated[
        float | None,
        typer.Option(min=0.01, metavar="N", help="CPUs of Ray for each job.", show_default="1"),
    ] = None
    same_compiler: Annotated[
        bool, typer.Option("--same-compiler", help="Refuse servers whose compilers differ.")
    ] = False
    job: Annotated[
        JobShape,
        typer.Option(help="batched: many tests a job; classic: one; auto: what the servers can."),
    ] = "auto"
    token_file: TokenFile = None
    allow_unconfined: Unconfined = False
    python: PythonText = ""
    missing_modules: Annotated[
        MissingModules,
        typer.Option(
            help="A Python package that the judge lacks: failure of the judge, or re of the program."
        ),
    ] = "failure"

    def choice(self, of_file: str = "") -> EngineChoice:
        """Raise InputError for what cannot be meant. `of_file` gives way to the option only."""
        try:
            return EngineChoice.meant(
                self.engine if self.engine is not None else of_file or None,
                os.environ,
                slots=self.workers,
                per_endpoint=self.per_endpoint,
                cpus_per_slot=self.cpus_per_slot or 1.0,
                same_compiler=self.same_compiler,
                job=self.job,
                token=Secret() if self.token_file is None else read_token(self.token_file),
                allow_unconfined=self.allow_unconfined,
                python=self.python,
                missing_modules=self.missing_modules,
            )
        except InputError as error:
            if error.field not in {field.name for field in fields(self)} or (of_file and self.engine is None):
                raise
            raise error.but(field=f"--{error.field.replace('_', '-')}") from None
