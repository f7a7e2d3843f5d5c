"""From what a program did on one test to a `TestResult`: the proctor's lines and the classic job's replies.

Everything here is about the submission. Where the material says that the judge failed, or does not say
enough, a `JudgeFailure` is raised: never a score of 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import msgspec

from ioi_eval.model.errors import JudgeFailure
from ioi_eval.model.protocol import Line
from ioi_eval.model.values import JobResult, Limits, Stage, StageStatus, TestResult, Value, Verdict

STATUS_ORDER: tuple[Verdict, ...] = (
    Verdict.CE,
    Verdict.RE,
    Verdict.WA,
    Verdict.OLE,
    Verdict.MLE,
    Verdict.TLE,
    Verdict.PA,
    Verdict.AC,
    Verdict.SKIPPED,
)
"""Worst first, as published result sets have it; OLE, which they do not know, stands beside MLE."""

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


def worst(statuses: Iterable[Verdict]) -> Verdict:
    """The worst of several statuses. SKIPPED only if there is nothing else."""
    return min(statuses, key=STATUS_ORDER.index, default=Verdict.SKIPPED)


def of_score(score: float) -> Verdict:
    """What a program is called that ran within its limits and earned `score`."""
    if score >= 1:
        return Verdict.AC
    return Verdict.PA if score > 0 else Verdict.WA


# --- the proctor's lines -----------------------------------------------------------------------------


class Company(Value):
    """The processes of a submission on one test. A line has the sum of their CPU times and memory."""

    processes: int = 1
    each: bool = False  # the limit of CPU time is for each of them, not for all together


ALONE = Company()


class _Terms(Value):
    limits: Limits
    company: Company


def test_result(test_name: str, line: Line, *, limits: Limits, company: Company = ALONE) -> TestResult:
    """The result that a proctor's line about a test stands for.

    `limits` are those that the test ran with; the feedback names the one that was exceeded and by how much.
    """
    if line.failure is not None:
        raise JudgeFailure(line.failure, phase="judging", test=test_name)
    if line.skipped:
        return skipped(test_name)
    score, status, feedback = _outcome(test_name, line, _Terms(limits=limits, company=company))
    return TestResult(
        test_name=test_name,
        score=score,
        status=status,
        feedback=feedback,
        cpu_time=line.cpu_us / _MICROSECONDS,
        wall_time=line.wall_us / _MICROSECONDS,
        waited_time=line.waited_us / _MICROSECONDS,
        memory=line.memory,
        output=line.output,
    )


def _outcome(test_name: str, line: Line, terms: _Terms) -> tuple[float, Verdict, str]:
    if line.end == "ok":
        score = _in_range(test_name, line.score)
        return score, of_score(score), _standard(line.feedback)
    if line.end is None or line.end not in _ENDS:
        raise JudgeFailure(f"the proctor reports no known end: {line.end!r}", phase="judging", test=test_name)
    status, describe = _ENDS[line.end]
    return 0.0, status, describe(line, terms)


def _cpu(line: Line, terms: _Terms) -> str:
    limit, company = terms.limits.cpu_time, terms.company
    if company.each:
        return f"Time limit exceeded (CPU time of one of {company.processes} processes{_over(limit)})"
    of_all = f" of {company.processes} processes" if company.processes > 1 else ""
    return f"Time limit exceeded (CPU time{of_all} {_seconds(line.cpu_us)}{_of_seconds(limit)})"


def _wall(line: Line, terms: _Terms) -> str:
    return f"Time limit exceeded (wall time {_seconds(line.wall_us)}{_of_seconds(terms.limits.wall_time)})"


def _memory(line: Line, terms: _Terms) -> str:
    exceeded = "Memory limit exceeded (resident memory"
    limit = "" if terms.limits.memory is None else _mebibytes(terms.limits.memory)
    if terms.company.processes > 1:  # the line has what they used together, the limit is for each
        return f"{exceeded} of one of {terms.company.processes} processes more than {limit})"
    return f"{exceeded} {_mebibytes(line.memory)}{limit and f' of {limit}'})"


def _output(line: Line, terms: _Terms) -> str:
    limit = "" if terms.limits.output is None else f" (more than {_mebibytes(terms.limits.output)})"
    return f"Output limit exceeded{limit}"


def _exit(line: Line, terms: _Terms) -> str:
    return f"Runtime error (exit code {line.code}){_last_words(line)}"


def _signal(line: Line, terms: _Terms) -> str:
    name = _SIGNALS.get(line.signal)
    return f"Runtime error (signal {line.signal}{f', {name}' if name else ''}){_last_words(line)}"


def _last_words(line: Line) -> str:
    """What the program itself said before it failed, such as the name of an exception."""
    return f": {line.feedback}" if line.feedback else ""


def _threads(line: Line, terms: _Terms) -> str:
    return "Runtime error (too many threads)"


_ENDS: Mapping[str, tuple[Verdict, Callable[[Line, _Terms], str]]] = MappingProxyType(
    {
        "cpu": (Verdict.TLE, _cpu),
        "wall": (Verdict.TLE, _wall),
        "memory": (Verdict.MLE, _memory),
        "output": (Verdict.OLE, _output),
        "exit": (Verdict.RE, _exit),
        "signal": (Verdict.RE, _signal),
        "threads": (Verdict.RE, _threads),
    }
)


def _seconds(microseconds: int) -> str:
    return f"{microseconds / _MICROSECONDS:.3f} s"


def _of_seconds(limit: float | None) -> str:
    return "" if limit is None else f" of {limit:.3f} s"


def _over(limit: float | None) -> str:
    return "" if limit is None else f" more than {limit:.3f} s"


def _mebibytes(size: int) -> str:
    return f"{size / _MEBIBYTE:.1f} MiB"


def _standard(feedback: str) -> str:
    return _STANDARD_TEXTS.get(feedback.strip(), feedback)


def rescaled(result: TestResult, full: float, own: float) -> TestResult:
    """A score that was measured by `full` points, where this test is worth `own` of them."""
    points = result.score * full
    if points > own * (1 + _TOLERANCE):
        reason = f"a score of {points:g} in a group where a test is worth at most {own:g}"
        raise JudgeFailure(reason, phase="checking", test=result.test_name)
    if result.status is not Verdict.PA or points < own * (1 - _TOLERANCE):
        return msgspec.structs.replace(result, score=min(points / own, 1.0))
    feedback = _STANDARD_TEXTS["translate:success"] if _is_standard(result.feedback) else result.feedback
    return msgspec.structs.replace(result, score=1.0, status=Verdict.AC, feedback=feedback)


def _is_standard(feedback: str) -> bool:
    return feedback in _STANDARD_TEXTS.values()


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


def not_compiled(test_name: str, feedback: str = COMPILATION_ERROR) -> TestResult:
    """A test that could not be run because there is no program."""
    return TestResult(test_name=test_name, score=0.0, status=Verdict.CE, feedback=feedback)


# --- the classic job ---------------------------------------------------------------------------------


def classic_outcome(result: JobResult) -> tuple[str, str]:
    """Score and feedback of a classic job, both as text: what pipelines in use make of a reply, rule by rule.

    One thing they do not look at comes first: a box that failed is no answer about the submission.
    """
    for phase, stage in (("compiling", result.compile), ("running", result.run)):
        _check_box(phase, stage)
    if result.compile is not None and result.compile.code != 0:
        return "0", f"{COMPILATION_ERROR} exit code {result.compile.code}\n{result.compile.stderr}"
    if result.run.code == 1 and "MemoryError" in result.run.stderr:
        return "0", "Memory limit exceeded"
    if result.run.stdout:
        return result.run.stdout, result.run.stderr
    if result.run.signal == "SIGKILL":
        return "0", "Time limit exceeded"
    return "0", "Unknown error"


def _check_box(phase: str, stage: Stage | None) -> None:
    if stage is not None and stage.status is StageStatus.XX:
        raise JudgeFailure(stage.message or "the box failed", phase=phase)


def classic_result(test_name: str, score: str, feedback: str) -> TestResult:
    """The result that a classic job's score and feedback stand for.

    The score is the first line and must be a plain number in [0, 1]; anything else is the judge's fault.
    """
    number = _parse_score(test_name, score)
    text = _standard(feedback)
    status = of_score(number) if number > 0 else _classic_zero(text)
    return TestResult(test_name=test_name, score=number, status=status, feedback=text)


def _parse_score(test_name: str, text: str) -> float:
    first = text.partition("\n")[0].strip()
    if not _NUMBER.fullmatch(first):
        raise JudgeFailure(f"the score {first[:80]!r} is not a number", phase="checking", test=test_name)
    return _in_range(test_name, float(first))


def _classic_zero(feedback: str) -> Verdict:
    return next((status for words, status in _CLASSIC_TEXTS if words in feedback), Verdict.RE)
