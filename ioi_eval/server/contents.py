"""Contents that clients send once: kept by their hash, for jobs that name them."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import msgspec

from ioi_eval.engines.embedded.job import drop
from ioi_eval.engines.jobs import piston_api as piston
from ioi_eval.engines.threads import to_its_end
from ioi_eval.model.errors import EngineOverloaded
from ioi_eval.model.job import Job, JobFile, JobResult
from ioi_eval.model.values import Blob
from ioi_eval.store.contents import Depot

_AT_ONCE = 16  # contents on their way
_NAMES = 10_000  # of programs, or twice those that are here, until those that are here no more are forgotten


class ContentCache:
    """The contents that a worker keeps. `depot`: None for none. `largest`: bytes of one, and of a job's."""

    def __init__(self, depot: Depot | None, largest: int, counts: Counter[str]) -> None:
        self._depot, self._most, self._counts = depot, largest, counts
        self._coming = 0
        self._made = set[str]()  # of the contents those that jobs made: these alone are handed out
        self._names = _NAMES

    @property
    def room(self) -> int:
        return 0 if self._depot is None else self._depot.limit

    @property
    def used(self) -> int:
        return 0 if self._depot is None else self._depot.used

    @property
    def largest(self) -> int:
        return min(self._most, self.room)

    def has(self, name: str) -> bool:
        """Return True if a content is here, and count it as used."""
        return self._depot is not None and not self._depot.lacks([name])

    @contextlib.contextmanager
    def lent(self, name: str) -> Iterator[Path | None]:
        """The file of a program that a job made, which stays for as long; None where there is none."""
        if self._depot is None or name not in self._made:
            yield None
            return
        with self._depot.hold([name]):
            path = None if self._depot.lacks([name]) else self._depot.blob(name).path
            yield None if path is None else Path(path)

    async def keep(self, result: JobResult) -> JobResult:
        """Keep what a job made. Of what there is no room for, the result that is returned says nothing."""
        stayed = await to_its_end(lambda: self._taken(result))
        self._counts["made"] += len(stayed)
        return msgspec.structs.replace(result, kept={}, stayed=stayed)

    def _taken(self, result: JobResult) -> dict[str, Blob]:
        stayed = dict[str, Blob]()
        try:
            for name, path in result.kept.items():
                content = Blob.of_file(Path(path))
                if (
                    self._depot is not None
                    and content.size <= self.largest
                    and self._depot.reserve(content.size)
                ):
                    self._depot.release(content.size)
                    if self._depot.add(content):
                        self._made.add(content.sha256)
                        stayed[name] = msgspec.structs.replace(content, path=None)
            if self._depot is not None and len(self._made) > self._names:
                self._made = {name for name in self._made if self._depot.has(name)}
                self._names = max(_NAMES, 2 * len(self._made))
        finally:
            drop(result)
        return stayed

    async def take(self, name: str, pieces: AsyncGenerator[bytes, None]) -> None:
        """Keep a content that comes. Raises Refused, and EngineOverloaded where there is no room."""
        assert self._depot is not None, "there is a route"
        if self._coming >= _AT_ONCE:
            raise EngineOverloaded(f"{_AT_ONCE} contents are on their way already")
        self._coming += 1
        try:
            with self._depot.arrival(name) as arrival:
                async with contextlib.aclosing(pieces):
                    async for piece in pieces:
                        if not arrival.write(piece):
                            raise EngineOverloaded("no room for this content beside those in use")
                if (found := arrival.keep()) != name:
                    raise piston.RefusedRequest(f"this content has the SHA-256 {found}, and is not {name}")
        finally:
            self._coming -= 1
        self._counts["received"] += 1

    @contextlib.contextmanager
    def held(self, job: Job) -> Iterator[Job]:
        """The job with the contents that it names. They stay for as long as it does.

        Raises Refused: some are not here, or all files together are more than a body may have.
        """
        named = [file.content.sha256 for file in job.files if _is_named(file)]
        if self._depot is None or not named:
            yield job
            return
        with self._depot.hold(named):
            if lacking := self._depot.lacks(named):
                self._counts["lacking"] += len(lacking)
                raise piston.lacks_contents(lacking)
            self._counts["used"] += len(named)
            # A copy in each box: a program under our own uid could change the file for all jobs to come.
            files = tuple(
                msgspec.structs.replace(file, content=self._depot.blob(file.content.sha256), copied=True)
                if _is_named(file)
                else file
                for file in job.files
            )
            if sum(file.content.size for file in files) > self._most:
                raise piston.too_large(self._most)
            yield msgspec.structs.replace(job, files=files)


def _is_named(file: JobFile) -> bool:
    return file.content.data is None
