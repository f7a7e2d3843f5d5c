"""Forecast: what scoring a dump would judge, and the most that it can take. Nothing is judged or written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from ioi_eval.benchmarks import BenchmarkOptions, DumpOptions, Dumps, Selection, Understood, as_files
from ioi_eval.model.values import Problem, Submission, Value
from ioi_eval.rules.calibration import with_time_factor
from ioi_eval.runs.engine import AnyEngine
from ioi_eval.runs.events import JudgedAgain, ignore
from ioi_eval.runs.journal import Journal
from ioi_eval.runs.score import Rows, called, run_name
from ioi_eval.runs.sources import Source, opened
from ioi_eval.runs.work import RunOptions, Setup, Work, journal_of, superseded_results
from ioi_eval.store import Store
from ioi_eval.store.rows import identity

_HOUR = 3600.0


class Forecast(Value):
    """A forecast of one call of `score_dump` with the same arguments."""

    out: str
    rows: int  # that were asked for
    known: int  # of these, those that have a result, here or by an equal row
    judged: int  # programs that would be built and run
    tests: int  # that they have, all together
    problems: int  # that they are for
    cpu_hours: float | None  # where each test took its whole limit; None: a limit is not known yet
    expected_cpu_hours: float | None  # by what the run's programs took so far; None: there are none
    rejected: int  # rows that cannot be used
    understood: Understood
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
        setup = Setup.of(out or Path("runs") / run_name(called(named[0])), engine, options, store, ignore)
        rows = Rows.of(named, reading, selection, problems, setup)
        with opened(problems, choice, setup.store, rows.mentioned) as every:
            dump = rows.open(every)
            work = rows.work(dump, every, setup.matter, {})
            with journal_of(work, setup) as journal:
                again = superseded_results(work, journal)
                new = _to_judge(work, journal)
                factor = setup.options.timing.factor
                limits = [_most(with_time_factor(every[one.problem_id], factor)) for one in new]
                return Forecast(
                    out=str(setup.folder),
                    rows=len(dump),
                    known=len(dump) - len(new),
                    judged=len(new),
                    tests=sum(len(every[one.problem_id].tests) for one in new),
                    problems=len({one.problem_id for one in new}),
                    cpu_hours=None if None in limits else math.fsum(filter(None, limits)) / _HOUR,
                    expected_cpu_hours=_expected(journal, new),
                    rejected=dump.info.rejected,
                    understood=dump.info.understood,
                    again=again,
                )


def _to_judge(work: Work, journal: Journal) -> list[Submission]:
    """The submissions without a result, equal ones once, without their texts."""
    found: dict[str, Submission] = {}
    for one in work.submissions if isinstance(work.submissions, Iterable) else ():
        same = identity(work.problems[one.problem_id], one)
        if one.key not in journal.done and same not in found and not journal.find(same, one.problem_id):
            found[same] = Submission(key=one.key, problem_id=one.problem_id, code=None)
    return list(found.values())


def _most(problem: Problem) -> float | None:
    """CPU seconds of a submission that uses each test's limit up."""
    return None if problem.limits.cpu_time is None else problem.limits.cpu_time * len(problem.tests)


def _expected(journal: Journal, new: Iterable[Submission]) -> float | None:
    """Of each problem what its programs took on average; of one that has none, what all took."""
    took: Mapping[str, list[float]] = journal.cpu_times()
    every = [seconds for one in took.values() for seconds in one]
    if not every:
        return None
    usual = math.fsum(every) / len(every)
    means = {problem: math.fsum(own) / len(own) for problem, own in took.items()}
    return math.fsum(means.get(one.problem_id, usual) for one in new) / _HOUR
