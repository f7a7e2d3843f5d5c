"""The memory that each row of a run needs."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from journal_rows import MADE_OF, row

from ioi_eval.store.packed import NamesByKey
from ioi_eval.store.result_log import ResultLog

NUMBER = 2_000
MOST = 180  # maximum bytes per row; keys and hashes are 52 of them
MOST_OF_DUMP = 45


def taken(make: Callable[[], Any]) -> float:
    """Return the memory per row in bytes."""
    gc.collect()
    tracemalloc.start()
    try:
        size_before = tracemalloc.get_traced_memory()[0]
        held_object = make()
        gc.collect()
        size = tracemalloc.get_traced_memory()[0] - size_before
        del held_object
        return size / NUMBER
    finally:
        tracemalloc.stop()


def written(folder: Path) -> None:
    with ResultLog.open(folder, MADE_OF) as journal:
        journal.start_run()
    lines = (
        {**row(f"row-{number:08}"), "program_sha256": row(f"p{number}")["submission_sha256"]}
        for number in range(NUMBER)
    )
    (folder / "results.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


def test_result_log_uses_little_memory_per_row(folder: Path) -> None:
    written(folder)
    journal = list[ResultLog]()
    assert taken(lambda: journal.append(ResultLog.open(folder, MADE_OF))) < MOST
    assert len(journal[0].done) == NUMBER
    journal[0].close()


def test_dump_uses_little_memory_per_row() -> None:
    def made() -> NamesByKey:
        keys = NamesByKey()
        for number in range(NUMBER):
            keys.add(f"row-{number:08}", f"p{number % 50}")
        return keys

    assert taken(made) < MOST_OF_DUMP
