"""build.py OUTPUT MAIN [MODULE...]: hands over what is run, if the interpreter that will run it takes it.
build.py: only says whether it takes a source, whose name is the first line of standard input.

One source is handed over byte for byte; several become an archive, which the interpreter runs by __main__.py.

The first line printed is a hash of what the program does: of its byte code without the numbers of lines,
where nothing in it can see these or its own text. Else the line is empty. It comes before all that a source
can make the interpreter say.

Every program is built, so this imports nothing that takes time.
"""

import _string
import io
import sys


def words(text):
    return frozenset(text.split())


LONGEST = (
    1 << 16
)  # bytes of a source that may be equal to others: reading a longer one costs memory of its own
POSITIONS = words("co_filename co_firstlineno co_linetable co_lines co_lnotab co_positions")

# Modules of which a program may use all that is public, and is neither a module itself nor HIDDEN.
WHOLE = words(
    """
    array bisect cmath collections copy dataclasses datetime decimal enum fractions functools heapq itertools
    math numbers operator queue random re statistics string time typing
    """
)
PARTS = {
    "__future__": words("annotations"),
    "sys": words("exit getrecursionlimit maxsize setrecursionlimit stdin stdout"),
    "threading": words("Thread stack_size"),
}
REPLACED = words("stdin stdout")  # of sys; what becomes its stderr gets tracebacks
CALLED = words("__init__ __lt__ __le__ __eq__ __hash__ __len__ __iter__ __next__ __getitem__")
OWN = words("__name__ __main__")

# What leads to files, to code that is made of text, to attributes by names in texts, or to modules that do.
HIDDEN = words(
    """
    BufferedReader FileIO Formatter ForwardRef TextIOWrapper attrgetter breakpoint builtins codecs compile
    copyright credits delattr detach eval exec fdopen format_map get_type_hints getattr globals help importlib
    inspect io license linecache locals logging make_dataclass methodcaller open open_code os raw setattr
    singledispatch singledispatchmethod sys threading tokenize traceback types vars warnings with_traceback
    """
)
FRAMES = ("ag_", "co_", "cr_", "f_", "gi_", "tb_")  # how attributes of these and of their like begin


def main():
    if sys.argv[1:]:
        build(*sys.argv[1:])
    else:
        check(*sys.stdin.buffer.read().split(b"\n", 1))


def check(path, data):
    """Says `taken` and the hash of a source that the interpreter takes without a word, else nothing."""
    sys.stderr = io.StringIO()
    code = compile(data, path.decode(), "exec")
    if not sys.stderr.getvalue():
        print("taken", equality(data, path.decode(), code))


def build(output, path, *modules):
    said, sys.stderr = sys.stderr, io.StringIO()
    sys.tracebacklimit = 0  # a source's error is told without where we are
    try:
        data = read(path)
        code = compile(data, path, "exec")
        content = pack(path, data, modules) if modules else data
        print("" if modules else equality(data, path, code), flush=True)
    finally:
        warnings, sys.stderr = sys.stderr.getvalue(), said
        print(warnings, end="", file=said)
    with open(output, "wb") as stream:
        stream.write(content)


def read(path):
    with open(path, "rb") as stream:
        return stream.read()


def pack(main, data, modules):
    import os
    import zipfile

    archive, folders = io.BytesIO(), {}
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(zipfile.ZipInfo("__main__.py"), data)
        for path in modules:
            data = read(path)
            compile(data, path, "exec")
            name = os.path.relpath(path, os.path.dirname(main))
            packed.writestr(zipfile.ZipInfo(name), data)
            for place in (place for place, letter in enumerate(name) if letter == "/"):
                folders.setdefault(name[: place + 1])
        for folder in folders:  # which packages without an __init__.py are found by
            packed.writestr(zipfile.ZipInfo(folder), b"")
    return archive.getvalue()


# --- which programs are equal ------------------------------------------------------------------------


def equality(data, path, code):
    try:
        if len(data) > LONGEST or not is_blind(compile(data, path, "exec", 0x400)):  # PyCF_ONLY_AST
            return ""
        text = sys.version + told(code)
        return sha256()(text.encode("ascii", "backslashreplace")).hexdigest()
    except (RecursionError, MemoryError):  # valid, and more than this can look through
        return ""


def sha256():
    """Straight from where it is: hashlib loads OpenSSL."""
    try:
        from _sha2 import sha256
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256
    return sha256


def told(value):
    """A constant, or code with all its constants, as a text; as its type comes along, 1 is not True."""
    if hasattr(value, "co_consts"):
        names = [name for name in dir(value) if name.startswith("co_") and name not in POSITIONS]
        parts = [(name, getattr(value, name)) for name in names]
        value = [(name, told(part)) for name, part in parts if not callable(part)]
    elif isinstance(value, tuple):
        value = [told(one) for one in value]
    elif isinstance(value, frozenset):
        value = sorted(told(one) for one in value)
    elif type(value) is int:
        value = hex(value)  # there is no limit to its digits
    return type(value).__name__ + repr(value)


def is_blind(tree):
    """Whether all that the program names is known not to lead to its own text or the numbers of its lines."""
    if not hasattr(sys, "stdlib_module_names"):
        return False
    nodes = walk(tree)
    modules, owners = {}, set()
    for node in nodes:
        if type(node).__name__ == "Import":
            modules.update((alias.asname or alias.name, alias.name) for alias in node.names)
        elif type(node).__name__ == "Attribute":
            owners.add(id(node.value))
    return all(is_fine(node, modules, owners) for node in nodes)


def walk(tree):
    nodes = [tree]
    for node in nodes:
        for name in node._fields:
            value = getattr(node, name, None)
            nodes += [
                one for one in (value if isinstance(value, list) else [value]) if hasattr(one, "_fields")
            ]
    return nodes


def is_fine(node, modules, owners):
    """`modules` by the names that they are imported as; `owners`: values that an attribute is asked of."""
    kind = type(node).__name__
    if kind == "Import":
        return all(alias.name in WHOLE or alias.name in PARTS for alias in node.names)
    if kind == "ImportFrom":
        return not node.level and all(is_part(node.module, alias.name) for alias in node.names)
    if kind == "Name":  # a module is only asked for what it has: under no other name it is lost sight of
        return id(node) in owners if node.id in modules else is_plain(node.id, OWN)
    if kind == "Attribute":
        return is_fine_attribute(node, modules)
    if kind == "MatchClass":
        return all(is_plain(name) for name in node.kwd_attrs)
    if kind == "Constant" and isinstance(node.value, str):
        return "__" not in node.value or node.value in OWN
    return True


def is_fine_attribute(node, modules):
    owner = node.value
    if type(owner).__name__ == "Name" and owner.id in modules:
        stays = type(node.ctx).__name__ == "Load" or node.attr in REPLACED
        return stays and is_part(modules[owner.id], node.attr)
    if node.attr == "format":
        return isinstance(getattr(owner, "value", None), str) and is_fine_format(owner.value)
    return is_plain(node.attr, CALLED)


def is_fine_format(text):
    """It asks no value for an attribute or an item."""
    try:
        fields = [(name, spec) for _, name, spec, _ in _string.formatter_parser(text) if name is not None]
    except ValueError:
        return False
    return all((not name or name.isalnum()) and is_fine_format(spec) for name, spec in fields)


def is_plain(name, more=frozenset()):
    return name in more or not (name.startswith(("__", *FRAMES)) or name in HIDDEN)


def is_part(module, name):
    if module in PARTS:
        return name in PARTS[module]
    public = name == "*" or not name.startswith("_")
    own = name == module or name not in sys.stdlib_module_names
    return module in WHOLE and public and own and (is_plain(name) or (module, name) == ("re", "compile"))


if __name__ == "__main__":
    main()
