"""Read packages of the ICPC's format.

A setting that this judge cannot follow is reported as a fault.
"""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from ioi_eval.model.fields import Faults, Fields
from ioi_eval.model.values import CheckerKind, Limits, Problem, TaskOptions, TaskType
from ioi_eval.problems.kattis.constants import Constants
from ioi_eval.problems.kattis.default_grader import read_acceptance, read_scoring
from ioi_eval.problems.kattis.expectations import PackageRules
from ioi_eval.problems.kattis.groups import DataGroup, list_groups, read_data
from ioi_eval.problems.kattis.header import (
    Validators,
    check_legacy_keys,
    find_validators,
    is_draft,
    read_multiplier,
    read_time_limit,
    read_title,
    read_types,
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
from ioi_eval.problems.kattis.max_scores import check_settings, read_max_scores
from ioi_eval.problems.kattis.scoring import Scoring
from ioi_eval.problems.kattis.submissions import read_solutions
from ioi_eval.problems.kattis.validators import (
    describe_unused_validators,
    find_checker,
    find_custom_grader,
    find_only_program,
    load_program,
    make_default_checker,
    read_validator_flags,
)
from ioi_eval.problems.keys import MIB
from ioi_eval.problems.package import DeclaredFormat, Executable, name_of_location
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
        is_newer = isinstance(version, str) and version in NEWER_VERSIONS
        if not is_newer:
            check_legacy_keys(header)
        limits = header.limits
        limits.check_keys()
        scoring = "scoring" in read_types(header)
        validation = find_validators(folder, header, scoring=scoring, new=is_newer)
        constants = Constants(
            header.read_object("constants") if is_newer else Fields({}, self.header, faults)
        )
        data = read_data(
            folder,
            header.grading,
            needs_answers=not validation.custom,
            faults=faults,
            new=is_newer,
            constants=constants,
        )
        domjudge = (folder / DOMJUDGE).is_file()
        scores = _read_scoring(data, validation, faults, scoring=scoring, new=is_newer, domjudge=domjudge)
        flags, alike = read_validator_flags(header, data)
        for group in list_groups(data) if not (validation.custom or alike) else ():
            for arguments in dict.fromkeys(test.arguments for test in group.tests):
                # Called to report invalid flags.
                make_default_checker(group.fields, group.validator_flags_key, arguments)
        program = _find_validator(folder, validation, faults, new=is_newer)
        tests = tuple(
            replace(test, full=scores.own_full.get(test.name), arguments=() if alike else test.arguments)
            for test in data.all_tests
        )
        rules = PackageRules(folder, [test.name for test in tests], faults, new=is_newer)
        time = read_time_limit(folder, header, faults)
        validator_limits = _read_validator_limits(limits) if validation.custom else None
        problem = Problem(
            id=self.read_id(folder, where, header, faults),
            name=read_title(header) or name_of_location(folder, where),
            source=where,
            task_type=TaskType.INTERACTIVE if validation.interactive else TaskType.BATCH,
            options=TaskOptions(manager_args=flags if validation.interactive else ()),
            limits=Limits(
                cpu_time=time,
                wall_time=None if time is None else 2 * time + 1,
                memory=limits.memory_limit,
                output=round(limits.output * MIB),
                cuts_output=domjudge,
            ),
            time_from_solutions=None if time is not None else read_multiplier(header, faults, new=is_newer),
            time_resolution=limits.time_resolution if time is None and is_newer else None,
            checker=find_checker(header, validation, flags, program, scores.full, validator_limits),
            manager=program.as_manager(CheckerKind.ICPC, full=scores.full, limits=validator_limits)
            if validation.interactive and program is not None
            else None,
            grader=find_custom_grader(folder, data, faults),
            tests=tests,
            subtasks=scores.subtasks,
            solutions=tuple(
                read_solutions(
                    folder,
                    scores.secret,
                    rules,
                    faults,
                    scoring=scoring,
                    in_points=is_newer and scoring and validation.custom,
                )
            ),
        )
        problem = add_included_files(problem, list(list_included_files(folder, faults)), faults)
        return constants.fill_problem(problem, find_statement(folder))


def _find_validator(folder: Path, validation: Validators, faults: Faults, *, new: bool) -> Executable | None:
    """Return the package's validator, or None if the default comparison is used."""
    # In newer versions, the folder of the validator is the program.
    if validation.custom and new and not is_draft(folder):
        return load_program(folder, folder / NEWER_VALIDATOR, faults)
    if validation.custom:
        return find_only_program(
            folder, VALIDATORS, "A custom validation needs exactly one validator", faults
        )
    if unused_folder := describe_unused_validators(folder):
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
    data: DataGroup, validation: Validators, faults: Faults, *, scoring: bool, new: bool, domjudge: bool
) -> Scoring:
    """Return the problem's subtasks and the points of its tests."""
    if new:
        check_settings(data, faults, scoring=scoring)
    if not scoring:
        return Scoring() if new else read_acceptance(data, faults)
    if new:
        return read_max_scores(data, by_validator=validation.custom)
    return read_scoring(data, faults, by_validator=validation.score, domjudge=domjudge)
