"""Small packages in tests/data/packages: the problem that is read from each, or why it is refused.

A folder is a format. A line of `NAME.jsonl` is a package: the files in which it differs from the format's
sound package, which is the first line. Null stands for a file that is missing, a list for texts to replace,
and an object for other fields of a JSON file or for the members of a zip. `NAME.expected` holds the errors,
the notes, and the fields in which the problem differs from the sound package's.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.models import Blob
from ioi_eval.problems import check_problems
from ioi_eval.problems.collection import detect_format
from ioi_eval.problems.package import Package
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


def read_from(
    files: Mapping[str, Content], folder: Path, name: str, *, is_checked: bool
) -> tuple[Package, dict[str, Any]]:
    """Write and read a package. Return the package and its problem as a JSON value."""
    for path, content in files.items():
        if content is None:
            continue
        target = folder / name / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            target.write_text(content, newline="")
        else:
            with zipfile.ZipFile(target, "w") as archive:
                for member, member_text in content.items():
                    archive.writestr(member, member_text)
    if is_checked:
        (package,) = check_problems(folder / name, cache=folder / "cache")
    else:
        package_format = detect_format(folder / name)
        assert package_format is not None
        package = package_format.read_package(folder / name, name)
    return package, {} if package.problem is None else described(package.problem)


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


def outcome(
    case: Mapping[str, Any],
    sound: Mapping[str, str],
    sound_facts: Mapping[str, Any],
    folder: Path,
    *,
    is_checked: bool,
) -> Iterator[str]:
    """Yield the lines of a case in `NAME.expected`. `sound_facts` is the problem of the sound package."""
    changes = {path: patched(path, change, sound) for path, change in case["files"].items()}
    name = case.get("name", "p")
    package, problem = read_from({**sound, **changes}, folder, name, is_checked=is_checked)
    yield from (f"  refused: {same_everywhere(error, folder)}" for error in package.errors)
    yield from (f"  note: {same_everywhere(note, folder)}" for note in package.notes)
    if problem and not package.errors:
        for field in {**sound_facts, **problem}:
            if problem.get(field) != sound_facts.get(field) and not (is_checked and field == "source"):
                yield f"  {field}: {same_everywhere(json.dumps(problem.get(field), sort_keys=True), folder)}"


def compare(cases: Path, sound: Mapping[str, str], tmp_path: Path) -> None:
    """Compare the packages of a file with `NAME.expected`."""
    is_checked = cases.stem == "programs"
    _, sound_facts = read_from(sound, tmp_path, "p", is_checked=is_checked)

    def lines(case: Mapping[str, Any], number: int) -> Iterator[str]:
        assert (case["case"] == "the sound package") == (number == 0)
        facts = sound_facts if number else {}
        return outcome(case, sound, facts, tmp_path / str(number), is_checked=is_checked)

    assert outcomes(cases, lines) == golden(cases.with_suffix(".expected"))
