"""The programs that judging needs: how they are built, and how a plan starts them."""

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
from ioi_eval.judge.needs import (
    find_trusted_programs,
    has_build_and_run_scripts,
    is_script,
    refuse_unrunnable_script,
    refuse_unsupported_language,
)
from ioi_eval.judge.recipes import (
    CHECKER,
    GRADER,
    MANAGER,
    SubmissionSources,
    make_proctor_build_spec,
    make_scripts_build_spec,
    make_trusted_program_spec,
)
from ioi_eval.model.digests import problem_digest
from ioi_eval.model.doing import BUILD, track_step
from ioi_eval.model.errors import (
    CheckerBroken,
    InputError,
    JobRejected,
    JudgeFailure,
    ManagerBroken,
    ProgramBroken,
)
from ioi_eval.model.job import JobFile
from ioi_eval.model.languages import Language, find_language
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
from ioi_eval.rules.limits import count_processes, make_manager_limits, make_plan_limits, raise_cpu_limit
from ioi_eval.rules.plan import Schedule, refuse_invalid_problem
from ioi_eval.rules.verdicts import SubmissionProcesses
from ioi_eval.store.memory import MOST_PROBLEMS, LruCache, count_problem_cache_entries
from ioi_eval.store.resources import graders_folder, load_proctor_sources

T = TypeVar("T")

# --- checkers and managers in Python: a single file, without a build ---------------------------------


_SUFFIX = ".py"
_MAIN, _MANAGER = "__main__.py", "ioi_eval_manager.py"
_ARCHIVE_DATE = (1980, 1, 1, 0, 0, 0)  # a constant date, so that equal sources lead to equal bytes


def create_script_file(program: Checker | Manager) -> Blob:
    """Return the file that the interpreter runs: the first source, or a zip archive with its modules.

    For a manager it is always an archive, which starts with graders/python/manager.py.
    """
    main_source, *other_sources = program.sources
    modules = [file for file in other_sources if file.name.endswith(_SUFFIX)]
    if isinstance(program, Manager):
        launcher = Blob.of_file(graders_folder() / "python" / "manager.py")
        return _create_archive(
            {_MAIN: launcher, _MANAGER: main_source.content, **_group_modules_by_path(main_source, modules)}
        )
    if not modules:
        return main_source.content
    return _create_archive({_MAIN: main_source.content, **_group_modules_by_path(main_source, modules)})


def _group_modules_by_path(main_source: NamedBlob, modules: list[NamedBlob]) -> dict[str, Blob]:
    """Return the modules in the folder of the first source, by relative path."""
    folder = PurePosixPath(main_source.name).parent
    return {
        PurePosixPath(file.name).relative_to(folder).as_posix(): file.content
        for file in sorted(modules, key=lambda file: file.name)
        if PurePosixPath(file.name).is_relative_to(folder)
    }


def _create_archive(content_by_name: Mapping[str, Blob]) -> Blob:
    archive_bytes = io.BytesIO()
    with zipfile.ZipFile(archive_bytes, "w") as zip_file:
        for name, content in content_by_name.items():
            zip_file.writestr(zipfile.ZipInfo(name, _ARCHIVE_DATE), content.read())
    return Blob.of(archive_bytes.getvalue())


# --- builds ------------------------------------------------------------------------------------------


_BROKEN = {CHECKER: CheckerBroken, MANAGER: ManagerBroken}
_REMEDY = "Write it in C++ or Python"


class TrustedProgram(Value):
    """A checker, manager or grader of a problem: its file in a job, and the command that starts it."""

    file: JobFile
    argv: tuple[str, ...]


class ProblemPrograms(Value):
    """The programs that judge all submissions to a problem; `None` for programs that it does not have."""

    proctor: Blob
    checker: TrustedProgram | None
    manager: TrustedProgram | None
    grader: TrustedProgram | None = None


class _UnbuiltProgram:
    """A checker, manager or grader of a problem before its build. `program` is `None` if there is none."""

    def __init__(self, problem: Problem, kind: str, limits: BuildLimits) -> None:
        self.problem, self.kind = problem, kind
        self.program = find_trusted_programs(problem).get(kind)
        # Spec of the program's build; `None` if the program needs no build.
        self.build_spec: BuildSpec | None = None
        if self.program is None:
            return
        problem_location = problem.source or problem.id
        language = find_language(self.program.language, where=problem_location, field=kind)
        self.is_script = is_script(self.program)
        if self.is_script:
            file = JobFile(name=f"{kind}.py", content=Blob.of(""))
            if has_build_and_run_scripts(self.program):
                packer = Blob.of_file(graders_folder() / "python" / "scripts.py")
                self.build_spec = make_scripts_build_spec(self.program, kind, limits, packer)
            else:
                file = JobFile(name=file.name, content=create_script_file(self.program))
            self.ready = TrustedProgram(file=file, argv=(language.command, file.name))
        else:
            if language.run_command() != (language.artifact_name,):
                raise InputError(
                    f"a {kind} in {language.name} cannot be run", where=problem_location, remedy=_REMEDY
                )
            self.build_spec = make_trusted_program_spec(problem, self.program, kind, limits)
            file = JobFile(name=kind, content=Blob.of(""), executable=True)
            self.ready = TrustedProgram(file=file, argv=(kind,))


class PreparedProblem:
    """A problem, and everything that is computed once for all submissions to it.

    This is how its programs and its submissions are built, and the setup for each language. Each part is
    computed when it is first needed. Raises InputError if no submission can be judged.
    """

    def __init__(self, problem: Problem, limits: BuildLimits) -> None:
        if not problem.unusable:
            refuse_invalid_problem(problem)
        self.problem, self._limits = problem, limits
        self._computed_values: dict[Hashable, Any] = {}

    def unbuilt_program(self, kind: str) -> _UnbuiltProgram:
        """Return the problem's checker, manager or grader before its build."""
        return self._compute_once(
            ("program", kind), lambda: _UnbuiltProgram(self.problem, kind, self._limits)
        )

    def sources(self, language: Language) -> SubmissionSources:
        """Return the creator of build specs for a language. Raises JobRejected if nothing can be built."""

        def compute() -> SubmissionSources:
            name = language.helper
            helpers = [NamedBlob(name=name, content=Blob.of_file(graders_folder() / name))] if name else []
            return SubmissionSources(self.problem, language, self._limits, helpers)

        return self._compute_once(("sources", language.name, language.standard), compute)

    def setup(self, language: Language | None, options: JudgeOptions) -> JudgingSetup:
        """Return the setup for judging programs in a language, or only output files if it is `None`.

        Raises JudgeFailure or InputError if no program in the language can be judged on the problem.
        """

        def compute() -> JudgingSetup:
            if language is not None:
                refuse_unsupported_language(self.problem, language)
            return JudgingSetup(self.problem, language, options)

        language_key = language and (language.name, language.standard)
        return self._compute_once(("setup", language_key, options), compute)

    def _compute_once(self, key: Hashable, compute: Callable[[], T]) -> T:
        if key not in self._computed_values:
            self._computed_values[key] = compute()
        value: T = self._computed_values[key]
        return value


class Artifacts:
    """Builds submissions, and the programs of problems."""

    def __init__(
        self, builder: Builder, limits: BuildLimits | None = None, *, trusted: Builder | None = None
    ) -> None:
        """Create the artifacts.

        Args:
            builder: builds submissions.
            limits: limits of builds.
            trusted: builds the proctor, checkers and managers if it has the architecture of `builder`. These
                programs are linked statically, so they run on all machines of that architecture.
        """
        self.builder, self._trusted, self._limits = builder, trusted, limits or BuildLimits()
        self._chosen_builder = builder
        # The proctor of the chosen builder's engine; `None` if the engine has none.
        self._proctor: Blob | None = None
        # The capabilities for which the builder was chosen.
        self._chosen_for_capabilities: Capabilities | None = None
        self._proctor_build_spec: BuildSpec | None = None
        self._prepared = LruCache[PreparedProblem](MOST_PROBLEMS)

    def prepare_problem(self, problem: Problem) -> PreparedProblem:
        """Return the prepared problem, which is cached until a different problem has the same name.

        Problems are compared by identity, because comparing their contents would be slow.
        """
        problem_key = f"{problem.id} {problem.year}"
        prepared = self._prepared.get(problem_key)
        if prepared is None or prepared.problem is not problem:
            prepared = PreparedProblem(problem, self._limits)
            self._prepared.put(problem_key, prepared, count_problem_cache_entries(problem))
        return prepared

    async def build_problem_programs(self, problem: PreparedProblem) -> ProblemPrograms:
        """Build everything that does not depend on a submission, concurrently. Raises `ProgramBroken`."""
        with track_step(BUILD):
            proctor, checker, manager, grader = await asyncio.gather(
                self.build_proctor(),
                self.build_trusted_program(problem, CHECKER),
                self.build_trusted_program(problem, MANAGER),
                self.build_trusted_program(problem, GRADER),
                return_exceptions=True,
            )
        return ProblemPrograms(
            proctor=return_or_raise(proctor),
            checker=return_or_raise(checker),
            manager=return_or_raise(manager),
            grader=return_or_raise(grader),
        )

    async def build_proctor(self) -> Blob:
        """Return the engine's proctor, or build it. Its sources are read and hashed once for a run."""
        builder = await self.choose_builder()
        if self._proctor is not None:
            return self._proctor
        if self._proctor_build_spec is None:
            self._proctor_build_spec = make_proctor_build_spec(
                load_proctor_sources(graders_folder() / "proctor"), self._limits
            )
        build_result = await builder.build(self._proctor_build_spec)
        if isinstance(build_result, CompileError):
            raise JudgeFailure(f"the proctor does not compile: {build_result.log}", phase="preparing")
        return build_result.artifact

    async def build_trusted_program(
        self, problem: PreparedProblem, program_role: str
    ) -> TrustedProgram | None:
        """Return the problem's checker, manager or grader, ready to run, or `None` if it has none.

        The builder is called each time, because only the builder can check whether the artifact still exists.
        """
        unbuilt_program = problem.unbuilt_program(program_role)
        if unbuilt_program.program is None:
            return None
        if unbuilt_program.is_script:
            refuse_unrunnable_script(unbuilt_program.program, program_role, await self.builder.capabilities())
        if unbuilt_program.build_spec is None:
            return unbuilt_program.ready
        build_result = await (await self.choose_builder()).build(unbuilt_program.build_spec)
        if isinstance(build_result, CompileError):
            raise _make_broken_program_error(
                problem.problem, unbuilt_program.program, program_role, build_result
            )
        file = msgspec.structs.replace(unbuilt_program.ready.file, content=build_result.artifact)
        return TrustedProgram(file=file, argv=unbuilt_program.ready.argv)

    async def build_submission(
        self, problem: PreparedProblem, submission: Submission
    ) -> BuildSuccess | CompileError:
        """Build a submission. Sources that cannot be passed to a compiler are a compile error."""
        language = find_language(submission.language, where=problem.problem.source or problem.problem.id)
        try:
            build_spec = problem.sources(language).create_build_spec(submission)
        except JobRejected as error:
            return CompileError(log=str(error))
        with track_step(BUILD):
            if not (await self.builder.capabilities()).confines:
                build_spec = msgspec.structs.replace(build_spec, proctor=await self.build_proctor())
            return await self.builder.build(build_spec)

    async def choose_builder(self) -> Builder:
        """Return the builder for the proctor and for checkers, managers and graders."""
        capabilities = await self.builder.capabilities()
        # Choose again if the capabilities have changed, as those of a cluster do when its servers change.
        if capabilities is not self._chosen_for_capabilities:
            chosen_builder, chosen_capabilities = self.builder, capabilities
            if self._trusted is not None:
                trusted_capabilities = await self._trusted.capabilities()
                if trusted_capabilities.architecture == capabilities.architecture:
                    chosen_builder, chosen_capabilities = self._trusted, trusted_capabilities
            self._chosen_for_capabilities, self._chosen_builder = capabilities, chosen_builder
            self._proctor = chosen_capabilities.proctor
        return self._chosen_builder


def return_or_raise(result: T | BaseException) -> T:
    """Return a result of `asyncio.gather(..., return_exceptions=True)`, or raise it if it is an exception."""
    if isinstance(result, BaseException):
        raise result
    return result


def _make_broken_program_error(
    problem: Problem, program: Checker | Manager, program_role: str, compile_error: CompileError
) -> ProgramBroken:
    first_error = next(
        (line for line in compile_error.log.splitlines() if "error" in line), compile_error.log[:300]
    )
    error_type = _BROKEN.get(program_role, ProgramBroken)
    return error_type(
        f"the {program_role} {program.sources[0].name} does not compile: {first_error}",
        where=problem.source or problem.id,
        log=compile_error.log,
        remedy=f"Correct it; {compile_error.compiler or 'the compiler'} must accept it",
    )


# --- programs in the plan of a job -------------------------------------------------------------------


_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
# Environment variables that limit the libraries of numpy to a single thread.
_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")}
_HARNESS = "harness.py"
# The program in a plan in which no test starts a program.
_UNUSED_PROGRAM = PlanSubmission(argv=("/bin/false",))
_STREAM = "/dev/std"  # prefix of the names of streams, which are links into /proc
_OUTPUT_FILE_TASKS = frozenset({TaskType.OUTPUT_ONLY, TaskType.BATCH_AND_OUTPUT})


class JudgingSetup:
    """The settings of judging that are shared by all submissions to a problem in the same language."""

    def __init__(self, problem: Problem, language: Language | None, options: JudgeOptions) -> None:
        """Create the setup. `language` is `None` for submissions that are only files."""
        self.original_problem, self.language, self.options = problem, language, options
        self.problem = problem  # the problem with the limits of the language
        if language is not None:
            self.problem = msgspec.structs.replace(problem, limits=language.adjust_limits(problem.limits))
        # The problem with an extended CPU limit for tests near the limit.
        self.stretched_problem = raise_cpu_limit(self.problem, options.borderline)
        self.checker_name = describe_checker(problem)
        self.processes = SubmissionProcesses(
            count=count_processes(problem), has_separate_limits=problem.task_type is TaskType.TWO_STEPS
        )
        self._checker_and_manager: tuple[PlanChecker, PlanManager | None] | None = None

    @cached_property
    def schedule(self) -> Schedule:
        """The order of the tests. Raises InputError if a subtask names a missing test."""
        return Schedule(self.problem, all_tests=self.options.all_tests, keeps_order=self.options.in_order)

    @cached_property
    def digest(self) -> str:
        """The digest of the problem with the limits of the language."""
        return problem_digest(self.problem)

    def make_program(
        self, submission: Submission, submission_build: BuildSuccess | None, programs: ProblemPrograms
    ) -> Program:
        """Return everything that the tests of a submission need.

        Args:
            submission: the submission.
            submission_build: its build. `None` if the submission has no program.
            programs: the problem's programs.
        """
        if self._checker_and_manager is None:
            self._checker_and_manager = (
                _make_checker_plan(self.problem, programs.checker, self.options.checker),
                _make_manager_plan(self.problem, programs.manager, self.options.manager),
            )
        checker, manager = self._checker_and_manager
        trusted_files = [
            trusted.file for trusted in (programs.checker, programs.manager) if trusted is not None
        ]
        interpreter, (plan_submission, harness_files) = "", self._submission_plan_and_files
        if not plan_submission.proc and (
            self._has_grader_with_stream_path or contains_stream_path(submission)
        ):
            plan_submission = msgspec.structs.replace(plan_submission, streams=True)
        if submission_build is not None and self.language is not None:
            if plan_submission.argv[0] != self.language.artifact_name and not self.language.runner:
                interpreter = (
                    submission_build.toolchain
                )  # only the interpreter that accepted the source may run it
            program = JobFile(
                name=self.language.artifact_name, content=submission_build.artifact, executable=True
            )
            trusted_files = [program, *harness_files, *trusted_files]
        return Program(
            proctor=programs.proctor,
            submission=plan_submission,
            interpreter=interpreter,
            checker=checker,
            manager=manager,
            files=tuple(trusted_files),
            outputs=list_submitted_outputs(self.problem, submission) if submission.outputs else {},
        )

    @cached_property
    def _has_grader_with_stream_path(self) -> bool:
        return any(_STREAM.encode() in file.content.read() for file in self.problem.grader_files)

    @cached_property
    def _submission_plan_and_files(self) -> tuple[PlanSubmission, tuple[JobFile, ...]]:
        """Return the plan's description of the submission's start, and the judge's files that it needs."""
        problem, language = self.problem, self.language
        if language is None:
            is_output_only = problem.task_type is TaskType.OUTPUT_ONLY
            return PlanSubmission() if is_output_only else _UNUSED_PROGRAM, ()
        is_online_judge, harness_files = problem.options.online_judge, tuple[JobFile, ...]()
        argv = language.run_command(memory=problem.limits.memory, defines_online_judge=is_online_judge)
        if problem.options.line_buffered and language.syntax == "python":
            argv = (argv[0], "-u", *argv[1:])
        if problem.options.integer_digits and language.command == "python3":
            argv = (argv[0], f"-Xint_max_str_digits={problem.options.integer_digits}", *argv[1:])
        if problem.task_type is TaskType.FUNCTION:
            # The interpreter starts the harness, which loads the submission. The proctor appends another
            # argument.
            argv = (*argv[:-1], _HARNESS, argv[-1], problem.options.function)
            harness_files = (
                JobFile(name=_HARNESS, content=Blob.of_file(graders_folder() / "python" / _HARNESS)),
            )
        # If files of the package start processes, the submission may have as many additional processes.
        forking_files = [
            name for name in problem.forks_by if name.partition("/")[0] in ("default", language.name)
        ]
        if forking_files and problem.options.forks is None:
            raise JudgeFailure(
                f"{forking_files[0]} of the package starts processes, and their number is not measured",
                phase="judging",
                remedy="Runs, validate and judge measure it on accepted solutions; else set options.forks",
            )
        plan_submission = PlanSubmission(
            argv=argv,
            files=tuple(argument for argument in argv[1:] if argument in (language.artifact_name, _HARNESS)),
            env=_ENVIRONMENT
            | (_ONE_THREAD if language.syntax == "python" else {})
            | dict(language.environment)
            | dict(language.online_environment if is_online_judge else ()),
            threads=language.threads,
            processes=1 + (problem.options.forks or 0) if forking_files else 1,
            proc=language.proc,
            address_space=language.address_space,
        )
        return plan_submission, harness_files


def contains_stream_path(submission: Submission) -> bool:
    """Return True if a source of the program contains a path such as /dev/stdin."""
    return _STREAM in (submission.code or "") or any(
        _STREAM.encode() in file.content.read() for file in submission.files
    )


def has_program(problem: Problem, submission: Submission) -> bool:
    """Return True if the submission has a program, which must be built and run."""
    return problem.task_type is not TaskType.OUTPUT_ONLY and submission.code is not None


def is_empty(problem: Problem, submission: Submission) -> bool:
    """Return True if there is nothing to judge.

    It is False for output-only problems, whose tests without an output file score 0.
    """
    if submission.code is not None or problem.task_type is TaskType.OUTPUT_ONLY:
        return False
    return not list_submitted_outputs(problem, submission)


def list_submitted_outputs(problem: Problem, submission: Submission) -> dict[str, Blob]:
    """Return the submitted output files by test. They win over a program if the task accepts both."""
    test_names = {test.name for test in problem.tests if problem.task_type in _OUTPUT_FILE_TASKS}
    return {file.name: file.content for file in submission.outputs if file.name in test_names}


# --- the checker and the manager in a plan -----------------------------------------------------------


def _make_checker_plan(
    problem: Problem, program: TrustedProgram | None, limits: CheckerLimits
) -> PlanChecker:
    checker = problem.checker
    if program is None and checker.kind.is_program:  # the manager alone decides, so this checker is not used
        return PlanChecker(kind=CheckerKind.WHITE_DIFF.value)
    checker_limits = checker.limits or Limits()
    cpu_time_s = checker_limits.cpu_time or limits.cpu_time
    return PlanChecker(
        kind=checker.kind.value,
        argv=(*program.argv, *checker.arguments) if program is not None else (),
        limits=make_plan_limits(
            cpu_time=cpu_time_s,
            wall_time=max(2 * cpu_time_s, limits.wall_time),
            memory=checker_limits.memory or limits.memory,
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


def _make_manager_plan(
    problem: Problem, program: TrustedProgram | None, limits: ManagerLimits
) -> PlanManager | None:
    if program is None or problem.manager is None:
        return None
    manager_own_limits = problem.manager.limits or Limits()
    return PlanManager(
        argv=(*program.argv, *problem.options.manager_args),
        kind=problem.manager.kind.value,
        full=problem.manager.full,
        again=problem.manager.again,
        given=problem.manager.given,
        limits=make_manager_limits(
            problem.limits,
            problem.options.processes,
            cpu_time=manager_own_limits.cpu_time or limits.cpu_time,
            extra_time=limits.more_time,
            memory=manager_own_limits.memory or limits.memory,
        ),
    )


def describe_checker(problem: Problem) -> str:
    """Return the name of a problem's checker, such as `cms checker checker/checker.cpp`, or its comparison.

    A manager's name comes first.
    """
    names = []
    if problem.manager is not None and problem.manager.sources:
        names.append(f"{problem.manager.kind.value} manager {problem.manager.sources[0].name}")
    if problem.checker.sources:
        names.append(f"{problem.checker.kind.value} checker {problem.checker.sources[0].name}")
    return ", ".join(names) or problem.checker.kind.value
