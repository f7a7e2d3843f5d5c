"""A plain judge for the examples' own checks: g++, fork, exec, rusage.

It deliberately shares no code with the package.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROBLEMS = ROOT / "examples" / "problems"
OUTPUT_LIMIT = 64 << 20
FLAGS = ("-DEVAL", "-std=gnu++20", "-O2", "-static", "-s")


def package_source(name: str) -> Path:
    """Return the folder of a problem. One that ships as a zip has its hand-written files next to this script.
    """
    folder = PROBLEMS / name
    return folder if folder.is_dir() else Path(__file__).resolve().parent / name


class Package:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.header: dict[str, Any] = json.loads((folder / "problem.json").read_text())
        checker = self.header.get("checker", "")
        self.checker_kind: str = checker["kind"] if isinstance(checker, dict) else checker
        params: dict[str, str] = json.loads(self.header["task_type_params"])
        prefix = "task_type_parameters_Batch_"
        self.with_grader = params[prefix + "compilation"] == "grader"
        self.input_file = params.get(prefix + "inputfile", "")
        self.output_file = params.get(prefix + "outputfile", "")
        self.time_limit = float(self.header["time_limit"])
        self.memory_limit = int(self.header["memory_limit"])

    @cached_property
    def tests(self) -> tuple[str, ...]:
        return tuple(sorted(path.stem for path in (self.folder / "tests").glob("*.in")))

    @cached_property
    def subtasks(self) -> dict[str, dict[str, Any]]:
        files = sorted((self.folder / "subtasks").glob("*.json"))
        return {path.stem: json.loads(path.read_text()) for path in files}


class CompileError(Exception):
    pass


@dataclass
class Outcome:
    end: str  # ok, TLE, MLE, OLE, RE
    output: bytes = b""
    cpu: float = 0.0
    wall: float = 0.0
    memory: int = 0
    written: int = 0
    detail: str = ""


def build(package: Package, source: Path, work: Path) -> list[str]:
    """Return the command of a solution. Raises CompileError."""
    if source.suffix == ".py":
        compile_python(source)
        return [sys.executable, str(source)]
    graders = package.folder / "graders"
    sources = [str(graders / "grader.cpp")] if package.with_grader else []
    return [compiled([*sources, str(source)], work / source.stem, f"-I{graders}")]


def compile_python(source: Path) -> None:
    try:
        compile(source.read_text(), str(source), "exec")
    except SyntaxError as error:
        raise CompileError(str(error)) from error


def compiled(sources: list[str], target: Path, *flags: str) -> str:
    process = subprocess.run(
        ["g++", *FLAGS, *flags, "-o", str(target), *sources], capture_output=True, check=False
    )
    if process.returncode != 0:
        raise CompileError(process.stderr.decode(errors="replace"))
    return str(target)


def run_once(package: Package, argv: list[str], text: str, work: Path, patience: float = 1.0) -> Outcome:
    """Run a program on an input, in a new folder. Kill it after `patience` times the limits."""
    box = work / "box"
    box.mkdir(exist_ok=True)
    input_path, output_path = box / (package.input_file or "stdin"), box / (package.output_file or "stdout")
    input_path.write_text(text)
    output_path.write_bytes(b"")
    outcome = _watched(package, argv, box, input_path, patience)
    if outcome.end == "ok":
        outcome.output = output_path.read_bytes()
    return outcome


def _watched(package: Package, argv: list[str], box: Path, stdin: Path, patience: float) -> Outcome:
    stdout = "printed" if package.output_file else "stdout"
    started = time.monotonic()
    with (
        Path(os.devnull).open() if package.input_file else stdin.open() as source,
        (box / stdout).open("wb") as sink,
        subprocess.Popen(
            argv,
            cwd=box,
            stdin=source,
            stdout=sink,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: _limits(package, patience),
        ) as process,
    ):
        status, usage, killed = _wait(process, package, started, patience)
        process.returncode = 0  # already waited for
    cpu = usage.ru_utime + usage.ru_stime
    outcome = Outcome("ok", cpu=cpu, wall=time.monotonic() - started, memory=usage.ru_maxrss * 1024)
    outcome.written = (box / (package.output_file or "stdout")).stat().st_size
    outcome.end, outcome.detail = _end(package, status, outcome, killed)
    return outcome


def _limits(package: Package, patience: float) -> None:
    seconds = int(package.time_limit * patience) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_LIMIT, OUTPUT_LIMIT))
    space = package.memory_limit + (4 << 30)
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    resource.setrlimit(resource.RLIMIT_STACK, (package.memory_limit, package.memory_limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


def _wait(
    process: subprocess.Popen[bytes], package: Package, started: float, patience: float
) -> tuple[int, Any, str]:
    killed = ""
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            return status, usage, killed
        if not killed and time.monotonic() - started > _wall_limit(package, patience):
            killed = "wall"
        if not killed and _resident(process.pid) > package.memory_limit:
            killed = "memory"
        if killed:
            os.kill(process.pid, signal.SIGKILL)
        time.sleep(0.001)


def _wall_limit(package: Package, patience: float) -> float:
    """Return the wall limit. With more patience, CPU time decides, however busy the machine is."""
    return 2 * package.time_limit + 1 if patience == 1 else 60 * patience


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    return 0


def _end(package: Package, status: int, outcome: Outcome, killed: str) -> tuple[str, str]:
    code = os.waitstatus_to_exitcode(status)
    if killed == "memory" or outcome.memory > package.memory_limit:
        return "MLE", f"{outcome.memory >> 20} MB"
    if killed == "wall":
        return "TLE", "wall"
    if code == -signal.SIGXFSZ or outcome.written >= OUTPUT_LIMIT:
        return "OLE", ""
    if outcome.cpu > package.time_limit:
        return "TLE", "cpu"
    return ("ok", "") if code == 0 else ("RE", f"code {code}")


# --- judging ------------------------------------------------------------------------------------------


@dataclass
class Judge:
    """Scores outputs with the package's checker, or by comparing lines."""

    package: Package
    work: Path
    _checker: str = field(default="", init=False)

    def score(self, test: str, output: bytes) -> float:
        tests = self.package.folder / "tests"
        if not (self.package.folder / "checker").is_dir():
            return float(_equal(self.package.checker_kind, output, (tests / f"{test}.out").read_bytes()))
        printed = self.work / "printed"
        printed.write_bytes(output)
        arguments, expected = str(tests / f"{test}.in"), str(tests / f"{test}.out")
        testlib = self.package.checker_kind == "testlib"
        files = [arguments, str(printed), expected] if testlib else [arguments, expected, str(printed)]
        process = subprocess.run([*self._program(), *files], capture_output=True, check=False, text=True)
        if testlib:
            return _exit_score(process.returncode, process.stderr)
        assert process.returncode == 0, f"the checker exits with {process.returncode} on {test}: {process.stderr}"
        return float(process.stdout.splitlines()[0])

    def _program(self) -> list[str]:
        if self.package.checker_kind == "codeforces":
            return [sys.executable, str(self.package.folder / "checker" / "checker.py")]
        if not self._checker:
            source = str(self.package.folder / "checker" / "checker.cpp")
            self._checker = compiled([source], self.work / "checker", "-Wall", "-Wextra", "-Werror")
        return [self._checker]


def _equal(kind: str, output: bytes, expected: bytes) -> bool:
    match kind:
        case "exact":
            return output == expected
        case "stripped":
            return output.strip() == expected.strip()
        case "tokens":  # the only package with this kind ignores case
            return output.lower().split() == expected.lower().split()
        case _:
            return _words(output) == _words(expected)


def _words(output: bytes) -> list[list[bytes]]:
    lines = [line.split() for line in output.split(b"\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _exit_score(code: int, text: str) -> float:
    assert code in (0, 1, 2, 4, 7, 8), f"the checker exits with {code}: {text}"
    if code == 7:
        return float(text.split()[1])
    return float(code == 0)


def status_of(score: float) -> str:
    return "AC" if score == 1 else "WA" if score == 0 else "PA"
