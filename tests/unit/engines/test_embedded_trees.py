from __future__ import annotations

import os
from pathlib import Path

from ioi_eval.engines.embedded.sandboxes import remove_tree


def test_remove_tree_removes_tree_deeper_than_longest_path(tmp_path: Path) -> None:
    top = tmp_path / "box"
    top.mkdir()
    handle = os.open(top, os.O_RDONLY)
    for _ in range(1100):  # deeper than recursion, and more than the limit of open files
        os.mkdir("a-folder", dir_fd=handle)
        deeper = os.open("a-folder", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = deeper
    os.close(handle)
    remove_tree(top)
    assert list(tmp_path.iterdir()) == []


def test_remove_tree_removes_unreadable_folders(tmp_path: Path) -> None:
    inner = tmp_path / "box" / "closed" / "inner"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x")
    for path in (inner / "file", inner, inner.parent, tmp_path / "box"):
        path.chmod(0)
    remove_tree(tmp_path / "box")
    assert list(tmp_path.iterdir()) == []


def test_remove_tree_follows_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    box = tmp_path / "box"
    (box / "sub").mkdir(parents=True)
    (box / "link").symlink_to(outside)
    (box / "sub" / "link").symlink_to(outside)
    (box / "dangling").symlink_to("nowhere")
    remove_tree(box)
    assert [path.name for path in tmp_path.iterdir()] == ["outside"]
    assert (outside / "precious").read_text() == "x"


def test_remove_tree_copes_with_occupied_temporary_names(tmp_path: Path) -> None:
    box = tmp_path / "box"
    for name in (".rm-0", ".rm-1", "a/.rm-0/.rm-1/deep", "a/.rm-2/x", "b/c"):
        (box / name).mkdir(parents=True)
        (box / name / ".rm-3").write_text("x")
    remove_tree(box)
    assert list(tmp_path.iterdir()) == []


def test_remove_tree_removes_pipes(tmp_path: Path) -> None:
    box = tmp_path / "box"
    box.mkdir()
    os.mkfifo(box / "pipe")
    (box / "a\nname").write_text("x")
    remove_tree(box)
    assert list(tmp_path.iterdir()) == []


def test_remove_tree_accepts_missing_folder(tmp_path: Path) -> None:
    remove_tree(tmp_path / "nothing")
    assert list(tmp_path.iterdir()) == []
