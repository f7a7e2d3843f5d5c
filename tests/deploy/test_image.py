"""The worker image of piston/docker has only the packages that its file names."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sysconfig
import tomllib
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from requirements import skip_or_fail_in_ci
from support.command_line import CommandLine

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "piston" / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAMED = [line for line in (DOCKER / "worker.txt").read_text().splitlines() if not line.startswith("#")]
# Command line of an interpreter without access to other packages.
HIDING = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
"""


def with_dependencies(requirements: Iterable[str]) -> set[str]:
    """Return the names of packages and of all their dependencies."""
    names = set[str]()
    pending = [Requirement(specifier) for specifier in requirements]
    while pending:
        requirement = pending.pop()
        name = requirement.name.lower().replace("_", "-")
        if name not in names and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            names.add(name)
            pending += map(Requirement, metadata.requires(name) or ())
    return names


@pytest.fixture
def image_cli(shared_cache: Path, tmp_path: Path) -> CommandLine:
    """Return a command line in an environment with only the image's packages."""
    allowed_packages = {*with_dependencies(NAMED), "ioi-eval", "setuptools"}
    installed = {path.name.partition(".")[0] for path in Path(sysconfig.get_path("purelib")).iterdir()}
    hidden = installed - {
        file.parts[0].partition(".")[0] for name in allowed_packages for file in metadata.files(name) or ()
    }
    assert {"datasets", "pandas", "pyarrow", "jinja2", "tqdm"} <= hidden and "aiohttp" not in hidden
    (tmp_path / "hiding").mkdir()
    (tmp_path / "hiding" / "sitecustomize.py").write_text(HIDING.format(hidden=hidden))
    environment = {"PYTHONPATH": str(tmp_path / "hiding")}
    return CommandLine(folder=tmp_path, cache=shared_cache, environment=environment, alone=True)


@contextmanager
def serving(process: subprocess.Popen[str]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the address of a worker with a JSON log, and its log until it listened."""
    try:
        assert process.stderr is not None
        events: list[dict[str, Any]] = []
        while not events or events[-1]["event"] != "started":
            events.append(json.loads(process.stderr.readline()))
        yield events[-1]["url"], events
        process.terminate()
        assert process.wait() == 0
    finally:
        process.kill()
        process.communicate()


def judges(url: str) -> bool:
    """Return True if the worker judges a right completion by the row's tests."""
    data = {"id": 1, "content": "", "test": [{"input": {"stdin": "1 2"}, "output": {"stdout": "3\n"}}]}
    config = {"dataset_type": "CommonOJDataset", "language": "python", "provided_data": data}
    completion = "```python\nprint(sum(map(int, input().split())))\n```"
    body = json.dumps({"dataset": "x", "id": 1, "completion": completion, "config": config}).encode()
    request = urllib.request.Request(f"{url}/submit", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        accepted = json.load(reply)["accepted"]
    assert isinstance(accepted, bool)
    return accepted


def test_image_packages_are_dependencies_of_the_project() -> None:
    assert NAMED and set(NAMED) < set(PROJECT["dependencies"])


def test_worker_runs_with_only_the_image_packages(image_cli: CommandLine) -> None:
    with serving(image_cli.start("worker", "--port", "0", "--set", "log-format=json")) as (url, _):
        assert judges(url)
    (image_cli.folder / "dump.jsonl").touch()
    scored = image_cli("score", "dump.jsonl", "--problems", "packages")
    assert scored.returncode == 2
    assert scored.stderr == "error: tqdm is not installed. Install it in a clone of ioi_eval: pip install .\n"


@pytest.mark.nightly
def test_doctor_runs_with_only_the_image_packages(image_cli: CommandLine) -> None:
    with serving(image_cli.start("worker", "--port", "0", "--set", "log-format=json")) as (url, _):
        looked = image_cli("doctor", "--engine", url)
    assert looked.returncode == 0, looked.stdout + looked.stderr


def test_dockerfile_builds_worker_by_default() -> None:
    stages = re.findall(r"^FROM (\S+) AS (\S+)$", DOCKERFILE, re.MULTILINE)
    assert stages[-1] == ("base", "worker") and ("base", "client") in stages
    sources = {source for source, _ in stages} | set(re.findall(r"--from=(\S+)", DOCKERFILE))
    assert sources - {"debian:bookworm-slim"} <= {name for _, name in stages}
    assert "COPY ." not in DOCKERFILE.partition(" AS base\n")[2]


def test_no_file_installs_ioi_eval_from_an_index() -> None:
    folders = [ROOT / name for name in ("docs", "examples", "ioi_eval", "piston")]
    pages = [page for folder in folders for suffix in ("md", "ipynb") for page in folder.rglob(f"*.{suffix}")]
    dockerfiles = [file for folder in folders for file in folder.rglob("*Dockerfile")]
    assert ROOT / "examples" / "openenv" / "Dockerfile" in dockerfiles
    index_install = re.compile(r"""\binstall\b[^`\n]* ["']?ioi[-_]eval(?![-_/\w])""")
    assert [str(file) for file in (*dockerfiles, *pages) if index_install.search(file.read_text())] == []


@pytest.mark.nightly
def test_image_install_is_small_and_starts_without_compiling(tmp_path: Path) -> None:
    """It runs the commands of the Dockerfile in another folder. They download packages."""
    [built] = re.findall(r"^RUN (python3 -m venv (?:.*\\\n)*.*)$", DOCKERFILE, re.MULTILINE)
    local_paths = {
        "/source": ROOT,
        **{f"/{name}": tmp_path / name for name in ("build", "wheels", "opt/ioi-eval")},
    }
    for image_path, local_path in local_paths.items():
        built = re.sub(rf"(?<![\w/]){image_path}\b", str(local_path), built)
    (tmp_path / "opt").mkdir()
    (tmp_path / "none").mkdir()  # the image has no compiler for another machine
    (tmp_path / "none" / "aarch64-linux-gnu-g++").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "none" / "aarch64-linux-gnu-g++").chmod(0o755)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    clean["PATH"] = f"{tmp_path / 'none'}:{clean['PATH']}"
    completed = subprocess.run(["bash", "-ec", built], env=clean, capture_output=True, text=True)
    if "No matching distribution" in completed.stderr or "Connection" in completed.stderr:
        skip_or_fail_in_ci("an index of packages")
    assert completed.returncode == 0, completed.stderr
    installed = tmp_path / "opt" / "ioi-eval"
    [packages] = installed.glob("lib/python*/site-packages")
    assert not [name for name in ("pip", "datasets", "pandas", "pyarrow") if (packages / name).exists()]
    assert shutil.which("ioi-eval", path=installed / "bin")
    worker = subprocess.Popen(
        [installed / "bin" / "ioi-eval", "worker", "--port", "0", "--set", "log-format=json"],
        cwd=tmp_path,
        env={**clean, "IOI_EVAL_CACHE": str(tmp_path / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with serving(worker) as (url, events):
        assert [event["event"] for event in events] == ["started"], "the worker built something at its start"
        assert judges(url)
