"""Bad input: one line that says where and what, exit code 2, nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command_line import RIGHT, CommandLine, contents, row, write_dump, write_package


def refused(cli: CommandLine, *arguments: str | Path) -> str:
    """Calls, expects a refusal that leaves everything as it was, and returns the one line."""
    before = contents(cli.folder)
    done = cli(*arguments)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    (line,) = (line for line in done.stderr.splitlines() if not line.startswith("Rows: "))
    assert line.startswith("error: ")
    assert contents(cli.folder) == before
    assert not (cli.folder / "run").exists()
    return line


def dump_with(cli: CommandLine, text: str, name: str = "d.jsonl") -> Path:
    (cli.folder / name).write_text(text)
    return cli.folder / name


GOOD = json.dumps(row("r", RIGHT)) + "\n"


@pytest.mark.nightly(unless="text[03]")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (json.dumps({"uuid": "1", "code": RIGHT}), ["d.jsonl", "line 1", "problem_id"]),
        (json.dumps({"uuid": "1", "problem_id": "add"}), ["d.jsonl", "line 1", "`code`, `generation`"]),
        (json.dumps({**row("1", RIGHT), "problem_id": "ad"}), ["line 1", "unknown problem 'ad'", "add"]),
        (json.dumps({**row("1", RIGHT), "language": "Cobol"}), ["line 1", "language", "'Cobol'"]),
        ("".join(GOOD.replace('"r"', f'"{n}"') for n in range(16)) + '{"uuid": ', ["d.jsonl", "line 17"]),
        (GOOD + GOOD.replace("}\n", ', "n": 1}\n'), ["line 2", "'r'", "twice"]),
        ("", ["d.jsonl", "no rows"]),
    ],
)
def test_dumps(cli: CommandLine, problems: Path, text: str, words: list[str]) -> None:
    dump = dump_with(cli, text)
    line = refused(cli, "score", dump, "--problems", problems, "--out", "run")
    assert [word for word in words if word not in line] == []


def test_a_folder_of_something_else(cli: CommandLine, problems: Path) -> None:
    """`.` is where the dump and the problems lie."""
    line = refused(cli, "score", dump_with(cli, GOOD), "--problems", problems, "--out", ".")
    assert "has no run: run.json is missing, but it contains d.jsonl, problems" in line
    assert line == refused(cli, "validate", problems, "--out", ".")
    assert line == refused(cli, "run", "-b", "apps", "-m", "m", "--base-url", "http://h/v1", "--out", ".")


def test_a_dump_that_is_not_there(cli: CommandLine, problems: Path) -> None:
    assert "none.jsonl" in refused(cli, "score", "none.jsonl", "--problems", problems, "--out", "run")


@pytest.mark.parametrize("path", ["locked/x.jsonl", "x" * 300])
def test_a_path_that_may_not_even_be_asked_for(cli: CommandLine, problems: Path, path: str) -> None:
    """Root may enter any folder, and finds nothing there."""
    locked = cli.folder / "locked"
    locked.mkdir(mode=0)
    try:
        assert path in refused(cli, "report", path)
        assert path in refused(cli, "score", path, "--problems", problems, "--out", "run")
    finally:
        locked.chmod(0o700)


def test_a_zip_that_is_none(cli: CommandLine) -> None:
    dump, package = dump_with(cli, GOOD), dump_with(cli, "hello", "problems.zip")
    assert "problems.zip" in refused(cli, "score", dump, "--problems", package, "--out", "run")
    assert "problems.zip" in cli("problems", package).stderr


def test_a_subtask_of_a_test_that_is_not_there(cli: CommandLine) -> None:
    write_package(cli.folder / "problems" / "add", subtasks={"01-all": (100, ["1-1", "9-9"])})
    dump = dump_with(cli, GOOD)
    line = refused(cli, "score", dump, "--problems", "problems", "--out", "run")
    assert "01-all" in line
    assert "9-9" in line


def test_a_checker_that_does_not_compile(cli: CommandLine) -> None:
    write_package(cli.folder / "problems" / "add", checker="int main() { return nothing; }")
    dump = dump_with(cli, GOOD)
    line = refused(cli, "score", dump, "--problems", "problems", "--out", "run")
    assert "checker/checker.cpp does not compile" in line
    assert "nothing" in line


def test_selections_that_select_nothing(cli: CommandLine, problems: Path) -> None:
    write_package(problems / "other")
    base = ("score", dump_with(cli, GOOD), "--problems", problems, "--out", "run")
    assert "'nobody'" in refused(cli, *base, "--only", "nobody")
    assert "'nothing'" in refused(cli, *base, "--problem", "nothing")
    assert "no submission for other" in refused(cli, *base, "--problem", "other")


def test_a_server_that_is_not_there(cli: CommandLine, problems: Path) -> None:
    dump = dump_with(cli, GOOD)
    line = refused(
        cli, "score", dump, "--problems", problems, "--out", "run", "--engine", "http://127.0.0.1:1"
    )
    assert "http://127.0.0.1:1 cannot be reached" in line and "Check that the server runs" in line


def test_a_folder_that_is_not_a_run(cli: CommandLine, problems: Path) -> None:
    (cli.folder / "mine").mkdir()
    (cli.folder / "mine" / "results.jsonl").write_text("{}\n")
    dump = write_dump(cli.folder / "d.jsonl", [row("r", RIGHT)])
    assert "results.jsonl" in refused(cli, "score", dump, "--problems", problems, "--out", "mine")
    assert "no run" in refused(cli, "report", "mine")


def test_text_of_others_cannot_drive_the_terminal(cli: CommandLine, problems: Path) -> None:
    dump = dump_with(cli, json.dumps({**row("1", RIGHT), "problem_id": "\x1b[2Jadd\n"}))
    line = refused(cli, "score", dump, "--problems", problems, "--out", "run")
    assert "\x1b" not in line


def test_usage_errors_exit_with_2_too(cli: CommandLine) -> None:
    assert cli("score", "d.jsonl").returncode == 2
    assert cli("nonsense").returncode == 2
