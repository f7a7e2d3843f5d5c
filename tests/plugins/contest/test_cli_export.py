"""`ioi-eval export harbor`: the folders of tasks, and the rewards of their tests."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest
from support.command_line import RIGHT, SMALL, CommandLine, contents, write_package

EXAMPLES = Path(__file__).parents[3] / "examples" / "problems"

TASKS_ARE_WRITTEN = """\
1 task in tasks
Copy a wheel of ioi_eval into the folder tests of each task (see docs/contest.md)
"""


@pytest.fixture
def task(cli: CommandLine, problems: Path) -> Path:
    (problems / "add" / "statement.md").write_text("Print the sum of two numbers.\n")
    completed = cli("export", "harbor", problems, "tasks")
    assert (completed.returncode, completed.stdout) == (0, TASKS_ARE_WRITTEN), completed.stderr
    return cli.folder / "tasks" / "add"


def rewarded(cli: CommandLine, task: Path, **files: str | bytes) -> float | None:
    """Call a task's tests like Harbor, but in other folders. Return None if they write no reward.

    The tests run twice: the second run gets the judge's reply to the request of the first run.
    """
    app, logs, programs = cli.folder / "app", cli.folder / "logs", cli.folder / "bin"
    for folder in (app, logs, programs):
        folder.mkdir(exist_ok=True)
    noted, command = programs / "asked", programs / "ioi-eval"
    command.write_text(
        f"#!/bin/sh\nprintf '%s\\n' \"$@\" >'{noted}'\ncat '{noted}.said'\nexit $(cat '{noted}.code')\n"
    )
    command.chmod(0o755)
    noted.with_suffix(".said").write_text("")
    noted.with_suffix(".code").write_text("3")
    for name, code in files.items():
        content = code.encode() if isinstance(code, str) else code
        (app / f"solution.{name}").write_bytes(content)
    environment = {**cli.env, "PATH": f"{programs}:/usr/bin:{os.environ['PATH']}"}
    written, tests = logs / "reward.json", [task / "tests" / "test.sh", app, logs]
    for leftover in (noted, written):
        leftover.unlink(missing_ok=True)
    subprocess.run(tests, env=environment, check=False)
    if noted.exists():
        assert not written.exists()
        completed = cli(*noted.read_text().splitlines())
        noted.with_suffix(".said").write_text(completed.stdout)
        noted.with_suffix(".code").write_text(str(completed.returncode))
        subprocess.run(tests, env=environment, check=False)
    return float(json.loads(written.read_text())["reward"]) if written.exists() else None


def test_exported_harbor_task_has_expected_files(task: Path) -> None:
    config = tomllib.loads((task / "task.toml").read_text())
    assert config["task"]["name"] == "ioi-eval/add"
    assert config["artifacts"] == ["/app/solution.py", "/app/solution.cpp"]
    assert config["verifier"]["environment_mode"] == "separate"
    instruction = (task / "instruction.md").read_text()
    assert "Print the sum of two numbers." in instruction and "`/app/solution.cpp`" in instruction
    assert "of both, `solution.py` counts" in instruction
    handed = {path.name for path in (task / "environment").rglob("*") if path.is_file()}
    assert handed == {"Dockerfile", "problem.md"}  # no test data
    assert (task / "tests" / "package" / "add" / "tests" / "1-1.in").exists()


def test_harbor_reward_is_share_of_points(cli: CommandLine, task: Path) -> None:
    assert rewarded(cli, task, cpp=SMALL) == 0.4


def test_unwritable_export_folder_is_named(cli: CommandLine, task: Path, problems: Path) -> None:
    completed = cli("export", "harbor", problems, task / "task.toml" / "tasks")
    assert (completed.returncode, completed.stderr) == (
        2,
        f"error: {task / 'task.toml' / 'tasks' / 'add'}: cannot be written: Not a directory."
        " Name another output folder\n",
    )


def test_harbor_reward_without_program_is_zero(cli: CommandLine, task: Path) -> None:
    assert rewarded(cli, task) == 0.0
    assert rewarded(cli, task, cpp=b" \n") == 0.0
    assert rewarded(cli, task, cpp=b"\xff\xfe") == 0.0


def test_harbor_task_uses_cpp_file_if_python_file_is_empty(cli: CommandLine, task: Path) -> None:
    assert rewarded(cli, task, py=b"", cpp=RIGHT) == 1.0
    assert rewarded(cli, task, py=b"print(0)", cpp=RIGHT) == 0.0


def test_harbor_symlinked_solution_scores_zero(cli: CommandLine, task: Path) -> None:
    (cli.folder / "app").mkdir()
    (cli.folder / "right.cpp").write_text(RIGHT)
    (cli.folder / "app" / "solution.cpp").symlink_to(cli.folder / "right.cpp")
    assert rewarded(cli, task) == 0.0


def test_harbor_judge_failure_writes_no_reward(cli: CommandLine) -> None:
    package = write_package(cli.folder / "add", checker="int main() { return 7; }")
    (package / "statement.md").write_text("Add.")
    assert cli("export", "harbor", package, "tasks").returncode == 0
    assert rewarded(cli, cli.folder / "tasks" / "add", cpp=RIGHT) is None


def test_unexportable_problem_exits_with_2(cli: CommandLine, problems: Path, task: Path) -> None:
    write_package(problems / "mute")
    written = contents(task)
    for arguments, message in (
        ((problems, "tasks"), "exists already. Remove the existing folder, or name another output folder"),
        ((problems, "others", "--problem", "mute"), "mute: its statement is not text"),
        ((EXAMPLES / "postman", "others"), "postman: it asks for files"),
        ((EXAMPLES / "scales", "others"), "scales: it asks for files"),  # and for a program
        (("apps", "others"), "only problem packages can be exported as tasks"),
        ((problems / "none", "others"), "no such file or folder"),
    ):
        completed = cli("export", "harbor", *arguments)
        assert (completed.returncode, completed.stdout) == (2, "") and message in completed.stderr, (
            completed.stderr
        )
    assert contents(task) == written and not (cli.folder / "others").exists()
