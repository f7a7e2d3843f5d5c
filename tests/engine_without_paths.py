"""An embedded engine that behaves like a remote server: it accepts file contents, but no paths."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

import msgspec

from ioi_eval import Engine
from ioi_eval.engines import Check
from ioi_eval.errors import JobRejected
from ioi_eval.models import Blob, Capabilities, Job, JobFile, JobResult


class EngineWithoutPaths:
    """Passes on only the data of an HTTP request: names and contents of files, and a single runtime."""

    def __init__(self, engine: Engine, runtime: str, **profile: Any) -> None:
        self._engine, self._runtime, self._changes = engine, runtime, profile
        self.jobs: list[Job] = []

    @property
    def slots(self) -> int:
        return self._engine.slots

    async def capabilities(self) -> Capabilities:
        changes = {"name": "pathless", "proctor": None, "takes_paths": False}
        changes["runtimes"] = (self._runtime,)
        return msgspec.structs.replace(await self._engine.capabilities(), **(changes | self._changes))

    async def execute(self, job: Job, check: Check | None = None) -> JobResult:
        self.jobs.append(job)
        if job.runtime != self._runtime:
            raise JobRejected(f"{job.runtime}-{job.version} runtime is unknown")
        files = tuple(JobFile(name=file.name, content=Blob.of(file.content.read())) for file in job.files)
        request = msgspec.structs.replace(job, files=files, keep=(), plan="", accepted_toolchains={})
        return await self._engine.execute(request)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the wrapped engine open."""
