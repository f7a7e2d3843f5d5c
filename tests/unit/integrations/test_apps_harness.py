"""graders/python/apps.py and programs that import missing packages."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ioi_eval.store.resources import graders_folder


def run_harness(code: str, stdin: str = "7") -> tuple[int, str]:
    """Return the exit code, and the output or the reported error."""
    source = (graders_folder() / "python" / "apps.py").read_text() + f"\nmain({code!r}, False)\n"
    completed = subprocess.run(
        [sys.executable, "-I", "-c", source], input=stdin, capture_output=True, text=True, check=False
    )
    mark, output = "ioi_eval apps: ", completed.stdout
    return completed.returncode, json.loads(output.removeprefix(mark))["error"] if output.startswith(
        mark
    ) else output


@pytest.mark.parametrize(
    "code",
    [
        "1 / 0\nimport nowhere\nprint(input())",
        "print(input())\nimport nowhere",
        "import sys, nowhere\nprint(input())",
        "from nowhere.far import away\nprint(input())",
    ],
)
def test_apps_harness_runs_imports_first(code: str) -> None:
    status, error = run_harness(code)
    assert status == 0 and error.startswith("ModuleNotFoundError(\"No module named 'nowhere'\"")


def test_block_left_empty_by_a_moved_import_is_an_indentation_error() -> None:
    assert (
        "IndentationError"
        in run_harness("try:\n    import nowhere\nexcept ImportError:\n    pass\nprint(1)")[1]
    )


def test_apps_harness_moves_existing_imports_to_top() -> None:
    assert run_harness("print(decimal.Decimal(input()))\nimport decimal") == (0, "7\n")
