"""How far a run is, for those who watch it: what its rows do not say."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ioi_eval.model.values import Value
from ioi_eval.store.files import replace

PROGRESS = "progress.json"


class Standing(Value):
    """How a server does."""

    url: str
    state: str  # healthy, trial, down, gone; unreachable or left out from the beginning
    slots: int = 0
    busy: int = 0  # slots with jobs of this run
    errors: int = 0
    why: str = ""  # the last of these
    since: float | None = None  # when it got into its state: seconds since 1970


class Progress(Value):
    """Of the last call. Rows say the rest."""

    total: int | None = None  # None: programs come one by one
    engine: str = ""
    servers: int = 0  # that answered when the engine was opened
    slots: int = 0
    unreachable: tuple[str, ...] = ()  # why, of each
    standings: tuple[Standing, ...] = ()  # a moment ago
    ended: bool = False


def read_progress(folder: Path) -> Progress | None:
    """None where no call has said, or where that cannot be read."""
    try:
        return msgspec.json.decode((folder / PROGRESS).read_bytes(), type=Progress)
    except (OSError, msgspec.MsgspecError):
        return None


def write_progress(folder: Path, progress: Progress) -> None:
    replace(folder / PROGRESS, [msgspec.json.encode(progress), b"\n"])
