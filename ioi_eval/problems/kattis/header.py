"""Read problem.yaml: the version, the title, the type of the problem, the validation and the time limit."""

from __future__ import annotations

import configparser
import re
from pathlib import Path
from typing import Any, NamedTuple

from ioi_eval.model.fields import Faults, format_value
from ioi_eval.problems.kattis.keys import (
    CUSTOM,
    DOMJUDGE,
    HEADER,
    LEGACY_VERSIONS,
    NEWER_VALIDATOR,
    NEWER_VERSIONS,
    VALIDATORS,
    KattisHeader,
)

_TIME_TOLERANCE_S = 0.001  # maximum difference of two times in seconds that is attributed to rounding
_MAX_NUMERIC_TITLE = 1 << 64  # minimum of numbers that are ignored if YAML parses a title as a number


class Validators(NamedTuple):
    """The kind of a package's output validator: default or custom, interactive, with scores."""

    custom: bool  # True if the package has its own validator instead of the default comparison
    interactive: bool
    score: bool  # True if the validator awards points
    passes: int = 1


def check_legacy_keys(header: KattisHeader) -> None:
    """Report a version, a type or an objective that is not supported in the legacy format."""
    version = header.problem_format_version
    if version not in LEGACY_VERSIONS:
        header.report_fault(
            "problem_format_version",
            f"{version} is not supported",
            f"Supported: {', '.join(sorted(LEGACY_VERSIONS | NEWER_VERSIONS))}",
        )
    kind = header.read_text("type", "pass-fail")
    if kind not in ("pass-fail", "scoring"):
        header.report_fault("type", f"{kind!r} is neither pass-fail nor scoring", "Correct it in the file")
    if header.grading.objective not in (None, "max"):
        header.report_fault(
            "grading.objective",
            "min is not supported",
            "Only problems in which the most points win are judged",
        )


def read_title(header: KattisHeader) -> str:
    """Return the problem's title, or an empty string if the header has none.

    If the header has one title for each language, the English title or else the first one is returned.
    YAML parses some titles as numbers.
    """
    value = header.title
    if isinstance(value, dict):
        value = value.get("en", next(iter(value.values()), None))
    plain = isinstance(value, str | float) or (isinstance(value, int) and abs(value) < _MAX_NUMERIC_TITLE)
    return str(value) if plain else ""


def read_types(header: KattisHeader) -> list[object]:
    """Return the problem's types. Only the newer versions can have several."""
    types = header.type if header.has_field("type") else "pass-fail"
    return types if isinstance(types, list) else [types]


def find_validators(folder: Path, header: KattisHeader, *, scoring: bool, new: bool) -> Validators:
    """Return how the package validates outputs.

    Legacy packages have the field `validation`. In the newer versions it follows from the problem's types
    and from the folder output_validator.
    """
    modes: list[Any] = read_types(header)
    if new:
        for kind in modes:
            if kind not in ("pass-fail", "scoring", "interactive", "multi-pass"):
                problem = f"{format_value(kind)} problems are not supported in this version"
                header.report_fault("type", problem, "Expected pass-fail, scoring, interactive or multi-pass")
        needs_validator = "interactive" in modes or "multi-pass" in modes
        custom = needs_validator or (folder / NEWER_VALIDATOR).is_dir() or is_draft(folder)
        if header.values.get("validation", "default") not in ("default", CUSTOM if custom else "default"):
            header.report_fault(
                "validation", "not a key of this version", f"Use `type` and the folder {NEWER_VALIDATOR}/"
            )
    else:
        first, *modes = header.validation.split() or ["default"]
        custom = first == CUSTOM
        allowed_modes = {"interactive", "multi-pass"} | ({"score"} if scoring else set())
        if not (custom or (first == "default" and not modes)) or not allowed_modes.issuperset(modes):
            header.report_fault(
                "validation",
                f"{' '.join([first, *modes])!r} is not supported",
                "Expected default, or custom with interactive or multi-pass and, for scoring problems, score",
            )
    passes = 1
    if "multi-pass" in modes:
        passes = header.limits.validation_passes
    return Validators(custom, "interactive" in modes, "score" in modes, passes)


def is_draft(folder: Path) -> bool:
    """Return True if the package has output_validators/, as in the legacy version and in early drafts."""
    return (folder / VALIDATORS).is_dir() and not (folder / NEWER_VALIDATOR).exists()


def read_time_limit(folder: Path, header: KattisHeader, faults: Faults) -> float | None:
    """Return the time limit in seconds, or None if no file sets one.

    It is read from problem.yaml, else from .timelimit, else from domjudge-problem.ini.
    """
    limits = header.limits
    if limits.raw_value("time_limit") is not None:
        seconds = limits.time_limit
        resolution = limits.time_resolution if limits.has_field("time_resolution") else 0
        if resolution and abs(seconds - round(seconds / resolution) * resolution) > _TIME_TOLERANCE_S:
            multiple = f"{limits.full_name('time_resolution')}, {resolution:g} s"
            problem = f"{seconds:g} s is not a multiple of {multiple}"
            faults.add_note(
                f"{limits.full_name('time_limit')}: {problem}. The judge uses {seconds:g} s", HEADER
            )
        return seconds or None
    for file, parse in ((".timelimit", str.strip), (DOMJUDGE, _find_ini_time_limit)):
        path = folder / file
        if path.is_file() and (number := parse(path.read_text(encoding="utf-8-sig", errors="replace"))):
            if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", number) and float(number) > 0:
                return float(number)
            problem = f"{number[:40]!r} is not a number of seconds"
            faults.report(problem, file, remedy="Expected a number such as 2 or 1.5")
            return None
    return None


def _find_ini_time_limit(text: str) -> str:
    """Return the `timelimit` of a domjudge-problem.ini, or an empty string if the file is invalid."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string("[problem]\n" + text)
    except configparser.Error:
        return ""
    return parser.get("problem", "timelimit", fallback="").strip("'\" ")


def read_multiplier(header: KattisHeader, faults: Faults, *, new: bool) -> float:
    """Return the factor from the slowest accepted solution's time to the time limit."""
    limits = header.limits
    multiplier = limits.time_multipliers.ac_to_time_limit if new else limits.time_multiplier
    faults.add_note(
        f"no time limit: the judge uses {multiplier:g} times the time of the slowest accepted solution",
        HEADER,
    )
    return multiplier
