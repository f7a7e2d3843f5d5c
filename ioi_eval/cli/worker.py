"""The commands `worker`, `view` and `package`."""

from __future__ import annotations

import asyncio
import os
import webbrowser
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer

from ioi_eval.cli import console
from ioi_eval.cli.groups import OptionGroup, command
from ioi_eval.cli.options import PythonText, Slots, Unconfined, open_store, read_server_token
from ioi_eval.engines.embedded.toolchains import find_compiler
from ioi_eval.engines.environment import PYTHON
from ioi_eval.engines.health_checks import check_confinement
from ioi_eval.engines.open_files import raise_open_file_limit
from ioi_eval.model.secret import Secret
from ioi_eval.model.text import format_count
from ioi_eval.server import EmitEvent, Event, Server, ServerOptions, check_address, serve
from ioi_eval.server.jobs import read_tokens
from ioi_eval.server.packaging import install_package, publish_package
from ioi_eval.store import Store

_EXAMPLES = """
  ioi-eval worker                                        http://127.0.0.1:2000, one job per core
  ioi-eval worker --port 2001 --slots 8
  ioi-eval worker --host 0.0.0.0 --token-file ~/token    for other machines
  ioi-eval worker --packages /shared/packages            what a Piston cluster has installed
  curl http://127.0.0.1:2000/api/v2/runtimes             what it can run
"""


@command(_EXAMPLES)
def worker(
    server_options: Annotated[ServerOptions, OptionGroup("Limits")],
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="File with the token that requests must send, or with lines of NAME TOKEN.",
            rich_help_panel="Access",
        ),
    ] = None,
    open_to_all: Annotated[
        bool,
        typer.Option(
            "--open-to-all",
            help="Accept requests from other machines without a token. Only for closed networks.",
            rich_help_panel="Access",
        ),
    ] = False,
    slots: Slots = None,
    packages: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="Folder with language packages in Piston's layout.",
        ),
    ] = None,
    allow_unconfined: Unconfined = False,
    python: PythonText = None,
    log_format: Annotated[
        Literal["text", "json"],
        typer.Option(help="Format of logged events: a sentence or a JSON object each.", hidden=True),
    ] = "text",
) -> None:
    """Serve jobs over Piston's HTTP API: a cluster's worker without Docker or privileges.

    On SIGTERM or Ctrl-C the worker finishes the running jobs and refuses new jobs with status 503; a second
    signal stops it at once. The token may also be in the variable IOI_EVAL_TOKEN. With --log-level debug it
    logs each job and all limits.
    """
    as_json, verbose = log_format == "json", console.is_debug_logged()
    emit = _make_emitter(json=as_json, verbose=verbose)
    if as_json:
        console.set_log_output(
            lambda message: emit(Event(name="note", message=message)), of_other_packages=True
        )
    token = Secret()
    if token_file is None:
        token = read_server_token(None)
    else:
        read_tokens(token_file)  # reports an invalid token file before the engine starts
    check_address(server_options.host, token=token or token_file is not None, open_to_all=open_to_all)
    options = msgspec.structs.replace(
        server_options,
        run_cpu_time=server_options.run_timeout,
        compile_cpu_time=server_options.compile_timeout,
        token=token,
        token_file=token_file,
        log_jobs=verbose,
        allowing="--set allow-host=NAME",
    )
    store = open_store()
    # A thousand idle clients would reach the default limit of open files.
    raise_open_file_limit()
    server_context = serve(
        store=store,
        options=options,
        slots=slots,
        packages=(packages,) if packages else (),
        allow_unconfined=allow_unconfined,
        python=os.environ.get(PYTHON, "").strip() if python is None else python,
        emit=emit,
    )
    if not asyncio.run(_serve_until_signal(server_context, store, emit, as_json=as_json)):
        raise typer.Exit(console.INTERRUPTED)


def _make_emitter(*, json: bool, verbose: bool) -> EmitEvent:
    def emit_event(event: Event) -> None:
        if json:
            console.print_message(event.as_json())
        elif event.name != "started":  # the event "started" is already printed to standard output
            console.print_message(event.message)
        elif verbose:
            console.print_message(", ".join(f"{name} {value}" for name, value in event.facts.items()))

    return emit_event


async def _serve_until_signal(
    server_context: AbstractAsyncContextManager[Server], store: Store, emit: EmitEvent, *, as_json: bool
) -> bool:
    """Serve until a signal. Return False if a second signal came before all jobs were done.

    The address is printed on standard output, except if the log is JSON, which contains the address.
    """
    signals = console.StopSignals()
    async with server_context as server:
        health_checks = await check_confinement(await asyncio.to_thread(find_compiler), store)
        if not as_json:
            console.print_line(f"ioi-eval worker at {server.url}, {format_count(server.slots, 'slot')}")
            console.print_line(f"confinement: {health_checks[0].detail}")
        facts = {"url": server.url, "confinement": health_checks[0].detail, **server.facts}
        emit(Event(name="started", message=f"ioi-eval worker at {server.url}", facts=facts))
        await signals.wait()
        if server.running_count:
            message = f"Finishing {format_count(server.running_count, 'job')}; a second signal stops at once."
            emit(Event(name="draining", message=message, facts={"jobs": server.running_count}))
        draining, second_signal = asyncio.create_task(server.drain()), asyncio.create_task(signals.wait())
        await asyncio.wait({draining, second_signal}, return_when=asyncio.FIRST_COMPLETED)
        second_signal.cancel()
        draining.cancel()
        is_drained = draining.done() and not draining.cancelled()
        if is_drained:
            emit(Event(name="drained", message="All jobs are done."))
        return is_drained


# --- the live view of a run in a browser --------------------------------------------------------------


_VIEW_EXAMPLES = """
  ioi-eval view runs/demo --open
  ioi-eval view runs/demo --host 0.0.0.0 --token-file ~/token
  curl http://127.0.0.1:8000/metrics
"""
_VIEW_CHANGES = {"port": {"default": 8000, "panel": ""}, "host": {"panel": ""}, "allow_hosts": {"panel": ""}}
_NICE = 10  # niceness of the process, so that the view does not slow down the run


@command(_VIEW_EXAMPLES)
def view(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run's folder.")],
    server_options: Annotated[
        ServerOptions, OptionGroup("", only=("port", "host", "allow_hosts"), changes=_VIEW_CHANGES)
    ],
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="File with the token that viewers of the page must send.",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Show a run in a browser while it is in progress.

    The page shows progress, verdicts, failures and the report so far. The run's folder is only read, and any
    number of people may look at the page. Other machines need a token, which may also be in the variable
    IOI_EVAL_TOKEN. /metrics has counts for Prometheus.
    """
    token = read_server_token(token_file)
    check_address(server_options.host, token=token, open_to_all=None)
    os.nice(_NICE)
    options = msgspec.structs.replace(server_options, token=token, allowing="--set allow-host=NAME")
    asyncio.run(_serve_view(folder, options, show))


async def _serve_view(folder: Path, options: ServerOptions, open_browser: bool) -> None:
    """Serve the page until a signal."""
    # Imported here, because workers write no reports.
    from ioi_eval.server.view import (
        serve_live_page as serve_view,
    )

    stop_signals = console.StopSignals()
    async with serve_view(folder, options) as address:
        console.print_line(f"ioi-eval view at {address}")
        if open_browser:
            await asyncio.to_thread(webbrowser.open, address)
        await stop_signals.wait()


# --- the command that creates the package for Piston servers ------------------------------------------


_PACKAGE_EXAMPLES = """
  ioi-eval package /shared/piston/packages
  ioi-eval package /srv/www --index http://10.0.0.5:8000     then PISTON_REPO_URL=.../index
"""


@command(_PACKAGE_EXAMPLES)
def package(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="Folder from which servers load packages; with --index, the web server's folder.",
        ),
    ],
    index: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Write the package as an archive into DIR, and its line into DIR/index."
            " A web server serves DIR at URL.",
        ),
    ] = "",
    compiler: Annotated[
        Path | None,
        typer.Option(
            metavar="PREFIX",
            exists=True,
            file_okay=False,
            help="Folder with a compiler (bin/, lib/, lib64/) to include in the package.",
        ),
    ] = None,
    headers: Annotated[
        str,
        typer.Option(
            metavar="STANDARD,...",
            help="Include bits/stdc++.h precompiled for these standards,"
            " such as gnu++17,gnu++20. Each takes 250 MB"
            " and a minute. The g++ in PREFIX or of this machine compiles it; other compilers ignore it.",
        ),
    ] = "",
) -> None:
    """Write the Piston package that runs jobs: scripts and matching limits.

    Servers find it in their folder of packages when they start. From an index they install it on request:
    POST /api/v2/packages {"language": "ioi_eval", "version": "1.0.0"}.
    """
    standards = tuple(filter(None, (name.strip() for name in headers.split(","))))
    if index:
        console.print_line(str(publish_package(folder, index, compiler=compiler, headers=standards)))
    else:
        console.print_line(str(install_package(folder, compiler=compiler, headers=standards)))
        console.print_message("Servers read this folder when they start: restart the running servers.")
