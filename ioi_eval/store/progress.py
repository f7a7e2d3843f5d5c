"""How far a run is, for those who watch it: what its rows do not say."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ioi_eval.model.values import Value
from ioi_eval.store.files import replace

PROGRESS = "progress.json"


class Progress(Value):
    """Of the last call. Rows say the rest."""

    total: int | None = None  # None: programs come one by one
    engine: str = ""
    servers: int = 0  # that answered when the engine was opened
    slots: int = 0
    unreachable: tuple[str, ...] = ()  # why, of each
    ended: bool = False


def read_progress(folder: Path) -> Progress | None:
    """None where no call has said, or where that cannot be read."""
    try:
        return msgspec.json.decode((folder / PROGRESS).read_bytes(), type=Progress)
    except (OSError, msgspec.MsgspecError):
        return None


def write_progress(folder: Path, progress: Progress) -> None:
    replace(folder / PROGRESS, [msgspec.json.encode(progress), b"\n"])
