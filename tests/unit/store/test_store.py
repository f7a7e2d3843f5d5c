from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import multiprocessing
import os
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from store_processes import PATIENCE, hold, write_half, write_many
from support.clocks import FastForwardClock

from ioi_eval import Store
from ioi_eval.model.retry import CACHE_ENTRY
from ioi_eval.store import contents

SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture(autouse=True)
def contents_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count only the bytes of contents, so that limits are small numbers."""
    monkeypatch.setattr(contents, "ENTRY_OVERHEAD_BYTES", 0)


@contextlib.contextmanager
def process(target: Callable[..., Any], *args: Any) -> Iterator[Any]:
    worker = SPAWN.Process(target=target, args=args)
    worker.start()
    try:
        yield worker
    finally:
        worker.kill()
        worker.join()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def left_over(root: Path) -> list[Path]:
    return [*(root / "parts").iterdir(), *(root / "pins").iterdir()]


def grow_old(*paths: Path) -> None:
    """Give the entries old access times in ascending order."""
    for second, path in enumerate(paths):
        os.utime(path, (1_000_000 + second, 1_000_000 + second))


# --- files -------------------------------------------------------------------------------------------


def test_new_store_has_no_entries(tmp_path: Path) -> None:
    store = Store(tmp_path / "a" / "b")
    assert store.get("key1") is None
    assert store.size() == 0
    assert mode(tmp_path / "a" / "b") == 0o700


def test_store_accepts_bytes_files_and_functions(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    (tmp_path / "file").write_bytes(b"from a file")
    paths = [
        store.put("key1", b"bytes"),
        store.put("key2", tmp_path / "file"),
        store.put("key3", lambda place: place.write_bytes(b"written") and None),
    ]
    assert [path.read_bytes() for path in paths] == [b"bytes", b"from a file", b"written"]
    assert [store.get(key) for key in ("key1", "key2", "key3")] == paths
    assert store.size() == 5 + 11 + 7
    assert (tmp_path / "file").exists()
    assert left_over(store.root) == []


def test_second_store_of_the_same_folder_finds_entries(tmp_path: Path) -> None:
    path = Store(tmp_path).put("key1", b"x")
    assert Store(tmp_path).get("key1") == path


def test_existing_entry_is_not_created_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put("key1", b"first")
    assert store.put("key1", lambda place: pytest.fail("made again")).read_bytes() == b"first"


def test_modes_of_stored_files_do_not_depend_on_the_umask(tmp_path: Path) -> None:
    umask_before = os.umask(0o077)
    try:
        store = Store(tmp_path / "store")
        plain, program = store.put("key1", b"x"), store.put("key2", b"x", executable=True)
        folder = store.folder("key3", lambda place: (place / "deep").mkdir())
    finally:
        os.umask(umask_before)
    assert (mode(plain), mode(program), mode(plain.parent)) == (0o644, 0o755, 0o755)
    assert (mode(folder), mode(folder / "deep")) == (0o755, 0o755)
    assert mode(store.root) == 0o700


class Broken(BaseException):
    """A BaseException, because a cancellation must not leave files either."""


@pytest.mark.parametrize("kind", ["put", "folder"])
def test_failed_creation_leaves_no_entry(tmp_path: Path, kind: str) -> None:
    def half(path: Path) -> None:
        (path / "file" if kind == "folder" else path).write_bytes(b"half")
        raise Broken

    store = Store(tmp_path)
    with pytest.raises(Broken):
        getattr(store, kind)("key1", half)
    assert store.get("key1") is None
    assert left_over(tmp_path) == []


def test_removed_entry_can_be_stored_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put("key1", b"bad")
    store.folder("key2", lambda place: None)
    store.remove("key1")
    store.remove("key2")
    store.remove("key3")
    assert (store.get("key1"), store.get("key2")) == (None, None)
    assert store.put("key1", b"good").read_bytes() == b"good"
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("key", ["", "abc", "../../x", "a/bcd", ".hidden", "key\n", "key\0", "k" * 129])
def test_store_key_must_be_a_plain_name(tmp_path: Path, key: str) -> None:
    store = Store(tmp_path)
    for use in (store.get, store.pin, store.remove, lambda key: store.put(key, b"x")):
        with pytest.raises(ValueError, match="cannot be a key"):
            use(key)


# --- folders -----------------------------------------------------------------------------------------


def fill(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "file").write_bytes(b"12345")
    (folder / "program").write_bytes(b"123")
    (folder / "program").chmod(0o700)
    (folder / "link").symlink_to("program")


def test_folder_entries_are_stored_and_found(tmp_path: Path) -> None:
    store = Store(tmp_path)
    path = store.folder("key1", fill)
    assert store.get("key1") == path
    assert (path / "deep" / "file").read_bytes() == b"12345"
    assert (mode(path / "deep" / "file"), mode(path / "program")) == (0o644, 0o755)
    assert sorted(child.name for child in path.iterdir()) == ["deep", "link", "program"]
    assert store.size() == 8
    assert store.folder("key1", lambda place: pytest.fail("made again")) == path


@pytest.mark.parametrize("kind", ["put", "folder"])
def test_second_creator_uses_the_existing_entry(tmp_path: Path, kind: str) -> None:
    """Both start to create it, and the second process finishes first."""
    store, other = Store(tmp_path), Store(tmp_path)

    def make(content: str, call_before: Callable[[], object]) -> Callable[[Path], None]:
        def made(path: Path) -> None:
            call_before()
            (path / "file" if kind == "folder" else path).write_text(content)

        return made

    path = getattr(store, kind)(
        "key1", make("same", lambda: getattr(other, kind)("key1", make("same", lambda: None)))
    )
    assert (path / "file" if kind == "folder" else path).read_text() == "same"
    assert left_over(tmp_path) == []


# --- turns -------------------------------------------------------------------------------------------


async def find_or_make(root: Path, created: list[Path]) -> None:
    store = Store(root)
    async with store.creation_lock("key1"):
        if store.get("key1") is None:
            await asyncio.sleep(0)  # the rest come meanwhile
            created.append(store.put("key1", b"x"))


async def test_concurrent_creators_of_an_entry_create_it_once(tmp_path: Path) -> None:
    created: list[Path] = []
    await asyncio.gather(*(find_or_make(tmp_path, created) for _ in range(3)))
    assert len(created) == 1
    assert left_over(tmp_path) == []


async def test_creation_lock_is_released_after_the_block(tmp_path: Path) -> None:
    """Also after an exception or a cancellation."""
    with pytest.raises(OSError, match="no room"):
        async with Store(tmp_path).creation_lock("key1"):
            raise OSError(errno.ENOSPC, "no room")
    entered = asyncio.Event()

    async def never_ends() -> None:
        async with Store(tmp_path).creation_lock("key1"):
            entered.set()
            await asyncio.Event().wait()

    stalled = asyncio.create_task(never_ends())
    await entered.wait()
    behind = asyncio.create_task(find_or_make(tmp_path, created := []))
    await asyncio.sleep(0)
    stalled.cancel()
    await behind
    assert len(created) == 1 and left_over(tmp_path) == []


async def test_stalled_creator_is_not_waited_for(tmp_path: Path) -> None:
    clock, created = FastForwardClock(), list[Path]()
    async with Store(tmp_path).creation_lock("key1"):
        behind = asyncio.create_task(find_or_make(tmp_path, created))
        await clock.advance(CACHE_ENTRY.max_total_seconds - 5)
        assert created == []
        await clock.advance(10)
        await behind
        assert len(created) == 1
    assert left_over(tmp_path) == []


async def test_file_system_without_locks_does_not_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, kind: int) -> None:
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr(fcntl, "flock", refuse)
    created: list[Path] = []
    async with Store(tmp_path).creation_lock("key1"):
        await find_or_make(tmp_path, created)
    assert len(created) == 1


def test_forked_process_does_not_hold_the_creation_lock(tmp_path: Path) -> None:
    """It inherits all descriptors, like workers of data loaders."""
    theirs, ours = os.pipe()
    created: list[Path] = []

    async def fork_before_another() -> int:
        async with Store(tmp_path).creation_lock("key1"):
            behind = asyncio.create_task(find_or_make(tmp_path, created))
            await asyncio.sleep(0)
            pid = os.fork()
            if pid == 0:
                os.close(ours)
                os.read(theirs, 1)  # returns when the other end is closed
                os._exit(0)
        await asyncio.wait_for(behind, CACHE_ENTRY.max_total_seconds / 2)
        return pid

    pid = asyncio.run(fork_before_another())
    os.close(ours)
    os.close(theirs)
    os.waitpid(pid, 0)
    assert len(created) == 1


# --- eviction ----------------------------------------------------------------------------------------


def test_least_recently_used_entries_are_evicted_first(tmp_path: Path) -> None:
    store = Store(tmp_path, limit=100)
    paths = [store.put(f"key{number}", bytes(30)) for number in range(3)]
    grow_old(*paths)
    store.get("key0")
    store.put("key3", bytes(30))
    assert [store.get(f"key{number}") is None for number in range(4)] == [False, True, False, False]
    assert left_over(tmp_path) == []


def test_folder_entry_is_evicted_as_a_whole(tmp_path: Path) -> None:
    store = Store(tmp_path, limit=20)
    grow_old(store.folder("key1", fill).parent)
    store.put("key2", bytes(15))
    assert store.get("key1") is None
    assert store.size() == 15
    assert left_over(tmp_path) == []


def test_small_entries_count_with_their_disk_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise millions of small programs would fill the disk within the limit."""
    monkeypatch.setattr(contents, "ENTRY_OVERHEAD_BYTES", 16 << 10)
    store = Store(tmp_path, limit=320 << 10)
    for number in range(60):
        grow_old(store.folder(f"key{number}", lambda place: (place / "file").write_bytes(b"7")).parent)
    entries = [*(tmp_path / "objects").glob("*/*")]
    assert 10 <= len(entries) < 20
    blocks = sum(path.lstat().st_blocks for entry in entries for path in (entry, *entry.rglob("*")))
    assert blocks * 512 <= store.limit == 320 << 10


def test_single_writer_stays_below_the_limit(tmp_path: Path) -> None:
    store = Store(tmp_path, limit=300)
    for number in range(60):
        store.put(f"key{number}", bytes(number % 37))
        assert store.size() <= 300
    assert store.size() > 150


def test_second_process_uses_stored_size_instead_of_listing_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_files, listed = Path.glob, list[Path]()

    def record_listing(folder: Path, pattern: str) -> Iterator[Path]:
        listed.append(folder)
        yield from list_files(folder, pattern)

    monkeypatch.setattr(Path, "glob", record_listing)
    first, second = Store(tmp_path, limit=100), Store(tmp_path, limit=100)
    for number in range(3):
        first.put(f"first{number}", bytes(30))
    assert listed == [tmp_path / "objects"]
    second.put("second", bytes(10))
    assert len(listed) == 1
    second.put("third", bytes(10))
    assert len(listed) == 2
    assert second.size() <= 100


@pytest.mark.parametrize("content", [b"", b"0x10", b"-1", b"\xff" * 32])
def test_invalid_size_counter_is_recomputed(tmp_path: Path, content: bytes) -> None:
    Store(tmp_path, limit=100).put("before", bytes(95))
    (tmp_path / "total").write_bytes(content)
    store = Store(tmp_path, limit=100)
    store.put("after", bytes(10))
    assert store.size() <= 100


@pytest.mark.parametrize("content", [b"", bytes(2), b"-"])
def test_folder_without_recorded_size_can_be_evicted(tmp_path: Path, content: bytes) -> None:
    store = Store(tmp_path, limit=100)
    damaged = store.folder("damaged", lambda folder: None)
    (damaged.parent / "size").write_bytes(content)
    grow_old(damaged.parent)
    for n in range(3):
        store.put(f"large-{n}", bytes(60))
    assert store.get("damaged") is None and store.size() == 60


def test_entry_used_during_eviction_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, lock = Store(tmp_path, limit=10), fcntl.flock
    grow_old(store.put("key1", bytes(8)))

    def after_use(descriptor: int, kind: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").readlink() == tmp_path / "pins" / "key1":
            store.get("key1")
        lock(descriptor, kind)

    monkeypatch.setattr(fcntl, "flock", after_use)  # an eviction lists entries before it locks them
    store.put("key2", bytes(8))
    assert store.get("key1") is not None


def test_store_without_a_limit_evicts_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for number in range(50):
        store.put(f"key{number}", bytes(1000))
    assert store.size() == 50_000


def test_oversized_entry_is_usable_while_pinned(tmp_path: Path) -> None:
    store = Store(tmp_path, limit=10)
    with store.pin("key1"):
        path = store.put("key1", bytes(50))
        store.put("key2", bytes(5))
        assert path.exists()
    grow_old(path)
    store.put("key3", bytes(5))
    assert not path.exists()


def test_pins_are_counted_and_double_release_has_no_effect(tmp_path: Path) -> None:
    store = Store(tmp_path, limit=10)
    first, second = store.pin("key1"), store.pin("key1")
    path = store.put("key1", bytes(8))
    grow_old(path)
    first.release()
    first.release()
    store.put("key2", bytes(8))
    assert path.exists()
    second.release()
    grow_old(path)
    store.put("key3", bytes(8))
    assert not path.exists()
    assert left_over(tmp_path) == []


def test_threads_share_a_store(tmp_path: Path) -> None:
    store, reads_correct = Store(tmp_path, limit=2000), []

    def work(start: int) -> None:
        for number in range(start, start + 60):
            key = f"key{number % 40}"
            with store.pin(key):
                reads_correct.append(store.put(key, key.encode() * 20).read_bytes() == key.encode() * 20)

    threads = [threading.Thread(target=work, args=(13 * number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(reads_correct) == 360 and all(reads_correct)
    assert left_over(tmp_path) == []


# --- processes ---------------------------------------------------------------------------------------


def test_two_processes_can_write_concurrently(tmp_path: Path) -> None:
    go = SPAWN.Event()
    with process(write_many, tmp_path, 1, go) as first_writer, process(write_many, tmp_path, 3, go) as two:
        go.set()
        first_writer.join(PATIENCE)
        two.join(PATIENCE)
        assert (first_writer.exitcode, two.exitcode) == (0, 0)
    assert left_over(tmp_path) == []
    # During an eviction the other process may add entries; the next eviction removes the rest.
    store = Store(tmp_path, limit=200_000)
    store.put("last", b"x")
    assert 0 < store.size() <= 200_000


def test_concurrent_evictions_are_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other_store = Store(tmp_path, limit=100), Store(tmp_path, limit=100)
    for number in range(10):
        mine.put(f"key{number}", bytes(10))
    lock, came_first = fcntl.flock, list[bool]()

    def after_another(descriptor: int, kind: int) -> None:
        if not came_first and Path(f"/proc/self/fd/{descriptor}").readlink().name == "eviction":
            came_first.append(True)
            other_store.put("another", bytes(10))
        lock(descriptor, kind)

    monkeypatch.setattr(fcntl, "flock", after_another)
    mine.put("last", bytes(10))
    assert came_first and int((tmp_path / "total").read_text()) == mine.size() <= 100


@pytest.mark.parametrize("kind", ["put", "folder"])
def test_killed_writer_leaves_no_visible_entry(tmp_path: Path, kind: str) -> None:
    ready = SPAWN.Event()
    with process(write_half, tmp_path, kind, ready) as writer:
        assert ready.wait(PATIENCE)
        store = Store(tmp_path, limit=100)
        assert store.get("key1") is None
        store.put("key2", b"a sweep must not touch the part of a living writer")
        assert len([*(tmp_path / "parts").iterdir()]) == 1
        os.kill(writer.pid, signal.SIGKILL)
        writer.join(PATIENCE)
    assert store.get("key1") is None
    assert store.size() == 50
    assert store.put("key1", b"whole").read_bytes() == b"whole"
    Store(tmp_path, limit=100).put("key3", b"sweeps")
    assert [*(tmp_path / "parts").iterdir()] == []


def test_pin_prevents_eviction_by_other_processes_until_its_owner_ends(tmp_path: Path) -> None:
    ready, store = SPAWN.Event(), Store(tmp_path, limit=10)
    with process(hold, tmp_path, ready) as owner:
        assert ready.wait(PATIENCE)
        path = store.get("key1")
        assert path is not None
        grow_old(path)
        store.put("key2", bytes(8))
        assert path.exists()
        os.kill(owner.pid, signal.SIGKILL)
        owner.join(PATIENCE)
    grow_old(path)
    store.put("key3", bytes(8))
    assert not path.exists()
