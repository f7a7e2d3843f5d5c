"""The keys of the format's files, and the names of its files and folders."""

from __future__ import annotations

import math
import re

from ioi_eval.model.fields import Fields
from ioi_eval.problems.keys import (
    MIB,
    Key,
    Keys,
    UnknownKeyPolicy,
    integer_key,
    memory_key,
    number_key,
    object_key,
    raw_key,
    refused_key,
    seconds_key,
    text_key,
)

HEADER = "problem.yaml"
DOMJUDGE = "domjudge-problem.ini"
VALIDATORS, NEWER_VALIDATOR, GRADERS = "output_validators", "output_validator", "graders"
SAMPLE, SECRET = "sample", "secret"
CUSTOM = "custom"
LEGACY_VERSIONS = frozenset({"legacy", "legacy-icpc"})
NEWER_VERSIONS = frozenset({"2023-07", "2023-07-draft", "2025-09", "2025-09-draft"})
# Names of scripts that build and start programs of a package. Submissions must not have them.
SCRIPTS = frozenset({"build", "run"})
# Default ratios of the time limit to the slowest solution's time: in legacy versions, and in newer versions.
DEFAULT_MULTIPLIER, NEWER_DEFAULT_MULTIPLIER = 5.0, 2.0
NUMBER = r"[-+]?(?:inf|\d+\.?\d*(?:[eE][-+]?\d{1,2})?|\.\d+)"  # regular expression for a number
_MAX_PASSES = 1000
_NEWER = "newer versions: "
_LEGACY = "legacy: "


# --- problem.yaml ------------------------------------------------------------------------------------


class TimeMultiplierKeys(Keys):
    """The keys of `limits.time_multipliers`."""

    ac_to_time_limit = number_key(
        "factor from the slowest accepted solution's time to the time limit",
        default=NEWER_DEFAULT_MULTIPLIER,
        above=0,
    )


class LimitKeys(Keys):
    """The keys of `limits`."""

    unknown = UnknownKeyPolicy.NOTED
    ignored = (  # keys for tools of authors, and keys of drafts; they do not affect scores
        *("time_safety_margin", "code", "compilation_time", "compilation_memory", "validation_output"),
        *("generator_time", "generator_memory", "visualizer_time", "visualizer_memory"),
    )
    time_limit = seconds_key(
        missing_description="a multiple of the slowest accepted solution's time", wrong_names=("time",)
    )
    time_multiplier = number_key(
        f"{_LEGACY}factor from the slowest accepted solution's time to the time limit",
        default=DEFAULT_MULTIPLIER,
        above=0,
    )
    time_multipliers = object_key(TimeMultiplierKeys, f"{_NEWER}an object with `ac_to_time_limit`", "2")
    time_resolution = number_key(
        f"{_NEWER}seconds; a time limit from solutions is a multiple of it", default=1.0, above=0
    )
    memory_limit = memory_key("MiB", MIB, default=2048, name="memory", wrong_names=("memory_limit",))
    output = number_key("MiB", default=8.0, above=0)
    validation_time = seconds_key("for the validator on each test", "as for other checkers")
    validation_memory = memory_key("MiB", MIB, "for the validator", "as for other checkers")
    validation_passes = integer_key(
        "passes of a multi-pass problem", default=2, minimum=2, maximum=_MAX_PASSES
    )


def _declare_score_key(value_description: str, default: float) -> Key[float]:
    """Declare a number of at least 0. YAML reads some numbers as strings, such as 1e3."""

    def read(fields: Fields, name: str, default: float | None) -> float:
        value = fields.raw_value(name)
        if isinstance(value, str) and re.fullmatch(NUMBER, value, re.ASCII) and 0 <= float(value) < math.inf:
            return float(value)
        return (default or 0.0) if value is None else fields.read_number(name, default)

    return Key(read, default, f"{value_description}: at least 0")


class GradingKeys(Keys):
    """The keys of testdata.yaml in legacy packages. Older packages also have them in the header."""

    accept_score = _declare_score_key("points of a test that passes", 1.0)
    reject_score = _declare_score_key("points of a test that fails", 0.0)
    range = raw_key(
        "`MIN MAX`: the points of the group; the validator's scores are parts of MAX",
        "the group is worth the points of its tests",
    )
    on_reject = raw_key("`break` or `continue` after a part that is not accepted", "`break`")


class HeaderGradingKeys(GradingKeys):
    """The keys of `grading` in problem.yaml. The settings files in data/ override the inherited keys."""

    objective = raw_key("`max`; `min` is refused", "`max`")


class KattisHeader(Keys):
    """The keys of problem.yaml."""

    title = raw_key(
        "the title, or one for each language, of which the English one is used", "the id", name="name"
    )
    problem_format_version = text_key("`legacy`, `2023-07-draft` or `2025-09`", default="legacy")
    type = raw_key(
        "`pass-fail` or `scoring`; in newer versions also a list with `interactive` or `multi-pass`",
        "`pass-fail`",
    )
    validation = text_key(
        f"{_LEGACY}`default`, or `custom` with `interactive`, `multi-pass` and, for scoring, `score`",
        default="default",
    )
    validator_flags = text_key(f"{_LEGACY}arguments of the validator", default="")
    limits = object_key(LimitKeys, "an object, below", "defaults")
    grading = object_key(
        HeaderGradingKeys, f"{_LEGACY}settings of groups, below, and `objective`", "defaults"
    )
    constants = raw_key(f"{_NEWER}values of placeholders, by name", "none")

    def explain_forbidden_key(self, name: str) -> tuple[str, str] | None:
        is_limit = name in LimitKeys.declared_keys() or name in LimitKeys.ignored
        return ("it has no effect here", "Move it into limits") if is_limit else None


# --- settings of test groups and tests ---------------------------------------------------------------


class LegacyGroupKeys(GradingKeys):
    """The keys of testdata.yaml in the legacy version."""

    unknown = UnknownKeyPolicy.NOTED
    ignored = ("input_validator_flags",)
    grading = raw_key("`default` or `custom`, by the program in graders/", "`default`")
    grader_flags = raw_key("flags of the default grader, or of the program in graders/", "no flags")
    output_validator_flags = raw_key("arguments of the validator", "none")


class TestKeys(Keys):
    """The keys of a test's settings file in the newer versions."""

    unknown = UnknownKeyPolicy.REFUSED
    ignored = (
        *("input_validator_args", "static_validator_args", "input_visualizer_args", "output_visualizer_args"),
        *("full_feedback", "hint", "description", "input_validator_flags"),
    )
    args = refused_key(
        "arguments for submissions are not supported", "Submissions can read standard input only"
    )
    output_validator_args = raw_key("arguments of the validator, as a list", "those of the group")
    output_validator_flags = raw_key("the same in drafts, as a string", "those of the group")


class GroupKeys(TestKeys):
    """The keys of test_group.yaml in the newer versions."""

    max_score = raw_key("points of the group, at least 0", "100 for secret/, refused for groups in it")
    score_aggregation = raw_key(
        "`pass-fail`, `sum` or `min`, in secret/ and its direct groups",
        "`sum` for secret/, `pass-fail` for groups in it",
    )
    require_pass = raw_key("names of earlier pass-fail groups, or `sample`, that must pass", "none")


# --- submissions.yaml --------------------------------------------------------------------------------


class ExpectedKeys(Keys):
    """The keys of an entry in submissions.yaml. Other keys are patterns of groups and tests."""

    ignored = ("authors", "model_solution", "use_for_time_limit")
    permitted = raw_key("verdicts that each test may have: `AC`, `WA`, `TLE`, `RTE`", "any")
    required = raw_key("verdicts of which one test must have one", "none")
    score = raw_key("the points, or a list of the least and the most points", "any")
    language = text_key("the language", "by the suffix", default="")
    entrypoint = text_key("the source that is started", "by its name", default="")
    message = raw_key("not compared, as a note says", "-")
