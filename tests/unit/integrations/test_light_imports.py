"""What an integration loads of ours: itself and what it judges with. What a call needs is loaded by the call.

Their own packages are not installed here, so modules are tried by what they import of ours at their top.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ioi_eval.integrations

pytestmark = pytest.mark.once

FOLDER = Path(ioi_eval.integrations.__file__).parent
LARGE = {"aiohttp", "datasets", "httpx", "jinja2", "numpy", "pandas", "pyarrow", "torch", "tqdm", "typer"}
ENTRIES = {"open_r1", "trl", "verl", "eval_protocol", "lm_eval", "inspect_ai", "verifiers"}
READING = {"benchmarks", "problems"}  # problems, and the names of benchmarks
JUDGING = {"engines.embedded", "judge", "integrations.runtime", "integrations.rewards"}
OTHERS = {"cli", "engines.piston", "engines.ray", "generate", "reports", "runs.work", "server"}


def imported_by(name: str) -> str:
    """The statements that import names of ours when it is imported itself: a name may load a module."""
    tree = ast.parse((FOLDER / f"{name}.py").read_text())
    found = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return "\n".join(ast.unparse(node) for node in found if (node.module or "").startswith("ioi_eval"))


@pytest.mark.parametrize(
    ("name", "never"),
    [
        ("open_r1", READING | JUDGING),  # a client of one's own needs no judge
        ("eval_protocol", READING),
        ("lm_eval", READING),
        ("trl", READING),
        ("verl", READING),
        ("verl_manager", READING),
        ("tasks", READING | JUDGING),
        ("verifiers", READING | JUDGING),
        ("inspect_ai", JUDGING),  # it has a task for each benchmark
    ],
)
def test_an_integration_loads_no_other_and_nothing_large(name: str, never: set[str]) -> None:
    imports = imported_by(name)
    assert imports
    code = f"{imports}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not LARGE & loaded
    assert (
        not {f"ioi_eval.integrations.{other}" for other in ENTRIES - {name.partition("_manager")[0]}} & loaded
    )
    assert not {f"ioi_eval.{module}" for module in OTHERS | never} & loaded
