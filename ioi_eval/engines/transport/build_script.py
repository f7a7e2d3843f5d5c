"""The `compile` script of a build job and what its ending means. Nothing that a source prints is trusted.

A compiler exits with 1 for an error in the source, and also when it cannot start a part of itself or write to
the disk. So when a build fails, the script at once builds a control program with the same command: only where
that works is the source at fault. Endings that a healthy compiler seldom has (a crash, words about
one) buy a second build, and if that ends badly too, the source is what does it. What the
compiler printed can never do more than buy that second build, because a source can make it print anything.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from enum import StrEnum

from ioi_eval.engines.values import Recipe
from ioi_eval.model.values import CPU_LIMIT, Stage, StageStatus, Toolchain

MACHINE_AT_FAULT = 90  # no compiler exits with it
KILLED = 137  # what a shell calls a program that was killed: by the server or the machine, not by our limits
_OWN_LIMITS = frozenset({"Memory limit exceeded", "Too many processes", "Too many or too large files"})
_CODE, _CONTROL, _CONTROL_LOG = ".ioi-eval-code", ".ioi-eval-control", ".ioi-eval-control.log"
_SIGNS_OF_A_CRASH = re.compile(
    r"internal compiler error|terminated program|cannot execute|No space left|Cannot allocate memory"
    r"|out of memory"
)
DRIVERS = frozenset({"g++", "gcc"})
_TEMPORARY_NAME = re.compile(r"/tmp/cc[A-Za-z0-9]{6}(?=\.)")
_UNPRINTABLE = re.compile(r"[^\n\t\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Ending(StrEnum):
    BUILT = "built"
    REFUSED = "refused"  # an error in the source
    CUT_SHORT = "cut short"  # a limit of ours that the source exceeded: CPU time, memory, output
    STOPPED = "stopped"  # below its limit of CPU time: it waited for something, or the machine was busy
    KILLED = "killed"  # by the server or the machine, which says nothing of the source
    CRASHED = "crashed"  # the compiler did; worth one more build
    MACHINE = "machine"  # the control program could not be built either


def compile_script(recipe: Recipe, *, tool: Toolchain, headers: str = "") -> str:
    """`headers`: a folder with a precompiled header, searched first; it never changes what comes out."""
    build = shlex.join([tool.path, *_own_options(tool, headers), *recipe.command[1:]])
    control = shlex.join([tool.path, *control_command(recipe)[1:]])
    return f"""# Builds the {recipe.kind}; of what is printed, the first {recipe.limits.log} bytes are kept.
ulimit -f {recipe.limits.file_size // 1024} 2> /dev/null  # kB; a server may allow even less
{{ {build}; echo "$?" > {_CODE}; }} 2>&1 < /dev/null | {{ head -c {recipe.limits.log}; cat > /dev/null; }}
read -r code < {_CODE} || exit {MACHINE_AT_FAULT}
if [ "$code" = 0 ]; then
    [ -f {shlex.quote(recipe.output)} ] && exit 0
    echo "nothing came of it" && code=1
fi
{control} > {_CONTROL_LOG} 2>&1 < /dev/null || {{ head -c 4096 {_CONTROL_LOG} >&2; exit {MACHINE_AT_FAULT}; }}
exit "$code"
"""


def _own_options(tool: Toolchain, headers: str) -> list[str]:
    """Options that are in no key, because they do not change what comes out."""
    codes = ["-pass-exit-codes"] if tool.command in DRIVERS else []  # else a crash exits with 1 too
    return codes + (["-I", headers] if headers else [])


def control_command(recipe: Recipe) -> tuple[str, ...]:
    """The same command with the control program in the place of all sources."""
    names = {source.name for source in recipe.sources} | {"-include"}  # which comes before one of them
    kept = [_CONTROL if word == recipe.output else word for word in recipe.command if word not in names]
    place = next((i for i, word in enumerate(recipe.command) if word in names), len(kept))
    return (*kept[:place], recipe.control.name, *kept[place:])


def ending(stage: Stage, refusals: Collection[int] = (1,)) -> Ending:
    """`refusals`: the exit codes by which this compiler says that the source is wrong."""
    if stage.status is None and stage.code == 0:
        return Ending.BUILT
    if stage.code is None or stage.status not in (None, StageStatus.RE):
        return _ended_by(stage)
    if stage.code in _CODES:
        return _CODES[stage.code]
    if stage.code not in refusals or _SIGNS_OF_A_CRASH.search(stage.stdout):
        return Ending.CRASHED
    return Ending.REFUSED


_CODES = {MACHINE_AT_FAULT: Ending.MACHINE, KILLED: Ending.KILLED}


def _ended_by(stage: Stage) -> Ending:
    """What a stage was ended by that did not end by itself. A message is a box's, no compiler's."""
    if stage.status is StageStatus.TO:
        return Ending.CUT_SHORT if stage.message == CPU_LIMIT else Ending.STOPPED
    if stage.signal is None or stage.status in (StageStatus.OL, StageStatus.EL):
        return Ending.CUT_SHORT
    return Ending.CUT_SHORT if stage.message in _OWN_LIMITS else Ending.KILLED


def log_of(stage: Stage, limit: int) -> str:
    """What the compiler printed, at most `limit` characters, printable; and which limit stopped it."""
    text = _UNPRINTABLE.sub("\ufffd", (stage.stdout + stage.stderr)[:limit]).rstrip("\n")
    text = _TEMPORARY_NAME.sub("/tmp/cc", text)  # the same source, the same words
    return "\n".join(part for part in (text, _stopped(stage)) if part)


def _stopped(stage: Stage) -> str:
    if ending(stage) not in (Ending.CUT_SHORT, Ending.STOPPED):
        return ""
    reasons = {
        StageStatus.TO: "it took too long",
        StageStatus.OL: "it printed too much",
        StageStatus.EL: "it printed too much",
    }
    reason = reasons.get(stage.status) if stage.status else None
    return f"The compiler was stopped: {reason or stage.message or f'killed by {stage.signal}'}."
