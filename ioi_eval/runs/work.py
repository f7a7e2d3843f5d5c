"""The work of a run: what is to be judged, how, and the journal, the engine and the judge at it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ioi_eval.judge import JudgeOptions, Scorer
from ioi_eval.model.values import Submission, Value
from ioi_eval.problems import Problems
from ioi_eval.runs.engine import EngineChoice, open_engine, servers_found
from ioi_eval.runs.events import EngineStarting, EngineStopped, LimitMeasured, OnEvent, RunSummary
from ioi_eval.runs.journal import Journal
from ioi_eval.runs.runner import run
from ioi_eval.runs.time_limits import TimeLimits
from ioi_eval.runs.timing import Timing
from ioi_eval.store import Store
from ioi_eval.store.folder import Fingerprint, MeasuredLimit, read_limits, write_limits

# Submissions under way for each slot: while one is between two jobs, another one uses the slot.
_PER_SLOT = 2


class RunOptions(Value):
    """How the user wants a run to go."""

    out: str
    engine: EngineChoice = EngineChoice()
    timing: Timing = Timing()
    all_tests: bool = False
    fresh: bool = False
    command: str = ""

    @property
    def matter(self) -> Mapping[str, Any]:
        """What of it can change results. Classic jobs limit programs as the seed's scripts do."""
        job = self.engine.job
        shape = {"job": job} if job == "classic" else {}
        return {"all_tests": self.all_tests, **shape, **self.timing.matter}

    @property
    def settings(self) -> Mapping[str, Any]:
        """For the reader of a report."""
        return {**self.engine.settings, **self.timing.matter}


class Work(Value):
    """What is to be judged, and what it was made of."""

    problems: Problems
    submissions: Collection[Submission] | AsyncGenerator[Submission, None]
    made_of: Fingerprint
    keys: Sequence[str] | None = None  # None: submissions come as a stream
    expected: int | None = None  # of a stream
    settings: Mapping[str, Any] = {}  # for the reader of a report


def fingerprint_of(dump: str, problems: Mapping[str, str], options: Mapping[str, Any]) -> Fingerprint:
    return Fingerprint(
        dump=dump, problems=problems, options=options, versions={"ioi-eval": version("ioi-eval")}
    )


async def judge_work(work: Work, options: RunOptions, store: Store, tell: OnEvent) -> RunSummary:
    """Judges what the run's folder has no result of. Cancelled, it leaves whole results and nothing else."""
    settings = {"command": options.command, **work.settings, **options.settings}
    with Journal.open(Path(options.out), work.made_of, settings=settings, fresh=options.fresh) as journal:
        if work.keys is not None and not options.fresh and all(key in journal.done for key in work.keys):
            journal.begin()  # also where nothing can be judged: what is said of it goes into the folder
            return RunSummary(skipped=len(work.keys))
        async with contextlib.AsyncExitStack() as opened:
            scorer, workers = await opened.enter_async_context(judging(options, store, tell))
            if isinstance(work.submissions, AsyncGenerator):
                await opened.enter_async_context(contextlib.aclosing(work.submissions))
            return await run(
                scorer.judge,
                work.problems,
                work.submissions,
                journal,
                workers=workers,
                prepare=scorer.prepare,
                limited=_time_limits(scorer, options, journal, tell).limited,
                expected=work.expected,
                on_event=tell,
            )


@contextlib.asynccontextmanager
async def judging(
    options: RunOptions, store: Store, tell: OnEvent
) -> AsyncIterator[tuple[Scorer, Callable[[], int]]]:
    """The engine that was chosen, ready to judge, and how many submissions it is to get at a time."""
    chosen = options.engine
    engine, trusted = open_engine(chosen, store)
    how = JudgeOptions(
        job=chosen.job,
        all_tests=options.all_tests,
        allow_unconfined=chosen.allow_unconfined,
        borderline=options.timing.borderline,
    )
    tell(EngineStarting(engine=chosen.text))
    try:
        async with Scorer(engine, store=store, options=how, trusted=trusted) as scorer:
            if (found := servers_found(engine)) is not None:
                tell(found)
            yield scorer, lambda: _PER_SLOT * engine.slots
    finally:
        tell(EngineStopped())


def _time_limits(scorer: Scorer, options: RunOptions, journal: Journal, tell: OnEvent) -> TimeLimits:
    """Measured limits are remembered in the run's folder: a run that is continued keeps its limits."""
    folder = Path(options.out)
    known = {} if options.fresh else read_limits(folder)

    def remember(identity: str, limit: MeasuredLimit) -> None:
        known[identity] = limit
        journal.begin()
        write_limits(folder, known)
        tell(LimitMeasured(limit=limit))

    return TimeLimits(scorer.judge, known, remember, factor=options.timing.factor)
