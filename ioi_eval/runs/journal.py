"""The one writer of a run's folder."""

from __future__ import annotations

import hashlib
import math
import re
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Set
from contextlib import suppress
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.quoting import as_json
from ioi_eval.runs.row_index import ROWS_INDEX, KnownResults, RowIndex
from ioi_eval.store.files import Lines, Lock, cut_torn_line, lines, make_folder, replace, sweep_drafts
from ioi_eval.store.folder import (
    CONTEST,
    EARLIER,
    FAILURES,
    IN_PROGRESS,
    LOCK,
    RESULTS,
    RUN,
    RUNS,
    STOPPED,
    TURNS,
    FailureHead,
    Fingerprint,
    ResultHead,
    RunInfo,
    changes,
    check_folder,
    decoded,
    read_info,
    refuse_twice,
)
from ioi_eval.store.rows import compact, plain, result_of

_EXPECTED_KEYS = ".asked"  # file with hashes of the keys that had no result when the last call started
_HASH_BYTES = 8  # bytes of the hash of a key
# Files that are made from the rows, and are removed together with them.
_DERIVED_FILES = (
    _EXPECTED_KEYS,
    "summary.json",
    "report.md",
    "report.html",
    "tests.parquet",
    "validation.json",
    "limits.json",
    ".report.index",
    ".report.rows",
    ROWS_INDEX,
    CONTEST,
    RUNS,
    STOPPED,
    TURNS,
)


class Journal:
    """The rows of results and failures in a run's folder: `with Journal.open(...) as journal`.

    Opening a folder changes nothing, except that an incomplete last line is removed. The run starts with its
    first row or with `begin`. If the input is unusable, the folder and an older run in it stay unchanged.

    A row is valid for a certain submission and problem. If either has changed, `supersede` discards the row:
    when the run starts, it is moved to earlier.jsonl, where `find` can still find it.
    """

    def __init__(self, folder: Path, info: RunInfo, lock: Lock) -> None:
        self.folder, self._info, self._lock = folder, info, lock
        self._stored_info: RunInfo | None = None  # content of run.json
        self._created_folder = False  # True if this call created the folder
        self._restart = False  # True if rows of an earlier run will be discarded
        self._superseded: dict[str, int] = {}  # offsets of superseded rows, by key
        self.edited = Counter[str]()  # number of lost results, by changed problem
        self.relabelled = 0  # number of results of renamed problems
        self._known_results = KnownResults()
        self._done: RowIndex  # results of this run; results of other runs come first in `find`
        self._compilers: Set[str] | None = None  # compilers of the results before this call
        self._any_compiler = False
        self._failed: dict[str, tuple[int, str]] = {}  # offset of the last failure and its problem, by key
        self._stale_failures = 0  # number of outdated lines in failures.jsonl
        self._expected_hashes: bytes | None = None  # hashes to write into _EXPECTED_KEYS
        self._open_files: tuple[Lines, Lines] | None = None  # for new results and new failures

    @classmethod
    def open(
        cls,
        folder: Path,
        fingerprint: Fingerprint,
        *,
        settings: Mapping[str, Any] | None = None,
        fresh: bool = False,
        reuse: Iterable[Path] = (),
        any_compiler: bool = False,
        shard: str = "",
        merged: Iterable[Path] = (),
    ) -> Self:
        """Lock the folder, read its rows, and return the journal.

        Args:
            folder: The folder of the run.
            fingerprint: Everything that results depend on.
            settings: Further settings, for reports.
            fresh: Discard an earlier run in the folder when the first new row is written.
            reuse: Folders of other runs whose results are used if they are valid here.
            any_compiler: Allow results of several compilers in one run.
            shard: The shard to which the folder's rows belong; empty for a whole run.
            merged: Folders of the shards from which this run is merged.

        Raises:
            InputError: The folder is in use, or holds another run or another shard.
        """
        reuse = tuple(reuse)
        if fresh and any(_is_same_folder(other, folder) for other in reuse):
            raise InputError(
                "these are the run's own results, which are to be discarded",
                where=str(folder),
                field="reuse",
                remedy="Leave out fresh or reuse, or choose another out=FOLDER",
            )
        is_new = make_folder(folder)
        lock = Lock(folder / LOCK).__enter__()
        info = msgspec.structs.replace(
            _info(fingerprint, settings or {}), shard=shard, merged=tuple(map(str, merged))
        )
        journal = cls(folder, info, lock)
        journal._created_folder, journal._any_compiler = is_new, any_compiler
        try:
            for other in reuse:
                journal._known_results.take_over(other, journal._info.fingerprint)
            journal._done = journal._known_results.file(folder / RESULTS)
            journal._read(fresh)
        except BaseException:
            journal._release()
            raise
        return journal

    # --- stored rows ---

    @property
    def done(self) -> Set[str]:
        """Return the keys of the submissions that have a result."""
        return self._done

    @property
    def failed(self) -> Set[str]:
        """Return the keys of the submissions whose last attempt was a judge failure."""
        return self._failed.keys()

    @property
    def superseded(self) -> Set[str]:
        """Return the keys of the results that were superseded since the folder was opened."""
        return self._superseded.keys()

    @property
    def dump(self) -> str:
        """Return the hash of the dump to which the rows belong, or an empty string if there is no run."""
        return "" if self._stored_info is None or self._restart else self._stored_info.fingerprint.dump

    @property
    def unchanged(self) -> bool:
        """Return True if the folder's run has the same fingerprint: dump, problems and options."""
        if self._stored_info is None or self._restart:
            return False
        return self._stored_info.fingerprint == self._info.fingerprint

    def identity(self, key: str) -> str:
        """Return the identity (see `rows.identity`) of the submission whose result has this key."""
        return str(self.row(key).get("submission_sha256") or "")

    def problem(self, key: str) -> str:
        """Return the problem of a result or failure."""
        return self._done.problem(key) if key in self._done else self._failed[key][1]

    @property
    def problems(self) -> Set[str]:
        """Return the problems that have results."""
        return self._done.problems

    def row(self, key: str) -> dict[str, Any]:
        """Return the row with this key, which may be superseded."""
        offset = self._superseded[key] if key in self._superseded else self._done.offset(key)
        return self._known_results.row(self.folder / RESULTS, offset)

    def cpu_times(self) -> dict[str, list[float]]:
        """Return the CPU seconds of each judged submission, by problem."""
        times_by_problem: dict[str, list[float]] = {}
        for key in self._done:
            result = result_of(self.row(key))
            if result.compiles and not result.repeats:
                times_by_problem.setdefault(self._done.problem(key), []).append(
                    math.fsum(test.cpu_time or 0.0 for test in result.tests)
                )
        return times_by_problem

    def find(self, identity: str, problem: str) -> dict[str, Any] | None:
        """Return the row of a submission with the same identity, if the problem is unchanged, or None."""
        return self._known_results.find(identity, self._hash(problem))

    def is_equal(self, key: str, identity: str, program: str) -> bool:
        """Return True if the row with this key has this identity or this hash of its program."""
        _, row = next(decoded(self.folder / RESULTS, ResultHead, self._done.offset(key)))
        return identity == row.submission_sha256 or program == (row.program_sha256 or None)

    def repeating(self, judged: Set[str]) -> list[str]:
        """Return the keys of valid rows that repeat the result of a row in `judged`."""
        rows = decoded(self.folder / RESULTS, ResultHead) if judged else ()
        return [row.key for _, row in rows if row.repeats in judged and row.key in self._done]

    def find_program(self, identity: str) -> dict[str, Any] | None:
        """Return the row of a program with this identity, which includes problem and limits, or None."""
        return self._known_results.find(identity)

    def _hash(self, problem: str) -> str:
        """Return the hash of a problem, or an empty string if it is unknown."""
        return self._info.fingerprint.problems.get(problem, "")

    def _read(self, fresh: bool) -> None:
        """Read the folder's run, and compare it with this call."""
        for name in (RUN, RESULTS, FAILURES, ROWS_INDEX):
            sweep_drafts(self.folder / name)
        self._stored_info = read_info(self.folder)
        if self._stored_info is None:
            check_folder(self.folder)
        elif fresh or self._stored_info.replacing:
            self._restart = True
        else:
            self._refuse_other_shard(self._stored_info.shard)
            self._add_confinements(self._stored_info.confinements)
            self._read_rows(self._stored_info.fingerprint.problems)
            self._read_failures()
            self._compare(self._stored_info.fingerprint)

    def _refuse_other_shard(self, stored: str) -> None:
        """Raise InputError if the folder is for other rows of the dump than this call."""
        if stored != self._info.shard:
            wanted, stored = (
                f"shard {shard}" if shard else "a whole run" for shard in (self._info.shard, stored)
            )
            raise InputError(
                f"the folder holds {stored}, and this call is for {wanted}",
                where=str(self.folder),
                remedy="Choose another out=FOLDER, or give fresh=True to discard the results there",
            )

    def _read_rows(self, problems: Mapping[str, str]) -> None:
        """Read the results and the earlier results. `problems` are the hashes of the run's problems."""
        for name in (RESULTS, EARLIER):
            cut_torn_line(self.folder / name)
        for offset, row in decoded(self.folder / RESULTS, ResultHead, self._done.load(problems)):
            if not self._done.add(offset, row, problems.get(row.problem_id, "")):
                refuse_twice(self.folder, row.key)
        self._done.read_on()
        earlier = self._known_results.file(self.folder / EARLIER)
        for offset, row in decoded(self.folder / EARLIER, ResultHead):
            earlier.know(offset, row, row.problem_sha256)

    def _read_failures(self) -> None:
        """Read the failures, and count outdated lines."""
        cut_torn_line(self.folder / FAILURES)
        for offset, failure in decoded(self.folder / FAILURES, FailureHead):
            self._stale_failures += failure.key in self._failed or failure.key in self._done
            if failure.key not in self._done:
                self._failed[failure.key] = offset, failure.problem_id

    def _compare(self, old: Fingerprint) -> None:
        """Compare the run with this call: supersede results of changed problems, and refuse other settings.

        Other settings are allowed only if there are no results and no contest has started.
        """
        new = self._info.fingerprint
        if not (differences := changes(old, new)):
            # Later calls may add problems, so problems that only the earlier call had are kept.
            edited, relabelled = new.edited(old), new.relabelled(old)
            old_problems = {name: sha256 for name, sha256 in old.problems.items() if name not in relabelled}
            merged = msgspec.structs.replace(new, problems={**old_problems, **new.problems})
            self._info = msgspec.structs.replace(self._info, fingerprint=merged)
            for key in self._done.keys_of(relabelled):
                self.relabelled += 1
                self.supersede(key)
            for key in self._done.keys_of(edited):
                self.edited[self._done.problem(key)] += 1
                self.supersede(key)
        elif self._done or (self.folder / CONTEST).exists():
            raise InputError(
                f"the folder holds another run. Changed: {'; '.join(differences)}",
                where=str(self.folder),
                remedy="Give fresh=True to score everything again, or choose another out=FOLDER",
            )
        else:
            self._restart = True
            self._failed.clear()

    def supersede(self, key: str) -> None:
        """Discard the result or failure with this key, because its submission or its problem has changed."""
        if self._failed.pop(key, None) is not None:
            self._stale_failures += 1
        else:
            self._superseded[key] = self._done.drop(key)

    # --- new rows ---

    def begin(self) -> None:
        """Start the run, even if it has no rows. After a crash during this, the next call does it again."""
        if self._stored_info is None or self._restart:
            self._restart_run()
        elif self._superseded:
            self._move_superseded()
        elif _comparable(self._stored_info) != _comparable(self._info):
            self._write_info(replacing=False)

    def _restart_run(self) -> None:
        """Discard the earlier run. run.json is replaced first, so old rows are invalid even after a crash."""
        self._write_info(replacing=True)
        for name in (RESULTS, FAILURES, EARLIER, *_DERIVED_FILES):
            (self.folder / name).unlink(missing_ok=True)
        for name in ("report", IN_PROGRESS):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        self._forget_rows()
        self._write_info(replacing=False)
        self._restart, self._stale_failures = False, 0
        self._open_writers()

    def _move_superseded(self) -> None:
        """Move superseded rows to earlier.jsonl. run.json is written last, so a crash repeats this."""
        assert self._stored_info is not None, "there are rows"
        results, problems = self.folder / RESULTS, self._stored_info.fingerprint.problems
        earlier_file = Lines(self.folder / EARLIER)
        for _, row in decoded(results, dict[str, Any]):
            if row["key"] in self._superseded:
                earlier_file.append(
                    as_json({**row, "problem_sha256": problems.get(row.get("problem_id", ""), "")})
                )
        earlier_file.close()
        moved_offsets = set(self._superseded.values())
        replace(results, (line + b"\n" for offset, line in lines(results) if offset not in moved_offsets))
        self._superseded.clear()
        self._forget_rows()
        self._read_rows(self._info.fingerprint.problems)
        self._write_info(replacing=False)

    def _forget_rows(self) -> None:
        """Forget the index of rows that were moved or removed."""
        self._known_results.forget(self.folder)

    def record(self, row: Mapping[str, Any], *, known: bool = False) -> None:
        """Append the row of a result. `known`: it is copied from an earlier result.

        Raises:
            InputError: The result comes from another version of the compiler than earlier results.
            ValueError: The submission already has a result.
        """
        if row["key"] in self._done:
            raise ValueError(f"{row['key']!r} has its result already")
        head = msgspec.convert(row, ResultHead)
        if not known and not self._any_compiler:
            self._check_compiler(head.compiler)
        results, _ = self._writers()
        short, confinements = compact(row)
        if not confinements.keys() <= self._info.confinements.keys():
            self._add_confinements(confinements)
            self._write_info(replacing=False)
        offset = results.append(line := as_json(short))
        self._done.wrote(line)
        if self._failed.pop(row["key"], None) is not None:
            self._stale_failures += 1
        self._done.add(offset, head, self._hash(head.problem_id))
        self._save_index(ends=False)

    def _save_index(self, *, ends: bool) -> None:
        """Save the index of the rows. `ends`: the journal is being closed."""
        if not self._superseded:
            self._done.save(self._info.fingerprint.problems, ends=ends)

    def _check_compiler(self, compiler: str) -> None:
        """Raise an InputError if earlier results come from another version: times are not comparable."""
        if self._compilers is None:
            self._compilers = self._done.compilers | self._known_results.compilers
        if not compiler or compiler in self._compilers:
            return
        if before := {name for name in self._compilers if _tool_name(name) == _tool_name(compiler)}:
            raise InputError(
                f"programs are built by {compiler} now, but the run's results by {', '.join(sorted(before))}",
                field="compiler",
                remedy="Give fresh=True to score everything again, or accept_compiler=True to mix them",
            )

    def fail(self, row: Mapping[str, Any]) -> None:
        """Append the row of a judge failure. The next call judges the submission again."""
        offset = self._writers()[1].append(as_json(row))
        self._stale_failures += row["key"] in self._failed
        self._failed[row["key"]] = offset, row.get("problem_id", "")

    def _add_confinements(self, confinements: Mapping[str, Mapping[str, Any]]) -> None:
        """Add the confinements, which rows store by name."""
        every = {**self._info.confinements, **confinements}
        self._info = msgspec.structs.replace(self._info, confinements=every)
        self._known_results.confinements |= every

    def _writers(self) -> tuple[Lines, Lines]:
        """Return the open files for results and failures. Start the run if necessary."""
        if self._open_files is None:
            self.begin()
            if self._stored_info != self._info:
                self._write_info(replacing=False)
        return self._open_writers()

    def _open_writers(self) -> tuple[Lines, Lines]:
        """Return the open files for results and failures."""
        if self._open_files is None:
            self._open_files = Lines(self.folder / RESULTS), Lines(self.folder / FAILURES)
        return self._open_files

    def _write_info(self, *, replacing: bool) -> None:
        """Write run.json. `replacing`: rows of an earlier run are being removed and are not valid."""
        if self._expected_hashes is not None and not replacing:
            replace(self.folder / _EXPECTED_KEYS, [self._expected_hashes])
            self._expected_hashes = None
        self._stored_info = msgspec.structs.replace(self._info, replacing=replacing)
        replace(self.folder / RUN, [as_json(self._stored_info, indented=True), b"\n"])

    def expect(self, keys: Collection[str], others: Collection[str] = ()) -> None:
        """Set the expected number of results: those with these keys, and all stored results.

        `others` are keys of the dump that this call does not select. They count if an earlier call selected
        them and left them without a result.
        """
        earlier_hashes, missing_hashes = self._earlier_expected(), bytearray()
        for key in chain(keys, (key for key in others if _short_hash(key) in earlier_hashes)):
            if key not in self._done:
                missing_hashes += _short_hash(key)
        self.expect_number(len(self._done) + len(missing_hashes) // _HASH_BYTES)
        self._expected_hashes = bytes(missing_hashes)

    def expect_number(self, number: int | None) -> None:
        """Set the expected number of results. `None` means that the dump has not been read to its end."""
        self._info = msgspec.structs.replace(self._info, expected=number, unread=number is None)

    def _earlier_expected(self) -> frozenset[bytes]:
        """Return the hashes of the keys that had no result when the last call started."""
        path = self.folder / _EXPECTED_KEYS
        if self._restart or not path.exists():
            return frozenset()
        content = path.read_bytes()
        return frozenset(content[at : at + _HASH_BYTES] for at in range(0, len(content), _HASH_BYTES))

    def note(self, settings: Mapping[str, Any]) -> None:
        """Add settings for reports. If a setting has changed, the report shows the earlier value, too."""
        stored_settings = {} if self._stored_info is None or self._restart else self._stored_info.settings
        noted = dict[str, Any]()
        for name, text in plain(settings).items():
            earlier = str(stored_settings.get(name, text))
            noted[name] = earlier if earlier.endswith(text) else f"{earlier}; later {text}"
        self._info = msgspec.structs.replace(self._info, settings={**self._info.settings, **noted})

    def settle(self, fingerprint: Fingerprint, settings: Mapping[str, Any], keys: Collection[str]) -> None:
        """Write fingerprint, settings and expected keys, which were not known when the run started."""
        info = _info(fingerprint, {**self._info.settings, **settings})
        self._info = msgspec.structs.replace(self._info, fingerprint=info.fingerprint, settings=info.settings)
        self.expect(keys)
        self._write_info(replacing=False)

    # --- closing ---

    def close(self) -> None:
        """Close the files. Remove outdated lines from failures.jsonl."""
        try:
            for writer in self._open_files or ():
                writer.close()
            if self._open_files is not None:
                self._save_index(ends=True)
            if self._stale_failures and not self._restart:
                current = {offset for offset, _ in self._failed.values()}
                failures = lines(self.folder / FAILURES)
                replace(
                    self.folder / FAILURES,
                    (line + b"\n" for offset, line in failures if offset in current),
                )
        finally:
            self._open_files = None
            self._release()

    def _release(self) -> None:
        """Unlock the folder. Remove it if this call created it and no run was started."""
        self._known_results.close()
        if self._stored_info is None:
            self._lock.remove()
        if self._stored_info is None and self._created_folder:
            with suppress(OSError):  # another process has put a file into it
                self.folder.rmdir()
        self._lock.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _info(fingerprint: Fingerprint, settings: Mapping[str, Any]) -> RunInfo:
    """Return the content of run.json. Paths and dates become values that JSON can hold."""
    return RunInfo(
        fingerprint=msgspec.structs.replace(fingerprint, options=plain(fingerprint.options)),
        settings=plain(settings),
    )


def _short_hash(key: str) -> bytes:
    """Return a hash of a key, `_HASH_BYTES` long."""
    return hashlib.blake2b(key.encode(errors="surrogatepass"), digest_size=_HASH_BYTES).digest()


def _comparable(info: RunInfo) -> tuple[Fingerprint, int | None, bool]:
    """Return the parts of run.json whose change requires a new run.json."""
    return info.fingerprint, info.expected, info.unread


def _is_same_folder(one: Path, other: Path) -> bool:
    """Return True if both paths lead to the same folder."""
    return one.resolve() == other.resolve()


def _tool_name(compiler: str) -> str:
    """Return a compiler's name without its version: `g++` for `g++ (Debian 12.2.0) 12.2.0`."""
    return re.split(r"[\d(]", compiler, maxsplit=1)[0].strip()
