"""Score a dump: problems, submissions, an engine and a run's folder in; scores and a report out."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec

from ioi_eval.benchmarks import (
    ASKED_FOR,
    BenchmarkOptions,
    DetectedColumns,
    Dump,
    DumpInfo,
    DumpOptions,
    Dumps,
    Selection,
    find_dumps,
    list_named_problem_ids,
    open_dump,
    open_dump_of_first_rows,
    open_dump_paths,
)
from ioi_eval.benchmarks.dumps import hash_first_pass_inputs, read_index, write_index
from ioi_eval.benchmarks.hub import RowFile
from ioi_eval.benchmarks.row_files import is_dump, list_non_dump_files, remove_format_suffixes
from ioi_eval.engines.registry import EngineChoice
from ioi_eval.judge import Judge
from ioi_eval.model.errors import BadRows, InputError
from ioi_eval.model.text import format_count
from ioi_eval.model.values import Submission, TaskType, Value
from ioi_eval.problems import Problems, compute_problem_hashes
from ioi_eval.reports import Results, Summary, write_reports
from ioi_eval.reports.records import write_json
from ioi_eval.reports.trust import TRUST, read_trust_from_audit
from ioi_eval.rules.calibration import with_time_factor
from ioi_eval.runs.engine import AnyEngine
from ioi_eval.runs.events import (
    JudgedAgain,
    OnEvent,
    ReportProgress,
    RowsRead,
    RowsUnderstood,
    RunSummary,
    ignore_event,
)
from ioi_eval.runs.references import (
    REFERENCES,
    ReferenceOptions,
    References,
    check_references,
    summarize_references,
)
from ioi_eval.runs.runner import prepare_problems
from ioi_eval.runs.shards import LIMIT
from ioi_eval.runs.sources import Source, language_of, open_problem_source, source_name
from ioi_eval.runs.work import (
    RunOptions,
    RunSetup,
    Work,
    judge_work,
    make_fingerprint,
    make_synchronous,
    open_journal,
    supersede_outdated_results,
)
from ioi_eval.store import Store
from ioi_eval.store.folder import Fingerprint, read_info, write_rejected_rows
from ioi_eval.store.result_log import ResultLog
from ioi_eval.store.rows import hash_submission

if TYPE_CHECKING:
    from ioi_eval.reports.tables import Frame


class ScoredDump(Value):
    """The outcome of `score_dump`."""

    out: str  # path of the run's folder
    call: RunSummary  # figures of this call
    dump: DumpInfo
    summary: Summary  # figures of the whole run
    failures: Mapping[str, str]  # reasons why submissions of this call have no result, by key
    # Outcomes of the benchmark's own solutions; None unless they were requested.
    references: References | None = None

    def to_frame(self) -> Frame:
        """Return a row for each submission of the run, as `Results.to_frame` does."""
        return Results.open(self.out).to_frame()

    def tests_frame(self) -> Frame:
        """Return a row for each test of each judged submission."""
        return Results.open(self.out).tests_frame()

    def as_json(self) -> dict[str, Any]:
        """Return the content of the command's JSON output."""
        count_names = ("left_out", "rejected", "noted", "other_files", "understood")
        dump_counts = {name: getattr(self.dump, name) for name in count_names}
        json_fields = {
            "out": self.out,
            "report": f"{self.out}/report.md",
            "this_call": self.call,
            "dump": dump_counts,
        }
        references_field = {} if self.references is None else {"references": self.references}
        return {**json_fields, **references_field, **self.summary.as_json()}


async def score_dump(
    dumps: Dumps,
    problems: Source,
    *,
    out: str | Path | None = None,
    choice: BenchmarkOptions | None = None,
    reading: DumpOptions | None = None,
    selection: Selection | None = None,
    references: ReferenceOptions | None = None,
    trust: str | Path | None = None,
    engine: AnyEngine | None = None,
    options: RunOptions | None = None,
    store: Store | None = None,
    on_event: OnEvent = ignore_event,
) -> ScoredDump:
    """Score the submissions of a dump, and write the results and reports into a folder.

        scored = await score_dump("generations.jsonl", "packages", out="runs/mine", on_event=print)
        print(scored.summary.models[0].points, scored.failures)

    A repeated call continues where the last call stopped. If the call is cancelled, the folder contains
    complete results.

    Args:
        dumps: Files, folders, datasets on the hub, or rows: a frame, a `datasets.Dataset`, a list of dicts.
        problems: Packages, a benchmark's name, a file of its rows, or loaded problems.
        out: The folder of the run.
        choice: The selection of problems.
        reading: How the rows are read.
        selection: The selection of submissions.
        references: Judge a benchmark's own solutions first.
        trust: The file of an audit. The report then includes the numbers without the untrusted problems.
        engine: Executes the programs. It may be an open scorer.
        options: Options for judging.
        store: The cache.
        on_event: Receives events.

    Raises:
        InputError: The input is unusable. Nothing has been written, except if the dump is new and large: then
            only its first rows are checked before judging starts.
    """
    with open_dump_paths(dumps) as dump_files:
        paths, audit = (
            tuple(map(dump_name, dump_files)),
            None if trust is None else read_trust_from_audit(trust),
        )
        setup = RunSetup.create(out or _default_folder(paths[0], selection), engine, options, store, on_event)
        rows = DumpRows.create(dump_files, reading, selection, problems, setup)
        with open_problem_source(
            problems, choice, setup.store, rows.list_named_problem_ids
        ) as loaded_problems:
            dump = (first_part := rows.open_first_part(loaded_problems, setup)) or read_dump(
                rows, loaded_problems, setup
            )
            setup.on_event(RowsUnderstood(rows=dump.info.understood))
            usable_problems, reference_outcomes = await check_references(loaded_problems, references, setup)
            if usable_problems is not loaded_problems:
                dump = (first_part := rows.open_first_part(usable_problems, setup)) or rows.open_dump(
                    usable_problems
                )
            result_settings = {**(references.result_settings if references else {}), **setup.result_settings}
            limit = rows.selection.limit
            arguments: dict[str, Any] = {"dumps": list(paths), "problems": source_name(problems)}
            arguments |= {} if limit is None else {LIMIT: limit}
            arguments |= choice.report_settings if choice is not None else {}
            settings = {**arguments, **_make_report_settings(dump, reference_outcomes, references)}
            work = rows.make_judging_work(dump, usable_problems, result_settings, settings)
            if first_part is None:
                call_summary = await judge_work(work, setup)
                write_index(setup.folder, dump.index)
            else:
                rest_of_dump = RestOfDump(rows, first_part, usable_problems, setup)
                call_summary = await judge_work(rest_of_dump.make_whole_dump_work(work), setup)
                dump = rest_of_dump.whole_dump
            write_rejected_rows(setup.folder, dump.rejected)
    if reference_outcomes is not None:
        write_json(setup.folder / REFERENCES, reference_outcomes)
    if audit is not None:
        write_json(setup.folder / TRUST, audit)
    else:
        (setup.folder / TRUST).unlink(missing_ok=True)
    folder = str(setup.folder)
    return ScoredDump(
        out=folder,
        call=call_summary,
        dump=dump.info,
        summary=write_reports(
            setup.folder,
            on_progress=lambda read, pages: setup.on_event(
                ReportProgress(folder=folder, read=read, pages=pages)
            ),
        ),
        failures=setup.read_failures(dump.info.keys),
        references=reference_outcomes,
    )


score_dump_sync = make_synchronous(score_dump)


class RestOfDump:
    """The rows of a large dump after its first part, which are read while the first part is judged."""

    def __init__(self, rows: DumpRows, first_part: Dump, problems: Problems, setup: RunSetup) -> None:
        self._rows, self._first_part, self._problems, self._setup = rows, first_part, problems, setup
        self._is_stopped = False
        self.whole_dump = first_part  # the whole dump, when it has been read; until then, its first part

    def make_whole_dump_work(self, work: Work) -> Work:
        """Return the work for the whole dump. `work`: the work for its first part."""
        self._fingerprint = work.fingerprint
        return msgspec.structs.replace(
            work,
            submissions=self._read_all_submissions(),
            keys=None,
            check=self._check_first_part,
            on_settle_available=self._set_settle_results_callback,
        )

    def _set_settle_results_callback(
        self, settle_results: Callable[[Fingerprint, Mapping[str, Any], Collection[str]], None]
    ) -> None:
        """Store the function that records the whole dump's fingerprint, settings and keys in the run."""
        self._settle_results = settle_results

    def _finish_reading(self, whole_dump: Dump) -> None:
        """Write the dump's index and fingerprint, so that a later call need not read the dump again."""
        for file in (*self._first_part.info.files, *whole_dump.info.files):
            # Raises an InputError if the file has changed, because its first rows were already judged.
            file.check_unchanged()
        self.whole_dump = whole_dump
        self._setup.on_event(RowsRead(rows=whole_dump.info.rows, selected=len(whole_dump)))
        whole_fingerprint = msgspec.structs.replace(self._fingerprint, dump=whole_dump.info.sha256)
        self._settle_results(
            whole_fingerprint, _make_report_settings(whole_dump, None, None), whole_dump.info.keys
        )
        write_index(self._setup.folder, whole_dump.index)
        whole_dump.index = None  # free the index, which needs 150 MB for a million rows

    async def _check_first_part(self, judge: Judge) -> None:
        """Check that submissions in the dump's first rows can be judged, before any is judged.

        The checks are about their problems and languages.
        """
        problem_names = dict.fromkeys(self._first_part.problem_ids.values())
        languages = {row.language for row in self._first_part if row.code is not None}
        await judge.check_packages(self._problems.packages, languages)
        await prepare_problems(judge.prepare, [self._problems[name] for name in problem_names])

    async def _read_all_submissions(self) -> AsyncGenerator[Submission]:
        """Yield the submissions of the dump's first part, then all later submissions."""
        loop = asyncio.get_running_loop()

        def on_rows(number: int) -> None:
            if self._is_stopped:
                raise InterruptedError
            loop.call_soon_threadsafe(self._setup.on_event, RowsRead(rows=number))

        reading_task = asyncio.create_task(
            asyncio.to_thread(read_dump, self._rows, self._problems, self._setup, on_rows)
        )
        try:
            for submission in self._first_part:
                yield submission
                if reading_task.done():
                    reading_task.result()  # raises errors in later rows as soon as possible
            self._finish_reading(await reading_task)
            for submission in islice(self.whole_dump, len(self._first_part), None):
                yield submission
        finally:
            self._is_stopped = True
            await asyncio.wait([reading_task])
            reading_task.exception()  # marks an error that was raised above as handled


def read_dump(
    rows: DumpRows, problems: Problems, setup: RunSetup, on_rows: Callable[[int], None] | None = None
) -> Dump:
    """Read a dump.

    Args:
        rows: The rows to read, and how they are read.
        problems: The problems that rows may name.
        setup: The settings of the call. The file rejected.jsonl is written into its folder.
        on_rows: Called from time to time with the number of rows so far. None means that the setup's
            `on_event` receives `RowsRead` events instead.

    Raises:
        BadRows: Rows are unusable. Several such rows are listed in rejected.jsonl.
        InputError: There are no submissions.
    """
    try:
        return rows.open_dump(problems, on_rows or (lambda number: setup.on_event(RowsRead(rows=number))))
    except BadRows as error:
        if len(error.errors) == 1:
            raise
        raise BadRows(error.errors, str(write_rejected_rows(setup.folder, error.errors))) from error


def _make_report_settings(
    dump: Dump, reference_outcomes: References | None, references: ReferenceOptions | None
) -> dict[str, Any]:
    """Return settings for reports: notes about the rows, and the outcomes of reference solutions."""
    settings: dict[str, Any] = {"rows": rows} if (rows := make_skipped_row_notes(dump.info)) else {}
    if reference_outcomes is None or references is None:
        return settings
    return {**settings, "own_solutions": summarize_references(reference_outcomes, references)}


_MAX_NAMED = 3  # maximum number of files that a note names


def make_skipped_row_notes(info: DumpInfo) -> list[str]:
    """Return notes about rows that are not judged, except by the user's choice, and about ambiguous rows."""
    unrequested_counts = {
        reason: number for reason, number in info.left_out.items() if reason not in ASKED_FOR
    }
    notes = [
        f"Left out {format_count(number, 'row')}: {reason}"
        for reason, number in sorted(unrequested_counts.items())
    ]
    if info.rejected:
        notes.append(f"Left out {format_count(info.rejected, 'row')} that cannot be used: see rejected.jsonl")
    if skipped_files := info.other_files:
        names = ", ".join(skipped_files[:_MAX_NAMED]) + (", ..." if len(skipped_files) > _MAX_NAMED else "")
        notes.append(
            f"Left out {format_count(len(skipped_files), 'file')} whose"
            f" suffix is of no format of rows: {names}"
        )
    return [
        *notes,
        *(f"Note: {format_count(number, 'row')} {note}" for note, number in sorted(info.noted.items())),
    ]


# --- rows --------------------------------------------------------------------------------------------


class DumpRows(NamedTuple):
    """The rows of dumps, and how they are read."""

    paths: Sequence[str]  # names or paths of the dumps
    row_files: Sequence[RowFile]
    dump_options: DumpOptions
    selection: Selection
    # Path of the run's folder, if an earlier call may have written an index there; otherwise None.
    index_folder: Path | None = None
    other_files: tuple[str, ...] = ()  # files in the dumps' folders that do not belong to dumps

    @classmethod
    def create(
        cls,
        dumps: Sequence[str | Path | RowFile],
        dump_options: DumpOptions | None,
        selection: Selection | None,
        problems: Source,
        setup: RunSetup,
    ) -> Self:
        """Return the rows of dumps. A continued run makes the keys of submissions as before.

        Args:
            dumps: Files, folders, and datasets on the hub; see `find_dumps`.
            dump_options: How the rows are read; None means the defaults.
            selection: Which rows become submissions; None means all rows.
            problems: The source of problems. It has the default language if the options name none.
            setup: The settings of the call. An earlier run in its folder is continued unless
                its options have `fresh`.
        """
        dump_options = dump_options or DumpOptions()
        earlier_info = None if setup.options.fresh else read_info(setup.folder)
        if earlier_info is not None and not earlier_info.fingerprint.options.get("keys_of_content"):
            dump_options = msgspec.structs.replace(dump_options, keys_of_content=False)
        if not dump_options.default_language:
            dump_options = msgspec.structs.replace(dump_options, default_language=language_of(problems))
        index_folder = None if earlier_info is None else setup.folder
        dump_folders = (dump for dump in dumps if not isinstance(dump, RowFile))
        other_names = tuple(map(str, list_non_dump_files(dump_folders)))
        dump_names, dump_files = tuple(map(dump_name, dumps)), find_dumps(dumps)
        return cls(dump_names, dump_files, dump_options, selection or Selection(), index_folder, other_names)

    def list_named_problem_ids(self) -> Collection[str] | None:
        """Return the names of the problems in the rows, or None if they are unknown."""
        return list_named_problem_ids(
            self.row_files, self.dump_options.problem_column, self.dump_options.prompt_column
        )

    def open_dump(self, problems: Problems, on_rows: Callable[[int], None] = lambda rows: None) -> Dump:
        """Read the rows. Raises InputError if there are no submissions.

        `on_rows`: called with the number of rows so far.
        """
        dump = open_dump(
            self.row_files,
            problems=problems,
            options=self.dump_options,
            selection=self.selection,
            on_rows=on_rows,
            inputs_hash=hash_first_pass_inputs(self.dump_options, compute_problem_hashes(problems)),
            index=None if self.index_folder is None else read_index(self.index_folder),
        )
        dump.info = msgspec.structs.replace(dump.info, other_files=self.other_files)
        if len(dump) or dump.has_other_shards:
            return dump
        if dump.rejected:
            raise BadRows(dump.rejected)
        wanted_problems = ", ".join(sorted(self.selection.problems))
        reasons = "; ".join(f"{number} {reason}" for reason, number in dump.info.left_out.items())
        raise InputError(
            f"no submission for {wanted_problems} in it"
            if wanted_problems
            else f"no submission to judge in it ({reasons})",
            where=", ".join(self.paths),
            field="selection.problems" if wanted_problems else "",
        )

    def open_first_part(self, problems: Problems, setup: RunSetup) -> Dump | None:
        """Return a dump of a large dump's first rows, which are judged while the other rows are read.

        `None` means that the dump is small, or that the run is continued.
        """
        if read_info(setup.folder) is not None:
            return None
        return open_dump_of_first_rows(self.row_files, problems, self.dump_options, self.selection)

    def make_judging_work(
        self, dump: Dump, problems: Problems, result_settings: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> Work:
        """Return the work of judging a dump.

        Args:
            dump: The rows after they have been read: all rows, or the first part of a large dump.
            problems: The problems of the submissions.
            result_settings: Settings that can change results, except the settings in `self.dump_options`.
            settings: Settings that reports show.
        """
        reading_settings: dict[str, Any] = msgspec.to_builtins(self.dump_options)
        reading_settings |= reading_settings.pop("repairs")  # a fingerprint contains no nested options
        del reading_settings["skip_bad_rows"]  # this option changes no result
        return Work(
            problems=problems,
            submissions=dump,
            keys=dump.info.keys,
            others=dump.info.unselected_keys,
            fingerprint=make_fingerprint(dump.info.sha256, problems, {**reading_settings, **result_settings}),
            settings=settings,
            shard=str(self.selection.shard or ""),
        )


def _default_folder(dump: str, selection: Selection | None) -> Path:
    """Return the default folder of a run."""
    shard = None if selection is None else selection.shard
    shard_suffix = "" if shard is None else f"-shard-{shard.index}-of-{shard.number}"
    return Path("runs") / f"{run_name(dump)}{shard_suffix}"


def dump_name(dump: str | Path | RowFile) -> str:
    """Return a dump's name in messages and reports."""
    return dump.label if isinstance(dump, RowFile) else str(dump)


def run_name(dump: str) -> str:
    """Return the name of the default folder for the results of a dump or a dataset on the hub."""
    if Path(dump).exists() or is_dump(Path(dump)):
        return remove_format_suffixes(Path(dump).resolve())
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", dump).strip("-.") or "run"


# --- a forecast --------------------------------------------------------------------------------------


_HOUR_S = 3600.0  # number of seconds in an hour


class Forecast(Value):
    """A forecast of a call of `score_dump` with the same arguments."""

    out: str  # path of the run's folder
    rows: int  # number of selected rows
    known: int  # number of selected rows with a result, which may be the result of an equal row
    judged: int  # number of programs that would be judged
    without: int  # number of rows without a program that have no result yet
    tests: int  # total number of tests of the programs that would be judged
    problems: int  # number of problems of the programs that would be judged
    cpu_hours: float | None  # CPU hours if each test used its whole limit; `None` if a limit is unknown
    # CPU hours if tests need as long as the run's results on average; `None` without results.
    expected_cpu_hours: float | None
    rejected: int  # unusable rows
    understood: DetectedColumns
    notes: tuple[str, ...]  # notes about rows that are not judged, and about ambiguous rows
    again: JudgedAgain | None = None  # outdated results of earlier calls; None if there are none


def forecast_dump(
    dumps: Dumps,
    problems: Source,
    *,
    out: str | Path | None = None,
    choice: BenchmarkOptions | None = None,
    reading: DumpOptions | None = None,
    selection: Selection | None = None,
    engine: AnyEngine | None = None,
    options: RunOptions | None = None,
    store: Store | None = None,
) -> Forecast:
    """Return how many programs and tests `score_dump` would judge if it were called with these arguments.

    Args:
        dumps: Files, folders, datasets on the hub, or rows: a frame, a `datasets.Dataset`, a list of dicts.
        problems: Packages, a benchmark's name, a file of its rows, or loaded problems.
        out: The folder of the run, whose results are not judged again. None means a folder in runs/ that is
            named after the first dump.
        choice: The selection of problems; None means all problems.
        reading: How the rows are read; None means the defaults.
        selection: The selection of submissions; None means all submissions.
        engine: The engine that would execute the programs. It is not started.
        options: Options for judging; None means the defaults.
        store: The cache; None means a private store among the temporary files.

    Raises:
        InputError: The input is unusable, as for `score_dump`.
    """
    if isinstance(engine, EngineChoice):
        engine.check_python_interpreter()
    with open_dump_paths(dumps) as paths:
        setup = RunSetup.create(
            out or _default_folder(dump_name(paths[0]), selection), engine, options, store, ignore_event
        )
        rows = DumpRows.create(paths, reading, selection, problems, setup)
        with open_problem_source(
            problems, choice, setup.store, rows.list_named_problem_ids
        ) as loaded_problems:
            dump = rows.open_dump(loaded_problems)
            work = rows.make_judging_work(dump, loaded_problems, setup.result_settings, {})
            with open_journal(work, setup) as journal:
                judged_again = supersede_outdated_results(work, journal)
                new_submissions, empty_count = _find_unjudged_submissions(work, journal, setup.options.share)
                timed_problems = [
                    with_time_factor(loaded_problems[submission.problem_id], setup.options.timing.factor)
                    for submission in new_submissions
                ]
                limits = [
                    (
                        0.0 if problem.task_type is TaskType.OUTPUT_ONLY else problem.limits.cpu_time,
                        len(problem.tests),
                    )
                    for problem in timed_problems
                ]
                max_times_s = [None if limit is None else limit * tests for limit, tests in limits]
                return Forecast(
                    out=str(setup.folder),
                    rows=len(dump),
                    known=len(dump) - len(new_submissions) - empty_count,
                    judged=len(new_submissions),
                    without=empty_count,
                    tests=sum(tests for _, tests in limits),
                    problems=len({submission.problem_id for submission in new_submissions}),
                    cpu_hours=None if None in max_times_s else math.fsum(filter(None, max_times_s)) / _HOUR_S,
                    expected_cpu_hours=_estimate_cpu_hours(journal, new_submissions),
                    rejected=dump.info.rejected,
                    understood=dump.info.understood,
                    notes=tuple(make_skipped_row_notes(msgspec.structs.replace(dump.info, rejected=0))),
                    again=judged_again,
                )


def _find_unjudged_submissions(
    work: Work, journal: ResultLog, shares_results: bool
) -> tuple[list[Submission], int]:
    """Return the submissions to judge, without their code, and the number of empty submissions.

    Args:
        work: The submissions and their problems.
        journal: The results of earlier calls.
        shares_results: Equal submissions are judged once.
    """
    unjudged_submissions: list[Submission] = []
    identities = set[str]()
    empty_count = 0
    for submission in work.submissions if isinstance(work.submissions, Iterable) else ():
        if submission.key in journal.done:
            continue
        if submission.code is None:
            empty_count += 1
            continue
        identity = hash_submission(work.problems[submission.problem_id], submission)
        row = journal.find_result(identity, submission.problem_id)
        if (shares_results and identity in identities) or (
            row is not None and (shares_results or row["key"] == submission.key)
        ):
            continue
        identities.add(identity)
        unjudged_submissions.append(
            Submission(key=submission.key, problem_id=submission.problem_id, code=None)
        )
    return unjudged_submissions, empty_count


def _estimate_cpu_hours(journal: ResultLog, submissions: Iterable[Submission]) -> float | None:
    """Return the expected CPU hours, by the mean of the problem's results or else of all results."""
    times_by_problem: Mapping[str, list[float]] = journal.read_cpu_times()
    all_times_s = [seconds for times_s in times_by_problem.values() for seconds in times_s]
    if not all_times_s:
        return None
    overall_mean_s = math.fsum(all_times_s) / len(all_times_s)
    mean_s_by_problem = {
        problem: math.fsum(times_s) / len(times_s) for problem, times_s in times_by_problem.items()
    }
    return (
        math.fsum(mean_s_by_problem.get(submission.problem_id, overall_mean_s) for submission in submissions)
        / _HOUR_S
    )
