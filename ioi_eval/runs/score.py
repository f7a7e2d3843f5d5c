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
    as_files,
    find_dumps,
    mentioned,
    open_beginning,
    open_dump,
)
from ioi_eval.benchmarks.dumps import read_index, write_index
from ioi_eval.benchmarks.dumps import reading as reading_of
from ioi_eval.benchmarks.hub import RowFile
from ioi_eval.benchmarks.row_files import bare_name, is_dump, other_files
from ioi_eval.judge import Judge
from ioi_eval.model.errors import BadRows, InputError
from ioi_eval.model.values import Submission, TaskType, Value
from ioi_eval.problems import Problems, fingerprint
from ioi_eval.reports import Results, Summary, write_reports
from ioi_eval.reports.document import counted
from ioi_eval.reports.records import write_json
from ioi_eval.reports.trust import TRUST, read_audit
from ioi_eval.rules.calibration import with_time_factor
from ioi_eval.runs.engine import AnyEngine
from ioi_eval.runs.events import (
    JudgedAgain,
    OnEvent,
    ReportProgress,
    RowsRead,
    RowsUnderstood,
    RunSummary,
    ignore,
)
from ioi_eval.runs.references import REFERENCES, ReferenceOptions, References, check_references, conclusion
from ioi_eval.runs.runner import prepare_all
from ioi_eval.runs.shards import LIMIT
from ioi_eval.runs.sources import Source, language_of, opened, source_name
from ioi_eval.runs.work import (
    RunOptions,
    RunSetup,
    Work,
    fingerprint_of,
    journal_of,
    judge_work,
    superseded_results,
    synchronous,
)
from ioi_eval.store import Store
from ioi_eval.store.folder import Fingerprint, read_info, write_rejected
from ioi_eval.store.result_log import ResultLog
from ioi_eval.store.rows import identity

if TYPE_CHECKING:
    from ioi_eval.reports.tables import Frame


class ScoredDump(Value):
    """A dump's scores: this call's part and the whole run's."""

    out: str  # the run's folder
    call: RunSummary
    dump: DumpInfo
    summary: Summary
    failures: Mapping[str, str]  # why, by key: of the submissions asked for, those without a result
    references: References | None = None  # where they were asked for

    def to_frame(self) -> Frame:
        """Return a row for each submission of the run, as `Results.to_frame` does."""
        return Results.open(self.out).to_frame()

    def tests_frame(self) -> Frame:
        """Return a row for each submission that was judged and each of its tests."""
        return Results.open(self.out).tests_frame()

    def as_json(self) -> dict[str, Any]:
        names = ("left_out", "rejected", "noted", "other_files", "understood")
        rows = {name: getattr(self.dump, name) for name in names}
        json = {"out": self.out, "report": f"{self.out}/report.md", "this_call": self.call, "dump": rows}
        references = {} if self.references is None else {"references": self.references}
        return {**json, **references, **self.summary.as_json()}


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
    on_event: OnEvent = ignore,
) -> ScoredDump:
    """Score what a dump holds, into the folder `out`; called again, go on where the last call stopped.

        scored = await score_dump("generations.jsonl", "packages", out="runs/mine", on_event=print)
        print(scored.summary.models[0].points, scored.failures)

    `dumps`: files, folders, datasets on the hub, or rows: a frame, a `datasets.Dataset`, a list of dicts.
    `problems`: packages, a benchmark's name, a file of its rows, or problems that are loaded; `choice` and
    `selection` say which. `engine` may be a scorer that is open. `trust`: an audit's file; the report then
    also has the numbers without the problems that the audit does not trust. Raises InputError before anything
    is written; of a large dump that is new, only for faults of its first rows: others end the run, and what
    was judged stays. Cancelled, it leaves whole results and nothing else.
    """
    with as_files(dumps) as named:
        paths, audit = tuple(map(called, named)), None if trust is None else read_audit(trust)
        setup = RunSetup.of(out or _usual_folder(paths[0], selection), engine, options, store, on_event)
        rows = Rows.of(named, reading, selection, problems, setup)
        with opened(problems, choice, setup.store, rows.mentioned) as loaded:
            dump = (early := rows.beginning(loaded, setup)) or looked_through(rows, loaded, setup)
            setup.on_event(RowsUnderstood(rows=dump.info.understood))
            usable, found = await check_references(loaded, references, setup)
            if usable is not loaded:
                dump = (early := rows.beginning(usable, setup)) or rows.open(usable)
            result_settings = {**(references.result_settings if references else {}), **setup.result_settings}
            limit = rows.selection.limit
            asked: dict[str, Any] = {"dumps": list(paths), "problems": source_name(problems)}
            asked |= {} if limit is None else {LIMIT: limit}
            settings = {**asked, **_remarks(dump, found, references)}
            work = rows.work(dump, usable, result_settings, settings)
            if early is None:
                call = await judge_work(work, setup)
                write_index(setup.folder, dump.index)
            else:
                behind = DumpTail(rows, early, usable, setup)
                call = await judge_work(behind.work(work), setup)
                dump = behind.whole
            write_rejected(setup.folder, dump.rejected)
    if found is not None:
        write_json(setup.folder / REFERENCES, found)
    if audit is not None:
        write_json(setup.folder / TRUST, audit)
    else:
        (setup.folder / TRUST).unlink(missing_ok=True)
    folder = str(setup.folder)
    return ScoredDump(
        out=folder,
        call=call,
        dump=dump.info,
        summary=write_reports(
            setup.folder,
            on_progress=lambda read, pages: setup.on_event(
                ReportProgress(folder=folder, read=read, pages=pages)
            ),
        ),
        failures=setup.failures(dump.info.keys),
        references=found,
    )


score_dump_sync = synchronous(score_dump)


class DumpTail:
    """The rows of a large dump behind its beginning, looked through while the beginning is judged."""

    def __init__(self, rows: Rows, beginning: Dump, problems: Problems, setup: RunSetup) -> None:
        self._rows, self._beginning, self._problems, self._setup = rows, beginning, problems, setup
        self._stopped = False
        self.whole = beginning  # the dump, once it is looked through

    def work(self, work: Work) -> Work:
        """Return the work of the whole dump, of that of its beginning."""
        self._made_of = work.made_of
        return msgspec.structs.replace(
            work,
            submissions=self._submissions(),
            keys=None,
            check=self._check,
            settled_by=self._is_settled_by,
        )

    def _is_settled_by(
        self, settle: Callable[[Fingerprint, Mapping[str, Any], Collection[str]], None]
    ) -> None:
        self._settle = settle

    def _know(self, whole: Dump) -> None:
        """Write down at once what the dump is: a run that is killed later need not look through it again."""
        for file in (*self._beginning.info.files, *whole.info.files):
            file.check_unchanged()  # what is judged already is of the same rows
        self.whole = whole
        self._setup.on_event(RowsRead(rows=whole.info.rows, selected=len(whole)))
        made_of = msgspec.structs.replace(self._made_of, dump=whole.info.sha256)
        self._settle(made_of, _remarks(whole, None, None), whole.info.keys)
        write_index(self._setup.folder, whole.index)
        whole.index = None  # of a million rows 150 MB

    async def _check(self, judge: Judge) -> None:
        """Try the beginning's problems and languages before anything is judged."""
        names = dict.fromkeys(self._beginning.problem_ids.values())
        languages = {row.language for row in self._beginning if row.code is not None}
        await judge.keep_promises(self._problems.packages, languages)
        await prepare_all(judge.prepare, [self._problems[name] for name in names])

    async def _submissions(self) -> AsyncGenerator[Submission]:
        loop = asyncio.get_running_loop()

        def tell(number: int) -> None:
            if self._stopped:
                raise InterruptedError
            loop.call_soon_threadsafe(self._setup.on_event, RowsRead(rows=number))

        looking = asyncio.create_task(
            asyncio.to_thread(looked_through, self._rows, self._problems, self._setup, tell)
        )
        try:
            for submission in self._beginning:
                yield submission
                if looking.done():
                    looking.result()  # a fault need not wait for the beginning's end
            self._know(await looking)
            for submission in islice(self.whole, len(self._beginning), None):
                yield submission
        finally:
            self._stopped = True
            await asyncio.wait([looking])
            looking.exception()  # whoever gets here by a fault has it already


def looked_through(
    rows: Rows, problems: Problems, setup: RunSetup, on_rows: Callable[[int], None] | None = None
) -> Dump:
    """Report faults before anything is judged; where there are many, a file has all of them."""
    try:
        return rows.open(problems, on_rows or (lambda number: setup.on_event(RowsRead(rows=number))))
    except BadRows as error:
        if len(error.errors) == 1:
            raise
        raise BadRows(error.errors, str(write_rejected(setup.folder, error.errors))) from error


def _remarks(dump: Dump, found: References | None, references: ReferenceOptions | None) -> dict[str, Any]:
    remarks: dict[str, Any] = {"rows": rows} if (rows := rows_left_out(dump.info)) else {}
    if found is None or references is None:
        return remarks
    return {**remarks, "own_solutions": conclusion(found, references)}


_NAMED = 3  # files


def rows_left_out(info: DumpInfo) -> list[str]:
    """Rows not judged, and rows understood in one of several ways. What the user asked for is no news."""
    news = {reason: number for reason, number in info.left_out.items() if reason not in ASKED_FOR}
    left = [f"Left out {counted(number, 'row')}: {reason}" for reason, number in sorted(news.items())]
    if info.rejected:
        left.append(f"Left out {counted(info.rejected, 'row')} that cannot be used: see rejected.jsonl")
    if others := info.other_files:
        names = ", ".join(others[:_NAMED]) + (", ..." if len(others) > _NAMED else "")
        left.append(f"Left out {counted(len(others), 'file')} whose suffix is of no format of rows: {names}")
    return [*left, *(f"Note: {counted(number, 'row')} {what}" for what, number in sorted(info.noted.items()))]


# --- rows --------------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """The rows of dumps that are to be judged, and how they are read."""

    paths: Sequence[str]
    places: Sequence[RowFile]
    reading: DumpOptions
    selection: Selection
    known_in: Path | None = None  # a run's folder, in which an earlier call left an index
    others: tuple[str, ...] = ()  # files in the dumps' folders that are none

    @classmethod
    def of(
        cls,
        dumps: Sequence[str | Path | RowFile],
        reading: DumpOptions | None,
        selection: Selection | None,
        problems: Source,
        setup: RunSetup,
    ) -> Self:
        """A run goes on with the rule of keys that it was begun with."""
        reading, before = reading or DumpOptions(), None if setup.options.fresh else read_info(setup.folder)
        if before is not None and not before.fingerprint.options.get("keys_of_content"):
            reading = msgspec.structs.replace(reading, keys_of_content=False)
        if not reading.default_language:
            reading = msgspec.structs.replace(reading, default_language=language_of(problems))
        known_in = None if before is None else setup.folder
        folders = (dump for dump in dumps if not isinstance(dump, RowFile))
        others = tuple(map(str, other_files(folders)))
        names, places = tuple(map(called, dumps)), find_dumps(dumps)
        return cls(names, places, reading, selection or Selection(), known_in, others)

    def mentioned(self) -> Collection[str] | None:
        """Return the names of their problems; None where they do not say."""
        return mentioned(self.places, self.reading.problem_column, self.reading.prompt_column)

    def open(self, problems: Problems, on_rows: Callable[[int], None] = lambda rows: None) -> Dump:
        dump = open_dump(
            self.places,
            problems=problems,
            options=self.reading,
            selection=self.selection,
            on_rows=on_rows,
            read_by=reading_of(self.reading, fingerprint(problems)),
            index=None if self.known_in is None else read_index(self.known_in),
        )
        dump.info = msgspec.structs.replace(dump.info, other_files=self.others)
        if len(dump) or dump.has_other_shards:
            return dump
        if dump.rejected:
            raise BadRows(dump.rejected)
        wanted = ", ".join(sorted(self.selection.problems))
        reasons = "; ".join(f"{number} {reason}" for reason, number in dump.info.left_out.items())
        raise InputError(
            f"no submission for {wanted} in it" if wanted else f"no submission to judge in it ({reasons})",
            where=", ".join(self.paths),
            field="selection.problems" if wanted else "",
        )

    def beginning(self, problems: Problems, setup: RunSetup) -> Dump | None:
        """Return a large dump's beginning, where it can be judged before the rest is seen: in a new run."""
        if read_info(setup.folder) is not None:
            return None
        return open_beginning(self.places, problems, self.reading, self.selection)

    def work(
        self, dump: Dump, problems: Problems, result_settings: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> Work:
        """`result_settings`: what else than how rows are read can change results."""
        reading: dict[str, Any] = msgspec.to_builtins(self.reading)
        reading |= reading.pop("repairs")  # flat, as a fingerprint names it
        del reading["skip_bad_rows"]  # changes no result
        return Work(
            problems=problems,
            submissions=dump,
            keys=dump.info.keys,
            others=dump.info.passed_over,
            made_of=fingerprint_of(dump.info.sha256, problems, {**reading, **result_settings}),
            settings=settings,
            shard=str(self.selection.shard or ""),
        )


def _usual_folder(dump: str, selection: Selection | None) -> Path:
    """Return the folder of a run that has no `out`."""
    shard = None if selection is None else selection.shard
    part = "" if shard is None else f"-shard-{shard.index}-of-{shard.number}"
    return Path("runs") / f"{run_name(dump)}{part}"


def called(dump: str | Path | RowFile) -> str:
    """Return a dump's name in messages and reports."""
    return dump.label if isinstance(dump, RowFile) else str(dump)


def run_name(dump: str) -> str:
    """Return the name of a folder for a dump's results, made of a dataset's name where it is one."""
    if Path(dump).exists() or is_dump(Path(dump)):
        return bare_name(Path(dump).resolve())
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", dump).strip("-.") or "run"


# --- a forecast --------------------------------------------------------------------------------------


_HOUR = 3600.0


class Forecast(Value):
    """A forecast of one call of `score_dump` with the same arguments."""

    out: str
    rows: int  # that were asked for
    known: int  # of these, those that have a result, here or by an equal row
    judged: int  # programs that would be built and run
    without: int  # rows without a result and without a program
    tests: int  # that they have, all together
    problems: int  # that they are for
    cpu_hours: float | None  # where each test took its whole limit; None: a limit is not known yet
    expected_cpu_hours: float | None  # by what the run's programs took so far; None: there are none
    rejected: int  # rows that cannot be used
    understood: DetectedColumns
    notes: tuple[str, ...]  # of rows left out, or understood in one of several ways
    again: JudgedAgain | None = None  # results that would count no longer


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
    """Look through a dump and its run's folder. Raise InputError for what `score_dump` would refuse."""
    with as_files(dumps) as named:
        setup = RunSetup.of(out or _usual_folder(called(named[0]), selection), engine, options, store, ignore)
        rows = Rows.of(named, reading, selection, problems, setup)
        with opened(problems, choice, setup.store, rows.mentioned) as loaded:
            dump = rows.open(loaded)
            work = rows.work(dump, loaded, setup.result_settings, {})
            with journal_of(work, setup) as journal:
                again = superseded_results(work, journal)
                new, without = _to_judge(work, journal)
                asked = [
                    with_time_factor(loaded[submission.problem_id], setup.options.timing.factor)
                    for submission in new
                ]
                limits = [
                    (
                        0.0 if problem.task_type is TaskType.OUTPUT_ONLY else problem.limits.cpu_time,
                        len(problem.tests),
                    )
                    for problem in asked
                ]
                most = [None if limit is None else limit * tests for limit, tests in limits]
                return Forecast(
                    out=str(setup.folder),
                    rows=len(dump),
                    known=len(dump) - len(new) - without,
                    judged=len(new),
                    without=without,
                    tests=sum(tests for _, tests in limits),
                    problems=len({submission.problem_id for submission in new}),
                    cpu_hours=None if None in most else math.fsum(filter(None, most)) / _HOUR,
                    expected_cpu_hours=_expected(journal, new),
                    rejected=dump.info.rejected,
                    understood=dump.info.understood,
                    notes=tuple(rows_left_out(msgspec.structs.replace(dump.info, rejected=0))),
                    again=again,
                )


def _to_judge(work: Work, journal: ResultLog) -> tuple[list[Submission], int]:
    """The submissions without a result, equal ones once and without their texts; and how many hold none."""
    found: dict[str, Submission] = {}
    without = 0
    for submission in work.submissions if isinstance(work.submissions, Iterable) else ():
        if submission.key in journal.done:
            continue
        if submission.code is None:
            without += 1
            continue
        same = identity(work.problems[submission.problem_id], submission)
        if same not in found and not journal.find(same, submission.problem_id):
            found[same] = Submission(key=submission.key, problem_id=submission.problem_id, code=None)
    return list(found.values()), without


def _expected(journal: ResultLog, new: Iterable[Submission]) -> float | None:
    """Return the expected hours: a problem's mean so far, or the mean of all where it has none."""
    took: Mapping[str, list[float]] = journal.cpu_times()
    times = [seconds for own in took.values() for seconds in own]
    if not times:
        return None
    usual = math.fsum(times) / len(times)
    means = {problem: math.fsum(own) / len(own) for problem, own in took.items()}
    return math.fsum(means.get(submission.problem_id, usual) for submission in new) / _HOUR
