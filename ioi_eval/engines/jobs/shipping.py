"""Jobs for transports that take no paths: what they carry there, and what a build hands back.

All of a job is in the request, small, and unpacked by the job's own script. What a build made comes back as
text on standard output: docs/protocol.md, "Delivery", is the reference. Nothing that a compiler prints gets
into that output as it is, because a source can make a compiler print anything. So what is found there was
written by the job's own script.
"""

from __future__ import annotations

import asyncio
import binascii
import gzip
import hashlib
import shlex
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import msgspec

from ioi_eval.engines.contract import Profile
from ioi_eval.engines.embedded.box import BoxReport, decode_report, ended_of
from ioi_eval.model.errors import BrokenReply, JudgeFailure
from ioi_eval.model.job import Ended, Job, JobFile, Stage, StageStatus
from ioi_eval.model.values import Blob, Value
from ioi_eval.store.memory import Bounded, Shared

_SMALL = 2048  # bytes; what is smaller travels as it is
# Bytes; what is larger is compressed less, but in a third of the time: programs and large tests. What travels
# with every job of a run, proctor and usual tests, is smaller.
_FAST = 1 << 20
_PER_FILE = 80  # bytes of a request around a file's content
_PACKED = ".gz"
_SCRIPTS = frozenset({"compile", "run", "build"})  # text that a shell reads, unpacked before anything is
# Those that a server keeps by their hash are there as they are.
_UNPACK = """packed=()
for each in {}; do
    if [ -e "$each" ]; then packed+=("$each"); fi
done
if [ ${{#packed[@]}} != 0 ] && ! gzip -d -- "${{packed[@]}}"; then
    echo 'The files of the job cannot be unpacked' >&2
    exit 92
fi
"""


_KNOWN_TO_PASS = 32 << 20  # bytes of a request that were tried where no limit was found
_USUAL = 4 << 20


def program_room(profile: Profile) -> int:
    """Return the bytes of a request that a submission's program may take.

    The rest is for a test. Were it all one room, a program could grow until its test does not fit.
    """
    room = profile.max_body or _KNOWN_TO_PASS
    return max(room // 4, min(_USUAL, room // 2))


class Parcel(Value):
    """A content in the form in which it travels."""

    content: Blob
    packed: bool
    weight: int  # bytes of a request


class Shipping:
    """Packs contents and remembers some: the tests of a problem travel with every submission.

    `room`: bytes of packed contents that are remembered.
    """

    def __init__(self, room: int = 256 << 20) -> None:
        self._parcels = Bounded[Parcel](room)
        self._packing: Shared[Parcel] = Shared()

    async def shipped(self, job: Job, script: str, profile: Profile) -> Job:
        """The job with nothing in it that an engine would have to fetch. `script`: the file that unpacks."""
        travelling = [file for file in job.files if file.name not in _SCRIPTS]
        parcels = [await self.parcel(file.content) for file in travelling]
        others = [_packed(*pair) for pair in zip(travelling, parcels, strict=True)]
        archives = [file.name for file, parcel in zip(others, parcels, strict=True) if parcel.packed]
        programs = [file.name for file in job.files if file.executable]
        unpacking = _UNPACK.format(shlex.join(archives)) if archives else ""
        unpacking += f"chmod +x -- {shlex.join(programs)}\n" if programs else ""
        files = [
            JobFile(
                name=file.name,
                content=Blob.of((unpacking if file.name == script else "").encode() + file.content.read()),
            )
            for file in job.files
            if file.name in _SCRIPTS
        ]
        files.sort(key=lambda file: file.name != script)  # the first text file is the main one
        whole = (*files, *others, *_doors(job.files))
        return msgspec.structs.replace(job, files=whole, runtime=profile.shell())

    async def weight(self, content: Blob) -> int:
        """Bytes that a file with this content adds to a request."""
        return (await self.parcel(content)).weight + _PER_FILE

    def delivered(self, content: Blob, packed: bytes) -> None:
        """Takes over the form in which a content came, so that it travels on without being packed again."""
        weight = _in_base64(len(packed))
        if content.size >= _SMALL and weight < _in_base64(content.size):
            parcel = Parcel(content=Blob.of(packed), packed=True, weight=weight)
            self._parcels.keep(content.sha256, parcel, parcel.content.size)

    async def parcel(self, content: Blob) -> Parcel:
        found = self._parcels.get(content.sha256)
        if found is None:
            found = await self._packing.call(content.sha256, lambda: asyncio.to_thread(pack, content))
            self._parcels.keep(content.sha256, found, found.content.size)
        return found


def _doors(files: Iterable[JobFile]) -> Iterator[JobFile]:
    """Empty files in folders that hold folders alone.

    A server from before isolate gives a job the folders that its files lie in, and keeps those above shut.
    """
    paths = [PurePosixPath(file.name) for file in files]
    above = {folder for path in paths for folder in path.parents[1:-1]}
    for folder in sorted(above - {path.parent for path in paths}):
        yield JobFile(name=f"{folder}/.ioi-eval", content=Blob.of(""))


def _packed(file: JobFile, parcel: Parcel) -> JobFile:
    name = file.name + (_PACKED if parcel.packed else "")
    return JobFile(
        name=name, content=parcel.content, recurs=file.recurs, origin=file if file.recurs else None
    )


def pack(content: Blob) -> Parcel:
    """Compressed where that pays: a request is JSON, and what is not text grows by a third in it."""
    data = content.read()
    try:
        plain = len(msgspec.json.encode(data.decode()))
    except UnicodeDecodeError:
        plain = _in_base64(len(data))
    as_it_is = Parcel(
        content=Blob(sha256=content.sha256, size=content.size, data=data), packed=False, weight=plain
    )
    if len(data) < _SMALL:
        return as_it_is
    packed = Blob.of(gzip.compress(data, 6 if len(data) < _FAST else 1, mtime=0))
    weight = _in_base64(packed.size)
    return Parcel(content=packed, packed=True, weight=weight) if weight < plain else as_it_is


def _in_base64(size: int) -> int:
    return (size + 2) // 3 * 4


# --- how a build job hands over what it made ---------------------------------------------------------


VERSION = 1
_MARK = f"ioi-eval {VERSION}"
_TO_PRINT = ".ioi-eval-packed"
_LARGEST = 1 << 30  # bytes of an artifact: what the embedded engine lets a program write
_OUTPUT_LIMIT = "PISTON_OUTPUT_MAX_SIZE"
ENOUGH = 64_000_000  # bytes of output: what needs more is no program that anybody would hand in
_GZIP = 31  # zlib's word for a gzip header
_STOPPED = 124  # what `timeout` exits with


class TooLarge(JudgeFailure):
    """The artifact is larger than a server that is set up as documented lets through."""


class Delivery(Value):
    stage: Ended | None  # how the compiler ended; None where the job has a stage for it
    artifact: bytes | None
    packed: bytes = b""  # the artifact as it came, in gzip
    confinement: Mapping[str, Any] | None = None  # of the box, where there was one


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
    gzip -1 -n -c -- "$2" | base64 > {_TO_PRINT} && [ -s {_TO_PRINT} ] || exit 91
    length=$(wc -c < {_TO_PRINT})
    size=$(wc -c < "$2")
    if [ -n "$3" ] && [ "$length" -gt "$3" ]; then
        echo "{_MARK} too-large $1 $((length))"
        exit 0
    fi
    echo "{_MARK} $1 $((size)) $(sha256sum < "$2" | cut -c 1-64) $((length))"
    cat {_TO_PRINT}
}}
"""
_WORDS = 512  # bytes of an output that are not the file itself, and more


def _part(kind: str, name: str, most: int | None) -> str:
    room = "" if most is None else str(max(0, most - _WORDS))
    return f"print {kind} {shlex.quote(name)} {shlex.quote(room)}\n"


# --- what came of them -------------------------------------------------------------------------------


def read_delivery(run: Stage) -> Delivery:
    """A delivery: the output of a stage that ran one of the scripts.

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
                if report.failure is not None:
                    raise BrokenReply(f"the box of a build failed: {report.failure}")
            case ["too-large", kind, length]:
                raise _too_large(kind, _number(length))
            case ["end"]:
                artifact, log = parts.get("artifact", _NOTHING), parts.get("log", _NOTHING)
                told = None if report is None else {**report.confinement}
                if told is not None:
                    told.pop("uid", None)
                return Delivery(
                    stage=_ended(code, report, log.data or b""),
                    artifact=artifact.data,
                    packed=artifact.packed,
                    confinement=told,
                )
            case [kind, size, digest, length]:
                told_length = _number(length)
                piece = text[place : place + told_length]
                parts[kind] = _part_of(kind, _number(size), digest, told_length, piece, run)
                place += told_length
    raise _cut_off(run, len(text))


def killed_while_compiling(run: Stage) -> bool:
    """Return True if a stage with `whole_build`, or a box, was ended before the compiler had."""
    return run.code is None and not run.stdout.startswith((f"{_MARK} code ", f"{_MARK} box "))


def _ended(code: int | None, report: BoxReport | None, log: bytes) -> Ended | None:
    """Return how the compiler ended; None where the job has a stage for it."""
    if report is not None:
        return ended_of(report, log, b"")
    text = log.decode(errors="replace")
    if code == _STOPPED:
        return Ended(stdout=text, killed="hard")
    return None if code is None else Ended(stdout=text, code=code)


class _Part(NamedTuple):
    data: bytes | None
    packed: bytes


_NOTHING = _Part(None, b"")


def _number(text: str) -> int:
    if not text.isdecimal():
        raise BrokenReply(f"the output of a build job is damaged: {text[:20]!r} is no number")
    return int(text)


def _part_of(kind: str, size: int, digest: str, length: int, text: str, run: Stage) -> _Part:
    part = _unpacked(text, size) if len(text) == length else _NOTHING
    if part.data is not None and hashlib.sha256(part.data).hexdigest() == digest:
        return part
    if _was_killed(run):
        raise _cut_off(run, length)
    raise BrokenReply(f"the {kind} of a build job arrived damaged")


def _unpacked(text: str, size: int) -> _Part:
    """Unpack one file of that size, and no byte more; nothing for anything else."""
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
    if run.status is StageStatus.TO and length <= ENOUGH:
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
