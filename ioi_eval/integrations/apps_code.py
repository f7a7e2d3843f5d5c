"""Python code in what a model said about an APPS problem, and the surroundings that it expects to run in."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from ioi_eval.extraction import behind_futures, extract
from ioi_eval.languages import find

# What solutions of APPS take for granted.
SURROUNDINGS = (
    "import traceback, sys, json, ast, collections, copy, datetime, functools, heapq, io, itertools, math, "
    "operator, random, re, string, statistics, typing\n"
    "sys.setrecursionlimit(6 * 10**5)\n"
)
_STATEMENT = re.compile(
    r"^(?:(?:import|from|def|class|async|for|while|if|try|with|print)\b|[A-Za-z_][\w, ]*=)", re.M
)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_MOST = 50  # places at which code may begin, that are tried


def code_of(said: str) -> str | None:
    """The last fenced block; else all, or what follows the explanation or stands in it, if that parses."""
    language = find("python")
    found = extract(said, language)
    if found is not None:
        return found
    return next((code for code in _guesses(said) if _parses(code)), None)


def _guesses(said: str) -> Iterator[str]:
    for number, place in enumerate(_STATEMENT.finditer(said)):
        if number == _MOST:
            break
        yield said[place.start() :]
    yield from (code for code in reversed(_INLINE.findall(said)) if "(" in code)


def _parses(code: str) -> bool:
    return _tree(code) is not None


def _tree(code: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def with_surroundings(code: str) -> str:
    """The code behind the usual imports."""
    return behind_futures(code, SURROUNDINGS)
