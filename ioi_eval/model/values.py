"""The words of the project as frozen, typed values. Nothing here knows of formats, engines or terminals."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Self, dataclass_transform

import msgspec

from ioi_eval.model.errors import FileEdited, InputError


# Subclasses inherit frozen at run time; keywords only is what type checkers hold callers to.
@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Value(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all values: immutable, compared by content, made with keywords only."""


# --- contents ----------------------------------------------------------------------------------------


class Blob(Value):
    """Bytes with an identity: either held (`data`) or lying in a file that is read when needed (`path`)."""

    sha256: str
    size: int
    path: str | None = None
    data: bytes | None = None
    stamp: int = 0  # of a file that others may edit: when it had changed last, as it was hashed (ns)

    @classmethod
    def of(cls, content: bytes | str) -> Self:
        data = content.encode() if isinstance(content, str) else content
        return cls(sha256=hashlib.sha256(data).hexdigest(), size=len(data), data=data)

    @classmethod
    def of_file(cls, path: Path) -> Self:
        """Refers to a file by its absolute path; reads it once, in pieces, for its hash."""
        with path.open("rb") as stream:
            stamp = os.fstat(stream.fileno()).st_mtime_ns
            digest, size = hashlib.file_digest(stream, "sha256"), stream.tell()
        return cls(sha256=digest.hexdigest(), size=size, path=str(path.absolute()), stamp=stamp)

    @property
    def is_stale(self) -> bool:
        """Return True if its file has another content than when it was hashed, or is gone."""
        if not self.stamp or self.path is None:
            return False
        try:
            same = os.stat(self.path).st_mtime_ns == self.stamp  # noqa: PTH116 - of each test of each result
            return not same and Blob.of_file(Path(self.path)).sha256 != self.sha256
        except OSError:
            return True

    def read(self) -> bytes:
        """Raises FileEdited where that is not the content any more: others keep it by the hash."""
        if self.data is not None:
            return self.data
        assert self.path is not None, "a blob has data or a path"
        content = Path(self.path).read_bytes()
        if self.is_stale:
            raise FileEdited(self.path)
        return content

    def beginning(self, size: int) -> str:
        """Return so many bytes as text, and hold no more of them: a test may be larger than memory."""
        if self.path is None:
            return self.read()[:size].decode(errors="replace")
        with Path(self.path).open("rb") as stream:
            return stream.read(size).decode(errors="replace")


class NamedBlob(Value):
    """A file of a problem or of a job under the name that programs know it by: `graders/grader.cpp`."""

    name: str
    content: Blob


# --- problems ----------------------------------------------------------------------------------------


class TaskType(StrEnum):
    BATCH = "Batch"
    COMMUNICATION = "Communication"
    OUTPUT_ONLY = "OutputOnly"
    TWO_STEPS = "TwoSteps"
    BATCH_AND_OUTPUT = "BatchAndOutput"
    INTERACTIVE = "Interactive"
    FUNCTION = "Function"


class TaskOptions(Value):
    """Settings of a task type beyond its name. Fields of other task types keep their defaults."""

    with_grader: bool = False  # compiled together with grader.cpp, a Communication task with stub.cpp
    input_file: str = ""  # Batch: empty means standard input
    output_file: str = ""  # Batch: empty means standard output
    processes: int = 1  # Communication
    user_io: str = "std_io"  # Communication: std_io or fifo_io
    manager_args: tuple[str, ...] = ()  # Communication, Interactive: behind the arguments of the task type
    output_tests: tuple[str, ...] = ()  # BatchAndOutput: tests that are judged by a file that was handed in
    function: str = ""  # Function: the name of what is called
    forks: int | None = None  # processes that a file of the package starts, in all; None: not measured yet
    prelude: str = ""  # lines that submissions in C and C++ begin with
    # Names of submissions' files without endings; the first is the code. Empty: one file, called as the id.
    source_names: tuple[str, ...] = ()
    line_buffered: bool = False  # programs in C, C++ and Python write each line at once, as on a terminal
    integer_digits: int = 0  # the most digits of an int that Python converts; 0: Python's own limit of 4,300
    online_judge: bool = (
        False  # ONLINE_JUDGE is defined for submissions, as at the judge that the problem is of
    )


class CheckerKind(StrEnum):
    """A comparison of outputs, or the language of a judging program. docs/protocol.md has the rules."""

    WHITE_DIFF = "white-diff"
    STRIPPED = "stripped"
    STRIPPED_LINES = "stripped-lines"
    EXACT = "exact"
    TOKENS = "tokens"
    LINES = "lines"
    WORD_LINES = "word-lines"
    FLOAT_LINES = "float-lines"
    APPS = "apps"
    PRIME_CODE = "prime-code"
    JSON = "json"
    JSON_WRAPPED = "json-wrapped"  # the answer may be a list of which the only element is the result
    CMS = "cms"
    TESTLIB = "testlib"
    EXIT_CODE = "exit-code"
    ICPC = "icpc"
    CODEFORCES = "codeforces"

    @property
    def is_program(self) -> bool:
        """Return True if the problem's own program judges; all other comparisons are built in."""
        return self in _PROGRAMS

    @classmethod
    def built_in(cls, name: str) -> CheckerKind:
        """The comparison of that name. InputError: there is none that needs no program."""
        kinds = {kind.value: kind for kind in cls if not kind.is_program}
        if name not in kinds:
            raise InputError(
                f"no such comparison: {name!r}", field="checker", remedy=f"There are {', '.join(kinds)}"
            )
        return kinds[name]


_PROGRAMS = frozenset(
    {
        CheckerKind.CMS,
        CheckerKind.TESTLIB,
        CheckerKind.EXIT_CODE,
        CheckerKind.ICPC,
        CheckerKind.CODEFORCES,
    }
)


# The `full` of a program whose points nothing bounds: 2**40, so that dividing by it loses no digit.
RAW_POINTS = float(1 << 40)


# The files before a checker or an interactor, by their names in its folder.
DESK = MappingProxyType({"input": "input.txt", "output": "user_output.txt", "answer": "correct_output.txt"})


class Checker(Value, kw_only=True):
    """A comparison of outputs. `sources` is empty for those that are built in."""

    kind: CheckerKind = CheckerKind.WHITE_DIFF
    sources: tuple[NamedBlob, ...] = ()  # the first is the one that is compiled
    language: str = "c++"
    arguments: tuple[str, ...] = ()  # the problem's own, behind those of the kind
    case_sensitive: bool = True  # tokens
    space_sensitive: bool = False  # tokens
    absolute: float | None = None  # tokens: tolerance
    relative: float | None = None  # tokens: tolerance
    full: float = 1.0  # icpc, testlib: the number of points that is worth everything
    given: tuple[str, ...] = ()  # arguments in the place of its kind's, which name files of DESK
    limits: Limits | None = None  # of the program itself: its CPU time and memory; None: the judge's own
    passes: int = 1  # icpc: how often a submission may run on one test, as the checker or interactor asks
    # Answers are no outputs, and it decides on anything: what it fails on is wrong, if it judges those.
    decides: bool = False


class Manager(Value, kw_only=True):
    """The program on the other side: a Communication task's manager, an interactor."""

    sources: tuple[NamedBlob, ...]  # the first is the one that is compiled
    kind: CheckerKind = (
        CheckerKind.CMS
    )  # how it says what a submission is worth: cms, testlib, exit-code, icpc
    language: str = "c++"
    full: float = 1.0  # icpc, testlib: the number of points that is worth everything
    limits: Limits | None = None  # of the program itself: its CPU time and memory; None: the judge's own
    # Interactive: a second run on what the interactor wrote, of the submission `alone` or of both `together`.
    again: str = ""
    given: tuple[str, ...] = ()  # Interactive: arguments in the place of its kind's, which name files of DESK


class Limits(Value):
    """Limits of one test. `None` means no limit."""

    cpu_time: float | None = None  # seconds
    cpu_times: tuple[float, ...] = ()  # of every run, where the limit was so near that it ran again alone
    wall_time: float | None = None  # seconds
    memory: int | None = None  # bytes touched
    output: int | None = 64 << 20  # bytes
    cuts_output: bool = False  # what is beyond it is lost, and the program goes on

    @classmethod
    def contest(cls, time_limit: float, memory_limit: int | None) -> Self:
        """As the contest system sets them: the wall clock runs to twice the time limit and a second."""
        return cls(cpu_time=time_limit, wall_time=2 * time_limit + 1, memory=memory_limit)


class Test(Value):
    __test__ = False  # pytest: not a test class

    name: str
    input: Blob
    answer: Blob | None = None  # the expected output
    full: float | None = None  # the number of points that is worth everything here; None: the checker's
    arguments: tuple[str, ...] = ()  # of the checker or the interactor here, behind the problem's own


class ScoreType(StrEnum):
    SUM = "Sum"
    GROUP_MIN = "GroupMin"
    GROUP_MUL = "GroupMul"
    GROUP_THRESHOLD = "GroupThreshold"


class Points(StrEnum):
    """The rule by which the points of a group's parts become the group's."""

    SUM = "sum"
    AVERAGE = "avg"
    LEAST = "min"
    MOST = "max"
    ACCEPTED = "accepted"  # 1 where the group is accepted: of a problem without points


class Acceptance(StrEnum):
    """The rule by which the verdicts of a group's parts become the group's."""

    WORST_ERROR = "worst_error"
    FIRST_ERROR = "first_error"
    ALWAYS = "always_accept"


class Grading(Value):
    """A tree of groups, where a part that is rejected may end its group's judging and cost its verdict."""

    parts: tuple[str | Grading, ...]  # names of tests, and groups, in the order of judging
    points: Points = Points.SUM
    acceptance: Acceptance = Acceptance.WORST_ERROR
    any_accepted: bool = False  # one part that is accepted is enough
    last_counts: bool = False  # of the parts that were judged only the last one does
    stops: bool = True  # behind the first part that is not accepted
    accept_score: float = 1.0  # what a test of this group is worth
    worth: float | None = None  # of a group that is accepted, where its tests' points do not count; None: 1
    reject_score: float = 0.0
    rejected_earns: bool = True  # whether its points count where it is not accepted
    whole_only: bool = False  # whether a test that earns a part of its points is rejected
    flags: tuple[str, ...] | None = None  # of the problem's own grader; None: the default one grades
    full: float = 0.0  # the most points that the problem's own grader gives


class Subtask(Value):
    """A group of tests with points. A test may be in several subtasks."""

    name: str
    points: float
    tests: tuple[str, ...]
    score_type: ScoreType = ScoreType.GROUP_MIN
    threshold: float = 1.0  # GroupThreshold only
    grading: Grading | None = None  # decides on the score instead; the score type is Sum then


class WordOfTests(Value):
    """A word about some tests, beside those about the whole and about subtasks."""

    subtask: str  # what the tests are called together; empty: all
    word: str
    tests: tuple[str, ...]


class Solution(Value, kw_only=True):
    """A solution that a package brings, with the verdict that its author expects."""

    name: str
    language: str = ""  # empty where nothing but files is handed in
    code: str = ""
    expected: str  # the package's own word: correct, wrong_answer, ...; empty: it says nothing
    exceptions: Mapping[str, str] = {}  # the same for single subtasks, by their names
    each_subtask: bool = False  # `expected` holds for every single subtask, not for all of them together
    said: tuple[WordOfTests, ...] = ()
    score: tuple[float, float] | None = None  # points that it should get, from the first to the second
    outputs: tuple[NamedBlob, ...] = ()  # files to hand in, each under the name of its test
    files: tuple[NamedBlob, ...] = ()  # further sources and headers, under their names beside the code

    @property
    def program(self) -> str | None:
        """The program, which may be an empty file; `None` means that only files are handed in."""
        return self.code if self.code or self.language else None


class Problem(Value):
    id: str
    name: str = ""
    year: int | None = None
    source: str = ""  # where it came from, for messages
    task_type: TaskType = TaskType.BATCH
    options: TaskOptions = TaskOptions()
    limits: Limits = Limits()
    time_from_solutions: float | None = None  # cpu_time is to be measured: slowest accepted times this
    time_resolution: float | None = (
        None  # seconds: a measured cpu_time is a multiple; `None`: the nearest 1 s
    )
    # Those of `included` that start processes: options.forks is to be measured.
    forks_by: tuple[str, ...] = ()
    grader_files: tuple[NamedBlob, ...] = ()  # names as in the package: graders/grader.cpp, graders/<id>.h
    # Languages in which submissions are not judged, with the reason: their part of `included` is unusable.
    left_out: Mapping[str, str] = {}
    included: tuple[NamedBlob, ...] = ()  # beside every submission: `<language>/name`, `default/name`
    checker: Checker = Checker()
    manager: Manager | None = None
    grader: Checker | None = None  # the program that grades groups, where one is not graded by default
    tests: tuple[Test, ...] = ()
    subtasks: tuple[Subtask, ...] = ()  # empty: every test counts, no subtasks
    score_precision: int = 2
    cpp_standard: str = "gnu++20"
    solutions: tuple[Solution, ...] = ()
    difficulty: str = ""  # the dataset's own word
    tags: tuple[str, ...] = ()
    statement: Blob | None = None  # what a model is asked, as the dataset has it
    document: str = ""  # the name of the package's PDF of it, which no model is asked with
    starter_code: str = ""
    attachments: tuple[NamedBlob, ...] = ()  # what the package hands to contestants, by its own names
    unusable: str = ""  # why nothing can be said of its submissions: they are judge failures

    @classmethod
    def of(
        cls,
        tests: Iterable[tuple[str | bytes, str | bytes]],
        *,
        id: str = "problem",
        limits: Limits | None = None,
        **fields: Any,
    ) -> Self:
        """Return a problem whose tests are pairs of an input and the expected output.

            problem = Problem.of(tests=[("1 2", "3"), ("20 30", "50")])

        Args:
            tests: the pairs. The tests are named by their numbers, from "1".
            id: what submissions name as their `problem_id`.
            limits: of each test; by default 2 s of CPU time and 256 MiB.
            fields: any other field of a problem, such as `checker`.

        Raises:
            InputError: if a test is not a pair of texts or bytes.
        """
        if isinstance(tests, str | bytes | Mapping):
            raise _no_pairs(f"tests is {type(tests).__name__}")
        made = list[Test]()
        for number, pair in enumerate(tests, start=1):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise _no_pairs(f"test {number} is {pair!r:.40}")
            if not all(isinstance(text, str | bytes) for text in pair):
                raise _no_pairs(f"test {number} holds {' and '.join(type(text).__name__ for text in pair)}")
            made.append(Test(name=str(number), input=Blob.of(pair[0]), answer=Blob.of(pair[1])))
        if not made:
            raise _no_pairs("there is no test")
        return cls(id=id, limits=limits or Limits.contest(2.0, 256 << 20), tests=tuple(made), **fields)


def _no_pairs(what: str) -> InputError:
    remedy = 'Give pairs of an input and the expected output, as [("1 2", "3")]'
    return InputError(what, where="Problem.of", field="tests", remedy=remedy)


# --- submissions and results -------------------------------------------------------------------------


# A number of a result: also sums of many, and shares, are numbers.
Number = Annotated[float, msgspec.Meta(ge=-1e18, le=1e18)]


class LanguageFrom(StrEnum):
    """The source of a submission's language; the first that tells it holds."""

    ROW = "row"  # its column
    OPTION = "option"  # the user's, for rows that name none
    FORMAT = "format"  # what the dump was recognised as
    PROBLEM = "problem"  # it admits no other
    REPLY = "reply"  # the tag of its fenced block, or its program's syntax
    DEFAULT = "default"  # the benchmark's, else C++


class Submission(Value):
    """A program for a problem, as a rule one source text, and the dump's row it came from."""

    key: str
    problem_id: str
    code: str | None  # None: the generation holds no code
    language: str = "c++"
    language_from: LanguageFrom | None = None  # None: nobody had to choose
    outputs: tuple[NamedBlob, ...] = ()  # files that were handed in, each under the name of its test
    files: tuple[NamedBlob, ...] = ()  # further sources and headers, under their names beside the code
    year: int | None = None
    target_subtask: str | None = None
    repairs: tuple[str, ...] = ()  # what extraction or an option changed in the code
    no_program: str = ""  # why there is no code; empty: not known
    row: Mapping[str, Any] = {}  # the dump's own columns


class Verdict(StrEnum):
    """The name of a submission's behaviour on a test or a subtask. Says nothing about the judge."""

    AC = "AC"
    PA = "PA"
    WA = "WA"
    TLE = "TLE"
    MLE = "MLE"
    OLE = "OLE"
    RE = "RE"
    CE = "CE"
    SKIPPED = "SKIPPED"


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


def worst(statuses: Iterable[Verdict]) -> Verdict:
    """Return the worst of several statuses; SKIPPED only if there is nothing else."""
    return min(statuses, key=STATUS_ORDER.index, default=Verdict.SKIPPED)


class Reason(StrEnum):
    """Why a submission ran on no test, apart from the verdict CE that both have."""

    NO_PROGRAM = "no program"  # the reply, or the column of programs, holds none
    NOT_COMPILED = "not compiled"  # the compiler refused it


class TestResult(Value):
    __test__ = False

    test_name: str
    score: Number
    status: Verdict
    feedback: str = ""
    cpu_time: Number | None = None  # seconds
    cpu_times: tuple[Number, ...] = ()  # of every run, where the limit was so near that it ran again alone
    wall_time: Number | None = None  # seconds
    waited_time: Number | None = None  # seconds for processors and disks, all programs of the test together
    memory: int | None = None  # bytes
    processes: int | None = None  # in all, where it may start some
    output: str = ""  # what a wrong answer began with, where somebody asked for it
    error: str = ""  # what the error text began with, where somebody asked for it
    points: Number | None = None  # where the problem's own grader makes the score of them; `score` is 1 then


class SubtaskResult(Value):
    problem: str
    subtask: str
    points: Number
    score: Number  # in [0, 1], rounded to score_precision
    weighted_score: Number  # points earned, rounded to score_precision
    exact_score: Number  # in [0, 1], not rounded
    score_precision: int
    status: Verdict
    test_results: tuple[TestResult, ...]


class SubmissionResult(Value):
    """The worth of a submission, with the evidence."""

    key: str
    problem_id: str
    compiles: bool
    compile_output: str = ""
    points: float = 0.0  # sum of unrounded subtask scores times points
    subtasks: tuple[SubtaskResult, ...] = ()
    tests: tuple[TestResult, ...] = ()  # distinct tests in the problem's order
    repairs: tuple[str, ...] = ()
    checker: str = ""
    compiler: str = ""
    confinement: Mapping[str, Any] = {}
    program_sha256: str = ""  # equal for programs that must get the same result; empty: nobody asked
    repeats: str = ""  # the key of an equal submission that was judged for this one, too

    @property
    def max_points(self) -> float:
        """Return the points that full marks are worth: those of all subtasks, or 1 without subtasks."""
        return math.fsum(part.points for part in self.subtasks) if self.subtasks else 1.0

    @property
    def solved(self) -> bool:
        """Return True if the submission has full points; without subtasks, if it passes every test.

        The format's own scoring decides, not a sample that is worth nothing or has raw scores. If no subtask
        is worth points, all of them must have full marks.
        """
        if not self.compiles:
            return False
        if self.subtasks:
            counting = [part for part in self.subtasks if part.points] or self.subtasks
            return all(part.exact_score >= 1 for part in counting)
        return bool(self.tests) and all(test.status is Verdict.AC for test in self.tests)

    @property
    def verdict(self) -> Verdict:
        """Return the verdict: CE, AC if the submission is solved, else the worst of its subtasks or tests."""
        if not self.compiles:
            return Verdict.CE
        if self.solved:
            return Verdict.AC
        found = worst(part.status for part in self.subtasks or self.tests)
        return Verdict.PA if found is Verdict.AC else found


class ServerState(Value):
    """The state of one of an engine's servers."""

    url: str
    state: str  # healthy, on trial, down, left out, gone, new; unreachable from the beginning
    slots: int = 0
    busy: int = 0  # slots with jobs of this run
    errors: int = 0
    why: str = ""  # the last of these
    since: float | None = None  # when it got into its state: seconds since 1970
    rate: float = 0.0  # jobs that it answers per second, about over the last minute
