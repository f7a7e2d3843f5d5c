"""`ioi-eval view DIR`: a run in a browser while it goes on."""

from __future__ import annotations

import asyncio
import os
import webbrowser
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from ioi_eval.cli import console
from ioi_eval.cli.environment import read_own_token
from ioi_eval.cli.groups import OptionGroup, command
from ioi_eval.server import ServerOptions, check_address
from ioi_eval.server.view import view as serve_view

_EXAMPLES = """
  ioi-eval view runs/demo --open
  ioi-eval view runs/demo --host 0.0.0.0 --token-file ~/token
  curl http://127.0.0.1:8000/metrics
"""
_HERE = {"port": {"default": 8000, "panel": ""}, "host": {"panel": ""}, "allow_hosts": {"panel": ""}}
_NICE = 10  # the run goes first


@command(_EXAMPLES)
def view(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run's folder.")],
    serving: Annotated[ServerOptions, OptionGroup("", only=("port", "host", "allow_hosts"), but=_HERE)],
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", exists=True, dir_okay=False, help="File with the token that viewers must send."
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Show the page in a browser.")] = False,
) -> None:
    """Show a run in a browser while it goes on: progress, verdicts, failures, the report so far.

    The run's folder is read and never written; any number of people may look. Beyond this machine only with a
    token, which may also be in the variable IOI_EVAL_TOKEN. /metrics has the counts for Prometheus.
    """
    token = read_own_token(token_file)
    check_address(serving.host, token=token, open_to_all=None)
    os.nice(_NICE)
    options = msgspec.structs.replace(serving, token=token, allowing="--allow-host NAME")
    asyncio.run(_serve(folder, options, show))


async def _serve(folder: Path, options: ServerOptions, show: bool) -> None:
    """Until a signal."""
    ended = console.Stops()
    async with serve_view(folder, options) as address:
        console.show(f"ioi-eval view at {address}")
        if show:
            await asyncio.to_thread(webbrowser.open, address)
        await ended.wait()
