"""Importing an integration loads only itself and the judge.

Calls import further modules. The other packages are not installed here, so the test reads the imports at the
top of the modules.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import ioi_eval.integrations

FOLDER = Path(ioi_eval.integrations.__file__).parent
LARGE = {"aiohttp", "datasets", "httpx", "jinja2", "numpy", "pandas", "pyarrow", "torch", "tqdm", "typer"}
ENTRIES = {"open_r1", "trl", "verl", "eval_protocol", "lm_eval", "inspect_ai", "verifiers"}
READING = {"benchmarks", "problems"}  # problems, and the names of benchmarks
JUDGING = {"engines.embedded", "judge", "integrations.runtime", "integrations.rewards"}
OTHERS = {"cli", "engines.piston", "plugins.ray", "generate", "reports", "runs.work", "server"}


def imported_by(name: str) -> str:
    """Return the import statements of a module that run when it is imported."""
    tree = ast.parse((FOLDER / f"{name}.py").read_text())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return "\n".join(ast.unparse(node) for node in imports if (node.module or "").startswith("ioi_eval"))


NEVER = {
    "open_r1": READING | JUDGING,  # a custom client needs no judge
    "eval_protocol": READING,
    "lm_eval": READING,
    "trl": READING,
    "verl": READING,
    "verl_manager": READING,
    "tasks": READING | JUDGING,
    "verifiers": READING | JUDGING,
    "inspect_ai": JUDGING,  # it imports the names of all benchmarks
}
# Each in a separate process that has loaded only Python's modules and the modules common to all.
EACH = """
import asyncio, json, os, sys
import ioi_eval.errors, ioi_eval.models, ioi_eval.scoring
for name, imports in json.loads(sys.argv[1]).items():
    if os.fork() == 0:
        exec(imports)
        print(name, *sys.modules, flush=True)
        os._exit(0)
    assert os.wait()[1] == 0
"""


@pytest.fixture(scope="module")
def loaded() -> dict[str, set[str]]:
    """Return the modules that each integration has loaded."""
    imports = {name: imported_by(name) for name in NEVER}
    assert all(imports.values())
    command = [sys.executable, "-c", EACH, json.dumps(imports)]
    completed = subprocess.run(command, capture_output=True, text=True, check=True)
    return {line.split()[0]: set(line.split()[1:]) for line in completed.stdout.splitlines()}


@pytest.mark.parametrize("name", NEVER)
def test_integration_loads_no_other_integration_or_large_package(
    loaded: dict[str, set[str]], name: str
) -> None:
    assert not LARGE & loaded[name]
    other_integrations = {
        f"ioi_eval.integrations.{other}" for other in ENTRIES - {name.partition("_manager")[0]}
    }
    assert not other_integrations & loaded[name]
    assert not {f"ioi_eval.{module}" for module in OTHERS | NEVER[name]} & loaded[name]
