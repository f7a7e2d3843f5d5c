"""Runs a generator, a validator or a solution of a package in a box, and keeps what it writes.

produce.py OUTPUT GIVEN READ WRITTEN PROGRAM ARGUMENT...

GIVEN is a file for its standard input, or -. READ is the name under which it finds that instead, WRITTEN the
file that it writes instead of its standard output, or stderr; or each of them -.
"""

import os
import shutil
import subprocess
import sys

output, given, read, written, program, *arguments = sys.argv[1:]
own = f"own-{program}"  # what was laid here may be a link that only this process can follow
shutil.copyfile(program, own)
os.chmod(own, 0o700)
command = [sys.executable, "-I", own] if program.endswith(".py") else [f"./{own}"]
if read != "-":
    shutil.copyfile(given, read)
    given = "-"
with open(os.devnull if given == "-" else given, "rb") as source, open(output, "wb") as kept:
    streams = {"stdout": subprocess.DEVNULL, "stderr": kept} if written == "stderr" else {"stdout": kept}
    code = subprocess.run([*command, *arguments], stdin=source, **streams).returncode
if not code and written not in ("-", "stderr"):
    shutil.copyfile(written, output)
if code:
    print(f"it ended with {code}", file=sys.stderr)
sys.exit(1 if code else 0)
