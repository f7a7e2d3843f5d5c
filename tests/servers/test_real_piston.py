"""Real Piston servers and this machine return the same results."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.command_line import BROKEN, PYTHON, RIGHT, SMALL, WRONG, results

ENDLESS = "int main() { for (;;); }\n"
GREEDY = """#include <cstdlib>
#include <cstring>
int main() { for (;;) if (char* p = (char*)malloc(1 << 20)) memset(p, 1, 1 << 20); }
"""
CRASHING = "int main() { __builtin_trap(); }\n"
PROGRAMS = {
    "right": RIGHT,
    "small": SMALL,
    "wrong": WRONG,
    "broken": BROKEN,
    "endless": ENDLESS,
    "greedy": GREEDY,
    "crashing": CRASHING,
    "python": PYTHON,
}
SHARP = "using System; class P { static void Main() { Console.WriteLine(3); } }"
COURIERS = Path(__file__).parents[1] / "packages" / "couriers"
NEEDED = {"run time", "run CPU time", "request body", "output"}


def verdicts(run: Path) -> dict[str, Any]:
    """Return the points and the verdict of every test, by submission."""
    return {
        key: (
            row["code_compiles"],
            row["all_subtasks_points"],
            [
                (test["test_name"], test["score"], test["status"])
                for subtask in row["all_subtasks_results"]
                for test in subtask["test_results"]
            ],
        )
        for key, row in results(run).items()
    }


@pytest.mark.parametrize("kind", ["raised", "old"])
def test_verdicts_on_piston_server_equal_verdicts_of_embedded_engine(
    desk: Any, real: dict[str, str], kind: str
) -> None:
    for engine, run in ((real[kind], "there"), ("embedded", "here")):
        completed = desk.cli(*desk.words(PROGRAMS, engine, out=run), "--all-tests")
        assert completed.returncode == 0, completed.stderr
    embedded_verdicts = verdicts(desk.folder / "here")
    assert verdicts(desk.folder / "there") == embedded_verdicts
    assert embedded_verdicts.keys() == PROGRAMS.keys()
    assert {test[2] for _, _, tests in embedded_verdicts.values() for test in tests} >= {
        "AC",
        "WA",
        "TLE",
        "MLE",
        "RE",
    }


@pytest.mark.parametrize("kind", ["raised", "old"])
def test_forking_package_validates_on_server(desk: Any, real: dict[str, str], kind: str) -> None:
    """The permission to fork is valid inside the server's sandbox."""
    completed = desk.cli("validate", COURIERS, "--engine", real[kind], "--out", "there")
    assert (completed.returncode, "couriers: 3 processes in all" in completed.stderr) == (0, True), (
        completed.stderr
    )
    assert "compared 4, agree 4, differ 0, nothing expected 0, not judged 0" in completed.stdout


@pytest.mark.parametrize("kind", ["raised", "old"])
def test_csharp_submission_is_unjudged_on_piston_server(desk: Any, real: dict[str, str], kind: str) -> None:
    """With Mono too, because its compiler needs a `/proc` that these sandboxes do not have."""
    (desk.folder / "sum.cs").write_text(SHARP)
    arguments = ("judge", "sum.cs", "--problem", "add", "--problems", "problems")
    completed = desk.cli(*arguments, "--engine", real[kind])
    assert (completed.returncode, "not judged: " in completed.stderr) == (3, True), completed.stderr
    assert "mcs" in completed.stderr or "mono" in completed.stderr


@pytest.mark.parametrize("kind", ["raised", "old"])
def test_doctor_accepts_real_server(desk: Any, real: dict[str, str], kind: str) -> None:
    completed = desk.cli("doctor", "--engine", real[kind], "--json")
    assert (completed.returncode, json.loads(completed.stdout)["ok"]) == (0, True), completed.stdout


def run_until_not_busy(desk: Any, *arguments: str) -> Any:
    """Run a command, and repeat it if the server was too busy for its timeout of three seconds."""
    for _ in range(100):
        completed = desk.cli(*arguments)
        if "too slow to be asked" not in completed.stdout + completed.stderr:
            break
    return completed


def test_low_server_limits_are_named_before_judging(desk: Any, real: dict[str, str]) -> None:
    completed = run_until_not_busy(desk, "doctor", "--engine", real["stock"])
    assert completed.returncode == 2
    missing = set(re.findall(r"^MISSING (.*?)  ", completed.stdout, re.M))
    assert missing == NEEDED, completed.stdout

    completed = run_until_not_busy(desk, *desk.words(PROGRAMS, real["stock"]))
    assert completed.returncode == 2 and "the server cannot judge the submissions" in completed.stderr
    assert "PISTON_OUTPUT_MAX_SIZE" in completed.stderr and "PISTON_RUN_TIMEOUT" in completed.stderr
    assert not (desk.folder / "there").exists()
