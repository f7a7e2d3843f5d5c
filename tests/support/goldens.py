"""Golden files: the expected texts of tests whose input and output are files.

`.venv/bin/pytest --update FILE` (the plugin inline-snapshot) writes them; a reviewer reads the difference.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from inline_snapshot import external_file


def golden(path: Path) -> str:
    """Return the text of a golden file. With `--update`, a text that is compared with it replaces it."""
    return external_file(path, format=".txt")


def outcomes(cases: Path, outcome: Callable[[dict[str, Any], int], Iterable[str]]) -> str:
    """Return the text for `NAME.expected`: each case in `NAME.jsonl`, and the lines of its outcome.

    `outcome` gets a case and its number.
    """
    lines = list[str]()
    with cases.open() as stream:
        for number, line in enumerate(stream):
            case = json.loads(line)
            lines += [f"== {case['case']}", *outcome(case, number)]
    return "".join(f"{line}\n" for line in lines)
