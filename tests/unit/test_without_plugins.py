"""The core without `ioi_eval/plugins`: its commands run, and requests for a plugin name the plugin."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from built_programs import built_once
from support.command_line import PYTHON, row, write_dump, write_package
from support.warm_command import RunningCommand, WarmCommand

ROOT = Path(__file__).parents[2]


def copy_core(folder: Path) -> Path:
    folder.mkdir()
    leave_out = shutil.ignore_patterns("plugins", "__pycache__", "_data")
    shutil.copytree(ROOT / "ioi_eval", folder / "ioi_eval", ignore=leave_out)
    for name in ("graders", "examples", "piston", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.fixture(scope="session")
def core(shared: Path) -> Path:
    """Return a checkout without plugins. The entry points of the installed distribution remain."""
    return built_once(shared / "core", copy_core)


class Command:
    """`ioi-eval` of a checkout without plugins, in a process that forks for each call."""

    def __init__(self, core: Path, cache: Path) -> None:
        self._core = core
        self._environment = {**os.environ, "PYTHONPATH": str(core), "IOI_EVAL_CACHE": str(cache)}
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", str(core))
            self.process = WarmCommand("ioi_eval.cli.score", "ioi_eval.cli.problems", "ioi_eval.runs.score")

    def start(self, *arguments: str | Path) -> RunningCommand:
        return self.process.start([*map(str, arguments)], self._core, self._environment)

    def __call__(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        completed = self.process.run([*map(str, arguments)], self._core, self._environment)
        assert "Traceback" not in completed.stderr, completed.stderr
        return completed


@pytest.fixture(scope="module")
def command(core: Path, shared_cache: Path) -> Iterator[Command]:
    core_command = Command(core, shared_cache)
    yield core_command
    core_command.process.close()


def test_core_without_plugins_cannot_import_them(command: Command, core: Path, tmp_path: Path) -> None:
    script = tmp_path / "where.py"
    script.write_text("import ioi_eval\nprint(ioi_eval.__path__)\nimport ioi_eval.plugins\n")
    completed = command.process.run([], core, {"PYTHONPATH": str(core)}, str(script))
    assert completed.stdout == f"['{core / 'ioi_eval'}']\n"
    assert "No module named 'ioi_eval.plugins'" in completed.stderr


@pytest.fixture
def rows(tmp_path: Path) -> tuple[Path, Path]:
    """Return a dump of a program, and the package of its problem."""
    package = write_package(tmp_path / "problems" / "add")
    return write_dump(tmp_path / "dump.jsonl", [row("right", PYTHON, language="python")]), package


def test_core_scores_a_dump_and_writes_its_report_without_plugins(
    command: Command, rows: tuple[Path, Path], tmp_path: Path
) -> None:
    (dump, package), out = rows, tmp_path / "run"
    completed = command("score", dump, "--problems", package, "--out", out, "--quiet", "--json")
    assert completed.returncode == 0 and json.loads(completed.stdout)["scored"] == 1, completed.stderr
    assert (out / "report.html").read_text().endswith("</html>\n")
    second_call = command("report", out)
    assert second_call.returncode == 0, second_call.stderr


def test_command_of_a_removed_plugin_names_the_plugin(command: Command) -> None:
    completed = command("audit", ROOT / "examples" / "problems")
    assert completed.returncode == 2 and "audit needs the plugin audit" in completed.stderr


def test_core_validates_a_package_without_plugins(command: Command, rows: tuple[Path, Path]) -> None:
    solution = rows[1] / "solutions" / "correct" / "sum.py"
    solution.parent.mkdir(parents=True)
    solution.write_text(PYTHON)
    completed = command("validate", rows[1], "--out", rows[1].with_name("run"))
    assert completed.returncode == 0, completed.stderr + completed.stdout


@pytest.mark.nightly
def test_core_checks_the_machine_without_plugins(command: Command) -> None:
    checked = command("doctor")
    assert "came with" in checked.stdout or "proctor" in checked.stdout, checked.stderr


def test_core_serves_jobs_as_a_worker_without_plugins(
    command: Command, rows: tuple[Path, Path], tmp_path: Path
) -> None:
    worker = command.start("worker", "--port", "0", "--slots", "1")
    try:
        assert worker.stdout is not None
        url = re.findall(r"ioi-eval worker at (\S+),", worker.stdout.readline())[0]
        out = ("--out", tmp_path / "run", "--quiet", "--json")
        completed = command("score", rows[0], "--problems", rows[1], "--engine", url, *out)
        assert completed.returncode == 0 and json.loads(completed.stdout)["scored"] == 1, completed.stderr
        assert httpx.post(f"{url}/run_code", json={"code": "", "language": "python"}).status_code == 404
    finally:
        worker.terminate()
        _, worker_output = worker.communicate()
    assert "Traceback" not in worker_output, worker_output


@pytest.mark.parametrize(
    ("package", "message"),
    [
        ("attic", "DMOJ packages need the plugin dmoj"),
        ("halves", "Polygon packages need the plugin polygon"),
        ("gradini", "italy_yaml packages need the plugin italy"),
        ("powers", "LightCPVerifier packages need the plugin lightcp"),
    ],
)
def test_package_of_a_removed_plugin_is_refused_by_its_name(
    command: Command, package: str, message: str
) -> None:
    completed = command("problems", ROOT / "tests" / "packages" / package)
    assert completed.returncode == 2 and message in completed.stderr, completed.stderr
    assert f"plugins/{message.rpartition(' ')[2]}" in completed.stderr


@pytest.mark.parametrize(
    ("benchmark", "plugin"),
    [
        ("ojbench", "dmoj"),
        ("livecodebench-pro", "lightcp"),
        ("humaneval", "functions"),
        ("mbpp_plus", "functions"),
    ],
)
def test_benchmark_of_a_removed_plugin_is_refused_by_its_name(
    command: Command, benchmark: str, plugin: str
) -> None:
    completed = command("problems", benchmark)
    name = benchmark.replace("-", "_")
    assert completed.returncode == 2 and f"{name} needs the plugin {plugin}" in completed.stderr, (
        completed.stderr
    )


@pytest.mark.parametrize(("engine", "plugin"), [("ray", "ray"), ("e2b:judge", "rented")])
def test_engine_of_a_removed_plugin_is_refused_by_its_name(
    command: Command, engine: str, plugin: str
) -> None:
    completed = command("doctor", "--engine", engine)
    name = engine.partition(":")[0]
    assert completed.returncode == 2 and f"{name} needs the plugin {plugin}" in completed.stderr, (
        completed.stderr
    )


def test_command_of_a_removed_plugin_is_refused_by_its_name(command: Command) -> None:
    for name in ("contest", "export"):
        completed = command(name, "serve", ROOT / "examples" / "problems")
        assert completed.returncode == 2 and f"{name} needs the plugin contest" in completed.stderr, (
            completed.stderr
        )
    source = ("--problems", ROOT / "examples" / "problems", "--turns", "2")
    completed = command("run", *source, "--model", "otter", "--base-url", "http://127.0.0.1:9/v1")
    assert completed.returncode == 2 and "run.turns needs the plugin contest" in completed.stderr, (
        completed.stderr
    )
    help_text = command("--help")
    assert help_text.returncode == 0 and "score" in help_text.stdout
