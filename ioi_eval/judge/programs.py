"""The programs that take part in judging: how they are built, and how a plan starts them."""

from __future__ import annotations

import asyncio
import io
import zipfile
from collections.abc import Callable, Hashable, Mapping
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, TypeVar

import msgspec

from ioi_eval.engines.contract import BuildSpec, BuildSuccess, Capabilities, CompileError, Program
from ioi_eval.engines.jobs.build import Builder
from ioi_eval.judge.needs import has_scripts, is_script, refuse_script, refuse_untaken, trusted_programs
from ioi_eval.judge.recipes import (
    CHECKER,
    GRADER,
    MANAGER,
    Sources,
    proctor_recipe,
    scripts_recipe,
    trusted_recipe,
)
from ioi_eval.model.digests import problem_digest
from ioi_eval.model.doing import BUILD, step
from ioi_eval.model.errors import (
    CheckerBroken,
    InputError,
    JobRejected,
    JudgeFailure,
    ManagerBroken,
    ProgramBroken,
)
from ioi_eval.model.job import JobFile
from ioi_eval.model.languages import Language, find
from ioi_eval.model.options import BuildLimits, CheckerLimits, JudgeOptions, ManagerLimits
from ioi_eval.model.protocol import PlanChecker, PlanLimits, PlanManager, PlanSubmission
from ioi_eval.model.values import (
    Blob,
    Checker,
    CheckerKind,
    Limits,
    Manager,
    NamedBlob,
    Problem,
    Submission,
    TaskType,
    Value,
)
from ioi_eval.rules.limits import manager_limits, plan_limits, processes_of, stretched
from ioi_eval.rules.plan import Schedule, refuse_impossible
from ioi_eval.rules.verdicts import SubmissionProcesses
from ioi_eval.store.memory import MOST_PROBLEMS, Bounded, room_of
from ioi_eval.store.resources import graders, proctor_sources

T = TypeVar("T")

# --- checkers and managers in Python: nothing is built, one file is run ------------------------------


_SUFFIX = ".py"
_MAIN, _MANAGER = "__main__.py", "ioi_eval_manager.py"
_DAY_ONE = (1980, 1, 1, 0, 0, 0)  # the same sources, the same bytes


def script_of(program: Checker | Manager) -> Blob:
    """The first source. Modules beside it come along in an archive, which the interpreter runs as well.

    A manager is always in one, beside what starts it: graders/python/manager.py.
    """
    first, *others = program.sources
    modules = [file for file in others if file.name.endswith(_SUFFIX)]
    if isinstance(program, Manager):
        start = Blob.of_file(graders() / "python" / "manager.py")
        return _archive({_MAIN: start, _MANAGER: first.content, **_beside(first, modules)})
    if not modules:
        return first.content
    return _archive({_MAIN: first.content, **_beside(first, modules)})


def _beside(first: NamedBlob, modules: list[NamedBlob]) -> dict[str, Blob]:
    folder = PurePosixPath(first.name).parent
    return {
        PurePosixPath(file.name).relative_to(folder).as_posix(): file.content
        for file in sorted(modules, key=lambda file: file.name)
        if PurePosixPath(file.name).is_relative_to(folder)
    }


def _archive(members: Mapping[str, Blob]) -> Blob:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for name, content in members.items():
            packed.writestr(zipfile.ZipInfo(name, _DAY_ONE), content.read())
    return Blob.of(archive.getvalue())


# --- what is built -----------------------------------------------------------------------------------


_BROKEN = {CHECKER: CheckerBroken, MANAGER: ManagerBroken}
_WRITE_IT_IN = "Write it in C++ or Python"


class Trusted(Value):
    """A program that belongs to a problem and judges: its file in a job, and how a plan starts it."""

    file: JobFile
    argv: tuple[str, ...]


class ProblemPrograms(Value):
    """The programs that judge all submissions to a problem; None for those that it lacks."""

    proctor: Blob
    checker: Trusted | None
    manager: Trusted | None
    grader: Trusted | None = None


class _OwnProgram:
    """A program of a problem's own, of one kind, before it is built. `program`: None where it needs none."""

    def __init__(self, problem: Problem, kind: str, limits: BuildLimits) -> None:
        self.problem, self.kind = problem, kind
        self.program = trusted_programs(problem).get(kind)
        self.recipe: BuildSpec | None = None  # None: it runs as it is written
        if self.program is None:
            return
        where = problem.source or problem.id
        language = find(self.program.language, where=where, field=kind)
        self.is_script = is_script(self.program)
        if self.is_script:
            file = JobFile(name=f"{kind}.py", content=Blob.of(""))
            if has_scripts(self.program):
                packer = Blob.of_file(graders() / "python" / "scripts.py")
                self.recipe = scripts_recipe(self.program, kind, limits, packer)
            else:
                file = JobFile(name=file.name, content=script_of(self.program))
            self.ready = Trusted(file=file, argv=(language.command, file.name))
        else:
            if language.run() != (language.artifact_name,):
                raise InputError(
                    f"a {kind} in {language.name} cannot be run", where=where, remedy=_WRITE_IT_IN
                )
            self.recipe = trusted_recipe(problem, self.program, kind, limits)
            file = JobFile(name=kind, content=Blob.of(""), executable=True, is_reused=True)
            self.ready = Trusted(file=file, argv=(kind,))


class PreparedProblem:
    """A problem, and what is worked out once for all submissions to it. InputError where none can be judged.

    It holds how the problem's own programs and its submissions are built, and the terms of judging in each
    language. What nobody asked for is not made.
    """

    def __init__(self, problem: Problem, limits: BuildLimits) -> None:
        if not problem.unusable:
            refuse_impossible(problem)
        self.problem, self._limits = problem, limits
        self._made: dict[Hashable, Any] = {}

    def own_program(self, kind: str) -> _OwnProgram:
        """Return one of the problem's own programs, before it is built."""
        return self._once(("program", kind), lambda: _OwnProgram(self.problem, kind, self._limits))

    def sources(self, language: Language) -> Sources:
        """Return the builds of submissions in a language. JobRejected where no compiler can be given them."""

        def make() -> Sources:
            name = language.helper
            helpers = [NamedBlob(name=name, content=Blob.of_file(graders() / name))] if name else []
            return Sources(self.problem, language, self._limits, helpers)

        return self._once(("sources", language.name, language.standard), make)

    def terms(self, language: Language | None, options: JudgeOptions) -> JudgingSetup:
        """Return the terms of judging in a language; None is for submissions of files alone.

        Raises for a language in which no program can be judged on the problem.
        """

        def make() -> JudgingSetup:
            if language is not None:
                refuse_untaken(self.problem, language)
            return JudgingSetup(self.problem, language, options)

        named = language and (language.name, language.standard)
        return self._once(("terms", named, options), make)

    def _once(self, key: Hashable, make: Callable[[], T]) -> T:
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made


class Artifacts:
    """Asks a builder for what is to be built.

    `trusted` builds proctor, checkers and managers instead, where it has the same architecture: what is built
    is static, so it runs on every machine of it.
    """

    def __init__(
        self, builder: Builder, limits: BuildLimits | None = None, *, trusted: Builder | None = None
    ) -> None:
        self.builder, self._trusted, self._limits = builder, trusted, limits or BuildLimits()
        self._chosen = builder
        self._proctor: Blob | None = None  # where the builder has one
        self._chosen_for: Capabilities | None = None
        self._proctor_recipe: BuildSpec | None = None
        self._prepared = Bounded[PreparedProblem](MOST_PROBLEMS)

    def prepared(self, problem: Problem) -> PreparedProblem:
        """Return what is worked out once for a problem, if it is the last one of its name.

        Each problem is equal to itself alone: to compare contents would take longer than most of the work.
        """
        name = f"{problem.id} {problem.year}"
        prepared = self._prepared.get(name)
        if prepared is None or prepared.problem is not problem:
            prepared = PreparedProblem(problem, self._limits)
            self._prepared.keep(name, prepared, room_of(problem))
        return prepared

    async def of_problem(self, problem: PreparedProblem) -> ProblemPrograms:
        """Build everything that does not depend on a submission, side by side. Raises `ProgramBroken`."""
        with step(BUILD):
            proctor, checker, manager, grader = await asyncio.gather(
                self.proctor(),
                self.trusted(problem, CHECKER),
                self.trusted(problem, MANAGER),
                self.trusted(problem, GRADER),
                return_exceptions=True,
            )
        return ProblemPrograms(
            proctor=made(proctor), checker=made(checker), manager=made(manager), grader=made(grader)
        )

    async def proctor(self) -> Blob:
        """The engine's own proctor, or one that it builds. Its sources are read and hashed once for a run."""
        builder = await self.chosen_builder()
        if self._proctor is not None:
            return self._proctor
        if self._proctor_recipe is None:
            self._proctor_recipe = proctor_recipe(proctor_sources(graders() / "proctor"), self._limits)
        built = await builder.build(self._proctor_recipe)
        if isinstance(built, CompileError):
            raise JudgeFailure(f"the proctor does not compile: {built.log}", phase="preparing")
        return built.artifact

    async def trusted(self, problem: PreparedProblem, kind: str) -> Trusted | None:
        """Return a program of the problem's own, ready to run; None where it needs none of that kind.

        The engine is asked each time, for it knows whether what it built is still there.
        """
        own = problem.own_program(kind)
        if own.program is None:
            return None
        if own.is_script:
            refuse_script(own.program, kind, await self.builder.capabilities())
        if own.recipe is None:
            return own.ready
        built = await (await self.chosen_builder()).build(own.recipe)
        if isinstance(built, CompileError):
            raise _broken(problem.problem, own.program, kind, built)
        file = msgspec.structs.replace(own.ready.file, content=built.artifact)
        return Trusted(file=file, argv=own.ready.argv)

    async def submission(
        self, problem: PreparedProblem, submission: Submission
    ) -> BuildSuccess | CompileError:
        """Build a submission; sources that no compiler can be given are rejected."""
        language = find(submission.language, where=problem.problem.source or problem.problem.id)
        try:
            recipe = problem.sources(language).recipe(submission)
        except JobRejected as refused:
            return CompileError(log=str(refused))
        with step(BUILD):
            if not (await self.builder.capabilities()).confines:
                recipe = msgspec.structs.replace(recipe, proctor=await self.proctor())
            return await self.builder.build(recipe)

    async def chosen_builder(self) -> Builder:
        """Return what builds the proctor and the problems' own programs."""
        there = await self.builder.capabilities()
        if there is not self._chosen_for:  # a cluster's changes with its servers
            chosen, own = self.builder, there
            if self._trusted is not None:
                here = await self._trusted.capabilities()
                if here.architecture == there.architecture:
                    chosen, own = self._trusted, here
            self._chosen_for, self._chosen, self._proctor = there, chosen, own.proctor
        return self._chosen


def made(found: T | BaseException) -> T:
    """Return one of several that were made concurrently; raise the first error in their order."""
    if isinstance(found, BaseException):
        raise found
    return found


def _broken(problem: Problem, program: Checker | Manager, kind: str, built: CompileError) -> ProgramBroken:
    first = next((line for line in built.log.splitlines() if "error" in line), built.log[:300])
    broken = _BROKEN.get(kind, ProgramBroken)
    return broken(
        f"the {kind} {program.sources[0].name} does not compile: {first}",
        where=problem.source or problem.id,
        log=built.log,
        remedy=f"Correct it; {built.compiler or 'the compiler'} must take it",
    )


# --- who takes part, as a plan has it ----------------------------------------------------------------


_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")}  # what numpy asks for
_HARNESS = "harness.py"
_NOTHING_RUNS = PlanSubmission(argv=("/bin/false",))  # a plan wants a program, also where no test starts it
_STREAM = "/dev/std"  # leads to /proc
_BY_FILES = frozenset({TaskType.OUTPUT_ONLY, TaskType.BATCH_AND_OUTPUT})


class JudgingSetup:
    """The terms of judging that are the same for all submissions to a problem in one language.

    `language`: None for submissions of files alone.
    """

    def __init__(self, problem: Problem, language: Language | None, options: JudgeOptions) -> None:
        self.given, self.language, self.options = problem, language, options
        self.problem = problem  # with the language's limits
        if language is not None:
            self.problem = msgspec.structs.replace(problem, limits=language.limits(problem.limits))
        self.as_run = stretched(self.problem, options.borderline)
        self.judged_by = checker_name(problem)
        self.processes = SubmissionProcesses(
            count=processes_of(problem), has_separate_limits=problem.task_type is TaskType.TWO_STEPS
        )
        self._judges: tuple[PlanChecker, PlanManager | None] | None = None

    @cached_property
    def schedule(self) -> Schedule:
        """The tests. InputError where the problem names one that it does not have."""
        return Schedule(self.problem, all_tests=self.options.all_tests, in_order=self.options.in_order)

    @cached_property
    def digest(self) -> str:
        """The digest of the problem, with the language's limits."""
        return problem_digest(self.problem)

    def program(self, submission: Submission, built: BuildSuccess | None, ours: ProblemPrograms) -> Program:
        """Return everything that judging the submission takes."""
        if self._judges is None:
            self._judges = (
                _checker(self.problem, ours.checker, self.options.checker),
                _manager(self.problem, ours.manager, self.options.manager),
            )
        files = [trusted.file for trusted in (ours.checker, ours.manager) if trusted is not None]
        interpreter, (runs, beside) = "", self._runs
        if not runs.proc and (self._grader_names_a_stream or names_a_stream(submission)):
            runs = msgspec.structs.replace(runs, streams=True)
        if built is not None and self.language is not None:
            if runs.argv[0] != self.language.artifact_name and not self.language.runner:
                interpreter = built.toolchain  # what took the source has to run it
            program = JobFile(name=self.language.artifact_name, content=built.artifact, executable=True)
            files = [program, *beside, *files]
        return Program(
            proctor=ours.proctor,
            submission=runs,
            interpreter=interpreter,
            checker=self._judges[0],
            manager=self._judges[1],
            files=tuple(files),
            outputs=handed_in(self.problem, submission) if submission.outputs else {},
        )

    @cached_property
    def _grader_names_a_stream(self) -> bool:
        return any(_STREAM.encode() in file.content.read() for file in self.problem.grader_files)

    @cached_property
    def _runs(self) -> tuple[PlanSubmission, tuple[JobFile, ...]]:
        """The submission as a plan starts it, and the files of ours beside it."""
        problem, language = self.problem, self.language
        if language is None:
            output_only = problem.task_type is TaskType.OUTPUT_ONLY
            return PlanSubmission() if output_only else _NOTHING_RUNS, ()
        online, beside = problem.options.online_judge, tuple[JobFile, ...]()
        argv = language.run(memory=problem.limits.memory, online=online)
        if problem.options.line_buffered and language.syntax == "python":
            argv = (argv[0], "-u", *argv[1:])
        if problem.options.integer_digits and language.command == "python3":
            argv = (argv[0], f"-Xint_max_str_digits={problem.options.integer_digits}", *argv[1:])
        if problem.task_type is TaskType.FUNCTION:
            # The interpreter starts the harness, which loads the submission. A descriptor is appended.
            argv = (*argv[:-1], _HARNESS, argv[-1], problem.options.function)
            beside = (JobFile(name=_HARNESS, content=Blob.of_file(graders() / "python" / _HARNESS)),)
        # Several processes where a file of the package starts some.
        starting = [name for name in problem.forks_by if name.partition("/")[0] in ("default", language.name)]
        if starting and problem.options.forks is None:
            raise JudgeFailure(
                f"{starting[0]} of the package starts processes, and how many is not measured",
                phase="judging",
                remedy="Runs, validate and judge measure it on accepted solutions; else set options.forks",
            )
        runs = PlanSubmission(
            argv=argv,
            files=tuple(word for word in argv[1:] if word in (language.artifact_name, _HARNESS)),
            env=_ENVIRONMENT
            | (_ONE_THREAD if language.syntax == "python" else {})
            | dict(language.environment)
            | dict(language.online_environment if online else ()),
            threads=language.threads,
            processes=1 + (problem.options.forks or 0) if starting else 1,
            proc=language.proc,
            address_space=language.address_space,
        )
        return runs, beside


def names_a_stream(submission: Submission) -> bool:
    """Return True if a source of the program opens a standard stream by name, or may."""
    return _STREAM in (submission.code or "") or any(
        _STREAM.encode() in file.content.read() for file in submission.files
    )


def runs_code(problem: Problem, submission: Submission) -> bool:
    """Return True if there is anything to build and to start."""
    return problem.task_type is not TaskType.OUTPUT_ONLY and submission.code is not None


def is_empty(problem: Problem, submission: Submission) -> bool:
    """Return True if there is nothing to judge. Where files are asked for, a missing one is worth 0."""
    if submission.code is not None or problem.task_type is TaskType.OUTPUT_ONLY:
        return False
    return not handed_in(problem, submission)


def handed_in(problem: Problem, submission: Submission) -> dict[str, Blob]:
    """Return the files that were handed in. They count before a program where either would do."""
    names = {test.name for test in problem.tests if problem.task_type in _BY_FILES}
    return {file.name: file.content for file in submission.outputs if file.name in names}


# --- those who judge ---------------------------------------------------------------------------------


def _checker(problem: Problem, program: Trusted | None, limits: CheckerLimits) -> PlanChecker:
    checker = problem.checker
    if program is None and checker.kind.is_program:  # the manager's word is enough
        return PlanChecker(kind=CheckerKind.WHITE_DIFF.value)
    own = checker.limits or Limits()
    time = own.cpu_time or limits.cpu_time
    return PlanChecker(
        kind=checker.kind.value,
        argv=(*program.argv, *checker.arguments) if program is not None else (),
        limits=plan_limits(
            cpu_time=time, wall_time=max(2 * time, limits.wall_time), memory=own.memory or limits.memory
        )
        if program is not None
        else PlanLimits(),
        case_sensitive=checker.case_sensitive,
        space_sensitive=checker.space_sensitive,
        absolute=checker.absolute,
        relative=checker.relative,
        full=checker.full,
        given=checker.given,
        passes=checker.passes,
        decides=checker.decides,
    )


def _manager(problem: Problem, program: Trusted | None, limits: ManagerLimits) -> PlanManager | None:
    if program is None or problem.manager is None:
        return None
    own = problem.manager.limits or Limits()
    return PlanManager(
        argv=(*program.argv, *problem.options.manager_args),
        kind=problem.manager.kind.value,
        full=problem.manager.full,
        again=problem.manager.again,
        given=problem.manager.given,
        limits=manager_limits(
            problem.limits,
            problem.options.processes,
            cpu_time=own.cpu_time or limits.cpu_time,
            more_time=limits.more_time,
            memory=own.memory or limits.memory,
        ),
    )


def checker_name(problem: Problem) -> str:
    """`cms checker checker/checker.cpp`, or the comparison that is built in. A manager's name comes first."""
    names = []
    if problem.manager is not None and problem.manager.sources:
        names.append(f"{problem.manager.kind.value} manager {problem.manager.sources[0].name}")
    if problem.checker.sources:
        names.append(f"{problem.checker.kind.value} checker {problem.checker.sources[0].name}")
    return ", ".join(names) or problem.checker.kind.value
