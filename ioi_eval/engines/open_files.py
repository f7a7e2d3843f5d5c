"""The limit of files and connections that this process may have open."""

from __future__ import annotations

import resource

_BEGAN_WITH = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
_UNLIMITED = 1 << 30  # number of open files that means no limit; the kernel has fewer descriptors


def raise_open_file_limit() -> int:
    """Raise the limit of open files to the hard limit, and return the new limit."""
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))
    return _UNLIMITED if hard_limit == resource.RLIM_INFINITY else hard_limit


def make_open_file_limit_command() -> str:
    """Return a shell command that restores the limit of open files with which this process started.

    Other programs may need the old limit: a program that uses `select` fails with descriptors above 1,023.
    """
    limit = "unlimited" if _BEGAN_WITH == resource.RLIM_INFINITY else str(_BEGAN_WITH)
    return f"ulimit -Sn {limit}\n"
