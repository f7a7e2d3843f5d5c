"""Archives are extracted once and completely, and only into their folder."""

from __future__ import annotations

import stat
import struct
import threading
import zipfile
from pathlib import Path

import pytest

from ioi_eval.errors import InputError
from ioi_eval.problems import archive as module
from ioi_eval.problems.archive import ArchiveLimits, open_cache


def make(path: Path, *members: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as sink:
        for name, content in members:
            sink.writestr(name, content)
    return path


def special(name: str, kind: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (kind | 0o777) << 16
    return info


def extracted(archive: Path, cache: Path, limits: ArchiveLimits | None = None) -> Path:
    folder, pin = module.extract_archive(archive, open_cache(cache), limits)
    pin.release()
    return folder


def cached_files(cache: Path) -> list[str]:
    """Return all files in the cache."""
    return [str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file()]


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_archive_is_extracted_into_folder_named_by_content(tmp_path: Path) -> None:
    first = make(tmp_path / "a.zip", ("top/", b""), ("top/x/y.txt", b"hello"), ("top/z", b""))
    folder = extracted(first, tmp_path / "cache")
    assert tree(folder) == {"top/x/y.txt": b"hello", "top/z": b""}
    copy = tmp_path / "renamed.zip"
    copy.write_bytes(first.read_bytes())
    assert extracted(copy, tmp_path / "cache") == folder
    assert extracted(make(tmp_path / "b.zip", ("w", b"")), tmp_path / "cache") != folder


def test_archive_is_extracted_once(tmp_path: Path) -> None:
    archive = make(tmp_path / "a.zip", ("x", b"1"))
    mark = extracted(archive, tmp_path / "cache") / "x"
    mark.write_bytes(b"still there")
    assert (extracted(archive, tmp_path / "cache") / "x").read_bytes() == b"still there"


def test_extracted_file_modes_ignore_archive(tmp_path: Path) -> None:
    archive = make(tmp_path / "a.zip", (special("d/x", stat.S_IFREG | stat.S_ISUID), b"1"))
    folder = extracted(archive, tmp_path / "cache")
    assert [stat.S_IMODE((folder / name).stat().st_mode) for name in ("", "d", "d/x")] == [
        0o755,
        0o755,
        0o644,
    ]


def test_desktop_metadata_files_are_skipped(tmp_path: Path) -> None:
    archive = make(tmp_path / "a.zip", ("__MACOSX/._x", b"1"), ("d/.DS_Store", b"1"), ("d/x", b"1"))
    assert tree(extracted(archive, tmp_path / "cache")) == {"d/x": b"1"}


@pytest.mark.parametrize(
    ("member", "message"),
    [
        ("../x", "is outside"),
        ("d/../../x", "is outside"),
        ("/etc/x", "not a relative path"),
        ("C:/x", "not a relative path"),
        ("d\\..\\x", "not a relative path"),
        ("a\nb", "unprintable characters"),
        ("x" * 300, "too long"),
        (special("link", stat.S_IFLNK), "link or a special file"),
        (special("pipe", stat.S_IFIFO), "link or a special file"),
    ],
)
def test_unsafe_archive_members_are_refused(
    tmp_path: Path, member: str | zipfile.ZipInfo, message: str
) -> None:
    archive = make(tmp_path / "a.zip", ("good", b"1"), (member, b"/etc/passwd"))
    with pytest.raises(InputError, match=message) as caught:
        extracted(archive, tmp_path / "cache")
    assert caught.value.where == str(archive)
    assert caught.value.remedy
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "cache"]
    assert cached_files(tmp_path / "cache") == []


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("x", "x"), "is in the archive twice"),
        (("d/x", "d/./x"), "is in the archive twice"),
        (("d/x", "d//x"), "is in the archive twice"),
        (("d", "d/x"), "both a file and a folder"),
        (("d/x", "d"), "both a file and a folder"),
    ],
)
def test_conflicting_archive_members_are_refused(
    tmp_path: Path, names: tuple[str, ...], message: str
) -> None:
    archive = make(tmp_path / "a.zip", *((name, b"1") for name in names))
    with pytest.raises(InputError, match=message):
        extracted(archive, tmp_path / "cache")


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (ArchiveLimits(total=99_999), "the archive's unpacked files have 100000 bytes"),
        (ArchiveLimits(files=1), "the archive contains 2 files"),
        (ArchiveLimits(ratio=100, ratio_from=1000), "times its size"),
    ],
)
def test_archive_bomb_is_refused_before_extraction(
    tmp_path: Path, limits: ArchiveLimits, message: str
) -> None:
    archive = make(tmp_path / "a.zip", ("x", b"0" * 100_000), ("y", b""))
    with pytest.raises(InputError, match=message):
        extracted(archive, tmp_path / "cache", limits)
    assert cached_files(tmp_path / "cache") == []


def test_highly_compressed_small_archive_is_accepted(tmp_path: Path) -> None:
    archive = make(tmp_path / "a.zip", ("x", b"0" * 1_000_000))
    assert (extracted(archive, tmp_path / "cache") / "x").stat().st_size == 1_000_000


def test_archive_limits_apply_to_cached_archive(tmp_path: Path) -> None:
    archive = make(tmp_path / "a.zip", ("x", b"0" * 1000))
    extracted(archive, tmp_path / "cache")
    with pytest.raises(InputError):
        extracted(archive, tmp_path / "cache", ArchiveLimits(total=999))


def test_archive_with_wrong_size_is_refused(tmp_path: Path) -> None:
    archive = make(tmp_path / "a.zip", ("x", b"0" * 1000))
    content = archive.read_bytes().replace(struct.pack("<L", 1000), struct.pack("<L", 10))
    archive.write_bytes(content)
    with pytest.raises(InputError, match="not a readable zip"):
        extracted(archive, tmp_path / "cache")
    assert cached_files(tmp_path / "cache") == []


def test_overlapping_members_are_refused(tmp_path: Path) -> None:
    """Many directory entries that share the same data are the worst archive bombs."""
    archive = make(tmp_path / "a.zip", *((f"file{number}", bytes(range(256)) * 40) for number in range(3)))
    with zipfile.ZipFile(archive) as opened:
        infos = opened.infolist()
        offsets = [info.header_offset for info in infos]
        packed = infos[0].compress_size
    content = bytearray(archive.read_bytes())
    for info, offset in zip(infos[1:], offsets[1:], strict=True):
        entry = content.rindex(info.filename.encode()) - 46
        assert struct.unpack_from("<L", content, entry + 42)[0] == offset
        struct.pack_into("<L", content, entry + 42, 0)
        struct.pack_into("<L", content, entry + 20, 10 * packed)  # and declares a larger size than possible
    archive.write_bytes(bytes(content))
    with pytest.raises(InputError, match="the archive's files overlap each other"):
        extracted(archive, tmp_path / "cache")


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04" + b"\0" * 40])
def test_file_that_is_not_a_zip_is_refused(tmp_path: Path, content: bytes) -> None:
    archive = tmp_path / "a.zip"
    archive.write_bytes(content)
    with pytest.raises(InputError, match="not a zip"):
        extracted(archive, tmp_path / "cache")


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tar.zst", "a.TGZ", "a.tbz2", "a.7z", "a.rar"])
def test_other_archive_format_is_refused_with_remedy(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"not a zip")
    with pytest.raises(InputError, match=r"not a zip.*Extract it and name the folder"):
        extracted(tmp_path / name, tmp_path / "cache")


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9, 0.99])
def test_truncated_zip_leaves_no_files(tmp_path: Path, keep: float) -> None:
    archive = make(tmp_path / "a.zip", *((f"d/{number}", bytes([number]) * 5000) for number in range(20)))
    content = archive.read_bytes()
    archive.write_bytes(content[: int(len(content) * keep)])
    with pytest.raises(InputError):
        extracted(archive, tmp_path / "cache")
    assert cached_files(tmp_path / "cache") == []


def test_damaged_zip_leaves_no_files(tmp_path: Path) -> None:
    archive = make(tmp_path / "a.zip", ("a", b"fine"), ("x", bytes(range(256)) * 100))
    content = bytearray(archive.read_bytes())
    content[100:130] = b"\xff" * 30
    archive.write_bytes(bytes(content))
    with pytest.raises(InputError):
        extracted(archive, tmp_path / "cache")
    assert cached_files(tmp_path / "cache") == []


def test_interrupted_extraction_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module.shutil, "copyfileobj", interrupted)
    with pytest.raises(KeyboardInterrupt):
        extracted(make(tmp_path / "a.zip", ("x", b"1")), tmp_path / "cache")
    assert cached_files(tmp_path / "cache") == []


def test_unwritable_extraction_cache_is_input_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(InputError, match="cannot extract into the cache") as caught:
        extracted(make(tmp_path / "a.zip", ("x", b"1")), blocked / "cache")
    assert caught.value.where == str(blocked / "cache")


def test_concurrent_extractions_share_folder(tmp_path: Path) -> None:
    archive = make(tmp_path / "a.zip", *((f"d/{number}", bytes([number]) * 100) for number in range(50)))
    folders: list[Path] = []
    barrier = threading.Barrier(6)

    def work() -> None:
        barrier.wait()
        folders.append(extracted(archive, tmp_path / "cache"))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(folders) == 6
    assert len(set(folders)) == 1
    assert len(tree(folders[0])) == 50
