"""Rows of a run, and its fingerprint."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from ioi_eval.store.folder import Fingerprint, read_rows

MADE_OF = Fingerprint(
    dump="a" * 64,
    problems={"sum": "b" * 64, "tree": "c" * 64},
    options={"all_tests": False, "repairs": ("header",)},
    versions={"g++": "12.2.0"},
)


# The columns of a result row.
RESULT: dict[str, Any] = {
    "code_compiles": True,
    "compile_output": "",
    "all_subtasks_points": 0.0,
    "all_subtasks_results": [],
    "all_subtasks_exact_scores": [],
    "test_results": [],
    "repairs": [],
    "checker": "",
    "compiler": "",
    "confinement": {},
}


def row(key: str, **columns: Any) -> dict[str, Any]:
    return {
        "key": key,
        "problem_id": "",
        "submission_sha256": hashlib.sha256(key.encode()).hexdigest(),
        "text": "å\n|",
        **RESULT,
        **columns,
    }


def failure(key: str, reason: str = "why") -> dict[str, Any]:
    return {"key": key, "problem_id": "sum", "reason": reason}


def keys(folder: Path) -> list[str]:
    return [row["key"] for row in read_rows(folder)]
