"""Read packages of the ICPC's format.

A setting that this judge cannot follow is reported as a fault.
"""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from ioi_eval.model.fields import Faults, Fields
from ioi_eval.model.values import CheckerKind, Limits, Problem, TaskOptions, TaskType
from ioi_eval.problems.kattis.constants import Constants
from ioi_eval.problems.kattis.default_grader import read_pass_fail_scoring, read_scoring
from ioi_eval.problems.kattis.expectations import PackageRules
from ioi_eval.problems.kattis.groups import DataGroup, list_groups, read_test_data
from ioi_eval.problems.kattis.header import (
    Validation,
    check_legacy_keys,
    find_validators,
    is_draft_package,
    read_problem_types,
    read_time_limit,
    read_time_limit_multiplier,
    read_title,
)
from ioi_eval.problems.kattis.includes import add_included_files, list_included_files
from ioi_eval.problems.kattis.keys import (
    DOMJUDGE,
    HEADER,
    NEWER_VALIDATOR,
    NEWER_VERSIONS,
    VALIDATORS,
    KattisHeader,
    LimitKeys,
)
from ioi_eval.problems.kattis.max_scores import check_score_settings, read_max_score_scoring
from ioi_eval.problems.kattis.scoring import Scoring
from ioi_eval.problems.kattis.submissions import read_solutions
from ioi_eval.problems.kattis.validators import (
    find_checker,
    find_custom_grader,
    find_only_program,
    find_validators_folder,
    load_program,
    make_default_checker,
    read_common_validator_flags,
)
from ioi_eval.problems.keys import MIB
from ioi_eval.problems.package import DeclaredFormat, Executable, find_package_name
from ioi_eval.problems.statements import find_statement


class Kattis(DeclaredFormat[KattisHeader]):
    """The ICPC's package format, recognized by problem.yaml."""

    name = "Kattis"
    header = HEADER
    keys = KattisHeader
    rank = 20
    folders = ("data", "graders", "include", "output_validator", "output_validators", "submissions")

    def read_problem(self, folder: Path, where: str, header: KattisHeader, faults: Faults) -> Problem:
        version = header.raw_value("problem_format_version")
        is_newer_format = isinstance(version, str) and version in NEWER_VERSIONS
        if not is_newer_format:
            check_legacy_keys(header)
        limits = header.limits
        limits.check_keys()
        has_points = "scoring" in read_problem_types(header)
        validation = find_validators(folder, header, has_points=has_points, is_newer_format=is_newer_format)
        constants = Constants(
            header.read_object("constants") if is_newer_format else Fields({}, self.header, faults)
        )
        data_groups = read_test_data(
            folder,
            header.grading,
            needs_answers=not validation.is_custom,
            faults=faults,
            is_newer_format=is_newer_format,
            constants=constants,
        )
        has_domjudge_file = (folder / DOMJUDGE).is_file()
        scoring = _read_scoring(
            data_groups,
            validation,
            faults,
            has_points=has_points,
            is_newer_format=is_newer_format,
            has_domjudge_file=has_domjudge_file,
        )
        validator_flags, has_equal_arguments = read_common_validator_flags(header, data_groups)
        for group in list_groups(data_groups) if not (validation.is_custom or has_equal_arguments) else ():
            for arguments in dict.fromkeys(test.arguments for test in group.tests):
                # The checker is not used. This call reports invalid flags of a test.
                make_default_checker(group.fields, group.validator_flags_key, arguments)
        validator_program = _find_validator(folder, validation, faults, is_newer_format=is_newer_format)
        tests = tuple(
            replace(
                test,
                full=scoring.own_full.get(test.name),
                arguments=() if has_equal_arguments else test.arguments,
            )
            for test in data_groups.all_tests
        )
        package_rules = PackageRules(
            folder, [test.name for test in tests], faults, is_newer_format=is_newer_format
        )
        time_limit_s = read_time_limit(folder, header, faults)
        validator_limits = _read_validator_limits(limits) if validation.is_custom else None
        problem = Problem(
            id=self.read_id(folder, where, header, faults),
            name=read_title(header) or find_package_name(folder, where),
            source=where,
            task_type=TaskType.INTERACTIVE if validation.is_interactive else TaskType.BATCH,
            options=TaskOptions(manager_args=validator_flags if validation.is_interactive else ()),
            limits=Limits(
                cpu_time=time_limit_s,
                wall_time=None if time_limit_s is None else 2 * time_limit_s + 1,
                memory=limits.memory_limit,
                output=round(limits.output * MIB),
                cuts_output=has_domjudge_file,
            ),
            time_from_solutions=None
            if time_limit_s is not None
            else read_time_limit_multiplier(header, faults, is_newer_format=is_newer_format),
            time_resolution=limits.time_resolution if time_limit_s is None and is_newer_format else None,
            checker=find_checker(
                header, validation, validator_flags, validator_program, scoring.full, validator_limits
            ),
            manager=validator_program.as_manager(CheckerKind.ICPC, full=scoring.full, limits=validator_limits)
            if validation.is_interactive and validator_program is not None
            else None,
            grader=find_custom_grader(folder, data_groups, faults),
            tests=tests,
            subtasks=scoring.subtasks,
            solutions=tuple(
                read_solutions(
                    folder,
                    scoring.secret,
                    package_rules,
                    faults,
                    has_points=has_points,
                    validator_awards_points=is_newer_format and has_points and validation.is_custom,
                )
            ),
        )
        problem = add_included_files(problem, list(list_included_files(folder, faults)), faults)
        return constants.fill_placeholders_in_problem(problem, find_statement(folder))


def _find_validator(
    folder: Path, validation: Validation, faults: Faults, *, is_newer_format: bool
) -> Executable | None:
    """Return the package's validator, or None if the default comparison is used."""
    # In newer versions, the folder output_validator is the program.
    if validation.is_custom and is_newer_format and not is_draft_package(folder):
        return load_program(folder, folder / NEWER_VALIDATOR, faults)
    if validation.is_custom:
        return find_only_program(
            folder, VALIDATORS, "A custom validation needs exactly one validator", faults
        )
    if unused_folder := find_validators_folder(folder):
        faults.add_note("its validators are ignored because `validation` is not custom", unused_folder)
    return None


def _read_validator_limits(limits: LimitKeys) -> Limits | None:
    """Return the validator's time and memory limits, or None if the package sets none."""
    has_time, has_memory = limits.has_field("validation_time"), limits.has_field("validation_memory")
    if not has_time and not has_memory:
        return None
    return Limits(
        cpu_time=limits.validation_time if has_time else None,
        memory=limits.validation_memory if has_memory else None,
    )


def _read_scoring(
    data: DataGroup,
    validation: Validation,
    faults: Faults,
    *,
    has_points: bool,
    is_newer_format: bool,
    has_domjudge_file: bool,
) -> Scoring:
    """Return the problem's subtasks and the points of its tests."""
    if is_newer_format:
        check_score_settings(data, faults, has_points=has_points)
    if not has_points:
        return Scoring() if is_newer_format else read_pass_fail_scoring(data, faults)
    if is_newer_format:
        return read_max_score_scoring(data, validator_awards_points=validation.is_custom)
    return read_scoring(
        data, faults, validator_awards_points=validation.awards_points, has_domjudge_file=has_domjudge_file
    )
