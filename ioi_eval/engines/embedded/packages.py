"""Language packages in Piston's layout. A job names its package by `runtime` and `version`.

A package is a folder LANGUAGE/VERSION with the files pkg-info.json, run, compile (optional), environment,
.env and .ppman-installed. Its scripts run in proctor sandboxes.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
from semantic_version import NpmSpec, Version

from ioi_eval.engines.embedded.toolchains import is_enterable_by_everyone
from ioi_eval.model.errors import EngineUnavailable
from ioi_eval.model.nesting import require_shallow
from ioi_eval.model.values import Value

INFO, INSTALLED = "pkg-info.json", ".ppman-installed"
# Maximum total bytes of packages that are copied, which is enough for scripts, but not for compilers.
_MAX_COPIED_BYTES = 16 << 20
_SERVER_FOLDER = "/piston/packages"  # folder of packages on servers; the packages' .env files contain it


class LanguagePackage(Value):
    """A language that jobs can name. If it has no folder, it is built in, and jobs contain the scripts."""

    language: str
    version: str
    name: str = ""  # name of the package; empty for a built-in language
    aliases: tuple[str, ...] = ()
    # Name of the package if it provides several languages, so that its name differs from the language's name.
    runtime: str = ""
    needs: str = ""  # command that the language needs
    folder: str = ""
    compiles: bool = False
    environment: Mapping[str, str] = {}
    limits: Mapping[str, int] = {}  # limits of the package, by the names of fields in a request


class _ProvidedLanguage(msgspec.Struct, frozen=True):
    language: str
    aliases: tuple[str, ...] = ()
    limit_overrides: Mapping[str, int] = {}
    runtime: str = ""  # name of a package that provides several languages; an extension of Piston's format
    needs: str = ""


class _PackageInfo(msgspec.Struct, frozen=True):
    language: str
    version: str
    aliases: tuple[str, ...] = ()
    provides: tuple[_ProvidedLanguage, ...] = ()
    limit_overrides: Mapping[str, int] = {}


def load_packages(folder: Path, package_copies_folder: Path | None = None) -> tuple[LanguagePackage, ...]:
    """Return the packages that are installed in a folder. The folder may itself be a package.

    If sandboxes cannot see the folder, small packages are copied to `package_copies_folder`, which must not
    exist yet. Raises EngineUnavailable for a package that cannot be used.
    """
    folder = folder.absolute()
    try:
        package_folders = sorted(package_folder.parent for package_folder in folder.glob(f"*/*/{INSTALLED}"))
        if (folder / INFO).is_file():
            package_folders = [folder]
        sandbox_visible_folder = (
            _make_visible_in_sandbox(folder, package_copies_folder) if package_folders else folder
        )
        return tuple(
            package
            for package_folder in package_folders
            for package in _read_package(
                package_folder, sandbox_visible_folder / package_folder.relative_to(folder)
            )
        )
    except OSError as error:
        raise EngineUnavailable(f"the packages in {folder} cannot be read: {error}") from error


def _read_package(package_folder: Path, sandbox_visible_folder: Path) -> Iterator[LanguagePackage]:
    """Return the languages of a package. Sandboxes see its folder at `sandbox_visible_folder`."""
    package_info = _read_package_info(package_folder)
    if not (package_folder / "run").is_file():
        raise EngineUnavailable(f"{package_folder} is not a package: it lacks the file `run`")
    provided_languages = package_info.provides or (
        _ProvidedLanguage(package_info.language, package_info.aliases, package_info.limit_overrides),
    )
    for language in provided_languages:
        yield LanguagePackage(
            language=language.language,
            version=package_info.version,
            name=package_info.language,
            aliases=language.aliases,
            runtime=language.runtime or (package_info.language if package_info.provides else ""),
            needs=language.needs,
            folder=os.fspath(sandbox_visible_folder),
            compiles=(package_folder / "compile").is_file(),
            environment=_read_environment(package_folder, sandbox_visible_folder, package_info),
            limits=language.limit_overrides,
        )


def _make_visible_in_sandbox(folder: Path, package_copies_folder: Path | None) -> Path:
    """Return a folder of packages that sandboxes can see.

    It is `folder` if sandboxes can see it. Otherwise `folder` is copied to `package_copies_folder`.
    """
    reason = _explain_sandbox_invisibility(folder)
    if reason is None:
        return folder
    if (
        package_copies_folder is None
        or _explain_sandbox_invisibility(package_copies_folder.parent) is not None
        or sum(path.lstat().st_size for path in folder.rglob("*")) > _MAX_COPIED_BYTES
    ):
        raise EngineUnavailable(f"the packages in {folder} cannot be used: {reason}")
    shutil.copytree(folder, package_copies_folder, symlinks=True)
    for path in (package_copies_folder, *package_copies_folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755)
    return package_copies_folder


def _explain_sandbox_invisibility(folder: Path) -> str | None:
    if folder.resolve().is_relative_to("/tmp"):
        return "jobs have a private /tmp. Use another folder for packages"
    if os.geteuid() == 0 and not is_enterable_by_everyone(folder):
        return (
            "this process is root, so jobs run under other uids, which may not enter the folder. Use a folder"
            " that all users may enter, or add the right with chmod o+x"
        )
    return None


def find_package(packages: Iterable[LanguagePackage], name: str, version: str) -> LanguagePackage | None:
    """Return the newest package for a name and version. If versions are equal, the first package wins."""
    fitting_packages = [package for package in packages if name in (package.language, *package.aliases)]
    if version != "*":
        fitting_packages = [
            package for package in fitting_packages if is_version_accepted(package.version, version)
        ]
    # In the most frequent case, no version needs to be parsed, which is slow.
    if len(fitting_packages) == 1:
        return fitting_packages[0]
    return max(fitting_packages, key=lambda package: parse_version(package.version) or _NONE, default=None)


def list_package_names(packages: Iterable[LanguagePackage]) -> tuple[str, ...]:
    """Return all names and aliases of packages that jobs may use."""
    return tuple(dict.fromkeys(name for package in packages for name in (package.language, *package.aliases)))


def _read_package_info(package_folder: Path) -> _PackageInfo:
    try:
        package_info = msgspec.json.decode(
            require_shallow((package_folder / INFO).read_bytes()), type=_PackageInfo
        )
    except (OSError, ValueError) as error:
        raise EngineUnavailable(f"{package_folder}/{INFO} cannot be used: {error}") from error
    if parse_version(package_info.version) is None:
        raise EngineUnavailable(f"{package_folder}/{INFO}: {package_info.version!r} is not a version")
    return package_info


def _read_environment(
    package_folder: Path, sandbox_visible_folder: Path, package_info: _PackageInfo
) -> dict[str, str]:
    """Return the variables in a package's `.env`.

    In them, `sandbox_visible_folder` replaces the package's folder, which may be the folder of the server
    that installed the package.
    """
    env_path = package_folder / ".env"
    content = env_path.read_text() if env_path.is_file() else ""
    for foreign_folder in (
        f"{_SERVER_FOLDER}/{package_info.language}/{package_info.version}",
        os.fspath(package_folder),
    ):
        content = content.replace(foreign_folder, os.fspath(sandbox_visible_folder))
    assignments = (line.partition("=") for line in content.splitlines())
    return {name: value for name, equals_sign, value in assignments if equals_sign and name}


# --- package versions, and npm's syntax for ranges of versions ------------------------------

_SIGN = re.compile(r"(\^|~|[<>]=?|=)>?\s*v?")
_NONE = Version("0.0.0")
_ANY = re.compile(r"(\^|~|[<>]?=)(?=$|[xX*])")


def parse_version(text: str) -> Version | None:
    """Return a version without the part after `-` or `+`, or None if it is incomplete."""
    try:
        return Version(text.strip().removeprefix("v")).truncate()
    except ValueError:
        return None


def is_version_accepted(version_text: str, accepted_versions: str) -> bool:
    """Return True if a version is in a range. No version is in an invalid range."""
    version = parse_version(version_text)
    return version is not None and any(
        _is_in_range(npm_range.strip(), version) for npm_range in accepted_versions.split("||")
    )


def _is_in_range(npm_range: str, version: Version) -> bool:
    """Return True if a version is in a range of npm.

    Some spellings are replaced first, because semantic_version does not accept `~>`, or a blank or star
    after a sign.
    """
    try:
        return version in NpmSpec(_ANY.sub("", _SIGN.sub(r"\1", npm_range)) or "*")
    except (ValueError, AttributeError):  # AttributeError: `1.2 - newest`
        return False
