"""The classic job: one test per job, everything compiled each time, as today's pipelines have it.

It is the independent second path that the batched one is checked against, and what clusters take that have
only the package `cms_ioi`. Its contract hides no test from the submission: verdicts to trust are a Judge's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from ioi_eval.engines import Transport
from ioi_eval.engines.transport.attempts import execute
from ioi_eval.model.errors import InputError, JudgeFailure
from ioi_eval.model.languages import find
from ioi_eval.model.values import (
    Blob,
    CheckerKind,
    Job,
    JobFile,
    JobResult,
    NamedBlob,
    Problem,
    Submission,
    TaskType,
    Test,
    TestResult,
)
from ioi_eval.rules.verdicts import NO_CODE, classic_outcome, classic_result, not_compiled
from ioi_eval.store.resources import graders

OWN_RUNTIME = "ioi_eval"  # brings no scripts: the job does
CONFIG = "graders/grader_config.json"
_GRADER = "graders/grader.cpp"  # is linked because it is there
_JUDGE_AT_FAULT = 3  # our scripts' exit code; the contract has no word for it
_TASK_TYPES = frozenset({TaskType.BATCH, TaskType.COMMUNICATION})
_PROGRAMS = frozenset({CheckerKind.CMS, CheckerKind.TESTLIB})
_CHECKERS = _PROGRAMS | {CheckerKind.WHITE_DIFF, CheckerKind.STRIPPED}
_DEFAULT_TIME = 10.0  # seconds, where the problem has no limit
_MORE_TIME = 3.0  # seconds that the contract adds for the job
_COMPILE_SECONDS = 120.0  # where no server has a limit of its own
_ATTEMPTS = 4


def classic_job(problem: Problem, test: Test, submission: Submission, *, runtime: str = OWN_RUNTIME) -> Job:
    """The job of one test. `runtime="cms_ioi"` leaves the scripts to the cluster's package."""
    _check(problem, submission)
    ours = runtime == OWN_RUNTIME
    own = _scripts() if ours else ()
    files = {file.name: file for file in (*own, *_files(problem, test, submission))}
    return Job(
        files=tuple(files.values()),
        runtime=runtime,
        compile_timeout=round(_COMPILE_SECONDS * 1000) if ours else None,
        run_timeout=round((_time_limit(problem) + _MORE_TIME) * 1000),
        run_memory_limit=problem.limits.memory,
    )


async def run_classic(
    engine: Transport, problem: Problem, test: Test, submission: Submission, *, runtime: str = OWN_RUNTIME
) -> TestResult:
    """The result of one test by a classic job. JudgeFailure where our scripts, or the engine, cannot say."""
    if submission.code is None:
        return not_compiled(test.name, NO_CODE)
    job = classic_job(problem, test, submission, runtime=runtime)
    result = await execute(engine, job, attempts=_ATTEMPTS, phase="judging")
    return read_classic(test, result, ours=runtime == OWN_RUNTIME)


def read_classic(test: Test, result: JobResult, *, ours: bool) -> TestResult:
    """`ours`: the scripts were, so that every exit code says whose fault it is."""
    look_for_faults(test, result, ours=ours)
    return classic_result(test.name, *classic_outcome(result))


def look_for_faults(test: Test, result: JobResult, *, ours: bool) -> None:
    """Our scripts, also as a package, say with an exit code what pipelines in use take for a score of 0."""
    compiled, run = result.compile, result.run
    if compiled is not None and compiled.code == _JUDGE_AT_FAULT:
        raise JudgeFailure(_last_line(compiled.stderr), phase="compiling", test=test.name)
    failed = run.code not in (None, 0) if ours else run.code == _JUDGE_AT_FAULT and not run.stdout
    if failed and (compiled is None or compiled.code == 0):
        raise JudgeFailure(_last_line(run.stderr), phase="judging", test=test.name)


def _last_line(text: str) -> str:
    return (text.rstrip("\n").rpartition("\n")[2] or "no reason given")[:1000]


# --- the job's files ---------------------------------------------------------------------------------


def _check(problem: Problem, submission: Submission) -> None:
    language = find(submission.language, where=problem.source or problem.id)
    if problem.task_type not in _TASK_TYPES:
        raise JudgeFailure(f"task type {problem.task_type.value} has no classic job")
    if language.command != "g++":
        raise JudgeFailure(f"the classic job is for C++ submissions, not for {language.name}")
    if problem.task_type is TaskType.COMMUNICATION and not problem.options.with_grader:
        raise JudgeFailure("the classic job of a Communication task compiles submissions with a stub")
    if problem.checker.kind not in _CHECKERS:
        raise JudgeFailure(f"the classic job cannot compare by {problem.checker.kind.value}")
    if problem.checker.kind in _PROGRAMS and not problem.checker.sources:
        raise InputError("the problem has no source of its checker", where=problem.source or problem.id)


def _files(problem: Problem, test: Test, submission: Submission) -> Iterator[JobFile]:
    yield JobFile(name=CONFIG, content=_config(problem))
    yield from _package_files(problem)
    code = (submission.code or "").encode(errors="surrogatepass")
    yield JobFile(name=f"graders/{problem.id.lower()}.cpp", content=Blob.of(code))
    yield JobFile(name="input.txt", content=test.input)
    if test.answer is not None and test.answer.size:
        yield JobFile(name="correct_output.txt", content=test.answer)


def _package_files(problem: Problem) -> Iterable[JobFile]:
    """Every grader file under its own name; the checker where the contract looks for it."""
    alone = problem.task_type is TaskType.BATCH and not problem.options.with_grader
    for file in problem.grader_files:
        if file.content.size and not (alone and file.name == _GRADER):
            yield JobFile(name=file.name, content=file.content)
    yield from _program("checker/checker.cpp", problem.checker.sources)
    if problem.manager is not None:
        yield from _program("graders/manager.cpp", problem.manager.sources)


def _program(name: str, sources: Iterable[NamedBlob]) -> Iterator[JobFile]:
    """The source that is compiled lies where the contract looks for it, the others under their own names."""
    for index, file in enumerate(sources):
        yield JobFile(name=file.name if index else name, content=file.content)


def _scripts() -> tuple[JobFile, ...]:
    folder = graders() / "classic"
    return tuple(
        JobFile(name=name, content=Blob.of((folder / name).read_bytes())) for name in ("compile", "run")
    )


def _config(problem: Problem) -> Blob:
    return Blob.of(msgspec.json.encode(dict(_settings(problem))))


def _settings(problem: Problem) -> Mapping[str, Any]:
    """The keys of the contract, and a few of ours that other packages' scripts pass over."""
    options = problem.options
    return {
        "task_type": problem.task_type.value,
        "code": problem.id.lower(),
        "time_limit": _time_limit(problem),
        "memory_limit": problem.limits.memory,
        "task_type_parameters_Communication_num_processes": options.processes,
        "task_type_parameters_Communication_user_io": options.user_io,
        "task_type_parameters_Communication_manager_args": " ".join(options.manager_args),
        "task_type_parameters_Batch_inputfile": options.input_file,
        "task_type_parameters_Batch_outputfile": options.output_file,
        "checker": problem.checker.kind.value,
        "cpp_standard": problem.cpp_standard,
    }


def _time_limit(problem: Problem) -> float:
    return problem.limits.cpu_time or _DEFAULT_TIME
