"""Records in a store, bounded values in memory and shared work."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ioi_eval import Store
from ioi_eval.models import Blob
from ioi_eval.store.memory import Bounded, Shared, recalled, remembered

pytestmark = pytest.mark.alike


class Work:
    """Something slow that counts how often it began and ended."""

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


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_callers_at_the_same_time_share_one_call() -> None:
    shared, work = Shared[int](), Work()
    callers = [asyncio.create_task(shared.call("key", work)) for _ in range(5)]
    await settle()
    work.go.set()
    assert await asyncio.gather(*callers) == [42] * 5
    assert (work.begun, len(shared)) == (1, 0)


async def test_other_keys_are_other_calls() -> None:
    shared, work = Shared[int](), Work()
    work.go.set()
    await asyncio.gather(shared.call("one", work), shared.call("two", work))
    assert work.begun == 2


async def test_a_caller_that_is_cancelled_leaves_the_others_alone() -> None:
    shared, work = Shared[int](), Work()
    first, second = (asyncio.create_task(shared.call("key", work)) for _ in range(2))
    await settle()
    first.cancel()
    await settle()
    work.go.set()
    assert await second == 42
    assert (first.cancelled(), work.cancelled) == (True, 0)


async def test_when_the_last_caller_leaves_the_work_ends() -> None:
    shared, work = Shared[int](), Work()
    callers = [asyncio.create_task(shared.call("key", work)) for _ in range(2)]
    await settle()
    for caller in callers:
        caller.cancel()
    await asyncio.gather(*callers, return_exceptions=True)
    assert (work.cancelled, work.ended, len(shared)) == (1, 0, 0)


async def test_a_caller_after_a_cancelled_call_begins_anew() -> None:
    shared, work = Shared[int](), Work()
    first = asyncio.create_task(shared.call("key", work))
    await settle()
    first.cancel()
    second = asyncio.create_task(shared.call("key", work))
    await settle()
    work.go.set()
    assert await second == 42
    assert (work.begun, work.cancelled) == (2, 1)


async def test_an_error_goes_to_everybody_and_is_not_remembered() -> None:
    shared = Shared[int]()
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


async def test_work_that_fails_at_once() -> None:
    async def work() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await Shared[int]().call("key", work)


# --- records ---------------------------------------------------------------------------------------------


def test_a_record_is_made_once_and_found_again(tmp_path: Path) -> None:
    store, made = Store(tmp_path / "cache"), list[Path]()

    def make(folder: Path) -> Blob:
        (folder / "beside").write_text("a file of it")
        made.append(folder)
        return Blob.of("content")

    for _ in range(2):
        blob, folder = remembered(store, "abcd", Blob, make)
        assert (blob.read(), (folder / "beside").read_text()) == (b"content", "a file of it")
    assert len(made) == 1
    assert recalled(store, "none", Blob) is None


@pytest.mark.parametrize("rest", [b"half", b"", None])
def test_a_record_that_cannot_be_read_is_made_anew(tmp_path: Path, rest: bytes | None) -> None:
    store = Store(tmp_path / "cache")
    _, folder = remembered(store, "abcd", Blob, lambda _: Blob.of("old"))
    for path in folder.iterdir():
        path.unlink() if rest is None else path.write_bytes(rest)
    assert recalled(store, "abcd", Blob) is None
    assert store.get("abcd") is None
    assert remembered(store, "abcd", Blob, lambda _: Blob.of("new"))[0].read() == b"new"


def test_what_another_version_kept_as_a_file_is_made_anew(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache")
    store.put("abcd", b"{}")
    assert remembered(store, "abcd", Blob, lambda _: Blob.of("new"))[0].read() == b"new"


# --- values in memory ------------------------------------------------------------------------------------


def test_values_used_longest_ago_go_first() -> None:
    gone = list[str]()
    kept = Bounded[str](10, gone.append)
    for key in "abc":
        kept.keep(key, key.upper(), 3)
    assert kept.get("a") == "A"
    kept.keep("d", "D", 4)
    assert gone == ["B"]
    assert [kept.get(key) for key in "abcd"] == ["A", None, "C", "D"]
    kept.clear()
    assert sorted(gone) == ["A", "B", "C", "D"]


def test_the_newest_value_stays_whatever_its_size() -> None:
    kept = Bounded[int](10)
    kept.keep("small", 1)
    kept.keep("large", 2, 11)
    assert (kept.get("small"), kept.get("large")) == (None, 2)
    kept.keep("small", 3)
    assert (kept.get("small"), kept.get("large")) == (3, None)


def test_a_value_that_is_kept_again_counts_once() -> None:
    kept = Bounded[int](10)
    for value in range(5):
        kept.keep("same", value, 4)
    kept.keep("other", 9, 4)
    assert (kept.get("same"), kept.get("other")) == (4, 9)
    kept.forget(["same", "unknown"])
    assert kept.get("same") is None
