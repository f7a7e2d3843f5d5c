"""Runs the command line in tests, and writes small packages and dumps for it."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ioi_eval.store.folder import read_rows
from support.cached_lookups import encode_toolchains
from support.folders import default_cache_variables
from support.warm_command import RunningCommand, warm_command

ROOT = Path(__file__).parents[2]
_LONE = str(Path(__file__).with_name("isolated_command.py"))
# <iostream> compiles five times slower.
RIGHT = '#include <cstdio>\nint main() { long a, b; scanf("%ld %ld", &a, &b); printf("%ld", a + b); }\n'
SMALL = '#include <cstdio>\nint main() { int a, b; scanf("%d %d", &a, &b); printf("%d", a + b); }\n'
WRONG = '#include <cstdio>\nint main() { printf("0"); }\n'
BROKEN = "int main( {\n"
PYTHON = "print(sum(map(int, input().split())))\n"
TESTS = {"1-1": (1, 2), "1-2": (30, 4), "2-1": (10**10, 1), "2-2": (5, -6)}
SUBTASKS = {"01-small": (40, ["1-1", "1-2"]), "02-large": (60, ["2-1", "2-2", "1-1"])}

# Prefixes of environment variables that tests do not inherit.
_READ = ("IOI_EVAL_", "PISTON_", "OPENAI_", "HF_")


@dataclass(frozen=True)
class CommandLine:
    folder: Path
    cache: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    alone: bool = False  # start a new interpreter for each call, with its own limits and arguments in /proc
    launcher: tuple[str, ...] = ()  # a command that starts the interpreter, if `alone`

    def __post_init__(self) -> None:
        warm_command()

    def __call__(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        if not self.alone:
            return warm_command().run(list(map(str, arguments)), self.folder, self.env)
        process = self._start(*arguments)
        outputs = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, *outputs)

    def given(self, text: bytes, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a command with this standard input."""
        return warm_command().run(list(map(str, arguments)), self.folder, self.env, given=text)

    def set_keys(self, **values: object) -> None:
        """Write the folder's `ioi-eval.toml`. `skip_unreliable` is written as `skip-unreliable`."""
        lines = [f"{name.replace('_', '-')} = {json.dumps(value)}\n" for name, value in values.items()]
        (self.folder / "ioi-eval.toml").write_text("".join(lines))

    def script(self, path: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a Python script, by its path below the checkout or its absolute path."""
        env = {**self.env, **default_cache_variables(self.cache), "PYTHONPATH": str(ROOT)}
        return warm_command().run(list(map(str, arguments)), self.folder, env, str(ROOT / path))

    def start(self, *arguments: str | Path) -> subprocess.Popen[str] | RunningCommand:
        """Start a command as a process that the test can interrupt or kill."""
        if not self.alone:
            return warm_command().start(list(map(str, arguments)), self.folder, self.env)
        return self._start(*arguments)

    def _start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        with tempfile.TemporaryFile() as lookups_file:
            lookups_file.write(encode_toolchains())
            lookups_file.seek(0)
            number = lookups_file.fileno()
            return subprocess.Popen(
                [*self.launcher, sys.executable, _LONE, str(number), *map(str, arguments)],
                cwd=self.folder,
                env=self.env,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                pass_fds=[number],
            )

    def argv(self, *arguments: str | Path) -> list[str]:
        return [sys.executable, "-m", "ioi_eval", *map(str, arguments)]

    def among_the_systems(self) -> CommandLine:
        """Return a copy whose commands find only the system's programs in PATH."""
        return replace(self, environment={**self.environment, "PATH": "/usr/local/bin:/usr/bin:/bin"})

    @property
    def env(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(_READ)}
        return {**inherited, "IOI_EVAL_CACHE": str(self.cache), "COLUMNS": "100", **self.environment}


def write_package(
    folder: Path,
    *,
    checker: str | None = None,
    time_limit: float = 2.0,
    memory: int = 256 << 20,
    tests: Mapping[str, tuple[int, int]] = TESTS,
    subtasks: Mapping[str, tuple[float, list[str]]] = SUBTASKS,
) -> Path:
    """Write a package in the layout of CMS. Its id is the folder's name."""
    for name in ("tests", "subtasks"):
        (folder / name).mkdir(parents=True)
    parameters = {"compilation": "alone", "output_eval": "comparator" if checker else "diff"}
    header = {
        "code": folder.name,
        "time_limit": time_limit,
        "memory_limit": memory,
        "score_precision": 2,
        "task_type": "Batch",
        "task_type_params": json.dumps(
            {f"task_type_parameters_Batch_{key}": parameters[key] for key in parameters}
        ),
    }
    (folder / "problem.json").write_text(json.dumps(header))
    for name, (a, b) in tests.items():
        (folder / "tests" / f"{name}.in").write_text(f"{a} {b}\n")
        (folder / "tests" / f"{name}.out").write_text(f"{a + b}\n")
    for name, (score, names) in subtasks.items():
        (folder / "subtasks" / f"{name}.json").write_text(json.dumps({"score": score, "testcases": names}))
    if checker:
        (folder / "checker").mkdir()
        (folder / "checker" / "checker.cpp").write_text(checker)
    return folder


def write_dump(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def row(key: str, code: str | None, **columns: Any) -> dict[str, Any]:
    return {"uuid": key, "problem_id": "add", "model": "m", "code": code, **columns}


def results(run: Path) -> dict[str, dict[str, Any]]:
    rows = list(read_rows(run))
    assert len({row["key"] for row in rows}) == len(rows), "a submission has two rows"
    return {row["key"]: row for row in rows}


def contents(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files in a folder except locks, by path."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


# --- processes that outlive their parent -------------------------------------------------------------

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Make this process the parent of orphaned descendants, so that `children` finds them."""
    assert ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def children() -> set[int]:
    """Return the process ids of this process's living children."""
    pids = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(parent) == os.getpid() and state not in "ZX":
            pids.add(int(path.parent.name))
    return pids


def wait_until_gone(children_before: set[int]) -> None:
    """Wait until all child processes except `before` have ended. Fail after 30 seconds."""
    for _ in range(3000):
        if children() <= children_before:
            return
        time.sleep(0.01)
    raise AssertionError(f"left behind: {children() - children_before}")


def wait_for_rows(run: Path, number: int, process: subprocess.Popen[str]) -> None:
    """Wait until a run has recorded this number of results, or its process has ended."""
    path = run / "results.jsonl"
    while process.poll() is None:
        if path.exists() and path.read_bytes().count(b"\n") >= number:
            return
        time.sleep(0.01)
