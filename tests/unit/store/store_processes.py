"""Functions for processes that use a store. This module imports no test, which would be slow."""

from __future__ import annotations

import contextlib
import signal
from multiprocessing.synchronize import Event
from pathlib import Path

from ioi_eval import Store
from ioi_eval.store import contents

contents.ENTRY_OVERHEAD_BYTES = 0  # as in the tests, only contents count

PATIENCE = 120  # seconds; only a hang exceeds them


def write_many(root: Path, seed: int, go: Event) -> None:
    """Write entries. Exit with 1 if anything but a whole entry is read."""
    store = Store(root, limit=200_000)
    go.wait(PATIENCE)
    for number in range(80):
        key = f"key{(number * (2 * seed + 1)) % 50}"
        with store.pin(key):
            if number % 2:
                path = store.put(key, lambda place, key=key: place.write_text(key * 2000) and None)  # type: ignore[misc]
            else:
                path = store.folder(
                    "f" + key, lambda place, key=key: (place / "x").write_text(key * 2000) and None
                )  # type: ignore[misc]
        with contextlib.suppress(FileNotFoundError):  # not pinned any more
            if (path if path.is_file() else path / "x").read_text() != key * 2000:
                raise SystemExit(1)


def write_half(root: Path, kind: str, ready: Event) -> None:
    def half(path: Path) -> None:
        (path / "file" if kind == "folder" else path).write_bytes(bytes(1000))
        ready.set()
        signal.pause()

    getattr(Store(root, limit=100), kind)("key1", half)


def hold(root: Path, ready: Event) -> None:
    store = Store(root)
    pin = store.pin("key1")
    store.put("key1", bytes(8))
    ready.set()
    signal.pause()
    pin.release()
