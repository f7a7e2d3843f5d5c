"""An engine of any transport: it builds by build jobs and judges by run jobs."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from ioi_eval.engines import Engine, Transport
from ioi_eval.engines.contract import (
    Answers,
    ArtifactsLost,
    Batch,
    Built,
    Check,
    LocalTransport,
    Profile,
    Recipe,
    Rejected,
    Stall,
)
from ioi_eval.engines.jobs.build import Builds, compile_script, sources
from ioi_eval.engines.jobs.parcels import Parcels, Shipping
from ioi_eval.engines.jobs.run import (
    Carrier,
    Fitting,
    JobTests,
    Made,
    execute,
    persist,
    read_answers,
    run_job,
    without_lines,
)
from ioi_eval.engines.locks import SharedExclusiveLock
from ioi_eval.model.doing import logged_work
from ioi_eval.model.errors import JudgeFailure
from ioi_eval.model.job import Ended, Job, JobFile, JobResult
from ioi_eval.model.options import BuildOptions
from ioi_eval.model.retry import ALONE, LOST_PROGRAM, NO_LINE
from ioi_eval.model.values import Blob
from ioi_eval.rules.limits import milliseconds
from ioi_eval.store import Store

_log = logging.getLogger(__name__)
_OTHERS_FIRST = 600.0  # maximum time for which a test that stalled lets other jobs go first, in seconds


class Paths:
    """The carrier to boxes on this machine. Files stay where they are, and a box's report is the outcome."""

    is_here = True
    refusal = None

    def __init__(self, transport: LocalTransport) -> None:
        self._transport = transport

    async def build(
        self,
        recipe: Recipe,
        prebuilt: Sequence[JobFile] | None,
        profile: Profile,
        *,
        may_stay: bool,
    ) -> Made:
        tool, limits = profile.tool(recipe.tool, f"building a {recipe.kind}"), recipe.limits
        script = compile_script(recipe, tool, prebuilt=prebuilt is not None)
        job = Job(
            files=(
                JobFile(name="compile", content=Blob.of(script)),
                *(prebuilt or ()),
                *sources(recipe),
            ),
            compile_timeout=milliseconds(limits.wall_time),
            compile_cpu_time=milliseconds(limits.cpu_time),
            compile_memory_limit=limits.memory,
            keep=(recipe.output,),
            without_proc=not recipe.sees_proc,
            made_for={recipe.tool: tuple(each.identity for each in profile.offered(recipe.tool))},
        )
        ended = await self.run(job, profile, phase="compiling")
        made = ended.kept.get(recipe.output)
        content = None if made is None else await asyncio.to_thread(Blob.of_file, Path(made))
        return Made(ended=ended, tool=tool, content=content)

    job = staticmethod(run_job)

    async def run(self, job: Job, profile: Profile, *, phase: str) -> Ended:
        return await persist(partial(self._transport.run, job), phase=phase)


class JobEngine:
    """Builds and judges over a transport, which it opens and closes with itself.

    What was built is remembered in a store that processes may share.
    """

    def __init__(
        self,
        transport: Transport,
        store: Store,
        builds: BuildOptions | None = None,
        packing: Shipping | None = None,
    ) -> None:
        self.transport, self.packing = transport, packing or Shipping()
        builds = builds or BuildOptions()
        self._carrier: Carrier = (
            Paths(transport)
            if isinstance(transport, LocalTransport)
            else Parcels(transport, self.packing, precompiles=builds.precompile)
        )
        self.builds = Builds(transport, self._carrier, store, builds)
        self._lock = SharedExclusiveLock()
        self._open = AsyncExitStack()

    @property
    def slots(self) -> int:
        return self.transport.slots

    async def profile(self) -> Profile:
        return await self.transport.profile()

    async def build(self, recipe: Recipe) -> Built | Rejected:
        async with self._lock.hold():
            return await self.builds.build(recipe)

    async def execute(self, job: Job, *, phase: str, check: Check | None = None) -> JobResult:
        return await execute(self.transport, job, phase=phase, check=check)

    async def judge(self, batch: Batch) -> Answers:
        """As many tests as one job takes.

        One that stalls ends its job, and runs again alone. What it does there is its own: if it only sleeps
        then, a busy disk kept it from that before, and its other tests are judged. So runs a test again of
        which something was killed from outside, as by a machine that is out of memory: what it made of the
        test before is nobody's.
        """
        attempt = 1
        while True:
            try:
                return await self._settled(batch)
            except ArtifactsLost as lost:
                if LOST_PROGRAM.is_last(attempt):
                    used_up = LOST_PROGRAM.used_up(attempt)
                    reason = f"a program was lost with the worker that had built it {used_up}"
                    raise JudgeFailure(reason, phase="judging") from lost
                LOST_PROGRAM.log(_log, lost)
                batch = await batch.rebuilt(lost.artifacts, self.builds.build_anew)
            attempt += 1

    async def _settled(self, batch: Batch) -> Answers:
        answers = await self._judged(batch)
        stalled = {name for name, line in answers.lines.items() if line.stalled}
        open_still = {name for name, line in answers.lines.items() if line.outside}
        if not batch.alone:
            open_still |= stalled
        again = answers
        if open_still:
            ALONE.log(_log, f"open are {', '.join(sorted(open_still))}")
            tests = tuple(planned for planned in batch.tests if planned.test.name in open_still)
            alone = msgspec.structs.replace(batch, tests=tests, alone=True)
            again = await self._judged(alone, last=True)
        decided = {name: line for name, line in answers.lines.items() if name not in open_still}
        lines = {**decided, **again.lines}
        if not stalled:
            return msgspec.structs.replace(answers, lines=lines)
        late = any(again.lines[name].stalled for name in stalled & again.lines.keys())
        return msgspec.structs.replace(answers, lines=lines, stall=Stall.AGAIN if late else Stall.ONCE)

    async def _judged(self, batch: Batch, *, last: bool = False) -> Answers:
        """By one job. One that says of no test how it went is executed once more. `last`: others go first."""
        here, ended = self._carrier.is_here, Ended()
        wait = _OTHERS_FIRST if last and here else 0.0
        async with self._lock.hold(exclusive=batch.alone and here, others_first_s=wait):
            for attempt in range(1, NO_LINE.max_attempts + 1):
                chosen, ended = await self._ran(batch)
                answers = read_answers(batch, chosen, ended)
                if answers.lines:
                    return answers
                NO_LINE.log(_log, "it reports nothing about any test", attempt)
        raise JudgeFailure(
            f"{without_lines(ended)}, {NO_LINE.used_up(NO_LINE.max_attempts)}",
            phase=f"judging problem {batch.problem.id}",
            test=batch.tests[0].test.name,
        )

    async def _ran(self, batch: Batch) -> tuple[JobTests, Ended]:
        """Execute a job with as many of the batch's tests as the transport takes."""
        profile = await self.transport.profile()
        fitting = Fitting(batch.problem, batch.options, profile, self.packing.weight)
        chosen = fitting.frame.job_tests(await fitting.first(batch), secrets.token_hex(16))
        job = fitting.fits(self._carrier.job(batch, chosen, profile))
        with logged_work(_log, "tests", (planned.test.name for planned in chosen.tests.values())):
            return chosen, await self._carrier.run(job, profile, phase="judging")

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as opening:
            await opening.enter_async_context(self.transport)
            opening.push_async_callback(self.builds.close)
            self._open = opening.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._open.__aexit__(kind, error, trace)


def engine_of(given: Engine | Transport, store: Store, builds: BuildOptions | None = None) -> Engine:
    """Return an engine as it is, and of a transport the engine that stands on it."""
    return given if isinstance(given, Engine) else JobEngine(given, store, builds)
