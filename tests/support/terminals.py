"""Runs commands in a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import termios
import threading
from pathlib import Path

from support.command_line import CommandLine
from support.warm_command import warm_command


def written_to_terminal(
    cli: CommandLine, width: int, *arguments: str | Path, ends: int = 0, **variables: str
) -> str:
    """Return everything that a command writes to a terminal of this width, escape sequences included.

    Args:
        cli: the command line.
        width: columns of the terminal.
        arguments: the command and its arguments.
        ends: expected exit code.
        variables: environment variables to set.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    environment = {name: value for name, value in cli.env.items() if name not in ("COLUMNS", "NO_COLOR")}
    written: list[bytes] = []
    reader = threading.Thread(target=lambda: written.extend(iter(lambda: _read(ours), b"")))
    reader.start()
    argument_list = list(map(str, arguments))
    code = warm_command().run_in(
        theirs, argument_list, cli.folder, {**environment, "TERM": "xterm", **variables}
    )
    os.close(theirs)
    reader.join()
    os.close(ours)
    output = b"".join(written).decode()
    assert code == ends, output
    return output


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the last process has closed it
        return b""
