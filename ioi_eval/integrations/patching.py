"""Repairs of what models write, under the names that pipelines use. Nobody else calls them."""

from __future__ import annotations

import ast
import warnings

from ioi_eval.errors import InputError
from ioi_eval.extraction import Repairs, repair
from ioi_eval.languages import find
from ioi_eval.models import Blob, NamedBlob, Problem

_ALL = Repairs(add_includes=True, add_header=True, add_namespace=True)

# Names that newer Pythons have no more, put back where code of older ones looks for them; and long integers
# may be printed.
_OLDER_PYTHONS = """\
import collections, collections.abc, fractions, math, sys, time
fractions.gcd = math.gcd
time.clock = time.perf_counter
for name in collections.abc.__all__: setattr(collections, name, getattr(collections.abc, name))
if hasattr(sys, "set_int_max_str_digits"): sys.set_int_max_str_digits(0)
del collections, fractions, math, sys, time, name
"""


def add_includes(code: str, problem_id: str) -> str:
    """The big header, the problem's own and `using namespace std;`, each where it is missing."""
    own = NamedBlob(name=f"graders/{problem_id}.h", content=Blob.of(""))
    return _with_includes(code, Problem(id=problem_id, grader_files=(own,)))


def patch_code(text: str, lang: str) -> str:
    """What `text` lacks to run with today's compilers and interpreters; as it is in other languages."""
    try:
        language = find(lang) if text and lang else None
    except InputError:
        return text
    if language is None:
        return text
    if language.header:
        return _with_includes(text, Problem(id="patched"))
    return _for_newer_pythons(text) if language.syntax == "python" else text


def _with_includes(code: str, problem: Problem) -> str:
    return repair(code, problem, find("c++"), _ALL)[0] if code else code


def _for_newer_pythons(text: str) -> str:
    """The additions go where a program's first statement may: behind its docstring and __future__ imports."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    ahead = 0
    for statement in body:
        if not _stays_first(statement):
            break
        ahead = statement.end_lineno or ahead
    lines = text.splitlines(keepends=True)
    head = "".join(lines[:ahead])
    return head + ("\n" if head and not head.endswith("\n") else "") + _OLDER_PYTHONS + "".join(lines[ahead:])


def _stays_first(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.ImportFrom):
        return statement.module == "__future__"
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
