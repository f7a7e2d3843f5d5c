"""A node of a Ray cluster: an actor with an embedded engine that executes jobs, like a worker."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from importlib.metadata import version
from pathlib import Path

import msgspec

from ioi_eval.engines.contract import Capabilities, HealthCheck
from ioi_eval.engines.embedded import EmbeddedEngine
from ioi_eval.engines.embedded.sandboxes import Sandboxes
from ioi_eval.engines.health_checks import run_health_checks
from ioi_eval.engines.jobs.piston_api import RefusedRequest
from ioi_eval.model.errors import EngineUnavailable, IoiEvalError, JobRejected
from ioi_eval.model.job import Job, JobFile, JobResult
from ioi_eval.model.values import Blob, Value
from ioi_eval.server.contents import ContentCache
from ioi_eval.store import Store
from ioi_eval.store.contents import ENTRY_OVERHEAD_BYTES, BlobCache

VERSION = version("ioi-eval")
PROCTOR, LIBRARY = Blob.of("the node's own proctor"), Blob.of("the node's own library of waiting")
"""Placeholders in jobs for files that each node has, so they are never sent."""

_CACHE = 8 << 30  # maximum bytes of stored contents and builds
_DISK_PARTS = 4  # stored contents may fill the free disk space divided by this number


class NodeError(Value):
    """The error that the node's engine raised."""

    error: IoiEvalError


class MissingContents(Value):
    """The hashes of contents that a job names and that are not stored on the node."""

    names: tuple[str, ...]


class NodeCapabilities(Value):
    """The description of a node."""

    made_by: str  # id of the engine that started the actor
    actor: str  # unique name of the actor in the cluster
    version: str  # version of ioi_eval on the node
    slots: int
    space: int  # maximum bytes of contents that the node stores
    capabilities: Capabilities
    has_library: bool  # True if the node has the library of the fork server


class Node:
    """Executes the jobs of its callers. No job can stop it.

    Its folders are on its machine. If a node was killed, the next node on that machine removes its folders.
    """

    def __init__(self, engine_id: str, slots: int, allow_unconfined: bool) -> None:
        self._made_by, self._slots, self._allow_unconfined = engine_id, slots, allow_unconfined
        self._actor = secrets.token_hex(8)
        self._open_lock, self._exit_stack = asyncio.Lock(), AsyncExitStack()
        self._open: _NodeJobRunner | None = None
        self._metrics = _NodeMetrics()

    async def describe(self) -> NodeCapabilities | NodeError:
        """Open the engine if it is not open, and return a description of the node."""
        try:
            open_node = await self._open_engine()
        except (IoiEvalError, OSError) as error:
            return _make_node_error(error)
        capabilities = await open_node.engine.capabilities()
        return NodeCapabilities(
            made_by=self._made_by,
            actor=self._actor,
            version=VERSION,
            slots=open_node.engine.slots,
            space=open_node.contents.limit_bytes,
            capabilities=msgspec.structs.replace(capabilities, proctor=None, waiting=None),
            has_library=capabilities.waiting is not None,
        )

    async def check_health(self) -> list[HealthCheck]:
        """Return the health checks of this node."""
        return await run_health_checks(_open_store())

    async def execute(self, job: Job) -> JobResult | MissingContents | NodeError:
        """Execute a job. Contents without data are read from the node's store."""
        outcome = "cancelled"
        self._metrics.count_job_start()
        try:
            result = await (await self._open_engine()).execute(job)
            outcome = "lacking" if isinstance(result, MissingContents) else str(result.run.status or "ok")
            return result
        except (IoiEvalError, OSError) as error:
            outcome = "failed"
            return _make_node_error(error)
        finally:
            self._metrics.count_job_end(outcome)

    async def has_content(self, content_hash: str) -> bool:
        """Return True if a content is stored on the node."""
        return (await self._open_engine()).contents.has_file(content_hash)

    async def store_content(self, content_hash: str, data: bytes) -> NodeError | None:
        """Store a content under its hash `content_hash`."""
        try:
            await (await self._open_engine()).contents.receive_file(content_hash, _yield_data(data))
        except RefusedRequest as error:
            return NodeError(error=JobRejected(str(error), by_server=True))
        except (IoiEvalError, OSError) as error:
            return _make_node_error(error)
        return None

    async def read_program(self, program_hash: str) -> bytes | None:
        """Return a program that a job on this node built."""
        with (await self._open_engine()).contents.pin_program(program_hash) as path:
            return None if path is None else await asyncio.to_thread(path.read_bytes)

    async def close(self) -> None:
        """Kill the jobs, and remove the folders."""
        async with self._open_lock:
            self._open = None
            await self._exit_stack.aclose()

    async def _open_engine(self) -> _NodeJobRunner:
        async with self._open_lock:
            if self._open is None:
                sandboxes = Sandboxes(Path(tempfile.gettempdir()), can_run_programs=False)
                self._exit_stack.callback(sandboxes.close)
                await asyncio.to_thread(sandboxes.open)
                free_bytes = shutil.disk_usage(sandboxes.folder).free
                blobs = BlobCache(
                    sandboxes.folder / "kept",
                    min(_CACHE, free_bytes // _DISK_PARTS),
                    overhead_bytes=ENTRY_OVERHEAD_BYTES,
                )
                engine = EmbeddedEngine(
                    store=_open_store(), slots=self._slots, allow_unconfined=self._allow_unconfined
                )
                await self._exit_stack.enter_async_context(engine)
                self._open = _NodeJobRunner(engine, blobs, await engine.capabilities())
            return self._open


class _NodeJobRunner:
    """The parts of a node between opening and closing it."""

    def __init__(self, engine: EmbeddedEngine, blobs: BlobCache, capabilities: Capabilities) -> None:
        self.engine, self._blobs = engine, blobs
        self.contents = ContentCache(blobs, blobs.limit, Counter())
        self._files_by_placeholder = {
            PROCTOR.sha256: capabilities.proctor,
            LIBRARY.sha256: capabilities.waiting,
        }

    async def execute(self, job: Job) -> JobResult | MissingContents:
        named_hashes = [file.content.sha256 for file in job.files if file.content.data is None]
        if missing_hashes := self._blobs.list_missing_names(named_hashes):
            return MissingContents(names=missing_hashes)
        with self.contents.add_cached_files(job) as complete_job:
            files = tuple(map(self._replace_placeholder_content, complete_job.files))
            result = await self.engine.execute(msgspec.structs.replace(complete_job, files=files))
        return await self.contents.store_programs(result) if result.kept else result

    def _replace_placeholder_content(self, file: JobFile) -> JobFile:
        """Return a job's file, with the node's proctor or library if its content is the placeholder."""
        if file.content.sha256 not in self._files_by_placeholder:
            return file
        content = self._files_by_placeholder[file.content.sha256]
        if content is None:
            raise EngineUnavailable("the node does not have the library of the fork server")
        return msgspec.structs.replace(file, content=content)


def _open_store() -> Store:
    return Store.usual(limit=_CACHE)


async def _yield_data(data: bytes) -> AsyncGenerator[bytes, None]:
    yield data


def _make_node_error(error: IoiEvalError | OSError) -> NodeError:
    if isinstance(error, IoiEvalError):
        return NodeError(error=error)
    return NodeError(error=EngineUnavailable(f"the node cannot work: {error}"))


class _NodeMetrics:
    """The metrics of a node in Ray's dashboard and its Prometheus endpoint."""

    def __init__(self) -> None:
        from ray.util.metrics import Counter as RayCounter
        from ray.util.metrics import Gauge

        self._jobs = RayCounter("ioi_eval_jobs", "Jobs by how they ended", tag_keys=("outcome",))
        self._running = Gauge("ioi_eval_jobs_running", "Jobs that run or wait for a slot of the node")
        self._running_jobs = 0

    def count_job_start(self) -> None:
        self._change_running_jobs(+1)

    def count_job_end(self, outcome: str) -> None:
        self._change_running_jobs(-1)
        self._jobs.inc(1, {"outcome": outcome})

    def _change_running_jobs(self, step: int) -> None:
        self._running_jobs += step
        self._running.set(self._running_jobs)
