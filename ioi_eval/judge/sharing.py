"""Equal programs once: one is judged, the others have its result."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from ioi_eval.engines.contract import Built, Program
from ioi_eval.model.digests import digest, problem_digest
from ioi_eval.model.values import Problem, SubmissionResult

Finding = Callable[[str], SubmissionResult | None]


def program_identity(problem: Problem, program: Program, built: Built) -> str:
    """Equal for programs that must get the same result: what runs, on which tests, within which limits.

    What runs is the artifact's bytes; or what these do, where the build could tell.
    """
    files = [(file.name, file.content.sha256) for file in program.files]
    if built.program:
        files = [(name, sha256) for name, sha256 in files if sha256 != built.artifact.sha256]
    runs = msgspec.structs.replace(program, files=())
    return digest((problem_digest(problem), runs, tuple(files), built.program))


def repeating(result: SubmissionResult) -> SubmissionResult:
    """Name the submission that was judged itself, also where this result was repeated from there."""
    return msgspec.structs.replace(result, repeats=result.repeats or result.key)


class Sharing:
    """Results by what they are of. `find` looks among those that somebody keeps; else they are kept here.

    A failure belongs to the submission that was tried: the next one is tried for itself.
    """

    def __init__(self, find: Finding | None = None) -> None:
        self._kept: dict[str, SubmissionResult] = {}
        self._keeps, self._find = find is None, find or self._kept.get
        self._under_way: dict[str, asyncio.Event] = {}

    async def once(self, identity: str, judge: Callable[[], Awaitable[SubmissionResult]]) -> SubmissionResult:
        """Between an answer and its return nothing is awaited: who wakes then finds what became of it."""
        while (other := self._under_way.get(identity)) is not None:
            await other.wait()
        if (found := self._find(identity)) is not None:
            return repeating(found)
        over = self._under_way[identity] = asyncio.Event()
        try:
            result = await judge()
            if self._keeps:
                self._kept[identity] = result
            return result
        finally:
            del self._under_way[identity]
            over.set()
