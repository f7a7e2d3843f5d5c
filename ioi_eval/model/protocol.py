"""Messages to the proctor and back. docs/protocol.md is the reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, dataclass_transform

import msgspec

from ioi_eval.model.errors import BrokenReply
from ioi_eval.model.nesting import shallow

VERSION = 2


# Subclasses inherit frozen at run time; keywords only is what type checkers hold callers to.
@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all messages: a field at its default stays out of the JSON."""


class PlanLimits(Message):
    cpu_ms: int | None = None
    crowded_cpu_ms: int | None = None  # the same on a crowded machine; None means `cpu_ms`
    wall_ms: int | None = None  # of idling
    hard_ms: int | None = None  # of time that passes, whatever the program does
    memory: int | None = None
    output: int | None = None
    cuts: bool = False  # output beyond the limit is lost, and the program goes on


class PlanWarm(Message):
    """The files and modules of an interpreter that waits, and forks a process for each test."""

    library: str
    script: str
    modules: tuple[str, ...] = ()  # imported beforehand


class PlanSubmission(Message):
    argv: tuple[str, ...] = ()  # empty only where nothing but files was handed in
    files: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    threads: int = 1
    processes: int = 1  # itself and all that it starts; 1 forbids others
    proc: bool = False
    streams: bool = False
    address_space: bool = False
    warm: PlanWarm | None = None


class PlanChecker(Message):
    kind: str
    argv: tuple[str, ...] = ()
    limits: PlanLimits = PlanLimits()
    case_sensitive: bool = True  # tokens
    space_sensitive: bool = False  # tokens
    absolute: float | None = None  # tokens: tolerance
    relative: float | None = None  # tokens: tolerance
    full: float = 1.0  # icpc: the number in score.txt that is worth everything
    given: tuple[str, ...] = ()  # arguments in the place of its kind's
    passes: int = 1  # icpc: how often a submission may run on one test
    decides: bool = False  # on whatever is written: what it fails on is wrong, if it judges the answer


class PlanManager(Message):
    """A Communication task's manager, an interactor: the program on the other side."""

    argv: tuple[str, ...]
    kind: str = "cms"  # how it says what the submission is worth: cms, testlib, icpc
    full: float = 1.0  # icpc: the number in score.txt that is worth everything
    again: str = ""  # an interactor's: who is there in a second run, alone or together; empty: there is none
    given: tuple[str, ...] = ()  # arguments in the place of its kind's
    limits: PlanLimits = PlanLimits()


class PlanGroup(Message):
    rule: str  # zero, threshold, never
    threshold: float | None = None


class PlanTest(Message):
    index: int
    input: str
    answer: str | None = None
    output: str | None = None  # the file that was handed in for this test
    by_file: bool = False  # BatchAndOutput: judged by a file, handed in or not
    arguments: tuple[str, ...] = ()  # of the checker or the interactor, behind its own
    groups: tuple[int, ...] = ()


class Plan(Message, kw_only=True, omit_defaults=False):  # kw_only is not inherited: a default comes first
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
    layers: tuple[str, ...] | None = None  # tests switch layers of the confinement off; None: all
    allow_unconfined: bool = False
    alone: bool = False  # nothing else of the judge's runs: doubtful waiting for a disk is idling
    echo: int = 0  # bytes of a wrong output that its line repeats
    show: bool = False  # lines repeat so many bytes of any output, and of the error text
    read: tuple[str, ...] = ()  # what programs may look into, beyond the system's folders


class Start(Message):
    confinement: Mapping[str, Any] = {}


class Line(Message):
    """A verdict line. The fields that it has say which kind it is."""

    v: int
    nonce: str
    start: Start | None = None
    test: int | None = None
    end: str | None = None  # ok, exit, signal, cpu, wall, memory, output, threads
    score: float = 0.0
    part: bool = False  # the score is a part of the test's points, whatever these are
    feedback: str = ""
    cpu_us: int = 0
    wall_us: int = 0
    waited_us: int = 0  # all programs of the test, for a processor or a disk
    memory: int = 0
    processes: int = 0  # that there were in all, where it may start some
    code: int = 0
    signal: int = 0
    stalled: bool = False  # it did more than sleep; before the test has run alone, `wall` is no verdict
    skipped: bool = False
    output: str = ""
    error: str = ""
    failure: str | None = None
    provoked: bool = False  # the failure may come of what the submission said
    outside: bool = False  # the failure: somebody else killed what the proctor had started
    done: bool = False
    fatal: str | None = None


_LINE = msgspec.json.Decoder(Line)


def decode_lines(stdout: str, nonce: str) -> Iterator[Line]:
    """The proctor's lines in a job's standard output. Other lines, and a last one cut off, are passed over.

    A line that has the nonce but is not one of ours can only come from a proctor of another version.
    """
    *complete, _cut_off = stdout.split("\n")
    for text in complete:
        if f'"nonce":"{nonce}"' not in text:
            continue
        try:
            line = _LINE.decode(shallow(text))
        except msgspec.DecodeError as error:
            raise BrokenReply(f"a verdict line is not of the agreed shape: {error}") from error
        if line.v != VERSION:
            raise BrokenReply(f"the proctor speaks version {line.v} of the protocol, this package {VERSION}")
        if line.nonce == nonce:
            yield line
