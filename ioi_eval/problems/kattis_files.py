"""What lies in a package in the ICPC's format: its validator, its tests in groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from ioi_eval.model.languages import of_suffix
from ioi_eval.model.values import NamedBlob, Test
from ioi_eval.problems.fields import Faults, Fields, read_mapping
from ioi_eval.problems.package import language_of, named, test_of, visible

NEW_VALIDATOR = "output_validator"
_VALIDATORS, _GRADERS = "output_validators", "graders"
_MAINS = ("validate", "validator", "output_validator", "interactor", "grade", "grader", "main")
_SCRIPTS = frozenset({"build", "run"})


class Program(NamedTuple):
    sources: tuple[NamedBlob, ...]  # the first is the one that is compiled
    language: str


def read_validator(folder: Path, faults: Faults, *, new: bool) -> Program | None:
    """The one program in output_validators/; in younger versions the folder is the program."""
    if new:
        place = folder / NEW_VALIDATOR
        files = [file for file in visible(place.rglob("*")) if file.is_file()]
        return _program(folder, place, files, faults)
    return _only_program(folder, _VALIDATORS, "A custom validation needs exactly one validator", faults)


def read_grader(folder: Path, faults: Faults) -> Program | None:
    return _only_program(folder, _GRADERS, "A custom grading needs exactly one grader", faults)


def _only_program(folder: Path, place: str, remedy: str, faults: Faults) -> Program | None:
    entries = visible((folder / place).glob("*"))
    programs = [path for path in entries if path.is_dir() or of_suffix(path.suffix)]
    if len(programs) != 1:
        found = "no program" if not programs else f"{len(programs)} programs"
        faults.add(f"{found} in it", place, remedy=remedy)
        return None
    path = programs[0]
    files = [file for file in visible(path.rglob("*")) if file.is_file()] if path.is_dir() else entries
    return _program(folder, path, [file for file in files if file.is_file()], faults)


def _program(folder: Path, program: Path, files: Sequence[Path], faults: Faults) -> Program | None:
    place = program.relative_to(folder).as_posix()
    if program.is_dir() and any(file.name in _SCRIPTS and file.parent == program for file in files):
        faults.add("it has its own build or run script", place, remedy="Only sources can be built")
        return None
    main = program if program.is_file() else _main_source(program, files)
    if main is None:
        name = "grade" if place.startswith(_GRADERS) else "validate"
        faults.add("which of its sources has the main function is not clear", place, remedy=f"Call it {name}")
        return None
    ordered = [main, *(file for file in files if file != main)]
    names = [file.relative_to(folder).as_posix() for file in ordered]
    return Program(sources=named(folder, names), language=language_of(main.name) or "c++")


def _main_source(program: Path, files: Sequence[Path]) -> Path | None:
    """The only source of a folder, or the one that is called as a main source is."""
    sources = [file for file in files if of_suffix(file.suffix)]
    if len(sources) == 1:
        return sources[0]
    by_stem = {file.stem: file for file in reversed(sources)}
    return next((by_stem[stem] for stem in (*_MAINS, program.name) if stem in by_stem), None)


_SETTINGS, _NEW_SETTINGS = "testdata.yaml", "test_group.yaml"
_FLAGS, _ARGUMENTS = "output_validator_flags", "output_validator_args"  # the second in younger versions
SAMPLE, SECRET = "sample", "secret"
_OF_PROBLEM = ("accept_score", "reject_score", "range", "on_reject")  # once stood in problem.yaml


class Group(NamedTuple):
    """A folder of tests. What its file does not say is as in the folder above."""

    name: str  # below data/: secret/group1; empty: data/ itself
    fields: Fields
    own: frozenset[str]  # what its own file says
    tests: tuple[Test, ...]
    inner: tuple[Group, ...]  # those with tests somewhere in them

    @property
    def parts(self) -> list[Test | Group]:
        """Tests and groups in the order of judging: by their names."""
        return sorted((*self.tests, *self.inner), key=lambda part: part.name.rpartition("/")[2])

    @property
    def flags_name(self) -> str:
        """The key that says which arguments the validator gets."""
        return _ARGUMENTS if self.fields.has(_ARGUMENTS) else _FLAGS

    @property
    def grader_flags(self) -> tuple[str, ...]:
        return _words(self.fields, "grader_flags")


def read_data(folder: Path, grading: Fields, *, needs_answers: bool, faults: Faults, new: bool) -> Group:
    """data/ with the groups `sample`, if there is one, and `secret`. Names of tests are their paths in it."""
    reader = _Reader(folder, needs_answers, faults, new)
    usual = {name: grading.values[name] for name in _OF_PROBLEM if grading.values.get(name) is not None}
    own = reader.own("data")
    values = {**usual, **own}
    groups = [reader.group(name, values) for name in (SAMPLE, SECRET) if (folder / "data" / name).is_dir()]
    inner = tuple(group for group in groups if _has_tests(group))
    if not inner:
        faults.add("no tests", "data/secret", remedy="Expected files NAME.in and NAME.ans in this folder")
    fields = Fields(values, f"data/{reader.settings}", faults)
    return Group(name="", fields=fields, own=frozenset(own), tests=(), inner=inner)


def groups_of(group: Group) -> Iterator[Group]:
    """The group and all groups in it, in the order of judging."""
    yield group
    for inner in group.inner:
        yield from groups_of(inner)


class _Reader:
    def __init__(self, folder: Path, needs_answers: bool, faults: Faults, new: bool) -> None:
        self._folder, self._needs_answers, self._faults, self._new = folder, needs_answers, faults, new
        self.settings = _NEW_SETTINGS if new else _SETTINGS

    def own(self, place: str) -> dict[str, Any]:
        file = f"{place}/{self.settings}"
        return (
            (read_mapping(self._folder, file, self._faults) or {}) if (self._folder / file).exists() else {}
        )

    def group(self, name: str, above: Mapping[str, Any]) -> Group:
        place = f"data/{name}"
        own = self.own(place)
        values = {**above, **own}
        paths = visible((self._folder / place).iterdir())
        if self._new:
            self._refuse_what_is_not_given(place, own, paths)
        inner = [self.group(f"{name}/{path.name}", values) for path in paths if path.is_dir()]
        fields = Fields(values, f"{place}/{self.settings}", self._faults)
        return Group(
            name=name,
            fields=fields,
            own=frozenset(own),
            tests=tuple(self._tests(name, paths, fields)),
            inner=tuple(group for group in inner if _has_tests(group)),
        )

    def _refuse_what_is_not_given(self, place: str, own: Mapping[str, Any], paths: list[Path]) -> None:
        """What younger versions have for single tests and for submissions."""
        if own.get("args"):
            self._faults.add("submissions get no arguments here", f"{place}/{self.settings}", field="args")
        for path in paths:
            file = f"{place}/{path.name}"
            if path.suffix == ".files" and path.is_dir():
                self._faults.add("submissions get no files here", file, remedy="Only standard input is given")
            if self._is_of_test(path) and (read_mapping(self._folder, file, self._faults) or {}).get("args"):
                self._faults.add("submissions get no arguments here", file, field="args")

    def _is_of_test(self, path: Path) -> bool:
        """Whether it says something of a single test."""
        own = path.suffix == ".yaml" and path.name != self.settings
        return self._new and own and path.with_suffix(".in").is_file() and path.is_file()

    def _arguments(self, group: Fields, test: Path) -> tuple[str, ...]:
        """The validator's: of the test's own file, or its group's."""
        fields, file = group, test.with_suffix(".yaml")
        if self._is_of_test(file):
            name = file.relative_to(self._folder).as_posix()
            own = Fields(read_mapping(self._folder, name, Faults("")) or {}, name, self._faults)
            fields = own if own.has(_ARGUMENTS) else group
        return fields.texts(_ARGUMENTS) if fields.has(_ARGUMENTS) else _words(fields, _FLAGS)

    def _tests(self, group: str, paths: list[Path], fields: Fields) -> Iterator[Test]:
        inputs = {path.stem: path for path in paths if path.suffix == ".in" and path.is_file()}
        answers = {path.stem: path for path in paths if path.suffix == ".ans" and path.is_file()}
        for stem in sorted(answers.keys() - inputs.keys()):
            self._faults.add("missing file", f"data/{group}/{stem}.in", remedy=f"Add it or remove {stem}.ans")
        for stem, path in sorted(inputs.items()):
            name = f"{group}/{stem}"
            if stem not in answers and self._needs_answers:
                self._faults.add("missing file", f"data/{name}.ans", remedy="Outputs are compared with it")
            if not name.isprintable():
                self._faults.add("a name that cannot be printed", f"data/{name!r}", remedy="Rename its files")
            read = test_of(name, path, answers.get(stem))
            yield replace(read, arguments=self._arguments(fields, path))


def _has_tests(group: Group) -> bool:
    return any(inner.tests for inner in groups_of(group))


def _words(fields: Fields, name: str) -> tuple[str, ...]:
    """Flags: a text, or an object with `flags` and the name of the validator that they are for."""
    if isinstance(fields.values.get(name), dict):
        return tuple(fields.inner(name).text("flags", "").split())
    return tuple(fields.text(name, "").split()) if fields.values.get(name) is not None else ()
