"""Hashes of values: equal for equal contents, wherever these lie."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Generic, TypeVar

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Blob, Problem, Test

_T = TypeVar("_T")
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
)


class Same(Generic[_T]):
    """A value that is equal to itself alone: the key of a cache for what takes long to hash."""

    __slots__ = ("value",)

    def __init__(self, value: _T) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value


def digest(value: Any) -> str:
    return _hash(_content(value))


def problem_digest(problem: Problem) -> str:
    """Return a digest of everything that can change a score."""
    return _of_problem(Same(problem))


@lru_cache(256)  # the same one is judged again and again
def _of_problem(same: Same[Problem]) -> str:
    problem = same.value
    matter = {name: _content(value) for name, value in _fields(problem) if name not in _APART}
    try:
        return _hash({**matter, "tests": _of_tests(Same(problem.tests))})
    except (TypeError, UnicodeEncodeError) as error:  # made in Python, of what a frame holds
        remedy = "Give Python's own int, float and str, without halves of surrogate pairs"
        raise InputError(str(error), where=problem.source or problem.id, remedy=remedy) from error


@lru_cache(256)  # a problem's copies have the same tests, of which there may be thousands
def _of_tests(tests: Same[tuple[Test, ...]]) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(_content(tests.value), order="deterministic"))


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
