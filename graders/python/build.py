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


def check_source(path, source):
    """Print `taken` if the interpreter compiles the source without a warning, otherwise nothing."""
    sys.stderr = io.StringIO()
    compile(source, path.decode(), "exec")
    if not sys.stderr.getvalue():
        print("taken")


def build_program(output_path, path, *module_paths):
    sys.tracebacklimit = 0  # so that the report of a syntax error contains no frames of this script
    main_source = read_file(path)
    compile(main_source, path, "exec")
    content = pack_sources(path, main_source, module_paths) if module_paths else main_source
    with open(output_path, "wb") as stream:
        stream.write(content)


def read_file(path):
    with open(path, "rb") as stream:
        return stream.read()


def pack_sources(main_path, main_source, module_paths):
    import os
    import zipfile

    buffer, folders = io.BytesIO(), {}
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("__main__.py"), main_source)
        for module_path in module_paths:
            module_source = read_file(module_path)
            compile(module_source, module_path, "exec")
            archive_name = os.path.relpath(module_path, os.path.dirname(main_path))
            archive.writestr(zipfile.ZipInfo(archive_name), module_source)
            for end in (position for position, letter in enumerate(archive_name) if letter == "/"):
                folders.setdefault(archive_name[: end + 1])
        # The importer needs an entry in sys.path_importer_cache for each package without an __init__.py.
        for folder in folders:
            archive.writestr(zipfile.ZipInfo(folder), b"")
    return buffer.getvalue()


if __name__ == "__main__":
    main()
