"""Real servers that are killed or stand still: their fault is nobody's score."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from support.command_line import (
    BROKEN,
    RIGHT,
    WRONG,
    CommandLine,
    results,
    row,
    write_dump,
    write_package,
)

_LONGEST = 900.0  # seconds that a run takes on a busy machine
NUMBER = 12


@pytest.fixture
def dump(cli: CommandLine) -> Path:
    """Sources that nobody has built yet."""
    write_package(cli.folder / "problems" / "add")
    mark = f"// {time.time_ns()}\n"
    programs = {f"{n}": mark + f"int one{n};\n" + (WRONG if n % 3 else RIGHT) for n in range(NUMBER)}
    rows = [row(name, code) for name, code in programs.items()]
    return write_dump(cli.folder / "dump.jsonl", [*rows, row("broken", mark + BROKEN)])


def scoring(cli: CommandLine, dump: Path, *urls: str) -> Popen[str]:
    words = ("--problems", "problems", "--engine", ",".join(urls), "--out", "there", "--quiet")
    return cli.start("score", dump, *words)


def finish(run: Popen[str]) -> tuple[int, str]:
    try:
        _, said = run.communicate(timeout=_LONGEST)
    finally:
        run.kill()
    return run.returncode, said


def has_rows(folder: Path, least: int) -> bool:
    journal = folder / "there" / "results.jsonl"
    return journal.exists() and journal.read_bytes().count(b"\n") >= least


def until(holds: Callable[[], bool], run: Popen[str]) -> None:
    ends = time.monotonic() + _LONGEST
    while not holds():
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < ends
        time.sleep(0.05)


def check_points(run: Path) -> None:
    """Each row once, with what it is worth."""
    rows: dict[str, Any] = results(run)
    assert rows.keys() == {*map(str, range(NUMBER)), "broken"}
    lines = (run / "results.jsonl").read_text().splitlines()
    assert len(lines) == len(rows)
    for key, found in rows.items():
        worth = 0 if key == "broken" or int(key) % 3 else 100
        assert (found["all_subtasks_points"], found["code_compiles"]) == (worth, key != "broken")


def test_a_server_that_is_killed_and_started_again_loses_nothing(
    cli: CommandLine, dump: Path, real: dict[str, str], spare: Any
) -> None:
    """It starts with the boxes of the jobs that it had: it answers HTTP 500 once for each."""
    spare.start()
    run = scoring(cli, dump, spare.url, real["raised"])
    until(lambda: has_rows(cli.folder, 1), run)
    spare.kill()
    spare.start()
    assert finish(run)[0] == 0
    check_points(cli.folder / "there")


def test_a_server_that_stands_still_for_a_while_loses_nothing(
    cli: CommandLine, dump: Path, real: dict[str, str], spare: Any
) -> None:
    spare.start()
    run = scoring(cli, dump, spare.url, real["raised"])
    until(lambda: has_rows(cli.folder, 1), run)
    spare.signal(signal.SIGSTOP)
    until(lambda: has_rows(cli.folder, NUMBER - 2), run)  # the other one goes on
    spare.signal(signal.SIGCONT)
    assert finish(run)[0] == 0
    check_points(cli.folder / "there")
