"""An interrupted run leaves only its results, and can be resumed."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.command_line import (
    RIGHT,
    CommandLine,
    adopt_orphans,
    children,
    results,
    row,
    wait_for_rows,
    wait_until_gone,
    write_dump,
)
from support.runs import Fingerprint, ResultLog

NUMBER = 12
MANY = 24


@pytest.fixture
def dump(cli: CommandLine) -> Path:
    """Write a few distinct and slow submissions, so that signals arrive while they are judged."""
    slow = "import time\na, b = map(int, input().split())\nprint(a + b)\nif a == 30: time.sleep(0.4)\n"
    rows = [row(f"row-{n}", f"own = {n}\n{slow}", language="python") for n in range(NUMBER)]
    return write_dump(cli.folder / "d.jsonl", rows)


@pytest.fixture
def compiled(cli: CommandLine) -> Path:
    """Write more such submissions in C++, so that builds use the largest share of the time."""
    slow = RIGHT.replace("printf", "if (a == 30) usleep(140'000); printf")  # in one of four tests
    rows = [row(f"row-{n}", f"#include <unistd.h>\n{slow}volatile int own = {n};\n") for n in range(MANY)]
    return write_dump(cli.folder / "d.jsonl", rows)


def judged_once(run: Path, number: int) -> bool:
    return results(run).keys() == {f"row-{n}" for n in range(number)}


@pytest.mark.nightly(unless="^2$")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_run_with_complete_files(
    cli: CommandLine, problems: Path, dump: Path, number: signal.Signals
) -> None:
    adopt_orphans()
    children_before = children()
    arguments = ("score", dump, "--problems", problems, "--workers", "2", "--out", "run")
    process = cli.start(*arguments, "--fresh")
    wait_for_rows(cli.folder / "run", 3, process)
    process.send_signal(number)
    while number is signal.SIGINT and process.poll() is None:  # Ctrl-C again, as impatient users do
        time.sleep(0.02)
        process.send_signal(number)
    _, errors = process.communicate()
    assert process.returncode == 130, errors
    assert "the same command continues from there" in errors
    assert "ioi-eval score" in errors and "--out run" in errors and "--fresh" not in errors
    assert "Traceback" not in errors
    assert children() <= children_before, "processes are left"
    assert 3 <= len(results(cli.folder / "run")) < NUMBER

    assert cli(*arguments).returncode == 0
    assert judged_once(cli.folder / "run", NUMBER)


@pytest.mark.nightly
def test_killed_run_is_resumed_without_lost_rows(cli: CommandLine, problems: Path, compiled: Path) -> None:
    adopt_orphans()
    children_before = children()
    arguments = ("score", compiled, "--problems", problems, "--out", "run", "--quiet")
    moments = random.Random(1)
    rows_before = 0
    for turn in itertools.count(5):  # each wait is longer, so that a slow machine completes the run
        process = cli.start(*arguments)
        try:
            process.communicate(timeout=moments.uniform(0.05, 0.25) * turn)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        wait_until_gone(children_before)
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL
        path = cli.folder / "run" / "results.jsonl"
        rows = path.read_bytes().count(b"\n") if path.exists() else 0
        assert rows >= rows_before, "a result was lost"
        rows_before = rows
    assert rows_before, "the run was never killed after its first result"
    assert judged_once(cli.folder / "run", MANY)


def test_second_process_writing_run_exits_with_2(cli: CommandLine, problems: Path, dump: Path) -> None:
    with ResultLog.open(cli.folder / "run", Fingerprint(dump="d")):
        second = cli("score", dump, "--problems", problems, "--out", "run")
    assert second.returncode == 2
    assert f"pid {os.getpid()}" in second.stderr


def test_interrupt_during_import_shows_no_traceback(tmp_path: Path) -> None:
    """The signal arrives while a module is imported."""
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt\n")
    code = (
        "import runpy, sys; sys.path.insert(0, sys.argv[1]); runpy.run_module('ioi_eval', None, '__main__')"
    )
    ended = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")
