"""A contest in a run's folder: every submission is a row of it, and a contest that was killed goes on."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.benchmarks import BenchmarkOptions
from ioi_eval.contest.contest import Contest, languages_of
from ioi_eval.contest.rules import Rules
from ioi_eval.model.languages import LANGUAGES
from ioi_eval.model.values import Value
from ioi_eval.reports import write_reports
from ioi_eval.runs.engine import AnyEngine
from ioi_eval.runs.events import OnEvent, ignore
from ioi_eval.runs.journal import Journal
from ioi_eval.runs.sources import Source, no_problem, opened, source_name
from ioi_eval.runs.work import (
    RunOptions,
    RunSetup,
    Work,
    describe_problems,
    fingerprint_of,
    journal_of,
    judging,
    time_limits,
)
from ioi_eval.store import Store
from ioi_eval.store.files import Lines, cut_torn_line, read_value, replace
from ioi_eval.store.folder import CONTEST, RUNS, decoded, read_rows


class _Begun(Value):
    """contest.json: when the contest began, in seconds since 1970."""

    started: float


@contextlib.asynccontextmanager
async def open_contest(
    source: Source,
    rules: Rules | None = None,
    *,
    out: str | Path,
    participants: Collection[str] | None = None,
    choice: BenchmarkOptions | None = None,
    engine: AnyEngine | None = None,
    options: RunOptions | None = None,
    store: Store | None = None,
    on_event: OnEvent = ignore,
    clock: Callable[[], float] = time.time,
) -> AsyncIterator[Contest]:
    """Hold a contest in the folder `out`; opened again, it goes on with all that was answered.

        async with open_contest("packages", Rules(submissions=10), out="runs/cup") as contest:
            print(await contest.session("otter").submit("lanterns", code))

    The rules of a contest that has begun cannot be changed: InputError. At the end the folder has the
    reports of any run, with participants in the place of models.
    """
    # A contest cannot wait for an old compiler to come back: each row names its own.
    mixing = msgspec.structs.replace(options or RunOptions(), accept_compiler=True)
    rules, setup = rules or Rules(), RunSetup.of(out, engine, mixing, store, on_event)
    languages_of(rules, participants)  # before anything is opened
    with opened(source, choice, setup.store) as problems:
        if not problems:
            raise no_problem(source)
        settings = {f"contest_{name}": value for name, value in msgspec.to_builtins(rules).items()}
        work = Work(
            problems=problems,
            submissions=(),
            made_of=fingerprint_of("contest", problems, {**setup.matter, **settings}),
            settings={"contest": source_name(source), **settings},
        )
        with journal_of(work, setup) as journal:
            journal.begin()
            async with judging(setup) as (judge, _):
                limits, profile = time_limits(judge, setup, journal), await judge.profile()
                with contextlib.closing(_Ledger(journal)) as ledger:
                    contest = Contest(
                        problems,
                        rules,
                        judge=judge,
                        participants=participants,
                        record=ledger,
                        limited=limits.limited,
                        languages=[
                            language.name for language in LANGUAGES if language.command in profile.toolchains
                        ],
                        started=_begun(setup.folder, clock),
                        clock=clock,
                    )
                    ledger.restore(contest)
                    try:
                        yield contest
                    finally:
                        contest.closed = True
                        await describe_problems(work, setup, journal, limits.limited)
        write_reports(setup.folder)


class _Ledger:
    """Writes what happened into the run's folder, before anybody is answered."""

    def __init__(self, journal: Journal) -> None:
        self._journal, path = journal, journal.folder / RUNS
        cut_torn_line(path)
        self._runs = Lines(path)

    def judged(self, row: Mapping[str, Any]) -> None:
        self._journal.record(row)

    def failed(self, row: Mapping[str, Any]) -> None:
        self._journal.fail(row)

    def ran(self, row: Mapping[str, Any]) -> None:
        self._runs.append(msgspec.json.encode(row))

    def restore(self, contest: Contest) -> None:
        for row in read_rows(self._journal.folder):
            contest.restore(row)
        for _, row in decoded(self._journal.folder / RUNS, dict[str, Any]):
            contest.restore_run(row)

    def close(self) -> None:
        self._runs.close()


def _begun(folder: Path, clock: Callable[[], float]) -> float:
    """Return when the contest began: now, unless the folder says it."""
    path, remedy = folder / CONTEST, "Restore the file, or give fresh=True to start over"
    begun = read_value(path, _Begun, "does not say when the contest began", remedy)
    if begun is None:
        begun = _Begun(started=clock())
        replace(path, [msgspec.json.encode(begun), b"\n"])
    return begun.started
