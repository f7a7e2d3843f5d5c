from __future__ import annotations

import errno
import os
from pathlib import Path
from threading import Lock

import pytest
from engine_helpers import file, path_file

from ioi_eval.engines.contract import check_file_names
from ioi_eval.engines.embedded import sandbox as embedded
from ioi_eval.engines.embedded.sandbox import (
    FileLinker,
    SandboxFile,
    convert_file_errors,
    fill_sandbox,
    move_out_of_sandbox,
    unlink_files,
)
from ioi_eval.errors import EngineOverloaded, JobRejected
from ioi_eval.models import JobFile

SOMEBODY = 60577


@pytest.fixture
def box(tmp_path: Path) -> Path:
    folder = tmp_path / "box"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/etc/passwd",
        "../x",
        "a/../../x",
        "a//b",
        "a/",
        "./a",
        "a/.",
        "..",
        "a\0b",
        "x" * 256,
        "a/" * 600 + "b",
    ],
)
def test_unsafe_file_names_are_rejected(name: str) -> None:
    with pytest.raises(JobRejected, match="cannot be a file's name"):
        check_file_names([name])


def test_unusual_file_names_are_accepted() -> None:
    check_file_names(["a", "a/b/c.txt", "..a", ".hidden", "a\nb", "ä" * 127, "-rf"])


def test_duplicate_file_name_is_rejected() -> None:
    with pytest.raises(JobRejected, match="twice"):
        check_file_names(["a", "b", "a"])


def test_job_files_are_written_with_their_modes(box: Path) -> None:
    files = [file("a/b/text", "hi"), file("tool", b"\xff\x00", executable=True), file("empty", "")]
    assert fill_sandbox(box, files, None, Lock()) == ()
    assert (box / "a/b/text").read_text() == "hi"
    assert (box / "tool").read_bytes() == b"\xff\x00"
    assert (box / "empty").read_bytes() == b""
    assert [(box / name).stat().st_mode & 0o777 for name in ("tool", "a/b/text")] == [0o755, 0o644]


def test_file_given_by_path_is_linked_not_copied(box: Path, tmp_path: Path) -> None:
    host = tmp_path / "host"
    host.write_text("x")
    host.chmod(0o644)
    assert fill_sandbox(
        box, [path_file("t/0.in", host)], SOMEBODY if os.geteuid() == 0 else None, Lock()
    ) == (SandboxFile(name="t/0.in", path=str(host)),)
    assert list((box / "t").iterdir()) == []


@pytest.mark.parametrize(("mode", "copied"), [(0o644, True), (0o755, False)])
def test_unstartable_program_given_by_path_is_copied(
    box: Path, tmp_path: Path, mode: int, copied: bool
) -> None:
    host = tmp_path / "host"
    host.write_text("x")
    host.chmod(mode)
    linked = fill_sandbox(box, [path_file("tool", host, executable=True)], None, Lock())
    assert bool(linked) is not copied
    assert (box / "tool").exists() is copied
    if copied:
        assert (box / "tool").stat().st_mode & 0o777 == 0o755
        assert host.stat().st_mode & 0o777 == mode


def test_program_on_noexec_mount_is_copied(
    box: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example from a cache in a home folder that is mounted noexec."""
    monkeypatch.setattr(embedded, "is_noexec", lambda place: place.is_relative_to(tmp_path))
    host = tmp_path / "host"
    host.write_text("x")
    host.chmod(0o755)
    files = [path_file("tool", host, executable=True), path_file("text", host)]
    assert fill_sandbox(box, files, None, Lock()) == (SandboxFile(name="text", path=str(host)),)
    assert (box / "tool").read_text() == "x" and (box / "tool").stat().st_mode & 0o777 == 0o755


def large(path: Path) -> JobFile:
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as stream:
        stream.truncate(17 << 20)
    path.chmod(0o644)
    return path_file("secret/a.gch", path)


def linked(folder: Path, free: int = 1 << 30) -> FileLinker:
    folder.mkdir()
    return FileLinker(folder, lambda: free)


def test_sandbox_without_proc_gets_links_to_large_files_and_copies_of_small_files(
    box: Path, tmp_path: Path
) -> None:
    little = tmp_path / "little"
    little.write_text("x")
    little.chmod(0o644)
    files = [large(tmp_path / "made"), path_file("t/little", little)]
    assert fill_sandbox(box, files, None, Lock(), linked(tmp_path / "links")) == ()
    assert (box / "secret/a.gch").samefile(tmp_path / "made")
    assert (box / "t/little").read_text() == "x" and not (box / "t/little").samefile(little)


def test_large_file_of_another_disk_is_copied_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(target: Path, source: Path) -> None:
        if source.name == "made":
            raise OSError(errno.EXDEV, "another disk")
        os.link(source, target)

    monkeypatch.setattr(Path, "hardlink_to", refused)
    file, links = large(tmp_path / "made"), linked(tmp_path / "links")
    for name in "ab":
        (tmp_path / name).mkdir()
        assert fill_sandbox(tmp_path / name, [file], None, Lock(), links) == ()
    assert (tmp_path / "a/secret/a.gch").samefile(tmp_path / "b/secret/a.gch")
    assert not (tmp_path / "a/secret/a.gch").samefile(tmp_path / "made")
    (tmp_path / "c").mkdir()
    assert fill_sandbox(tmp_path / "c", [file], None, Lock(), linked(tmp_path / "full", free=1 << 20)) == ()
    assert list((tmp_path / "c/secret").iterdir()) == [], "a header without free space is skipped"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another uid")
def test_sandbox_of_other_uid_owns_its_files(box: Path, tmp_path: Path) -> None:
    host = tmp_path / "host"
    host.write_text("x")
    host.chmod(0o600)
    assert fill_sandbox(box, [file("a/b", "x"), path_file("secret", host)], SOMEBODY, Lock()) == ()
    assert [(box / name).stat().st_uid for name in ("a", "a/b", "secret")] == [SOMEBODY] * 3
    assert (box / "secret").read_text() == "x"
    assert host.stat().st_uid == 0


def test_missing_or_irregular_file_path_is_rejected(box: Path, tmp_path: Path) -> None:
    host = tmp_path / "host"
    host.write_text("x")
    job_file = path_file("x", host)
    host.unlink()
    with pytest.raises(JobRejected, match="cannot be read"):
        fill_sandbox(box, [job_file], None, Lock())
    host.mkdir()
    with pytest.raises(JobRejected, match="not a regular file"):
        fill_sandbox(box, [job_file], None, Lock())


@pytest.mark.parametrize("names", [("a", "a/b"), ("a/b", "a")])
def test_name_used_as_file_and_folder_is_rejected(box: Path, names: tuple[str, str]) -> None:
    with pytest.raises(JobRejected, match="both a file and a folder"), convert_file_errors():
        fill_sandbox(box, [file(name, "x") for name in names], None, Lock())


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_full_disk_is_engine_overloaded(number: int) -> None:
    """A full disk, or a file size limit of this process."""
    with pytest.raises(EngineOverloaded, match=os.strerror(number)), convert_file_errors():
        raise OSError(number, os.strerror(number))
    with pytest.raises(OSError, match="Input/output"), convert_file_errors():
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_regular_file_is_moved_out_of_sandbox(box: Path, tmp_path: Path) -> None:
    (box / "out").mkdir()
    program = box / "out" / "program"
    program.write_text("x")
    program.chmod(0o4100)
    assert move_out_of_sandbox(box, "out/program", tmp_path / "kept")
    assert (tmp_path / "kept").read_text() == "x"
    assert (tmp_path / "kept").stat().st_mode & 0o7777 == 0o755
    assert not program.exists()


def test_links_folders_and_pipes_are_not_moved_out(box: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    (box / "link").symlink_to(outside / "precious")
    (box / "folder-link").symlink_to(outside)
    (box / "folder").mkdir()
    os.mkfifo(box / "pipe")
    for name in ("link", "folder-link/precious", "folder", "pipe", "missing", "missing/x", "link/x"):
        assert not move_out_of_sandbox(box, name, tmp_path / "kept"), name
    assert not (tmp_path / "kept").exists()
    assert (outside / "precious").read_text() == "x"


def test_links_to_job_files_are_removed_and_files_that_replaced_them_are_kept(
    box: Path, tmp_path: Path
) -> None:
    (box / "t").mkdir()
    (box / "t" / "linked").symlink_to("/proc/self/fd/7")
    (box / "replaced").write_text("by the compile stage")
    (box / "elsewhere").symlink_to(tmp_path)
    files = tuple(
        SandboxFile(name=name, path="/x") for name in ("t/linked", "replaced", "gone", "elsewhere/box/x")
    )
    (box / "x").symlink_to("/proc/self/fd/8")
    assert unlink_files(box, files) == files[:1]
    assert sorted(path.name for path in box.iterdir()) == ["elsewhere", "replaced", "t", "x"]
    assert list((box / "t").iterdir()) == []
