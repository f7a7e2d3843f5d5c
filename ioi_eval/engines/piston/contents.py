"""Sends jobs to servers, and before them the contents that a server is to keep.

Contents that a server keeps by their hashes travel once. A server that keeps none, or has no space for more,
is sent everything with each job.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from time import monotonic
from weakref import WeakKeyDictionary

import msgspec

from ioi_eval.engines.contract import ArtifactsLost, RemoteArtifact, WorkerArtifact
from ioi_eval.engines.fleet import Endpoint
from ioi_eval.engines.jobs.build import hidden
from ioi_eval.engines.jobs.headers import MAX_HEADERS, Demand
from ioi_eval.engines.jobs.piston_api import BODY, LACKS_CONTENT, LacksContents
from ioi_eval.engines.piston.reports import EndpointReport
from ioi_eval.engines.piston.wire import TimeOf, Wire
from ioi_eval.model.doing import log_step
from ioi_eval.model.errors import EngineError, EngineOverloaded, JobRejected, JobTooLarge, ungrouped
from ioi_eval.model.job import Ahead, Job, JobFile, JobResult
from ioi_eval.model.retry import CONTENTS, DECLINED_FILE, WORKER_HEADER, WORKER_PROGRAM
from ioi_eval.model.values import Blob
from ioi_eval.store.memory import Shared

_log = logging.getLogger(__name__)

# Bytes in the form in which a content travels. A smaller one is not worth two more requests.
_WORTH_NAMING = 1 << 15
_PRINTS = "run"  # the script of a build job that prints what was made
_SHARE = 2  # a job whose contents take more than this part of a server's space would displace its own
_AT_ONCE = 4  # contents on their way to one server

Server = Endpoint[EndpointReport]


class ServerContents:
    """The contents of one server, as far as the client knows."""

    def __init__(self) -> None:
        self.report: EndpointReport | None = None  # the inspection that `space` is from
        self.space = 0  # bytes of contents that the server keeps; 0: it keeps none
        self.held = set[str]()  # hashes
        self.declined: dict[str, float] = {}  # by hash, until when
        self.coming: Shared[None] = Shared()
        # By key, files that were made there. None: it is being made, or could not be.
        self.ahead = dict[str, JobFile | None]()
        self.demand = Demand(MAX_HEADERS)
        self.turns = asyncio.Semaphore(_AT_ONCE)

    def pays(self, ahead: Ahead) -> bool:
        """Count a job that this would have made quicker. Return True if it is to be made now."""
        if not self.demand.is_due(ahead.key, ahead.sights) or ahead.key in self.ahead:
            return False
        self.ahead[ahead.key] = None
        return True

    def forget(self, ahead: Ahead) -> None:
        """Have it made again, after as many jobs."""
        WORKER_HEADER.log(_log, ahead.name)
        self.ahead.pop(ahead.key, None)
        self.demand.forget(ahead.key)

    def named(self, job: Job) -> dict[str, JobFile]:
        """Return the files that are worth being sent before the job, by the hash of the unpacked content."""
        worth = (
            file
            for file in job.files
            if isinstance(file.content, RemoteArtifact)
            or (file.is_reused and file.content.size >= _WORTH_NAMING)
        )
        named = {(file.origin or file).content.sha256: file for file in worth}
        if sum((file.origin or file).content.size for file in named.values()) > self.space // _SHARE:
            return {}
        return {name: file for name, file in named.items() if self.declined.get(name, 0.0) <= monotonic()}


class ContentSender:
    """Sends jobs over a wire, and before them the contents that their server is to keep."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._contents: WeakKeyDictionary[Server, ServerContents] = WeakKeyDictionary()
        self._coming: Shared[Blob] = Shared()

    def contents_of(self, server: Server) -> ServerContents:
        contents = self._contents.get(server) or self._contents.setdefault(server, ServerContents())
        assert server.report is not None, "it was inspected"
        if contents.report is not server.report:
            contents.report, contents.space = server.report, server.report.contents
        return contents

    async def execute(self, server: Server, job: Job, time: TimeOf) -> JobResult:
        """Execute a job once. Errors are those of the engine's contract."""
        contents, report = self.contents_of(server), server.report
        assert report is not None, "it was inspected"
        if job.keep and contents.space and report.keeps_programs:
            result = await self._sent(report, contents, job, time, keep=job.keep)
            if result.stayed or result.run.code != 0:
                return result
            WORKER_PROGRAM.log(_log, f"{server.url} did not keep {', '.join(job.keep)}")
        return await self._sent(report, contents, msgspec.structs.replace(job, ahead=()), time)

    async def _sent(
        self,
        report: EndpointReport,
        contents: ServerContents,
        job: Job,
        time: TimeOf,
        keep: tuple[str, ...] = (),
    ) -> JobResult:
        """Send what the server lacks, then the job. `keep`: what stays there, and is not printed."""
        lacking = set[str]()
        if keep:
            silent = tuple(file for file in job.files if file.name != _PRINTS)
            job = msgspec.structs.replace(job, files=silent)
        for _ in range(CONTENTS.max_attempts if contents.space else 0):
            prepared = [
                (ahead, msgspec.structs.replace(file, name=hidden(file.name)))
                for ahead in job.ahead
                if (file := contents.ahead.get(ahead.key)) is not None
            ]
            named = contents.named(job)
            built = {
                name
                for name, file in named.items()
                if isinstance(file.content, WorkerArtifact)
                and file.content.at == report.url
                and name not in lacking
            }
            missing = {name: named[name] for name in named.keys() - built - contents.held}
            if missing:
                await self._bring(report.url, contents, missing)
            named = {name: file for name, file in named.items() if name in built or name in contents.held}
            named |= {file.content.sha256: file for _, file in prepared}
            if not named:
                break
            whole = msgspec.structs.replace(job, files=(*job.files, *(file for _, file in prepared)))
            try:
                return await self._executed(report, whole, named, keep, time)
            except LacksContents as refused:
                CONTENTS.log(_log, refused)
                contents.held -= refused.names
                lacking |= refused.names
                for ahead, file in prepared:
                    if file.content.sha256 in refused.names:
                        contents.forget(ahead)
            except JobRejected as refused:
                if isinstance(refused, JobTooLarge) and refused.limit == BODY:
                    break  # by what its contents take when they are unpacked
                if LACKS_CONTENT not in str(refused):
                    raise
                contents.space = 0  # another version was started in its place
        return await self._executed(report, job, {}, keep, time)

    async def _executed(
        self,
        report: EndpointReport,
        job: Job,
        named: Mapping[str, JobFile],
        keep: tuple[str, ...],
        time: TimeOf,
    ) -> JobResult:
        files = list[JobFile]()
        for file in job.files:
            if isinstance(file.content, RemoteArtifact) and file.content.sha256 not in named:
                content = await self._content(file)  # it lies elsewhere, and comes along
                files.append(msgspec.structs.replace(file, content=content, origin=None))
            else:
                files.append(file)
        whole = msgspec.structs.replace(job, files=tuple(files))
        return await self._wire.execute(report, whole, named, keep, time)

    # --- what servers make ahead -------------------------------------------------------------------------

    def wants(self, server: Server, ahead: Ahead) -> bool:
        """Return True if a server is to make this now: as many jobs there would have been quicker with it.

        To be asked once after each of them.
        """
        contents = self.contents_of(server)
        keeps = server.report is not None and server.report.keeps_programs
        return contents.space > 0 and keeps and contents.pays(ahead)

    async def make(self, server: Server, ahead: Ahead, time: TimeOf) -> None:
        """Have a server make a file that it keeps. Jobs do without it until it is there, and if it fails."""
        contents, report, job = self.contents_of(server), server.report, ahead.made_by
        assert report is not None, "it was inspected"
        try:
            result = await self._sent(report, contents, job, time, keep=job.keep)
        except EngineError:
            contents.forget(ahead)
            return
        words = result.compile is not None and (result.compile.stdout or result.compile.stderr)
        if (kept := result.stayed.get(job.keep[0])) is not None and not words:  # else it would warn no more
            contents.ahead[ahead.key] = JobFile(name=ahead.name, content=kept)

    # --- programs that lie where they were built -------------------------------------------------------

    async def _content(self, file: JobFile) -> Blob:
        far = file.content
        if not isinstance(far, RemoteArtifact):
            return far
        return await self._coming.call(far.sha256, lambda: self._fetched(far))

    async def _fetched(self, far: RemoteArtifact) -> Blob:
        """Return a program from a server that has it. Raises ArtifactsLost if none has."""
        home = far.at if isinstance(far, WorkerArtifact) else ""
        known = [*self._contents.items()]
        for server, contents in known:
            if not server.usable or (far.sha256 not in contents.held and server.url != home):
                continue
            data = await self._wire.get(server.url, far.sha256)
            if data is not None and (blob := Blob.of(data)).sha256 == far.sha256:
                return blob
            contents.held.discard(far.sha256)
        raise ArtifactsLost([far])

    # --- contents that are sent before a job ---------------------------------------------------------------

    async def _bring(self, address: str, contents: ServerContents, missing: Mapping[str, JobFile]) -> None:
        """Send each of them once for all jobs that want it at the same time."""
        with ungrouped(Exception):  # all are of one server: any of them tells
            async with asyncio.TaskGroup() as group:
                for name, file in missing.items():
                    sending = partial(self._put, address, contents, name, file)
                    group.create_task(contents.coming.call(name, sending))

    async def _put(self, address: str, contents: ServerContents, name: str, file: JobFile) -> None:
        async with contents.turns:
            if not contents.space or name in contents.held:
                return
            try:
                if not await self._wire.has(address, name):
                    if isinstance(file.content, RemoteArtifact):
                        file = msgspec.structs.replace(file, content=await self._content(file), origin=None)
                    if not await self._wire.put(address, name, file):
                        contents.space = 0
                        return
                    log_step(_log, "file %s to %s: kept there", file.name, address)
                contents.held.add(name)
            except (EngineOverloaded, JobTooLarge) as error:
                DECLINED_FILE.log(_log, error)
                contents.declined[name] = monotonic() + DECLINED_FILE.longest_wait
