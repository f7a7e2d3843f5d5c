"""What all package formats have in common: the outcome of reading one, its files, its tests, its sources."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import of_suffix
from ioi_eval.model.values import Blob, NamedBlob, Problem, Solution, Test, Value
from ioi_eval.problems.fields import Faults, Fields, read_mapping

# Sources in languages that the language table may have no row for: loaded, so that none seems absent.
_OTHER_LANGUAGES: Mapping[str, str] = {
    ".c": "c",
    ".go": "go",
    ".java": "java",
    ".kt": "kotlin",
    ".pas": "pascal",
    ".rs": "rust",
}


class Package(Value):
    """A package as it was read. `problem` is None when anything is wrong with it."""

    where: str
    format: str = ""
    problem: Problem | None = None
    errors: tuple[InputError, ...] = ()
    notes: tuple[str, ...] = ()  # what was left out or understood in one of several ways


Build = Callable[[Path, str, Fields, Faults], Problem]


def read_with(build: Build, folder: Path, where: str, *, name: str, header: str) -> Package:
    """Read all of a package: its header, a mapping in JSON or YAML, and then all by what that says."""

    def read(faults: Faults) -> Problem | None:
        values = read_mapping(folder, header, faults)
        return None if values is None else build(folder, where, Fields(values, header, faults), faults)

    return collected(read, where, name=name)


def collected(read: Callable[[Faults], Problem | None], where: str, *, name: str) -> Package:
    """The package that was read, or all that is wrong with it.

    `where` is what messages call the package, `name` is that of the format.
    """
    faults = Faults(where)
    problem = None
    try:
        problem = read(faults)
    except OSError as error:
        faults.add(f"cannot be read ({error.strerror or error})", str(error.filename or ""))
    if faults.errors:
        return Package(where=where, format=name, errors=tuple(faults.errors))
    return Package(where=where, format=name, problem=problem, notes=tuple(faults.notes))


def id_of(folder: Path, header: str, field: str) -> str | None:
    """The problem's id, if the header is sound enough to say it."""
    found = (read_mapping(folder, header, Faults("")) or {}).get(field)
    return found if isinstance(found, str) else None


def is_plain(name: str) -> bool:
    """Whether it names a file anywhere, and no folder: ids and files' names are so."""
    return re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name) is not None


# --- files -------------------------------------------------------------------------------------------


def files_below(folder: Path, part: str, first: str = "") -> tuple[NamedBlob, ...]:
    """All files below one folder of the package, by name, hidden ones left out."""
    found = (path.relative_to(folder) for path in (folder / part).rglob("*") if path.is_file())
    names = [name.as_posix() for name in found if not any(word.startswith(".") for word in name.parts)]
    return named(folder, sorted(names, key=lambda name: (name != first, name)))


def named(folder: Path, names: Iterable[str]) -> tuple[NamedBlob, ...]:
    return tuple(NamedBlob(name=name, content=Blob.of_file(folder / name)) for name in names)


def first_named(files: Iterable[NamedBlob], stems: Iterable[str]) -> NamedBlob | None:
    """The first source of a known language whose name without its ending is one of these."""
    by_stem = {
        PurePosixPath(file.name).with_suffix("").as_posix(): file
        for file in files
        if of_suffix(PurePosixPath(file.name).suffix)
    }
    return next((by_stem[stem] for stem in stems if stem in by_stem), None)


def led_by(first: NamedBlob, files: Iterable[NamedBlob]) -> tuple[NamedBlob, ...]:
    """The files with the one that is compiled in front."""
    return (first, *(file for file in files if file.name != first.name))


# --- sources -----------------------------------------------------------------------------------------


def language_of(name: str) -> str | None:
    """The language of a source file, by its ending."""
    suffix = PurePosixPath(name).suffix
    known = of_suffix(suffix)
    return known.name if known else _OTHER_LANGUAGES.get(suffix.lower())


def source_text(path: Path) -> str:
    """Comments of old solutions are in older encodings: no reason to refuse a package."""
    content = path.read_bytes()
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("latin-1")


def solution(source: Path | None, **said: Any) -> Solution:
    """A solution with the language and the code of its source, if it has one."""
    language = (language_of(source.name) or "") if source else ""
    return Solution(language=language, code=source_text(source) if source else "", **said)


def visible(paths: Iterable[Path]) -> list[Path]:
    return sorted(path for path in paths if not path.name.startswith("."))


# --- tests -------------------------------------------------------------------------------------------


def tests_of(folder: Path, needs_answers: bool, faults: Faults) -> tuple[Test, ...]:
    """The tests in tests/NAME.in and NAME.out."""
    inputs, answers = _by_name(folder, ".in"), _by_name(folder, ".out")
    if not inputs:
        faults.add("no tests", "tests", remedy="Expected files NAME.in and NAME.out in this folder")
    for name in sorted(answers.keys() - inputs.keys()):
        faults.add("missing file", f"tests/{name}.in", remedy=f"Add it or remove tests/{name}.out")
    for name in sorted(inputs.keys() - answers.keys() if needs_answers else ()):
        faults.add(
            "missing file", f"tests/{name}.out", remedy="There is no checker: outputs are compared with it"
        )
    for name in sorted(name for name in inputs if not name.isprintable()):
        faults.add("a test's name that cannot be printed", f"tests/{name!r}", remedy="Rename its files")
    return tuple(test_of(name, inputs[name], answers.get(name)) for name in sorted(inputs))


def _by_name(folder: Path, suffix: str) -> dict[str, Path]:
    found = visible(path for path in (folder / "tests").glob(f"*{suffix}") if path.is_file())
    return {path.name.removesuffix(suffix): path for path in found}


def test_of(name: str, input_file: Path, answer: Path | None) -> Test:
    return Test(name=name, input=Blob.of_file(input_file), answer=Blob.of_file(answer) if answer else None)


# --- files that are handed in ------------------------------------------------------------------------


def outputs_of(folder: Path, tests: Iterable[str]) -> tuple[NamedBlob, ...]:
    """The files output_<test>.txt (or <test>.out) of a folder, each under the name of its test."""
    found = (
        (test, path)
        for test in tests
        for path in (folder / f"output_{test}.txt", folder / f"{test}.out")
        if path.is_file()
    )
    first: dict[str, Path] = {}
    for test, path in found:
        first.setdefault(test, path)
    return tuple(NamedBlob(name=test, content=Blob.of_file(path)) for test, path in first.items())
