"""The `run_submission` of docs/open_r1.md on a stub server. tests/servers has a real Piston."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.pages import blocks
from support.stub_server import StubReply, StubRequest, StubServer, json_reply

FILES = {"compile": "true", "run": "cat correct_output.txt", "graders/sum.cpp": "int x;"}
FINE = {"code": 0, "signal": None, "stdout": "", "stderr": ""}


def function_of_page() -> Callable[..., tuple[str, str]]:
    [block] = [
        page_block
        for page_block in blocks("docs/open_r1.md")
        if page_block.run_by.endswith("test_run_submission.py")
    ]
    names: dict[str, Any] = {}
    exec(block.code, names)

    def run_submission(url: str, *arguments: Any) -> tuple[str, str]:
        names["URL"] = url
        mapped: tuple[str, str] = names["run_submission"](*arguments)
        return mapped

    return run_submission


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (
            {"compile": FINE | {"code": 1, "stderr": "no ;"}, "run": FINE},
            ("0", "Compilation error exit code 1\nno ;"),
        ),
        ({"run": FINE | {"code": 1, "stderr": "MemoryError\n"}}, ("0", "Memory limit exceeded")),
        (
            {"compile": FINE, "run": FINE | {"stdout": "0.5\n", "stderr": "Half", "signal": "SIGKILL"}},
            ("0.5\n", "Half"),
        ),
        ({"run": FINE | {"code": None, "signal": "SIGKILL"}}, ("0", "Time limit exceeded")),
        ({"run": FINE | {"code": 139, "signal": "SIGSEGV"}}, ("0", "Unknown error")),
    ],
    ids=["compile error", "memory", "output", "killed", "unknown"],
)
def test_reply_is_mapped_to_score_and_feedback(reply: dict[str, Any], expected: tuple[str, str]) -> None:
    def answer(request: StubRequest) -> StubReply:
        return json_reply(reply)

    with StubServer(answer).running() as server:
        assert function_of_page()(server.url, FILES, 4000, 1 << 28) == expected
    [request] = server.asked
    assert {file["name"]: file["content"] for file in request.body["files"]} == FILES
    assert (request.body["run_timeout"], request.body["run_memory_limit"]) == (4000, 1 << 28)


def test_job_that_a_server_refuses_is_an_error_and_no_score() -> None:
    stub = StubServer(lambda asked: json_reply({"message": "no"}, 400))
    with stub.running() as server, pytest.raises(OSError, match="400"):
        function_of_page()(server.url, FILES, 4000, 1 << 28)
