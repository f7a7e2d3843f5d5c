"""What a package says to contestants: the statement that a model is asked with, in text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ioi_eval.model.values import Blob

_TEXTS = (".md", ".tex", ".txt")
_FOLDERS = ("statement", "statements", "problem_statement", "statement-sections", "statements/english")
_NAMES = re.compile(r"(?:problem|statement|index|english|en)(?:[.-]en(?:glish)?)?", re.I)
_ENGLISH = re.compile(r"(?:^|[.-])en(?:glish)?$", re.I)


def statement_of(folder: Path) -> Blob | None:
    """The English one where there are several; None where there is none, or only a PDF."""
    found = sorted(_texts(folder), key=_rank)
    return Blob.of_file(found[0]) if found else None


def has_document(folder: Path) -> bool:
    """Whether there is a statement that is not text."""
    return any(path.suffix.lower() == ".pdf" for path in _named(folder))


def _texts(folder: Path) -> Iterator[Path]:
    return (path for path in _named(folder) if path.suffix.lower() in _TEXTS)


def _named(folder: Path) -> Iterator[Path]:
    """Files that are called like statements; in a folder of statements all, where none is."""
    yield from (path for path in _files(folder) if _NAMES.fullmatch(path.stem))
    for part in _FOLDERS:
        own = list(_files(folder / part))
        yield from [path for path in own if _NAMES.fullmatch(path.stem)] or own


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []


def _rank(path: Path) -> tuple[int, bool, str]:
    return _TEXTS.index(path.suffix.lower()), not _ENGLISH.search(path.stem), path.as_posix()
