"""See scripts/bench/channels."""

from __future__ import annotations

import math
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from building import build_proctor, build_program, built_once
from harness import EVERYTHING, LANDLOCK_ALONE, Bench

from ioi_eval.model.protocol import PlanLimits, PlanManager, PlanSubmission

_HERE = Path(__file__).parent
_LIMITS = PlanLimits(cpu_ms=20_000, wall_ms=60_000, memory=256 << 20)
_MIXTURES = {
    "everything": EVERYTHING,
    "Landlock alone": LANDLOCK_ALONE,
    "without seccomp": ("namespaces", "landlock"),  # what there would be to hear
}
_SLOTS = (20000, 5000, 2000, 1000, 400, 150)  # microseconds
_NOISE = 0.02  # bits a sign: what counting that few signs says of no channel at all
_FOLDERS = ("/usr/share/doc", "/usr/lib", "/usr/share", "/usr/include")


@dataclass(frozen=True)
class Kind:
    """One way to talk. `in_turn`: the second one looks when the first has done, not in slots of time."""

    name: str
    bits: int
    in_turn: bool = False
    threads: int = 1  # as a runtime's program may have, which also gets pipes
    cold: bool = False  # files that are in memory say nothing
    old: bool = False  # nor do files that were read today


KINDS = (
    Kind("timers", 200),
    Kind("locks", 1000, in_turn=True),
    Kind("forgotten-pages", 500, in_turn=True),
    Kind("free-memory", 200),
    Kind("inodes", 400),
    Kind("inodes", 400, threads=64),
    Kind("threads", 400, threads=64),
    Kind("first-touch", 500, in_turn=True, cold=True),
    Kind("times-of-files", 500, in_turn=True, old=True),
    Kind("names-in-proc", 50, in_turn=True),
    Kind("missing-names", 10_000, in_turn=True),
    Kind("ends-of-threads", 400, threads=64),
    Kind("memory", 500),
    Kind("processor", 500),
)


def information(found: tuple[int, ...]) -> float:
    """Bits that one sign carries, from how often which was sent and heard."""
    total = sum(found)
    sent, heard = (found[0] + found[1], found[2] + found[3]), (found[0] + found[2], found[1] + found[3])
    carried = sum(
        n / total * math.log2(n * total / (sent[place // 2] * heard[place % 2]))
        for place, n in enumerate(found)
        if n
    )
    return 0.0 if carried < _NOISE else carried


def best(bench: Bench, kind: Kind) -> str:
    """Bits a second with the slots that suit this kind best."""
    found = [measure(bench, kind, slot) for slot in (_SLOTS[:1] if kind.in_turn else _SLOTS)]
    rates = [rate for rate in found if rate is not None]
    return f"{max(rates):,.0f}" if rates else "not measured"


def measure(bench: Bench, kind: Kind, slot: int) -> float | None:
    if kind.cold or kind.old:
        _make_unread(old=kind.old and os.geteuid() == 0)
    order = f"{kind.name} {kind.bits} {int(kind.in_turn)} {slot} {random.randrange(1 << 30)}\n"
    judged = bench.judge(
        (_HERE / "channels_talk.cpp").read_text(),
        [(order, None)],
        task_type="Communication",
        processes=2,
        manager_source=(_HERE / "channels_manager.cpp").read_text(),
        manager=PlanManager(argv=("manager",), kind="cms", limits=PlanLimits(cpu_ms=20_000, wall_ms=60_000)),
        submission=PlanSubmission(argv=("submission",), threads=kind.threads),
        limits=_LIMITS,
        spec={"limits": {"wall_ms": 120_000}},
    )
    line = judged.tests.get(0)
    if line is None or line.failure is not None or line.end != "ok":
        print(f"{kind.name}: {line or judged}", file=sys.stderr)
        return None
    *found, seconds = line.feedback.split()
    carried = information(tuple(map(int, found)))
    return carried * kind.bits / float(seconds)


def _make_unread(*, old: bool) -> None:
    """As if nobody had read the files; `old`: by their times, too, which only root can."""
    paths = (Path(place, name) for top in _FOLDERS for place, _, names in os.walk(top) for name in names)
    for path in paths:
        if path.is_symlink() or not path.is_file():
            continue
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        if old:
            os.utime(path, (0, path.stat().st_mtime))


def _table(bench_of: Callable[[tuple[str, ...]], Bench], names: list[str]) -> None:
    print("| kind | threads | " + " | ".join(f"{title}, bits/s" for title in _MIXTURES) + " |")
    print("|---|--:|" + "--:|" * len(_MIXTURES))
    for kind in KINDS:
        if names and kind.name not in names:
            continue
        cells = " | ".join(best(bench_of(layers), kind) for layers in _MIXTURES.values())
        print(f"| {kind.name} | {kind.threads} | {cells} |", flush=True)


def main(names: list[str]) -> int:
    workshop = Path(tempfile.mkdtemp(prefix="ioi-eval-channels-", dir="/dev/shm"))
    workshop.chmod(0o711)
    try:
        proctor = built_once(workshop / "proctor", partial(build_proctor, ()))

        def compiled(code: str) -> Path:
            return built_once(workshop / f"{abs(hash(code))}.bin", partial(build_program, code))

        def bench_of(layers: tuple[str, ...]) -> Bench:
            return Bench(workshop=workshop, proctor=proctor, compiled=compiled, layers=layers)

        _table(bench_of, names)
    finally:
        shutil.rmtree(workshop)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
