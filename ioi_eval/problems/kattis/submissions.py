"""Read submissions/: the package's solutions and their expected results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from ioi_eval.model.fields import Faults
from ioi_eval.model.text import format_count
from ioi_eval.model.values import Blob, NamedBlob, Solution
from ioi_eval.problems.kattis.expectations import ACCEPTED, ALL_ACCEPTED, ExpectedResults, PackageRules
from ioi_eval.problems.kattis.keys import SCRIPTS
from ioi_eval.problems.package import (
    language_of,
    list_visible_paths,
    note_unsupported_language,
    read_source_text,
)

# Names of submission folders that define an expected result, in the format and in systems that read it.
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
_FIRST_LINES = 100  # number of lines at the start of a source that are searched for tags
_HEADERS = frozenset({".h", ".hh", ".hpp", ".hxx", ".inc"})
# Names of the source that is started, by language. In other languages, all sources are linked.
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
    folder: Path,
    groups: Sequence[str],
    rules: PackageRules,
    faults: Faults,
    *,
    has_points: bool,
    validator_awards_points: bool,
) -> Iterator[Solution]:
    """Yield the package's solutions with their expected results.

    Args:
        folder: The package.
        groups: Names of the secret groups. A tag @EXPECTED_GRADES@ contains one grade for each group.
        rules: The rules of submissions.yaml.
        faults: Receives faults and notes.
        has_points: The problem has points. Otherwise, expected scores are dropped.
        validator_awards_points: The validator awards the points of accepted submissions.
    """
    for path in list_visible_paths((folder / "submissions").glob("*/*")):
        package_path = path.relative_to(folder).as_posix()
        expected = rules.find_expected_results(package_path.removeprefix("submissions/"))
        if path.is_dir():
            program = _read_solution_folder(path, package_path, expected.entrypoint, faults)
        else:
            language = language_of(path.name)
            program = _SolutionSources(language, path, ()) if language else None
            note_unsupported_language(path, package_path, faults)
        if program is not None:
            solution = _make_solution(path, program, groups, package_path, expected, faults)
            # An accepted solution may have any number of points if it passes all tests.
            if validator_awards_points and solution.expected == ACCEPTED:
                solution = replace(solution, expected=ALL_ACCEPTED)
            yield solution if has_points else replace(solution, score=None)


class _SolutionSources(NamedTuple):
    """The source files of one solution."""

    language: str
    main: Path
    further_files: tuple[Path, ...]  # paths of other sources and of headers


def _read_solution_folder(
    path: Path, package_path: str, entrypoint: str, faults: Faults
) -> _SolutionSources | None:
    """Return the sources of a solution that is a folder.

    If they are not one program in one language, add a note and return None.
    """
    files = [file for file in list_visible_paths(path.rglob("*")) if file.is_file()]
    if script_names := sorted(SCRIPTS & {file.relative_to(path).as_posix() for file in files}):
        faults.add_note(
            f"ignored: the format does not support scripts ({', '.join(script_names)}) in submissions",
            package_path,
        )
        return None
    languages = {language_name for file in files if (language_name := language_of(file.name))}
    if len(languages) != 1:
        problem = "sources in several languages" if languages else "no source in a known language"
        faults.add_note(f"ignored: {problem}", package_path)
        return None
    (language,) = languages
    sources = [file for file in files if language_of(file.name)]
    named_sources = (source for source in sources if entrypoint in (source.name, source.stem))
    main_source = next(named_sources, None) or _find_main_source(sources, language, path.name)
    if main_source is None:
        faults.add_note(
            f"ignored: cannot find the main source; call it {_STARTED[language][0]}", package_path
        )
        return None
    further_files = [file for file in files if file in sources or file.suffix.lower() in _HEADERS]
    if not all(file.is_relative_to(main_source.parent) for file in further_files):
        faults.add_note(
            f"ignored: some sources are not in the folder of {main_source.name} or below it", package_path
        )
        return None
    return _SolutionSources(
        language, main_source, tuple(file for file in further_files if file != main_source)
    )


def _find_main_source(sources: Sequence[Path], language: str, folder: str) -> Path | None:
    """Return the source that starts the program: at the top of the folder, by its name. None if unclear."""
    top_level = min(len(source.parts) for source in sources)
    sources_by_stem = {source.stem: source for source in sources if len(source.parts) == top_level}
    if language not in _STARTED or len(sources) == 1:
        return next(iter(sources_by_stem.values()))
    return next(
        (sources_by_stem[stem] for stem in (*_STARTED[language], folder) if stem in sources_by_stem), None
    )


def _make_solution(
    path: Path,
    program: _SolutionSources,
    groups: Sequence[str],
    package_path: str,
    rules: ExpectedResults,
    faults: Faults,
) -> Solution:
    """Return a solution with its expected results, which come from its tags, its folder and the rules."""
    code = read_source_text(program.main)
    source_texts = (code, *map(read_source_text, program.further_files))
    first_lines = "\n".join(line for source in source_texts for line in source.splitlines()[:_FIRST_LINES])
    folder = path.parent.name
    results_match, score_match = _RESULTS.search(first_lines), _SCORE.search(first_lines)
    folder_result = folder if rules.folder_counts and folder in _FOLDERS else ""
    expected_result = results_match[1] if results_match else folder_result
    exceptions = _read_group_grades(first_lines, groups, package_path, faults)
    if not expected_result and not exceptions and not rules.test_keywords and not score_match:
        faults.add_note("no expected result is defined", package_path)
    return Solution(
        name=path.name,
        language=rules.language or program.language,
        code=code,
        expected=expected_result,
        exceptions=exceptions,
        test_keywords=rules.test_keywords,
        score=rules.score or ((float(score_match[1]), float(score_match[1])) if score_match else None),
        files=tuple(
            NamedBlob(name=path.relative_to(program.main.parent).as_posix(), content=Blob.of_file(path))
            for path in program.further_files
        ),
    )


def _read_group_grades(
    first_lines: str, groups: Sequence[str], location: str, faults: Faults
) -> Mapping[str, str]:
    """Return the expected grades by group, from the tag @EXPECTED_GRADES@ in the source's first lines."""
    grades_match = _GRADES.search(first_lines)
    grades = grades_match[1].split() if grades_match else []
    if grades and len(grades) != len(groups):
        faults.add_note(
            f"its tag has {format_count(len(grades), 'grade')} for"
            f" {format_count(len(groups), 'group')}, so it is ignored",
            location,
        )
        return {}
    return dict(zip(groups, grades, strict=False))
