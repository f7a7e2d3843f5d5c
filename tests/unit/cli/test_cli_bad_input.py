"""Bad input prints a single line with location and problem, exits with 2 and writes no files."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import RIGHT, CommandLine, contents, row, write_dump


def error_of_refused_call(cli: CommandLine, *arguments: str | Path) -> str:
    """Run a command that must be refused without changing files. Return its message."""
    files_before = contents(cli.folder)
    completed = cli(*arguments)
    assert completed.returncode == 2, completed.stderr
    assert completed.stdout == ""
    (line,) = (line for line in completed.stderr.splitlines() if not line.startswith("Rows: "))
    assert line.startswith("error: ")
    assert contents(cli.folder) == files_before
    assert not (cli.folder / "run").exists()
    return line


@pytest.mark.parametrize("path", ["locked/x.jsonl", "x" * 300])
def test_path_in_unreadable_folder_is_refused(cli: CommandLine, problems: Path, path: str) -> None:
    """Root can enter every folder, but finds no file there."""
    locked = cli.folder / "locked"
    locked.mkdir(mode=0)
    try:
        assert path in error_of_refused_call(cli, "report", path)
        assert path in error_of_refused_call(cli, "score", path, "--problems", problems, "--out", "run")
    finally:
        locked.chmod(0o700)


def test_unreachable_server_is_refused_with_remedy(cli: CommandLine, problems: Path) -> None:
    dump = write_dump(cli.folder / "d.jsonl", [row("r", RIGHT)])
    line = error_of_refused_call(
        cli, "score", dump, "--problems", problems, "--out", "run", "--engine", "http://127.0.0.1:1"
    )
    assert "http://127.0.0.1:1 cannot be reached" in line and "Check that the server runs" in line
