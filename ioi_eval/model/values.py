"""The project's data types as frozen values. Nothing here depends on formats, engines or terminals."""

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
from ioi_eval.model.fields import suggest_names, suggest_similar


class _ValueMetaclass(msgspec.StructMeta):
    """The type of all values. Wrong arguments of a constructor are an InputError with a suggestion."""

    def __call__(cls, *positional: Any, **fields: Any) -> Any:
        try:
            return super().__call__(*positional, **fields)
        except TypeError:
            names = cls.__struct_fields__
            unknown = next((name for name in fields if name not in names), None)
            if unknown is None:
                raise
            problem = f"{cls.__name__} has no argument {unknown!r}"
            raise InputError(problem, remedy=suggest_names(unknown, names)) from None


# Type checkers need `frozen` and `kw_only` to be declared here, although they are inherited at run time.
@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Value(msgspec.Struct, frozen=True, kw_only=True, metaclass=_ValueMetaclass):
    """Base of all values: immutable, compared by content, constructed with keyword arguments only."""


# --- contents ----------------------------------------------------------------------------------------


class Blob(Value):
    """Content addressed by its hash: in memory (`data`) or in a file that is read on demand (`path`)."""

    sha256: str
    size: int
    path: str | None = None
    data: bytes | None = None
    stamp: int = 0  # modification time of the file in ns when it was hashed; 0 if the file cannot change

    @classmethod
    def of(cls, content: bytes | str) -> Self:
        """Return a blob in memory."""
        data = content.encode() if isinstance(content, str) else content
        return cls(sha256=hashlib.sha256(data).hexdigest(), size=len(data), data=data)

    @classmethod
    def of_file(cls, path: Path) -> Self:
        """Return a blob for a file. The file is read once, in pieces, for its hash."""
        with path.open("rb") as stream:
            stamp = os.fstat(stream.fileno()).st_mtime_ns
            digest, size = hashlib.file_digest(stream, "sha256"), stream.tell()
        return cls(sha256=digest.hexdigest(), size=size, path=str(path.absolute()), stamp=stamp)

    @property
    def is_stale(self) -> bool:
        """Return True if the file's content has changed since it was hashed, or the file is gone."""
        if not self.stamp or self.path is None:
            return False
        try:
            is_unchanged = os.stat(self.path).st_mtime_ns == self.stamp  # noqa: PTH116 - of each test of each result
            return not is_unchanged and Blob.of_file(Path(self.path)).sha256 != self.sha256
        except OSError:
            return True

    def read(self) -> bytes:
        """Return the content. Raises FileEdited if the file has changed since it was hashed."""
        if self.data is not None:
            return self.data
        assert self.path is not None, "a blob has data or a path"
        content = Path(self.path).read_bytes()
        if self.is_stale:
            raise FileEdited(self.path)
        return content

    def read_beginning(self, size: int) -> str:
        """Return the first `size` bytes as a string. Load only these: a test may be larger than memory."""
        if self.path is None:
            return self.read()[:size].decode(errors="replace")
        with Path(self.path).open("rb") as stream:
            return stream.read(min(size, self.size)).decode(errors="replace")


class NamedBlob(Value):
    """A file of a problem or job with the name under which programs find it: `graders/grader.cpp`."""

    name: str
    content: Blob


# --- problems ----------------------------------------------------------------------------------------


class TaskType(StrEnum):
    """The way in which a problem's submissions are run."""

    BATCH = "Batch"
    COMMUNICATION = "Communication"
    OUTPUT_ONLY = "OutputOnly"
    TWO_STEPS = "TwoSteps"
    BATCH_AND_OUTPUT = "BatchAndOutput"
    INTERACTIVE = "Interactive"
    FUNCTION = "Function"


class TaskOptions(Value):
    """Settings of a task type. Fields of other task types have their defaults."""

    # True if the submission is compiled with grader.cpp, or with stub.cpp for Communication.
    with_grader: bool = False
    input_file: str = ""  # name of the input file for Batch; empty means standard input
    output_file: str = ""  # name of the output file for Batch; empty means standard output
    processes: int = 1  # number of the submission's processes for Communication
    user_io: str = "std_io"  # how the submission and the manager talk in Communication: std_io or fifo_io
    # Further arguments of the manager for Communication and Interactive, after the arguments of the task
    # type.
    manager_args: tuple[str, ...] = ()
    # Names of the tests that are judged by a submitted file, for BatchAndOutput.
    output_tests: tuple[str, ...] = ()
    function: str = ""  # name of the tested function, for the task type Function
    # Total number of processes that the files in `forks_by` start. None means not measured yet.
    forks: int | None = None
    prelude: str = ""  # lines of code that are put before submissions in C and C++
    # Names of a submission's files without suffixes; the first file has the code. By default a single file
    # is named after the problem's id.
    source_names: tuple[str, ...] = ()
    # True if programs in C, C++ and Python flush each line of output, as on a terminal.
    line_buffered: bool = False
    # Maximum digits of an integer that Python converts from or to a string. 0 means Python's default of
    # 4,300.
    integer_digits: int = 0
    # True if ONLINE_JUDGE is defined for submissions, as the problem's original judge does.
    online_judge: bool = False


class CheckerKind(StrEnum):
    """A built-in comparison of outputs, or the protocol of a checker program: see docs/protocol.md."""

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
    JSON_WRAPPED = "json-wrapped"  # the answer may be a list whose only element is the result
    CMS = "cms"
    TESTLIB = "testlib"
    EXIT_CODE = "exit-code"
    ICPC = "icpc"
    CODEFORCES = "codeforces"

    @property
    def is_program(self) -> bool:
        """Return True if a program of the problem judges. All other kinds are built-in comparisons."""
        return self in _PROGRAMS

    @classmethod
    def built_in(cls, name: str) -> CheckerKind:
        """Return the built-in comparison with this name. Raises InputError if it does not exist."""
        kinds = {kind.value: kind for kind in cls if not kind.is_program}
        if name not in kinds:
            remedy = f"{suggest_similar(name, kinds)}There are {', '.join(kinds)}"
            raise InputError(f"unknown comparison {name!r}", field="checker", remedy=remedy)
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


# Value of `full` for a program that awards points without a maximum. It is a power of two, so that dividing
# by it is exact.
RAW_POINTS = float(1 << 40)


# Names of the files that a checker or an interactor reads in its working folder, by the file's role.
CHECKER_FILES = MappingProxyType(
    {"input": "input.txt", "output": "user_output.txt", "answer": "correct_output.txt"}
)


class Checker(Value, kw_only=True):
    """A comparison of outputs: a built-in comparison, which has no `sources`, or a program."""

    kind: CheckerKind = CheckerKind.WHITE_DIFF
    sources: tuple[NamedBlob, ...] = ()  # source files of the checker; the first is compiled
    language: str = "c++"
    # Further arguments of the problem, after the arguments of the checker's kind.
    arguments: tuple[str, ...] = ()
    case_sensitive: bool = True  # tokens
    space_sensitive: bool = False  # tokens
    absolute: float | None = None  # tokens: tolerance
    relative: float | None = None  # tokens: tolerance
    full: float = 1.0  # for icpc and testlib: number of points that means full points
    # Arguments of the checker; the values of CHECKER_FILES in them are file names. If empty, the checker gets
    # the standard arguments of its `kind`.
    given: tuple[str, ...] = ()
    limits: Limits | None = None  # limits of the checker program (default: limits of the judge)
    # For icpc: maximum number of runs of a submission on a test, which the checker or interactor requests.
    passes: int = 1
    # True if an output is wrong when the checker fails on it but succeeds on the expected answer.
    decides: bool = False


class Manager(Value, kw_only=True):
    """The program with which a submission communicates: a Communication task's manager, or an interactor."""

    sources: tuple[NamedBlob, ...]  # source files of the manager; the first is compiled
    kind: CheckerKind = CheckerKind.CMS  # format of the manager's score: cms, testlib, exit-code or icpc
    language: str = "c++"
    full: float = 1.0  # for icpc and testlib: number of points that means full points
    limits: Limits | None = None  # limits of the manager program (default: limits of the judge)
    # Second run on the interactor's output, for Interactive. `alone`: only the submission runs. `together`:
    # the submission and the interactor run. Empty means no second run.
    again: str = ""
    # Arguments of the interactor, for Interactive; see `Checker.given`.
    given: tuple[str, ...] = ()


class Limits(Value):
    """Limits of a test. `None` means no limit."""

    cpu_time: float | None = None  # seconds
    # CPU seconds of each run of a test that was repeated because its time was near the limit.
    cpu_times: tuple[float, ...] = ()
    wall_time: float | None = None  # seconds
    memory: int | None = None  # maximum memory that the program touches, in bytes
    output: int | None = 64 << 20  # bytes
    cuts_output: bool = False  # True if output beyond the limit is discarded and the program continues

    @classmethod
    def contest(cls, time_limit: float, memory_limit: int | None) -> Self:
        """Return the contest system's limits: the wall clock allows twice the time limit plus 1 s."""
        return cls(cpu_time=time_limit, wall_time=2 * time_limit + 1, memory=memory_limit)


class Test(Value):
    """A test of a problem."""

    __test__ = False  # tells pytest that this is not a test class

    name: str
    input: Blob
    answer: Blob | None = None  # expected output of the test
    # Number of points that means full points in this test (default: the checker's `full`).
    full: float | None = None
    arguments: tuple[str, ...] = ()  # further arguments of the checker or interactor for this test


class ScoreType(StrEnum):
    """The rule that combines the scores of a subtask's tests."""

    SUM = "Sum"
    GROUP_MIN = "GroupMin"
    GROUP_MUL = "GroupMul"
    GROUP_THRESHOLD = "GroupThreshold"


class Points(StrEnum):
    """The rule by which the points of a group follow from the points of its tests and inner groups."""

    SUM = "sum"
    AVERAGE = "avg"
    LEAST = "min"
    MOST = "max"
    ACCEPTED = "accepted"  # for problems without points: 1 if the group is accepted, otherwise 0


class Acceptance(StrEnum):
    """The rule that combines the verdicts of a group's parts."""

    WORST_ERROR = "worst_error"
    FIRST_ERROR = "first_error"
    ALWAYS = "always_accept"


class Grading(Value):
    """A group of tests and inner groups, with the rules that combine their verdicts and points.

    A rejected part may stop the judging of its group and decide its verdict.
    """

    parts: tuple[str | Grading, ...]  # names of tests and inner groups, in the order of judging
    points: Points = Points.SUM
    acceptance: Acceptance = Acceptance.WORST_ERROR
    any_accepted: bool = False  # True if a single accepted part is enough for the group to be accepted
    last_counts: bool = False  # True if only the last part that was judged counts
    stops: bool = True  # True if judging stops after the first part that is not accepted
    accept_score: float = 1.0  # points of each accepted test in this group
    # Points of the group if it is accepted and its tests' points do not count (default: 1).
    worth: float | None = None
    reject_score: float = 0.0
    rejected_earns: bool = True  # True if a group that is not accepted can still earn points
    whole_only: bool = False  # True if a test with a partial score is rejected
    flags: tuple[str, ...] | None = None  # arguments of the custom grader; None means the default grader
    full: float = 0.0  # maximum points that the custom grader awards


class Subtask(Value):
    """A group of tests with points. A test may be in several subtasks."""

    name: str
    points: float
    tests: tuple[str, ...]
    score_type: ScoreType = ScoreType.GROUP_MIN
    threshold: float = 1.0  # GroupThreshold only
    # Tree of groups that decides the score instead of the score type, which is then Sum.
    grading: Grading | None = None


class KeywordForTests(Value):
    """An author's keyword about some tests, in addition to keywords about the solution and about subtasks."""

    subtask: str  # name of the group of these tests; empty means all tests
    keyword: str
    tests: tuple[str, ...]


class Solution(Value, kw_only=True):
    """A solution in a package, with the verdict that its author expects."""

    name: str
    language: str = ""  # programming language of the solution; empty if it only has files
    code: str = ""
    # Keyword of the package for the expected result, such as correct or wrong_answer; empty if there is none.
    expected: str
    # Keywords for the expected results of single subtasks, by the subtask's name.
    exceptions: Mapping[str, str] = {}
    each_subtask: bool = False  # True if `expected` applies to each subtask instead of to the whole problem
    test_keywords: tuple[KeywordForTests, ...] = ()
    # Range of expected points, inclusive; None if the package expects no points.
    score: tuple[float, float] | None = None
    outputs: tuple[NamedBlob, ...] = ()  # submitted output files, each with the name of its test
    files: tuple[NamedBlob, ...] = ()  # further sources and headers next to the code, with their names

    @property
    def program(self) -> str | None:
        """Return the program, which may be empty; `None` if only files are submitted."""
        return self.code if self.code or self.language else None


class Problem(Value):
    """A problem: how submissions are run, its tests, and how they are scored."""

    id: str
    name: str = ""
    year: int | None = None
    source: str = ""  # file or dataset from which the problem was read, for messages
    task_type: TaskType = TaskType.BATCH
    options: TaskOptions = TaskOptions()
    limits: Limits = Limits()
    # If cpu_time is measured: the factor by which the time of the slowest accepted solution is multiplied.
    time_from_solutions: float | None = None
    # If cpu_time is measured: the seconds of which it is a multiple. `None` means that it is rounded to the
    # nearest second.
    time_resolution: float | None = None
    # Names of files in `included` that start processes. The number of these processes, options.forks, is
    # measured.
    forks_by: tuple[str, ...] = ()
    # Files of the grader with their names in the package: graders/grader.cpp, graders/<id>.h.
    grader_files: tuple[NamedBlob, ...] = ()
    # Reason why submissions are not judged, by language: the language's files in `included` are unusable.
    left_out: Mapping[str, str] = {}
    # Files next to every submission, named `<language>/name` or `default/name`.
    included: tuple[NamedBlob, ...] = ()
    checker: Checker = Checker()
    manager: Manager | None = None
    grader: Checker | None = None  # custom grader of groups; None if all groups use the default grader
    tests: tuple[Test, ...] = ()
    subtasks: tuple[Subtask, ...] = ()  # subtasks of the problem; if there are none, every test counts
    score_precision: int = 2
    cpp_standard: str = "gnu++20"
    solutions: tuple[Solution, ...] = ()
    difficulty: str = ""  # difficulty of the problem, in the terms of the dataset
    tags: tuple[str, ...] = ()
    statement: Blob | None = None  # text that models get, as in the dataset
    document: str = ""  # file name of the statement's PDF in the package, which models do not get
    starter_code: str = ""
    attachments: tuple[NamedBlob, ...] = ()  # files of the package for contestants, with their names
    unusable: str = ""  # reason why the problem cannot be judged, so that its submissions are judge failures

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
            tests: the pairs. The tests are named by their numbers, starting with "1".
            id: the name that submissions use as their `problem_id`.
            limits: limits of each test; by default 2 s of CPU time and 256 MiB.
            fields: any other field of a problem, such as `checker`.

        Raises:
            InputError: if a test is not a pair of strings or bytes, or if a limit is not above 0.
        """
        limits = Limits.contest(2.0, 256 << 20) if limits is None else limits
        for name in ("cpu_time", "wall_time", "memory", "output"):
            if (value := getattr(limits, name)) is not None and not value > 0:
                remedy = "Give a number above 0, or None for no limit"
                raise InputError(
                    f"the limit {name} must be above 0, not {value}",
                    where="Problem.of",
                    field="limits",
                    remedy=remedy,
                )
        if isinstance(tests, str | bytes | Mapping):
            raise _make_tests_error(f"tests must be a list of pairs, not {type(tests).__name__}")
        test_list = list[Test]()
        for number, pair in enumerate(tests, start=1):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise _make_tests_error(f"test {number} is not a pair, but {pair!r:.40}")
            if not all(isinstance(content, str | bytes) for content in pair):
                raise _make_tests_error(
                    f"test {number} must contain strings or bytes, not"
                    f" {' and '.join(type(content).__name__ for content in pair)}"
                )
            test_list.append(Test(name=str(number), input=Blob.of(pair[0]), answer=Blob.of(pair[1])))
        if not test_list:
            raise _make_tests_error("tests is empty")
        return cls(id=id, limits=limits, tests=tuple(test_list), **fields)


def _make_tests_error(reason: str) -> InputError:
    """Return the error for invalid tests of `Problem.of`."""
    remedy = 'Give pairs of an input and the expected output, as [("1 2", "3")]'
    return InputError(reason, where="Problem.of", field="tests", remedy=remedy)


# --- submissions and results -------------------------------------------------------------------------


# A number in a result, which may be a sum or a fraction.
Number = Annotated[float, msgspec.Meta(ge=-1e18, le=1e18)]


class LanguageFrom(StrEnum):
    """The source of a submission's language. The first source that names a language decides."""

    ROW = "row"  # the dump's row names the language in a column
    OPTION = "option"  # an option of the user, for rows that name no language
    FORMAT = "format"  # the format of the dump implies the language
    PROBLEM = "problem"  # the problem accepts a single language
    REPLY = "reply"  # the tag of the program's fenced block, or the program's syntax
    DEFAULT = "default"  # the benchmark's default language, or C++ if it has none


class Submission(Value):
    """A program for a problem, normally a single source file, and its row in the dump."""

    key: str
    problem_id: str
    code: str | None  # program of the submission; None if the generation contains no program
    language: str = ""  # language of the code; required if there is code
    language_from: LanguageFrom | None = None  # source of the language; None if the caller fixed the language
    outputs: tuple[NamedBlob, ...] = ()  # submitted output files, each named after its test
    files: tuple[NamedBlob, ...] = ()  # further sources and headers next to the code, with their names
    year: int | None = None
    target_subtask: str | None = None
    repairs: tuple[str, ...] = ()  # names of the changes that extraction or an option made to the code
    # Column of `row` with the program or the reply: `{"reply": "response"}`. Empty if the column is `code` or
    # `generation`.
    read_from: Mapping[str, str] = {}
    dump_row: str = ""  # file and line of the dump's row, as `d.jsonl, line 3`; empty without a dump
    no_program: str = ""  # reason why there is no code; empty if the reason is unknown
    row: Mapping[str, Any] = {}  # columns of the dump's row


class Verdict(StrEnum):
    """The outcome of a submission on a test or a subtask. It never describes a failure of the judge."""

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
"""Verdicts from worst to best, as in published result sets. OLE, which these lack, is next to MLE."""


def worst_verdict(statuses: Iterable[Verdict]) -> Verdict:
    """Return the worst of several verdicts, or SKIPPED if all are SKIPPED."""
    return min(statuses, key=STATUS_ORDER.index, default=Verdict.SKIPPED)


class Reason(StrEnum):
    """The reason why a submission with the verdict CE ran on no test."""

    NO_PROGRAM = "no program"  # the reply, or the column of programs, contains no program
    NOT_COMPILED = "not compiled"  # the compiler reported errors


class TestResult(Value):
    """The result of a submission on a test."""

    __test__ = False

    test_name: str
    score: Number
    status: Verdict
    feedback: str = ""
    cpu_time: Number | None = None  # seconds
    # CPU seconds of each run of a test that was repeated because its time was near the limit.
    cpu_times: tuple[Number, ...] = ()
    wall_time: Number | None = None  # seconds
    # Seconds in which all programs of the test waited for processors and disks.
    waited_time: Number | None = None
    memory: int | None = None  # bytes
    # Total number of the submission's processes, if it may start child processes.
    processes: int | None = None
    output: str = ""  # start of a wrong output, if the caller requested it
    error: str = ""  # start of the error text, if the caller requested it
    # Points for the custom grader, if the grader computes the score from points. `score` is 1 then.
    points: Number | None = None


class SubtaskResult(Value):
    """The result of a submission on a subtask, with the fields of published datasets of results."""

    problem: str
    subtask: str
    points: Number
    score: Number  # score of the subtask in [0, 1], rounded to score_precision
    weighted_score: Number  # points that the subtask earned, rounded to score_precision
    exact_score: Number  # score of the subtask in [0, 1], not rounded
    score_precision: int
    status: Verdict
    test_results: tuple[TestResult, ...]


class SubmissionResult(Value):
    """A submission's score, with the results it is based on."""

    key: str
    problem_id: str
    compiles: bool
    compile_output: str = ""
    points: float = 0.0  # points of the submission: the sum over subtasks of exact score times points
    subtasks: tuple[SubtaskResult, ...] = ()
    tests: tuple[TestResult, ...] = ()  # results of the distinct tests, in the problem's order
    repairs: tuple[str, ...] = ()
    checker: str = ""
    compiler: str = ""
    confinement: Mapping[str, Any] = {}
    # Hash that is equal for programs that must get equal results; empty if not computed.
    program_sha256: str = ""
    # Key of an equal submission whose result is copied here; empty if this submission was judged.
    repeats: str = ""

    @property
    def max_points(self) -> float:
        """Return the points of full marks: the sum over subtasks, or 1 without subtasks."""
        return math.fsum(subtask.points for subtask in self.subtasks) if self.subtasks else 1.0

    @property
    def solved(self) -> bool:
        """Return True if the submission has full points or, without subtasks, passes every test.

        Subtasks without points, such as samples, do not count. If no subtask has points, every subtask must
        have full marks.
        """
        if not self.compiles:
            return False
        if self.subtasks:
            subtasks_with_points = [subtask for subtask in self.subtasks if subtask.points] or self.subtasks
            return all(subtask.exact_score >= 1 for subtask in subtasks_with_points)
        return bool(self.tests) and all(test.status is Verdict.AC for test in self.tests)

    @property
    def verdict(self) -> Verdict:
        """Return the worst verdict of the subtasks or tests.

        CE if the submission does not compile, AC if it is solved.
        """
        if not self.compiles:
            return Verdict.CE
        if self.solved:
            return Verdict.AC
        lowest = worst_verdict(subtask.status for subtask in self.subtasks or self.tests)
        return Verdict.PA if lowest is Verdict.AC else lowest


class ServerState(Value):
    """The state of a server of an engine."""

    url: str
    # State of the server: healthy, on trial, down, left out, gone or new; or unreachable from the start.
    state: str
    slots: int = 0
    busy: int = 0  # number of slots that execute jobs of this run
    errors: int = 0
    why: str = ""  # last error of the server, or the reason why it gets no jobs
    since: float | None = None  # time at which the state started, in seconds since 1970
    rate: float = 0.0  # approximate number of completed jobs per second over the last minute
