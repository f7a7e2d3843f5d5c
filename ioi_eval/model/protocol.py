"""Messages between the judge and the proctor. docs/protocol.md is the reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, dataclass_transform

import msgspec

from ioi_eval.model.errors import BrokenReply
from ioi_eval.model.nesting import require_shallow

VERSION = 2


# Type checkers need `frozen` and `kw_only` to be declared here, although they are inherited at run time.
@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all messages. Fields with their default value are omitted from the JSON."""


class PlanLimits(Message):
    """Limits of a program. None means no limit."""

    cpu_ms: int | None = None
    crowded_cpu_ms: int | None = None  # limit of CPU time on a crowded machine, in ms (default: `cpu_ms`)
    wall_ms: int | None = None  # limit of the time in which the program idles, in ms
    hard_ms: int | None = None  # limit of elapsed time in ms, whatever the program does
    memory: int | None = None
    output: int | None = None
    cuts: bool = False  # True if output beyond the limit is discarded and the program continues


class PlanForkServer(Message):
    """The files and modules of a fork server: an interpreter that forks a process for each test."""

    library: str
    script: str
    modules: tuple[str, ...] = ()  # modules that the fork server imports before the program starts


class PlanSubmission(Message):
    """The submission's command, files and limits of processes and threads."""

    # Command of the submission; empty only if the submission consists of output files.
    argv: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    threads: int = 1
    # Maximum number of processes, including the submission's own process; 1 forbids child processes.
    processes: int = 1
    proc: bool = False
    streams: bool = False
    address_space: bool = False
    warm: PlanForkServer | None = None


class PlanChecker(Message):
    """The comparison or the checker that judges outputs, with its options."""

    kind: str
    argv: tuple[str, ...] = ()
    limits: PlanLimits = PlanLimits()
    case_sensitive: bool = True  # tokens
    space_sensitive: bool = False  # tokens
    absolute: float | None = None  # tokens: tolerance
    relative: float | None = None  # tokens: tolerance
    full: float = 1.0  # for icpc: the number in score.txt that means full points
    # Arguments of the checker. If empty, the checker gets the standard arguments of its `kind`.
    given: tuple[str, ...] = ()
    passes: int = 1  # for icpc: maximum number of runs of a submission on a test
    # True if an output is wrong when the checker fails on it but succeeds on the expected answer.
    decides: bool = False


class PlanManager(Message):
    """The program with which a submission communicates: a Communication task's manager, or an interactor."""

    argv: tuple[str, ...]
    kind: str = "cms"  # format of the manager's score: cms, testlib or icpc
    full: float = 1.0  # for icpc: the number in score.txt that means full points
    # Which programs run a second time on each test of an interactor. `alone`: only the submission.
    # `together`: the submission and the interactor. Empty: there is no second run.
    again: str = ""
    # Arguments of the manager. If empty, the manager gets the standard arguments of its `kind`.
    given: tuple[str, ...] = ()
    limits: PlanLimits = PlanLimits()


class PlanGroup(Message):
    """The rule by which a subtask's tests may stop early."""

    # When the remaining tests are skipped: `zero` after a test with score 0, `threshold` after a score that
    # is 0 or above `threshold`, or `never`.
    rule: str
    threshold: float | None = None


class PlanTest(Message):
    """The files of a test and the subtasks that need it."""

    index: int
    input: str
    answer: str | None = None
    output: str | None = None  # path of the output file that was submitted for this test
    # For BatchAndOutput: True if the test is judged by a submitted file, even if it is missing.
    by_file: bool = False
    # Further arguments of the checker or interactor, after the arguments of its kind.
    arguments: tuple[str, ...] = ()
    groups: tuple[int, ...] = ()


# kw_only must be repeated, because it is not inherited and a field with a default comes first.
class Plan(Message, kw_only=True, omit_defaults=False):
    """The tests of a job and everything that is needed to run them."""

    version: int = VERSION
    nonce: str
    task_type: str
    submission: PlanSubmission
    limits: PlanLimits
    input_file: str = ""
    output_file: str = ""
    checker: PlanChecker
    manager: PlanManager | None = None
    processes: int = 1
    user_io: str = "std_io"
    groups: tuple[PlanGroup, ...] = ()
    tests: tuple[PlanTest, ...]
    # Active layers of the sandbox. Only tests of the judge set it (default: all layers).
    layers: tuple[str, ...] | None = None
    allow_unconfined: bool = False
    # True if the judge runs nothing else, so that an unclear wait for a disk counts as idling.
    alone: bool = False
    echo: int = 0  # maximum bytes of a wrong output that a verdict line contains
    show: bool = False  # True if verdict lines contain the start of every output and of the error text
    read: tuple[str, ...] = ()  # paths that programs may read, in addition to the system's folders


class Start(Message):
    """The start of the proctor, with the confinement that it applies."""

    confinement: Mapping[str, Any] = {}


class TestReport(Message):
    """A line of the proctor's output: its start, the result of a test, the end of the job, or a failure."""

    __test__ = False

    v: int
    nonce: str
    start: Start | None = None
    test: int | None = None
    # How the submission ended: ok, exit, signal, cpu, wall, memory, output or threads. It is `ok` also if the
    # submission failed after its interactor had rejected it; `code` and `signal` then describe how it failed.
    end: str | None = None
    score: float = 0.0
    part: bool = False  # True if the score is a fraction of the test's points
    feedback: str = ""
    cpu_us: int = 0
    wall_us: int = 0
    waited_us: int = 0  # time in which all programs of the test waited for a processor or a disk
    memory: int = 0
    processes: int = 0  # total number of the submission's processes, if it may start child processes
    code: int = 0
    signal: int = 0
    # True if the ending `wall` may be the machine's fault. The test then runs again alone, which counts.
    stalled: bool = False
    skipped: bool = False
    output: str = ""
    error: str = ""
    failure: str | None = None
    provoked: bool = False  # True if the submission's output may have caused the failure
    outside: bool = False  # True if the failure is that another process killed a process of the proctor
    done: bool = False
    fatal: str | None = None


_LINE = msgspec.json.Decoder(TestReport)


def decode_lines(stdout: str, nonce: str) -> Iterator[TestReport]:
    """Yield the proctor's lines in a job's output. Other lines and an incomplete last line are ignored.

    Raises BrokenReply for a line with the nonce that is not a valid verdict line: it comes from another
    version of the proctor.
    """
    *complete_lines, _incomplete_line = stdout.split("\n")
    for line_text in complete_lines:
        if f'"nonce":"{nonce}"' not in line_text:
            continue
        try:
            line = _LINE.decode(require_shallow(line_text))
        except msgspec.DecodeError as error:
            raise BrokenReply(f"invalid verdict line: {error}") from error
        if line.v != VERSION:
            raise BrokenReply(
                f"the proctor uses version {line.v} of the protocol, this package version {VERSION}"
            )
        if line.nonce == nonce:
            yield line
