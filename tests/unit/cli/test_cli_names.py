"""Messages of the library name arguments; the command line shows its options instead."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support.command_line import CommandLine, results, row, write_dump
from support.plugins import needs_plugin
from support.servers import EndpointReport

from ioi_eval.cli import console
from ioi_eval.cli.doctor import combine_reports
from ioi_eval.cli.progress import describe_servers
from ioi_eval.models import Toolchain
from ioi_eval.runs import ServersFound

PACKAGES = Path(__file__).parents[2] / "packages"


def test_only_whole_argument_names_are_translated_to_options() -> None:
    assert console.replace_arguments_by_options("Choose another out=FOLDER") == "Choose another --out folder"
    assert console.replace_arguments_by_options("n_problems=3, timeout=FOLDER, xpython=PATH") == (
        "n_problems=3, timeout=FOLDER, xpython=PATH"
    )


@needs_plugin("polygon")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("problems", "halves"), "Make them with `ioi-eval problems PACKAGE --generate DIR`, or by its"),
        (("run", "-b", "pond", "-m", "m", "-c", "c.yaml"), "Correct the template, and try it with --dry-run"),
    ],
)
def test_remedies_of_error_messages_name_options(
    cli: CommandLine, arguments: tuple[str, ...], message: str
) -> None:
    shutil.copytree(PACKAGES / "halves", cli.folder / "halves")
    (cli.folder / "halves" / "tests" / "06").unlink()
    write_pond(cli.folder / "pond")
    (cli.folder / "t.md").write_text("{{ problem.statement.nothing.of.it }}")
    (cli.folder / "c.yaml").write_text("prompt: t.md\nmodel: {base_url: 'http://127.0.0.1:1/v1'}\n")
    completed = cli(*arguments)
    assert completed.returncode == 2, completed.stdout
    assert all(fragment in completed.stderr for fragment in message.split("..."))


def write_pond(folder: Path) -> None:
    """Write a DMOJ package without limits."""
    folder.mkdir()
    (folder / "init.yml").write_text("test_cases: [{in: 1.in, out: 1.out, points: 5}]\n")
    (folder / "1.in").write_text("1")
    (folder / "1.out").write_text("1")
    (folder / "statement.md").write_text("Echo.")


@needs_plugin("dmoj")
def test_notes_about_packages_name_command_line_options(cli: CommandLine) -> None:
    write_pond(cli.folder / "pond")
    assert (
        "judge; --set time-limit=... and --set memory-limit=... set others" in cli("problems", "pond").stdout
    )
    [package] = json.loads(cli("problems", "pond", "--json").stdout)
    assert "judge; --set time-limit=... and --set memory-limit=... set others" in package["notes"][0]


# No Python has all of these packages.
LACKING = "import numpy, sympy, sortedcontainers, atcoder\nprint(1)\n"
PROMISED = ("--packages", "numpy, sympy,sortedcontainers atcoder")


@pytest.fixture
def lacking(cli: CommandLine) -> str:
    """Write a program that needs packages, a config for such programs, and a dump. Return the dump's name."""
    (cli.folder / "p.py").write_text(LACKING)
    (cli.folder / "python.yaml").write_text("language: python\n")
    return write_dump(cli.folder / "d.jsonl", [row("r", LACKING, language="python")]).name


@needs_plugin("contest")
@pytest.mark.usefixtures("lacking")
@pytest.mark.nightly(unless="judge|run")
@pytest.mark.parametrize(
    "command",
    [
        ("score", "d.jsonl", "--out", "run"),
        ("judge", "p.py"),
        (
            *("run", "-m", "m", "--base-url", "http://127.0.0.1:1/v1", "--turns", "2", "--out", "run"),
            *("-c", "python.yaml"),
        ),
    ],
    ids=lambda c: c[0],
)
def test_missing_package_of_packages_option_ends_command_before_judging(
    cli: CommandLine, problems: Path, command: tuple[str, ...]
) -> None:
    """Nothing is written."""
    completed = cli(*command, *PROMISED, "--problems", problems)
    assert completed.returncode == 2, completed.stderr
    assert "--packages: submissions may import " in completed.stderr and "-m pip install " in completed.stderr
    assert "let --python PATH or IOI_EVAL_PYTHON name DIR/bin/python" in completed.stderr
    assert "--packages none promises nothing" in completed.stderr
    assert not (cli.folder / "run").exists()


def test_doctor_fails_if_package_of_packages_option_is_missing(cli: CommandLine, problems: Path) -> None:
    doctor = cli.among_the_systems()("doctor", *PROMISED, "--problems", problems)
    assert doctor.returncode == 2 and "submissions may import" in doctor.stdout


def test_import_without_packages_option_is_runtime_error(
    cli: CommandLine, problems: Path, lacking: str
) -> None:
    scored = cli("score", lacking, "--out", "run", "--problems", problems)
    assert scored.returncode == 0, scored.stderr
    assert results(cli.folder / "run")["r"]["verdict"] == "RE"


def test_unknown_name_in_packages_option_is_refused_with_suggestion(
    cli: CommandLine, problems: Path, lacking: str
) -> None:
    unknown = cli("score", lacking, "--out", "other", "--problems", problems, "--packages", "numppy")
    assert unknown.returncode == 2 and "Did you mean" in unknown.stderr


def test_remedy_for_differing_servers_names_same_compiler_key() -> None:
    tools = [Toolchain(command="g++", path="/usr/bin/g++", version=v, identity=v) for v in ("8", "9")]
    reports = [
        EndpointReport(url=f"http://{tool.version}:2000", runtimes=("ioi_eval",), toolchains={"g++": tool})
        for tool in tools
    ]
    [line] = combine_reports(reports).together
    assert line.remedy.endswith("refuse other compilers with same_compiler=True")
    servers_found = ServersFound(servers=2, used=2, slots=2, unreachable=(), left_out={}, differences=(line,))
    assert [*describe_servers(servers_found)][-1].endswith(
        "or refuse other compilers with --set same-compiler=true"
    )
