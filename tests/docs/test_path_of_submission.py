"""docs/architecture.md lists the functions from `score` to an engine, and `tools/trace` prints them."""

import importlib
import operator
import re
from pathlib import Path

import pytest
from support.command_line import CommandLine

PAGE = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"
FUNCTION = re.compile(r"^\| \d+ \| `(?P<module>[\w/]+)\.py:(?P<name>[\w.]+)` \|$", re.MULTILINE)
PRINTED_FUNCTION = re.compile(r"^ *\d+  (.+)$", re.MULTILINE)


def test_functions_of_submission_path_exist() -> None:
    functions = list(FUNCTION.finditer(PAGE.read_text()))
    assert functions
    for function in functions:
        module = importlib.import_module(f"ioi_eval.{function['module'].replace('/', '.')}")
        assert callable(operator.attrgetter(function["name"])(module))


def test_trace_prints_submission_path_to_this_machine(cli: CommandLine) -> None:
    last_function = "engines/embedded/engine.py:EmbeddedEngine.execute"
    assert trace(cli) == [*list_path_from_scorer(), last_function]


@pytest.mark.nightly  # the trace to this machine tests the list of the page
def test_trace_prints_submission_path_to_request_to_worker(cli: CommandLine) -> None:
    functions = trace(cli, "--worker")
    path = [
        function.replace("runner.py:LocalJobDelivery", "http_delivery.py:HttpJobDelivery")
        for function in list_path_from_scorer()
    ]
    assert functions[: len(path)] == path
    assert functions[-1] == "engines/piston/wire.py:HttpServerClient.execute"


def trace(cli: CommandLine, *options: str) -> list[str]:
    """Return the functions that `tools/trace` prints."""
    completed = cli.script("tools/trace", *options)
    assert completed.stdout.endswith("\n100 points\n"), completed.stderr
    return PRINTED_FUNCTION.findall(completed.stdout)


def list_path_from_scorer() -> list[str]:
    """Return the page's functions that a scorer calls, after the scorer's own function."""
    path = [f"{function['module']}.py:{function['name']}" for function in FUNCTION.finditer(PAGE.read_text())]
    return ["runs/scorer.py:Scorer.score", *path[path.index("judge/judge.py:Judge.judge") :]]
