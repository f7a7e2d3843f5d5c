"""What engines are asked and answer, and the languages that they know."""

from __future__ import annotations

from collections.abc import Iterable

from ioi_eval.engines.contract import Batch, Built, Program, Recipe, Rejected
from ioi_eval.engines.embedded.toolchains import toolchains
from ioi_eval.engines.fake import Fault, Outcome, fake_profile
from ioi_eval.engines.jobs.build import compile_script
from ioi_eval.judge.recipes import Sources
from ioi_eval.model.job import CPU_LIMIT, HARD_STOP, IDLED
from ioi_eval.model.languages import LANGUAGES, Language, find
from ioi_eval.model.options import BuildLimits
from ioi_eval.model.values import NamedBlob, Problem, Submission
from ioi_eval.rules.verdicts import Ending

__all__ = [
    "CPU_LIMIT",
    "HARD_STOP",
    "IDLED",
    "LANGUAGES",
    "Batch",
    "Built",
    "Ending",
    "Fault",
    "Language",
    "Outcome",
    "Program",
    "Recipe",
    "Rejected",
    "compile_script",
    "fake_profile",
    "find",
    "submission_recipe",
    "toolchains",
]


def submission_recipe(
    problem: Problem, submission: Submission, limits: BuildLimits, helpers: Iterable[NamedBlob] = ()
) -> Recipe:
    language = find(submission.language, where=problem.source or problem.id)
    return Sources(problem, language, limits, helpers).recipe(submission)
