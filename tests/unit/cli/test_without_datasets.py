"""The core scores without pandas, pyarrow, datasets and the hub's client, or names the missing extra."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from support.command_line import PYTHON, CommandLine

# As if they were not installed, in a separate interpreter.
LACKING = """
import sys

class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"datasets", "huggingface_hub", "numpy", "pandas", "pyarrow"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Lacking())
"""


@pytest.fixture
def core(cli: CommandLine, tmp_path: Path) -> CommandLine:
    (tmp_path / "lacking").mkdir()
    (tmp_path / "lacking" / "sitecustomize.py").write_text(LACKING)
    environment = {**cli.environment, "PYTHONPATH": str(tmp_path / "lacking")}
    return replace(cli, alone=True, environment=environment)


def test_dump_is_scored_without_datasets_installed(core: CommandLine, problems: Path, tmp_path: Path) -> None:
    dump = tmp_path / "dump.jsonl"
    dump.write_text(json.dumps({"problem_id": "add", "code": PYTHON, "language": "python"}) + "\n")
    completed = core("score", dump, "--problems", problems, "--out", tmp_path / "run")
    assert completed.returncode == 0, completed.stderr
    [row] = map(json.loads, (tmp_path / "run" / "results.jsonl").read_text().splitlines())
    assert row["points"] == 100 and (tmp_path / "run" / "report.html").exists()


def named_with_its_extra(completed: subprocess.CompletedProcess[str]) -> bool:
    remedy = "Install it in a clone of ioi_eval: pip install '.[datasets]'"
    error_line = f"error: pyarrow is not installed. {remedy}\n"
    return (completed.returncode, completed.stderr) == (2, error_line)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "dump.parquet").write_bytes(b"PAR1PAR1")
    return tmp_path / "dump.parquet"


@pytest.mark.nightly
def test_missing_datasets_package_error_names_the_extra(
    core: CommandLine, problems: Path, table: Path, tmp_path: Path
) -> None:
    completed = core("score", table, "--problems", problems, "--out", tmp_path / "run")
    assert named_with_its_extra(completed), completed


def test_missing_pyarrow_error_names_the_extra(
    cli: CommandLine, problems: Path, table: Path, tmp_path: Path
) -> None:
    called = tmp_path / "called.py"
    called.write_text("import sys; sys.modules['pyarrow'] = None; from ioi_eval.cli import main; main()")
    completed = cli.script(str(called), "score", table, "--problems", problems, "--out", tmp_path / "run")
    assert named_with_its_extra(completed), completed
