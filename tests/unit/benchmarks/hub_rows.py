"""Rows with the schemas of APPS, LiveCodeBench and CodeContests, and the problems read from them."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from benchmark_tables import write_table
from support.command_line import CommandLine
from support.datasets import BenchmarkOptions, LoadedProblems, find_benchmark, load

from ioi_eval.models import Blob, Problem

ADD = "a, b = map(int, input().split())\nprint(a + b)\n"
_tests = pa.struct([("input", pa.list_(pa.string())), ("output", pa.list_(pa.string()))])
_solutions = pa.struct([("language", pa.list_(pa.int64())), ("solution", pa.list_(pa.string()))])
SCHEMAS: Mapping[str, pa.Schema] = {
    "apps": pa.schema(
        [
            ("problem_id", pa.int64()),
            ("question", pa.string()),
            ("solutions", pa.string()),
            ("input_output", pa.string()),
            ("difficulty", pa.string()),
            ("url", pa.string()),
            ("starter_code", pa.string()),
        ]
    ),
    "livecodebench": pa.schema(
        [
            ("question_title", pa.string()),
            ("question_content", pa.string()),
            ("platform", pa.string()),
            ("question_id", pa.string()),
            ("contest_id", pa.string()),
            ("contest_date", pa.string()),
            ("starter_code", pa.string()),
            ("difficulty", pa.string()),
            ("public_test_cases", pa.string()),
            ("private_test_cases", pa.string()),
            ("metadata", pa.string()),
        ]
    ),
    "code_contests": pa.schema(
        [
            ("name", pa.string()),
            ("description", pa.string()),
            ("public_tests", _tests),
            ("private_tests", _tests),
            ("generated_tests", _tests),
            ("source", pa.int64()),
            ("difficulty", pa.int64()),
            ("solutions", _solutions),
            ("incorrect_solutions", _solutions),
            ("cf_contest_id", pa.int64()),
            ("cf_index", pa.string()),
            ("cf_tags", pa.list_(pa.string())),
            ("time_limit", pa.struct([("seconds", pa.int64()), ("nanos", pa.int64())])),
            ("memory_limit_bytes", pa.int64()),
            ("input_file", pa.string()),
            ("output_file", pa.string()),
        ]
    ),
}


def apps(number: int, *, tests: Any = None, **columns: Any) -> dict[str, Any]:
    """Return an APPS row of a problem that adds two numbers. `tests` becomes the JSON of `input_output`."""
    written = tests or {"inputs": ["1 2\n", ["30 4"]], "outputs": ["3\n", ["34", ""]]}
    return {
        "problem_id": number,
        "question": "Add two numbers.",
        "solutions": json.dumps([ADD, "print(sum(map(int, input().split())))"]),
        "input_output": json.dumps(written),
        "difficulty": "introductory",
        "url": "https://example.org/add",
        "starter_code": "",
        **columns,
    }


def taco(**columns: Any) -> dict[str, Any]:
    row = {key: value for key, value in apps(0).items() if key != "problem_id"}
    more = {
        "difficulty": "MEDIUM_HARD",
        "raw_tags": "['implementation', \"Euler's\"]",
        "name": "Add",
        "source": "codeforces",
        "tags": "['Mathematics']",
        "skill_types": "['Greedy algorithms', 'Mathematics']",
        "Expected Auxiliary Space": None,
        "time_limit": "2.0 seconds",
        "date": "2019-12-31",
        "picture_num": "0",
        "memory_limit": "256.0 megabytes",
        "Expected Time Complexity": None,
    }
    return {**row, **more, **columns}


def deepcoder(**columns: Any) -> dict[str, Any]:
    tests = [{"input": "1 2\n", "output": "3\n", "type": "stdin_stdout"}]
    row = {"problem": "Add two numbers.", "starter_code": "", "tests": json.dumps(tests), "metadata": {}}
    return {**row, "solutions": [ADD], **columns}


TESTED_PAIRS = [{"input": "1 2\n", "output": "3\n"}, {"input": "30 4\n", "output": "34\n"}]


def aethercode(number: int = 60173, **columns: Any) -> dict[str, Any]:
    return {
        "id": number,
        "description": "Add two numbers.",
        "time_limit": 2000,
        "memory_limit": 256,
        "checker": "",
        "test_cases": TESTED_PAIRS,
        "year": 2024,
        "date": "2024/11/17",
        "difficulty": "Easy",
        "contest_category": "ICPC East Asia Regionals",
        "contest_name": "The 2024 Regional Contest",
        **columns,
    }


def livecodebench(name: str, *, private: str | None = None, **columns: Any) -> dict[str, Any]:
    return {
        "question_title": "Add",
        "question_content": "Add two numbers.",
        "platform": "atcoder",
        "question_id": name,
        "contest_id": "abc301",
        "contest_date": "2024-05-13T00:00:00",
        "starter_code": "",
        "difficulty": "easy",
        "public_test_cases": lcb_tests(("1 2\n", "3\n")),
        "private_test_cases": packed(lcb_tests(("30 4\n", "34.0"))) if private is None else private,
        "metadata": "{}",
        **columns,
    }


def lcb_tests(*pairs: tuple[str, str], kind: str = "stdin") -> str:
    return json.dumps(
        [{"input": test_input, "output": answer, "testtype": kind} for test_input, answer in pairs]
    )


def packed(value: Any) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


def code_contests(name: str, **columns: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": "Add two numbers.",
        "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
        "private_tests": {"input": ["30 4\n"], "output": ["34\n"]},
        "generated_tests": {"input": ["5 5\n"], "output": ["10\n"]},
        "source": 2,
        "difficulty": 7,
        "solutions": {"language": [3, 1], "solution": [ADD, "print sum(map(int, raw_input().split()))"]},
        "incorrect_solutions": {"language": [3], "solution": ["print(3)"]},
        "cf_contest_id": 1575,
        "cf_index": "A",
        "cf_tags": ["math", ""],
        "time_limit": {"seconds": 1, "nanos": 500_000_000},
        "memory_limit_bytes": 256_000_000,
        "input_file": "",
        "output_file": "",
        **columns,
    }


def write_rows(folder: Path, name: str, rows: Sequence[Mapping[str, Any]], *, schema: bool = True) -> Path:
    """Write rows into a folder in the layout of the hub.

    Without the schema, columns have the types of the rows.
    """
    path = folder / find_benchmark(name).dataset.rpartition("/")[2] / "test-00000-of-00001.parquet"
    write_table(path, rows, SCHEMAS[name] if schema else None)
    return folder


def listed(cli: CommandLine, folder: Path, name: str, rows: Sequence[Mapping[str, Any]], *more: str) -> str:
    """Return the output of `ioi-eval problems` for these rows."""
    copies = write_rows(folder / "copies", name, rows, schema=False)
    completed = cli("problems", name, "--data-dir", copies, *more)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def loaded(
    folder: Path, name: str, rows: Sequence[Mapping[str, Any]], *, schema: bool = True, **options: Any
) -> LoadedProblems:
    copies = write_rows(folder / "copies", name, rows, schema=schema)
    return load(
        find_benchmark(name), BenchmarkOptions(data_dir=str(copies), **options), cache=folder / "cache"
    )


def contents(problem: Problem) -> list[tuple[str, str]]:
    """Return the inputs and answers of a problem's tests."""
    blobs = [(test.input, test.answer or Blob.of("")) for test in problem.tests]
    return [(input_blob.read().decode(), answer_blob.read().decode()) for input_blob, answer_blob in blobs]
