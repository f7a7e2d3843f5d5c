"""Read data/: tests in groups, with the settings of each group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from msgspec.structs import replace

from ioi_eval.model.fields import Faults, Fields
from ioi_eval.model.values import Test
from ioi_eval.problems.kattis.constants import Constants
from ioi_eval.problems.kattis.keys import CUSTOM, SAMPLE, SECRET, GradingKeys, HeaderGradingKeys, TestKeys
from ioi_eval.problems.keys import is_misspelt
from ioi_eval.problems.package import list_visible_paths, make_test, read_mapping_file

_LEGACY_SETTINGS, _NEWER_SETTINGS = "testdata.yaml", "test_group.yaml"
_SETTINGS_STEMS = [PurePosixPath(name).stem for name in (_LEGACY_SETTINGS, _NEWER_SETTINGS)]
# Keys for the validator's arguments: in legacy versions, and in newer versions.
_VALIDATOR_FLAGS, _ARGUMENTS = "output_validator_flags", "output_validator_args"


class DataGroup(NamedTuple):
    """A folder of tests. It inherits settings from the folder above unless its settings file sets them."""

    name: str  # path of the group below data/, such as secret/group1; empty for data/ itself
    fields: Fields  # all settings of the group, including inherited settings
    own_keys: frozenset[str]  # keys in the group's own settings file, without inherited keys
    tests: tuple[Test, ...]
    subgroups: tuple[DataGroup, ...]  # subgroups with tests, at any depth

    @property
    def sorted_parts(self) -> list[Test | DataGroup]:
        """Return the group's tests and subgroups in the order of judging, by name."""
        return sorted((*self.tests, *self.subgroups), key=lambda part: part.name.rpartition("/")[2])

    @property
    def all_tests(self) -> tuple[Test, ...]:
        """Return the tests of this group and of all groups in it."""
        return tuple(test for group in list_groups(self) for test in group.tests)

    @property
    def validator_flags_key(self) -> str:
        """Return the key of the validator's arguments in this version of the format."""
        return _ARGUMENTS if self.fields.has_field(_ARGUMENTS) else _VALIDATOR_FLAGS

    @property
    def grader_flags(self) -> tuple[str, ...]:
        """Return the flags for the default grader or the package's grader."""
        return _read_program_flags(self.fields, "grader_flags")


def read_test_data(
    folder: Path,
    grading: HeaderGradingKeys,
    *,
    needs_answers: bool,
    faults: Faults,
    is_newer_format: bool,
    constants: Constants,
) -> DataGroup:
    """Return the tests and groups in data/. A test's name is its path in data/ without the suffix.

    Args:
        folder: The package.
        grading: The section `grading` of the header. Its settings apply unless data/ sets them.
        needs_answers: Report tests without an answer file.
        faults: Receives faults and notes.
        is_newer_format: The package has one of the newer versions of the format.
        constants: Values that replace placeholders in settings files.
    """
    reader = _TestDataReader(folder, needs_answers, faults, is_newer_format, constants)
    header_settings = {
        name: grading.raw_value(name)
        for name in GradingKeys.declared_keys()
        if grading.raw_value(name) is not None
    }
    root_settings = reader.read_settings("data")
    settings = {**header_settings, **root_settings}
    groups = [
        reader.read_group(name, settings) for name in (SAMPLE, SECRET) if (folder / "data" / name).is_dir()
    ]
    subgroups = tuple(group for group in groups if group.all_tests)
    # A package needs secret tests, because samples do not show whether a submission is right.
    if SECRET not in [group.name for group in subgroups]:
        faults.report("no tests", "data/secret", remedy="Expected files NAME.in and NAME.ans in this folder")
    fields = Fields(settings, reader.find_settings_file("data"), faults)
    return DataGroup(name="", fields=fields, own_keys=frozenset(root_settings), tests=(), subgroups=subgroups)


def list_groups(group: DataGroup) -> Iterator[DataGroup]:
    """Yield the group and all groups in it at any depth, in the order of judging."""
    yield group
    for subgroup in group.subgroups:
        yield from list_groups(subgroup)


class _TestDataReader:
    """Reads the groups, tests and settings files below data/."""

    def __init__(
        self, folder: Path, needs_answers: bool, faults: Faults, is_newer_format: bool, constants: Constants
    ) -> None:
        self._folder, self._needs_answers, self._faults, self._new = (
            folder,
            needs_answers,
            faults,
            is_newer_format,
        )
        self._constants = constants

    def find_settings_file(self, group_path: str) -> str:
        """Return the path of a group's settings file. Drafts of the newer versions use the legacy name."""
        file_names = (_NEWER_SETTINGS, _LEGACY_SETTINGS) if self._new else (_LEGACY_SETTINGS,)
        file_paths = [f"{group_path}/{name}" for name in file_names]
        return next((file for file in file_paths if (self._folder / file).exists()), file_paths[0])

    def read_settings(self, group_path: str) -> dict[str, Any]:
        """Return the settings in a group's settings file, without inherited settings."""
        file = self.find_settings_file(group_path)
        if not (self._folder / file).exists():
            self._report_misnamed_settings(group_path, file)
            return {}
        return read_mapping_file(self._folder, file, self._faults, self._constants.fill_placeholders) or {}

    def _report_misnamed_settings(self, group_path: str, expected_file: str) -> None:
        """Report files whose names look like a misspelt name of the group's settings file."""
        for path in list_visible_paths((self._folder / group_path).glob("*.y*ml")):
            belongs_to_test = path.with_suffix(".in").is_file()
            if not belongs_to_test and is_misspelt(path.stem.lower(), _SETTINGS_STEMS):
                remedy = f"Call it {expected_file.rpartition('/')[2]}, as in this version"
                self._faults.report(
                    "not the name of a settings file", f"{group_path}/{path.name}", remedy=remedy
                )

    def read_group(self, name: str, inherited: Mapping[str, Any]) -> DataGroup:
        """Return the group with this name. `inherited` are the settings of the group above."""
        group_path = f"data/{name}"
        own_settings = self.read_settings(group_path)
        settings = {**inherited, **own_settings}
        paths = list_visible_paths((self._folder / group_path).iterdir())
        if self._new:
            self._check_files(group_path, paths)
        subgroups = [self.read_group(f"{name}/{path.name}", settings) for path in paths if path.is_dir()]
        fields = Fields(settings, self.find_settings_file(group_path), self._faults)
        data_group = DataGroup(
            name=name,
            fields=fields,
            own_keys=frozenset(own_settings),
            tests=tuple(self._read_tests(name, paths, fields)),
            subgroups=tuple(group for group in subgroups if group.all_tests),
        )
        if own_settings and not data_group.all_tests and name not in (SAMPLE, SECRET):
            self._faults.report(
                "settings of a group without tests",
                fields.file,
                remedy="Add tests to the group or remove its settings",
            )
        return data_group

    def _check_files(self, group_path: str, paths: list[Path]) -> None:
        """Report files for submissions, which are not supported, and wrong keys in settings of tests."""
        for path in paths:
            file = f"{group_path}/{path.name}"
            if path.suffix == ".files" and path.is_dir():
                self._faults.report(
                    "files for submissions are not supported",
                    file,
                    remedy="Submissions can read standard input only",
                )
            if self._belongs_to_test(path):
                keys = TestKeys(read_mapping_file(self._folder, file, self._faults) or {}, file, self._faults)
                keys.check_keys(sorted(keys.values))

    def _belongs_to_test(self, path: Path) -> bool:
        """Return True if the file contains the settings of a single test."""
        has_test_name = path.suffix == ".yaml" and path.name not in (_NEWER_SETTINGS, _LEGACY_SETTINGS)
        return self._new and has_test_name and path.with_suffix(".in").is_file() and path.is_file()

    def _read_arguments(self, group: Fields, test: Path) -> tuple[str, ...]:
        """Return the validator's arguments for a test: from the test's settings file, else from its group."""
        fields, file = group, test.with_suffix(".yaml")
        if self._belongs_to_test(file):
            settings_name = file.relative_to(self._folder).as_posix()
            test_fields = Fields(
                read_mapping_file(self._folder, settings_name, Faults("")) or {}, settings_name, self._faults
            )
            fields = test_fields if test_fields.has_field(_ARGUMENTS) else group
        return (
            fields.read_texts(_ARGUMENTS)
            if fields.has_field(_ARGUMENTS)
            else _read_program_flags(fields, _VALIDATOR_FLAGS)
        )

    def _read_tests(self, group: str, paths: list[Path], fields: Fields) -> Iterator[Test]:
        """Yield the tests among the files of a group, sorted by name."""
        input_paths = {path.stem: path for path in paths if path.suffix == ".in" and path.is_file()}
        answer_paths = {path.stem: path for path in paths if path.suffix == ".ans" and path.is_file()}
        for path in paths:
            if path.suffix in (".IN", ".In", ".ANS", ".Ans") and path.is_file():
                remedy = f"Call it {path.stem}{path.suffix.lower()}"
                self._faults.report("not the name of a test", f"data/{group}/{path.name}", remedy=remedy)
        for stem in sorted(answer_paths.keys() - input_paths.keys()):
            self._faults.report(
                "missing file", f"data/{group}/{stem}.in", remedy=f"Add it or remove {stem}.ans"
            )
        for stem, path in sorted(input_paths.items()):
            test_name = f"{group}/{stem}"
            if stem not in answer_paths and path.with_suffix(".out").is_file():
                self._faults.report(
                    "looks like an answer file", f"data/{test_name}.out", remedy=f"Call it {stem}.ans"
                )
            elif stem not in answer_paths and self._needs_answers:
                self._faults.report(
                    "missing file", f"data/{test_name}.ans", remedy="Outputs are compared with it"
                )
            if not test_name.isprintable():
                self._faults.report(
                    "a name with unprintable characters", f"data/{test_name!r}", remedy="Rename its files"
                )
            test = make_test(test_name, path, answer_paths.get(stem))
            yield replace(test, arguments=self._read_arguments(fields, path))


def _read_program_flags(fields: Fields, key: str) -> tuple[str, ...]:
    """Return the flags in a setting: a string, or an object with the key `flags` and a validator's name."""
    if isinstance(fields.values.get(key), dict):
        return tuple(fields.read_object(key).read_text("flags", "").split())
    return tuple(fields.read_text(key, "").split()) if fields.values.get(key) is not None else ()


def uses_custom_grader(group: DataGroup) -> bool:
    """Return True if the package's grader grades the group."""
    grading: object = group.fields.raw_value("grading")
    return grading == CUSTOM
