"""Calls one function of a submission and writes what it returns, as JSON, to a descriptor.

    python3 harness.py SUBMISSION FUNCTION DESCRIPTOR < ARGUMENTS

ARGUMENTS is a JSON list; an object in it whose names are all whole numbers has these for keys, because JSON
has no other way to say so. Or it is a tuple as Python writes it: then tuples and sets are told from lists,
here and in the result (`tagged`). FUNCTION is a function of the submission, a method of its class Solution,
or Class.method. The submission shares this process and may do to it what it likes. That earns nothing: the
expected result is not here, and what leaves is a text that is compared elsewhere. All that matters here is
that a submission which returns is heard, whatever it left behind: threads, atexit, __del__, a changed json.

No result is a wrong one: sys.exit(0), or what JSON has no word for. An exception ends with exit code 1.
"""

import importlib
import json
import os
import re
import sys
import traceback
import types
from collections.abc import Iterator, Set, ValuesView

# As in the harnesses that such submissions are written for: all public names of these, and they themselves.
MODULES = (
    "string",
    "re",
    "datetime",
    "collections",
    "heapq",
    "bisect",
    "copy",
    "math",
    "random",
    "statistics",
    "itertools",
    "functools",
    "operator",
    "io",
    "sys",
    "time",
    "json",
    "typing",
)
NAME = "submission"  # not __main__: what a program does when it is run by itself is not asked for
SOLUTION = "Solution"
RECURSION = 500_000
WHOLE = re.compile(r"-?[0-9]+").fullmatch


def main():
    path, function, descriptor = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    written = sys.stdin.buffer.read()
    literal = written.startswith(b"(")
    arguments = literals(written) if literal else [with_whole_keys(value) for value in json.loads(written)]
    sys.argv[:] = [path]
    encode = json.JSONEncoder(allow_nan=False, default=plain).encode
    leave, tell = os._exit, os.write  # a submission may put its own in their places
    try:
        result = call(load(path), function, arguments)
    except SystemExit as end:
        leave(exit_code(end.code))
    except BaseException:
        tell(2, last_words())
        leave(1)
    try:
        text = encode(tagged(result, encode) if literal else result).encode("ascii")
    except BaseException:
        tell(2, b"the result cannot be written as JSON\n")
        leave(0)
    while text:
        text = text[tell(descriptor, text) :]
    leave(0)


def with_whole_keys(value):
    if not isinstance(value, dict) or not all(WHOLE(key) for key in value):
        return value
    return {int(key): item for key, item in value.items()}


def literals(written):
    import ast  # takes time, and few need it

    return ast.literal_eval(written.decode())


def plain(value):
    """Single numbers of numpy, which are no arrays, are equal to Python's."""
    if getattr(value, "shape", None) != ():
        raise TypeError
    return value.item()


def tagged(value, encode):
    """As JSON that says what is no list. ioi_eval/rules/json_tests.py writes answers in the same way."""

    def each(items):
        return [tagged(item, encode) for item in items]

    def in_order(items):
        return sorted(items, key=lambda item: encode(spelled_alike(item)))

    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, complex):
        return {"complex": each([value.real, value.imag])} if value.imag else tagged(value.real, encode)
    if isinstance(value, list):
        return each(value)
    if isinstance(value, tuple):
        return {"tuple": each(value)}
    if isinstance(value, Set):  # also frozen ones, and the keys of a dict
        return {"set": in_order(each(value))}
    if isinstance(value, dict):
        return {"dict": in_order(map(each, value.items()))}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": value.hex()}
    if isinstance(value, range):
        return {"range": [value.start, value.stop, value.step]}
    if isinstance(value, (Iterator, ValuesView)):  # equal to nothing, but an assertion may go through it
        return {"iterator": each(value)}
    if hasattr(value, "__index__"):  # also whole numbers of numpy
        return int(value)
    number = float(value)
    return number if number - number == 0 else {"float": repr(number)}


def spelled_alike(value):
    """Equal values have equal texts then: 1, 1.0 and True are one number."""
    if isinstance(value, list):
        return [spelled_alike(item) for item in value]
    if isinstance(value, dict):
        return {name: spelled_alike(item) for name, item in value.items()}
    return int(value) if isinstance(value, (bool, int, float)) and value == int(value) else value


def load(path):
    """The submission as a module that is not the main one."""
    sys.setrecursionlimit(RECURSION)
    with open(path, "rb") as stream:
        code = compile(stream.read(), path, "exec", dont_inherit=True)
    module = types.ModuleType(NAME)
    # Below its own names: `gcd` as the function of a problem has to be the program's.
    module.__dict__["__builtins__"] = usual_names()
    sys.modules[NAME] = module  # dataclasses and the like look it up
    exec(code, module.__dict__)
    return module


def usual_names():
    """Modules win over what is called like them (datetime, copy, bisect), the language over all."""
    modules = {name: importlib.import_module(name) for name in MODULES}
    names = {}
    for module in modules.values():
        names.update((name, getattr(module, name)) for name in public_names(module))
    own = vars(importlib.import_module("builtins"))
    return {**names, **modules, **own}


def public_names(module):
    return getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]


def call(module, function, arguments):
    return find(module, function)(*arguments)


def find(module, function):
    owner, _, name = function.rpartition(".")
    if not owner and hasattr(getattr(module, SOLUTION, None), name):
        owner = SOLUTION
    return getattr(getattr(module, owner)() if owner else module, name)


def exit_code(code):
    if code is None:
        return 0
    return code & 0xFF if isinstance(code, int) else 1


def last_words():
    try:
        return traceback.format_exc(limit=-3).encode(errors="replace")
    except BaseException:
        return b"an exception that cannot be shown\n"


main()
