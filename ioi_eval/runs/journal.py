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
    wrongly_shared,
)
from ioi_eval.store.rows import compact, plain, result_of

_ASKED = ".asked"  # hashes of the keys that had no result when the last call began
_HASH_BYTES = 8
# Made of the rows, so they go when the rows go.
_DERIVED = (
    _ASKED,
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
    """Rows of results and of failures, written as they come; `with Journal.open(...) as journal`.

    Opening changes nothing but a torn last line. The run begins with its first row (or with `begin`): input
    that turns out to be unusable before that leaves the folder, and an older run in it, as they were.

    A row counts for its submission and its problem as they were. `supersede` gives one up where either has
    changed: from the run's next beginning it is in earlier.jsonl, where `find` still knows it.
    """

    def __init__(self, folder: Path, info: RunInfo, lock: Lock) -> None:
        self.folder, self._info, self._lock = folder, info, lock
        self._old: RunInfo | None = None  # what run.json says
        self._made = False  # the folder is ours
        self._restart = False  # rows of an earlier run are to be given up
        self._superseded: dict[str, int] = {}  # where each row is
        self.edited = Counter[str]()  # problems that have changed, and how many results that cost
        self.relabelled = 0  # results of problems that have another name now
        self.wrongly_shared = (
            0  # results of other programs, which the rule of an older version took for equal
        )
        self._known = KnownResults()
        self._done: RowIndex  # of this run, which is asked after those that are taken over
        self._compilers: Set[str] | None = None  # those there were before this call judged anything
        self._any_compiler = False
        self._failed: dict[str, tuple[int, str]] = {}  # where a key's last failure starts; its problem
        self._stale = 0  # lines of failures.jsonl that no longer say anything
        self._asked: bytes | None = None  # what is to be written into _ASKED
        self._opened: tuple[Lines, Lines] | None = None  # for new rows of results, and of failures

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
        """Locks the folder, reads what is done. `fresh` gives an earlier run up once there is a new row.

        `reuse`: folders of other runs whose results are taken over. `any_compiler`: mix results of several.
        `shard`: the part of the run's rows that the folder is for. `merged`: folders whose rows are copied.
        """
        reuse = tuple(reuse)
        if fresh and any(_is_same(other, folder) for other in reuse):
            raise InputError(
                "these are the run's own results, which are to be discarded",
                where=str(folder),
                field="reuse",
                remedy="Leave out fresh or reuse, or choose another out=FOLDER",
            )
        made = make_folder(folder)
        lock = Lock(folder / LOCK).__enter__()
        info = msgspec.structs.replace(
            _info(fingerprint, settings or {}), shard=shard, merged=tuple(map(str, merged))
        )
        journal = cls(folder, info, lock)
        journal._made, journal._any_compiler = made, any_compiler
        try:
            for other in reuse:
                journal._known.take_over(other, journal._info.fingerprint)
            journal._done = journal._known.file(folder / RESULTS)
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

    @property
    def superseded(self) -> Set[str]:
        """Keys of the results that were given up since the folder was opened."""
        return self._superseded.keys()

    @property
    def dump(self) -> str:
        """Return the hash of the dump that the folder's rows were last compared with; empty without any."""
        return "" if self._old is None or self._restart else self._old.fingerprint.dump

    @property
    def unchanged(self) -> bool:
        """Return True if the run was made of the same dump and problems, read in the same way."""
        if self._old is None or self._restart:
            return False
        return self._old.fingerprint == self._info.fingerprint

    def identity(self, key: str) -> str:
        """Return the identity, as of `rows.identity`, that a key's result is of."""
        return str(self.row(key).get("submission_sha256") or "")

    def problem(self, key: str) -> str:
        return self._done.problem(key) if key in self._done else self._failed[key][1]

    @property
    def problems(self) -> Set[str]:
        """Return the problems that have results."""
        return self._done.problems

    def row(self, key: str) -> dict[str, Any]:
        """Return a key's row, also one that was given up."""
        offset = self._superseded[key] if key in self._superseded else self._done.offset(key)
        return self._known.row(self.folder / RESULTS, offset)

    def cpu_times(self) -> dict[str, list[float]]:
        """The seconds that judged submissions took, by problem."""
        found: dict[str, list[float]] = {}
        for key in self._done:
            result = result_of(self.row(key))
            if result.compiles and not result.repeats:
                found.setdefault(self._done.problem(key), []).append(
                    math.fsum(test.cpu_time or 0.0 for test in result.tests)
                )
        return found

    def find(self, identity: str, problem: str) -> dict[str, Any] | None:
        """The row of a submission that was the same in all that a result depends on."""
        return self._known.find(identity, self._hash(problem))

    def is_equal(self, key: str, identity: str, program: str) -> bool:
        """Return True if a key's row is of that submission or that program."""
        _, row = next(decoded(self.folder / RESULTS, ResultHead, self._done.offset(key)))
        return identity == row.submission_sha256 or program == (row.program_sha256 or None)

    def repeating(self, judged: Set[str]) -> list[str]:
        """Return the keys of the rows that count and name some of these keys as judged."""
        rows = decoded(self.folder / RESULTS, ResultHead) if judged else ()
        return [row.key for _, row in rows if row.repeats in judged and row.key in self._done]

    def find_program(self, identity: str) -> dict[str, Any] | None:
        """The same of a program. Its problem and limits are in its identity."""
        return self._known.find(identity)

    def _hash(self, problem: str) -> str:
        return self._info.fingerprint.problems.get(problem, "")

    def _read(self, fresh: bool) -> None:
        for name in (RUN, RESULTS, FAILURES, ROWS_INDEX):
            sweep_drafts(self.folder / name)
        self._old = read_info(self.folder)
        if self._old is None:
            check_folder(self.folder)
        elif fresh or self._old.replacing:
            self._restart = True
        else:
            self._refuse_other_shard(self._old.shard)
            self._know(self._old.confinements)
            self._read_rows(self._old.fingerprint.problems)
            self._read_failures()
            self._compare(self._old.fingerprint)
            for key in wrongly_shared(self.folder) if self._done.has_doubtful else ():
                if key in self._done:
                    self.wrongly_shared += 1
                    self.supersede(key)

    def _refuse_other_shard(self, there: str) -> None:
        """Raise InputError if the folder is for other rows of the dump than this call."""
        if there != self._info.shard:
            here, there = (
                f"shard {shard}" if shard else "a whole run" for shard in (self._info.shard, there)
            )
            raise InputError(
                f"the folder holds {there}, and this call is for {here}",
                where=str(self.folder),
                remedy="Choose another out=FOLDER, or give fresh=True to discard the results there",
            )

    def _read_rows(self, problems: Mapping[str, str]) -> None:
        for name in (RESULTS, EARLIER):
            cut_torn_line(self.folder / name)
        for offset, row in decoded(self.folder / RESULTS, ResultHead, self._done.load(problems)):
            if not self._done.add(offset, row, problems.get(row.problem_id, "")):
                refuse_twice(self.folder, row.key)
        self._done.read_on()
        earlier = self._known.file(self.folder / EARLIER)
        for offset, row in decoded(self.folder / EARLIER, ResultHead):
            earlier.know(offset, row, row.problem_sha256)

    def _read_failures(self) -> None:
        cut_torn_line(self.folder / FAILURES)
        for offset, failure in decoded(self.folder / FAILURES, FailureHead):
            self._stale += failure.key in self._failed or failure.key in self._done
            if failure.key not in self._done:
                self._failed[failure.key] = offset, failure.problem_id

    def _compare(self, old: Fingerprint) -> None:
        """Other options matter only where there are results that theirs would be mixed with, or a contest
        that has begun: its clock runs, and runs on own inputs are used up.
        """
        new = self._info.fingerprint
        if not (found := changes(old, new)):
            # A run may grow by problems: those that only the older one knows stay known.
            edited, relabelled = new.edited(old), new.relabelled(old)
            known = {name: sha256 for name, sha256 in old.problems.items() if name not in relabelled}
            whole = msgspec.structs.replace(new, problems={**known, **new.problems})
            self._info = msgspec.structs.replace(self._info, fingerprint=whole)
            for key in self._done.keys_of(relabelled):
                self.relabelled += 1
                self.supersede(key)
            for key in self._done.keys_of(edited):
                self.edited[self._done.problem(key)] += 1
                self.supersede(key)
        elif self._done or (self.folder / CONTEST).exists():
            raise InputError(
                f"the folder holds another run. Changed: {'; '.join(found)}",
                where=str(self.folder),
                remedy="Give fresh=True to score everything again, or choose another out=FOLDER",
            )
        else:
            self._restart = True
            self._failed.clear()

    def supersede(self, key: str) -> None:
        """Gives a key's result, or failure, up: its submission or its problem is no longer the same."""
        if self._failed.pop(key, None) is not None:
            self._stale += 1
        else:
            self._superseded[key] = self._done.drop(key)

    # --- what is new ---

    def begin(self) -> None:
        """Make the run exist, also when it has no row. Killed halfway, it is begun by the next process."""
        if self._old is None or self._restart:
            self._begin_anew()
        elif self._superseded:
            self._put_aside()
        elif _facts(self._old) != _facts(self._info):
            self._write_info(replacing=False)

    def _begin_anew(self) -> None:
        """run.json is replaced first: from then on the old rows count for nothing, whoever removes them."""
        self._write_info(replacing=True)
        for name in (RESULTS, FAILURES, EARLIER, *_DERIVED):
            (self.folder / name).unlink(missing_ok=True)
        for name in ("report", IN_PROGRESS):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        self._forget_rows()
        self._write_info(replacing=False)
        self._restart, self._stale = False, 0
        self._open_writers()

    def _put_aside(self) -> None:
        """Move rows that count no longer. run.json is last: killed before, the next call does it again."""
        assert self._old is not None, "there are rows"
        results, problems = self.folder / RESULTS, self._old.fingerprint.problems
        aside = Lines(self.folder / EARLIER)
        for _, row in decoded(results, dict[str, Any]):
            if row["key"] in self._superseded:
                aside.append(as_json({**row, "problem_sha256": problems.get(row.get("problem_id", ""), "")}))
        aside.close()
        gone = set(self._superseded.values())
        replace(results, (line + b"\n" for offset, line in lines(results) if offset not in gone))
        self._superseded.clear()
        self._forget_rows()
        self._read_rows(self._info.fingerprint.problems)
        self._write_info(replacing=False)

    def _forget_rows(self) -> None:
        """Know nothing of rows that were moved or removed."""
        self._known.forget(self.folder)

    def record(self, row: Mapping[str, Any], *, known: bool = False) -> None:
        """Appends a submission's row of results; `known`: an older result that holds for it, too."""
        if row["key"] in self._done:
            raise ValueError(f"{row['key']!r} has its result already")
        head = msgspec.convert(row, ResultHead)
        if not known and not self._any_compiler:
            self._check_compiler(head.compiler)
        results, _ = self._writers()
        short, confinements = compact(row)
        if not confinements.keys() <= self._info.confinements.keys():
            self._know(confinements)
            self._write_info(replacing=False)
        offset = results.append(line := as_json(short))
        self._done.wrote(line)
        if self._failed.pop(row["key"], None) is not None:
            self._stale += 1
        self._done.add(offset, head, self._hash(head.problem_id))
        self._save_index(ends=False)

    def _save_index(self, *, ends: bool) -> None:
        if not self._superseded:
            self._done.save(self._info.fingerprint.problems, ends=ends)

    def _check_compiler(self, compiler: str) -> None:
        """Raise InputError for a result that another version made: times of two are not comparable."""
        if self._compilers is None:
            self._compilers = self._done.compilers | self._known.compilers
        if not compiler or compiler in self._compilers:
            return
        if before := {name for name in self._compilers if _tool(name) == _tool(compiler)}:
            raise InputError(
                f"programs are built by {compiler} now, but the run's results by {', '.join(sorted(before))}",
                field="compiler",
                remedy="Give fresh=True to score everything again, or accept_compiler=True to mix them",
            )

    def fail(self, row: Mapping[str, Any]) -> None:
        """Appends why a submission could not be judged; the next run tries it again."""
        offset = self._writers()[1].append(as_json(row))
        self._stale += row["key"] in self._failed
        self._failed[row["key"]] = offset, row.get("problem_id", "")

    def _know(self, confinements: Mapping[str, Mapping[str, Any]]) -> None:
        every = {**self._info.confinements, **confinements}
        self._info = msgspec.structs.replace(self._info, confinements=every)
        self._known.confinements |= every

    def _writers(self) -> tuple[Lines, Lines]:
        if self._opened is None:
            self.begin()
            if self._old != self._info:
                self._write_info(replacing=False)
        return self._open_writers()

    def _open_writers(self) -> tuple[Lines, Lines]:
        if self._opened is None:
            self._opened = Lines(self.folder / RESULTS), Lines(self.folder / FAILURES)
        return self._opened

    def _write_info(self, *, replacing: bool) -> None:
        if self._asked is not None and not replacing:
            replace(self.folder / _ASKED, [self._asked])
            self._asked = None
        self._old = msgspec.structs.replace(self._info, replacing=replacing)
        replace(self.folder / RUN, [as_json(self._old, indented=True), b"\n"])

    def expect(self, keys: Collection[str], others: Collection[str] = ()) -> None:
        """Note how many submissions are to have a result: those with these keys, and all that have one.

        `others`: keys of the dump that this call leaves out. Those that an earlier call left without a result
        are to have one, too.
        """
        before, missing = self._asked_before(), bytearray()
        for key in chain(keys, (key for key in others if _short_hash(key) in before)):
            if key not in self._done:
                missing += _short_hash(key)
        self.expect_number(len(self._done) + len(missing) // _HASH_BYTES)
        self._asked = bytes(missing)

    def expect_number(self, number: int | None) -> None:
        """Note how many submissions are to have a result; None if the dump is not read to its end."""
        self._info = msgspec.structs.replace(self._info, expected=number, unread=number is None)

    def _asked_before(self) -> frozenset[bytes]:
        """Return the hashes of the keys that had no result when the last call began."""
        path = self.folder / _ASKED
        if self._restart or not path.exists():
            return frozenset()
        content = path.read_bytes()
        return frozenset(content[at : at + _HASH_BYTES] for at in range(0, len(content), _HASH_BYTES))

    def note(self, settings: Mapping[str, Any]) -> None:
        """Add settings for the reader of a report. What they were for the rows that are there stays named."""
        before = {} if self._old is None or self._restart else self._old.settings
        told = dict[str, Any]()
        for name, text in plain(settings).items():
            earlier = str(before.get(name, text))
            told[name] = earlier if earlier.endswith(text) else f"{earlier}; later {text}"
        self._info = msgspec.structs.replace(self._info, settings={**self._info.settings, **told})

    def settle(self, fingerprint: Fingerprint, settings: Mapping[str, Any], keys: Collection[str]) -> None:
        """Write what was not known yet of a run when it began."""
        found = _info(fingerprint, {**self._info.settings, **settings})
        self._info = msgspec.structs.replace(
            self._info, fingerprint=found.fingerprint, settings=found.settings
        )
        self.expect(keys)
        self._write_info(replacing=False)

    # --- the end ---

    def close(self) -> None:
        """Leaves in failures.jsonl one line for each submission that still has no result."""
        try:
            for writer in self._opened or ():
                writer.close()
            if self._opened is not None:
                self._save_index(ends=True)
            if self._stale and not self._restart:
                current = {offset for offset, _ in self._failed.values()}
                failures = lines(self.folder / FAILURES)
                replace(
                    self.folder / FAILURES,
                    (line + b"\n" for offset, line in failures if offset in current),
                )
        finally:
            self._opened = None
            self._leave()

    def _leave(self) -> None:
        """A folder in which no run was begun is left as it was found."""
        self._known.close()
        if self._old is None:
            self._lock.remove()
        if self._old is None and self._made:
            with suppress(OSError):  # somebody put something into it meanwhile
                self.folder.rmdir()
        self._lock.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _info(fingerprint: Fingerprint, settings: Mapping[str, Any]) -> RunInfo:
    """Paths, dates and odd bytes of a command line as JSON can hold them."""
    return RunInfo(
        fingerprint=msgspec.structs.replace(fingerprint, options=plain(fingerprint.options)),
        settings=plain(settings),
    )


def _short_hash(key: str) -> bytes:
    return hashlib.blake2b(key.encode(errors="surrogatepass"), digest_size=_HASH_BYTES).digest()


def _facts(info: RunInfo) -> tuple[Fingerprint, int | None, bool]:
    return info.fingerprint, info.expected, info.unread


def _is_same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _tool(compiler: str) -> str:
    """`g++` of `g++ (Debian 12.2.0) 12.2.0`: what comes before the first number or bracket."""
    return re.split(r"[\d(]", compiler, maxsplit=1)[0].strip()
