"""Judge identical programs once: all get the result of the first."""

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

FindResult = Callable[[str], SubmissionResult | None]


def compute_program_identity(problem_sha256: str, program: Program, built: BuildSuccess) -> str:
    """Return a string that is equal for programs that must get the same result.

    It depends on the program's files, the command that runs them, the compiler, the tests and the limits.
    Nothing is normalised, because a program can read every byte of its files.
    """
    file_hashes = tuple((file.name, file.content.sha256) for file in program.files)
    program_without_files = msgspec.structs.replace(program, files=())
    return PROGRAM_RULE + digest((problem_sha256, program_without_files, file_hashes, built.compiler))


def mark_as_repeated(result: SubmissionResult) -> SubmissionResult:
    """Return the result with `repeats` set to the key of the identical submission that was judged."""
    return msgspec.structs.replace(result, repeats=result.repeats or result.key)


class Deduplication:
    """Results by program identity, and the programs that wait for the result of an identical program.

    If programs are identical, the program that was added first is judged, even if its build finishes later.
    If it gets no result, the next program is judged.
    """

    def __init__(self, find_result: FindResult | None = None) -> None:
        """`find_result` looks up earlier results. If it is `None`, results are stored in this object."""
        self._results: dict[str, SubmissionResult] = {}
        self._stores_results = find_result is None
        self._find_result = find_result or self._results.get
        # The oldest program that is still being built and all programs added after it, by problem.
        self._queues: dict[str, deque[PendingProgram]] = {}
        # Identical programs by identity: the first program is judged, and the others wait for its result.
        self._identical_programs: dict[str, deque[PendingProgram]] = {}

    @property
    def waiting(self) -> int:
        """The number of built programs that wait for the build of a program that was added earlier."""
        return sum(program.identity is not None for queue in self._queues.values() for program in queue)

    @contextmanager
    def pending_programs(self, problem_id: str) -> Iterator[PendingProgram]:
        """Add a program for the problem, yield it for its build and judging, and then remove it."""
        program = PendingProgram(problem_id)
        self._queues.setdefault(problem_id, deque()).append(program)
        try:
            yield program
        finally:
            self._remove_program(program)

    async def judge_once(
        self, program: PendingProgram, identity: str, judge: Callable[[], Awaitable[SubmissionResult]]
    ) -> SubmissionResult:
        """Return the result of an identical program, or call `judge` if there is none.

        There is no `await` between the result of `judge` and the return, so the next identical program always
        sees that result.
        """
        program.identity = identity
        self._release_built_programs(program.problem_id)
        await program.is_first.wait()
        if (earlier_result := self._find_result(identity)) is not None:
            return mark_as_repeated(earlier_result)
        result = await judge()
        if self._stores_results:
            self._results[identity] = result
        return result

    def _release_built_programs(self, problem_id: str) -> None:
        """Take the built programs from the problem's queue, up to the first program that is not built yet."""
        queue = self._queues[problem_id]
        while queue and (identity := queue[0].identity) is not None:
            program = queue.popleft()
            if identity:
                identical_programs = self._identical_programs.setdefault(identity, deque())
                identical_programs.append(program)
                identical_programs[0].is_first.set()
        if not queue:
            del self._queues[problem_id]

    def _remove_program(self, program: PendingProgram) -> None:
        if program in self._queues.get(program.problem_id, ()):
            program.identity = ""
            self._release_built_programs(program.problem_id)
            return
        assert program.identity, "a program that has left its queue has an identity"
        identical_programs = self._identical_programs[program.identity]
        identical_programs.remove(program)
        if identical_programs:
            identical_programs[0].is_first.set()
        else:
            del self._identical_programs[program.identity]


class PendingProgram:
    """A program in the queue of its problem, from before its build until it has a result."""

    def __init__(self, problem_id: str) -> None:
        self.problem_id = problem_id
        # Identity of the built program. `None` until it is built. An empty string means that there is nothing
        # to judge.
        self.identity: str | None = None
        # Set when all programs that were added earlier are built and no identical program is being judged.
        self.is_first = asyncio.Event()
