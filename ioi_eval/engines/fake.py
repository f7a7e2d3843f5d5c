"""An engine without compiler, proctor or processes, for tests of code that uses an engine. Public.

It executes the two kinds of jobs that the package sends:

* A build job succeeds. Its artifact has the bytes of the job's last file, which is the main source of the
  build. So `FakeTest.source` of a run job is the submission's code. `compile_errors` decides which sources do
  not compile.
* The result of a run job has the lines that the proctor would print for the job's plan: a line for each test.
  Tests of decided groups are skipped, and a missing output file scores 0. `outcomes` decides about all other
  tests.

    engine = FakeEngine({0: 1.0, 1: 0.5, 2: "cpu"})
    engine = FakeEngine(lambda test: 1.0 if "right" in test.source else "signal")
    engine = FakeEngine(faults=[None, EngineUnavailable("down"), Killed(after=3)])

`engine.jobs` are all executed jobs in order; `builds` and `runs` are the build jobs and the run jobs.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from ioi_eval.engines.contract import CLASSIC, Capabilities, Check, require_toolchains
from ioi_eval.model.errors import EngineError, JobRejected
from ioi_eval.model.job import Ending, Job, JobResult, StageStatus, Toolchain
from ioi_eval.model.languages import LANGUAGES
from ioi_eval.model.protocol import VERSION, Plan, PlanGroup, PlanTest, Start, TestReport
from ioi_eval.model.values import Blob, TaskType, Value

_ENDS = ("ok", "exit", "signal", "cpu", "wall", "memory", "output", "threads")
_PLAN = msgspec.json.Decoder(Plan)


class FakeTest(Value):
    """A test, as the argument of a function that decides outcomes."""

    __test__ = False

    index: int  # index of the test in the problem
    source: str  # code of the submission
    input: bytes
    answer: bytes | None
    output: bytes | None = None  # submitted output file of the test; None if there is no such file
    manager: str = ""  # source code of the manager


class Broken(Value):
    """An outcome: a failure of the judge on this test, with the reason that the proctor reports."""

    reason: str


Outcome = float | str | Broken
"""A score, or the way in which the submission ended (exit, signal, cpu, wall, ...), or Broken."""


class Killed(Value):
    """A fault: the job is killed after the reports of `after` tests; if `torn`, within the next report."""

    after: int = 0
    torn: bool = False


class Fatal(Value):
    """A fault of a job: in a job that runs tests, the proctor fails; in a build job, the sandbox fails."""

    reason: str


Fault = EngineError | Killed | Fatal | Ending | None
"""The fault of a job. An EngineError is raised, and an Ending is the result. `None` means no fault."""


def fake_capabilities() -> Capabilities:
    """Return the default capabilities of a fake engine, with the toolchains of all languages."""
    tools = {
        name: Toolchain(command=name, path=f"/usr/bin/{name}", version="1.0", identity=f"{name} 1.0 (fake)")
        for name in sorted({tool for language in LANGUAGES for tool in language.tools})
    }
    return Capabilities(
        name="fake",
        architecture="x86_64",
        confines=True,
        takes_paths=True,
        exclusive=True,
        bare=CLASSIC,
        toolchains=tools,
        runtimes=("ioi_eval",),
        proctor=Blob.of(b"a fake proctor"),
    )


class FakeEngine:
    """An engine whose results a test decides. The module's docstring describes them."""

    def __init__(
        self,
        outcomes: Mapping[int, Outcome] | Callable[[FakeTest], Outcome] | None = None,
        *,
        slots: int = 2,
        capabilities: Capabilities | None = None,
        compile_errors: Callable[[str], str | None] = lambda source: None,
        faults: Iterable[Fault] = (),
        delay: float = 0.0,
    ) -> None:
        """Create the engine.

        Args:
            outcomes: a function, or outcomes by the index of the test. Tests without an outcome score 1.
            slots: number of jobs at the same time.
            capabilities: by default the result of `fake_capabilities`.
            compile_errors: returns the compiler's output for a source that does not compile, otherwise None.
            faults: faults of the first jobs, in order. Later jobs have none.
            delay: duration of each job, in seconds.
        """
        outcome_by_test = outcomes or {}
        self._choose_outcome = (
            outcome_by_test
            if callable(outcome_by_test)
            else lambda test: outcome_by_test.get(test.index, 1.0)
        )
        self.capabilities_value = capabilities or fake_capabilities()
        self._find_compile_error = compile_errors
        self._faults = iter(faults)
        self.delay = delay
        self._free_slots = asyncio.Semaphore(slots)
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.slots = slots
        self.jobs: list[Job] = []
        self.started = asyncio.Event()  # event that is set when the first job starts
        self.running = 0  # number of jobs that run now
        self.peak = 0  # maximum number of jobs that ran at the same time

    @property
    def builds(self) -> list[Job]:
        return [job for job in self.jobs if job.keep]

    @property
    def runs(self) -> list[Job]:
        return [job for job in self.jobs if not job.keep]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    async def capabilities(self) -> Capabilities:
        return self.capabilities_value

    async def execute(self, job: Job, check: Check | None = None) -> JobResult:
        require_toolchains(job, self.capabilities_value.toolchains)
        async with self._free_slots:
            self.jobs.append(job)
            fault = next(self._faults, None)
            self.running += 1
            self.started.set()
            self.peak = max(self.peak, self.running)
            try:
                await asyncio.sleep(self.delay)
            finally:
                self.running -= 1
            if isinstance(fault, EngineError):
                raise fault
            return self._build(job, fault) if job.keep else self._run(job, fault)

    def _build(self, job: Job, fault: Fault) -> JobResult:
        source = job.files[-1].content.read()
        if isinstance(fault, Ending):
            return JobResult(compile=fault, run=fault)
        if fault is not None:
            stage_failure = Ending(
                status=StageStatus.XX, message=fault.reason if isinstance(fault, Fatal) else "killed"
            )
            return JobResult(compile=stage_failure, run=stage_failure)
        if (compiler_output := self._find_compile_error(source.decode(errors="replace"))) is not None:
            compile_failure = Ending(stdout=compiler_output, code=1, status=StageStatus.RE)
            return JobResult(compile=compile_failure, run=compile_failure)
        artifact_paths = {name: self._write_artifact(source) for name in job.keep}
        return JobResult(compile=Ending(code=0), run=Ending(code=0), kept=artifact_paths)

    def _write_artifact(self, content: bytes) -> str:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="ioi-eval-fake-")
        path = Path(tempfile.mkdtemp(dir=self._folder.name)) / "artifact"
        path.write_bytes(content)
        return str(path)

    def _run(self, job: Job, fault: Fault) -> JobResult:
        if isinstance(fault, Ending):
            return JobResult(run=fault)
        content_by_name = {file.name: file.content for file in job.files}
        if "plan.json" not in content_by_name:
            raise JobRejected("the fake engine runs only jobs with a plan.json")
        plan = _PLAN.decode(content_by_name["plan.json"].read())
        report_lines = [TestReport(v=VERSION, nonce=plan.nonce, start=Start(confinement={"fake": True}))]
        if isinstance(fault, Fatal):
            report_lines.append(TestReport(v=VERSION, nonce=plan.nonce, fatal=fault.reason))
            return JobResult(run=Ending(stdout=_encode_lines(report_lines), code=2, status=StageStatus.RE))
        decided_groups: set[int] = set()
        report_lines += [
            self._report_test(plan, test, content_by_name, decided_groups) for test in plan.tests
        ]
        if isinstance(fault, Killed):
            printed_lines, next_line = (
                report_lines[: fault.after + 1],
                report_lines[fault.after + 1 : fault.after + 2],
            )
            torn_line = _encode_lines(next_line)[:25] if fault.torn else ""
            return JobResult(
                run=Ending(
                    stdout=_encode_lines(printed_lines) + torn_line, signal="SIGKILL", status=StageStatus.TO
                )
            )
        report_lines.append(TestReport(v=VERSION, nonce=plan.nonce, done=True))
        return JobResult(run=Ending(stdout=_encode_lines(report_lines), code=0))

    def _report_test(
        self, plan: Plan, test: PlanTest, content_by_name: Mapping[str, Blob], decided_groups: set[int]
    ) -> TestReport:
        if test.groups and decided_groups.issuperset(test.groups):
            return TestReport(v=VERSION, nonce=plan.nonce, test=test.index, skipped=True)
        outcome = (
            0.0
            if (test.output is None and (test.by_file or plan.task_type == TaskType.OUTPUT_ONLY))
            else self._choose_outcome(
                FakeTest(
                    index=test.index,
                    source=_read_program(plan.submission.argv, content_by_name),
                    input=content_by_name[test.input].read(),
                    answer=content_by_name[test.answer].read() if test.answer is not None else None,
                    output=content_by_name[test.output].read() if test.output is not None else None,
                    manager=_read_program(plan.manager.argv, content_by_name)
                    if plan.manager is not None
                    else "",
                )
            )
        )
        report = _report_outcome(plan.nonce, test.index, outcome)
        if report.failure is None:
            decided_groups |= {
                group for group in test.groups if _is_group_decided(plan.groups[group], report.score)
            }
        return report


def _read_program(command: Iterable[str], content_by_name: Mapping[str, Blob]) -> str:
    """Return the program of a command: its last argument that is a file of the job."""
    programs = [content_by_name[argument] for argument in command if argument in content_by_name]
    return programs[-1].read().decode(errors="replace") if programs else ""


def _report_outcome(nonce: str, index: int, outcome: Outcome) -> TestReport:
    if isinstance(outcome, Broken):
        return TestReport(v=VERSION, nonce=nonce, test=index, failure=outcome.reason)
    ending, score = (outcome, 0.0) if isinstance(outcome, str) else ("ok", float(outcome))
    if ending not in _ENDS:
        raise ValueError(f"{ending!r} is not a known ending. Known endings: {', '.join(_ENDS)}")
    exit_code, signal_number = int(ending == "exit"), 11 * (ending == "signal")
    return TestReport(
        v=VERSION, nonce=nonce, test=index, end=ending, score=score, code=exit_code, signal=signal_number,
        cpu_us=1000, wall_us=2000, memory=1 << 20,
    )  # fmt: skip


def _is_group_decided(group: PlanGroup, score: float) -> bool:
    if group.rule == "zero":
        return score <= 0
    return group.rule == "threshold" and not 0 < score <= (group.threshold or 0)


def _encode_lines(reports: Iterable[TestReport]) -> str:
    return "".join(msgspec.json.encode(report).decode() + "\n" for report in reports)
