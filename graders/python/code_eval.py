"""Runs a program with its tests in one text, as the metric code_eval does: it passes if it comes to its end.

What follows this file is one call of `main`. The text is no `__main__`, and has no input or output: what it
prints goes nowhere, and what it reads is an error. At its end the word is written that came as input.

The tests share this process with what they test: a program that sets out to find that word may do so. One
that merely ends early, whatever its exit code, has not passed.
"""

import io
import os
import sys

LONGEST = 250  # bytes of an error


class WriteOnly(io.StringIO):
    def read(self, *args):
        raise OSError

    readline = readlines = read

    def readable(self):
        return False


def main(source):
    tell, leave, out, word = os.write, os._exit, os.dup(1), sys.stdin.buffer.read()
    os.dup2(2, 1)
    sys.stdin = sys.stdout = sys.stderr = WriteOnly()
    os._exit = lambda status: leave(3)
    try:
        exec(source, {})
    except BaseException as error:
        tell(2, b"\n" + said(error).encode("utf-8", "replace")[:LONGEST])
        leave(1)
    tell(out, word)
    leave(0)


def said(error):
    try:
        return f"{error}"
    except Exception:  # one that cannot be shown
        return type(error).__name__
