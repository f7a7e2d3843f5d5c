"""Jobs: those that judge, how they are delivered, and executing one until it has really been executed.

A job that judges is the proctor, what was built, a plan and as many tests as fit; out come verdict lines.
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
    least,
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
    PlanSubmission,
    PlanTest,
    PlanWarm,
    TestReport,
    decode_lines,
)
from ioi_eval.model.retry import REPLY
from ioi_eval.model.values import Blob, CheckerKind, Problem, TaskType, Value
from ioi_eval.rules.limits import (
    crowded_time,
    expected_tests,
    least_time,
    milliseconds,
    plan_limits,
    processes_of,
    run_time,
)
from ioi_eval.rules.plan import PlannedTest, groups, is_by_file
from ioi_eval.store.compiling import WAITING
from ioi_eval.store.resources import graders

_log = logging.getLogger(__name__)
_PROCTOR, PLAN = "proctor", "plan.json"
RUN_SCRIPT = f"exec ./{_PROCTOR} run {PLAN}\n"
WHICH = "/ioi-eval-which/"  # stands for the path of what follows, where a job runs
PROCTOR_MEMORY = 256 << 20  # bytes, with what a shell and an unpacker take
_HANDED = "handed"  # of a test's files the one that is the submission's


class Frame:
    """The part of a job's plan that the problem and the options decide, whichever submission is run."""

    def __init__(self, problem: Problem, options: JudgeOptions, crowded_time: float | None = None) -> None:
        """`crowded_time`: the limit of CPU time on a crowded machine, if there is another one."""
        self.problem, self.options = problem, options
        self._place = {test.name: index for index, test in reversed(tuple(enumerate(problem.tests)))}
        names = self._place if problem.task_type is TaskType.BATCH_AND_OUTPUT else ()
        self.by_file = frozenset(name for name in names if is_by_file(problem, name))
        self.plan = Plan(
            nonce="",
            task_type=problem.task_type.value,
            submission=PlanSubmission(),
            limits=plan_limits(
                cpu_time=problem.limits.cpu_time,
                wall_time=problem.limits.wall_time,
                memory=problem.limits.memory,
                output=problem.limits.output,
                cuts=problem.limits.cuts_output,
                crowded_time=crowded_time,
            ),
            input_file=problem.options.input_file,
            output_file=problem.options.output_file,
            checker=PlanChecker(kind=CheckerKind.WHITE_DIFF.value),
            processes=problem.options.processes,
            user_io=problem.options.user_io,
            groups=groups(problem, all_tests=options.all_tests),
            tests=(),
            layers=options.layers,
            allow_unconfined=options.allow_unconfined,
            echo=options.echo,
            show=options.show,
        )

    def job_tests(self, tests: Sequence[PlannedTest], nonce: str) -> JobTests:
        """Return tests for a job, each under the index that its line will have: its place in the problem."""
        placed = {self._place[planned.test.name]: planned for planned in tests}
        return JobTests(tests=placed, nonce=nonce, frame=self)


class JobTests(Value):
    """The tests of one job, by the index that each one's line will have."""

    tests: Mapping[int, PlannedTest]
    nonce: str
    frame: Frame


def run_job(batch: Batch, chosen: JobTests, capabilities: Capabilities) -> Job:
    """Return the job of these tests, for an engine that starts the proctor itself."""
    tools = interpreters(batch.program, capabilities)
    accepted_toolchains = {
        name: tuple(tool.identity for tool in capabilities.offered(name)) for name in sorted(tools)
    }
    if batch.program.interpreter:  # the one that took the source
        accepted_toolchains[batch.program.submission.argv[0]] = (batch.program.interpreter,)
    program = waiting(batch.program, capabilities) if COMMAND in tools else batch.program
    # With the path of every interpreter in the place of its name.
    parts = {"submission": program.submission, "checker": program.checker, "manager": program.manager}
    located = {
        name: msgspec.structs.replace(part, argv=(path_of(tools[part.argv[0]]), *part.argv[1:]))
        for name, part in parts.items()
        if part is not None and part.argv and part.argv[0] in tools
    }
    program = msgspec.structs.replace(program, **located)
    tests, brought = list[PlanTest](), list[JobFile]()
    for index, planned in chosen.tests.items():
        files = {
            role: JobFile(name=f"t/{index}.{role}", content=content, is_reused=role != _HANDED)
            for role, content in contents(program, planned).items()
        }
        brought += files.values()
        names = {role: file.name for role, file in files.items()}
        tests.append(
            PlanTest(
                index=index,
                input=names["in"],
                answer=names.get("out"),
                output=names.get(_HANDED),
                by_file=planned.test.name in chosen.frame.by_file,
                arguments=planned.test.arguments,
                groups=planned.groups,
            )
        )
    limits = chosen.frame.plan.limits
    if batch.alone:  # what others run is no excuse any more
        limits = msgspec.structs.replace(limits, crowded_cpu_ms=None)
    plan = msgspec.structs.replace(
        chosen.frame.plan,
        nonce=chosen.nonce,
        limits=limits,
        submission=program.submission,
        checker=program.checker,
        manager=program.manager,
        tests=tuple(tests),
        alone=batch.alone and capabilities.exclusive,
        read=tuple(dict.fromkeys(place for tool in tools.values() for place in tool.read)),
    )
    # How long it may take: what does not fit in goes on in a next job.
    manager, options = program.manager, batch.options
    idling = run_time(
        batch.problem.limits,
        len(chosen.tests) * batch.problem.checker.passes,
        manager=None if manager is None else manager.limits,
        checker=(program.checker.limits.wall_ms or 0) / 1000,
    )
    most = math.inf if capabilities.max_run_time is None else capabilities.max_run_time / 1000
    return Job(
        files=(
            JobFile(name=_PROCTOR, content=program.proctor, executable=True, is_reused=True),
            JobFile(name=PLAN, content=Blob.of(msgspec.json.encode(plan))),
            *program.files,
            *brought,
        ),
        run_timeout=milliseconds(min(idling, options.max_job_time, most)),
        plan=PLAN,
        exclusive=plan.alone,
        accepted_toolchains=accepted_toolchains,
    )


def interpreters(program: Program, capabilities: Capabilities) -> dict[str, Toolchain]:
    """Return the interpreters that start the program's parts, by their commands."""
    files = {file.name for file in program.files}
    parts = (program.submission, program.checker, program.manager)
    commands = dict.fromkeys(part.argv[0] for part in parts if part is not None and part.argv)
    return {
        command: capabilities.toolchains[command]
        for command in commands
        if command in capabilities.toolchains and command not in files
    }


def path_of(tool: Toolchain) -> str:
    """For a plan: the interpreter's path, or a word to be replaced where servers do not agree."""
    return tool.path if "/" in tool.path else WHICH + tool.path


def contents(program: Program, planned: PlannedTest) -> dict[str, Blob]:
    """The files of a test: input, answer, and what was handed in."""
    test, handed = planned.test, program.outputs.get(planned.test.name)
    given = {"in": test.input, "out": test.answer, _HANDED: handed}
    return {role: content for role, content in given.items() if content is not None}


# --- what came of it ---------------------------------------------------------------------------------


def read_answers(batch: Batch, chosen: JobTests, ended: Ending, where: str) -> TestReports:
    """Every line that arrived stands, however the job ended. JudgeFailure where one says that we failed.

    `where`: the servers that failed the job, or an empty string.
    """
    lines = dict[str, TestReport]()
    confinement: Mapping[str, object] = {}
    try:
        reported = list(decode_lines(ended.stdout, chosen.nonce))
    except BrokenReply as error:
        raise JudgeFailure(str(error), phase="reading verdict lines") from error
    for line in reported:
        if line.fatal is not None:
            phase = f"judging problem {batch.problem.id}"
            raise JudgeFailure(f"{line.fatal} (on {where})" if where else line.fatal, phase=phase)
        if line.start is not None:
            confinement = line.start.confinement
        if line.test is not None and line.test not in chosen.tests:
            raise JudgeFailure(
                f"the proctor judged a test {line.test} that it was not given", phase="judging"
            )
        if line.test is not None and not line.skipped:
            lines[chosen.tests[line.test].test.name] = line
    return TestReports(lines=lines, confinement=confinement)


def machine_fault(ended: Ending, nonce: str) -> str:
    """Return why the machine that executed a job of tests failed it. An empty string means that it did not.

    The proctor prints a line when it starts, before any program of the job runs, and then a line for each
    test. A program cannot prevent the first line, and a program that breaks its own test cannot prevent the
    line about that test. A job that a limit ended after the first line may only have been slow.
    """
    lines = [*decode_lines(ended.stdout, nonce)]
    if fatal := next((line.fatal for line in lines if line.fatal is not None), None):
        return fatal
    if ended.exited:
        is_sound = ended.code == 0 and any(line.test is not None for line in lines)
    else:
        is_sound = any(line.test is not None or ended.limit for line in lines)
    return "" if is_sound else without_lines(ended)


def without_lines(ended: Ending, where: str = "") -> str:
    """Why a job that judged nothing may have judged nothing. `where`: the servers that failed it."""
    how = f"exit code {ended.code}" if ended.exited else f"killed by {ended.signal or 'a signal'}"
    words = " ".join(ended.stderr.split())[-500:]
    words = words if words.isprintable() else ascii(words)
    message = None if ended.exited else ended.message
    details = [how, ended.limit and f"limit {ended.limit}", message, where and f"on {where}", words]
    return f"the proctor judged no test ({'; '.join(text for text in details if text)})"


# --- how many tests a job may carry: by their number, their bytes, their time ------------------------


BODY_REMEDY = (
    "Raise the limit of body_parser.json in src/index.js of a Piston, --max-body of a worker, or the limit of"
    " a gateway before them (client_max_body_size of nginx) to 512mb"
)
_REQUEST = 4096  # bytes of a request and its plan that belong to no file and no test
_PLANNED = 256  # bytes of a plan for each test
_OPTIONS = {  # of a worker, which reads none of Piston's variables
    "run_timeout": "--run-timeout",
    "run_cpu_time": "--run-timeout",
    "compile_timeout": "--compile-timeout",
    "compile_cpu_time": "--compile-timeout",
}


_KNOWN_TO_PASS = 32 << 20  # bytes of a request that were tried where no limit was found
_USUAL = 4 << 20


def program_room(capabilities: Capabilities) -> int:
    """Return the bytes of a request that a submission's program may take.

    The rest is for a test. Were it all one room, a program could grow until its test does not fit.
    """
    room = capabilities.max_body or _KNOWN_TO_PASS
    return max(room // 4, min(_USUAL, room // 2))


Weigh = Callable[[Blob], Awaitable[int]]
"""Returns the bytes that a file with this content adds to a request."""


class JobSizer:
    """The numbers of a problem's tests that fit into jobs of an engine.

    JudgeFailure where the engine's time is too short for a single one.
    """

    def __init__(
        self, problem: Problem, options: JudgeOptions, capabilities: Capabilities, weigh: Weigh
    ) -> None:
        crowded = crowded_time(problem, options.borderline)
        most = (capabilities.max_run_time, capabilities.max_run_cpu_time)
        if any(
            time is not None and time < needed
            for time, needed in zip(most, least_time(problem, crowded), strict=True)
        ):
            crowded = None  # the server would end the job before that
        self.frame = Frame(problem, options, crowded)
        self._problem, self._capabilities, self._weigh = problem, capabilities, weigh
        wall, cpu = least_time(problem)
        for needed, time, variable in (
            (wall, capabilities.max_run_time, "PISTON_RUN_TIMEOUT"),
            (cpu, capabilities.max_run_cpu_time, "PISTON_RUN_CPU_TIME"),
        ):
            if time is not None and time < needed:
                raise JudgeFailure(
                    f"a single test may take {needed / 1000:g} s, the server gives a job {time / 1000:g} s",
                    phase=f"judging problem {problem.id}",
                    remedy=f"Raise {variable} on the server to {needed} or more, on a worker --run-timeout to"
                    f" {needed / 1000:g}; 60 s suit most problems",
                )
        self._most = min(options.max_tests, capabilities.max_files)
        if (time := least(capabilities.max_run_time, capabilities.max_run_cpu_time)) is not None:
            self._most = min(self._most, expected_tests(problem, time))

    def fits(self, job: Job) -> Job:
        """Return the job, with no more memory than the engine gives if that is enough for the problem."""
        allowed, wanted = self._capabilities.max_run_memory, job.run_memory_limit
        if allowed is None or allowed < least_memory(self._problem) or (wanted or math.inf) <= allowed:
            return job
        return msgspec.structs.replace(job, run_memory_limit=allowed)

    async def first(self, batch: Batch) -> tuple[PlannedTest, ...]:
        """As many of a batch's tests, from the first, as the next job takes."""
        # One with a file that was handed in has three files open, not two.
        most = max(1, self._most * 2 // 3) if batch.program.outputs else self._most
        candidates, room, program = batch.tests[:most], self._capabilities.max_body, batch.program
        if room is None:
            return candidates
        used = _REQUEST + await self._weight((program.proctor, *(file.content for file in program.files)))
        # Whatever program is handed in, it is the same tests that do not fit.
        own = [file.content for file in program.files if file.name in program.submission.argv]
        kept_free = max(0, program_room(self._capabilities) - await self._weight(own)) if own else 0
        for count, planned in enumerate(candidates):
            used += _PLANNED + await self._weight(contents(program, planned).values())
            if used > room and count:
                return candidates[:count]
            if not count and used + kept_free > room:
                raise JudgeFailure(
                    f"a job with nothing but this test takes a request of {used + kept_free} bytes, with room"
                    f" for any program, the server accepts {room}",
                    phase=f"judging problem {self._problem.id}",
                    test=planned.test.name,
                    remedy=BODY_REMEDY,
                )
        return candidates

    async def _weight(self, contents: Iterable[Blob]) -> int:
        return sum([await self._weigh(content) for content in contents])


def least_memory(problem: Problem) -> int:
    """Below this a server's own limit would end programs that are within the problem's."""
    return processes_of(problem) * (problem.limits.memory or 0) + PROCTOR_MEMORY


COMMAND, _SCRIPT, _HARNESS = "python3", "waiting.py", "harness.py"
_ARCHIVE = b"PK\x03\x04"  # of several sources: one of them may be called like a module
_IMPORT = re.compile(
    rb"^[ \t]*(?:import[ \t]+([\w., \t]+)|from[ \t]+(\w+)[\w.]*[ \t]+import\b)", re.MULTILINE
)

# Modules that do nothing but define something when they are imported, and start no thread.
_HARMLESS = frozenset(
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
_OF_HARNESS = re.findall(
    r"\w+",
    """string re datetime collections heapq bisect copy math random statistics itertools functools operator io
    sys time json typing importlib os traceback types""",
)


def waiting(program: Program, capabilities: Capabilities) -> Program:
    """The program with an interpreter that waits for it, where the engine has one."""
    submission = program.submission
    if capabilities.waiting is None or not submission.argv or submission.argv[0] != COMMAND:
        return program
    if submission.processes > 1:  # which is started for each test
        return program
    own = {*submission.files} - {_HARNESS}  # which imports some only when it needs them
    named = _named(file.content for file in program.files if file.name in own)
    modules = _OF_HARNESS + named if _HARNESS in submission.files else named
    submission, files = wait_for(submission, modules, capabilities.waiting)
    return msgspec.structs.replace(program, submission=submission, files=(*program.files, *files))


def wait_for(
    submission: PlanSubmission, modules: Iterable[str], library: Blob
) -> tuple[PlanSubmission, tuple[JobFile, ...]]:
    """A program with an interpreter that waits for it, and what that waits with: first the library."""
    warm = PlanWarm(library=WAITING, script=_SCRIPT, modules=tuple(dict.fromkeys(modules)))
    files = (JobFile(name=WAITING, content=library), JobFile(name=_SCRIPT, content=_waiting_script()))
    return msgspec.structs.replace(submission, warm=warm), files


@cache
def _waiting_script() -> Blob:
    return Blob.of_file(graders() / "python" / _SCRIPT)


def _named(sources: Iterable[Blob]) -> list[str]:
    """The harmless modules that the sources import, in their order."""
    names = list[str]()
    for source in sources:
        text = source.read()
        if text.startswith(_ARCHIVE):
            return []
        for several, single in _IMPORT.findall(text):
            words = [part.split(b".")[0].split() for part in several.split(b",")] if several else [[single]]
            names += [word[0].decode(errors="replace") for word in words if word]
    return [name for name in names if name in _HARMLESS]


# --- how a job is delivered to an engine ----------------------------------------------------------


def brings_scripts(capabilities: Capabilities, runtime: str) -> bool:
    """Return True if a job in this runtime has to bring its own `compile` and `run`."""
    if runtime in capabilities.runtimes:
        return runtime in capabilities.bare
    return bool(capabilities.bare) or OWN in capabilities.runtimes


class BuildResult(Value):
    """A build's ending and artifact."""

    ended: Ending
    tool: Toolchain  # that really built it
    content: Blob | None = None
    kept: Mapping[str, str] = {}  # paths of files that the caller discards
    confinement: Mapping[str, Any] = {}  # of the build, where a box of ours was made for it alone
    too_large: str = ""  # why the program cannot travel with its tests

    def discard(self) -> None:
        for path in self.kept.values():
            Path(path).unlink(missing_ok=True)


class Delivery(Protocol):
    """How builds and tests become jobs of an engine, and what came of them.

    There are two: by path to this machine, and whole, as Piston's requests are, to all other engines.
    """

    is_here: bool
    """Jobs run on this machine: large files cost nothing, and jobs can wait for each other."""

    async def build(
        self,
        spec: BuildSpec,
        prebuilt: Sequence[JobFile] | None,
        capabilities: Capabilities,
        *,
        may_stay: bool,
    ) -> BuildResult:
        """Execute a build job. JudgeFailure where the engine or a limit of it is at fault, not the source.

        Args:
            prebuilt: Files that make the build quicker. `None` means that no such file is to be used.
            may_stay: The artifact may be left where it was made.

        Raises:
            ToolchainGone: Another job may be executed.
        """
        ...

    @property
    def refusal(self) -> Callable[[Blob, Capabilities], Awaitable[str]] | None:
        """A function that returns why a submission's program cannot travel with its tests; empty: it can.

        None where programs need not travel.
        """
        ...

    async def weight(self, content: Blob) -> int:
        """Return the bytes that a file with this content adds to a request, if the engine limits these."""
        ...

    def job(self, batch: Batch, chosen: JobTests, capabilities: Capabilities) -> Job:
        """Return the job of these tests."""
        ...

    async def run(
        self, job: Job, capabilities: Capabilities, *, nonce: str, phase: str
    ) -> tuple[Ending, str]:
        """Execute a job of tests. Return its ending, and the servers that failed it if all of them did.

        `nonce` is the word that all lines of the job's proctor contain. Raises JudgeFailure if no further
        attempt helps.
        """
        ...


# --- executing a job until it has really been executed, a bounded number of times --------------------


PASSING = (EngineUnavailable, EngineOverloaded, BrokenReply)
"""Faults that may pass. A rejected job is rejected again, so it is not among them."""


async def execute(
    engine: Engine, job: Job, *, phase: str, check: Check | None = None, attempts: int | None = None
) -> JobResult:
    """Return the sound result of a job. A failure that may pass, or a broken reply, is tried again.

    Raises:
        JudgeFailure: if no further attempt helps.
        ToolchainGone: or ArtifactsLost, if another job may be executed.
        MachineAtFault: by `check`, if no server has a better result. The error has the result.
    `attempts` replaces the number of the rule `reply`.
    """
    attempt = 1
    while True:
        try:
            if check is None:
                return sound(await engine.execute(job))
            return await check(sound(await engine.execute(job, check)))
        except JobTooLarge as error:
            # What a self-hoster changes. Limits of a server are named as its variables are.
            variable = f"Raise PISTON_{error.limit.upper()} on the server" if error.limit else ""
            if option := _OPTIONS.get(error.limit):
                variable += f", on a worker {option}"
            remedy = BODY_REMEDY if error.limit == BODY else variable
            raise JudgeFailure(f"the job is too large: {error}", phase=phase, remedy=remedy) from error
        except (ToolchainGone, ArtifactsLost, MachineAtFault):
            raise  # the caller makes another job, or knows what to do with the answer
        except EngineError as error:
            reason = f"{type(error).__name__}: {error}"
            if not isinstance(error, PASSING):
                raise JudgeFailure(reason, phase=phase) from error
            if attempt >= (attempts or REPLY.max_attempts):
                raise JudgeFailure(f"{reason}, {REPLY.used_up(attempt)}", phase=phase) from error
            REPLY.log(_log, reason)
        await asyncio.sleep(REPLY.wait_after(attempt))
        attempt += 1


def sound(result: JobResult) -> JobResult:
    """The result itself. EngineUnavailable where the box of a stage failed: that says nothing of the job."""
    for stage in (result.compile, result.run):
        if stage is not None and stage.status is StageStatus.XX:
            where = f" on {result.endpoint}" if result.endpoint else ""
            raise EngineUnavailable(f"the box failed{where}: {stage.message or 'no reason given'}")
    return result
