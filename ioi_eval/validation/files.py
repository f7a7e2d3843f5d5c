"""validation.json of a run's folder."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ioi_eval.errors import InputError
from ioi_eval.journal.files import replace
from ioi_eval.validation.values import Validation

VALIDATION = "validation.json"


def write_validation(folder: Path, found: Validation) -> Path:
    replace(folder / VALIDATION, [msgspec.json.format(msgspec.json.encode(found)), b"\n"])
    return folder / VALIDATION


def read_validation(folder: Path) -> Validation | None:
    """None where the run in the folder is no validation."""
    path = folder / VALIDATION
    try:
        return msgspec.json.decode(path.read_bytes(), type=Validation)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, OSError) as error:
        remedy = "Run `ioi-eval validate` again"
        raise InputError(f"is not a validation's: {error}", where=str(path), remedy=remedy) from error
