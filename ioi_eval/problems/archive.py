"""Extract zips of packages safely, once each, into the cache. The key is the hash of the zip.

Zips are untrusted. Their members must stay inside the folder, must not be links and must have distinct names.
Their total size is limited, and it is checked before anything is written.
"""

from __future__ import annotations

import lzma
import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Blob, Value
from ioi_eval.store import Store
from ioi_eval.store.contents import StoreEntryPin
from ioi_eval.store.files import convert_read_errors

_CHUNK_BYTES = 1 << 20
_MAX_NAME_BYTES = 255  # maximum bytes of a file name in common file systems
# Pattern for suffixes of archives that are not supported.
_OTHER_ARCHIVES = re.compile(r"\.(?:tar(?:\.\w+)?|t[gbx]z2?|7z|rar)$", re.IGNORECASE)
# Exceptions that zipfile raises for broken archives. A RuntimeError means that the archive needs a password.
_BROKEN_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    RuntimeError,
    ValueError,
)


class ArchiveLimits(Value):
    """Limits on the contents of an archive.

    Harmless tests may compress by a factor of 1000, so the ratio is only checked for large contents.
    """

    total: int = 16 << 30  # maximum size of all unpacked files together, in bytes
    files: int = 200_000  # maximum number of files in an archive
    ratio: int = 200  # maximum size of the unpacked files, as a multiple of the archive's size
    ratio_from: int = 256 << 20  # minimum size of the unpacked files for which the ratio is checked, in bytes


_Member = tuple[zipfile.ZipInfo, PurePosixPath]


class ExtractedArchive(NamedTuple):
    """An extracted archive in the cache."""

    folder: Path
    pin: StoreEntryPin  # pin of the cache entry, which keeps the folder until the pin is released


def extract_archive(archive: Path, store: Store, limits: ArchiveLimits | None = None) -> ExtractedArchive:
    """Return the folder with the archive's files. Extract the archive if the cache does not contain it.

    Raises:
        InputError: The archive is broken, unsafe or over the limits, or the cache cannot be written.
    """
    try:
        with convert_read_errors(archive), zipfile.ZipFile(archive) as zip_file:
            members = _list_members(zip_file, archive, limits or ArchiveLimits())
            content_hash = Blob.of_file(archive).sha256
            return _extract_once(
                store, content_hash, lambda folder: _extract_members(zip_file, members, folder)
            )
    except _BROKEN_ZIP_ERRORS as error:
        remedy = (
            "Extract it and name the folder"
            if _OTHER_ARCHIVES.search(archive.name)
            else "Fetch or export it again"
        )
        zip_problem = f"not a readable zip ({error})"
        raise InputError(zip_problem, where=str(archive), remedy=remedy) from error


# --- checks before extracting ------------------------------------------------------------------------


def _list_members(zip_file: zipfile.ZipFile, archive: Path, limits: ArchiveLimits) -> list[_Member]:
    """Return the members of the archive after all checks, without files that macOS adds to zips."""
    infos = [
        info
        for info in zip_file.infolist()
        if not info.filename.startswith("__MACOSX/") and info.filename.rsplit("/", 1)[-1] != ".DS_Store"
    ]
    _check_unpacked_size(infos, archive, limits)
    members = [(info, _check_member_name(info, archive)) for info in infos]
    _refuse_duplicate_names(members, archive)
    return members


def _check_unpacked_size(infos: list[zipfile.ZipInfo], archive: Path, limits: ArchiveLimits) -> None:
    """Raise an InputError if the archive exceeds the limits or its members overlap."""
    archive_bytes = max(1, archive.stat().st_size)
    total_bytes = sum(info.file_size for info in infos)
    if len(infos) > limits.files:
        raise _make_archive_error(
            archive, f"the archive contains {len(infos)} files, but at most {limits.files} are allowed"
        )
    if total_bytes > limits.total:
        raise _make_archive_error(
            archive,
            f"the archive's unpacked files have {total_bytes} bytes, but at most {limits.total} are allowed",
        )
    if total_bytes > limits.ratio_from and total_bytes > limits.ratio * archive_bytes:
        raise _make_archive_error(
            archive,
            f"the archive's unpacked files have {total_bytes // archive_bytes} times its"
            f" size, but at most {limits.ratio} times are allowed",
        )
    if sum(info.compress_size for info in infos) > archive_bytes:
        raise _make_archive_error(archive, "the archive's files overlap each other")


def _check_member_name(info: zipfile.ZipInfo, archive: Path) -> PurePosixPath:
    """Return a member's name as a relative path. Raise an InputError if the member is not allowed."""
    name = info.orig_filename
    if not name.isprintable():
        raise _make_archive_error(archive, f"the file name {name!r} has unprintable characters")
    if "\\" in name or name.startswith("/") or re.match("[A-Za-z]:", name):
        raise _make_archive_error(archive, f"{name!r} is not a relative path with forward slashes")
    path = PurePosixPath(name)
    if ".." in path.parts or not path.parts:
        raise _make_archive_error(archive, f"{name!r} is outside of the archive's folder")
    if any(len(component.encode()) > _MAX_NAME_BYTES for component in path.parts):
        raise _make_archive_error(archive, f"the file name {name[:40]!r}... is too long")
    file_type = stat.S_IFMT(info.external_attr >> 16)
    if file_type not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise _make_archive_error(archive, f"{info.filename!r} is a link or a special file")
    if info.flag_bits & 1:
        raise _make_archive_error(archive, f"{info.filename!r} is encrypted")
    return path


def _refuse_duplicate_names(members: Iterable[_Member], archive: Path) -> None:
    """Raise an InputError if two files have the same name, or a file has the name of a folder."""
    file_names: set[PurePosixPath] = set()
    folder_names: set[PurePosixPath] = set()
    for info, name in members:
        if not info.is_dir() and name in file_names:
            raise _make_archive_error(archive, f"{str(name)!r} is in the archive twice")
        (folder_names if info.is_dir() else file_names).add(name)
        folder_names.update(name.parents)
    for name in sorted(file_names & folder_names):
        raise _make_archive_error(archive, f"{str(name)!r} is both a file and a folder")


def _make_archive_error(archive: Path, reason: str) -> InputError:
    """Return the error for an archive that must not be extracted."""
    return InputError(
        f"this archive is not extracted: {reason}",
        where=str(archive),
        remedy="Extract it yourself if you trust it, and name the folder instead",
    )


# --- extracting --------------------------------------------------------------------------------------


def open_cache(folder: Path) -> Store:
    """Open the cache for extracted archives. Other caches may use the same folder, and evict entries."""
    try:
        return Store(folder)
    except OSError as error:
        raise _make_write_error(folder, error) from error


def _extract_once(store: Store, key: str, fill: Callable[[Path], None]) -> ExtractedArchive:
    """Return the pinned folder with this key in the cache. `fill` writes its files if it is missing."""
    try:
        # Pin the key before writing the folder, so that no other process evicts the folder.
        pin = store.pin(key)
        try:
            return ExtractedArchive(store.folder(key, fill), pin)
        except BaseException:
            pin.release()
            raise
    except OSError as error:
        raise _make_write_error(store.root, error) from error


def _extract_members(zip_file: zipfile.ZipFile, members: Iterable[_Member], folder: Path) -> None:
    """Write the members of the archive into the folder."""
    for info, name in members:
        target_path = folder.joinpath(*name.parts)
        (target_path if info.is_dir() else target_path.parent).mkdir(parents=True, exist_ok=True)
        if not info.is_dir():
            with zip_file.open(info) as member_file, target_path.open("xb") as target_file:
                shutil.copyfileobj(member_file, target_file, _CHUNK_BYTES)


def _make_write_error(cache: Path, error: OSError) -> InputError:
    """Return the error for a cache that cannot be written."""
    return InputError(
        f"cannot extract into the cache ({error.strerror or error})",
        where=str(cache),
        remedy="Free some space or choose another cache folder",
    )
