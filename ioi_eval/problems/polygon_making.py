"""How the tests of a Polygon package are made: generators' commands, main solution, validators."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from xml.etree.ElementTree import Element

from ioi_eval.model.values import NamedBlob
from ioi_eval.problems.fields import Faults, nearest
from ioi_eval.problems.polygon import HEADER, Reader, parsed
from ioi_eval.problems.polygon_groups import tests_of


class Executable(NamedTuple):
    sources: tuple[NamedBlob, ...]  # the first is the one that is compiled
    language: str
    linked: bool = False  # with all sources that lie beside the first one


class Made(NamedTuple):
    """One test: files by their places in the package. Without a command the input lies there already."""

    input: str
    answer: str
    command: tuple[str, ...]  # the generator's name, and its arguments


class Making(NamedTuple):
    tests: tuple[Made, ...]
    generators: dict[str, Executable]
    solution: Executable
    validators: tuple[Executable, ...]


def read_making(folder: Path, where: str) -> Making:
    """Raise the first InputError."""
    faults = Faults(where)
    root = parsed(folder, faults)
    making = None if root is None else _Making(Reader(folder, where, root, faults), root, faults).read()
    if faults.errors or making is None:
        raise faults.errors[0]
    return making


class _Making:
    def __init__(self, reader: Reader, root: Element, faults: Faults) -> None:
        self._reader, self._root, self._faults = reader, root, faults

    def read(self) -> Making | None:
        testset = self._reader.testset(self._root.find("judging"))
        if testset is None:
            self._fault("judging.testset", "missing", "Export the package again")
            return None
        if self._root.find("assets/interactor") is not None:
            words = "answers of interactive problems are not generated"
            self._fault("assets.interactor", words, "Export it with tests (Full package)")
        generators = dict(self._generators())
        main = self._root.find("assets/solutions/solution[@tag='main']")
        solution = None if main is None else self._solution(main)
        if main is None:
            self._fault("assets.solutions", "no solution is tagged main", "Tag the one that writes answers")
        checks = self._root.iterfind("assets/validators/validator")
        validators = [self._executable(one, "assets.validators.validator") for one in checks]
        tests = tuple(self._tests(testset, generators))
        if solution is None:
            return None
        return Making(tests, generators, solution, tuple(one for one in validators if one))

    def _fault(self, field: str, words: str, remedy: str) -> None:
        self._faults.add(words, HEADER, field=field, remedy=remedy)

    def _executable(self, element: Element, field: str) -> Executable | None:
        program = self._reader.program_of(element, field)
        return None if program is None else Executable(*program)

    def _solution(self, element: Element) -> Executable | None:
        found = self._executable(element, "assets.solutions.solution")
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
        """Whatever is used is known by its file's name; checkers and the like are among them."""
        used = {
            words[0] for one in self._root.iterfind("judging/testset/tests/test") if (words := _words(one))
        }
        for element in self._root.iterfind("files/executables/executable"):
            source = element.find("source")
            name = PurePosixPath(source.get("path", "") if source is not None else "").stem
            if name in used and (found := self._executable(element, "files.executables.executable")):
                yield name, found

    def _tests(self, testset: Element, generators: dict[str, Executable]) -> Iterator[Made]:
        for place, (element, (given, answer)) in enumerate(
            zip(tests_of(testset), self._reader.places(testset), strict=False), 1
        ):
            field, words = f"testset.tests.test.{place}", _words(element)
            if element.get("from-file"):
                self._fault(field, "a generator of several tests", "Export it with tests (Full package)")
            elif words and words[0] not in generators:
                known = nearest(words[0], tuple(generators))
                self._fault(field, f"there is no generator {words[0]!r}", known)
            elif not words and not self._reader.lies(given):
                self._fault(field, f"{given} is not there, and nothing makes it", "Export the package again")
            else:
                yield Made(given, answer, () if self._reader.lies(given) else words)


def _words(test: Element) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(test.get("cmd", "")))
    except ValueError:  # an open quotation mark: no generator is called so
        return (test.get("cmd", ""),)
