"""The ending of a build: whether the source, a limit, the compiler or the machine is at fault. Pure.

Nothing that a source prints is trusted. A compiler exits with 1 for an error in the source, and also when it
cannot start a part of itself or write to the disk. So when a build fails, its script builds a control program
with the same command: only where that works, and the disk has room, is the source at fault. Endings that a
healthy compiler seldom has (a crash, words about one) buy a second build, and if that ends badly too, the
source is what does it. What the compiler printed can never do more than buy that second build, because a
source can make it print anything.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum

from ioi_eval.model.job import OWN_LIMITS, Ended
from ioi_eval.model.options import BuildLimits
from ioi_eval.rules.limits import BUILD_IDLE

MACHINE_AT_FAULT = 90  # no compiler exits with it
KILLED = 137  # what a shell calls a program that was killed: by the server or the machine, not by our limits
NO_ROOM = "No space left"
_SIGNS_OF_NO_ROOM = re.compile(
    rf"{NO_ROOM}|Cannot allocate memory|out of memory|[Rr]esource temporarily unavailable|Killed signal"
)
_SIGNS_OF_A_CRASH = re.compile(
    rf"internal compiler error|terminated program|cannot execute|{_SIGNS_OF_NO_ROOM.pattern}"
)
_TOO_LARGE = re.compile("File size limit exceeded|File too large|file truncated")
_TEMPORARY_NAME = re.compile(r"/tmp/cc[A-Za-z0-9]{6}(?=\.)")
_UNPRINTABLE = re.compile(r"[^\n\t\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Ending(StrEnum):
    BUILT = "built"
    REFUSED = "refused"  # an error in the source
    CUT_SHORT = "cut short"  # a limit of ours that the source exceeded: CPU time, memory, output
    IDLED = "idled"  # it waited for something that never came
    STOPPED = "stopped"  # below its limit of CPU time: it waited for something, or the machine was busy
    KILLED = "killed"  # by the server or the machine, which says nothing of the source
    CRASHED = "crashed"  # the compiler did; worth one more build
    MACHINE = "machine"  # the control program could not be built either


def ending(ended: Ended, refusals: Collection[int] = (1,)) -> Ending:
    """`refusals`: the exit codes by which this compiler says that the source is wrong."""
    if ended.killed:
        return _STOPS.get(ended.killed, Ending.CUT_SHORT)
    if ended.signal:
        return Ending.KILLED
    if ended.code in _CODES:
        return _CODES[ended.code]
    if ended.code not in refusals or _SIGNS_OF_A_CRASH.search(ended.stdout):
        return Ending.CRASHED
    return Ending.REFUSED


def lacked_room(ended: Ended) -> bool:
    """Return True where a compiler says that it lacked room, memory or processes: others may have had them.

    A source can make it say so. That buys it a build alone, and that its outcome is not remembered.
    """
    return _SIGNS_OF_NO_ROOM.search(ended.stdout) is not None


_STOPS = {"wall": Ending.IDLED, "hard": Ending.STOPPED}
_CODES = {0: Ending.BUILT, MACHINE_AT_FAULT: Ending.MACHINE, KILLED: Ending.KILLED}
_REASONS = {
    "wall": f"it did nothing for {BUILD_IDLE:g} s",
    **dict.fromkeys(("cpu", "hard"), "it took too long"),
    **dict.fromkeys(("stdout", "stderr"), "it printed too much"),
    **{limit: words for words, limit in OWN_LIMITS.items()},
}


def log_of(ended: Ended, limits: BuildLimits) -> str:
    """Return the compiler's output, printable and not above its limit, and the limit that stopped it."""
    text = _UNPRINTABLE.sub("\ufffd", (ended.stdout + ended.stderr)[: limits.log]).rstrip("\n")
    text = _TEMPORARY_NAME.sub("/tmp/cc", text)  # the same source, the same words
    if ended.code != 0 and _TOO_LARGE.search(text):
        most = limits.file_size >> 20
        text += f"\nA file that the compiler makes, the program among them, may have {most} MiB."
    if ended.killed or ended.signal or ended.code == KILLED:
        reason = _REASONS.get(ended.killed) or ended.words or "killed by a signal, and by no limit"
        text = "\n".join(filter(None, (text, f"The compiler was stopped: {reason}.")))
    return text
