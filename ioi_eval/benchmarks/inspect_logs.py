"""Logs of inspect_ai (`.eval`) as rows, read by its own package: a row for each sample of each epoch."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ioi_eval.model.errors import FailedRequest, InputError

if TYPE_CHECKING:
    from ioi_eval.benchmarks.row_files import FileRow

T = TypeVar("T")
SUFFIX = ".eval"
SHAPE = "a log of inspect_ai"
MARK = "inspect_ai"  # the column that other rows do not have
_UNUSED = {"events", "store", "attachments", "messages"}
_BROKEN = (OSError, ValueError, KeyError, RuntimeError, zipfile.BadZipFile)
# What a sample's metadata may say as columns of rows do.
_TOLD = ("problem_id", "year", "language", "subtask")


def samples(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The samples that a log holds, numbered from 1, as columns. InputError: it cannot be read."""
    try:
        from inspect_ai.log import read_eval_log, read_eval_log_samples
    except ImportError as error:
        remedy = "Install it with: pip install 'ioi-eval[inspect-ai]'"
        raise InputError("its reader is the package inspect_ai", where=str(path), remedy=remedy) from error
    # In a thread of its own: where an event loop runs, its functions would patch asyncio for good.
    with ThreadPoolExecutor(1) as thread:
        try:
            header = thread.submit(read_eval_log, str(path), header_only=True).result().eval
            found = read_eval_log_samples(str(path), all_samples_required=False, exclude_fields=_UNUSED)
            number = 0
            while (sample := thread.submit(next, found, None).result()) is not None:
                number += 1
                yield number, _columns(header, sample)
        except _BROKEN as error:
            remedy = "Is it whole, and written by this version of inspect_ai or an older one?"
            raise InputError(f"no log that can be read ({error})", where=str(path), remedy=remedy) from error


def _columns(header: Any, sample: Any) -> dict[str, Any]:
    usage = sample.output.usage
    counted = {"usage": {"output_tokens": usage.output_tokens}} if usage is not None else {}
    return {
        "uuid": sample.uuid or f"{header.eval_id}/{sample.id}#{sample.epoch}",
        "id": sample.id,
        "epoch": sample.epoch,
        "model": header.model,
        "generation": sample.output.completion,
        "reasoning": reasoning_of(sample.output),
        "stop_reason": sample.output.stop_reason if sample.output.choices else None,
        "error": sample.error.message if sample.error else None,
        "limit": sample.limit.type if sample.limit else None,
        "metadata": {**sample.metadata, **counted, "timestamp": header.created},
        "scores": {name: score.value for name, score in (sample.scores or {}).items()},
        MARK: {"task": header.task, "run_id": header.run_id, "created": header.created},
    }


def reasoning_of(output: Any) -> str:
    """The thoughts in a model's output, where it has any."""
    content = output.message.content if output.choices else ""
    parts = [] if isinstance(content, str) else content
    return "\n".join(part.reasoning for part in parts if part.type == "reasoning")


# --- the usual columns -------------------------------------------------------------------------------


def problem_of(columns: Mapping[str, Any]) -> str:
    """Return a sample's problem: named in its metadata, else the sample's id."""
    metadata = columns.get("metadata")
    named = metadata.get("problem_id") if isinstance(metadata, Mapping) else None
    return str(columns["id"] if named is None else named)


def usual_rows(row: FileRow, where: str) -> Iterator[FileRow]:
    """The row with the columns that rows of dumps have. A sample that failed holds nothing to judge."""
    columns = row.columns
    if (error := columns.get("error")) and not columns.get("scores"):
        raise FailedRequest(
            f"the sample failed: {str(error)[:200]}",
            where=where,
            row=row.line,
            field="error",
            remedy="Run `inspect eval-retry`, or leave such rows out",
        )
    metadata = columns.get("metadata") or {}
    copied = {name: metadata[name] for name in _TOLD if metadata.get(name) is not None}
    added = {**copied, "problem_id": problem_of(columns), "solution_number": columns["epoch"]}
    yield row._replace(columns={**added, **columns})
