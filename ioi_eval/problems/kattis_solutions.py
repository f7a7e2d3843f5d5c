"""The submissions that a package in the ICPC's format brings, and what folders and tags say of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ioi_eval.models import Solution
from ioi_eval.problems.fields import Faults
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
_GRADES = re.compile(r"@EXPECTED_GRADES@:?((?:[ \t]+(?:AC|WA|TLE|RTE|MLE|OLE)\b)+)")
_RESULTS = re.compile(r"@EXPECTED_RESULTS@:[ \t]*([A-Z_-]+(?:[ \t]*,[ \t]*[A-Z_-]+)*)", re.IGNORECASE)


def read_solutions(folder: Path, groups: Sequence[str], faults: Faults) -> tuple[Solution, ...]:
    """`groups`: the names of the secret groups, for tags with a grade for each."""
    return tuple(_solutions(folder, groups, faults))


def _solutions(folder: Path, groups: Sequence[str], faults: Faults) -> Iterator[Solution]:
    for path in visible((folder / "submissions").glob("*/*")):
        place = path.relative_to(folder).as_posix()
        source = _source(path)
        language = language_of(source.name) if source else None
        if source is None or language is None:
            if path.is_dir() or language_of(path.name):
                faults.note("left out: not a single source in a known language", place)
            continue
        yield _solution(path, source, language, groups, place, faults)


def _source(path: Path) -> Path | None:
    if path.is_file():
        return path
    sources = [file for file in visible(path.rglob("*")) if file.is_file() and language_of(file.name)]
    return sources[0] if len(sources) == 1 else None


def _solution(
    path: Path, source: Path, language: str, groups: Sequence[str], place: str, faults: Faults
) -> Solution:
    code = source_text(source)
    head = "\n".join(code.splitlines()[:_FIRST_LINES])
    folder = path.parent.name
    results = _RESULTS.search(head)
    expected = results[1] if results else folder if folder in _FOLDERS else ""
    exceptions = _grades(head, groups, place, faults)
    if not expected and not exceptions:
        faults.note("nothing is known of what it should score", place)
    return Solution(name=path.name, language=language, code=code, expected=expected, exceptions=exceptions)


def _grades(head: str, groups: Sequence[str], place: str, faults: Faults) -> Mapping[str, str]:
    """The tag's grades, one for each secret group in order."""
    found = _GRADES.search(head)
    grades = found[1].split() if found else []
    if grades and len(grades) != len(groups):
        faults.note(f"its tag has {len(grades)} grades for {len(groups)} groups, and is passed over", place)
        return {}
    return dict(zip(groups, grades, strict=False))
