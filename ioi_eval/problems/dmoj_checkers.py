"""DMOJ's programs and files: checkers by name, `check` functions in Python, programs in other languages."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple

from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import find
from ioi_eval.model.values import Blob, Checker, CheckerKind, NamedBlob
from ioi_eval.problems import testlib
from ioi_eval.problems.archive import extracted, open_cache
from ioi_eval.problems.fields import Faults, Fields, nearest, shown
from ioi_eval.problems.package import is_plain, language_of, source_text
from ioi_eval.store import private_folder
from ioi_eval.store.resources import graders

BRIDGED, STANDARD = "bridged", "standard"
# The judge's own. graders/python/dmoj_checker.py has them.
_OWN = (
    *(STANDARD, "easy", "floats", "floatsabs", "floatsrel", "identical", "linecount", "linematches"),
    *("rstripped", "sorted", "unordered"),
)
_SCRIPT = "dmoj_checker.py"
# What the judge tells a `check` function of a submission, and nobody here does.
_ASKS = re.compile(r"\b(submission_source|submission_language|execution_time)\b")


class Chosen(NamedTuple):
    """The checker of one case."""

    name: str
    args: Mapping[str, Any]


def chosen(fields: Fields) -> Chosen:
    said = fields.values.get("checker") or STANDARD
    if isinstance(said, str):
        return Chosen(said, {})
    inner = fields.inner("checker")
    args = inner.values.get("args") or {}
    if not isinstance(args, Mapping):
        inner.fault("args", f"{shown(args)} is not an object", "Write `args: {precision: 6}`")
        args = {}
    return Chosen(inner.text("name", STANDARD), args)


def told(one: Chosen, values: Mapping[str, Any]) -> tuple[str, ...]:
    """What the script is told of a case."""
    name = module_of(one.name) if "." in one.name else one.name
    return (json.dumps({"check": name, "args": one.args, **values}, sort_keys=True, default=str),)


def module_of(name: str) -> str:
    """Under a name that is no other module's."""
    return "package_" + re.sub(r"\W", "_", name.removesuffix(".py"))


def read_checker(folder: Path, header: Fields, every: Mapping[str, Chosen], points: float) -> Checker:
    """One for all cases. `points`: what the case that is worth most is worth."""
    names = {one.name for one in every.values()}
    for name in sorted(names):
        _check_name(folder, header, name)
    if names <= {STANDARD}:
        return Checker(kind=CheckerKind.WORD_LINES)
    if BRIDGED not in names:
        return _script(folder, names)
    said = {json.dumps(one.args, sort_keys=True, default=str) for one in every.values()}
    if len(names) > 1 or len(said) > 1:
        header.fault("checker", "its cases have different programs", "Give all cases the same checker")
    args = next(one.args for one in every.values() if one.name == BRIDGED)
    program = read_program(folder, header.under("checker.args", args))
    if program is None:
        return Checker()
    return Checker(kind=program.kind, sources=program.sources, language=program.language, full=points)


def _check_name(folder: Path, header: Fields, name: str) -> None:
    if "." not in name:
        if name not in (*_OWN, BRIDGED):
            header.fault("checker", f"{name!r} is not known", nearest(name, (*_OWN, BRIDGED)))
        return
    path = folder / name
    if not name.endswith(".py") or not is_plain(name) or not path.is_file():
        header.fault("checker", f"there is no file {name!r} in the package", "Name one in Python")
    elif broken := _broken(source_text(path)):
        header.fault("checker", f"{name} does not compile: {broken}", "Correct it")
    elif asked := _ASKS.search(source_text(path)):
        words = f"{name} asks for {asked[1]}, which checkers are not told here"
        header.fault("checker", words, "Let it judge by the output alone")


def _broken(source: str) -> str:
    """Why Python does not take a source; empty: it does."""
    try:
        ast.parse(source)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error)
    return ""


def _script(folder: Path, names: set[str]) -> Checker:
    own = [name for name in sorted(names) if "." in name and (folder / name).is_file()]
    script = NamedBlob(name=_SCRIPT, content=Blob.of_file(graders() / "python" / _SCRIPT))
    modules = (NamedBlob(name=f"{module_of(name)}.py", content=Blob.of_file(folder / name)) for name in own)
    return Checker(kind=CheckerKind.CMS, sources=(script, *modules), language="python")


# --- programs in languages of their own --------------------------------------------------------------

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


# --- the files ---------------------------------------------------------------------------------------


class Data:
    """Opens files by name. Their line ends become plain ones, as in the judge, unless the data is binary."""

    def __init__(self, folder: Path, header: Fields, faults: Faults) -> None:
        self._folder, self._header, self._faults = folder, header, faults

    @cached_property
    def _archive(self) -> Path | None:
        """The content of the archive, in the cache until this process ends."""
        name = self._header.text("archive", "")
        path = self._folder / name
        if not name or ".." in PurePosixPath(name).parts or not path.is_file():
            if name:
                self._header.fault("archive", f"there is no file {name!r} in the package", "Add it")
            return None
        try:
            return extracted(path, open_cache(private_folder() / "packages")).folder
        except InputError as error:
            self._header.fault("archive", error.problem, error.remedy)
            return None

    def names(self) -> list[str]:
        """Of the files in the archive."""
        if (folder := self._archive) is None:
            return []
        return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())

    def path(self, name: str) -> Path | None:
        plain = PurePosixPath(name)
        if plain.is_absolute() or ".." in plain.parts or not plain.parts:
            return None
        for folder in (self._folder, self._archive):
            if folder is not None and (folder / plain).is_file():
                return folder / plain
        return None

    def content(self, name: str, *, binary: bool = True) -> Blob | None:
        path = self.path(name)
        if path is None:
            return None
        if binary:
            return Blob.of_file(path)
        content = path.read_bytes()
        plain = with_line_ends(content)
        return Blob.of_file(path) if plain == content else Blob.of(plain)


def with_line_ends(content: bytes) -> bytes:
    """Every line ends with a newline, the last one too."""
    plain = re.sub(rb"\r\n?", b"\n", content)
    return plain if plain.endswith(b"\n") or not plain else plain + b"\n"
