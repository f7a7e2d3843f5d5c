"""The store and the worker of all conformance tests.

To test a different server: pytest tests/conformance -k http --piston-url http://HOST:2000
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from http_calls import PistonServer


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--piston-url", metavar="URL", help="the server to test by test_http_* instead of a worker"
    )


@pytest.fixture(scope="session")
def piston(request: pytest.FixtureRequest, shared_cache: Path) -> Iterator[PistonServer]:
    """Return a client of `ioi-eval worker`, or of the server that --piston-url names."""
    url = request.config.getoption("--piston-url", default=None)
    if url:
        yield PistonServer(url, ours=False)
        return
    argv = [sys.executable, "-m", "ioi_eval", "worker", "--port", "0", "--slots", "2"]
    limits = ("--set", "run-timeout=60", "--set", "max-body=4mb", "--set", "max-output=1mb")
    environment = {**os.environ, "IOI_EVAL_CACHE": str(shared_cache), "IOI_EVAL_TOKEN": ""}
    worker = subprocess.Popen([*argv, *limits], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert worker.stdout is not None
        line = worker.stdout.readline()
        yield PistonServer(line.split()[3].rstrip(","), ours=True)
    finally:
        worker.terminate()
        worker.communicate()


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")
