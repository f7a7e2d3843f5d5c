"""Read the cases of a package: listed cases and batches, or cases by the names of an archive's files."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ioi_eval.model.fields import Fields, format_value
from ioi_eval.model.text import format_count
from ioi_eval.model.values import Blob, ScoreType, Subtask, Test
from ioi_eval.plugins.dmoj.checkers import CHECKERS, CaseChecker, read_case_checker
from ioi_eval.plugins.dmoj.files import PackageFiles
from ioi_eval.plugins.dmoj.keys import (
    CASE_EXAMPLE,
    CASES,
    PRETESTS,
    ArchiveKeys,
    CaseKeys,
    DmojHeader,
    GeneratorKeys,
    InheritedKeys,
)
from ioi_eval.plugins.dmoj.programs import read_program, report_unsupported_program_keys
from ioi_eval.problems.keys import read_time_limit
from ioi_eval.problems.package import Executable, GeneratedTest
from ioi_eval.rules.grading import make_minimum_grading, make_sum_grading

_GENERATED = "generated"  # folder of the files that generators have written


class _CaseOrBatch(NamedTuple):
    """A case, or a batch of cases."""

    name: str  # name of the batch; empty for a single case
    points: float
    tests: tuple[str, ...]
    dependencies: tuple[int, ...] = ()  # numbers of the earlier batches that must pass first


class CaseReader:
    """Reads the cases of a package.

    Args:
        header: The keys of init.yml.
        files: The package's files.
        problem_id: The problem's id, which checkers get.
        folder: The package, if `generated_tests` and `generators` are read. Otherwise generated files must
            exist.
    """

    def __init__(
        self, header: DmojHeader, files: PackageFiles, problem_id: str, folder: Path | None = None
    ) -> None:
        self._header, self._files, self._problem_id, self._folder = header, files, problem_id, folder
        self.generated_tests: list[GeneratedTest] = []
        self.generators: dict[str, Executable] = {}
        self.tests: list[Test] = []
        self.points: dict[str, float] = {}  # points of a test's case or batch, by test
        self.checkers: dict[str, CaseChecker] = {}  # checkers by test
        # Time limits in seconds and memory limits in KiB of the cases that set them.
        self.limits = set[tuple[float | None, int | None]]()
        self._batch_count = 0
        self._cases_without_answer: list[Fields] = []

    def read_subtasks(self) -> tuple[Subtask, ...]:
        """Read all cases, and return the subtasks."""
        pretests = self._read_cases_and_batches(PRETESTS) if self._header.has_field(PRETESTS) else []
        batches = [*(batch._replace(points=0.0) for batch in pretests), *self._read_cases_and_batches(CASES)]
        if not batches:
            self._header.report_fault(CASES, "no cases", CASE_EXAMPLE)
        elif not any(batch.points for batch in batches):
            self._header.report_fault("points", "no case or batch has points", "Give cases or batches points")
        if self._cases_without_answer:
            count_text = format_count(len(self._cases_without_answer), "case")
            message = f"missing in {count_text}, and outputs are compared with it"
            remedy = "Name the answer, or an empty file if the output must be empty"
            self._cases_without_answer[0].report_fault("out", message, remedy)
        if len(self.limits) > 1:
            self._header.report_fault(CASES, "limits differ between cases", "Give all of them the same")
        return tuple(_make_subtasks(batches, [batch for batch in batches if batch.name]))

    # --- listed cases ------------------------------------------------------------------------------------

    def _read_cases_and_batches(self, key: str) -> list[_CaseOrBatch]:
        """Return the cases and batches in a key of init.yml."""
        raw_cases = self._header.raw_value(key)
        if raw_cases is None or isinstance(raw_cases, Mapping):
            raw_cases = list(_find_archive_cases(self._header, self._files, raw_cases or {}))
        if not isinstance(raw_cases, list) or not all(isinstance(case, Mapping) for case in raw_cases):
            self._header.report_fault(key, f"{format_value(raw_cases)} is not a list of cases", CASE_EXAMPLE)
            return []
        inherited_values = {
            name: self._header.raw_value(name) for name in _list_inherited_names(self._header)
        }
        return [
            self._read_case_or_batch(
                self._header.make_nested_fields(f"{key}.{index}", {"points": 1, **inherited_values, **case}),
                case,
            )
            for index, case in enumerate(raw_cases)
        ]

    def _read_case_or_batch(self, fields: Fields, case_values: Mapping[str, Any]) -> _CaseOrBatch:
        """Return a case or a batch. `case_values` are its keys, `fields` include inherited keys."""
        points = CaseKeys.points.read(fields)
        if "batched" not in case_values:
            return _CaseOrBatch(
                "",
                points,
                (self._add_case_test(fields, points, case_values, batch_number=0, stops_batch=False),),
            )
        self._batch_count += 1
        CaseKeys.from_fields(fields).check_keys(list(case_values))
        batch_number, raw_cases = self._batch_count, case_values["batched"]
        if (
            not isinstance(raw_cases, list)
            or not raw_cases
            or not all(isinstance(case, Mapping) for case in raw_cases)
        ):
            fields.report_fault("batched", "not a list of cases", CASE_EXAMPLE)
            raw_cases = []
        # Read the points of a batch from its cases, as DMOJ's site does: cases inherit the points of their
        # batch.
        case_fields = (
            fields.make_nested_fields(f"batched.{index}", case) for index, case in enumerate(raw_cases)
        )
        case_points = {CaseKeys.points.read(case, points) for case in case_fields} or {points}
        if len(case_points) > 1:
            message = "the cases of a batch have different points"
            fields.report_fault("points", message, "Give the batch points, and its cases none")
        points = max(case_points)
        inherited_values = {name: fields.raw_value(name) for name in _list_inherited_names(fields)}
        test_names = [
            self._add_case_test(
                fields.make_nested_fields(f"batched.{index}", {**inherited_values, **case}),
                points,
                case,
                batch_number=batch_number,
                stops_batch=index < len(raw_cases) - 1,
            )
            for index, case in enumerate(raw_cases)
        ]
        return _CaseOrBatch(
            f"batch {batch_number}", points, tuple(test_names), self._read_dependencies(fields, batch_number)
        )

    def _read_dependencies(self, fields: Fields, batch_number: int) -> tuple[int, ...]:
        """Return the numbers of the batches that must pass before the batch with this number counts."""
        dependencies = fields.raw_value("dependencies") or []
        if isinstance(dependencies, list) and all(
            type(dependency) is int and 0 < dependency < batch_number for dependency in dependencies
        ):
            return tuple(dependencies)
        message = f"{format_value(dependencies)} are not numbers of earlier batches"
        fields.report_fault("dependencies", message, "Count from 1")
        return ()

    def _add_case_test(
        self,
        fields: Fields,
        points: float,
        case_values: Mapping[str, Any],
        *,
        batch_number: int,
        stops_batch: bool,
    ) -> str:
        """Add a case to the tests, and return the test's name.

        Args:
            fields: The case's keys, including inherited keys.
            points: The points of the case or its batch.
            case_values: The case's own keys.
            batch_number: The number of the case's batch, or 0.
            stops_batch: True if DMOJ's judge skips the later cases of the batch after a failure.
        """
        CaseKeys.from_fields(fields).check_keys(list(case_values))
        if "batched" in case_values:
            fields.report_fault("batched", "a batch in a batch", "Move it to the top of the file")
        position = len(self.tests)
        name = str(position + 1)
        if fields.has_field("generator"):
            fields = self._generate_case(fields, name)
        keys = CaseKeys.from_fields(fields)
        memory_kib = keys.memory_limit if keys.has_field("memory_limit") else None
        self.limits.add(
            (None if keys.time_limit is None else read_time_limit(keys, "time_limit"), memory_kib)
        )
        is_binary = keys.binary_data
        blobs = [self._read_content(keys, key, is_binary=is_binary) for key in ("in", "out")]
        checker = read_case_checker(keys)
        has_answer = (
            keys.has_field("out") or keys.has_field("generator") or self._header.has_field("interactive")
        )
        if not has_answer and checker.name in CHECKERS:
            self._cases_without_answer.append(keys)
        case_facts = {
            "points": points,
            "position": position,
            "batch": batch_number,
            "stops": stops_batch,
            "binary": is_binary,
        }
        arguments = (checker.make_checker_argument({**case_facts, "problem": self._problem_id}),)
        self.tests.append(Test(name=name, input=blobs[0], answer=blobs[1], arguments=arguments))
        self.points[name], self.checkers[name] = points, checker
        return name

    def _generate_case(self, fields: Fields, case_name: str) -> Fields:
        """Return a case's fields with the files that its generator wrote, if the case names no files."""
        if fields.has_field("in"):  # if the case also names `out`, no generator is needed
            if not fields.has_field("out"):
                message = "a generator that reads `in` and writes another input is not supported"
                fields.report_fault("generator", message, "Set `out` too, or remove `in`")
            return fields
        paths = {key: f"{_GENERATED}/{case_name}.{key}" for key in ("in", "out")}
        generator = fields.raw_value("generator")
        generator_values = generator if isinstance(generator, Mapping) else {"files": generator}
        keys = GeneratorKeys.from_fields(fields.make_nested_fields("generator", generator_values))
        report_unsupported_program_keys(keys)
        if self._folder is not None:
            raw_arguments = fields.raw_value("generator_args") or keys.args or []
            arguments = (
                tuple(map(str, raw_arguments)) if isinstance(raw_arguments, list) else (str(raw_arguments),)
            )
            command = (self._find_or_add_generator(keys, self._folder), *arguments)
            self.generated_tests.append(GeneratedTest(paths["in"], paths["out"], command))
            return fields
        if any(self._files.find_path(path) is None for path in paths.values()):
            message = f"there is no {paths['in']} or {paths['out']}, which a program writes"
            remedy = "Make them with ioi_eval.runs.generating.generate(PACKAGE, DIR)"
            fields.report_fault("generator", message, remedy)
            return fields
        missing_paths = {key: path for key, path in paths.items() if not fields.has_field(key)}
        return fields.with_values({**fields.values, **missing_paths})

    def _find_or_add_generator(self, keys: GeneratorKeys, folder: Path) -> str:
        """Add a generator if it is new, and return its name."""
        files = keys.source if keys.has_field("source") else keys.files
        generator_name = " ".join(map(str, files)) if isinstance(files, list) else str(files)
        if generator_name not in self.generators:
            program_values = {"files": files, "lang": keys.language}
            fields = keys.with_values(
                {key: value for key, value in program_values.items() if value is not None}
            )
            if (program := read_program(folder, fields)) is not None:
                self.generators[generator_name] = Executable(program.sources, program.language)
        return generator_name

    def _read_content(self, fields: Fields, key: str, *, is_binary: bool) -> Blob:
        """Return the content of a case's input or answer, empty if the case names no file."""
        if not fields.has_field(key):
            return Blob.of(b"")
        file_name = fields.read_text(key)
        content = self._files.read_content(file_name, is_binary=is_binary)
        if content is None:
            fields.report_fault(
                key, f"there is no file {file_name!r} in the package", "Add it, or correct the name"
            )
        return content or Blob.of(b"")


def _list_inherited_names(fields: Fields) -> list[str]:
    """Return the keys in the fields that cases inherit."""
    return [name for name in InheritedKeys.declared_keys() if fields.has_field(name)]


# --- cases that are found by the names of files ------------------------------------------------------


def _find_archive_cases(
    header: DmojHeader, files: PackageFiles, values: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the cases that the names of the archive's files describe, in the order of their numbers."""
    keys = ArchiveKeys.from_fields(header.make_nested_fields(CASES, values))
    keys.check_keys()
    if not header.raw_value("archive"):
        remedy = "Name the archive whose files are the cases, or list the cases"
        header.report_fault("archive", "missing", remedy)
        return
    files_by_group: dict[Any, dict[Any, dict[str, str]]] = {}
    batch_numbers = set[Any]()
    for key, file_kind in (("input_format", "in"), ("output_format", "out")):
        pattern = _compile_pattern(keys, key, keys.input_format if file_kind == "in" else keys.output_format)
        for file_name in files.list_archive_names() if pattern else ():
            match = pattern.match(file_name) if pattern else None
            if match is None:
                continue
            batch, case = _parse_number(match, "batch"), _parse_number(match, "case")
            batch_numbers |= set() if batch is None else {batch}
            case_files = files_by_group.setdefault(case if batch is None else batch, {}).setdefault(case, {})
            if case is None:
                keys.report_fault(key, f"it finds no case in {file_name!r}", "Name a group: (?P<case>\\d+)")
            elif file_kind in case_files:
                message = f"{case_files[file_kind]!r} and {file_name!r} belong to the same case, {case}"
                keys.report_fault(key, message, "Rename one, or list the cases")
            case_files[file_kind] = file_name
    points = keys.case_points
    remaining_points = (
        iter(points) if isinstance(points, list) else itertools.repeat(header.values.get("points", 1))
    )
    for number in sorted(files_by_group, key=_make_sort_key):
        cases = [files_by_group[number][case] for case in sorted(files_by_group[number], key=_make_sort_key)]
        group_points = next(remaining_points, None)
        if group_points is None:
            keys.report_fault("case_points", "fewer points than cases")
            return
        if number not in batch_numbers and len(cases) > 1:
            keys.report_fault("input_format", f"several cases are called {number}")
            return
        yield {"points": group_points, **({"batched": cases} if number in batch_numbers else cases[0])}
    if isinstance(points, list) and len(points) > len(files_by_group):
        message = "more points than cases"
        keys.report_fault("case_points", message, "Correct it, or add the files of the other cases")


def _make_sort_key(number: Any) -> tuple[bool, Any]:
    """Return a key that sorts strings before numbers."""
    return isinstance(number, int), number


def _parse_number(match: re.Match[str], group_name: str) -> Any:
    """Return a group as a number, or as a string if it is not a number, or None if it is missing."""
    group_text = match.groupdict().get(group_name)
    return int(group_text) if group_text is not None and group_text.isdecimal() else group_text


def _compile_pattern(keys: ArchiveKeys, key: str, expression: str) -> re.Pattern[str] | None:
    """Return the compiled expression, or None if it is not a regular expression."""
    try:
        return re.compile(expression, re.IGNORECASE)
    except re.error as error:
        keys.report_fault(key, f"not a regular expression: {error}", "Correct it in the file")
        return None


# --- subtasks ----------------------------------------------------------------------------------------


def _make_subtasks(
    cases_and_batches: Sequence[_CaseOrBatch], batches: Sequence[_CaseOrBatch]
) -> Iterator[Subtask]:
    """Yield a subtask for each batch and each run of cases.

    Cases and batches without points must pass before all later tests.
    """
    required_tests: list[str] = []
    for is_batch, group in itertools.groupby(cases_and_batches, key=lambda part: bool(part.name)):
        if is_batch:
            for batch in group:
                dependencies = (
                    name for number in batch.dependencies for name in _list_batch_tests(batches, number)
                )
                earlier_tests = [*required_tests, *dependencies]
                yield Subtask(
                    name=batch.name,
                    points=batch.points,
                    tests=tuple(dict.fromkeys([*earlier_tests, *batch.tests])),
                    score_type=ScoreType.SUM if earlier_tests else ScoreType.GROUP_MIN,
                    # A case passes even if it earns only some of its points.
                    grading=make_minimum_grading(batch.tests, batch.points, earlier_tests)
                    if earlier_tests
                    else None,
                )
                required_tests += batch.tests if not batch.points else ()
            continue
        for has_no_points, cases in itertools.groupby(group, key=lambda part: not part.points):
            points_by_test = {name: case.points for case in cases for name in case.tests}
            first_test, last_test = next(iter(points_by_test)), list(points_by_test)[-1]
            needs_grading = bool(required_tests) or len(set(points_by_test.values())) > 1
            yield Subtask(
                name=f"case {first_test}"
                if first_test == last_test
                else f"cases {first_test} to {last_test}",
                points=sum(points_by_test.values()),
                tests=tuple(dict.fromkeys([*required_tests, *points_by_test])),
                score_type=ScoreType.SUM,
                grading=make_sum_grading(points_by_test, required_tests) if needs_grading else None,
            )
            required_tests += points_by_test if has_no_points else ()


def _list_batch_tests(batches: Sequence[_CaseOrBatch], batch_number: int) -> Iterable[str]:
    """Yield the tests of a batch and of the batches that it depends on, at any depth."""
    batch = batches[batch_number - 1]
    for dependency in batch.dependencies:
        yield from _list_batch_tests(batches, dependency)
    yield from batch.tests
