"""One call of `ioi-eval run`: problems, prompts, an author, a judge that starts with the first program."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.benchmarks import BenchmarkOptions
from ioi_eval.cli.config import Config, flag_of
from ioi_eval.cli.environment import open_store
from ioi_eval.generate import (
    SOLUTIONS,
    Agent,
    AgentOptions,
    Ask,
    Author,
    Budget,
    BudgetOptions,
    ChatModel,
    Failed,
    Generations,
    ModelOptions,
    Producing,
    Prompts,
    Sampling,
    asks_of,
    check_model,
    fingerprint,
    key_of,
    name_of,
)
from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import find
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import Limits, Problem, Submission, Value
from ioi_eval.problems import Problems
from ioi_eval.problems import fingerprint as made_of
from ioi_eval.reports import Summary, write_reports
from ioi_eval.rules.extraction import extract
from ioi_eval.rules.scoring import pass_rate
from ioi_eval.runs.engine import EngineChoice
from ioi_eval.runs.events import OnEvent, RunSummary
from ioi_eval.runs.score import run_name
from ioi_eval.runs.sources import benchmark_of, language_of, open_source
from ioi_eval.runs.timing import Timing
from ioi_eval.runs.work import RunOptions, Work, fingerprint_of, judge_work
from ioi_eval.store import Store
from ioi_eval.store.files import replace
from ioi_eval.store.folder import check_folder, read_failures, read_rows
from ioi_eval.store.rows import result_of

INSTANCES = "instances.jsonl"
_BASE_URL, _MODEL = "OPENAI_BASE_URL", "OPENAI_MODEL"


class Request(Value):
    """What the user asked for."""

    config: Config
    engine: EngineChoice
    timing: Timing = Timing()
    fresh: bool = False
    rejudge: bool = False
    command: str = ""

    @property
    def out(self) -> str:
        config = self.config
        return config.out or f"runs/{run_name(config.benchmark)}-{run_name(_author_name(config))}"


class Outcome(Value):
    call: RunSummary
    summary: Summary
    instances: tuple[Mapping[str, Any], ...]
    failures: Mapping[str, str]  # submissions that could not be judged, by key
    unwritten: Mapping[str, str]  # asks that got no program, by key


def prompt_of(config: Config) -> Iterator[str]:
    """The prompts as they would be sent."""
    with closing(_problems(config, open_store())) as problems:
        yield from (ask.prompt for ask in _asks(config, problems))


async def generate_and_score(request: Request, tell: OnEvent) -> Outcome:
    """Raises InputError before anything is asked. Cancelled, it leaves whole programs and results."""
    config, store, out = request.config, open_store(), Path(request.out)
    check_folder(out)
    if not config.command:
        check_model(_model(config), _key(config))
    with closing(_problems(config, store)) as problems:
        asks = _asks(config, problems)
        of_asks = fingerprint(asks, _author_name(config), _settings(config))
        unwritten: dict[str, str] = {}
        with Generations(out, of_asks, _author_name(config), fresh=request.fresh) as generations:
            made = fingerprint_of(of_asks, made_of(problems), {"time_limit": config.time_limit})
            work = Work(
                problems=problems,
                submissions=_submissions(request, problems, asks, generations, unwritten),
                made_of=made,
                expected=len(asks) + sum(bool(problem.unusable) for problem in problems.values()),
                settings={
                    "benchmark": config.benchmark,
                    "author": _author_name(config),
                    **_settings(config),
                },
            )
            call = await _judged(request, work, store, tell)
            found = tuple(sorted(_instances(out, problems, asks, unwritten), key=_place))
            replace(out / INSTANCES, [msgspec.json.encode(one) + b"\n" for one in found])
            summary = write_reports(out)
    failures = {key: str(row["reason"]) for key, row in read_failures(out).items()}
    return Outcome(call=call, summary=summary, instances=found, failures=failures, unwritten=unwritten)


async def _judged(request: Request, work: Work, store: Store, tell: OnEvent) -> RunSummary:
    options = RunOptions(
        out=request.out,
        engine=request.engine,
        timing=request.timing,
        fresh=request.fresh or request.rejudge,
        command=request.command,
    )
    try:
        return await judge_work(work, options, store, tell)
    except InputError as error:
        # What makes results stale leaves programs as they are, and they may have been paid for.
        raise error.but(remedy=error.remedy.replace("--fresh to", "--rejudge to")) from error


# --- what is asked -----------------------------------------------------------------------------------


def _problems(config: Config, store: Store) -> Problems:
    choice = BenchmarkOptions(
        dataset=config.dataset,
        split=config.split,
        revision=config.revision,
        data_dir=config.data_dir,
        difficulty=frozenset(config.filter_difficulty),
        problems=frozenset(config.tasks),
        sample=config.sample_size,
        seed=config.seed,
    )
    problems = open_source(config.benchmark, choice, store, lambda: None)
    if not problems:
        problems.close()
        filters = ("filter_difficulty", "tasks", "benchmark")
        field = next((name for name in filters if getattr(config, name)), "")
        raise InputError("no problem is left by the filters", field=field, where=config.benchmark)
    return problems if config.time_limit is None else _within(problems, config.time_limit)


def _within(problems: Problems, seconds: float) -> Problems:
    """The same problems with another time limit."""

    def limited(problem: Problem) -> Problem:
        limits = Limits.contest(seconds, problem.limits.memory)
        return msgspec.structs.replace(
            problem, limits=msgspec.structs.replace(limits, output=problem.limits.output)
        )

    kept = contextlib.ExitStack()
    kept.callback(problems.close)
    return Problems(map(limited, problems.values()), kept=kept)


def _asks(config: Config, problems: Problems) -> tuple[Ask, ...]:
    language = _language(config)
    benchmark = benchmark_of(config.benchmark)
    prompts = Prompts(
        config.prompt,
        benchmark="" if benchmark is None else benchmark.name,
        language=language,
        file=_solution(language) if config.command else "",
    )
    usable = (problem for problem in problems.values() if not problem.unusable)
    return asks_of(usable, prompts, language=language, samples=config.samples)


def _language(config: Config) -> str:
    return find(config.language or language_of(config.benchmark)).name


def _solution(language: str) -> str:
    if language not in SOLUTIONS:
        known = " or ".join(SOLUTIONS)
        raise InputError(
            f"an agent cannot be asked for {language}", field="language", remedy=f"Choose {known}"
        )
    return SOLUTIONS[language]


def _author_name(config: Config) -> str:
    return name_of(config.command) or config.model.name or os.environ.get(_MODEL, "")


def _settings(config: Config) -> dict[str, Any]:
    """What decides what is written, but for the prompts. No key is among it."""
    if config.command:
        return {"command": config.command, "timeout_seconds": config.timeout_seconds}
    own = {
        name: getattr(config.model, name)
        for name in ("system", "temperature", "top_p", "max_tokens", "seed", "extra")
    }
    return {name: value for name, value in own.items() if value not in (None, "", {})}


@contextlib.asynccontextmanager
async def _author(request: Request, generations: Generations) -> AsyncIterator[Author]:
    config = request.config
    if config.command:
        folder = str((Path(request.out) / "agents").absolute())
        yield Agent(AgentOptions(command=config.command, folder=folder, timeout=config.timeout_seconds))
        return
    budget = Budget(msgspec.convert(msgspec.structs.asdict(config.budget), BudgetOptions))
    for row in generations:
        budget.spend(row.get("metadata", {}).get("usage", {}))
    async with ChatModel(_model(config), budget, key=_key(config)) as model:
        yield model


def _key(config: Config) -> Secret:
    return Secret(os.environ.get(config.model.api_key_env, ""))


def _model(config: Config) -> ModelOptions:
    model, name = config.model, _author_name(config)
    base_url = model.base_url or os.environ.get(_BASE_URL, "")
    for value, field, variable in ((name, "model.name", _MODEL), (base_url, "model.base_url", _BASE_URL)):
        if not value:
            where = f"{field} in the file, {flag_of(field)} or {variable}; or --command for an agent"
            raise InputError(f"no {field.rpartition('.')[2]} of a model is given", remedy=f"Give {where}")
    return ModelOptions(
        name=name,
        base_url=base_url,
        system=model.system,
        sampling=Sampling(
            temperature=model.temperature,
            top_p=model.top_p,
            max_tokens=model.max_tokens,
            seed=model.seed,
            extra=model.extra,
        ),
        timeout=config.timeout_seconds,
        attempts=model.attempts,
        requests_per_minute=model.requests_per_minute,
    )


# --- what comes --------------------------------------------------------------------------------------


async def _submissions(
    request: Request,
    problems: Problems,
    asks: Sequence[Ask],
    generations: Generations,
    unwritten: dict[str, str],
) -> AsyncGenerator[Submission, None]:
    """Every program as it comes; why there is none goes into `unwritten`."""
    for problem in problems.values():
        if problem.unusable:
            yield _unasked(problem, problems, request.config)
    async with (
        _author(request, generations) as author,
        Producing(asks, author, generations, at_once=request.config.concurrency) as news,
    ):
        async for one in news:
            if isinstance(one, Failed):
                unwritten[one.key] = one.reason
            else:
                yield _submission(generations.row(one.key), problems)


def _unasked(problem: Problem, problems: Problems, config: Config) -> Submission:
    """In the place of programs that nobody could judge: why not is to be found where all failures are."""
    key, label = key_of(problem, 0), problems.label(problem)
    row = {"uuid": key, "problem_id": problem.id, "model": _author_name(config)}
    return Submission(
        key=key, problem_id=label, code="", language=_language(config), year=problem.year, row=row
    )


def _submission(row: Mapping[str, Any], problems: Problems) -> Submission:
    problem = problems.find(row["problem_id"], row.get("year"))
    language = find(row["language"])
    code = row.get("code")
    return Submission(
        key=row["uuid"],
        problem_id=problems.label(problem),
        code=code if isinstance(code, str) else extract(row["generation"], language),
        language=language.name,
        year=problem.year,
        row=row,
    )


# --- what is said of each problem --------------------------------------------------------------------


def _instances(
    out: Path, problems: Problems, asks: Sequence[Ask], unwritten: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """A line for each program that was asked for, and for each problem that nobody can be judged on."""
    results = {row["key"]: row for row in read_rows(out)}
    failures = read_failures(out)
    several = len({ask.number for ask in asks}) > 1
    for ask in asks:
        name = {"instance_id": ask.problem_id, **({"sample": ask.number} if several else {})}
        if ask.key in results:
            yield {**name, **_numbers(results[ask.key])}
        else:
            failure = failures.get(ask.key, {}).get("reason")
            yield {**name, "resolved": None, "error": str(failure or unwritten.get(ask.key, "not judged"))}
    for problem in problems.values():
        if problem.unusable:
            yield {"instance_id": problem.id, "resolved": False, "error": problem.unusable}


def _place(instance: Mapping[str, Any]) -> list[tuple[str, int]]:
    """By name and number: apps_9 before apps_10."""
    parts = re.findall(r"([^0-9]*)([0-9]*)", instance["instance_id"])
    return [*((text, int(digits or 0)) for text, digits in parts), ("", instance.get("sample", 0))]


def _numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    points = {} if "resolved" in row else {"points": row["all_subtasks_points"]}
    return {**pass_rate(result_of(row)).columns, **points}
