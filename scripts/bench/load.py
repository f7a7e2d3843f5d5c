"""Judges on a quiet machine and on a busy one, and compares every row: load is no verdict."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ioi_eval import Results, load_problems

EXAMPLES = Path(__file__).parents[2] / "examples" / "problems"
CLI = (sys.executable, "-m", "ioi_eval")
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


def judge(source: Path, engine: str, out: Path, chosen: list[str]) -> tuple[int, str, float]:
    """A run with nothing built beforehand: exit code, last words, seconds."""
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
    if not (out / "results.jsonl").exists():
        return {}
    return {
        one.key: (one.points, *((test.test_name, test.score, test.status) for test in one.tests))
        for one in Results.open(out)
    }


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def compare(quiet: Path, loaded: Path) -> list[str]:
    """Every difference, in words."""
    before, after = rows_of(quiet), rows_of(loaded)
    failures = {row["key"]: row for row in lines_of(loaded / "failures.jsonl")}
    found = [f"{key}: unscored, {row['reason']}" for key, row in failures.items() if key not in after]
    for key in sorted(before.keys() | after.keys()):
        was, now = before.get(key, ()), after.get(key, ())
        if was != now and key not in failures:
            changed = [f"{old} is {new}" for old, new in zip(was, now, strict=False) if old != new]
            found.append(f"{key}: {'; '.join(changed) or 'missing'}")
    return found


class Comparison:
    """Some sources on one engine, on a quiet machine and on a busy one."""

    def __init__(self, name: str, engine: str, sources: Sequence[Path], given: argparse.Namespace) -> None:
        self._name, self._engine, self._folder = name, engine, given.folder / name
        self._sources, self._given = sources, given
        self._calm: dict[Path, tuple[int, float]] = {}
        self.right = True
        self._folder.mkdir(parents=True, exist_ok=True)

    def quiet(self) -> None:
        """What it is compared with. A server that refuses is told of at once, and judges nothing."""
        for source in self._sources:
            code, words, seconds = self._judge(source, "quiet")
            if code == 2:
                print(f"| {source.name} | {self._name} | refused | | | |\n\n{words}\n", flush=True)
                self.right = self.right and not (self._out(source, "quiet") / "results.jsonl").exists()
            else:
                self._calm[source] = code, seconds

    def busy(self) -> None:
        """A line of the table for each source."""
        for source, (code, calm) in self._calm.items():
            quiet, loaded = self._out(source, "quiet"), self._out(source, "busy")
            busy_code, words, seconds = self._judge(source, "busy")
            told = compare(quiet, loaded)
            counted = f"{len(rows_of(quiet))} | {len(told)}"
            line = f"| {source.name} | {self._name} | {counted} | {calm:.0f} s | {seconds:.0f} s |"
            if not busy_code == code == 0:
                told.append(f"exit code {busy_code}, on a quiet machine {code}: {words}")
            print("\n    ".join([line, *told]), flush=True)
            self.right = self.right and not told

    def _out(self, source: Path, which: str) -> Path:
        return self._folder / f"{source.stem}-{which}"

    def _judge(self, source: Path, which: str) -> tuple[int, str, float]:
        chosen = sample(source, self._given)
        if which == "busy" and self._given.at_once:
            chosen += ["--per-endpoint", str(self._given.at_once)]
        return judge(source, self._engine, self._out(source, which), chosen)


def sample(source: Path, given: argparse.Namespace) -> list[str]:
    """Arguments for the solutions of a source that are judged: all, or one in so many."""
    if given.every == 1:
        return [word for name in given.problem for word in ("--problem", name)]
    problems = load_problems(source, only=set(given.problem))
    every = ((problem.id, one) for problem in problems.values() for one in problem.solutions)
    keys = ["/".join(filter(None, (label, one.expected, one.name))) for label, one in every]
    return [word for key in keys[:: given.every] for word in ("--only", key)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--busy", type=int, default=40, help="processes that share the cores")
    parser.add_argument("--packages", type=Path, help="a folder of further packages, each judged by itself")
    parser.add_argument(
        "--server", action="append", default=[], metavar="NAME=URL", help="a Piston; may be repeated"
    )
    parser.add_argument("--only-servers", action="store_true", help="not the embedded engine and a worker")
    parser.add_argument("--problem", action="append", default=[], help="only this one of the examples")
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="only every Nth solution of a source"
    )
    parser.add_argument(
        "--at-once", type=int, metavar="N", help="on the busy machine each server has so many jobs at a time"
    )
    parser.add_argument("--folder", type=Path, help="where runs stay: called again, it goes on there")
    given = parser.parse_args()
    sources = [EXAMPLES, *(sorted(given.packages.iterdir()) if given.packages else ())]
    print(
        f"| {given.busy} busy | engine | rows | differ | quiet | busy |\n|---|---|--:|--:|--:|--:|",
        flush=True,
    )
    with tempfile.TemporaryDirectory(prefix="ioi-eval-load-") as place, contextlib.ExitStack() as held:
        given.folder = given.folder or Path(place)
        engines = [one.split("=", 1) for one in given.server]
        if not given.only_servers:
            engines += [["embedded", "embedded"], ["worker", held.enter_context(worker())]]
        compared = [Comparison(name, engine, sources, given) for name, engine in engines]
        for each in compared:
            each.quiet()
        # All of them at once: what one waits for, the others use.
        with crowd(given.busy), ThreadPoolExecutor(len(compared)) as pool:
            list(pool.map(Comparison.busy, compared))
    return 0 if all(each.right for each in compared) else 1


if __name__ == "__main__":
    sys.exit(main())
