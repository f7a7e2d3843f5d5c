"""The package `ioi_eval` for Piston servers: a folder as if installed, or an index to install it from."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.engines.embedded.packages import INFO, INSTALLED
from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Value
from ioi_eval.store.resources import piston

SERVERS_PLACE = "/piston/packages"  # where a server sees the folder, wherever it lies here
_PLATFORM = "docker-debian"  # the official image; others warn and load it all the same
_SCRIPTS = ("compile", "environment", "run")
_PATH = "/usr/local/bin:/usr/bin:/bin"
_COMPILER = "compiler"


class IndexLine(Value):
    """A package's entry in the index that servers install from."""

    language: str
    version: str
    sha256: str
    url: str

    def __str__(self) -> str:
        return f"{self.language},{self.version},{self.sha256},{self.url}"


def install(folder: Path, *, compiler: Path | None = None) -> Path:
    """Writes the package into a folder of packages, as installed; a server finds it when it starts next."""
    info = _info()
    below = f"{info['language']}/{info['version']}"
    place = folder / below
    try:
        place.mkdir(parents=True, exist_ok=True)
        (place / INSTALLED).unlink(missing_ok=True)
        for name, content in _files(info):
            _write(place / name, content)
        if compiler is not None:
            target = place / _COMPILER
            if not (compiler / "bin").is_dir():
                remedy = "Name the folder that has a compiler's bin/ as compiler=FOLDER"
                raise InputError("there is no bin/ in it", where=os.fspath(compiler), remedy=remedy)
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(compiler, target, symlinks=True)
        _write(place / ".env", _environment(f"{SERVERS_PLACE}/{below}", (place / _COMPILER).is_dir()))
        _write(place / INSTALLED, str(time.time_ns() // 1_000_000).encode())
    except OSError as error:
        raise InputError(f"the package cannot be written: {error}", where=os.fspath(folder)) from error
    return place


def publish(folder: Path, url: str, *, compiler: Path | None = None) -> IndexLine:
    """Writes the archive into a folder that is served at `url`, and its line into the file `index` there."""
    info = _info()
    name = f"{info['language']}-{info['version']}.pkg.tar.gz"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        archive = _archive(info, compiler)
        line = IndexLine(
            language=info["language"],
            version=info["version"],
            sha256=hashlib.sha256(archive).hexdigest(),
            url=f"{url.rstrip('/')}/{name}",
        )
        _write(folder / name, archive)
        # The lines of other packages stay.
        path = folder / "index"
        known = path.read_text().splitlines() if path.is_file() else []
        ours = f"{line.language},{line.version},"
        others = [each for each in known if each.strip() and not each.startswith(ours)]
        _write(folder / "index", "".join(f"{each}\n" for each in (*others, str(line))).encode())
    except OSError as error:
        raise InputError(f"the index cannot be written: {error}", where=os.fspath(folder)) from error
    return line


def _info() -> dict[str, Any]:
    metadata: dict[str, Any] = msgspec.json.decode((piston() / "package" / "metadata.json").read_bytes())
    return {**metadata, "build_platform": _PLATFORM}


def _files(info: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    yield INFO, msgspec.json.format(msgspec.json.encode(info), indent=4) + b"\n"
    for name in _SCRIPTS:
        yield name, (piston() / "package" / name).read_bytes()


def _environment(seen: str, with_compiler: bool) -> bytes:
    """Return the variables that sourcing `environment` leaves; a server keeps these, not the file."""
    if not with_compiler:
        return f"PATH={_PATH}\n".encode()
    own = f"{seen}/{_COMPILER}"
    return f"PATH={own}/bin:{_PATH}\nLD_LIBRARY_PATH={own}/lib64:{own}/lib\n".encode()


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all: servers may be reading it."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(content)
    part.chmod(0o755 if path.name in _SCRIPTS else 0o644)
    part.replace(path)


def _archive(info: dict[str, Any], compiler: Path | None) -> bytes:
    """The same bytes for the same package."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        for name, content in _files(info):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755 if name in _SCRIPTS else 0o644
            archive.addfile(member, io.BytesIO(content))
        if compiler is not None:
            archive.add(compiler, _COMPILER, filter=_anonymous)
    return packed.getvalue()


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member
