"""A command in an interpreter of its own that looks for no compilers: who starts it tells which there are."""

from __future__ import annotations

import os
import sys
from importlib import import_module

if __name__ == "__main__":
    with os.fdopen(int(sys.argv.pop(1)), "rb") as told:
        import_module("once").ask_once(told=told.read())  # this file is a script, beside which the other lies
    sys.path[0] = os.getcwd()  # noqa: PTH109 - as that of `python -m`
    import_module("ioi_eval.cli").main()
