"""Checkers and managers in Python: nothing is built, one file is run."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import PurePosixPath

from ioi_eval.model.languages import Language
from ioi_eval.model.values import Blob, Checker, Manager, NamedBlob
from ioi_eval.store.resources import graders

_SUFFIX = ".py"
_MAIN, _MANAGER = "__main__.py", "ioi_eval_manager.py"
_DAY_ONE = (1980, 1, 1, 0, 0, 0)  # the same sources, the same bytes


def is_script(language: Language) -> bool:
    return language.syntax == "python"


def script_of(program: Checker | Manager) -> Blob:
    """The first source. Modules beside it come along in an archive, which the interpreter runs as well.

    A manager is always in one, beside what starts it: graders/python/manager.py.
    """
    first, *others = program.sources
    modules = [file for file in others if file.name.endswith(_SUFFIX)]
    if isinstance(program, Manager):
        start = Blob.of_file(graders() / "python" / "manager.py")
        return _archive({_MAIN: start, _MANAGER: first.content, **_beside(first, modules)})
    if not modules:
        return first.content
    return _archive({_MAIN: first.content, **_beside(first, modules)})


def _beside(first: NamedBlob, modules: list[NamedBlob]) -> dict[str, Blob]:
    folder = PurePosixPath(first.name).parent
    return {
        PurePosixPath(file.name).relative_to(folder).as_posix(): file.content
        for file in sorted(modules, key=lambda file: file.name)
        if PurePosixPath(file.name).is_relative_to(folder)
    }


def _archive(members: Mapping[str, Blob]) -> Blob:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for name, content in members.items():
            packed.writestr(zipfile.ZipInfo(name, _DAY_ONE), content.read())
    return Blob.of(archive.getvalue())
