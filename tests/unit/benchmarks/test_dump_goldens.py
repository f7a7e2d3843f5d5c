"""Small dumps in tests/data/dumps:

the submissions that are read, or the reason for a refusal. A line of `NAME.jsonl` is a dump: its rows and
options. `NAME.expected` has the results, which `pytest --update` on this file writes for a reviewer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from dump_rows import PROBLEMS, write_jsonl
from support.datasets import CodeRepairs, Problems, open_dump
from support.goldens import golden, outcomes

from ioi_eval.benchmarks import DumpOptions, list_named_problem_ids
from ioi_eval.errors import BadRows, InputError
from ioi_eval.models import Blob, Problem, Submission, TaskType
from ioi_eval.store.rows import read_model_name

FOLDER = Path(__file__).parents[2] / "data" / "dumps"
START = 'def add(a, b):\n    """Return the sum."""\n'
FUNCTION = Problem(id="HumanEval/0", task_type=TaskType.FUNCTION, starter_code=START)
ASKED = Problem(id="add", statement=Blob.of("Given two whole numbers A and B,\nprint their sum."))
ALL = Problems([*PROBLEMS.values(), FUNCTION, ASKED])


def options_of(case: Mapping[str, Any]) -> DumpOptions:
    option_values = dict(case.get("options", {}))
    repairs = CodeRepairs(**dict.fromkeys(option_values.pop("repairs", ()), True))
    return DumpOptions(**option_values, repairs=repairs)


def submission_line(submission: Submission, has_ids: bool) -> str:
    """Return a line about a submission with all fields that differ from the defaults."""
    facts = {
        "key": submission.key if has_ids else submission.key[submission.key.rfind("-") :],
        "year": submission.year,
        "subtask": submission.target_subtask,
        "model": read_model_name(submission.row),
        "file": submission.row.get("file"),
        "language": submission.language,
        "language from": submission.language_from.value,
        "repairs": ",".join(submission.repairs),
    }
    details = "".join(f", {name} {value}" for name, value in facts.items() if value not in (None, ""))
    return f"  {submission.problem_id}{details}: {json.dumps(submission.code)}"


def outcome(case: Mapping[str, Any], path: Path) -> Iterator[str]:
    """Yield the lines of a case in the expected file."""
    write_jsonl(path, case["rows"])
    try:
        dump = open_dump([path], problems=ALL, options=options_of(case))
        submissions = list(dump)
    except InputError as error:
        errors = error.errors if isinstance(error, BadRows) else (error,)
        yield from (f"  refused: {item}".replace(str(path), "FILE") for item in errors)
        return
    has_ids = any({"id", "uuid"} & row.keys() for row in case["rows"])
    yield from (submission_line(item, has_ids) for item in submissions)
    yield from (f"  rejected: {item}".replace(str(path), "FILE") for item in dump.rejected)
    yield f"  understood: {dump.info.understood}"
    for heading, rows in (("left out", dump.info.left_out), ("noted", dump.info.noted)):
        yield from (f"  {heading} {number}: {reason}" for reason, number in rows.items())
    mentioned = list_named_problem_ids([path], case.get("options", {}).get("problem_column"))
    yield f"  mentioned: {', '.join(sorted(mentioned)) if mentioned is not None else 'unknown'}"


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.jsonl")))
def test_dumps_are_read_or_refused_as_expected(name: str, tmp_path: Path) -> None:
    actual = outcomes(FOLDER / f"{name}.jsonl", lambda case, _: outcome(case, tmp_path / "x.jsonl"))
    assert actual == golden(FOLDER / f"{name}.expected")
