"""Repairs: additions that other harnesses make, by option, named in the rows that they changed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Annotated

from ioi_eval.model.options import Said
from ioi_eval.model.values import Problem, TaskType, Value
from ioi_eval.rules.extraction import Notation, parse

# As LiveCodeBench's harness has it. Names of the language come last, because modules have some like them;
# and modules win over what is called like them (datetime, copy, bisect).
_MODULES = (
    *("string", "re", "datetime", "collections", "heapq", "bisect", "copy", "math", "random"),
    *("statistics", "itertools", "functools", "operator", "io", "sys", "json"),
)
PYTHON_IMPORTS = "".join(
    (
        *(f"from {name} import *\n" for name in (*_MODULES, "builtins", "typing")),
        f"import {', '.join(_MODULES)}\nsys.setrecursionlimit(500_000)\n",
    )
)
_INCLUDE = re.compile(r'^[ \t]*+#[ \t]*+include[ \t]*+["<]([^">\n]*+)[">]', re.M)


class Repairs(Value):
    """The additions to make to code that lacks them. All off: the code is judged as it was written."""

    add_includes: Annotated[bool, Said(help="Repair: add #include <bits/stdc++.h>.")] = False
    add_header: Annotated[
        bool,  # graders/<id>.h
        Said(help="Repair: add the problem's own header."),
    ] = False
    add_namespace: Annotated[bool, Said(help="Repair: add using namespace std;")] = False
    add_imports: Annotated[bool, Said(help="Repair: add what benchmarks import for Python programs.")] = False


def repair(code: str, problem: Problem, language: Notation, options: Repairs) -> tuple[str, tuple[str, ...]]:
    """The repaired code and the names of the options that changed it, in the order of the lines added."""
    if language.syntax == "python":
        # A function that is called finds these names already.
        called = problem.task_type is TaskType.FUNCTION
        if not options.add_imports or called or PYTHON_IMPORTS in code:
            return code, ()
        return behind_futures(code, PYTHON_IMPORTS), ("add_imports",)
    if not language.header:
        return code, ()
    lines = [(name, line) for name, line in _missing(code, problem, language) if getattr(options, name)]
    return "".join(line + "\n" for _, line in lines) + code, tuple(name for name, _ in lines)


def _missing(code: str, problem: Problem, language: Notation) -> Iterator[tuple[str, str]]:
    included = {name.rpartition("/")[2] for name in _INCLUDE.findall(code)}
    names = (file.name.rpartition("/")[2] for file in problem.grader_files)
    own = next((name for name in names if name.lower() == f"{problem.id}.h".lower()), None)
    if language.header.rpartition("/")[2] not in included:
        yield "add_includes", f"#include <{language.header}>"
    if own and own not in included:
        yield "add_header", f'#include "{own}"'
    # Code that names std:: itself meant to; the whole namespace could make its own names ambiguous.
    if not re.search(r"\busing\s++namespace\s++std\b|\bstd\s*+::", code):
        yield "add_namespace", "using namespace std;"


def behind_futures(code: str, lines: str) -> str:
    """Python with lines in front; `from __future__` must stay first, a docstring need not."""
    tree = parse(code) if "__future__" in code else None
    futures = (
        part.end_lineno or 0
        for part in (tree.body if tree else ())
        if isinstance(part, ast.ImportFrom) and part.module == "__future__"
    )
    own, ahead = code.split("\n"), max(futures, default=0)
    return "".join(f"{line}\n" for line in own[:ahead]) + lines + "\n".join(own[ahead:])
