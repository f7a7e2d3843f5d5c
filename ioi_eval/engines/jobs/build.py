"""Builds on one transport: what is compiled once is never compiled again."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import shutil
import threading
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.engines import Transport
from ioi_eval.engines.contract import OTHER_MACHINE, SUBMISSION, Built, Profile, Recipe, Rejected
from ioi_eval.engines.jobs.ahead import (
    GRADERS_PAY_AFTER,
    OBJECT,
    Demand,
    header_name,
    header_recipe,
    object_recipe,
    serves,
)
from ioi_eval.engines.jobs.carrier import Carrier, Made
from ioi_eval.engines.jobs.checks import check
from ioi_eval.model.errors import JudgeFailure, ToolchainGone
from ioi_eval.model.job import JobFile
from ioi_eval.model.options import BuildOptions
from ioi_eval.model.values import Blob, Value
from ioi_eval.rules.builds import Ending, ending, lacked_room, log_of
from ioi_eval.store import Store
from ioi_eval.store.contents import Pin
from ioi_eval.store.memory import Bounded, Shared, recalled, remembered

# --- how a build and its outcome lie in the store: a folder per key ----------------------------------


_ARTIFACT = "artifact"
_PINS = 128  # a descriptor each; many times as many artifacts as jobs use at the same time


class _Record(Value):
    """An outcome in the store: built or rejected. The artifact lies beside it."""

    built: Built | None = None
    rejected: Rejected | None = None


class Shelf:
    """Outcomes of builds, good and bad, on disk. What was found or kept last is safe from eviction.

    Its methods block and may be called from several threads.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pins = Bounded[Pin](_PINS, Pin.release)
        self._lock = threading.Lock()

    def find(self, key: str) -> Built | Rejected | None:
        self._pin(key)
        found = recalled(self._store, key, _Record)
        outcome = found and _outcome(*found)
        if found is not None and outcome is None:
            self._store.remove(key)
        return outcome

    def keep(self, key: str, outcome: Built | Rejected) -> Built | Rejected:
        """Remember an outcome, and a copy of what was made: that is what the returned outcome refers to."""
        if isinstance(outcome, Built) and outcome.artifact.size > self._store.largest:
            size, most = outcome.artifact.size, self._store.largest
            words = f"The program has {size} bytes, and {most} are the most that is taken."
            log = f"{outcome.log}\n{words}".lstrip()
            outcome = Rejected(log=log, compiler=outcome.compiler, confinement=outcome.confinement)
        self._pin(key)
        kept = _outcome(*remembered(self._store, key, _Record, lambda folder: _filled(folder, outcome)))
        assert kept is not None, "what the store has just taken is whole"
        return kept

    def close(self) -> None:
        with self._lock:
            self._pins.clear()

    def _pin(self, key: str) -> None:
        with self._lock:
            if self._pins.get(key) is None:
                self._pins.keep(key, self._store.pin(key))


def _filled(folder: Path, outcome: Built | Rejected) -> _Record:
    if isinstance(outcome, Rejected):
        return _Record(rejected=outcome)
    made, target = outcome.artifact, folder / _ARTIFACT
    if made.path is not None:
        shutil.copyfile(made.path, target)
    else:
        target.write_bytes(made.read())
    target.chmod(0o755)
    bare = Blob(sha256=made.sha256, size=made.size)
    return _Record(built=msgspec.structs.replace(outcome, artifact=bare))


def _outcome(record: _Record, folder: Path) -> Built | Rejected | None:
    """Return a remembered outcome; None where a power cut took the artifact."""
    if record.built is None:
        return record.rejected
    path = folder / _ARTIFACT
    if not path.is_file() or path.stat().st_size != record.built.artifact.size:
        return None
    artifact = msgspec.structs.replace(record.built.artifact, path=str(path))
    return msgspec.structs.replace(record.built, artifact=artifact)


# --- builds, each made once --------------------------------------------------------------------------


_ONCE_MORE = frozenset({Ending.CRASHED, Ending.IDLED, Ending.STOPPED, Ending.KILLED})
# By limits of ours, which do not change with the load; and what crashed a compiler twice crashes it again.
_LASTING = frozenset({Ending.CUT_SHORT, Ending.IDLED, Ending.CRASHED})


class Builds:
    """Builds by build jobs and remembers what came of them in a store.

    Whoever asks for something that is being built waits for that build. Errors in a source are remembered as
    builds are, and that it exceeds its limits, for the same limits; what may hang on the load is not. An
    outcome lies under the key of the toolchain that really built, and is found while a server has that one.
    Closing ends what goes on in the background.
    """

    def __init__(self, transport: Transport, carrier: Carrier, store: Store, options: BuildOptions) -> None:
        self._transport, self._carrier, self._attempts = transport, carrier, options.attempts
        self._shelf = Shelf(store)
        self._under_way: Shared[Built | Rejected] = Shared()
        self._ahead_of_none = options.precompile_after is None
        self._headers, self._graders = Demand(options.precompile_after), Demand(GRADERS_PAY_AFTER)
        self._background: dict[str, asyncio.Task[Built | Rejected]] = {}

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

    async def build(self, recipe: Recipe) -> Built | Rejected:
        for _ in range(self._attempts):
            profile = await self._transport.profile()
            profile.shell()  # without it there are no compilers either, but that is not why
            profile.tool(recipe.tool, f"building a {recipe.kind}")
            keys = _keys(recipe, profile)
            with contextlib.suppress(ToolchainGone):  # servers have changed since: the next job is for these
                together = " ".join(keys)
                outcome = await self._under_way.call(together, partial(self._find_or_make, recipe, profile))
                return await self._that_travels(recipe, profile, outcome)
        raise JudgeFailure(f"servers changed their {recipe.tool} again and again", phase="compiling")

    async def _that_travels(
        self, recipe: Recipe, profile: Profile, outcome: Built | Rejected
    ) -> Built | Rejected:
        """Return the outcome, or the refusal of a submission's program that cannot travel with its tests."""
        if isinstance(outcome, Rejected) or recipe.kind != SUBMISSION:
            return outcome
        reason = await self._carrier.refusal(outcome.artifact, profile)
        if not reason:
            return outcome
        return Rejected(log=reason, compiler=outcome.compiler, confinement=outcome.confinement, lasting=False)

    async def _find_or_make(self, recipe: Recipe, profile: Profile) -> Built | Rejected:
        found = await self._found(recipe, profile)
        if found is not None:
            return found
        checked = await check(self._carrier, recipe, profile, attempts=self._attempts)
        if checked is not None:
            key = recipe.key(profile.architecture, profile.toolchains[recipe.tool])
            return await asyncio.to_thread(self._shelf.keep, key, checked)
        ahead = await self._ahead(recipe, profile)
        made = await self._carrier.build(recipe, ahead, profile, alone=False, attempts=self._attempts)
        end = ending(made.ended, recipe.refusals)
        if end not in _ONCE_MORE:
            return await self._take(recipe, profile, made, lasting=True)
        made.discard()
        # Once more, with nothing made ahead. What crashes or is stopped twice is the source's fault.
        alone = end is not Ending.CRASHED or lacked_room(made.ended)  # another may have had it
        made = await self._carrier.build(recipe, (), profile, alone=alone, attempts=self._attempts)
        return await self._take(recipe, profile, made, lasting=False)

    async def _found(self, recipe: Recipe, profile: Profile) -> Built | Rejected | None:
        """Return what one of the profile's toolchains has built before."""
        for key in _keys(recipe, profile):
            for each in (key, _under_limits(key, recipe)):
                if (found := await asyncio.to_thread(self._shelf.find, each)) is not None:
                    return found
        return None

    async def _take(self, recipe: Recipe, profile: Profile, made: Made, *, lasting: bool) -> Built | Rejected:
        key = recipe.key(profile.architecture, made.tool)
        end = ending(made.ended, recipe.refusals)
        told: dict[str, Any] = {
            "log": log_of(made.ended, recipe.limits.log),
            "compiler": made.compiler,
            "confinement": made.confinement,
        }
        try:
            if end is Ending.MACHINE:
                words = " ".join((made.ended.stderr or made.ended.stdout).split())[:1000]
                raise JudgeFailure(
                    f"{made.compiler} cannot build an empty program with the flags of this {recipe.kind},"
                    f" or has no room to: {words}",
                    phase="compiling",
                    remedy=OTHER_MACHINE,
                )
            if end is Ending.KILLED or (end in (Ending.IDLED, Ending.STOPPED) and recipe.kind != SUBMISSION):
                raise JudgeFailure(
                    f"{made.compiler} was killed or stopped twice while it built a {recipe.kind}, not by the"
                    " source",
                    phase="compiling",
                    remedy="Give the machine or the server more memory and time, then run the command again",
                )
            if end is Ending.BUILT:
                if made.content is None:
                    raise JudgeFailure(f"the engine did not hand over {recipe.output}", phase="compiling")
                built = Built(artifact=made.content, toolchain=made.tool.identity, **told)
                return await asyncio.to_thread(self._shelf.keep, key, built)
            by_limits = end in _LASTING and not made.by_transport and not lacked_room(made.ended)
            refused = Rejected(**told, lasting=by_limits or (lasting and end is Ending.REFUSED))
            if not refused.lasting:
                return refused
            place = _under_limits(key, recipe) if by_limits else key
            return await asyncio.to_thread(self._shelf.keep, place, refused)
        finally:
            made.discard()

    # --- what is compiled ahead ---

    async def _ahead(self, recipe: Recipe, profile: Profile) -> tuple[JobFile, ...]:
        """Return the files that builds like this one share, where it pays.

        A grader's object is waited for: it takes no longer than the build itself, and many come at once.
        """
        files = dict[str, Built | None]()
        if self._ahead_of_none:
            return ()
        # A header is too large to travel with every build.
        if self._carrier.is_here and serves(recipe):
            files[header_name(recipe)] = await self._made_ahead(header_recipe(recipe), profile, self._headers)
        if recipe.shared and len(profile.offered(recipe.tool)) == 1:
            files[OBJECT] = await self._made_ahead(object_recipe(recipe), profile, self._graders, wait=True)
        return tuple(
            JobFile(name=name, content=built.artifact, recurs=name == OBJECT)
            for name, built in files.items()
            if built is not None
        )

    async def _made_ahead(
        self, recipe: Recipe, profile: Profile, demand: Demand, *, wait: bool = False
    ) -> Built | None:
        """Return what the profile's only toolchain has made."""
        [key] = _keys(recipe, profile)
        found = await asyncio.to_thread(self._shelf.find, key)
        if found is None and demand.pays(key) and key not in self._background:
            task = self._background[key] = asyncio.create_task(self.build(recipe))
            task.add_done_callback(_look_at)
        if found is None and wait and key in self._background:
            await asyncio.wait({self._background[key]})
            found = await asyncio.to_thread(self._shelf.find, key)
        return found if isinstance(found, Built) else None


def _under_limits(key: str, recipe: Recipe) -> str:
    """Return the key under which it is remembered that a source exceeds these limits."""
    return hashlib.sha256(key.encode() + msgspec.json.encode(recipe.limits)).hexdigest()


def _keys(recipe: Recipe, profile: Profile) -> tuple[str, ...]:
    """Return the key of the artifact for each toolchain that may build it."""
    return tuple(recipe.key(profile.architecture, tool) for tool in profile.offered(recipe.tool))


def _look_at(task: asyncio.Task[Built | Rejected]) -> None:
    """Swallow the failure of a part made ahead: builds do without it, and do not try again."""
    if not task.cancelled():
        task.exception()
