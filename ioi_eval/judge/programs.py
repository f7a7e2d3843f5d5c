"""Who takes part in judging a submission, as a plan has it: the submission, checker and manager. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ioi_eval.engines.values import Program
from ioi_eval.judge.artifacts import ProblemPrograms, Trusted
from ioi_eval.model.errors import InputError, JudgeFailure
from ioi_eval.model.languages import Language
from ioi_eval.model.options import CheckerLimits, JudgeOptions, ManagerLimits
from ioi_eval.model.protocol import PlanChecker, PlanLimits, PlanManager, PlanSubmission
from ioi_eval.model.values import (
    Blob,
    CheckerKind,
    JobFile,
    Problem,
    Submission,
    TaskType,
    Value,
)
from ioi_eval.rules.limits import manager_limits, plan_limits
from ioi_eval.rules.plan import is_by_file
from ioi_eval.store.resources import graders

_ENVIRONMENT = (("PATH", "/usr/bin:/bin"), ("LANG", "C.UTF-8"))
_HARNESS = "harness.py"
_NOTHING_RUNS = PlanSubmission(argv=("/bin/false",))  # a plan wants a program, also where no test starts it
_BY_FILES = frozenset({TaskType.OUTPUT_ONLY, TaskType.BATCH_AND_OUTPUT})


class Compiled(Value):
    """A submission's program: what its build made, and the language that says how to start that."""

    language: Language
    artifact: Blob


def program(
    problem: Problem,
    submission: Submission,
    compiled: Compiled | None,
    ours: ProblemPrograms,
    *,
    options: JudgeOptions,
) -> Program:
    """Everything that judging the submission takes. `problem` has the language's limits."""
    return Program(
        proctor=ours.proctor,
        submission=_submission(problem, compiled),
        checker=_checker(problem, ours.checker, options.checker),
        manager=_manager(problem, ours.manager, options.manager),
        files=tuple(_files(problem, compiled, ours)),
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


def _submission(problem: Problem, compiled: Compiled | None) -> PlanSubmission:
    if compiled is None:
        return PlanSubmission() if problem.task_type is TaskType.OUTPUT_ONLY else _NOTHING_RUNS
    language = compiled.language
    argv = language.run(language.command, problem.limits.memory)
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
        limits=plan_limits(cpu_time=limits.cpu_time, wall_time=limits.wall_time, memory=limits.memory)
        if program is not None
        else PlanLimits(),
        case_sensitive=checker.case_sensitive,
        space_sensitive=checker.space_sensitive,
        absolute=checker.absolute,
        relative=checker.relative,
        full=checker.full,
    )


def _manager(problem: Problem, program: Trusted | None, limits: ManagerLimits) -> PlanManager | None:
    if program is None or problem.manager is None:
        return None
    return PlanManager(
        argv=(*program.argv, *problem.options.manager_args),
        kind=problem.manager.kind.value,
        full=problem.manager.full,
        limits=manager_limits(
            problem.limits,
            problem.options.processes,
            cpu_time=limits.cpu_time,
            more_time=limits.more_time,
            memory=limits.memory,
        ),
    )


# --- their files -------------------------------------------------------------------------------------


def _files(problem: Problem, compiled: Compiled | None, ours: ProblemPrograms) -> Iterator[JobFile]:
    if compiled is not None:
        yield JobFile(name=compiled.language.artifact_name, content=compiled.artifact, executable=True)
        if problem.task_type is TaskType.FUNCTION:
            yield JobFile(name=_HARNESS, content=Blob.of_file(graders() / "python" / _HARNESS))
    for trusted in (ours.checker, ours.manager):
        if trusted is not None:
            yield trusted.file
