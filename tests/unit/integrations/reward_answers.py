"""Replies of a model, and tests for them."""

from __future__ import annotations

import json

TESTS = json.dumps({"inputs": ["2\n", "5\n", "9\n"], "outputs": ["4", "10", "18"]})


def fenced(code: str) -> str:
    return f"<think>print(0)</think>Here it is:\n```python\n{code}\n```\n"


RIGHT = fenced("print(2 * int(input()))")
WRONG = fenced("print('no')")
