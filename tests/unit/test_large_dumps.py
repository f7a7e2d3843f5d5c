"""The first rows of a large dump are judged while the rest is scanned."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command_line import row, write_dump, write_package

from ioi_eval import InputError, score_dump
from ioi_eval.benchmarks import dumps
from ioi_eval.benchmarks.dumps import read_index
from ioi_eval.runs import Event, RowsRead, RowsUnderstood, RunSummary, SubmissionJudged
from ioi_eval.runs import score as use_case
from ioi_eval.store.packed import PackedKeys
from ioi_eval.testing import FakeEngine


class LargeDump:
    """A dump of twelve rows, of which the first four are read at once."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.events = folder, list[Event]()
        self.rows: list[dict[str, Any]] = [row(f"k{n}", f"// {n}") for n in range(12)]
        write_package(folder / "problems" / "add")

    async def score(self, out: str = "run", tell: Callable[[Event], None] = lambda event: None) -> RunSummary:
        self.events.clear()

        def told(event: Event) -> None:
            self.events.append(event)
            tell(event)

        scored = await score_dump(
            write_dump(self.folder / "dump.jsonl", self.rows),
            self.folder / "problems",
            out=self.folder / out,
            engine=FakeEngine(),
            on_event=told,
        )
        return scored.call

    def info(self, out: str = "run") -> dict[str, Any]:
        run_info: dict[str, Any] = json.loads((self.folder / out / "run.json").read_text())
        return run_info

    def keys(self) -> list[str]:
        path = self.folder / "run" / "results.jsonl"
        return sorted(json.loads(line)["key"] for line in path.read_text().splitlines())


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LargeDump:
    monkeypatch.setattr(dumps, "LARGE_DUMP_BYTES", 0)
    monkeypatch.setattr(dumps, "SAMPLED_ROWS", 4)
    return LargeDump(tmp_path)


async def test_first_job_of_large_dump_waits_only_for_first_rows(
    large: LargeDump, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scan continues until after the first result."""
    first_judged, truly = threading.Event(), use_case.read_dump

    def read_dump(*positional: Any) -> Any:
        assert first_judged.wait(60)
        return truly(*positional)

    monkeypatch.setattr(use_case, "read_dump", read_dump)
    summary = await large.score(
        tell=lambda event: first_judged.set() if isinstance(event, SubmissionJudged) else None
    )
    assert summary.judged == 12
    (understood,) = (event for event in large.events if isinstance(event, RowsUnderstood))
    assert (understood.rows.rows, understood.rows.whole) == (4, False)
    assert RowsRead(rows=12, selected=12) in large.events


async def test_run_of_large_dump_equals_run_after_full_scan(
    large: LargeDump, monkeypatch: pytest.MonkeyPatch
) -> None:
    large.rows.append(large.rows[0])  # which is skipped and reported
    assert (await large.score()).judged == 12
    assert (await large.score()).skipped == 12
    monkeypatch.setattr(dumps, "LARGE_DUMP_BYTES", 1 << 40)
    assert (await large.score("other")).judged == 12
    assert large.info() == large.info("other") and "Left out 1 row" in str(large.info()["settings"])


async def test_late_duplicate_key_ends_run_and_keeps_results(large: LargeDump) -> None:
    large.rows[10] = row("k1", "// another")
    with pytest.raises(InputError, match="duplicate id 'k1'"):
        await large.score()
    keys_before = large.keys()
    assert {"k0"} <= set(keys_before) <= {f"k{n}" for n in range(4)}
    large.rows[10] = row("k10", "// 10")
    assert (await large.score()).judged == 12 - len(keys_before)
    assert len(large.keys()) == 12


async def test_interrupted_run_keeps_dump_index(large: LargeDump, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next call neither scans the dump nor compares it with the results."""
    monkeypatch.setattr(dumps, "MIN_INDEXED_BYTES", 0)
    was_scanned = asyncio.Event()
    call = asyncio.create_task(
        large.score(tell=lambda event: was_scanned.set() if getattr(event, "selected", None) == 12 else None)
    )
    await was_scanned.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    keys_before, info, index = large.keys(), large.info(), read_index(large.folder / "run")
    assert 0 < len(keys_before) < 12 and index is not None and len(PackedKeys.from_stored(index.keys)) == 12
    summary = await large.score()
    assert (summary.judged, summary.skipped) == (12 - len(keys_before), len(keys_before))
    assert RowsRead(rows=12, selected=12) not in large.events
    assert (large.info(), len(large.keys())) == (info, 12)


@pytest.mark.parametrize("late", [False, True])
async def test_dump_changed_during_scan_is_compared_again(
    large: LargeDump, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """The first rows were read from the old file, so the index of the new file must not contain them."""
    monkeypatch.setattr(dumps, "MIN_INDEXED_BYTES", 0)
    truly, truly_scan = use_case.read_dump, dumps.hash_file_and_check_utf8

    def change(*positional: Any) -> Any:
        large.rows[0] = row("k0", "// another")
        write_dump(large.folder / "dump.jsonl", large.rows)
        return (truly_scan if late else truly)(*positional)

    with monkeypatch.context() as patch:
        patch.setattr(*((dumps, "hash_file_and_check_utf8") if late else (use_case, "read_dump")), change)
        with pytest.raises(InputError, match="changed while it was being scored"):
            await large.score()
    await large.score()
    path = large.folder / "run" / "results.jsonl"
    codes = {
        stored_row["key"]: stored_row["code"] for stored_row in map(json.loads, path.read_text().splitlines())
    }
    assert codes == {stored_row["uuid"]: stored_row["code"] for stored_row in large.rows}


async def test_bad_first_rows_are_reported_before_writing(large: LargeDump) -> None:
    large.rows[2] = {"id": "k2", "code": "x"}
    large.rows[9] = {"id": "k9", "code": "x"}
    with pytest.raises(InputError, match="in 2 rows"):
        await large.score()
    assert not (large.folder / "run" / "run.json").exists()


async def test_cancelled_run_stops_dump_scan(large: LargeDump, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = asyncio.Event(), threading.Event()

    def read_dump(*positional: Any) -> Any:
        try:
            while True:
                positional[-1](1)
                time.sleep(0.01)
        finally:
            ended.set()

    monkeypatch.setattr(use_case, "read_dump", read_dump)
    call = asyncio.create_task(
        large.score(tell=lambda event: begun.set() if isinstance(event, RowsRead) else None)
    )
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert ended.wait(60)
