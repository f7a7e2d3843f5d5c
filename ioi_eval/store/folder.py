"""A run's folder: the settings of the run, its rows and failures, and its measured time limits.

A run can be read while another process writes it. `ResultLog` writes the rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.nesting import require_shallow
from ioi_eval.model.quoting import encode_terminal_safe_json
from ioi_eval.model.values import Limits, Problem, ServerState, Solution, SubmissionResult, Value
from ioi_eval.rules.expectations import must_be_right
from ioi_eval.store.files import (
    create_folder_if_missing,
    is_locked,
    make_write_error,
    read_complete_lines,
    read_value,
    replace,
)
from ioi_eval.store.rows import as_json_value, read_result, restore_compact_row, restore_row_confinement

RUN, RESULTS, FAILURES = "run.json", "results.jsonl", "failures.jsonl"
# Names of files of a contest: its start, participants' runs on their own inputs, models' replies, and reasons
# why models stopped early.
CONTEST, RUNS, TURNS, STOPPED = "contest.json", "runs.jsonl", "turns.jsonl", "stopped.json"
# Name of the folder with a file for each submission of a contest that is being judged.
IN_PROGRESS = "in-progress"
LOCK = ".lock"
EARLIER = "earlier.jsonl"  # name of the file with rows that no longer belong to the run
_VERSION = 2
# Versions of run folders that can be read. In version 1, rows are not compact.
_READABLE = (1, _VERSION)
_OTHER_FOLDER = "Choose another out=FOLDER"
_RowType = TypeVar("_RowType")


class RunInfo(Value, kw_only=True):
    """The content of run.json. Only the fingerprint decides if the run may continue."""

    version: int = _VERSION
    fingerprint: Fingerprint
    settings: Mapping[str, Any] = {}
    expected: int | None = None  # number of submissions; None if it is unknown
    unread: bool = False  # True if the dump was not read to its end, so that `expected` may still change
    shard: str = ""  # shard of the run, such as 1/4, or 1,2/4 for merged shards; empty for a whole run
    merged: tuple[str, ...] = ()  # folders of the shards that were merged into this run
    replacing: bool = False  # True if the rows in the folder belong to a run that is being discarded
    # Descriptions of the sandbox, by the name that rows use.
    confinements: Mapping[str, Mapping[str, Any]] = {}


class ContestStart(Value):
    """The content of contest.json: start of the contest in seconds since 1970, and participants if known."""

    started: float
    participants: tuple[str, ...] = ()


class ResultHead(msgspec.Struct):
    """The columns of a result's row that the result log indexes."""

    key: str
    problem_id: str = ""
    verdict: str | None = None
    submission_sha256: str = ""
    program_sha256: str | None = None
    repeats: str | None = None
    compiler: str = ""
    # Hash of the problem, in rows of earlier.jsonl. For results.jsonl, run.json has the hashes.
    problem_sha256: str = ""


class FailureHead(msgspec.Struct):
    """The columns of a failure's row that the result log indexes."""

    key: str
    problem_id: str = ""


def read_info(folder: Path) -> RunInfo | None:
    """Return the content of run.json, or None if no run was started in the folder."""
    info = read_value(folder / RUN, RunInfo, "is not a valid run.json", _OTHER_FOLDER)
    if info is not None and info.version not in _READABLE:
        raise InputError(
            f"the run has format version {info.version}, but this program needs version {_VERSION}",
            where=str(folder / RUN),
            remedy=_OTHER_FOLDER,
        )
    return info


# Name of the file with rejected rows, and names of all files that may be in a folder before its run starts.
REJECTED = "rejected.jsonl"
_ALLOWED_BEFORE_RUN = frozenset(
    {"agents", "generations.json", "generations.jsonl", "instances.jsonl", REJECTED}
)
_MAX_NAMED_FILES = 3


def refuse_folder_without_run(folder: Path) -> None:
    """Raise InputError if a folder contains files that do not belong to a run."""
    if not folder.is_dir() or (folder / RUN).exists():
        return
    try:
        names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    except OSError as error:
        raise make_write_error(folder, error) from error
    unexpected_names = sorted(names - _ALLOWED_BEFORE_RUN)
    if unexpected_names:
        shown_names = ", ".join(unexpected_names[:_MAX_NAMED_FILES]) + (
            ", ..." if len(unexpected_names) > _MAX_NAMED_FILES else ""
        )
        raise InputError(
            f"the folder is not empty and has no run: {RUN} is missing, but it contains {shown_names}",
            where=str(folder),
            remedy="Choose a new or empty out=FOLDER, or the folder of a run",
        )


def write_rejected_rows(folder: Path, errors: Sequence[InputError]) -> Path:
    """Write the list of rejected rows of a dump and return its path. Without errors, remove an older list."""
    path = folder / REJECTED
    if not errors:
        path.unlink(missing_ok=True)
        return path
    refuse_folder_without_run(folder)
    create_folder_if_missing(folder)
    rejected_rows = (
        {
            "file": error.where,
            "line": error.row,
            "column": error.field,
            "problem": error.problem,
            "remedy": error.remedy,
        }
        for error in errors
    )
    replace(path, (encode_terminal_safe_json(row) + b"\n" for row in rejected_rows))
    return path


def read_rows(
    folder: Path, start: int = 0, is_selected: Callable[[ResultHead], bool] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the rows of results.jsonl in order of completion, with a mapping for each test.

    `start`: offset of the first row. `is_selected`: selects rows by their main columns.
    """
    for offset, row in read_rows_with_offsets(folder, start, is_selected):
        with add_line_to_errors(folder / RESULTS, offset):
            full_row = restore_compact_row(row, {})
        yield full_row


def read_results(
    folder: Path, start: int = 0, end: int | None = None
) -> Iterator[tuple[int, dict[str, Any], SubmissionResult]]:
    """Yield offset, row and result of each row between two offsets. Tests of rows keep their stored form."""
    for offset, row in read_rows_with_offsets(folder, start):
        if end is not None and offset >= end:
            return
        with add_line_to_errors(folder / RESULTS, offset):
            result = read_result(row)
        yield offset, row, result


@contextmanager
def add_line_to_errors(path: Path, offset: int, shown_path: Path | None = None) -> Iterator[None]:
    """Context manager: add the file and the number of the line at `offset` to InputErrors of the code inside.

    `shown_path`: path of the file in the message.
    """
    try:
        yield
    except InputError as error:
        raise error.with_details(where=str(shown_path or path), row=_line_number(path, offset)) from error


def _line_number(path: Path, offset: int) -> int:
    """Return the number of the line at an offset."""
    return sum(line_offset <= offset for line_offset, _ in read_complete_lines(path))


def read_rows_with_offsets(
    folder: Path, start: int = 0, is_selected: Callable[[ResultHead], bool] | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield offset and row of each row of results.jsonl. Tests of rows keep their stored form."""
    confinement_by_name = read_sandbox_confinements(folder)
    for offset, row in decode_lines(folder / RESULTS, dict[str, Any], start, is_selected, needs_key=True):
        confinement_name = row.get("confinement")
        # A row with an unknown name was written after run.json was read.
        if isinstance(confinement_name, str) and confinement_name not in confinement_by_name:
            confinement_by_name = read_sandbox_confinements(folder)
        yield offset, restore_row_confinement(row, confinement_by_name)


def read_row_at_offset(
    folder: Path, offset: int, confinement_by_name: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the row of results.jsonl at an offset, with a mapping for each test."""
    for _, row in decode_lines(folder / RESULTS, dict[str, Any], offset):
        with add_line_to_errors(folder / RESULTS, offset):
            return restore_compact_row(restore_row_confinement(row, confinement_by_name), {})
    raise InputError(
        "a row was removed from the results", where=str(folder / RESULTS), remedy="Run the same command again"
    )


def raise_duplicate_key_error(folder: Path, key: str) -> NoReturn:
    """Raise the InputError for a key that occurs in two rows."""
    raise InputError(
        f"duplicate key {key!r}",
        where=str(folder / RESULTS),
        remedy="Delete one of the two lines, or give fresh=True to start over",
    )


def read_sandbox_confinements(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    """Return the run's descriptions of the sandbox (confinements), by the name that rows use."""
    info = read_info(folder)
    return {} if info is None else info.confinements


def read_failures(folder: Path) -> dict[str, dict[str, Any]]:
    """Return each submission's last failure by key. Some of these submissions may have results since."""
    return {row["key"]: row for _, row in decode_lines(folder / FAILURES, dict[str, Any], needs_key=True)}


def decode_lines(
    path: Path,
    row_type: type[_RowType],
    start_offset: int = 0,
    is_selected: Callable[[ResultHead], bool] | None = None,
    *,
    needs_key: bool = False,
) -> Iterator[tuple[int, _RowType]]:
    """Yield offset and value of each line from `start_offset` on. Raises InputError for invalid JSON.

    Args:
        path: the file.
        row_type: type of the values.
        start_offset: offset of the first line.
        is_selected: selects rows by their main columns.
        needs_key: also refuse lines without a key.
    """
    decoder, head_decoder = msgspec.json.Decoder(row_type), msgspec.json.Decoder(ResultHead)
    for offset, line in read_complete_lines(path, start_offset):
        try:
            shallow_line = require_shallow(line)
            if is_selected is not None and not is_selected(head_decoder.decode(shallow_line)):
                continue
            value = decoder.decode(shallow_line)
            if needs_key and not (isinstance(value, dict) and isinstance(value.get("key"), str)):
                raise msgspec.ValidationError("`key` is missing or not a string")
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputError(
                f"the line is not a valid result: {error}",
                where=str(path),
                row=_line_number(path, offset),
                remedy="Delete that line and run again: its submission is judged again",
            ) from error
        yield offset, value


# --- fingerprint of a run ------------------------------------------------------------------------

# Runs with equal options and versions may share results. A result also depends on its submission and problem,
# whose hashes are in each row.

# Names of options for reading rows. They are not compared, because the program in each row is compared.
_READING_OPTIONS = frozenset(
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
    """Everything that results depend on. Engines, workers and selections of rows do not matter."""

    dump: str  # hash of the contents of the dump
    problems: Mapping[str, str] = {}  # hashes of problems, by label
    options: Mapping[str, Any] = {}
    versions: Mapping[str, str] = {}

    def list_edited_problems(self, older_fingerprint: Fingerprint) -> frozenset[str]:
        """Return the labels of problems that are in both fingerprints and differ."""
        common_labels = older_fingerprint.problems.keys() & self.problems.keys()
        return frozenset(
            label for label in common_labels if older_fingerprint.problems[label] != self.problems[label]
        )

    def list_relabelled_problems(self, older_fingerprint: Fingerprint) -> frozenset[str]:
        """Return the earlier labels of problems whose label has changed, such as from `id` to `id@year`."""
        removed_labels, current_digests = (
            older_fingerprint.problems.keys() - self.problems.keys(),
            set(self.problems.values()),
        )
        return frozenset(
            label for label in removed_labels if older_fingerprint.problems[label] in current_digests
        )


def list_fingerprint_changes(
    old: Fingerprint, new: Fingerprint, *, include_reading_options: bool = False
) -> tuple[str, ...]:
    """Return a message for each difference between two fingerprints that prevents continuing a run.

    Options have the names that they have in `ioi-eval.toml`.

    `include_reading_options`: also compare the options for reading rows of a dump.
    """
    compared_groups = (("option", old.options, new.options), ("version of", old.versions, new.versions))
    compared_values = (
        # Both values are converted to JSON values, because tuples are lists in run.json.
        (
            f"{group_name} {name.replace('_', '-') if group_name == 'option' else name}",
            as_json_value(old_value.get(name)),
            as_json_value(new_value.get(name)),
        )
        for group_name, old_value, new_value in compared_groups
        for name in sorted(
            {*old_value, *new_value} - (frozenset() if include_reading_options else _READING_OPTIONS)
        )
    )
    return tuple(
        f"{setting_name}: {_format_value(old_value)} -> {_format_value(new_setting)}"
        for setting_name, old_value, new_setting in compared_values
        if old_value != new_setting
    )


def _format_value(value: Any) -> str:
    if value is None or isinstance(value, str):
        return "not set" if value is None else value
    return msgspec.json.encode(value).decode()


# --- measured time limits ----------------------------------------------------------------------------

# Name of the file with measured time limits of packages.
LIMITS = "limits.json"


class MeasuredLimit(Value, kw_only=True):
    """Limits that were measured with accepted solutions: CPU time, number of processes, or both."""

    problem: str
    processes: int = 1  # number of processes that the files in `forks_by` start, including the first process
    forks_by: tuple[str, ...] = ()  # names of the package's files that start processes
    cpu_time: float  # CPU limit in seconds, measured or set by the package
    slowest: float  # CPU time of the slowest accepted solution, in seconds
    solution: str
    test: str
    multiplier: float  # ratio of the limit to the slowest solution's time; 0 if the package sets the limit
    made_of: str = ""  # hash of the problem; empty if an earlier version of ioi_eval measured the limit


def is_time_limit_measured(problem: Problem) -> bool:
    """Return True if the problem's time limit is measured with its solutions."""
    return problem.limits.cpu_time is None and problem.time_from_solutions is not None


def has_measured_limits(problem: Problem) -> bool:
    """Return True if the problem's time limit or number of processes is measured with its solutions."""
    return is_time_limit_measured(problem) or bool(problem.forks_by)


def set_process_count(problem: Problem, process_count: int) -> Problem:
    """Return the problem with the measured number of processes that its included files start."""
    return msgspec.structs.replace(
        problem, options=msgspec.structs.replace(problem.options, forks=process_count)
    )


def set_cpu_limit(problem: Problem, seconds: float) -> Problem:
    """Return the problem with a CPU limit, and a wall-clock limit that matches it."""
    contest_limits = Limits.contest(seconds, problem.limits.memory)
    return msgspec.structs.replace(
        problem,
        limits=msgspec.structs.replace(
            problem.limits,
            cpu_time=contest_limits.cpu_time,
            wall_time=problem.limits.wall_time or contest_limits.wall_time,
        ),
    )


def list_accepted_solutions(problem: Problem) -> Iterator[Solution]:
    """Yield the solutions that must get full marks."""
    for solution in problem.solutions:
        keywords = (
            solution.expected,
            *(test_keyword.keyword for test_keyword in solution.test_keywords if not test_keyword.subtask),
        )
        if any(map(must_be_right, keywords)):
            yield solution


def hash_limit_inputs(problem: Problem) -> str:
    """Return a hash of everything, except the machine, on which a measured limit depends."""
    hashed_values = [
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
            for solution in list_accepted_solutions(problem)
        ],
    ]
    return hashlib.sha256(msgspec.json.encode(as_json_value(hashed_values))).hexdigest()


def read_limits(folder: Path) -> dict[str, MeasuredLimit]:
    """Return the measured limits of a run by problem identity; empty if there are none."""
    remedy = "Give fresh=True to start over"
    limits_type = dict[str, MeasuredLimit]
    return read_value(folder / LIMITS, limits_type, "does not contain measured limits", remedy) or {}


def read_limits_by_problem_label(folder: Path, problems: Mapping[str, Problem]) -> dict[str, MeasuredLimit]:
    """Return the measured limits of a run's problems by label."""
    limits = read_limits(folder)
    hashes_by_label = {
        label: hash_limit_inputs(problem)
        for label, problem in problems.items()
        if has_measured_limits(problem)
    }
    return {
        label: limits[limit_hash] for label, limit_hash in hashes_by_label.items() if limit_hash in limits
    }


def write_limits(folder: Path, limits: Mapping[str, MeasuredLimit]) -> None:
    """Write the measured limits of a run."""
    replace(folder / LIMITS, [encode_terminal_safe_json(limits, indented=True), b"\n"])


# --- progress of a run ---------------------------------------------------------------------------

PROGRESS = "progress.json"


class ActiveSubmission(Value):
    """A submission that is being judged."""

    key: str
    problem: str
    step: str  # `build`, `tests`, or `waits` for the build of a possibly equal program
    where: str  # server or slot that does the step; empty while the submission waits for one
    since: float  # time at which the step started, in seconds since 1970


class Timeline(Value):
    """The number of results of the last call in each interval of time."""

    begin: float  # start of the first interval, in seconds since 1970
    step: float  # length of an interval, in seconds
    # Number of submissions by verdict, for each interval. The verdict "unscored" means a judge failure.
    counts: tuple[Mapping[str, int], ...]


class Activity(Value):
    """The state of a run's last call."""

    total: int | None = None  # number of submissions; None if programs arrive one by one
    engine: str = ""
    servers: int = 0  # number of servers that answered when the engine was opened
    slots: int = 0
    unreachable: tuple[str, ...] = ()  # reason for each server that cannot be reached
    standings: tuple[ServerState, ...] = ()  # latest states of the servers
    ended: bool = False
    stopped: bool = False  # True if the call was stopped, such as by Ctrl-C
    tests: int = 0  # number of tests that ran
    under_way: int = 0  # number of submissions in progress
    building: int = 0  # number of submissions that are being built
    builds_waiting: int = 0  # number of submissions that wait for a build
    submissions: tuple[ActiveSubmission, ...] = ()  # earliest submissions in progress
    timeline: Timeline | None = None


class Progress(Activity):
    """The progress of the last call. The rows have the results."""

    at: float | None = None  # time of the run's last activity, in seconds since 1970


def read_progress(folder: Path) -> Progress | None:
    """Return a run's progress, or None if the file is missing or unreadable."""
    return read_value(folder / PROGRESS, Progress)


def read_participants(folder: Path) -> tuple[str, ...]:
    """Return the participants of a contest; empty if they are unknown."""
    start = read_value(folder / CONTEST, ContestStart)
    return () if start is None else start.participants


def read_contest_stop_reasons(folder: Path) -> dict[str, str]:
    """Return the reasons why models stopped early in a contest, by participant and problem."""
    return read_value(folder / STOPPED, dict[str, str]) or {}


def write_stop_reasons(folder: Path, reasons: Mapping[str, str]) -> None:
    """Write the reasons why models stopped early in a contest, by participant and problem."""
    replace(folder / STOPPED, [encode_terminal_safe_json(reasons), b"\n"])


def is_being_written(folder: Path) -> bool:
    """Return True if a process is writing the run."""
    return is_locked(folder / LOCK)


def write_progress(folder: Path, progress: Progress) -> None:
    """Write the progress of a run."""
    replace(folder / PROGRESS, [encode_terminal_safe_json(progress), b"\n"], durable=False)
