"""Commands in terminals of several widths, and piped: no line is too long, and lines break at blanks only."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.command_line import CommandLine, write_package
from support.runs import extract_recorded_rows
from support.terminals import written_to_terminal

EXAMPLES = Path(__file__).parents[3] / "examples" / "problems"
SOLUTION = EXAMPLES / "garland" / "solutions" / "correct" / "matrix.py"
FRESH = ("--limit", "1", "--fresh", "--out")
SAYS_MORE = {"doctor", "score"}  # optional lines: space reserved by other engines, waits for a busy machine
COMMANDS = {
    "problems": ("problems", EXAMPLES),
    "report": ("report", "run"),
    "compare": ("report", "run", "again"),
    "score": ("score", EXAMPLES.parent / "generations.jsonl", "--problems", EXAMPLES, *FRESH, "scored"),
    "doctor": ("doctor",),
    "judge": ("judge", SOLUTION, "--problems", EXAMPLES / "garland"),
}


@pytest.fixture
def runs(cli: CommandLine, name: str) -> CommandLine:
    """Write a run with two of the five models of the example run, with all columns."""
    for run in {"run", "again"} & {*COMMANDS[name]}:
        rows = extract_recorded_rows(cli.folder / run) / "results.jsonl"
        lines = rows.read_text().splitlines(keepends=True)
        rows.write_text("".join(line for line in lines if re.search('"model":"invented-(huge|large)"', line)))
    return cli.among_the_systems()


def in_a_terminal(cli: CommandLine, width: int, *arguments: str | Path, ends: int = 0) -> list[str]:
    """Return the lines on the screen of a terminal of this width."""
    terminal_output = written_to_terminal(cli, width, *arguments, ends=ends)
    plain_output = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal_output)
    return [line.rstrip("\r").rpartition("\r")[2] for line in plain_output.split("\n")]


def message_of(lines: list[str]) -> set[str]:
    return {shown_word for line in lines for shown_word in line.split()}


@pytest.mark.nightly(unless="problems|judge")  # a report needs longer
@pytest.mark.parametrize("name", COMMANDS)
def test_output_lines_fit_terminal_without_broken_words(name: str, runs: CommandLine) -> None:
    command = COMMANDS[name]
    piped = runs(*command)
    assert piped.returncode == 0, piped.stderr
    assert "\x1b" not in piped.stdout and "\r" not in piped.stdout
    expected_words = message_of((piped.stdout + piped.stderr).splitlines())
    for width in (60, 80, 120):
        lines = in_a_terminal(runs, width, *command)
        long = [
            line for line in lines if len(line) > width and "/" not in line
        ]  # paths are not wrapped, so that they can be copied
        assert not long, (width, long)
        broken = {
            shown_word
            for shown_word in message_of(lines) - expected_words
            if "…" not in shown_word and shown_word[0].isalpha()
        }
        assert not broken or name in SAYS_MORE, (width, broken)


def test_package_faults_fit_terminal_width(cli: CommandLine) -> None:
    write_package(cli.folder / "problems" / "add")
    header = cli.folder / "problems" / "add" / "problem.json"
    wrong = {"score_precision": -1, "task_type": "Quiz", "time_limit": -1}
    header.write_text(json.dumps({**json.loads(header.read_text()), **wrong}))
    lines = in_a_terminal(cli, 80, "problems", "problems", ends=2)
    assert any("is read as" in line for line in lines)
    assert [line for line in lines if len(line) > 80 and not line.startswith("error: ")] == []
