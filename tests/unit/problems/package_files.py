"""Small packages in CMS's format."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ioi_eval.errors import InputError
from ioi_eval.models import Problem
from ioi_eval.problems.collection import detect_format
from ioi_eval.problems.package import Package

HEADER: Mapping[str, Any] = {
    "code": "sum",
    "name": "A sum",
    "time_limit": 1.5,
    "memory_limit": 256 << 20,
    "score_precision": 1,
    "task_type": "Batch",
    "task_type_params": json.dumps({"task_type_parameters_Batch_compilation": "grader"}),
}
FILES: Mapping[str, str] = {
    "graders/grader.cpp": "int main() {}\n",
    "graders/sum.h": "int sum(int, int);\n",
    "checker/testlib.h": "// a library\n",
    "checker/checker.cpp": '#include "testlib.h"\n',
    "tests/1-01.in": "1 2\n",
    "tests/1-01.out": "3\n",
    "tests/2-01.in": "5 5\n",
    "tests/2-01.out": "10\n",
    "subtasks/01-small.json": '{"score": 40, "testcases": ["1-01"]}',
    "subtasks/02-all.json": '{"score": 60.5, "testcases": ["2-01", "1-01"]}',
    "solutions/correct/best.cpp": "int sum(int a, int b) { return a + b; }\n",
    "solutions/incorrect/naive.py": "print(1)\n",
    "solutions/incorrect/README.md": "not a solution\n",
}
NO_CHECKER: Mapping[str, None] = {"checker/checker.cpp": None, "checker/testlib.h": None}


class Write:
    """Writes packages into a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __call__(
        self,
        place: str = "sum",
        /,
        files: Mapping[str, str | bytes | None] | None = None,
        drop: str = "",
        **fields: Any,
    ) -> Path:
        """Write a package.

        `files` replaces contents, or omits files with None. Keywords are fields of problem.json.
        """
        folder = self._root / place
        header = {key: value for key, value in {**HEADER, **fields}.items() if key != drop}
        contents = {"problem.json": json.dumps(header), **FILES, **(files or {})}
        for path, content in contents.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            if content is not None:
                target.write_bytes(content.encode() if isinstance(content, str) else content)
        return folder


def zipped(folder: Path, archive: Path, top: str = "") -> Path:
    """Write a zip of a package folder. `top` is the folder that contains all members."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as sink:
        for path in sorted(folder.rglob("*")):
            sink.write(path, Path(top) / path.relative_to(folder))
    return archive


def read(folder: Path, where: str = "sum") -> Package:
    package_format = detect_format(folder)
    assert package_format is not None
    return package_format.read_package(folder, where)


def sound(folder: Path, where: str = "sum") -> Problem:
    package = read(folder, where)
    assert package.errors == (), [str(error) for error in package.errors]
    assert package.problem is not None
    return package.problem


def only_error(folder: Path, where: str = "sum") -> InputError:
    package = read(folder, where)
    assert package.problem is None
    assert len(package.errors) == 1, [str(error) for error in package.errors]
    return package.errors[0]
