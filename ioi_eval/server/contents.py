"""Cache of files that clients send once; later jobs name the files by hash."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator
from pathlib import Path

import msgspec

from ioi_eval.engines.embedded.job import remove_kept_files
from ioi_eval.engines.jobs import piston_api as piston
from ioi_eval.engines.threads import run_in_thread_to_end
from ioi_eval.model.errors import EngineOverloaded
from ioi_eval.model.job import Job, JobFile, JobResult
from ioi_eval.model.values import Blob
from ioi_eval.store.contents import BlobCache

_MAX_UPLOADS = 16  # maximum number of files that clients may send at the same time


class ContentCache:
    """Files by SHA-256: files that clients sent, and programs that jobs built."""

    def __init__(self, blob_cache: BlobCache | None, max_job_bytes: int, event_counts: Counter[str]) -> None:
        """Create the cache.

        Args:
            blob_cache: the cache of files. `None` means that nothing is cached.
            max_job_bytes: maximum size of a file, and of all files of a job.
            event_counts: counts of files by event, for the metrics.
        """
        self._blob_cache, self._max_job_bytes, self._event_counts = blob_cache, max_job_bytes, event_counts
        self._upload_count = 0
        # Hashes of the programs that jobs built; no other contents can be downloaded.
        self._built_hashes = set[str]()
        # Number of hashes after which hashes of removed programs are dropped.
        self._max_hashes = 0

    @property
    def limit_bytes(self) -> int:
        return 0 if self._blob_cache is None else self._blob_cache.limit

    @property
    def used_bytes(self) -> int:
        return 0 if self._blob_cache is None else self._blob_cache.used

    @property
    def max_file_bytes(self) -> int:
        return min(self._max_job_bytes, self.limit_bytes)

    def has_file(self, sha256: str) -> bool:
        """Return True if the file is cached, and count it as used."""
        return self._blob_cache is not None and not self._blob_cache.list_missing_names([sha256])

    @contextlib.contextmanager
    def pin_program(self, sha256: str) -> Iterator[Path | None]:
        """Yield the path of a program that a job built. It stays in the cache until the context is left.

        The path is `None` if the program is not cached.
        """
        if self._blob_cache is None or sha256 not in self._built_hashes:
            yield None
            return
        with self._blob_cache.protect_from_eviction([sha256]):
            path = (
                None if self._blob_cache.list_missing_names([sha256]) else self._blob_cache.blob(sha256).path
            )
            yield None if path is None else Path(path)

    async def store_programs(self, result: JobResult) -> JobResult:
        """Move the programs that a job built into the cache, and return the result with their hashes.

        Programs that do not fit into the cache are missing in the returned result.
        """
        stored_programs = await run_in_thread_to_end(lambda: self._move_programs(result))
        self._add_built_hashes(content.sha256 for content in stored_programs.values())
        self._event_counts["made"] += len(stored_programs)
        return msgspec.structs.replace(result, kept={}, stayed=stored_programs)

    def _move_programs(self, result: JobResult) -> dict[str, Blob]:
        """Move a job's built programs into the cache. Return the cached programs, by name."""
        stored_programs = dict[str, Blob]()
        try:
            for name, path in result.kept.items():
                content = Blob.of_file(Path(path))
                if (
                    self._blob_cache is not None
                    and content.size <= self.max_file_bytes
                    and self._blob_cache.reserve(content.size)
                ):
                    self._blob_cache.release_reserved_bytes(content.size)
                    if self._blob_cache.add(content):
                        stored_programs[name] = msgspec.structs.replace(content, path=None)
        finally:
            remove_kept_files(result)
        return stored_programs

    def _add_built_hashes(self, hashes: Iterable[str]) -> None:
        """Let clients download these programs. From time to time, drop the hashes of removed programs."""
        self._built_hashes.update(hashes)
        if self._blob_cache is not None and len(self._built_hashes) > self._max_hashes:
            self._built_hashes = {sha256 for sha256 in self._built_hashes if self._blob_cache.has(sha256)}
            self._max_hashes = 2 * len(self._built_hashes)

    async def receive_file(self, sha256: str, pieces: AsyncGenerator[bytes, None]) -> None:
        """Store a file that a client sends.

        Raises:
            RefusedRequest: if the file has another hash.
            EngineOverloaded: if the cache has no space, or too many files are being sent.
        """
        assert self._blob_cache is not None, "without a cache there is no route that calls this"
        if self._upload_count >= _MAX_UPLOADS:
            raise EngineOverloaded(f"clients are already uploading {_MAX_UPLOADS} files, the maximum")
        self._upload_count += 1
        try:
            with self._blob_cache.receive(sha256) as incoming_file:
                async with contextlib.aclosing(pieces):
                    async for piece in pieces:
                        if not incoming_file.write(piece):
                            raise EngineOverloaded("the cache of clients' files has no space for this file")
                if (actual_sha256 := incoming_file.add_to_cache_if_valid()) != sha256:
                    raise piston.RefusedRequest(f"the SHA-256 of this file is {actual_sha256}, not {sha256}")
        finally:
            self._upload_count -= 1
        self._event_counts["received"] += 1

    @contextlib.contextmanager
    def add_cached_files(self, job: Job) -> Iterator[Job]:
        """Yield the job with the cached files that it names. They stay cached until the context is left.

        Raises:
            RefusedRequest: if some files are not cached, or all files together are too large.
        """
        hashes = [file.content.sha256 for file in job.files if _is_named_by_hash(file)]
        if self._blob_cache is None or not hashes:
            yield job
            return
        with self._blob_cache.protect_from_eviction(hashes):
            if missing_hashes := self._blob_cache.list_missing_names(hashes):
                self._event_counts["lacking"] += len(missing_hashes)
                raise piston.make_missing_contents_refusal(missing_hashes)
            self._event_counts["used"] += len(hashes)
            files = tuple(
                msgspec.structs.replace(file, content=self._blob_cache.blob(file.content.sha256))
                if _is_named_by_hash(file)
                else file
                for file in job.files
            )
            if sum(file.content.size for file in files) > self._max_job_bytes:
                raise piston.make_size_refusal(self._max_job_bytes)
            yield msgspec.structs.replace(job, files=files)


def _is_named_by_hash(file: JobFile) -> bool:
    return file.content.data is None
