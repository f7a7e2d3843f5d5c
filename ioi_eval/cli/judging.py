"""What every command that judges does alike: journal, engine, judge, progress, and a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from ioi_eval.cli import console
from ioi_eval.cli.engines import EngineChoice, news, open_engine
from ioi_eval.cli.progress import Progress
from ioi_eval.journal import Fingerprint, Journal
from ioi_eval.judge import JudgeOptions, Scorer
from ioi_eval.models import Submission, Value
from ioi_eval.problems import Problems
from ioi_eval.runner import RunSummary, run
from ioi_eval.store import Store
from ioi_eval.validation import MeasuredLimit, Measuring, read_limits, write_limits

# Submissions under way for each slot: while one is between two jobs, another one uses the slot.
_PER_SLOT = 2
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_T = TypeVar("_T")


class RunOptions(Value):
    """How the user wants a run to go."""

    out: str
    engine: EngineChoice = EngineChoice()
    all_tests: bool = False
    fresh: bool = False
    quiet: bool = False
    command: str = ""

    @property
    def matter(self) -> Mapping[str, Any]:
        """What of it can change results. Classic jobs limit programs as the seed's scripts do."""
        job = self.engine.job
        return {"all_tests": self.all_tests, **({"job": job} if job == "classic" else {})}


class Work(Value):
    """What is to be judged, and what it was made of."""

    problems: Problems
    submissions: Collection[Submission]
    keys: Sequence[str]
    sha256: str  # of the dump; empty where the submissions are part of the problems
    made_of: Mapping[str, str]  # a hash for each problem, with all that comes with it
    options: Mapping[str, Any] = {}  # that can change results
    settings: Mapping[str, Any] = {}  # for the reader of a report


def fingerprint_of(dump: str, problems: Mapping[str, str], options: Mapping[str, Any]) -> Fingerprint:
    return Fingerprint(
        dump=dump, problems=problems, options=options, versions={"ioi-eval": version("ioi-eval")}
    )


def judge_stream(
    submissions: Callable[[], AsyncIterator[Submission]],
    problems: Problems,
    total: int,
    made_of: Fingerprint,
    options: RunOptions,
    store: Store,
    settings: Mapping[str, Any],
) -> RunSummary:
    """Judges submissions as they come. KeyboardInterrupt comes when all is cleaned up."""
    settings = {"command": options.command, **settings, **options.engine.settings}
    with (
        Journal.open(Path(options.out), made_of, settings=settings, fresh=options.fresh) as journal,
        Progress(quiet=options.quiet, total=total) as progress,
    ):
        return run_until_interrupted(_judge_stream(submissions, problems, journal, options, store, progress))


async def _judge_stream(
    submissions: Callable[[], AsyncIterator[Submission]],
    problems: Problems,
    journal: Journal,
    options: RunOptions,
    store: Store,
    progress: Progress,
) -> RunSummary:
    async with (
        judging(options, store) as (scorer, workers),
        progress.ticking(),
        contextlib.aclosing(submissions()) as stream,  # type: ignore[type-var]
    ):
        judge = _with_limits(scorer, options, journal)
        return await run(judge, problems, stream, journal, workers=workers, on_event=progress)


def judge_all(work: Work, options: RunOptions, store: Store) -> RunSummary:
    """Judges what the run's folder has no result of. KeyboardInterrupt comes when all is cleaned up."""
    made_of = fingerprint_of(work.sha256, work.made_of, {**work.options, **options.matter})
    settings = {"command": options.command, **work.settings, **options.engine.settings}
    with (
        Journal.open(Path(options.out), made_of, settings=settings, fresh=options.fresh) as journal,
        Progress(quiet=options.quiet) as progress,
    ):
        if options.fresh or any(key not in journal.done for key in work.keys):
            return run_until_interrupted(_judge(work, options, journal, store, progress))
        journal.begin()  # also where nothing can be judged: what is said of it goes into the folder
        return RunSummary(skipped=len(work.keys))


async def _judge(
    work: Work, options: RunOptions, journal: Journal, store: Store, progress: Progress
) -> RunSummary:
    async with judging(options, store) as (scorer, workers), progress.ticking():
        return await run(
            _with_limits(scorer, options, journal),
            work.problems,
            work.submissions,
            journal,
            workers=workers,
            prepare=scorer.prepare,
            on_event=progress,
        )


@contextlib.asynccontextmanager
async def judging(options: RunOptions, store: Store) -> AsyncIterator[tuple[Scorer, Callable[[], int]]]:
    """The engine that was chosen, ready to judge, and how many submissions it is to get at a time."""
    chosen = options.engine
    engine, trusted = open_engine(chosen, store)
    how = JudgeOptions(job=chosen.job, all_tests=options.all_tests, allow_unconfined=chosen.allow_unconfined)
    async with Scorer(engine, store=store, options=how, trusted=trusted) as scorer:
        if chosen.remote and not options.quiet:
            for line in news(engine):
                console.tell(line)
        yield scorer, lambda: _PER_SLOT * engine.slots


def _with_limits(scorer: Scorer, options: RunOptions, journal: Journal) -> Measuring:
    """Measured limits are remembered in the run's folder: a run that is continued keeps its limits."""
    folder = Path(options.out)
    known = {} if options.fresh else read_limits(folder)

    def remember(identity: str, limit: MeasuredLimit) -> None:
        known[identity] = limit
        journal.begin()
        write_limits(folder, known)
        if not options.quiet:
            console.tell(measured(limit))

    return Measuring(scorer.judge, known, remember)


def measured(limit: MeasuredLimit) -> str:
    return (
        f"{limit.problem}: time limit {limit.cpu_time:g} s, {limit.multiplier:g} times the slowest accepted "
        f"solution ({limit.solution}: {limit.slowest:.3f} s on test {limit.test})"
    )


def run_until_interrupted(work: Coroutine[Any, Any, _T]) -> _T:
    """Ctrl-C, SIGTERM and SIGHUP cancel the work; KeyboardInterrupt comes out once it has cleaned up.

    Who says it twice is not done sooner: a clean end that is cut short leaves something behind.
    """
    before = {number: signal.getsignal(number) for number in _ENDING}

    async def main() -> _T:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None, "a coroutine runs in a task"

        def stop(number: int, frame: object) -> None:
            # Not ignored but passed over: what is started to clean up would inherit the one.
            _handle(dict.fromkeys(_ENDING, lambda *_: None))
            loop.call_soon_threadsafe(task.cancel)

        _handle(dict.fromkeys(_ENDING, stop))
        return await work

    try:
        result = asyncio.run(main())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    except BaseException:
        _handle(before)
        raise
    _handle(before)
    return result


def end_in_peace() -> None:
    """All is cleaned up, and what is left is to leave with the exit code that says so."""
    _handle(dict.fromkeys(_ENDING, signal.SIG_IGN))


def _handle(handlers: Mapping[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)
