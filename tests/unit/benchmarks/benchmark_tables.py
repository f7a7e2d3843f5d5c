"""Tables with the schemas of open-r1/ioi, built from packages of example problems."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

EXAMPLES = Path(__file__).parents[3] / "examples" / "problems"


def write_table(path: Path, rows: Sequence[Mapping[str, Any]], schema: pa.Schema | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist([dict(row) for row in rows], schema=schema)
    pq.write_table(table, path, row_group_size=2)
    return path


# --- IOI ---------------------------------------------------------------------------------------------

IOI_ROWS = pa.schema(
    [
        ("year", pa.int64()),
        ("name", pa.string()),
        ("id", pa.string()),
        ("day", pa.string()),
        ("subtask", pa.string()),
        ("statement", pa.string()),
        ("score", pa.int64()),
        ("time_limit", pa.float64()),
        ("memory_limit", pa.int64()),
        ("score_precision", pa.int64()),
        ("task_type", pa.string()),
        ("test_names", pa.list_(pa.string())),
        ("starting_code", pa.string()),
        ("grader_files", pa.list_(pa.list_(pa.string()))),
        ("problem", pa.string()),
    ]
)


def ioi_rows(package: Path, year: int) -> list[dict[str, Any]]:
    """Return a row for each subtask of a package, first for the examples, which have 0 points."""
    header = json.loads((package / "problem.json").read_text())
    config = {**json.loads(header["task_type_params"]), "time_limit": header["time_limit"]}
    config |= {name: header[name] for name in ("code", "task_type", "memory_limit")}
    files = [
        [path.relative_to(package).as_posix(), path.read_text()]
        for subfolder in ("graders", "checker")
        for path in sorted((package / subfolder).glob("*"))
    ]
    files += [["graders/grader_config.json", json.dumps(config)], ["checker/unused.txt", None]]
    shared = {
        "year": year,
        "name": header["name"],
        "id": header["code"],
        "day": "day1",
        "statement": f"Solve {header['name']}.",
        "time_limit": header["time_limit"],
        "memory_limit": header["memory_limit"],
        "score_precision": header["score_precision"],
        "task_type": header["task_type"],
        "starting_code": "int main() {}\n",
        "grader_files": files,
    }
    return [
        {**shared, "subtask": name, "score": points, "test_names": tests, "problem": f"Solve {name}."}
        for name, points, tests in _subtasks(package)
    ]


def _subtasks(package: Path) -> Iterable[tuple[str, int, list[str]]]:
    samples = sorted(path.stem for path in (package / "tests").glob("0-*.in"))
    if not list((package / "subtasks").glob("00-*")):
        yield "00-samples", 0, samples
    for path in sorted((package / "subtasks").glob("*.json")):
        subtask = json.loads(path.read_text())
        yield path.stem, subtask["score"], subtask["testcases"]


def ioi_tests(package: Path, year: int) -> list[dict[str, Any]]:
    problem = package.name
    return [
        {
            "year": year,
            "day": "day1",
            "problem_name": problem,
            "problem_id": problem,
            "test_name": path.stem,
            "test_input": path.read_text(),
            "test_output": ((out := path.with_suffix(".out")).exists() and out.read_text()) or "",
        }
        for path in sorted((package / "tests").glob("*.in"))
    ]


def write_ioi(folder: Path, problems: Mapping[str, int]) -> Path:
    """Write both datasets in the layout of the hub. `problems` are names of example problems with years."""
    for split, years in (("train", range(2020, 2024)), ("test", (2024,))):
        rows = [
            row for name, year in problems.items() if year in years for row in ioi_rows(EXAMPLES / name, year)
        ]
        if rows:
            write_table(folder / "ioi" / "data" / f"{split}-00000-of-00001.parquet", rows, IOI_ROWS)
    for year in set(problems.values()):
        tests = [
            row
            for name, problem_year in problems.items()
            if problem_year == year
            for row in ioi_tests(EXAMPLES / name, year)
        ]
        half = len(tests) // 2
        for part_number, some in enumerate((tests[:half], tests[half:])):
            write_table(
                folder / "ioi-test-cases" / str(year) / f"train-0000{part_number}-of-00002.parquet", some
            )
    return folder
