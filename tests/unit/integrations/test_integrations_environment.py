"""Environment variables select the engine of integrations."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.servers import ServerOptions, serve

from ioi_eval import Store
from ioi_eval.engines.environment import DistributedProcess
from ioi_eval.engines.registry import EngineChoice
from ioi_eval.errors import EngineUnavailable, InputError
from ioi_eval.integrations.runtime import close_all
from ioi_eval.integrations.trl import reward
from ioi_eval.model.secret import Secret

LAUNCHED = {"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4", "IOI_EVAL_TOKEN": " secret\n"}


def test_environment_variables_select_engine() -> None:
    assert not EngineChoice.from_variables(None, {"PISTON_ENDPOINTS": " "}).is_remote
    assert EngineChoice.from_variables(None, {"PISTON_ENDPOINTS": " slurm "}) == EngineChoice(text="slurm")
    variables = {"PISTON_ENDPOINTS": "slurm", "PISTON_MAX_REQUESTS_PER_ENDPOINT": "2", **LAUNCHED}
    launch, token = DistributedProcess(rank=3, world=4), Secret("secret")
    assert EngineChoice.from_variables(None, variables) == EngineChoice(
        text="slurm", per_endpoint=2, token=token, launch=launch
    )
    choice = EngineChoice.from_variables("http://a:1", variables)
    assert choice == EngineChoice(text="http://a:1", token=token), "all named settings"
    with pytest.raises(InputError, match="'two' is not a whole number"):
        EngineChoice.from_variables(
            None, {"PISTON_ENDPOINTS": "slurm", "PISTON_MAX_REQUESTS_PER_ENDPOINT": "two"}
        )


@pytest.mark.parametrize(("processes", "cores"), [("", 8), ("1", 8), ("3", 2), ("16", 1), ("0", 8)])
def test_local_world_size_divides_cores(processes: str, cores: int) -> None:
    assert (
        DistributedProcess.from_environment_variables({"LOCAL_WORLD_SIZE": processes}).count_process_cores(8)
        == cores
    )


async def test_rewards_use_servers_of_environment(
    shared_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    completions, tests = ["print(2 * int(input()))", "print(0)"], [{"inputs": ["2"], "outputs": ["4"]}] * 2
    async with serve(store=Store(shared_cache), options=ServerOptions(port=0), slots=2) as server:
        monkeypatch.setenv("IOI_EVAL_CACHE", str(shared_cache))
        monkeypatch.setenv("PISTON_ENDPOINTS", server.url)
        scores = await asyncio.to_thread(reward, completions=completions, tests=tests)
        await asyncio.to_thread(close_all)
    assert scores == [1, 0]
    monkeypatch.setenv("PISTON_ENDPOINTS", "http://127.0.0.1:9")
    with pytest.raises(EngineUnavailable, match=r"127\.0\.0\.1:9"):
        await asyncio.to_thread(reward, completions=completions, tests=tests)
