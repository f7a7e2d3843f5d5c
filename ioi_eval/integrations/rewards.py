"""Rewards: a completion is judged like any submission, then turned into one number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Annotated, Any, NamedTuple, Protocol

import msgspec

from ioi_eval.errors import CasesError, InputError, IoiEvalError
from ioi_eval.integrations.misses import note, together
from ioi_eval.integrations.runtime import Runtime, Setup, runtime
from ioi_eval.model.options import CliOption
from ioi_eval.models import (
    Blob,
    Checker,
    CheckerKind,
    Limits,
    Problem,
    ScoreType,
    Submission,
    SubmissionResult,
    Subtask,
    Value,
    Verdict,
)
from ioi_eval.rules.extraction import ANSWERS
from ioi_eval.rules.extraction import text_of as text_of_parts
from ioi_eval.scoring import (
    PUBLIC_AND_PRIVATE,
    Deduplication,
    Language,
    choose_language,
    extract,
    find_language,
    json_value,
    pass_rate,
    shallow,
    with_tests,
    worst,
)


class RewardMode(StrEnum):
    PASS_FAIL = "pass_fail"  # 1 or 0
    PARTIAL = "partial"  # the share of the tests, or of the points
    WEIGHTED_SUM = "weighted_sum"  # 1 or 0, and a tenth of the share


class RewardOptions(Value):
    """Rewards are in [0, 1] unless these shape them; what they say of broken code holds in every mode."""

    mode: Annotated[RewardMode, CliOption("How results become a reward.")] = RewardMode.PARTIAL
    no_code: Annotated[float, CliOption("The reward of a completion without code.")] = 0.0
    no_compile: Annotated[float, CliOption("The reward of code that does not compile.")] = 0.0
    partial_weight: Annotated[float, CliOption("The weight of the share in `weighted_sum`.")] = 0.1
    language: Annotated[
        str,
        CliOption(
            "The language of rows without a column `language`.", unset="the problem's only one, else Python"
        ),
    ] = ""
    time_limit: Annotated[float, CliOption("Seconds for each test of tests that come with the row.")] = 10.0
    checker: Annotated[
        str,
        CliOption(
            "How outputs are compared to answers that come with the row.",
            unset="`stripped-lines`; in verl `prime-code`",
        ),
    ] = CheckerKind.STRIPPED_LINES
    share: Annotated[bool, CliOption("Judge equal programs of a batch once.")] = True

    def __post_init__(self) -> None:
        """Refuse options that are wrong for all rows before the first."""
        if self.language:
            find_language(self.language)
        if self.mode not in (modes := [mode.value for mode in RewardMode]):
            remedy = f"There are {', '.join(modes)}"
            raise InputError(f"no such mode: {self.mode!r}", field="mode", remedy=remedy)
        if not (isinstance(self.time_limit, int | float) and 0 < self.time_limit < math.inf):
            remedy = "Give a number of seconds above 0"
            raise InputError(f"{self.time_limit!r} is no limit", field="time_limit", remedy=remedy)
        CheckerKind.built_in(self.checker)


class RewardOutcome(NamedTuple):
    reward: float | None  # None: the judge cannot say
    verdict: str  # AC, WA, ..., or NO_CODE, or NOT_JUDGED

    @property
    def solved(self) -> bool:
        return self.verdict == Verdict.AC


NO_CODE, NOT_JUDGED = "no code", "not judged"


class Rewards(Value):
    """Judges completions. Values are shared freely; what runs is this process's runtime."""

    options: RewardOptions = RewardOptions()
    setup: Setup = Setup()
    problems: ProblemFinder | None = None  # for rows with a `problem_id`

    async def of_all(
        self, completions: Sequence[str], rows: Sequence[RewardRow], own: Runtime
    ) -> list[RewardOutcome]:
        """Return one reward for each row, also where its tests are broken.

        Equal programs for one problem are judged once: samples of one prompt repeat.
        """
        problems, deduplication = self._problems(rows), Deduplication() if self.options.share else None
        return await together(
            self._or_not(completion, row, problem, own, deduplication)
            for completion, row, problem in zip(completions, rows, problems, strict=True)
        )

    async def of_one(
        self,
        completion: str,
        row: RewardRow,
        own: Runtime,
        deduplication: Deduplication | None = None,
        problem: Problem | None = None,
    ) -> RewardOutcome:
        """Raises IoiEvalError where there is no reward. `problem`: the row's, where it was read before."""
        problem = problem or self.problem(row)
        language = row.language(problem, self.options.language)
        code = extract(completion, language)
        if code is None:
            return RewardOutcome(self.options.no_code, NO_CODE)
        submission = Submission(
            key=str(row.number),
            problem_id=problem.id,
            code=code,
            language=language.name,
            target_subtask=row.target,
        )
        result = await own.score(problem, submission, deduplication)
        if not result.compiles:
            return RewardOutcome(self.options.no_compile, Verdict.CE)
        share = _share(problem, result, submission.target_subtask)
        solved = share >= 1
        verdict = Verdict.AC if solved else worst(test.status for test in result.tests)
        match self.options.mode:
            case RewardMode.PASS_FAIL:
                return RewardOutcome(float(solved), verdict)
            case RewardMode.PARTIAL:
                return RewardOutcome(share, verdict)
            case RewardMode.WEIGHTED_SUM:
                return RewardOutcome(solved + self.options.partial_weight * share, verdict)

    async def _or_not(
        self,
        completion: str,
        row: RewardRow,
        problem: Problem | CasesError,
        own: Runtime,
        deduplication: Deduplication | None,
    ) -> RewardOutcome:
        try:
            if isinstance(problem, CasesError):
                raise problem
            return await self.of_one(completion, row, own, deduplication, problem)
        except IoiEvalError as error:
            note(error)
            return RewardOutcome(None, NOT_JUDGED)

    def problem(self, row: RewardRow) -> Problem:
        problem = row.problem(self.problems, self.options)
        return all_or_nothing(problem) if self.options.mode == RewardMode.PASS_FAIL else problem

    def _problems(self, rows: Sequence[RewardRow]) -> list[Problem | CasesError]:
        """Completions of one prompt come with the same tests again and again: they are read once."""
        by_key: dict[str, Problem | CasesError] = {}
        found = []
        for row in rows:
            names = ("problem_id", "year", *CASES_COLUMNS, *_BESIDE)
            key = repr([row.target, *(_plain(row.values.get(name)) for name in names)])
            if key not in by_key:
                try:
                    by_key[key] = self.problem(row)
                except CasesError as error:
                    by_key[key] = error
            found.append(by_key[key])
        return found

    def runtime(self) -> Runtime:
        return runtime(self.setup)


def all_or_nothing(problem: Problem) -> Problem:
    """So that the first test that fails ends it."""
    if problem.subtasks:
        return problem
    names = tuple(test.name for test in problem.tests)
    everything = Subtask(name="all", points=1, tests=names, score_type=ScoreType.GROUP_MIN)
    return msgspec.structs.replace(problem, subtasks=(everything,))


def _share(problem: Problem, result: SubmissionResult, target: str | None) -> float:
    """Return the share of the target subtask, else of all points, else of all tests."""
    for subtask in result.subtasks:
        if subtask.subtask == target:
            return subtask.exact_score
    if result.solved:
        return 1.0
    if problem.subtasks:
        most = sum(subtask.points for subtask in problem.subtasks)
        return min(1.0, result.points / most) if most else 0.0
    return pass_rate(result).pass_rate or 0.0


def text_of(completion: Any) -> str:
    """A completion, or the model's last message of a conversation; of parts the text of the answer.

    Raises InputError for anything else, also for several texts: nothing says which is the answer.
    """
    match completion:
        case None | []:
            return ""
        case str(text) | [str(text)]:
            return text
        case Mapping():
            messages = [completion]
        case [*messages] if all(isinstance(each, Mapping) for each in messages):
            pass
        case _:
            messages = []  # refused below
    if any("role" in each or "content" in each for each in messages):
        roles = ((str(each.get("role") or ANSWERS[0]).lower(), each) for each in reversed(messages))
        content = next((each.get("content") for role, each in roles if role in ANSWERS), None)
        return text_of_parts(content) if isinstance(content, list | tuple) else text_of(content)
    if any("type" in each or "text" in each for each in messages):
        return text_of_parts(messages)
    remedy = "Give a text, a message, a list of messages, or the parts of one"
    raise InputError(f"{completion!r:.60} is no completion", field="completions", remedy=remedy)


# --- the rows of trainers ----------------------------------------------------------------------------


# Columns that hold tests, the first that a row has: those of datasets, and what trainers call it.
CASES_COLUMNS = (
    *("input_output", "ground_truth", "test_cases", "tests", "verification_info"),
    *(*PUBLIC_AND_PRIVATE, "test_list", "test"),
)
_FUNCTION, _SETUP = ("entry_point", "fn_name", "func_name"), ("test_setup_code", "test_imports")
_BESIDE = ("metadata", *_FUNCTION, *_SETUP)  # columns that tests may need
_READ = (*CASES_COLUMNS, "language", "problem_id", "year", "subtask", "target_subtask")
_MEMORY_LIMIT = 512 << 20  # bytes, where a row says nothing


class ProblemFinder(Protocol):
    """Problems by id, as `load_problems` gives them. Raises InputError."""

    def find(self, problem_id: str, year: int | None = None) -> Problem: ...


class RewardRow(Value):
    """A row, as far as judging needs it."""

    values: Mapping[str, Any]
    number: int  # of the row, for messages

    def problem(self, problems: ProblemFinder | None, options: RewardOptions) -> Problem:
        """The problem that the row names, or one of the tests that it holds.

        CasesError: the row has none, or names what is not there. InputError: no row can have any.
        """
        if problems is not None and self.values.get("problem_id") is not None:
            year = self.values.get("year")
            try:
                problem = problems.find(str(self.values["problem_id"]), None if year is None else int(year))
            except (InputError, TypeError, ValueError) as error:
                raise CasesError(str(error)) from error
            names = [subtask.name for subtask in problem.subtasks]
            if names and self.target is not None and self.target not in names:
                there = f"There are: {', '.join(names)}"
                raise CasesError(f"problem {problem.id!r} has no subtask {self.target!r}. {there}")
            return problem
        columns = [column for column in CASES_COLUMNS if column in self.values]
        for column in columns:
            if self.values[column] is not None:
                return self._of_cases(column, options)
        if columns:
            return self._of_cases(columns[0], options)  # CasesError: it has none
        raise InputError(
            "nothing says which tests there are",
            remedy=f"Give a column {', '.join(CASES_COLUMNS)}, or problem_id together with problems",
        )

    @property
    def target(self) -> str | None:
        """The subtask that the row aims at."""
        found = (_word(self.values.get(name)) for name in ("subtask", "target_subtask"))
        return next(filter(None, found), None)

    def language(self, problem: Problem, option: str) -> Language:
        """Return the language that the policy was asked for. A fence counts for nothing: it could choose."""
        info = _parsed(self.values.get("verification_info"))
        language = info.get("language") if isinstance(info, Mapping) else None
        row = _word(self.values.get("language")) or _word(language)
        spoken = choose_language(problem, row=row, option=option, default="python")
        return find_language(spoken.language)

    def _of_cases(self, column: str, options: RewardOptions) -> Problem:
        problem = Problem(
            id=json_value(str(self.values.get("problem_id", ""))) or f"row {self.number}",
            limits=Limits.contest(options.time_limit, _MEMORY_LIMIT),
            checker=Checker(kind=CheckerKind(options.checker)),
        )
        given = {
            name: _plain(self.values[name]) for name in (*_BESIDE, *CASES_COLUMNS) if name in self.values
        }
        written, setup = given[column], next((given[name] for name in _SETUP if given.get(name)), "")
        if column in PUBLIC_AND_PRIVATE:
            written = {name: given.get(name) for name in (*PUBLIC_AND_PRIVATE, "metadata")}
        try:
            return with_tests(
                problem,
                written,
                Blob.of,
                function=next((word for name in _FUNCTION if (word := _word(given.get(name)))), ""),
                setup="\n".join(map(str, setup)) if isinstance(setup, list) else str(setup),
            )
        except UnicodeEncodeError as error:
            raise CasesError("the tests hold halves of characters") from error


def rows(columns: Mapping[str, Any], count: int) -> Iterator[RewardRow]:
    """Yield rows of what trainers give by columns. Anything else that they give is left out.

    Raises InputError for a column that is read and has another length: rows would be judged without it.
    """
    per_row = {
        name: values
        for name, values in columns.items()
        if isinstance(values, Sequence) and not isinstance(values, str | bytes) and len(values) == count
    }
    for name in _READ:
        if columns.get(name) is not None and name not in per_row:
            problem = f"is no list of {count} values, one for each completion"
            raise InputError(problem, field=name, remedy="Give a list, also where all values are equal")
    for number in range(count):
        yield RewardRow(values={name: values[number] for name, values in per_row.items()}, number=number)


def _parsed(value: Any) -> Any:
    """`verification_info`, which some sets have as JSON; anything else as it is."""
    if isinstance(value, str) and "test_cases" in value:
        with suppress(msgspec.MsgspecError):
            return msgspec.json.decode(shallow(value))
    return value


def _word(value: Any) -> str | None:
    """Return a name in a table; None for its gaps, which may be NaN or an empty list."""
    name = _plain(value)
    return None if name in (None, "", [], {}) or name != name else str(name)


def _plain(value: Any) -> Any:
    """Lists in place of the arrays that tables are read into, also inside of others."""
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
