"""The rules of a contest, and what participants are told."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Self

import msgspec

from ioi_eval.model.errors import IoiEvalError
from ioi_eval.model.options import Count, Said
from ioi_eval.model.values import SubmissionResult, SubtaskResult, Value, Verdict
from ioi_eval.rules.scoring import Mode, submission_status
from ioi_eval.rules.selection import SUBMISSIONS


class Feedback(StrEnum):
    """The part of a result that participants learn before the end."""

    FULL = "full"  # the points of each subtask, and the verdict of its first failing test
    POINTS = "points"  # the submission's points
    VERDICT = "verdict"  # its verdict
    NONE = "none"  # that it compiles


def _or_no_limit(number: int) -> int | None:
    return number or None


class Rules(Value):
    """The rules of a contest. None is no limit."""

    submissions: Annotated[
        Count | None,
        Said(
            typed=int,
            read=_or_no_limit,
            least=0,
            metavar="N",
            help="Submissions of a participant for a problem; 0: no limit.",
            unset=str(SUBMISSIONS),
        ),
    ] = SUBMISSIONS
    pause: Annotated[
        Annotated[float, msgspec.Meta(ge=0)],
        Said(metavar="S", help="Least seconds between two submissions of a participant for a problem."),
    ] = 0.0
    feedback: Annotated[Feedback, Said(help="The part of a result that its participant is told.")] = (
        Feedback.FULL
    )
    seconds: Annotated[
        Annotated[float, msgspec.Meta(gt=0)] | None,
        Said(name="contest_time", metavar="S", least=1, help="Length of the contest.", unset="no end"),
    ] = None
    runs: Annotated[
        Count | None,
        Said(
            name="own_runs",
            typed=int,
            read=_or_no_limit,
            least=0,
            metavar="N",
            help="Runs of a participant on own inputs for a problem; 0: no limit.",
            unset="200",
        ),
    ] = 200
    mode: Annotated[
        Mode, Said(name="points_by", help="The rule by which several submissions make a problem's points.")
    ] = Mode.MAX_SUBTASK
    times: Annotated[bool, Said(name="show_times", help="Tell the longest time of hidden tests.")] = False
    scoreboard: Annotated[bool, Said(help="Show every participant the points of all.")] = False
    languages: Annotated[
        tuple[str, ...],  # empty: all that the engine has
        Said(
            name="allow_language", metavar="NAME", help="A language to allow; may be repeated.", unset="all"
        ),
    ] = ()
    at_once: Count = 2  # calls of a participant that are worked on; the others wait for their turn
    waiting: Count = 16  # calls of a participant that may wait; more are refused
    code_bytes: Count = 100_000
    input_bytes: Count = 1 << 20
    output_bytes: Annotated[int, msgspec.Meta(ge=1, le=1 << 16)] = 16 << 10  # shown of an output

    def told(self) -> str:
        """Return the rules as a participant is told them."""
        return "\n".join(
            [
                "Take part in a programming contest: read statements, try programs, submit them for points.",
                f"The points of a problem: {self.mode.value} over your submissions.",
                f"Feedback on submissions: {self.feedback.value}.",
                f"Submissions for each problem: {self.submissions or 'no limit'}.",
                f"Runs on inputs of your own for each problem: {self.runs or 'no limit'}.",
                "The same code again, and failures of the judge, cost nothing.",
            ]
        )


class Refused(IoiEvalError):
    """A call that the rules do not allow, or that cannot be meant. It costs nothing."""


class NotJudged(IoiEvalError):
    """The judge failed. It costs nothing, and the same call may be made again."""


# --- what participants are told ----------------------------------------------------------------------


class Sample(Value):
    name: str
    input: str
    output: str


class Statement(Value):
    """A problem as participants see it."""

    id: str
    title: str
    text: str
    kind: str  # of task
    seconds: float | None  # of CPU time for a test
    megabytes: int | None
    points: float
    languages: tuple[str, ...]
    input_file: str = ""  # empty: standard input
    output_file: str = ""  # empty: standard output
    function: str = ""  # which function is called; empty: a program is run
    starter_code: str = ""
    own_inputs: bool = True  # False: it takes a program that only the judge has
    files: tuple[str, ...] = ()  # tests that are answered with files, by these names
    attachments: Mapping[str, str] = {}  # headers, what the package hands out, inputs to answer with files
    samples: tuple[Sample, ...] = ()


class ProblemState(Value):
    """A participant's state in a problem. What feedback does not tell is None."""

    id: str
    title: str
    of: float
    points: float | None
    attempts: int
    left: int | None
    gained: float | None = None  # seconds from the start to the last gain


class Place(Value):
    """A participant's line of the scoreboard."""

    participant: str
    points: float
    gained: float | None


class Standing(Value):
    participant: str
    points: float | None
    of: float
    seconds_left: float | None
    problems: tuple[ProblemState, ...]
    scoreboard: tuple[Place, ...] = ()


class Ran(Value):
    """A program's behaviour on an input that the participant gave."""

    compiles: bool
    compiler: str = ""  # its words
    ended: str = ""  # completed, or the verdict of how it ended
    words: str = ""
    output: str = ""
    error: str = ""
    cpu_seconds: float | None = None
    wall_seconds: float | None = None
    memory_bytes: int | None = None
    left: int | None = None  # runs


class TestedSample(Value):
    name: str
    verdict: Verdict
    words: str = ""
    output: str = ""
    cpu_seconds: float | None = None
    memory_bytes: int | None = None


class Tested(Value):
    compiles: bool
    compiler: str = ""
    samples: tuple[TestedSample, ...] = ()


class Part(Value):
    subtask: str
    points: float
    of: float
    verdict: Verdict  # of the first failing test, or AC


class Submitted(Value):
    """A submission's worth, as far as feedback goes; what it does not tell is None."""

    number: int  # of the attempt
    words: str
    repeats: bool = False  # this code was submitted before, and costs nothing
    compiles: bool | None = None
    compiler: str = ""
    verdict: Verdict | None = None
    points: float | None = None
    of: float = 0.0
    subtasks: tuple[Part, ...] = ()
    slowest_seconds: float | None = None
    best: float | None = None  # the problem's points by all submissions so far
    left: int | None = None


class Worth(Value):
    """The part of a result that may ever be told: no test, and no time unless rules say so."""

    result: SubmissionResult  # without tests
    verdict: Verdict
    parts: tuple[Part, ...]
    compiler: str
    slowest: float | None

    @classmethod
    def of(cls, result: SubmissionResult, bare: SubmissionResult, compiler: str) -> Self:
        return cls(
            result=bare,
            verdict=submission_status(result),
            parts=tuple(
                Part(subtask=part.subtask, points=part.weighted_score, of=part.points, verdict=_first(part))
                for part in result.subtasks
            ),
            compiler=compiler,
            slowest=max((test.cpu_time or 0.0 for test in result.tests), default=None),
        )


def _first(part: SubtaskResult) -> Verdict:
    """Return the verdict of a subtask's first test that is not right."""
    failing = (test.status for test in part.test_results if test.status not in _FINE)
    return Verdict.AC if part.exact_score >= 1 else next(failing, part.status)


_FINE = frozenset({Verdict.AC, Verdict.SKIPPED})
