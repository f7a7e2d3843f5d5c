"""The package `ioi_eval` for Piston servers: a folder as if installed, or an index to install it from.

It may bring a compiler, and `bits/stdc++.h` precompiled by that one, or else by this machine's. A compiler
takes only what the very same one has made; any other reads the header as it is.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import logging
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.engines.contract import BROUGHT_HEADERS, BROUGHT_LIBRARY, LIBRARY_HEADER
from ioi_eval.engines.embedded.packages import INFO, INSTALLED
from ioi_eval.engines.embedded.toolchains import find_command
from ioi_eval.engines.jobs.headers import BIG, empty_spec, header_file, header_spec
from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import Language, find
from ioi_eval.model.values import Value
from ioi_eval.store.resources import piston

SERVERS_PLACE = "/piston/packages"  # where a server sees the folder, wherever it lies here
_PLATFORM = "docker-debian"  # the official image; others warn and load it all the same
_SCRIPTS = ("compile", "environment", "run")
_PATH = "/usr/local/bin:/usr/bin:/bin"
_COMPILER, _HEADERS = "compiler", "headers"
_LOG = logging.getLogger(__name__)


class IndexLine(Value):
    """A package's entry in the index that servers install from."""

    language: str
    version: str
    sha256: str
    url: str

    def __str__(self) -> str:
        return f"{self.language},{self.version},{self.sha256},{self.url}"


def install(folder: Path, *, compiler: Path | None = None, headers: Sequence[str] = ()) -> Path:
    """Writes the package into a folder of packages, as installed; a server finds it when it starts next.

    `headers`: standards of C++, such as gnu++20, for which it brings the big header precompiled. A package
    that is there stays as it is until these are made.
    """
    info = _info()
    below = f"{info['language']}/{info['version']}"
    place = folder / below
    brought_before = place / _COMPILER if (place / _COMPILER).is_dir() else None
    try:
        with _precompiled(compiler or brought_before, headers) as precompiled:
            place.mkdir(parents=True, exist_ok=True)
            (place / INSTALLED).unlink(missing_ok=True)
            for name, content in _files(info):
                _write(place / name, content)
            if compiler is not None:
                _replace(place / _COMPILER, compiler)
                shutil.rmtree(place / _HEADERS, ignore_errors=True)  # another compiler's
            if headers:
                _replace(place / _HEADERS, precompiled)
        # The variables that sourcing `environment` leaves; a server keeps these, not the file.
        seen, words = f"{SERVERS_PLACE}/{below}", f"PATH={_PATH}\n"
        if (place / _COMPILER).is_dir():
            own = f"{seen}/{_COMPILER}"
            words = f"PATH={own}/bin:{_PATH}\nLD_LIBRARY_PATH={own}/lib64:{own}/lib\n"
        if (place / _HEADERS).is_dir():
            words += f"{BROUGHT_HEADERS}={seen}/{_HEADERS}\n"
        _write(place / ".env", words.encode())
        _write(place / INSTALLED, str(time.time_ns() // 1_000_000).encode())
    except OSError as error:
        raise InputError(f"the package cannot be written: {error}", where=os.fspath(folder)) from error
    return place


def publish(
    folder: Path, url: str, *, compiler: Path | None = None, headers: Sequence[str] = ()
) -> IndexLine:
    """Writes the archive into a folder that is served at `url`, and its line into the file `index` there."""
    if not re.fullmatch(r"https?://[^\s,]+", url):  # a line of the index is cut at commas
        remedy = "Give the URL at which DIR is served: http://10.0.0.5:8000"
        raise InputError(f"servers cannot fetch from {url!r}", field="url", remedy=remedy)
    info = _info()
    name = f"{info['language']}-{info['version']}.pkg.tar.gz"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _precompiled(compiler, headers) as precompiled:
            archive = _archive(info, {_COMPILER: compiler, _HEADERS: precompiled if headers else None})
        line = IndexLine(
            language=info["language"],
            version=info["version"],
            sha256=hashlib.sha256(archive).hexdigest(),
            url=f"{url.rstrip('/')}/{name}",
        )
        _write(folder / name, archive)
        # The lines of other packages stay.
        path = folder / "index"
        listed = path.read_text().splitlines() if path.is_file() else []
        ours = f"{line.language},{line.version},"
        others = [each for each in listed if each.strip() and not each.startswith(ours)]
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


@contextmanager
def _precompiled(prefix: Path | None, standards: Sequence[str]) -> Iterator[Path]:
    """Yield a folder with the big header for each standard: `gnu++20/bits/stdc++.h.gch`."""
    if prefix is not None and not (prefix / "bin").is_dir():
        remedy = "Name the folder that has a compiler's bin/ as compiler=FOLDER"
        raise InputError("there is no bin/ in it", where=os.fspath(prefix), remedy=remedy)
    chosen: dict[str, Language] = {}
    for name in standards:
        language = find(name, field="headers")
        if not (language.header and language.standard):
            remedy = "Name standards of C++: gnu++17,gnu++20"
            raise InputError(f"{name!r} has no header to precompile", field="headers", remedy=remedy)
        chosen[language.standard] = language
    with tempfile.TemporaryDirectory(prefix="ioi-eval-headers-") as folder:
        for language in chosen.values():
            _precompile(language, prefix and prefix.resolve(), Path(folder))
        if chosen:  # a compiler checks that a header is its own, and not which C library that one has read
            shutil.copyfile(LIBRARY_HEADER, Path(folder, BROUGHT_LIBRARY))
        for path in (Path(folder), *Path(folder).rglob("*")):  # jobs have a user of their own
            path.chmod(0o755 if path.is_dir() else 0o644)
        yield Path(folder)


def _precompile(language: Language, prefix: Path | None, folder: Path) -> None:
    """Make the big header for a standard, with the flags that submissions have."""
    found = find_command(language.command) if prefix is None else prefix / "bin" / language.command
    if found is None or not found.is_file():
        words = f"there is no {language.command} that could precompile"
        raise InputError(words, where=os.fspath(prefix or ""), field="headers", remedy=language.remedy)
    recipe = header_spec(empty_spec(language, tool=os.fspath(found)))
    with tempfile.TemporaryDirectory(prefix="ioi-eval-headers-") as work:
        for source in recipe.sources:
            Path(work, source.name).write_bytes(source.content.read())
        libraries = "" if prefix is None else f"{prefix}/lib64:{prefix}/lib"
        done = subprocess.run(
            recipe.command,
            cwd=work,
            env={"PATH": _PATH, "LD_LIBRARY_PATH": libraries, "LANG": "C.UTF-8"},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        output = Path(work, recipe.output)
        if done.returncode != 0 or not output.is_file():
            short = " ".join((done.stdout + done.stderr).split())[:400]
            raise InputError(f"{found} cannot precompile {BIG[0]}: {short}", field="headers")
        target = folder / language.standard / header_file(BIG)
        target.parent.mkdir(parents=True)
        shutil.copyfile(output, target)


def _replace(target: Path, source: Path) -> None:
    """Put a copy of a folder into the place of another, whole."""
    part = target.with_name(f"{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        shutil.copytree(source, part, symlinks=True)
        shutil.rmtree(target, ignore_errors=True)
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all: servers may be reading it."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(content)
    part.chmod(0o755 if path.name in _SCRIPTS else 0o644)
    part.replace(path)


def _archive(info: dict[str, Any], brought: Mapping[str, Path | None]) -> bytes:
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
        for name, place in brought.items():
            if place is not None:
                archive.add(place, name, filter=_anonymous)
    return packed.getvalue()


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member
