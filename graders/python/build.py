"""build.py OUTPUT MAIN [MODULE...]: hands over what is run, if the interpreter that will run it takes it.
build.py: only says whether it takes a source, whose name is the first line of standard input.

One source is handed over byte for byte; several become an archive, which the interpreter runs by __main__.py.

Every program is built, so this imports nothing that takes time.
"""

import io
import sys


def main():
    if sys.argv[1:]:
        build(*sys.argv[1:])
    else:
        check(*sys.stdin.buffer.read().split(b"\n", 1))


def check(path, data):
    """Say `taken` of a source that the interpreter takes without a word, else nothing."""
    sys.stderr = io.StringIO()
    compile(data, path.decode(), "exec")
    if not sys.stderr.getvalue():
        print("taken")


def build(output, path, *modules):
    sys.tracebacklimit = 0  # a source's error is told without where we are
    data = read(path)
    compile(data, path, "exec")
    content = pack(path, data, modules) if modules else data
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


if __name__ == "__main__":
    main()
