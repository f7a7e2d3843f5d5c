"""The values of audit.json."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum

from ioi_eval.models import Value

VERSION = 1
_Z = 1.959964  # a normal variable is within this number of standard deviations in 95 % of cases


class Flaw(StrEnum):
    """A fault of a problem's tests."""

    CHECKER = "needs a checker"
    STRICT = "comparison too strict"
    BROKEN = "broken test"
    LIMITS = "limits"
    UNCLEAR = "rejects a right solution"  # for none of the reasons above
    WEAK = "weak"


class Rate(Value):
    """A share of solutions with its 95 % interval by Wilson. `None` means that no solutions were judged."""

    number: int
    of: int
    share: float | None = None
    low: float | None = None
    high: float | None = None

    @classmethod
    def make(cls, number: int, total: int) -> Rate:
        if not total:
            return cls(number=0, of=0)
        share, squared = number / total, _Z * _Z
        middle = (share + squared / (2 * total)) / (1 + squared / total)
        half = (
            _Z
            * math.sqrt(share * (1 - share) / total + squared / (4 * total * total))
            / (1 + squared / total)
        )
        # Rounded: the last digits differ between machines.
        low, high = (round(min(max(end, 0.0), 1.0), 6) for end in (middle - half, middle + half))
        return cls(number=number, of=total, share=round(share, 6), low=low, high=high)


class Rejection(Value):
    """A right solution that the tests reject, with such a test as an example."""

    row: str  # the solution's key in the run
    language: str
    tests: tuple[str, ...]  # all tests that reject it
    test: str  # the first of these with an output, else the first; the fields below are about this test
    status: str
    difference: str  # between the output and the expected answer, or the way the program failed
    input: str = ""  # input, output and answer may be truncated
    output: str = ""
    expected: str = ""


class Diagnosis(Value):
    """A fault of a problem, with the evidence."""

    fault: Flaw
    sentence: str
    rows: tuple[str, ...]  # keys of solutions in the run
    tests: tuple[str, ...] = ()
    command: str = ""  # the command that shows the evidence


class MutantCounts(Value):
    """The outcomes of a problem's mutants, which are changed copies of right solutions."""

    judged: int = 0
    rejected: int = 0
    accepted: tuple[str, ...] = ()  # keys of mutants that the tests accept and that fail on another input
    same: int = 0  # number of accepted mutants that no tried input distinguishes from their originals


class ProblemAudit(Value):
    """The audit of a problem."""

    problem: str
    tests: int
    right: Rate  # right solutions that are accepted
    wrong: Rate  # wrong solutions that are rejected
    unusable: Mapping[str, str] = {}  # reasons why solutions do not count, by key
    unjudged: tuple[str, ...] = ()  # keys in `unusable` of judge failures, which the next call judges again
    # Tests without which the same wrong solutions are rejected; empty without wrong solutions
    undecided: tuple[str, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    mutants: MutantCounts = MutantCounts()

    @property
    def rejects_right(self) -> bool:
        return self.right.number < self.right.of


class Audit(Value, kw_only=True):
    """The content of audit.json."""

    version: int = VERSION
    source: str
    settings: Mapping[str, str | int | float]
    sentences: tuple[str, ...]
    right: Rate
    wrong: Rate
    left_out: Mapping[str, int] = {}  # number of excluded solutions and problems, by reason
    problems: tuple[ProblemAudit, ...]
    untrusted: Mapping[str, str]  # faults by problem; the only part that `score --trust` reads
