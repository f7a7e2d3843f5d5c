"""Jobs by path: for boxes on this machine. What a box reports becomes an outcome as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ioi_eval.engines.contract import LocalTransport, Profile, Recipe
from ioi_eval.engines.jobs.build import compiling, sources
from ioi_eval.engines.jobs.carrier import Made, persist
from ioi_eval.engines.jobs.run import run_job
from ioi_eval.model.job import Ended, Job, JobFile
from ioi_eval.model.values import Blob
from ioi_eval.rules.limits import milliseconds


class Paths:
    """The carrier to a transport on this machine."""

    is_here = True

    def __init__(self, transport: LocalTransport) -> None:
        self._transport = transport

    async def build(
        self,
        recipe: Recipe,
        ahead: Sequence[JobFile] | None,
        profile: Profile,
        *,
        alone: bool,
        may_stay: bool,
        attempts: int,
    ) -> Made:
        tool, limits = profile.tool(recipe.tool, f"building a {recipe.kind}"), recipe.limits
        ahead = ahead or ()
        job = Job(
            files=(
                JobFile(name="compile", content=Blob.of(compiling(recipe, tool, ahead))),
                *ahead,
                *sources(recipe),
            ),
            compile_timeout=milliseconds(limits.wall_time),
            compile_cpu_time=milliseconds(limits.cpu_time),
            compile_memory_limit=limits.memory,
            keep=(recipe.output,),
            alone=alone,
            made_for={recipe.tool: tuple(each.identity for each in profile.offered(recipe.tool))},
        )
        ended = await persist(partial(self._transport.run, job), attempts=attempts, phase="compiling")
        made = ended.kept.get(recipe.output)
        content = None if made is None else await asyncio.to_thread(Blob.of_file, Path(made))
        return Made(ended=ended, tool=tool, content=content)

    async def refusal(self, program: Blob, profile: Profile) -> str:
        return ""

    job = staticmethod(run_job)

    async def run(self, job: Job, profile: Profile, *, attempts: int, phase: str) -> Ended:
        return await persist(partial(self._transport.run, job), attempts=attempts, phase=phase)
