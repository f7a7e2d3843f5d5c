"""How a stage that ended is told in Piston's words. Pure."""

from __future__ import annotations

import signal

from ioi_eval.engines.embedded.spec import BoxReport
from ioi_eval.model.values import CPU_LIMIT, HARD_STOP, Stage, StageStatus

# A limit that killed -> status and message. Piston tells the two time limits apart by the message alone.
# It has no word for memory: a box that its kernel killed is a signal there, and so it is here.
_KILLED = {
    "wall": (StageStatus.TO, "Time limit exceeded (wall clock)"),
    "hard": (StageStatus.TO, HARD_STOP),
    "cpu": (StageStatus.TO, CPU_LIMIT),
    "memory": (StageStatus.SG, "Memory limit exceeded"),
    "processes": (StageStatus.SG, "Too many processes"),
    "disk": (StageStatus.SG, "Too many or too large files"),
    "stdout": (StageStatus.OL, "stdout length exceeded"),
    "stderr": (StageStatus.EL, "stderr length exceeded"),
}
_UNKNOWN = (StageStatus.XX, "the box was killed from outside")


def stage_of(report: BoxReport, stdout: bytes, stderr: bytes, *, overflow: str = "") -> Stage:
    """`overflow`: the stream (stdout, stderr) that went over its limit and had the box ended."""
    code, name, status, message = _ending(report, overflow)
    return Stage(
        stdout=stdout.decode("utf-8", "replace"),
        stderr=stderr.decode("utf-8", "replace"),
        code=code,
        signal=name,
        status=status,
        message=message,
        cpu_time=report.cpu_us // 1000,
        wall_time=report.wall_us // 1000,
        memory=report.memory,
    )


def _ending(
    report: BoxReport, overflow: str
) -> tuple[int | None, str | None, StageStatus | None, str | None]:
    if report.failure is not None:
        return None, None, StageStatus.XX, report.failure
    if killed := overflow or report.killed:
        return None, "SIGKILL", *_KILLED.get(killed, _UNKNOWN)
    if report.signal:
        return None, signal_name(report.signal), StageStatus.SG, f"Caught fatal signal {report.signal}"
    if report.code:
        return report.code, None, StageStatus.RE, f"Exited with error status {report.code}"
    return 0, None, None, None


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal has no name of its own
        return f"SIG{number}"
