"""Find a package's files by name, in its folder or in its archive."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Blob
from ioi_eval.plugins.dmoj.keys import DmojHeader
from ioi_eval.problems.archive import extract_archive, open_cache
from ioi_eval.problems.names import stays_in_folder
from ioi_eval.store import private_folder


class PackageFiles:
    """The files in a package's folder and in its archive, by name."""

    def __init__(self, folder: Path, header: DmojHeader) -> None:
        self._folder, self._header = folder, header

    @cached_property
    def _archive_path(self) -> Path | None:
        """Return the folder of the extracted archive, which the cache holds until this process exits."""
        name = self._header.archive
        path = self._folder / name
        if not stays_in_folder(name) or not path.is_file():
            if name:
                self._header.report_fault("archive", f"there is no file {name!r} in the package", "Add it")
            return None
        try:
            return extract_archive(path, open_cache(private_folder() / "packages")).folder
        except InputError as error:
            self._header.report_fault("archive", error.problem, error.remedy)
            return None

    def list_archive_names(self) -> list[str]:
        """Return the names of the files in the archive."""
        if (folder := self._archive_path) is None:
            return []
        return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())

    def find_path(self, name: str) -> Path | None:
        """Return the path of a file in the folder, else in the archive, or None if it is in neither."""
        folders = (self._folder, self._archive_path) if stays_in_folder(name) else ()
        paths = (folder / name for folder in folders if folder is not None)
        return next((path for path in paths if path.is_file()), None)

    def read_content(self, name: str, *, is_binary: bool = True) -> Blob | None:
        """Return a file's content, or None if the file does not exist.

        If the file is not binary, all line breaks become LF and the last line gets a line break, as in DMOJ's
        judge.
        """
        path = self.find_path(name)
        if path is None:
            return None
        if is_binary:
            return Blob.of_file(path)
        content = path.read_bytes()
        normalized_content = re.sub(rb"\r\n?", b"\n", content)
        if normalized_content and not normalized_content.endswith(b"\n"):
            normalized_content += b"\n"
        return Blob.of_file(path) if normalized_content == content else Blob.of(normalized_content)
