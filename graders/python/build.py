"""Builds a Python program: checks that the interpreter compiles it, and writes the file that will be run.

build.py OUTPUT MAIN [MODULE...]: a single source is copied unchanged; several become an archive with the main
source as __main__.py.
build.py: prints whether the interpreter compiles a source from standard input without warnings. The source's
name is the first line.

It runs for every program, so it imports nothing that is slow.
"""

import io
import sys


def main():
    if sys.argv[1:]:
        build_program(*sys.argv[1:])
    else:
        check_source(*sys.stdin.buffer.read().split(b"\n", 1))


def check_source(path, data):
    """Print `taken` if the interpreter compiles the source without a warning, otherwise nothing."""
    sys.stderr = io.StringIO()
    compile(data, path.decode(), "exec")
    if not sys.stderr.getvalue():
        print("taken")


def build_program(output, path, *modules):
    sys.tracebacklimit = 0  # so that the report of a syntax error contains no frames of this script
    data = read_file(path)
    compile(data, path, "exec")
    content = pack_sources(path, data, modules) if modules else data
    with open(output, "wb") as stream:
        stream.write(content)


def read_file(path):
    with open(path, "rb") as stream:
        return stream.read()


def pack_sources(main, data, modules):
    import os
    import zipfile

    buffer, folders = io.BytesIO(), {}
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("__main__.py"), data)
        for path in modules:
            data = read_file(path)
            compile(data, path, "exec")
            name = os.path.relpath(path, os.path.dirname(main))
            archive.writestr(zipfile.ZipInfo(name), data)
            for end in (index for index, letter in enumerate(name) if letter == "/"):
                folders.setdefault(name[: end + 1])
        # The importer needs an entry in sys.path_importer_cache for each package without an __init__.py.
        for folder in folders:
            archive.writestr(zipfile.ZipInfo(folder), b"")
    return buffer.getvalue()


if __name__ == "__main__":
    main()
