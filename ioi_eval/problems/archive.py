"""Zips of packages: read with suspicion, extracted once into a folder that is named by the zip's content.

An archive comes from somewhere else. Nothing in it may be written outside the folder, be a link, hide another
file of the same name, or grow beyond what was allowed before the first byte is written.
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
from ioi_eval.store.contents import Pin
from ioi_eval.store.files import readable

_CHUNK = 1 << 20
_LONGEST_NAME = 255  # bytes; what file systems take
_OTHERS = re.compile(r"\.(?:tar(?:\.\w+)?|t[gbx]z2?|7z|rar)$", re.IGNORECASE)  # archives of other kinds
# What zipfile raises on bytes that are not a sound archive. RuntimeError is its word for a missing password.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    RuntimeError,
    ValueError,
)


class ArchiveLimits(Value):
    """Limits of what an archive may become.

    Tests of one repeated number compress a thousandfold, so the ratio only counts from a size that hurts.
    """

    total: int = 16 << 30  # bytes, of all files together
    files: int = 200_000
    ratio: int = 200  # size of the contents to size of the archive
    ratio_from: int = 256 << 20  # bytes of contents from which the ratio counts


_Member = tuple[zipfile.ZipInfo, PurePosixPath]


class Extracted(NamedTuple):
    folder: Path
    pin: Pin  # until it is released, the cache keeps the folder


def extracted(archive: Path, store: Store, limits: ArchiveLimits | None = None) -> Extracted:
    """Return the folder with an archive's files; extract them where no earlier call has."""
    try:
        with readable(archive), zipfile.ZipFile(archive) as opened:
            members = _members(opened, archive, limits or ArchiveLimits())
            key = Blob.of_file(archive).sha256
            return _stored(store, key, lambda folder: _extract(opened, members, folder))
    except _BROKEN as error:
        remedy = (
            "Extract it, and name the folder" if _OTHERS.search(archive.name) else "Fetch or export it again"
        )
        words = f"not a zip that can be read ({error})"
        raise InputError(words, where=str(archive), remedy=remedy) from error


# --- what may be in it -------------------------------------------------------------------------------


def _members(opened: zipfile.ZipFile, archive: Path, limits: ArchiveLimits) -> list[_Member]:
    infos = [  # without what desktops add to the zips that they make
        info
        for info in opened.infolist()
        if not info.filename.startswith("__MACOSX/") and info.filename.rsplit("/", 1)[-1] != ".DS_Store"
    ]
    _check_size(infos, archive, limits)
    members = [(info, _safe_name(info, archive)) for info in infos]
    _check_distinct(members, archive)
    return members


def _check_size(infos: list[zipfile.ZipInfo], archive: Path, limits: ArchiveLimits) -> None:
    packed = max(1, archive.stat().st_size)
    total = sum(info.file_size for info in infos)
    if len(infos) > limits.files:
        raise _refused(archive, f"{len(infos)} files in it, {limits.files} are allowed")
    if total > limits.total:
        raise _refused(archive, f"{total} bytes of contents, {limits.total} are allowed")
    if total > limits.ratio_from and total > limits.ratio * packed:
        raise _refused(
            archive, f"contents {total // packed} times its size, {limits.ratio} times are allowed"
        )
    if sum(info.compress_size for info in infos) > packed:
        raise _refused(archive, "its files overlap each other")


def _safe_name(info: zipfile.ZipInfo, archive: Path) -> PurePosixPath:
    """Return a member's name as a relative path. InputError says what is wrong with it."""
    name = info.orig_filename
    if not name.isprintable():
        raise _refused(archive, f"{name!r} has characters in its name that cannot be printed")
    if "\\" in name or name.startswith("/") or re.match("[A-Za-z]:", name):
        raise _refused(archive, f"{name!r} is not a relative path with forward slashes")
    path = PurePosixPath(name)
    if ".." in path.parts or not path.parts:
        raise _refused(archive, f"{name!r} leads out of the archive's folder")
    if any(len(part.encode()) > _LONGEST_NAME for part in path.parts):
        raise _refused(archive, f"{name[:40]!r}... is too long a name")
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise _refused(archive, f"{info.filename!r} is a link or a special file")
    if info.flag_bits & 1:
        raise _refused(archive, f"{info.filename!r} is encrypted")
    return path


def _check_distinct(members: Iterable[_Member], archive: Path) -> None:
    """Refuse a file that is there twice, and one where another member needs a folder."""
    files: set[PurePosixPath] = set()
    folders: set[PurePosixPath] = set()
    for info, name in members:
        if not info.is_dir() and name in files:
            raise _refused(archive, f"{str(name)!r} is in it twice")
        (folders if info.is_dir() else files).add(name)
        folders.update(name.parents)
    for name in sorted(files & folders):
        raise _refused(archive, f"{str(name)!r} is both a file and a folder")


def _refused(archive: Path, reason: str) -> InputError:
    return InputError(
        f"this archive is not extracted: {reason}",
        where=str(archive),
        remedy="Extract it yourself if you trust it, and name the folder instead",
    )


# --- writing it --------------------------------------------------------------------------------------


def open_cache(folder: Path) -> Store:
    """Return the cache for extracted archives, shared with what else lies there. Others evict."""
    try:
        return Store(folder)
    except OSError as error:
        raise _unwritable(folder, error) from error


def _stored(store: Store, key: str, fill: Callable[[Path], None]) -> Extracted:
    try:
        pin = store.pin(key)  # before it is made: from here on nobody evicts it
        try:
            return Extracted(store.folder(key, fill), pin)
        except BaseException:
            pin.release()
            raise
    except OSError as error:
        raise _unwritable(store.root, error) from error


def _extract(opened: zipfile.ZipFile, members: Iterable[_Member], folder: Path) -> None:
    for info, name in members:
        target = folder.joinpath(*name.parts)
        (target if info.is_dir() else target.parent).mkdir(parents=True, exist_ok=True)
        if not info.is_dir():
            with opened.open(info) as source, target.open("xb") as sink:
                shutil.copyfileobj(source, sink, _CHUNK)


def _unwritable(cache: Path, error: OSError) -> InputError:
    return InputError(
        f"cannot extract into the cache ({error.strerror or error})",
        where=str(cache),
        remedy="Make room there or choose another cache folder",
    )
