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
from ioi_eval.plugins.dmoj.programs import check_program_keys, read_program
from ioi_eval.problems.keys import read_time_limit
from ioi_eval.problems.package import Executable, GeneratedTest
from ioi_eval.rules.grading import award_each_if_passed, award_minimum_if_passed

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
        self.checkers: dict[str, CaseChecker] = {}  # by test
        # Time limits in seconds and memory limits in KiB of the cases that set them.
        self.limits = set[tuple[float | None, int | None]]()
        self._batch_count = 0
        self._unanswered: list[Fields] = []  # cases that have no expected answer

    def read_subtasks(self) -> tuple[Subtask, ...]:
        """Read all cases, and return the subtasks."""
        pretests = self._read_cases_and_batches(PRETESTS) if self._header.has_field(PRETESTS) else []
        batches = [*(batch._replace(points=0.0) for batch in pretests), *self._read_cases_and_batches(CASES)]
        if not batches:
            self._header.report_fault(CASES, "no cases", CASE_EXAMPLE)
        elif not any(batch.points for batch in batches):
            self._header.report_fault("points", "no case or batch has points", "Give cases or batches points")
        if self._unanswered:
            problem = (
                f"missing in {format_count(len(self._unanswered), 'case')}, and outputs are compared with it"
            )
            remedy = "Name the answer, or an empty file if the output must be empty"
            self._unanswered[0].report_fault("out", problem, remedy)
        if len(self.limits) > 1:
            self._header.report_fault(CASES, "limits differ between cases", "Give all of them the same")
        return tuple(_make_subtasks(batches, [batch for batch in batches if batch.name]))

    # --- listed cases ------------------------------------------------------------------------------------

    def _read_cases_and_batches(self, key: str) -> list[_CaseOrBatch]:
        """Return the cases and batches in a key of init.yml."""
        cases = self._header.raw_value(key)
        if cases is None or isinstance(cases, Mapping):
            cases = list(_find_archive_cases(self._header, self._files, cases or {}))
        if not isinstance(cases, list) or not all(isinstance(case, Mapping) for case in cases):
            self._header.report_fault(key, f"{format_value(cases)} is not a list of cases", CASE_EXAMPLE)
            return []
        inherited = {name: self._header.raw_value(name) for name in _list_inherited_names(self._header)}
        return [
            self._read_case_or_batch(
                self._header.fields_under(f"{key}.{index}", {"points": 1, **inherited, **case}), case
            )
            for index, case in enumerate(cases)
        ]

    def _read_case_or_batch(self, fields: Fields, case_values: Mapping[str, Any]) -> _CaseOrBatch:
        """Return a case or a batch. `case_values` are its keys, `fields` include inherited keys."""
        points = CaseKeys.points.read(fields)
        if "batched" not in case_values:
            return _CaseOrBatch(
                "", points, (self._read_case(fields, points, case_values, batch=0, stops=False),)
            )
        self._batch_count += 1
        CaseKeys.from_fields(fields).check_keys(list(case_values))
        number, cases = self._batch_count, case_values["batched"]
        if not isinstance(cases, list) or not cases or not all(isinstance(case, Mapping) for case in cases):
            fields.report_fault("batched", "not a list of cases", CASE_EXAMPLE)
            cases = []
        # Read the points of a batch from its cases, as DMOJ's site does: cases inherit the points of their
        # batch.
        own_fields = (fields.fields_under(f"batched.{index}", case) for index, case in enumerate(cases))
        points_of_cases = {CaseKeys.points.read(case, points) for case in own_fields} or {points}
        if len(points_of_cases) > 1:
            problem = "the cases of a batch have different points"
            fields.report_fault("points", problem, "Give the batch points, and its cases none")
        points = max(points_of_cases)
        inherited = {name: fields.raw_value(name) for name in _list_inherited_names(fields)}
        tests = [
            self._read_case(
                fields.fields_under(f"batched.{index}", {**inherited, **case}),
                points,
                case,
                batch=number,
                stops=index < len(cases) - 1,
            )
            for index, case in enumerate(cases)
        ]
        return _CaseOrBatch(f"batch {number}", points, tuple(tests), self._read_dependencies(fields, number))

    def _read_dependencies(self, fields: Fields, batch_number: int) -> tuple[int, ...]:
        """Return the numbers of the batches that must pass before the batch with this number counts."""
        dependencies = fields.raw_value("dependencies") or []
        if isinstance(dependencies, list) and all(
            type(dependency) is int and 0 < dependency < batch_number for dependency in dependencies
        ):
            return tuple(dependencies)
        problem = f"{format_value(dependencies)} are not numbers of earlier batches"
        fields.report_fault("dependencies", problem, "Count from 1")
        return ()

    def _read_case(
        self, fields: Fields, points: float, case_values: Mapping[str, Any], *, batch: int, stops: bool
    ) -> str:
        """Add a case to the tests, and return the test's name.

        Args:
            fields: The case's keys, inherited keys included.
            points: The points of the case or its batch.
            case_values: The case's own keys.
            batch: The number of its batch, or 0.
            stops: If the case fails, DMOJ's judge skips the later cases of the batch.
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
        binary = keys.binary_data
        blobs = [self._read_content(keys, key, binary=binary) for key in ("in", "out")]
        checker = read_case_checker(keys)
        has_answer = (
            keys.has_field("out") or keys.has_field("generator") or self._header.has_field("interactive")
        )
        if not has_answer and checker.name in CHECKERS:
            self._unanswered.append(keys)
        values = {"points": points, "position": position, "batch": batch, "stops": stops, "binary": binary}
        arguments = (checker.argument({**values, "problem": self._problem_id}),)
        self.tests.append(Test(name=name, input=blobs[0], answer=blobs[1], arguments=arguments))
        self.points[name], self.checkers[name] = points, checker
        return name

    def _generate_case(self, fields: Fields, name: str) -> Fields:
        """Return a case's fields with the files that its generator wrote, if the case names no files."""
        if fields.has_field("in"):  # if the case also names `out`, no generator is needed
            if not fields.has_field("out"):
                problem = "a generator that reads `in` and writes another input is not supported"
                fields.report_fault("generator", problem, "Set `out` too, or remove `in`")
            return fields
        paths = {key: f"{_GENERATED}/{name}.{key}" for key in ("in", "out")}
        generator = fields.raw_value("generator")
        values = generator if isinstance(generator, Mapping) else {"files": generator}
        keys = GeneratorKeys.from_fields(fields.fields_under("generator", values))
        check_program_keys(keys)
        if self._folder is not None:
            args = fields.raw_value("generator_args") or keys.args or []
            arguments = tuple(map(str, args)) if isinstance(args, list) else (str(args),)
            command = (self._add_generator(keys, self._folder), *arguments)
            self.generated_tests.append(GeneratedTest(paths["in"], paths["out"], command))
            return fields
        if any(self._files.find_path(path) is None for path in paths.values()):
            problem = f"there is no {paths['in']} or {paths['out']}, which a program writes"
            remedy = "Make them with ioi_eval.runs.generating.generate(PACKAGE, DIR)"
            fields.report_fault("generator", problem, remedy)
            return fields
        missing = {key: path for key, path in paths.items() if not fields.has_field(key)}
        return fields.with_values({**fields.values, **missing})

    def _add_generator(self, keys: GeneratorKeys, folder: Path) -> str:
        """Add a generator if it is new, and return its name."""
        files = keys.source if keys.has_field("source") else keys.files
        name = " ".join(map(str, files)) if isinstance(files, list) else str(files)
        if name not in self.generators:
            values = {"files": files, "lang": keys.language}
            fields = Fields.fields_under(
                keys, "", {key: value for key, value in values.items() if value is not None}
            )
            if (program := read_program(folder, fields)) is not None:
                self.generators[name] = Executable(program.sources, program.language)
        return name

    def _read_content(self, fields: Fields, key: str, *, binary: bool) -> Blob:
        """Return the content of a case's input or answer, empty if the case names no file."""
        if not fields.has_field(key):
            return Blob.of(b"")
        name = fields.read_text(key)
        content = self._files.read_content(name, binary=binary)
        if content is None:
            fields.report_fault(
                key, f"there is no file {name!r} in the package", "Add it, or correct the name"
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
    keys = ArchiveKeys.from_fields(header.fields_under(CASES, values))
    keys.check_keys()
    if not header.raw_value("archive"):
        remedy = "Name the archive whose files are the cases, or list the cases"
        header.report_fault("archive", "missing", remedy)
        return
    groups: dict[Any, dict[Any, dict[str, str]]] = {}
    batches = set[Any]()
    for key, side in (("input_format", "in"), ("output_format", "out")):
        pattern = _compile_pattern(keys, key, keys.input_format if side == "in" else keys.output_format)
        for name in files.names_in_archive() if pattern else ():
            match = pattern.match(name) if pattern else None
            if match is None:
                continue
            batch, case = _parse_number(match, "batch"), _parse_number(match, "case")
            batches |= set() if batch is None else {batch}
            group = groups.setdefault(case if batch is None else batch, {}).setdefault(case, {})
            if case is None:
                keys.report_fault(key, f"it finds no case in {name!r}", "Name a group: (?P<case>\\d+)")
            elif side in group:
                problem = f"{group[side]!r} and {name!r} belong to the same case, {case}"
                keys.report_fault(key, problem, "Rename one, or list the cases")
            group[side] = name
    points = keys.case_points
    remaining = iter(points) if isinstance(points, list) else itertools.repeat(header.values.get("points", 1))
    for number in sorted(groups, key=_sort_key):
        cases = [groups[number][case] for case in sorted(groups[number], key=_sort_key)]
        points_of_group = next(remaining, None)
        if points_of_group is None:
            keys.report_fault("case_points", "fewer points than cases")
            return
        if number not in batches and len(cases) > 1:
            keys.report_fault("input_format", f"several cases are called {number}")
            return
        yield {"points": points_of_group, **({"batched": cases} if number in batches else cases[0])}
    if isinstance(points, list) and len(points) > len(groups):
        problem = "more points than cases"
        keys.report_fault("case_points", problem, "Correct it, or add the files of the other cases")


def _sort_key(number: Any) -> tuple[bool, Any]:
    """Return a key that sorts strings before numbers."""
    return isinstance(number, int), number


def _parse_number(match: re.Match[str], group: str) -> Any:
    """Return a group as a number, or as a string if it is not a number, or None if it is missing."""
    digits = match.groupdict().get(group)
    return int(digits) if digits is not None and digits.isdecimal() else digits


def _compile_pattern(keys: ArchiveKeys, key: str, expression: str) -> re.Pattern[str] | None:
    """Return the compiled expression, or None if it is not a regular expression."""
    try:
        return re.compile(expression, re.IGNORECASE)
    except re.error as error:
        keys.report_fault(key, f"not a regular expression: {error}", "Correct it in the file")
        return None


# --- subtasks ----------------------------------------------------------------------------------------


def _make_subtasks(parts: Sequence[_CaseOrBatch], batches: Sequence[_CaseOrBatch]) -> Iterator[Subtask]:
    """Yield a subtask for each batch and each run of cases.

    Parts without points must pass for all later parts.
    """
    required: list[str] = []
    for is_batch, group in itertools.groupby(parts, key=lambda part: bool(part.name)):
        if is_batch:
            for batch in group:
                dependencies = (
                    name for number in batch.dependencies for name in _list_batch_tests(batches, number)
                )
                earlier = [*required, *dependencies]
                yield Subtask(
                    name=batch.name,
                    points=batch.points,
                    tests=tuple(dict.fromkeys([*earlier, *batch.tests])),
                    score_type=ScoreType.SUM if earlier else ScoreType.GROUP_MIN,
                    # A case passes even if it earns only some of its points.
                    grading=award_minimum_if_passed(batch.tests, batch.points, earlier) if earlier else None,
                )
                required += batch.tests if not batch.points else ()
            continue
        for is_worthless, run in itertools.groupby(group, key=lambda part: not part.points):
            points = {name: case.points for case in run for name in case.tests}
            first, last = next(iter(points)), list(points)[-1]
            has_tree = bool(required) or len(set(points.values())) > 1
            yield Subtask(
                name=f"case {first}" if first == last else f"cases {first} to {last}",
                points=sum(points.values()),
                tests=tuple(dict.fromkeys([*required, *points])),
                score_type=ScoreType.SUM,
                grading=award_each_if_passed(points, required) if has_tree else None,
            )
            required += points if is_worthless else ()


def _list_batch_tests(batches: Sequence[_CaseOrBatch], batch_number: int) -> Iterable[str]:
    """Yield the tests of a batch and of the batches that it depends on, at any depth."""
    batch = batches[batch_number - 1]
    for dependency in batch.dependencies:
        yield from _list_batch_tests(batches, dependency)
    yield from batch.tests
