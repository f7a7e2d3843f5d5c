"""Builds a program of a package by its own script `build`, and starts what is called `run` there.

scripts.py OUTPUT FOLDER: packs a copy of the folder, in which `build` ran, into the archive OUTPUT, with this
file. python3 OUTPUT ARGUMENT...: unpacks it, and becomes `run` with these arguments.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

BUILT = "built"


def files_below(folder):
    return [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]


def allow(folder):
    for file in files_below(folder):
        os.chmod(file, 0o755)


def build(output, folder, control=""):
    """`control` is a program that says that Python itself works here."""
    if control:
        shutil.copyfile(control, output)
        return
    shutil.copytree(folder, BUILT)  # what was laid here may be links that only this process can follow
    allow(BUILT)
    if os.path.exists(f"{BUILT}/build"):
        code = subprocess.run(["./build"], cwd=BUILT, stdin=subprocess.DEVNULL).returncode
        if code:
            sys.exit(f"error: the script build ended with {code}")
    if not os.path.exists(f"{BUILT}/run"):
        sys.exit("error: the script build made no file called run")
    with zipfile.ZipFile(output, "w") as packed:
        packed.write(__file__, "__main__.py")
        for file in files_below(BUILT):
            packed.write(file)


def run(archive, *arguments):
    folder = tempfile.mkdtemp()
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    allow(folder)
    program = os.path.join(folder, BUILT, "run")
    os.execv(program, [program, *arguments])


if zipfile.is_zipfile(sys.argv[0]):
    run(*sys.argv)
else:
    build(*sys.argv[1:])
