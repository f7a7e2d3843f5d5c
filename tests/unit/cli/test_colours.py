"""Colours of verdicts and errors only appear in terminals, and not with NO_COLOR or TERM=dumb."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from support.command_line import RIGHT, WRONG, CommandLine, write_package
from support.terminals import written_to_terminal

from ioi_eval.cli import console

RED, GREEN = "\x1b[31;1m", "\x1b[32m"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def package(cli: CommandLine) -> Path:
    return write_package(cli.folder / "packages" / "add", subtasks={"01": (100, ["1-1", "1-2"])})


def test_error_is_red_in_a_terminal(cli: CommandLine) -> None:
    written = written_to_terminal(cli, 100, "score", "nowhere.jsonl", ends=2)
    assert written.startswith(f"{RED}error:\x1b[0m nowhere.jsonl: no such file")


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_environment_variable_switches_colours_off(cli: CommandLine, variables: dict[str, str]) -> None:
    written = written_to_terminal(cli, 100, "score", "nowhere.jsonl", ends=2, **variables)
    assert written.startswith("error: nowhere.jsonl: no such file")
    assert "\x1b" not in written


def test_empty_no_color_leaves_colours_on(cli: CommandLine) -> None:
    assert RED in written_to_terminal(cli, 100, "score", "nowhere.jsonl", ends=2, NO_COLOR="")


def test_verdicts_of_a_program_are_coloured(cli: CommandLine, package: Path) -> None:
    (cli.folder / "right.cpp").write_text(RIGHT)
    (cli.folder / "wrong.cpp").write_text(WRONG)
    right = written_to_terminal(cli, 100, "judge", "right.cpp", "--problems", package)
    assert f": {GREEN}AC\x1b[0m, 100 of 100 points" in right
    assert right.count(f"{GREEN}AC\x1b[0m") == 4  # the program, the subtask, two tests
    wrong = written_to_terminal(cli, 100, "judge", "wrong.cpp", "--problems", package, ends=1)
    assert f"First test that is not right: 1-1, {RED}WA\x1b[0m" in wrong
    piped = cli("judge", "wrong.cpp", "--problems", package)
    assert "\x1b" not in piped.stdout + piped.stderr


def test_coloured_table_is_aligned_like_plain_table(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [["AC", "WA", "1"], ["other", "SKIPPED", "20"], ["last", "ACM", "3"]]
    plain = list(console.format_table(("name", "verdict", "n"), rows, right_aligned_heads=("n",)))
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    coloured = list(console.format_table(("name", "verdict", "n"), rows, right_aligned_heads=("n",)))
    assert coloured[0] == plain[0]
    assert coloured[1] == plain[1].replace("WA", f"{RED}WA\x1b[0m")
    assert coloured[2] == plain[2].replace("SKIPPED", "\x1b[90mSKIPPED\x1b[0m")
    assert coloured[3] == plain[3]
