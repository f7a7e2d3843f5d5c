"""Rows with the schema of open-r1/codeforces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from benchmark_tables import write_table

PAIRS = pa.list_(pa.struct([("input", pa.string()), ("output", pa.string())]))
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("id", "contest_id", "contest_name", "index", "title")),
        *(("contest_start", pa.int64()), ("contest_start_year", pa.int64())),
        *(("time_limit", pa.float64()), ("memory_limit", pa.float64())),
        *((name, pa.string()) for name in ("description", "input_format", "output_format")),
        *((name, pa.string()) for name in ("interaction_format", "note", "input_mode", "generated_checker")),
        *(("examples", PAIRS), ("official_tests", PAIRS), ("official_tests_complete", pa.bool_())),
        *(("rating", pa.int64()), ("tags", pa.list_(pa.string()))),
        *(("executable", pa.bool_()), ("generated_tests", pa.int64())),
    ]
)
ADD = "a, b = map(int, input().split())\nprint(a + b)\n"


def codeforces(problem_id: str = "1/A", **columns: Any) -> dict[str, Any]:
    contest, index = problem_id.split("/")
    return {
        "id": problem_id,
        "contest_id": contest,
        "contest_name": "Round",
        "index": index,
        "title": "Sum",
        "contest_start": 1_700_000_000,
        "contest_start_year": 2023,
        "time_limit": 1.5,
        "memory_limit": 64.0,
        "description": "Add two numbers.",
        "input_format": "Two numbers.",
        "output_format": "Their sum.",
        "input_mode": "stdio",
        "examples": [{"input": "1 2\n", "output": "3\n"}],
        "official_tests": [{"input": "1 2\n", "output": "3\n"}, {"input": "30 4\n", "output": "34\n"}],
        "official_tests_complete": False,
        "rating": 800,
        "tags": ["math", "implementation"],
        "executable": True,
        "generated_tests": 0,
        **columns,
    }


def write(folder: Path, rows: Sequence[dict[str, Any]]) -> Path:
    write_table(folder / "codeforces" / "data" / "test-00000-of-00001.parquet", rows, SCHEMA)
    return folder


def generate(folder: Path, contest: str, *tests: tuple[str, str, str]) -> None:
    rows = [{"problem_id": name, "input": test_input, "output": answer} for name, test_input, answer in tests]
    write_table(folder / "codeforces" / "generated_tests" / f"test_cases_{contest}.parquet", rows)
