"""A DMOJ package's programs: checkers and interactors in languages of their own, and what is linked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import NamedTuple

from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import find
from ioi_eval.model.values import Blob, CheckerKind, NamedBlob
from ioi_eval.problems import testlib
from ioi_eval.problems.dmoj_data import Data
from ioi_eval.problems.fields import Fields, shown
from ioi_eval.problems.package import is_plain, language_of, source_text

# Programs by the way in which they speak. Of another one its name is told.
_SPEAKS: Mapping[str, CheckerKind] = MappingProxyType(
    {"default": CheckerKind.EXIT_CODE, "testlib": CheckerKind.TESTLIB, "coci": CheckerKind.TESTLIB}
)

_DEFINED = "#define SIGNATURE_GRADER\n"  # in front of all sources


class Written(NamedTuple):
    """A program of the package and how it speaks."""

    sources: tuple[NamedBlob, ...]
    language: str
    kind: CheckerKind


def read_program(folder: Path, said: Fields) -> Written | None:
    """An interactor or a checker in a language of its own: `files`, `lang`, `type`."""
    kind = said.choice("type", tuple(_SPEAKS), "default")
    for key in ("flags", "args_format_string"):
        if said.values.get(key):
            said.fault(key, "programs are built and started as others are", "Take it out")
    listed = said.values.get("files")
    names = [listed] if isinstance(listed, str) else listed if isinstance(listed, list) else []
    lying = [name for name in names if isinstance(name, str) and (folder / name).is_file() and _inside(name)]
    if not names or lying != names:
        said.fault("files", f"{shown(listed)} is not in the package", "Name its source, headers behind it")
        return None
    sources = [name for name in lying if language_of(name)]
    if len(sources) != 1:
        said.fault("files", f"{len(sources)} sources", "Name one source; what it includes may stand beside")
        return None
    language = _language(said, sources[0])
    try:
        source = folder / sources[0]
        program = testlib.program(sources[0], source_text(source), source.parent, folder, folder.parent)
    except InputError as error:
        said.fault("files", error.problem, testlib.REMEDY)
        return None
    others = (name for name in lying if name != sources[0] and name != testlib.NAME)
    beside = tuple(NamedBlob(name=name, content=Blob.of_file(folder / name)) for name in others)
    return Written((*program, *beside), language, _SPEAKS[kind])


def _inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def _language(said: Fields, source: str) -> str:
    usual = language_of(source) or ""
    name = said.text("lang", usual)
    try:
        language = find(name.lower()).name
    except InputError:
        language = name
    if language not in ("c++", "c", "python"):
        said.fault("lang", f"it is in {name}", "Expected C++, C or Python")
        return "c++"
    return language


def read_graders(header: Fields, data: Data) -> tuple[tuple[NamedBlob, ...], str]:
    """What submissions are compiled with, and the lines in front of them."""
    if not header.has("signature_grader"):
        return (), ""
    said = header.inner("signature_grader")
    texts: dict[str, bytes] = {}
    for key in ("entry", "header"):
        name = said.text(key)
        content = data.content(name) if name else None
        if name and (content is None or not is_plain(name)):
            said.fault(key, f"there is no file {name!r} in the package", "Add it, or name the one that is")
        texts[key] = content.read() if content is not None else b""
    entry, name = said.text("entry", "grader.cpp"), said.text("header", "header.h")
    suffixes = (".c", ".cpp") if entry.endswith(".c") else (".cpp",)
    lines = f'{_DEFINED}#include "{name}"\n'
    if not said.flag("allow_main", False):
        lines += "#define main main_of_the_submission\n"
    files: dict[str, bytes] = {
        f"graders/grader{suffix}": _DEFINED.encode() + b"#line 1\n" + texts["entry"] for suffix in suffixes
    }
    files[f"graders/{name}"] = texts["header"]
    return tuple(NamedBlob(name=name, content=Blob.of(text)) for name, text in files.items()), lines
