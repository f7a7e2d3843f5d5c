"""Jobs for servers that keep contents by their hash: what is there already does not travel again.

A server that keeps nothing, or no more, or has no room, is sent everything with each job.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from time import monotonic
from weakref import WeakKeyDictionary

import msgspec

from ioi_eval.engines.contract import ArtifactsLost, Far, Staying
from ioi_eval.engines.jobs.piston_api import BODY, LACKS_CONTENT, LacksContents, error_of
from ioi_eval.engines.piston.identity import Identity
from ioi_eval.engines.piston.sending import API, HttpEndpoint, Patience, Request, Wire, request_of, time_for
from ioi_eval.engines.threads import to_its_end
from ioi_eval.model.errors import EngineError, EngineOverloaded, JobRejected, JobTooLarge
from ioi_eval.model.job import Ahead, Job, JobFile, JobResult
from ioi_eval.model.values import Blob
from ioi_eval.store.memory import Shared

# Bytes in the form in which a content travels. A smaller one is not worth two more requests.
_WORTH_NAMING = 1 << 15
_UNKNOWN = Identity()
_PRINTS = "run"  # the script of a build job that prints what was made
_SHARE = 2  # a job whose contents take more than this part of a server's room would push its own out
_ROUNDS = 3  # of sending what the server says that it lacks
_AT_ONCE = 4  # contents on their way to one server
_SLOWEST = 1 << 18  # bytes of each of them that get through in a second at the least
_MOST_AHEAD = 8  # files that a server makes ahead, of 100 MB or more each
_AGAIN = 60.0  # seconds until a server is asked again to keep a content that it had no room for
_NO_SUCH_API = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED)


class _Shelf:
    """The contents on their way to a server, and those that it had no room for."""

    def __init__(self) -> None:
        self.declined: dict[str, float] = {}  # until when
        self.coming: Shared[None] = Shared()
        # By key, files that were made there. None: one is being made, or could not be.
        self.ahead = dict[str, JobFile | None]()
        self.wanted: Counter[str] = Counter()  # by key: jobs that would have been quicker
        self.turns = asyncio.Semaphore(_AT_ONCE)

    def pays(self, ahead: Ahead) -> bool:
        """To be asked once per job: whether this is worth being made now."""
        self.wanted[ahead.key] += 1
        enough = self.wanted[ahead.key] >= ahead.after and len(self.ahead) < _MOST_AHEAD
        if enough and ahead.key not in self.ahead:
            self.ahead[ahead.key] = None
            return True
        return False

    def forget(self, ahead: Ahead) -> None:
        """Have it made again, after as many jobs."""
        self.ahead.pop(ahead.key, None)
        self.wanted.pop(ahead.key, None)

    def takes(self, name: str) -> bool:
        return self.declined.get(name, 0.0) <= monotonic()


class Sender:
    """Sends jobs, and ahead of them contents that their server is to keep."""

    def __init__(self, wire: Wire, patience: Patience) -> None:
        self._wire, self._patience = wire, patience
        self._shelves: WeakKeyDictionary[HttpEndpoint, _Shelf] = WeakKeyDictionary()
        self._coming: Shared[Blob] = Shared()

    async def execute(self, server: HttpEndpoint, job: Job, identity: Identity = _UNKNOWN) -> JobResult:
        """Execute a job once, on a server of this identity. Errors are those of the engine's contract."""
        if job.stays and _keeps_programs(server):
            result = await self._sent(server, _without_printing(job), identity, keep=(job.stays,))
            if result.stayed or result.run.code != 0:
                return result
        return await self._sent(server, msgspec.structs.replace(job, ahead=()), identity)

    async def _sent(
        self, server: HttpEndpoint, job: Job, identity: Identity, keep: tuple[str, ...] = ()
    ) -> JobResult:
        shelf = self._shelves.get(server) or self._shelves.setdefault(server, _Shelf())
        lacking = set[str]()
        for _ in range(_ROUNDS if server.contents else 0):
            prepared = [
                (ahead, file) for ahead in job.ahead if (file := shelf.ahead.get(ahead.key)) is not None
            ]
            whole = _with(job, *(file for ahead, _ in prepared for file in ahead.beside))
            named = _named(server, shelf, whole)
            built = {name for name, file in named.items() if _lies_at(file.content, server)} - lacking
            await self._bring(server, shelf, {name: named[name] for name in named.keys() - built})
            named = {name: file for name, file in named.items() if name in built or name in server.holds}
            whole = _with(whole, *(file for _, file in prepared))
            named |= {file.content.sha256: file for _, file in prepared}
            if not named:
                break
            try:
                return await self._executed(server, whole, named, identity, keep)
            except LacksContents as refused:
                server.holds -= refused.names
                lacking |= refused.names
                for ahead, file in prepared:
                    if file.content.sha256 in refused.names:
                        shelf.forget(ahead)
            except JobRejected as refused:
                if isinstance(refused, JobTooLarge) and refused.limit == BODY:
                    break  # by what its contents take when they are unpacked
                if LACKS_CONTENT not in str(refused):
                    raise
                server.contents = 0  # another version was started in its place
        return await self._executed(server, job, {}, identity, keep)

    async def _executed(
        self,
        server: HttpEndpoint,
        job: Job,
        named: Mapping[str, JobFile],
        identity: Identity,
        keep: tuple[str, ...],
    ) -> JobResult:
        files = list[JobFile]()
        for file in job.files:
            if isinstance(file.content, Far) and file.content.sha256 not in named:
                content = await self._content(file)  # it lies elsewhere, and comes along
                files.append(msgspec.structs.replace(file, content=content, origin=None))
            else:
                files.append(file)
        whole = msgspec.structs.replace(job, files=tuple(files))
        request = await request_of(identity.asking(whole), server.url, named, keep)
        time = time_for(job, len(request.body), server.times, self._patience)
        result = await self._wire.execute(server.url, request, time, worker=identity.worker)
        return identity.checked(job, result)

    # --- what workers make ahead -----------------------------------------------------------------------

    def wants(self, server: HttpEndpoint, job: Job) -> list[Ahead]:
        """Return what a server is to make ahead, once so many jobs there would have been quicker with it."""
        if not job.ahead or not _keeps_programs(server):
            return []
        shelf = self._shelves.get(server) or self._shelves.setdefault(server, _Shelf())
        return [ahead for ahead in job.ahead if shelf.pays(ahead)]

    async def make(self, server: HttpEndpoint, ahead: Ahead, identity: Identity = _UNKNOWN) -> None:
        """Have a server make a file that it keeps. Jobs do without it until it is there, and if it fails."""
        shelf, job = self._shelves[server], ahead.made_by
        try:
            result = await self._sent(server, _without_printing(job), identity, keep=(job.stays,))
        except EngineError:
            shelf.forget(ahead)
            return
        words = result.compile is not None and (result.compile.stdout or result.compile.stderr)
        if (kept := result.stayed.get(job.stays)) is not None and not words:  # else it would warn no more
            shelf.ahead[ahead.key] = JobFile(name=ahead.name, content=kept)

    # --- programs that lie where they were built -------------------------------------------------------

    async def _content(self, file: JobFile) -> Blob:
        far = file.content
        if not isinstance(far, Far):
            return far
        return await self._coming.call(far.sha256, lambda: self._fetched(far))

    async def _fetched(self, far: Far) -> Blob:
        """Return a program from a server that has it. Raises ArtifactsLost where none has."""
        there = [each for each in self._shelves if far.sha256 in each.holds or _lies_at(far, each)]
        for server in [each for each in there if each.usable]:
            with suppress(EngineError):
                answer = await self._wire.get(
                    server.url, f"{API}/contents/{far.sha256}", self._patience.margin
                )
                blob = Blob.of(answer.body)
                if answer.status == HTTPStatus.OK and blob.sha256 == far.sha256:
                    return blob
            server.holds.discard(far.sha256)
        raise ArtifactsLost([far])

    # --- contents that are sent ahead ------------------------------------------------------------------

    async def _bring(self, server: HttpEndpoint, shelf: _Shelf, named: Mapping[str, JobFile]) -> None:
        """Send what is missing, each once for all jobs that want it at the same time."""
        missing = [pair for pair in named.items() if pair[0] not in server.holds]
        if not missing:
            return
        try:
            async with asyncio.TaskGroup() as group:
                for name, file in missing:
                    group.create_task(self._bring_one(server, shelf, name, file))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None  # all are of one server: any of them tells

    async def _bring_one(self, server: HttpEndpoint, shelf: _Shelf, name: str, file: JobFile) -> None:
        await shelf.coming.call(name, lambda: self._put(server, shelf, name, file))

    async def _put(self, server: HttpEndpoint, shelf: _Shelf, name: str, file: JobFile) -> None:
        path = f"/contents/{name}"
        async with shelf.turns:
            if not server.contents or name in server.holds:
                return
            found = await self._wire.head(server.url, path, self._patience.margin)
            if found.status == HTTPStatus.OK:
                server.holds.add(name)
                return
            content = await self._content(file)
            body = await to_its_end(content.read)
            request = Request(body=body, packed=content.sha256 != name, is_json=False)
            time = self._patience.margin + len(body) / _SLOWEST
            answer = await self._wire.put(server.url, path, request, time)
        if answer.status == HTTPStatus.CREATED:
            server.holds.add(name)
            return
        if answer.status in _NO_SUCH_API:
            server.contents = 0
            return
        error = error_of(answer.status, answer.body, server.url)
        if not isinstance(error, EngineOverloaded | JobTooLarge):
            raise error
        shelf.declined[name] = monotonic() + _AGAIN


def _keeps_programs(server: HttpEndpoint) -> bool:
    return server.contents > 0 and server.report.keeps_programs


def _with(job: Job, *files: JobFile) -> Job:
    return msgspec.structs.replace(job, files=(*job.files, *files)) if files else job


def _without_printing(job: Job) -> Job:
    """The job without the script that prints what stays."""
    return msgspec.structs.replace(job, files=tuple(file for file in job.files if file.name != _PRINTS))


def _lies_at(content: Blob, server: HttpEndpoint) -> bool:
    """Return True for a program that the server has built, and keeps as far as we know."""
    return isinstance(content, Staying) and content.at == server.url


def _named(server: HttpEndpoint, shelf: _Shelf, job: Job) -> Mapping[str, JobFile]:
    """The files that are worth being sent ahead, by the hash of what they hold unpacked."""
    worth = [
        file
        for file in job.files
        if isinstance(file.content, Far) or (file.recurs and file.content.size >= _WORTH_NAMING)
    ]
    named = {(file.origin or file).content.sha256: file for file in worth}
    size = sum((file.origin or file).content.size for file in named.values())
    if size > server.contents // _SHARE:
        return {}
    return {name: file for name, file in named.items() if shelf.takes(name)}
