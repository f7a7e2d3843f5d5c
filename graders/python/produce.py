"""Runs a generator, a validator or a solution of a package in a sandbox, and stores its output.

produce.py OUTPUT INPUT READ WRITTEN INTERACTOR PROGRAM ARGUMENT...

INPUT is the file for its standard input. READ is the name of a file that the program reads instead of its
standard input. WRITTEN is the file that it writes instead of its standard output, or `stderr`. INTERACTOR
is a program that it talks to; then WRITTEN is the interactor's file. Each of them may be `-` for none.
"""

import os
import shutil
import subprocess
import sys

# Name of the script that tests after a program's failure if the machine is at fault. It uses no interactor.
CONTROL = "ioi-eval-control.py"


def make_command(program_path):
    """Copy a program into the current folder, and return the command that runs the copy."""
    # Copy the program, because the path may be a link that only this process can follow.
    program_copy = f"own-{os.path.basename(program_path)}"
    shutil.copyfile(program_path, program_copy)
    os.chmod(program_copy, 0o700)
    return [sys.executable, "-I", program_copy] if program_path.endswith(".py") else [f"./{program_copy}"]


def run_interactor(interactor, program_command):
    shutil.copyfile(input_file, "input.txt")
    interactor_command = [*make_command(interactor), "input.txt", written]
    with subprocess.Popen(
        interactor_command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as interactor_process:
        with subprocess.Popen(
            program_command, stdin=interactor_process.stdout, stdout=interactor_process.stdin
        ) as solution_process:
            interactor_process.stdin.close()
            interactor_process.stdout.close()
        return solution_process.returncode or interactor_process.wait()


output, input_file, read, written, interactor, program, *arguments = sys.argv[1:]
if program == CONTROL:  # the control script uses no file that the program before it may have removed
    input_file = read = written = interactor = "-"
judge_files = {}
for name in (__file__, CONTROL):
    with open(name, "rb") as file:
        judge_files[name] = file.read()
command = make_command(program)
if read != "-":
    shutil.copyfile(input_file, read)
    input_file = "-"
if interactor != "-":
    open(written, "wb").close()
    code = run_interactor(interactor, command)
else:
    with open(os.devnull if input_file == "-" else input_file, "rb") as source, open(output, "wb") as target:
        streams = {"stdout": target}
        if written == "stderr":
            streams = {"stdout": subprocess.DEVNULL, "stderr": target}
        code = subprocess.run([*command, *arguments], stdin=source, **streams).returncode
for name, content in judge_files.items():
    if not os.path.exists(name):
        with open(name, "wb") as file:
            file.write(content)
        print(f"the program removed {os.path.basename(name)} from its folder", file=sys.stderr)
if not code and written not in ("-", "stderr"):
    if os.path.isfile(written):
        shutil.copyfile(written, output)
    else:
        print(f"the program did not write {written}", file=sys.stderr)
        sys.exit(1)
if code:
    print(f"the program ended with exit code {code}", file=sys.stderr)
sys.exit(1 if code else 0)
