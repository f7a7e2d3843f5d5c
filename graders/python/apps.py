"""Runs a program like eval-protocol's evaluator of APPS, and writes its output or its error.

A call of `main` with the program's source is appended to this file. The source becomes the body of a
function: its imports come first, its other names are local, and standard input and output are strings in
memory, so sys.stdin lacks the attribute `buffer`. Programs that depend on these details behave as in that
evaluator.

The program shares this process and may change anything in it. It gains nothing by that, because the result
is a string that is compared elsewhere. Exit code 0 means an output, or an error in its place. Any other code
means that the program has terminated its process.
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

MARK = "ioi_eval apps: "  # prefix of an error that this script reports
MAX_ERROR, MAX_TRACEBACK = 4000, 8000  # in characters
MODULES = (string, re, datetime, collections, heapq, bisect, copy, math, random, statistics, itertools)
MODULES += (functools, operator, io, sys, json)
OVERRIDING_MODULES = (builtins, typing)  # modules whose names override the names of MODULES
NAME, FUNCTION = "tmp_sol_std_input", "code"
IMPORTS = ("from ", "import ")
AS_PROGRAM = "__name__ == '__main__'"


class NullStream(io.RawIOBase):
    """A stream that discards output while the program is loaded."""

    def writable(self):
        return True

    def write(self, data):
        return len(data)


def main(source, load_only=False):
    write, exit_process, output_fd = os.write, os._exit, os.dup(1)
    os.dup2(2, 1)
    input_text = sys.stdin.buffer.read().decode("utf-8", "surrogatepass")
    sys.stdin, sys.stdout = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(NullStream())
    os._exit = lambda status: exit_process(3)  # fail with exit code 3 if the program calls os._exit
    try:
        unwritten_output = run_program(source, input_text, load_only).encode("utf-8", "surrogatepass")
        while unwritten_output:
            unwritten_output = unwritten_output[write(output_fd, unwritten_output) :]
        exit_process(0)
    except BaseException:
        exit_process(2)


def run_program(source, input_text, load_only):
    """Return the program's output, or the error that stopped it."""
    error_code = -2
    try:
        program_function = getattr(load_module(source), FUNCTION)
        error_code = -1
        return "" if load_only else call_with_input(program_function, input_text)
    except Exception as error:
        try:
            return MARK + encode_json(make_error_report(error_code, error))
        except Exception:  # str() of the program's error can fail as well
            return MARK + encode_json({"code": None})


def make_error_report(error_code, error):
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    program_start = trace.find('File "<string>"')
    if program_start >= 0:
        trace = "Traceback (most recent call last):\n  " + trace[program_start:]
    return {"code": error_code, "error": repr(error)[:MAX_ERROR], "traceback": trace[:MAX_TRACEBACK]}


encode_json = json.JSONEncoder().encode  # stored here, because the program may replace json.dumps


# --- turning the program into a function -------------------------------------------------------------


def load_module(source):
    module = types.ModuleType(NAME)
    exec(compile(wrap_in_function(source), "<string>", "exec"), module.__dict__)
    return module


def wrap_in_function(source):
    """Return the source of a module in which the program is the body of a function."""
    header_lines = [f"from {module.__name__} import *" for module in MODULES + OVERRIDING_MODULES]
    header_lines += [f"import {module.__name__}" for module in MODULES]
    header_lines.append("sys.setrecursionlimit(6*10**5)")
    program = textwrap.dedent(remove_main_guard(source))
    body_lines = []
    for line in program.split("\n"):
        stripped_line = line.strip()
        if stripped_line.startswith(IMPORTS):
            header_lines.append(stripped_line)
        else:
            body_lines.append("\t" + line)
    if "def main(" in program and not re.search(r"^\s*main\s*\(\s*\)", program, re.MULTILINE):
        body_lines.append("\tmain()")
    return "\n".join(
        [*header_lines, "stdin = sys.stdin", "stdout = sys.stdout", f"def {FUNCTION}():", *body_lines]
    )


def remove_main_guard(source):
    """Return the program without its last `if __name__ == '__main__'`, but with the body of it."""
    try:
        tree = ast.parse(source)
        last_statement = tree.body[-1]
        if isinstance(last_statement, ast.If) and ast.unparse(last_statement.test).strip() == AS_PROGRAM:
            module_parts = (
                ast.Module(body=body, type_ignores=[]) for body in (tree.body[:-1], last_statement.body)
            )
            return "\n".join(map(ast.unparse, module_parts))
    except Exception:
        # The program cannot be rewritten, so it runs unchanged and reports its own error.
        pass
    return source


# --- running the program -----------------------------------------------------------------------------


def call_with_input(program_function, input_text):
    set_stream_input(sys.stdin, input_text)
    sys.stdin = io.StringIO(input_text)
    builtins.open = lambda *args, **options: make_fake_open(input_text)(*args, **options)
    sys.stdout = captured_output = io.StringIO()
    captured_output.close = lambda: None
    with contextlib.suppress(SystemExit):
        program_function()
    return captured_output.getvalue()


def set_stream_input(stream, input_text):
    """Replace a stream's read methods, which then return the input.

    The program may have stored the stream while it was loaded.
    """
    remaining_lines = iter(input_text.split("\n"))
    stream.read = lambda *args: input_text
    stream.readlines = lambda *args: [line + "\n" for line in input_text.split("\n")]
    stream.readline = lambda *args: next(remaining_lines) + "\n"


@functools.cache
def make_fake_open(input_text):
    """Return a replacement of `open` for which every file contains the input."""
    # Imported here because mock is slow to import, and few programs open files.
    from unittest.mock import mock_open

    return mock_open(read_data=input_text)
