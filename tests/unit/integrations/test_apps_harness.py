"""What graders/python/apps.py makes of programs that import what is missing."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ioi_eval.store.resources import graders

MISSING = "ModuleNotFoundError(\"No module named 'nowhere'\")"


def ended(code: str, given: str = "7") -> tuple[int, str, str]:
    """The exit code, what came out, and the error that was told."""
    source = (graders() / "python" / "apps.py").read_text() + f"\nmain({code!r}, False, ('nowhere',))\n"
    done = subprocess.run(
        [sys.executable, "-I", "-c", source], input=given, capture_output=True, text=True, check=False
    )
    said = done.stdout.removeprefix("ioi_eval apps: ") if done.stdout.startswith("ioi_eval") else done.stderr
    return done.returncode, done.stdout, json.loads(said)["error"] if said.strip() else ""


@pytest.mark.parametrize(
    ("code", "code_of_exit", "error"),
    [
        ("1 / 0\nimport nowhere\nprint(input())", 0, "ZeroDivisionError('division by zero')"),
        ("1 / 0\nfrom nowhere.far import *", 0, "ZeroDivisionError('division by zero')"),
        ("1 / 0\nimport sys, nowhere as n", 0, "ZeroDivisionError('division by zero')"),
        ("print(input())\nimport nowhere", 1, MISSING),
        ("1 / 0\nimport made_up", 1, MISSING.replace("nowhere", "made_up")),  # as the evaluator has it
        ("import sys, nowhere\nprint(input())", 1, MISSING),
        ("from nowhere.far import away\nprint(input())", 1, MISSING),
    ],
)
def test_an_import_fails_where_it_stands(code: str, code_of_exit: int, error: str) -> None:
    found = ended(code)
    assert (found[0], found[2]) == (code_of_exit, error)


def test_what_is_no_python_with_all_modules_is_none_without() -> None:
    """The line of an import goes, and nothing is left in the block."""
    assert "IndentationError" in ended("try:\n    import nowhere\nexcept ImportError:\n    pass\nprint(1)")[2]


def test_modules_that_are_there_come_first() -> None:
    assert ended("print(decimal.Decimal(input()))\nimport decimal")[:2] == (0, "7\n")
