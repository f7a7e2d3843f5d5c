"""Runs a generator, a validator or a solution of a package in a box, and keeps what it writes.

produce.py OUTPUT GIVEN PROGRAM ARGUMENT...     GIVEN is a file for its standard input, or -
"""

import os
import shutil
import subprocess
import sys

output, given, program, *arguments = sys.argv[1:]
own = f"own-{program}"  # what was laid here may be a link that only this process can follow
shutil.copyfile(program, own)
os.chmod(own, 0o700)
command = [sys.executable, "-I", own] if program.endswith(".py") else [f"./{own}"]
with open(os.devnull if given == "-" else given, "rb") as source, open(output, "wb") as written:
    code = subprocess.run([*command, *arguments], stdin=source, stdout=written).returncode
if code:
    print(f"it ended with {code}", file=sys.stderr)
sys.exit(1 if code else 0)
