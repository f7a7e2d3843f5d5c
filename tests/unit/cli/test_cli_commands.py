"""Smaller commands, and properties of all commands."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from support.command_line import RIGHT, CommandLine, contents, row, write_dump, write_package

from ioi_eval.cli import COMMANDS as EVERY
from ioi_eval.store import resources

COMMANDS = (
    "score",
    "judge",
    "run",
    "validate",
    "report",
    "view",
    "problems",
    "worker",
    "package",
    "doctor",
    "new",
)


def test_version_option_prints_version(cli: CommandLine) -> None:
    assert cli("--version").stdout.startswith("ioi-eval 0.")


@pytest.fixture(scope="module")
def overview(shared_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the help of all commands."""
    return CommandLine(folder=tmp_path_factory.mktemp("help"), cache=shared_cache)("--help").stdout


@pytest.mark.parametrize("width", [60, 80, 120])
def test_help_overview_fits_one_screen(cli: CommandLine, width: int) -> None:
    """It has a line for each command, in groups, and breaks lines at blanks only."""
    lines = replace(cli, environment={"COLUMNS": str(width)})("--help").stdout.splitlines()
    assert len(lines) <= 33 and "..." not in "\n".join(lines[2:])
    assert sum(line.startswith("  ") and line.split()[0] in EVERY for line in lines) == len(EVERY)
    assert max(map(len, lines)) <= max(width, 72), (
        "lines of examples are not wrapped, so that they can be copied"
    )
    headings = [line for line in lines if line and not line.startswith(" ")]
    assert [head for head in headings if " " not in head] == [
        "Start",
        "Judge",
        "Look",
        "Problems",
        "Machines",
    ]


@pytest.mark.nightly(unless="score|worker")
@pytest.mark.parametrize("command", COMMANDS)
def test_command_help_shows_example(cli: CommandLine, overview: str, command: str) -> None:
    shown = cli(command, "--help").stdout
    assert f"  ioi-eval {command}" in shown
    assert max(map(len, shown.splitlines())) <= 100
    assert f"\n  {command} " in overview


def test_doctor_lists_compiler_and_confinement(cli: CommandLine) -> None:
    cli = cli.among_the_systems()
    completed = cli("doctor")
    assert completed.returncode == 0, completed.stdout
    assert "g++" in completed.stdout
    assert "confinement" in completed.stdout and "python=/" not in " ".join(completed.stdout.split())


def test_doctor_json_lists_health_checks(cli: CommandLine) -> None:
    answer = json.loads(cli.among_the_systems()("doctor", "--json").stdout)
    assert answer["ok"]
    assert {"C++ compiler", "C++ standard", "cores", "confinement"} <= {
        condition["name"] for condition in answer["conditions"]
    }
    python_details = [entry["detail"] for entry in answer["conditions"] if entry["name"] == "another Python"]
    assert all("; --python /" in detail for detail in python_details if "cannot:" not in detail)


def test_problems_command_lists_packages(cli: CommandLine, problems: Path) -> None:
    completed = cli("problems", problems)
    assert completed.returncode == 0, completed.stderr
    assert "add" in completed.stdout
    assert "1 of 1 package can be used" in completed.stdout
    (described,) = json.loads(cli("problems", problems, "--json").stdout)
    assert described["options"]["user_io"] == "std_io" and described["options"]["manager_args"] == []
    assert described["tests"] == 4
    assert [subtask["points"] for subtask in described["subtasks"]] == [40, 60]
    assert described["limits"]["cpu_time"] == 2.0
    missing = cli("problems", problems, "--problem", "adds")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "the source has no problem 'adds'. Did you mean 'add'?" in missing.stderr


def test_problems_command_notes_packages_without_points(cli: CommandLine, tmp_path: Path) -> None:
    write_package(tmp_path / "add", subtasks={})
    completed = cli("problems", tmp_path)
    (line,) = (line for line in completed.stdout.splitlines() if line.startswith("add"))
    assert line.split()[-6:-4] == ["0", "none"], line  # no subtasks, and no points rather than 0
    assert "no subtasks, so there are no points" in completed.stdout


def test_problems_command_names_fault_of_each_package(cli: CommandLine, problems: Path) -> None:
    write_package(problems / "bad", subtasks={"01-all": (100, ["1-1", "9-9"])})
    (problems / "worse").mkdir()
    (problems / "worse" / "problem.json").write_text("{")
    completed = cli("problems", problems)
    assert completed.returncode == 2
    assert "1 of 3 packages can be used" in completed.stdout
    for name, cause in (
        ("worse", "problem.json, line 1: broken JSON: Expecting"),
        ("bad", "subtasks/01-all.json, field 'testcases': names the test '9-9', which is not in tests/"),
    ):
        assert f"{name} is read as ioi_eval/CMS, and cannot be used: see the error below" in completed.stdout
        assert (
            (completed.stdout + completed.stderr).count(cause)
            == completed.stderr.count(f"{name}/{cause}")
            == 1
        )


RETRIES = """
import asyncio
from ioi_eval.engines.jobs.run import execute
from ioi_eval.cli import console
from ioi_eval.errors import EngineUnavailable, JudgeFailure
from ioi_eval.model.retry import RetryRule
from ioi_eval.models import Job

class Gone:
    async def execute(self, job, check=None):
        raise EngineUnavailable("gone")

RetryRule.delay_s_after = lambda rule, attempt: 0.0
console.set_log_output()
try:
    asyncio.run(execute(Gone(), Job(files=()), phase="running"))
except JudgeFailure as failure:
    print(failure)
"""


def test_log_messages_of_retries_are_not_printed(cli: CommandLine) -> None:
    """They would disturb a progress bar."""
    script = cli.folder / "retries.py"
    script.write_text(RETRIES)
    completed = cli.script(str(script))
    assert completed.stdout == "running: EngineUnavailable: gone, after 4 attempts (retry rule `reply`)\n"
    assert completed.stderr == ""


def test_cache_moves_to_private_folder_if_home_is_unwritable(cli: CommandLine) -> None:
    elsewhere = cli.folder / "elsewhere"
    elsewhere.mkdir()
    nowhere = {"HOME": "/proc/nowhere", "XDG_CACHE_HOME": "", "IOI_EVAL_CACHE": "", "TMPDIR": str(elsewhere)}
    write_package(cli.folder / "package" / "add")
    shutil.make_archive(str(cli.folder / "add"), "zip", cli.folder / "package" / "add")
    homeless = CommandLine(folder=cli.folder, cache=cli.cache, environment=nowhere)
    assert "1 of 1 package " in homeless("problems", "add.zip").stdout
    (private,) = elsewhere.glob("ioi-eval-*")
    assert private.stat().st_mode & 0o777 == 0o700
    assert any(private.rglob("problem.json"))


def test_unwritable_cache_exits_with_2(cli: CommandLine) -> None:
    completed = replace(cli, cache=Path("/proc/nowhere"))("problems", "add.zip")
    assert (completed.returncode, completed.stdout, completed.stderr.count("\n")) == (2, "", 1), (
        completed.stderr
    )
    assert (
        "/proc/nowhere: the cache cannot be written" in completed.stderr
        and "IOI_EVAL_CACHE" in completed.stderr
    )


def test_cache_writable_by_others_exits_with_2(cli: CommandLine) -> None:
    theirs = cli.folder / "theirs"
    theirs.mkdir()
    theirs.chmod(0o777)
    completed = replace(cli, cache=theirs)("problems", "add.zip")
    assert (completed.returncode, completed.stdout, completed.stderr.count("\n")) == (2, "", 1), (
        completed.stderr
    )
    assert (
        f"{theirs}: the folder is accessible to other users (owner {os.geteuid()}, mode 0777)"
        in completed.stderr
    )
    assert "IOI_EVAL_CACHE" in completed.stderr


def test_examples_are_copied_once(cli: CommandLine) -> None:
    mine = cli.folder / "mine"
    assert cli("new", mine, "--type", "examples").returncode == 0
    copied = {name for name in contents(mine) if "__pycache__" not in name}
    assert copied == {name for name in contents(resources.examples_folder()) if "__pycache__" not in name}
    second_call = cli("new", mine, "--type", "examples")
    assert second_call.returncode == 2
    assert "exists already" in second_call.stderr
    (cli.folder / "file").write_text("")
    assert cli("new", "file", "--type", "examples").returncode == 2


def test_report_command_rebuilds_reports(cli: CommandLine, problems: Path) -> None:
    dump = write_dump(cli.folder / "d.jsonl", [row("r", RIGHT)])
    assert cli("score", dump, "--problems", problems, "--out", "run", "--quiet").returncode == 0
    files_before = contents(cli.folder / "run")
    for name in ("report.md", "summary.json"):
        (cli.folder / "run" / name).unlink()
    completed = cli("report", "run")
    assert completed.returncode == 0, completed.stderr
    assert "Report: run/report.md" in completed.stdout
    assert contents(cli.folder / "run") == files_before
    assert json.loads(cli("report", "run", "--json").stdout)["run"]["scored"] == 1
