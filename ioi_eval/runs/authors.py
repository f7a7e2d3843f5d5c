"""Run: problems, prompts, an author that writes programs, and a judge that starts with the first of them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from ioi_eval.benchmarks import BenchmarkOptions
from ioi_eval.generate import (
    SOLUTIONS,
    Agent,
    AgentOptions,
    Author,
    BudgetOptions,
    BudgetTracker,
    FailedRequestEvent,
    Generations,
    ModelOptions,
    ModelRequest,
    Prompts,
    RequestRunner,
    fingerprint,
    make_requests,
    read_command_name,
    sample_key,
)
from ioi_eval.generate.agents import McpAccess
from ioi_eval.generate.functions import PromptFunction, PromptFunctionAuthor, function_name
from ioi_eval.judge import Judge
from ioi_eval.judge.needs import refuse_language
from ioi_eval.model.errors import InputError, JudgeFailure
from ioi_eval.model.languages import find_language
from ioi_eval.model.options import CliOption, Count
from ioi_eval.model.quoting import encode_terminal_safe_json
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import LanguageFrom, Problem, Submission, TaskType, Value
from ioi_eval.problems import Problems
from ioi_eval.reports import Summary, write_reports
from ioi_eval.rules.extraction import explain_missing_program, extract
from ioi_eval.rules.languages import ChosenLanguage, choose_language
from ioi_eval.rules.scoring import pass_rate
from ioi_eval.runs.engine import AnyEngine
from ioi_eval.runs.events import OnEvent, RunSummary, ignore_event
from ioi_eval.runs.score import run_name
from ioi_eval.runs.sources import (
    Source,
    benchmark_of,
    language_of,
    make_no_problem_error,
    open_problem_source,
    source_name,
)
from ioi_eval.runs.work import RunOptions, RunSetup, Work, judge_work, make_fingerprint, make_synchronous
from ioi_eval.store import Store
from ioi_eval.store.files import replace
from ioi_eval.store.folder import read_failures, read_rows
from ioi_eval.store.rows import read_result

INSTANCES = "instances.jsonl"
AnyAuthor = ModelOptions | AgentOptions | PromptFunction


class Asking(Value):
    """The options of requests to an author: number of programs, language, and prompt."""

    samples: Annotated[
        Count, CliOption(metavar="N", help="Number of programs to request for each problem.")
    ] = 1
    # Language of programs; by default the problem's only language, the benchmark's language, or C++.
    language: str = ""
    # Name of a benchmark's prompt, or path of a template; by default the benchmark's own prompt.
    prompt: str = ""
    concurrency: Annotated[
        Count,
        CliOption(
            metavar="N", help="Maximum number of requests, or of agents, at the same time.", key_only=True
        ),
    ] = 8


class GeneratedRun(Value):
    """The outcome of `run`."""

    out: str  # path of the run's folder
    call: RunSummary  # figures of this call
    summary: Summary  # figures of the whole run
    # Lines of instances.jsonl, which has a line for each requested program.
    instances: tuple[Mapping[str, Any], ...]
    failures: Mapping[str, str]  # reasons of judge failures, by key of the submission
    unwritten: Mapping[str, str]  # reasons why programs are missing, by key of the submission
    unasked: tuple[str, ...] = ()  # keys in `unwritten` for which no program was requested

    def as_json(self) -> dict[str, Any]:
        """Return the content of the command's JSON output."""
        json_fields = {"out": self.out, "this_call": self.call, "instances": self.instances}
        return {**json_fields, "unwritten": self.unwritten, **self.summary.as_json()}


async def run(
    problems: Source,
    author: AnyAuthor,
    *,
    out: str | Path | None = None,
    key: str = "",
    budget: BudgetOptions | None = None,
    choice: BenchmarkOptions | None = None,
    asking: Asking | None = None,
    engine: AnyEngine | None = None,
    options: RunOptions | None = None,
    rejudge: bool = False,
    store: Store | None = None,
    on_event: OnEvent = ignore_event,
) -> GeneratedRun:
    """Ask a model, an agent or a function for programs, and score each program when it arrives.

        outcome = await run("apps", ModelOptions(name="otter", base_url="http://127.0.0.1:8000/v1"))
        print(outcome.summary.headline.models[0].value, outcome.unwritten)

    A repeated call continues where the last call stopped. If the call is cancelled, the folder contains
    complete programs and results.

    Args:
        problems: Packages, a benchmark's name, a file of its rows, or loaded problems.
        author: The options of a model or an agent, or a function from a prompt to a reply. The function may
            be async. Its name is the model's name, with which alone the run can be continued.
        out: The folder of the run.
        key: The secret key of the model's server.
        budget: Limits on tokens and costs.
        choice: The selection of problems.
        asking: What the author is asked for.
        engine: Executes the programs. It may be an open scorer.
        options: Options for judging. With `fresh`, the author is asked again for all programs.
        rejudge: Judge all programs again, without requesting new programs.
        store: The cache.
        on_event: Receives events.

    Raises:
        InputError: The input is unusable. The author has not been asked for anything.
    """
    _check_author(author)
    folder = out or Path("runs") / f"{run_name(source_name(problems))}-{run_name(author_name(author))}"
    setup = RunSetup.create(folder, engine, options, store, on_event)
    used_choice = choice or BenchmarkOptions()
    call = _RunArguments(problems, author, Secret(key), budget, asking or Asking(), setup, used_choice)
    if isinstance(author, ModelOptions):  # raise the error before problems are loaded
        from ioi_eval.generate.chat import check_model_options

        check_model_options(author, call.key)
    with _open_nonempty_source(problems, choice, setup.store) as loaded_problems:
        return await _generate_and_judge(call, loaded_problems, rejudge)


run_sync = make_synchronous(run)


def create_prompts(
    problems: Source,
    *,
    agent: bool = False,
    choice: BenchmarkOptions | None = None,
    asking: Asking | None = None,
    store: Store | None = None,
) -> list[str]:
    """Return the prompts of the problems: for an agent if `agent` is true, otherwise for a model.

    Args:
        problems: Packages, a benchmark's name, a file of its rows, or loaded problems.
        agent: True for prompts that an agent gets as a file.
        choice: The selection of problems. None means all problems.
        asking: The language, the prompt's template, and how often each prompt is returned. None means the
            defaults.
        store: The cache. None means the private cache.

    Raises:
        InputError: There are no problems, a problem is incomplete, or the language is wrong for all problems.
    """
    with _open_nonempty_source(problems, choice, store or Store.private()) as loaded_problems:
        request_list = _create_requests(problems, loaded_problems, asking or Asking(), for_agent=agent)
        return [request.prompt for request in request_list.requests]


class _RunArguments(NamedTuple):
    """The arguments of a call of the function `run`."""

    source: Source
    author: AnyAuthor
    key: Secret
    budget: BudgetOptions | None
    asking: Asking
    setup: RunSetup
    choice: BenchmarkOptions

    @property
    def name(self) -> str:
        """Return the author's name."""
        return author_name(self.author)


async def _generate_and_judge(call: _RunArguments, problems: Problems, rejudge: bool) -> GeneratedRun:
    """Ask for the programs, judge them, and write the reports."""
    setup, settings, unwritten = call.setup, make_author_settings(call.author), dict[str, str]()
    request_list = _create_requests(
        call.source, problems, call.asking, for_agent=isinstance(call.author, AgentOptions)
    )
    requests = request_list.requests
    requests_fingerprint = fingerprint(requests, call.name, settings)
    with Generations(setup.folder, requests_fingerprint, call.name, fresh=setup.options.fresh) as generations:
        result_settings = {name: value for name, value in setup.result_settings.items() if value}
        work = Work(
            problems=problems,
            submissions=_stream_submissions(call, problems, request_list, generations, unwritten),
            fingerprint=make_fingerprint(requests_fingerprint, problems, result_settings),
            expected=len(requests) + len(request_list.refused),
            check=lambda judge: _refuse_unjudgeable_requests(judge, problems, requests, generations),
            settings={
                "benchmark": source_name(call.source),
                "author": call.name,
                **call.choice.report_settings,
                **settings,
            },
        )
        rejudge_options = msgspec.structs.replace(setup.options, fresh=setup.options.fresh or rejudge)
        try:
            call_summary = await judge_work(work, setup._replace(options=rejudge_options))
        except InputError as error:
            # Only results are outdated. Programs are not discarded, because it may have cost money to
            # generate them.
            raise error.with_details(
                remedy=error.remedy.replace("fresh=True to", "rejudge=True to")
            ) from error
        instances = tuple(
            sorted(
                _make_program_instances(setup.folder, problems, request_list, unwritten),
                key=_make_natural_sort_key,
            )
        )
        replace(
            setup.folder / INSTANCES, [encode_terminal_safe_json(instance) + b"\n" for instance in instances]
        )
        summary = write_reports(setup.folder)
    return GeneratedRun(
        out=str(setup.folder),
        call=call_summary,
        summary=summary,
        instances=instances,
        failures={key: str(row["reason"]) for key, row in read_failures(setup.folder).items()},
        unwritten=unwritten,
        unasked=tuple(unwritten.keys() - {ask.key for ask in requests}),
    )


# --- requests ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def _open_nonempty_source(
    source: Source, choice: BenchmarkOptions | None, store: Store
) -> Iterator[Problems]:
    """Context manager: the problems of a source. Raises InputError if there are none."""
    with open_problem_source(source, choice, store) as problems:
        if not problems:
            raise make_no_problem_error(source)
        yield problems


class _RequestList(NamedTuple):
    """The requests to an author, and the problems without requests."""

    requests: tuple[ModelRequest, ...]
    refused: Mapping[str, str]  # reasons why no program can be judged, by label of the problem


def _is_output_only(problem: Problem) -> bool:
    """Return True if submissions are output files instead of programs."""
    return problem.task_type is TaskType.OUTPUT_ONLY


class PromptRequests:
    """Chooses the language and writes the prompt of each request."""

    def __init__(self, source: Source, asking: Asking, *, for_agent: bool) -> None:
        self._benchmark, self._asking, self._agent = benchmark_of(source), asking, for_agent
        self._requested_language = asking.language and find_language(asking.language).name
        self._default_language = find_language(language_of(source)).name
        self._prompts_by_language: dict[str, Prompts] = {}

    def choose_language(self, problem: Problem) -> ChosenLanguage:
        """Return the language of a problem's program in the prompt and in the reply."""
        return choose_language(problem, option=self._requested_language, default=self._default_language)

    def refusal_reason(self, problem: Problem, *, can_submit_files: bool = False) -> str:
        """Return the reason why no program could be judged, or an empty string.

        `can_submit_files`: the author may submit output files. Raises InputError if no language is possible.
        """
        if problem.unusable:
            return problem.unusable
        if _is_output_only(problem):
            return "" if can_submit_files else f"problem {problem.id} asks for files, not for a program"
        try:
            refuse_language(problem, find_language(self.choose_language(problem).language))
        except JudgeFailure as failure:
            return failure.reason
        return ""

    def choose_judgeable_language(self, problem: Problem) -> str:
        """Return the language of programs for a problem, or an empty string if they cannot be judged."""
        return "" if self.refusal_reason(problem) else self.choose_language(problem).language

    def make_prompt(self, problem: Problem, language: str) -> str:
        """Return the prompt for a problem.

        Raises InputError if the problem is incomplete or if agents cannot write the language.
        """
        if self._agent and language not in SOLUTIONS:
            raise InputError(
                f"agents cannot write {language}", field="language", remedy=f"Choose {' or '.join(SOLUTIONS)}"
            )
        if language not in self._prompts_by_language:
            name = "" if self._benchmark is None else self._benchmark.name
            self._prompts_by_language[language] = Prompts(
                self._asking.prompt,
                benchmark=name,
                language=language,
                file=SOLUTIONS[language] if self._agent else "",
            )
        return self._prompts_by_language[language](problem)


def _create_requests(source: Source, problems: Problems, asking: Asking, *, for_agent: bool) -> _RequestList:
    """Return the requests for the problems.

    Raises InputError if a problem is incomplete, or if the language is wrong for all problems.
    """
    requests, refusals, usable_problems = (
        PromptRequests(source, asking, for_agent=for_agent),
        dict[str, str](),
        [],
    )
    for label, problem in problems.items():
        if reason := requests.refusal_reason(problem):
            refusals[label] = reason
        else:
            usable_problems.append((problem, requests.choose_language(problem).language))
    if not usable_problems and (
        wrong_reasons := [refusals[label] for label in refusals if not problems[label].unusable]
    ):
        field = "choice" if all(map(_is_output_only, problems.values())) else "language"
        raise InputError(
            wrong_reasons[0], where=source_name(source), field=field, remedy="Choose another language"
        )
    return _RequestList(
        make_requests(usable_problems, requests.make_prompt, samples=asking.samples), refusals
    )


async def _refuse_unjudgeable_requests(
    judge: Judge, problems: Problems, requests: Iterable[ModelRequest], generations: Generations
) -> None:
    """Raise InputError if the engine cannot judge some of the programs that are not written yet."""
    unwritten_requests = [ask for ask in requests if ask.key not in generations]
    languages_by_problem = {(ask.problem_id, ask.year): ask.language for ask in unwritten_requests}
    needed_programs = [
        (problems.find(name, year), language) for (name, year), language in languages_by_problem.items()
    ]
    await refuse_unjudgeable_programs(judge, problems.packages, needed_programs)


async def refuse_unjudgeable_programs(
    judge: Judge, packages: Collection[str], programs: Collection[tuple[Problem, str]]
) -> None:
    """Raise InputError if the engine cannot judge programs. `programs`: pairs of problem and language."""
    await judge.check_packages(packages, {language for _, language in programs})
    for problem, language in programs:
        for error in await judge.find_unmet_needs(problem, find_language(language)):
            raise InputError(
                f"no program was requested from the author: {error}", where=f"problem {problem.id}"
            )


def _check_author(author: object) -> None:
    """Raise InputError unless the argument is an author."""
    if isinstance(author, ModelOptions | AgentOptions) or (callable(author) and not isinstance(author, type)):
        return
    subject = author.__name__ if isinstance(author, type) else f"a value of type {type(author).__name__}"
    raise InputError(
        f"{subject} is not an author",
        field="author",
        remedy="Give ModelOptions(...), AgentOptions(...), or a function from a prompt to a reply",
    )


def author_name(author: AnyAuthor) -> str:
    """Return the name of an author, which is the model's name in rows."""
    if isinstance(author, AgentOptions):
        return read_command_name(author.command)
    return author.name if isinstance(author, ModelOptions) else function_name(author)


def make_author_settings(author: AnyAuthor) -> dict[str, Any]:
    """Return the settings of a model or agent that change its programs, except prompts and the key."""
    if isinstance(author, AgentOptions):
        return {"command": author.command, "timeout_seconds": author.timeout}
    if not isinstance(author, ModelOptions):
        return {}
    all_settings = {"system": author.system, **msgspec.structs.asdict(author.sampling)}
    return {name: value for name, value in all_settings.items() if value not in (None, "", {})}


@contextlib.asynccontextmanager
async def open_author(
    author: AnyAuthor,
    folder: Path,
    budget: BudgetTracker,
    api_key: Secret,
    mcp_access: McpAccess | None = None,
) -> AsyncIterator[Author]:
    """Context manager: an author that is ready for requests. By default, agents work in the run's folder.

    Args:
        author: The options of a model or an agent, or a function from a prompt to a reply.
        folder: The run's folder.
        budget: Counts the tokens and costs of a model. Agents and functions do not use it.
        api_key: The secret key of the model's server.
        mcp_access: The server of the contest in which an agent takes part. None means that there is none.
    """
    if isinstance(author, AgentOptions):
        agents_folder = author.folder or str((folder / "agents").absolute())
        yield Agent(msgspec.structs.replace(author, folder=agents_folder), mcp_access)
        return
    if not isinstance(author, ModelOptions):
        yield PromptFunctionAuthor(author)
        return
    from ioi_eval.generate.chat import ChatModel  # imported here, because loading the HTTP client is slow

    async with ChatModel(author, budget, key=api_key) as model:
        yield model


# --- submissions -------------------------------------------------------------------------------------


async def _stream_submissions(
    call: _RunArguments,
    problems: Problems,
    request_list: _RequestList,
    generations: Generations,
    unwritten: dict[str, str],
) -> AsyncGenerator[Submission, None]:
    """Yield each program when it arrives.

    If a program is missing, the reason is added to `unwritten` under the submission's key.
    """
    choose_language = PromptRequests(
        call.source, call.asking, for_agent=isinstance(call.author, AgentOptions)
    ).choose_language
    for label in request_list.refused:
        # An empty submission becomes a judge failure, so that its reason is listed with all other failures.
        problem, chosen_language = problems[label], choose_language(problems[label])
        key = sample_key(problem, 0)
        # An empty submission would be judged and score 0.
        if _is_output_only(problem) and not problem.unusable:
            unwritten[key] = request_list.refused[label]
            continue
        yield Submission(
            key=key,
            problem_id=label,
            code="",
            language=chosen_language.language,
            language_from=chosen_language.source,
            year=problem.year,
            row={"uuid": key, "problem_id": problem.id, "model": call.name},
        )
    budget = BudgetTracker(call.budget)
    for row in generations if isinstance(call.author, ModelOptions) else ():
        budget.add_usage_and_get_cost(row.get("metadata", {}).get("usage", {}))
    async with (
        open_author(call.author, call.setup.folder, budget, call.key) as author,
        RequestRunner(
            request_list.requests, author, generations, max_concurrent=call.asking.concurrency
        ) as answers,
    ):
        async for answer in answers:
            if isinstance(answer, FailedRequestEvent):
                unwritten[answer.key] = answer.reason
            else:
                yield _submission_of_generation(generations.read_row(answer.key), problems, choose_language)


def _submission_of_generation(
    row: Mapping[str, Any], problems: Problems, choose_language: Callable[[Problem], ChosenLanguage]
) -> Submission:
    """Return the submission of a generation. `choose_language` returns a problem's requested language."""
    problem = problems.find(row["problem_id"], row.get("year"))
    language, requested_language = find_language(row["language"]), choose_language(problem)
    code = row.get("code")
    code = code if isinstance(code, str) else extract(row["generation"], language)
    return Submission(
        key=row["uuid"],
        problem_id=problems.label(problem),
        code=code,
        no_program=explain_missing_program(row["generation"]) if code is None else "",
        language=language.name,
        language_from=requested_language.source
        if language.name == requested_language.language
        else LanguageFrom.ROW,
        year=problem.year,
        row=row,
    )


# --- instances.jsonl ---------------------------------------------------------------------------------


def _make_program_instances(
    out: Path, problems: Problems, request_list: _RequestList, unwritten_reasons: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield a line for each requested program, and for each problem without requests."""
    results = {row["key"]: row for row in read_rows(out)}
    failures = read_failures(out)
    has_several_samples = len({ask.number for ask in request_list.requests}) > 1
    for ask in request_list.requests:
        label = problems.label(problems.find(ask.problem_id, ask.year))
        instance_columns = {"instance_id": label, **({"sample": ask.number} if has_several_samples else {})}
        if ask.key in results:
            result = read_result(results[ask.key])
            points_column = {"points": result.points} if result.subtasks else {}
            yield {
                **instance_columns,
                **pass_rate(result).columns,
                "resolved": result.solved,
                **points_column,
            }
        else:
            failure_reason = failures.get(ask.key, {}).get("reason")
            yield {
                **instance_columns,
                "resolved": None,
                "error": str(failure_reason or unwritten_reasons.get(ask.key, "not judged")),
            }
    for label, reason in request_list.refused.items():
        yield {"instance_id": label, "resolved": False, "error": reason}


def _make_natural_sort_key(program_instance: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return a sort key with which apps_9 comes before apps_10."""
    letter_digit_pairs = re.findall(r"([^0-9]*)([0-9]*)", program_instance["instance_id"])
    return [
        *((letters, int(digits or 0)) for letters, digits in letter_digit_pairs),
        ("", program_instance.get("sample", 0)),
    ]
