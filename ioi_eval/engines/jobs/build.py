"""Builds on one engine: what is compiled once is never compiled again. A build job never holds a test.

rules/verdicts.py reads the ending.

"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import re
import secrets
import shlex
import shutil
import threading
from collections.abc import Coroutine, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.engines.contract import (
    BROUGHT_HEADERS,
    BROUGHT_LIBRARY,
    DRIVERS,
    GENERATED,
    LIBRARY_HEADER,
    OTHER_MACHINE,
    SUBMISSION,
    BuildSpec,
    BuildSuccess,
    Capabilities,
    CompileError,
    Engine,
    WorkerArtifact,
)
from ioi_eval.engines.jobs.headers import (
    BIG,
    MAX_HEADERS,
    Demand,
    begins_with,
    head_of,
    header_file,
    header_spec,
    sights_of,
)
from ioi_eval.engines.jobs.run import COMMAND, BuildResult, Delivery, wait_for
from ioi_eval.model.doing import log_step, logged_work
from ioi_eval.model.errors import BrokenReply, FileEdited, JudgeFailure, ToolchainGone
from ioi_eval.model.job import Job, JobFile, Toolchain
from ioi_eval.model.options import BuildOptions
from ioi_eval.model.protocol import Plan, PlanChecker, PlanSubmission, PlanTest, decode_lines
from ioi_eval.model.retry import BUILD, PREBUILT, TOOLCHAIN
from ioi_eval.model.values import Blob, Value
from ioi_eval.rules.limits import milliseconds, plan_limits
from ioi_eval.rules.verdicts import (
    MACHINE_AT_FAULT,
    BuildEnding,
    build_ending,
    lacked_room,
    lacks_library,
    log_of,
    stopped_by,
)
from ioi_eval.store import Store
from ioi_eval.store.contents import Pin, kept_in
from ioi_eval.store.memory import LruCache, NoteFile, SharedCalls, recalled, remembered

# --- the script --------------------------------------------------------------------------------------


_log = logging.getLogger(__name__)
_ROOM = 8 << 20  # bytes that must be free where compilers write; servers let a file have 10 MB at the least
_CODE, _CONTROL, _CONTROL_LOG = ".ioi-eval-code", "ioi-eval-control", ".ioi-eval-control.log"
_LOG = ".ioi-eval.log"
OBJECT = "ioi-eval-grader.o"
"""The last name of a grader's object in a job. Its folder, as a header's, is a secret of the job."""


def hidden(name: str) -> str:
    """Return a path that ends in a name, and that no source can guess."""
    return f"{secrets.token_hex(16)}/{name}"


def compile_script(spec: BuildSpec, tool: Toolchain, *, prebuilt: bool = False, brought: bool = False) -> str:
    """Return the script of a build job.

    Args:
        prebuilt: The job may hold a precompiled header of the source's head, or the shared source's object.
            They lie in folders whose names the script does not say: no source can tell whether they are
            there. Where a source could read the compiler's command in /proc, they are not used.
        brought: The server's package may hold a precompiled header of the big head.

    If a compiler fails or says anything with one of these, the source is compiled again without them, in the
    same state of the folder.
    """
    # Options that are in no key, because they do not change what comes out.
    options = ["-pass-exit-codes"] if tool.command in DRIVERS else []  # else a crash exits with 1 too
    build = f"compile {shlex.join([tool.path, *options, *spec.command[1:]])}"
    head = head_of(spec)
    if (prebuilt and (head or spec.shared)) or (brought and head == BIG):
        words, needed = shlex.join(spec.command[1:]), '"$begins"'
        if spec.shared:
            before, after = _around(spec.command[1:], spec.shared)
            words, needed = f'{shlex.join(before)} "$object" {shlex.join(after)}', '"$object"'
        first = f"compile {shlex.join([tool.path, *options])} $begins {words}"
        build = f"""{_finding(spec, head, prebuilt=prebuilt, brought=brought and head == BIG)}
# Retry rule `{PREBUILT.name}`: {PREBUILT.max_attempts} attempts in all.
if [ -z {needed} ] || ! {{ {first}; [ "$code" = 0 ] && [ ! -s {_LOG} ]; }}; then
    {build}
fi"""
    control = shlex.join([tool.path, *control_command(spec)[1:]])
    output = shlex.quote(spec.output)
    return f"""# Builds the {spec.kind}; of what is printed, the first {spec.limits.log} bytes are kept.
rm -f -- "$0"  # no source reads it
ulimit -f {spec.limits.file_size // 1024} 2> /dev/null  # kB; a server may allow even less
compile() {{
    rm -f {output} {_CODE} {_LOG}
    exec 8> {_LOG} 9< {_LOG}  # a generator may remove the file
    {{
        [ ! -e /dev/fd/1 ] || chmod a-r /dev/fd/1  # a source that names this pipe would wait for itself
        "$@" 8>&- 9<&-
        echo "$?" > {_CODE}
    }} 2>&1 < /dev/null | {{
        head -c {spec.limits.log} >&8
        cat > /dev/null
    }}
    read -r code < {_CODE} || exit {MACHINE_AT_FAULT}
}}
{build}
cat <&9
if [ "$code" = 0 ]; then
    [ -f {output} ] && exit 0
    echo "nothing came of it" && code=1
fi
for place in . "${{TMPDIR:-/tmp}}"; do
    [ -w "$place" ] || continue
    room=$(mktemp "$place/.ioi-eval-XXXXXX") || exit {MACHINE_AT_FAULT}
    printf '%{min(_ROOM, spec.limits.file_size // 2)}s' '' | cat > "$room"
    left=$?
    rm "$room"
    [ "$left" = 0 ] || exit {MACHINE_AT_FAULT}
done
{control} > {_CONTROL_LOG} 2>&1 < /dev/null || {{ head -c 4096 {_CONTROL_LOG} >&2; exit {MACHINE_AT_FAULT}; }}
exit "$code"
"""


def _around(words: Sequence[str], word: str) -> tuple[Sequence[str], Sequence[str]]:
    place = words.index(word)
    return words[:place], words[place + 1 :]


def _finding(spec: BuildSpec, head: Sequence[str], *, prebuilt: bool, brought: bool) -> str:
    """Return the lines that set `begins` and `object` to what there is."""
    lines = ["begins= object="]
    if prebuilt:
        lines.append(f'for found in */{OBJECT}; do [ ! -e "$found" ] || object=$found; done')
    if prebuilt and head:
        name = header_file(head)
        begins = begins_with(head, f"${{found%/{name}}}")
        lines.append(f'for found in */{name}; do [ ! -e "$found" ] || begins="{begins}"; done')
    if prebuilt:
        lines.append('{ true < "/proc/$$/cmdline"; } 2> /dev/null && begins= object=')
    if brought:
        standard = next(word[5:] for word in spec.precompile if word.startswith("-std="))
        place = f"${BROUGHT_HEADERS}"
        # A compiler checks that a header is its own, and not which C library that one has read.
        same = f'cmp -s "{place}/{BROUGHT_LIBRARY}" {LIBRARY_HEADER}'
        there = f'[ -e "{place}/{standard}/{header_file(head)}" ]'
        lines.append(f'{there} && {same} && begins="{begins_with(head, f"{place}/{standard}")}"')
    return "\n".join(lines)


def control_command(spec: BuildSpec) -> tuple[str, ...]:
    """The same command with the control program in the place of all sources."""
    names = {source.name for source in spec.sources} | {"-include"}  # which comes before one of them
    output = re.compile(rf"^(|-o./|-out:){re.escape(spec.output)}$")  # some take it glued to the option
    kept = [output.sub(rf"\1{_CONTROL}", word) for word in spec.command if word not in names]
    place = next((i for i, word in enumerate(spec.command) if word in names), len(kept))
    return (*kept[:place], spec.control.name, *kept[place:])


def _control_spec(spec: BuildSpec) -> BuildSpec:
    """Return the same build of the control program alone."""
    main, others = spec.main.name, {source.name for source in spec.sources[:-1]}
    return msgspec.structs.replace(
        spec,
        command=tuple(word for word in spec.command if word not in others),
        sources=(msgspec.structs.replace(spec.control, name=main),),
        acts=False,
    )


def sources(spec: BuildSpec) -> Iterable[JobFile]:
    return (JobFile(name=file.name, content=file.content) for file in (spec.control, *spec.sources))


# --- graders as objects ------------------------------------------------------------------------------
# All submissions of a problem are compiled with the same grader, which often takes longer than they do. Its
# object gives the bytes that its source gives, if the same compiler made it.


_GRADER_SIGHTS = 2  # builds with a grader: at this one its object is made


def object_spec(spec: BuildSpec) -> BuildSpec:
    """The shared source alone, compiled with the flags of the build that it is shared by."""
    others = {source.name for source in spec.sources} - {spec.shared}
    words = (OBJECT if word == spec.output else word for word in spec.command[1:] if word not in others)
    return BuildSpec(
        kind="object",
        output=OBJECT,
        command=(spec.command[0], "-c", *words),
        sources=tuple(sorted(spec.sources[:-1], key=lambda source: source.name == spec.shared)),
        control=spec.control,
        limits=spec.limits,
        proctor=spec.proctor,
    )


_SCRIPT, _SOURCE, _PLAN, _PROCTOR = "submission", "source", "plan.json", "proctor"
_TAKEN = "taken\n"
_LONGEST = 1 << 10  # bytes of an answer


async def check(delivery: Delivery, spec: BuildSpec, capabilities: Capabilities) -> BuildSuccess | None:
    """Return what a build would make; None where it takes a build to say.

    It does not for a program in Python of one source, beside what builds it.
    """
    alone = delivery.is_here and spec.kind == SUBMISSION and len(spec.sources) == 2
    if not alone or capabilities.waiting is None or capabilities.proctor is None:
        return None
    tool, nonce = capabilities.tool(COMMAND, "checking a source"), secrets.token_hex(16)
    job = _job(spec, tool, nonce, proctor=capabilities.proctor, library=capabilities.waiting)
    ended, _ = await delivery.run(job, capabilities, nonce=nonce, phase="compiling")
    return _built(spec, tool, ended.stdout, nonce)


def _job(spec: BuildSpec, tool: Toolchain, nonce: str, *, proctor: Blob, library: Blob) -> Job:
    helper, source = spec.sources
    submission, waiting = wait_for(
        PlanSubmission(argv=(tool.path, "-I", _SCRIPT), files=(_SCRIPT,), env={"PATH": "/usr/bin:/bin"}),
        (),
        library,
    )
    named = f"{source.name}\n".encode() + source.content.read()
    return Job(
        files=(
            JobFile(name=_PROCTOR, content=proctor, executable=True),
            JobFile(name=_PLAN, content=Blob.of(msgspec.json.encode(_plan(spec, tool, submission, nonce)))),
            JobFile(name=_SCRIPT, content=helper.content),
            JobFile(name=_SOURCE, content=Blob.of(named)),
            *waiting,
        ),
        run_timeout=milliseconds(spec.limits.wall_time),
        plan=_PLAN,
    )


def _plan(spec: BuildSpec, tool: Toolchain, submission: PlanSubmission, nonce: str) -> Plan:
    limits = spec.limits
    return Plan(
        nonce=nonce,
        task_type="Batch",
        submission=submission,
        limits=plan_limits(
            cpu_time=limits.cpu_time, wall_time=limits.wall_time, memory=limits.memory, output=_LONGEST
        ),
        checker=PlanChecker(kind="exact"),  # against nothing: it tells what was printed
        tests=(PlanTest(index=0, input=_SOURCE),),
        echo=_LONGEST,
        read=tool.read,
    )


def _built(spec: BuildSpec, tool: Toolchain, stdout: str, nonce: str) -> BuildSuccess | None:
    try:
        lines = list(decode_lines(stdout, nonce))
    except BrokenReply:
        return None
    said = next((line.output for line in lines if line.test == 0 and line.end == "ok"), "")
    if said != _TAKEN:
        return None
    return BuildSuccess(artifact=spec.main.content, compiler=tool.name, toolchain=tool.identity)


# --- how a build and its outcome lie in the store: a folder per key ----------------------------------


_ARTIFACT = "artifact"
_COMPARED = 64 << 20  # bytes of an artifact that is hashed each time it is found; only headers are larger
_STAYING = "staying.txt"  # programs that stay with workers: too many for a folder each
_not_kept = partial(JudgeFailure, phase="compiling")
_PINS = 128  # a descriptor each; many times as many artifacts as jobs use at the same time


class _Record(Value):
    """An outcome: built or rejected. The artifact lies beside it in the store, or stays with a worker."""

    built: BuildSuccess | None = None
    rejected: CompileError | None = None
    at: str = ""  # the worker's address


class ArtifactCache:
    """Outcomes of builds, good and bad, on disk. What was found or kept last is safe from eviction.

    `find` and `keep` block and may be called from several threads.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pins = LruCache[Pin](_PINS, Pin.release)
        self._lock = threading.Lock()
        self._staying = NoteFile(store.root / _STAYING, _Record)

    def turn(self, key: str) -> contextlib.AbstractAsyncContextManager[None]:
        """Let processes make what is to lie under a key one after the other."""
        return self._store.turn(key)

    def there(self, *keys: str) -> bool:
        """Return True if something is remembered under one of the keys. Takes no time worth a thread."""
        return any(self._store.get(key) is not None for key in keys)

    def stays(self, spec: BuildSpec, *keys: str) -> BuildSuccess | None:
        """Return a program that stays with the worker that built it, if there is one for one of the keys."""
        record = next(filter(None, map(self._staying.get, keys)), None)
        if record is None or record.built is None:
            return None
        made, tool = record.built.artifact, record.built.toolchain
        far = WorkerArtifact(sha256=made.sha256, size=made.size, at=record.at, spec=spec, toolchain=tool)
        return msgspec.structs.replace(record.built, artifact=far)

    def find(self, *keys: str) -> BuildSuccess | CompileError | None:
        """Return the first outcome that is remembered under one of the keys."""
        for key in keys:
            if self._store.get(key) is None:
                continue  # most often, and a pin makes a file
            self._pin(key)
            found = recalled(self._store, key, _Record)
            outcome = found and _outcome(*found)
            # Earlier versions remembered also what may have been installed since.
            if outcome is not None and not (isinstance(outcome, CompileError) and lacks_library(outcome.log)):
                return outcome
            if found is not None:
                self._store.remove(key)
        return None

    def keep(self, key: str, outcome: BuildSuccess | CompileError) -> BuildSuccess | CompileError:
        """Remember an outcome, and a copy of what was made: that is what the returned outcome refers to."""
        outcome = self.bounded(outcome)
        self._pin(key)
        with kept_in(self._store, _not_kept):
            kept = _outcome(*remembered(self._store, key, _Record, lambda folder: _filled(folder, outcome)))
        assert kept is not None, "what the store has just taken is whole"
        return kept

    def note(self, key: str, built: BuildSuccess, at: str) -> None:
        """Remember where a program stays. Takes no time worth a thread."""
        bare = Blob(sha256=built.artifact.sha256, size=built.artifact.size)
        self._staying.put(key, _Record(built=msgspec.structs.replace(built, artifact=bare), at=at))

    def bounded(self, outcome: BuildSuccess | CompileError) -> BuildSuccess | CompileError:
        """Return the outcome, or the refusal of a program that is too large."""
        size, most = outcome.artifact.size if isinstance(outcome, BuildSuccess) else 0, self._store.largest
        if size <= most:
            return outcome
        words = f"The program has {size} bytes, and {most} are the most that is taken."
        log = f"{outcome.log}\n{words}".lstrip()
        return CompileError(log=log, compiler=outcome.compiler, confinement=outcome.confinement)

    def close(self) -> None:
        with self._lock:
            self._pins.clear()

    def _pin(self, key: str) -> None:
        with self._lock, kept_in(self._store, _not_kept):
            if self._pins.get(key) is None:
                self._pins.keep(key, self._store.pin(key))


def _filled(folder: Path, outcome: BuildSuccess | CompileError) -> _Record:
    if isinstance(outcome, CompileError):
        return _Record(rejected=outcome)
    made, target = outcome.artifact, folder / _ARTIFACT
    bare = Blob(sha256=made.sha256, size=made.size)
    built = msgspec.structs.replace(outcome, artifact=bare)
    if made.path is not None:
        shutil.copyfile(made.path, target)
    else:
        target.write_bytes(made.read())
    target.chmod(0o755)
    return _Record(built=built)


def _outcome(record: _Record, folder: Path) -> BuildSuccess | CompileError | None:
    """Return a remembered outcome; None where a power cut or a disk took or changed the artifact."""
    if record.built is None:
        return record.rejected
    path, made = folder / _ARTIFACT, record.built.artifact
    if not path.is_file() or path.stat().st_size != made.size:
        return None
    if made.size <= _COMPARED and Blob.of_file(path).sha256 != made.sha256:
        return None
    artifact = msgspec.structs.replace(made, path=str(path))
    return msgspec.structs.replace(record.built, artifact=artifact)


# --- builds, each made once --------------------------------------------------------------------------


_ONCE_MORE = frozenset({BuildEnding.CRASHED, BuildEnding.IDLED, BuildEnding.STOPPED, BuildEnding.KILLED})
# By limits of ours, which do not change with the load; and what crashed a compiler twice crashes it again.
_LASTING = frozenset({BuildEnding.CUT_SHORT, BuildEnding.IDLED, BuildEnding.CRASHED})


class Builder:
    """Builds by build jobs and remembers what came of them in a store.

    Whoever asks for something that is being built waits for that build. Errors in a source are remembered as
    builds are, and that it exceeds its limits, for the same limits; what may hang on the load is not. An
    outcome lies under the key of the toolchain that really built, and is found while a server has that one.
    Closing ends what goes on in the background.
    """

    def __init__(self, engine: Engine, delivery: Delivery, store: Store, options: BuildOptions) -> None:
        self.engine, self.delivery = engine, delivery
        self._shelf = ArtifactCache(store)
        self._under_way: SharedCalls[BuildSuccess | CompileError] = SharedCalls()
        self._precompiles = options.precompile
        self._headers, self._graders = Demand(MAX_HEADERS), Demand()
        self._background: dict[str, asyncio.Task[BuildSuccess | CompileError]] = {}
        self._come_here = set[str]()  # sources whose programs were lost with the machine that had built them

    async def close(self) -> None:
        for task in self._background.values():
            task.cancel()
        await asyncio.gather(*self._background.values(), return_exceptions=True)
        self._background.clear()
        self._shelf.close()

    @property
    def busy(self) -> bool:
        """True while something is being made in the background."""
        return any(not task.done() for task in self._background.values())

    async def capabilities(self) -> Capabilities:
        return await self.engine.capabilities()

    async def build(self, spec: BuildSpec) -> BuildSuccess | CompileError:
        """Return what a build made, as content that any engine can use, or the compiler's refusal.

        Raises JudgeFailure if the engine is at fault, and not the source.
        """
        for attempt in range(1, TOOLCHAIN.max_attempts + 1):
            capabilities = await self.engine.capabilities()
            capabilities.shell()  # without it there are no compilers either, but that is not why
            capabilities.tool(spec.tool, f"building a {spec.kind}")
            keys = spec.keys(capabilities)
            try:
                making = partial(self._find_or_make, spec, capabilities, keys)
                with logged_work(_log, f"{spec.kind} build"):
                    outcome = await self._under_way.call(" ".join(keys), making)
                    if _log.isEnabledFor(logging.DEBUG):
                        made = "built" if isinstance(outcome, BuildSuccess) else "does not compile"
                        log_step(_log, "%s, %s", made, outcome.compiler)
                refusal = self.delivery.refusal if spec.kind == SUBMISSION else None
                if isinstance(outcome, CompileError) or refusal is None:
                    return outcome
                if not (reason := await refusal(outcome.artifact, capabilities)):
                    return outcome
                confinement = outcome.confinement
                return CompileError(
                    log=reason, compiler=outcome.compiler, confinement=confinement, lasting=False
                )
            except ToolchainGone as error:  # servers have changed since: the next job is for these
                TOOLCHAIN.log(_log, error, attempt)
        used_up = TOOLCHAIN.used_up(TOOLCHAIN.max_attempts)
        raise JudgeFailure(f"servers changed their {spec.tool} again and again, {used_up}", phase="compiling")

    async def build_anew(self, spec: BuildSpec) -> BuildSuccess | CompileError:
        """Build what was lost with the machine that had built it. This time it comes here."""
        self._come_here.add(spec.main.content.sha256)
        return await self.build(spec)

    async def _find_or_make(
        self, spec: BuildSpec, capabilities: Capabilities, keys: Sequence[str]
    ) -> BuildSuccess | CompileError:
        if (found := await self._found(spec, keys)) is not None:
            log_step(_log, "found in the cache")
            return found
        if spec.kind == SUBMISSION:  # of which each process has others
            return await self._make(spec, capabilities, keys)
        async with self._shelf.turn(keys[0]):
            return await self._found(spec, keys) or await self._make(spec, capabilities, keys)

    async def _found(self, spec: BuildSpec, keys: Sequence[str]) -> BuildSuccess | CompileError | None:
        places = [place for key in keys for place in (key, _under_limits(key, spec))]
        if not self._shelf.there(*places):
            return None
        return await asyncio.to_thread(self._shelf.find, *places)

    async def _make(
        self, spec: BuildSpec, capabilities: Capabilities, keys: Sequence[str]
    ) -> BuildSuccess | CompileError:
        may_stay, refusal = spec.main.content.sha256 not in self._come_here, self.delivery.refusal
        far = self._shelf.stays(spec, *keys) if may_stay and refusal is not None else None
        # Where servers take less at a time than before, it may fit when it is packed.
        if far is not None and refusal is not None and not await refusal(far.artifact, capabilities):
            return far
        if spec.tool == COMMAND:
            checked = await check(self.delivery, spec, capabilities)
            if checked is not None:
                key = spec.key(capabilities.architecture, capabilities.toolchains[spec.tool])
                return await asyncio.to_thread(self._shelf.keep, key, checked)
        files = await self._prebuilt(spec, capabilities) if self._precompiles else None
        build = partial(self.delivery.build, may_stay=may_stay)
        made = await build(spec, files, capabilities)
        if made.too_large:
            return CompileError(log=stopped_by(made.too_large), compiler=made.tool.name, lasting=False)
        end = build_ending(made.ended, spec.refusals)
        # With something prebuilt it may have been compiled twice under the limits of one build.
        maybe_twice = bool(files) or (not self.delivery.is_here and bool(head_of(spec)))
        if end not in _ONCE_MORE and not (end is BuildEnding.CUT_SHORT and maybe_twice):
            return await self._take(spec, capabilities, made, lasting=True)
        made.discard()
        BUILD.log(_log, f"the build ended as {end.value}")
        # Once more, with nothing prebuilt. What crashes or is stopped twice is the source's fault.
        made = await build(spec, None, capabilities)
        return await self._take(spec, capabilities, made, lasting=False)

    async def _take(
        self, spec: BuildSpec, capabilities: Capabilities, made: BuildResult, *, lasting: bool
    ) -> BuildSuccess | CompileError:
        key = spec.key(capabilities.architecture, made.tool)
        end = build_ending(made.ended, spec.refusals)
        told: dict[str, Any] = {
            "log": log_of(made.ended, spec.limits),
            "compiler": made.tool.name,
            "confinement": made.confinement,
        }
        try:
            # Nothing is kept under the hash of what a file was, and no refusal is of what it is now.
            for source in spec.sources:
                if source.content.is_stale:
                    raise FileEdited(source.name)
            gone = end is BuildEnding.BUILT and made.content is None
            faulty = gone or end in (BuildEnding.MACHINE, BuildEnding.KILLED)
            if faulty and spec.acts and await self._builds(_control_spec(spec), capabilities):
                told["log"] += "\nWhat the source has run while it is built has ended its build."
                return CompileError(**told, lasting=False)
            if end is BuildEnding.MACHINE:
                words = " ".join((made.ended.stderr or made.ended.stdout).split())[:1000]
                raise JudgeFailure(
                    f"{made.tool.name} cannot build an empty program with the flags of this {spec.kind},"
                    f" or has no room to: {words}",
                    phase="compiling",
                    remedy=OTHER_MACHINE,
                )
            stopped = end is BuildEnding.KILLED or (
                end in (BuildEnding.IDLED, BuildEnding.STOPPED) and spec.kind != SUBMISSION
            )
            if stopped and spec.kind != GENERATED:  # which may kill all that is in its sandbox
                raise JudgeFailure(
                    f"{made.tool.name} was killed or stopped twice while it built a {spec.kind}, not by the"
                    " source",
                    phase="compiling",
                    remedy="Give the machine or the server more memory and time, then run the command again",
                )
            if end is BuildEnding.BUILT:
                if made.content is None:
                    raise JudgeFailure(f"the engine did not hand over {spec.output}", phase="compiling")
                built = BuildSuccess(
                    artifact=made.content,
                    toolchain=made.tool.identity,
                    **told,
                )
                if not isinstance(made.content, WorkerArtifact):
                    return await asyncio.to_thread(self._shelf.keep, key, built)
                outcome = self._shelf.bounded(built)
                if outcome is built:
                    self._shelf.note(key, built, made.content.at)
                return outcome
            by_limits = end in _LASTING and not lacked_room(made.ended)
            lasting = lasting and end is BuildEnding.REFUSED and not lacks_library(told["log"])
            refused = CompileError(**told, lasting=by_limits or lasting)
            if not refused.lasting:
                return refused
            place = _under_limits(key, spec) if by_limits else key
            return await asyncio.to_thread(self._shelf.keep, place, refused)
        finally:
            made.discard()

    async def _builds(self, spec: BuildSpec, capabilities: Capabilities) -> bool:
        """Return True if such a build ends well."""
        made = await self.delivery.build(spec, None, capabilities, may_stay=False)
        made.discard()
        return build_ending(made.ended, spec.refusals) is BuildEnding.BUILT

    # --- what is built beside the work, for many builds ---

    async def _prebuilt(self, spec: BuildSpec, capabilities: Capabilities) -> tuple[JobFile, ...]:
        """Return the files that builds like this one share, once they have been made.

        A grader's object is waited for: it takes no longer than the build itself, and many come at once.
        """
        files = dict[str, BuildSuccess | None]()
        # A header is too large to travel with every build.
        if self.delivery.is_here and (head := head_of(spec)):
            wanted, sights = header_spec(spec, head), sights_of(head)
            files[header_file(head)] = await self._made_ahead(wanted, capabilities, self._headers, sights)
        if spec.shared and len(capabilities.offered(spec.tool)) == 1:
            wanted = object_spec(spec)
            files[OBJECT] = await self._made_ahead(
                wanted, capabilities, self._graders, _GRADER_SIGHTS, wait=True
            )
        return tuple(
            JobFile(name=hidden(name), content=built.artifact, is_reused=name == OBJECT)
            for name, built in files.items()
            if built is not None and not built.log  # the compiler would not say it again
        )

    async def _made_ahead(
        self, spec: BuildSpec, capabilities: Capabilities, demand: Demand, sights: int, *, wait: bool = False
    ) -> BuildSuccess | None:
        """Return what the engine's only toolchain has made."""
        [key] = spec.keys(capabilities)
        found = await asyncio.to_thread(self._shelf.find, key)
        if found is None and demand.is_due(key, sights) and key not in self._background:
            self._begin(key, self.build(msgspec.structs.replace(spec, limits=spec.limits.trusted)))
        if found is None and wait and key in self._background:
            await asyncio.wait({self._background[key]})
            found = await asyncio.to_thread(self._shelf.find, key)
        return found if isinstance(found, BuildSuccess) else None

    def _begin(self, key: str, work: Coroutine[Any, Any, BuildSuccess | CompileError]) -> None:
        """Make something in the background. Where it fails, builds do without it, and do not try again."""
        task = self._background[key] = asyncio.create_task(work)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())


def _under_limits(key: str, spec: BuildSpec) -> str:
    """Return the key under which it is remembered that a source exceeds these limits."""
    return hashlib.sha256(key.encode() + msgspec.json.encode(spec.limits)).hexdigest()
