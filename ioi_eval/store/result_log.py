"""The result log of a run: the results and failures in its folder, with an SQLite index."""

from __future__ import annotations

import hashlib
import math
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, Self

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.quoting import encode_terminal_safe_json
from ioi_eval.model.values import Value
from ioi_eval.store.files import (
    LineFile,
    Lock,
    create_folder_if_missing,
    read_complete_lines,
    remove_abandoned_file_drafts,
    remove_incomplete_line,
    replace,
)
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
    add_line_to_errors,
    decode_lines,
    list_fingerprint_changes,
    raise_duplicate_key_error,
    read_info,
    refuse_folder_without_run,
)
from ioi_eval.store.resources import compute_code_digest
from ioi_eval.store.rows import as_json_value, compact_row_and_confinement, read_result, restore_compact_row
from ioi_eval.store.tables import TableFile, as_bytes, as_text

INDEX = ".results.index"  # name of the file with the saved index of results.jsonl
# Name of the file with hashes of the expected keys: the keys without a result when the last call started.
_EXPECTED_KEYS = ".asked"
_HASH_BYTES = 8  # length of a key's hash, in bytes
# Names of files that are derived from rows, and are removed when the rows are removed.
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
    INDEX,
    CONTEST,
    RUNS,
    STOPPED,
    TURNS,
)
# Minimum size of results.jsonl for which its index is saved, in bytes.
_MIN_INDEXED_BYTES = 1 << 20
_FIRST_SAVE_BYTES = 16 << 20  # size of results.jsonl at which a call first saves its index, in bytes
_BLOCK_BYTES = 1 << 20  # number of bytes that are read at once

# Columns of the index. `offset`: byte offset of the row's line in its file. `identity`: a hash of a
# submission and its problem, or of a program. `source`: the number of the file that contains the row, see
# `ResultLog._sources`.
_SCHEMA = """
CREATE TABLE results (
    offset INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, problem BLOB NOT NULL, compiler BLOB NOT NULL,
    superseded INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE failures (key BLOB PRIMARY KEY, offset INTEGER NOT NULL, problem BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE identities (
    identity BLOB NOT NULL, source INTEGER NOT NULL, offset INTEGER NOT NULL, PRIMARY KEY (identity, source)
) WITHOUT ROWID;
"""
# Numbers of the sources of this run: results.jsonl and earlier.jsonl. Other runs have negative numbers.
_RESULTS_SOURCE, _EARLIER_SOURCE = 0, 1


class _IndexFacts(Value):
    """The inputs of a saved index. The index is used only if all of them are unchanged."""

    size: int  # number of indexed bytes of results.jsonl, up to the end of a line
    sha256: str  # hash of the first `size` bytes of results.jsonl
    made_of: str  # hash of everything else that the index depends on


class _ResultsFile(NamedTuple):
    """A file with results."""

    path: Path  # path from which the file is read
    shown: Path  # path of the file in messages


class KeySet(Set[str]):
    """The keys in a table of the index, in the order of their rows."""

    def __init__(self, execute: Callable[..., sqlite3.Cursor], table: str, condition: str = "TRUE") -> None:
        """`execute`: executes an SQL statement. `condition`: SQL condition that selects rows of the table."""
        self._execute, self._from_clause = execute, f"FROM {table} WHERE {condition}"

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str):
            return False
        return (
            self._execute(f"SELECT 1 {self._from_clause} AND key = ?", as_bytes(key)).fetchone() is not None
        )

    def __len__(self) -> int:
        return int(self._execute(f"SELECT count(*) {self._from_clause}").fetchone()[0])

    def __iter__(self) -> Iterator[str]:
        return (as_text(key) for (key,) in self._execute(f"SELECT key {self._from_clause} ORDER BY offset"))

    @classmethod
    def _from_iterable(cls, keys: Iterable[str]) -> set[str]:  # type: ignore[override]
        return set(keys)


class ResultLog:
    """The results and failures in a run's folder: `with ResultLog.open(...) as journal`.

    Opening a folder changes nothing, except that an incomplete last line is removed. The run starts with its
    first row or with `start_run`. If the input is unusable, the folder and an older run in it stay unchanged.

    A result is valid for a certain submission and problem. If either has changed, `supersede` discards the
    result: when the run starts, its row is moved to earlier.jsonl, where `find_result` can still find it.

    The index is in a temporary file. A copy beside results.jsonl saves the next call from reading all rows.
    The copy may be deleted.

    Attributes:
        folder: The run's folder.
        done: Keys of the submissions that have a result.
        failed: Keys of the submissions whose last attempt was a judge failure.
        superseded: Keys of the results that were superseded since the folder was opened.
        edited: Number of results that were superseded because of their problem, by problem.
        relabelled: Number of results that were superseded because their problem has another label.
    """

    def __init__(
        self, folder: Path, info: RunInfo, lock: Lock, *, created_folder: bool, allows_several_compilers: bool
    ) -> None:
        """Use `open` instead. `created_folder`: the folder did not exist before this call."""
        self.folder, self._run_info, self._lock = folder, info, lock
        self._created_folder, self._allows_several_compilers = created_folder, allows_several_compilers
        self._stored_info: RunInfo | None = None  # content of run.json; None if the file does not exist yet
        self._discards_earlier_run = False  # True if an earlier run in the folder will be discarded
        self.edited = Counter[str]()
        self.relabelled = 0
        self._index_tables = TableFile(_SCHEMA)
        self.done = KeySet(self._execute, "results", "NOT superseded")
        self.superseded = KeySet(self._execute, "results", "superseded")
        self.failed = KeySet(self._execute, "failures")
        # Sources of rows by number. They are searched in the order of their numbers.
        self._sources = {
            number: _ResultsFile(folder / name, folder / name)
            for number, name in ((_RESULTS_SOURCE, RESULTS), (_EARLIER_SOURCE, EARLIER))
        }
        # Hash of the indexed bytes of results.jsonl, and their number.
        self._digest, self._indexed_bytes = hashlib.sha256(), 0
        # Size of results.jsonl when its index was last saved, and size at which it is saved next, in bytes.
        self._saved_bytes, self._next_save_bytes = 0, _FIRST_SAVE_BYTES
        self._other_streams = list[BinaryIO]()  # open files of other runs
        self._other_compilers = set[str]()  # names of the compilers of other runs' results
        # Names of the compilers of earlier results. None until they are needed.
        self._known_compilers: Set[str] | None = None
        # Descriptions of the sandboxes of this run and of other runs, by name.
        self._confinements = dict[str, Mapping[str, Any]]()
        self._stale_failures = 0  # number of outdated lines in failures.jsonl
        self._expected_hashes: bytes | None = (
            None  # content of the next file _EXPECTED_KEYS; None if it is written
        )
        # Files for new results and for new failures. None until the first row is written.
        self._open_files: tuple[LineFile, LineFile] | None = None

    @classmethod
    def open(
        cls,
        folder: Path,
        fingerprint: Fingerprint,
        *,
        settings: Mapping[str, Any] | None = None,
        discards_earlier_run: bool = False,
        reused_folders: Iterable[Path] = (),
        allows_several_compilers: bool = False,
        shard: str = "",
        merged_folders: Iterable[Path] = (),
    ) -> Self:
        """Lock the folder, index its rows, and return the log.

        Args:
            folder: The folder of the run.
            fingerprint: Everything that results depend on.
            settings: Further settings, for reports.
            discards_earlier_run: Discard an earlier run in the folder when the first new row is written.
            reused_folders: Folders of other runs whose results are used if they are valid here.
            allows_several_compilers: Allow results of several compilers in one run.
            shard: The shard to which the folder's rows belong; empty for a whole run.
            merged_folders: Folders of the shards from which this run is merged.

        Raises:
            InputError: The folder is in use, or holds another run or another shard.
        """
        reused_folders = tuple(reused_folders)
        if discards_earlier_run and any(
            _is_same_folder(other_folder, folder) for other_folder in reused_folders
        ):
            raise InputError(
                "`reuse` names this run's folder, whose results `fresh` discards",
                where=str(folder),
                field="reuse",
                remedy="Leave out `fresh` or `reuse`, or choose another out=FOLDER",
            )
        is_new = create_folder_if_missing(folder)
        lock = Lock(folder / LOCK).__enter__()
        run_info = msgspec.structs.replace(
            _make_run_info(fingerprint, settings or {}), shard=shard, merged=tuple(map(str, merged_folders))
        )
        log = cls(
            folder, run_info, lock, created_folder=is_new, allows_several_compilers=allows_several_compilers
        )
        try:
            log._read_folder(discards_earlier_run)
            for source_number, other_folder in enumerate(reused_folders, start=-len(reused_folders)):
                log._index_other_run(source_number, other_folder)
        except BaseException:
            log._release_resources()
            raise
        return log

    # --- stored rows ---

    @property
    def dump_hash(self) -> str:
        """Return the hash of the dump to which the rows belong, or an empty string if there is no run."""
        return (
            ""
            if self._stored_info is None or self._discards_earlier_run
            else self._stored_info.fingerprint.dump
        )

    @property
    def has_same_fingerprint(self) -> bool:
        """Return True if the run in the folder has the fingerprint of this call: dump, problems, options."""
        if self._stored_info is None or self._discards_earlier_run:
            return False
        return self._stored_info.fingerprint == self._run_info.fingerprint

    @property
    def problems(self) -> Set[str]:
        """Return the problems that have results."""
        problems = self._execute("SELECT DISTINCT problem FROM results WHERE NOT superseded")
        return {as_text(problem) for (problem,) in problems}

    def find_problem_of_row(self, key: str) -> str:
        """Return the problem of a result or failure."""
        table = "failures" if key in self.failed else "results"
        return as_text(self._select_value(f"SELECT problem FROM {table} WHERE key = ?", key))

    def read_row(self, key: str) -> dict[str, Any]:
        """Return the row with this key, which may be superseded."""
        return self._read_row(self.folder / RESULTS, self._find_offset(key))

    def find_result(self, submission_identity: str, problem_label: str) -> dict[str, Any] | None:
        """Return the row of a submission with the same identity, if the problem is unchanged, or None."""
        return self._find_row_by_identity(
            _hash_submission_or_program(submission_identity, self._get_problem_digest(problem_label))
        )

    def find_program(self, program_identity: str) -> dict[str, Any] | None:
        """Return the row of a program with this identity, which includes problem and limits, or None."""
        return self._find_row_by_identity(_hash_submission_or_program(program_identity))

    def _find_row_by_identity(self, identity_hash: bytes) -> dict[str, Any] | None:
        """Return the row with the hash of an identity, from the first source that has such a row."""
        location = self._execute(
            "SELECT source, offset FROM identities WHERE identity = ? ORDER BY source", identity_hash
        ).fetchone()
        if location is None:
            return None
        source_number, offset = location
        source = self._sources[source_number]
        with add_line_to_errors(source.path, offset, source.shown):
            row = self._read_row(source.path, offset)
            read_result(row)  # an invalid row is an InputError that names the line
            return row

    def has_same_program(self, key: str, submission_sha256: str, program_sha256: str) -> bool:
        """Return True if the row with this key has this identity or this hash of its program."""
        _, row = next(decode_lines(self.folder / RESULTS, ResultHead, self._find_offset(key)))
        return submission_sha256 == row.submission_sha256 or program_sha256 == (row.program_sha256 or None)

    def list_keys_with_repeated_results(self, judged_keys: Set[str]) -> list[str]:
        """Return the keys of valid rows that repeat the result of a row in `judged_keys`."""
        rows = decode_lines(self.folder / RESULTS, ResultHead) if judged_keys else ()
        return [row.key for _, row in rows if row.repeats in judged_keys and row.key in self.done]

    def read_cpu_times(self) -> dict[str, list[float]]:
        """Return the CPU seconds of each judged submission, by problem."""
        times_by_problem: dict[str, list[float]] = {}
        for key in self.done:
            row = self.read_row(key)
            result = read_result(row)
            if result.compiles and not result.repeats:
                cpu_time = math.fsum(test.cpu_time or 0.0 for test in result.tests)
                times_by_problem.setdefault(row["problem_id"], []).append(cpu_time)
        return times_by_problem

    def _execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        """Run an SQL statement on the index."""
        return self._index_tables.run(statement, *values)

    def _select_value(self, statement: str, key: str) -> Any:
        """Return the value that an SQL statement selects for a key. Raises KeyError if there is none."""
        if (columns := self._execute(statement, as_bytes(key)).fetchone()) is None:
            raise KeyError(key)
        return columns[0]

    def _find_offset(self, key: str) -> int:
        """Return the offset of a result."""
        return int(self._select_value("SELECT offset FROM results WHERE key = ?", key))

    def _read_row(self, path: Path, offset: int) -> dict[str, Any]:
        """Return the row at an offset of a file, with a mapping for each test."""
        with path.open("rb") as stream:
            stream.seek(offset)
            with add_line_to_errors(path, offset):
                return restore_compact_row(msgspec.json.decode(stream.readline()), self._confinements)

    def _get_problem_digest(self, problem: str) -> str:
        """Return the digest of a problem, or an empty string if it is unknown."""
        return self._run_info.fingerprint.problems.get(problem, "")

    # --- reading the folder ---

    def _read_folder(self, discards_earlier_run: bool) -> None:
        """Index the folder's run, and compare it with this call."""
        for name in (RUN, RESULTS, FAILURES, INDEX):
            remove_abandoned_file_drafts(self.folder / name)
        self._stored_info = read_info(self.folder)
        if self._stored_info is None:
            refuse_folder_without_run(self.folder)
        elif discards_earlier_run or self._stored_info.replacing:
            self._discards_earlier_run = True
        else:
            self._refuse_other_shard(self._stored_info.shard)
            self._add_sandbox_confinements(self._stored_info.confinements)
            for name in (RESULTS, EARLIER, FAILURES):
                remove_incomplete_line(self.folder / name)
            self._load_index()
            self._index_rows(self._stored_info.fingerprint.problems)
            self._index_failures()
            self._supersede_or_refuse_changes(self._stored_info.fingerprint)

    def _refuse_other_shard(self, stored_shard: str) -> None:
        """Raise InputError if the folder is for other rows of the dump than this call."""
        if stored_shard != self._run_info.shard:
            requested_shard, stored_shard = (
                f"shard {shard}" if shard else "a whole run" for shard in (self._run_info.shard, stored_shard)
            )
            raise InputError(
                f"the folder holds {stored_shard}, but this call is for {requested_shard}",
                where=str(self.folder),
                remedy="Choose another out=FOLDER, or give fresh=True to discard the results there",
            )

    def _index_rows(self, problems: Mapping[str, str]) -> None:
        """Index the results that were appended since the last index, and the results of earlier problems.

        `problems` has the digest of each problem.
        """
        for offset, row in decode_lines(self.folder / RESULTS, ResultHead, self._indexed_bytes):
            if not self._index_result_if_new(offset, row, problems.get(row.problem_id, "")):
                raise_duplicate_key_error(self.folder, row.key)
        self._hash_new_results()
        for offset, row in decode_lines(self.folder / EARLIER, ResultHead):
            self._index_submission_and_program(_EARLIER_SOURCE, offset, row, row.problem_sha256)

    def _index_result_if_new(self, offset: int, row: ResultHead, problem_digest: str) -> bool:
        """Index a result. Return False if its key has a result already."""
        columns = (as_bytes(row.key), as_bytes(row.problem_id), as_bytes(row.compiler))
        statement = "INSERT OR IGNORE INTO results (offset, key, problem, compiler) VALUES (?, ?, ?, ?)"
        if not self._execute(statement, offset, *columns).rowcount:
            return False
        self._index_submission_and_program(_RESULTS_SOURCE, offset, row, problem_digest)
        return True

    def _index_submission_and_program(
        self, source_number: int, offset: int, row: ResultHead, problem_digest: str
    ) -> None:
        """Index the identities of a row's submission and program, by which later calls reuse its result.

        `source_number`: number of the file with the row. Earlier rows of the file take precedence.
        """
        identities = (
            [_hash_submission_or_program(row.submission_sha256, problem_digest)]
            if row.submission_sha256
            else []
        )
        if row.program_sha256:
            identities.append(_hash_submission_or_program(row.program_sha256))
        for identity in identities:
            self._execute(
                "INSERT OR IGNORE INTO identities VALUES (?, ?, ?)", identity, source_number, offset
            )

    def _index_failures(self) -> None:
        """Index the failures, and count outdated lines."""
        for offset, failure in decode_lines(self.folder / FAILURES, FailureHead):
            self._stale_failures += failure.key in self.failed or failure.key in self.done
            if failure.key not in self.done:
                self._index_failure(offset, failure)

    def _index_failure(self, offset: int, failure: FailureHead) -> None:
        columns = as_bytes(failure.key), offset, as_bytes(failure.problem_id)
        self._execute("INSERT OR REPLACE INTO failures VALUES (?, ?, ?)", *columns)

    def _index_other_run(self, source_number: int, folder: Path) -> None:
        """Index the results of another run for `find_result`. `source_number` is the number of its source.

        Raises InputError if the other run was judged with other options or versions.
        """
        where = str(folder)
        if not folder.is_dir() or (info := read_info(folder)) is None or info.replacing:
            raise InputError(
                "the folder does not contain a run", where=where, field="reuse", remedy="Name a run's folder"
            )
        if differences := list_fingerprint_changes(info.fingerprint, self._run_info.fingerprint):
            raise InputError(
                f"the run's results cannot be reused. They differ by {'; '.join(differences)}",
                where=where,
                field="reuse",
                remedy="Judge with the same options and version, or leave out the option",
            )
        self._confinements |= info.confinements
        source = self._sources[source_number] = self._open_reused_results(folder / RESULTS)
        try:
            for offset, row in decode_lines(source.path, ResultHead):
                problem_digest = info.fingerprint.problems.get(row.problem_id, "")
                self._index_submission_and_program(source_number, offset, row, problem_digest)
                self._other_compilers.add(row.compiler)
        except InputError as error:
            raise error.with_details(where=str(source.shown)) from error

    def _open_reused_results(self, path: Path) -> _ResultsFile:
        """Return the file as it is now, although another process may replace or remove it later."""
        with suppress(FileNotFoundError):
            self._other_streams.append(path.open("rb"))
            return _ResultsFile(Path(f"/proc/self/fd/{self._other_streams[-1].fileno()}"), path)
        return _ResultsFile(path, path)

    def _supersede_or_refuse_changes(self, earlier_fingerprint: Fingerprint) -> None:
        """Compare the run with this call: supersede results of changed problems, and refuse other settings.

        Other settings are allowed only if there are no results and no contest has started.
        """
        current_fingerprint = self._run_info.fingerprint
        if not (differences := list_fingerprint_changes(earlier_fingerprint, current_fingerprint)):
            # Keep the problems of the earlier call that this call lacks, because a later call may name them.
            edited_labels, relabelled_labels = (
                current_fingerprint.list_edited_problems(earlier_fingerprint),
                current_fingerprint.list_relabelled_problems(earlier_fingerprint),
            )
            old_problems = {
                name: sha256
                for name, sha256 in earlier_fingerprint.problems.items()
                if name not in relabelled_labels
            }
            merged_fingerprint = msgspec.structs.replace(
                current_fingerprint, problems={**old_problems, **current_fingerprint.problems}
            )
            self._run_info = msgspec.structs.replace(self._run_info, fingerprint=merged_fingerprint)
            self.relabelled = self._supersede_results_of_problems(relabelled_labels).total()
            self.edited = self._supersede_results_of_problems(edited_labels)
        elif self.done or (self.folder / CONTEST).exists():
            raise InputError(
                f"the folder contains another run. Changed: {'; '.join(differences)}",
                where=str(self.folder),
                remedy="Give fresh=True to score everything again, or choose another out=FOLDER",
            )
        else:
            self._discards_earlier_run = True
            self._execute("DELETE FROM failures")

    def mark_superseded(self, key: str) -> None:
        """Discard the result or failure with this key, because its submission or its problem has changed."""
        if not self._remove_failure(key):
            self._execute("UPDATE results SET superseded = TRUE WHERE key = ?", as_bytes(key))

    def _supersede_results_of_problems(self, problems: Set[str]) -> Counter[str]:
        """Discard the results of some problems, and return their number by problem."""
        rows = self._execute("SELECT offset, problem FROM results") if problems else ()
        changed_rows = [(offset, name) for offset, problem in rows if (name := as_text(problem)) in problems]
        for offset, _ in changed_rows:
            self._execute("UPDATE results SET superseded = TRUE WHERE offset = ?", offset)
        return Counter(name for _, name in changed_rows)

    def _remove_failure(self, key: str) -> bool:
        """Remove the failure with this key. Return False if there is none."""
        is_removed = self._execute("DELETE FROM failures WHERE key = ?", as_bytes(key)).rowcount > 0
        self._stale_failures += is_removed
        return is_removed

    # --- new rows ---

    def start_run(self) -> None:
        """Start the run, even if it has no rows. After a crash during this, the next call does it again."""
        if self._stored_info is None or self._discards_earlier_run:
            self._restart_run()
        elif self.superseded:
            self._move_superseded_rows()
        elif _select_identifying_run_info(self._stored_info) != _select_identifying_run_info(self._run_info):
            self._write_run_info_file(replaces_earlier_run=False)

    def _restart_run(self) -> None:
        """Discard the earlier run. run.json is replaced first, so old rows are invalid even after a crash."""
        self._write_run_info_file(replaces_earlier_run=True)
        for name in (RESULTS, FAILURES, EARLIER, *_DERIVED_FILES):
            (self.folder / name).unlink(missing_ok=True)
        for name in ("report", IN_PROGRESS):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        self._clear_index()
        self._write_run_info_file(replaces_earlier_run=False)
        self._discards_earlier_run, self._stale_failures = False, 0
        self._open_writers()

    def _move_superseded_rows(self) -> None:
        """Move superseded rows to earlier.jsonl. run.json is written last, so a crash repeats this."""
        assert self._stored_info is not None, "there are rows"
        results_path, problem_digests = self.folder / RESULTS, self._stored_info.fingerprint.problems
        moved_offsets = {offset for (offset,) in self._execute("SELECT offset FROM results WHERE superseded")}
        earlier_file = LineFile(self.folder / EARLIER)
        for offset, row in decode_lines(results_path, dict[str, Any]):
            if offset in moved_offsets:
                problem_digest = problem_digests.get(row.get("problem_id", ""), "")
                earlier_file.append(encode_terminal_safe_json({**row, "problem_sha256": problem_digest}))
        earlier_file.close()
        replace(
            results_path,
            (
                line + b"\n"
                for offset, line in read_complete_lines(results_path)
                if offset not in moved_offsets
            ),
        )
        self._clear_index()
        self._index_rows(self._run_info.fingerprint.problems)
        self._write_run_info_file(replaces_earlier_run=False)

    def record_result(self, row: Mapping[str, Any], *, is_earlier: bool = False) -> None:
        """Append the row of a result. `is_earlier`: it is copied from an earlier result.

        Raises:
            InputError: The result comes from another version of the compiler than earlier results.
            ValueError: The submission already has a result.
        """
        if row["key"] in self.done:
            raise ValueError(f"{row['key']!r} already has a result")
        result_head = msgspec.convert(row, ResultHead)
        if not is_earlier and not self._allows_several_compilers:
            self._check_compiler(result_head.compiler)
        results_file, _ = self._start_run_and_open_files()
        compacted_row, confinements = compact_row_and_confinement(row)
        if not confinements.keys() <= self._run_info.confinements.keys():
            self._add_sandbox_confinements(confinements)
            self._write_run_info_file(replaces_earlier_run=False)
        offset = results_file.append(line := encode_terminal_safe_json(compacted_row))
        self._remove_failure(result_head.key)
        self._index_result_if_new(offset, result_head, self._get_problem_digest(result_head.problem_id))
        self._digest.update(line + b"\n")
        self._indexed_bytes += len(line) + 1
        if self._indexed_bytes >= self._next_save_bytes:
            self._save_index()

    def _check_compiler(self, compiler: str) -> None:
        """Raise an InputError if earlier results come from another version: times are not comparable."""
        if self._known_compilers is None:
            compilers = self._execute("SELECT DISTINCT compiler FROM results WHERE NOT superseded")
            self._known_compilers = {as_text(name) for (name,) in compilers} | self._other_compilers
        if not compiler or compiler in self._known_compilers:
            return
        if earlier_compilers := {
            name for name in self._known_compilers if _find_tool_name(name) == _find_tool_name(compiler)
        }:
            raise InputError(
                f"programs are now built by {compiler}, but the run's results were built by"
                f" {', '.join(sorted(earlier_compilers))}",
                field="compiler",
                remedy="Give fresh=True to score everything again, or accept_compiler=True to mix them",
            )

    def record_failure(self, row: Mapping[str, Any]) -> None:
        """Append the row of a judge failure. The next call judges the submission again."""
        offset = self._start_run_and_open_files()[1].append(encode_terminal_safe_json(row))
        self._stale_failures += row["key"] in self.failed
        self._index_failure(offset, msgspec.convert(row, FailureHead))

    def _start_run_and_open_files(self) -> tuple[LineFile, LineFile]:
        """Return the open files for results and failures. Start the run if necessary."""
        if self._open_files is None:
            self.start_run()
            if self._stored_info != self._run_info:
                self._write_run_info_file(replaces_earlier_run=False)
        return self._open_writers()

    def _open_writers(self) -> tuple[LineFile, LineFile]:
        """Return the open files for results and failures."""
        if self._open_files is None:
            self._open_files = LineFile(self.folder / RESULTS), LineFile(self.folder / FAILURES)
        return self._open_files

    # --- run.json ---

    def set_expected_keys(self, keys: Collection[str], unselected_keys: Collection[str] = ()) -> None:
        """Set the keys that should have a result at the end of the run. Keys with a stored result also count.

        `unselected_keys`: keys of the dump that this call does not select. Such a key counts if an earlier
        call selected it, but stored no result.
        """
        earlier_hashes, missing_hashes = self._read_earlier_missing_key_hashes(), bytearray()
        for key in chain(keys, (key for key in unselected_keys if _hash_key(key) in earlier_hashes)):
            if key not in self.done:
                missing_hashes += _hash_key(key)
        self.set_expected_count(len(self.done) + len(missing_hashes) // _HASH_BYTES)
        self._expected_hashes = bytes(missing_hashes)

    def set_expected_count(self, count: int | None) -> None:
        """Set the expected number of results. `None` means that the dump has not been read to its end."""
        self._run_info = msgspec.structs.replace(self._run_info, expected=count, unread=count is None)

    def _read_earlier_missing_key_hashes(self) -> frozenset[bytes]:
        """Return the hashes of the keys that had no result when the last call started."""
        path = self.folder / _EXPECTED_KEYS
        if self._discards_earlier_run or not path.exists():
            return frozenset()
        content = path.read_bytes()
        return frozenset(
            content[hash_start : hash_start + _HASH_BYTES]
            for hash_start in range(0, len(content), _HASH_BYTES)
        )

    def add_settings(self, settings: Mapping[str, Any]) -> None:
        """Add settings for reports. If a setting has changed, the report shows the earlier value, too."""
        stored_settings = (
            {} if self._stored_info is None or self._discards_earlier_run else self._stored_info.settings
        )
        merged_settings = dict[str, Any]()
        for name, value in as_json_value(settings).items():
            earlier_value = str(stored_settings.get(name, value))
            merged_settings[name] = (
                earlier_value if earlier_value.endswith(value) else f"{earlier_value}; later {value}"
            )
        self._run_info = msgspec.structs.replace(
            self._run_info, settings={**self._run_info.settings, **merged_settings}
        )

    def fill_in_run_info(
        self, fingerprint: Fingerprint, settings: Mapping[str, Any], keys: Collection[str]
    ) -> None:
        """Write a run's fingerprint, settings and expected keys, which are known only after its start."""
        info = _make_run_info(fingerprint, {**self._run_info.settings, **settings})
        self._run_info = msgspec.structs.replace(
            self._run_info, fingerprint=info.fingerprint, settings=info.settings
        )
        self.set_expected_keys(keys)
        self._write_run_info_file(replaces_earlier_run=False)

    def _add_sandbox_confinements(self, confinements: Mapping[str, Mapping[str, Any]]) -> None:
        """Add descriptions of the sandbox (confinements) by name. Rows contain only the name."""
        all_confinements = {**self._run_info.confinements, **confinements}
        self._run_info = msgspec.structs.replace(self._run_info, confinements=all_confinements)
        self._confinements |= all_confinements

    def _write_run_info_file(self, *, replaces_earlier_run: bool) -> None:
        """Write run.json. `replaces_earlier_run`: invalid rows of an earlier run are being removed."""
        if self._expected_hashes is not None and not replaces_earlier_run:
            replace(self.folder / _EXPECTED_KEYS, [self._expected_hashes])
            self._expected_hashes = None
        self._stored_info = msgspec.structs.replace(self._run_info, replacing=replaces_earlier_run)
        replace(self.folder / RUN, [encode_terminal_safe_json(self._stored_info, indented=True), b"\n"])

    # --- the index ---

    def _clear_index(self) -> None:
        """Remove the rows of this run from the index, because they were moved or removed."""
        self._execute("DELETE FROM results")
        self._execute("DELETE FROM identities WHERE source IN (?, ?)", _RESULTS_SOURCE, _EARLIER_SOURCE)
        self._reset_results_digest()

    def _reset_results_digest(self) -> None:
        """Reset the hash of the indexed bytes of results.jsonl."""
        self._digest, self._indexed_bytes = hashlib.sha256(), 0
        self._saved_bytes, self._next_save_bytes = 0, _FIRST_SAVE_BYTES

    def _hash_new_results(self, end: int | None = None) -> None:
        """Hash the bytes of results.jsonl that are not indexed, up to offset `end` or to the file's end."""
        with suppress(FileNotFoundError), (self.folder / RESULTS).open("rb") as stream:
            stream.seek(self._indexed_bytes)
            while block := stream.read(
                _BLOCK_BYTES if end is None else min(_BLOCK_BYTES, end - self._indexed_bytes)
            ):
                self._digest.update(block)
                self._indexed_bytes += len(block)

    def _load_index(self) -> None:
        """Load the saved index, unless it is missing, damaged or was made from anything else than this run.

        Rows that were written after the index was saved are not in it.
        """
        assert self._stored_info is not None, "there is a run"
        if (saved_tables := TableFile.load(self.folder / INDEX)) is None:
            return
        index_facts = msgspec.json.decode(saved_tables.facts, type=_IndexFacts)
        if index_facts.made_of != _hash_problems_and_code(self._stored_info.fingerprint.problems):
            return
        self._hash_new_results(index_facts.size)
        if self._digest.hexdigest() != index_facts.sha256:
            self._reset_results_digest()
            return
        self._index_tables.close()
        self._index_tables = saved_tables
        self._execute("DELETE FROM failures")
        self._execute("DELETE FROM identities WHERE source <> ?", _RESULTS_SOURCE)
        self._saved_bytes, self._next_save_bytes = (
            index_facts.size,
            max(2 * index_facts.size, _FIRST_SAVE_BYTES),
        )

    def _save_index(self) -> None:
        """Save a copy of the index. If it cannot be written, the next call reads the rows."""
        self._saved_bytes, self._next_save_bytes = self._indexed_bytes, 2 * self._indexed_bytes
        inputs_hash = _hash_problems_and_code(self._run_info.fingerprint.problems)
        index_facts = _IndexFacts(
            size=self._indexed_bytes, sha256=self._digest.hexdigest(), made_of=inputs_hash
        )
        with suppress(InputError):
            self._index_tables.save(self.folder / INDEX, msgspec.json.encode(index_facts))

    # --- closing ---

    def close(self) -> None:
        """Close the files. Remove outdated lines from failures.jsonl."""
        try:
            for writer in self._open_files or ():
                writer.close()
            if (
                self._open_files
                and self._indexed_bytes > self._saved_bytes
                and self._indexed_bytes >= _MIN_INDEXED_BYTES
            ):
                self._save_index()
            if self._stale_failures and not self._discards_earlier_run:
                current_offsets = {offset for (offset,) in self._execute("SELECT offset FROM failures")}
                failure_lines = read_complete_lines(self.folder / FAILURES)
                replace(
                    self.folder / FAILURES,
                    (line + b"\n" for offset, line in failure_lines if offset in current_offsets),
                )
        finally:
            self._open_files = None
            self._release_resources()

    def _release_resources(self) -> None:
        """Unlock the folder. Remove it if this call created it and no run was started."""
        self._index_tables.close()
        for stream in self._other_streams:
            stream.close()
        if self._stored_info is None:
            self._lock.remove()
        if self._stored_info is None and self._created_folder:
            with suppress(OSError):  # another process may have written a file into the folder
                self.folder.rmdir()
        self._lock.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _make_run_info(fingerprint: Fingerprint, settings: Mapping[str, Any]) -> RunInfo:
    """Return the content of run.json. Paths and dates become values that JSON can hold."""
    return RunInfo(
        fingerprint=msgspec.structs.replace(fingerprint, options=as_json_value(fingerprint.options)),
        settings=as_json_value(settings),
    )


def _hash_problems_and_code(problems: Mapping[str, str]) -> str:
    """Return a hash of the problems' digests, which are part of identities, and of the package's code."""
    content = msgspec.json.encode([dict(sorted(problems.items())), compute_code_digest()])
    return hashlib.sha256(content).hexdigest()


def _hash_submission_or_program(identity_string: str, problem_digest: str | None = None) -> bytes:
    """Return the hash by which the index finds a submission of a problem, or a program."""
    hashed_name = identity_string if problem_digest is None else f"{identity_string} {problem_digest}"
    return hashlib.blake2b(hashed_name.encode(), digest_size=16).digest()


def _hash_key(key: str) -> bytes:
    """Return a hash of a key, `_HASH_BYTES` long."""
    return hashlib.blake2b(key.encode(errors="surrogatepass"), digest_size=_HASH_BYTES).digest()


def _select_identifying_run_info(info: RunInfo) -> tuple[Fingerprint, int | None, bool]:
    """Return the parts of run.json whose change requires a new run.json."""
    return info.fingerprint, info.expected, info.unread


def _is_same_folder(first_folder: Path, second_folder: Path) -> bool:
    """Return True if both paths lead to the same folder."""
    return first_folder.resolve() == second_folder.resolve()


def _find_tool_name(compiler: str) -> str:
    """Return a compiler's name without its version: `g++` for `g++ (Debian 12.2.0) 12.2.0`."""
    return re.split(r"[\d(]", compiler, maxsplit=1)[0].strip()
