"""The record of what a report was made of, so that the next call makes only new pages."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path

import msgspec

from ioi_eval.model.values import Value
from ioi_eval.reports.records import VALIDATION, ReportOptions
from ioi_eval.store.folder import FAILURES, RESULTS, RUN
from ioi_eval.store.tasks import TASKS

_NAME = "made.json"
_PIECE = 1 << 12  # bytes at both ends of the rows; every row has times and hashes


class Stamp(Value):
    """Rows are only added, so that their number of bytes and their ends tell whether they are the same."""

    program: str  # this package's version and files
    size: int  # bytes of results.jsonl
    ends: str  # a hash of how they begin and end
    others: str  # of the options and of all other files

    @classmethod
    def of(cls, folder: Path, options: ReportOptions) -> Stamp:
        rows = folder / RESULTS
        size = rows.stat().st_size if rows.exists() else 0
        others = hashlib.sha256(msgspec.json.encode(options))
        for name in (RUN, FAILURES, VALIDATION, TASKS):
            path = folder / name
            others.update(path.read_bytes() if path.exists() else b"")
            others.update(name.encode())
        return cls(program=_program(), size=size, ends=_ends(rows, size), others=others.hexdigest())

    @classmethod
    def read(cls, folder: Path) -> Stamp | None:
        """None where there is no report, or one that does not say."""
        try:
            return msgspec.json.decode((folder / _NAME).read_bytes(), type=cls)
        except (OSError, msgspec.MsgspecError):
            return None

    def write(self, folder: Path) -> None:
        (folder / _NAME).write_bytes(msgspec.json.encode(self))

    def covers(self, rows: Path, program: str) -> int:
        """Bytes of the rows whose pages are as they would be made now."""
        same = self.program == program and self.size and rows.stat().st_size >= self.size
        return self.size if same and _ends(rows, self.size) == self.ends else 0


def _program() -> str:
    own = Path(__file__).parent
    changed = max(path.stat().st_mtime_ns for path in own.iterdir() if path.is_file())
    return f"{version('ioi-eval')} {changed}"


def _ends(rows: Path, size: int) -> str:
    if not size:
        return ""
    with rows.open("rb") as stream:
        head = stream.read(min(_PIECE, size))
        stream.seek(max(0, size - _PIECE))
        tail = stream.read(min(_PIECE, size))
    return hashlib.sha256(head + tail).hexdigest()
