"""The wheel is complete: it contains the examples, and scores them without a checkout."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import site
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from built_programs import SOURCES, built_once
from requirements import skip_or_fail_in_ci

from ioi_eval.store.compiling import (
    BINARIES,
    PROCTOR,
    WAITING,
    fork_server_compiler_arguments,
    hash_sources,
    proctor_compiler_arguments,
)
from ioi_eval.store.compiling import SOURCES as DIGEST

ROOT = Path(__file__).parents[1]
ELF_MACHINES = {"x86_64": 62, "aarch64": 183}  # numbers of architectures in ELF headers
LIMIT = 6  # number of submissions to score; other tests score all of them


def call(*argv: str | Path, cwd: Path) -> str:
    """Run a program that cannot see the checkout, and return its output."""
    env = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    env |= {"IOI_EVAL_CACHE": str(cwd / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    env["PATH"] = "/usr/local/bin:/usr/bin:/bin"  # only programs of the system
    process = subprocess.run([str(arg) for arg in argv], cwd=cwd, env=env, capture_output=True, text=True)
    if process.returncode != 0:
        pytest.fail(f"{argv} ended with {process.returncode}\n{process.stdout}\n{process.stderr}")
    return process.stdout


def build_wheel(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    call(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="session")
def wheel(shared: Path) -> Path:
    """Return a wheel, built once for all test processes. It contains binaries for two architectures."""
    (built,) = built_once(shared / "wheel", build_wheel).glob("*.whl")
    return built


@pytest.fixture(scope="session")
def tools(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of programs of a virtual environment with the wheel and its dependencies.

    A .pth file adds the packages of the tests' environment. Python ignores .pth files in a folder that was
    added in this way, so the file that adds the checkout has no effect.
    """
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    python = folder / "bin" / "python"
    with pytest.raises(pytest.fail.Exception, match="No module named"):
        call(python, "-c", "import ioi_eval.model.values", cwd=folder)
    pip = (sys.executable, "-m", "pip", "--python", python)
    call(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=folder)
    where = call(python, "-c", "import ioi_eval; print(ioi_eval.__file__)", cwd=folder)
    assert Path(where.strip()).is_relative_to(folder)
    return folder / "bin"


@pytest.mark.nightly
def test_program_using_the_wheel_passes_mypy_strict(tools: Path, tmp_path: Path) -> None:
    """The program is the code of docs/library.md, in a project without a checkout."""
    page = (ROOT / "docs" / "library.md").read_text()
    project = tmp_path / "project"
    project.mkdir()
    (project / "uses_it.py").write_text("\n".join(re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)))
    checker = (sys.executable, "-m", "mypy", "--strict", "--python-executable", tools / "python")
    assert "no issues" in call(*checker, "uses_it.py", cwd=project)
    (project / "uses_it.py").write_text("from ioi_eval import Limits\n\nLimits.contest(1.0, '256 MB')\n")
    with pytest.raises(pytest.fail.Exception, match="incompatible type"):
        call(*checker, "uses_it.py", cwd=project)


# The engine uses the system's Python, because sandboxes do not contain the packages of the .pth file.
SCORED_WITHOUT_A_COMPILER = """
import ioi_eval.engines.embedded.toolchains as toolchains
toolchains.find_compiler = lambda name="g++", **more: None
from ioi_eval import EmbeddedEngine, Store, score_sync
from ioi_eval.models import Blob, Problem, Submission, Test
problem = Problem(id="p", tests=(Test(name="1", input=Blob.of("1\\n"), answer=Blob.of("1\\n")),))
submission = Submission(key="1", problem_id="p", code="print(input())", language="python")
store = Store.private()
result = score_sync(problem, submission, engine=EmbeddedEngine(store=store), store=store)
print(result.tests[0].status.value, result.confinement["interpreter"])
"""


def compiled(machine: str, folder: Path) -> dict[str, bytes]:
    """Return the binaries that a cross compiler builds from the sources."""
    compiler = f"{machine}-linux-gnu-g++"
    if shutil.which(compiler) is None:
        skip_or_fail_in_ci(f"g++-{machine.replace('_', '-')}-linux-gnu")
    units = [path.name for path in SOURCES.glob("*.cpp")]
    call(compiler, *proctor_compiler_arguments(units, str(folder / PROCTOR)), cwd=SOURCES)
    call(compiler, *fork_server_compiler_arguments(str(folder / WAITING)), cwd=SOURCES.parent)
    return {f"{machine}/{name}": (folder / name).read_bytes() for name in (PROCTOR, WAITING)}


@pytest.mark.nightly
def test_wheel_binaries_equal_a_build_of_the_sources(
    wheel: Path, tools: Path, proctor: Path, library: bytes, tmp_path: Path
) -> None:
    """The binaries of both architectures are compared. With them Python programs need no compiler."""
    machine_here, [other] = platform.machine(), {*ELF_MACHINES} - {platform.machine()}
    with zipfile.ZipFile(wheel) as archive:
        names = {name: name.partition(f"/_data/{BINARIES}/")[2] for name in archive.namelist()}
        brought = {inside: archive.read(name) for name, inside in names.items() if inside}
    assert brought.pop(DIGEST).decode() == hash_sources(SOURCES.parent) + "\n"
    engines = {f"{machine_here}/{PROCTOR}": proctor.read_bytes(), f"{machine_here}/{WAITING}": library}
    assert brought == {**engines, **compiled(other, tmp_path)}
    assert {machine: brought[f"{machine}/{PROCTOR}"][18] for machine in ELF_MACHINES} == ELF_MACHINES
    if emulator := shutil.which("qemu-aarch64-static"):
        probing = tmp_path / "probing"
        probing.write_bytes(brought[f"aarch64/{PROCTOR}"])
        probing.chmod(0o755)
        assert json.loads(call(emulator, probing, "probe", cwd=tmp_path))["v"] == 1

    assert call(tools / "python", "-c", SCORED_WITHOUT_A_COMPILER, cwd=tmp_path) == "AC forked\n"
    doctor_output = call(tools / "ioi-eval", "doctor", cwd=tmp_path)
    assert doctor_output.count("came with the package, for") == 2, (
        doctor_output
    )  # the proctor and the fork server library


@pytest.mark.nightly
def test_installed_wheel_scores_the_examples_without_a_checkout(tools: Path, tmp_path: Path) -> None:
    """The commands are those of README.md."""
    outside = tmp_path / "outside"
    outside.mkdir()
    assert call(tools / "ioi-eval", "package", "packages", cwd=outside) == "packages/ioi_eval/1.0.0\n"
    assert (outside / "packages" / "ioi_eval" / "1.0.0" / "run").read_text().startswith("#!")
    call(tools / "ioi-eval", "new", "mine", "--type", "examples", cwd=outside)
    printed = call(
        *(tools / "ioi-eval", "score", "mine/generations.jsonl", "--problems", "mine/problems"),
        *("--out", "run", "--limit", str(LIMIT), "--quiet", "--json"),
        cwd=outside,
    )
    assert json.loads(printed)["scored"] == LIMIT
    rows = [json.loads(line) for line in (outside / "run" / "results.jsonl").read_text().splitlines()]
    assert len(rows) == LIMIT
    assert any(result["score"] > 0 for row in rows for result in row["all_subtasks_results"])
    assert (outside / "run" / "report.md").read_text()
    assert (outside / "run" / "report.html").read_text().endswith("</html>\n")
