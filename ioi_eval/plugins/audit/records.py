"""The values of audit.json."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum

from ioi_eval.models import Value

VERSION = 1
_Z = 1.959964  # number of standard deviations within which a normal variable is in 95 % of cases


class Flaw(StrEnum):
    """A fault of a problem's tests."""

    CHECKER = "needs a checker"
    STRICT = "comparison too strict"
    BROKEN = "broken test"
    LIMITS = "limits"
    UNCLEAR = "rejects a right solution"  # tests reject a right solution for none of the reasons above
    WEAK = "weak"


class Rate(Value):
    """A share of solutions with its 95 % interval by Wilson. `None` means that no solutions were judged."""

    number: int
    of: int
    share: float | None = None
    low: float | None = None
    high: float | None = None

    @classmethod
    def from_counts(cls, counted: int, total: int) -> Rate:
        if not total:
            return cls(number=0, of=0)
        share, z_squared = counted / total, _Z * _Z
        middle = (share + z_squared / (2 * total)) / (1 + z_squared / total)
        radius = (
            _Z
            * math.sqrt(share * (1 - share) / total + z_squared / (4 * total * total))
            / (1 + z_squared / total)
        )
        # Round the bounds, because their last digits differ between machines.
        low, high = (round(min(max(bound, 0.0), 1.0), 6) for bound in (middle - radius, middle + radius))
        return cls(number=counted, of=total, share=round(share, 6), low=low, high=high)


class Rejection(Value):
    """A right solution that the tests reject, with such a test as an example."""

    row: str  # key of the solution in the run
    language: str
    tests: tuple[str, ...]  # names of all tests that reject the solution
    # Name of a test that rejects the solution, if possible with an output. The next fields are about it.
    test: str
    status: str
    difference: str  # difference between output and expected answer, or the way in which the program failed
    input: str = ""  # start of the test's input; `output` and `expected` may also be truncated
    output: str = ""
    expected: str = ""


class Diagnosis(Value):
    """A fault of a problem, with the evidence."""

    fault: Flaw
    sentence: str
    rows: tuple[str, ...]  # keys of the solutions in the run that show the fault
    tests: tuple[str, ...] = ()
    command: str = ""  # command that shows the evidence


class MutantCounts(Value):
    """The outcomes of a problem's mutants, which are changed copies of right solutions."""

    judged: int = 0
    rejected: int = 0
    # Keys of mutants that the tests accept although they fail on another input.
    accepted: tuple[str, ...] = ()
    same: int = 0  # number of accepted mutants that behave like their originals on all inputs that were tried


class ProblemAudit(Value):
    """The audit of a problem."""

    problem: str
    tests: int
    right: Rate  # share of right solutions that the tests accept
    wrong: Rate  # share of wrong solutions that the tests reject
    unusable: Mapping[str, str] = {}  # reasons why solutions do not count, by key of the solution
    # Keys of the solutions in `unusable` that caused judge failures. The next call judges them again.
    unjudged: tuple[str, ...] = ()
    # Names of tests that reject neither a wrong solution nor a wrong mutant. Empty without wrong programs.
    undecided: tuple[str, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    mutants: MutantCounts = MutantCounts()

    @property
    def rejects_right_solution(self) -> bool:
        """Return True if the tests reject a right solution."""
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
    # Reasons why problems are not trusted, by problem. `score --trust` reads only this field.
    untrusted: Mapping[str, str]


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun in singular or plural: `1 test`, `2 tests`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
