"""The blob cache: sizes, contents in use, and eviction."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ioi_eval.models import Blob
from ioi_eval.store.contents import BlobCache


def some(letter: str, size: int = 40) -> Blob:
    return Blob.of(letter * size)


def test_reserved_space_is_not_given_to_others(tmp_path: Path) -> None:
    depot = BlobCache(tmp_path, 100)
    assert depot.reserve(60) and not depot.reserve(60)
    depot.release_reserved_bytes(60)
    assert depot.reserve(60)


def test_released_contents_can_be_evicted(tmp_path: Path) -> None:
    depot, first, second, third = BlobCache(tmp_path, 100), some("a"), some("b"), some("c")
    depot.add(first)
    with depot.protect_from_eviction([first.sha256]):
        depot.add(second)
        depot.add(third)
        assert [depot.has(blob.sha256) for blob in (first, second, third)] == [True, False, True]
    depot.add(second)
    assert [depot.has(blob.sha256) for blob in (first, second, third)] == [False, True, True]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted((second.sha256, third.sha256))


def test_content_held_twice_is_kept_until_both_release_it(tmp_path: Path) -> None:
    depot, first = BlobCache(tmp_path, 50), some("a")
    depot.add(first)
    with depot.protect_from_eviction([first.sha256]):
        with depot.protect_from_eviction([first.sha256]):
            pass
        depot.add(some("b"))
        assert depot.has(first.sha256)
    assert not depot.has(first.sha256) or not depot.has(some("b").sha256)


def test_content_added_twice_counts_once(tmp_path: Path) -> None:
    depot = BlobCache(tmp_path, 100)
    for _ in range(3):
        depot.add(some("a"))
    assert depot.used == 40


def test_small_contents_count_with_their_overhead(tmp_path: Path) -> None:
    """Each content is a file, and a worker may have millions of them."""
    depot = BlobCache(tmp_path, 5 * 1000, overhead_bytes=990)
    contents = [Blob.of(f"program {n:02}") for n in range(20)]
    for content in contents:
        depot.add(content)
    assert [depot.has(content.sha256) for content in contents] == [False] * 15 + [True] * 5
    assert len([*tmp_path.iterdir()]) == 5 and depot.used == 5000


def test_eviction_from_full_cache_visits_only_evicted_contents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise each new content in a full cache would check all existing contents."""
    looks = list[str]()

    class Looked(OrderedDict[str, int]):
        def __iter__(self) -> Iterator[str]:
            for name in super().__iter__():
                looks.append(name)
                yield name

        def items(self) -> Any:
            return ((name, self[name]) for name in self)

    monkeypatch.setattr("ioi_eval.store.contents.OrderedDict", Looked)
    depot = BlobCache(tmp_path, 50 * 40)
    for number in range(100):
        depot.add(Blob.of(f"{number:040}"))
    assert len([*tmp_path.iterdir()]) == 50 and 0 < len(looks) <= 3 * 50


def test_least_recently_used_contents_are_evicted_first(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    depot = BlobCache(tmp_path / "kept", 100)
    for number in (1, 2):
        depot.add(some(str(number)))
    assert depot.list_missing_names([some("1").sha256]) == ()
    depot.add(some("3"))
    assert depot.list_missing_names([some(str(number)).sha256 for number in (1, 2, 3)]) == (some("2").sha256,)
    assert depot.blob(some("1").sha256).read() == some("1").data
    assert depot.used == 80


def test_cached_content_survives_removal_of_its_source_file(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    depot = BlobCache(tmp_path / "kept", 100)
    (tmp_path / "file").write_text("text")
    blob = Blob.of_file(tmp_path / "file")
    depot.add(blob)
    (tmp_path / "file").unlink()
    assert depot.blob(blob.sha256).read() == b"text"
