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

_TIME_TOLERANCE_S = 0.001  # maximum difference of two times that counts as a rounding error, in seconds
_MAX_NUMERIC_TITLE = 1 << 64  # number from which on a title that YAML parses as a number is ignored


class Validation(NamedTuple):
    """The validation of outputs in a package: default or custom, interactive or not, with points or not."""

    is_custom: bool  # True if the package has a validator instead of the default comparison
    is_interactive: bool
    awards_points: bool  # True if the validator awards points
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
    problem_type = header.read_text("type", "pass-fail")
    if problem_type not in ("pass-fail", "scoring"):
        header.report_fault(
            "type", f"{problem_type!r} is neither pass-fail nor scoring", "Correct it in the file"
        )
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
    title = header.title
    if isinstance(title, dict):
        title = title.get("en", next(iter(title.values()), None))
    is_plain = isinstance(title, str | float) or (isinstance(title, int) and abs(title) < _MAX_NUMERIC_TITLE)
    return str(title) if is_plain else ""


def read_problem_types(header: KattisHeader) -> list[object]:
    """Return the problem's types. Only the newer versions can have several."""
    types = header.type if header.has_field("type") else "pass-fail"
    return types if isinstance(types, list) else [types]


def find_validators(
    folder: Path, header: KattisHeader, *, has_points: bool, is_newer_format: bool
) -> Validation:
    """Return how the package validates outputs.

    Legacy packages have the field `validation`. In the newer versions it follows from the problem's types
    and from the folder output_validator.

    Args:
        folder: The package.
        header: The content of problem.yaml. It reports faults in its values itself.
        has_points: True if the problem's type is scoring. Only then may a legacy validator award points.
        is_newer_format: True if the package has one of the newer versions, False if it is a legacy package.
    """
    modes: list[Any] = read_problem_types(header)
    if is_newer_format:
        for problem_type in modes:
            if problem_type not in ("pass-fail", "scoring", "interactive", "multi-pass"):
                problem = f"{format_value(problem_type)} problems are not supported in this version"
                header.report_fault("type", problem, "Expected pass-fail, scoring, interactive or multi-pass")
        needs_validator = "interactive" in modes or "multi-pass" in modes
        is_custom = needs_validator or (folder / NEWER_VALIDATOR).is_dir() or is_draft_package(folder)
        if header.values.get("validation", "default") not in ("default", CUSTOM if is_custom else "default"):
            header.report_fault(
                "validation", "not a key of this version", f"Use `type` and the folder {NEWER_VALIDATOR}/"
            )
    else:
        validation_kind, *modes = header.validation.split() or ["default"]
        is_custom = validation_kind == CUSTOM
        allowed_modes = {"interactive", "multi-pass"} | ({"score"} if has_points else set())
        if not (is_custom or (validation_kind == "default" and not modes)) or not allowed_modes.issuperset(
            modes
        ):
            header.report_fault(
                "validation",
                f"{' '.join([validation_kind, *modes])!r} is not supported",
                "Expected default, or custom with interactive or multi-pass and, for scoring problems, score",
            )
    passes = 1
    if "multi-pass" in modes:
        passes = header.limits.validation_passes
    return Validation(is_custom, "interactive" in modes, "score" in modes, passes)


def is_draft_package(folder: Path) -> bool:
    """Return True if the package has output_validators/, as in the legacy version and in early drafts."""
    return (folder / VALIDATORS).is_dir() and not (folder / NEWER_VALIDATOR).exists()


def read_time_limit(folder: Path, header: KattisHeader, faults: Faults) -> float | None:
    """Return the time limit in seconds, or None if no file sets one.

    It is read from problem.yaml, else from .timelimit, else from domjudge-problem.ini.
    """
    limits = header.limits
    if limits.raw_value("time_limit") is not None:
        time_limit_s = limits.time_limit
        resolution_s = limits.time_resolution if limits.has_field("time_resolution") else 0
        if (
            resolution_s
            and abs(time_limit_s - round(time_limit_s / resolution_s) * resolution_s) > _TIME_TOLERANCE_S
        ):
            resolution_text = f"{limits.full_field_name('time_resolution')}, {resolution_s:g} s"
            problem = f"{time_limit_s:g} s is not a multiple of {resolution_text}"
            faults.add_note(
                f"{limits.full_field_name('time_limit')}: {problem}. The judge uses {time_limit_s:g} s",
                HEADER,
            )
        return time_limit_s or None
    for file, parse in ((".timelimit", str.strip), (DOMJUDGE, _find_ini_time_limit)):
        path = folder / file
        if path.is_file() and (seconds_text := parse(path.read_text(encoding="utf-8-sig", errors="replace"))):
            if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", seconds_text) and float(seconds_text) > 0:
                return float(seconds_text)
            problem = f"{seconds_text[:40]!r} is not a number of seconds"
            faults.report(problem, file, remedy="Expected a number such as 2 or 1.5")
            return None
    return None


def _find_ini_time_limit(text: str) -> str:
    """Return the `timelimit` of a domjudge-problem.ini, or an empty string if the file is invalid."""
    ini_parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        ini_parser.read_string("[problem]\n" + text)
    except configparser.Error:
        return ""
    return ini_parser.get("problem", "timelimit", fallback="").strip("'\" ")


def read_time_limit_multiplier(header: KattisHeader, faults: Faults, *, is_newer_format: bool) -> float:
    """Return the factor from the slowest accepted solution's time to the time limit."""
    limits = header.limits
    multiplier = limits.time_multipliers.ac_to_time_limit if is_newer_format else limits.time_multiplier
    faults.add_note(
        f"no time limit: the judge uses {multiplier:g} times the time of the slowest accepted solution",
        HEADER,
    )
    return multiplier
