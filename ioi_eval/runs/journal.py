"""The one writer of a run's folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.store.files import Lines, Lock, cut_torn_line, lines, make_folder, replace, sweep_drafts
from ioi_eval.store.folder import (
    FAILURES,
    RESULTS,
    RUN,
    FailureHead,
    Fingerprint,
    ResultHead,
    RunInfo,
    changes,
    check_folder,
    decoded,
    read_info,
)
from ioi_eval.store.rows import plain

_LOCK = ".lock"
# Made of the rows, so they go when the rows go.
_DERIVED = ("summary.json", "report.md", "report.html", "validation.json", "limits.json")


class Journal:
    """Rows of results and of failures, written as they come; `with Journal.open(...) as journal`.

    Opening changes nothing but a torn last line. The run begins with its first row (or with `begin`): input
    that turns out to be unusable before that leaves the folder, and an older run in it, as they were.
    """

    def __init__(self, folder: Path, info: RunInfo, lock: Lock) -> None:
        self._folder, self._info, self._lock = folder, info, lock
        self._old: RunInfo | None = None  # what run.json says
        self._made = False  # the folder is ours
        self._restart = False  # rows of an earlier run are to be given up
        self._done: set[str] = set()
        self._offsets: dict[bytes, int] = {}  # where an identity's first row starts
        self._failed: dict[str, int] = {}  # where a key's last failure starts
        self._stale = 0  # lines of failures.jsonl that no longer say anything
        self._results: Lines | None = None
        self._failures: Lines | None = None

    @classmethod
    def open(
        cls,
        folder: Path,
        fingerprint: Fingerprint,
        *,
        settings: Mapping[str, Any] | None = None,
        fresh: bool = False,
    ) -> Self:
        """Locks the folder, reads what is done. `fresh` gives an earlier run up once there is a new row."""
        made = make_folder(folder)
        lock = Lock(folder / _LOCK).__enter__()
        journal = cls(folder, _info(fingerprint, settings or {}), lock)
        journal._made = made
        try:
            journal._read(fresh)
        except BaseException:
            journal._leave()
            raise
        return journal

    # --- what is there already ---

    @property
    def done(self) -> Set[str]:
        """Keys of the submissions that have a result."""
        return self._done

    @property
    def failed(self) -> Set[str]:
        """Keys of the submissions that could not be judged, so far."""
        return self._failed.keys()

    def find(self, identity: str) -> dict[str, Any] | None:
        """The row of a submission that was the same in all that a result depends on."""
        offset = self._offsets.get(bytes.fromhex(identity))
        if offset is None:
            return None
        row: dict[str, Any] = msgspec.json.decode(self._writers()[0].at(offset))
        return row

    def _read(self, fresh: bool) -> None:
        for name in (RUN, FAILURES):
            sweep_drafts(self._folder / name)
        self._old = read_info(self._folder)
        if self._old is None:
            check_folder(self._folder)
        elif fresh or self._old.replacing:
            self._restart = True
        else:
            self._read_rows()
            self._compare(self._old.fingerprint)

    def _read_rows(self) -> None:
        for name in (RESULTS, FAILURES):
            cut_torn_line(self._folder / name)
        for offset, row in decoded(self._folder / RESULTS, ResultHead):
            if row.key in self._done:
                self._refuse_twice(row.key)
            self._note(row.key, row.submission_sha256, offset)
        for offset, failure in decoded(self._folder / FAILURES, FailureHead):
            self._stale += failure.key in self._failed or failure.key in self._done
            if failure.key not in self._done:
                self._failed[failure.key] = offset

    def _refuse_twice(self, key: str) -> None:
        raise InputError(
            f"key {key!r} is there twice",
            where=str(self._folder / RESULTS),
            remedy="Delete one of the two lines, or give fresh=True to start anew",
        )

    def _compare(self, old: Fingerprint) -> None:
        """Another fingerprint matters only where there are results that it would be mixed with."""
        if not (found := changes(old, self._info.fingerprint)):
            merged = self._info.fingerprint.with_problems_of(old)
            self._info = msgspec.structs.replace(self._info, fingerprint=merged)
        elif self._done:
            raise InputError(
                f"the run in this folder was made of something else. Changed: {'; '.join(found)}",
                where=str(self._folder),
                remedy="Give fresh=True to score everything again, or choose another out=FOLDER",
            )
        else:
            self._restart = True
            self._failed.clear()

    # --- what is new ---

    def begin(self) -> None:
        """Makes the run exist, also when it has no row. Killed halfway, it is begun by the next process."""
        if self._old is None or self._restart:
            self._begin_anew()

    def _begin_anew(self) -> None:
        """run.json is replaced first: from then on the old rows count for nothing, whoever removes them."""
        self._write_info(replacing=True)
        for name in (RESULTS, FAILURES, *_DERIVED):
            (self._folder / name).unlink(missing_ok=True)
        shutil.rmtree(self._folder / "report", ignore_errors=True)
        self._done.clear()
        self._write_info(replacing=False)
        self._restart, self._stale = False, 0
        self._open_writers()

    def record(self, row: Mapping[str, Any]) -> None:
        """Appends a submission's row of results."""
        if row["key"] in self._done:
            raise ValueError(f"{row['key']!r} has its result already")
        offset = self._writers()[0].append(_encoded(row))
        if self._failed.pop(row["key"], None) is not None:
            self._stale += 1
        self._note(row["key"], row.get("submission_sha256", ""), offset)

    def fail(self, row: Mapping[str, Any]) -> None:
        """Appends why a submission could not be judged; the next run tries it again."""
        offset = self._writers()[1].append(_encoded(row))
        self._stale += row["key"] in self._failed
        self._failed[row["key"]] = offset

    def _note(self, key: str, identity: str, offset: int) -> None:
        self._done.add(key)
        if identity:
            self._offsets.setdefault(bytes.fromhex(identity), offset)

    def _writers(self) -> tuple[Lines, Lines]:
        if self._results is None or self._failures is None:
            self.begin()
            if self._old != self._info:
                self._write_info(replacing=False)
            return self._open_writers()
        return self._results, self._failures

    def _open_writers(self) -> tuple[Lines, Lines]:
        if self._results is None:
            self._results = Lines(self._folder / RESULTS)
        if self._failures is None:
            self._failures = Lines(self._folder / FAILURES)
        return self._results, self._failures

    def _write_info(self, *, replacing: bool) -> None:
        self._old = msgspec.structs.replace(self._info, replacing=replacing)
        replace(self._folder / RUN, [msgspec.json.format(msgspec.json.encode(self._old)), b"\n"])

    # --- the end ---

    def close(self) -> None:
        """Leaves in failures.jsonl one line for each submission that still has no result."""
        try:
            for writer in (self._results, self._failures):
                if writer is not None:
                    writer.close()
            if self._stale and not self._restart:
                replace(self._folder / FAILURES, self._open_failures())
        finally:
            self._results = self._failures = None
            self._leave()

    def _open_failures(self) -> Iterator[bytes]:
        current = set(self._failed.values())
        for offset, line in lines(self._folder / FAILURES):
            if offset in current:
                yield line + b"\n"

    def _leave(self) -> None:
        """A folder in which no run was begun is left as it was found."""
        if self._old is None:
            self._lock.remove()
        if self._old is None and self._made:
            _remove_empty(self._folder)
        self._lock.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _info(fingerprint: Fingerprint, settings: Mapping[str, Any]) -> RunInfo:
    """Paths, dates and odd bytes of a command line as JSON can hold them."""
    options = plain(fingerprint.options)
    return RunInfo(
        fingerprint=msgspec.structs.replace(fingerprint, options=options), settings=plain(settings)
    )


def _encoded(row: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(row)


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return  # somebody put something into it meanwhile
