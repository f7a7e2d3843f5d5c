"""Shared parts of the functions for today's rows: batches, files, and checks of replies."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

import msgspec

from ioi_eval.classic import decode_reply
from ioi_eval.errors import BrokenReply, IoiEvalError, JudgeFailure
from ioi_eval.models import JobResult, StageStatus

Row = Mapping[str, Any]

_JUDGE_AT_FAULT = 3  # exit code of our scripts where they could not say; the contract has no word for it
_OVERFLOW = frozenset({StageStatus.OL, StageStatus.EL})
_PHASE = "judging"
T = TypeVar("T")


def text_file(name: str, content: str) -> dict[str, str]:
    return {"name": name, "content": content}


def batched(iterable: Iterable[T], n: int) -> Iterator[list[T]]:
    """Yield lists of `n` items, the last maybe shorter; one list of all where `n` is not at least one."""
    items = iter(iterable)
    while batch := list(islice(items, n) if n >= 1 else items):
        yield batch


async def together(parts: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """All of them, or the first failure as it is; the others are cancelled."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(part) for part in parts]
    except ExceptionGroup as errors:
        known = errors.subgroup(IoiEvalError)
        raise (known or errors).exceptions[0] from None
    return [task.result() for task in tasks]


def result_of(reply: object) -> JobResult:
    """Check a client's reply. JudgeFailure where it says nothing about the submission: never a score of 0."""
    if not isinstance(reply, Mapping):
        raise JudgeFailure(f"the client gave no reply: {reply!r:.200}", phase=_PHASE)
    if "run" not in reply and "compile" not in reply:
        raise JudgeFailure(f"the job was refused: {reply.get('message', reply)!s:.500}", phase=_PHASE)
    try:
        result = decode_reply(200, msgspec.json.encode(reply))
    except (BrokenReply, TypeError) as error:
        raise JudgeFailure(str(error), phase=_PHASE) from error
    _look_for_faults(result)
    return result


def _look_for_faults(result: JobResult) -> None:
    for stage in (result.compile, result.run):
        if stage is None:
            continue
        if stage.status is StageStatus.XX:
            raise JudgeFailure(stage.message or "the box failed", phase=_PHASE)
        if stage.status in _OVERFLOW:
            remedy = "Raise PISTON_OUTPUT_MAX_SIZE on it"
            raise JudgeFailure("the server cut the job's output off", phase=_PHASE, remedy=remedy)
        if stage.code == _JUDGE_AT_FAULT and not stage.stdout:
            raise JudgeFailure(stage.stderr.strip()[-500:] or "the scripts could not judge", phase=_PHASE)
