"""`TestRunner` runs tests by jobs of an engine, and `open_test_runner` opens an engine for it."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from ioi_eval.engines.contract import (
    ArtifactsLost,
    Batch,
    BuildSpec,
    Capabilities,
    Check,
    Engine,
    StallOutcome,
    TestReports,
)
from ioi_eval.engines.jobs.build import Builder, list_source_files, make_compile_script
from ioi_eval.engines.jobs.http_delivery import HttpJobDelivery
from ioi_eval.engines.jobs.run import (
    BuildResult,
    JobDelivery,
    JobSizeLimiter,
    execute,
    make_no_report_message,
    make_test_job,
    read_test_reports,
)
from ioi_eval.engines.locks import SharedExclusiveLock
from ioi_eval.model.doing import add_work_to_log_lines
from ioi_eval.model.errors import JudgeFailure, MachineAtFault
from ioi_eval.model.job import Ending, Job, JobFile, JobResult
from ioi_eval.model.options import BuildOptions
from ioi_eval.model.retry import ALONE, LOST_PROGRAM, NO_LINE
from ioi_eval.model.values import Blob
from ioi_eval.rules.limits import to_milliseconds
from ioi_eval.store import Store

_log = logging.getLogger(__name__)
# Maximum seconds for which a stalled test waits for other jobs to end before it runs alone.
_MAX_WAIT_FOR_OTHERS_S = 600.0


class LocalJobDelivery:
    """The delivery to this machine: jobs and results name files by path."""

    is_here = True
    explain_too_large_program = None

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def build(
        self,
        spec: BuildSpec,
        prebuilt_files: Sequence[JobFile] | None,
        capabilities: Capabilities,
        *,
        may_leave_artifact_on_worker: bool,
    ) -> BuildResult:
        tool, limits = (
            capabilities.require_tool(spec.toolchain_command, f"building a {spec.kind}"),
            spec.limits,
        )
        compile_script = make_compile_script(spec, tool, uses_prebuilt_files=prebuilt_files is not None)
        job = Job(
            files=(
                JobFile(name="compile", content=Blob.of(compile_script)),
                *(prebuilt_files or ()),
                *list_source_files(spec),
            ),
            compile_timeout=to_milliseconds(limits.wall_time),
            compile_cpu_time=to_milliseconds(limits.cpu_time),
            compile_memory_limit=limits.memory,
            keep=(spec.output,),
            without_proc=capabilities.confines and not spec.needs_proc_filesystem,
            accepted_toolchains={
                spec.toolchain_command: tuple(
                    toolchain.identity for toolchain in capabilities.list_toolchains(spec.toolchain_command)
                )
            },
        )
        result = await execute(self._engine, job, phase="compiling")
        ending = result.compile or result.run
        artifact_path = result.kept.get(spec.output)
        content = (
            None if artifact_path is None else await asyncio.to_thread(Blob.of_file, Path(artifact_path))
        )
        return BuildResult(ended=ending, tool=tool, content=content, kept=result.kept)

    async def count_request_bytes(self, content: Blob) -> int:
        return content.size

    make_job = staticmethod(make_test_job)

    async def run_test_job(
        self, job: Job, capabilities: Capabilities, *, nonce: str, phase: str
    ) -> tuple[Ending, str]:
        return (await execute(self._engine, job, phase=phase)).run, ""


class TestRunner:
    """Runs tests as jobs on an open engine. It chooses the size of jobs and repeats tests."""

    __test__ = False

    def __init__(self, builder: Builder) -> None:
        """`builder` has the engine, and builds programs again that were lost with their worker."""
        self.builder, self.engine, self._delivery = builder, builder.engine, builder.delivery
        self._lock = SharedExclusiveLock()

    @property
    def slots(self) -> int:
        return self.engine.slots

    async def capabilities(self) -> Capabilities:
        return await self.engine.capabilities()

    async def execute(self, job: Job, *, phase: str, check: Check | None = None) -> JobResult:
        """Execute a job whose files are sent uncompressed, such as a classic job, and return its result.

        A result that `check` refuses is returned if no server has a better result.
        """
        try:
            return await execute(self.engine, job, phase=phase, check=check)
        except MachineAtFault as error:
            result: JobResult = error.answer
            return result

    async def run(self, batch: Batch) -> TestReports:
        """Run the first tests, as many as fit into a job. Raises JudgeFailure if the engine is at fault.

        A test that stalls stops its job, and runs again alone: it may only have waited for a busy disk. A
        test of which a process was killed from outside, for instance by a machine that is out of memory, runs
        again as well. Only the second run counts.
        """
        attempt = 1
        while True:
            try:
                return await self._run_and_repeat_undecided(batch)
            except ArtifactsLost as lost:
                if LOST_PROGRAM.is_last(attempt):
                    exhaustion = LOST_PROGRAM.describe_exhaustion(attempt)
                    reason = f"a program was lost with the worker that had built it {exhaustion}"
                    raise JudgeFailure(reason, phase="judging") from lost
                LOST_PROGRAM.log(_log, lost)
                batch = await batch.with_rebuilt_artifacts(lost.artifacts, self.builder.build_anew)
            attempt += 1

    async def _run_and_repeat_undecided(self, batch: Batch) -> TestReports:
        reports = await self._run_job(batch)
        stalled = {name for name, line in reports.lines.items() if line.stalled}
        undecided = {name for name, line in reports.lines.items() if line.outside}
        if not batch.alone:
            undecided |= stalled
        repeated = reports
        if undecided:
            ALONE.log(_log, f"undecided: {', '.join(sorted(undecided))}")
            tests = tuple(planned_test for planned_test in batch.tests if planned_test.test.name in undecided)
            repeat_batch = msgspec.structs.replace(batch, tests=tests, alone=True)
            repeated = await self._run_job(repeat_batch, waits_for_other_jobs=True)
        decided = {name: line for name, line in reports.lines.items() if name not in undecided}
        lines = {**decided, **repeated.lines}
        if not stalled:
            return msgspec.structs.replace(reports, lines=lines)
        has_stalled_again = any(repeated.lines[name].stalled for name in stalled & repeated.lines.keys())
        return msgspec.structs.replace(
            reports, lines=lines, stall=StallOutcome.AGAIN if has_stalled_again else StallOutcome.ONCE
        )

    async def _run_job(self, batch: Batch, *, waits_for_other_jobs: bool = False) -> TestReports:
        """Run tests in a job, and repeat the job if it reports about no test.

        `waits_for_other_jobs`: True if the job waits, for a limited time, until no other job runs.
        """
        is_here, ending, failed_servers = self._delivery.is_here, Ending(code=0), ""
        max_wait_s = _MAX_WAIT_FOR_OTHERS_S if waits_for_other_jobs and is_here else 0.0
        async with self._lock.hold(exclusive=batch.alone and is_here, max_wait_for_others_s=max_wait_s):
            for attempt in range(1, NO_LINE.max_attempts + 1):
                capabilities = await self.engine.capabilities()
                sizer = JobSizeLimiter(
                    batch.problem, batch.options, capabilities, self._delivery.count_request_bytes
                )
                job_tests = sizer.template.select_job_tests(
                    await sizer.select_tests_that_fit(batch), secrets.token_hex(16)
                )
                job = sizer.lower_memory_limit(self._delivery.make_job(batch, job_tests, capabilities))
                with add_work_to_log_lines(
                    _log, "tests", (planned_test.test.name for planned_test in job_tests.tests.values())
                ):
                    ending, failed_servers = await self._delivery.run_test_job(
                        job, capabilities, nonce=job_tests.nonce, phase="judging"
                    )
                reports = read_test_reports(batch, job_tests, ending, failed_servers)
                if reports.lines:
                    return reports
                NO_LINE.log(_log, "the job reports about no test", attempt)
        raise JudgeFailure(
            f"{make_no_report_message(ending, failed_servers)},"
            f" {NO_LINE.describe_exhaustion(NO_LINE.max_attempts)}",
            phase=f"judging problem {batch.problem.id}",
            test=batch.tests[0].test.name,
        )


@asynccontextmanager
async def open_test_runner(
    engine: Engine, store: Store, options: BuildOptions | None = None
) -> AsyncIterator[TestRunner]:
    """Open an engine, and yield a test runner for it.

    Builds are cached in `store`, which several processes may share.
    """
    options = options or BuildOptions()
    async with engine:
        delivery: JobDelivery = LocalJobDelivery(engine)
        if not (await engine.capabilities()).takes_paths:
            delivery = HttpJobDelivery(engine, precompiles=options.precompile)
        builder = Builder(engine, delivery, store, options)
        try:
            yield TestRunner(builder)
        finally:
            await builder.close()
