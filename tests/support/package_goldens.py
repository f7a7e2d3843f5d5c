"""Small packages in tests/data/packages: the problem that is read from each, or why it is refused.

A folder is a format. A line of `NAME.jsonl` is a package: the files in which it differs from the format's
sound package, which is the first line. Null stands for a file that is missing, a list for texts to replace,
and an object for other fields of a JSON file or for the members of a zip. `NAME.expected` holds the errors,
the notes, and the fields in which the problem differs from the sound package's. A case with `generates` has
the commands that generate the package's tests instead of the problem.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ioi_eval.errors import InputError
from ioi_eval.model.fields import Faults
from ioi_eval.models import Blob
from ioi_eval.problems import check_problems
from ioi_eval.problems.collection import detect_format
from ioi_eval.problems.package import Executable, GeneratedTest, Package, PackageFormat, TestGeneration
from support.goldens import golden, outcomes

FOLDER = Path(__file__).parents[1] / "data" / "packages"

_MAX_TEXT = 120  # characters

# The text of a file, the members of a zip, or None for no file.
Content = str | Mapping[str, str] | None


def text_files(folder: Path) -> dict[str, str]:
    """Return the texts of all files in a folder by their paths."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().decode()
        for path in folder.rglob("*")
        if path.is_file()
    }


def described(value: Any) -> Any:
    """Return a JSON value without fields that have their defaults. A file becomes its text.

    Long texts are shortened to their first and last line.
    """
    if isinstance(value, Blob):
        return shortened(value.read().decode())
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(value)
        values = {field.name: getattr(value, field.name) for field in fields}
        defaults = {field.name: field.default for field in fields}
        return {
            name: described(item)
            for name, item in values.items()
            if item != defaults[name] and item not in ((), {}, None)
        }
    if isinstance(value, Executable | GeneratedTest | TestGeneration):
        return {name: described(item) for name, item in value._asdict().items() if item}
    if isinstance(value, Mapping):
        return {str(key): described(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [described(item) for item in (sorted(value) if isinstance(value, set | frozenset) else value)]
    if isinstance(value, Enum):
        return value.value
    return shortened(value) if isinstance(value, str) else value


def shortened(content: str) -> str:
    lines = content.strip().splitlines()
    return content if len(content) <= _MAX_TEXT or len(lines) < 3 else f"{lines[0]} ... {lines[-1]}"


def write_files(files: Mapping[str, Content], package: Path) -> None:
    """Write the files of a package into a folder."""
    for path, content in files.items():
        if content is None:
            continue
        target = package / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            target.write_text(content, newline="")
        else:
            with zipfile.ZipFile(target, "w") as archive:
                for member, member_text in content.items():
                    archive.writestr(member, member_text)


class Reading(NamedTuple):
    """The result of reading a package. `facts` is a JSON value, empty if there are errors."""

    errors: Sequence[InputError]
    notes: Sequence[str]
    facts: Mapping[str, Any]


def read_problem(package: Path, where: str) -> Reading:
    """Read the package's problem."""
    package_format = detect_format(package)
    assert package_format is not None
    return described_problem(package_format.read_package(package, where))


def check_problem(package: Path, where: str) -> Reading:
    """Read the package's problem and compile its programs."""
    (checked,) = check_problems(package, cache=package.parent / "cache")
    reading = described_problem(checked)
    return reading._replace(facts={name: fact for name, fact in reading.facts.items() if name != "source"})


def described_problem(package: Package) -> Reading:
    is_sound = package.problem is not None and not package.errors
    return Reading(package.errors, package.notes, described(package.problem) if is_sound else {})


def read_generation(package: Path, where: str) -> Reading:
    """Read how the package's tests are generated."""
    package_format = detect_format(package)
    assert isinstance(package_format, PackageFormat)
    faults = Faults(where)
    generation = package_format.read_test_generation(package, faults)
    facts = {} if generation is None or faults.errors else described(generation)
    return Reading(faults.errors, faults.notes, facts)


def patched(path: str, change: Any, sound: Mapping[str, str]) -> Content:
    """Return the content of a file of a case, given its change to the sound package's file."""
    if isinstance(change, list):
        content = sound[path]
        for original, replacement in change:
            assert content.count(original) == 1, f"{path} must contain {original!r} once"
            content = content.replace(original, replacement)
        return content
    if isinstance(change, dict) and path.endswith(".json"):
        return json.dumps({**json.loads(sound[path]), **change})
    return change


def same_everywhere(message: object, folder: Path) -> str:
    """Return a message without the folder of the packages and without the version of Python."""
    return re.sub(r"Python 3\.[0-9.]+", "Python VERSION", str(message).replace(f"{folder}/", ""))


def outcome(reading: Reading, sound_facts: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """Yield the lines of a case in `NAME.expected`. `sound_facts` are the facts of the sound package."""
    yield from (f"  refused: {same_everywhere(error, folder)}" for error in reading.errors)
    yield from (f"  note: {same_everywhere(note, folder)}" for note in reading.notes)
    if reading.facts:
        for field in {**sound_facts, **reading.facts}:
            fact = reading.facts.get(field)
            if fact != sound_facts.get(field):
                yield f"  {field}: {same_everywhere(json.dumps(fact, sort_keys=True), folder)}"


def compare(cases: Path, sound: Mapping[str, str], tmp_path: Path) -> None:
    """Compare the packages of a file with `NAME.expected`."""
    sound_facts: dict[Callable[..., Reading], Mapping[str, Any]] = {}

    def lines(case: Mapping[str, Any], number: int) -> Iterator[str]:
        assert (case["case"] == "the sound package") == (number == 0)
        read = check_problem if cases.stem == "programs" else read_problem
        read = read_generation if case.get("generates") else read
        changes = {path: patched(path, change, sound) for path, change in case["files"].items()}
        folder, name = tmp_path / str(number), case.get("name", "p")
        write_files({**sound, **changes}, folder / name)
        reading = read(folder / name, name)
        # The first case of the sound package shows all facts, later cases show what differs from it.
        yield from outcome(reading, sound_facts.get(read, {}), folder)
        if not changes:
            sound_facts.setdefault(read, reading.facts)

    assert outcomes(cases, lines) == golden(cases.with_suffix(".expected"))
