"""What a package shows to those who solve it: its statement, and the files that it hands out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ioi_eval.model.values import Blob, NamedBlob
from ioi_eval.problems.package import named, names_below

_TEXTS = (".md", ".tex", ".txt")
_FOLDERS = ("statement", "statements", "problem_statement", "statement-sections", "statements/english")
_HANDED_OUT = ("att", "attachments", "public")  # of the Italian and the contest system's, Kattis, TPS
_NAMES = re.compile(r"(?:problem|statement|index|english|en)(?:[.-]en(?:glish)?)?", re.I)
_ENGLISH = re.compile(r"(?:^|[.-])en(?:glish)?$", re.I)


def statement_of(folder: Path) -> Blob | None:
    """Return the statement, the English one of several; None where there is none, or only a PDF."""
    found = min(
        (path for path in _named(folder) if path.suffix.lower() in _TEXTS),
        key=lambda path: (_TEXTS.index(path.suffix.lower()), not _ENGLISH.search(path.stem), path.as_posix()),
        default=None,
    )
    return Blob.of_file(found) if found else None


def attachments_of(folder: Path) -> tuple[NamedBlob, ...]:
    """Return the files that a package hands to contestants. A link that leads out of the package is none."""
    names = (name for part in _HANDED_OUT for name in names_below(folder, part))
    found = named(folder, (name for name in names if (folder / name).is_file()))
    inside = (file for file in found if (folder / file.name).resolve().is_relative_to(folder.resolve()))
    return tuple(NamedBlob(name=file.name.partition("/")[2], content=file.content) for file in inside)


def document_of(folder: Path) -> str:
    """Return the name of the statement's PDF, the English one of several; empty where there is none."""
    found = (path for path in _named(folder) if path.suffix.lower() == ".pdf")
    first = min(found, key=lambda path: (not _ENGLISH.search(path.stem), path.as_posix()), default=None)
    return "" if first is None else first.relative_to(folder).as_posix()


def _named(folder: Path) -> Iterator[Path]:
    """Yield files that are called like statements; in a folder of statements all, where none is.

    Where there are none, other languages than English have folders of their own.
    """
    found = _called_so(folder)
    for part in _FOLDERS:
        found += _called_so(folder / part) or _files(folder / part)
    others = sorted(folder.glob("statements/*/"))
    yield from found or (path for other in others for path in _called_so(other))


def _called_so(folder: Path) -> list[Path]:
    return [path for path in _files(folder) if _NAMES.fullmatch(path.stem)]


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
