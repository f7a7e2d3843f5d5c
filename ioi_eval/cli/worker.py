"""`ioi-eval worker`: the embedded engine over Piston's HTTP API."""

from __future__ import annotations

import asyncio
import re
import resource
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ioi_eval.cli import console
from ioi_eval.cli.environment import open_store, read_token
from ioi_eval.cli.options import Unconfined
from ioi_eval.engines.conditions import confinement
from ioi_eval.engines.embedded.toolchains import find_compiler
from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Value
from ioi_eval.store import Store

if TYPE_CHECKING:
    from ioi_eval.server import Server, ServerOptions

_SIZE = re.compile(r"(\d+)\s*([kmg]?)i?b?", re.IGNORECASE)
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30}

_Port = Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")]
_Host = Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen; 0.0.0.0: everywhere.")]
_Slots = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Jobs at the same time.", show_default="one per core"),
]
_Queue = Annotated[int, typer.Option(min=0, metavar="N", help="Requests that may wait; past them: 503.")]
_Body = Annotated[str, typer.Option(metavar="SIZE", help="Of a request, inflated.")]
_Bodies = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Of all requests that run or wait; past it: 503.",
        show_default="an eighth of the memory",
    ),
]
_Output = Annotated[str, typer.Option(metavar="SIZE", help="Of a job's standard output, or error output.")]
_RunTime = Annotated[int, typer.Option(min=1, metavar="SECONDS", help="The longest that a job may run.")]
_CompileTime = Annotated[int, typer.Option(min=1, metavar="SECONDS", help="The longest that it may compile.")]
_Packages = Annotated[
    Path | None,
    typer.Option(metavar="DIR", exists=True, file_okay=False, help="Packages in Piston's layout."),
]
_TokenFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", exists=True, dir_okay=False, help="Requests must bring what is in it."),
]
_Open = Annotated[
    bool, typer.Option("--open-to-all", help="Listen beyond this machine without a token: closed networks.")
]
_Hosts = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A further name of this worker; the option may be repeated."),
]


class _Wanted(Value):
    """What to serve, and with what."""

    slots: int | None
    packages: tuple[Path, ...]
    allow_unconfined: bool


def worker(
    port: _Port = 2000,
    host: _Host = "127.0.0.1",
    slots: _Slots = None,
    queue: _Queue = 64,
    max_body: _Body = "512mb",
    max_bodies: _Bodies = None,
    max_output: _Output = "64mb",
    run_timeout: _RunTime = 900,
    compile_timeout: _CompileTime = 120,
    packages: _Packages = None,
    token_file: _TokenFile = None,
    open_to_all: _Open = False,
    allow_host: _Hosts = None,
    allow_unconfined: Unconfined = False,
) -> None:
    """Serve jobs over Piston's HTTP API: a cluster's worker without Docker or privileges.

    SIGTERM or Ctrl-C lets the jobs that run finish and turns new ones away with 503; a second one ends at
    once. The token may also be in the variable IOI_EVAL_TOKEN.

    \b
    Examples:
      ioi-eval worker                                        http://127.0.0.1:2000, one job per core
      ioi-eval worker --port 2001 --slots 8 --queue 200
      ioi-eval worker --host 0.0.0.0 --token-file ~/token    for other machines
      ioi-eval worker --packages /shared/packages            what a Piston cluster has installed
      curl http://127.0.0.1:2000/api/v2/runtimes             what it can run
    """
    from ioi_eval.server import ServerOptions, check_address

    token = read_token(token_file)
    check_address(host, token=token, open_to_all=open_to_all)
    options = ServerOptions(
        host=host,
        port=port,
        queue=queue,
        max_body=_bytes(max_body, "--max-body"),
        max_bodies=None if max_bodies is None else _bytes(max_bodies, "--max-bodies"),
        max_output=_bytes(max_output, "--max-output"),
        run_timeout=1000 * run_timeout,
        run_cpu_time=1000 * run_timeout,
        compile_timeout=1000 * compile_timeout,
        compile_cpu_time=1000 * compile_timeout,
        token=token,
        allow_hosts=tuple(name.lower() for name in allow_host or ()),
    )
    wanted = _Wanted(
        slots=slots,
        packages=(packages,) if packages else (),
        allow_unconfined=allow_unconfined,
    )
    _take_descriptors()
    if not asyncio.run(_serve(options, wanted, open_store())):
        raise typer.Exit(console.INTERRUPTED)


def _take_descriptors() -> None:
    """As many as we may have: a thousand clients that say nothing would take all that is usual."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _serve(options: ServerOptions, wanted: _Wanted, store: Store) -> bool:
    """Until a signal; False when a second one came before all jobs were done."""
    from ioi_eval.server import serve

    signals = _Signals()
    async with serve(
        store=store,
        options=options,
        slots=wanted.slots,
        packages=wanted.packages,
        allow_unconfined=wanted.allow_unconfined,
        tell=console.tell,
    ) as server:
        console.show(await _lines(server, store))
        await signals.wait()
        return await _drained(server, signals)


async def _lines(server: Server, store: Store) -> str:
    """What is served, and what holds those who are let in."""
    found = await confinement(await asyncio.to_thread(find_compiler), store)
    slots = console.counted(server.slots, "slot")
    return f"ioi-eval worker at {server.url}, {slots}\nconfinement: {found[0].detail}"


async def _drained(server: Server, signals: _Signals) -> bool:
    if server.running:
        jobs = console.counted(server.running, "job")
        console.tell(f"Finishing {jobs}, taking no more; once more to stop at once.")
    draining, again = asyncio.create_task(server.drain()), asyncio.create_task(signals.wait())
    await asyncio.wait({draining, again}, return_when=asyncio.FIRST_COMPLETED)
    again.cancel()
    draining.cancel()
    return draining.done() and not draining.cancelled()


class _Signals:
    """SIGTERM, SIGINT and SIGHUP, one at a time."""

    def __init__(self) -> None:
        self._came = asyncio.Queue[int]()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._came.put_nowait, number)

    async def wait(self) -> None:
        await self._came.get()


def _bytes(text: str, option: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise InputError(f"{text!r} is not a size", field=option, remedy="Write 512mb, 100kb or 1048576")
    return int(match[1]) << _UNITS[match[2].lower()]
