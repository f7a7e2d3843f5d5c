"""Runs a command in a new interpreter, with the compilers that its parent process has found."""

from __future__ import annotations

import os
import sys
from importlib import import_module

if __name__ == "__main__":
    with os.fdopen(int(sys.argv.pop(1)), "rb") as told:
        # This script's folder is in sys.path.
        import_module("cached_lookups").install_cached_lookups(
            told=told.read()
        )  # this script's folder is in sys.path
    sys.path[0] = os.getcwd()  # noqa: PTH109 - like `python -m`
    import_module("ioi_eval.cli").main()
