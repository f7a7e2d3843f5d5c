"""The tests of a package in the ICPC's format: a tree of groups, each with the settings that hold for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ioi_eval.models import Test
from ioi_eval.problems.fields import Faults, Fields
from ioi_eval.problems.package import test_of, visible
from ioi_eval.problems.yaml_files import read_yaml

SETTINGS = "testdata.yaml"
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
    def validator_flags(self) -> tuple[str, ...]:
        return _words(self.fields, "output_validator_flags")

    @property
    def grader_flags(self) -> tuple[str, ...]:
        return _words(self.fields, "grader_flags")


def read_data(folder: Path, grading: Fields, *, needs_answers: bool, faults: Faults) -> Group:
    """data/ with the groups `sample`, if there is one, and `secret`. Names of tests are their paths in it."""
    reader = _Reader(folder, needs_answers, faults)
    usual = {name: grading.values[name] for name in _OF_PROBLEM if grading.values.get(name) is not None}
    own = reader.own("data")
    values = {**usual, **own}
    groups = [reader.group(name, values) for name in (SAMPLE, SECRET) if (folder / "data" / name).is_dir()]
    inner = tuple(group for group in groups if _has_tests(group))
    if not inner:
        faults.add("no tests", "data/secret", remedy="Expected files NAME.in and NAME.ans in this folder")
    fields = Fields(values, f"data/{SETTINGS}", faults)
    return Group(name="", fields=fields, own=frozenset(own), tests=(), inner=inner)


def groups_of(group: Group) -> Iterator[Group]:
    """The group and all groups in it, in the order of judging."""
    yield group
    for inner in group.inner:
        yield from groups_of(inner)


class _Reader:
    def __init__(self, folder: Path, needs_answers: bool, faults: Faults) -> None:
        self._folder, self._needs_answers, self._faults = folder, needs_answers, faults

    def own(self, place: str) -> dict[str, Any]:
        file = f"{place}/{SETTINGS}"
        return (read_yaml(self._folder, file, self._faults) or {}) if (self._folder / file).exists() else {}

    def group(self, name: str, above: Mapping[str, Any]) -> Group:
        place = f"data/{name}"
        own = self.own(place)
        values = {**above, **own}
        paths = visible((self._folder / place).iterdir())
        inner = [self.group(f"{name}/{path.name}", values) for path in paths if path.is_dir()]
        return Group(
            name=name,
            fields=Fields(values, f"{place}/{SETTINGS}", self._faults),
            own=frozenset(own),
            tests=tuple(self._tests(name, paths)),
            inner=tuple(group for group in inner if _has_tests(group)),
        )

    def _tests(self, group: str, paths: list[Path]) -> Iterator[Test]:
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
            yield test_of(name, path, answers.get(stem))


def _has_tests(group: Group) -> bool:
    return any(inner.tests for inner in groups_of(group))


def _words(fields: Fields, name: str) -> tuple[str, ...]:
    """Flags: a text, or an object with `flags` and the name of the validator that they are for."""
    if isinstance(fields.values.get(name), dict):
        return tuple(fields.inner(name).text("flags", "").split())
    return tuple(fields.text(name, "").split()) if fields.values.get(name) is not None else ()
