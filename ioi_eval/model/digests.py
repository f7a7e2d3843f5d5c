"""Hashes of values: equal for equal contents, wherever these lie."""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from threading import Lock
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Blob, Problem, Test

_T = TypeVar("_T", Problem, tuple[Test, ...])
_R = TypeVar("_R")
_P = ParamSpec("_P")
# What cannot change a score: labels, what is asked, and the solutions that a package brings.
_NO_MATTER = (
    "name",
    "source",
    "solutions",
    "difficulty",
    "tags",
    "statement",
    "document",
    "starter_code",
    "attachments",
)
_APART = (*_NO_MATTER, "tests")
# Younger than runs that are there: while they say nothing, those runs' problems have not changed.
_YOUNGER = (
    "prelude",
    "online_judge",
    "cuts_output",
    "given",
    "line_buffered",
    "source_names",
    "again",
    "forks",
    "streams",
    "forks_by",
    "worth",
    "whole_only",
    "limits",
    "decides",
    "time_resolution",
    "left_out",
)


_MOST = 256
_PART = 256 << 10  # bytes


def room_of(problem: Problem | tuple[Test, ...]) -> int:
    """Return for how many problems one, or its tests, count where some are remembered.

    Contents that lie in files take no memory.
    """
    tests = problem.tests if isinstance(problem, Problem) else problem
    blobs = (blob for test in tests for blob in (test.input, test.answer) if blob is not None)
    return 1 + sum(len(blob.data) for blob in blobs if blob.data is not None) // _PART


def for_recent(function: Callable[Concatenate[_T, _P], _R]) -> Callable[Concatenate[_T, _P], _R]:
    """Remember what a function gives for the problems that it had last, each equal to itself alone.

    They stay in memory as long, so fewer of them where their tests are held there: a trainer's rows hold
    megabytes, and hardly one comes again.
    """
    known = OrderedDict[tuple[Any, ...], tuple[_T, _R, int]]()
    lock, used = Lock(), 0

    def renew() -> None:  # another thread may have held it while this process was forked
        nonlocal lock
        lock = Lock()

    os.register_at_fork(after_in_child=renew)

    def recalled(problem: _T, /, *more: _P.args, **named: _P.kwargs) -> _R:
        nonlocal used
        key = (id(problem), *more, *named.items())
        with lock:
            if key in known:
                known.move_to_end(key)
                return known[key][1]
        result, room = function(problem, *more, **named), room_of(problem)
        with lock:
            if key not in known:
                known[key] = problem, result, room
                used += room
            while used > _MOST and len(known) > 1:
                used -= known.popitem(last=False)[1][2]
        return result

    return recalled


def digest(value: Any) -> str:
    return _hash(_content(value))


def problem_digest(problem: Problem) -> str:
    """Return a digest of everything that can change a score."""
    return _of_problem(problem)


@for_recent  # the same one is judged again and again
def _of_problem(problem: Problem) -> str:
    matter = {name: _content(value) for name, value in _fields(problem) if name not in _APART}
    try:
        return _hash({**matter, "tests": _of_tests(problem.tests)})
    except (TypeError, UnicodeEncodeError) as error:  # made in Python, of what a frame holds
        remedy = "Give Python's own int, float and str, without halves of surrogate pairs"
        raise InputError(str(error), where=problem.source or problem.id, remedy=remedy) from error


@for_recent  # a problem's copies have the same tests, of which there may be thousands
def _of_tests(tests: tuple[Test, ...]) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(_content(tests), order="deterministic"))


def _hash(content: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()


def _content(value: Any) -> Any:
    """A value without where its contents lie, so that an extracted zip and a folder count as the same."""
    if isinstance(value, Blob):
        return value.sha256
    if isinstance(value, msgspec.Struct):
        return {name: _content(field) for name, field in _fields(value)}
    if isinstance(value, Mapping):
        return {name: _content(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [_content(item) for item in value]
    return value


def _fields(value: msgspec.Struct) -> Iterator[tuple[str, Any]]:
    found = ((name, getattr(value, name)) for name in value.__struct_fields__)
    return ((name, field) for name, field in found if field or name not in _YOUNGER)
