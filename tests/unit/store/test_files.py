"""Files that survive a kill and a full disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ioi_eval.errors import InputError
from ioi_eval.store.files import replace


def test_failed_replace_keeps_old_content_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise ValueError("no row")

    replace(tmp_path / "kept.json", [b"old"])
    with pytest.raises(ValueError, match="no row"):
        replace(tmp_path / "kept.json", broken())
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"kept.json": b"old"}


def test_write_into_a_file_instead_of_a_folder_is_refused(tmp_path: Path) -> None:
    """Like on a disk that became read-only, so temporary files cannot be removed either."""
    (tmp_path / "folder").write_text("")
    with pytest.raises(InputError, match=r"folder/kept\.json: cannot be written: Not a directory"):
        replace(tmp_path / "folder" / "kept.json", [b"new"])
