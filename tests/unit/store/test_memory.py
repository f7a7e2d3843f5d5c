"""Records in a store, bounded values in memory, and shared calls."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.clocks import FastForwardClock
from support.waiting import settle

from ioi_eval import Store
from ioi_eval.models import Blob
from ioi_eval.store.memory import LruCache, SharedCalls, SharedValueFile, read_cached, read_or_create_cached


class Work:
    """A slow call that counts its starts and returns."""

    def __init__(self) -> None:
        self.begun = self.ended = self.cancelled = 0
        self.go = asyncio.Event()

    async def __call__(self) -> int:
        self.begun += 1
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        self.ended += 1
        return 42


async def test_concurrent_callers_share_one_call() -> None:
    shared, work = SharedCalls[int](), Work()
    callers = [asyncio.create_task(shared.call("key", work)) for _ in range(5)]
    await settle()
    work.go.set()
    assert await asyncio.gather(*callers) == [42] * 5
    assert (work.begun, len(shared)) == (1, 0)


async def test_calls_with_different_keys_are_not_shared() -> None:
    shared, work = SharedCalls[int](), Work()
    work.go.set()
    await asyncio.gather(shared.call("one", work), shared.call("two", work))
    assert work.begun == 2


async def test_cancelled_caller_does_not_cancel_the_shared_call() -> None:
    shared, work = SharedCalls[int](), Work()
    first, second = (asyncio.create_task(shared.call("key", work)) for _ in range(2))
    await settle()
    first.cancel()
    await settle()
    work.go.set()
    assert await second == 42
    assert (first.cancelled(), work.cancelled) == (True, 0)


async def test_call_is_cancelled_with_its_last_caller() -> None:
    shared, work = SharedCalls[int](), Work()
    callers = [asyncio.create_task(shared.call("key", work)) for _ in range(2)]
    await settle()
    for caller in callers:
        caller.cancel()
    await asyncio.gather(*callers, return_exceptions=True)
    assert (work.cancelled, work.ended, len(shared)) == (1, 0, 0)


async def test_caller_after_a_cancelled_call_starts_a_new_call() -> None:
    shared, work = SharedCalls[int](), Work()
    first = asyncio.create_task(shared.call("key", work))
    await settle()
    first.cancel()
    second = asyncio.create_task(shared.call("key", work))
    await settle()
    work.go.set()
    assert await second == 42
    assert (work.begun, work.cancelled) == (2, 1)


async def test_error_is_raised_for_all_callers_and_not_cached() -> None:
    shared = SharedCalls[int]()
    fails = True

    async def work() -> int:
        await asyncio.sleep(0)
        if fails:
            raise ValueError("no")
        return 1

    outcomes = await asyncio.gather(*(shared.call("key", work) for _ in range(3)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ValueError] * 3
    fails = False
    assert await shared.call("key", work) == 1


async def test_immediate_failure_is_raised_and_not_cached() -> None:
    async def work() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await SharedCalls[int]().call("key", work)


# --- records ---------------------------------------------------------------------------------------------


async def test_abandoned_call_continues_if_a_caller_returns_in_time() -> None:
    clock, shared, work = FastForwardClock(), SharedCalls[int](seconds_without_callers=10.0), Work()
    first = asyncio.create_task(shared.call("key", work))
    await settle()
    first.cancel()
    await settle()
    second = asyncio.create_task(shared.call("key", work))
    await clock.advance(20.0)
    work.go.set()
    assert await second == 42
    assert (first.cancelled(), work.begun, work.cancelled, len(shared)) == (True, 1, 0, 0)


async def test_abandoned_call_is_cancelled_if_no_caller_returns() -> None:
    clock, shared, work = FastForwardClock(), SharedCalls[int](seconds_without_callers=10.0), Work()
    first = asyncio.create_task(shared.call("key", work))
    await settle()
    first.cancel()
    await clock.advance(6.0)
    assert (work.cancelled, "key" in shared) == (0, True)
    await clock.advance(5.0)
    assert (work.cancelled, len(shared)) == (1, 0)


def test_cached_record_is_created_once(tmp_path: Path) -> None:
    store, created = Store(tmp_path / "cache"), list[Path]()

    def make(folder: Path) -> Blob:
        (folder / "beside").write_text("a file of it")
        created.append(folder)
        return Blob.of("content")

    for _ in range(2):
        blob, folder = read_or_create_cached(store, "abcd", Blob, make)
        assert (blob.read(), (folder / "beside").read_text()) == (b"content", "a file of it")
    assert len(created) == 1
    assert read_cached(store, "none", Blob) is None


@pytest.mark.parametrize("content", [b"half", b"\x81\xa6sha256\xa1\xe9", b"", None])
def test_unreadable_record_is_created_again(tmp_path: Path, content: bytes | None) -> None:
    store = Store(tmp_path / "cache")
    _, folder = read_or_create_cached(store, "abcd", Blob, lambda _: Blob.of("old"))
    for path in folder.iterdir():
        path.unlink() if content is None else path.write_bytes(content)
    assert read_cached(store, "abcd", Blob) is None
    assert store.get("abcd") is None
    assert read_or_create_cached(store, "abcd", Blob, lambda _: Blob.of("new"))[0].read() == b"new"


def test_record_of_another_version_is_created_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache")
    store.put("abcd", b"{}")
    assert read_or_create_cached(store, "abcd", Blob, lambda _: Blob.of("new"))[0].read() == b"new"


# --- values in memory ------------------------------------------------------------------------------------


def test_least_recently_used_values_are_evicted_first() -> None:
    gone = list[str]()
    cache = LruCache[str](10, gone.append)
    for key in "abc":
        cache.put(key, key.upper(), 3)
    assert cache.get("a") == "A"
    cache.put("d", "D", 4)
    assert gone == ["B"]
    assert [cache.get(key) for key in "abcd"] == ["A", None, "C", "D"]
    cache.clear()
    assert sorted(gone) == ["A", "B", "C", "D"]


def test_newest_value_is_never_evicted() -> None:
    cache = LruCache[int](10)
    cache.put("small", 1)
    cache.put("large", 2, 11)
    assert (cache.get("small"), cache.get("large")) == (None, 2)
    cache.put("small", 3)
    assert (cache.get("small"), cache.get("large")) == (3, None)


def test_value_stored_twice_counts_once() -> None:
    cache = LruCache[int](10)
    for value in range(5):
        cache.put("same", value, 4)
    cache.put("other", 9, 4)
    assert (cache.get("same"), cache.get("other")) == (4, 9)
    cache.forget(["same", "unknown"])
    assert cache.get("same") is None


# --- notes -------------------------------------------------------------------------------------------


def test_note_file_returns_newest_value_of_any_writer(tmp_path: Path) -> None:
    mine, theirs = (SharedValueFile(tmp_path / "notes", list[int]) for _ in range(2))
    assert mine.get("a") is None
    mine.put("a", [1])
    theirs.put("b", [2])
    mine.put("a", [3])
    for note_file in (mine, theirs, SharedValueFile(tmp_path / "notes", list[int])):
        assert (note_file.get("a"), note_file.get("b"), note_file.get("c")) == ([3], [2], None)


def test_shared_value_file_removes_its_oldest_values(tmp_path: Path) -> None:
    mine, theirs = (SharedValueFile(tmp_path / "notes", int, max_values=10) for _ in range(2))
    for number in range(100):
        (mine if number % 3 else theirs).put(f"k{number}", number)
        assert mine.get(f"k{number}") == theirs.get(f"k{number}") == number
    assert (mine.get("k89"), mine.get("k90"), theirs.get("k90")) == (None, 90, 90)
    assert len((tmp_path / "notes").read_bytes().splitlines()) <= 21


def test_truncated_line_does_not_damage_other_values(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    SharedValueFile(path, list[int]).put("a", [1])
    whole = path.read_bytes()
    SharedValueFile(path, list[int]).put("b", [2])
    for size in range(len(whole), path.stat().st_size):
        path.write_bytes(path.read_bytes()[:size])
        notes = SharedValueFile(path, list[int])
        assert (notes.get("a"), notes.get("b")) == ([1], None)
        notes.put("c", [3])
        notes.put("d", [4])
        assert (notes.get("a"), notes.get("d")) == ([1], [4])
        path.write_bytes(whole)
        SharedValueFile(path, list[int]).put("b", [2])


def test_replaced_note_file_is_read_again(tmp_path: Path) -> None:
    """The new file may have the inode of the old file."""
    path = tmp_path / "notes"
    notes = SharedValueFile(path, int)
    for number in range(3):
        notes.put(f"key{number}", number)
    assert notes.get("key2") == 2
    path.write_bytes(b"key0 7\n")
    assert (notes.get("key0"), notes.get("key2")) == (7, None)


def test_notes_are_dropped_if_the_disk_is_full(tmp_path: Path) -> None:
    SharedValueFile(tmp_path / "missing" / "notes", int).put("a", 1)
    assert SharedValueFile(tmp_path / "missing" / "notes", int).get("a") is None


def test_unreadable_value_in_shared_file_is_none(tmp_path: Path) -> None:
    (tmp_path / "notes").write_bytes(b'a "\xff"\n')
    assert SharedValueFile(tmp_path / "notes", str).get("a") is None
    (tmp_path / "folder").mkdir()
    SharedValueFile(tmp_path / "folder", str).put("a", "x")
    assert SharedValueFile(tmp_path / "folder", str).get("a") is None


def test_shared_value_file_does_not_store_long_values(tmp_path: Path) -> None:
    """Tens of thousands of compiler outputs would need gigabytes."""
    notes = SharedValueFile(tmp_path / "notes", str)
    notes.put("a", "x" * 5000)
    notes.put("b", "x" * 1000)
    assert notes.get("a") is None and notes.get("b") == "x" * 1000
