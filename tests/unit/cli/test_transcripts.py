"""Transcripts of the command line in tests/data/commands:

`$ command`, its output, and `[exit N]` unless N is 0. The folder of a transcript has `problems/add` and
`problems/other`, which read two numbers, and two packages with mistakes. `echo` and `printf` write files. A
refused call must change no file. `pytest --update` on this file writes the outputs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import CommandLine, contents, write_package
from support.goldens import golden

FOLDER = Path(__file__).parents[2] / "data" / "commands"

QUOTES = str.maketrans("\u2018\u2019", "''")  # a compiler's quotes depend on the locale


@pytest.fixture
def packages(cli: CommandLine, problems: Path) -> None:
    write_package(problems / "other")
    write_package(cli.folder / "no-such-test" / "add", subtasks={"01-all": (100, ["1-1", "9-9"])})
    write_package(cli.folder / "no-checker" / "add", checker="int main() { return nothing; }")


def printed(cli: CommandLine, command: str) -> Iterator[str]:
    """Yield the output of a transcript's line."""
    arguments = shlex.split(command)
    if arguments[0] in ("echo", "printf"):
        output, _, name = arguments[1:]
        (cli.folder / name).parent.mkdir(exist_ok=True)
        (cli.folder / name).write_text(
            f"{output}\n" if arguments[0] == "echo" else output.replace("\\n", "\n")
        )
        return
    assert arguments[0] == "ioi-eval"
    files_before = contents(cli.folder)
    completed = cli(*arguments[1:])
    output = (completed.stdout + completed.stderr).replace(str(cli.folder), "FOLDER")
    output = re.sub(r'"time":"[^"]+"', '"time":"TIME"', output)
    output = re.sub(r"\band \d+ more\b", "and N more", output)  # plugins add benchmarks
    yield from re.sub(r"g\+\+ [0-9.]+", "g++ VERSION", output).translate(QUOTES).splitlines()
    if completed.returncode:
        yield f"[exit {completed.returncode}]"
        assert contents(cli.folder) == files_before, f"{command} is refused and changes nothing"


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.txt")))
def test_command_output_equals_the_recorded_transcript(cli: CommandLine, name: str) -> None:
    path = FOLDER / f"{name}.txt"
    lines = list[str]()
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            lines += ["", line]
        elif line.startswith("$ "):
            lines += [line, *printed(cli, line.removeprefix("$ "))]
    assert "\n".join(lines).lstrip("\n") + "\n" == golden(path)
