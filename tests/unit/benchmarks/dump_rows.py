"""Problems and rows for the tests of dumps."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.datasets import Problems, open_dump

from ioi_eval.benchmarks import DumpOptions
from ioi_eval.errors import InputError
from ioi_eval.models import Blob, NamedBlob, Problem, Submission, Subtask

CODE = "#include <cstdio>\nint main() {}\n"


def problem(problem_id: str, year: int | None = None) -> Problem:
    subtasks = tuple(Subtask(name=name, points=50, tests=("1",)) for name in ("01-small", "02-full"))
    header = NamedBlob(name=f"graders/{problem_id}.h", content=Blob.of("int f();"))
    return Problem(id=problem_id, year=year, subtasks=subtasks, grader_files=(header,))


PROBLEMS = Problems([problem("sum", 2023), problem("tree"), problem("old", 2020), problem("old", 2021)])


def row(**columns: Any) -> dict[str, Any]:
    return {"problem_id": "sum", "code": CODE, **columns}


def write_jsonl(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(item) + "\n" for item in rows))
    return path


def write_json(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text(json.dumps(rows, indent=1))
    return path


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_parquet(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    pq.write_table(pa.Table.from_pylist(list(rows)), path, row_group_size=2)
    return path


def write_arrow(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Write a table whose values are read like those of a Parquet file, but in the same process."""
    table = pa.Table.from_pylist(list(rows))
    with pa.ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table)
    return path


def read(path: Path, **options: Any) -> list[Submission]:
    return list(open_dump([path], problems=PROBLEMS, options=DumpOptions(**options)))


def failing(tmp_path: Path, *rows: Any, **options: Any) -> InputError:
    path = write_jsonl(tmp_path / "x.jsonl", rows)
    with pytest.raises(InputError) as caught:
        read(path, **options)
    assert caught.value.where == str(path)
    assert caught.value.remedy
    return caught.value
