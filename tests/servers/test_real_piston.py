"""What real Piston servers make of submissions is what this machine makes of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.command_line import (
    BROKEN,
    PYTHON,
    RIGHT,
    SMALL,
    WRONG,
    CommandLine,
    results,
    row,
    write_dump,
    write_package,
)

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
}
NEEDED = {"run time", "run CPU time", "request body", "output"}


@pytest.fixture
def dump(cli: CommandLine) -> Path:
    write_package(cli.folder / "problems" / "add", time_limit=0.5)
    rows = [row(name, code) for name, code in PROGRAMS.items()]
    rows.append(row("python", PYTHON, language="python"))
    return write_dump(cli.folder / "dump.jsonl", rows)


def verdicts(run: Path) -> dict[str, Any]:
    """Points and the verdict of every test, by submission."""
    return {
        key: (
            found["code_compiles"],
            found["all_subtasks_points"],
            [
                (test["test_name"], test["score"], test["status"])
                for subtask in found["all_subtasks_results"]
                for test in subtask["test_results"]
            ],
        )
        for key, found in results(run).items()
    }


@pytest.mark.parametrize("kind", ["raised", "old"])
def test_its_verdicts_are_those_of_this_machine(
    cli: CommandLine, dump: Path, real: dict[str, str], kind: str
) -> None:
    for engine, run in ((real[kind], "there"), ("embedded", "here")):
        done = cli(
            *("score", dump, "--problems", "problems", "--engine", engine, "--out", run),
            *("--all-tests", "--quiet"),
        )
        assert done.returncode == 0, done.stderr
    here = verdicts(cli.folder / "here")
    assert verdicts(cli.folder / "there") == here
    assert here.keys() == {*PROGRAMS, "python"}
    assert {test[2] for _, _, tests in here.values() for test in tests} >= {"AC", "WA", "TLE", "MLE", "RE"}


@pytest.mark.parametrize("kind", ["raised", "old"])
def test_the_doctor_finds_it_fit(cli: CommandLine, real: dict[str, str], kind: str) -> None:
    done = cli("doctor", "--engine", real[kind], "--json")
    assert (done.returncode, json.loads(done.stdout)["ok"]) == (0, True), done.stdout


def test_limits_that_are_too_low_are_named_and_no_verdicts(
    cli: CommandLine, dump: Path, real: dict[str, str]
) -> None:
    done = cli("doctor", "--engine", real["stock"])
    assert done.returncode == 2
    missing = set(re.findall(r"^MISSING (.*?)  ", done.stdout, re.M))
    assert missing == NEEDED

    done = cli("score", dump, "--problems", "problems", "--engine", real["stock"], "--out", "run", "--quiet")
    assert done.returncode == 2 and "submissions cannot be judged there" in done.stderr
    assert "PISTON_OUTPUT_MAX_SIZE" in done.stderr and "PISTON_RUN_TIMEOUT" in done.stderr
    assert not (cli.folder / "run").exists()
