"""Parts that the use cases share: options of a run, its folder, the engine and the judge."""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections import Counter
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Mapping,
)
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, NamedTuple, ParamSpec, Self, TypeVar

import msgspec

from ioi_eval.benchmarks import Dump, LoadedProblems
from ioi_eval.engines.registry import EngineChoice, open_engine
from ioi_eval.judge import Judge
from ioi_eval.judge.deduplication import Deduplication
from ioi_eval.model.errors import InputError, JudgeFailure
from ioi_eval.model.options import AllTests, Band, Borderline, CliOption, JudgeOptions
from ioi_eval.model.values import Problem, Submission, SubmissionResult, Value
from ioi_eval.problems import Problems, compute_problem_hashes
from ioi_eval.rules.calibration import with_time_factor
from ioi_eval.rules.limits import parse_borderline_band
from ioi_eval.runs.engine import AnyEngine, emit_server_events, make_servers_found_event, set_server_callback
from ioi_eval.runs.events import (
    EngineStarting,
    EngineStopped,
    Event,
    JudgedAgain,
    LimitMeasured,
    OnEvent,
    ProgressWriter,
    ResultChange,
    RunSummary,
    ServersFound,
)
from ioi_eval.runs.runner import judge_all
from ioi_eval.runs.scorer import Scorer, run_coroutine
from ioi_eval.runs.time_limits import TimeLimits
from ioi_eval.store import Store, rows
from ioi_eval.store.folder import (
    Fingerprint,
    MeasuredLimit,
    has_measured_limits,
    hash_limit_inputs,
    read_failures,
    read_limits,
    refuse_folder_without_run,
    write_limits,
)
from ioi_eval.store.result_log import ResultLog
from ioi_eval.store.rows import MAX_OUTPUT, read_result
from ioi_eval.store.tasks import (
    People,
    Task,
    read_human_results,
    read_tasks,
    write_human_results,
    write_tasks,
)

# Number of submissions in progress for each slot. While a submission is between two jobs, another submission
# uses the slot.
_SUBMISSIONS_PER_SLOT = 2
_P = ParamSpec("_P")
_T = TypeVar("_T")


# --- options -----------------------------------------------------------------------------------------


class Timing(Value):
    """The factor on time limits, and the band around them in which times are measured again."""

    factor: Annotated[
        Annotated[float, msgspec.Meta(ge=0.01, le=1000)],
        CliOption(
            name="time_factor",
            metavar="F",
            help="Factor for all time limits.",
        ),
    ] = 1.0
    borderline: Annotated[
        Band, CliOption(read=parse_borderline_band, unset=str(Borderline()), key_only=True)
    ] = Borderline()

    @property
    def result_settings(self) -> Mapping[str, Any]:
        """Return the settings that can change results, if they differ from the defaults."""
        band_setting = (
            {} if self.borderline == Borderline() else {"borderline": str(self.borderline or "1:1")}
        )
        return {**band_setting, **({} if self.factor == 1 else {"time_factor": self.factor})}


class RunOptions(Value):
    """Options of a run, for dumps, solutions and generated programs."""

    timing: Timing = Timing()
    fresh: Annotated[
        bool, CliOption(help="Discard the folder's earlier results and judge everything again.")
    ] = False
    reuse: Annotated[
        tuple[str, ...],  # folders
        CliOption(metavar="DIR", help="Folder of another run whose results are reused. May be repeated."),
    ] = ()
    accept_compiler: Annotated[
        bool,
        CliOption(
            help="Continue the run even if its earlier results were built by another compiler.", key_only=True
        ),
    ] = False
    share: Annotated[
        bool, CliOption(help="Judge identical submissions only once.", panel="Judging", key_only=True)
    ] = True
    keep_outputs: Annotated[
        bool,
        CliOption(help="Store the beginning of the first failed test's input and output."),
    ] = False
    all_tests: AllTests = False
    command: str = ""  # command that continues the run, for reports


class RunSetup(NamedTuple):
    """The settings of a call: output folder, engine, options, cache, and event callback."""

    folder: Path
    engine: AnyEngine
    options: RunOptions
    store: Store
    on_event: OnEvent

    @classmethod
    def create(
        cls,
        folder: str | Path,
        engine: AnyEngine | None,
        options: RunOptions | None,
        store: Store | None,
        on_event: OnEvent,
    ) -> Self:
        """Return the settings, with defaults for missing values.

        Args:
            folder: The output folder.
            engine: An engine, the choice of an engine, or a scorer. None means the default choice.
            options: The options of the run. None means the default options.
            store: The cache. None means a private store among the temporary files.
            on_event: Called with each event of the run.

        Raises:
            InputError: The folder contains files that do not belong to a run.
        """
        refuse_folder_without_run(Path(folder))
        return cls(
            Path(folder),
            engine or EngineChoice(),
            options or RunOptions(),
            store or Store.private(),
            on_event,
        )

    @property
    def result_settings(self) -> Mapping[str, Any]:
        """Return the settings that can change results.

        They contain the kind of jobs if it is classic, because the scripts of classic jobs set other limits.
        """
        is_classic = isinstance(self.engine, EngineChoice) and self.engine.job == "classic"
        job_setting = {"job": "classic"} if is_classic else {}
        return {"all_tests": self.options.all_tests, **job_setting, **self.options.timing.result_settings}

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the settings that reports show."""
        engine_settings = self.engine.settings if isinstance(self.engine, EngineChoice) else {}
        return {"command": self.options.command, **engine_settings, **self.options.timing.result_settings}

    def read_failures(self, keys: Collection[str]) -> dict[str, str]:
        """Return the reasons of the judge failures among some keys."""
        failures = read_failures(self.folder)
        return {key: str(failures[key]["reason"]) for key in keys if key in failures}


def make_synchronous(call: Callable[_P, Coroutine[Any, Any, _T]]) -> Callable[_P, _T]:
    """Return a function that runs an async function. Its name has the suffix `_sync`."""

    @functools.wraps(call)
    def run_synchronously(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return run_coroutine(lambda: call(*args, **kwargs), f"{call.__name__}(...)`")

    run_synchronously.__name__ = run_synchronously.__qualname__ = f"{call.__name__}_sync"
    return run_synchronously


# --- judging -----------------------------------------------------------------------------------------


class Work(Value):
    """The submissions to judge, with their problems and their fingerprint."""

    problems: Problems
    submissions: Collection[Submission] | AsyncGenerator[Submission, None]
    fingerprint: Fingerprint
    # Keys of the submissions; `None` means that the submissions are a stream.
    keys: Collection[str] | None = None
    # Keys of submissions that belong to the run, but are not selected by this call.
    others: Collection[str] = ()
    # Number of submissions in a stream; `None` if it is unknown before the last row.
    expected: int | None = None
    # Function that is called before the first submission of a stream.
    check: Callable[[Judge], Awaitable[None]] | None = None
    settings: Mapping[str, Any] = {}  # further settings of the run that reports show
    shard: str = ""  # I/N if the submissions are shard I of N
    on_settle_available: (
        Callable[[Callable[[Fingerprint, Mapping[str, Any], Collection[str]], None]], None] | None
    ) = None
    """Receives `ResultLog.fill_in_run_info`. A stream calls that with its fingerprint, settings and keys."""
    trusted: bool = False  # True for solutions of a package, for which a missing module is a judge failure


def make_fingerprint(dump: str, problems: Mapping[str, Problem], options: Mapping[str, Any]) -> Fingerprint:
    """Return the fingerprint of a run. `dump`: a hash of the submissions."""
    problem_hashes = compute_problem_hashes(problems)
    for label, problem in problems.items():
        if has_measured_limits(problem):  # the problem's limits depend on its solutions
            problem_hashes[label] = hashlib.sha256(
                f"{problem_hashes[label]} {hash_limit_inputs(problem)}".encode()
            ).hexdigest()
    return Fingerprint(
        dump=dump, problems=problem_hashes, options=options, versions={"ioi-eval": version("ioi-eval")}
    )


async def judge_work(work: Work, setup: RunSetup) -> RunSummary:
    """Judge all submissions without a result. If cancelled, the run's folder contains complete results."""
    is_fresh = setup.options.fresh
    progress = ProgressWriter(setup.folder, setup.on_event)
    with open_journal(work, setup) as journal, contextlib.closing(progress):

        def on_event(event: Event) -> None:
            if isinstance(event, ServersFound):
                journal.add_settings(event.settings)
            progress(event)

        setup = setup._replace(on_event=on_event)
        if (change_event := supersede_outdated_results(work, journal)) is not None:
            setup.on_event(change_event)
        keys, keys_done_before = work.keys, journal.done
        if keys is None:
            journal.set_expected_count(work.expected)
        else:
            journal.set_expected_keys(keys, work.others)
        is_done = (
            keys is not None
            and len(keys) <= len(keys_done_before)
            and all(key in keys_done_before for key in keys)
        )
        if is_done and not is_fresh:
            journal.start_run()  # creates the run's files even if there are no submissions
            await write_problem_descriptions(work, setup, journal, None)
            return RunSummary(skipped=len(keys or ()))

        def find_result(identity: str) -> SubmissionResult | None:
            row = journal.find_program(identity)
            return None if row is None else read_result(row)

        async with contextlib.AsyncExitStack() as exit_stack:
            judge, workers = await exit_stack.enter_async_context(open_judge(setup, work.problems.packages))
            if isinstance(work.submissions, AsyncGenerator):
                await exit_stack.enter_async_context(contextlib.aclosing(work.submissions))
            if work.check is not None:
                await work.check(judge)
            if work.trusted:
                judge = judge.with_options(trusts_submissions=True)
            deduplication = Deduplication(find_result) if setup.options.share else None
            add_limits = create_time_limits(judge, setup, journal).with_limits
            if work.on_settle_available is not None:
                work.on_settle_available(journal.fill_in_run_info)
            call_summary = await judge_all(
                judge.with_options(deduplication=deduplication),
                work.problems,
                work.submissions.skip_done_submissions(journal.done)
                if isinstance(work.submissions, Dump)
                else work.submissions,
                journal,
                # A worker whose submission waits for the build of a possibly equal program is idle. Start
                # another worker instead.
                workers=lambda: (
                    workers() + min(workers(), deduplication.waiting if deduplication is not None else 0)
                ),
                check_languages=partial(judge.check_packages, work.problems.packages),
                prepare_problem=judge.prepare,
                add_limits=add_limits,
                expected_count=work.expected,
                shares_results=deduplication is not None,
                stores_outputs=setup.options.keep_outputs,
                on_event=setup.on_event,
            )
            await write_problem_descriptions(work, setup, journal, add_limits)
            return call_summary


async def write_problem_descriptions(
    work: Work,
    setup: RunSetup,
    journal: ResultLog,
    add_limits: Callable[[Problem], Awaitable[Problem]] | None,
    *,
    includes_untried: bool = False,
) -> None:
    """Write the descriptions of the problems with results, and the contestants' results, for reports.

    Args:
        work: The work of the run.
        setup: The settings of the call.
        journal: The run's results.
        add_limits: Returns a problem with its limits. `None` means that nothing is judged, so measured
            limits are missing.
        includes_untried: True if problems without results are also described.
    """
    time_factor = setup.options.timing.factor
    tasks_before, tried_problems = read_tasks(setup.folder), journal.problems
    problem_hashes = {name: work.fingerprint.problems.get(name, "") for name in tried_problems}
    if includes_untried:  # an empty hash means that these problems are described again when they have results
        problem_hashes |= dict.fromkeys(work.problems.keys() - tried_problems, "")
    tasks = dict(tasks_before)
    for name, sha256 in sorted(problem_hashes.items()):
        problem = work.problems.get(name)
        if problem is None or (name in tasks_before and tasks_before[name].sha256 == sha256):
            continue
        with contextlib.suppress(JudgeFailure):  # if no limit could be measured, the reason is in the rows
            limit_problem = add_limits if name in tried_problems else None
            problem = (
                await limit_problem(problem) if limit_problem else with_time_factor(problem, time_factor)
            )
        tasks[name] = Task.from_problem(problem, sha256)
    if tasks != tasks_before:
        write_tasks(setup.folder, tasks)
    people_before = read_human_results(setup.folder)
    if isinstance(work.problems, LoadedProblems) and (people_before is None or people_before.missing):
        people: People | None
        try:
            people = work.problems.read_people()
        except InputError as error:
            people = People(source="the benchmark", missing=f"no results of people: {error.problem}")
        if people is not None and people != people_before:
            write_human_results(setup.folder, people)


def open_journal(work: Work, setup: RunSetup) -> ResultLog:
    """Open the result log of a run."""
    return ResultLog.open(
        setup.folder,
        work.fingerprint,
        settings={**work.settings, **setup.settings},
        discards_earlier_run=setup.options.fresh,
        reused_folders=map(Path, setup.options.reuse),
        allows_several_compilers=setup.options.accept_compiler,
        shard=work.shard,
    )


def supersede_outdated_results(work: Work, journal: ResultLog) -> JudgedAgain | None:
    """Supersede the results of changed submissions and problems, and return an event about them.

    If the submissions arrive as a stream, only the problems are compared, because the programs are not
    known yet.
    """
    if journal.has_same_fingerprint:
        return None
    if not (journal.done or journal.failed or journal.superseded):
        return None
    if isinstance(work.submissions, AsyncGenerator):
        keys = {*journal.done, *journal.failed, *journal.superseded}
        return supersede_changed_submissions(journal, work.problems, (), keys)
    if (
        isinstance(work.submissions, Dump)
        and (appended_dump := find_appended_rows(work.submissions, journal)) is not None
    ):
        return supersede_changed_submissions(
            journal, work.problems, appended_dump, {*work.others, *appended_dump.skipped_keys}
        )
    return supersede_changed_submissions(journal, work.problems, work.submissions, work.others)


def find_appended_rows(dump: Dump, journal: ResultLog) -> Dump | None:
    """Return the rows that were appended to the dump since the run's results were compared with it.

    `None` means that other rows, or problems, may have changed.
    """
    if dump.earlier_state is None or dump.earlier_state.sha256 != journal.dump_hash or journal.edited:
        return None
    return dump.skip_done_submissions(journal.done, journal.failed)


@contextlib.asynccontextmanager
async def open_judge(
    setup: RunSetup, python_packages: Collection[str] = ()
) -> AsyncIterator[tuple[Judge, Callable[[], int]]]:
    """Context manager: a judge on the call's engine, and a function that returns the number of workers.

    A scorer is used as it is, and stays open. Any other engine is opened and closed.
    """
    given_engine, judge_options = setup.engine, _make_judge_options(setup)
    if isinstance(given_engine, Scorer):
        judge = given_engine.make_judge(
            all_tests=judge_options.all_tests, borderline=judge_options.borderline, echo=judge_options.echo
        )
        yield judge, lambda: _SUBMISSIONS_PER_SLOT * judge.slots
        return
    engine, trusted = open_engine(given_engine, setup.store, tuple(python_packages))
    engine_name = given_engine.text if isinstance(given_engine, EngineChoice) else type(engine).__name__
    setup.on_event(EngineStarting(engine=engine_name))
    set_server_callback(engine, setup.on_event)
    try:
        async with Scorer(engine, store=setup.store, options=judge_options, trusted=trusted) as scorer:
            if (event := make_servers_found_event(engine)) is not None:
                setup.on_event(event)
            async with emit_server_events(engine, setup.on_event):
                yield scorer.judge, lambda: _SUBMISSIONS_PER_SLOT * engine.slots
    finally:
        setup.on_event(EngineStopped())


def _make_judge_options(setup: RunSetup) -> JudgeOptions:
    engine, options = setup.engine, setup.options
    judge_options = JudgeOptions(
        all_tests=options.all_tests,
        borderline=options.timing.borderline,
        echo=MAX_OUTPUT if options.keep_outputs else 0,
    )
    if not isinstance(engine, EngineChoice):
        return judge_options
    return msgspec.structs.replace(judge_options, job=engine.job, allow_unconfined=engine.allow_unconfined)


def create_time_limits(judge: Judge, setup: RunSetup, journal: ResultLog) -> TimeLimits:
    """Return the source of limits. It stores measured limits in the run's folder, for later calls."""
    limits = {} if setup.options.fresh else read_limits(setup.folder)
    reused_limits = dict[str, MeasuredLimit]()
    # If several folders contain a limit, the first folder is used, as for results.
    for folder in setup.options.reuse:
        reused_limits = {**read_limits(Path(folder)), **reused_limits}

    def store_limit(identity: str, limit: MeasuredLimit) -> None:
        limits[identity] = limit
        journal.start_run()
        write_limits(setup.folder, limits)
        setup.on_event(LimitMeasured(limit=limit))

    time_factor = setup.options.timing.factor
    return TimeLimits(
        judge.with_options(trusts_submissions=True),
        limits,
        store_limit,
        reused_limits=reused_limits,
        time_factor=time_factor,
    )


# --- outdated results of earlier calls ---------------------------------------------------------------


def supersede_changed_submissions(
    journal: ResultLog,
    problems: Mapping[str, Problem],
    submissions: Iterable[Submission],
    unselected_keys: Collection[str],
) -> JudgedAgain | None:
    """Supersede the results of submissions that have changed or are gone, and return an event about them.

    Args:
        journal: The results in the run's folder.
        problems: The selected problems. Results of other problems are not superseded as gone.
        submissions: The submissions that are compared with the results.
        unselected_keys: Keys of the run's other submissions, whose results do not count as gone.

    Raises:
        InputError: The folder would lose more than half of its results: then the dump is a different dump,
            and the results in the folder's files stay as they are.
    """
    reasons = Counter(
        {ResultChange.PROBLEM: journal.edited.total(), ResultChange.COLUMNS: journal.relabelled}
    )
    earlier_keys = {*journal.done, *journal.superseded}
    current_keys, current_programs, changed_keys = set(unselected_keys), set[str](), set[str]()
    for submission in submissions:
        current_keys.add(submission.key)
        problem = problems.get(submission.problem_id)
        # Submissions without a program are never equal.
        has_program = submission.code is not None or submission.outputs
        if problem is not None and has_program and submission.key not in earlier_keys:
            current_programs.add(rows.hash_submission(problem, submission))
        if (reason := _find_result_change(journal, problems, submission)) is not None:
            journal.mark_superseded(submission.key)
            reasons[reason] += 1
            changed_keys |= {submission.key} if reason is ResultChange.PROGRAM else set()
            if reason is ResultChange.PROBLEM:
                journal.edited[submission.problem_id] += 1
    absent_rows = (journal.read_row(key) for key in earlier_keys if key not in current_keys)
    lost_count = sum(row.get("submission_sha256") not in current_programs for row in absent_rows)
    if 2 * lost_count > len(earlier_keys):
        raise InputError(
            "the folder has results of another dump: this dump contains only "
            f"{len(earlier_keys) - lost_count:,} of their {len(earlier_keys):,} rows",
            where=str(journal.folder),
            remedy="Choose another out=FOLDER, or give fresh=True to discard the results there",
        )
    for key in [key for key in (*journal.done, *journal.failed) if key not in current_keys]:
        if journal.find_problem_of_row(key) in problems:
            reasons[ResultChange.GONE] += key in journal.done
            journal.mark_superseded(key)
            changed_keys.add(key)
    for key in journal.list_keys_with_repeated_results(
        changed_keys
    ):  # these rows copy the result of a row that is outdated
        reasons[ResultChange.COLUMNS] += 1
        journal.mark_superseded(key)
    if not (reasons := +reasons):
        return None
    return JudgedAgain(reasons=reasons, problems=tuple(sorted(journal.edited)))


def _find_result_change(
    journal: ResultLog, problems: Mapping[str, Problem], submission: Submission
) -> ResultChange | None:
    """Return why the result of a submission is outdated, or None."""
    problem = problems.get(submission.problem_id)
    if submission.key not in journal.done or problem is None:
        return None
    row = journal.read_row(submission.key)
    earlier_identity = row.get("submission_sha256")
    if earlier_identity and earlier_identity != rows.hash_submission(problem, submission):
        return ResultChange.PROGRAM
    # The label of the problem has changed, and with it the problem.
    if row["problem_id"] != submission.problem_id:
        return ResultChange.PROBLEM
    return None if rows.has_same_columns(row, submission, problem) else ResultChange.COLUMNS
