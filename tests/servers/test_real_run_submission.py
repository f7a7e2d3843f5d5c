"""The `run_submission` of docs/open_r1.md, on a real Piston with the ioi_eval package."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from support.pages import blocks

COMPILE = "g++ -o program graders/sum.cpp\n"
RUN = "./program < input.txt > output.txt; cmp -s output.txt correct_output.txt && echo 1; echo done >&2\n"
SUM = '#include <cstdio>\nint main() { int a, b; scanf("%d %d", &a, &b); printf("%d\\n", a + b); }\n'
FILES = {
    "compile": COMPILE,
    "run": RUN,
    "graders/sum.cpp": SUM,
    "input.txt": "1 2\n",
    "correct_output.txt": "3\n",
}


@pytest.mark.parametrize(
    ("files", "score", "feedback"),
    [
        ({"graders/sum.cpp": "int main() { return }"}, "0", "Compilation error exit code 1\n"),
        ({"run": "python3 -c 'bytearray(1 << 50)'\n"}, "0", "Memory limit exceeded"),
        ({}, "1\n", "done\n"),
        ({"run": "sleep 60\n"}, "0", "Time limit exceeded"),
        ({"run": "exit 7\n"}, "0", "Unknown error"),
    ],
    ids=["compile error", "memory", "output", "killed", "unknown"],
)
def test_own_sandbox_example_maps_server_replies(
    real: dict[str, str], files: dict[str, str], score: str, feedback: str
) -> None:
    runtimes = httpx.get(f"{real['raised']}/api/v2/runtimes").json()
    if "ioi_eval" not in {entry["language"] for entry in runtimes}:
        pytest.skip("the server has no package ioi_eval")
    [block] = [
        entry for entry in blocks("docs/open_r1.md") if entry.run_by.endswith("test_run_submission.py")
    ]
    names: dict[str, Any] = {}
    exec(block.code, names)
    names["URL"] = real["raised"]
    outcome = names["run_submission"]({**FILES, **files}, 5000, 1 << 29)
    assert outcome[0] == score and outcome[1].startswith(feedback), outcome
