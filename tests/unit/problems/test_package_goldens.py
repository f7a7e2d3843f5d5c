"""Small packages in tests/data/packages: the problem that is read from each, or why it is refused.

A folder is a format. A line of `NAME.jsonl` is a package: the files in which it differs from the format's
sound one. Null stands for a file that is missing, an object for other fields of a JSON file.
`NAME.expected` holds the errors, the notes, and the fields in which the problem differs. `pytest --update` on
this file writes it; a reviewer reads the difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import kattis_files
import msgspec
import package_files
import pytest
from package_files import read

from ioi_eval.models import Blob
from ioi_eval.problems.package import Package

FOLDER = Path(__file__).parents[2] / "data" / "packages"
SOUND = {
    "cms": {"problem.json": json.dumps(package_files.HEADER), **package_files.FILES},
    "kattis": kattis_files.FILES,
}


def described(value: Any) -> Any:
    """Return a value as JSON has it, without fields that have their defaults; of a file, its text."""
    if isinstance(value, Blob):
        return value.read().decode()
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(value)
        held = {field.name: getattr(value, field.name) for field in fields}
        defaults = {field.name: field.default for field in fields}
        return {
            name: described(each)
            for name, each in held.items()
            if each != defaults[name] and each not in ((), {}, None)
        }
    if isinstance(value, Mapping):
        return {str(key): described(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [described(each) for each in (sorted(value) if isinstance(value, set | frozenset) else value)]
    return value.value if isinstance(value, Enum) else value


def read_from(files: Mapping[str, str | None], place: Path, name: str) -> tuple[Package, dict[str, Any]]:
    """Return what is read from a package, and its problem as JSON has it."""
    for path, text in files.items():
        if text is not None:
            (place / name / path).parent.mkdir(parents=True, exist_ok=True)
            (place / name / path).write_text(text)
    package = read(place / name, name)
    return package, {} if package.problem is None else described(package.problem)


def outcome(
    case: Mapping[str, Any], sound: Mapping[str, str], usual: Mapping[str, Any], place: Path
) -> Iterator[str]:
    """Yield the lines of a case in `NAME.expected`. `usual`: the problem of the sound package."""
    yield f"== {case['case']}"
    own = {
        path: json.dumps({**json.loads(sound[path]), **text}) if isinstance(text, dict) else text
        for path, text in case["files"].items()
    }
    package, problem = read_from({**sound, **own}, place, case.get("name", "p"))
    yield from (f"  refused: {error}" for error in package.errors)
    yield from (f"  note: {note}" for note in package.notes)
    if problem and not package.errors:
        for field in {**usual, **problem}:
            if problem.get(field) != usual.get(field):
                yield f"  {field}: {json.dumps(problem.get(field), sort_keys=True)}"


@pytest.mark.parametrize("name", sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.jsonl")))
def test_packages_are_read_or_refused_as_expected(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    sound = SOUND[Path(name).parts[0]]
    _, usual = read_from(sound, tmp_path, "p")
    lines = (FOLDER / name).read_text().splitlines()
    found = [
        line
        for number, case in enumerate(lines)
        for line in outcome(json.loads(case), sound, usual, tmp_path / str(number))
    ]
    expected = (FOLDER / name).with_suffix(".expected")
    if request.config.getoption("--update"):
        expected.write_text("\n".join(found) + "\n")
    assert found == expected.read_text().splitlines()
