"""The submissions of a package in the ICPC's format, and what their authors expect of them.

Their folder says it, or tags in their first lines; in younger versions also submissions.yaml, by patterns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from ioi_eval.model.values import Blob, NamedBlob, Solution
from ioi_eval.problems.fields import Faults
from ioi_eval.problems.kattis_expected import Expected, Rules
from ioi_eval.problems.package import language_of, source_text, visible

# The format's own folders, and those of systems that read it. Of others nothing is known.
_FOLDERS = frozenset(
    {
        "accepted",
        "compiler_error",
        "memory_limit_exceeded",
        "no_output",
        "output_limit_exceeded",
        "partially_accepted",
        "rejected",
        "run_time_error",
        "time_limit_exceeded",
        "wrong_answer",
    }
)
_FIRST_LINES = 100
_HEADERS = frozenset({".h", ".hh", ".hpp", ".hxx", ".inc"})
# The names of the source that a program starts with; the other languages link all sources alike.
_STARTED = {
    "python": ("__main__", "main"),
    "pypy": ("__main__", "main"),
    "java": ("Main", "main"),
    "rust": ("main",),
}
_GRADES = re.compile(r"@EXPECTED_GRADES@:?((?:[ \t]+(?:AC|WA|TLE|RTE|MLE|OLE)\b)+)")
_RESULTS = re.compile(r"@EXPECTED_RESULTS@:[ \t]*([A-Z_-]+(?:[ \t]*,[ \t]*[A-Z_-]+)*)", re.IGNORECASE)


_SCORE = re.compile(r"@EXPECTED_SCORE@:[ \t]*([0-9]{1,9}(?:\.[0-9]{1,9})?)")


def read_solutions(
    folder: Path, groups: Sequence[str], rules: Rules, faults: Faults, *, scoring: bool
) -> tuple[Solution, ...]:
    """`groups`: the names of the secret groups, for tags with a grade for each."""
    return tuple(_solutions(folder, groups, rules, faults, scoring))


def _solutions(
    folder: Path, groups: Sequence[str], rules: Rules, faults: Faults, scoring: bool
) -> Iterator[Solution]:
    for path in visible((folder / "submissions").glob("*/*")):
        place = path.relative_to(folder).as_posix()
        expected = rules.of(place.removeprefix("submissions/"))
        if path.is_dir():
            program = _folder(path, place, expected.entrypoint, faults)
        else:
            language = language_of(path.name)
            program = _Sources(language, path, ()) if language else None
        if program is not None:
            read = _solution(path, program, groups, place, expected, faults)
            yield read if scoring else replace(read, score=None)


class _Sources(NamedTuple):
    language: str
    main: Path
    further: tuple[Path, ...]  # sources and headers


def _folder(path: Path, place: str, entrypoint: str, faults: Faults) -> _Sources | None:
    """All sources in a folder are one program, in one language."""
    files = [file for file in visible(path.rglob("*")) if file.is_file()]
    languages = {name for file in files if (name := language_of(file.name))}
    if len(languages) != 1:
        found = "sources in several languages" if languages else "no source in a known language"
        faults.note(f"left out: {found}", place)
        return None
    (language,) = languages
    sources = [file for file in files if language_of(file.name)]
    main = _entry(sources, entrypoint) or _main(sources, language, path.name)
    if main is None:
        faults.note(f"left out: which source is started is not clear; call it {_STARTED[language][0]}", place)
        return None
    further = [file for file in files if file in sources or file.suffix.lower() in _HEADERS]
    if not all(file.is_relative_to(main.parent) for file in further):
        faults.note(f"left out: {main.name} has sources in folders above it", place)
        return None
    return _Sources(language, main, tuple(file for file in further if file != main))


def _entry(sources: Sequence[Path], name: str) -> Path | None:
    """The source that submissions.yaml names, by its file or its class."""
    return next((source for source in sources if name in (source.name, source.stem)), None)


def _main(sources: Sequence[Path], language: str, folder: str) -> Path | None:
    """Where a language asks which source comes first: the one that is called so, at the top of the folder."""
    top = min(len(source.parts) for source in sources)
    by_stem = {source.stem: source for source in sources if len(source.parts) == top}
    if language not in _STARTED or len(sources) == 1:
        return next(iter(by_stem.values()))
    return next((by_stem[stem] for stem in (*_STARTED[language], folder) if stem in by_stem), None)


def _solution(
    path: Path, program: _Sources, groups: Sequence[str], place: str, rules: Expected, faults: Faults
) -> Solution:
    code = source_text(program.main)
    texts = (code, *map(source_text, program.further))
    head = "\n".join(line for text in texts for line in text.splitlines()[:_FIRST_LINES])
    folder = path.parent.name
    results, score = _RESULTS.search(head), _SCORE.search(head)
    by_folder = folder if rules.folder_counts and folder in _FOLDERS else ""
    expected = results[1] if results else by_folder
    exceptions = _grades(head, groups, place, faults)
    if not expected and not exceptions and not rules.said and not score:
        faults.note("nothing is known of what it should score", place)
    return Solution(
        name=path.name,
        language=rules.language or program.language,
        code=code,
        expected=expected,
        exceptions=exceptions,
        said=rules.said,
        score=rules.score or ((float(score[1]), float(score[1])) if score else None),
        files=tuple(_beside(program)),
    )


def _beside(program: _Sources) -> Iterator[NamedBlob]:
    for path in program.further:
        yield NamedBlob(name=path.relative_to(program.main.parent).as_posix(), content=Blob.of_file(path))


def _grades(head: str, groups: Sequence[str], place: str, faults: Faults) -> Mapping[str, str]:
    """The tag's grades, one for each secret group in order."""
    found = _GRADES.search(head)
    grades = found[1].split() if found else []
    if grades and len(grades) != len(groups):
        faults.note(f"its tag has {len(grades)} grades for {len(groups)} groups, and is passed over", place)
        return {}
    return dict(zip(groups, grades, strict=False))
