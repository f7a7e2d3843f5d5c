"""Read checkers: DMOJ's built-in checkers by name, functions `check` in Python, and programs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ioi_eval.model.fields import Fields, format_value, suggest_names
from ioi_eval.model.values import Blob, Checker, CheckerKind, NamedBlob
from ioi_eval.plugins.dmoj.keys import BRIDGED, STANDARD, CheckerKeys, DmojHeader, ProgramKeys
from ioi_eval.plugins.dmoj.programs import read_program
from ioi_eval.problems.names import is_portable_file_name
from ioi_eval.problems.package import read_source_text
from ioi_eval.problems.python_programs import find_faults_in_source
from ioi_eval.store.resources import graders_folder

# Names of the arguments of each checker of DMOJ's judge. graders/python/dmoj_checker.py implements these
# checkers.
CHECKERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        STANDARD: (),
        "easy": (),
        "floats": ("precision", "error_mode"),
        "floatsabs": ("precision",),
        "floatsrel": ("precision",),
        "identical": ("pe_allowed",),
        "linecount": ("feedback",),
        "linematches": ("point_distribution", "filler_lines_required"),
        "rstripped": ("filter_new_line",),
        "sorted": ("split_on",),
        "unordered": (),
    }
)
_SCRIPT = "dmoj_checker.py"
# Pattern for arguments that DMOJ's judge passes to a function `check`, but this judge does not.
_UNSUPPORTED_ARGUMENT = re.compile(r"\b(submission_source|submission_language|execution_time|run_on_error)\b")


class CaseChecker(NamedTuple):
    """The checker of a case."""

    name: str
    args: Mapping[str, Any]

    def make_checker_argument(self, values: Mapping[str, Any]) -> str:
        """Return the argument of the checker's script for a case with these values."""
        name = make_module_name(self.name) if "." in self.name else self.name
        return json.dumps({"check": name, "args": self.args, **values}, sort_keys=True, default=str)


def read_case_checker(fields: Fields) -> CaseChecker:
    """Return the checker that a case's fields choose."""
    checker = fields.raw_value("checker") or STANDARD
    if isinstance(checker, str):
        return CaseChecker(checker, {})
    keys = CheckerKeys.from_fields(fields.read_object("checker"))
    keys.check_keys()
    args = keys.args or {}
    if not isinstance(args, Mapping):
        keys.report_fault("args", f"{format_value(args)} is not an object", "Write `args: {precision: 6}`")
        args = {}
    name = keys.checker
    for key in args if name in CHECKERS else ():
        if key not in CHECKERS[name]:
            message = f"{name} has no such argument"
            keys.make_nested_fields("args", args).report_fault(
                key, message, suggest_names(key, CHECKERS[name])
            )
    return CaseChecker(name, args)


def make_module_name(name: str) -> str:
    """Return the module name for a checker's file. No other module has this name."""
    return "package_" + re.sub(r"\W", "_", name.removesuffix(".py"))


def has_points_in_percent(header: DmojHeader, checkers: Mapping[str, CaseChecker]) -> bool:
    """Return True if the points that the interactor or the bridged checker prints are parts of 100."""
    bridged_args = (checker.args for checker in checkers.values() if checker.name == BRIDGED)
    args = header.interactive.values if header.has_field("interactive") else next(bridged_args, {})
    return args.get(ProgramKeys.treat_checker_points_as_percentage.name) is True


def read_checker(
    folder: Path, header: DmojHeader, checkers: Mapping[str, CaseChecker], max_points: float
) -> Checker:
    """Return a checker for all cases.

    Args:
        folder: The package.
        header: The keys of init.yml.
        checkers: The checker of each test.
        max_points: The number after `points` that means full marks.
    """
    checker_names = {checker.name for checker in checkers.values()}
    for name in sorted(checker_names):
        _check_checker_name(folder, header, name)
    if checker_names <= {STANDARD}:
        return Checker(kind=CheckerKind.WORD_LINES)
    if BRIDGED not in checker_names:
        script = NamedBlob(name=_SCRIPT, content=Blob.of_file(graders_folder() / "python" / _SCRIPT))
        modules = (
            NamedBlob(name=f"{make_module_name(name)}.py", content=Blob.of_file(folder / name))
            for name in sorted(checker_names)
            if "." in name and (folder / name).is_file()
        )
        return Checker(kind=CheckerKind.CMS, sources=(script, *modules), language="python")
    arguments = {json.dumps(checker.args, sort_keys=True, default=str) for checker in checkers.values()}
    if len(checker_names) > 1 or len(arguments) > 1:
        header.report_fault(
            "checker", "cases have different programs as checkers", "Give all cases the same checker"
        )
    bridged_args = next(checker.args for checker in checkers.values() if checker.name == BRIDGED)
    program = read_program(folder, header.make_nested_fields("checker.args", bridged_args))
    if program is None:
        return Checker()
    return Checker(
        kind=program.kind,
        sources=program.sources,
        language=program.language,
        full=max_points,
        given=program.given,
    )


def _check_checker_name(folder: Path, header: DmojHeader, checker_name: str) -> None:
    """Report a checker's name that is unknown, or a Python file that cannot be used."""
    if "." not in checker_name:
        if checker_name not in (*CHECKERS, BRIDGED):
            header.report_fault(
                "checker",
                f"unknown checker {checker_name!r}",
                suggest_names(checker_name, (*CHECKERS, BRIDGED)),
            )
        return
    path = folder / checker_name
    if not checker_name.endswith(".py") or not is_portable_file_name(checker_name) or not path.is_file():
        header.report_fault(
            "checker", f"there is no file {checker_name!r} in the package", "Name a Python file"
        )
        return
    source = read_source_text(path)
    file = NamedBlob(name=checker_name, content=Blob.of_file(path))
    failing_finding = next((finding for finding in find_faults_in_source(file) if finding.fails), None)
    if failing_finding is not None:
        header.report_fault("checker", f"{checker_name}: {failing_finding.problem}", failing_finding.remedy)
    elif match := _UNSUPPORTED_ARGUMENT.search(source):
        message = f"{checker_name} uses {match[1]}, which checkers do not get here"
        header.report_fault(
            "checker", message, "Let it judge by the output alone, of programs that ended without error"
        )
