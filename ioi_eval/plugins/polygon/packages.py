"""Read packages of Polygon (`problem.xml`) that contain their tests.

Checkers and interactors use testlib, whose header is in the package. A package without its tests is refused;
the message names the commands of the package's scripts that write the tests.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from msgspec.structs import replace

from ioi_eval.model.fields import Faults, suggest_names
from ioi_eval.model.text import format_count
from ioi_eval.model.values import (
    Checker,
    CheckerKind,
    Grading,
    Limits,
    NamedBlob,
    Problem,
    ScoreType,
    Solution,
    Subtask,
    TaskOptions,
    TaskType,
    Test,
)
from ioi_eval.plugins.polygon.keys import (
    COMPLETE_GROUP,
    EACH_TEST,
    HEADER,
    MAIN_TESTSET,
    GroupKeys,
    JudgingKeys,
    TestKeys,
    TestsetKeys,
    read_attributes_and_children,
    read_keys,
)
from ioi_eval.problems.names import is_portable_file_name, stays_in_folder
from ioi_eval.problems.package import (
    Executable,
    GeneratedTest,
    PackageFormat,
    TestGeneration,
    find_package_name,
    language_of,
    load_named_blobs,
    load_with_unix_line_ends,
    make_solution,
)
from ioi_eval.rules.grading import make_sum_grading

_INCLUDED = frozenset({".h", ".hh", ".hpp", ".inc"})
# Expected results by the tag of a solution in Polygon.
_TAGS: Mapping[str, str] = MappingProxyType(
    {
        "main": "correct",
        "accepted": "accepted",
        "rejected": "rejected",
        "failed": "rejected",
        "incorrect": "rejected",
        "wrong-answer": "wrong_answer",
        "presentation-error": "presentation_error",
        "time-limit-exceeded": "time_limit_exceeded",
        "memory-limit-exceeded": "memory_limit_exceeded",
        "time-limit-exceeded-or-accepted": "time_limit_exceeded, accepted",
        "time-limit-exceeded-or-memory-limit-exceeded": "time_limit_exceeded, memory_limit_exceeded",
    }
)
_NOT_RUN = "do-not-run"
_PYTHON_2 = ("python.2", "python.pypy2")
# Pattern for the standard in names such as cpp.g++14 and cpp.gcc13-64-winlibs-g++20.
_CPP_STANDARD = re.compile(r"(?<=\+\+)[0-9][0-9a-z]")
_MAX_LISTED = 3  # maximum number of commands that a message lists
_FOR_TYPES = MappingProxyType({"cpp": "c++", "c": "c", "java": "java", "python": "python"})
_WHOLE_PROBLEM, _NO_GROUP = "all", "no-group"  # names of the subtasks without a group


class Polygon(PackageFormat):
    """The package format of Polygon, recognized by problem.xml."""

    name = "Polygon"
    header = HEADER
    rank = 30

    def package_id(self, folder: Path, where: str) -> str | None:
        root = _parse_header(folder, Faults(""))
        return None if root is None else _find_id(root, folder, where)

    def read(self, folder: Path, where: str, faults: Faults) -> Problem | None:
        root = _parse_header(folder, faults)
        return None if root is None else _PolygonPackageReader(folder, root, faults).read_problem(where)

    def read_test_generation(self, folder: Path, faults: Faults) -> TestGeneration | None:
        root = _parse_header(folder, faults)
        return None if root is None else _PolygonPackageReader(folder, root, faults).read_test_generation()


def _parse_header(folder: Path, faults: Faults) -> Element | None:
    """Return the root element of problem.xml, or None after a fault."""
    content = (folder / HEADER).read_bytes()
    # A small XML file with entities could expand to any length, so entities are refused.
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        faults.report("entities are not supported", HEADER, remedy="Remove its DOCTYPE")
        return None
    try:
        root = ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        message, row = f"broken XML: {error.msg}", error.position[0]
        faults.report(message, HEADER, row=row, remedy="Correct it in the file")
        return None
    if root.tag == "problem":
        return root
    faults.report(f"<{root.tag}> is not a problem", HEADER, remedy="Expected <problem> as Polygon exports it")
    return None


def _find_id(root: Element, folder: Path, where: str) -> str:
    """Return the problem's id: its short name, or the name of the folder or archive."""
    return root.get("short-name") or find_package_name(folder, where)


def _find_language(source_type: str, path: str) -> str:
    """Return a source's language, with the C++ standard if `source_type` names it, such as c++14.

    If the language is unknown, the result is Polygon's name of it.
    """
    source_type, language = source_type.lower(), language_of(path)
    if source_type in _PYTHON_2:
        return source_type
    if language == "python" and "pypy" in source_type:
        return "pypy"
    standard = _CPP_STANDARD.search(source_type) if language == "c++" else None
    return f"{language}{standard[0]}" if standard else language or source_type or "an unknown language"


class _Group(NamedTuple):
    """A group of a Polygon testset: tests that earn points together, after the groups they depend on."""

    name: str
    is_complete: bool  # True if the group earns its points only if all its tests pass
    own_points: float | None  # points of the group; None means the sum of its tests' points
    dependencies: tuple[str, ...]  # names of the groups that must pass before this group counts
    tests: Mapping[str, float]  # points of the group's tests, by name

    @property
    def points(self) -> float:
        """Return the group's maximum points."""
        points = self.own_points if self.is_complete else None
        return math.fsum(self.tests.values()) if points is None else points

    def make_subtask(self, required_groups: Iterable[_Group]) -> Subtask:
        """Return the group as a subtask, which earns points only if the tests of required groups pass."""
        required_tests = [name for group in required_groups for name in group.tests]
        test_names = tuple(dict.fromkeys([*required_tests, *self.tests]))
        has_equal_points = len(set(self.tests.values())) == 1
        grading: Grading | None = None
        if self.is_complete:  # a test that earns only some of its points counts as failed
            grading = Grading(parts=test_names, whole_only=True, rejected_earns=False)
        elif required_tests or not has_equal_points:
            grading = make_sum_grading(self.tests, required_tests, requires_full_scores=True)
        return Subtask(
            name=self.name, points=self.points, tests=test_names, score_type=ScoreType.SUM, grading=grading
        )


def _list_required_groups(group: _Group, groups: Mapping[str, _Group]) -> Iterator[_Group]:
    """Yield the groups on which a group depends, directly or indirectly, each once."""
    seen_names, waiting_names = set[str](), list(group.dependencies)
    while waiting_names:
        name = waiting_names.pop(0)
        if name not in seen_names and name in groups:
            seen_names.add(name)
            waiting_names += groups[name].dependencies
            yield groups[name]


class _Judging(NamedTuple):
    """The element `judging`, and the testset that is judged."""

    keys: JudgingKeys
    testset: TestsetKeys
    element: Element  # XML element of the testset


class _PolygonPackageReader:
    """Reads the parts of a package."""

    def __init__(self, folder: Path, root: Element, faults: Faults) -> None:
        self._folder, self._root, self._faults = folder, root, faults

    def read_problem(self, where: str) -> Problem | None:
        """Return the problem, or None if problem.xml lacks a testset."""
        if (judging := self._find_judging()) is None:
            return None
        interactor = self._find_program("interactor")
        second_run = self._read_second_run_mode(judging.keys)
        if self._root.find("assets/scorer") is not None:
            message = "a program that turns verdicts into points is not supported"
            self._report_fault("assets.scorer", message, "Remove it, and give tests or groups their points")
        checker = self._find_program("checker")
        if checker is None and (interactor is None or second_run) and not self._faults.errors:
            self._report_fault("assets.checker", "missing", "Choose a checker in Polygon, and export again")
        tests = tuple(self._read_tests(judging))
        groups = self._read_groups(judging.element, tests)
        if not any(group.points for group in groups.values()):
            groups = {}  # if no test earns points, all tests of the problem must pass
        points_by_test = {name: number for group in groups.values() for name, number in group.tests.items()}
        # If a checker prints `points X`, it means X of the test's points, or of 100 if points are
        # percentages.
        full_marks = max(points_by_test.values(), default=0.0) or 1.0
        full_by_test = {
            name: number for name, number in points_by_test.items() if number not in (0.0, full_marks)
        }
        if judging.keys.points_are_percentages == "true":
            full_marks, full_by_test = 100.0, {}
        problem_id = _find_id(self._root, self._folder, where)
        if not is_portable_file_name(problem_id):
            self._report_fault(
                "short-name", f"{problem_id!r} is not an id", "Use letters, digits, '_', '-' and '.'"
            )
        titles = {name.get("language"): name.get("value", "") for name in self._root.iterfind("names/name")}
        checker_kind, run_count = CheckerKind.TESTLIB, 2 if second_run else 1
        return Problem(
            id=problem_id,
            name=titles.get("english") or next(iter(titles.values()), "") or problem_id,
            source=where,
            task_type=TaskType.INTERACTIVE if interactor else TaskType.BATCH,
            options=TaskOptions(
                input_file=judging.keys.input_file,
                output_file=judging.keys.output_file,
                online_judge=True,
            ),
            limits=Limits.contest(judging.testset.time_limit / 1000, judging.testset.memory_limit),
            included=tuple(self._list_included_files()),
            checker=checker.as_checker(checker_kind, full=full_marks, passes=run_count)
            if checker
            else Checker(passes=run_count),
            manager=interactor.as_manager(checker_kind, full=full_marks, again=second_run)
            if interactor
            else None,
            tests=tuple(replace(test, full=full_by_test.get(test.name)) for test in tests),
            subtasks=tuple(
                group.make_subtask(_list_required_groups(group, groups)) for group in groups.values()
            ),
            solutions=tuple(self._read_solutions()),
            tags=tuple(tag.get("value", "") for tag in self._root.iterfind("tags/tag")),
        )

    def _report_fault(self, field: str, problem: str, remedy: str) -> None:
        self._faults.report(problem, HEADER, field=field, remedy=remedy)

    # --- judging -----------------------------------------------------------------------------------------

    def _find_judging(self) -> _Judging | None:
        """Return the element `judging` with the testset that is judged, or None after a fault."""
        judging = self._root.find("judging")
        testsets = [] if judging is None else judging.findall("testset")
        if judging is None or not testsets:
            self._report_fault("judging.testset", "missing", "Export the package again")
            return None
        main_testset = next(
            (element for element in testsets if element.get("name") == MAIN_TESTSET), testsets[0]
        )
        for testset in testsets:
            if testset is not main_testset:
                self._faults.add_note(f"ignored: the testset {testset.get('name')!r}", HEADER)
        return _Judging(
            keys=read_keys(judging, JudgingKeys, "judging.", self._faults),
            testset=read_keys(main_testset, TestsetKeys, "testset.", self._faults),
            element=main_testset,
        )

    def _read_second_run_mode(self, keys: JudgingKeys) -> str:
        """Return how a solution's second run on a test works, or "" if a solution runs once.

        `alone`: without the interactor. `together`: with the interactor.
        """
        run_count, interactor = keys.run_count, self._root.find("assets/interactor")
        if self._root.find("tags/tag[@value='run-twice']") is not None and not keys.has_field("run-count"):
            keys.report_fault(
                "run-count", "missing, and it is tagged run-twice", "Set how often solutions run"
            )
        if run_count == "1":
            return ""
        if run_count != "2" or interactor is None:
            message = (
                f"solutions run {run_count} times"
                if run_count != "2"
                else "solutions run twice without an interactor"
            )
            remedy = "Expected 1, or 2 with an interactor, which alone defines what the second run reads"
            keys.report_fault("run-count", message, remedy)
            return ""
        return "alone" if interactor.find("runs") is None else "together"

    # --- programs ----------------------------------------------------------------------------------------

    def _find_program(self, role: str) -> Executable | None:
        """Return the checker or the interactor, or None if the package has none."""
        element = self._root.find(f"assets/{role}")
        if element is None:
            return None
        library = element.get("type", "testlib")
        if role == "checker" and library != "testlib":
            self._report_fault("assets.checker.type", f"{library!r} is not supported", "Expected testlib")
        return self._read_program(element, f"assets.{role}")

    def _read_program(self, element: Element, field: str) -> Executable | None:
        """Return a program with the package's headers, or None after a fault."""
        if (source := self._read_source_path_and_language(element, field)) is None:
            return None
        path, language = source
        # All C++ programs of a package are compiled with the same standard.
        language = _CPP_STANDARD.sub("", language)
        if language not in ("c++", "c", "python"):
            self._report_fault(f"{field}.source", f"it is in {language}", "Expected C++ or Python")
        resource_paths = (file.get("path", "") for file in self._root.iterfind("files/resources/file"))
        header_paths = (
            name for name in resource_paths if PurePosixPath(name).suffix in _INCLUDED and self._is_file(name)
        )
        return Executable(
            load_named_blobs(self._folder, [path, *(name for name in header_paths if name != path)]), language
        )

    def _list_included_files(self) -> Iterator[NamedBlob]:
        """Yield the files that solutions are compiled with, once for each of their languages."""
        for file in self._root.iterfind("files/resources/file"):
            path = file.get("path", "")
            asset_names = [asset.get("name", "").lower() for asset in file.iterfind("assets/asset")]
            if "solution" not in asset_names:
                continue
            file_language = language_of(
                path
            )  # the language is None for headers, which are for C++ by default
            default_prefix = next(
                (prefix for prefix, name in _FOR_TYPES.items() if name == file_language), "cpp"
            )
            language_types = file.get("for-types", f"{default_prefix}.*")
            languages = [
                _FOR_TYPES.get(name.strip().partition(".")[0]) for name in re.split("[,;]", language_types)
            ]
            if not self._is_file(path):
                self._report_fault(
                    "files.resources", f"there is no file {path!r} in the package", "Export it again"
                )
            elif None in languages or (file.get("main") == "true" and "python" in languages):
                message = f"solutions of {language_types!r} cannot be compiled with {path}"
                self._report_fault(
                    "files.resources.for-types", message, "Expected cpp.*, c.*, java.*, python.*"
                )
            else:
                (blob,) = load_named_blobs(self._folder, [path])
                for language in languages:
                    name = f"{language}/{PurePosixPath(path).name}"
                    yield NamedBlob(name=name, content=blob.content)

    def _read_source_path_and_language(self, element: Element, field: str) -> tuple[str, str] | None:
        """Return a source's path and its language, or None after a fault."""
        source = element.find("source")
        path = source.get("path", "") if source is not None else ""
        if not self._is_file(path):
            self._report_fault(
                f"{field}.source", f"there is no file {path!r} in the package", "Export it again"
            )
            return None
        return path, _find_language(source.get("type", "") if source is not None else "", path)

    def _is_file(self, path: str) -> bool:
        """Return True if the path names a file in the package."""
        return stays_in_folder(path) and (self._folder / path).is_file()

    # --- tests -------------------------------------------------------------------------------------------

    def _read_tests(self, judging: _Judging) -> Iterator[Test]:
        """Yield the tests. Missing files and a wrong count are faults."""
        declared_count, test_elements = judging.testset.test_count, judging.element.findall("tests/test")
        if not test_elements:
            self._report_fault("testset.tests", "no tests", "Export the package again")
        elif declared_count not in (None, str(len(test_elements))):
            message = f"{declared_count!r} is not the number of tests, which is {len(test_elements)}"
            judging.testset.report_fault("test-count", message, "Export the package again")
        paths = self._list_test_paths(judging)
        missing_inputs = [
            (element, input_path)
            for element, (input_path, _) in zip(test_elements, paths, strict=False)
            if not self._is_file(input_path)
        ]
        missing_answers = [
            answer_path
            for input_path, answer_path in paths
            if self._is_file(input_path) and not self._is_file(answer_path)
        ]
        if missing_inputs:
            commands = [
                f"{element.get('cmd')} > {input_path}"
                for element, input_path in missing_inputs
                if element.get("cmd")
            ]
            commands_text = "; ".join(commands[:_MAX_LISTED])
            commands_text += (
                f"; and {len(commands) - _MAX_LISTED} more" if len(commands) > _MAX_LISTED else ""
            )
            self._faults.report(
                f"{len(missing_inputs)} of {len(paths)} tests are missing"
                f"{commands_text and f': {commands_text}'}",
                missing_inputs[0][1],
                remedy="Make them with ioi_eval.runs.generating.generate(PACKAGE, DIR), or by its doall.sh",
            )
        elif missing_answers:
            remedy = "The main solution writes it: run doall.sh, or export with tests"
            self._faults.report(
                f"{format_count(len(missing_answers), 'answer is', 'answers are')} missing",
                missing_answers[0],
                remedy=remedy,
            )
        else:
            for input_path, answer_path in paths:
                blobs = (
                    load_with_unix_line_ends(self._folder / input_path),
                    load_with_unix_line_ends(self._folder / answer_path),
                )
                yield Test(name=PurePosixPath(input_path).name, input=blobs[0], answer=blobs[1])

    def _list_test_paths(self, judging: _Judging) -> list[tuple[str, str]]:
        """Return the paths of each test's input and answer. The list is empty after a fault."""
        input_pattern, answer_pattern = judging.testset.input_pattern, judging.testset.answer_pattern
        numbers = range(1, len(judging.element.findall("tests/test")) + 1)
        return (
            [(input_pattern % number, answer_pattern % number) for number in numbers]
            if input_pattern and answer_pattern
            else []
        )

    # --- groups ------------------------------------------------------------------------------------------

    def _read_groups(self, testset: Element, tests: Sequence[Test]) -> dict[str, _Group]:
        """Return the groups of tests by name. Without groups, a single group has all tests."""
        group_elements = testset.findall("groups/group")
        element_by_name = {element.get("name", ""): element for element in group_elements}
        group_names = tuple(element_by_name)
        if len(element_by_name) < len(group_elements):
            self._report_fault("testset.groups", "two groups have one name", "Rename one of them")
        points_by_group: dict[str, dict[str, float]] = {}
        used_names = set[str]()
        for index, element in enumerate(testset.iterfind("tests/test")):
            keys = read_keys(element, TestKeys, "testset.tests.test.", self._faults)
            used_names.add(keys.group)
            if index < len(tests):
                name = (keys.group or _NO_GROUP) if element_by_name else _WHOLE_PROBLEM
                points_by_group.setdefault(name, {})[tests[index].name] = keys.points or 0.0
        groups = {
            name: self._read_group(name, element_by_name.get(name), group_points)
            for name, group_points in points_by_group.items()
        }
        for group in groups.values():
            field = f"testset.groups.{group.name}.dependencies"
            for name in group.dependencies:
                if name not in groups and name not in element_by_name:
                    self._report_fault(field, f"there is no group {name!r}", suggest_names(name, group_names))
            if group in _list_required_groups(group, groups):
                self._report_fault(field, "it depends on itself", "Remove one of the dependencies")
        for name in sorted(used_names - element_by_name.keys() - {""}) if element_by_name else ():
            message = f"a test is in {name!r}, which is not one of the groups"
            self._report_fault("testset.tests.test.group", message, suggest_names(name, group_names))
        for name in sorted(element_by_name.keys() - used_names):
            group_keys = read_keys(element_by_name[name], GroupKeys, f"testset.groups.{name}.", self._faults)
            if group_keys.points:
                group_keys.report_fault(
                    "points", "the group has points and no tests", "Add tests, or remove points"
                )
        return groups

    def _read_group(self, name: str, element: Element | None, points_by_test: Mapping[str, float]) -> _Group:
        """Return a group. Without an element, each of its tests earns points separately."""
        if element is None:
            return _Group(name, False, None, (), points_by_test)
        keys = read_keys(element, GroupKeys, f"testset.groups.{name}.", self._faults)
        dependencies = element.iterfind("dependencies/dependency")
        if keys.points_policy == EACH_TEST and keys.points and not any(points_by_test.values()):
            message = "each test earns its own points, and no test has any"
            keys.report_fault("points", message, f"Give the tests points, or set {COMPLETE_GROUP}")
        return _Group(
            name=name,
            is_complete=keys.points_policy == COMPLETE_GROUP,
            own_points=keys.points or None,
            dependencies=tuple(dependency.get("group", "") for dependency in dependencies),
            tests=points_by_test,
        )

    # --- solutions ---------------------------------------------------------------------------------------

    def _read_solutions(self) -> Iterator[Solution]:
        """Yield the solutions with their expected results."""
        for element in self._root.iterfind("assets/solutions/solution"):
            source, tag = (
                self._read_source_path_and_language(element, "assets.solutions.solution"),
                element.get("tag", ""),
            )
            if source is None or tag == _NOT_RUN:
                continue
            path, language = source
            if language in _PYTHON_2 or language_of(path) is None:
                self._faults.add_note(f"ignored: {language} is not supported", path)
                continue
            if element.find("extra-tags") is not None:
                self._faults.add_note("its tags for single groups and testsets are ignored", path)
            expected_result = _TAGS.get(tag, tag)
            solution = make_solution(
                self._folder / path, name=PurePosixPath(path).name, expected=expected_result
            )
            yield replace(solution, language=language)

    # --- generating tests --------------------------------------------------------------------------------

    def read_test_generation(self) -> TestGeneration | None:
        """Return how tests are generated, or None after a fault."""
        if (judging := self._find_judging()) is None:
            return None
        interactor = self._find_program("interactor")
        if judging.keys.run_count == "2":
            message = "generating answers of solutions that run twice is not supported"
            judging.keys.report_fault("run-count", message, "Export it with tests (Full package)")
        generators = dict(self._read_generators())
        main_element = self._root.find("assets/solutions/solution[@tag='main']")
        main_solution = None if main_element is None else self._find_main_solution(main_element)
        if main_element is None:
            message = "no solution is tagged main"
            self._report_fault("assets.solutions", message, "Tag the solution that writes answers")
        validator_elements = self._root.iterfind("assets/validators/validator")
        validators = [
            self._read_program(element, "assets.validators.validator") for element in validator_elements
        ]
        tests = tuple(self._read_generated_tests(judging, generators))
        if main_solution is None:
            return None
        usable_validators = tuple(validator for validator in validators if validator)
        input_file, output_file = judging.keys.input_file, judging.keys.output_file
        if interactor:  # the interactor writes the answer while the solution talks to it
            input_file, output_file = "", "output.txt"
        return TestGeneration(
            tests, generators, main_solution, usable_validators, input_file, output_file, interactor
        )

    def _find_main_solution(self, element: Element) -> Executable | None:
        """Return the main solution with the files that it is compiled with, or None after a fault."""
        program = self._read_program(element, "assets.solutions.solution")
        if program is None:
            return None
        source, *_ = program.sources
        included_files = (
            NamedBlob(name=str(PurePosixPath(source.name).with_name(name)), content=file.content)
            for file in self._list_included_files()
            for language, _, name in [file.name.partition("/")]
            if language == program.language
        )
        return Executable((source, *included_files), program.language, linked=True)

    def _read_generators(self) -> Iterator[tuple[str, Executable]]:
        """Yield the generators that tests use, by the names of their files."""
        tests = self._root.iterfind("judging/testset/tests/test")
        used_names = {command[0] for test in tests if (command := _split_command(test.get("cmd", "")))}
        for element in self._root.iterfind("files/executables/executable"):
            source = element.find("source")
            name = PurePosixPath(source.get("path", "") if source is not None else "").stem
            if name in used_names and (
                program := self._read_program(element, "files.executables.executable")
            ):
                yield name, program

    def _read_generated_tests(
        self, judging: _Judging, generators: Mapping[str, Executable]
    ) -> Iterator[GeneratedTest]:
        """Yield the tests with the commands that write their inputs."""
        elements_and_paths = zip(
            judging.element.iterfind("tests/test"), self._list_test_paths(judging), strict=False
        )
        for number, (element, (input_path, answer_path)) in enumerate(elements_and_paths, 1):
            keys = TestKeys(read_attributes_and_children(element), HEADER, self._faults)
            field, command = f"testset.tests.test.{number}", _split_command(keys.cmd)
            if keys.from_file:
                message = "a generator that writes several tests is not supported"
                self._report_fault(field, message, "Export it with tests (Full package)")
            elif command and command[0] not in generators:
                remedy = suggest_names(command[0], tuple(generators))
                self._report_fault(field, f"there is no generator {command[0]!r}", remedy)
            elif not command and not self._is_file(input_path):
                message = f"{input_path} is missing, and the test has no command"
                self._report_fault(field, message, "Export the package again")
            else:
                arguments = ("--testset", judging.element.get("name", ""), "--group", keys.group)
                test_command = () if self._is_file(input_path) else command
                yield GeneratedTest(input_path, answer_path, test_command, subtask=arguments)


def _split_command(command: str) -> tuple[str, ...]:
    """Split a command into the generator's name and its arguments."""
    try:
        return tuple(shlex.split(command))
    except ValueError:  # shlex raises a ValueError for an open quotation mark; no generator has such a name
        return (command,)


FORMAT = Polygon()
