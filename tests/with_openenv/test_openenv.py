"""A contest as an OpenEnv environment, with OpenEnv's server, client and validation."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openenv", reason="OpenEnv is not installed")

import uvicorn
from openenv.core.env_server.mcp_types import CallToolAction
from openenv.core.mcp_client import MCPToolClient

from ioi_eval import InputError
from ioi_eval.plugins.contest.openenv import app

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "examples" / "problems"
TIDE = (PACKAGES / "tide" / "solutions" / "model_solution" / "backwards.cpp").read_text()
NOTHING = "int main() {}"
LONGEST = 600  # seconds for a command, on a busy machine


@contextmanager
def served(source: Path, **options: Any) -> Iterator[str]:
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app(str(source), **options), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(LONGEST)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(PACKAGES, submissions=3) as address_found:
        yield address_found


async def step(environment: Any, tool: str, **arguments: Any) -> Any:
    return await environment.step(CallToolAction(tool_name=tool, arguments=arguments))


async def test_openenv_episode_is_played_to_full_marks(address: str) -> None:
    async with MCPToolClient(base_url=address, message_timeout_s=LONGEST) as environment:
        begun = await environment.reset(problem="tide")
        assert "Problem `tide`, 100 points." in str(begun.observation) and begun.reward == 0
        tools = {tool.name: tool for tool in await environment.list_tools()}
        assert set(tools) == {"statement", "run", "test", "submit"}
        assert set(tools["run"].input_schema["properties"]) == {"code", "language", "input"}
        wrong = await step(environment, "submit", code=NOTHING)
        assert (wrong.reward, wrong.done) == (0, False)
        refused = await step(environment, "submit", code=NOTHING, language="klingon")
        assert "the language 'klingon' is not available" in str(refused.observation) and not refused.done
        right = await step(environment, "submit", code=TIDE)
        assert (right.reward, right.done) == (1, True)
        assert (await environment.state()).step_count == 3
        next_episode = await environment.reset(problem="tide")
        assert not next_episode.done and (await step(environment, "submit", code=NOTHING)).reward == 0


async def test_seed_selects_the_problem_and_sessions_are_independent(address: str) -> None:
    async def chosen(seed: int) -> tuple[str, float]:
        async with MCPToolClient(base_url=address, message_timeout_s=LONGEST) as environment:
            begun = await environment.reset(seed=seed)
            reply = await step(environment, "submit", code=NOTHING)
            return str(begun.observation), reply.observation.result["data"]["submissions_left"]

    first, second, other = await asyncio.gather(chosen(7), chosen(7), chosen(8))
    assert first == second != other and first[1] == 2


async def test_judge_failure_gives_no_reward_in_openenv(tmp_path: Path) -> None:
    shutil.copytree(PACKAGES / "threes", tmp_path / "threes")
    [checker] = (tmp_path / "threes" / "checker").glob("checker.cpp")
    checker.write_text("no program\n")
    with served(tmp_path) as address:
        async with MCPToolClient(base_url=address, message_timeout_s=LONGEST) as environment:
            await environment.reset(problem="threes")
            reply = await step(environment, "submit", code=NOTHING)
            assert reply.reward is None and "the judge failed" in str(reply.observation)


@pytest.mark.parametrize(
    "target", ["url", str(ROOT / "examples" / "openenv")], ids=["a server", "the folder of the image"]
)
def test_openenv_validate_accepts_the_environment(address: str, target: str) -> None:
    arguments = ["--url", address] if target == "url" else ["--level", "static", target]
    command = [str(Path(sys.executable).with_name("openenv")), "validate", *arguments]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
    assert completed.returncode == 0 and "Verdict: PASS" in completed.stdout, (
        completed.stdout + completed.stderr
    )


def test_missing_problem_source_is_input_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IOI_EVAL_SOURCE", raising=False)
    with pytest.raises(InputError, match="the source of problems is missing"):
        app()
