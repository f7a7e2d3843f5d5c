"""`doctor --problems` and `run` check that the engine meets the problems' requirements."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from support.command_line import CommandLine, write_package
from support.engines import fake_capabilities

from ioi_eval import Store
from ioi_eval.benchmarks import BenchmarkOptions
from ioi_eval.engines.contract import HealthCheck
from ioi_eval.engines.registry import EngineChoice, JobAndTrustedEngines
from ioi_eval.errors import InputError
from ioi_eval.generate import AgentOptions
from ioi_eval.runs import needs as needs_module
from ioi_eval.runs.authors import run
from ioi_eval.runs.needs import check_problem_needs
from ioi_eval.testing import FakeEngine


def without(*commands: str) -> FakeEngine:
    profile = fake_capabilities()
    tools = {name: tool for name, tool in profile.toolchains.items() if name not in commands}
    return FakeEngine(capabilities=msgspec.structs.replace(profile, toolchains=tools))


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    for name in ("add", "sum"):
        package = write_package(tmp_path / "packages" / name)
        (package / "statement.md").write_text("Add two numbers.")
    return tmp_path / "packages"


async def looked(packages: Path, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> list[HealthCheck]:
    monkeypatch.setattr(
        needs_module, "open_engine", lambda choice, store, packages: JobAndTrustedEngines(engine)
    )
    store = Store(packages.parent / "store")
    return list(await check_problem_needs(str(packages), BenchmarkOptions(), EngineChoice(), store=store))


async def test_tool_that_all_problems_lack_is_a_single_health_check(
    packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, compiler = await looked(packages, engine := without("g++"), monkeypatch)
    assert (whole.name, whole.ok) == ("problems", False)
    assert whole.detail == f"0 of 2 problems of {packages} can be judged"
    assert (compiler.name, compiler.ok) == ("add, sum", False)
    assert "no g++" in compiler.detail and "apt-get install g++" in compiler.remedy
    assert engine.jobs == [], "no build for the check"


async def test_problems_check_passes_without_missing_tools(
    packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (whole,) = await looked(packages, without(), monkeypatch)
    assert whole.ok and whole.detail.startswith("2 of 2 problems")


async def test_agent_is_not_started_if_engine_lacks_compiler(packages: Path, tmp_path: Path) -> None:
    agent = AgentOptions(command=f"touch {tmp_path}/asked")
    out = tmp_path / "run"
    with pytest.raises(
        InputError, match=r"problem add: no program was requested from the author.*apt-get install g\+\+"
    ):
        await run(str(packages), agent, out=out, engine=without("g++"), store=Store(tmp_path / "store"))
    assert not (tmp_path / "asked").exists() and not out.exists()


def test_doctor_checks_problems_option(cli: CommandLine, packages: Path) -> None:
    (packages / "worse").mkdir()
    (packages / "worse" / "problem.json").write_text("{")
    cli = cli.among_the_systems()
    completed = cli("doctor", "--problems", packages)
    assert completed.returncode == 2, completed.stdout
    assert "MISSING problems 2 of 3 problems of" in " ".join(completed.stdout.split())
    assert "broken JSON" in completed.stdout
    (packages / "worse" / "problem.json").unlink()
    diagnosis = json.loads(cli("doctor", "--problems", packages, "--problem", "sum", "--json").stdout)
    assert diagnosis["ok"] and [entry["name"] for entry in diagnosis["problems"]] == ["problems"]
    refused = cli("doctor", "--problem", "sum")
    assert refused.returncode == 2 and "--problems" in refused.stderr
