"""Equal programs once: one is judged, the others have its result."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import msgspec

from ioi_eval.engines.contract import BuildSuccess, Program
from ioi_eval.model.digests import digest
from ioi_eval.model.values import SubmissionResult
from ioi_eval.store.rows import PROGRAM_RULE

Finding = Callable[[str], SubmissionResult | None]


def program_identity(problem_sha256: str, program: Program, built: BuildSuccess) -> str:
    """Equal for programs that must get the same result: the bytes that run, what runs them, tests and limits.

    Nothing is normalised, because a program may see all that it is made of.
    """
    files = tuple((file.name, file.content.sha256) for file in program.files)
    runs = msgspec.structs.replace(program, files=())
    return PROGRAM_RULE + digest((problem_sha256, runs, files, built.compiler))


def repeating(result: SubmissionResult) -> SubmissionResult:
    """Name the submission that was judged itself, also where this result was repeated from there."""
    return msgspec.structs.replace(result, repeats=result.repeats or result.key)


class Deduplication:
    """Results by what they are of. `find` looks among those that somebody keeps; else they are kept here.

    Of equal programs the one whose turn began first is judged, whichever build ends first. A failure belongs
    to the submission that was tried: the next one is tried for itself.
    """

    def __init__(self, find: Finding | None = None) -> None:
        self._kept: dict[str, SubmissionResult] = {}
        self._keeps, self._find = find is None, find or self._kept.get
        self._lines: dict[
            str, deque[Turn]
        ] = {}  # by problem: those behind a build that goes on, and that one
        self._equals: dict[str, deque[Turn]] = {}  # by identity: the first is judged, the others wait for it

    @property
    def waiting(self) -> int:
        """The number of programs that are built and wait for the build of one whose turn began before."""
        return sum(turn.identity is not None for line in self._lines.values() for turn in line)

    @contextmanager
    def turn(self, problem: str) -> Iterator[Turn]:
        """Stand in line with a program of the problem, from before its build to the end of its judging."""
        turn = Turn(problem)
        self._lines.setdefault(problem, deque()).append(turn)
        try:
            yield turn
        finally:
            self._leave(turn)

    async def once(
        self, turn: Turn, identity: str, judge: Callable[[], Awaitable[SubmissionResult]]
    ) -> SubmissionResult:
        """Return the result of an equal program, or judge this one.

        Between an answer and its return nothing is awaited: who comes next finds what became of it.
        """
        turn.identity = identity
        self._advance(turn.problem)
        await turn.first.wait()
        if (found := self._find(identity)) is not None:
            return repeating(found)
        result = await judge()
        if self._keeps:
            self._kept[identity] = result
        return result

    def _advance(self, problem: str) -> None:
        """Let those go on of which all that began before are known."""
        line = self._lines[problem]
        while line and (identity := line[0].identity) is not None:
            turn = line.popleft()
            if identity:
                equals = self._equals.setdefault(identity, deque())
                equals.append(turn)
                equals[0].first.set()
        if not line:
            del self._lines[problem]

    def _leave(self, turn: Turn) -> None:
        if turn in self._lines.get(turn.problem, ()):
            turn.identity = ""
            self._advance(turn.problem)
            return
        assert turn.identity, "who is in no line has found equals"
        equals = self._equals[turn.identity]
        equals.remove(turn)
        if equals:
            equals[0].first.set()
        else:
            del self._equals[turn.identity]


class Turn:
    """The place of a program among those to its problem."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        self.identity: str | None = None  # None: its build goes on; empty: nothing is to be judged
        self.first = asyncio.Event()  # of equal programs, once all builds before are at their end
