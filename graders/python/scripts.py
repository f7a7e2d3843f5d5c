"""Builds a program of a package with the package's script `build`, and runs its `run`.

scripts.py OUTPUT FOLDER: runs `build` in a copy of the folder, and packs the copy and this file into the
archive OUTPUT. python3 OUTPUT ARGUMENT...: unpacks the archive and executes `run` with these arguments.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

BUILT = "built"


def list_files(top_folder):
    return [os.path.join(path, name) for path, _, names in os.walk(top_folder) for name in names]


def make_files_executable(folder):
    for path in list_files(folder):
        os.chmod(path, 0o755)


def build_archive(archive_path, folder, test_program_path=""):
    """Build the archive of a submission's files.

    If `test_program_path` is set, the archive is a copy of this program, which only tests that Python works.
    """
    if test_program_path:
        shutil.copyfile(test_program_path, archive_path)
        return
    # Copy the files, because they may be links that only this process can follow.
    shutil.copytree(folder, BUILT)
    make_files_executable(BUILT)
    if os.path.exists(f"{BUILT}/build"):
        exit_code = subprocess.run(["./build"], cwd=BUILT, stdin=subprocess.DEVNULL).returncode
        if exit_code:
            sys.exit(f"error: the script build exited with code {exit_code}")
    if not os.path.exists(f"{BUILT}/run"):
        sys.exit("error: the script build did not create a file called run")
    with zipfile.ZipFile(archive_path, "w") as archive:
        archive.write(__file__, "__main__.py")
        for path in list_files(BUILT):
            archive.write(path)


def run_archive(archive_path, *arguments):
    folder = tempfile.mkdtemp()
    with zipfile.ZipFile(archive_path) as archive:
        archive.extractall(folder)
    make_files_executable(folder)
    program_path = os.path.join(folder, BUILT, "run")
    os.execv(program_path, [program_path, *arguments])


if zipfile.is_zipfile(sys.argv[0]):
    run_archive(*sys.argv)
else:
    build_archive(*sys.argv[1:])
