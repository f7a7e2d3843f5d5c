"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

from ioi_eval.cli.console import hush
from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import find


def _known(language: str | None) -> str | None:
    """Raises InputError at once, and not for the first row that says nothing."""
    try:
        if language is not None:
            find(language)
    except InputError as error:
        raise error.but(field="--language") from error
    return language


Problem = Annotated[list[str] | None, typer.Option(metavar="ID", help="Only this problem; may be repeated.")]
Workers = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Jobs at the same time.", show_default="one per core here"),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Give up what the folder holds and start anew.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", callback=hush, help="No progress and no table.")]
Language = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        callback=_known,
        help="The language of rows that do not say.",
        show_default="the benchmark's, else c++",
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="The column with each row's id; empty: none.", show_default="uuid or id"
    ),
]
Unconfined = Annotated[
    bool, typer.Option("--allow-unconfined", help="Judge even where the kernel offers no confinement.")
]
