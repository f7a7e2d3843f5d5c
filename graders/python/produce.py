"""Runs a generator, a validator or a solution of a package in a box, and keeps what it writes.

produce.py OUTPUT GIVEN READ WRITTEN INTERACTOR PROGRAM ARGUMENT...

GIVEN is a file for its standard input, or -. READ is the name under which it finds that instead, WRITTEN the
file that it writes instead of its standard output, or stderr; or each of them -. INTERACTOR is a program that
reads what it writes and writes what it reads, and WRITTEN that one's file; or -.
"""

import os
import shutil
import subprocess
import sys

CONTROL = "ioi-eval-control.py"  # is tried in the place of a program that fails, and talks to nobody


def command_of(program):
    own = f"own-{os.path.basename(program)}"  # what was laid here may be a link, for this process alone
    shutil.copyfile(program, own)
    os.chmod(own, 0o700)
    return [sys.executable, "-I", own] if program.endswith(".py") else [f"./{own}"]


def talk(interactor, command):
    shutil.copyfile(given, "input.txt")
    partner = [*command_of(interactor), "input.txt", written]
    with subprocess.Popen(partner, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        with subprocess.Popen(command, stdin=other.stdout, stdout=other.stdin) as own:
            other.stdin.close()
            other.stdout.close()
        return own.returncode or other.wait()


output, given, read, written, interactor, program, *arguments = sys.argv[1:]
if program == CONTROL:  # needs nothing that a program before it may have removed
    given = read = written = interactor = "-"
judges = {}
for name in (__file__, CONTROL):
    with open(name, "rb") as file:
        judges[name] = file.read()
command = command_of(program)
if read != "-":
    shutil.copyfile(given, read)
    given = "-"
if interactor != "-":
    open(written, "wb").close()
    code = talk(interactor, command)
else:
    with open(os.devnull if given == "-" else given, "rb") as source, open(output, "wb") as kept:
        streams = {"stdout": subprocess.DEVNULL, "stderr": kept} if written == "stderr" else {"stdout": kept}
        code = subprocess.run([*command, *arguments], stdin=source, **streams).returncode
for name, content in judges.items():
    if not os.path.exists(name):
        with open(name, "wb") as file:
            file.write(content)
        print(f"it removed {os.path.basename(name)} from its folder", file=sys.stderr)
if not code and written not in ("-", "stderr"):
    if os.path.isfile(written):
        shutil.copyfile(written, output)
    else:
        print(f"it did not write {written}", file=sys.stderr)
        sys.exit(1)
if code:
    print(f"it ended with {code}", file=sys.stderr)
sys.exit(1 if code else 0)
