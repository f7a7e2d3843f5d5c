"""`ioi-eval worker`: the embedded engine over Piston's HTTP API."""

from __future__ import annotations

import asyncio
import os
import resource
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer

from ioi_eval.cli import console
from ioi_eval.cli.environment import PythonText, Slots, Unconfined, open_store, read_own_token
from ioi_eval.cli.groups import OptionGroup, command
from ioi_eval.engines.conditions import confinement
from ioi_eval.engines.embedded.toolchains import find_compiler
from ioi_eval.engines.environment import PYTHON
from ioi_eval.model.secret import Secret
from ioi_eval.reports.document import counted
from ioi_eval.server import Event, Server, ServerOptions, Tell, check_address, serve
from ioi_eval.server.callers import read_callers
from ioi_eval.store import Store

_EXAMPLES = """
  ioi-eval worker                                        http://127.0.0.1:2000, one job per core
  ioi-eval worker --port 2001 --slots 8 --queue 200
  ioi-eval worker --host 0.0.0.0 --token-file ~/token    for other machines
  ioi-eval worker --packages /shared/packages            what a Piston cluster has installed
  curl http://127.0.0.1:2000/api/v2/runtimes             what it can run
"""


@command(_EXAMPLES)
def worker(
    serving: Annotated[ServerOptions, OptionGroup("Limits")],
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="File with the token that requests must send, or lines of NAME TOKEN [SHARE].",
            rich_help_panel="Access",
        ),
    ] = None,
    open_to_all: Annotated[
        bool,
        typer.Option(
            "--open-to-all",
            help="Listen beyond this machine without a token: closed networks.",
            rich_help_panel="Access",
        ),
    ] = False,
    slots: Slots = None,
    packages: Annotated[
        Path | None,
        typer.Option(metavar="DIR", exists=True, file_okay=False, help="Packages in Piston's layout."),
    ] = None,
    allow_unconfined: Unconfined = False,
    python: PythonText = None,
    log_format: Annotated[
        Literal["text", "json"],
        typer.Option(help="Log each event as a sentence or as a JSON object."),
    ] = "text",
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log every job, and all limits.")] = False,
) -> None:
    """Serve jobs over Piston's HTTP API: a cluster's worker without Docker or privileges.

    SIGTERM or Ctrl-C lets the jobs that run finish and turns new ones away with 503; a second one ends at
    once. The token may also be in the variable IOI_EVAL_TOKEN.
    """
    as_json = log_format == "json"
    tell = _telling(json=as_json, verbose=verbose)
    if as_json:
        console.tell_what_is_logged(lambda words: tell(Event(name="note", words=words)), of_others=True)
    token = Secret()
    if token_file is None:
        token = read_own_token(None)
    else:
        read_callers(token_file)  # so that a fault is told at once
    check_address(serving.host, token=token or token_file is not None, open_to_all=open_to_all)
    options = msgspec.structs.replace(
        serving,
        run_cpu_time=serving.run_timeout,
        compile_cpu_time=serving.compile_timeout,
        token=token,
        token_file=token_file,
        log_jobs=verbose,
        allowing="--allow-host NAME",
    )
    store = open_store()
    # As many as we may have: a thousand clients that say nothing would take all that is usual.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    running = serve(
        store=store,
        options=options,
        slots=slots,
        packages=(packages,) if packages else (),
        allow_unconfined=allow_unconfined,
        python=os.environ.get(PYTHON, "").strip() if python is None else python,
        tell=tell,
    )
    done = asyncio.run(_serve(running, store, tell, as_json=as_json))
    if not done:
        raise typer.Exit(console.INTERRUPTED)


def _telling(*, json: bool, verbose: bool) -> Tell:
    def tell(event: Event) -> None:
        if json:
            console.tell(event.as_json())
        elif event.name != "started":  # that is on standard output
            console.tell(event.words)
        elif verbose:
            console.tell(", ".join(f"{name} {value}" for name, value in event.facts.items()))

    return tell


async def _serve(
    serving: AbstractAsyncContextManager[Server], store: Store, tell: Tell, *, as_json: bool
) -> bool:
    """Serve until a signal; return False if a second one came before all jobs were done.

    The address is on standard output for people, but not beside JSON, which has it.
    """
    signals = console.Stops()
    async with serving as server:
        found = await confinement(await asyncio.to_thread(find_compiler), store)
        if not as_json:
            console.show(f"ioi-eval worker at {server.url}, {counted(server.slots, 'slot')}")
            console.show(f"confinement: {found[0].detail}")
        facts = {"url": server.url, "confinement": found[0].detail, **server.facts}
        tell(Event(name="started", words=f"ioi-eval worker at {server.url}", facts=facts))
        await signals.wait()
        return await _drained(server, signals, tell)


async def _drained(server: Server, signals: console.Stops, tell: Tell) -> bool:
    if server.running:
        words = f"Finishing {counted(server.running, 'job')}, taking no more; once more to stop at once."
        tell(Event(name="draining", words=words, facts={"jobs": server.running}))
    draining, again = asyncio.create_task(server.drain()), asyncio.create_task(signals.wait())
    await asyncio.wait({draining, again}, return_when=asyncio.FIRST_COMPLETED)
    again.cancel()
    draining.cancel()
    done = draining.done() and not draining.cancelled()
    if done:
        tell(Event(name="drained", words="All jobs are done."))
    return done
