"""Hashes of values: equal for equal contents, wherever these lie."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Blob, Problem

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
# Younger than runs that are there: while they say nothing, those runs' problems have not changed.
_YOUNGER = (
    "prelude",
    "online_judge",
    "integer_digits",
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


def digest(value: Any) -> str:
    return _hash(_content(value))


def problem_digest(problem: Problem) -> str:
    """Return a digest of everything that can change a score."""
    matter = {name: _content(value) for name, value in _fields(problem) if name not in _NO_MATTER}
    try:
        return _hash(matter)
    except (TypeError, UnicodeEncodeError) as error:  # made in Python, of what a frame holds
        remedy = "Give Python's own int, float and str, without halves of surrogate pairs"
        raise InputError(str(error), where=problem.source or problem.id, remedy=remedy) from error


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
