"""Runs a program as eval-protocol's evaluator of APPS does, and says how it ended as that evaluator would.

What follows this file is one call of `main` with the program's source. It becomes a function's body: its
imports come first, its other names are local, and what it reads and writes are texts in memory, so that
sys.stdin has no buffer. Programs that rely on that, or fail of it, do the same here.

The program shares this process and may do to it what it likes. That earns nothing: what leaves is a text
that is compared elsewhere. Exit code 0: an output, or an error in its place. Any other: the program ended its
own process.
"""

import ast
import bisect
import builtins
import collections
import contextlib
import copy
import datetime
import functools
import heapq
import io
import itertools
import json
import math
import operator
import os
import random
import re
import statistics
import string
import sys
import textwrap
import traceback
import types
import typing

MARK = "ioi_eval apps: "  # an error begins with it
LONGEST = 4000, 8000  # characters of an error and its traceback
MODULES = (string, re, datetime, collections, heapq, bisect, copy, math, random, statistics, itertools)
MODULES += (functools, operator, io, sys, json)
LANGUAGE = (builtins, typing)  # whose names win
NAME, CALLED = "tmp_sol_std_input", "code"
IMPORTS = ("from ", "import ")
AS_PROGRAM = "__name__ == '__main__'"


class Nowhere(io.RawIOBase):
    """Takes what is written before it is the program's turn."""

    def writable(self):
        return True

    def write(self, data):
        return len(data)


def main(source, only_load=False):
    tell, leave, out = os.write, os._exit, os.dup(1)
    os.dup2(2, 1)
    given = sys.stdin.buffer.read().decode("utf-8", "surrogatepass")
    sys.stdin, sys.stdout = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(Nowhere())
    os._exit = lambda status: leave(3)  # a program that ends so has no result
    try:
        left = result(source, given, only_load).encode("utf-8", "surrogatepass")
        while left:
            left = left[tell(out, left) :]
        leave(0)
    except BaseException:
        leave(2)


def result(source, given, only_load):
    """Return what the program wrote, or which error ended it."""
    code = -2
    try:
        method = getattr(loaded(source), CALLED)
        code = -1
        return "" if only_load else run(method, given)
    except Exception as error:
        try:
            return MARK + as_json(told(code, error))
        except Exception:  # one that cannot be shown
            return MARK + as_json({"code": None})


def told(code, error):
    longest_error, longest_traceback = LONGEST
    words = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    start = words.find('File "<string>"')
    if start >= 0:
        words = "Traceback (most recent call last):\n  " + words[start:]
    return {"code": code, "error": repr(error)[:longest_error], "traceback": words[:longest_traceback]}


as_json = json.JSONEncoder().encode  # a program may put its own in the place of json.dumps


# --- the program as a function -----------------------------------------------------------------------


def loaded(source):
    module = types.ModuleType(NAME)
    exec(compile(wrapped(source), "<string>", "exec"), module.__dict__)
    return module


def wrapped(source):
    """Return the program as a function."""
    lines = [f"from {module.__name__} import *" for module in MODULES + LANGUAGE]
    lines += [f"import {module.__name__}" for module in MODULES]
    lines.append("sys.setrecursionlimit(6*10**5)")
    own = textwrap.dedent(unguarded(source))
    body = []
    for line in own.split("\n"):
        stripped = line.strip()
        if stripped.startswith(IMPORTS):
            lines.append(stripped)
        else:
            body.append("\t" + line)
    if "def main(" in own and not re.search(r"^\s*main\s*\(\s*\)", own, re.MULTILINE):
        body.append("\tmain()")
    return "\n".join([*lines, "stdin = sys.stdin", "stdout = sys.stdout", f"def {CALLED}():", *body])


def unguarded(source):
    """Return the program without the condition that it is run as one, where that stands last."""
    try:
        tree = ast.parse(source)
        last = tree.body[-1]
        if isinstance(last, ast.If) and ast.unparse(last.test).strip() == AS_PROGRAM:
            parts = (ast.Module(body=body, type_ignores=[]) for body in (tree.body[:-1], last.body))
            return "\n".join(map(ast.unparse, parts))
    except Exception:  # the program is run as it is, and tells what is wrong with it
        pass
    return source


# --- its turn ----------------------------------------------------------------------------------------


def run(method, given):
    hand_in(sys.stdin, given)
    sys.stdin = io.StringIO(given)
    builtins.open = lambda *args, **options: file_of(given)(*args, **options)
    sys.stdout = captured = io.StringIO()
    captured.close = lambda: None
    with contextlib.suppress(SystemExit):
        method()
    return captured.getvalue()


def hand_in(stream, given):
    """Let a stream that the program took hold of while it was loaded read the input, too."""
    lines = iter(given.split("\n"))
    stream.read = lambda *args: given
    stream.readlines = lambda *args: [line + "\n" for line in given.split("\n")]
    stream.readline = lambda *args: next(lines) + "\n"


@functools.cache
def file_of(given):
    """Return an `open` to which every file holds the input. Loads much, for the few that open files."""
    from unittest.mock import mock_open

    return mock_open(read_data=given)
