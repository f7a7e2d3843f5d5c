#!/usr/bin/env python3
"""Makes the tests, the subtasks and the submitted files of the examples that are not plain batch tasks.

    tools/examples/make_tasks.py [PROBLEM...]

Files that are written by hand (statements, solutions, managers, checkers) are not changed.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import comparison_inputs
import kattis_inputs
import task_inputs
from example_files import Files
from toolbox import PROBLEMS


def main(names: list[str], problems: Path = PROBLEMS) -> None:
    for make in (*task_inputs.ALL, *comparison_inputs.ALL, *kattis_inputs.ALL):
        if not names or make.__name__ in names:
            write(problems / make.__name__, make())


def write(folder: Path, files: Files) -> None:
    for generated_folder in (folder / "tests", folder / "subtasks"):
        shutil.rmtree(generated_folder, ignore_errors=True)
    for pattern in ("data/**/*.in", "data/**/*.ans", "solutions/**/output_*.txt", "solutions/**/*.out"):
        for path in folder.glob(pattern):
            path.unlink()
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
