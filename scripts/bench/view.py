"""What `ioi-eval view` takes beside a run that judges and beside one that rests, by how many look at it."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import aiohttp

PROBLEMS = Path(__file__).parents[2] / "examples" / "problems"
TOOL = (sys.executable, "-m", "ioi_eval")
TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE = 300  # seconds until a run has a row


def stats() -> dict[int, tuple[int, float]]:
    """Parent and CPU seconds of each process that is there, with those of its children that have ended."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            found[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15])) / TICKS
    return found


def taken(process: int, *, with_children: bool) -> float:
    """CPU seconds of a process, or of all that descend from it."""
    every = stats()
    if not with_children:
        return every[process][1]
    members, added = {process}, True
    while added:
        added = {child for child, (parent, _) in every.items() if parent in members} - members
        members |= added
    return sum(every[one][1] for one in members if one in every)


@contextlib.contextmanager
def started(*command: str | Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*TOOL, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(120)


async def watched(address: str) -> None:
    """One viewer, who reads what comes."""
    forever = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(timeout=forever) as client, client.get(f"{address}/events") as answer:
        async for _ in answer.content.iter_any():
            pass


async def measured(folder: Path, run: int | None, viewers: int, seconds: float) -> str:
    """`run`: the process that judges, if there is one."""
    with started("view", folder, "--port", "0") as viewing:
        assert viewing.stdout is not None
        address = (await asyncio.to_thread(viewing.stdout.readline)).split()[-1]
        watching = [asyncio.create_task(watched(address)) for _ in range(viewers)]
        await asyncio.sleep(3)
        begun = time.perf_counter(), *_both(viewing.pid, run)
        await asyncio.sleep(seconds)
        passed, own, others = (
            now - then
            for now, then in zip((time.perf_counter(), *_both(viewing.pid, run)), begun, strict=True)
        )
        for one in watching:
            one.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
    of_run = f"{own / others:7.2%} of the run's {others:.0f} s" if others else ""
    spent = f"{own:5.2f} s in {passed:.0f} s: {own / passed:6.2%} of a core"
    return f"{begun[1]:5.2f} s to start, then {spent} {of_run}"


def _both(viewing: int, run: int | None) -> tuple[float, float]:
    own = taken(viewing, with_children=False)
    return own, 0.0 if run is None else taken(run, with_children=True)


def beside_a_run(folder: Path, viewers: int, seconds: float) -> None:
    with started("validate", PROBLEMS, "--out", folder) as run:
        waiting = time.monotonic() + PATIENCE
        while not (folder / "results.jsonl").exists() and time.monotonic() < waiting and run.poll() is None:
            time.sleep(0.5)
        print(
            f"a run, {viewers} viewers: {asyncio.run(measured(folder, run.pid, viewers, seconds))}",
            flush=True,
        )
        if run.poll() is not None:
            print("  the run has ended meanwhile: give less --seconds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--viewers", type=int, nargs="+", default=[0, 1, 5])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ioi-eval-view-") as place:
        for viewers in given.viewers:
            beside_a_run(Path(place) / f"run-{viewers}", viewers, given.seconds)
        rested = Path(place) / f"run-{given.viewers[0]}"
        for viewers in given.viewers:
            print(
                f"at rest, {viewers} viewers: {asyncio.run(measured(rested, None, viewers, given.seconds))}",
                flush=True,
            )


if __name__ == "__main__":
    main()
