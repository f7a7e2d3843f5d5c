"""Checkers and managers in Python: nothing is built, one file is run."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import PurePosixPath

from ioi_eval.languages import Language
from ioi_eval.models import Blob, Checker, Manager, NamedBlob

_SUFFIX = ".py"
_DAY_ONE = (1980, 1, 1, 0, 0, 0)  # the same sources, the same bytes


def is_script(language: Language) -> bool:
    return language.syntax == "python"


def script_of(program: Checker | Manager) -> Blob:
    """The first source. Modules beside it come along in an archive, which the interpreter runs as well."""
    first, *others = program.sources
    modules = [file for file in others if file.name.endswith(_SUFFIX)]
    if not modules:
        return first.content
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for name, file in _members(first, modules):
            packed.writestr(zipfile.ZipInfo(name, _DAY_ONE), file.content.read())
    return Blob.of(archive.getvalue())


def _members(first: NamedBlob, modules: list[NamedBlob]) -> Iterator[tuple[str, NamedBlob]]:
    yield "__main__.py", first
    folder = PurePosixPath(first.name).parent
    for file in sorted(modules, key=lambda file: file.name):
        if PurePosixPath(file.name).is_relative_to(folder):
            yield PurePosixPath(file.name).relative_to(folder).as_posix(), file
