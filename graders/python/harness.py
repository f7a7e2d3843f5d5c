"""Calls a function of a submission and writes its result as JSON to a descriptor.

    python3 harness.py SUBMISSION FUNCTION DESCRIPTOR < ARGUMENTS

ARGUMENTS is a JSON list. An object in it whose names are all whole numbers becomes a dict with these numbers
as keys, because JSON has no such keys. Or ARGUMENTS is a Python tuple literal; then the result distinguishes
tuples and sets from lists (`encode_with_type_tags`). FUNCTION is a function of the submission, a method of
its class Solution, or Class.method.

The submission shares this process and may change anything in it. It gains nothing by that, because the
expected result is not here, and the result is a string that is compared elsewhere. The harness only ensures
that a returned result is written despite threads, atexit, __del__ or a changed json module.

Without a result, the output is wrong: after sys.exit(0), or if the result cannot be written as JSON. An
exception means exit code 1.
"""

import importlib
import json
import os
import re
import sys
import traceback
import types
from collections.abc import Iterator, Set, ValuesView

# Modules that are available without an import, with all their public names, as in common test harnesses.
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
NAME = "submission"  # the name is not __main__, so that a submission's main block does not run
SOLUTION = "Solution"
RECURSION = 500_000
WHOLE = re.compile(r"-?[0-9]+").fullmatch


def main():
    path, function_name, output_fd = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    source = sys.stdin.buffer.read()
    is_literal = source.startswith(b"(")
    arguments = (
        parse_literals(source)
        if is_literal
        else [convert_integer_keys(value) for value in json.loads(source)]
    )
    sys.argv[:] = [path]
    encode_json = json.JSONEncoder(allow_nan=False, default=convert_numpy_number).encode
    exit_process, write = os._exit, os.write  # stored here, because the submission may replace them
    try:
        result = call_function(load_submission(path), function_name, arguments)
    except SystemExit as end:
        exit_process(find_exit_code(end.code))
    except BaseException:
        write(2, format_exception())
        exit_process(1)
    try:
        encoded_result = encode_json(
            encode_with_type_tags(result, encode_json) if is_literal else result
        ).encode("ascii")
    except BaseException:
        write(2, b"the result cannot be written as JSON\n")
        exit_process(0)
    while encoded_result:
        encoded_result = encoded_result[write(output_fd, encoded_result) :]
    exit_process(0)


def convert_integer_keys(value):
    if not isinstance(value, dict) or not all(WHOLE(key) for key in value):
        return value
    return {int(key): item for key, item in value.items()}


def parse_literals(source):
    import ast  # imported here because ast is slow to import and rarely needed

    return ast.literal_eval(source.decode())


def convert_numpy_number(value):
    """Return a numpy scalar as a Python number. Raises TypeError for anything else."""
    if getattr(value, "shape", None) != ():
        raise TypeError
    return value.item()


def encode_with_type_tags(value, encode_json):
    """Return a JSON value that distinguishes tuples, sets and other types from lists.

    `encode_json` returns a JSON value as text. ioi_eval/rules/json_tests.py encodes answers in the same way.
    """

    def tag_items(items):
        return [encode_with_type_tags(item, encode_json) for item in items]

    def sort_items(items):
        return sorted(items, key=lambda item: encode_json(convert_whole_numbers_to_int(item)))

    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, complex):
        return (
            {"complex": tag_items([value.real, value.imag])}
            if value.imag
            else encode_with_type_tags(value.real, encode_json)
        )
    if isinstance(value, list):
        return tag_items(value)
    if isinstance(value, tuple):
        return {"tuple": tag_items(value)}
    if isinstance(value, Set):  # sets, frozensets and the keys of a dict
        return {"set": sort_items(tag_items(value))}
    if isinstance(value, dict):
        return {"dict": sort_items(map(tag_items, value.items()))}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": value.hex()}
    if isinstance(value, range):
        return {"range": [value.start, value.stop, value.step]}
    # An iterator equals no other value, but an assertion may iterate over it.
    if isinstance(value, (Iterator, ValuesView)):
        return {"iterator": tag_items(value)}
    if hasattr(value, "__index__"):  # integers, including the integers of numpy
        return int(value)
    number = float(value)
    return number if number - number == 0 else {"float": repr(number)}


def convert_whole_numbers_to_int(value):
    """Return a value in which equal numbers (1, 1.0, True) have equal JSON forms: whole numbers are ints."""
    if isinstance(value, list):
        return [convert_whole_numbers_to_int(item) for item in value]
    if isinstance(value, dict):
        return {name: convert_whole_numbers_to_int(item) for name, item in value.items()}
    return int(value) if isinstance(value, (bool, int, float)) and value == int(value) else value


def load_submission(path):
    """Return the submission as a module that is not `__main__`."""
    sys.setrecursionlimit(RECURSION)
    with open(path, "rb") as stream:
        compiled_code = compile(stream.read(), path, "exec", dont_inherit=True)
    module = types.ModuleType(NAME)
    # Provide these names as builtins, so that the submission's own names override them, such as a function
    # `gcd`.
    module.__dict__["__builtins__"] = collect_provided_names()
    # The module must be registered, because libraries such as dataclasses look up the module of a class.
    sys.modules[NAME] = module
    exec(compiled_code, module.__dict__)
    return module


def collect_provided_names():
    """Return the provided names. Names of modules override their members, and builtins override both."""
    modules = {name: importlib.import_module(name) for name in MODULES}
    module_members = {}
    for module in modules.values():
        module_members.update((name, getattr(module, name)) for name in list_public_names(module))
    builtin_names = vars(importlib.import_module("builtins"))
    return {**module_members, **modules, **builtin_names}


def list_public_names(module):
    return getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]


def call_function(module, function_name, arguments):
    return find_function(module, function_name)(*arguments)


def find_function(module, function_name):
    class_name, _, name = function_name.rpartition(".")
    if not class_name and hasattr(getattr(module, SOLUTION, None), name):
        class_name = SOLUTION
    return getattr(getattr(module, class_name)() if class_name else module, name)


def find_exit_code(exit_argument):
    if exit_argument is None:
        return 0
    return exit_argument & 0xFF if isinstance(exit_argument, int) else 1


def format_exception():
    try:
        return traceback.format_exc(limit=-3).encode(errors="replace")
    except BaseException:
        return b"an exception without a string\n"


main()
