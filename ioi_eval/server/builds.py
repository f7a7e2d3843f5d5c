"""Builds that a store keeps, and those under way, which requests share."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from ioi_eval.engines.embedded.job import drop
from ioi_eval.model.job import JobFile, JobResult, Stage
from ioi_eval.model.values import Blob, Value
from ioi_eval.server.jobs import AWAY, staying
from ioi_eval.store import Store
from ioi_eval.store.memory import Shared, recalled, remembered

# --- how builds lie in the store: a folder per key with the stage that made it and its files ---------


_REFUSED = 1  # exit code: the submission does not compile
_PASSES = re.compile(
    r"\b(killed|signal|memory|space|resources?|unavailable)\b", re.I
)  # in words of one that might later


class KeptBuild(Value):
    """A build's words, and the files that it made for jobs to come."""

    stage: Stage
    files: tuple[JobFile, ...] = ()


class KeptBuilds:
    """Builds kept in a store, or nowhere. The methods block and may be called from several threads."""

    def __init__(self, store: Store | None) -> None:
        self._store = store

    def find(self, key: str) -> KeptBuild | None:
        if self._store is None:
            return None
        with self._store.pin(key):
            found = recalled(self._store, key, KeptBuild)
        return found and found[0]

    def keep(self, key: str, stage: Stage, made: Mapping[str, str]) -> KeptBuild:
        """A time limit, or a compiler that broke, is not remembered: the next time may go better.

        g++ whose compiler the kernel killed ends as it does for a faulty program. Words that may mean either
        cost a build each time. Nor is remembered what takes the room of many others.
        """
        broke = stage.code == _REFUSED and _PASSES.search(stage.stdout + stage.stderr)
        if stage.code not in (0, _REFUSED) or broke:
            return KeptBuild(stage=stage)
        contents = {name: Blob.of(Path(path).read_bytes()) for name, path in made.items()}
        files = (JobFile(name=name, content=contents[name], executable=True, text=False) for name in made)
        kept = KeptBuild(stage=stage, files=tuple(files))
        size = sum(content.size for content in contents.values())
        if self._store is not None and size <= self._store.largest:
            remembered(self._store, key, KeptBuild, lambda _: kept)
        return kept


# --- builds under way --------------------------------------------------------------------------------


class SharedBuilds:
    """Builds by key. One that has begun goes on when its clients hang up, and they ask again.

    Until it ends, or nobody has come for some seconds, it holds the place of the request that began it: no
    client gets more builds under way than it could have requests, nor slots for long by hanging up.
    """

    def __init__(self, store: Store | None) -> None:
        self._kept = KeptBuilds(store)
        self._builds: Shared[KeptBuild] = Shared(lasting=AWAY)

    def under_way(self, key: str) -> bool:
        return key in self._builds

    async def get(self, key: str, make: Callable[[], Awaitable[JobResult]]) -> KeptBuild:
        """Return the build under a key; `make` runs its job where it is not kept and not under way."""

        async def find_or_make() -> KeptBuild:
            with staying():
                return await asyncio.to_thread(self._kept.find, key) or await self._made(key, make)

        return await self._builds.call(key, find_or_make)

    async def _made(self, key: str, make: Callable[[], Awaitable[JobResult]]) -> KeptBuild:
        result = await make()
        assert result.compile is not None, "the job has a compile script"
        try:
            return await asyncio.to_thread(self._kept.keep, key, result.compile, result.kept)
        finally:
            await asyncio.to_thread(drop, result)

    async def close(self) -> None:
        """End the builds that nobody waits for any more."""
        await self._builds.close()
