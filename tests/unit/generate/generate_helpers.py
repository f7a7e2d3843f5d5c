"""Model requests for problems that do not exist."""

from __future__ import annotations

from support.model_requests import ModelRequest


def ask(key: str = "p#0", **fields: object) -> ModelRequest:
    values = {"problem_id": "p", "prompt": "Solve it.", "language": "python", "number": 0, **fields}
    return ModelRequest(key=key, **values)  # type: ignore[arg-type]
