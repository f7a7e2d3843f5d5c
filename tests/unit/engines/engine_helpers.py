"""Small jobs, and a search for running processes."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ioi_eval.engines.embedded.sandboxes import remove_tree
from ioi_eval.models import Blob, Job, JobFile


def script(shell_code: str, *more_files: JobFile, **fields: Any) -> Job:
    """Return a job whose run stage is this shell script."""
    return Job(files=(JobFile(name="run", content=Blob.of(shell_code)), *more_files), **fields)


def file(name: str, content: str | bytes, *, executable: bool = False) -> JobFile:
    return JobFile(name=name, content=Blob.of(content), executable=executable)


def path_file(name: str, path: Path, *, executable: bool = False) -> JobFile:
    return JobFile(name=name, content=Blob.of_file(path), executable=executable)


def mark() -> str:
    """Return a number of seconds that no other process sleeps."""
    return f"600.{secrets.randbelow(10**15):015}"


def stays(marked: str) -> str:
    """Return a script that tries to outlive its job. `alive` finds it by its mark."""
    return f"trap '' TERM INT HUP; (setsid sleep {marked} &) ; sleep {marked} & echo started; sleep {marked}"


@contextmanager
def folder_for_boxes() -> Iterator[Path]:
    """Return a folder that other users may enter, as sandboxes that root starts need."""
    folder = Path(tempfile.mkdtemp(prefix="ioi-eval-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    remove_tree(folder)


def inside(folder: Path, pattern: str = "*") -> list[str]:
    return sorted(path.name for path in folder.glob(pattern))


def boxes(base: Path) -> list[Path]:
    """Return the sandboxes of all engines in this folder."""
    return list(base.glob("*/box-*"))


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def alive(*marks: str) -> list[str]:
    """Return the command lines of processes that contain any of the marks."""
    lines = (_command_line(process) for process in Path("/proc").glob("[0-9]*"))
    return [line for line in lines if any(needle in line for needle in marks)]


def _command_line(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
