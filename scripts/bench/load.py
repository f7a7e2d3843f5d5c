"""Judges on a quiet machine and on a busy one, and compares every row: load is no verdict."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ioi_eval.store.folder import read_failures, read_rows

EXAMPLES = Path(__file__).parents[2] / "examples" / "problems"
CLI = (sys.executable, "-m", "ioi_eval.cli")
# Whatever ends us ends them.
BUSY = ("setpriv", "--pdeathsig", "KILL", "/bin/sh", "-c", "while :; do :; done")
Rows = dict[str, tuple[Any, ...]]


@contextlib.contextmanager
def crowd(count: int) -> Iterator[None]:
    """Each in a session of its own: to the kernel forty in one are no load."""
    busy = [subprocess.Popen(BUSY, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


@contextlib.contextmanager
def worker() -> Iterator[str]:
    """The address of one of our own."""
    command = (*CLI, "worker", "--port", "0")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        try:
            found = next(match for line in process.stdout if (match := re.search(r"http://[\w.:]+", line)))
            yield found[0]
        finally:
            process.terminate()


def judge(source: Path, engine: str, out: Path, problems: list[str]) -> tuple[int, str, float]:
    """A run with nothing built beforehand: exit code, last words, seconds."""
    chosen = [word for name in problems for word in ("--problem", name)]
    command = [*CLI, "validate", str(source), "--out", str(out), "--engine", engine, *chosen]
    started = time.monotonic()
    done = subprocess.run(
        command,
        env={**os.environ, "IOI_EVAL_CACHE": str(out.with_suffix(".cache"))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    words = " ".join(done.stdout.split())[-300:]
    return done.returncode, words, time.monotonic() - started


def rows_of(out: Path) -> Rows:
    """What no measurement may change: points, and score and status of every test."""
    return {row["key"]: (row["all_subtasks_points"], *_tests(row)) for row in read_rows(out)}


def _tests(row: dict[str, Any]) -> Iterator[tuple[str, float, str]]:
    subtasks = row["all_subtasks_results"]
    for tests in (row.get("test_results", ()), *(subtask["test_results"] for subtask in subtasks)):
        yield from ((test["test_name"], test["score"], test["status"]) for test in tests)


def compare(quiet: Path, loaded: Path) -> list[str]:
    """Every difference, in words."""
    before, after, failures = rows_of(quiet), rows_of(loaded), read_failures(loaded)
    found = [f"{key}: unscored, {row['reason']}" for key, row in failures.items() if key not in after]
    for key in sorted(before.keys() | after.keys()):
        was, now = before.get(key, ()), after.get(key, ())
        if was != now and key not in failures:
            changed = [f"{old} is {new}" for old, new in zip(was, now, strict=False) if old != new]
            found.append(f"{key}: {'; '.join(changed) or 'missing'}")
    return found


def measure(source: Path, engine: str, folder: Path, given: argparse.Namespace) -> bool:
    """A line of the table; whether all is as it should be."""
    quiet, loaded = folder / "quiet", folder / "loaded"
    folder.mkdir()
    code, words, calm = judge(source, engine, quiet, given.problem)
    if code == 2:
        print(f"| {source.name} | {engine} | refused | | | |\n\n{words}\n", flush=True)
        return not (quiet / "results.jsonl").exists()
    with crowd(given.busy):
        loaded_code, words, busy = judge(source, engine, loaded, given.problem)
    differences = compare(quiet, loaded)
    counted = f"{len(rows_of(quiet))} | {len(differences)}"
    print(f"| {source.name} | {engine} | {counted} | {calm:.0f} s | {busy:.0f} s |", flush=True)
    for difference in differences:
        print(f"    {difference}", flush=True)
    if loaded_code != code:
        print(f"    exit code {loaded_code}, on a quiet machine {code}: {words}", flush=True)
    return not differences and loaded_code == code == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--busy", type=int, default=40, help="processes that share the cores")
    parser.add_argument("--packages", type=Path, help="a folder of further packages, each judged by itself")
    parser.add_argument("--server", action="append", default=[], help="a Piston's address; may be repeated")
    parser.add_argument("--only-servers", action="store_true", help="not the embedded engine and a worker")
    parser.add_argument("--problem", action="append", default=[], help="only this one of the examples")
    given = parser.parse_args()
    sources = [EXAMPLES, *(sorted(given.packages.iterdir()) if given.packages else ())]
    print(
        f"| {given.busy} busy | engine | rows | differ | quiet | busy |\n|---|---|--:|--:|--:|--:|",
        flush=True,
    )
    right = True
    with tempfile.TemporaryDirectory(prefix="ioi-eval-load-") as place, contextlib.ExitStack() as held:
        own = [] if given.only_servers else ["embedded", held.enter_context(worker())]
        for number, engine in enumerate([*own, *given.server]):
            for source in sources:
                folder = Path(place) / f"{number}-{source.stem}"
                right = measure(source, engine, folder, given) and right
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
