"""`vf-eval` of verifiers over ioi_eval's taskset. A server on loopback is the model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.stub_server import StubReply, StubRequest, chat_reply, model_server

pytest.importorskip("verifiers", reason="verifiers is not installed")

from ioi_eval import Submission, load_problems, score_sync

PACKAGES = Path(__file__).resolve().parents[2] / "examples" / "problems"
LONGEST = 1200  # seconds for a command, on a busy machine
# By a substring of the prompt: full marks, partial marks, and a checker that does not compile.
REPLIES = {
    "Garland": ("garland", "correct/doubling.cpp"),
    "Pumpkins": ("pumpkins", "partially_correct/heaviest_first.cpp"),
    "No threes": ("threes", ""),
}
# The harnesses of verifiers install programs with uv; this harness only sends a request.
MODULE = """
import httpx
from verifiers import v1 as vf
from ioi_eval.integrations.verifiers import ProblemSet

__all__ = ["Asking", "ProblemSet"]


class Asking(vf.Harness[vf.HarnessConfig]):
    EXECUTES_CODE = NEEDS_CONTAINER = False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data, tool_interception_url=None):
        body = {"model": ctx.model, "messages": [{"role": "user", "content": data.prompt}]}
        async with httpx.AsyncClient(timeout=600) as client:
            url, headers = f"{endpoint}/chat/completions", {"Authorization": f"Bearer {secret}"}
            answer = await client.post(url, json=body, headers=headers)
        answer.raise_for_status()
        return vf.ProgramResult(0, answer.text, "")
"""


def source(problem: str, name: str) -> str:
    folder = PACKAGES / problem / "solutions"
    return (folder / name if name else sorted((folder / "correct").glob("*.cpp"))[0]).read_text()


def reply(request: StubRequest) -> StubReply:
    prompt = request.content.decode()
    program = source(*next(reply_program for keyword, reply_program in REPLIES.items() if keyword in prompt))
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    return chat_reply(f"Here it is.\n\n```cpp\n{program}```\n", usage=usage)


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    with model_server(reply) as server:
        yield server.url


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages")
    for name, _ in REPLIES.values():
        shutil.copytree(PACKAGES / name, folder / name)
    (folder / "threes" / "checker" / "checker.cpp").write_text("no program\n")
    return folder


def evaluate(folder: Path, model: str, packages: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    (folder / "ioi_tasks.py").write_text(MODULE)
    task = ("--env.taskset.task.source", str(packages), "--env.taskset.task.options", json.dumps(options))
    client = ("--client.base-url", model, "--client.api-key-var", "KEY", "--model", "m")
    output = ("--no-push", "--no-rich", "--output-dir", "out", "--run.name", "run")
    command = [Path(sys.executable).with_name("vf-eval"), "ioi_tasks", *task, *client, *output]
    return subprocess.run(
        [*map(str, command), "--env.agent.runtime.type", "subprocess"],
        cwd=folder,
        env={**os.environ, "KEY": "word", "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST,
    )


def test_verifiers_rewards_equal_scores_of_the_library(tmp_path: Path, model: str, packages: Path) -> None:
    completed = evaluate(tmp_path, model, packages)
    assert completed.returncode == 0, completed.stdout[-3000:] + completed.stderr[-3000:]
    lines = (tmp_path / "out" / "run" / "traces.jsonl").read_text().splitlines()
    traces = {trace["task"]["data"]["id"]: trace for line in lines for trace in json.loads(line)["traces"]}
    assert set(traces) == {"garland", "pumpkins", "threes"}
    problems = load_problems(PACKAGES, only=frozenset({"garland", "pumpkins"}))
    for name, code in (REPLIES["Garland"], REPLIES["Pumpkins"]):
        alone = score_sync(
            problems[name], Submission(key="1", problem_id=name, code=source(name, code), language="c++")
        )
        trace = traces[name]
        assert trace["rewards"] == {"points": {"score": pytest.approx(alone.points / 100), "weight": 1.0}}
        assert trace["metrics"]["compiles"] == 1 and trace["metrics"]["solved"] == (alone.points == 100)
        trace_result = trace["info"]["ioi_eval"]
        assert trace_result["points"] == alone.points and len(trace_result["subtasks"]) == len(alone.subtasks)
    broken = traces["threes"]
    assert broken["rewards"] == {"points": None} and not broken["ok"], (
        "a judge failure has no reward, not a reward of 0"
    )
    assert "does not compile" in broken["errors"][-1]["message"]
    assert "not judged: 1 (1 because of" in completed.stderr + completed.stdout


def test_unknown_taskset_option_is_reported(tmp_path: Path, model: str, packages: Path) -> None:
    completed = evaluate(tmp_path, model, packages, problem="garland")
    assert completed.returncode != 0
    assert "unknown option 'problem'" in completed.stderr + completed.stdout


def test_verifiers_integration_import_loads_no_heavy_packages() -> None:
    code = (
        "import sys, verifiers.v1; before = set(sys.modules)\n"
        "import ioi_eval.integrations.verifiers; print(*set(sys.modules) - before)"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LONGEST
    )
    loaded = set(completed.stdout.split())
    assert not {"aiohttp", "datasets", "pyarrow", "pandas", "typer", "jinja2", "inspect_ai"} & loaded
    rooms = (
        "benchmarks",
        "engines.embedded",
        "engines.piston",
        "engines.jobs",
        "judge",
        "problems",
        "reports",
    )
    assert not {f"ioi_eval.{package}" for package in rooms} & loaded
