"""Find a package's statement, and its attachments for contestants."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ioi_eval.model.values import Blob, NamedBlob
from ioi_eval.problems.package import list_paths, load_named_blobs

_STATEMENT_SUFFIXES = (".md", ".tex", ".txt")
_STATEMENT_FOLDERS = (
    "statement",
    "statements",
    "problem_statement",
    "statement-sections",
    "statements/english",
)
# Names of folders with attachments: in italy_yaml and CMS, in Kattis, in TPS.
_ATTACHMENT_FOLDERS = ("att", "attachments", "public")
_STATEMENT_NAME = re.compile(r"(?:problem|statement|index|english|en)(?:[.-]en(?:glish)?)?", re.I)
_ENGLISH = re.compile(r"(?:^|[.-])en(?:glish)?$", re.I)


def find_statement(folder: Path) -> Blob | None:
    """Return the statement, in English if there are several. None if there is no statement, or only a PDF."""
    statement_path = min(
        (path for path in _find_statement_files(folder) if path.suffix.lower() in _STATEMENT_SUFFIXES),
        key=lambda path: (
            _STATEMENT_SUFFIXES.index(path.suffix.lower()),
            not _ENGLISH.search(path.stem),
            path.as_posix(),
        ),
        default=None,
    )
    return Blob.of_file(statement_path) if statement_path else None


def find_attachments(folder: Path) -> tuple[NamedBlob, ...]:
    """Return the package's files for contestants. Links to files outside of the package are ignored."""
    attachment_paths = (name for subfolder in _ATTACHMENT_FOLDERS for name in list_paths(folder, subfolder))
    files = load_named_blobs(folder, (name for name in attachment_paths if (folder / name).is_file()))
    files_inside = (file for file in files if (folder / file.name).resolve().is_relative_to(folder.resolve()))
    return tuple(NamedBlob(name=file.name.partition("/")[2], content=file.content) for file in files_inside)


def read_statement_document(folder: Path) -> str:
    """Return the path of the statement's PDF, in English if there are several. Empty if there is none."""
    pdf_paths = (path for path in _find_statement_files(folder) if path.suffix.lower() == ".pdf")
    best_path = min(
        pdf_paths, key=lambda path: (not _ENGLISH.search(path.stem), path.as_posix()), default=None
    )
    return "" if best_path is None else best_path.relative_to(folder).as_posix()


def _find_statement_files(folder: Path) -> Iterator[Path]:
    """Yield files that may be statements.

    They are files with a statement's name in the package or in a folder of statements. If no file in such a
    folder has a statement's name, all its files count. Otherwise, folders of languages are
    searched.
    """
    named_files = _list_named_statements(folder)
    for subfolder in _STATEMENT_FOLDERS:
        named_files += _list_named_statements(folder / subfolder) or _list_files(folder / subfolder)
    language_folders = sorted(folder.glob("statements/*/"))
    yield from named_files or (
        path for language_folder in language_folders for path in _list_named_statements(language_folder)
    )


def _list_named_statements(folder: Path) -> list[Path]:
    """Return the files in a folder that are named like a statement."""
    return [path for path in _list_files(folder) if _STATEMENT_NAME.fullmatch(path.stem)]


def _list_files(folder: Path) -> list[Path]:
    """Return the files in a folder, sorted; none if the folder is missing."""
    return sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
