"""`ioi-eval package DIR`: the package `ioi_eval` for Piston servers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ioi_eval.cli import console
from ioi_eval.cli.groups import command
from ioi_eval.model.errors import InputError
from ioi_eval.server.packaging import install, publish

_EXAMPLES = """
  ioi-eval package /shared/piston/packages
  ioi-eval package --index /srv/www --url http://10.0.0.5:8000     then PISTON_REPO_URL=.../index
"""


@command(_EXAMPLES)
def package(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The servers' folder of packages, or the index's.")
    ],
    index: Annotated[
        bool, typer.Option("--index", help="Write an archive and a line for an index instead.")
    ] = False,
    url: Annotated[str, typer.Option(metavar="BASE", help="With --index: where servers will find DIR.")] = "",
    compiler: Annotated[
        Path | None,
        typer.Option(
            metavar="PREFIX",
            exists=True,
            file_okay=False,
            help="A compiler to bring along: bin/, lib/, lib64/.",
        ),
    ] = None,
    headers: Annotated[
        str,
        typer.Option(
            metavar="STANDARD,...",
            help="Bring bits/stdc++.h precompiled, by PREFIX's or else this machine's g++: gnu++17,gnu++20."
            " Each takes 250 MB and a minute. Only the very same compiler uses it.",
        ),
    ] = "",
) -> None:
    """Write the Piston package that runs jobs: scripts and matching limits.

    Servers find it in their folder of packages when they start. From an index they install it when they are
    asked to: POST /api/v2/packages {"language": "ioi_eval", "version": "1.0.0"}.
    """
    if index and not url:
        raise InputError(
            "servers need an address", field="--url", remedy="Give the URL at which DIR is served"
        )
    if url and not index:
        raise InputError("an address is for an index only", field="--url", remedy="Add --index")
    standards = tuple(filter(None, (name.strip() for name in headers.split(","))))
    if index:
        console.show(str(publish(folder, url, compiler=compiler, headers=standards)))
    else:
        console.show(str(install(folder, compiler=compiler, headers=standards)))
