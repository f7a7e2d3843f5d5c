"""Starts a manager that is written in Python, as the other end of a submission's pipe.

A compiled manager whose submission has gone dies of a broken pipe, which the proctor understands. Python
makes an exception of that. A manager that does not expect it ends like a compiled one, and not like one that
is broken.
"""

import os
import runpy
import signal
import sys


def end(kind, error, trace):
    if issubclass(kind, BrokenPipeError):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
    sys.__excepthook__(kind, error, trace)


sys.excepthook = end
runpy.run_module("ioi_eval_manager", run_name="__main__", alter_sys=True)
