"""opencode, an agent program from npm, participates in a contest. A server on loopback is its model."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="MCP's SDK is not installed")

from support.stub_server import StubReply, StubRequest, model_server

from ioi_eval import Scorer, load_problems
from ioi_eval.plugins.contest import Contest
from ioi_eval.plugins.contest.mcp import serving
from ioi_eval.testing import FakeEngine

OPENCODE = shutil.which("opencode")
if OPENCODE is None:
    pytest.skip("opencode is not installed", allow_module_level=True)

TIDE = Path(__file__).resolve().parents[2] / "examples" / "problems" / "tide"
LONGEST = 600  # seconds for the program, on a busy machine
CALLS = (
    ("contest_statement", {"problem": "tide"}),
    ("contest_submit", {"problem": "tide", "code": "half", "language": "c++"}),
    ("contest_submit", {"problem": "tide", "code": "whole", "language": "c++"}),
)
ASKED: list[dict[str, Any]] = []


def reply(request: StubRequest) -> StubReply:
    """Call the tools of CALLS, one per turn, and stop."""
    ASKED.append(request.body)
    turn = sum(message["role"] == "tool" for message in request.body["messages"])
    delta: dict[str, Any] = {"role": "assistant", "content": "Done."}
    if request.body.get("tools") and turn < len(CALLS):
        name, arguments = CALLS[turn]
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"index": 0, "id": f"call{turn}", "type": "function", "function": function}
        delta = {"role": "assistant", "tool_calls": [call]}
    ended = "tool_calls" if "tool_calls" in delta else "stop"
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choices = ({"delta": delta, "finish_reason": None}, {"delta": {}, "finish_reason": ended})
    lines = [json.dumps({**chunk, "choices": [{"index": 0, **choice}], "usage": usage}) for choice in choices]
    events = "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"])
    return StubReply(200, events.encode(), {"Content-Type": "text/event-stream"})


@pytest.fixture
def model() -> Iterator[str]:
    with model_server(reply) as server:
        yield server.url


async def test_opencode_agent_submits_with_contest_tools_and_earns_points(model: str, tmp_path: Path) -> None:
    engine = FakeEngine(lambda test: float("whole" in test.source or test.index < 7))
    async with Scorer(engine) as scorer:
        contest = Contest(load_problems(TIDE), judge=scorer.judge, participants=["otter"])
        async with serving(contest, {"otter": "otters-token"}) as address:
            headers = {"Authorization": "Bearer otters-token"}
            configuration = {
                "provider": {
                    "script": {
                        "npm": "@ai-sdk/openai-compatible",
                        "options": {"baseURL": model, "apiKey": "none"},
                        "models": {"m": {"name": "m"}},
                    }
                },
                "mcp": {"contest": {"type": "remote", "url": address, "headers": headers, "oauth": False}},
                "share": "disabled",
                "autoupdate": False,
            }
            (tmp_path / "opencode.json").write_text(json.dumps(configuration))
            away = dict.fromkeys(("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"), "1")
            process = await asyncio.create_subprocess_exec(
                str(OPENCODE),
                *("run", "--auto", "--pure", "-m", "script/m", "Take part in the contest."),
                cwd=tmp_path,
                env={
                    **os.environ,
                    **{f"OPENCODE_DISABLE_{name}": value for name, value in away.items()},
                    "HOME": str(tmp_path),
                    "PWD": str(tmp_path),  # its working folder
                    **{
                        f"XDG_{kind}_HOME": str(tmp_path / kind)
                        for kind in ("DATA", "CACHE", "CONFIG", "STATE")
                    },
                },
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            try:
                async with asyncio.timeout(LONGEST):
                    output = (await process.communicate())[0].decode()
            finally:
                if process.returncode is None:
                    process.kill()
        assert process.returncode == 0, output
        (state,) = contest.session("otter").problems()
    assert (state.attempts, state.points) == (2, 100), output
    offered = {tool["function"]["name"] for request in ASKED for tool in request.get("tools") or ()}
    assert {"contest_statement", "contest_run", "contest_test", "contest_submit"} <= offered
    answers = [message["content"] for message in ASKED[-1]["messages"] if message["role"] == "tool"]
    assert len(answers) == 3 and "Tide" in str(answers[0]) and '"points":' in str(answers[1]).replace(" ", "")
