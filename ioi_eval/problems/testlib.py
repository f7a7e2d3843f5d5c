"""testlib.h, which checkers and interactors include, and which many packages and datasets leave to the judge.

It is looked for beside them, and where compilers look.
"""

from __future__ import annotations

import re
from pathlib import Path

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Blob, NamedBlob

NAME = "testlib.h"
REMEDY = f"Put {NAME} (github.com/MikeMirzayanov/testlib) beside the data, or into /usr/local/include"
_SYSTEM = (Path("/usr/local/include"), Path("/usr/include"))
_INCLUDE = re.compile(r'^\s*#\s*include\s*["<](?:.*/)?testlib\.h[">]', re.MULTILINE)


def find(*folders: Path) -> Path | None:
    """Return the header's place: one of these folders, or where compilers look."""
    places = (folder / NAME for folder in (*folders, *_SYSTEM))
    return next((place for place in places if place.is_file()), None)


def program(name: str, source: str, *folders: Path) -> tuple[NamedBlob, ...]:
    """Return the files of a program, with the header if it includes that. InputError where there is none."""
    main = NamedBlob(name=name, content=Blob.of(source))
    if not _INCLUDE.search(source):
        return (main,)
    found = find(*folders)
    if found is None:
        raise InputError(f"{name} includes {NAME}, and there is none", remedy=REMEDY)
    return (main, NamedBlob(name=NAME, content=Blob.of_file(found)))
