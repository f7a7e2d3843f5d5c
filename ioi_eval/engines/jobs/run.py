"""Jobs that run tests: their files and plan, their size, their delivery, execution and verdict lines.

A job that runs tests has the proctor, the programs, a plan and as many tests as fit.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import msgspec

from ioi_eval.engines.contract import (
    OWN,
    ArtifactsLost,
    Batch,
    BuildSpec,
    Capabilities,
    Check,
    Engine,
    Program,
    TestReports,
    min_limit,
)
from ioi_eval.engines.jobs.piston_api import BODY
from ioi_eval.model.errors import (
    BrokenReply,
    EngineError,
    EngineOverloaded,
    EngineUnavailable,
    JobTooLarge,
    JudgeFailure,
    MachineAtFault,
    ToolchainGone,
)
from ioi_eval.model.job import Ending, Job, JobFile, JobResult, StageStatus, Toolchain
from ioi_eval.model.options import JudgeOptions
from ioi_eval.model.protocol import (
    Plan,
    PlanChecker,
    PlanForkServer,
    PlanSubmission,
    PlanTest,
    TestReport,
    decode_lines,
)
from ioi_eval.model.retry import REPLY
from ioi_eval.model.values import Blob, CheckerKind, Problem, TaskType, Value
from ioi_eval.rules.limits import (
    compute_cpu_limit_when_crowded,
    compute_job_idle_time,
    compute_min_wall_and_cpu_ms,
    count_processes,
    estimate_tests_per_job,
    make_plan_limits,
    to_milliseconds,
)
from ioi_eval.rules.plan import PlannedTest, is_answered_by_file, make_plan_groups
from ioi_eval.store.compiling import WAITING
from ioi_eval.store.resources import graders_folder

_log = logging.getLogger(__name__)
_PROCTOR, PLAN = "proctor", "plan.json"
RUN_SCRIPT = f"exec ./{_PROCTOR} run {PLAN}\n"
WHICH = "/ioi-eval-which/"  # prefix of a command that the job's script replaces by the command's path
PROCTOR_MEMORY = 256 << 20  # bytes of memory that the proctor, a shell and a decompressor need together
_OUTPUT_ROLE = "handed"  # role of the output file that was submitted for a test


class PlanTemplate:
    """The part of a plan that is the same for all submissions to a problem."""

    def __init__(
        self, problem: Problem, options: JudgeOptions, crowded_cpu_limit_s: float | None = None
    ) -> None:
        """`crowded_cpu_limit_s`: limit of CPU time while the machine is busy, in seconds, if different."""
        self.problem, self.options = problem, options
        self._index_by_name = {test.name: index for index, test in reversed(tuple(enumerate(problem.tests)))}
        test_names = self._index_by_name if problem.task_type is TaskType.BATCH_AND_OUTPUT else ()
        self.tests_answered_by_file = frozenset(
            name for name in test_names if is_answered_by_file(problem, name)
        )
        self.plan = Plan(
            nonce="",
            task_type=problem.task_type.value,
            submission=PlanSubmission(),
            limits=make_plan_limits(
                cpu_time=problem.limits.cpu_time,
                wall_time=problem.limits.wall_time,
                memory=problem.limits.memory,
                output=problem.limits.output,
                cuts_output=problem.limits.cuts_output,
                crowded_cpu_time=crowded_cpu_limit_s,
            ),
            input_file=problem.options.input_file,
            output_file=problem.options.output_file,
            checker=PlanChecker(kind=CheckerKind.WHITE_DIFF.value),
            processes=problem.options.processes,
            user_io=problem.options.user_io,
            groups=make_plan_groups(problem, all_tests=options.all_tests),
            tests=(),
            layers=options.layers,
            allow_unconfined=options.allow_unconfined,
            echo=options.echo,
            show=options.show,
        )

    def select_job_tests(self, planned_tests: Sequence[PlannedTest], nonce: str) -> JobTests:
        """Return the job's tests by their index in the problem, which the proctor's lines contain."""
        tests_by_index = {
            self._index_by_name[planned_test.test.name]: planned_test for planned_test in planned_tests
        }
        return JobTests(tests=tests_by_index, nonce=nonce, template=self)


class JobTests(Value):
    """The tests of a job, by the index that the proctor's lines contain."""

    tests: Mapping[int, PlannedTest]
    nonce: str
    template: PlanTemplate


def make_test_job(batch: Batch, job_tests: JobTests, capabilities: Capabilities) -> Job:
    """Return a job that runs some tests of a batch, for an engine that starts the proctor itself.

    Args:
        batch: a program with the tests that it still has to run.
        job_tests: the tests of the batch that this job runs.
        capabilities: capabilities of the engine.
    """
    interpreter_tools = find_program_interpreters(batch.program, capabilities)
    accepted_toolchains = {
        name: tuple(tool.identity for tool in capabilities.list_toolchains(name))
        for name in sorted(interpreter_tools)
    }
    if batch.program.interpreter:  # accept only the interpreter that checked the source
        accepted_toolchains[batch.program.submission.argv[0]] = (batch.program.interpreter,)
    program = add_fork_server(batch.program, capabilities) if COMMAND in interpreter_tools else batch.program
    # In the commands, replace the interpreter's name by its path.
    programs = {"submission": program.submission, "checker": program.checker, "manager": program.manager}
    located_programs = {
        name: msgspec.structs.replace(
            plan_program,
            argv=(make_plan_path(interpreter_tools[plan_program.argv[0]]), *plan_program.argv[1:]),
        )
        for name, plan_program in programs.items()
        if plan_program is not None and plan_program.argv and plan_program.argv[0] in interpreter_tools
    }
    program = msgspec.structs.replace(program, **located_programs)
    tests, test_files = list[PlanTest](), list[JobFile]()
    for index, planned_test in job_tests.tests.items():
        file_by_role = {
            role: JobFile(name=f"t/{index}.{role}", content=content)
            for role, content in collect_test_files(program, planned_test).items()
        }
        test_files += file_by_role.values()
        name_by_role = {role: file.name for role, file in file_by_role.items()}
        tests.append(
            PlanTest(
                index=index,
                input=name_by_role["in"],
                answer=name_by_role.get("out"),
                output=name_by_role.get(_OUTPUT_ROLE),
                by_file=planned_test.test.name in job_tests.template.tests_answered_by_file,
                arguments=planned_test.test.arguments,
                groups=planned_test.groups,
            )
        )
    limits = job_tests.template.plan.limits
    if batch.alone:  # nothing else runs on the machine, so it is not crowded
        limits = msgspec.structs.replace(limits, crowded_cpu_ms=None)
    plan = msgspec.structs.replace(
        job_tests.template.plan,
        nonce=job_tests.nonce,
        limits=limits,
        submission=program.submission,
        checker=program.checker,
        manager=program.manager,
        tests=tuple(tests),
        alone=batch.alone and capabilities.exclusive,
        read=tuple(dict.fromkeys(path for tool in interpreter_tools.values() for path in tool.read)),
    )
    # A job that needs more time than allowed is stopped, and its remaining tests run in the next job.
    manager, options = program.manager, batch.options
    needed_s = compute_job_idle_time(
        batch.problem.limits,
        len(job_tests.tests) * batch.problem.checker.passes,
        manager=None if manager is None else manager.limits,
        checker_time=(program.checker.limits.wall_ms or 0) / 1000,
    )
    max_run_s = math.inf if capabilities.max_run_time is None else capabilities.max_run_time / 1000
    return Job(
        files=(
            JobFile(name=_PROCTOR, content=program.proctor, executable=True),
            JobFile(name=PLAN, content=Blob.of(msgspec.json.encode(plan))),
            *program.files,
            *test_files,
        ),
        run_timeout=to_milliseconds(min(needed_s, options.max_job_time, max_run_s)),
        plan=PLAN,
        exclusive=plan.alone,
        accepted_toolchains=accepted_toolchains,
    )


def find_program_interpreters(program: Program, capabilities: Capabilities) -> dict[str, Toolchain]:
    """Return the interpreters of submission, checker and manager, by command."""
    file_names = {file.name for file in program.files}
    plan_programs = (program.submission, program.checker, program.manager)
    commands = dict.fromkeys(
        plan_program.argv[0]
        for plan_program in plan_programs
        if plan_program is not None and plan_program.argv
    )
    return {
        command: capabilities.toolchains[command]
        for command in commands
        if command in capabilities.toolchains and command not in file_names
    }


def make_plan_path(tool: Toolchain) -> str:
    """Return the path of an interpreter for a plan, or a placeholder if servers have different paths."""
    return tool.path if "/" in tool.path else WHICH + tool.path


def collect_test_files(program: Program, planned_test: PlannedTest) -> dict[str, Blob]:
    """Return the files of a test by role: input, answer, and submitted output."""
    test, submitted_output = planned_test.test, program.outputs.get(planned_test.test.name)
    content_by_role = {"in": test.input, "out": test.answer, _OUTPUT_ROLE: submitted_output}
    return {role: content for role, content in content_by_role.items() if content is not None}


# --- the result of a job of tests --------------------------------------------------------------------


def read_test_reports(batch: Batch, job_tests: JobTests, ending: Ending, server_names: str) -> TestReports:
    """Return the proctor's lines about tests. They count even if the job failed.

    Args:
        batch: The program and the problem, whose id messages contain.
        job_tests: The tests of the job, and the token in all lines of its proctor.
        ending: How the job ended. Its stdout contains the lines.
        server_names: Names of the servers that failed the job, for messages. It may be empty.

    Raises:
        JudgeFailure: A line is invalid, reports a failure of the judge, or names a test that the job lacks.
    """
    lines = dict[str, TestReport]()
    confinement: Mapping[str, object] = {}
    try:
        reported = list(decode_lines(ending.stdout, job_tests.nonce))
    except BrokenReply as error:
        raise JudgeFailure(str(error), phase="reading verdict lines") from error
    for line in reported:
        if line.fatal is not None:
            phase = f"judging problem {batch.problem.id}"
            raise JudgeFailure(
                f"{line.fatal} (on {server_names})" if server_names else line.fatal, phase=phase
            )
        if line.start is not None:
            confinement = line.start.confinement
        if line.test is not None and line.test not in job_tests.tests:
            raise JudgeFailure(
                f"the proctor reports about test {line.test}, which is not in the job", phase="judging"
            )
        if line.test is not None and not line.skipped:
            lines[job_tests.tests[line.test].test.name] = line
    return TestReports(lines=lines, confinement=confinement)


def explain_machine_fault(ending: Ending, nonce: str) -> str:
    """Return why the machine is to blame for a failed job of tests, or an empty string if it is not.

    The proctor prints a line when it starts, before any program of the job runs, and then a line for each
    test. A program cannot prevent the first line, and a program that breaks its own test cannot prevent the
    line about that test. A job that a limit stopped after the first line may only have been slow.
    """
    lines = [*decode_lines(ending.stdout, nonce)]
    if fatal := next((line.fatal for line in lines if line.fatal is not None), None):
        return fatal
    if ending.exited:
        is_sound = ending.code == 0 and any(line.test is not None for line in lines)
    else:
        is_sound = any(line.test is not None or ending.limit for line in lines)
    return "" if is_sound else make_no_report_message(ending)


def make_no_report_message(ending: Ending, server_names: str = "") -> str:
    """Return a message about a job that reports about no test.

    `server_names` are the servers that failed the job.
    """
    exit_reason = f"exit code {ending.code}" if ending.exited else f"killed by {ending.signal or 'a signal'}"
    stderr = " ".join(ending.stderr.split())[-500:]
    stderr = stderr if stderr.isprintable() else ascii(stderr)
    ending_message = None if ending.exited else ending.message
    details = [
        exit_reason,
        ending.limit and f"limit {ending.limit}",
        ending_message,
        server_names and f"on {server_names}",
        stderr,
    ]
    return f"the proctor judged no test ({'; '.join(detail for detail in details if detail)})"


# --- the number of tests in a job: limits of number, bytes and time -----------------


BODY_REMEDY = (
    "Raise the limit of body_parser.json in src/index.js of a Piston, max-body of a worker"
    " (--set max-body=512mb), or the limit of a gateway before them (client_max_body_size of nginx) to 512mb"
)
_REQUEST_BYTES = 4096  # bytes of a request without its files and tests
_PLANNED_BYTES = 256  # bytes that each test adds to the plan
_WORKER_OPTIONS = {  # options of a worker that correspond to Piston's variables, by limit
    "run_timeout": "run-timeout",
    "run_cpu_time": "run-timeout",
    "compile_timeout": "compile-timeout",
    "compile_cpu_time": "compile-timeout",
}


_LARGEST_PROBE = 32 << 20  # bytes of the largest request with which a probe tests a server
# Bytes of a request that are reserved for the program, but at most half of the request.
_MIN_PROGRAM_BYTES = 4 << 20


def compute_max_program_bytes(capabilities: Capabilities) -> int:
    """Return the maximum bytes of a submission's program in a request.

    The rest is for tests. Without a maximum, a program could be so large that its test does not fit.
    """
    max_bytes = capabilities.max_body or _LARGEST_PROBE
    return max(max_bytes // 4, min(_MIN_PROGRAM_BYTES, max_bytes // 2))


CountRequestBytes = Callable[[Blob], Awaitable[int]]
"""A function that returns the bytes that a content adds to a request."""


class JobSizeLimiter:
    """Chooses how many tests of a problem fit into a job of an engine.

    Raises JudgeFailure if the engine's time is too short for a single test.
    """

    def __init__(
        self,
        problem: Problem,
        options: JudgeOptions,
        capabilities: Capabilities,
        count_request_bytes: CountRequestBytes,
    ) -> None:
        crowded_cpu_limit_s = compute_cpu_limit_when_crowded(problem, options.borderline)
        max_times = (capabilities.max_run_time, capabilities.max_run_cpu_time)
        if any(
            max_time_ms is not None and max_time_ms < needed_ms
            for max_time_ms, needed_ms in zip(
                max_times, compute_min_wall_and_cpu_ms(problem, crowded_cpu_limit_s), strict=True
            )
        ):
            crowded_cpu_limit_s = None  # the server would stop the job before the limit for a crowded machine
        self.template = PlanTemplate(problem, options, crowded_cpu_limit_s)
        self._problem, self._capabilities, self._count_request_bytes = (
            problem,
            capabilities,
            count_request_bytes,
        )
        wall_time_ms, cpu_time_ms = compute_min_wall_and_cpu_ms(problem)
        for needed_ms, max_time_ms, variable in (
            (wall_time_ms, capabilities.max_run_time, "PISTON_RUN_TIMEOUT"),
            (cpu_time_ms, capabilities.max_run_cpu_time, "PISTON_RUN_CPU_TIME"),
        ):
            if max_time_ms is not None and max_time_ms < needed_ms:
                raise JudgeFailure(
                    f"a single test may need {needed_ms / 1000:g} s,"
                    f" but the server allows a job only {max_time_ms / 1000:g} s",
                    phase=f"judging problem {problem.id}",
                    remedy=f"Raise {variable} on the server to {needed_ms} or more, on a worker"
                    f" --set run-timeout={needed_ms / 1000:g}; 60 s suit most problems",
                )
        self._max_tests = min(options.max_tests, capabilities.max_files)
        if (max_time_ms := min_limit(capabilities.max_run_time, capabilities.max_run_cpu_time)) is not None:
            self._max_tests = min(self._max_tests, estimate_tests_per_job(problem, max_time_ms))

    def lower_memory_limit(self, job: Job) -> Job:
        """Return the job with its memory limit lowered to the engine's, if that is enough for the problem."""
        max_memory_bytes, requested_bytes = self._capabilities.max_run_memory, job.run_memory_limit
        if (
            max_memory_bytes is None
            or max_memory_bytes < compute_min_memory_bytes(self._problem)
            or (requested_bytes or math.inf) <= max_memory_bytes
        ):
            return job
        return msgspec.structs.replace(job, run_memory_limit=max_memory_bytes)

    async def select_tests_that_fit(self, batch: Batch) -> tuple[PlannedTest, ...]:
        """Return the first tests of a batch, as many as fit into the next job."""
        # A test with a submitted output file needs three open files instead of two.
        max_tests = max(1, self._max_tests * 2 // 3) if batch.program.outputs else self._max_tests
        candidates, max_bytes, program = batch.tests[:max_tests], self._capabilities.max_body, batch.program
        if max_bytes is None:
            return candidates
        used_bytes = _REQUEST_BYTES + await self._sum_request_bytes(
            (program.proctor, *(file.content for file in program.files))
        )
        # Reserve space for the largest program, so that the same tests fit for all submissions.
        program_contents = [file.content for file in program.files if file.name in program.submission.argv]
        reserved_bytes = (
            max(
                0,
                compute_max_program_bytes(self._capabilities)
                - await self._sum_request_bytes(program_contents),
            )
            if program_contents
            else 0
        )
        for test_count, planned_test in enumerate(candidates):
            used_bytes += _PLANNED_BYTES + await self._sum_request_bytes(
                collect_test_files(program, planned_test).values()
            )
            if used_bytes > max_bytes and test_count:
                return candidates[:test_count]
            if not test_count and used_bytes + reserved_bytes > max_bytes:
                raise JudgeFailure(
                    f"a job with only this test and the largest program needs a request of"
                    f" {used_bytes + reserved_bytes} bytes; the server accepts {max_bytes}",
                    phase=f"judging problem {self._problem.id}",
                    test=planned_test.test.name,
                    remedy=BODY_REMEDY,
                )
        return candidates

    async def _sum_request_bytes(self, contents: Iterable[Blob]) -> int:
        return sum([await self._count_request_bytes(content) for content in contents])


def compute_min_memory_bytes(problem: Problem) -> int:
    """Return the minimum memory limit of a job, in bytes, at which all programs may use their own limits."""
    return count_processes(problem) * (problem.limits.memory or 0) + PROCTOR_MEMORY


COMMAND, _SCRIPT, _HARNESS = "python3", "waiting.py", "harness.py"
# First bytes of a Python program with several sources, which is an archive. Its imports are not read, because
# its own sources may have the names of modules.
_ARCHIVE = b"PK\x03\x04"
_IMPORT = re.compile(
    rb"^[ \t]*(?:import[ \t]+([\w., \t]+)|from[ \t]+(\w+)[\w.]*[ \t]+import\b)", re.MULTILINE
)

# Modules that a fork server may import, because their import only defines names and starts no thread.
_PRELOADABLE_MODULES = frozenset(
    re.findall(
        r"\w+",
        """__future__ abc array ast asyncio base64 bisect builtins calendar cmath codecs collections
        concurrent contextlib copy csv dataclasses datetime decimal difflib enum errno fractions
        functools gc hashlib heapq inspect io itertools json keyword logging math numbers numpy
        operator os pickle platform pprint queue random re resource secrets select shutil signal
        sortedcontainers statistics string struct subprocess sys tempfile textwrap threading time
        timeit traceback types typing unicodedata uuid warnings weakref zlib""",
    )
)
_HARNESS_MODULES = re.findall(
    r"\w+",
    """string re datetime collections heapq bisect copy math random statistics itertools functools operator io
    sys time json typing importlib os traceback types""",
)


def add_fork_server(program: Program, capabilities: Capabilities) -> Program:
    """Return the program with a fork server for its submission, if the engine has a fork server."""
    submission = program.submission
    if capabilities.waiting is None or not submission.argv or submission.argv[0] != COMMAND:
        return program
    if submission.processes > 1:  # a submission with several processes is started anew for each test
        return program
    # The harness itself imports some modules only when they are needed.
    source_names = {*submission.files} - {_HARNESS}
    imported_modules = _list_preloadable_modules(
        file.content for file in program.files if file.name in source_names
    )
    module_names = _HARNESS_MODULES + imported_modules if _HARNESS in submission.files else imported_modules
    submission, fork_server_files = attach_fork_server(submission, module_names, capabilities.waiting)
    return msgspec.structs.replace(program, submission=submission, files=(*program.files, *fork_server_files))


def attach_fork_server(
    submission: PlanSubmission, modules: Iterable[str], fork_server_library: Blob
) -> tuple[PlanSubmission, tuple[JobFile, ...]]:
    """Return a submission with a fork server, and the files of the fork server: its library comes first."""
    fork_server_plan = PlanForkServer(library=WAITING, script=_SCRIPT, modules=tuple(dict.fromkeys(modules)))
    files = (
        JobFile(name=WAITING, content=fork_server_library),
        JobFile(name=_SCRIPT, content=_read_fork_server_script()),
    )
    return msgspec.structs.replace(submission, warm=fork_server_plan), files


@cache
def _read_fork_server_script() -> Blob:
    return Blob.of_file(graders_folder() / "python" / _SCRIPT)


def _list_preloadable_modules(sources: Iterable[Blob]) -> list[str]:
    """Return the modules that sources import and a fork server may load, in order."""
    module_names = list[str]()
    for source in sources:
        source_code = source.read()
        if source_code.startswith(_ARCHIVE):
            return []
        for import_list, from_module in _IMPORT.findall(source_code):
            import_words = (
                [words.split(b".")[0].split() for words in import_list.split(b",")]
                if import_list
                else [[from_module]]
            )
            module_names += [words[0].decode(errors="replace") for words in import_words if words]
    return [name for name in module_names if name in _PRELOADABLE_MODULES]


# --- the delivery of jobs to an engine ----------------------------------------------------------


def needs_scripts_in_job(capabilities: Capabilities, runtime: str) -> bool:
    """Return True if a job for a runtime has to contain scripts `compile` and `run`."""
    if runtime in capabilities.runtimes:
        return runtime in capabilities.bare
    return bool(capabilities.bare) or OWN in capabilities.runtimes


class BuildResult(Value):
    """A build's ending and artifact."""

    ended: Ending
    tool: Toolchain  # the toolchain that executed the build
    content: Blob | None = None
    kept: Mapping[str, str] = {}  # paths of files that the caller must remove
    confinement: Mapping[str, Any] = {}  # restrictions of the build's sandbox that were in force
    too_large: str = ""  # reason why the program and its tests do not fit into a request; empty if they fit

    def discard(self) -> None:
        for path in self.kept.values():
            Path(path).unlink(missing_ok=True)


class JobDelivery(Protocol):
    """Creates jobs for builds and tests in the form that an engine needs, and reads their results.

    `LocalJobDelivery` names files by path. `HttpJobDelivery`, for all other engines, puts everything into
    the job.
    """

    is_here: bool
    """Jobs run on this machine: large files cost nothing, and a job can run alone."""

    async def build(
        self,
        spec: BuildSpec,
        prebuilt_files: Sequence[JobFile] | None,
        capabilities: Capabilities,
        *,
        may_leave_artifact_on_worker: bool,
    ) -> BuildResult:
        """Execute a build job. Raises JudgeFailure if the engine or a limit of it is at fault.

        Args:
            prebuilt_files: files that speed up the build. `None` means that no such file may be used.
            may_leave_artifact_on_worker: True if the artifact need not be sent to this machine, so that a
                worker may store the artifact that it built.

        Raises:
            ToolchainGone: the caller may try a new job.
        """
        ...

    @property
    def explain_too_large_program(self) -> Callable[[Blob, Capabilities], Awaitable[str]] | None:
        """A function that returns why a program is too large for requests, or "" if it is not too large.

        A request contains the program of a submission and its tests. `None` means that the engine has no
        requests.
        """
        ...

    async def count_request_bytes(self, content: Blob) -> int:
        """Return the bytes that a content adds to a request."""
        ...

    def make_job(self, batch: Batch, job_tests: JobTests, capabilities: Capabilities) -> Job:
        """Return the job of some tests."""
        ...

    async def run_test_job(
        self, job: Job, capabilities: Capabilities, *, nonce: str, phase: str
    ) -> tuple[Ending, str]:
        """Execute a job that runs tests, and return how it ended.

        The second value contains the names of the servers if all attempts failed, and is empty otherwise.

        Args:
            job: The job, whose run stage starts the proctor.
            capabilities: Capabilities of the engine.
            nonce: Token in all lines of the job's proctor.
            phase: The judge's phase, for messages.

        Raises:
            JudgeFailure: No further attempt helps.
            ToolchainGone, ArtifactsLost: The caller has to prepare a new job.
        """
        ...


# --- executing a job, with retries --------------------


RETRIED_ERRORS = (EngineUnavailable, EngineOverloaded, BrokenReply)
"""Errors after which a job is tried again. A rejected job would be rejected again."""


async def execute(
    engine: Engine, job: Job, *, phase: str, check: Check | None = None, attempts: int | None = None
) -> JobResult:
    """Execute a job, with repetitions by the retry rule `reply`, and return its result.

    Args:
        phase: the judge's phase, for messages.
        check: returns the result, or raises EngineError if the machine failed the job.
        attempts: replaces the number of attempts of the rule.

    Raises:
        JudgeFailure: if no further attempt helps.
        ToolchainGone, ArtifactsLost: if the caller has to prepare a new job.
        MachineAtFault: if no server has a result that `check` accepts. The error has the last result.
    """
    attempt = 1
    while True:
        try:
            if check is None:
                return require_working_sandboxes(await engine.execute(job))
            return await check(require_working_sandboxes(await engine.execute(job, check)))
        except JobTooLarge as error:
            # The remedy names the server's environment variable, which is named after the limit.
            limit_remedy = f"Raise PISTON_{error.limit.upper()} on the server" if error.limit else ""
            if worker_option := _WORKER_OPTIONS.get(error.limit):
                limit_remedy += f", on a worker --set {worker_option}=SECONDS"
            remedy = BODY_REMEDY if error.limit == BODY else limit_remedy
            raise JudgeFailure(f"the job is too large: {error}", phase=phase, remedy=remedy) from error
        except (ToolchainGone, ArtifactsLost, MachineAtFault):
            raise  # the caller prepares a new job, or uses the result in the exception
        except EngineError as error:
            reason = f"{type(error).__name__}: {error}"
            if not isinstance(error, RETRIED_ERRORS):
                raise JudgeFailure(reason, phase=phase) from error
            if attempt >= (attempts or REPLY.max_attempts):
                raise JudgeFailure(f"{reason}, {REPLY.describe_exhaustion(attempt)}", phase=phase) from error
            REPLY.log(_log, reason)
        await asyncio.sleep(REPLY.delay_s_after(attempt))
        attempt += 1


def require_working_sandboxes(result: JobResult) -> JobResult:
    """Return the result. Raises EngineUnavailable if the sandbox of a stage failed."""
    for stage in (result.compile, result.run):
        if stage is not None and stage.status is StageStatus.XX:
            server_note = f" on {result.endpoint}" if result.endpoint else ""
            raise EngineUnavailable(f"the sandbox failed{server_note}: {stage.message or 'no reason given'}")
    return result
