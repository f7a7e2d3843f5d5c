"""Who takes part in judging a submission, as a plan has it: the submission, checker and manager. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ioi_eval.artifacts import Trusted
from ioi_eval.artifacts.runtimes import path_of
from ioi_eval.errors import InputError, JudgeFailure
from ioi_eval.judge.jobs import Program, is_by_file, milliseconds, test_time
from ioi_eval.judge.options import CheckerLimits, JudgeOptions, ManagerLimits
from ioi_eval.languages import Language
from ioi_eval.models import Blob, CheckerKind, JobFile, Limits, Problem, Profile, Submission, TaskType, Value
from ioi_eval.protocol.proctor import PlanChecker, PlanLimits, PlanManager, PlanSubmission
from ioi_eval.resources import graders

_ENVIRONMENT = (("PATH", "/usr/bin:/bin"), ("LANG", "C.UTF-8"))
_HARNESS = "harness.py"
_NOTHING_RUNS = PlanSubmission(argv=("/bin/false",))  # a plan wants a program, also where no test starts it
_BY_FILES = frozenset({TaskType.OUTPUT_ONLY, TaskType.BATCH_AND_OUTPUT})


class Compiled(Value):
    """A submission's program: what its build made, and the language that says how to start that."""

    language: Language
    artifact: Blob


class Judges(Value):
    """The problem's own programs; None where it has no such one."""

    checker: Trusted | None
    manager: Trusted | None


def program(
    problem: Problem,
    submission: Submission,
    compiled: Compiled | None,
    judges: Judges,
    *,
    proctor: Blob,
    profile: Profile,
    options: JudgeOptions,
) -> Program:
    """Everything that the submission's run jobs have in common. `problem` has the language's limits."""
    return Program(
        proctor=proctor,
        submission=_submission(problem, compiled, profile),
        checker=_checker(problem, judges.checker, options.checker),
        manager=_manager(problem, judges.manager, options.manager),
        files=tuple(_files(problem, compiled, judges)),
        outputs=dict(_outputs(problem, submission)),
    )


def runs_code(problem: Problem, submission: Submission) -> bool:
    """Whether there is anything to build and to start."""
    return problem.task_type is not TaskType.OUTPUT_ONLY and submission.code is not None


def is_empty(problem: Problem, submission: Submission) -> bool:
    """Whether there is nothing to judge at all. Where files are asked for, a missing one is worth 0."""
    if submission.code is not None or problem.task_type is TaskType.OUTPUT_ONLY:
        return False
    return not any(is_by_file(problem, file.name) for file in submission.outputs)


# --- the submission ----------------------------------------------------------------------------------


def _submission(problem: Problem, compiled: Compiled | None, profile: Profile) -> PlanSubmission:
    if compiled is None:
        return PlanSubmission() if problem.task_type is TaskType.OUTPUT_ONLY else _NOTHING_RUNS
    language = compiled.language
    tool = profile.toolchains.get(language.command)
    argv = language.run(path_of(tool) if tool is not None else "", problem.limits.memory)
    if problem.task_type is TaskType.FUNCTION:
        argv = _through_harness(problem, language, argv)
    return PlanSubmission(
        argv=argv,
        files=tuple(word for word in argv[1:] if word in (language.artifact_name, _HARNESS)),
        env=dict(_ENVIRONMENT),
        threads=language.threads,
        proc=language.proc,
        address_space=language.address_space,
    )


def _through_harness(problem: Problem, language: Language, argv: tuple[str, ...]) -> tuple[str, ...]:
    """The interpreter starts the harness, which loads the submission. The proctor appends a descriptor."""
    if language.syntax != "python":
        raise JudgeFailure(
            f"problem {problem.id} calls a function of a Python submission, not {language.name}"
        )
    if not problem.options.function:
        raise InputError("the problem does not say which function", where=problem.source or problem.id)
    return (*argv[:-1], _HARNESS, argv[-1], problem.options.function)


def _outputs(problem: Problem, submission: Submission) -> Iterator[tuple[str, Blob]]:
    if problem.task_type in _BY_FILES:
        for file in submission.outputs:
            if is_by_file(problem, file.name):
                yield file.name, file.content


# --- those who judge ---------------------------------------------------------------------------------


def _checker(problem: Problem, program: Trusted | None, limits: CheckerLimits) -> PlanChecker:
    checker = problem.checker
    if program is None and checker.kind.is_program:  # the manager's word is enough
        return PlanChecker(kind=CheckerKind.WHITE_DIFF.value)
    return PlanChecker(
        kind=checker.kind.value,
        argv=(*program.argv, *checker.arguments) if program is not None else (),
        limits=_checker_limits(limits) if program is not None else PlanLimits(),
        case_sensitive=checker.case_sensitive,
        space_sensitive=checker.space_sensitive,
        absolute=checker.absolute,
        relative=checker.relative,
        full=checker.full,
    )


def _checker_limits(limits: CheckerLimits) -> PlanLimits:
    return PlanLimits(
        cpu_ms=milliseconds(limits.cpu_time), wall_ms=milliseconds(limits.wall_time), memory=limits.memory
    )


def _manager(problem: Problem, program: Trusted | None, limits: ManagerLimits) -> PlanManager | None:
    if program is None or problem.manager is None:
        return None
    return PlanManager(
        argv=(*program.argv, *problem.options.manager_args),
        kind=problem.manager.kind.value,
        full=problem.manager.full,
        limits=_manager_limits(problem.limits, problem.options.processes, limits),
    )


def _manager_limits(submission: Limits, processes: int, limits: ManagerLimits) -> PlanLimits:
    """The contest system's, but on the wall clock: longer than any submission, so that this one is blamed."""
    own = submission.cpu_time if submission.cpu_time is not None else test_time(submission)
    cpu_time = max(processes * (own + 1), limits.cpu_time)
    wall_time = max(cpu_time, test_time(submission) + limits.more_time)
    return PlanLimits(cpu_ms=milliseconds(cpu_time), wall_ms=milliseconds(wall_time), memory=limits.memory)


# --- their files -------------------------------------------------------------------------------------


def _files(problem: Problem, compiled: Compiled | None, judges: Judges) -> Iterator[JobFile]:
    if compiled is not None:
        yield JobFile(name=compiled.language.artifact_name, content=compiled.artifact, executable=True)
        if problem.task_type is TaskType.FUNCTION:
            yield JobFile(name=_HARNESS, content=Blob.of_file(graders() / "python" / _HARNESS))
    for judge in (judges.checker, judges.manager):
        if judge is not None:
            yield judge.file
