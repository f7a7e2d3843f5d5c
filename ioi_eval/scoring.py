"""Functions for scorers and rewards: extract a program from a reply, read tests, compute points.

    language = find_language("python")
    problem = with_tests(Problem(id="row 1", limits=limits), row["input_output"], Blob.of)
    code = extract(reply, language)
    submission = Submission(key="1", problem_id=problem.id, code=code, language=language.name)
    result = await scorer.score(problem, submission)
    reward = pass_rate(result).pass_rate

Names of the judge and of reports are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioi_eval.model.languages import Language, find_language
from ioi_eval.model.lazy import make_lazy_accessors
from ioi_eval.model.nesting import require_shallow
from ioi_eval.model.values import STATUS_ORDER, worst_verdict
from ioi_eval.rules.assertions import Asserted
from ioi_eval.rules.calibration import with_time_factor
from ioi_eval.rules.expectations import must_be_right, must_be_wrong
from ioi_eval.rules.extraction import extract, repair
from ioi_eval.rules.json_tests import Case, Cases, read_call, read_cases, with_cases
from ioi_eval.rules.languages import choose_language
from ioi_eval.rules.metrics import pass_at_k
from ioi_eval.rules.row_tests import PUBLIC_AND_PRIVATE, read_tests, with_tests
from ioi_eval.rules.scoring import PassRate, pass_rate
from ioi_eval.rules.selection import SUBMISSIONS, Attempt, Budget

if TYPE_CHECKING:
    from ioi_eval.judge.deduplication import Deduplication
    from ioi_eval.reports.records import ModelSummary
    from ioi_eval.reports.summary import summarise
    from ioi_eval.store.rows import as_json_value as json_value
else:
    __getattr__, __dir__ = make_lazy_accessors(
        __name__,
        {
            "judge.deduplication": "Deduplication",
            "reports.records": "ModelSummary",
            "reports.summary": "summarise",
            "store.rows": "json_value=as_json_value",
        },
    )

__all__ = [
    "PUBLIC_AND_PRIVATE",
    "STATUS_ORDER",
    "SUBMISSIONS",
    "Asserted",
    "Attempt",
    "Budget",
    "Case",
    "Cases",
    "Deduplication",
    "Language",
    "ModelSummary",
    "PassRate",
    "choose_language",
    "extract",
    "find_language",
    "json_value",
    "must_be_right",
    "must_be_wrong",
    "pass_at_k",
    "pass_rate",
    "read_call",
    "read_cases",
    "read_tests",
    "repair",
    "require_shallow",
    "summarise",
    "with_cases",
    "with_tests",
    "with_time_factor",
    "worst_verdict",
]
