"""Programs of a package in the ICPC's format: a file, or a folder of files that are one program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ioi_eval.languages import of_suffix
from ioi_eval.models import NamedBlob
from ioi_eval.problems.fields import Faults
from ioi_eval.problems.package import language_of, named, visible

_VALIDATORS = "output_validators"
_MAIN = ("validate", "validator", "output_validator", "interactor", "main")
_SCRIPTS = frozenset({"build", "run"})


class Program(NamedTuple):
    sources: tuple[NamedBlob, ...]  # the first is the one that is compiled
    language: str


def read_validator(folder: Path, faults: Faults) -> Program | None:
    """The one program in output_validators/."""
    entries = visible((folder / _VALIDATORS).glob("*"))
    programs = [path for path in entries if path.is_dir() or of_suffix(path.suffix)]
    if len(programs) != 1:
        found = "no program" if not programs else f"{len(programs)} programs"
        faults.add(f"{found} in it", _VALIDATORS, remedy="A custom validation needs exactly one validator")
        return None
    path = programs[0]
    files = [file for file in visible(path.rglob("*")) if file.is_file()] if path.is_dir() else entries
    return _program(folder, path, [file for file in files if file.is_file()], faults)


def _program(folder: Path, program: Path, files: Sequence[Path], faults: Faults) -> Program | None:
    place = program.relative_to(folder).as_posix()
    if program.is_dir() and any(file.name in _SCRIPTS and file.parent == program for file in files):
        faults.add("it has its own build or run script", place, remedy="Only sources can be built")
        return None
    main = program if program.is_file() else main_source(program, files)
    if main is None:
        faults.add(
            "which of its sources has the main function is not clear", place, remedy="Call it validate"
        )
        return None
    ordered = [main, *(file for file in files if file != main)]
    names = [file.relative_to(folder).as_posix() for file in ordered]
    return Program(sources=named(folder, names), language=language_of(main.name) or "c++")


def main_source(program: Path, files: Sequence[Path]) -> Path | None:
    """The only source of a folder, or the one that is called as a main source is."""
    sources = [file for file in files if of_suffix(file.suffix)]
    if len(sources) == 1:
        return sources[0]
    by_stem = {file.stem: file for file in reversed(sources)}
    return next((by_stem[stem] for stem in (*_MAIN, program.name) if stem in by_stem), None)
