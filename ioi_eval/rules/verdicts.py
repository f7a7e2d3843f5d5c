"""Turn outcomes into results: of a program on a test into a `TestResult`, of a build into a `BuildEnding`.

A result describes the submission. If the proctor or a classic job reports a failure of the judge, or its
report is incomplete, `JudgeFailure` is raised. It never becomes a score of 0.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from enum import StrEnum
from types import MappingProxyType

import msgspec

from ioi_eval.model.errors import JudgeFailure
from ioi_eval.model.job import OWN_LIMITS, Ending, JobResult, StageStatus
from ioi_eval.model.options import BuildLimits
from ioi_eval.model.protocol import TestReport
from ioi_eval.model.values import RAW_POINTS, STATUS_ORDER, Limits, Reason, TestResult, Value, Verdict
from ioi_eval.rules.limits import MAX_COMPILER_IDLE_S

ENDINGS: tuple[str, ...] = (Reason.NO_PROGRAM, *STATUS_ORDER)
"""The outcomes under which reports count submissions, worst first."""

NO_CODE = "no code found"
COMPILATION_ERROR = "Compilation error"
NOT_SUBMITTED = "File not submitted"

_MICROSECONDS = 1e6
_MEBIBYTE = 1 << 20
_TOLERANCE = 1e-9  # tolerance for rounding errors of binary fractions

# Standard messages, by the name that a checker may print instead of the message.
_STANDARD_MESSAGES: Mapping[str, str] = MappingProxyType(
    {
        "translate:success": "Output is correct",
        "translate:partial": "Output is partially correct",
        "translate:wrong": "Output isn't correct",
    }
)

# Names of signals, by their number on Linux, on which submissions run.
_SIGNALS: Mapping[int, str] = MappingProxyType(
    {
        4: "SIGILL",
        5: "SIGTRAP",
        6: "SIGABRT",
        7: "SIGBUS",
        8: "SIGFPE",
        9: "SIGKILL",
        11: "SIGSEGV",
        13: "SIGPIPE",
        15: "SIGTERM",
        24: "SIGXCPU",
        25: "SIGXFSZ",
        31: "SIGSYS, a system call that is not allowed",
    }
)

# Pattern of a plain decimal number. Python's float() would accept nan, 1_0 and digits of other scripts as
# well.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

# Verdict of a classic job with score 0, by a text that its feedback contains. The first text that matches
# decides.
_CLASSIC_FEEDBACK: tuple[tuple[str, Verdict], ...] = (
    ("Compilation error", Verdict.CE),
    ("Memory limit exceeded", Verdict.MLE),
    ("Time limit exceeded", Verdict.TLE),
    ("Output isn't correct", Verdict.WA),
)


def convert_score_to_verdict(score: float) -> Verdict:
    """Return the verdict of a program that ran within its limits and earned `score`."""
    if score >= 1:
        return Verdict.AC
    return Verdict.PA if score > 0 else Verdict.WA


# --- the proctor's lines -----------------------------------------------------------------------------


class SubmissionProcesses(Value):
    """The number of processes that a submission has on a test.

    A report contains the sum of the times and of the memory of all these processes.
    """

    count: int = 1
    # True if each process has its own CPU limit; otherwise all processes have a common limit.
    has_separate_limits: bool = False


ONE_PROCESS = SubmissionProcesses()


def make_result_from_report(
    test_name: str, report: TestReport, *, limits: Limits, processes: SubmissionProcesses = ONE_PROCESS
) -> TestResult:
    """Return the result that a proctor's report about a test describes.

    Args:
        test_name: name of the test.
        report: the proctor's report.
        limits: the limits that the test ran with; the feedback names the exceeded limit.
        processes: the submission's processes.

    Raises:
        JudgeFailure: if the judge failed or the report is invalid.
    """
    if report.failure is not None:
        raise JudgeFailure(report.failure, phase="judging", test=test_name)
    if report.skipped:
        return make_skipped_result(test_name)
    if report.end == "ok":
        score = _require_score_in_range(test_name, report.score)
        status, feedback = (
            convert_score_to_verdict(score),
            _STANDARD_MESSAGES.get(report.feedback.strip(), report.feedback),
        )
    else:
        score, (status, feedback) = 0.0, _describe_failure(test_name, report, limits, processes)
    return TestResult(
        test_name=test_name,
        score=score,
        status=status,
        feedback=feedback,
        cpu_time=report.cpu_us / _MICROSECONDS,
        wall_time=report.wall_us / _MICROSECONDS,
        waited_time=report.waited_us / _MICROSECONDS,
        memory=report.memory,
        processes=report.processes or None,
        output=report.output,
        error=report.error,
    )


def _describe_failure(
    test_name: str, report: TestReport, limits: Limits, processes: SubmissionProcesses
) -> tuple[Verdict, str]:
    """Return the verdict and the feedback for a program that exceeded a limit or failed."""
    # The feedback is a message of the failed program, such as the name of an exception.
    error_suffix = f": {report.feedback}" if report.feedback else ""
    has_several_processes = processes.count > 1
    process_suffix = f" of all {report.processes} processes" if report.processes > 1 else ""
    match report.end:
        case "cpu" if processes.has_separate_limits:
            limit_suffix = "" if limits.cpu_time is None else f" more than {limits.cpu_time:.3f} s"
            return (
                Verdict.TLE,
                f"Time limit exceeded (CPU time of one of {processes.count} processes{limit_suffix})",
            )
        case "cpu":
            time_description = (
                f"CPU time of {processes.count} processes"
                if has_several_processes
                else f"CPU time{process_suffix}"
            )
            return Verdict.TLE, _format_time_feedback(time_description, report.cpu_us, limits.cpu_time)
        case "wall":
            return Verdict.TLE, _format_time_feedback("wall time", report.wall_us, limits.wall_time)
        case "memory":
            limit_text = "" if limits.memory is None else _format_mebibytes(limits.memory)
            memory_text = f"{_format_mebibytes(report.memory)}{limit_text and f' of {limit_text}'}"
            # The report has the memory of all processes together, but the limit applies to each process.
            memory_text = (
                f"of one of {processes.count} processes more than {limit_text}"
                if has_several_processes
                else memory_text
            )
            return Verdict.MLE, f"Memory limit exceeded (resident memory{process_suffix} {memory_text})"
        case "output":
            limit_text = "" if limits.output is None else f" (more than {_format_mebibytes(limits.output)})"
            return Verdict.OLE, f"Output limit exceeded{limit_text}"
        case "exit":
            return Verdict.RE, f"Runtime error (exit code {report.code}){error_suffix}"
        case "signal":
            signal_suffix = f", {_SIGNALS[report.signal]}" if report.signal in _SIGNALS else ""
            return Verdict.RE, f"Runtime error (signal {report.signal}{signal_suffix}){error_suffix}"
        case "threads":
            exceeded_resource = "threads or processes" if report.processes else "threads"
            return Verdict.RE, f"Runtime error (too many {exceeded_resource})"
    raise JudgeFailure(
        f"the proctor reported an unknown ending: {report.end!r}", phase="judging", test=test_name
    )


def _format_time_feedback(clock_name: str, microseconds: int, limit: float | None) -> str:
    """Return the feedback for a program that exceeded a time limit."""
    limit_suffix = "" if limit is None else f" of {limit:.3f} s"
    return f"Time limit exceeded ({clock_name} {microseconds / _MICROSECONDS:.3f} s{limit_suffix})"


def _format_mebibytes(size: int) -> str:
    return f"{size / _MEBIBYTE:.1f} MiB"


def rescale_result(result: TestResult, score_points: float, max_points: float) -> TestResult:
    """Return a result rescaled from a score of `score_points` points to a test with `max_points` points.

    If `max_points` is 0, the test is right for any points.
    """
    if score_points == RAW_POINTS and result.status is Verdict.AC:
        return result  # the test earns all points, because the checker accepted without printing points
    points = result.score * score_points
    if not max_points:
        status = Verdict.AC if points else result.status
        return msgspec.structs.replace(result, score=float(points > 0), status=status)
    if points > max_points * (1 + _TOLERANCE):
        reason = f"the score {points:g} exceeds the maximum of {max_points:g} points per test in this group"
        raise JudgeFailure(reason, phase="checking", test=result.test_name)
    if result.status is not Verdict.PA or points < max_points * (1 - _TOLERANCE):
        return msgspec.structs.replace(result, score=min(points / max_points, 1.0))
    is_standard_feedback = result.feedback in _STANDARD_MESSAGES.values()
    feedback = _STANDARD_MESSAGES["translate:success"] if is_standard_feedback else result.feedback
    return msgspec.structs.replace(result, score=1.0, status=Verdict.AC, feedback=feedback)


def convert_score_to_points(result: TestResult) -> TestResult:
    """Return a result with its points, for a grader whose points are unlimited.

    Raises JudgeFailure if the program accepted without printing its points.
    """
    points = result.score * RAW_POINTS
    if result.status is Verdict.AC:
        raise JudgeFailure(
            "the submission was accepted, but score.txt was not written",
            phase="checking",
            test=result.test_name,
            remedy="The package's grader needs points: if the validator accepts, it must write score.txt",
        )
    if not points:
        return result
    return msgspec.structs.replace(result, score=1.0, status=Verdict.AC, points=points)


def _require_score_in_range(test_name: str, score: float) -> float:
    """Return a score in [0, 1]. Raises JudgeFailure for other numbers."""
    if not 0 <= score <= 1:  # this also refuses NaN
        raise JudgeFailure(f"the score {score} is not in [0, 1]", phase="checking", test=test_name)
    return score + 0.0  # this turns -0.0 into 0.0


# --- results of tests that did not run ---------------------------------------------------------------


def make_skipped_result(test_name: str) -> TestResult:
    """Return the result of a test that was not run because it cannot change the score."""
    return TestResult(test_name=test_name, score=0.0, status=Verdict.SKIPPED)


def make_missing_file_result(test_name: str) -> TestResult:
    """Return the result of a test that needs a file which the submission does not contain."""
    return TestResult(test_name=test_name, score=0.0, status=Verdict.WA, feedback=NOT_SUBMITTED)


def make_result_after_stall(skipped_test_name: str, stalled_test: str) -> TestResult:
    """Return the result of a test that was not run because the program stalled twice on an earlier test."""
    feedback = f"Time limit exceeded (wall time; not run, because the program stalls on test {stalled_test})"
    return TestResult(test_name=skipped_test_name, score=0.0, status=Verdict.TLE, feedback=feedback)


def make_uncompiled_result(test_name: str, feedback: str = COMPILATION_ERROR) -> TestResult:
    """Return the result of a test that was not run because the program is missing."""
    return TestResult(test_name=test_name, score=0.0, status=Verdict.CE, feedback=feedback)


# --- results of classic jobs -------------------------------------------------------------------------


def classic_outcome(result: JobResult) -> tuple[str, str]:
    """Return the score and the feedback of a classic job, which runs a single test, as strings.

    The rules are the same as in open-r1, with an exception: JudgeFailure is raised if the sandbox failed, or
    if a checker or manager does not compile, because these failures do not depend on the submission.
    """
    for phase, stage in (("compiling", result.compile), ("running", result.run)):
        if stage is not None and stage.status is StageStatus.XX:
            raise JudgeFailure(stage.message or "the sandbox failed", phase=phase)
    if result.compile is not None and result.compile.code != 0:
        if program_match := _UNCOMPILED_PROGRAM.fullmatch(find_last_line(result.compile.stderr)):
            raise make_compilation_failure(
                f"the {program_match[1]} does not compile on the server", result.compile
            )
        return "0", f"{COMPILATION_ERROR} exit code {result.compile.code}\n{result.compile.stderr}"
    if result.run.code == 1 and "MemoryError" in result.run.stderr:
        return "0", "Memory limit exceeded"
    if result.run.stdout:
        return result.run.stdout, result.run.stderr
    if result.run.signal == "SIGKILL":
        return "0", "Time limit exceeded"
    return "0", "Unknown error"


# Pattern for the last line that the package cms_ioi prints if a program does not compile.
_UNCOMPILED_PROGRAM = re.compile("Could not compile (checker|manager)")
_ERROR_IN_GRADERS = re.compile(r"^(?:/\S*/)?(graders/[^:\n]+):\d+:\d+: (?:fatal )?error: ", re.MULTILINE)
_ERROR = re.compile(r"\berror: ")
_LINKER_ERROR = re.compile(r"\bld returned \d+ exit status|undefined reference")
_MAX_MESSAGE_LENGTH = 1000  # maximum length of a failure's message, in characters


def ran_out_of_space(compilation: Ending | None) -> bool:
    """Return True if a compiler printed that the machine lacks disk space or memory.

    A source can cause a compiler to print this.
    """
    if compilation is None or compilation.code in (None, 0):
        return False
    return _LACK_OF_SPACE.search(compilation.stderr) is not None


def may_be_judges_fault(compilation: Ending | None, source: str) -> bool:
    """Return True if a compiler's failure may not be the fault of the submission `source`.

    Such failures are errors in a file of the package and a lack of space. The submission may still have
    caused them, for instance by a macro. A job with an empty submission decides: see `check_graders`.
    """
    if compilation is None or compilation.code in (None, 0):
        return False
    files_with_errors = (match[1] for match in _ERROR_IN_GRADERS.finditer(compilation.stderr))
    return ran_out_of_space(compilation) or any(file != source for file in files_with_errors)


def check_graders(compilation: Ending | None) -> None:
    """Raise JudgeFailure if the problem's files do not compile next to an empty submission.

    A linker error is fine, because the empty submission lacks functions.
    """
    if compilation is None or compilation.code in (None, 0):
        return
    if ran_out_of_space(compilation):
        raise make_compilation_failure("the server cannot compile", compilation)
    if not _LINKER_ERROR.search(compilation.stderr):
        raise make_compilation_failure("the problem's grader does not compile on the server", compilation)


def make_compilation_failure(fault: str, compile_ending: Ending, test: str = "") -> JudgeFailure:
    """Return the failure of a classic job that could not compile a program of the package."""
    return JudgeFailure(
        f"{fault}: {find_first_error(compile_ending)}"[:_MAX_MESSAGE_LENGTH],
        phase="compiling",
        test=test,
        remedy="Correct the program, or use a server whose compiler accepts it",
    )


def find_first_error(compilation: Ending) -> str:
    """Return the first line of a compiler's output with an error, or else the first line."""
    error_lines = (line for line in compilation.stderr.splitlines() if _ERROR.search(line))
    return next(error_lines, "") or compilation.stderr.partition("\n")[0]


def find_last_line(text: str) -> str:
    """Return the last line that is not empty."""
    return text.rstrip("\n").rpartition("\n")[2]


def classic_result(test_name: str, score: str, feedback: str) -> TestResult:
    """Return the result that a classic job's score and feedback describe.

    The score is the first line of `score` and must be a plain number in [0, 1]. Anything else is a
    JudgeFailure.
    """
    score_text, message = score.partition("\n")[0].strip(), _STANDARD_MESSAGES.get(feedback.strip(), feedback)
    if not _NUMBER.fullmatch(score_text):
        raise JudgeFailure(f"the score {score_text[:80]!r} is not a number", phase="checking", test=test_name)
    score_value = _require_score_in_range(test_name, float(score_text))
    zero_score_status = next(
        (status for feedback_part, status in _CLASSIC_FEEDBACK if feedback_part in message), Verdict.RE
    )
    status = convert_score_to_verdict(score_value) if score_value > 0 else zero_score_status
    return TestResult(test_name=test_name, score=score_value, status=status, feedback=message)


# --- outcome of a build -------------------------------------------------------------------------------
# A build may fail because of the source, a limit, the compiler or the machine. A compiler exits with 1 for an
# error in the source, but also if it cannot start a subprocess or write to the disk. So after a failure, the
# build's script builds a control program with the same command. The source is at fault only if the control
# program is built and the disk has space.
#
# If the compiler crashes or prints a message about a crash, which is rare, the build is repeated. If it fails
# again, the source is at fault. The compiler's output has no other effect, because a source can cause any
# output.


# Exit code of a build's script if the machine is at fault. Compilers do not use it.
MACHINE_AT_FAULT = 90
# Exit code of a shell for a program that was killed by the server or the machine, not by a limit.
_KILLED_CODE = 137
_LACK_OF_SPACE = re.compile(
    "No space left|Cannot allocate memory|out of memory|[Rr]esource temporarily unavailable|Killed signal"
)
_COMPILER_CRASH = re.compile(
    rf"internal compiler error|terminated program|cannot execute|{_LACK_OF_SPACE.pattern}"
)
_MISSING_LIBRARY = re.compile("No such file or directory|Could not (?:find|load) module|Can't find unit")
_FILE_TOO_LARGE = re.compile("File size limit exceeded|File too large|file truncated")
# Pattern for names of a compiler's temporary files, which are not always in /tmp.
_TEMPORARY_NAME = re.compile(r"(?<![\w.])/(?:[\w.-]+/)+cc[A-Za-z0-9]{6}(?=\.)")
# Pattern for output that Go, PyPy and Kotlin's Java print for every program, before the messages about this
# program.
_PREAMBLE = re.compile(
    r"^(?:# command-line-arguments|Warning: cannot find your CPU .*|OpenJDK .* warning: .*)\n?", re.MULTILINE
)
_UNPRINTABLE = re.compile(r"[^\n\t\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class BuildEnding(StrEnum):
    """The outcome of a build."""

    BUILT = "built"
    REFUSED = "refused"  # the compiler reported an error in the source
    # The compiler exceeded a limit of CPU time, memory or output, which is the fault of the source.
    CUT_SHORT = "cut short"
    IDLED = "idled"  # the compiler idled, because it waited for input that never came
    # The compiler was stopped below its CPU limit: it waited, or the machine was busy.
    STOPPED = "stopped"
    KILLED = "killed"  # the compiler was killed by the server or the machine, so the source is not at fault
    CRASHED = "crashed"  # the compiler crashed, so the source is compiled a second time
    MACHINE = "machine"  # the control program could not be built either, so the machine is at fault


def classify_build(ending: Ending, refusal_codes: Collection[int] = (1,)) -> BuildEnding:
    """Return the outcome of a build.

    `refusal_codes`: exit codes with which this compiler reports errors in the source.
    """
    if ending.limit:
        return _ENDINGS_BY_TIMEOUT.get(ending.limit, BuildEnding.CUT_SHORT)
    if not ending.exited:
        return BuildEnding.KILLED
    if ending.code in _ENDINGS_BY_CODE:
        return _ENDINGS_BY_CODE[ending.code]
    if ending.code not in refusal_codes or _COMPILER_CRASH.search(ending.stdout):
        return BuildEnding.CRASHED
    return BuildEnding.REFUSED


def shows_lack_of_space(ending: Ending) -> bool:
    """Return True if a compiler's output shows a lack of space, memory or processes.

    A source can cause such output, but gains nothing: the outcome is only not cached.
    """
    return _LACK_OF_SPACE.search(ending.stdout) is not None


def mentions_missing_library(output: str) -> bool:
    """Return True if the output names a header or module that is missing; it may be installed later."""
    return _MISSING_LIBRARY.search(output) is not None


_ENDINGS_BY_TIMEOUT = {"wall": BuildEnding.IDLED, "hard": BuildEnding.STOPPED}
_ENDINGS_BY_CODE = {
    0: BuildEnding.BUILT,
    MACHINE_AT_FAULT: BuildEnding.MACHINE,
    _KILLED_CODE: BuildEnding.KILLED,
}
_REASONS = {
    "wall": f"it did nothing for {MAX_COMPILER_IDLE_S:g} s",
    **dict.fromkeys(("cpu", "hard"), "it took too long"),
    **dict.fromkeys(("stdout", "stderr"), "it printed too much"),
    **{limit: words for words, limit in OWN_LIMITS.items()},
}


_SIGNAL_MESSAGE = "Caught fatal signal"  # start of the message about a stage that was killed by a signal


def format_build_log(ending: Ending, limits: BuildLimits) -> str:
    """Return the start of the compiler's output, and a line about the limit that stopped the compiler."""
    build_log = _UNPRINTABLE.sub("\ufffd", (ending.stdout + ending.stderr)[: limits.log]).rstrip("\n")
    # Replace names of temporary files, so that equal sources lead to equal output.
    build_log = _TEMPORARY_NAME.sub("/tmp/cc", build_log)
    build_log = _PREAMBLE.sub("", build_log)
    if ending.code and _FILE_TOO_LARGE.search(build_log):
        max_mib = limits.file_size >> 20
        build_log += (
            f"\nEach file that the compiler writes, including the program, may have at most {max_mib} MiB."
        )
    if not ending.exited or ending.code == _KILLED_CODE:
        names_signal = ending.message is not None and ending.message.startswith(_SIGNAL_MESSAGE)
        message = "" if ending.exited or names_signal else ending.message
        reason = _REASONS.get(ending.limit) or message or "killed by a signal, not by a limit"
        build_log = "\n".join(filter(None, (build_log, format_stop_message(reason))))
    return build_log


def format_stop_message(reason: str) -> str:
    """Return the line in the log of a build that was stopped."""
    return f"The compiler was stopped: {reason}."
