"""Asks for problems that are not there."""

from __future__ import annotations

from support.asks import Ask


def ask(key: str = "p#0", **fields: object) -> Ask:
    values = {"problem_id": "p", "prompt": "Solve it.", "language": "python", "number": 0, **fields}
    return Ask(key=key, **values)  # type: ignore[arg-type]
