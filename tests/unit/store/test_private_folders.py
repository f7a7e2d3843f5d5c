"""Folders that only their owner can access."""

from __future__ import annotations

import os
import pwd
import stat
import tempfile
from pathlib import Path

import pytest

from ioi_eval import Store, private_folder
from ioi_eval.errors import InputError

# --- private folders ---------------------------------------------------------------------------------


def test_private_folder_is_created_once(tmp_path: Path) -> None:
    folder = private_folder(tmp_path)
    assert folder == tmp_path / f"ioi-eval-{os.geteuid()}"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (folder / "file").touch()
    assert private_folder(tmp_path) == folder
    assert private_folder(tmp_path, "other") == tmp_path / "other"


def test_symbolic_link_is_refused_as_private_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "mine").symlink_to("elsewhere")
    with pytest.raises(InputError, match=r"mine: the path is not a folder\. .* set TMPDIR"):
        private_folder(tmp_path, "mine")


def test_regular_file_is_refused_as_private_folder(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(InputError, match="the path is not a folder"):
        private_folder(tmp_path, "mine")


@pytest.mark.parametrize("bits", [0o755, 0o770, 0o701])
def test_folder_accessible_to_other_users_is_refused_as_private(tmp_path: Path, bits: int) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine").chmod(bits)
    with pytest.raises(
        InputError, match=rf"accessible to other users \(owner {os.geteuid()}, mode {bits:04o}\)"
    ):
        private_folder(tmp_path, "mine")


def test_folder_of_another_user_is_refused_as_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir(mode=0o700)
    someone = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: someone)
    with pytest.raises(InputError, match="belongs to another user"):
        private_folder(tmp_path, "mine")


@pytest.mark.parametrize("home", [None, "", "below/here"])
def test_user_without_name_and_home_gets_private_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str | None
) -> None:
    """For example in a container that runs with a numeric user id."""

    def unknown(uid: int) -> object:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME")
    if home is not None:
        monkeypatch.setenv("HOME", home)
    assert Store.usual().root == tmp_path / f"ioi-eval-{os.geteuid()}"


@pytest.mark.parametrize("bits", [0o722, 0o770, 0o1777])
def test_cache_writable_by_other_users_is_refused(tmp_path: Path, bits: int) -> None:
    """They could add a checker that accepts everything."""
    tmp_path.chmod(bits)
    with pytest.raises(
        InputError,
        match=rf"the folder is accessible to other users \(owner {os.geteuid()}, mode {bits:04o}\)",
    ):
        Store(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change a folder's owner")
def test_root_refuses_cache_of_another_user(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(InputError, match=r"the folder belongs to another user \(owner 65534, mode 0700\)"):
        Store(tmp_path)
    assert list(tmp_path.iterdir()) == []
