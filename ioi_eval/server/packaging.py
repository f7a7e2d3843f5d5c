"""The package `ioi_eval` for Piston servers: an installed folder, or an index to install it from.

The package can contain a compiler, and `bits/stdc++.h` precompiled by that compiler or by the compiler of
this machine. A compiler uses a precompiled header only if exactly the same compiler wrote it. Otherwise it
reads the header's source.
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

from ioi_eval.engines.contract import BUNDLED_HEADERS, BUNDLED_LIBRARY_HEADER, LIBRARY_HEADER
from ioi_eval.engines.embedded.packages import INFO, INSTALLED
from ioi_eval.engines.embedded.toolchains import find_command
from ioi_eval.engines.jobs.headers import (
    BITS_STDCPP,
    make_empty_build_spec,
    make_header_file_name,
    make_precompiled_header_spec,
)
from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import Language, find_language
from ioi_eval.model.values import Value
from ioi_eval.store.resources import piston_folder

SERVER_FOLDER = "/piston/packages"  # path of the folder with packages on a Piston server
# Platform of Piston's official image; servers on other platforms print a warning and load the package.
_PLATFORM = "docker-debian"
_SCRIPTS = ("compile", "environment", "run")
_PATH = "/usr/local/bin:/usr/bin:/bin"
_COMPILER, _HEADERS = "compiler", "headers"
_LOG = logging.getLogger(__name__)


class IndexLine(Value):
    """A package's line in the index that servers install from."""

    language: str
    version: str
    sha256: str
    url: str

    def __str__(self) -> str:
        return f"{self.language},{self.version},{self.sha256},{self.url}"


def install_package(folder: Path, *, compiler: Path | None = None, headers: Sequence[str] = ()) -> Path:
    """Write the package into a folder of packages as if installed, and return its path.

    A server finds the package when it starts. An earlier package stays unchanged until the precompiled
    headers are ready.

    Args:
        folder: the folder of packages.
        compiler: folder with `bin/`, `lib/` and `lib64/` of a compiler that the package contains.
        headers: C++ standards, such as gnu++20, for which the package contains a precompiled header.

    Raises:
        InputError: if the package cannot be written, or a header cannot be precompiled.
    """
    metadata = _read_metadata()
    relative_path = f"{metadata['language']}/{metadata['version']}"
    package_folder = folder / relative_path
    earlier_compiler = package_folder / _COMPILER if (package_folder / _COMPILER).is_dir() else None
    try:
        with _precompile_headers(compiler or earlier_compiler, headers) as precompiled_folder:
            package_folder.mkdir(parents=True, exist_ok=True)
            (package_folder / INSTALLED).unlink(missing_ok=True)
            for name, content in _list_package_files(metadata):
                _write_file(package_folder / name, content)
            if compiler is not None:
                _replace_folder(package_folder / _COMPILER, compiler)
                # Remove headers that an earlier compiler precompiled.
                shutil.rmtree(package_folder / _HEADERS, ignore_errors=True)
            if headers:
                _replace_folder(package_folder / _HEADERS, precompiled_folder)
        # A server stores the variables that are set by sourcing `environment`, and not the file itself.
        server_path, variables = f"{SERVER_FOLDER}/{relative_path}", f"PATH={_PATH}\n"
        if (package_folder / _COMPILER).is_dir():
            prefix = f"{server_path}/{_COMPILER}"
            variables = f"PATH={prefix}/bin:{_PATH}\nLD_LIBRARY_PATH={prefix}/lib64:{prefix}/lib\n"
        if (package_folder / _HEADERS).is_dir():
            variables += f"{BUNDLED_HEADERS}={server_path}/{_HEADERS}\n"
        _write_file(package_folder / ".env", variables.encode())
        _write_file(package_folder / INSTALLED, str(time.time_ns() // 1_000_000).encode())
    except OSError as error:
        raise InputError(f"the package cannot be written: {error}", where=os.fspath(folder)) from error
    return package_folder


def publish_package(
    folder: Path, url: str, *, compiler: Path | None = None, headers: Sequence[str] = ()
) -> IndexLine:
    """Write the archive and its line of the file `index` into a folder that is served at `url`.

    Returns the line.

    Args:
        folder: the folder that is served. It is created if it does not exist.
        url: the http or https URL of the folder, without commas.
        compiler: folder with `bin/`, `lib/` and `lib64/` of a compiler that the package contains.
        headers: C++ standards, such as gnu++20, for which the package contains a precompiled header.

    Raises:
        InputError: if the URL is invalid, a file cannot be written, or a header cannot be precompiled.
    """
    # The fields of a line are separated by commas, so the URL must not contain one.
    if not re.fullmatch(r"https?://[^\s,]+", url):
        remedy = "Give the URL at which DIR is served: http://10.0.0.5:8000"
        raise InputError(f"servers cannot download packages from {url!r}", field="url", remedy=remedy)
    metadata = _read_metadata()
    name = f"{metadata['language']}-{metadata['version']}.pkg.tar.gz"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _precompile_headers(compiler, headers) as precompiled_folder:
            archive = _build_archive(
                metadata, {_COMPILER: compiler, _HEADERS: precompiled_folder if headers else None}
            )
        index_line = IndexLine(
            language=metadata["language"],
            version=metadata["version"],
            sha256=hashlib.sha256(archive).hexdigest(),
            url=f"{url.rstrip('/')}/{name}",
        )
        _write_file(folder / name, archive)
        # Replace the package's own line in the index, and keep the lines of all other packages.
        index_path = folder / "index"
        old_lines = index_path.read_text().splitlines() if index_path.is_file() else []
        prefix = f"{index_line.language},{index_line.version},"
        other_lines = [
            old_line for old_line in old_lines if old_line.strip() and not old_line.startswith(prefix)
        ]
        _write_file(
            folder / "index", "".join(f"{entry}\n" for entry in (*other_lines, str(index_line))).encode()
        )
    except OSError as error:
        raise InputError(f"the index cannot be written: {error}", where=os.fspath(folder)) from error
    return index_line


def _read_metadata() -> dict[str, Any]:
    metadata: dict[str, Any] = msgspec.json.decode(
        (piston_folder() / "package" / "metadata.json").read_bytes()
    )
    return {**metadata, "build_platform": _PLATFORM}


def _list_package_files(info: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    yield INFO, msgspec.json.format(msgspec.json.encode(info), indent=4) + b"\n"
    for name in _SCRIPTS:
        yield name, (piston_folder() / "package" / name).read_bytes()


@contextmanager
def _precompile_headers(prefix: Path | None, standards: Sequence[str]) -> Iterator[Path]:
    """Yield a folder with a precompiled header for each standard: `gnu++20/bits/stdc++.h.gch`."""
    if prefix is not None and not (prefix / "bin").is_dir():
        remedy = "Name the folder that has a compiler's bin/ as compiler=FOLDER"
        raise InputError(
            "the compiler's folder has no subfolder bin/", where=os.fspath(prefix), remedy=remedy
        )
    languages: dict[str, Language] = {}
    for name in standards:
        language = find_language(name, field="headers")
        if not (language.header and language.standard):
            remedy = "Name standards of C++: gnu++17,gnu++20"
            raise InputError(
                f"the standard {name!r} has no header to precompile", field="headers", remedy=remedy
            )
        languages[language.standard] = language
    with tempfile.TemporaryDirectory(prefix="ioi-eval-headers-") as folder:
        for language in languages.values():
            _precompile_header(language, prefix and prefix.resolve(), Path(folder))
        # Write the version of the C library: a compiler checks which compiler wrote a header, but not for
        # which C library.
        if languages:
            shutil.copyfile(LIBRARY_HEADER, Path(folder, BUNDLED_LIBRARY_HEADER))
        # Jobs run as another user, who must be able to read these files.
        for path in (Path(folder), *Path(folder).rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        yield Path(folder)


def _precompile_header(language: Language, prefix: Path | None, folder: Path) -> None:
    """Precompile `bits/stdc++.h` for a standard, with the compiler flags of submissions."""
    compiler = find_command(language.command) if prefix is None else prefix / "bin" / language.command
    if compiler is None or not compiler.is_file():
        problem = f"cannot precompile: {language.command} was not found"
        raise InputError(problem, where=os.fspath(prefix or ""), field="headers", remedy=language.remedy)
    build_spec = make_precompiled_header_spec(make_empty_build_spec(language, command=os.fspath(compiler)))
    with tempfile.TemporaryDirectory(prefix="ioi-eval-headers-") as build_folder:
        for source in build_spec.sources:
            Path(build_folder, source.name).write_bytes(source.content.read())
        libraries = "" if prefix is None else f"{prefix}/lib64:{prefix}/lib"
        process = subprocess.run(
            build_spec.command,
            cwd=build_folder,
            env={"PATH": _PATH, "LD_LIBRARY_PATH": libraries, "LANG": "C.UTF-8"},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        output = Path(build_folder, build_spec.output)
        if process.returncode != 0 or not output.is_file():
            message = " ".join((process.stdout + process.stderr).split())[:400]
            raise InputError(f"{compiler} cannot precompile {BITS_STDCPP[0]}: {message}", field="headers")
        target = folder / language.standard / make_header_file_name(BITS_STDCPP)
        target.parent.mkdir(parents=True)
        shutil.copyfile(output, target)


def _replace_folder(target: Path, source: Path) -> None:
    """Replace a folder with a copy of another folder; an incomplete copy never becomes visible."""
    partial_copy = target.with_name(f"{target.name}.part")
    shutil.rmtree(partial_copy, ignore_errors=True)
    try:
        shutil.copytree(source, partial_copy, symlinks=True)
        shutil.rmtree(target, ignore_errors=True)
        partial_copy.rename(target)
    finally:
        shutil.rmtree(partial_copy, ignore_errors=True)


def _write_file(path: Path, content: bytes) -> None:
    """Write a file atomically, because servers may read it at any time."""
    partial_file = path.with_name(f"{path.name}.part")
    partial_file.write_bytes(content)
    partial_file.chmod(0o755 if path.name in _SCRIPTS else 0o644)
    partial_file.replace(path)


def _build_archive(info: dict[str, Any], folders: Mapping[str, Path | None]) -> bytes:
    """Return the package as an archive, which has the same bytes each time."""
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as gzip_file,
        tarfile.open(fileobj=gzip_file, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        for name, content in _list_package_files(info):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755 if name in _SCRIPTS else 0o644
            archive.addfile(member, io.BytesIO(content))
        for name, path in folders.items():
            if path is not None:
                archive.add(path, name, filter=_strip_owner)
    return buffer.getvalue()


def _strip_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member
