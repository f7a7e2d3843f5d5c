"""Run jobs: the proctor, what was built, a plan and a batch of tests in; verdict lines out. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ioi_eval.artifacts.runtimes import finding
from ioi_eval.judge.options import JudgeOptions
from ioi_eval.models import Blob, Job, JobFile, Limits, Problem, Profile, TaskType, Value
from ioi_eval.plan import PlannedTest, groups
from ioi_eval.protocol.proctor import (
    Plan,
    PlanChecker,
    PlanLimits,
    PlanManager,
    PlanSubmission,
    PlanTest,
    encode_plan,
)

_RUN_SCRIPT = "exec ./proctor run plan.json\n"
_START_ALLOWANCE = 10.0  # seconds that a job may take before its first test and after its last
_TEST_ALLOWANCE = 0.5  # seconds around each test: starting, reading, comparing
_LEAST_ALLOWANCE = 2  # seconds: what a job surely takes around its tests, and a limit's own slack
_PROCTOR_MEMORY = 256 << 20  # bytes, with what a shell and an unpacker take
_RESERVED = 4 << 30  # bytes of address space beyond a program's limit, as graders/proctor has it
_UNLIMITED_TEST = 60.0  # what a test without any time limit is reckoned with


class Program(Value):
    """All that one submission's jobs have in common."""

    proctor: Blob
    submission: PlanSubmission
    checker: PlanChecker
    files: tuple[JobFile, ...]  # the artifacts that these name
    manager: PlanManager | None = None
    outputs: Mapping[str, Blob] = {}  # what was handed in, by the test's name


class Batch(Value):
    """The tests of one job, each under the index that its line will have."""

    tests: Mapping[int, PlannedTest]
    nonce: str

    @classmethod
    def of(cls, problem: Problem, tests: Sequence[PlannedTest], nonce: str) -> Batch:
        place = {test.name: index for index, test in reversed(tuple(enumerate(problem.tests)))}
        return cls(tests={place[planned.test.name]: planned for planned in tests}, nonce=nonce)


def run_job(
    problem: Problem, program: Program, batch: Batch, *, options: JudgeOptions, profile: Profile
) -> Job:
    plan = Blob.of(encode_plan(_plan(problem, program, batch, options)))
    time = milliseconds(_job_time(problem, program, len(batch.tests), options, profile))
    return Job(
        files=(
            JobFile(name="run", content=Blob.of(_run_script(problem, program, profile))),
            JobFile(name="proctor", content=program.proctor, executable=True),
            JobFile(name="plan.json", content=plan),
            *program.files,
            *_test_files(program, batch),
        ),
        run_timeout=time,
        run_cpu_time=None if profile.takes_paths else _job_cpu_time(problem, time, profile),
        run_memory_limit=None if profile.takes_paths else _job_memory(problem, program),
    )


def _plan(problem: Problem, program: Program, batch: Batch, options: JudgeOptions) -> Plan:
    return Plan(
        nonce=batch.nonce,
        task_type=problem.task_type.value,
        submission=program.submission,
        limits=_plan_limits(problem.limits),
        input_file=problem.options.input_file,
        output_file=problem.options.output_file,
        checker=program.checker,
        manager=program.manager,
        processes=problem.options.processes,
        user_io=problem.options.user_io,
        groups=groups(problem, all_tests=options.all_tests),
        tests=tuple(_plan_test(problem, program, *numbered) for numbered in batch.tests.items()),
        layers=options.layers,
        allow_unconfined=options.allow_unconfined,
        echo=options.echo,
    )


def _plan_test(problem: Problem, program: Program, index: int, planned: PlannedTest) -> PlanTest:
    return PlanTest(
        index=index,
        input=_input_name(index),
        answer=_answer_name(index) if planned.test.answer is not None else None,
        output=_output_name(index) if planned.test.name in program.outputs else None,
        by_file=problem.task_type is TaskType.BATCH_AND_OUTPUT and is_by_file(problem, planned.test.name),
        groups=planned.groups,
    )


def is_by_file(problem: Problem, test_name: str) -> bool:
    """Whether a test is judged by a file that was handed in, or was not."""
    if problem.task_type is TaskType.BATCH_AND_OUTPUT:
        return test_name in problem.options.output_tests
    return problem.task_type is TaskType.OUTPUT_ONLY


def _test_files(program: Program, batch: Batch) -> list[JobFile]:
    files = []
    for index, planned in batch.tests.items():
        files.append(JobFile(name=_input_name(index), content=planned.test.input))
        if planned.test.answer is not None:
            files.append(JobFile(name=_answer_name(index), content=planned.test.answer))
        if planned.test.name in program.outputs:
            files.append(JobFile(name=_output_name(index), content=program.outputs[planned.test.name]))
    return files


def _input_name(index: int) -> str:
    return f"t/{index}.in"


def _answer_name(index: int) -> str:
    return f"t/{index}.out"


def _output_name(index: int) -> str:
    return f"t/{index}.handed"


def _plan_limits(limits: Limits) -> PlanLimits:
    return PlanLimits(
        cpu_ms=milliseconds(limits.cpu_time),
        wall_ms=milliseconds(limits.wall_time),
        memory=limits.memory,
        output=limits.output,
    )


def milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else math.ceil(round(seconds * 1000, 3))


def _run_script(problem: Problem, program: Program, profile: Profile) -> str:
    if profile.takes_paths:
        return _RUN_SCRIPT
    argvs = (program.submission.argv, program.checker.argv, program.manager.argv if program.manager else ())
    return _room_for_output(problem.limits.output) + finding(argvs, "plan.json") + _RUN_SCRIPT


def _room_for_output(most: int | None) -> str:
    """On servers, files that programs write have a limit that nobody tells and no job can raise."""
    if most is None:
        return ""
    blocks = -(-most // 1024)
    return f"""most=$(ulimit -H -f)
if [ "$most" != unlimited ] && [ "$most" -lt {blocks} ]; then
    echo "programs may write $most kB here, the problem allows {blocks}: raise PISTON_MAX_FILE_SIZE" >&2
    exit 93
fi
"""


# --- how long a job may take -------------------------------------------------------------------------


def _job_time(
    problem: Problem, program: Program, tests: int, options: JudgeOptions, profile: Profile
) -> float:
    """The worst case of all its tests, bounded: what does not fit in goes on in a next job."""
    checker = options.checker.wall_time if program.checker.argv else 0.0
    worst = _START_ALLOWANCE + tests * (_talk_time(problem, program) + checker + _TEST_ALLOWANCE)
    bound = math.inf if profile.max_run_time is None else profile.max_run_time / 1000
    return min(worst, options.max_job_time, bound)


def _talk_time(problem: Problem, program: Program) -> float:
    """A manager runs beside the submission, and may run on."""
    manager = program.manager.limits.wall_ms if program.manager is not None else None
    return max(test_time(problem.limits), (manager or 0) / 1000)


def test_time(limits: Limits) -> float:
    """How long a submission may run on one test."""
    if limits.wall_time is not None:
        return limits.wall_time
    return _UNLIMITED_TEST if limits.cpu_time is None else 2 * limits.cpu_time + 1


# --- what a server is asked for ----------------------------------------------------------------------


def _job_cpu_time(problem: Problem, time: int | None, profile: Profile) -> int | None:
    """In ms, of all processes together; where nobody asks, servers give three seconds."""
    if time is None:
        return profile.max_run_cpu_time
    together = time * (_processes(problem) + 1)
    return together if profile.max_run_cpu_time is None else min(together, profile.max_run_cpu_time)


def _job_memory(problem: Problem, program: Program) -> int | None:
    """The server's limit is for the proctor, those who judge and the submission together: a backstop.

    Servers before isolate limit the address space by it. So there is room for what the proctor itself lets
    programs reserve, and no limit for those that reserve as they like.
    """
    if problem.limits.memory is None or not program.submission.address_space:
        return None
    judges = [program.checker.limits.memory, program.manager.limits.memory if program.manager else None]
    allowance = max(_RESERVED, *(memory or 0 for memory in judges))
    return _processes(problem) * problem.limits.memory + allowance + _PROCTOR_MEMORY


def _processes(problem: Problem) -> int:
    if problem.task_type is TaskType.TWO_STEPS:
        return 2
    return problem.options.processes if problem.task_type is TaskType.COMMUNICATION else 1


def least_memory(problem: Problem) -> int:
    """Below this a server's own limit would end programs that are within the problem's."""
    return _processes(problem) * (problem.limits.memory or 0) + _PROCTOR_MEMORY


def least_time(problem: Problem) -> tuple[int, int]:
    """What a server must give a job for a single test to reach its limit: wall clock and CPU time, in ms."""
    cpu = problem.limits.cpu_time or test_time(problem.limits)
    spare = _LEAST_ALLOWANCE * 1000
    return round(cpu * 1000) + spare, round(_processes(problem) * cpu * 1000) + spare


def expected_tests(problem: Problem, profile: Profile) -> int | None:
    """How many tests a job may hold for ordinary submissions to finish them in time; None: any number."""
    bounds = [most for most in (profile.max_run_time, profile.max_run_cpu_time) if most is not None]
    if not bounds:
        return None
    cpu = problem.limits.cpu_time or test_time(problem.limits)
    per_test = _processes(problem) * cpu + _TEST_ALLOWANCE
    return max(1, int((min(bounds) / 1000 - _LEAST_ALLOWANCE) / per_test))
