"""The command `ioi-eval`, which `python -m ioi_eval` also runs."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line. A Ctrl-C while its modules are loaded exits without a traceback."""
    try:
        from ioi_eval.cli import main as command

        command()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
