"""Machines of others for the time of a run: boxes that are started, judge with our worker, and are stopped.

A provider starts a box from an image that has the package and its compilers, starts the worker in it, and
says where it answers. The Piston engine does the rest: sends, tries again, loses servers. E2B is built in;
others are a class with three methods (docs/rented.md).
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
from ioi_eval.engines.piston.discovery import Fixed
from ioi_eval.engines.piston.probe import glance
from ioi_eval.engines.piston.sending import HttpClient
from ioi_eval.engines.registry import EngineSetup
from ioi_eval.model.errors import EngineUnavailable, InputError
from ioi_eval.model.retry import RENTED_SERVER
from ioi_eval.model.secret import Secret

_log = logging.getLogger(__name__)
PORT = 2000
WORKER = f"ioi-eval worker --host 0.0.0.0 --port {PORT}"  # what a box is to run
_NAMED = re.compile(r"(?P<image>[\w./:-]+?)(?:\*(?P<number>[0-9]{1,4}))?")
_AT_ONCE = 16  # boxes that are started at the same time: providers limit the rate
_LIFE, _AGAIN = 3600, 600.0  # seconds: a box lives so long after it was last asked for, and that is how often


class RentedServer(Protocol):
    """A box that was started."""

    @property
    def address(self) -> str:
        """The URL of its worker, from here."""
        ...

    async def keep(self) -> None:
        """Have it live on for a while. Called every ten minutes."""
        ...

    async def stop(self) -> None: ...


class Provider(Protocol):
    async def start(self, image: str, token: str) -> RentedServer:
        """Start a box with the worker running in it (`WORKER`), the token in its variable IOI_EVAL_TOKEN."""
        ...


class RentedEngine(PistonEngine):
    """Judges in boxes that it starts when it is entered, and stops when it is left, however that ends."""

    def __init__(self, provider: Provider, image: str, number: int = 1, **options: Any) -> None:
        if number < 1:
            raise InputError("no box is asked for", field="engine", remedy="Write the number as NAME*4")
        super().__init__(Fixed(()), **options)
        self._provider, self._image, self._number = provider, image, number
        self._secret = secrets.token_urlsafe(32)
        self._boxes = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        try:
            boxes = await self._started()
            self._discovery = Fixed(box.address for box in boxes)
            self._token = Secret(" ".join(f"{box.address} {self._secret}" for box in boxes))
            await self._boxes.enter_async_context(_kept(boxes))
            await self._answering(boxes)
            return await super().__aenter__()
        except BaseException:
            await asyncio.shield(self._boxes.aclose())
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await super().__aexit__(kind, error, trace)
        finally:
            await asyncio.shield(self._boxes.aclose())

    async def _started(self) -> list[RentedServer]:
        """Start all boxes; each that was started is stopped in the end, also where another one fails."""
        room = asyncio.Semaphore(_AT_ONCE)

        async def one() -> RentedServer:
            async with room:
                box = await self._provider.start(self._image, self._secret)
            self._boxes.push_async_callback(box.stop)
            return box

        starting = [asyncio.ensure_future(one()) for _ in range(self._number)]
        try:
            return list(await asyncio.shield(asyncio.gather(*starting)))
        finally:
            # A box that is being started is waited for: nobody else could stop it.
            await asyncio.shield(asyncio.gather(*starting, return_exceptions=True))

    async def _answering(self, boxes: Sequence[RentedServer]) -> None:
        reason = ""
        try:
            async with (
                HttpClient(token=self._token, connect=10.0) as wire,
                asyncio.timeout(RENTED_SERVER.max_seconds),
            ):
                for box in boxes:
                    while not (found := await glance(wire, box.address, 10.0)).reachable:
                        reason = found.reason
                        RENTED_SERVER.log(_log, reason)
                        await asyncio.sleep(RENTED_SERVER.longest_wait)
        except TimeoutError:
            rule = RENTED_SERVER
            limit = f"{rule.max_seconds:g} s (retry rule `{rule.name}`)"
            raise EngineUnavailable(f"a box's worker does not answer after {limit}: {reason}") from None


@contextlib.asynccontextmanager
async def _kept(boxes: Sequence[RentedServer]) -> AsyncIterator[None]:
    async def keep() -> None:
        while True:
            await asyncio.sleep(_AGAIN)
            await asyncio.gather(
                *(box.keep() for box in boxes), return_exceptions=True
            )  # lost: a lost server

    keeping = asyncio.create_task(keep())
    try:
        yield
    finally:
        keeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeping


def rented(text: str, provider: Provider, **options: Any) -> RentedEngine:
    """Return the engine of a text such as `e2b:ioi-eval*8`: the provider, the image, the number of boxes."""
    found = _NAMED.fullmatch(text.partition(":")[2])
    if found is None:
        remedy = "Write e2b:TEMPLATE, or e2b:TEMPLATE*8 for eight boxes"
        raise InputError(f"{text!r} names no image", field="engine", remedy=remedy)
    return RentedEngine(provider, found["image"], int(found["number"] or 1), **options)


# --- E2B ---------------------------------------------------------------------------------------------


class E2b:
    """Sandboxes of E2B, by its SDK (`pip install e2b`) and the key in its variable E2B_API_KEY."""

    async def start(self, image: str, token: str) -> RentedServer:
        try:
            from e2b import AsyncSandbox
        except ImportError as error:
            raise EngineUnavailable("the package e2b is not installed: pip install e2b") from error
        sandbox = await _asked(
            AsyncSandbox.create(template=image, timeout=_LIFE, allow_internet_access=False)
        )
        box = _E2bBox(sandbox)
        try:
            variables = {"IOI_EVAL_TOKEN": token}
            await _asked(sandbox.commands.run(WORKER, background=True, envs=variables, timeout=0))
        except BaseException:
            await asyncio.shield(box.stop())
            raise
        return box


class _E2bBox:
    def __init__(self, sandbox: Any) -> None:
        self._sandbox = sandbox

    @property
    def address(self) -> str:
        return f"https://{self._sandbox.get_host(PORT)}"

    async def keep(self) -> None:
        await self._sandbox.set_timeout(_LIFE)

    async def stop(self) -> None:
        await _asked(self._sandbox.kill())


async def _asked(call: Any) -> Any:
    """Wait for a call of the SDK; its errors have no type in common but its own base."""
    from e2b.exceptions import AuthenticationException, SandboxException, ServiceBusyException

    try:
        return await call
    except (SandboxException, AuthenticationException, ServiceBusyException, OSError) as error:
        raise EngineUnavailable(f"E2B: {error}") from error


def open_e2b(setup: EngineSetup) -> RentedEngine:
    """Make the engine of `e2b:TEMPLATE`."""
    return rented(
        setup.text,
        E2b(),
        per_endpoint=setup.per_endpoint,
        total=setup.slots,
        same_compiler=setup.same_compiler,
    )
