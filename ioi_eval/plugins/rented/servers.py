"""Rented servers: sandboxes of a provider that run this package's worker for the time of a run.

A provider starts a server from an image that has the package and its compilers, starts the worker in it, and
returns its address. The Piston engine sends requests, repeats them and replaces lost servers. E2B is built
in. Any other provider is a class with three methods (docs/rented.md).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import secrets
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from ioi_eval.engines.piston import PistonEngine
from ioi_eval.engines.piston.discovery import FixedServers
from ioi_eval.engines.piston.probe import identify_server
from ioi_eval.engines.piston.sending import HttpClient
from ioi_eval.engines.registry import EngineSetup
from ioi_eval.model.errors import EngineUnavailable, InputError
from ioi_eval.model.retry import RENTED_SERVER
from ioi_eval.model.secret import Secret

_log = logging.getLogger(__name__)
PORT = 2000
WORKER = f"ioi-eval worker --host 0.0.0.0 --port {PORT}"  # command that a rented server runs
_ENGINE_VALUE = re.compile(r"(?P<image>[\w./:-]+?)(?:\*(?P<number>[0-9]{1,4}))?")
# Maximum number of servers that are started at the same time, because providers limit the rate.
_MAX_STARTS = 16
# Seconds for which a server runs after the last request to extend its lifetime, and seconds between two such
# requests.
_LIFETIME_S, _EXTEND_EVERY_S = 3600, 600.0


class RentedServer(Protocol):
    """A rented server that was started."""

    @property
    def address(self) -> str:
        """Return the URL of the server's worker."""
        ...

    async def keep(self) -> None:
        """Extend the lifetime of a server. Called every ten minutes."""
        ...

    async def stop(self) -> None: ...


class Provider(Protocol):
    async def start(self, image: str, token: str) -> RentedServer:
        """Start a server that runs the command `WORKER`, with `token` in its variable IOI_EVAL_TOKEN."""
        ...


class RentedEngine(PistonEngine):
    """Judges on rented servers. It starts them when it is opened, and stops them when it is closed."""

    def __init__(self, provider: Provider, image: str, number: int = 1, **options: Any) -> None:
        if number < 1:
            raise InputError(
                "the number of servers must be at least 1",
                field="engine",
                remedy="Write the engine as NAME*4",
            )
        super().__init__(FixedServers(()), **options)
        self._provider, self._image, self._number = provider, image, number
        self._worker_token = secrets.token_urlsafe(32)
        self._server_stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        try:
            servers = await self._start_servers()
            self._discovery = FixedServers(server.address for server in servers)
            self._token = Secret(" ".join(f"{server.address} {self._worker_token}" for server in servers))
            await self._server_stack.enter_async_context(_extend_lifetimes(servers))
            await self._wait_for_workers(servers)
            return await super().__aenter__()
        except BaseException:
            await asyncio.shield(self._server_stack.aclose())
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await super().__aexit__(kind, error, trace)
        finally:
            await asyncio.shield(self._server_stack.aclose())

    async def _start_servers(self) -> list[RentedServer]:
        """Start all servers. If a server fails to start, stop all servers."""
        start_slots = asyncio.Semaphore(_MAX_STARTS)

        async def start_server() -> RentedServer:
            async with start_slots:
                server = await self._provider.start(self._image, self._worker_token)
            self._server_stack.push_async_callback(server.stop)
            return server

        start_tasks = [asyncio.ensure_future(start_server()) for _ in range(self._number)]
        try:
            return list(await asyncio.shield(asyncio.gather(*start_tasks)))
        finally:
            # Wait for servers that are starting: they can only be stopped when their start is complete.
            await asyncio.shield(asyncio.gather(*start_tasks, return_exceptions=True))

    async def _wait_for_workers(self, servers: Sequence[RentedServer]) -> None:
        last_reason = ""
        try:
            async with (
                HttpClient(token=self._token, max_connect_s=10.0) as client,
                asyncio.timeout(RENTED_SERVER.max_total_seconds),
            ):
                for server in servers:
                    while not (report := await identify_server(client, server.address, 10.0)).reachable:
                        last_reason = report.reason
                        RENTED_SERVER.log(_log, last_reason)
                        await asyncio.sleep(RENTED_SERVER.longest_wait)
        except TimeoutError:
            retry_rule = RENTED_SERVER
            limit_text = f"{retry_rule.max_total_seconds:g} s (retry rule `{retry_rule.name}`)"
            raise EngineUnavailable(
                f"the worker on a rented server does not answer after {limit_text}: {last_reason}"
            ) from None


@contextlib.asynccontextmanager
async def _extend_lifetimes(servers: Sequence[RentedServer]) -> AsyncIterator[None]:
    async def extend_regularly() -> None:
        while True:
            await asyncio.sleep(_EXTEND_EVERY_S)
            # The engine notices if a server is lost.
            await asyncio.gather(*(server.keep() for server in servers), return_exceptions=True)

    extend_task = asyncio.create_task(extend_regularly())
    try:
        yield
    finally:
        extend_task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await extend_task


def make_rented_engine(engine_text: str, provider: Provider, **options: Any) -> RentedEngine:
    """Return the engine of a value such as `e2b:ioi-eval*8`: provider, image, and number of servers."""
    match = _ENGINE_VALUE.fullmatch(engine_text.partition(":")[2])
    if match is None:
        remedy = "Write e2b:TEMPLATE, or e2b:TEMPLATE*8 for eight servers"
        raise InputError(f"{engine_text!r} does not name an image", field="engine", remedy=remedy)
    return RentedEngine(provider, match["image"], int(match["number"] or 1), **options)


# --- E2B ---------------------------------------------------------------------------------------------


class E2b:
    """Rents sandboxes of E2B. Needs the SDK (`pip install e2b`) and a key in the variable E2B_API_KEY."""

    async def start(self, image: str, token: str) -> RentedServer:
        try:
            from e2b import AsyncSandbox
        except ImportError as error:
            raise EngineUnavailable("the package e2b is not installed: pip install e2b") from error
        sandbox = await _call_sdk(
            AsyncSandbox.create(template=image, timeout=_LIFETIME_S, allow_internet_access=False)
        )
        server = _E2bServer(sandbox)
        try:
            variables = {"IOI_EVAL_TOKEN": token}
            await _call_sdk(sandbox.commands.run(WORKER, background=True, envs=variables, timeout=0))
        except BaseException:
            await asyncio.shield(server.stop())
            raise
        return server


class _E2bServer:
    def __init__(self, sandbox: Any) -> None:
        self._sandbox = sandbox

    @property
    def address(self) -> str:
        return f"https://{self._sandbox.get_host(PORT)}"

    async def keep(self) -> None:
        await self._sandbox.set_timeout(_LIFETIME_S)

    async def stop(self) -> None:
        await _call_sdk(self._sandbox.kill())


async def _call_sdk(call: Any) -> Any:
    """Await a call of the SDK, and raise its errors as EngineUnavailable."""
    from e2b.exceptions import AuthenticationException, SandboxException, ServiceBusyException

    try:
        return await call
    except (SandboxException, AuthenticationException, ServiceBusyException, OSError) as error:
        raise EngineUnavailable(f"E2B: {error}") from error


def open_e2b(setup: EngineSetup) -> RentedEngine:
    """Return the engine of `e2b:TEMPLATE`."""
    return make_rented_engine(
        setup.text,
        E2b(),
        per_endpoint=setup.per_endpoint,
        total=setup.slots,
        same_compiler=setup.same_compiler,
    )
