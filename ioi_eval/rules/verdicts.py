"""From what a program did on one test to a `TestResult`, and from how a build ended to what is at fault.

A result is about the submission. Where a proctor's line or a classic job's reply says that the judge failed,
or does not say enough, a `JudgeFailure` is raised: never a score of 0.
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
from ioi_eval.model.protocol import Line
from ioi_eval.model.values import RAW_POINTS, STATUS_ORDER, Limits, Reason, TestResult, Value, Verdict
from ioi_eval.rules.limits import BUILD_IDLE

ENDINGS: tuple[str, ...] = (Reason.NO_PROGRAM, *STATUS_ORDER)
"""The words that reports count submissions by, worst first."""

NO_CODE = "no code found"
COMPILATION_ERROR = "Compilation error"
NOT_SUBMITTED = "File not submitted"

_MICROSECONDS = 1e6
_MEBIBYTE = 1 << 20
_TOLERANCE = 1e-9  # what binary fractions leave

# The texts that a checker may name instead of spelling them out.
_STANDARD_TEXTS: Mapping[str, str] = MappingProxyType(
    {
        "translate:success": "Output is correct",
        "translate:partial": "Output is partially correct",
        "translate:wrong": "Output isn't correct",
    }
)

# Linux numbers, whatever the client runs on: the submission ran on Linux.
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

# A plain decimal number; Python's float() would also take nan, 1_0 and digits of other scripts.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

# Which words in a classic job's feedback mean what, asked in this order, where the score is 0.
_CLASSIC_TEXTS: tuple[tuple[str, Verdict], ...] = (
    ("Compilation error", Verdict.CE),
    ("Memory limit exceeded", Verdict.MLE),
    ("Time limit exceeded", Verdict.TLE),
    ("Output isn't correct", Verdict.WA),
)


def of_score(score: float) -> Verdict:
    """Return the verdict of a program that ran within its limits and earned `score`."""
    if score >= 1:
        return Verdict.AC
    return Verdict.PA if score > 0 else Verdict.WA


# --- the proctor's lines -----------------------------------------------------------------------------


class Company(Value):
    """The processes of a submission on one test. A line has the sum of their CPU times and memory."""

    processes: int = 1
    each: bool = False  # the limit of CPU time is for each of them, not for all together


ALONE = Company()


def test_result(test_name: str, line: Line, *, limits: Limits, company: Company = ALONE) -> TestResult:
    """The result that a proctor's line about a test stands for.

    `limits` are those that the test ran with; the feedback names the one that was exceeded and by how much.
    """
    if line.failure is not None:
        raise JudgeFailure(line.failure, phase="judging", test=test_name)
    if line.skipped:
        return skipped(test_name)
    if line.end == "ok":
        score = _in_range(test_name, line.score)
        status, feedback = of_score(score), _STANDARD_TEXTS.get(line.feedback.strip(), line.feedback)
    else:
        score, (status, feedback) = 0.0, _end(test_name, line, limits, company)
    return TestResult(
        test_name=test_name,
        score=score,
        status=status,
        feedback=feedback,
        cpu_time=line.cpu_us / _MICROSECONDS,
        wall_time=line.wall_us / _MICROSECONDS,
        waited_time=line.waited_us / _MICROSECONDS,
        memory=line.memory,
        processes=line.processes or None,
        output=line.output,
        error=line.error,
    )


def _end(test_name: str, line: Line, limits: Limits, company: Company) -> tuple[Verdict, str]:
    """Return the verdict of a program's ending, and words about the limit that it exceeded."""
    # Its words from before it failed, such as the name of an exception.
    detail = f": {line.feedback}" if line.feedback else ""
    several = company.processes > 1
    started = f" of all {line.processes} processes" if line.processes > 1 else ""
    match line.end:
        case "cpu" if company.each:
            of = "" if limits.cpu_time is None else f" more than {limits.cpu_time:.3f} s"
            return Verdict.TLE, f"Time limit exceeded (CPU time of one of {company.processes} processes{of})"
        case "cpu":
            what = f"CPU time of {company.processes} processes" if several else f"CPU time{started}"
            return Verdict.TLE, _too_long(what, line.cpu_us, limits.cpu_time)
        case "wall":
            return Verdict.TLE, _too_long("wall time", line.wall_us, limits.wall_time)
        case "memory":
            most = "" if limits.memory is None else _mebibytes(limits.memory)
            used = f"{_mebibytes(line.memory)}{most and f' of {most}'}"
            # The line has what they used together, the limit is for each.
            used = f"of one of {company.processes} processes more than {most}" if several else used
            return Verdict.MLE, f"Memory limit exceeded (resident memory{started} {used})"
        case "output":
            most = "" if limits.output is None else f" (more than {_mebibytes(limits.output)})"
            return Verdict.OLE, f"Output limit exceeded{most}"
        case "exit":
            return Verdict.RE, f"Runtime error (exit code {line.code}){detail}"
        case "signal":
            name = f", {_SIGNALS[line.signal]}" if line.signal in _SIGNALS else ""
            return Verdict.RE, f"Runtime error (signal {line.signal}{name}){detail}"
        case "threads":
            of = "threads or processes" if line.processes else "threads"
            return Verdict.RE, f"Runtime error (too many {of})"
    raise JudgeFailure(f"the proctor reports no known end: {line.end!r}", phase="judging", test=test_name)


def _too_long(what: str, microseconds: int, limit: float | None) -> str:
    of = "" if limit is None else f" of {limit:.3f} s"
    return f"Time limit exceeded ({what} {microseconds / _MICROSECONDS:.3f} s{of})"


def _mebibytes(size: int) -> str:
    return f"{size / _MEBIBYTE:.1f} MiB"


def rescaled(result: TestResult, full: float, own: float) -> TestResult:
    """Return a result that was measured by `full` points, for a test that is worth `own` of them.

    One that is worth nothing is right for any points.
    """
    if full == RAW_POINTS and result.status is Verdict.AC:
        return result  # the program accepted without saying for how many points: for all
    points = result.score * full
    if not own:
        status = Verdict.AC if points else result.status
        return msgspec.structs.replace(result, score=float(points > 0), status=status)
    if points > own * (1 + _TOLERANCE):
        reason = f"a score of {points:g} in a group where a test is worth at most {own:g}"
        raise JudgeFailure(reason, phase="checking", test=result.test_name)
    if result.status is not Verdict.PA or points < own * (1 - _TOLERANCE):
        return msgspec.structs.replace(result, score=min(points / own, 1.0))
    standard = result.feedback in _STANDARD_TEXTS.values()
    feedback = _STANDARD_TEXTS["translate:success"] if standard else result.feedback
    return msgspec.structs.replace(result, score=1.0, status=Verdict.AC, feedback=feedback)


def counted(result: TestResult) -> TestResult:
    """Return a result with its points, which nothing bounds and which its program must say."""
    points = result.score * RAW_POINTS
    if result.status is Verdict.AC:
        raise JudgeFailure(
            "it was accepted, and score.txt was not written",
            phase="checking",
            test=result.test_name,
            remedy="The package's grader counts points: let the validator write them whenever it accepts",
        )
    if not points:
        return result
    return msgspec.structs.replace(result, score=1.0, status=Verdict.AC, points=points)


def _in_range(test_name: str, score: float) -> float:
    if not 0 <= score <= 1:  # nan is not either
        raise JudgeFailure(f"the score {score} is not in [0, 1]", phase="checking", test=test_name)
    return score + 0.0  # -0.0 becomes 0.0


# --- tests without a run -----------------------------------------------------------------------------


def skipped(test_name: str) -> TestResult:
    """A test that was not run because no score depends on it any more. It counts as 0."""
    return TestResult(test_name=test_name, score=0.0, status=Verdict.SKIPPED)


def not_submitted(test_name: str) -> TestResult:
    """A test that asks for what the submission does not hold."""
    return TestResult(test_name=test_name, score=0.0, status=Verdict.WA, feedback=NOT_SUBMITTED)


def not_tried(test_name: str, stalled: str) -> TestResult:
    """A test that was not run because the program stalls: it did on another one, and again alone."""
    feedback = f"Time limit exceeded (wall time; not run, because the program stalls on test {stalled})"
    return TestResult(test_name=test_name, score=0.0, status=Verdict.TLE, feedback=feedback)


def not_compiled(test_name: str, feedback: str = COMPILATION_ERROR) -> TestResult:
    """A test that could not be run because there is no program."""
    return TestResult(test_name=test_name, score=0.0, status=Verdict.CE, feedback=feedback)


# --- the classic job ---------------------------------------------------------------------------------


def classic_outcome(result: JobResult) -> tuple[str, str]:
    """Score and feedback of a classic job, both as text: what pipelines in use make of a reply, rule by rule.

    Two things that they do not look at come first: a box that failed, and a checker or manager that does not
    compile. Neither is an answer about the submission.
    """
    for phase, stage in (("compiling", result.compile), ("running", result.run)):
        if stage is not None and stage.status is StageStatus.XX:
            raise JudgeFailure(stage.message or "the box failed", phase=phase)
    if result.compile is not None and result.compile.code != 0:
        if match := _JUDGES_PROGRAM.fullmatch(last_line(result.compile.stderr)):
            raise package_failure(f"the {match[1]} does not compile on the server", result.compile)
        return "0", f"{COMPILATION_ERROR} exit code {result.compile.code}\n{result.compile.stderr}"
    if result.run.code == 1 and "MemoryError" in result.run.stderr:
        return "0", "Memory limit exceeded"
    if result.run.stdout:
        return result.run.stdout, result.run.stderr
    if result.run.signal == "SIGKILL":
        return "0", "Time limit exceeded"
    return "0", "Unknown error"


_JUDGES_PROGRAM = re.compile("Could not compile (checker|manager)")  # the last line of the package cms_ioi
_GRADERS_ERROR = re.compile(r"^(?:/\S*/)?(graders/[^:\n]+):\d+:\d+: (?:fatal )?error: ", re.MULTILINE)
_ERROR = re.compile(r"\berror: ")
_LINKED = re.compile(r"\bld returned \d+ exit status|undefined reference")
_MAX_WORDS = 1000  # characters


def lacks_space(compiled: Ending | None) -> bool:
    """Return True if a compiler printed that the machine lacks disk space or memory.

    A source can cause it, too.
    """
    if compiled is None or compiled.code in (None, 0):
        return False
    return _SIGNS_OF_NO_ROOM.search(compiled.stderr) is not None


def may_be_judges_fault(compiled: Ending | None, source: str) -> bool:
    """Return True if a compiler found a fault that may not be the one of the submission `source`.

    That is an error in a file of the package, or a lack of space. The submission may have caused it, by a
    macro. A job with an empty submission decides: `check_graders`.
    """
    if compiled is None or compiled.code in (None, 0):
        return False
    files = (match[1] for match in _GRADERS_ERROR.finditer(compiled.stderr))
    return lacks_space(compiled) or any(file != source for file in files)


def check_graders(compiled: Ending | None) -> None:
    """Raise JudgeFailure if the problem's files do not compile next to an empty submission.

    That these are not linked, because a function of the submission is missing, is no fault.
    """
    if compiled is None or compiled.code in (None, 0):
        return
    if lacks_space(compiled):
        raise package_failure("the server cannot compile", compiled)
    if not _LINKED.search(compiled.stderr):
        raise package_failure("the problem's grader does not compile on the server", compiled)


def package_failure(what: str, compiled: Ending, test: str = "") -> JudgeFailure:
    """Return the failure of a classic job that could not compile a program of the package."""
    return JudgeFailure(
        f"{what}: {first_error(compiled)}"[:_MAX_WORDS],
        phase="compiling",
        test=test,
        remedy="Correct it, or name a server whose compiler takes it",
    )


def first_error(compiled: Ending) -> str:
    """Return the first line with an error of a compiler, or the first line of all."""
    errors = (line for line in compiled.stderr.splitlines() if _ERROR.search(line))
    return next(errors, "") or compiled.stderr.partition("\n")[0]


def last_line(text: str) -> str:
    """Return the last line that is not empty."""
    return text.rstrip("\n").rpartition("\n")[2]


def classic_result(test_name: str, score: str, feedback: str) -> TestResult:
    """The result that a classic job's score and feedback stand for.

    The score is the first line and must be a plain number in [0, 1]; anything else is the judge's fault.
    """
    first, text = score.partition("\n")[0].strip(), _STANDARD_TEXTS.get(feedback.strip(), feedback)
    if not _NUMBER.fullmatch(first):
        raise JudgeFailure(f"the score {first[:80]!r} is not a number", phase="checking", test=test_name)
    number = _in_range(test_name, float(first))
    zero = next((status for words, status in _CLASSIC_TEXTS if words in text), Verdict.RE)
    status = of_score(number) if number > 0 else zero
    return TestResult(test_name=test_name, score=number, status=status, feedback=text)


# --- the ending of a build ---------------------------------------------------------------------------
# Whether the source, a limit, the compiler or the machine is at fault. Nothing that a source prints is
# trusted. A compiler exits with 1 for an error in the source, and also when it cannot start a part of itself
# or write to the disk. So when a build fails, its script builds a control program with the same command: only
# where that works, and the disk has room, is the source at fault. Endings that a healthy compiler seldom has
# (a crash, words about one) buy a second build, and if that ends badly too, the source is what does it. What
# the compiler printed can never do more than buy that second build: a source can make it print anything.


MACHINE_AT_FAULT = 90  # no compiler exits with it
_KILLED = 137  # what a shell calls a program that was killed: by the server or the machine, not by our limits
_SIGNS_OF_NO_ROOM = re.compile(
    "No space left|Cannot allocate memory|out of memory|[Rr]esource temporarily unavailable|Killed signal"
)
_SIGNS_OF_A_CRASH = re.compile(
    rf"internal compiler error|terminated program|cannot execute|{_SIGNS_OF_NO_ROOM.pattern}"
)
_SIGNS_OF_A_LACK = re.compile("No such file or directory|Could not (?:find|load) module|Can't find unit")
_TOO_LARGE = re.compile("File size limit exceeded|File too large|file truncated")
_TEMPORARY_NAME = re.compile(r"(?<![\w.])/(?:[\w.-]+/)+cc[A-Za-z0-9]{6}(?=\.)")  # a box may have no /tmp
# What compilers and runtimes say of every program, before they come to this one: Go, PyPy, Kotlin's Java.
_PREAMBLE = re.compile(
    r"^(?:# command-line-arguments|Warning: cannot find your CPU .*|OpenJDK .* warning: .*)\n?", re.MULTILINE
)
_UNPRINTABLE = re.compile(r"[^\n\t\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class BuildEnding(StrEnum):
    BUILT = "built"
    REFUSED = "refused"  # an error in the source
    CUT_SHORT = "cut short"  # a limit of ours that the source exceeded: CPU time, memory, output
    IDLED = "idled"  # it waited for something that never came
    STOPPED = "stopped"  # below its limit of CPU time: it waited for something, or the machine was busy
    KILLED = "killed"  # by the server or the machine, which says nothing of the source
    CRASHED = "crashed"  # the compiler did; worth one more build
    MACHINE = "machine"  # the control program could not be built either


def build_ending(ended: Ending, refusals: Collection[int] = (1,)) -> BuildEnding:
    """`refusals`: the exit codes by which this compiler says that the source is wrong."""
    if ended.limit:
        return _STOPS.get(ended.limit, BuildEnding.CUT_SHORT)
    if not ended.exited:
        return BuildEnding.KILLED
    if ended.code in _CODES:
        return _CODES[ended.code]
    if ended.code not in refusals or _SIGNS_OF_A_CRASH.search(ended.stdout):
        return BuildEnding.CRASHED
    return BuildEnding.REFUSED


def lacked_room(ended: Ending) -> bool:
    """Return True where a compiler says that it lacked room, memory or processes: others may have had them.

    A source can make it say so. That buys it only that its outcome is not remembered.
    """
    return _SIGNS_OF_NO_ROOM.search(ended.stdout) is not None


def lacks_library(words: str) -> bool:
    """Return True where a compiler names a header or a module that it does not find: it may come yet."""
    return _SIGNS_OF_A_LACK.search(words) is not None


_STOPS = {"wall": BuildEnding.IDLED, "hard": BuildEnding.STOPPED}
_CODES = {0: BuildEnding.BUILT, MACHINE_AT_FAULT: BuildEnding.MACHINE, _KILLED: BuildEnding.KILLED}
_REASONS = {
    "wall": f"it did nothing for {BUILD_IDLE:g} s",
    **dict.fromkeys(("cpu", "hard"), "it took too long"),
    **dict.fromkeys(("stdout", "stderr"), "it printed too much"),
    **{limit: words for words, limit in OWN_LIMITS.items()},
}


def log_of(ended: Ending, limits: BuildLimits) -> str:
    """Return the compiler's output, printable and not above its limit, and the limit that stopped it."""
    text = _UNPRINTABLE.sub("\ufffd", (ended.stdout + ended.stderr)[: limits.log]).rstrip("\n")
    text = _TEMPORARY_NAME.sub("/tmp/cc", text)  # the same source, the same words
    text = _PREAMBLE.sub("", text)
    if ended.code and _TOO_LARGE.search(text):
        most = limits.file_size >> 20
        text += f"\nA file that the compiler makes, the program among them, may have {most} MiB."
    if not ended.exited or ended.code == _KILLED:
        message = "" if ended.exited else ended.message
        reason = _REASONS.get(ended.limit) or message or "killed by a signal, and by no limit"
        text = "\n".join(filter(None, (text, stopped_by(reason))))
    return text


def stopped_by(reason: str) -> str:
    """Return the line of a build's log for a build that was stopped."""
    return f"The compiler was stopped: {reason}."
