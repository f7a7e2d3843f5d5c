"""`ioi-eval`, and the same as `python -m ioi_eval`."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Have a Ctrl-C end a command also while its modules are loaded: a traceback would say nothing."""
    try:
        from ioi_eval.cli import main as command

        command()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
