"""`ioi-eval judge`: the tests of a program in a terminal, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

from support.command_line import (
    BROKEN,
    PYTHON,
    RIGHT,
    SMALL,
    TESTS,
    WRONG,
    CommandLine,
    contents,
    write_package,
)


def program(cli: CommandLine, code: str, name: str = "sol.cpp") -> Path:
    path = cli.folder / name
    path.write_text(code)
    return path


def output_lines(cli: CommandLine, code: int, *arguments: str | Path) -> list[str]:
    """Run the command, check its exit code, and return the lines of its output."""
    files_before = contents(cli.folder)
    completed = cli("judge", *arguments)
    assert completed.returncode == code, completed.stdout + completed.stderr
    assert completed.stderr == ""
    assert contents(cli.folder) == files_before
    return completed.stdout.splitlines()


def error_of_refused_call(cli: CommandLine, *arguments: str | Path) -> str:
    completed = cli("judge", *arguments)
    assert (completed.returncode, completed.stdout) == (2, ""), completed.stdout + completed.stderr
    (line,) = completed.stderr.splitlines()
    return line


def row_of(lines: list[str], name: str) -> list[str]:
    (matching,) = (line.split() for line in lines if line.split()[:1] == [name])
    return matching


def test_judge_command_shows_full_marks(cli: CommandLine, problems: Path) -> None:
    lines = output_lines(cli, 0, program(cli, RIGHT), "--problem", "add", "--problems", problems)
    assert lines[0].startswith("add, c++ (g++ ") and lines[0].endswith("): AC, 100 of 100 points")
    assert row_of(lines, "01-small") == ["01-small", "AC", "40", "40"]
    name, verdict, score, _time, seconds, _memory, unit, *subtasks = row_of(lines, "1-1")
    assert (name, verdict, score, seconds, unit) == ("1-1", "AC", "1", "s", "MiB")
    assert subtasks == ["01-small,", "02-large"]
    assert not any(line.startswith("First test") for line in lines)


def test_judge_command_shows_first_failed_test(cli: CommandLine, problems: Path) -> None:
    """With the contents of the test."""
    lines = output_lines(cli, 1, program(cli, SMALL), "--problems", problems)
    assert lines[0].endswith(": WA, 40 of 100 points")
    assert row_of(lines, "02-large") == ["02-large", "WA", "0", "60"]
    assert [row_of(lines, name)[1] for name in TESTS] == ["AC", "AC", "WA", "AC"]
    first = next(
        n for n, line in enumerate(lines) if line.startswith("First test that is not right: 2-1, WA")
    )
    contents_shown = [line.strip() for line in lines[first + 1 :]]
    assert contents_shown[:2] == ["input:", "10000000000 1"]
    assert contents_shown[2] == "output:" and contents_shown[3] not in ("", "10000000001")
    assert contents_shown[4:] == ["expected:", "10000000001"]


def test_judge_command_prints_json(cli: CommandLine, problems: Path) -> None:
    completed = cli("judge", program(cli, SMALL), "--problems", problems, "--json")
    assert (completed.returncode, completed.stderr) == (1, "")
    result = json.loads(completed.stdout)
    assert (result["problem"], result["points"], result["of"], result["solved"]) == ("add", 40, 100, False)
    assert [(entry["name"], entry["verdict"], entry["points"]) for entry in result["subtasks"]] == [
        ("01-small", "AC", 40),
        ("02-large", "WA", 0),
    ]
    assert "WA" in [entry["verdict"] for entry in result["tests"]]


def test_judge_all_tests_option_runs_every_test(cli: CommandLine, problems: Path) -> None:
    arguments = (program(cli, WRONG), "--problems", problems)
    few, every = output_lines(cli, 1, *arguments), output_lines(cli, 1, *arguments, "--all-tests")
    assert {row_of(few, name)[1] for name in TESTS} == {"WA", "SKIPPED"}
    assert {row_of(every, name)[1] for name in TESTS} == {"WA"}


def test_judge_command_shows_compiler_output(cli: CommandLine, problems: Path) -> None:
    lines = output_lines(cli, 1, program(cli, BROKEN), "--problems", problems)
    assert lines[0].endswith(": CE, 0 of 100 points")
    assert lines[2] == "The compiler says:"
    assert any("error:" in line for line in lines[3:])


def test_empty_file_in_python_is_a_program(cli: CommandLine, problems: Path) -> None:
    lines = output_lines(cli, 1, program(cli, "", "empty.py"), "--problems", problems)
    assert lines[0].endswith(": WA, 0 of 100 points")


def test_judge_command_escapes_and_cuts_test_contents(cli: CommandLine, problems: Path) -> None:
    answer = problems / "add" / "tests" / "1-1.out"
    answer.write_text("\x1b[2J" + "0" * 200 + "\n" + "7" * 200 + "\n" + "x\n" * 9)
    code = r'print("\033[3J" + "8".zfill(200))'
    lines = output_lines(cli, 1, program(cli, code, "sol.py"), "--problems", problems)
    assert not any("\x1b" in line for line in lines)
    expected = lines[lines.index("  expected:") + 1 :]
    assert expected[0] == "    \ufffd[2J" + "0" * 33 + "…"
    assert expected[1] == "    " + "7" * 75 + "…"
    assert expected[2:] == ["    x"] * 6 + ["    …"]
    output = lines[lines.index("  output:") + 1]
    assert "[3J000" in output and output.endswith("0…")


def test_judge_command_reads_standard_input(cli: CommandLine, problems: Path) -> None:
    arguments = ("judge", "-", "--problems", problems)
    completed = cli.given(PYTHON.encode(), *arguments, "--language", "python")
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.startswith("add, python (") and "): AC, 100 of 100 points\n" in completed.stdout
    unsaid = cli.given(PYTHON.encode(), *arguments)
    assert unsaid.returncode == 2
    assert "standard input, --language: cannot determine the program's language" in unsaid.stderr


def test_judge_command_exits_with_3_on_judge_failure(cli: CommandLine) -> None:
    write_package(cli.folder / "problems" / "add", checker="int main() { return 7; }")
    completed = cli("judge", program(cli, RIGHT), "--problems", "problems")
    assert (completed.returncode, completed.stdout) == (3, ""), completed.stderr
    assert completed.stderr.startswith("error: not judged: ")


def test_judge_command_refuses_bad_input(cli: CommandLine, problems: Path) -> None:
    write_package(problems / "other")
    source, base = program(cli, RIGHT), ("--problems", problems)
    assert "the source has no problem 'ad'. Did you mean 'add'" in error_of_refused_call(
        cli, source, "--problem", "ad", *base
    )
    assert "2 problems" in error_of_refused_call(
        cli, source, *base
    ) and "add, other" in error_of_refused_call(cli, source, *base)
    for year in (2023, 2024):
        header = write_package(cli.folder / "years" / str(year) / "add") / "problem.json"
        header.write_text(json.dumps({**json.loads(header.read_text()), "year": year}))
    several = error_of_refused_call(cli, source, "--problem", "add", "--problems", "years")
    assert "the package itself with --problems if several" in several and "--year" not in several
    assert "'Cobol'" in error_of_refused_call(cli, source, "--language", "Cobol", "--problem", "add", *base)
    unknown = error_of_refused_call(cli, program(cli, RIGHT, "sol.txt"), "--problem", "add", *base)
    assert "sol.txt, --language: cannot determine the program's language" in unknown
    assert "none.cpp: the program cannot be read" in error_of_refused_call(
        cli, "none.cpp", "--problem", "add", *base
    )
    empty = program(cli, " \n", "empty.cpp")
    assert "the file contains no program" in error_of_refused_call(cli, empty, "--problem", "add", *base)
