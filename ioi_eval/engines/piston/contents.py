"""Sends jobs to servers. Before a job, it sends the file contents that the server should store.

A content that a server stores by its hash is sent once. A server that stores no contents, or has no space for
more, receives all files with each job.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable
from functools import partial
from time import monotonic
from weakref import WeakKeyDictionary

import msgspec

from ioi_eval.engines.contract import ArtifactsLost, RemoteArtifact, SharedBuild, WorkerArtifact
from ioi_eval.engines.fleet import Endpoint
from ioi_eval.engines.jobs.headers import MAX_HEADERS, PrebuiltFileUseCounter
from ioi_eval.engines.jobs.piston_api import BODY, LACKS_CONTENT, MissingContentsError, find_first_script
from ioi_eval.engines.piston.reports import EndpointReport
from ioi_eval.engines.piston.sending import count_sent_bytes
from ioi_eval.engines.piston.wire import GetMaxSeconds, ServerClient
from ioi_eval.model.doing import log_step
from ioi_eval.model.errors import (
    EngineError,
    EngineOverloaded,
    JobRejected,
    JobTooLarge,
    raise_first_error_of_group,
)
from ioi_eval.model.job import Job, JobFile, JobResult
from ioi_eval.model.retry import CONTENTS, DECLINED_FILE, WORKER_HEADER, WORKER_PROGRAM
from ioi_eval.model.values import Blob
from ioi_eval.store.memory import SharedCalls

_log = logging.getLogger(__name__)

# Minimum bytes of a content that is sent before the job, in its compressed form. For smaller contents, a
# second request costs more than it saves.
_MIN_CONTENT_BYTES = 1 << 15
_PRINT_SCRIPT = "run"  # script of a build job that prints the program
# A job's contents may use at most a server's space divided by this number, so that contents of jobs do not
# evict each other.
_SPACE_PARTS = 2
_MAX_UPLOADS = 4  # maximum number of contents that are sent to a server at the same time

Server = Endpoint[EndpointReport]


class StoredServerContents:
    """The client's record of the contents that a server stores."""

    def __init__(self) -> None:
        # Report of the inspection in which the server reported `max_bytes`.
        self.report: EndpointReport | None = None
        self.max_bytes = 0  # bytes of contents that the server can store; 0 means that it stores no contents
        self.stored_hashes = set[str]()
        # Time until which a declined content is not sent again, by the hash of the content.
        self.declined_until: dict[str, float] = {}
        self.uploads: SharedCalls[None] = SharedCalls()
        # Files of shared builds on the server, by the build's hash. None means that the build runs or has
        # failed.
        self.shared_files = dict[str, Blob | None]()
        self.header_uses = PrebuiltFileUseCounter(MAX_HEADERS)
        self.upload_slots = asyncio.Semaphore(_MAX_UPLOADS)

    def claim_shared_build(self, shared_build: SharedBuild) -> bool:
        """Count a job that could have used a shared build. Return True if the caller must start the build."""
        if (
            not self.header_uses.is_due_after_use(shared_build.sha256, shared_build.min_uses)
            or shared_build.sha256 in self.shared_files
        ):
            return False
        self.shared_files[shared_build.sha256] = None
        return True

    def forget_build(self, shared_build: SharedBuild) -> None:
        """Forget a shared build, so that it is executed again after as many jobs as the first time."""
        WORKER_HEADER.log(_log, f"{shared_build.build.keep[0]} {shared_build.sha256[:12]}")
        self.shared_files.pop(shared_build.sha256, None)
        self.header_uses.reset(shared_build.sha256)

    def add_shared_files(self, job: Job) -> tuple[Job, dict[str, SharedBuild]]:
        """Return the job with the files that shared builds made on this server.

        Shared builds without a file on the server are left out of the job. The second value contains
        the shared builds whose files are in the job, by the hash of the file.
        """
        job_files, shared_builds = list[JobFile](), dict[str, SharedBuild]()
        for file in job.files:
            content = file.content
            if isinstance(content, SharedBuild):
                shared_file = self.shared_files.get(content.sha256)
                if shared_file is None:
                    continue
                shared_builds[shared_file.sha256] = content
                file = msgspec.structs.replace(file, content=shared_file)
            job_files.append(file)
        return msgspec.structs.replace(job, files=tuple(job_files)), shared_builds

    def find_contents_to_send(self, job: Job) -> dict[str, Blob]:
        """Return the contents to send before a job, by hash."""
        script_name = find_first_script(
            job
        )  # the script is not included, because each request adds other lines to it
        content_by_hash = {
            file.content.sha256: file.content
            for file in job.files
            if isinstance(file.content, RemoteArtifact)
            or (count_sent_bytes(file.content) >= _MIN_CONTENT_BYTES and file.name != script_name)
        }
        if sum(content.size for content in content_by_hash.values()) > self.max_bytes // _SPACE_PARTS:
            return {}
        return {
            content_hash: content
            for content_hash, content in content_by_hash.items()
            if self.declined_until.get(content_hash, 0.0) <= monotonic()
        }


class ContentSender:
    """Sends jobs to servers, and before a job the contents that its server should store."""

    def __init__(self, client: ServerClient) -> None:
        self._client = client
        self._contents: WeakKeyDictionary[Server, StoredServerContents] = WeakKeyDictionary()
        self._downloads: SharedCalls[Blob] = SharedCalls()

    def get_contents(self, server: Server) -> StoredServerContents:
        """Return the record of a server's contents, with the space that its last inspection reported."""
        contents = self._contents.get(server) or self._contents.setdefault(server, StoredServerContents())
        assert server.report is not None, "it was inspected"
        if contents.report is not server.report:
            contents.report, contents.max_bytes = server.report, server.report.contents
        return contents

    async def execute(self, server: Server, job: Job, get_max_seconds: GetMaxSeconds) -> JobResult:
        """Execute a job once. Raises the errors of `Engine.execute`."""
        contents, report = self.get_contents(server), server.report
        assert report is not None, "it was inspected"
        if job.keep and contents.max_bytes and report.keeps_programs:
            result = await self._send(report, contents, job, get_max_seconds, files_to_keep=job.keep)
            if result.stayed or result.run.code != 0:
                return result
            WORKER_PROGRAM.log(_log, f"{server.url} did not keep {', '.join(job.keep)}")
        return await self._send(report, contents, job, get_max_seconds)

    async def _send(
        self,
        report: EndpointReport,
        contents: StoredServerContents,
        job: Job,
        get_max_seconds: GetMaxSeconds,
        files_to_keep: tuple[str, ...] = (),
    ) -> JobResult:
        """Send the contents that the server lacks, then the job.

        The server stores the files `files_to_keep`, which are then not part of the output.
        """
        lost_hashes = set[str]()  # hashes of programs that this server had built and has lost
        if files_to_keep:
            files_without_script = tuple(file for file in job.files if file.name != _PRINT_SCRIPT)
            job = msgspec.structs.replace(job, files=files_without_script)
        for _ in range(CONTENTS.max_attempts if contents.max_bytes else 0):
            job_with_shared, shared_builds = contents.add_shared_files(job)
            contents_to_send = contents.find_contents_to_send(job)
            hashes_built_there = {
                content_hash
                for content_hash, content in contents_to_send.items()
                if isinstance(content, WorkerArtifact)
                and content.at == report.url
                and content_hash not in lost_hashes
            }
            missing_contents = [
                contents_to_send[content_hash]
                for content_hash in contents_to_send.keys() - hashes_built_there - contents.stored_hashes
            ]
            if missing_contents:
                await self._upload_all(report.url, contents, missing_contents)
            named_hashes = (
                hashes_built_there | (contents_to_send.keys() & contents.stored_hashes) | shared_builds.keys()
            )
            if not named_hashes:
                break
            try:
                return await self._execute(
                    report, job_with_shared, named_hashes, files_to_keep, get_max_seconds
                )
            except MissingContentsError as refusal:
                CONTENTS.log(_log, refusal)
                contents.stored_hashes -= refusal.missing_hashes
                lost_hashes |= refusal.missing_hashes
                for content_hash in refusal.missing_hashes & shared_builds.keys():
                    contents.forget_build(shared_builds[content_hash])
            except JobRejected as refusal:
                if isinstance(refusal, JobTooLarge) and refusal.limit == BODY:
                    # The server counts contents that it stores by their uncompressed size. So send the job
                    # with all contents inside, which are compressed.
                    break
                if LACKS_CONTENT not in str(refusal):
                    raise
                contents.max_bytes = 0  # the server was restarted in a version that stores no contents
        return await self._execute(report, job, frozenset(), files_to_keep, get_max_seconds)

    async def _execute(
        self,
        report: EndpointReport,
        job: Job,
        stored_hashes: Collection[str],
        files_to_keep: tuple[str, ...],
        get_max_seconds: GetMaxSeconds,
    ) -> JobResult:
        """Execute a job whose files are complete.

        Programs that another server stores are fetched and added. Files of shared builds are left out.
        """
        sendable_files = [
            file
            if file.content.sha256 in stored_hashes
            else msgspec.structs.replace(file, content=await self._fetch_content(file.content))
            for file in job.files
            if not isinstance(file.content, SharedBuild)
        ]
        complete_job = msgspec.structs.replace(job, files=tuple(sendable_files))
        return await self._client.execute(report, complete_job, stored_hashes, files_to_keep, get_max_seconds)

    # --- shared builds -----------------------------------------------------------------------------------

    def should_build(self, server: Server, shared_build: SharedBuild) -> bool:
        """Return True if a server should execute a shared build now. Must be called once after each job."""
        contents = self.get_contents(server)
        keeps_programs = server.report is not None and server.report.keeps_programs
        return contents.max_bytes > 0 and keeps_programs and contents.claim_shared_build(shared_build)

    async def run_shared_build(
        self, server: Server, shared_build: SharedBuild, get_max_seconds: GetMaxSeconds
    ) -> None:
        """Execute a build, such as of a precompiled header, whose file many jobs on the server share.

        Until it succeeds, jobs run without its file. `get_max_seconds` is the timeout of the request.
        """
        contents, report, job = self.get_contents(server), server.report, shared_build.build
        assert report is not None, "it was inspected"
        try:
            result = await self._send(report, contents, job, get_max_seconds, files_to_keep=job.keep)
        except EngineError:
            contents.forget_build(shared_build)
            return
        has_output = result.compile is not None and (result.compile.stdout or result.compile.stderr)
        # If the header's compiler printed a warning, do not use the header, because submissions would lose
        # that warning.
        if (header_file := result.stayed.get(job.keep[0])) is not None and not has_output:
            contents.shared_files[shared_build.sha256] = header_file

    # --- programs that stay on the worker that built them --------------------------------------------------

    async def _fetch_content(self, content: Blob) -> Blob:
        """Return a content that this process can read. A program on a server is downloaded."""
        if not isinstance(content, RemoteArtifact):
            return content
        return await self._downloads.call(content.sha256, lambda: self._download(content))

    async def _download(self, artifact: RemoteArtifact) -> Blob:
        """Return a program from a server that has it. Raises ArtifactsLost if no server has it."""
        builder_url = artifact.at if isinstance(artifact, WorkerArtifact) else ""
        for server, contents in [*self._contents.items()]:
            if not server.is_usable or (
                artifact.sha256 not in contents.stored_hashes and server.url != builder_url
            ):
                continue
            program_bytes = await self._client.get_content(server.url, artifact.sha256)
            if program_bytes is not None and (program := Blob.of(program_bytes)).sha256 == artifact.sha256:
                return program
            contents.stored_hashes.discard(artifact.sha256)
        raise ArtifactsLost([artifact])

    # --- contents that are sent before a job ---------------------------------------------------------------

    async def _upload_all(
        self, url: str, contents: StoredServerContents, missing_contents: Iterable[Blob]
    ) -> None:
        """Send contents to a server. A content that several jobs need at the same time is sent once."""
        # All errors come from the same server, so raise only the first error.
        with raise_first_error_of_group(Exception):
            async with asyncio.TaskGroup() as group:
                for content in missing_contents:
                    upload = partial(self._upload, url, contents, content)
                    group.create_task(contents.uploads.call(content.sha256, upload))

    async def _upload(self, url: str, contents: StoredServerContents, content: Blob) -> None:
        content_hash = content.sha256
        async with contents.upload_slots:
            if not contents.max_bytes or content_hash in contents.stored_hashes:
                return
            try:
                if not await self._client.has_content(url, content_hash):
                    if not await self._client.put_content(url, await self._fetch_content(content)):
                        contents.max_bytes = 0
                        return
                    log_step(_log, "content %s to %s: %d bytes", content_hash[:12], url, content.size)
                contents.stored_hashes.add(content_hash)
            except (EngineOverloaded, JobTooLarge) as error:
                DECLINED_FILE.log(_log, error)
                contents.declined_until[content_hash] = monotonic() + DECLINED_FILE.longest_wait
