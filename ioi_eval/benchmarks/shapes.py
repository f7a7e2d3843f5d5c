"""Rows as other tools write them, which no names of columns lead into: the usual columns are added."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ioi_eval.benchmarks import inspect_logs
from ioi_eval.benchmarks.row_files import Row
from ioi_eval.model.errors import InputError

# What rows were recognised as tells the language of their programs.
LANGUAGES = {"LiveCodeBench's outputs": "python", "EvalPlus' samples": "python"}
PROBLEM_COLUMNS = ("problem_id", "task_id", "question_id", "ioi_id", "name")  # the first that a row has
# What problems of such rows are named by, for who reads no other columns.
HEADS = ("custom_id", "doc")
# What NeMo-Skills puts beside a row of its own and the generation: how long it is, which of LiveCodeBench's
# releases it is of, or the IOI's id of the problem, whose `name` is a title.
_NEMO = ("num_generated_tokens", "release_version", "ioi_id")
_PLUS = re.compile(r"(HumanEval|Mbpp)/\d+")
_SAMPLE = re.compile(r"[#/:]\d+\Z")


def shaped(row: Row, where: str) -> tuple[str, Row]:
    """Return the row's shape and the row with its usual columns; an empty text if it is read as it is."""
    columns = row.columns
    if _is_batch(columns):
        added = dict(_batch(row, where))
        name = "OpenAI's batch results"
    elif "doc" in columns and "resps" in columns:
        added = dict(_harness(columns))
        name = "a log of lm-evaluation-harness"
    elif inspect_logs.is_sample(columns):
        added = dict(inspect_logs.usual(columns, where, row.line))
        name = inspect_logs.SHAPE
    else:
        return _by_columns(columns), row
    return name, Row(row.line, {**added, **columns})


def _by_columns(columns: Mapping[str, Any]) -> str:
    """Rows whose own columns are usual ones, and that are told all the same."""
    if "generation" in columns and not columns.keys().isdisjoint(_NEMO):
        return "NeMo-Skills' outputs"
    if {"question_id", "code_list"} <= columns.keys():
        return "LiveCodeBench's outputs"
    task = columns.get("task_id")
    plus = isinstance(task, str) and _PLUS.fullmatch(task) is not None
    return "EvalPlus' samples" if plus and not columns.keys().isdisjoint(("solution", "completion")) else ""


def _is_batch(columns: Mapping[str, Any]) -> bool:
    """A text in `response` is an answer of its own."""
    response = columns.get("response", "")
    failed = response is None and "error" in columns
    return "custom_id" in columns and (failed or (isinstance(response, dict) and "body" in response))


def problem_in(columns: Mapping[str, Any]) -> str | None:
    """Return the problem that a row of one of these shapes names."""
    if isinstance(called := columns.get("custom_id"), str):
        return _SAMPLE.sub("", called)
    if inspect_logs.is_sample(columns):
        return inspect_logs.problem_of(columns)
    doc = _document(columns)
    return next((str(doc[name]) for name in PROBLEM_COLUMNS if name in doc), None)


def _batch(row: Row, where: str) -> Iterator[tuple[str, Any]]:
    response = row.columns["response"]
    body = response.get("body") if isinstance(response, dict) else None
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(choices, list) or not choices:
        said = json.dumps(row.columns.get("error") or body or response)
        raise InputError(
            f"the request failed: {said[:200]}",
            where=where,
            row=row.line,
            field="response",
            remedy="Ask again, or leave such rows out",
        )
    yield "problem_id", problem_in(row.columns)
    yield _answers([_written(choice) for choice in choices])
    if "model" in body:
        yield "model", body["model"]


def _written(choice: Any) -> str | None:
    message = choice.get("message") if isinstance(choice, dict) else None
    return message.get("content") if isinstance(message, dict) else None


def _harness(columns: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if (problem := problem_in(columns)) is not None:
        yield "problem_id", problem
    yield _answers([text for answers in _listed(columns["resps"]) for text in _listed(answers)])


def _answers(found: list[Any]) -> tuple[str, Any]:
    return ("generation", found[0]) if len(found) == 1 else ("generations", found)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _document(columns: Mapping[str, Any]) -> Mapping[str, Any]:
    """The dataset's row in a log, which may be a text of it."""
    doc = columns.get("doc")
    if isinstance(doc, str):
        try:
            doc = json.loads(doc)
        except ValueError:
            return {}
    return doc if isinstance(doc, dict) else {}
