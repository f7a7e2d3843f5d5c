"""tests.parquet: a row for each submission and each of its tests, for whoever counts tests."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ioi_eval.store.files import refused, sweep_drafts
from ioi_eval.store.folder import read_rows
from ioi_eval.store.rows import model_of

TESTS = "tests.parquet"
COLUMNS = {
    "key": "string",
    "problem_id": "string",
    "model": "string",
    "subtasks": "strings",
    "test_name": "string",
    "status": "string",
    "score": "float64",
    "feedback": "string",
    "cpu_time": "float64",
    "cpu_times": "numbers",
    "wall_time": "float64",
    "waited_time": "float64",
    "memory": "int64",
}
_HELD = 20_000  # tests in memory, and in a row group
_GIVEN_UP = 3600  # seconds without a write, after which whoever began a table was killed


def write_tests(folder: Path) -> None:
    """Make it anew of results.jsonl; the old one stays until the new one is whole.

    A core that was installed without pyarrow has no such table.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        return

    lists = {"strings": pyarrow.list_(pyarrow.string()), "numbers": pyarrow.list_(pyarrow.float64())}
    schema = pyarrow.schema(
        [(name, lists.get(kind) or getattr(pyarrow, kind)()) for name, kind in COLUMNS.items()]
    )
    sweep_drafts(folder / TESTS, idle=_GIVEN_UP)
    draft = folder / f".{TESTS}.{os.getpid()}.tmp"
    try:
        with pyarrow.parquet.ParquetWriter(draft, schema, compression="zstd") as writer:
            for held in _held(folder):
                writer.write_table(pyarrow.Table.from_pydict(held, schema))
        draft.replace(folder / TESTS)
    except OSError as error:
        raise refused(folder / TESTS, error) from error
    finally:
        draft.unlink(missing_ok=True)


def _held(folder: Path) -> Iterator[dict[str, list[Any]]]:
    """The columns of some tests at a time; at least once, so that a run without tests has a file too."""
    held: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for row in read_rows(folder):
        if len(held["key"]) > _HELD:
            yield held
            held = {name: [] for name in COLUMNS}
        whose = {"key": row["key"], "problem_id": row["problem_id"], "model": model_of(row)}
        for test, subtasks in tests_of(row):
            found = {**test, **whose, "subtasks": subtasks}
            for name, column in held.items():
                column.append(found.get(name))
    yield held


def tests_of(row: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], list[str]]]:
    """Its tests, each once, and the subtasks that each is in."""
    if "test_results" in row:
        return [(test, []) for test in row["test_results"]]
    found = dict[str, tuple[Mapping[str, Any], list[str]]]()
    for part in row["all_subtasks_results"]:
        for test in part["test_results"]:
            found.setdefault(test["test_name"], (test, []))[1].append(part["subtask"])
    return list(found.values())
