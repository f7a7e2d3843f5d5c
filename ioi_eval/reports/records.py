"""The values of summary.json and validation.json, and the options of a report."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec

from ioi_eval.model.options import CliOption, Count
from ioi_eval.model.quoting import encode_terminal_safe_json
from ioi_eval.model.text import format_count, visible
from ioi_eval.model.values import Reason, SubmissionResult, TestResult, Value, Verdict
from ioi_eval.reports.document import format_percent, hash_key_for_sampling
from ioi_eval.reports.medals import Award, Contests
from ioi_eval.rules.expectations import ExpectedSolution
from ioi_eval.rules.metrics import PassAtK
from ioi_eval.rules.scoring import BestSubtask, ScoreMode, find_unjudged_reason, select_scored_subtasks
from ioi_eval.rules.selection import SUBMISSIONS, Budget
from ioi_eval.store.files import read_value, replace
from ioi_eval.store.folder import MeasuredLimit
from ioi_eval.store.rows import shorten


class PageChoice(StrEnum):
    """The submissions that get pages."""

    ALL = "all"
    FAILED = "failed"
    SAMPLE = "sample"
    NONE = "none"


class ReportOptions(Value):
    mode: Annotated[
        ScoreMode, CliOption(help="Rule that computes a problem's points from several submissions.")
    ] = ScoreMode.MAX_SUBTASK
    submissions: Annotated[
        Count,
        CliOption(metavar="N", help="Maximum number of submissions per problem in the points `Best of N`."),
    ] = SUBMISSIONS
    ks: Annotated[
        tuple[Count, ...],
        CliOption(
            name="k", metavar="K", help="Also report pass@K for this K. May be repeated.", unset="1, 5 and 10"
        ),
    ] = (1, 5, 10)
    pages: Annotated[
        PageChoice | None,
        CliOption(
            help="Submissions that get their own page. `sample` and `failed` also"
            " include the submissions that the report links to.",
            unset="all, of more than 20,000 submissions a sample",
        ),
    ] = None
    contests: Contests | None = None  # cut-offs of medals (default: cut-offs that the package contains)


VERSION = 2
WITH_FEEDBACK = "with_feedback"  # option of a run whose models got feedback; see `has_feedback`


def has_feedback(options: Mapping[str, Any]) -> bool:
    """Return True if a run's authors wrote each program after the verdict on their previous program.

    Means over such programs do not predict the next program, so reports omit pass@k and mean scores.
    """
    return options.get(WITH_FEEDBACK) is True


def choose_author_noun(options: Mapping[str, Any]) -> str:
    """Return the noun for an author of programs in a run: model, or participant of a contest."""
    return "participant" if has_feedback(options) else "model"


class Measure(StrEnum):
    """The kinds of headlines. A headline is the main number of a run."""

    PASS_AT_1 = "pass@1"
    POINTS = "points"
    SOLVED = "solved"

    @property
    def noun_phrase(self) -> str:
        """Return the noun phrase by which sentences name this measure."""
        return {"pass@1": "pass@1", "points": "the share of points", "solved": "solved problems"}[self.value]


class LanguageSummary(Value):
    """A model's scored submissions for one problem in one language."""

    scored: int
    pass_at_1: float | None  # share of submissions with full points; None in runs with feedback
    # Points of the submissions; None if the problem has no subtasks, or the mode counts single submissions.
    points: float | None
    # Number of submissions without full points, by the cause that `find_missing_points_cause` returns.
    causes: Mapping[str, int] = {}


class ProblemSummary(Value):
    """A model's submissions for one problem. Points count all submissions, by the summary's mode."""

    problem_id: str
    # Points of the model; None if the problem has no subtasks, for which see `solved` and `best_pass_rate`.
    points: float | None
    # Maximum points; None if the problem has no subtasks, or none of its submissions was scored.
    max_points: float | None
    submissions: int  # number of submissions, scored and unscored
    scored: int
    unscored: int
    compiled: int
    solved: int  # number of scored submissions with full points
    # Mean points of scored submissions, or mean share of passed tests; None in runs with feedback.
    mean_points: float | None
    # Highest share of passed tests of a submission; None if the problem has subtasks.
    best_pass_rate: float | None
    # Number of scored submissions by verdict or `no program`, the worst verdict first.
    verdicts: Mapping[str, int]
    subtasks: tuple[BestSubtask, ...]
    difficulty: str = ""
    tags: tuple[str, ...] = ()
    year: int | None = None
    date: str = ""  # date of the problem, such as 2024-05-31; empty if it is unknown
    # Points by the maximum number of submissions. Empty if the problem has no subtasks.
    budgets: Mapping[Budget, float] = {}
    handed_in: int = 0  # number of submissions of the budget `limited`
    pass_at: tuple[PassAtK, ...] = ()
    # pass@1, even if the report shows other k. None if nothing was scored, or in runs with feedback.
    pass_at_1: float | None = None
    languages: Mapping[str, LanguageSummary] = {}  # summaries by the programming language of the submissions

    @property
    def mean_score(self) -> float | None:
        """Return the mean share of the points of a scored submission, in [0, 1]."""
        if self.mean_points is None or self.max_points is None:
            return self.mean_points
        return self.mean_points / self.max_points if self.max_points else None

    def is_solved(self, mode: ScoreMode) -> bool:
        """Return True if the problem has full points. Several submissions may earn its subtasks."""
        if self.max_points is None:
            return self.solved > 0
        if mode is ScoreMode.MAX_SUBTASK:
            scored_subtasks = select_scored_subtasks(self.subtasks)
            return bool(scored_subtasks) and all(best.exact_score >= 1 for best in scored_subtasks)
        return self.points is not None and self.points >= self.max_points - 1e-9


class BudgetAward(Value):
    budget: Budget
    award: Award


class Step(Value):
    """The points of the first N submissions for each problem, in the order of the budget `limited`."""

    submissions: int
    points: float


class LimitUsage(Value):
    """The shares of a limit that submissions used on their most demanding test."""

    STEP: ClassVar[float] = 0.05

    what: str  # resource that is limited: `time` or `memory`
    # Histogram: number of submissions by used share of the limit, in steps of STEP, rounded up. The last
    # number also counts all larger shares.
    counts: tuple[int, ...]

    def compute_fraction_below_usage(self, max_usage: float) -> float:
        """Return the fraction of the submissions that used at most `max_usage` of the limit.

        `max_usage` must be a multiple of STEP.
        """
        return sum(self.counts[: round(max_usage / self.STEP) + 1]) / sum(self.counts)


class ModelSummary(Value):
    """A model over all problems of the run, including problems without a submission of the model."""

    model: str  # name of the model; empty if the dump names no model
    points: float
    max_points: float
    # Number of problems with full points; a problem without subtasks needs a submission that solves it.
    problems_solved: int
    submissions: int
    scored: int
    unscored: int
    compiled: int
    solved: int
    verdicts: Mapping[str, int]
    problems: tuple[ProblemSummary, ...]
    budgets: Mapping[Budget, float] = {}  # points by budget; empty if no problem has subtasks
    mean_score: float | None = None
    pass_at: tuple[PassAtK, ...] = ()
    awards: tuple[BudgetAward, ...] = ()
    # Points by number of submissions, up to the submission limit; empty if no problem has subtasks.
    steps: tuple[Step, ...] = ()
    # Shares of the limits of time and memory that submissions used, if the problems have such limits.
    uses: tuple[LimitUsage, ...] = ()
    # pass@k for each k for which every problem and subtask has enough submissions.
    pass_curve: tuple[PassAtK, ...] = ()
    # Lower bound of the 95 % interval of `share`; None if all problems have the same result.
    share_low: float | None = None
    share_high: float | None = None
    # pass@1, even if the report shows other k. None if nothing was scored, or in runs with feedback.
    pass_at_1: PassAtK | None = None
    # Figures that plugins compute, by the plugins' names in the registry of report sections.
    more: Mapping[str, Any] = {}

    @property
    def share(self) -> float | None:
        """Return the share of the points, or without subtasks the mean score."""
        return self.points / self.max_points if self.max_points else self.mean_score


class HeadlineRow(Value):
    """A model's headline. `value`, `low` and `high` are pass@1 in [0, 1], points, or solved problems."""

    model: str
    rank: int  # rank of the model: 1 plus the number of models that are significantly better
    value: float | None  # value of the headline; None if nothing was scored
    low: float | None  # lower bound of the 95 % interval; None if all problems have the same result
    high: float | None
    limited: float | None  # points with a limited number of submissions for each problem
    problems: int  # number of problems with a scored submission
    scored: int  # scored submissions


class Headline(Value):
    """The main number of a run, for each model, with the best model first."""

    measure: Measure
    of: float | None = None  # maximum points, or number of problems; None for pass@1
    submission_limit: int | None = None  # maximum number of submissions that `limited` counts
    # Sentence that says whether the first two models differ; empty if there is a single model.
    sentence: str = ""
    models: tuple[HeadlineRow, ...] = ()


class TrustSummary(Value):
    """The numbers of a run without the problems that an audit does not trust."""

    audit: str  # path of the audit's file, as on the command line
    sha256: str  # hash of the audit's file
    problems: Mapping[str, str]  # reasons why problems are not trusted, by problem
    headline: Headline  # headline over the trusted problems


class Failures(Value):
    """Submissions that could not be judged for the same reason."""

    reason: str
    phase: str
    remedy: str
    submissions: int
    problems: tuple[str, ...]
    examples: tuple[str, ...]  # keys of some of the submissions
    final: bool = False  # True if another try cannot succeed


class Cause(Value):
    """Submissions that lack full marks for the same cause."""

    cause: str
    submissions: int
    examples: tuple[str, ...]  # keys of up to three of the submissions


class Settings(Value):
    """The settings of a run. `given` is from the run's info, the other fields are from its rows."""

    dump: str = ""
    problems: Mapping[str, str] = {}  # hashes of problems, by problem
    options: Mapping[str, Any] = {}
    versions: Mapping[str, str] = {}
    given: Mapping[str, Any] = {}
    compilers: Mapping[str, int] = {}  # number of submissions by compiler
    checkers: Mapping[str, tuple[str, ...]] = {}  # names of checkers by problem
    confinements: tuple[Mapping[str, Any], ...] = ()
    repairs: Mapping[str, int] = {}

    @property
    def has_feedback(self) -> bool:
        """Return True if each program was written after the verdict on the previous program."""
        return has_feedback(self.options)

    @property
    def author(self) -> str:
        """Return the noun for an author of programs: model, or participant of a contest."""
        return choose_author_noun(self.options)


class Summary(Value, kw_only=True):
    version: int = VERSION
    mode: ScoreMode = ScoreMode.MAX_SUBTASK
    submission_limit: int = 0  # maximum number of submissions that the budget `limited` counts
    submissions: int
    complete: bool = True  # False if some submissions have no result; this summary does not count them
    judged: int = 0  # number of scored and unscored submissions
    of: int | None = None  # total number of submissions of the run, or None if it is unknown
    scored: int
    unscored: int
    problems: int
    verdicts: Mapping[str, int]
    models: tuple[ModelSummary, ...]  # summaries of models, sorted by headline from the best to the worst
    headline: Headline
    # Summary over trusted problems; `None` means that the user named no audit.
    trust: TrustSummary | None = None
    # The 100 most frequent reasons of failures, sorted by decreasing frequency.
    failures: tuple[Failures, ...]
    causes: tuple[Cause, ...] = ()  # causes of missing points, sorted by decreasing frequency
    date: str = ""  # last day of judging, in UTC; empty if it is unknown
    warnings: tuple[str, ...] = ()  # sentences to read before any figure
    repeated: int = 0  # number of scored submissions that have the result of an equal program
    measured_again: int = 0  # number of tests that ran again because their time was near the limit
    saved: int = 0  # number of tests that were within the time limit when they ran again
    # Failures that nearly all rows of a model have in common. `warnings` also contains them.
    suspicious: tuple[Suspicion, ...] = ()
    # Figures that plugins compute, by the plugins' names in the registry of report sections.
    more: Mapping[str, Any] = {}
    settings: Settings

    def as_json(self) -> dict[str, Any]:
        """Return the summary as plain values, without the settings."""
        return {name: value for name, value in msgspec.to_builtins(self).items() if name != "settings"}


_VERSION = 1


class ExpectedVerdict(Value, kw_only=True):
    """The verdict on a subtask or on the whole problem, with the expected verdict or score."""

    subtask: str  # name of the subtask; empty means the whole problem
    expected: str  # keyword or score from the package; empty if the package expects nothing of this subtask
    status: Verdict  # worst verdict on the subtask's tests
    score: float


class Check(ExpectedVerdict, kw_only=True):
    """An expected verdict or score, and the result.

    `score` is the compared score. If a keyword is expected, it is the lowest score of a test.
    """

    agrees: bool
    tests: int
    not_right: int  # number of tests without verdict AC
    # Evidence for a difference: the first tests without AC, or the slowest tests.
    evidence: tuple[TestResult, ...] = ()


class SubtaskCheck(ExpectedVerdict, kw_only=True):
    """A subtask's result. The score is in [0, 1] and rounded."""

    weighted_score: float
    points: float
    agrees: bool = True


class SolutionCheck(ExpectedSolution, kw_only=True):
    """A solution with its result and its expectations."""

    status: Verdict
    compiles: bool
    compile_output: str = ""  # output of the compiler; empty if the solution compiles
    points: float
    max_points: float
    subtasks: tuple[SubtaskCheck, ...] = ()
    checks: tuple[Check, ...] = ()

    @property
    def differences(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.agrees)


class UnjudgedSolution(ExpectedSolution, kw_only=True):
    """A solution that could not be judged. It counts neither as a difference nor as an agreement."""

    reason: str


class Validation(Value, kw_only=True):
    version: int = _VERSION
    solutions: tuple[SolutionCheck, ...]
    unjudged: tuple[UnjudgedSolution, ...] = ()
    expectations: int  # compared expectations
    differences: int  # number of expectations that are not met
    # Figures by name. `compared`, `agree` and `differ` count expectations, all others count solutions.
    numbers: Mapping[str, int] = {}
    unknown: Mapping[str, int] = {}  # number of solutions by keyword, for keywords that are not compared
    # Number of expectations by expected keyword and actual verdict.
    confusion: Mapping[str, Mapping[Verdict, int]] = {}
    limits: Mapping[str, MeasuredLimit] = {}  # time limits that solutions determine, by problem

    @property
    def differing(self) -> tuple[SolutionCheck, ...]:
        return tuple(solution for solution in self.solutions if solution.differences)


VALIDATION = "validation.json"


def write_json(path: Path, value: object) -> None:
    """Write a value as indented JSON."""
    replace(path, [encode_terminal_safe_json(value, indented=True), b"\n"])


def read_validation(folder: Path) -> Validation | None:
    """Return the validation in a folder, or None if the run is not a validation."""
    remedy = "Run `ioi-eval validate` again"
    return read_value(folder / VALIDATION, Validation, "is not a validation's", remedy)


# --- causes of missing points ---------------------------------------------------------------------


_MAX_CAUSE = 120  # maximum characters of a cause
# Maximum number of distinct causes in a run, and of examples for a cause.
_MAX_CAUSES, _MAX_EXAMPLES = 1000, 3
# Pattern for the file, line and column in a compiler's message.
_SOURCE_POSITION = re.compile(r"^\S+?:\d+(:\d+)?:\s*")
_QUOTED = re.compile(r"‘[^’]*’|'[^']*'|`[^`']*'|\"[^\"]*\"")  # noqa: RUF001 - g++ quotes so
_ERROR = re.compile(r"\berror\b", re.IGNORECASE)
# Pattern for an exception in the last line of output of a program in Python, Java or JavaScript.
_EXCEPTION = re.compile(
    r"\b(?P<name>[\w.$]*(?:Error|Exception|Interrupt|StopIteration))(?:: *(?P<message>.+)|$)"
)


def find_missing_points_cause(result: SubmissionResult) -> str:
    """Return why a submission lacks full marks, in a form that submissions can share, or "".

    It starts with the verdict. A compile error adds the first error line, without positions and names. A
    run-time error adds the exception, without quoted names, or the signal or exit code.
    """
    verdict = result.verdict
    if verdict is Verdict.AC:
        return ""
    if not result.compiles:
        lines = [line for line in result.compile_output.splitlines() if line.strip()]
        if find_unjudged_reason(result) is Reason.NO_PROGRAM:
            return _format_cause(Reason.NO_PROGRAM, lines[0] if lines else "")
        line = next(filter(_ERROR.search, lines), lines[0] if lines else "")
        return _format_cause(verdict, _QUOTED.sub("‘…’", _SOURCE_POSITION.sub("", line.strip())))  # noqa: RUF001
    failed_test = next((test for test in result.tests if test.status is verdict), None)
    if failed_test is None:
        return str(verdict)
    sample_tests = {
        test.test_name for subtask in result.subtasks if not subtask.points for test in subtask.test_results
    }
    if any(test.status is verdict and test.test_name in sample_tests for test in result.tests):
        return f"{verdict}: at a sample"
    return _format_cause(verdict, _find_run_time_error(failed_test.feedback) if verdict is Verdict.RE else "")


def _find_run_time_error(feedback: str) -> str:
    """Return the exception in a feedback, without quoted names; if there is none, the signal or exit code."""
    exception = _EXCEPTION.search(feedback)
    if exception is None:
        return feedback.partition(":")[0]
    message = _QUOTED.sub("‘…’", exception["message"] or "")  # noqa: RUF001
    # A message without lower-case letters is only a value, such as the key of a KeyError.
    is_value = re.search(r"[a-z]", message) is None
    return exception["name"] if is_value else f"{exception['name']}: {message}"


def _format_cause(verdict: str, log_line: str) -> str:
    return shorten(visible(f"{verdict}: {log_line}" if log_line else str(verdict)), _MAX_CAUSE)


class FailureCauses(msgspec.Struct):
    """Collects the causes of a run's submissions, with examples. The order of the rows does not matter."""

    # Keys of submissions by cause, those with the lowest sample numbers.
    examples: dict[str, list[tuple[int, str]]] = {}

    def add_and_return_cause(self, result: SubmissionResult) -> str:
        """Count a result and return the cause of its missing points, or an empty string."""
        name = find_missing_points_cause(result)
        if name and name not in self.examples and len(self.examples) >= _MAX_CAUSES:
            name = f"{name.partition(':')[0]}: other lines"
        if name:
            example = hash_key_for_sampling(result.key), result.key
            self.examples[name] = sorted([*self.examples.get(name, ()), example])[:_MAX_EXAMPLES]
        return name

    def count_causes(self, models: Iterable[ModelSummary]) -> tuple[Cause, ...]:
        """Return the causes with their numbers of submissions, in order of decreasing frequency."""
        cause_counts = Counter[str]()
        for model in models:
            for problem in model.problems:
                for language in problem.languages.values():
                    cause_counts.update(language.causes)
        return tuple(
            Cause(cause=name, submissions=submissions, examples=tuple(key for _, key in self.examples[name]))
            for name, submissions in sorted(cause_counts.items(), key=lambda pair: (-pair[1], pair[0]))
        )


# --- implausible results ------------------------------------------------------------------------------


MIN_SUSPICIOUS_ROWS, MIN_SUSPICIOUS_SHARE = 10, 0.9
_MIN_NO_PROGRAM = 0.05  # minimum share of scored submissions without a program for which a warning is shown
_MAX_MODELS = 10  # maximum number of models that a warning names
_MAX_LINE = 160  # maximum characters of a line
# Maximum number of distinct lines of a model; if there are more, no line is common to 90 % of the rows.
_MAX_LINES = 10_000

# Remedy by the reason that nearly all rows of a model share. The key None means that the programs compile and
# crash with the same error.
_REMEDIES: dict[Reason | None, str] = {
    Reason.NO_PROGRAM: "Likely the replies are empty or cut off, or the programs are in another "
    "language or column: look at one, then set `language=NAME`, `code_column=NAME` or `always_extract=True`",
    Reason.NOT_COMPILED: "Likely the language is wrong, or the programs lack a header or a grader: look at "
    "one of them, then set `language=NAME`, or name the problems that they are for",
    None: "Likely the programs need a module that the machine lacks (`ioi-eval doctor`), are in another "
    "language, or read their input elsewhere: look at one of them",
}
_REPLY_REMEDY = (
    "Likely the replies are empty or cut off, or the programs are in another language: look at one in the "
    "report, then repeat the run with `fresh=True`"
)
_AGENT_REMEDY = (
    "Likely the command fails, or {fault}: read an agent.log in the run's folder agents, then repeat the run "
    "with `fresh=True`"
)


class Suspicion(Value):
    """An error line, or a missing program, that nearly all scored rows of a model share."""

    model: str
    rows: int
    of: int  # total number of scored rows of the model
    # Reason why programs are missing; None if the programs compile and crash with the same error.
    reason: Reason | None
    line: str  # first line of the output of the compiler or the program, or why the program is missing
    remedy: str

    def __str__(self) -> str:
        model_suffix = f" of {self.model}" if self.model else ""
        match self.reason:
            case Reason.NO_PROGRAM:
                problem = "contain no program" + (f" (most often: {self.line})" if self.line else "")
            case Reason.NOT_COMPILED:
                problem = f'do not compile, with the same first line: "{self.line}"'
            case None:
                problem = f'fail with the same first line: "{self.line}"'
        finding = f"{self.rows:,} of the {format_count(self.of, 'scored submission')}{model_suffix} {problem}"
        return f"These results are hardly plausible: {finding}. {self.remedy}."


class EndingCounts(msgspec.Struct):
    """Counts of one model's rows that do not compile, lack a program or crash, by the first error line."""

    scored: int = 0
    alike: Counter[tuple[Reason | None, str]] = msgspec.field(default_factory=Counter)
    # Number of rows without a program, by the reason.
    no_program: Counter[str] = msgspec.field(default_factory=Counter)

    def add(self, result: SubmissionResult) -> None:
        self.scored += 1
        reason_of_ending = find_unjudged_reason(result)
        output = result.compile_output
        if reason_of_ending is None:
            crash_messages = (test.feedback for test in result.tests if test.status is Verdict.RE)
            if not (output := next(crash_messages, "")):
                return
        first_line = next((line for line in output.splitlines() if line.strip()), "")
        line = shorten(visible(first_line), _MAX_LINE)
        if reason_of_ending is Reason.NO_PROGRAM:
            self.no_program[line] += 1
        elif (reason_of_ending, line) in self.alike or len(self.alike) < _MAX_LINES:
            self.alike[reason_of_ending, line] += 1

    def find_suspicions(self, model: str, author_remedy: str | None = None) -> Iterator[Suspicion]:
        """Yield failures that 90 % of a model's rows share: the same error, or a missing program.

        With fewer than ten rows, the only suspicion is that no row contains a program.

        Args:
            model: The name of the model.
            author_remedy: The remedy for missing programs, if they do not come from a dump.
        """
        rows = self.no_program.total()
        has_enough_rows = self.scored >= MIN_SUSPICIOUS_ROWS or rows == self.scored
        remedies = dict(_REMEDIES)
        if author_remedy:
            remedies[Reason.NO_PROGRAM] = author_remedy
        endings: list[tuple[Reason | None, str, int]] = []
        if rows and has_enough_rows:
            endings.append((Reason.NO_PROGRAM, _find_most_frequent_reason(self.no_program)[0], rows))
        if self.scored >= MIN_SUSPICIOUS_ROWS:
            endings += [(ending_reason, line, count) for (ending_reason, line), count in self.alike.items()]
        for ending_reason, line, count in endings:
            if count >= MIN_SUSPICIOUS_SHARE * self.scored:
                yield Suspicion(
                    model=model,
                    rows=count,
                    of=self.scored,
                    reason=ending_reason,
                    line=line,
                    remedy=remedies[ending_reason],
                )


def find_author_remedy(settings: Mapping[str, Any], *, has_agents: bool) -> str | None:
    """Return the remedy for missing programs in a run that requested its programs, or None for a dump.

    Args:
        settings: The settings in run.json. Their `command` is the command line of ioi_eval.
        has_agents: True if the run's folder has the logs of agents.
    """
    is_contest = "contest" in settings
    if has_agents:
        file_fault = "does not write solution.py or solution.cpp into the folder where it starts"
        return _AGENT_REMEDY.format(fault="submits nothing over MCP" if is_contest else file_fault)
    return _REPLY_REMEDY if is_contest or "author" in settings else None


def _find_most_frequent_reason(reasons: Counter[str]) -> tuple[str, int]:
    """Return the most frequent reason and its number of rows. A tie is decided by name."""
    return min(reasons.items(), key=lambda pair: (-pair[1], pair[0]))


def make_no_program_warning(counts_by_model: Mapping[str, EndingCounts]) -> str:
    """Return a warning if 5 % of all rows, or of a model's rows, contain no program, or "".

    `counts_by_model`: counts by model. A model with a `Suspicion` about this has its own warning.
    """
    scored_count = sum(end.scored for end in counts_by_model.values())
    reason_counts = sum((end.no_program for end in counts_by_model.values()), Counter[str]())
    models_without_programs = [
        model for model, end in counts_by_model.items() if _compute_no_program_share(end) >= _MIN_NO_PROGRAM
    ]
    rows_by_model_without_programs = {
        suspicion.model
        for model, end in counts_by_model.items()
        for suspicion in end.find_suspicions(model)
        if suspicion.reason is Reason.NO_PROGRAM
    }
    is_frequent = len(counts_by_model) > 1 and reason_counts.total() >= _MIN_NO_PROGRAM * scored_count
    if not reason_counts or (
        rows_by_model_without_programs.issuperset(models_without_programs) and not is_frequent
    ):
        return ""
    sentence = (
        f"{_format_row_share(reason_counts, scored_count)} contain no program."
        f"{_make_main_reason_sentence(reason_counts)}"
    )
    if len(counts_by_model) == 1:
        return sentence
    models_without_programs.sort(
        key=lambda model: (-_compute_no_program_share(counts_by_model[model]), model)
    )
    model_sentences = [
        _make_no_program_sentence(model, counts_by_model[model], reason_counts)
        for model in models_without_programs[:_MAX_MODELS]
    ]
    other_count = len(models_without_programs) - _MAX_MODELS
    return " ".join(
        [
            sentence,
            *model_sentences,
            *([f"And {format_count(other_count, 'other model')}."] if other_count > 0 else []),
        ]
    )


def _make_no_program_sentence(model: str, ending_counts: EndingCounts, reasons: Counter[str]) -> str:
    """Return a sentence about a model's rows without a program.

    It names the model's most frequent reason if `reasons`, of all models, has another most frequent reason.
    """
    reasons_of_model = ending_counts.no_program
    main_reason = (
        _make_main_reason_sentence(reasons_of_model)
        if _find_most_frequent_reason(reasons_of_model)[0] != _find_most_frequent_reason(reasons)[0]
        else ""
    )
    rows_text = _format_row_share(reasons_of_model, ending_counts.scored)
    return f"{visible(model) or 'Without a name'}: {rows_text}.{main_reason}"


def _compute_no_program_share(ending_counts: EndingCounts) -> float:
    return ending_counts.no_program.total() / ending_counts.scored if ending_counts.scored else 0.0


def _format_row_share(reasons: Counter[str], scored_count: int) -> str:
    """Return the number and the share of rows without a program, such as `3 of 10 scored submissions`."""
    rows = reasons.total()
    percent = format_percent(rows / scored_count, 1)
    return f"{rows:,} of {format_count(scored_count, 'scored submission')} ({percent} %)"


def _make_main_reason_sentence(reasons: Counter[str]) -> str:
    line, rows = _find_most_frequent_reason(reasons)
    return f" The main reason: {line} ({rows:,})." if line else ""
