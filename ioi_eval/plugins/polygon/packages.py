"""Packages of Polygon (`problem.xml`), read after their tests were generated.

Checkers and interactors are written with testlib, whose header the package brings. A package as exported
without its tests is refused with the commands of its own scripts that make them.
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

from ioi_eval.model.fields import Faults, nearest
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
from ioi_eval.problems.keys import MIB
from ioi_eval.problems.names import is_plain, leads_inside
from ioi_eval.problems.package import (
    Executable,
    GeneratedTest,
    Making,
    PackageFormat,
    as_on_linux,
    language_of,
    named,
    named_by_place,
    solution,
)
from ioi_eval.rules.grading import each_behind

_HEADER = "problem.xml"
_MAIN = "tests"  # the testset that counts; others are pretests and the like
_INCLUDED = frozenset({".h", ".hh", ".hpp", ".inc"})
_STANDARD = ("", "stdin", "stdout")
_LEAST_TIME = 50  # milliseconds; Polygon gives 250 and more, and what is below was meant in seconds
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
_PYTHON_2 = ("python.2", "python.pypy2")
_CPP_STANDARD = re.compile(r"(?<=\+\+)[0-9][0-9a-z]")  # of cpp.g++14 and cpp.gcc13-64-winlibs-g++20
_FOR_TYPES = MappingProxyType({"cpp": "c++", "c": "c", "java": "java", "python": "python"})
_COMPLETE, _EACH = _POLICIES = ("complete-group", "each-test")
_WHOLE, _NO_GROUP = "all", "no-group"


class Polygon(PackageFormat):
    name = "Polygon"
    header = _HEADER
    rank = 30

    def package_id(self, folder: Path, where: str) -> str | None:
        root = _parsed(folder, Faults(""))
        return None if root is None else _id(root, folder, where)

    def read(self, folder: Path, where: str, faults: Faults) -> Problem | None:
        root = _parsed(folder, faults)
        return None if root is None else _Reader(folder, root, faults).problem(where)

    def making(self, folder: Path, faults: Faults) -> Making | None:
        root = _parsed(folder, faults)
        return None if root is None else _Reader(folder, root, faults).making()


def _parsed(folder: Path, faults: Faults) -> Element | None:
    text = (folder / _HEADER).read_bytes()
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:  # a few lines of them can stand for any amount of text
        faults.add("entities are not taken", _HEADER, remedy="Remove its DOCTYPE")
        return None
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        words, row = f"broken XML: {error.msg}", error.position[0]
        faults.add(words, _HEADER, row=row, remedy="Correct it in the file")
        return None
    if root.tag == "problem":
        return root
    faults.add(f"<{root.tag}> is no problem", _HEADER, remedy="Expected <problem> as Polygon exports it")
    return None


def _id(root: Element, folder: Path, where: str) -> str:
    return root.get("short-name") or named_by_place(folder, where)


def _language(kind: str, path: str) -> str:
    """Return a source's language with its standard, as c++14; Polygon's word where it is none of ours."""
    kind, own = kind.lower(), language_of(path)
    if kind in _PYTHON_2:
        return kind
    if own == "python" and "pypy" in kind:
        return "pypy"
    standard = _CPP_STANDARD.search(kind) if own == "c++" else None
    return f"{own}{standard[0]}" if standard else own or kind or "a language that nobody says"


class _Group(NamedTuple):
    """Tests together: each for its own points, or all of them or nothing."""

    name: str
    complete: bool
    points: float | None  # of the group as a whole, where it says so
    needs: tuple[str, ...]
    tests: Mapping[str, float]  # their own points, by name

    @property
    def worth(self) -> float:
        own = self.points if self.complete else None
        return math.fsum(self.tests.values()) if own is None else own

    def subtask(self, needed: Iterable[_Group]) -> Subtask:
        before = [name for other in needed for name in other.tests]
        names = tuple(dict.fromkeys([*before, *self.tests]))
        alike = len(set(self.tests.values())) == 1
        if self.complete:  # a test that earns a part of its points is not passed
            tree: Grading | None = Grading(parts=names, whole_only=True, rejected_earns=False)
        else:
            tree = None if alike and not before else each_behind(self.tests, before, whole_only=True)
        return Subtask(name=self.name, points=self.worth, tests=names, score_type=ScoreType.SUM, grading=tree)


def _needed(group: _Group, groups: Mapping[str, _Group]) -> Iterator[_Group]:
    """Yield the groups that a group depends on, with those that these depend on; each once."""
    seen, waiting = set[str](), list(group.needs)
    while waiting:
        name = waiting.pop(0)
        if name not in seen and name in groups:
            seen.add(name)
            waiting += groups[name].needs
            yield groups[name]


class _Reader:
    """A reader of one package's parts, each noting its own faults."""

    def __init__(self, folder: Path, root: Element, faults: Faults) -> None:
        self._folder, self._root, self._faults = folder, root, faults

    def problem(self, where: str) -> Problem | None:
        if (found := self._judging()) is None:
            return None
        judging, testset = found
        interactor = self._program("interactor")
        again = self._second_run(judging)
        if self._root.find("assets/scorer") is not None:
            words = "a program of the package makes points of the verdicts, which is not done here"
            self._fault("assets.scorer", words, "Take it out, and give tests or groups their points")
        checker = self._program("checker")
        if checker is None and (interactor is None or again) and not self._faults.errors:
            self._fault("assets.checker", "missing", "Choose a checker in Polygon, and export again")
        tests = tuple(self._tests(testset))
        groups = self._groups(testset, tests)
        if not any(group.worth for group in groups.values()):
            groups = {}  # nothing has points: all tests are to be passed
        worths = {name: points for group in groups.values() for name, points in group.tests.items()}
        # The points that `points X` of a program is counted in, but for tests that have their own.
        most = max(worths.values(), default=0.0) or 1.0
        own = {name: points for name, points in worths.items() if points not in (0.0, most)}
        if judging.get("treat-points-from-checker-as-percent") == "true":
            most, own = 100.0, {}
        code = _id(self._root, self._folder, where)
        if not is_plain(code):
            self._fault("short-name", f"{code!r} is not an id", "Use letters, digits, '_', '-' and '.'")
        names = {name.get("language"): name.get("value", "") for name in self._root.iterfind("names/name")}
        kind, passes = CheckerKind.TESTLIB, 2 if again else 1
        return Problem(
            id=code,
            name=names.get("english") or next(iter(names.values()), "") or code,
            source=where,
            task_type=TaskType.INTERACTIVE if interactor else TaskType.BATCH,
            options=TaskOptions(
                input_file=self._file(judging, "input-file"),
                output_file=self._file(judging, "output-file"),
                online_judge=True,
            ),
            limits=Limits.contest(
                self._number(testset, "time-limit", least=_LEAST_TIME) / 1000,
                self._number(testset, "memory-limit", least=MIB),
            ),
            included=tuple(self._included()),
            checker=checker.as_checker(kind, full=most, passes=passes) if checker else Checker(passes=passes),
            manager=interactor.as_manager(kind, full=most, again=again) if interactor else None,
            tests=tuple(replace(test, full=own.get(test.name)) for test in tests),
            subtasks=tuple(group.subtask(_needed(group, groups)) for group in groups.values()),
            solutions=tuple(self._solutions()),
            tags=tuple(tag.get("value", "") for tag in self._root.iterfind("tags/tag")),
        )

    def _fault(self, field: str, problem: str, remedy: str) -> None:
        self._faults.add(problem, _HEADER, field=field, remedy=remedy)

    # --- problem.xml -------------------------------------------------------------------------------------

    def _judging(self) -> tuple[Element, Element] | None:
        """Return what is said of judging, and the testset that counts; None after a fault."""
        judging = self._root.find("judging")
        found = [] if judging is None else judging.findall("testset")
        if judging is None or not found:
            self._fault("judging.testset", "missing", "Export the package again")
            return None
        main = next((element for element in found if element.get("name") == _MAIN), found[0])
        for other in found:
            if other is not main:
                self._faults.note(f"left out: the testset {other.get('name')!r}", _HEADER)
        return judging, main

    def _second_run(self, judging: Element) -> str:
        """Return how solutions run again, alone or together with the interactor; empty: they do not."""
        runs, interactor = judging.get("run-count", "1"), self._root.find("assets/interactor")
        if self._root.find("tags/tag[@value='run-twice']") is not None and "run-count" not in judging.attrib:
            self._fault("judging.run-count", "missing, and it is tagged run-twice", "Say how often it runs")
        if runs == "1":
            return ""
        if runs != "2" or interactor is None:
            words = (
                f"solutions run {runs} times" if runs != "2" else "solutions run twice without an interactor"
            )
            remedy = "Expected 1, or 2 with an interactor, which alone says what the second run reads"
            self._fault("judging.run-count", words, remedy)
            return ""
        return "alone" if interactor.find("runs") is None else "together"

    def _number(self, testset: Element, field: str, *, least: int) -> int:
        text = (testset.findtext(field) or "").strip()
        unit = "milliseconds" if field == "time-limit" else "bytes"
        if text.isdecimal() and 0 < int(text) < 1 << 60:
            if int(text) < least:
                words = f"{text} {unit} is too little for any program"
                self._fault(f"testset.{field}", words, f"It counts {unit}")
            return int(text)
        self._fault(f"testset.{field}", f"{text[:40]!r} is not a number of {unit}", "Correct it in the file")
        return 1

    def _file(self, judging: Element, field: str) -> str:
        name = judging.get(field, "")
        if name in _STANDARD:
            return ""
        if not is_plain(name):
            self._fault(f"judging.{field}", f"{name!r} is not a plain file name", "Leave it empty")
        return name

    # --- programs ----------------------------------------------------------------------------------------

    def _program(self, kind: str) -> Executable | None:
        """Return the checker or the interactor; None where there is none."""
        element = self._root.find(f"assets/{kind}")
        if element is None:
            return None
        spoken = element.get("type", "testlib")
        if kind == "checker" and spoken != "testlib":
            self._fault("assets.checker.type", f"{spoken!r} is not judged", "Expected testlib")
        return self._program_of(element, f"assets.{kind}")

    def _program_of(self, element: Element, field: str) -> Executable | None:
        """Return any program, with the headers that lie in the package."""
        if (source := self._source(element, field)) is None:
            return None
        path, language = source
        language = _CPP_STANDARD.sub("", language)  # ours are built as others are
        if language not in ("c++", "c", "python"):
            self._fault(f"{field}.source", f"it is in {language}", "Expected C++ or Python")
        resources = (file.get("path", "") for file in self._root.iterfind("files/resources/file"))
        headers = (name for name in resources if PurePosixPath(name).suffix in _INCLUDED and self._lies(name))
        return Executable(named(self._folder, [path, *(name for name in headers if name != path)]), language)

    def _included(self) -> Iterator[NamedBlob]:
        """Yield the files that solutions are compiled with, by the languages that they are for."""
        for file in self._root.iterfind("files/resources/file"):
            path = file.get("path", "")
            used = [asset.get("name", "").lower() for asset in file.iterfind("assets/asset")]
            if "solution" not in used:
                continue
            own = language_of(path)  # headers are C++'s, where nothing else is said
            usual = next((word for word, name in _FOR_TYPES.items() if name == own), "cpp")
            types = file.get("for-types", f"{usual}.*")
            languages = [_FOR_TYPES.get(word.strip().partition(".")[0]) for word in re.split("[,;]", types)]
            if not self._lies(path):
                self._fault("files.resources", f"there is no file {path!r} in the package", "Export it again")
            elif None in languages or (file.get("main") == "true" and "python" in languages):
                words = f"solutions of {types!r} are to be compiled with {path}"
                self._fault("files.resources.for-types", words, "Expected cpp.*, c.*, java.*, python.*")
            else:
                (content,) = named(self._folder, [path])
                for language in languages:
                    name = f"{language}/{PurePosixPath(path).name}"
                    yield NamedBlob(name=name, content=content.content)

    def _source(self, element: Element, field: str) -> tuple[str, str] | None:
        """Return a source's path and its language."""
        source = element.find("source")
        path = source.get("path", "") if source is not None else ""
        if not self._lies(path):
            self._fault(f"{field}.source", f"there is no file {path!r} in the package", "Export it again")
            return None
        return path, _language(source.get("type", "") if source is not None else "", path)

    def _lies(self, path: str) -> bool:
        return leads_inside(path) and (self._folder / path).is_file()

    # --- tests -------------------------------------------------------------------------------------------

    def _tests(self, testset: Element) -> Iterator[Test]:
        listed = testset.findall("tests/test")
        if not listed:
            self._fault("testset.tests", "no tests", "Export the package again")
        elif (count := testset.findtext("test-count")) not in (None, str(len(listed))):
            words = f"{count!r} is not the number of tests, which is {len(listed)}"
            self._fault("testset.test-count", words, "Export the package again")
        places = self._places(testset)
        missing = [
            (test, given) for test, (given, _) in zip(listed, places, strict=False) if not self._lies(given)
        ]
        unanswered = [answer for given, answer in places if self._lies(given) and not self._lies(answer)]
        if missing:  # the commands of its doall.sh make them
            commands = [f"{test.get('cmd')} > {given}" for test, given in missing if test.get("cmd")]
            shown = "; ".join(commands[:3]) + (f"; and {len(commands) - 3} more" if len(commands) > 3 else "")
            self._faults.add(
                f"{len(missing)} of {len(places)} tests are not there{shown and f': {shown}'}",
                missing[0][1],
                remedy="Make them with ioi_eval.runs.generating.generate(PACKAGE, DIR), or by its doall.sh",
            )
        elif unanswered:
            remedy = "The main solution writes it: run doall.sh, or export with tests"
            self._faults.add(f"{len(unanswered)} answers are not there", unanswered[0], remedy=remedy)
        else:
            for pair in places:
                given, answer = (as_on_linux(self._folder / place) for place in pair)
                yield Test(name=PurePosixPath(pair[0]).name, input=given, answer=answer)

    def _places(self, testset: Element) -> list[tuple[str, str]]:
        """Return the places of each test's input and answer; none where the patterns are missing."""
        patterns = [self._pattern(testset, field) for field in ("input-path-pattern", "answer-path-pattern")]
        if None in patterns:
            return []
        numbers = range(1, len(testset.findall("tests/test")) + 1)
        first, second = (str(pattern) for pattern in patterns)
        return [(first % number, second % number) for number in numbers]

    def _pattern(self, testset: Element, field: str) -> str | None:
        text = (testset.findtext(field) or "").strip()
        if re.fullmatch(r"[^%]*%(0\d)?d[^%]*", text) and leads_inside(text):
            return text
        self._fault(f"testset.{field}", f"{text[:40]!r} is not a pattern", "Expected one such as tests/%02d")
        return None

    # --- groups, which others may depend on --------------------------------------------------------------

    def _groups(self, testset: Element, tests: Sequence[Test]) -> dict[str, _Group]:
        all_listed = testset.findall("groups/group")
        listed = {element.get("name", ""): element for element in all_listed}
        if len(listed) < len(all_listed):
            self._fault("testset.groups", "two groups have one name", "Rename one of them")
        inside: dict[str, dict[str, float]] = {}
        for element, test in zip(testset.iterfind("tests/test"), tests, strict=False):
            name = element.get("group", "") if listed else _WHOLE
            points = self._points(element, "testset.tests.test.points") or 0.0
            inside.setdefault(name or _NO_GROUP, {})[test.name] = points
        groups = {name: self._group(name, listed.get(name), own) for name, own in inside.items()}
        for group in groups.values():
            field = f"testset.groups.{group.name}.dependencies"
            for need in group.needs:
                if need not in groups and need not in listed:
                    self._fault(field, f"there is no group {need!r}", nearest(need, tuple(listed)))
            if group in _needed(group, groups):
                self._fault(field, "it depends on itself", "Take one of the dependencies out")
        named = {element.get("group", "") for element in testset.iterfind("tests/test")}
        for name in sorted(named - listed.keys() - {""}) if listed else ():
            words = f"a test is in {name!r}, which is none of the groups"
            self._fault("testset.tests.test.group", words, nearest(name, tuple(listed)))
        for name in sorted(listed.keys() - named):
            field = f"testset.groups.{name}.points"
            if self._points(listed[name], field):
                self._fault(field, "points for a group that has no tests", "Give it tests, or no points")
        return groups

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
        points = self._points(element, f"testset.groups.{name}.points")
        if policy == _EACH and points and not any(tests.values()):
            words = "each test has its own points, and none has any"
            self._fault(f"testset.groups.{name}.points", words, "Give the tests points, or complete-group")
        return _Group(name, policy == _COMPLETE, points or None, needs, tests)

    def _points(self, element: Element, field: str) -> float | None:
        points = element.get("points")
        try:
            number = None if points is None else float(points)
        except ValueError:
            number = math.nan
        if number is None or 0 <= number < math.inf:
            return number
        self._fault(field, f"{points!r} is not a number of points", "Correct it in the file")
        return None

    # --- solutions ---------------------------------------------------------------------------------------

    def _solutions(self) -> Iterator[Solution]:
        for element in self._root.iterfind("assets/solutions/solution"):
            source, tag = self._source(element, "assets.solutions.solution"), element.get("tag", "")
            if source is None or tag == _NOT_RUN:
                continue
            path, language = source
            if language in _PYTHON_2 or language_of(path) is None:
                self._faults.note(f"left out: {language} is not judged", path)
                continue
            if element.find("extra-tags") is not None:
                self._faults.note("its tags for single groups and testsets are passed over", path)
            expected = _TAGS.get(tag, tag)
            read = solution(self._folder / path, name=PurePosixPath(path).name, expected=expected)
            yield replace(read, language=language)

    # --- how tests are made: generators' commands, main solution, validators -----------------------------

    def making(self) -> Making | None:
        if (found := self._judging()) is None:
            return None
        judging, testset = found
        interactor = self._program("interactor")
        if judging.get("run-count") == "2":
            words = "answers of solutions that run twice are not generated"
            self._fault("judging.run-count", words, "Export it with tests (Full package)")
        generators = dict(self._generators())
        main = self._root.find("assets/solutions/solution[@tag='main']")
        solution = None if main is None else self._main_solution(main)
        if main is None:
            self._fault("assets.solutions", "no solution is tagged main", "Tag the one that writes answers")
        checks = self._root.iterfind("assets/validators/validator")
        validators = [self._program_of(check, "assets.validators.validator") for check in checks]
        tests = tuple(self._made_tests(testset, generators))
        if solution is None:
            return None
        checked = tuple(validator for validator in validators if validator)
        read, written = (self._file(judging, f"{side}-file") for side in ("input", "output"))
        if interactor:  # the solution talks to it, and has no files
            read, written = "", "output.txt"
        return Making(tests, generators, solution, checked, read, written, interactor)

    def _main_solution(self, element: Element) -> Executable | None:
        found = self._program_of(element, "assets.solutions.solution")
        if found is None:
            return None
        first, *_ = found.sources
        beside = (
            NamedBlob(name=str(PurePosixPath(first.name).with_name(name)), content=file.content)
            for file in self._included()
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
            if name in used and (found := self._program_of(element, "files.executables.executable")):
                yield name, found

    def _made_tests(self, testset: Element, generators: dict[str, Executable]) -> Iterator[GeneratedTest]:
        pairs = zip(testset.iterfind("tests/test"), self._places(testset), strict=False)
        for place, (element, (given, answer)) in enumerate(pairs, 1):
            field, words = f"testset.tests.test.{place}", _words(element)
            if element.get("from-file"):
                self._fault(field, "a generator of several tests", "Export it with tests (Full package)")
            elif words and words[0] not in generators:
                close = nearest(words[0], tuple(generators))
                self._fault(field, f"there is no generator {words[0]!r}", close)
            elif not words and not self._lies(given):
                self._fault(field, f"{given} is not there, and nothing makes it", "Export the package again")
            else:
                told = ("--testset", testset.get("name", ""), "--group", element.get("group", ""))
                yield GeneratedTest(given, answer, () if self._lies(given) else words, subtask=told)


def _words(test: Element) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(test.get("cmd", "")))
    except ValueError:  # an open quotation mark: no generator is called so
        return (test.get("cmd", ""),)


FORMAT = Polygon()
