"""A contest in a run's folder, for participants that call it, or for models that are asked for programs.

Every submission is a row of the run. A contest that was killed can be continued.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import msgspec

from ioi_eval.benchmarks import BenchmarkOptions
from ioi_eval.generate import Agent, AgentOptions, BudgetOptions, BudgetTracker, ModelOptions, ModelRequest
from ioi_eval.generate.agents import McpAccess
from ioi_eval.generate.model_requests import (
    Author,
    GeneratedReply,
    GenerationFailed,
    OutOfBudget,
    fingerprint,
    load_template,
    render_template,
)
from ioi_eval.generate.turns import Turns
from ioi_eval.judge.judge import Judge
from ioi_eval.model.errors import InputError, JudgeFailure, raise_first_error_of_group
from ioi_eval.model.languages import LANGUAGES, find_language
from ioi_eval.model.quoting import encode_terminal_safe_json
from ioi_eval.model.secret import Secret
from ioi_eval.model.text import format_count
from ioi_eval.model.values import Problem, Value, Verdict
from ioi_eval.plugins.contest.contest import (
    AT,
    PARTICIPANT,
    PROBLEM,
    Contest,
    Session,
    find_allowed_languages,
)
from ioi_eval.plugins.contest.rules import RefusedCall, Rules, ScoreboardRow, UnjudgedCall
from ioi_eval.reports import Results, Summary, write_reports
from ioi_eval.reports.records import WITH_FEEDBACK
from ioi_eval.rules.extraction import extract
from ioi_eval.runs.authors import (
    Asking,
    PromptRequests,
    author_name,
    make_author_settings,
    open_author,
    refuse_unjudgeable_programs,
)
from ioi_eval.runs.engine import AnyEngine, cancel_tasks
from ioi_eval.runs.events import OnEvent, ignore_event
from ioi_eval.runs.runner import make_active_submissions_event
from ioi_eval.runs.score import run_name
from ioi_eval.runs.sources import Source, language_of, make_no_problem_error, open_problem_source, source_name
from ioi_eval.runs.work import (
    RunOptions,
    RunSetup,
    Work,
    create_time_limits,
    make_fingerprint,
    open_journal,
    open_judge,
    write_problem_descriptions,
)
from ioi_eval.store import Store
from ioi_eval.store.files import (
    LineFile,
    create_folder_if_missing,
    read_value,
    remove_incomplete_line,
    replace,
)
from ioi_eval.store.folder import (
    CONTEST,
    IN_PROGRESS,
    RUNS,
    TURNS,
    ContestStart,
    Progress,
    decode_lines,
    read_rows,
    write_progress,
    write_stop_reasons,
)
from ioi_eval.store.result_log import ResultLog

# Seconds between two updates of progress.json, and resolution in seconds of the time in progress.json.
_PROGRESS_INTERVAL_S, _ALIVE_INTERVAL_S = 1.0, 10


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
    on_event: OnEvent = ignore_event,
    clock: Callable[[], float] = time.time,
    choose_language: Callable[[Problem], str] | None = None,
) -> AsyncIterator[Contest]:
    """Hold a contest in the folder `out`. A contest that is opened again continues with all its results.

        async with open_contest("packages", Rules(submissions=10), out="runs/cup") as contest:
            print(await contest.session("otter").submit("lanterns", code))

    After the contest the folder has the reports of a run, with participants instead of models.

    Args:
        source: The problems: a path, the name of a benchmark, or `Problems`.
        rules: The rules, which cannot be changed later.
        out: The run's folder.
        participants: Names of the participants. None means that any name may participate.
        choice: Options of the benchmark.
        engine: The engine.
        options: Options of the run.
        store: The store.
        on_event: Receives events.
        clock: Returns the time in seconds since 1970.
        choose_language: Returns the language of all programs for a problem, or "" for a problem without
            programs. None means that programs may be in any language that the rules allow.

    Raises:
        InputError: The folder has other rules, an option does not fit a contest, or the engine lacks a
            language.
    """
    # Accept compilers that differ from those of earlier results: a contest cannot wait until an old compiler
    # is available again. Each row names its compiler.
    checked_options = msgspec.structs.replace(_check_options(options or RunOptions()), accept_compiler=True)
    rules, setup = rules or Rules(), RunSetup.create(out, engine, checked_options, store, on_event)
    languages = find_allowed_languages(rules, participants)  # raises an InputError before anything is opened
    with open_problem_source(source, choice, setup.store) as problems:
        if not problems:
            raise make_no_problem_error(source)
        settings = {f"contest_{name}": value for name, value in msgspec.to_builtins(rules).items()}
        work = Work(
            problems=problems,
            submissions=(),
            fingerprint=make_fingerprint(
                "contest", problems, {**setup.result_settings, **settings, WITH_FEEDBACK: True}
            ),
            settings={"contest": source_name(source), **settings},
        )
        with open_journal(work, setup) as journal:
            if choose_language is None:  # with models, the stored replies contain all programs
                _refuse_changed_problems(journal)
            async with open_judge(setup, problems.packages) as (judge, _):
                if choose_language is None:
                    await judge.check_packages(problems.packages, languages)
                else:
                    languages_by_problem = (
                        (problem, choose_language(problem)) for problem in problems.values()
                    )
                    await refuse_unjudgeable_programs(
                        judge, problems.packages, [pair for pair in languages_by_problem if pair[1]]
                    )
                available_languages = await _find_available_languages(judge)
                if rules.languages and (missing_languages := sorted(languages - available_languages)):
                    raise InputError(
                        f"no compiler or interpreter is available for {', '.join(missing_languages)}",
                        field="languages",
                        remedy=f"Allow only available languages: {', '.join(sorted(available_languages))}",
                    )
                journal.start_run()
                pending_folder = _PendingSubmissionFiles(journal, problems)
                time_limits = create_time_limits(judge, setup, journal)
                with contextlib.closing(_ContestRowWriter(journal)) as ledger:
                    contest = Contest(
                        problems,
                        rules,
                        judge=judge,
                        participants=participants,
                        record=ledger,
                        pending=pending_folder,
                        add_time_limit=time_limits.with_limits,
                        languages=available_languages,
                        language=language_of(source),
                        started=_read_or_write_start_time(setup.folder, clock, participants or ()),
                        clock=clock,
                    )
                    ledger.restore(contest)
                    pending_folder.resume(contest)
                    # Describe the problems now, for reports during the contest. Afterwards describe them
                    # again for problems that were tried later.
                    describe_again = partial(
                        write_problem_descriptions,
                        work,
                        setup,
                        journal,
                        time_limits.with_limits,
                        includes_untried=True,
                    )
                    await describe_again()
                    try:
                        async with _write_progress(setup.folder, contest):
                            yield contest
                    finally:
                        await contest.close()
                        await describe_again()
        write_reports(setup.folder)


def _check_options(options: RunOptions) -> RunOptions:
    """Return the options. Raise InputError if an option does not fit a contest."""
    for field in ("reuse", "share"):
        if getattr(options, field) != getattr(RunOptions(), field):
            message = "a contest cannot use this option, because submissions are judged one by one"
            raise InputError(message, field=field, remedy="Remove the option")
    return options


async def _find_available_languages(judge: Judge) -> set[str]:
    toolchains = (await judge.capabilities()).toolchains
    return {language.name for language in LANGUAGES if language.command in toolchains}


def _refuse_changed_problems(journal: ResultLog) -> None:
    """Raise InputError if a problem with results has changed, because its submissions would be lost."""
    if lost_problems := [journal.read_row(key)["problem_id"] for key in journal.superseded]:
        raise InputError(
            f"{', '.join(sorted({*lost_problems}))}: changed or renamed since the contest began, so that"
            f" {format_count(len(lost_problems), 'submission')} would be lost",
            where=str(journal.folder),
            remedy="Restore the problems, choose another out=FOLDER, or discard all with fresh=True",
        )


@contextlib.asynccontextmanager
async def _write_progress(folder: Path, contest: Contest) -> AsyncIterator[None]:
    """Context manager: write the contest's progress for `ioi-eval view`, including that it is over."""
    last_written = Progress()

    def write(*, ended: bool = False) -> None:
        nonlocal last_written
        snapshot = make_active_submissions_event(() if ended else contest.under_way)
        progress = Progress(
            under_way=snapshot.number,
            building=snapshot.building,
            builds_waiting=snapshot.builds_waiting,
            submissions=snapshot.longest,
            at=snapshot.at // _ALIVE_INTERVAL_S * _ALIVE_INTERVAL_S,
            ended=ended,
        )
        if progress != last_written:
            last_written = progress
            with contextlib.suppress(InputError):  # a full disk must not stop the contest
                write_progress(folder, progress)

    async def write_regularly() -> None:
        while True:
            write()
            await asyncio.sleep(_PROGRESS_INTERVAL_S)

    writer_task = asyncio.create_task(write_regularly())
    try:
        yield
    finally:
        await cancel_tasks(writer_task)
        write(ended=True)


class _PendingSubmissionFiles:
    """The folder `in-progress`, with a file for each submission that is being judged."""

    def __init__(self, journal: ResultLog, problems: Collection[str]) -> None:
        """Read the files. Raise InputError if a file's problem is not in the contest any more."""
        self._folder = journal.folder / IN_PROGRESS
        self._rows = [
            row
            for path in self._folder.glob("[!.]*.json")
            if (row := _read_pending_submission(path, journal, problems))
        ]

    def resume(self, contest: Contest) -> None:
        """Let a contest judge the stored submissions, the oldest first."""
        create_folder_if_missing(self._folder)
        for row in sorted(self._rows, key=lambda row: float(row[AT])):
            contest.resume(row)

    def add(self, row: Mapping[str, Any]) -> None:
        replace(self._make_file_path(row), [encode_terminal_safe_json(row)], durable=False)

    def remove(self, row: Mapping[str, Any]) -> None:
        # The submission already has a result, and the next start removes the file.
        with contextlib.suppress(OSError):
            self._make_file_path(row).unlink()

    def _make_file_path(self, row: Mapping[str, Any]) -> Path:
        """Return the path of a submission's file. A participant has up to one file for each problem."""
        name, problem = row[PARTICIPANT], row[PROBLEM]
        digest = hashlib.sha256(f"{name}/{problem}".encode()).hexdigest()[:16]
        # Shorten the name, because a file name has at most 255 bytes.
        return self._folder / f"{name[:32]}-{digest}.json"


def _read_pending_submission(
    path: Path, journal: ResultLog, problems: Collection[str]
) -> dict[str, Any] | None:
    """Return the submission in a file. If it has been judged, remove the file and return None."""
    remedy = "Remove the file, and the submission with it"
    row = read_value(path, dict[str, Any], "is not a submission", remedy)
    if row is None or row["key"] in journal.done:
        path.unlink(missing_ok=True)
        return None
    if row[PROBLEM] not in problems:
        message = f"the problem {row[PROBLEM]} is not in the contest any more, which would lose a submission"
        remedy = "Restore the problem, or remove the file and with it the submission"
        raise InputError(message, where=str(path), remedy=remedy)
    return row


class _ContestRowWriter:
    """Stores the rows of results, failures and runs in the run's folder, before calls return."""

    def __init__(self, journal: ResultLog) -> None:
        self._journal, path = journal, journal.folder / RUNS
        remove_incomplete_line(path)
        self._runs = LineFile(path)

    def save_result(self, row: Mapping[str, Any]) -> None:
        self._journal.record_result(row)

    def save_failure(self, row: Mapping[str, Any]) -> None:
        self._journal.record_failure(row)

    def save_run(self, row: Mapping[str, Any]) -> None:
        self._runs.append(msgspec.json.encode(row))

    def restore(self, contest: Contest) -> None:
        for row in read_rows(self._journal.folder):
            contest.restore(row)
        for _, row in decode_lines(self._journal.folder / RUNS, dict[str, Any]):
            contest.restore_run(row)

    def close(self) -> None:
        self._runs.close()


def _read_or_write_start_time(
    folder: Path, clock: Callable[[], float], participants: Collection[str]
) -> float:
    """Return the contest's start time: from contest.json, or now. Write it and the participants there."""
    path, remedy = folder / CONTEST, "Restore the file, or give fresh=True to start over"
    stored_start = read_value(path, ContestStart, "does not contain the contest's start", remedy)
    start_time = clock() if stored_start is None else stored_start.started
    contest_start = ContestStart(started=start_time, participants=(*participants,))
    if contest_start != stored_start:
        replace(path, [encode_terminal_safe_json(contest_start), b"\n"])
    return contest_start.started


# --- models in a contest: each reply's program is submitted, and the next message contains its result --


_TEMPLATE = "_feedback.md.j2"
_UNUSABLE_CHARACTERS = re.compile(r"[^A-Za-z0-9_.@-]+")
_MAX_NAME = 56  # maximum characters of a participant's name that is derived from a model's name
# Instructions for an agent, after the statement.
_AGENT_INSTRUCTIONS = """

You may submit programs while you work, and get their results: the MCP server `contest` of the file
`.mcp.json` (also in the variables IOI_EVAL_MCP_URL and IOI_EVAL_MCP_TOKEN) has the tools.
The problem is called `{problem}`.
{rules}
"""
# A context manager that serves a contest to the participants with these tokens, and yields the contest's
# address.
Serving = Callable[[Contest, Mapping[str, str]], contextlib.AbstractAsyncContextManager[str]]


class ContestOutcome(Value):
    """The outcome of a contest with models as participants."""

    out: str  # path of the run's folder
    scoreboard: tuple[ScoreboardRow, ...]
    summary: Summary
    unwritten: Mapping[str, str]  # reasons why models stopped early, by participant and problem
    # Keys of `unwritten` whose problem cannot be judged, so that no call requests replies for the problem.
    unasked: tuple[str, ...] = ()


async def compete(
    problems: Source,
    author: ModelOptions | AgentOptions,
    turns: Turns | None = None,
    rules: Rules | None = None,
    *,
    out: str | Path | None = None,
    key: str = "",
    budget: BudgetOptions | None = None,
    choice: BenchmarkOptions | None = None,
    asking: Asking | None = None,
    engine: AnyEngine | None = None,
    options: RunOptions | None = None,
    store: Store | None = None,
    on_event: OnEvent = ignore_event,
    serving: Serving | None = None,
) -> ContestOutcome:
    """Run a contest with a model or an agent. Another call continues where the last call stopped.

        outcome = await compete("packages", ModelOptions(name="otter", base_url=URL), Turns(number=5))
        print(outcome.scoreboard)

    A model works on a problem until it has full marks or its turns are used up. Each sample is a separate
    participant. Replies are stored in turns.jsonl, and no reply is requested twice. An agent works once on
    each problem and submits over MCP meanwhile. Finally, the solution in its folder is submitted.

    Args:
        problems: The problems: a path, the name of a benchmark, or `Problems`.
        author: The model or the agent.
        turns: Number of turns, and the template of the feedback.
        rules: The rules.
        out: The run's folder.
        key: The model's API key.
        budget: Limits of tokens and costs.
        choice: Options of the benchmark.
        asking: Options of requests to the author.
        engine: The engine.
        options: Options of the run.
        store: The store.
        on_event: Receives events.
        serving: Serves the contest to agents: `ioi_eval.plugins.contest.mcp.serving`.
    """
    asking_options, turn_options, secret_key = asking or Asking(), turns or Turns(), Secret(key)
    if isinstance(author, ModelOptions):
        # Imported here, because the import loads an HTTP client.
        from ioi_eval.generate.chat import check_model_options

        check_model_options(author, secret_key)
    full_name = author_name(author)
    folder = Path(out or Path("runs") / f"{run_name(source_name(problems))}-{run_name(full_name)}-turns")
    # Shorten a long name at its start, because names of checkpoints differ in their last characters.
    base_name = _UNUSABLE_CHARACTERS.sub("-", full_name)[-_MAX_NAME:].lstrip("_.@-") or "model"
    participant_names = (
        [base_name]
        if asking_options.samples == 1
        else [f"{base_name}.{number + 1}" for number in range(asking_options.samples)]
    )
    requests = PromptRequests(problems, asking_options, for_agent=isinstance(author, AgentOptions))
    contest_opening = open_contest(
        problems,
        rules or Rules(submissions=None if isinstance(author, ModelOptions) else turn_options.number),
        out=folder,
        participants=participant_names,
        choice=choice,
        engine=engine,
        options=options,
        store=store,
        on_event=on_event,
        choose_language=requests.choose_judgeable_language if isinstance(author, ModelOptions) else None,
    )
    unwritten: dict[str, str] = {}
    feedback_template = load_template(turn_options.template, _TEMPLATE)
    async with contest_opening as contest:
        budget_tracker = BudgetTracker(budget)
        max_turns = turn_options.number if isinstance(author, ModelOptions) else 1
        is_agent = isinstance(author, AgentOptions)
        refusals = {
            label: requests.refusal_reason(problem, can_submit_files=is_agent)
            for label, problem in contest.problems.items()
        }
        author_settings_hash = fingerprint((), full_name, make_author_settings(author))
        with contextlib.closing(
            _ModelReplyLog(folder / TURNS, budget_tracker, participant_names, max_turns, author_settings_hash)
        ) as reply_log:
            slots = asyncio.Semaphore(asking_options.concurrency)
            async with _open_program_author(
                author, folder, participant_names, contest, serving, budget_tracker, secret_key
            ) as opened_author:
                problem_works = [
                    _ProblemAttempt(
                        contest,
                        requests,
                        label,
                        number,
                        max_turns,
                        opened_author,
                        reply_log,
                        feedback_template,
                        refusals[label],
                    )
                    for number in range(len(participant_names))
                    for label in contest.problems
                ]
                with raise_first_error_of_group(InputError):
                    async with asyncio.TaskGroup() as group:
                        for problem_work in problem_works:
                            session = contest.session(participant_names[problem_work.sample])
                            group.create_task(problem_work.run(session, slots, unwritten))
        scoreboard = contest.scoreboard()
        write_stop_reasons(folder, unwritten)  # write these reasons first, because the report shows them
    return ContestOutcome(
        out=str(folder),
        scoreboard=scoreboard,
        summary=Results.open(folder).summary(),
        unwritten=unwritten,
        unasked=tuple(key for key in unwritten if refusals[key.partition("/")[2]]),
    )


@contextlib.asynccontextmanager
async def _open_program_author(
    author: ModelOptions | AgentOptions,
    folder: Path,
    participant_names: Sequence[str],
    contest: Contest,
    open_contest_server: Serving | None,
    budget_tracker: BudgetTracker,
    key: Secret,
) -> AsyncIterator[Author]:
    if isinstance(author, ModelOptions):
        async with open_author(author, folder, budget_tracker, key) as model:
            yield model
        return
    if open_contest_server is None:
        remedy = "Pass serving=ioi_eval.plugins.contest.mcp.serving"
        raise InputError("an agent needs a server for the contest", field="serving", remedy=remedy)
    tokens = {name: secrets.token_urlsafe(24) for name in participant_names}
    async with open_contest_server(contest, tokens) as address:
        access = McpAccess(address=address, tokens=tuple(tokens.values()))
        async with open_author(author, folder, budget_tracker, key, access) as agent:
            yield agent


class _ProblemAttempt(NamedTuple):
    """The work of a model or an agent on a problem."""

    contest: Contest
    requests: PromptRequests
    label: str
    sample: int
    turns: int
    author: Author
    reply_log: _ModelReplyLog
    feedback: tuple[str, jinja2.Template]  # name and template of the message to a model after a submission
    # Reason why no program can be judged, so that no program is requested; empty if programs can be judged.
    refusal: str

    async def run(self, session: Session, slots: asyncio.Semaphore, failure_reasons: dict[str, str]) -> None:
        async with slots:
            try:
                await self._solve(session)
            except (GenerationFailed, OutOfBudget, UnjudgedCall, RefusedCall, JudgeFailure) as error:
                failure_reasons[f"{session.participant}/{self.label}"] = str(error)

    async def _solve(self, session: Session) -> None:
        problem = self.contest.problems[self.label]
        is_agent = isinstance(self.author, Agent)
        language = self.requests.choose_language(problem).language
        if self.refusal:
            if problem.unusable:
                # The reason why the call was not judged is in failures.jsonl.
                with contextlib.suppress(UnjudgedCall):
                    await session.end(self.label, language)
            raise JudgeFailure(self.refusal, final=True)
        prompt = self.requests.make_prompt(problem, language)
        if is_agent:
            prompt += _AGENT_INSTRUCTIONS.format(
                problem=self.label, rules=self.contest.rules.make_rules_text()
            )
        conversation, submission_numbers = tuple[tuple[str, str], ...](), set[int]()
        for turn in range(1, self.turns + 1):
            key = f"{session.participant}/{self.label}#{turn}"
            prompt = self.reply_log.find_prompt(key, prompt, is_first=turn == 1)
            request = ModelRequest(
                key=key,
                problem_id=self.label,
                prompt=prompt,
                language=language,
                number=self.sample,
                earlier=conversation,
            )
            reply = await self.reply_log.get_reply(request, self.author)
            code = extract(reply.generation, find_language(language)) if reply.code is None else reply.code
            submission_reply = None
            if is_agent:
                # Wait for submissions whose results the agent did not await, because they count first.
                await session.settle()
            if is_agent and any(
                state.id == self.label and state.submissions_left == 0 for state in session.problems()
            ):
                return  # the agent has used up its submissions, so its solution cannot be submitted
            if code is not None and code.strip():
                submission_reply = await session.submit(
                    self.label, code, reply.language or language, cost=reply.cost
                )
                # A program that an earlier call with the same folder submitted does not count as a
                # repetition.
                submission_reply = msgspec.structs.replace(
                    submission_reply, repeats=submission_reply.number in submission_numbers
                )
                submission_numbers.add(submission_reply.number)
                shows_points = submission_reply.best is not None
                if submission_reply.verdict is Verdict.AC or (
                    shows_points and self.contest.has_solved(session.participant, self.label)
                ):
                    return
            conversation += (("user", prompt), ("assistant", reply.generation))
            template_values = {
                "told": None if submission_reply is None else msgspec.to_builtins(submission_reply)
            }
            template_values |= {"turn": turn, "turns": self.turns, "language": language}
            template_name, template = self.feedback
            prompt = render_template(template, template_values, template_name)
        # Without any submission, the problem would be missing in tables.
        await session.end(self.label, language)


class _ModelReplyLog:
    """The replies in turns.jsonl, by their requests.

    Raises InputError if replies of `participants` come from an author or settings with another hash than
    `author_settings_hash`, or from a turn after `max_turns`. Participants that are not named may have
    replies.
    """

    def __init__(
        self,
        path: Path,
        budget: BudgetTracker,
        participants: Collection[str],
        max_turns: int,
        author_settings_hash: str,
    ) -> None:
        self._path, self._author_hash, self._replies = (
            path,
            author_settings_hash,
            dict[str, tuple[str, GeneratedReply]](),
        )
        remove_incomplete_line(path)
        for _, row in decode_lines(path, dict[str, Any]):
            try:
                reply = msgspec.convert(row["reply"], GeneratedReply)
                key, prompt, stored_hash = row["key"], row["prompt"], row["asked"]
                participant, turn = key.partition("/")[0], int(key.rpartition("#")[2])
            except (KeyError, ValueError, msgspec.ValidationError) as error:
                message = f"a line is not a model's reply: {error}"
                raise InputError(message, where=str(path), remedy="Remove this line from the file") from error
            if participant in participants and stored_hash != author_settings_hash:
                raise self._make_mismatch_error("replies of a model with another name or other settings")
            if participant in participants and turn > max_turns:
                raise self._make_mismatch_error(f"replies of more than {max_turns} turns")
            self._replies[key] = prompt, reply
            budget.add_usage_and_get_cost(reply.usage)
        self._reply_file = LineFile(path)

    def _make_mismatch_error(self, unusable_replies: str) -> InputError:
        remedy = "Choose another out=FOLDER, or discard the replies with fresh=True"
        return InputError(f"the file contains {unusable_replies}", where=str(self._path), remedy=remedy)

    def find_prompt(self, key: str, new_prompt: str, *, is_first: bool) -> str:
        """Return the message that a stored reply answers, else `new_prompt`.

        Raise InputError if they differ.
        """
        prompt = self._replies[key][0] if key in self._replies else new_prompt
        if is_first and prompt != new_prompt:
            raise self._make_mismatch_error("replies to prompts that have changed since")
        return prompt

    async def get_reply(self, request: ModelRequest, author: Author) -> GeneratedReply:
        """Return the stored reply to a request, or request a new reply and store it."""
        if request.key not in self._replies:
            reply = await author.write(request)
            row = {
                "key": request.key,
                "asked": self._author_hash,
                "prompt": request.prompt,
                "reply": reply,
            }
            self._reply_file.append(msgspec.json.encode(row))
            self._replies[request.key] = request.prompt, reply
        return self._replies[request.key][1]

    def close(self) -> None:
        self._reply_file.close()
