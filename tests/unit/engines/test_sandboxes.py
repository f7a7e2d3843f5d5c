from __future__ import annotations

import os
import tempfile
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
from engine_helpers import file

from ioi_eval.engines import health_checks
from ioi_eval.engines.embedded import sandboxes as folders
from ioi_eval.engines.embedded.sandbox import fill_sandbox
from ioi_eval.engines.embedded.sandboxes import (
    MIN_SLOT_BYTES,
    Disk,
    Sandboxes,
    explain_unusable_folder,
    remove_abandoned_folders,
)
from ioi_eval.errors import EngineUnavailable


def test_sandbox_folder_is_created_private_and_removed(base: Path) -> None:
    boxes = Sandboxes(base)
    boxes.open()
    box = boxes.create_sandbox(None)
    assert box.stat().st_mode & 0o777 == 0o700
    assert boxes.folder.stat().st_mode & 0o777 == 0o711
    boxes.make_fetched_file_path().write_text("kept")
    boxes.close()
    boxes.close()
    assert list(base.iterdir()) == []


def test_sandbox_modes_ignore_umask(base: Path) -> None:
    """With modes by the umask, every submission on an engine that root started would be a compile error."""
    boxes = Sandboxes(base)
    umask_before = os.umask(0o777)
    try:
        boxes.open()
        box = boxes.create_sandbox(None)
        fill_sandbox(box, [file("a/b/text", "hi"), file("tool", "", executable=True)], None, Lock())
    finally:
        os.umask(umask_before)
    paths = (
        boxes.make_fetched_file_path().parent,
        box,
        box / "a",
        box / "a/b",
        box / "a/b/text",
        box / "tool",
    )
    assert [path.stat().st_mode & 0o777 for path in paths] == [0o700, 0o700, 0o755, 0o755, 0o644, 0o755]
    boxes.close()


def test_closing_unopened_sandboxes_does_nothing(base: Path) -> None:
    Sandboxes(base).close()
    assert list(base.iterdir()) == []


def test_folders_of_dead_engines_are_removed_and_of_running_engines_kept(base: Path) -> None:
    living = Sandboxes(base)
    living.open()
    killed = Sandboxes(base)
    killed.open()
    killed.create_sandbox(None)
    os.close(killed._lock_fd)  # like the kernel for a killed process
    unfinished = base / f"ioi-eval-{os.geteuid()}-1-never-locked"
    unfinished.mkdir()
    (base / "somebody-else").mkdir()
    remove_abandoned_folders(base)
    assert sorted(path.name for path in base.iterdir()) == sorted([living.folder.name, "somebody-else"])
    living.close()


def test_removing_abandoned_folders_does_not_disturb_closing_engine(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If both remove a folder, the closing engine must not fail."""
    boxes = Sandboxes(base)
    boxes.open()
    (boxes.create_sandbox(None) / "inner").mkdir()
    rename, calls = os.rename, []

    def beside_a_sweeper(*arguments: Any, **options: Any) -> None:
        monkeypatch.undo()
        remove_abandoned_folders(base)
        calls.append(arguments)
        rename(*arguments, **options)

    monkeypatch.setattr("os.rename", beside_a_sweeper)
    boxes.close()
    assert calls, "no folder was removed"
    assert list(base.iterdir()) == []


def test_sandbox_folder_removed_before_locking_is_created_again(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = tempfile.mkdtemp

    def beside_a_sweeper(**options: Any) -> str:
        monkeypatch.undo()
        folder = make(**options)
        remove_abandoned_folders(base)
        return folder

    monkeypatch.setattr("tempfile.mkdtemp", beside_a_sweeper)
    boxes = Sandboxes(base)
    boxes.open()
    assert list(base.iterdir()) == [boxes.folder]
    boxes.close()


def test_opening_sandboxes_removes_folders_of_dead_engines(base: Path) -> None:
    killed = Sandboxes(base)
    killed.open()
    os.close(killed._lock_fd)
    boxes = Sandboxes(base)
    boxes.open()
    assert list(base.iterdir()) == [boxes.folder]
    boxes.close()


def test_removing_abandoned_folders_does_not_follow_links(base: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("x")
    (base / f"ioi-eval-{os.geteuid()}-1-x").symlink_to(tmp_path)
    remove_abandoned_folders(base)
    assert (tmp_path / "precious").exists()
    assert not (tmp_path / "owner").exists()


def test_missing_sandbox_base_is_engine_unavailable(base: Path) -> None:
    with pytest.raises(EngineUnavailable, match="cannot create a folder for sandboxes"):
        Sandboxes(base / "missing").open()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's sandboxes run under another uid")
def test_root_needs_sandbox_base_that_others_may_enter(base: Path) -> None:
    base.chmod(0o700)
    with pytest.raises(EngineUnavailable, match="chmod o\\+x"):
        Sandboxes(base).open()


def test_noexec_sandbox_base_is_refused(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "is_noexec", lambda place: place == base)
    with pytest.raises(EngineUnavailable, match=r"it is mounted noexec\. Set TMPDIR to a folder"):
        Sandboxes(base).open()
    assert explain_unusable_folder(1, base) == f"{base} is mounted noexec"
    mere_files = Sandboxes(base, can_run_programs=False)
    mere_files.open()
    mere_files.close()


def test_sandboxes_need_proc_and_open_files(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        is_dir = Path.is_dir

        def is_dir_without_proc(path: Path, **options: Any) -> bool:
            return not path.is_relative_to("/proc") and is_dir(path, **options)

        patch.setattr(Path, "is_dir", is_dir_without_proc)
        with pytest.raises(EngineUnavailable, match=r"/proc: it is not mounted.* mount -t proc proc /proc"):
            Sandboxes(base).open()
    monkeypatch.setattr(folders.resource, "getrlimit", lambda kind: (64, 64))
    with pytest.raises(EngineUnavailable, match=r"open files: this shell allows 64 at a time.* ulimit -Hn"):
        Sandboxes(base).open()
    [*failed_checks] = (check for check in health_checks.check_machine() if not check.ok)
    assert [(check.name, check.remedy[:5]) for check in failed_checks] == [("open files", "Start")]
    monkeypatch.setattr(folders.resource, "getrlimit", lambda kind: (64, -1))
    assert [*folders.find_missing_requirements()] == []


def test_folder_does_not_count_as_in_memory_if_proc_is_missing(
    monkeypatch: pytest.MonkeyPatch, base: Path
) -> None:
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: (base / "none").read_bytes())
    assert folders.is_in_memory(base) is False


def test_reason_why_memory_file_system_is_unusable_is_given(base: Path) -> None:
    assert explain_unusable_folder(1, base) is None
    assert "cannot be written" in (explain_unusable_folder(1, base / "missing") or "")


def test_number_of_slots_is_limited_by_disk_space(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(free=3 * MIN_SLOT_BYTES - 1)
    assert [disk.count_slots(slots) for slots in (1, 2, 3, 64)] == [1, 2, 2, 2]
    monkeypatch.setattr(Disk, "measure", lambda folder: disk)
    assert explain_unusable_folder(2, base) is None
    assert "has only 767 MB left, and each slot needs 256 MB" in (explain_unusable_folder(3, base) or "")
    assert Disk(free=1).count_slots(2) == 1


SHARES = [  # free and reserved bytes, then slots and the share of each
    (1 << 20, 0, (1, 1 << 20)),
    (320 << 20, 0, (1, 320 << 20)),
    (320 << 20, 80 << 20, (0, 240 << 20)),
    (640 << 20, 0, (2, 320 << 20)),
    (1 << 30, 0, (2, 256 << 20)),
    (24 << 30, 0, (2, 3 << 30)),
    (24 << 30, 23 << 30, (2, 256 << 20)),
    (1 << 40, 0, (2, 4 << 30)),
]


@pytest.mark.parametrize(("free", "reserved", "expected"), SHARES)
def test_disk_shares_leave_space_for_other_engines(
    free: int, reserved: int, expected: tuple[int, int]
) -> None:
    shares = Disk(free=free, held=reserved).plan_shares(2, max_bytes=4 << 30)
    assert (shares.slots, shares.each) == expected
    assert not shares.slots or shares.total_bytes <= free - reserved


def test_disk_space_held_by_living_engine_is_subtracted(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Excludes processes that do not belong to the tests.
    monkeypatch.setattr("ioi_eval.engines.embedded.sandboxes.IN_MEMORY", base / "none")
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(base / "none"))
    (dead := base / "ioi-eval-1-1-dead").mkdir()
    (dead / "owner").write_text("1000000000")
    first, second, late = Sandboxes(base), Sandboxes(base), Sandboxes(base)
    first.open(), second.open(), late.open()
    assert Disk.measure(base).held == 0
    assert first.reserve_space(2, max_bytes=1 << 20).total_bytes == Disk.measure(base).held == 1 << 21
    second.publish_reservation(1 << 20)
    assert Disk.measure(base).held == 3 << 20
    first.close()
    assert Disk.measure(base).held == 1 << 20
    second.publish_reservation(1 << 60)
    with pytest.raises(EngineUnavailable, match=r" 0 MB left: .* other engines hold .* needs 256 MB"):
        late.reserve_space(1, max_bytes=1 << 30)
    second.close(), late.close()
