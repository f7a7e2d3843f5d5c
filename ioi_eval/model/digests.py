"""Hashes of values. Equal contents have equal hashes, wherever they are stored."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Blob, Problem

# Fields of a problem that cannot change a score: labels, texts for models, and the package's solutions.
_IRRELEVANT_FIELDS = (
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
# Fields that were added to problems later. They are hashed only if they are set, so that the digests in older
# runs stay valid.
_LATER_FIELDS = (
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
    """Return the hash of a value's content."""
    return _hash_as_json(_replace_blobs_by_hashes(value))


def problem_digest(problem: Problem) -> str:
    """Return a digest of everything that can change a score."""
    relevant_fields = {
        name: _replace_blobs_by_hashes(value)
        for name, value in _list_digest_fields(problem)
        if name not in _IRRELEVANT_FIELDS
    }
    try:
        return _hash_as_json(relevant_fields)
    # A problem that was created in Python may contain values of a data frame, which JSON cannot encode.
    except (TypeError, UnicodeEncodeError) as error:
        remedy = "Give Python's own int, float and str, without halves of surrogate pairs"
        raise InputError(str(error), where=problem.source or problem.id, remedy=remedy) from error


def _hash_as_json(content: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()


def _replace_blobs_by_hashes(value: Any) -> Any:
    """Return a value without the paths of its contents, so that a zip and its folder have equal digests."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Blob):
        return value.sha256
    if isinstance(value, msgspec.Struct):
        return {name: _replace_blobs_by_hashes(field) for name, field in _list_digest_fields(value)}
    if isinstance(value, Mapping):
        return {name: _replace_blobs_by_hashes(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [_replace_blobs_by_hashes(item) for item in value]
    return value


def _list_digest_fields(value: msgspec.Struct) -> Iterator[tuple[str, Any]]:
    """Return the fields of a value that are hashed, with their names."""
    named_values = ((name, getattr(value, name)) for name in value.__struct_fields__)
    return ((name, field) for name, field in named_values if field or name not in _LATER_FIELDS)
