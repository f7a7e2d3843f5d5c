"""Runs a manager that is written in Python.

If its submission has exited, a compiled manager is killed by SIGPIPE, which the proctor recognizes. Python
raises BrokenPipeError instead. If the manager does not catch it, this script kills itself with SIGPIPE, so
that it does not count as a failed manager.
"""

import os
import runpy
import signal
import sys


def exit_like_compiled_manager(error_type, error, traceback):
    if issubclass(error_type, BrokenPipeError):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
    sys.__excepthook__(error_type, error, traceback)


sys.excepthook = exit_like_compiled_manager
runpy.run_module("ioi_eval_manager", run_name="__main__", alter_sys=True)
