"""A run's folder: what it was made of, its rows and failures, the time limits that were measured for it.

Reading works also while another process writes. Writing rows is the journal's (`runs`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import LANGUAGES
from ioi_eval.model.nesting import shallow
from ioi_eval.model.quoting import as_json
from ioi_eval.model.values import Limits, Problem, ServerState, Solution, SubmissionResult, Value
from ioi_eval.rules.expectations import must_be_right
from ioi_eval.store.files import is_locked, lines, make_folder, read_value, refused, replace
from ioi_eval.store.rows import PROGRAM_RULE, plain, result_of, whole, with_confinement

RUN, RESULTS, FAILURES = "run.json", "results.jsonl", "failures.jsonl"
# Of a contest: its start, runs of participants on own inputs, replies of models.
CONTEST, RUNS, TURNS, STOPPED = "contest.json", "runs.jsonl", "turns.jsonl", "stopped.json"
IN_PROGRESS = "in-progress"  # folder: a file for each submission of a contest that is being judged
LOCK = ".lock"
EARLIER = "earlier.jsonl"  # results that no row of the run has any more
_VERSION = 2
_READABLE = (1, _VERSION)  # of version 1 are rows whose tests and confinement are written out
_OTHER_FOLDER = "Choose another out=FOLDER"
_Head = TypeVar("_Head")
_INTERPRETERS = frozenset(language.command for language in LANGUAGES if language.syntax == "python")


class RunInfo(Value, kw_only=True):
    """run.json. `settings` are for the reader of a report; only the fingerprint decides about going on."""

    version: int = _VERSION
    fingerprint: Fingerprint
    settings: Mapping[str, Any] = {}
    expected: int | None = None  # submissions that are to have a result; None: not known
    unread: bool = False  # the dump is not read to its end, so that the number is not known yet
    shard: str = ""  # I/N: it has the rows of shard I of N alone; of merged shards I,J/N
    merged: tuple[str, ...] = ()  # the folders of shards that it was made of
    replacing: bool = False  # the rows beside it belong to a run that was given up
    confinements: Mapping[str, Mapping[str, Any]] = {}  # by the name that rows have


class ContestStart(Value):
    """contest.json: when the contest began, in seconds since 1970; who may take part, if that is known."""

    started: float
    participants: tuple[str, ...] = ()


class ResultHead(msgspec.Struct):
    """The columns of a row that the journal itself needs."""

    key: str
    problem_id: str = ""
    verdict: str | None = None
    submission_sha256: str = ""
    program_sha256: str | None = None
    repeats: str | None = None
    compiler: str = ""
    problem_sha256: str = ""  # in earlier.jsonl only: run.json has those of results.jsonl

    @property
    def is_doubtful(self) -> bool:
        """Return True if its result may be another program's, equal only by the first rule."""
        return is_doubtful(self.program_sha256, self.repeats, self.compiler)


class FailureHead(msgspec.Struct):
    key: str
    problem_id: str = ""


def read_info(folder: Path) -> RunInfo | None:
    """Read a run's facts; None where no run was ever begun."""
    info = read_value(folder / RUN, RunInfo, "is not a run's", _OTHER_FOLDER)
    if info is not None and info.version not in _READABLE:
        raise InputError(
            f"is of version {info.version}, this program writes version {_VERSION}",
            where=str(folder / RUN),
            remedy=_OTHER_FOLDER,
        )
    return info


# What may be in a folder before its run is begun: what a model wrote, and what agents did.
REJECTED = "rejected.jsonl"
_BEFORE = frozenset({"agents", "generations.json", "generations.jsonl", "instances.jsonl", REJECTED})
_NAMED = 3


def check_folder(folder: Path) -> None:
    """Raises InputError where a run would be written between files that have nothing to do with it."""
    if not folder.is_dir() or (folder / RUN).exists():
        return
    try:
        there = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    except OSError as error:
        raise refused(folder, error) from error
    others = sorted(there - _BEFORE)
    if others:
        shown = ", ".join(others[:_NAMED]) + (", ..." if len(others) > _NAMED else "")
        raise InputError(
            f"the folder is not empty and not a run's: there is no {RUN} in it, but {shown}",
            where=str(folder),
            remedy="Choose a new out=FOLDER, an empty one, or that of a run",
        )


def write_rejected(folder: Path, errors: Sequence[InputError]) -> Path:
    """Lists the rows of a dump that cannot be used; without any, an older list goes."""
    path = folder / REJECTED
    if not errors:
        path.unlink(missing_ok=True)
        return path
    check_folder(folder)
    make_folder(folder)
    rows = (
        {
            "file": fault.where,
            "line": fault.row,
            "column": fault.field,
            "problem": fault.problem,
            "remedy": fault.remedy,
        }
        for fault in errors
    )
    replace(path, (as_json(row) + b"\n" for row in rows))
    return path


def read_rows(
    folder: Path, start: int = 0, wanted: Callable[[ResultHead], bool] | None = None
) -> Iterator[dict[str, Any]]:
    """The rows of results.jsonl in order of completion, one at a time, with their tests written out.

    `start`: the offset of the first of them. `wanted` chooses some.
    """
    for place, row in placed(folder, start, wanted):
        with located(folder / RESULTS, place):
            found = whole(row, {})
        yield found


def read_results(
    folder: Path, start: int = 0, end: int | None = None
) -> Iterator[tuple[int, dict[str, Any], SubmissionResult]]:
    """The offset of each row from `start` to `end`, the row with tests as they are written, its result."""
    for place, row in placed(folder, start):
        if end is not None and place >= end:
            return
        with located(folder / RESULTS, place):
            result = result_of(row)
        yield place, row, result


@contextmanager
def located(path: Path, offset: int, shown: Path | None = None) -> Iterator[None]:
    """Have errors that are raised inside name the file, as it is `shown`, and the line that begins there."""
    try:
        yield
    except InputError as error:
        raise error.but(where=str(shown or path), row=_number(path, offset)) from error


def _number(path: Path, offset: int) -> int:
    return sum(before <= offset for before, _ in lines(path))


def placed(
    folder: Path, start: int = 0, wanted: Callable[[ResultHead], bool] | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The same with the offset of each row, and with tests as they are written: results are made of them."""
    confined = confinements(folder)
    for place, row in decoded(folder / RESULTS, dict[str, Any], start, wanted, keyed=True):
        named = row.get("confinement")
        if isinstance(named, str) and named not in confined:  # of a row that was written meanwhile
            confined = confinements(folder)
        yield place, with_confinement(row, confined)


def row_at(folder: Path, place: int, confined: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the row of results.jsonl at an offset, with its tests written out."""
    for _, row in decoded(folder / RESULTS, dict[str, Any], place):
        with located(folder / RESULTS, place):
            return whole(with_confinement(row, confined), {})
    raise InputError("a row is gone", where=str(folder / RESULTS), remedy="Make the report again")


def refuse_twice(folder: Path, key: str) -> NoReturn:
    """Raise the error for a key that two rows have: nobody knows which of them counts."""
    raise InputError(
        f"key {key!r} is there twice",
        where=str(folder / RESULTS),
        remedy="Delete one of the two lines, or give fresh=True to start over",
    )


def is_doubtful(program: Any, repeats: Any, compiler: Any) -> bool:
    """Return True if the result of a row with these columns may be another program's."""
    if not program or not repeats or str(program).startswith(PROGRAM_RULE):
        return False
    return str(compiler).partition(" ")[0] in _INTERPRETERS


def wrongly_shared(folder: Path) -> tuple[str, ...]:
    """Return the keys of rows that repeat the result of another text in Python, as the first rule had it."""
    path = folder / RESULTS
    doubtful = {row.key: row for _, row in decoded(path, ResultHead) if row.is_doubtful}
    if not doubtful:
        return ()
    judged = {row.repeats for row in doubtful.values()}
    texts = {row.key: row.submission_sha256 for _, row in decoded(path, ResultHead) if row.key in judged}
    return tuple(
        key for key, row in doubtful.items() if texts.get(row.repeats or "") != row.submission_sha256
    )


def confinements(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    info = read_info(folder)
    return {} if info is None else info.confinements


def read_failures(folder: Path) -> dict[str, dict[str, Any]]:
    """The last failure of every submission, by key. Some may have a row of results since."""
    return {row["key"]: row for _, row in decoded(folder / FAILURES, dict[str, Any], keyed=True)}


def decoded(
    path: Path,
    kind: type[_Head],
    start: int = 0,
    wanted: Callable[[ResultHead], bool] | None = None,
    *,
    keyed: bool = False,
) -> Iterator[tuple[int, _Head]]:
    """Offset and value of every line from `start` on; a line that is not JSON is an error that names it.

    `keyed`: so is one without a key.
    """
    decoder, heads = msgspec.json.Decoder(kind), msgspec.json.Decoder(ResultHead)
    for offset, line in lines(path, start):
        try:
            text = shallow(line)
            if wanted is not None and not wanted(heads.decode(text)):
                continue
            value = decoder.decode(text)
            if keyed and not (isinstance(value, dict) and isinstance(value.get("key"), str)):
                raise msgspec.ValidationError("it has no text as `key`")
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputError(
                f"broken line: {error}",
                where=str(path),
                row=_number(path, offset),
                remedy="Delete that line and run again: its submission is judged again",
            ) from error
        yield offset, value


# --- what a run was made of --------------------------------------------------------------------------

# Two runs of equal options and versions may share results, others may not. What else a result depends on,
# its submission and its problem, each row has for itself.

# How rows are read: it changes programs, and each program is looked at.
_READING = frozenset(
    {
        "add_header",
        "add_imports",
        "add_includes",
        "add_namespace",
        "always_extract",
        "code_column",
        "default_language",
        "extract",
        "id_column",
        "keys_of_content",
        "language",
        "language_column",
        "model_column",
        "problem_column",
        "prompt_column",
        "split_lists",
        "subtask_column",
        "year_column",
    }
)


class Fingerprint(Value):
    """All that results depend on. Engines, workers and selections of rows are not in it."""

    dump: str  # hash of the dump's content
    problems: Mapping[str, str] = {}  # hash of each problem
    options: Mapping[str, Any] = {}
    versions: Mapping[str, str] = {}

    def edited(self, older: Fingerprint) -> frozenset[str]:
        """The problems of both that are no longer what they were."""
        both = older.problems.keys() & self.problems.keys()
        return frozenset(name for name in both if older.problems[name] != self.problems[name])

    def relabelled(self, older: Fingerprint) -> frozenset[str]:
        """The older one's names of problems that have another one now: `id`, and `id@year` beside others."""
        gone, here = older.problems.keys() - self.problems.keys(), set(self.problems.values())
        return frozenset(name for name in gone if older.problems[name] in here)


def changes(old: Fingerprint, new: Fingerprint, *, reading: bool = False) -> tuple[str, ...]:
    """Return a sentence for each difference that forbids going on; empty if the run may be continued.

    `reading`: also for differences in how rows are read.
    """
    kinds = (("option", old.options, new.options), ("version of", old.versions, new.versions))
    values = (
        (f"{kind} {name}", plain(before.get(name)), plain(after.get(name)))  # a tuple is a list in run.json
        for kind, before, after in kinds
        for name in sorted({*before, *after} - (frozenset() if reading else _READING))
    )
    return tuple(
        f"{what}: {_value(before)} -> {_value(other)}" for what, before, other in values if before != other
    )


def _value(value: Any) -> str:
    if value is None or isinstance(value, str):
        return "not set" if value is None else value
    return msgspec.json.encode(value).decode()


# --- measured time limits ----------------------------------------------------------------------------

# Where a package leaves its time limit to its solutions.
LIMITS = "limits.json"


class MeasuredLimit(Value, kw_only=True):
    """The limits that accepted solutions set: of time, of processes, or both."""

    problem: str
    processes: int = 1  # that the package's own file starts, with the first one
    forks_by: tuple[str, ...] = ()  # those files; empty: none does
    cpu_time: float  # seconds: the limit; where the package has one, that
    slowest: float  # seconds that the slowest accepted solution took
    solution: str
    test: str
    multiplier: float  # 0: the package has a time limit
    made_of: str = ""  # the problem's digest; empty: an earlier version measured


def is_timed(problem: Problem) -> bool:
    """Return True if the problem's solutions set its time limit."""
    return problem.limits.cpu_time is None and problem.time_from_solutions is not None


def is_measured(problem: Problem) -> bool:
    """Return True if the problem's solutions set its time limit or its number of processes."""
    return is_timed(problem) or bool(problem.forks_by)


def with_forks(problem: Problem, forks: int) -> Problem:
    return msgspec.structs.replace(problem, options=msgspec.structs.replace(problem.options, forks=forks))


def with_limit(problem: Problem, seconds: float) -> Problem:
    times = Limits.contest(seconds, problem.limits.memory)
    return msgspec.structs.replace(
        problem,
        limits=msgspec.structs.replace(
            problem.limits, cpu_time=times.cpu_time, wall_time=problem.limits.wall_time or times.wall_time
        ),
    )


def accepted(problem: Problem) -> Iterator[Solution]:
    """Yield the solutions that nothing but full marks agrees with."""
    for solution in problem.solutions:
        said = (solution.expected, *(word.word for word in solution.said if not word.subtask))
        if any(map(must_be_right, said)):
            yield solution


def identity(problem: Problem) -> str:
    """Return a hash of all that a measured limit depends on but the machine."""
    content = [
        problem.id,
        problem.year,
        problem.time_from_solutions,
        problem.time_resolution,
        *(
            [[problem.forks_by, [file.content.sha256 for file in problem.included]]]
            if problem.forks_by
            else []
        ),
        [test.input.sha256 for test in problem.tests],
        [
            (
                solution.name,
                solution.language,
                solution.code,
                *(file.content.sha256 for file in solution.files),
            )
            for solution in accepted(problem)
        ],
    ]
    return hashlib.sha256(msgspec.json.encode(plain(content))).hexdigest()


def read_limits(folder: Path) -> dict[str, MeasuredLimit]:
    """The measured limits that a run was begun with."""
    remedy = "Give fresh=True to start over"
    kind = dict[str, MeasuredLimit]
    return read_value(folder / LIMITS, kind, "holds no measured limits", remedy) or {}


def limits_of(folder: Path, problems: Mapping[str, Problem]) -> dict[str, MeasuredLimit]:
    """The measured limits of a run's problems, by label."""
    limits = read_limits(folder)
    keys = {label: identity(problem) for label, problem in problems.items() if is_measured(problem)}
    return {label: limits[key] for label, key in keys.items() if key in limits}


def write_limits(folder: Path, limits: Mapping[str, MeasuredLimit]) -> None:
    replace(folder / LIMITS, [as_json(limits, indented=True), b"\n"])


# --- how far a run is --------------------------------------------------------------------------------

PROGRESS = "progress.json"


class UnderWay(Value):
    """A submission that is being judged."""

    key: str
    problem: str
    step: str  # build, tests, or waits: for the build of one that may be equal
    where: str  # empty: it waits for a slot
    since: float  # seconds since 1970


class Timeline(Value):
    """The results of the last call by their time."""

    begin: float  # seconds since 1970
    step: float  # seconds
    counts: tuple[Mapping[str, int], ...]  # by verdict; "unscored": judge failures


class Activity(Value):
    """The activity of a run's last call."""

    total: int | None = None  # None: programs come one by one
    engine: str = ""
    servers: int = 0  # that answered when the engine was opened
    slots: int = 0
    unreachable: tuple[str, ...] = ()  # why, of each
    standings: tuple[ServerState, ...] = ()  # a moment ago
    ended: bool = False
    stopped: bool = False  # before its end, for example by Ctrl-C
    tests: int = 0  # that ran
    under_way: int = 0  # submissions
    building: int = 0  # of these
    builds_waiting: int = 0  # of these, and of those that wait for a slot
    submissions: tuple[UnderWay, ...] = ()  # the first of those under way, the longest first
    timeline: Timeline | None = None


class Progress(Activity):
    """The progress of the last call. Rows say the rest."""

    at: float | None = None  # when the run was alive, about: seconds since 1970


def read_progress(folder: Path) -> Progress | None:
    """Read a run's progress; None where there is none, or where it cannot be read."""
    return read_value(folder / PROGRESS, Progress)


def read_participants(folder: Path) -> tuple[str, ...]:
    """Return who may take part in a contest, if that is known."""
    start = read_value(folder / CONTEST, ContestStart)
    return () if start is None else start.participants


def read_stopped(folder: Path) -> dict[str, str]:
    """Return why a model stopped early in a contest, by participant and problem."""
    return read_value(folder / STOPPED, dict[str, str]) or {}


def write_stopped(folder: Path, reasons: Mapping[str, str]) -> None:
    replace(folder / STOPPED, [as_json(reasons), b"\n"])


def is_written_now(folder: Path) -> bool:
    """Return True if a process writes the run now."""
    return is_locked(folder / LOCK)


def write_progress(folder: Path, progress: Progress) -> None:
    replace(folder / PROGRESS, [as_json(progress), b"\n"], durable=False)
