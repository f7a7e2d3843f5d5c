"""Find the programs that judge outputs, or the flags of the default comparison."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ioi_eval.model.fields import Faults, Fields
from ioi_eval.model.languages import find_language_by_suffix
from ioi_eval.model.values import Checker, CheckerKind, Limits
from ioi_eval.problems.kattis.groups import DataGroup, list_groups, uses_custom_grader
from ioi_eval.problems.kattis.header import Validation
from ioi_eval.problems.kattis.keys import GRADERS, NEWER_VALIDATOR, SCRIPTS, VALIDATORS, KattisHeader
from ioi_eval.problems.package import Executable, language_of, list_visible_paths, load_named_blobs


def read_common_validator_flags(header: KattisHeader, root_group: DataGroup) -> tuple[tuple[str, ...], bool]:
    """Return the validator's common arguments, and True if all tests have the same arguments.

    If it is True, the common arguments include the arguments of the tests. Otherwise each test adds its own.
    """
    distinct_arguments = {test.arguments for test in root_group.all_tests}
    header_flags = tuple(header.validator_flags.split())
    has_equal_arguments = len(distinct_arguments) < 2
    return (
        *header_flags,
        *(next(iter(distinct_arguments), ()) if has_equal_arguments else ()),
    ), has_equal_arguments


def find_checker(
    header: KattisHeader,
    validation: Validation,
    checker_flags: tuple[str, ...],
    program: Executable | None,
    full_score: float,
    limits: Limits | None,
) -> Checker:
    """Return the problem's checker: the default comparison, the package's validator, or none.

    Args:
        header: Fields of problem.yaml, which report unknown flags.
        validation: Kind of the validation, and the maximum number of passes.
        checker_flags: Flags of the default comparison, or arguments of the validator.
        program: The package's validator or interactor; None if there is no usable program.
        full_score: Number of points from the validator that means full points.
        limits: Limits of the validator; None means the limits of the judge.
    """
    if not validation.is_custom:
        return make_default_checker(header, "validator_flags", checker_flags)
    if validation.is_interactive or program is None:
        # An interactive problem has no checker: its validator is the interactor. Only the number of passes is
        # used.
        return Checker(passes=validation.passes)
    return program.as_checker(
        CheckerKind.ICPC, arguments=checker_flags, full=full_score, passes=validation.passes, limits=limits
    )


def find_validators_folder(folder: Path) -> str:
    """Return the name of the folder that contains validators, or "" if the package has no validators."""
    folders = (
        name for name in (VALIDATORS, NEWER_VALIDATOR) for _ in list_visible_paths((folder / name).glob("*"))
    )
    return next(folders, "")


def find_custom_grader(folder: Path, root_group: DataGroup, faults: Faults) -> Checker | None:
    """Return the package's grader if any group uses custom grading, else None."""
    if not any(map(uses_custom_grader, list_groups(root_group))):
        return None
    program = find_only_program(folder, GRADERS, "A custom grading needs exactly one grader", faults)
    return None if program is None else program.as_checker(CheckerKind.ICPC)


def make_default_checker(fields: Fields, field: str, flags: tuple[str, ...]) -> Checker:
    """Return the default comparison, token by token. It ignores case unless a flag forbids it.

    Unknown flags are reported under the key `field`.
    """
    remaining_flags, set_switches, tolerances = list(flags), set[str](), dict[str, float]()
    while remaining_flags:
        flag = remaining_flags.pop(0)
        if flag in ("case_sensitive", "space_change_sensitive"):
            set_switches.add(flag)
        elif flag in ("float_tolerance", "float_absolute_tolerance", "float_relative_tolerance"):
            tolerances[flag] = _parse_tolerance(
                fields, field, flag, remaining_flags.pop(0) if remaining_flags else ""
            )
        else:
            fields.report_fault(field, f"{flag!r} is not a flag of the default validator", "Correct it")
    common_tolerance = tolerances.get("float_tolerance")
    return Checker(
        kind=CheckerKind.TOKENS,
        case_sensitive="case_sensitive" in set_switches,
        space_sensitive="space_change_sensitive" in set_switches,
        absolute=tolerances.get("float_absolute_tolerance", common_tolerance),
        relative=tolerances.get("float_relative_tolerance", common_tolerance),
    )


def _parse_tolerance(fields: Fields, field: str, flag: str, text: str) -> float:
    """Return the tolerance as a number. An invalid tolerance is a fault and counts as 0."""
    if re.fullmatch(r"(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?", text, re.ASCII):
        return float(text)
    fields.report_fault(field, f"{text!r} is not a tolerance for {flag}", "Expected a number such as 1e-6")
    return 0.0


_MAINS = ("__main__", "validate", "validator", "output_validator", "interactor", "grade", "grader", "main")


def find_only_program(folder: Path, subfolder: str, remedy: str, faults: Faults) -> Executable | None:
    """Return the only program in a subfolder. Report a fault if the subfolder has no program or several.

    Args:
        folder: Folder of the package.
        subfolder: Path of the subfolder in the package.
        remedy: Remedy in the message about no program or several programs.
        faults: Receives the faults. If it does not raise them, the result after a fault is None.
    """
    visible_paths = list_visible_paths((folder / subfolder).glob("*"))
    programs = [path for path in visible_paths if path.is_dir() or find_language_by_suffix(path.suffix)]
    if len(programs) != 1:
        program_count = "no program" if not programs else f"{len(programs)} programs"
        faults.report(f"contains {program_count}", subfolder, remedy=remedy)
        return None
    return load_program(folder, programs[0], faults)


def load_program(folder: Path, program: Path, faults: Faults) -> Executable | None:
    """Return a program: a folder, or a file and the files next to it. Report a missing main source."""
    path = program.relative_to(folder).as_posix()
    program_paths = program.parent.glob("*") if program.is_file() else program.rglob("*")
    files = [file for file in list_visible_paths(program_paths) if file.is_file()]
    scripts = [file for file in files if file.name in SCRIPTS and file.parent == program]
    main_source = (
        program if program.is_file() else scripts[0] if scripts else _find_main_source(program, files)
    )
    if main_source is None:
        expected_name = "grade" if path.startswith(GRADERS) else "validate"
        faults.report(
            "cannot find the source with the main function", path, remedy=f"Call it {expected_name}"
        )
        return None
    ordered_files = [main_source, *(file for file in files if file != main_source)]
    file_names = [file.relative_to(folder).as_posix() for file in ordered_files]
    # A program with scripts is a Python program, because Python runs the scripts.
    language = "python" if scripts else language_of(main_source.name) or "c++"
    return Executable(sources=load_named_blobs(folder, file_names), language=language)


def _find_main_source(program: Path, files: Sequence[Path]) -> Path | None:
    """Return a folder's only source, or the source with a main source's name; None if there is neither."""
    sources = [file for file in files if find_language_by_suffix(file.suffix)]
    if len(sources) == 1:
        return sources[0]
    sources_by_stem = {file.stem: file for file in reversed(sources)}
    return next((sources_by_stem[stem] for stem in (*_MAINS, program.name) if stem in sources_by_stem), None)
