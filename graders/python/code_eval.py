"""Runs a program and its tests as a single source, like the metric code_eval: it passes if nothing fails.

A call of `main` is appended to this file. The source does not run as `__main__` and has no input or output:
its prints are discarded, and reading is an error. Finally the token from standard input is written.

The tests share this process with the program, which may find the token if it tries to. A program that only
exits early, with any exit code, has not passed.
"""

import io
import os
import sys

MAX_ERROR = 250  # in bytes


class WriteOnlyStream(io.StringIO):
    def read(self, *args):
        raise OSError

    readline = readlines = read

    def readable(self):
        return False


def main(source):
    write, exit_process, output_fd, token = os.write, os._exit, os.dup(1), sys.stdin.buffer.read()
    os.dup2(2, 1)
    sys.stdin = sys.stdout = sys.stderr = WriteOnlyStream()
    os._exit = lambda status: exit_process(3)
    try:
        exec(source, {})
    except BaseException as error:
        write(2, b"\n" + format_error(error).encode("utf-8", "replace")[:MAX_ERROR])
        exit_process(1)
    write(output_fd, token)
    exit_process(0)


def format_error(error):
    try:
        return f"{error}"
    except Exception:  # str() of the submission's error can fail as well
        return type(error).__name__
