"""Jobs of a few lines, and a look at which processes are alive."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ioi_eval.engines.embedded.sandboxes import remove_tree
from ioi_eval.models import Blob, Job, JobFile


def script(text: str, *others: JobFile, **fields: Any) -> Job:
    """A job whose run stage is this shell script."""
    return Job(files=(JobFile(name="run", content=Blob.of(text)), *others), **fields)


def file(name: str, content: str | bytes, *, executable: bool = False) -> JobFile:
    return JobFile(name=name, content=Blob.of(content), executable=executable)


def path_file(name: str, path: Path, *, executable: bool = False) -> JobFile:
    return JobFile(name=name, content=Blob.of_file(path), executable=executable)


def mark() -> str:
    """A number of seconds that no other process sleeps."""
    return f"600.{secrets.randbelow(10**15):015}"


def stays(marked: str) -> str:
    """A script that does all to outlive its job, under a name by which `alive` finds it."""
    return f"trap '' TERM INT HUP; (setsid sleep {marked} &) ; sleep {marked} & echo started; sleep {marked}"


@contextmanager
def folder_for_boxes() -> Iterator[Path]:
    """A folder that other users may pass through, as boxes started by root need it."""
    folder = Path(tempfile.mkdtemp(prefix="ioi-eval-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    remove_tree(folder)


def inside(folder: Path, pattern: str = "*") -> list[str]:
    return sorted(path.name for path in folder.glob(pattern))


def boxes(base: Path) -> list[Path]:
    """The boxes of all engines that have theirs in that folder."""
    return list(base.glob("*/box-*"))


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def alive(*marks: str) -> list[str]:
    """Command lines of the processes that have one of the marks in theirs."""
    lines = (_command_line(process) for process in Path("/proc").glob("[0-9]*"))
    return [line for line in lines if any(text in line for text in marks)]


def _command_line(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
