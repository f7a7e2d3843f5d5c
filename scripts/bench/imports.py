"""CPU seconds of ours in importing an integration: the least of fresh processes.

Packages of others are not installed here. So what a module imports of ours at its top is imported, and
that is measured.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "ioi_eval" / "integrations"
ENTRIES = ("eval_protocol", "inspect_ai", "lm_eval", "open_r1", "trl", "verifiers", "verl", "verl_manager")
PROCESSES = 5
CODE = "import time; before = time.process_time(); import {}; print(time.process_time() - before)"


def imported_by(name: str) -> list[str]:
    tree = ast.parse((FOLDER / f"{name}.py").read_text())
    found = [node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)]
    return [module for module in found if module.startswith("ioi_eval")]


def seconds(modules: list[str]) -> float:
    code = CODE.format(", ".join(modules))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    for name in ENTRIES:
        modules = imported_by(name)
        seconds(modules)  # byte code
        print(f"{name:16} {min(seconds(modules) for _ in range(PROCESSES)):.2f} s")


if __name__ == "__main__":
    main()
