"""verifiers with the tools of a contest: its rollouts and MCP client, and a scripted model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.stub_server import StubReply, StubRequest, chat_reply, model_server

pytest.importorskip("verifiers", reason="verifiers is not installed")

PACKAGES = Path(__file__).resolve().parents[2] / "examples" / "problems"
LONGEST = 1200  # seconds for a command, on a busy machine
TIDE = (PACKAGES / "tide" / "solutions" / "model_solution" / "backwards.cpp").read_text()
NOTHING = "int main() {}"
# By a substring of the prompt: the calls of each turn. A script without full marks is not continued.
SCRIPTS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "Problem `tide`": [
        (
            "run",
            {
                "code": "open('tide.out', 'w').write(open('tide.in').read()[::-1])",
                "language": "python",
                "input": "abc",
            },
        ),
        ("test", {"code": NOTHING}),
        ("submit", {"code": NOTHING}),
        ("submit", {"code": NOTHING}),
        ("submit", {"code": TIDE}),
        ("submit", {"code": "never asked for"}),
    ],
    "Problem `threes`": [("submit", {"code": NOTHING})],
}
# Like any agent's loop: list tools, ask, call, until no tool is called. Others are installed with uv.
MODULE = """
import json
import httpx
from verifiers import v1 as vf
from verifiers.v1.harnesses.utils.mcp import mcp_client
from ioi_eval.plugins.contest.verifiers import ContestSet

__all__ = ["Looping", "ContestSet"]


class Looping(vf.Harness[vf.HarnessConfig]):
    EXECUTES_CODE = NEEDS_CONTAINER = False
    SUPPORTS_MCP = True

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data, tool_interception_url=None):
        messages = [{"role": "user", "content": data.prompt}]
        [url] = mcp_urls.values()
        async with mcp_client({"url": url}) as tools, httpx.AsyncClient(timeout=600) as client:
            there = [
                {"type": "function", "function": {"name": one.name, "parameters": one.input_schema}}
                for one in (await tools.list_tools()).tools
            ]
            while True:
                body = {"model": ctx.model, "messages": messages, "tools": there}
                headers = {"Authorization": f"Bearer {secret}"}
                answer = await client.post(f"{endpoint}/chat/completions", json=body, headers=headers)
                if answer.status_code != 200:
                    return vf.ProgramResult(0, "stopped", answer.text)
                message = answer.json()["choices"][0]["message"]
                messages.append(message)
                if not message.get("tool_calls"):
                    return vf.ProgramResult(0, "", "")
                for call in message["tool_calls"]:
                    function = call["function"]
                    told = await tools.call_tool(function["name"], json.loads(function["arguments"]))
                    words = "".join(part.text for part in told.content)
                    messages.append({"role": "tool", "tool_call_id": call["id"], "content": words})
"""


def reply(request: StubRequest) -> StubReply:
    """Call the tools of a prompt's script, one per reply."""
    messages = request.body["messages"]
    script = next(calls for keyword, calls in SCRIPTS.items() if keyword in str(messages[0]["content"]))
    turn = sum(chat_message["role"] == "assistant" for chat_message in messages)
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    if turn >= len(script):
        return chat_reply("I give up.", usage=usage)
    name, arguments = script[turn]
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call-{turn}", "type": "function", "function": function}
    return chat_reply(None, stop="tool_calls", usage=usage, tool_calls=[call])


def message_of(requests: list[dict[str, Any]], number: int) -> str:
    """Return the tool's reply to a call of the script for tide."""
    for request in requests:
        for message in request["messages"]:
            if message.get("tool_call_id") == f"call-{number}" and "Problem `tide`" in str(
                request["messages"][0]
            ):
                return str(message["content"])
    raise AssertionError(f"call {number} was not answered")


def test_verifiers_rollout_runs_tests_and_submits_until_full_marks(tmp_path: Path) -> None:
    for name in ("tide", "threes"):
        shutil.copytree(PACKAGES / name, tmp_path / "packages" / name)
    (tmp_path / "packages" / "threes" / "checker" / "checker.cpp").write_text("no program\n")
    (tmp_path / "contest_tasks.py").write_text(MODULE)
    rules = json.dumps({"submissions": 5})
    task = ("--env.taskset.task.source", str(tmp_path / "packages"), "--env.taskset.task.options", rules)
    with model_server(reply) as model:
        client = ("--client.base-url", model.url, "--client.api-key-var", "KEY", "--model", "m")
        output = ("--no-push", "--no-rich", "--output-dir", "out", "--run.name", "run")
        command = [Path(sys.executable).with_name("vf-eval"), "contest_tasks", *task, *client, *output]
        completed = subprocess.run(
            [*map(str, command), "--env.agent.runtime.type", "subprocess"],
            cwd=tmp_path,
            env={**os.environ, "KEY": "word", "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
        )
    requests = [request.body for request in model.asked]
    assert completed.returncode == 0, completed.stdout[-3000:] + completed.stderr[-3000:]
    lines = (tmp_path / "out" / "run" / "traces.jsonl").read_text().splitlines()
    traces = {trace["task"]["data"]["id"]: trace for line in lines for trace in json.loads(line)["traces"]}
    assert set(traces) == {"tide", "threes"}, completed.stdout[-3000:] + completed.stderr[-3000:]
    tide = traces["tide"]
    assert {tool["function"]["name"] for tool in requests[0]["tools"]} == {"run", "test", "submit"}
    assert '"output"' in message_of(requests, 0) and "cba" in message_of(requests, 0)
    assert '"repeats"' in message_of(requests, 3)
    assert tide["rewards"] == {"points": {"score": 1.0, "weight": 1.0}}, tide
    assert tide["info"]["ioi_eval"]["submissions"] == 3 and tide["info"]["ioi_eval"]["done"]
    assert tide["stop_condition"] == "finished", "a rollout stops at full marks"
    broken = traces["threes"]
    assert broken["rewards"] == {"points": None} and not broken["ok"], (
        "a judge failure has no reward, not a reward of 0"
    )
    assert "the judge failed" in json.dumps(requests), "and the model saw it"
