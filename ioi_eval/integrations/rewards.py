"""Judge completions like submissions, and turn the results into rewards."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Annotated, Any, NamedTuple, Protocol

import msgspec

from ioi_eval.errors import CasesError, InputError, IoiEvalError
from ioi_eval.integrations.other_languages import warn_of_other_language
from ioi_eval.integrations.runtime import Runtime, Setup, runtime
from ioi_eval.integrations.unjudged import UnknownProblemError, count_unjudged, gather_results
from ioi_eval.model.fields import suggest_similar
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
from ioi_eval.rules.extraction import join_answer_text as text_of_parts
from ioi_eval.scoring import (
    PUBLIC_AND_PRIVATE,
    Deduplication,
    Language,
    choose_language,
    extract,
    find_language,
    json_value,
    pass_rate,
    require_shallow,
    with_tests,
    worst_verdict,
)


class RewardMode(StrEnum):
    """The rule that computes a reward from a result."""

    PASS_FAIL = "pass_fail"  # 1 or 0
    PARTIAL = "partial"  # share of the points, or share of passed tests if the problem has no subtasks
    WEIGHTED_SUM = "weighted_sum"  # 1 for a full score and otherwise 0, plus the weighted share of the points


class RewardOptions(Value):
    """Options of rewards. The rewards `no_code` and `no_compile` are the same in every mode."""

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
        """Raise an InputError for wrong options."""
        if self.language:
            find_language(self.language)
        if self.mode not in (mode_names := [mode.value for mode in RewardMode]):
            remedy = f"{suggest_similar(str(self.mode), mode_names)}The modes are {', '.join(mode_names)}"
            raise InputError(f"unknown mode {self.mode!r}", field="mode", remedy=remedy)
        if not (isinstance(self.time_limit, int | float) and 0 < self.time_limit < math.inf):
            remedy = "Set a number of seconds above 0"
            raise InputError(
                f"{self.time_limit!r} is not a valid time limit", field="time_limit", remedy=remedy
            )
        CheckerKind.built_in(self.checker)


class RewardOutcome(NamedTuple):
    """The reward and the verdict of a completion."""

    reward: float | None  # reward of the completion; None if it was not judged
    verdict: str  # verdict of the completion, such as AC or WA, or NO_CODE or NOT_JUDGED

    @property
    def solved(self) -> bool:
        """Return True if the completion solves the problem."""
        return self.verdict == Verdict.AC


NO_CODE, NOT_JUDGED = "no code", "not judged"


class Rewards(Value):
    """Judges completions in this process's runtime. Processes may share the object."""

    options: RewardOptions = RewardOptions()
    setup: Setup = Setup()
    problems: ProblemFinder | None = None  # function that finds the problem of a row with a `problem_id`

    def __post_init__(self) -> None:
        # A string such as a path has a method `find`, but cannot find problems.
        if self.problems is not None and (
            isinstance(self.problems, str) or not callable(getattr(self.problems, "find", None))
        ):
            raise InputError(
                f"{type(self.problems).__name__} cannot look up problems by their ids",
                field="problems",
                remedy="Give load_problems(SOURCE) or ioi_eval.sources.Problems([problem, ...])",
            )

    async def score_all(
        self, completions: Sequence[str], rows: Sequence[RewardRow], judge_runtime: Runtime
    ) -> list[RewardOutcome]:
        """Return an outcome for each row. A row that cannot be judged has no reward.

        Equal programs for a problem are judged once, because samples of a prompt are often equal.
        """
        problems, deduplication = self._find_problems(rows), Deduplication() if self.options.share else None
        return await gather_results(
            self._judge_completion_or_count_error(completion, row, problem, judge_runtime, deduplication)
            for completion, row, problem in zip(completions, rows, problems, strict=True)
        )

    async def score_one(
        self,
        completion: str,
        row: RewardRow,
        judge_runtime: Runtime,
        deduplication: Deduplication | None = None,
        problem: Problem | None = None,
    ) -> RewardOutcome:
        """Return the outcome of one completion.

        Args:
            completion: The model's reply.
            row: The row with the tests.
            judge_runtime: The runtime that judges.
            deduplication: Judges equal programs once.
            problem: The row's problem, if it was read before.

        Raises:
            IoiEvalError: The completion cannot be judged.
        """
        problem = problem or self.find_problem(row)
        language = row.choose_language(problem, self.options.language)
        code = extract(completion, language)
        if code is None:
            warn_of_other_language(completion, problem, language)
            return RewardOutcome(self.options.no_code, NO_CODE)
        submission = Submission(
            key=str(row.number),
            problem_id=problem.id,
            code=code,
            language=language.name,
            target_subtask=row.target_subtask,
        )
        result = await judge_runtime.score(problem, submission, deduplication)
        if not result.compiles:
            return RewardOutcome(self.options.no_compile, Verdict.CE)
        score_share = _compute_points_share(problem, result, submission.target_subtask)
        is_solved = score_share >= 1
        verdict = Verdict.AC if is_solved else worst_verdict(test.status for test in result.tests)
        match self.options.mode:
            case RewardMode.PASS_FAIL:
                return RewardOutcome(float(is_solved), verdict)
            case RewardMode.PARTIAL:
                return RewardOutcome(score_share, verdict)
            case RewardMode.WEIGHTED_SUM:
                return RewardOutcome(is_solved + self.options.partial_weight * score_share, verdict)

    async def _judge_completion_or_count_error(
        self,
        completion: str,
        row: RewardRow,
        problem: Problem | CasesError,
        judge_runtime: Runtime,
        deduplication: Deduplication | None,
    ) -> RewardOutcome:
        """Return the outcome of a completion. If it cannot be judged, count it and return no reward."""
        try:
            if isinstance(problem, CasesError):
                raise problem
            return await self.score_one(completion, row, judge_runtime, deduplication, problem)
        except IoiEvalError as error:
            count_unjudged(error)
            return RewardOutcome(None, NOT_JUDGED)

    def find_problem(self, row: RewardRow) -> Problem:
        """Return a row's problem. Raise CasesError if it has no tests, InputError if no row has tests."""
        problem = row.find_problem(self.problems, self.options)
        return with_single_subtask(problem) if self.options.mode == RewardMode.PASS_FAIL else problem

    def _find_problems(self, rows: Sequence[RewardRow]) -> list[Problem | CasesError]:
        """Return the problem of each row, or the error. Equal tests are read once: samples repeat them."""
        problems_by_key: dict[str, Problem | CasesError] = {}
        problems = []
        for row in rows:
            column_names = ("problem_id", "year", *CASES_COLUMNS, *_OTHER_COLUMNS)
            problem_key = repr(
                [row.target_subtask, *(_convert_arrays(row.values.get(name)) for name in column_names)]
            )
            if problem_key not in problems_by_key:
                try:
                    problems_by_key[problem_key] = self.find_problem(row)
                except CasesError as error:
                    problems_by_key[problem_key] = error
            problems.append(problems_by_key[problem_key])
        return problems

    def runtime(self) -> Runtime:
        """Return this process's runtime."""
        return runtime(self.setup)


def with_single_subtask(problem: Problem) -> Problem:
    """Return the problem with one subtask of all tests, so that judging stops at the first failure.

    A problem with subtasks is returned unchanged.
    """
    if problem.subtasks:
        return problem
    test_names = tuple(test.name for test in problem.tests)
    single_subtask = Subtask(name="all", points=1, tests=test_names, score_type=ScoreType.GROUP_MIN)
    return msgspec.structs.replace(problem, subtasks=(single_subtask,))


def _compute_points_share(problem: Problem, result: SubmissionResult, target_subtask: str | None) -> float:
    """Return the score of the target subtask, or else the share of all points, or else of all tests."""
    for subtask in result.subtasks:
        if subtask.subtask == target_subtask:
            return subtask.exact_score
    if result.solved:
        return 1.0
    if problem.subtasks:
        max_points = sum(subtask.points for subtask in problem.subtasks)
        return min(1.0, result.points / max_points) if max_points else 0.0
    return pass_rate(result).pass_rate or 0.0


def reply_text(completion: Any) -> str:
    """Return the model's reply: a string, the last message of a conversation, or the text of its parts.

    Raises:
        InputError: The completion has another form, such as several strings.
    """
    match completion:
        case None | []:
            return ""
        case str(text) | [str(text)]:
            return text
        case Mapping():
            messages = [completion]
        case [*messages] if all(isinstance(message, Mapping) for message in messages):
            pass
        case _:
            messages = []  # an empty list raises the error below
    if any("role" in message or "content" in message for message in messages):
        messages_by_role = (
            (str(message.get("role") or ANSWERS[0]).lower(), message) for message in reversed(messages)
        )
        content = next(
            (message.get("content") for role, message in messages_by_role if role in ANSWERS), None
        )
        return text_of_parts(content) if isinstance(content, list | tuple) else reply_text(content)
    if any("type" in message or "text" in message for message in messages):
        return text_of_parts(messages)
    remedy = "Pass a string, a message, a list of messages, or the parts of a message"
    raise InputError(f"{completion!r:.60} is not a valid completion", field="completions", remedy=remedy)


# --- rows of trainers --------------------------------------------------------------------------------


# Names of columns that may contain the tests, in datasets and trainers. The first existing column is used.
CASES_COLUMNS = (
    *("input_output", "ground_truth", "test_cases", "tests", "verification_info"),
    *(*PUBLIC_AND_PRIVATE, "test_list", "test"),
)
_FUNCTION, _SETUP = ("entry_point", "fn_name", "func_name"), ("test_setup_code", "test_imports")
# Columns that the tests may need in addition to their own column.
_OTHER_COLUMNS = ("metadata", *_FUNCTION, *_SETUP)
_READ_COLUMNS = (*CASES_COLUMNS, "language", "problem_id", "year", "subtask", "target_subtask")
_MEMORY_LIMIT = 512 << 20  # memory limit for tests from rows, in bytes


class ProblemFinder(Protocol):
    """Finds problems by id. `load_problems` returns such an object."""

    def find(self, problem_id: str, year: int | None = None) -> Problem:
        """Return the problem. Raise InputError if it is unknown."""
        ...


class RewardRow(Value):
    """A row of a trainer's dataset."""

    values: Mapping[str, Any]
    number: int  # index of the row, for messages

    def find_problem(self, problems: ProblemFinder | None, options: RewardOptions) -> Problem:
        """Return the problem that the row names, or a problem with the tests in the row.

        Raises:
            CasesError: The row has no tests.
            UnknownProblemError: The row names an unknown problem or subtask.
            InputError: The dataset has no column with tests.
        """
        if problems is not None and self.values.get("problem_id") is not None:
            year = self.values.get("year")
            try:
                problem = problems.find(str(self.values["problem_id"]), None if year is None else int(year))
            except (InputError, TypeError, ValueError) as error:
                raise UnknownProblemError(str(error)) from error
            subtask_names = [subtask.name for subtask in problem.subtasks]
            if subtask_names and self.target_subtask is not None and self.target_subtask not in subtask_names:
                raise UnknownProblemError(
                    f"problem {problem.id!r} has no subtask {self.target_subtask!r}."
                    f" Its subtasks are: {', '.join(subtask_names)}"
                )
            return problem
        test_columns = [column for column in CASES_COLUMNS if column in self.values]
        for column in test_columns:
            if self.values[column] is not None:
                return self._make_problem_with_tests(column, options)
        if test_columns:
            # Raises a CasesError, because all columns with tests are null.
            return self._make_problem_with_tests(test_columns[0], options)
        known_columns = (*CASES_COLUMNS, "problem_id")
        suggestions = (f"{suggest_similar(column, known_columns).rstrip()}" for column in self.values)
        suggestion = next((f"{question} " for question in suggestions if question), "")
        raise InputError(
            "the dataset has no column with tests",
            remedy=f"{suggestion}Give a column {', '.join(CASES_COLUMNS)},"
            " or problem_id together with problems",
        )

    @property
    def target_subtask(self) -> str | None:
        """Return the subtask that the row aims at, or None for the whole problem."""
        subtask_names = (_read_name_in_cell(self.values.get(name)) for name in ("subtask", "target_subtask"))
        return next(filter(None, subtask_names), None)

    def choose_language(self, problem: Problem, option: str) -> Language:
        """Return the language of the row. A fence in the reply cannot change it."""
        verification_info = _parse_verification_info(self.values.get("verification_info"))
        language = verification_info.get("language") if isinstance(verification_info, Mapping) else None
        row_language = _read_name_in_cell(self.values.get("language")) or _read_name_in_cell(language)
        chosen_language = choose_language(problem, row=row_language, option=option, default="python")
        return find_language(chosen_language.language)

    def _make_problem_with_tests(self, column: str, options: RewardOptions) -> Problem:
        """Return a problem with the tests in a column."""
        problem = Problem(
            id=json_value(str(self.values.get("problem_id", ""))) or f"row {self.number}",
            limits=Limits.contest(options.time_limit, _MEMORY_LIMIT),
            checker=Checker(kind=CheckerKind(options.checker)),
        )
        row_values = {
            name: _convert_arrays(self.values[name])
            for name in (*_OTHER_COLUMNS, *CASES_COLUMNS)
            if name in self.values
        }
        tests, setup_code = (
            row_values[column],
            next((row_values[name] for name in _SETUP if row_values.get(name)), ""),
        )
        if column in PUBLIC_AND_PRIVATE:
            tests = {name: row_values.get(name) for name in (*PUBLIC_AND_PRIVATE, "metadata")}
        try:
            return with_tests(
                problem,
                tests,
                Blob.of,
                function=next(
                    (
                        function
                        for name in _FUNCTION
                        if (function := _read_name_in_cell(row_values.get(name)))
                    ),
                    "",
                ),
                setup="\n".join(map(str, setup_code)) if isinstance(setup_code, list) else str(setup_code),
            )
        except UnicodeEncodeError as error:
            raise CasesError("the tests contain an unpaired surrogate, which is not a character") from error


def make_rows(columns: Mapping[str, Any], count: int) -> Iterator[RewardRow]:
    """Yield the rows in the columns of a trainer. Arguments that are not columns are ignored.

    Args:
        columns: The trainer's arguments by name.
        count: The number of rows.

    Raises:
        InputError: A column that is read has another length.
    """
    row_columns = {
        name: values
        for name, values in columns.items()
        if isinstance(values, Sequence) and not isinstance(values, str | bytes) and len(values) == count
    }
    for name in _READ_COLUMNS:
        if columns.get(name) is not None and name not in row_columns:
            message = f"the argument must be a list of {count} values, one for each completion"
            raise InputError(
                message, field=name, remedy="Pass a list of values, even if all values are equal"
            )
    for number in range(count):
        yield RewardRow(values={name: values[number] for name, values in row_columns.items()}, number=number)


def _parse_verification_info(value: Any) -> Any:
    """Return the object in `verification_info`, which may be a JSON string. Other values are unchanged."""
    if isinstance(value, str) and "test_cases" in value:
        with suppress(msgspec.MsgspecError):
            return msgspec.json.decode(require_shallow(value))
    return value


def _read_name_in_cell(value: Any) -> str | None:
    """Return the name in a cell, or None if the cell is empty, which may be NaN or an empty list."""
    name = _convert_arrays(value)
    return None if name in (None, "", [], {}) or name != name else str(name)


def _convert_arrays(value: Any) -> Any:
    """Return the value with lists instead of arrays, at all levels."""
    if hasattr(value, "tolist"):
        return _convert_arrays(value.tolist())
    if isinstance(value, Mapping):
        return {name: _convert_arrays(item) for name, item in value.items()}
    return [_convert_arrays(item) for item in value] if isinstance(value, list | tuple) else value
