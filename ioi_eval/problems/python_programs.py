"""Programs of packages in Python that cannot run, such as those of Python 2: found without running them."""

from __future__ import annotations

import ast
import builtins
import platform
import re
import warnings
from collections.abc import Iterator, Sequence, Set
from pathlib import PurePosixPath
from typing import NamedTuple

import msgspec

from ioi_eval.model.languages import LANGUAGES, find
from ioi_eval.model.values import NamedBlob, Problem
from ioi_eval.rules.languages import grader_of

_REMEDY = "Write it in Python 3"
_OLD_NAMES = frozenset(
    {"basestring", "execfile", "long", "raw_input", "reduce", "unichr", "unicode", "xrange"}
)  # of Python 2 alone
_OLD_MODULES = frozenset(
    {"ConfigParser", "HTMLParser", "Queue", "StringIO", "cPickle", "cStringIO", "commands", "sets", "urllib2"}
)


class Finding(NamedTuple):
    """A file of a package that Python cannot run, or that fails in some places."""

    file: str
    problem: str  # with what Python writes on standard error
    fails: bool  # False: only if it comes to that place
    remedy: str = _REMEDY


def unrunnable(problem: Problem) -> Iterator[Finding]:
    """Yield what is wrong with the problem's checker, manager and grader, as far as they are in Python."""
    for program in (problem.checker, problem.manager, problem.grader):
        if program and program.sources and find(program.language).syntax == "python":
            yield from _of_program(program.sources)


def without_broken_graders(problem: Problem) -> tuple[Problem, Finding | None]:
    """Return the problem without Python if its grader in Python cannot run, and what is wrong with that.

    A problem with no other grader stays as it is.
    """
    name = grader_of(problem, find("python"))
    grader = next((file for file in problem.grader_files if name and file.name == name), None)
    finding = next((one for one in _of_file(grader, frozenset()) if one.fails), None) if grader else None
    others = (grader_of(problem, language) for language in LANGUAGES if language.syntax != "python")
    if finding is None or not any(others):
        return problem, finding
    pythons = [language.name for language in LANGUAGES if language.syntax == "python"]
    reasons = dict.fromkeys(pythons, f"{finding.file}: {finding.problem}")
    kept = tuple(solution for solution in problem.solutions if solution.language not in reasons)
    left_out = {**problem.left_out, **reasons}
    return msgspec.structs.replace(problem, left_out=left_out, solutions=kept), finding._replace(fails=False)


def _of_program(sources: Sequence[NamedBlob]) -> Iterator[Finding]:
    """Yield what is wrong with the source that starts, and with those that it names."""
    main, *others = sources
    if PurePosixPath(main.name).suffix != ".py":  # a script `build` or `run`
        return
    text = main.content.read().decode(errors="replace")
    own = {PurePosixPath(part).stem for file in sources for part in PurePosixPath(file.name).parts}
    for file in (main, *(one for one in others if PurePosixPath(one.name).suffix == ".py")):
        if file is main or re.search(rf"\b{re.escape(PurePosixPath(file.name).stem)}\b", text):
            yield from _of_file(file, own)


def _of_file(file: NamedBlob, own: Set[str]) -> Iterator[Finding]:
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(file.content.read(), file.name)
            compile(tree, file.name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        row = f"line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
        words = error.msg if isinstance(error, SyntaxError) else str(error)
        what = f"Python {platform.python_version()} cannot run it: {row}{type(error).__name__}: {words}"
        yield Finding(file.name, what, fails=True)
        return
    except (RecursionError, MemoryError):
        return
    for module in sorted((_imported(tree) & _OLD_MODULES) - own):
        what = f"Python cannot run it: ModuleNotFoundError: No module named '{module}'"
        yield Finding(file.name, what, fails=True)
    if old := sorted(_unbound(tree) & _OLD_NAMES):
        what = f"it uses {', '.join(old)}, which Python 3 does not have: NameError if it comes to that"
        yield Finding(file.name, what, fails=False)


def _imported(tree: ast.Module) -> set[str]:
    """Return the modules that are imported at the top level, where nothing catches their absence."""
    names = [alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.partition(".")[0] for name in names}


def _unbound(tree: ast.Module) -> set[str]:
    """Return the names that are read and nowhere set; none if the program looks for missing names itself."""
    nodes = list(ast.walk(tree))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    if any(name.id == "NameError" for name in names):
        return set()
    bound = {name.id for name in names if not isinstance(name.ctx, ast.Load)} | set(dir(builtins))
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
    return {name.id for name in names} - bound
