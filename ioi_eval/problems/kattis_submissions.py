"""The submissions of a package in the ICPC's format, and what their authors expect of them.

Their folder says it, or tags in their first lines; in younger versions also submissions.yaml, by patterns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import find
from ioi_eval.model.values import Blob, NamedBlob, Said, Solution
from ioi_eval.problems.fields import Faults, Fields, read_mapping, shown
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


# --- what is expected --------------------------------------------------------------------------------

FILE = "submissions/submissions.yaml"
_VERDICTS = ("AC", "WA", "TLE", "RTE")
_RULES = ("permitted", "required")
_HEEDED = frozenset({*_RULES, "score", "language", "entrypoint"})
_PASSED_OVER = frozenset({"authors", "model_solution", "use_for_time_limit"})
_MESSAGE = "message"  # what judges were told is not compared
# Folders that the format defines, and that no verdict's name is: their rules.
_DEFAULTS: Mapping[str, Any] = {
    "brute_force": {"permitted": ["AC", "RTE", "TLE"], "required": ["RTE", "TLE"]}
}


class Expected(NamedTuple):
    """A file's words on one submission."""

    said: tuple[Said, ...] = ()
    score: tuple[float, float] | None = None
    language: str = ""
    entrypoint: str = ""
    folder_counts: bool = True  # whether its folder's name says something, too


class Rules:
    """The rules of a package, each fault in them noted once."""

    def __init__(self, folder: Path, tests: Sequence[str], faults: Faults, *, new: bool) -> None:
        self._tests = tests
        own = (read_mapping(folder, FILE, faults) or {}) if new and (folder / FILE).is_file() else {}
        values = {**(_DEFAULTS if new else {}), **own}
        self._by_pattern = {
            pattern: self._read(Fields(values, FILE, faults).inner(pattern), faults) for pattern in values
        }

    def of(self, place: str) -> Expected:
        """`place` is below submissions/: accepted/best.py."""
        found = [one for pattern, one in self._by_pattern.items() if _matches(pattern, place)]
        return Expected(
            said=tuple(said for one in found for said in one.said),
            score=next((one.score for one in found if one.score), None),
            language=next((one.language for one in found if one.language), ""),
            entrypoint=next((one.entrypoint for one in found if one.entrypoint), ""),
            folder_counts=place.split("/")[0] not in self._by_pattern,
        )

    def _read(self, fields: Fields, faults: Faults) -> Expected:
        said = list(self._rules(fields, "", self._tests))
        for key, value in fields.values.items():
            if isinstance(value, dict) and key not in _HEEDED:
                said += self._of_tests(fields.inner(key), key, faults)
            elif key == _MESSAGE:
                faults.note(f"{key} is not compared", FILE)
            elif key not in _HEEDED | _PASSED_OVER:
                fields.fault(key, "not understood", f"Expected {', '.join(sorted(_HEEDED))}, or a group")
        return Expected(tuple(said), _score(fields), _language(fields), fields.text("entrypoint", ""))

    def _of_tests(self, fields: Fields, pattern: str, faults: Faults) -> Iterator[Said]:
        tests = [name for name in self._tests if _matches(pattern, name)]
        if not tests:
            faults.note(f"{pattern} matches no test", FILE)
            return
        for key in fields.values:
            if key in ("score", _MESSAGE):
                faults.note(f"{key} of {pattern} is not compared", FILE)
            elif key not in (*_RULES, *_PASSED_OVER):
                fields.fault(key, "not understood", f"Expected {' or '.join(_RULES)}")
        yield from self._rules(fields, pattern, tests)

    def _rules(self, fields: Fields, scope: str, tests: Sequence[str]) -> Iterator[Said]:
        for rule in _RULES:
            if fields.has(rule):
                verdicts = fields.texts(rule)
                if not verdicts or not set(_VERDICTS).issuperset(verdicts):
                    words = f"{shown(fields.values[rule])} is not a list of verdicts"
                    fields.fault(rule, words, f"Expected some of {', '.join(_VERDICTS)}")
                yield Said(subtask=scope, word=" ".join((rule, *verdicts)), tests=tuple(tests))


def _score(fields: Fields) -> tuple[float, float] | None:
    """A number, or a list of the least and the most."""
    said = fields.values.get("score")
    if said is None:
        return None
    ends = said if isinstance(said, list) else [said, said]
    numbers = [float(end) for end in ends if isinstance(end, int | float) and not isinstance(end, bool)]
    if len(ends) == len(numbers) == 2:
        return numbers[0], numbers[1]
    fields.fault("score", f"{shown(said)} is not a score", "Expected a number, or a list of two")
    return None


def _language(fields: Fields) -> str:
    name = fields.text("language", "")
    try:
        return find(name).name if name else ""
    except InputError as error:
        fields.fault("language", error.problem, error.remedy)
        return ""


def _matches(pattern: str, name: str) -> bool:
    """Whether a pattern matches a name or a folder around it; `*` does not cross folders."""
    return any(re.fullmatch(rf"{_expression(one)}(/.*)?", name, re.DOTALL) for one in _spelled_out(pattern))


def _expression(pattern: str) -> str:
    return "[^/]*".join(map(re.escape, pattern.rstrip("/").split("*")))


def _spelled_out(pattern: str) -> Iterator[str]:
    """`{a,b}.py` is a.py and b.py."""
    braces = re.search(r"\{([^{}]*)\}", pattern)
    if braces is None:
        yield pattern
        return
    for word in braces[1].split(","):
        yield from _spelled_out(pattern[: braces.start()] + word + pattern[braces.end() :])
