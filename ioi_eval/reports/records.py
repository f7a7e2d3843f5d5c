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
from ioi_eval.model.quoting import as_json
from ioi_eval.model.values import Reason, SubmissionResult, TestResult, Value, Verdict
from ioi_eval.reports.document import counted, drawn, percent, visible
from ioi_eval.reports.medals import Award, Contests
from ioi_eval.rules.expectations import ExpectedSolution
from ioi_eval.rules.metrics import PassAtK
from ioi_eval.rules.scoring import BestSubtask, Mode, reason, worth_points
from ioi_eval.rules.selection import SUBMISSIONS, Budget
from ioi_eval.store.files import read_value, replace
from ioi_eval.store.folder import MeasuredLimit
from ioi_eval.store.rows import bounded


class PagesOf(StrEnum):
    """The submissions that get pages of their own."""

    ALL = "all"
    FAILED = "failed"
    SAMPLE = "sample"
    NONE = "none"


class ReportOptions(Value):
    mode: Annotated[Mode, CliOption(help="How several submissions make a problem's points.")] = (
        Mode.MAX_SUBTASK
    )
    submissions: Annotated[
        Count, CliOption(metavar="N", help="Submissions per problem, where their number is limited.")
    ] = SUBMISSIONS
    ks: Annotated[
        tuple[Count, ...],
        CliOption(name="k", metavar="K", help="pass@K; may be repeated.", unset="1, 5 and 10"),
    ] = (1, 5, 10)
    pages: Annotated[
        PagesOf | None,
        CliOption(
            help="Submissions with pages of their own; sample and failed add those that the report names.",
            unset="all, of more than 20,000 submissions a sample",
        ),
    ] = None
    contests: Contests | None = None  # None: those that come with the package


VERSION = 2
WITH_FEEDBACK = "with_feedback"  # option of a run; see `has_feedback`


def has_feedback(options: Mapping[str, Any]) -> bool:
    """Return True if a run's authors wrote each program after the verdict on the one before it.

    Means over such programs say nothing about the next one, so reports have no pass@k and no mean score.
    """
    return options.get(WITH_FEEDBACK) is True


class Measure(StrEnum):
    """The number of a run that counts."""

    PASS_AT_1 = "pass@1"
    POINTS = "points"
    SOLVED = "solved"

    @property
    def noun(self) -> str:
        """Return what a sentence calls a problem's value."""
        return {"pass@1": "pass@1", "points": "the share of points", "solved": "solved problems"}[self.value]


class LanguageSummary(Value):
    """A model's scored submissions for one problem in one language."""

    scored: int
    pass_at_1: float | None  # None: with feedback
    points: float | None  # None: no subtasks, or a mode of scoring that counts a single submission
    causes: Mapping[str, int] = {}  # of submissions without full marks, by `cause`


class ProblemSummary(Value):
    """A model's submissions for one problem. Points are those of all of them, by the summary's mode."""

    problem_id: str
    points: float | None  # None: no subtasks, so `solved` and `best_pass_rate` say what there is to say
    max_points: float | None  # None also where no submission for the problem was ever scored
    submissions: int  # scored and unscored
    scored: int
    unscored: int
    compiled: int
    solved: int  # scored submissions with full marks
    mean_points: float | None  # of a scored submission; without subtasks of its tests; None in a contest
    best_pass_rate: float | None  # without subtasks
    verdicts: Mapping[str, int]  # of scored submissions by verdict, or `no program`; worst first
    subtasks: tuple[BestSubtask, ...]
    difficulty: str = ""
    tags: tuple[str, ...] = ()
    year: int | None = None
    date: str = ""  # 2024-05-31, the problem's; empty: not known
    budgets: Mapping[
        Budget, float
    ] = {}  # points by how many submissions may be handed in; with subtasks only
    handed_in: int = 0  # of the limited number
    pass_at: tuple[PassAtK, ...] = ()
    pass_at_1: float | None = None  # whatever `k` the report shows; None: nothing scored, or with feedback
    languages: Mapping[str, LanguageSummary] = {}  # by the language of the rows

    @property
    def mean_score(self) -> float | None:
        """The mean share of a scored submission, in [0, 1]."""
        if self.mean_points is None or self.max_points is None:
            return self.mean_points
        return self.mean_points / self.max_points if self.max_points else None

    def is_solved(self, mode: Mode) -> bool:
        """As points count: by subtasks several submissions may share the work."""
        if self.max_points is None:
            return self.solved > 0
        if mode is Mode.MAX_SUBTASK:
            counting = worth_points(self.subtasks)
            return bool(counting) and all(best.exact_score >= 1 for best in counting)
        return self.points is not None and self.points >= self.max_points - 1e-9


class BudgetAward(Value):
    budget: Budget
    award: Award


class Step(Value):
    """The worth of the first so many submissions for each problem, handed in as `limited` ones are."""

    submissions: int
    points: float


class Use(Value):
    """The shares of a limit that submissions took on their most demanding test."""

    STEP: ClassVar[float] = 0.05

    what: str  # time, memory
    counts: tuple[int, ...]  # up to nothing, up to a step, up to two ...; the last: more than all of these

    def within(self, share: float) -> float:
        """The part of the submissions that took at most so much, a number of steps."""
        return sum(self.counts[: round(share / self.STEP) + 1]) / sum(self.counts)


class ModelSummary(Value):
    """A model over all problems of the run, also those that it has no submission for."""

    model: str  # empty where the dump names none
    points: float
    max_points: float
    problems_solved: int  # full marks, or a submission that passes everything where there are no subtasks
    submissions: int
    scored: int
    unscored: int
    compiled: int
    solved: int
    verdicts: Mapping[str, int]
    problems: tuple[ProblemSummary, ...]
    budgets: Mapping[Budget, float] = {}  # empty where no problem has subtasks
    mean_score: float | None = None
    pass_at: tuple[PassAtK, ...] = ()
    awards: tuple[BudgetAward, ...] = ()
    steps: tuple[Step, ...] = ()  # up to the limit; empty where no problem has subtasks
    uses: tuple[Use, ...] = ()  # where limits are known
    pass_curve: tuple[PassAtK, ...] = ()  # every problem and subtask has k scored submissions
    share_low: float | None = None  # the 95 % interval of `share`; None: one problem has none
    share_high: float | None = None
    pass_at_1: PassAtK | None = None  # whatever `k` the report shows; None: nothing scored, or with feedback
    more: Mapping[str, Any] = {}  # numbers of plugins, by their names in the registry of report sections

    @property
    def share(self) -> float | None:
        """Return the share of the points; without subtasks the mean score."""
        return self.points / self.max_points if self.max_points else self.mean_score


class HeadlineRow(Value):
    """A model's headline. `value`, `low` and `high`: pass@1 in [0, 1], points, or a number of problems."""

    model: str
    rank: int  # 1, and 1 for each model that is better beyond the interval of the difference
    value: float | None  # None: nothing was scored
    low: float | None  # the 95 % interval; None: one problem has none
    high: float | None
    limited: float | None  # points with a limited number of submissions per problem
    problems: int  # of which something was scored
    scored: int  # submissions


class Headline(Value):
    """The number that counts, of each model; the best model first."""

    measure: Measure
    of: float | None = None  # points, or problems; None: pass@1
    submission_limit: int | None = None  # of `limited`
    sentence: str = ""  # whether the first two models differ; empty: there is one model
    models: tuple[HeadlineRow, ...] = ()


class TrustSummary(Value):
    """The numbers of a run without the problems that an audit does not trust."""

    audit: str  # the audit's file, as it was named
    sha256: str  # of that file
    problems: Mapping[str, str]  # of the run, with the reason why each is not trusted
    headline: Headline  # over the other problems


class Failures(Value):
    """Submissions that could not be judged, for one reason."""

    reason: str
    phase: str
    remedy: str
    submissions: int
    problems: tuple[str, ...]
    examples: tuple[str, ...]  # some of the keys
    final: bool = False  # another try cannot help


class Cause(Value):
    """Submissions that have no full marks for one cause."""

    cause: str
    submissions: int
    examples: tuple[str, ...]  # three of the keys


class Settings(Value):
    """The settings of a run: as the run says (`given`), and as the rows say."""

    dump: str = ""
    problems: Mapping[str, str] = {}  # a hash of each
    options: Mapping[str, Any] = {}
    versions: Mapping[str, str] = {}
    given: Mapping[str, Any] = {}
    compilers: Mapping[str, int] = {}  # by how many submissions
    checkers: Mapping[str, tuple[str, ...]] = {}  # by problem
    confinements: tuple[Mapping[str, Any], ...] = ()
    repairs: Mapping[str, int] = {}

    @property
    def has_feedback(self) -> bool:
        """Return True if each program was written after the verdict on the one before it."""
        return has_feedback(self.options)


class Summary(Value, kw_only=True):
    version: int = VERSION
    mode: Mode = Mode.MAX_SUBTASK
    submission_limit: int = 0  # of the budget `limited`
    submissions: int
    complete: bool = True  # False: submissions of the run have no result, and are in no number
    judged: int = 0  # submissions that were tried: scored and unscored
    of: int | None = None  # submissions of the run; None: their number is not known
    scored: int
    unscored: int
    problems: int
    verdicts: Mapping[str, int]
    models: tuple[ModelSummary, ...]  # the best headline first
    headline: Headline
    trust: TrustSummary | None = None  # `None` means that no audit was named
    failures: tuple[Failures, ...]  # most frequent first, at most a hundred reasons
    causes: tuple[Cause, ...] = ()  # most frequent first
    date: str = ""  # the day, in UTC, on which the run was last at work; empty: not known
    warnings: tuple[str, ...] = ()  # to be read before any number
    repeated: int = 0  # of the scored, those that have the result of an equal program
    measured_again: int = 0  # tests so near to the time limit that they ran again
    saved: int = 0  # of these, those whose least time was within it
    suspicious: tuple[
        Suspicion, ...
    ] = ()  # what nearly all rows of a model end with; said in `warnings`, too
    more: Mapping[str, Any] = {}  # numbers of plugins, by their names in the registry of report sections
    settings: Settings

    def as_json(self) -> dict[str, Any]:
        """Return all but the settings, which are in summary.json."""
        return {name: value for name, value in msgspec.to_builtins(self).items() if name != "settings"}


_VERSION = 1


class ExpectedVerdict(Value, kw_only=True):
    """A subtask, or all that counts, beside the expected."""

    subtask: str  # empty: all that counts
    expected: str  # a word, or a score as it was given; empty where nothing is expected of this subtask alone
    status: Verdict  # the worst of its tests
    score: float


class Check(ExpectedVerdict, kw_only=True):
    """An expectation beside the result. `score`: of a word the least of its tests, else what was compared."""

    agrees: bool
    tests: int
    not_right: int  # tests that are not AC
    evidence: tuple[TestResult, ...] = ()  # of a difference: the first tests not right, else the slowest ones


class SubtaskCheck(ExpectedVerdict, kw_only=True):
    """A subtask's outcome. Its score is in [0, 1], rounded."""

    weighted_score: float
    points: float
    agrees: bool = True


class SolutionCheck(ExpectedSolution, kw_only=True):
    """A solution with its result and all that was expected of it."""

    status: Verdict
    compiles: bool
    compile_output: str = ""  # where it does not compile
    points: float
    max_points: float
    subtasks: tuple[SubtaskCheck, ...] = ()
    checks: tuple[Check, ...] = ()

    @property
    def differences(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.agrees)


class Unjudged(ExpectedSolution, kw_only=True):
    """A solution that the judge could not say anything about: no difference, and no agreement either."""

    reason: str


class Validation(Value, kw_only=True):
    version: int = _VERSION
    solutions: tuple[SolutionCheck, ...]
    unjudged: tuple[Unjudged, ...] = ()
    expectations: int  # that were compared
    differences: int  # expectations that are not met
    numbers: Mapping[str, int] = {}  # expectations compared, agree, differ; solutions of the other two
    unknown: Mapping[str, int] = {}  # words that nothing is compared with, and how many solutions have them
    confusion: Mapping[str, Mapping[Verdict, int]] = {}  # expected word -> status got -> expectations
    limits: Mapping[str, MeasuredLimit] = {}  # by problem: time limits that solutions set

    @property
    def differing(self) -> tuple[SolutionCheck, ...]:
        return tuple(solution for solution in self.solutions if solution.differences)


VALIDATION = "validation.json"


def write_json(path: Path, value: object) -> None:
    """Write a file of a run's folder: JSON that people can read, too."""
    replace(path, [as_json(value, indented=True), b"\n"])


def read_validation(folder: Path) -> Validation | None:
    """Return the validation in a folder; None where its run is none."""
    remedy = "Run `ioi-eval validate` again"
    return read_value(folder / VALIDATION, Validation, "is not a validation's", remedy)


# --- why submissions have no full marks --------------------------------------------------------------


_MAX_CAUSE = 120  # characters
_MAX_CAUSES, _MAX_EXAMPLES = 1000, 3  # distinct ones of a run, and keys of each
_PLACE = re.compile(r"^\S+?:\d+(:\d+)?:\s*")  # in a line of a compiler
_QUOTED = re.compile(r"‘[^’]*’|'[^']*'|`[^`']*'|\"[^\"]*\"")  # noqa: RUF001 - g++ quotes so
_ERROR = re.compile(r"\berror\b", re.IGNORECASE)


def cause(result: SubmissionResult) -> str:
    """Return why a submission has no full marks, in words that several can share; empty if it has.

    It begins with the verdict. Of a compiler it has the first line with an error, without places and names.
    """
    verdict = result.verdict
    if verdict is Verdict.AC:
        return ""
    if not result.compiles:
        lines = [line for line in result.compile_output.splitlines() if line.strip()]
        if reason(result) is Reason.NO_PROGRAM:
            return _caused(Reason.NO_PROGRAM, lines[0] if lines else "")
        line = next(filter(_ERROR.search, lines), lines[0] if lines else "")
        return _caused(verdict, _QUOTED.sub("‘…’", _PLACE.sub("", line.strip())))  # noqa: RUF001
    failed = next((test for test in result.tests if test.status is verdict), None)
    if failed is None:
        return str(verdict)
    samples = {test.test_name for part in result.subtasks if not part.points for test in part.test_results}
    if any(test.status is verdict and test.test_name in samples for test in result.tests):
        return f"{verdict}: at a sample"
    return _caused(verdict, failed.feedback.partition(":")[0] if verdict is Verdict.RE else "")


def _caused(verdict: str, line: str) -> str:
    return bounded(visible(f"{verdict}: {line}" if line else str(verdict)), _MAX_CAUSE)


class Causes(msgspec.Struct):
    """The causes of a run's submissions, each with some keys. Rows come one by one, in any order."""

    examples: dict[str, list[tuple[int, str]]] = {}  # by cause: the keys with the lowest numbers

    def add(self, result: SubmissionResult) -> str:
        """Return the cause that the result counts for."""
        name = cause(result)
        if name and name not in self.examples and len(self.examples) >= _MAX_CAUSES:
            name = f"{name.partition(':')[0]}: other lines"
        if name:
            mine = drawn(result.key), result.key
            self.examples[name] = sorted([*self.examples.get(name, ()), mine])[:_MAX_EXAMPLES]
        return name

    def counted(self, models: Iterable[ModelSummary]) -> tuple[Cause, ...]:
        """Return the causes with their numbers, the most frequent first."""
        total = Counter[str]()
        for model in models:
            for problem in model.problems:
                for language in problem.languages.values():
                    total.update(language.causes)
        return tuple(
            Cause(cause=name, submissions=number, examples=tuple(key for _, key in self.examples[name]))
            for name, number in sorted(total.items(), key=lambda pair: (-pair[1], pair[0]))
        )


# --- tables that can hardly be true ------------------------------------------------------------------


LEAST_ROWS, LEAST_SHARE = 10, 0.9
_MIN_NO_PROGRAM = (
    0.05  # share of the scored submissions from which on a warning names those without a program
)
_MAX_MODELS = 10  # that such a warning names
_MAX_LINE = 160  # characters
_MAX_LINES = 10_000  # distinct ones of a model: among as many, none is that of nine rows of ten

_REMEDIES = {
    Reason.NO_PROGRAM: "Likely the replies are empty or cut off, or the programs are in another "
    "language or column: look at one, then say `language=NAME`, `code_column=NAME` or `always_extract=True`",
    Reason.NOT_COMPILED: "Likely the programs are in another language than was said, or lack a header or a "
    "grader: look at one of them, then say `language=NAME`, or name the problems that they are for",
}
_CRASHED = (
    "Likely the programs need a module that the machine lacks (`ioi-eval doctor`), are in another language, "
    "or read their input elsewhere: look at one of them"
)


class Suspicion(Value):
    """A line, or a missing program, that nearly all scored rows of a model have in common."""

    model: str
    rows: int
    of: int  # scored rows of the model
    reason: Reason | None  # None: they compile, and end with the same error
    line: str  # the first line of the compiler's or the program's output, or why there is no program
    remedy: str

    def __str__(self) -> str:
        who = f" of {self.model}" if self.model else ""
        match self.reason:
            case Reason.NO_PROGRAM:
                what = "hold no program" + (f" (most often: {self.line})" if self.line else "")
            case Reason.NOT_COMPILED:
                what = f'do not compile, with the same first line: "{self.line}"'
            case None:
                what = f'fail with the same first line: "{self.line}"'
        some = f"{self.rows:,} of the {counted(self.of, 'scored submission')}{who} {what}"
        return f"This table can hardly be true: {some}. {self.remedy}."


class Ends(msgspec.Struct):
    """The endings of one model's rows that no test could tell apart. Rows come one by one."""

    scored: int = 0
    alike: Counter[tuple[Reason | None, str]] = msgspec.field(default_factory=Counter)
    no_program: Counter[str] = msgspec.field(default_factory=Counter)  # by the reason

    def add(self, result: SubmissionResult) -> None:
        self.scored += 1
        why = reason(result)
        output = result.compile_output
        if why is None:
            crashed = (test.feedback for test in result.tests if test.status is Verdict.RE)
            if not (output := next(crashed, "")):
                return
        first = next((line for line in output.splitlines() if line.strip()), "")
        line = bounded(visible(first), _MAX_LINE)
        if why is Reason.NO_PROGRAM:
            self.no_program[line] += 1
        elif (why, line) in self.alike or len(self.alike) < _MAX_LINES:
            self.alike[why, line] += 1

    def suspicions(self, model: str) -> Iterator[Suspicion]:
        """Yield what at least 90 % of ten or more rows end with, or that no row at all holds a program."""
        rows = self.no_program.total()
        enough = self.scored >= LEAST_ROWS or rows == self.scored
        found: list[tuple[Reason | None, str, int]] = []
        if rows and enough:
            found.append((Reason.NO_PROGRAM, _commonest(self.no_program)[0], rows))
        if self.scored >= LEAST_ROWS:
            found += [(why, line, number) for (why, line), number in self.alike.items()]
        for why, line, number in found:
            if number >= LEAST_SHARE * self.scored:
                yield Suspicion(
                    model=model,
                    rows=number,
                    of=self.scored,
                    reason=why,
                    line=line,
                    remedy=_CRASHED if why is None else _REMEDIES[why],
                )


def _commonest(reasons: Counter[str]) -> tuple[str, int]:
    """Return the reason of most rows, and their number; of several the first by the alphabet."""
    return min(reasons.items(), key=lambda pair: (-pair[1], pair[0]))


def no_program_warning(ends: Mapping[str, Ends]) -> str:
    """Return a warning if 5 % of all rows, or of a model's, hold no program; empty otherwise.

    `ends`: by model. A model for which the table can hardly be true has a warning of its own.
    """
    scored = sum(end.scored for end in ends.values())
    reasons = sum((end.no_program for end in ends.values()), Counter[str]())
    many = [model for model, end in ends.items() if _share(end) >= _MIN_NO_PROGRAM]
    suspicious = {
        each.model
        for model, end in ends.items()
        for each in end.suspicions(model)
        if each.reason is Reason.NO_PROGRAM
    }
    is_much = len(ends) > 1 and reasons.total() >= _MIN_NO_PROGRAM * scored
    if not reasons or (suspicious.issuperset(many) and not is_much):
        return ""
    text = f"{_of_rows(reasons, scored)} hold no program.{_most_often(reasons)}"
    if len(ends) == 1:
        return text
    many.sort(key=lambda model: (-_share(ends[model]), model))
    named = [_of_model(model, ends[model], reasons) for model in many[:_MAX_MODELS]]
    more = len(many) - _MAX_MODELS
    return " ".join([text, *named, *([f"And {counted(more, 'other model')}."] if more > 0 else [])])


def _of_model(model: str, end: Ends, reasons: Counter[str]) -> str:
    """Return a model's part of the rows without a program, and its commonest reason if it is another one."""
    own = end.no_program
    other = _most_often(own) if _commonest(own)[0] != _commonest(reasons)[0] else ""
    return f"{visible(model) or 'Without a name'}: {_of_rows(own, end.scored)}.{other}"


def _share(end: Ends) -> float:
    return end.no_program.total() / end.scored if end.scored else 0.0


def _of_rows(reasons: Counter[str], scored: int) -> str:
    rows = reasons.total()
    return f"{rows:,} of {counted(scored, 'scored submission')} ({percent(rows / scored, 1)} %)"


def _most_often(reasons: Counter[str]) -> str:
    line, rows = _commonest(reasons)
    return f" The commonest reason: {line} ({rows:,})." if line else ""
