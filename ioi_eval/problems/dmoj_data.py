"""The files of a DMOJ package: in its folder, or in the archive of its tests."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path, PurePosixPath

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Blob
from ioi_eval.problems.archive import extracted, open_cache
from ioi_eval.problems.fields import Faults, Fields
from ioi_eval.store import private_folder


class Data:
    """Opens files by name. Their line ends become plain ones, as in the judge, unless the data is binary."""

    def __init__(self, folder: Path, header: Fields, faults: Faults) -> None:
        self._folder, self._header, self._faults = folder, header, faults

    @cached_property
    def _archive(self) -> Path | None:
        """The content of the archive, in the cache until this process ends."""
        name = self._header.text("archive", "")
        path = self._folder / name
        if not name or ".." in PurePosixPath(name).parts or not path.is_file():
            if name:
                self._header.fault("archive", f"there is no file {name!r} in the package", "Add it")
            return None
        try:
            return extracted(path, open_cache(private_folder() / "packages")).folder
        except InputError as error:
            self._header.fault("archive", error.problem, error.remedy)
            return None

    def names(self) -> list[str]:
        """Of the files in the archive."""
        if (folder := self._archive) is None:
            return []
        return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())

    def path(self, name: str) -> Path | None:
        plain = PurePosixPath(name)
        if plain.is_absolute() or ".." in plain.parts or not plain.parts:
            return None
        for folder in (self._folder, self._archive):
            if folder is not None and (folder / plain).is_file():
                return folder / plain
        return None

    def content(self, name: str, *, binary: bool = True) -> Blob | None:
        path = self.path(name)
        if path is None:
            return None
        if binary:
            return Blob.of_file(path)
        content = path.read_bytes()
        plain = with_line_ends(content)
        return Blob.of_file(path) if plain == content else Blob.of(plain)


def with_line_ends(content: bytes) -> bytes:
    """Every line ends with a newline, the last one too."""
    plain = re.sub(rb"\r\n?", b"\n", content)
    return plain if plain.endswith(b"\n") or not plain else plain + b"\n"
