"""docs/packages.md: its example loads, and every key that it names is read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from package_files import read, sound

from ioi_eval.models import CheckerKind, ScoreType

PAGE = (Path(__file__).parents[3] / "docs" / "packages.md").read_text()
FILES = dict(re.findall(r"^`([a-z0-9/-]+\.json)`:\n\n<!--[^\n]*-->\n```json\n(.*?)```", PAGE, re.M | re.S))
HEADER: dict[str, Any] = json.loads(FILES["problem.json"])


def keys(title: str) -> list[str]:
    """Return the keys in the first column of the table under a heading."""
    section = PAGE.split(f"# {title}\n", 1)[1].split("\n#", 1)[0]
    cells = re.findall(r"^\| (`[^|]*) \|", section, re.M)
    return list(dict.fromkeys(key for cell in cells for key in re.findall(r"`([^`]+)`", cell)))


def write(folder: Path, **changes: Any) -> Path:
    """Write the page's example with other contents of some files."""
    for test in ("a", "b", "c"):
        for suffix in (".in", ".out"):
            (folder / "tests").mkdir(parents=True, exist_ok=True)
            (folder / "tests" / f"{test}{suffix}").write_text(f"{test}\n")
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    header = {**HEADER, **changes.pop("header", {})}
    (folder / "problem.json").write_text(json.dumps(header))
    for name, values in changes.items():
        (folder / "subtasks" / f"{name}.json").write_text(json.dumps(values))
    return folder


def keys_with_errors(folder: Path) -> set[str]:
    """Return the keys that have errors."""
    return {error.field for error in read(folder, "lamps").errors}


def test_packages_page_example_loads(tmp_path: Path) -> None:
    problem = sound(write(tmp_path / "lamps"), "lamps")
    assert (problem.id, problem.checker.kind, problem.options.input_file) == (
        "lamps",
        CheckerKind.TOKENS,
        "lamps.in",
    )
    assert [(subtask.points, subtask.tests, subtask.score_type) for subtask in problem.subtasks] == [
        (40, ("a", "b"), ScoreType.GROUP_MIN),
        (60, ("a", "b", "c"), ScoreType.GROUP_THRESHOLD),
    ]


NUMBERS = {"time_limit", "threshold"}


@pytest.mark.parametrize("key", keys("`problem.json`"))
def test_documented_header_keys_are_read(tmp_path: Path, key: str) -> None:
    more = {"task_type": "Communication"} if key == "manager" else {}
    assert key in keys_with_errors(
        write(tmp_path / "lamps", header={**more, key: "x" if key in NUMBERS else 3.25e-4})
    )


TYPES = {
    "output_only_testcases": "BatchAndOutput",
    "num_processes": "Communication",
    "user_io": "Communication",
    "manager_args": "Communication",
    "function": "Function",
}


@pytest.mark.parametrize("key", keys("`task_type_params`"))
def test_documented_task_parameters_are_read(tmp_path: Path, key: str) -> None:
    header = {"task_type": TYPES.get(key, "Batch"), "task_type_params": {key: 0.5}, "checker": "cms"}
    assert f"task_type_params.{key}" in keys_with_errors(write(tmp_path / "lamps", header=header))


@pytest.mark.parametrize("key", keys("`checker` as an object"))
def test_documented_checker_keys_are_read(tmp_path: Path, key: str) -> None:
    assert keys_with_errors(write(tmp_path / "lamps", header={"checker": {key: ["x", 1]}})) == {
        f"checker.{key}"
    }


@pytest.mark.parametrize("key", keys("`subtasks/NAME.json`"))
def test_documented_subtask_keys_are_read(tmp_path: Path, key: str) -> None:
    values = {**json.loads(FILES["subtasks/02-all.json"]), key: {}}
    assert keys_with_errors(write(tmp_path / "lamps", **{"02-all": values})) == {key}


def test_packages_page_tables_are_found() -> None:
    """Otherwise a renamed heading would leave keys untested."""
    for title in ("`problem.json`", "`task_type_params`", "`checker` as an object", "`subtasks/NAME.json`"):
        assert keys(title), title
