"""Judges without the layer `status`: like many pipelines, they derive verdicts from messages instead of from the
exit status.

They replace the judge's readers during a trial, see `words_are_believed`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import msgspec
from support.engines import BuildEnding
from support.proctor_protocol import TestReport

from ioi_eval.engines.jobs import build as builds
from ioi_eval.engines.jobs import http_delivery
from ioi_eval.errors import JudgeFailure
from ioi_eval.judge import judge
from ioi_eval.model.job import Ending
from ioi_eval.models import Limits, TestResult, Verdict
from ioi_eval.rules import verdicts

AGAIN = "again"  # the machine is at fault: judged again, and finally excluded from the score
_VERDICTS = {
    "Compilation error": "CE",
    "Memory limit exceeded": "MLE",
    "Time limit exceeded": "TLE",
    "Output is correct": "AC",
}
_MACHINE = ("Resource temporarily unavailable", "Cannot allocate memory")


def heard(said: str) -> str:
    """Return the verdict that a message names, AGAIN if it blames the machine, and nothing if it names none."""
    if any(message in said for message in _MACHINE):
        return AGAIN
    return next((verdict for message, verdict in _VERDICTS.items() if message in said), "")


@contextmanager
def words_are_believed() -> Iterator[None]:
    """Replace `verdicts.make_result_from_report` by a reader of messages, and ignore a compiler's exit status."""
    result_of = verdicts.make_result_from_report

    def naive_result(test_name: str, line: TestReport, **how: Any) -> TestResult:
        verdict = heard(line.feedback)
        if verdict == AGAIN:
            raise JudgeFailure(line.feedback, phase="judging", test=test_name)
        if not verdict:
            return result_of(test_name, line, **how)
        ended = result_of(test_name, msgspec.structs.replace(line, end="ok"), **how)
        status, score = Verdict(verdict), float(verdict == "AC")
        return msgspec.structs.replace(ended, score=score, status=status, feedback=line.feedback)

    def naive_ending(stage: Ending, refusals: Collection[int] = (1,)) -> BuildEnding:
        endings = {
            AGAIN: BuildEnding.MACHINE,
            "TLE": BuildEnding.CUT_SHORT,
            "MLE": BuildEnding.CUT_SHORT,
            "CE": BuildEnding.REFUSED,
        }
        return endings.get(heard(stage.stdout + stage.stderr), BuildEnding.BUILT)

    with (
        mock.patch.object(verdicts, "make_result_from_report", naive_result),
        mock.patch.object(judge, "make_result_from_report", naive_result),
        mock.patch.object(builds, "classify_build", naive_ending),
        mock.patch.object(http_delivery, "classify_build", naive_ending),
    ):
        yield


def verdict_of(line: TestReport, limits: Limits) -> str:
    """Return the verdict that the judge derives from a line, or AGAIN if it reports a fault of the judge."""
    try:
        return verdicts.make_result_from_report("0", line, limits=limits).status.value
    except JudgeFailure:
        return AGAIN
