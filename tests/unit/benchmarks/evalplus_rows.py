"""Rows with the schema of HumanEval+."""

from __future__ import annotations

from typing import Any

PLAIN = """
import numpy as np

def is_floats(x) -> bool:
    return isinstance(x, float)

def assertion(out, exp, atol):
    exact_match = out == exp
    if atol == 0 and is_floats(exp):
        atol = 1e-6
    if not exact_match and atol != 0:
        assert np.allclose(out, exp, rtol=1e-07, atol=atol)
    else:
        assert exact_match
"""


def checked(inputs: str, results: str, *, atol: str = "0", head: str = PLAIN) -> str:
    """Return a test of HumanEval+."""
    return f"""{head}
def check(candidate):
    inputs = {inputs}
    results = {results}
    for i, (inp, exp) in enumerate(zip(inputs, results)):
        assertion(candidate(*inp), exp, {atol})
"""


def humaneval(test: str, **columns: Any) -> dict[str, Any]:
    return {
        "task_id": "HumanEval/7",
        "prompt": "def total(numbers):\n    '''Add.'''\n",
        "canonical_solution": "    return sum(numbers)\n",
        "entry_point": "total",
        "test": test,
        **columns,
    }


SUMS = humaneval(checked("[[[1, 2]], [[0.1, 0.2]], [[]]]", "[3, 0.30000000000000004, 0]"))
