"""Packages of Polygon (`problem.xml`), read after their tests were generated.

Checkers and interactors are written with testlib, whose header the package brings. A package as exported
without its tests is refused with the commands of its own scripts that make them.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from msgspec.structs import replace

from ioi_eval.model.fields import Faults, nearest
from ioi_eval.model.values import (
    Checker,
    CheckerKind,
    Limits,
    Manager,
    NamedBlob,
    Problem,
    ScoreType,
    Solution,
    Subtask,
    TaskOptions,
    TaskType,
    Test,
)
from ioi_eval.problems.package import (
    Executable,
    GeneratedTest,
    Making,
    PackageFormat,
    as_on_linux,
    is_plain,
    language_of,
    leads_inside,
    named,
    solution,
)
from ioi_eval.rules.grading import each_behind

_HEADER = "problem.xml"
_MAIN = "tests"  # the testset that counts; others are pretests and the like
_INCLUDED = frozenset({".h", ".hh", ".hpp", ".inc"})
_STANDARD = ("", "stdin", "stdout")
# What an author's tag says, in words of expectations; a solution that is not to be run says nothing.
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
_FOR_TYPES = MappingProxyType({"cpp": "c++", "c": "c", "java": "java", "python": "python"})


class Polygon(PackageFormat):
    name = "Polygon"
    header = _HEADER

    def package_id(self, folder: Path, where: str) -> str | None:
        root = parsed(folder, Faults(""))
        return None if root is None else _id(root, folder)

    def read(self, folder: Path, where: str, faults: Faults) -> Problem | None:
        root = parsed(folder, faults)
        return None if root is None else PolygonReader(folder, where, root, faults).problem()

    def making(self, folder: Path, faults: Faults) -> Making | None:
        root = parsed(folder, faults)
        return None if root is None else _Making(PolygonReader(folder, "", root, faults), root).read()


def parsed(folder: Path, faults: Faults) -> Element | None:
    text = (folder / _HEADER).read_bytes()
    if (
        b"<!DOCTYPE" in text or b"<!ENTITY" in text
    ):  # a few lines of entities can stand for any amount of text
        faults.add("entities are not taken", _HEADER, remedy="Remove its DOCTYPE")
        return None
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        faults.add(
            f"broken XML: {error.msg}", _HEADER, row=error.position[0], remedy="Correct it in the file"
        )
        return None
    if root.tag == "problem":
        return root
    faults.add(f"<{root.tag}> is no problem", _HEADER, remedy="Expected <problem> as Polygon exports it")
    return None


def _id(root: Element, folder: Path) -> str:
    return root.get("short-name") or folder.resolve().name


def _of_file(path: str) -> str:
    """Return the prefix of the types that a file is for, where none is given: headers are C++'s."""
    language = language_of(path)
    return next((word for word, name in _FOR_TYPES.items() if name == language), "cpp")


class _Source(NamedTuple):
    path: str
    language: str


class PolygonReader:
    """A reader of one package's parts, each noting its own faults."""

    def __init__(self, folder: Path, where: str, root: Element, faults: Faults) -> None:
        self._folder, self._where, self._root, self._faults = folder, where, root, faults

    def problem(self) -> Problem | None:
        judging = self._root.find("judging")
        testset = self.testset(judging)
        if judging is None or testset is None:
            self.fault("judging.testset", "missing", "Export the package again")
            return None
        interactor = self._program("interactor")
        again = self._second_run(judging)
        checker = self._program("checker")
        if checker is None and (interactor is None or again) and not self._faults.errors:
            self.fault("assets.checker", "missing", "Choose a checker in Polygon, and export again")
        tests = tuple(self._tests(testset))
        subtasks = read_groups(testset, tests, self.fault)
        worths = own_points(testset) if subtasks else []
        most = max(worths, default=0.0) or 1.0
        return Problem(
            id=self._plain_id(),
            name=self._name(),
            source=self._where,
            task_type=TaskType.INTERACTIVE if interactor else TaskType.BATCH,
            options=TaskOptions(
                input_file=self._file(judging, "input-file"),
                output_file=self._file(judging, "output-file"),
                online_judge=True,
            ),
            limits=Limits.contest(
                self._number(testset, "time-limit") / 1000, self._number(testset, "memory-limit")
            ),
            included=tuple(self.included()),
            checker=replace(_checker(checker, most), passes=2 if again else 1),
            manager=_manager(interactor, most, again),
            tests=tuple(_with_points(tests, worths)),
            subtasks=subtasks,
            solutions=tuple(self._solutions()),
            tags=tuple(tag.get("value", "") for tag in self._root.iterfind("tags/tag")),
        )

    def fault(self, field: str, problem: str, remedy: str) -> None:
        self._faults.add(problem, _HEADER, field=field, remedy=remedy)

    # --- problem.xml -------------------------------------------------------------------------------------

    def _plain_id(self) -> str:
        name = _id(self._root, self._folder)
        if not is_plain(name):
            self.fault("short-name", f"{name!r} is not an id", "Use letters, digits, '_', '-' and '.'")
        return name

    def _name(self) -> str:
        names = {name.get("language"): name.get("value", "") for name in self._root.iterfind("names/name")}
        return names.get("english") or next(iter(names.values()), "") or _id(self._root, self._folder)

    def testset(self, judging: Element | None) -> Element | None:
        found = list(judging.iterfind("testset")) if judging is not None else []
        main = next(
            (element for element in found if element.get("name") == _MAIN), found[0] if found else None
        )
        for other in found:
            if other is not main:
                self._faults.note(f"left out: the testset {other.get('name')!r}", _HEADER)
        return main

    def _second_run(self, judging: Element) -> str:
        """Return how solutions run again, alone or together with the interactor; empty: they do not."""
        runs, interactor = judging.get("run-count", "1"), self._root.find("assets/interactor")
        if runs == "1":
            return ""
        if runs != "2" or interactor is None:
            words = (
                f"solutions run {runs} times" if runs != "2" else "solutions run twice without an interactor"
            )
            remedy = "Expected 1, or 2 with an interactor, which alone says what the second run reads"
            self.fault("judging.run-count", words, remedy)
            return ""
        return "alone" if interactor.find("runs") is None else "together"

    def _number(self, testset: Element, field: str) -> int:
        text = (testset.findtext(field) or "").strip()
        if text.isdecimal() and 0 < int(text) < 1 << 60:
            return int(text)
        unit = "milliseconds" if field == "time-limit" else "bytes"
        self.fault(f"testset.{field}", f"{text[:40]!r} is not a number of {unit}", "Correct it in the file")
        return 1

    def _file(self, judging: Element, field: str) -> str:
        name = judging.get(field, "")
        if name in _STANDARD:
            return ""
        if not is_plain(name):
            self.fault(f"judging.{field}", f"{name!r} is not a plain file name", "Leave it empty")
        return name

    # --- programs ----------------------------------------------------------------------------------------

    def _program(self, kind: str) -> Executable | None:
        """Return the checker or the interactor, with the headers that lie in the package."""
        element = self._root.find(f"assets/{kind}")
        if element is None:
            return None
        spoken = element.get("type", "testlib")
        if kind == "checker" and spoken != "testlib":
            self.fault("assets.checker.type", f"{spoken!r} is not judged", "Expected testlib")
        return self.program_of(element, f"assets.{kind}")

    def program_of(self, element: Element, field: str) -> Executable | None:
        """Return any program, with the headers that lie in the package."""
        source = self._source(element, field)
        if source is None:
            return None
        if source.language not in ("c++", "c", "python"):
            self.fault(f"{field}.source", f"it is in {source.language}", "Expected C++ or Python")
        headers = [path for path in self._headers() if path != source.path]
        return Executable(named(self._folder, [source.path, *headers]), source.language)

    def included(self) -> Iterator[NamedBlob]:
        """Yield the files that solutions are compiled with, by the languages that they are for."""
        for file in self._root.iterfind("files/resources/file"):
            path = file.get("path", "")
            used = [asset.get("name", "").lower() for asset in file.iterfind("assets/asset")]
            if "solution" not in used:
                continue
            types = file.get("for-types", f"{_of_file(path)}.*")
            languages = [_FOR_TYPES.get(word.strip().partition(".")[0]) for word in re.split("[,;]", types)]
            if not self.lies(path):
                self.fault("files.resources", f"there is no file {path!r} in the package", "Export it again")
            elif None in languages or (file.get("main") == "true" and "python" in languages):
                words = f"solutions of {types!r} are to be compiled with {path}"
                self.fault("files.resources.for-types", words, "Expected cpp.*, c.*, java.*, python.*")
            else:
                (content,) = named(self._folder, [path])
                for language in languages:
                    name = f"{language}/{PurePosixPath(path).name}"
                    yield NamedBlob(name=name, content=content.content)

    def _headers(self) -> Iterator[str]:
        for file in self._root.iterfind("files/resources/file"):
            path = file.get("path", "")
            if PurePosixPath(path).suffix in _INCLUDED and self.lies(path):
                yield path

    def _source(self, element: Element, field: str) -> _Source | None:
        source = element.find("source")
        path = source.get("path", "") if source is not None else ""
        if not self.lies(path):
            self.fault(f"{field}.source", f"there is no file {path!r} in the package", "Export it again")
            return None
        kind = (source.get("type", "") if source is not None else "").lower()
        language = "pypy" if "pypy" in kind else language_of(path)
        return _Source(path, language or kind or "a language that nobody says")

    def lies(self, path: str) -> bool:
        return leads_inside(path) and (self._folder / path).is_file()

    # --- tests -------------------------------------------------------------------------------------------

    def _tests(self, testset: Element) -> Iterator[Test]:
        listed = tests_of(testset)
        if not listed:
            self.fault("testset.tests", "no tests", "Export the package again")
        if not (places := self.places(testset)):
            return
        inputs, answers = ([pair[side] for pair in places] for side in (0, 1))
        missing = [place for place, path in enumerate(inputs) if not self.lies(path)]
        missing_answers = [
            path
            for path, other in zip(answers, inputs, strict=True)
            if not self.lies(path) and self.lies(other)
        ]
        if missing:
            self._refuse_missing(listed, inputs, missing)
        elif missing_answers:
            remedy = "The main solution writes it: run doall.sh, or export with tests"
            self._faults.add(
                f"{len(missing_answers)} answers are not there", missing_answers[0], remedy=remedy
            )
        else:
            for path, answer in zip(inputs, answers, strict=True):
                blobs = [as_on_linux(self._folder / place) for place in (path, answer)]
                yield Test(name=PurePosixPath(path).name, input=blobs[0], answer=blobs[1])

    def places(self, testset: Element) -> list[tuple[str, str]]:
        """Return the places of each test's input and answer; none where the patterns are missing."""
        patterns = [self._pattern(testset, field) for field in ("input-path-pattern", "answer-path-pattern")]
        if None in patterns:
            return []
        numbers = range(1, len(tests_of(testset)) + 1)
        first, second = (str(pattern) for pattern in patterns)
        return [(first % number, second % number) for number in numbers]

    def _pattern(self, testset: Element, field: str) -> str | None:
        text = (testset.findtext(field) or "").strip()
        if re.fullmatch(r"[^%]*%(0\d)?d[^%]*", text) and leads_inside(text):
            return text
        self.fault(f"testset.{field}", f"{text[:40]!r} is not a pattern", "Expected one such as tests/%02d")
        return None

    def _refuse_missing(self, listed: list[Element], inputs: list[str], missing: list[int]) -> None:
        """Refuse a package without its tests, and name the commands of its doall.sh that make them."""
        commands = [
            f"{listed[place].get('cmd')} > {inputs[place]}" for place in missing if listed[place].get("cmd")
        ]
        shown = "; ".join(commands[:3]) + (f"; and {len(commands) - 3} more" if len(commands) > 3 else "")
        detail = f": {shown}" if commands else ""
        self._faults.add(
            f"{len(missing)} of {len(inputs)} tests are not there{detail}",
            inputs[missing[0]],
            remedy="Make them with ioi_eval.runs.generating.generate(PACKAGE, DIR), or by its doall.sh",
        )

    # --- solutions ---------------------------------------------------------------------------------------

    def _solutions(self) -> Iterator[Solution]:
        for element in self._root.iterfind("assets/solutions/solution"):
            source = self._source(element, "assets.solutions.solution")
            tag = element.get("tag", "")
            if source is None or tag == _NOT_RUN:
                continue
            if element.find("extra-tags") is not None:
                self._faults.note("its tags for single groups and testsets are passed over", source.path)
            read = solution(
                self._folder / source.path, name=PurePosixPath(source.path).name, expected=_TAGS.get(tag, tag)
            )
            yield read


def _with_points(tests: Sequence[Test], worths: Sequence[float]) -> Iterator[Test]:
    """Yield the tests with the points that `points X` is counted in, where they are their own."""
    most = max(worths, default=0.0)
    for test, worth in zip(tests, worths or [0.0] * len(tests), strict=False):
        yield replace(test, full=worth) if worth not in (0.0, most) else test


def _checker(program: Executable | None, full: float) -> Checker:
    if program is None:
        return Checker()
    kind = CheckerKind.TESTLIB
    return Checker(kind=kind, sources=program.sources, language=program.language, full=full)


def _manager(program: Executable | None, full: float, again: str) -> Manager | None:
    if program is None:
        return None
    kind = CheckerKind.TESTLIB
    return Manager(sources=program.sources, kind=kind, language=program.language, full=full, again=again)


# --- groups: each test's own points, or all or nothing; groups that others depend on ----------------


_COMPLETE, _EACH = _POLICIES = ("complete-group", "each-test")
_WHOLE, _NO_GROUP = "all", "no-group"


_Fault = Callable[[str, str, str], None]  # a field, what is wrong with it, what to do


class _Group(NamedTuple):
    name: str
    complete: bool
    points: float | None  # of the group as a whole, where it says so
    needs: tuple[str, ...]
    tests: Mapping[str, float]  # their own points, by name


def tests_of(testset: Element) -> list[Element]:
    return list(testset.iterfind("tests/test"))


def own_points(testset: Element) -> list[float]:
    """Return each test's points; what is no number is noted where groups are read."""
    words = (test.get("points", "") for test in tests_of(testset))
    return [float(word) if re.fullmatch(r"\d+(\.\d*)?", word) else 0.0 for word in words]


def read_groups(testset: Element, tests: Sequence[Test], fault: _Fault) -> tuple[Subtask, ...]:
    """Return the groups as subtasks; none where nothing has points: then all tests are to be passed."""
    reader = _Groups(fault)
    groups = reader.groups(testset, [test.name for test in tests])
    if not any(_points(group) for group in groups.values()):
        return ()
    return tuple(_subtask(group, list(_needed(group, groups))) for group in groups.values() if group.tests)


class _Groups:
    def __init__(self, fault: _Fault) -> None:
        self._fault = fault

    def _number(self, element: Element, field: str) -> float | None:
        points = element.get("points")
        try:
            number = None if points is None else float(points)
        except ValueError:
            number = math.nan
        if number is None or 0 <= number < math.inf:
            return number
        self._fault(field, f"{points!r} is not a number of points", "Correct it in the file")
        return None

    def groups(self, testset: Element, names: Sequence[str]) -> dict[str, _Group]:
        listed = {element.get("name", ""): element for element in testset.iterfind("groups/group")}
        inside: dict[str, dict[str, float]] = {}
        for element, name in zip(tests_of(testset), names, strict=False):
            group = element.get("group", "") if listed else _WHOLE
            points = self._number(element, "testset.tests.test.points") or 0.0
            inside.setdefault(group or _NO_GROUP, {})[name] = points
        found = {name: self._group(name, listed.get(name), tests) for name, tests in inside.items()}
        self._check(found, listed)
        return found

    def _group(self, name: str, element: Element | None, tests: Mapping[str, float]) -> _Group:
        if element is None:
            return _Group(name, False, None, (), tests)
        policy = element.get("points-policy", _COMPLETE)
        if policy not in _POLICIES:
            field = f"testset.groups.{name}.points-policy"
            self._fault(field, f"{policy!r} is not known", f"Expected {' or '.join(_POLICIES)}")
        needs = tuple(
            dependency.get("group", "") for dependency in element.iterfind("dependencies/dependency")
        )
        points = self._number(element, f"testset.groups.{name}.points")
        return _Group(name, policy == _COMPLETE, points or None, needs, tests)

    def _check(self, groups: Mapping[str, _Group], listed: Mapping[str, Element]) -> None:
        for group in groups.values():
            field = f"testset.groups.{group.name}.dependencies"
            for need in group.needs:
                if need not in groups and need not in listed:
                    self._fault(field, f"there is no group {need!r}", nearest(need, tuple(listed)))
            if group.name in {other.name for other in _needed(group, groups)}:
                self._fault(field, "it depends on itself", "Take one of the dependencies out")


def _needed(group: _Group, groups: Mapping[str, _Group]) -> Iterator[_Group]:
    """Yield the groups that a group depends on, with those that these depend on; each once."""
    seen, waiting = set[str](), list(group.needs)
    while waiting:
        name = waiting.pop(0)
        if name not in seen and name in groups:
            seen.add(name)
            waiting += groups[name].needs
            yield groups[name]


def _points(group: _Group) -> float:
    return group.points if group.complete and group.points is not None else math.fsum(group.tests.values())


def _subtask(group: _Group, needed: Sequence[_Group]) -> Subtask:
    before = [name for other in needed for name in other.tests]
    names = tuple(dict.fromkeys([*before, *group.tests]))
    plain = Subtask(name=group.name, points=_points(group), tests=names)
    if group.complete:
        return plain
    alike = len(set(group.tests.values())) == 1
    tree = None if alike and not before else each_behind(group.tests, before)
    return Subtask(name=plain.name, points=plain.points, tests=names, score_type=ScoreType.SUM, grading=tree)


# --- how tests are made: generators' commands, main solution, validators ----------------------------


class _Making:
    def __init__(self, reader: PolygonReader, root: Element) -> None:
        self._reader, self._root, self._fault = reader, root, reader.fault

    def read(self) -> Making | None:
        testset = self._reader.testset(self._root.find("judging"))
        if testset is None:
            self._fault("judging.testset", "missing", "Export the package again")
            return None
        talks = self._root.find("assets/interactor")
        interactor = None if talks is None else self._reader.program_of(talks, "assets.interactor")
        if self._root.find("judging[@run-count='2']") is not None:
            words = "answers of solutions that run twice are not generated"
            self._fault("judging.run-count", words, "Export it with tests (Full package)")
        generators = dict(self._generators())
        main = self._root.find("assets/solutions/solution[@tag='main']")
        solution = None if main is None else self._solution(main)
        if main is None:
            self._fault("assets.solutions", "no solution is tagged main", "Tag the one that writes answers")
        checks = self._root.iterfind("assets/validators/validator")
        validators = [self._reader.program_of(check, "assets.validators.validator") for check in checks]
        tests = tuple(self._tests(testset, generators))
        if solution is None:
            return None
        checked = tuple(validator for validator in validators if validator)
        written = "output.txt" if interactor else ""
        return Making(tests, generators, solution, checked, written=written, interactor=interactor)

    def _solution(self, element: Element) -> Executable | None:
        found = self._reader.program_of(element, "assets.solutions.solution")
        if found is None:
            return None
        first, *_ = found.sources
        beside = (
            NamedBlob(name=str(PurePosixPath(first.name).with_name(name)), content=file.content)
            for file in self._reader.included()
            for language, _, name in [file.name.partition("/")]
            if language == found.language
        )
        return Executable((first, *beside), found.language, linked=True)

    def _generators(self) -> Iterator[tuple[str, Executable]]:
        """Yield the generators that tests use, by their files' names."""
        used = {
            words[0] for test in self._root.iterfind("judging/testset/tests/test") if (words := _words(test))
        }
        for element in self._root.iterfind("files/executables/executable"):
            source = element.find("source")
            name = PurePosixPath(source.get("path", "") if source is not None else "").stem
            if name in used and (found := self._reader.program_of(element, "files.executables.executable")):
                yield name, found

    def _tests(self, testset: Element, generators: dict[str, Executable]) -> Iterator[GeneratedTest]:
        for place, (element, (given, answer)) in enumerate(
            zip(tests_of(testset), self._reader.places(testset), strict=False), 1
        ):
            field, words = f"testset.tests.test.{place}", _words(element)
            if element.get("from-file"):
                self._fault(field, "a generator of several tests", "Export it with tests (Full package)")
            elif words and words[0] not in generators:
                close = nearest(words[0], tuple(generators))
                self._fault(field, f"there is no generator {words[0]!r}", close)
            elif not words and not self._reader.lies(given):
                self._fault(field, f"{given} is not there, and nothing makes it", "Export the package again")
            else:
                yield GeneratedTest(given, answer, () if self._reader.lies(given) else words)


def _words(test: Element) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(test.get("cmd", "")))
    except ValueError:  # an open quotation mark: no generator is called so
        return (test.get("cmd", ""),)
