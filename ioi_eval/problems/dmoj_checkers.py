"""DMOJ's checkers: its own by name, a `check` function in Python, a program in a language of its own."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ioi_eval.model.values import Blob, Checker, CheckerKind, NamedBlob
from ioi_eval.problems.dmoj_programs import read_program
from ioi_eval.problems.fields import Fields, nearest, shown
from ioi_eval.problems.package import is_plain, source_text
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
