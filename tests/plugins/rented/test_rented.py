"""Rented sandboxes, with a fake of E2B's SDK whose workers are servers on this machine."""

from __future__ import annotations

import asyncio
import sys
import types
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest
from piston_loopback import PROFILE, QUICK, Loopback, fine, job

from ioi_eval import Store
from ioi_eval.engines.registry import EngineChoice, open_engine
from ioi_eval.errors import EngineUnavailable, InputError
from ioi_eval.plugins.rented import servers as rented


class SandboxException(Exception):
    """The base class of the SDK's errors."""


class Sandbox:
    """The part of e2b.AsyncSandbox that is used, with its names and arguments."""

    made: ClassVar[list[Self]] = []
    refuse: ClassVar[int] = 0  # number of the sandbox that is refused; 0 refuses none

    @classmethod
    async def create(cls, *, template: str, **told: Any) -> Self:
        await asyncio.sleep(0)
        if len(cls.made) + 1 == cls.refuse:
            raise SandboxException("quota exceeded")
        assert told == {"timeout": 3600, "allow_internet_access": False}
        instance = cls()
        instance.template, instance.commands, instance.ran, instance.killed = template, instance, [], 0
        cls.made.append(instance)
        return instance

    async def run(self, command: str, *, envs: dict[str, str], **told: Any) -> None:
        assert told == {"background": True, "timeout": 0}, "the worker runs after the call returns"
        self.ran.append((command, envs))

    def get_host(self, port: int) -> str:
        assert port == 2000
        return f"{self.made.index(self)}.e2b.example"

    async def set_timeout(self, seconds: int) -> None: ...

    async def kill(self) -> bool:
        self.killed += 1
        return True


@pytest.fixture
def sdk(monkeypatch: pytest.MonkeyPatch) -> type[Sandbox]:
    package, errors = types.ModuleType("e2b"), types.ModuleType("e2b.exceptions")
    package.AsyncSandbox = Sandbox  # type: ignore[attr-defined]
    for name in ("AuthenticationException", "SandboxException", "ServiceBusyException"):
        setattr(errors, name, SandboxException)
    monkeypatch.setitem(sys.modules, "e2b", package)
    monkeypatch.setitem(sys.modules, "e2b.exceptions", errors)
    Sandbox.made, Sandbox.refuse = [], 0
    return Sandbox


class OnLoopback:
    """E2B's sandboxes, except that their workers answer on loopback."""

    def __init__(self, servers: list[Loopback]) -> None:
        self._urls = {f"https://{number}.e2b.example": server.url for number, server in enumerate(servers)}

    async def start(self, image: str, token: str) -> Any:
        server = await rented.E2b().start(image, token)
        address = self._urls[server.address]
        return types.SimpleNamespace(address=address, keep=server.keep, stop=server.stop)


async def test_rented_sandboxes_judge_and_are_stopped(sdk: type[Sandbox]) -> None:
    async with Loopback(fine) as first_server, Loopback(fine) as other:
        provider = OnLoopback([first_server, other])
        engine = rented.make_rented_engine("e2b:judge*2", provider, patience=QUICK, capabilities=PROFILE)
        async with engine:
            result = await engine.execute(job("hello"))
            assert result.run.stdout == "hello" and result.endpoint in (first_server.url, other.url)
            assert [box.killed for box in sdk.made] == [0, 0]
        [(command, variables)] = sdk.made[0].ran
        assert command == "ioi-eval worker --host 0.0.0.0 --port 2000" and sdk.made[0].template == "judge"
        token = variables["IOI_EVAL_TOKEN"]
        headers = [*first_server.headers, *other.headers]
        assert len(token) > 30 and {header.get("Authorization") for header in headers} == {f"Bearer {token}"}
    assert [box.killed for box in sdk.made] == [1, 1]


async def test_failed_start_of_a_rented_sandbox_stops_the_others(sdk: type[Sandbox]) -> None:
    sdk.refuse = 3
    with pytest.raises(EngineUnavailable, match="E2B: quota exceeded"):
        await rented.make_rented_engine("e2b:judge*4", rented.E2b()).__aenter__()
    assert sdk.made and {box.killed for box in sdk.made} == {1}


@pytest.mark.parametrize("late", ["create", "run"])
async def test_cancellation_during_start_stops_rented_sandboxes(
    sdk: type[Sandbox], monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    begun, call = asyncio.Event(), getattr(Sandbox, late)

    async def slow(*arguments: Any, **options: Any) -> Any:
        outcome = await call(*arguments, **options)
        begun.set()
        await asyncio.sleep(0.01)
        return outcome

    monkeypatch.setattr(Sandbox, late, slow)
    starting = asyncio.ensure_future(rented.make_rented_engine("e2b:judge*2", rented.E2b()).__aenter__())
    await begun.wait()
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert [box.killed for box in sdk.made] == [1, 1]


PAGE = Path(__file__).parents[3] / "docs" / "rented.md"


async def test_example_of_rented_page_works() -> None:
    """Its client starts a server on this machine."""
    names = dict[str, Any]()
    exec(PAGE.read_text().partition("```python\n")[2].partition("```")[0], names)
    gone = []
    async with Loopback(fine) as server:

        class Client:
            url = server.url

            async def create(self, image: str, **told: Any) -> Self:
                assert told["command"] == rented.WORKER and told["port"] == 2000
                return self

            async def delete(self) -> None:
                gone.append(self.url)

        engine = names["RentedEngine"](
            names["Provider"](Client()), "ioi-eval", number=1, patience=QUICK, capabilities=PROFILE
        )
        async with engine:
            assert (await engine.execute(job("hello"))).run.stdout == "hello"
    assert gone == [server.url] and isinstance(names["engine"](Client()), rented.RentedEngine)


def test_engine_option_e2b_opens_rented_engine(store: Store) -> None:
    opened = open_engine(EngineChoice(text="e2b:judge*3"), store)
    assert isinstance(opened.engine, rented.RentedEngine) and opened.trusted is not None
    for engine_text in ("e2b", "e2b:judge*0", "e2b:a b"):
        with pytest.raises(InputError, match=r"does not name an image|number of servers must be"):
            open_engine(EngineChoice(text=engine_text), store)
