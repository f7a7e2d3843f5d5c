"""A contest in a run's folder: for whoever comes, or for models, to whom is told what their programs got.

Every submission is a row of the run, and a contest that was killed goes on.
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
from ioi_eval.generate import Agent, AgentOptions, Ask, BudgetOptions, ModelOptions, Spending
from ioi_eval.generate.agents import Access
from ioi_eval.generate.asks import (
    Author,
    GenerationFailed,
    OutOfBudget,
    Text,
    filled,
    fingerprint,
    open_template,
)
from ioi_eval.generate.turns import Turns
from ioi_eval.judge.judge import Judge
from ioi_eval.model.errors import InputError, JudgeFailure, ungrouped
from ioi_eval.model.languages import LANGUAGES, find
from ioi_eval.model.quoting import as_json
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import Problem, Value, Verdict
from ioi_eval.plugins.contest.contest import AT, PARTICIPANT, PROBLEM, Contest, Session, languages_of
from ioi_eval.plugins.contest.rules import RefusedCall, Rules, ScoreboardRow, UnjudgedCall
from ioi_eval.reports import Results, Summary, write_reports
from ioi_eval.reports.document import counted
from ioi_eval.reports.records import WITH_FEEDBACK
from ioi_eval.rules.extraction import extract
from ioi_eval.runs.authors import Asking, Requests, author_name, opened_author, refuse_lacking, settings_of
from ioi_eval.runs.engine import AnyEngine, stop
from ioi_eval.runs.events import OnEvent, ignore
from ioi_eval.runs.runner import submissions_now
from ioi_eval.runs.score import run_name
from ioi_eval.runs.sources import Source, language_of, no_problem, opened, source_name
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
from ioi_eval.store.files import Lines, cut_torn_line, make_folder, read_value, replace
from ioi_eval.store.folder import (
    CONTEST,
    IN_PROGRESS,
    RUNS,
    TURNS,
    ContestStart,
    Progress,
    decoded,
    read_rows,
    write_progress,
    write_stopped,
)
from ioi_eval.store.result_log import ResultLog

_TELLING, _ALIVE = 1.0, 10  # seconds between two looks at what is judged, and two signs of life


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
    spoken: Callable[[Problem], str] | None = None,
) -> AsyncIterator[Contest]:
    """Hold a contest in the folder `out`; opened again, it goes on with all that was answered.

        async with open_contest("packages", Rules(submissions=10), out="runs/cup") as contest:
            print(await contest.session("otter").submit("lanterns", code))

    The rules of a contest that has begun cannot be changed: InputError. At the end the folder has the
    reports of any run, with participants in the place of models.

    `spoken` returns the language of all programs for a problem, or "" where there will be none; without it
    they may be in all that the rules allow. InputError where the engine lacks what they may count on.
    """
    # A contest cannot wait for an old compiler to come back: each row names its own.
    mixing = msgspec.structs.replace(_heeded(options or RunOptions()), accept_compiler=True)
    rules, setup = rules or Rules(), RunSetup.of(out, engine, mixing, store, on_event)
    languages = languages_of(rules, participants)  # before anything is opened
    with opened(source, choice, setup.store) as problems:
        if not problems:
            raise no_problem(source)
        settings = {f"contest_{name}": value for name, value in msgspec.to_builtins(rules).items()}
        work = Work(
            problems=problems,
            submissions=(),
            made_of=fingerprint_of("contest", problems, {**setup.matter, **settings, WITH_FEEDBACK: True}),
            settings={"contest": source_name(source), **settings},
        )
        with journal_of(work, setup) as journal:
            if spoken is None:  # else replies are kept, whose programs come again
                _refuse_to_lose(journal)
            async with judging(setup, problems.packages) as (judge, _):
                if spoken is None:
                    await judge.keep_promises(problems.packages, languages)
                else:
                    pairs = ((problem, spoken(problem)) for problem in problems.values())
                    await refuse_lacking(judge, problems.packages, [pair for pair in pairs if pair[1]])
                there = await _languages_there(judge)
                if rules.languages and (lacking := sorted(languages - there)):
                    what, remedy = f"{', '.join(lacking)}: not here", "Allow languages that are here"
                    raise InputError(what, field="languages", remedy=f"{remedy}: {', '.join(sorted(there))}")
                journal.begin()
                begun = _PendingFolder(journal, problems)
                limits = time_limits(judge, setup, journal)
                with contextlib.closing(_Ledger(journal)) as ledger:
                    contest = Contest(
                        problems,
                        rules,
                        judge=judge,
                        participants=participants,
                        record=ledger,
                        begun=begun,
                        limited=limits.limited,
                        languages=there,
                        language=language_of(source),
                        started=_begun(setup.folder, clock, participants or ()),
                        clock=clock,
                    )
                    ledger.restore(contest)
                    begun.resume(contest)
                    # For reports that are asked for meanwhile, and once more for what was tried since.
                    describe = partial(describe_problems, work, setup, journal, limits.limited, untried=True)
                    await describe()
                    try:
                        async with _showing(setup.folder, contest):
                            yield contest
                    finally:
                        await contest.close()
                        await describe()
        write_reports(setup.folder)


def _heeded(options: RunOptions) -> RunOptions:
    """Return the options. InputError for those that a contest cannot follow."""
    for field in ("reuse", "share"):
        if getattr(options, field) != getattr(RunOptions(), field):
            what = "submissions that are answered one by one do not go with it"
            raise InputError(what, field=field, remedy="Leave it out")
    return options


async def _languages_there(judge: Judge) -> set[str]:
    toolchains = (await judge.capabilities()).toolchains
    return {language.name for language in LANGUAGES if language.command in toolchains}


def _refuse_to_lose(journal: ResultLog) -> None:
    """Raise InputError where results are of problems that are others now: nobody would submit again."""
    if lost := [journal.row(key)["problem_id"] for key in journal.superseded]:
        raise InputError(
            f"{', '.join(sorted({*lost}))}: changed, or called otherwise, since the contest began, "
            f"which would lose {counted(len(lost), 'submission')}",
            where=str(journal.folder),
            remedy="Put the problems back, choose another out=FOLDER, or discard all with fresh=True",
        )


@contextlib.asynccontextmanager
async def _showing(folder: Path, contest: Contest) -> AsyncIterator[None]:
    """Keep what `ioi-eval view` shows of a run that goes on, and that it has ended. Nothing else reads it."""
    said = Progress()

    def say(*, ended: bool = False) -> None:
        nonlocal said
        now = submissions_now(() if ended else contest.under_way)
        new = Progress(
            under_way=now.number,
            building=now.building,
            builds_waiting=now.builds_waiting,
            submissions=now.longest,
            at=now.at // _ALIVE * _ALIVE,
            ended=ended,
        )
        if new != said:
            said = new
            with contextlib.suppress(InputError):  # a full disk ends no contest
                write_progress(folder, new)

    async def go_on() -> None:
        while True:
            say()
            await asyncio.sleep(_TELLING)

    telling = asyncio.create_task(go_on())
    try:
        yield
    finally:
        await stop(telling)
        say(ended=True)


class _PendingFolder:
    """A folder with a file for each submission that is being judged."""

    def __init__(self, journal: ResultLog, problems: Collection[str]) -> None:
        """Raise InputError for a file of no use: it is of a problem that is not in the contest any more."""
        self._folder = journal.folder / IN_PROGRESS
        self._rows = [
            row for path in self._folder.glob("[!.]*.json") if (row := _begun_row(path, journal, problems))
        ]

    def resume(self, contest: Contest) -> None:
        """Let a contest judge what it had begun when it was stopped, the oldest first."""
        make_folder(self._folder)
        for row in sorted(self._rows, key=lambda row: float(row[AT])):
            contest.resume(row)

    def add(self, row: Mapping[str, Any]) -> None:
        replace(self._path(row), [as_json(row)], durable=False)

    def remove(self, row: Mapping[str, Any]) -> None:
        with contextlib.suppress(OSError):  # it has a result: the file is removed when it is read again
            self._path(row).unlink()

    def _path(self, row: Mapping[str, Any]) -> Path:
        """Return the file of a submission: a participant has at most one for a problem."""
        name, problem = row[PARTICIPANT], row[PROBLEM]
        digest = hashlib.sha256(f"{name}/{problem}".encode()).hexdigest()[:16]
        return self._folder / f"{name[:32]}-{digest}.json"  # also of a long name at most 255 bytes


def _begun_row(path: Path, journal: ResultLog, problems: Collection[str]) -> dict[str, Any] | None:
    """Return the submission of a file. None if it has been judged: then the file is removed."""
    remedy = "Remove the file, and the submission with it"
    row = read_value(path, dict[str, Any], "is not a submission", remedy)
    if row is None or row["key"] in journal.done:
        path.unlink(missing_ok=True)
        return None
    if row[PROBLEM] not in problems:
        what = f"the problem {row[PROBLEM]} is not in the contest any more, which would lose a submission"
        remedy = "Put the problem back, or remove the file, and the submission with it"
        raise InputError(what, where=str(path), remedy=remedy)
    return row


class _Ledger:
    """Writes what happened into the run's folder, before anybody is answered."""

    def __init__(self, journal: ResultLog) -> None:
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


def _begun(folder: Path, clock: Callable[[], float], participants: Collection[str]) -> float:
    """Return when the contest began: now, unless the folder says it. Note who takes part, as of now."""
    path, remedy = folder / CONTEST, "Restore the file, or give fresh=True to start over"
    begun = read_value(path, ContestStart, "does not say when the contest began", remedy)
    known = ContestStart(started=clock() if begun is None else begun.started, participants=(*participants,))
    if known != begun:
        replace(path, [as_json(known), b"\n"])
    return known.started


# --- models in a contest: the program of each reply is submitted, and what is told of it comes next ----


_TEMPLATE = "_feedback.md.j2"
_ODD = re.compile(r"[^A-Za-z0-9_.@-]+")
_LONGEST_NAME = 56
# Beside the statement, for an agent.
_TAKING_PART = """

You may submit programs while you work, and are told what they are worth: the MCP server `contest` of the
file `.mcp.json` (also in the variables IOI_EVAL_MCP_URL and IOI_EVAL_MCP_TOKEN) has the tools.
The problem is called `{problem}`.
{rules}
"""
# Serves a contest to participants with these tokens, and yields the address.
Serving = Callable[[Contest, Mapping[str, str]], contextlib.AbstractAsyncContextManager[str]]


class ContestOutcome(Value):
    """A contest that models took part in."""

    out: str  # the run's folder
    scoreboard: tuple[ScoreboardRow, ...]
    summary: Summary
    unwritten: Mapping[str, str]  # why a model stopped early, by participant and problem
    unasked: tuple[str, ...] = ()  # those of them that no call asks for


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
    on_event: OnEvent = ignore,
    serving: Serving | None = None,
) -> ContestOutcome:
    """Let a model take part in a contest; called again, go on where the last call stopped.

        done = await compete("packages", ModelOptions(name="otter", base_url=URL), Turns(number=5))
        print(done.scoreboard)

    A model goes on with a problem until it has full marks, or has had its turns. Each sample is a participant
    of its own. Replies are kept in turns.jsonl, and none is asked for twice. An agent works once on each
    problem, and submits meanwhile over MCP: `serving` is `ioi_eval.plugins.contest.mcp.serving`. The solution
    that it leaves is submitted, too.
    """
    wanted, allowed, secret = asking or Asking(), turns or Turns(), Secret(key)
    if isinstance(author, ModelOptions):
        from ioi_eval.generate.chat import check_model  # loads what talks to servers

        check_model(author, secret)
    called = author_name(author)
    folder = Path(out or Path("runs") / f"{run_name(source_name(problems))}-{run_name(called)}-turns")
    # The end of a long name: checkpoints differ there.
    name = _ODD.sub("-", called)[-_LONGEST_NAME:].lstrip("_.@-") or "model"
    names = [name] if wanted.samples == 1 else [f"{name}.{number + 1}" for number in range(wanted.samples)]
    requests = Requests(problems, wanted, agent=isinstance(author, AgentOptions))
    holding = open_contest(
        problems,
        rules or Rules(submissions=None if isinstance(author, ModelOptions) else allowed.number),
        out=folder,
        participants=names,
        choice=choice,
        engine=engine,
        options=options,
        store=store,
        on_event=on_event,
        spoken=requests.spoken if isinstance(author, ModelOptions) else None,
    )
    unwritten: dict[str, str] = {}
    feedback = open_template(allowed.template, _TEMPLATE)
    async with holding as contest:
        spending = Spending(budget)
        number_of = allowed.number if isinstance(author, ModelOptions) else 1
        agent = isinstance(author, AgentOptions)
        refused = {
            label: requests.refusal(problem, files=agent) for label, problem in contest.problems.items()
        }
        asked = fingerprint((), called, settings_of(author))
        with contextlib.closing(_Kept(folder / TURNS, spending, names, number_of, asked)) as kept:
            room = asyncio.Semaphore(wanted.concurrency)
            async with _writing(author, folder, names, contest, serving, spending, secret) as writer:
                talks = [
                    _Competing(
                        contest, requests, label, number, number_of, writer, kept, feedback, refused[label]
                    )
                    for number in range(len(names))
                    for label in contest.problems
                ]
                with ungrouped(InputError):
                    async with asyncio.TaskGroup() as group:
                        for talk in talks:
                            session = contest.session(names[talk.sample])
                            group.create_task(talk.go(session, room, unwritten))
        scoreboard = contest.scoreboard()
        write_stopped(folder, unwritten)  # for the report, which is written now
    return ContestOutcome(
        out=str(folder),
        scoreboard=scoreboard,
        summary=Results.open(folder).summary(),
        unwritten=unwritten,
        unasked=tuple(key for key in unwritten if refused[key.partition("/")[2]]),
    )


@contextlib.asynccontextmanager
async def _writing(
    author: ModelOptions | AgentOptions,
    folder: Path,
    names: Sequence[str],
    contest: Contest,
    serving: Serving | None,
    spending: Spending,
    key: Secret,
) -> AsyncIterator[Author]:
    if isinstance(author, ModelOptions):
        async with opened_author(author, folder, spending, key) as model:
            yield model
        return
    if serving is None:
        remedy = "Give serving=ioi_eval.plugins.contest.mcp.serving"
        raise InputError("nothing serves the contest to agents", field="serving", remedy=remedy)
    tokens = {name: secrets.token_urlsafe(24) for name in names}
    async with serving(contest, tokens) as address:
        access = Access(address=address, tokens=tuple(tokens.values()))
        async with opened_author(author, folder, spending, key, access) as agent:
            yield agent


class _Competing(NamedTuple):
    """A model or an agent at one problem."""

    contest: Contest
    requests: Requests
    label: str
    sample: int
    turns: int
    author: Author
    kept: _Kept
    feedback: tuple[str, jinja2.Template]  # by its name; of the message after a submission
    refused: str  # why no program could be judged, so that nobody is asked for one

    async def go(self, session: Session, room: asyncio.Semaphore, unwritten: dict[str, str]) -> None:
        async with room:
            try:
                await self._talk(session)
            except (GenerationFailed, OutOfBudget, UnjudgedCall, RefusedCall, JudgeFailure) as error:
                unwritten[f"{session.participant}/{self.label}"] = str(error)

    async def _talk(self, session: Session) -> None:
        problem = self.contest.problems[self.label]
        agent = isinstance(self.author, Agent)
        spoken = self.requests.language(problem).language
        if self.refused:
            if problem.unusable:
                with contextlib.suppress(UnjudgedCall):  # it is among the failures then
                    await session.end(self.label, spoken)
            raise JudgeFailure(self.refused, final=True)
        prompt = self.requests.prompt(problem, spoken)
        if agent:
            prompt += _TAKING_PART.format(problem=self.label, rules=self.contest.rules.told())
        earlier, seen = tuple[tuple[str, str], ...](), set[int]()
        for turn in range(1, self.turns + 1):
            key = f"{session.participant}/{self.label}#{turn}"
            prompt = self.kept.prompt(key, prompt, first=turn == 1)
            ask = Ask(
                key=key,
                problem_id=self.label,
                prompt=prompt,
                language=spoken,
                number=self.sample,
                earlier=earlier,
            )
            reply = await self.kept.written(ask, self.author)
            code = extract(reply.generation, find(spoken)) if reply.code is None else reply.code
            answer = None
            if agent:
                await session.settle()  # what the agent did not wait for counts first
            if agent and any(
                place.id == self.label and place.submissions_left == 0 for place in session.problems()
            ):
                return  # all are used up: the program that is left is none of them, or was one
            if code is not None and code.strip():
                answer = await session.submit(self.label, code, reply.language or spoken, cost=reply.cost)
                # Not of an earlier call.
                answer = msgspec.structs.replace(answer, repeats=answer.number in seen)
                seen.add(answer.number)
                knows = answer.best is not None
                if answer.verdict is Verdict.AC or (
                    knows and self.contest.solved(session.participant, self.label)
                ):
                    return
            earlier += (("user", prompt), ("assistant", reply.generation))
            words = {"told": None if answer is None else msgspec.to_builtins(answer)}
            words |= {"turn": turn, "turns": self.turns, "language": spoken}
            where, template = self.feedback
            prompt = filled(template, words, where)
        await session.end(self.label, spoken)  # a problem without any program would be in no table


class _Kept:
    """Replies on disk, by the request they answer.

    Those of the participants `names` are of the author and the settings that `asked` is a fingerprint of, and
    of no turn after the last one: InputError where they are not. Others may have taken part before.
    """

    def __init__(self, path: Path, budget: Spending, names: Collection[str], turns: int, asked: str) -> None:
        self._path, self._asked, self._replies = path, asked, dict[str, tuple[str, Text]]()
        cut_torn_line(path)
        for _, row in decoded(path, dict[str, Any]):
            try:
                reply = msgspec.convert(row["reply"], Text)
                key, prompt, of = row["key"], row["prompt"], row["asked"]
                participant, turn = key.partition("/")[0], int(key.rpartition("#")[2])
            except (KeyError, ValueError, msgspec.ValidationError) as error:
                problem = f"a line is no reply of a model: {error}"
                raise InputError(problem, where=str(path), remedy="Take the line out") from error
            if participant in names and of != asked:
                raise self._other("of another model or other settings")
            if participant in names and turn > turns:
                raise self._other(f"of more than {turns} turns")
            self._replies[key] = prompt, reply
            budget.spend(reply.usage)
        self._file = Lines(path)

    def _other(self, what: str) -> InputError:
        remedy = "Choose another out=FOLDER, or discard them with fresh=True"
        return InputError(f"holds replies {what}", where=str(self._path), remedy=remedy)

    def prompt(self, key: str, words: str, *, first: bool) -> str:
        """Return the message that a kept reply answers, else these words. InputError where it was another."""
        prompt = self._replies[key][0] if key in self._replies else words
        if first and prompt != words:
            raise self._other("to other prompts")
        return prompt

    async def written(self, ask: Ask, author: Author) -> Text:
        """Return a reply: the one that is kept, else a new one."""
        if ask.key not in self._replies:
            reply = await author.write(ask)
            row = {"key": ask.key, "asked": self._asked, "prompt": ask.prompt, "reply": reply}
            self._file.append(msgspec.json.encode(row))
            self._replies[ask.key] = ask.prompt, reply
        return self._replies[ask.key][1]

    def close(self) -> None:
        self._file.close()
