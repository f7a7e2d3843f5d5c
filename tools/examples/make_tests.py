#!/usr/bin/env python3
"""Makes tests/ and subtasks/ of the example problems, and packs the problem that ships as a zip.

    tools/examples/make_tests.py [PROBLEM...]

Expected outputs are outputs of the problem's model solution. verify.py compares them with outputs of the
other correct solutions.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

import inputs
from toolbox import PROBLEMS, Package, build, package_source, run_once

ZIPPED = {"carousel"}
EPOCH = (2025, 1, 1, 0, 0, 0)  # fixed, so that the zip is reproducible


def main(names: list[str]) -> None:
    for make in inputs.ALL:
        if not names or make.__name__ in names:
            tests, subtasks = make()
            make_package(make.__name__, tests, subtasks)


def make_package(name: str, tests: dict[str, str], subtasks: tuple[inputs.Subtask, ...]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        source = package_source(name)
        folder = source
        if name in ZIPPED:
            folder = Path(scratch, name)
            shutil.copytree(source, folder)
        write_tests(folder, tests, Path(scratch, "work"))
        write_subtasks(folder, tests, subtasks)
        if name in ZIPPED:
            pack_folder(folder, PROBLEMS / f"{name}.zip")


def write_tests(folder: Path, tests: dict[str, str], work: Path) -> None:
    package = Package(folder)
    shutil.rmtree(folder / "tests", ignore_errors=True)
    (folder / "tests").mkdir()
    work.mkdir()
    [model] = (folder / "solutions" / "model_solution").iterdir()
    argv = build(package, model, work)
    for name, test_input in tests.items():
        (folder / "tests" / f"{name}.in").write_text(test_input)
        outcome = run_once(package, argv, test_input, work)
        if outcome.end != "ok":
            raise SystemExit(f"{folder.name}: the model solution gets {outcome.end} on {name}")
        (folder / "tests" / f"{name}.out").write_text(compute_answer(folder.name, test_input, outcome.output.decode()))


def compute_answer(problem: str, text: str, output: str) -> str:
    """Return the .out file: the model solution's output; for pumpkins, the difference that it reaches."""
    if problem != "pumpkins":
        return "\n".join(line.rstrip() for line in output.splitlines()) + "\n"
    weights = map(int, text.split()[1:])
    return f"{abs(sum(w if cart == 'A' else -w for w, cart in zip(weights, output.strip(), strict=True)))}\n"


def write_subtasks(folder: Path, tests: dict[str, str], subtasks: tuple[inputs.Subtask, ...]) -> None:
    shutil.rmtree(folder / "subtasks", ignore_errors=True)
    (folder / "subtasks").mkdir()
    for name, points, prefixes, more in subtasks:
        names = sorted(test for test in tests if test.startswith(prefixes))
        content = {"score": points, "testcases": names, **more}
        (folder / "subtasks" / f"{name}.json").write_text(json.dumps(content) + "\n")


def pack_folder(folder: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            info = zipfile.ZipInfo(path.relative_to(folder.parent).as_posix(), EPOCH)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, path.read_bytes())


if __name__ == "__main__":
    main(sys.argv[1:])
