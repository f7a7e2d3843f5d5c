"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

from ioi_eval.errors import InputError

EMBEDDED = "embedded"

Engine = Annotated[str, typer.Option(metavar="ENGINE", help="Where jobs run; embedded: here.")]


def check_engine(name: str) -> None:
    if name != EMBEDDED:
        raise InputError(f"unknown engine {name!r}", field="--engine", remedy=f"There is: {EMBEDDED}")
