"""`ioi-eval new` writes a package of each type, which validates."""

from __future__ import annotations

import json

import pytest
from support.command_line import CommandLine

from ioi_eval.cli.new import StarterType

PACKAGE_TYPES = [kind for kind in StarterType if kind not in (StarterType.EXAMPLES, StarterType.CONFIG)]


def test_new_command_writes_loadable_packages_of_every_type(cli: CommandLine) -> None:
    for kind in PACKAGE_TYPES:
        written = cli("new", f"packages/my-{kind}", "--type", kind)
        assert written.returncode == 0 and f"ioi-eval validate packages/my-{kind}" in written.stdout
    listed = cli("problems", "packages")
    assert (
        listed.returncode == 0 and f"{len(PACKAGE_TYPES)} of {len(PACKAGE_TYPES)} packages" in listed.stdout
    )


@pytest.mark.nightly(unless="function")
@pytest.mark.parametrize("kind", PACKAGE_TYPES)
def test_new_package_validates(cli: CommandLine, kind: StarterType) -> None:
    written = cli("new", f"packages/my-{kind}", "--type", kind)
    assert written.returncode == 0 and f"ioi-eval validate packages/my-{kind}" in written.stdout
    completed = cli("validate", "packages", "--out", "run")
    assert completed.returncode == 0, completed.stdout + completed.stderr
    solutions = json.loads((cli.folder / "run" / "validation.json").read_text())["solutions"]
    assert {solution["problem"] for solution in solutions} == {f"my-{kind}"}
    assert {"correct", "incorrect"} <= {solution["expected"] for solution in solutions}, solutions


def test_new_command_refuses_existing_folder(cli: CommandLine) -> None:
    (cli.folder / "lamps").mkdir()
    (cli.folder / "lamps" / "mine.txt").write_text("mine")
    refused = cli("new", "lamps")
    assert refused.returncode == 2 and "lamps: exists already" in refused.stderr
    assert [path.name for path in (cli.folder / "lamps").iterdir()] == ["mine.txt"]
    odd = cli("new", "two words")
    assert odd.returncode == 2 and "'two words' is not a valid problem id" in odd.stderr
    assert not (cli.folder / "two words").exists()


@pytest.mark.parametrize("name", ["lamps.v2", "time", "io"])
def test_new_grader_package_refuses_unimportable_name(cli: CommandLine, name: str) -> None:
    refused = cli("new", name, "--type", "grader")
    assert refused.returncode == 2 and "graders/grader.py could not import" in refused.stderr
    assert not (cli.folder / name).exists()
    assert cli("new", name, "--type", "batch").returncode == 0
