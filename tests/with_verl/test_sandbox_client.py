"""verl's client of SandboxFusion with an ioi-eval worker.

It runs if verl is installed; tools/peers creates such an environment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

sandbox = pytest.importorskip("verl.utils.reward_score.sandbox_fusion", reason="verl is not installed")

from verl.utils.reward_score import default_compute_score  # noqa: E402
from verl.utils.reward_score.sandbox_fusion.utils import DEFAULT_TIMEOUT, check_correctness  # noqa: E402

TESTS = {"inputs": ["2\n", "21\n"], "outputs": ["4\n", "42\n"]}
RIGHT = "print(2 * int(input()))"
SLOW = 60  # seconds for runs that should succeed


@contextmanager
def serving(*options: str, **variables: str) -> Iterator[str]:
    """Yield the address of a worker."""
    command = [Path(sys.executable).with_name("ioi-eval"), "worker", "--port", "0", *options]
    worker = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **variables}
    )
    assert worker.stdout is not None
    line = next(line for line in worker.stdout if "http://" in line)
    address = next(token.strip(",") for token in line.split() if token.startswith("http://"))
    threading.Thread(target=worker.stdout.read, daemon=True).start()
    try:
        yield f"{address}/run_code"
    finally:
        worker.terminate()
        assert worker.wait(60) == 0


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Yield the address of a worker that requires a token."""
    with serving(IOI_EVAL_TOKEN="word") as address:
        yield address.replace("http://", "http://any:word@")


def results(url: str, code: str, timeout: int = SLOW, **options: Any) -> list[Any]:
    tests = {**TESTS, **options.pop("tests", {})}
    outcomes: list[Any] = check_correctness(url, tests, code, timeout=timeout, **options)[0]
    return outcomes


def test_verl_sandbox_client_gets_every_result_code(url: str) -> None:
    assert results(url, RIGHT) == [True, True]
    assert results(url, "print(4)") == [True, False]
    assert results(url, "print(") == [-2, -2]
    assert results(url, "while True: pass", timeout=1) == [-3, -3]
    assert results(url, "x = bytearray(300 << 20)", memory_limit_mb=100) == [-2, -2]
    assert results(url, "int main() {", language="cpp") == [-4, -4]
    cpp = '#include <cstdio>\nint main() { int n; scanf("%d", &n); printf("%d\\n", 2 * n); }'
    assert results(url, cpp, language="cpp") == [True, True]
    assert results(url, "main = 1", language="lean") == [-1, -1]


def test_verl_sandbox_client_judges_functions_and_assertions(url: str) -> None:
    called = {"inputs": ["2", "21"], "outputs": ["4", "42"], "fn_name": "f"}
    assert results(url, "def f(n): return 2 * n", tests=called) == [True, True]
    asserted = {
        "inputs": ["", ""],
        "outputs": [None, None],
        "assert_case": ["assert f(2) == 4", "assert f(2) == 5"],
    }
    assert results(url, "def f(n): return 2 * n", tests=asserted) == [True, -2]


def test_verl_scores_completion_with_more_tests_than_slots(url: str) -> None:
    many = {"inputs": [f"{n}\n" for n in range(40)], "outputs": [f"{2 * n}\n" for n in range(40)]}
    fenced = f"Here:\n```python\n{RIGHT}\n```"
    options = {
        "sandbox_fusion_url": url,
        "concurrent_semaphore": threading.Semaphore(8),
        "memory_limit_mb": 512,
    }
    score = default_compute_score("codecontests", fenced, json.dumps(many), **options)
    assert (score if isinstance(score, float) else score[0]) == 1.0


# The client's tries allow 87 s of 28 s each, or 33 s of 10 s each with a timeout of 1 s.
@pytest.mark.parametrize(
    ("slots", "seconds", "timeout", "language"),
    [
        (2, 1.0, DEFAULT_TIMEOUT, "python"),  # 20 s: in the first try
        (1, 1.0, DEFAULT_TIMEOUT, "python"),  # 40 s: in the second try, at the queue position of the first
        (1, 0.4, 1, "python"),  # 16 s: in the second try
        (2, 1.0, DEFAULT_TIMEOUT, "cpp"),
    ],
)
def test_verl_programs_that_wait_in_the_queue_pass(
    slots: int, seconds: float, timeout: int, language: str
) -> None:
    """40 requests at once. The programs sleep, because a busy machine would delay programs that compute."""
    codes = {
        "python": f"""
import time
time.sleep({seconds})
{RIGHT}""",
        "cpp": f"""#include <cstdio>
#include <unistd.h>
int main() {{
    int n;
    scanf("%d", &n);
    usleep({seconds} * 1000000);
    printf("%d\\n", 2 * n);
}}""",
    }
    many = {"inputs": [f"{n}\n" for n in range(40)], "outputs": [f"{2 * n}\n" for n in range(40)]}
    with serving("--slots", str(slots)) as url:
        assert results(url, codes[language], tests=many, timeout=timeout, language=language) == [True] * 40


def test_request_without_token_is_not_judged(url: str) -> None:
    assert results(url.replace("any:word@", ""), RIGHT) == [-1, -1]
