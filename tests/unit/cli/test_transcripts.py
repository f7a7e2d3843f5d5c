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

FOLDER = Path(__file__).parents[2] / "data" / "commands"

QUOTES = str.maketrans("\u2018\u2019", "''")  # of a compiler, depending on the locale


@pytest.fixture
def packages(cli: CommandLine, problems: Path) -> None:
    write_package(problems / "other")
    write_package(cli.folder / "no-such-test" / "add", subtasks={"01-all": (100, ["1-1", "9-9"])})
    write_package(cli.folder / "no-checker" / "add", checker="int main() { return nothing; }")


def printed(cli: CommandLine, command: str) -> Iterator[str]:
    """Yield the output of a transcript's line."""
    words = shlex.split(command)
    if words[0] in ("echo", "printf"):
        text, _, name = words[1:]
        (cli.folder / name).parent.mkdir(exist_ok=True)
        (cli.folder / name).write_text(f"{text}\n" if words[0] == "echo" else text.replace("\\n", "\n"))
        return
    assert words[0] == "ioi-eval"
    before = contents(cli.folder)
    done = cli(*words[1:])
    text = (done.stdout + done.stderr).replace(str(cli.folder), "FOLDER")
    text = re.sub(r'"time":"[^"]+"', '"time":"TIME"', text)
    text = re.sub(r"\band \d+ more\b", "and N more", text)  # plugins add benchmarks
    yield from re.sub(r"g\+\+ [0-9.]+", "g++ VERSION", text).translate(QUOTES).splitlines()
    if done.returncode:
        yield f"[exit {done.returncode}]"
        assert contents(cli.folder) == before, f"{command} is refused and changes nothing"


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.txt")))
def test_command_output_equals_the_recorded_transcript(
    cli: CommandLine, name: str, request: pytest.FixtureRequest
) -> None:
    path = FOLDER / f"{name}.txt"
    expected = path.read_text()
    lines = list[str]()
    for line in expected.splitlines():
        if line.startswith("#"):
            lines += ["", line]
        elif line.startswith("$ "):
            lines += [line, *printed(cli, line.removeprefix("$ "))]
    text = "\n".join(lines).lstrip("\n") + "\n"
    if request.config.getoption("--update"):
        path.write_text(text)
    assert text == path.read_text()
