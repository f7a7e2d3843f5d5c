"""`ioi-eval init`: a configuration for `ioi-eval run` to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ioi_eval.cli import console
from ioi_eval.cli.config import template
from ioi_eval.model.errors import InputError

_File = Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.")]


def init(file: _File = Path("config.yaml")) -> None:
    """Write a commented configuration for `ioi-eval run`. An existing file is left alone.

    \b
    Examples:
      ioi-eval init
      ioi-eval init runs/apps.yaml && ioi-eval run -c runs/apps.yaml --print-prompt
    """
    try:
        with file.open("x") as stream:
            stream.write(template())
    except OSError as error:
        remedy = "Name another one" if isinstance(error, FileExistsError) else ""
        raise InputError(
            f"cannot be written ({error.strerror or error})", where=str(file), remedy=remedy
        ) from error
    console.show(f"Wrote {file}. Name your model in it, then: ioi-eval run -c {file}")
