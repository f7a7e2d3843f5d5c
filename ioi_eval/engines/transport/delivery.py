"""How a build job hands over what it made where the engine takes no paths: as text on standard output. Pure.

docs/protocol.md, "Delivery", is the reference. Nothing that a compiler prints reaches that output as it is: a
source can make a compiler print anything. So what is found there was written by the job's own script.
"""

from __future__ import annotations

import binascii
import hashlib
import shlex
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from ioi_eval.engines.embedded.box import BoxReport, decode_report
from ioi_eval.engines.embedded.box import stage_of as end_of_box
from ioi_eval.model.errors import BrokenReply, JudgeFailure
from ioi_eval.model.values import HARD_STOP, Stage, StageStatus, Value

VERSION = 1
_MARK = f"ioi-eval {VERSION}"
_PACKED = ".ioi-eval-packed"
_LARGEST = 1 << 30  # bytes of an artifact: what the embedded engine lets a program write
_OUTPUT_LIMIT = "PISTON_OUTPUT_MAX_SIZE"
ENOUGH = 64_000_000  # bytes of output: what needs more is no program that anybody would hand in
_GZIP = 31  # zlib's word for a gzip header
_STOPPED = 124  # what `timeout` exits with


class TooLarge(JudgeFailure):
    """What was built is more than a server that is set up as we say lets through."""


class Compiled(Value):
    """How the compile script ended, as a stage; None where the job has a stage for it."""

    code: int
    log: str


class Boxed(Value):
    """How the box of a build ended, and what confined it."""

    stage: Stage
    confinement: Mapping[str, Any]


class Delivery(Value):
    compiled: Compiled | None
    boxed: Boxed | None
    artifact: bytes | None
    packed: bytes = b""  # the artifact as it came, in gzip


# --- the scripts -------------------------------------------------------------------------------------


def hand_over(output: str, most: int | None) -> str:
    """Prints a file. `most`: what the engine lets a stage print, in bytes; None: not known."""
    return f"{_PRINT}{_part('artifact', output, most)}printf '%s end\\n' {shlex.quote(_MARK)}\n"


def whole_build(
    output: str, most: int | None, *, hard_stop: float | None, cpu_time: float | None, script: str
) -> str:
    """For a runtime without a compile stage: starts `script` under limits, tells its end, prints the file."""
    limit = f"timeout -k 5 {hard_stop:.3f} " if hard_stop is not None else ""
    cpu = f"ulimit -t {max(1, round(cpu_time))}; " if cpu_time is not None else ""
    log = ".ioi-eval-log"
    return f"""{_PRINT}({cpu}exec {limit}bash {script}) > {log} 2>&1 < /dev/null
code=$?
printf '%s code %s\\n' {shlex.quote(_MARK)} "$code"
{_part("log", log, most)}if [ "$code" = 0 ]; then
{_part("artifact", output, most)}fi
printf '%s end\\n' {shlex.quote(_MARK)}
"""


def boxed_build(output: str, most: int | None) -> str:
    """After a box: tells its end and prints the file. A link in its place may lead out of the box."""
    log, file = ".ioi-eval-log", shlex.quote(output)
    return f"""{_PRINT}[ -s .ioi-eval-report ] || {{ head -c 300 {log} >&2; exit 91; }}
report=$(cat .ioi-eval-report)
printf '%s box %s\\n' {shlex.quote(_MARK)} "$report"
{_part("log", log, most)}case $report in
*'"code":0,"signal":0,"killed":""'*) if [ -f {file} ] && [ ! -L {file} ]; then
{_part("artifact", output, most)}fi ;;
esac
printf '%s end\\n' {shlex.quote(_MARK)}
"""


_PRINT = f"""# print KIND FILE MOST: size, SHA-256 and length, then the file, compressed and as base64.
print() {{
    gzip -1 -n -c -- "$2" | base64 > {_PACKED} && [ -s {_PACKED} ] || exit 91
    length=$(wc -c < {_PACKED})
    size=$(wc -c < "$2")
    if [ -n "$3" ] && [ "$length" -gt "$3" ]; then
        echo "{_MARK} too-large $1 $((length))"
        exit 0
    fi
    echo "{_MARK} $1 $((size)) $(sha256sum < "$2" | cut -c 1-64) $((length))"
    cat {_PACKED}
}}
"""
_WORDS = 512  # bytes of an output that are not the file itself, and more


def _part(kind: str, name: str, most: int | None) -> str:
    room = "" if most is None else str(max(0, most - _WORDS))
    return f"print {kind} {shlex.quote(name)} {shlex.quote(room)}\n"


# --- what came of them -------------------------------------------------------------------------------


def read_delivery(run: Stage) -> Delivery:
    """What a stage that ran one of the scripts told.

    BrokenReply for what is damaged, which may go well the next time; JudgeFailure where it cannot.
    """
    code, report = None, None
    parts: dict[str, _Part] = {}
    text, place = run.stdout, 0
    while (end := text.find("\n", place)) >= 0:
        line, place = text[place:end], end + 1
        match line.removeprefix(_MARK).split() if line.startswith(_MARK) else ():
            case ["code", number]:
                code = _number(number)
            case ["box", *_]:
                report = decode_report(line.removeprefix(f"{_MARK} box ").encode())
            case ["too-large", kind, length]:
                raise _too_large(kind, _number(length))
            case ["end"]:
                artifact = parts.get("artifact", _NOTHING)
                log = parts.get("log", _NOTHING).data or b""
                return Delivery(
                    compiled=(
                        None if code is None else Compiled(code=code, log=log.decode(errors="replace"))
                    ),
                    boxed=_boxed(report, parts),
                    artifact=artifact.data,
                    packed=artifact.packed,
                )
            case [kind, size, digest, length]:
                header = _Header(kind, _number(size), digest, _number(length))
                parts[kind] = _part_of(header, text[place : place + header.length], run)
                place += header.length
    raise _cut_off(run, len(text))


def killed_while_compiling(run: Stage) -> bool:
    """Whether a stage that runs `whole_build`, or a box, was ended before the compiler had."""
    return run.code is None and not run.stdout.startswith((f"{_MARK} code ", f"{_MARK} box "))


def stage_of(compiled: Compiled) -> Stage:
    """As a compile stage of its own would have told it."""
    if compiled.code == _STOPPED:
        status, message = StageStatus.TO, HARD_STOP
        return Stage(stdout=compiled.log, signal="SIGKILL", status=status, message=message)
    failed = StageStatus.RE if compiled.code else None
    return Stage(stdout=compiled.log, code=compiled.code, status=failed)


class _Header(NamedTuple):
    kind: str
    size: int
    digest: str
    length: int


class _Part(NamedTuple):
    data: bytes | None
    packed: bytes


_NOTHING = _Part(None, b"")


def _boxed(report: BoxReport | None, parts: dict[str, _Part]) -> Boxed | None:
    if report is None:
        return None
    if report.failure is not None:
        raise BrokenReply(f"the box of a build failed: {report.failure}")
    confinement = {name: value for name, value in report.confinement.items() if name != "uid"}
    return Boxed(
        stage=end_of_box(report, parts.get("log", _NOTHING).data or b"", b""), confinement=confinement
    )


def _number(text: str) -> int:
    if not text.isdecimal():
        raise BrokenReply(f"the output of a build job is damaged: {text[:20]!r} is no number")
    return int(text)


def _part_of(header: _Header, text: str, run: Stage) -> _Part:
    part = _unpacked(text, header.size) if len(text) == header.length else _NOTHING
    if part.data is not None and hashlib.sha256(part.data).hexdigest() == header.digest:
        return part
    if _was_killed(run):
        raise _cut_off(run, header.length)
    raise BrokenReply(f"the {header.kind} of a build job arrived damaged")


def _unpacked(text: str, size: int) -> _Part:
    """Nothing where it is not what it should be: one file of that size, packed, and no byte more."""
    if size > _LARGEST:
        raise JudgeFailure(f"what was built has {size} bytes: too many to travel", phase="compiling")
    unpacker = zlib.decompressobj(_GZIP)
    try:
        packed = binascii.a2b_base64(text.replace("\n", ""), strict_mode=True)
        data = unpacker.decompress(packed, size + 1)
    except (ValueError, zlib.error):  # ValueError: also where a letter is no ASCII
        return _NOTHING
    whole = len(data) == size and unpacker.eof and not unpacker.unused_data
    return _Part(data, packed) if whole else _NOTHING


def _was_killed(run: Stage) -> bool:
    """Perhaps by the limit on output, which servers before isolate do not tell from others."""
    return run.status is StageStatus.OL or run.signal == "SIGKILL"


def _cut_off(run: Stage, length: int) -> BrokenReply | JudgeFailure:
    if not _was_killed(run):
        ended = f"exit code {run.code}" if run.code is not None else f"killed by {run.signal}"
        words = " ".join(run.stderr.split())[-300:]
        return BrokenReply(f"a build job handed over nothing whole ({ended}{words and f': {words}'})")
    if run.status is StageStatus.TO:
        return JudgeFailure(
            "a build job ran out of time before it had handed over what it made",
            phase="compiling",
            remedy="Raise PISTON_RUN_TIMEOUT and PISTON_RUN_CPU_TIME on the server",
        )
    return _too_large("artifact", length)


def _too_large(kind: str, length: int) -> JudgeFailure:
    failure = TooLarge if kind == "artifact" and length > ENOUGH else JudgeFailure
    return failure(
        f"the {kind} of a build job takes {length} bytes of output or more; the server lets fewer through",
        phase="compiling",
        remedy=f"Raise {_OUTPUT_LIMIT} on the server to {ENOUGH} or more",
    )
