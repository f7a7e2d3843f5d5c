"""What summary.json holds, as values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ioi_eval.metrics import PassAtK
from ioi_eval.models import Value, Verdict
from ioi_eval.reports.medals import Award
from ioi_eval.scoring import BestSubtask, Mode
from ioi_eval.selection import Budget

VERSION = 1


class ProblemSummary(Value):
    """One model's submissions for one problem. Points are those of all of them, by the summary's mode."""

    problem_id: str
    points: float | None  # None: no subtasks, so `solved` and `best_pass_rate` say what there is to say
    max_points: float | None  # None also where no submission for the problem was ever scored
    submissions: int  # scored and unscored
    scored: int
    unscored: int
    compiled: int
    solved: int  # scored submissions with full marks
    mean_points: float | None  # of a scored submission; without subtasks the mean share of the tests
    best_pass_rate: float | None  # without subtasks
    verdicts: Mapping[Verdict, int]  # of scored submissions; worst first
    subtasks: tuple[BestSubtask, ...]
    difficulty: str = ""
    tags: tuple[str, ...] = ()
    year: int | None = None
    budgets: Mapping[
        Budget, float
    ] = {}  # points by how many submissions may be handed in; with subtasks only
    handed_in: int = 0  # of the limited number
    pass_at: tuple[PassAtK, ...] = ()

    @property
    def mean_score(self) -> float | None:
        """The mean share of a scored submission, in [0, 1]."""
        if self.mean_points is None or self.max_points is None:
            return self.mean_points
        return self.mean_points / self.max_points if self.max_points else None


class Group(Value):
    """One model's problems of a difficulty, a tag or a year."""

    kind: str  # difficulty, tag, year
    name: str  # empty: the problems of which nobody says it
    problems: int
    problems_solved: int
    submissions: int
    scored: int
    unscored: int
    points: float
    max_points: float
    mean_score: float | None  # in [0, 1]: the mean over problems of the mean over submissions
    pass_at: tuple[PassAtK, ...]


class BudgetAward(Value):
    budget: Budget
    award: Award


class ModelSummary(Value):
    """One model over all problems of the run, also those that it has no submission for."""

    model: str  # empty where the dump names none
    points: float
    max_points: float
    problems_solved: int  # full marks, or a submission that passes everything where there are no subtasks
    submissions: int
    scored: int
    unscored: int
    compiled: int
    solved: int
    verdicts: Mapping[Verdict, int]
    problems: tuple[ProblemSummary, ...]
    budgets: Mapping[Budget, float] = {}  # empty where no problem has subtasks
    mean_score: float | None = None
    pass_at: tuple[PassAtK, ...] = ()
    groups: tuple[Group, ...] = ()
    awards: tuple[BudgetAward, ...] = ()


class Failures(Value):
    """Submissions that could not be judged, for one reason."""

    reason: str
    phase: str
    remedy: str
    submissions: int
    problems: tuple[str, ...]
    examples: tuple[str, ...]  # some of the keys


class Settings(Value):
    """What the run was made with: as the run says (`given`), and as the rows say."""

    dump: str = ""
    problems: Mapping[str, str] = {}  # a hash of each
    options: Mapping[str, Any] = {}
    versions: Mapping[str, str] = {}
    given: Mapping[str, Any] = {}
    compilers: Mapping[str, int] = {}  # by how many submissions
    checkers: Mapping[str, tuple[str, ...]] = {}  # by problem
    confinements: tuple[Mapping[str, Any], ...] = ()
    repairs: Mapping[str, int] = {}


class Summary(Value, kw_only=True):
    version: int = VERSION
    mode: Mode = Mode.MAX_SUBTASK
    submission_limit: int = 0  # of the budget `limited`
    submissions: int
    scored: int
    unscored: int
    problems: int
    verdicts: Mapping[Verdict, int]
    models: tuple[ModelSummary, ...]  # most points first
    failures: tuple[Failures, ...]  # most frequent first, at most a hundred reasons
    settings: Settings
