"""One call of `ioi-eval score`: problems, dump, journal and judge put together, run, and reported."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Coroutine, Mapping
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ioi_eval.benchmarks import Dump, DumpOptions, Selection, open_dump
from ioi_eval.cli.environment import open_store
from ioi_eval.cli.progress import Progress
from ioi_eval.engines.embedded import EmbeddedEngine
from ioi_eval.errors import InputError
from ioi_eval.journal import Fingerprint, Journal, read_failures
from ioi_eval.judge import JudgeOptions, Scorer
from ioi_eval.models import Value
from ioi_eval.problems import Problems, fingerprint, load_problems
from ioi_eval.reports import Summary, write_reports
from ioi_eval.runner import RunSummary, run
from ioi_eval.store import Store

# Submissions under way for each slot: while one is between two jobs, another one uses the slot.
_PER_SLOT = 2

_T = TypeVar("_T")


class Request(Value):
    """What the user asked for."""

    dumps: tuple[str, ...]
    source: str
    out: str
    reading: DumpOptions
    selection: Selection
    workers: int | None
    all_tests: bool
    allow_unconfined: bool
    fresh: bool
    quiet: bool
    command: str


class Outcome(Value):
    """What came of it: this call's part and the whole run's."""

    call: RunSummary
    summary: Summary
    failures: Mapping[str, str]  # why, by key: of the submissions asked for, those without a result

    def as_json(self, out: str) -> dict[str, Any]:
        whole = msgspec.to_builtins(self.summary)
        del whole["settings"]  # in summary.json
        return {"out": out, "report": f"{out}/report.md", "this_call": self.call, **whole}


def score_dump(request: Request) -> Outcome:
    """Raises InputError before anything is written, and KeyboardInterrupt when everything is cleaned up."""
    store = open_store()
    wanted, selection = request.selection.problems, request.selection
    with closing(load_problems(request.source, cache=store.root / "packages", only=wanted)) as problems:
        dump = open_dump(request.dumps, problems=problems, options=request.reading, selection=selection)
        if not len(dump):
            _refuse_empty(request)
        call = _judge_all(request, problems, dump, store)
    out = Path(request.out)
    failures = read_failures(out)
    asked = {key: str(failures[key]["reason"]) for key in dump.info.keys if key in failures}
    return Outcome(call=call, summary=write_reports(out), failures=asked)


def _refuse_empty(request: Request) -> None:
    wanted = ", ".join(sorted(request.selection.problems))
    raise InputError(f"no submission for {wanted} in it", where=", ".join(request.dumps), field="problem_id")


def _judge_all(request: Request, problems: Problems, dump: Dump, store: Store) -> RunSummary:
    made_of = _fingerprint(request, problems, dump)
    settings = {
        "command": request.command,
        "dumps": list(request.dumps),
        "problems": request.source,
        "engine": "embedded",
    }
    with (
        Journal.open(Path(request.out), made_of, settings=settings, fresh=request.fresh) as journal,
        Progress(quiet=request.quiet) as progress,
    ):
        if request.fresh or any(key not in journal.done for key in dump.info.keys):
            return run_until_interrupted(_judge(request, problems, dump, journal, store, progress))
        return RunSummary(skipped=len(dump))


def _fingerprint(request: Request, problems: Problems, dump: Dump) -> Fingerprint:
    reading = msgspec.to_builtins(request.reading)
    repairs = reading.pop("repairs")
    return Fingerprint(
        dump=dump.info.sha256,
        problems=fingerprint(problems),
        options={**reading, **repairs, "all_tests": request.all_tests},
        versions={"ioi-eval": version("ioi-eval")},
    )


async def _judge(
    request: Request,
    problems: Problems,
    dump: Dump,
    journal: Journal,
    store: Store,
    progress: Progress,
) -> RunSummary:
    slots = request.workers or len(os.sched_getaffinity(0))
    engine = EmbeddedEngine(store=store, slots=slots, allow_unconfined=request.allow_unconfined)
    options = JudgeOptions(all_tests=request.all_tests, allow_unconfined=request.allow_unconfined)
    async with Scorer(engine, store=store, options=options) as scorer, progress.ticking():
        return await run(
            scorer.judge,
            problems,
            dump,
            journal,
            workers=_PER_SLOT * slots,
            prepare=scorer.prepare,
            on_event=progress,
        )


def run_until_interrupted(work: Coroutine[Any, Any, _T]) -> _T:
    """Ctrl-C, SIGTERM and SIGHUP cancel the work; KeyboardInterrupt comes out once it has cleaned up."""

    async def main() -> _T:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None, "a coroutine runs in a task"
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, task.cancel)
        return await work

    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
