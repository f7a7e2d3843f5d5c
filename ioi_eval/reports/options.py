"""How a report counts. None of it changes a row."""

from __future__ import annotations

from ioi_eval.models import Value
from ioi_eval.reports.medals import Contests
from ioi_eval.scoring import Mode
from ioi_eval.selection import SUBMISSIONS


class ReportOptions(Value):
    mode: Mode = Mode.MAX_SUBTASK
    submissions: int = SUBMISSIONS  # per problem, where their number is limited
    ks: tuple[int, ...] = (1, 5, 10)  # of pass@k
    contests: Contests | None = None  # None: those that come with the package
