from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ioi_eval.engines.embedded import placing
from ioi_eval.engines.embedded.boxes import ROOM_NEEDED, Boxes, slots_with_room, sweep, why_not_in_memory
from ioi_eval.errors import EngineUnavailable


def test_comes_and_goes(base: Path) -> None:
    boxes = Boxes(base)
    boxes.open()
    box = boxes.make(None)
    assert box.stat().st_mode & 0o777 == 0o700
    assert boxes.folder.stat().st_mode & 0o777 == 0o711
    boxes.place_to_keep().write_text("kept")
    boxes.close()
    boxes.close()
    assert list(base.iterdir()) == []


def test_close_without_open(base: Path) -> None:
    Boxes(base).close()
    assert list(base.iterdir()) == []


def test_sweep_takes_the_dead_and_leaves_the_living(base: Path) -> None:
    living = Boxes(base)
    living.open()
    killed = Boxes(base)
    killed.open()
    killed.make(None)
    os.close(killed._lock)  # as the kernel does for a process that was killed
    unfinished = base / f"ioi-eval-{os.geteuid()}-1-never-locked"
    unfinished.mkdir()
    (base / "somebody-else").mkdir()
    sweep(base)
    assert sorted(path.name for path in base.iterdir()) == sorted([living.folder.name, "somebody-else"])
    living.close()


def test_sweep_leaves_to_the_living_what_they_remove(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that remove one folder stumble over each other: an engine that closes was told that it failed."""
    boxes = Boxes(base)
    boxes.open()
    (boxes.make(None) / "inner").mkdir()
    raise_children, seen = placing._raise_children, []

    def beside_a_sweeper(*arguments: Any) -> None:
        monkeypatch.undo()
        sweep(base)
        seen.append(arguments)
        raise_children(*arguments)

    monkeypatch.setattr(placing, "_raise_children", beside_a_sweeper)
    boxes.close()
    assert seen, "it removed no folder"
    assert list(base.iterdir()) == []


def test_opening_sweeps(base: Path) -> None:
    killed = Boxes(base)
    killed.open()
    os.close(killed._lock)
    boxes = Boxes(base)
    boxes.open()
    assert list(base.iterdir()) == [boxes.folder]
    boxes.close()


def test_sweep_follows_no_link(base: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("x")
    (base / f"ioi-eval-{os.geteuid()}-1-x").symlink_to(tmp_path)
    sweep(base)
    assert (tmp_path / "precious").exists()
    assert not (tmp_path / "owner").exists()


def test_a_base_that_is_not_there(base: Path) -> None:
    with pytest.raises(EngineUnavailable, match="no folder for boxes"):
        Boxes(base / "missing").open()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's boxes run under another uid")
def test_root_needs_a_base_that_others_may_enter(base: Path) -> None:
    base.chmod(0o700)
    with pytest.raises(EngineUnavailable, match="chmod o\\+x"):
        Boxes(base).open()


def test_memory_is_refused_with_a_reason(base: Path) -> None:
    assert why_not_in_memory(1, base) is None
    assert "cannot be written" in (why_not_in_memory(1, base / "missing") or "")


def test_each_slot_needs_room_of_its_own(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ioi_eval.engines.embedded.boxes.room_in", lambda folder: 3 * ROOM_NEEDED - 1)
    assert [slots_with_room(base, slots) for slots in (1, 2, 3, 64)] == [1, 2, 2, 2]
    assert why_not_in_memory(2, base) is None
    assert "has only 767 MB left, and each slot takes 256 MB" in (why_not_in_memory(3, base) or "")
    monkeypatch.setattr("ioi_eval.engines.embedded.boxes.room_in", lambda folder: 1)
    assert slots_with_room(base, 2) == 1
