"""Read include/: files that submissions are compiled with, by language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import Faults
from ioi_eval.model.languages import LANGUAGES, find_language
from ioi_eval.model.values import NamedBlob, Problem
from ioi_eval.problems.package import list_files, list_visible_paths
from ioi_eval.store.folder import accepted_solutions

# Pattern for calls that start another process. Comments are removed first, so that calls in comments do not
# count.
_PROCESS_CALLS = r"v?fork|posix_spawnp?|popen|system|os\.(?:fork|system|popen|spawn\w+)|subprocess\.\w+"
# Calls that are allowed, with a limit on processes. The other calls start other programs.
_FORK_CALLS = frozenset({"fork", "os.fork"})
_PROCESS_CALL = re.compile(rf"(?<![\w.>:])(?:(?:std)?::)?({_PROCESS_CALLS})\s*\(")
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/|^\s*#(?!\s*(?:include|define)).*?$", re.DOTALL | re.MULTILINE)


# Names of entry points in languages that start a single source.
_RUNNER_NAMES = frozenset({"main.py", "__main__.py", "main.js"})


class IncludedFile(NamedTuple):
    """A file in include/."""

    path: str  # path of the file in the package
    language: str  # or `default`
    file: NamedBlob  # content of the file; the name of the blob starts with ioi_eval's name of the language
    forks: bool
    # Reason why submissions cannot use the file, and the remedy; both are empty if they can use it.
    fault: tuple[str, str]


def list_included_files(folder: Path, faults: Faults) -> Iterator[IncludedFile]:
    """Yield the files in include/. It has one folder for each language, and `default` for all languages."""
    for path in list_visible_paths((folder / "include").glob("*/")):
        name = path.name
        language = _language_of_folder(name)
        if not language:
            faults.add_note("ignored: not a supported language", f"include/{name}")
            continue
        for file in list_files(folder, f"include/{name}"):
            relative_path, fault, calls = (
                file.name.removeprefix(f"include/{name}/"),
                ("", ""),
                _find_process_calls(file),
            )
            if forbidden_calls := sorted(calls - _FORK_CALLS):
                problem = f"it is compiled with submissions and calls {forbidden_calls[0]}"
                fault = problem, "It may fork, but submissions cannot start other programs"
            if relative_path in _RUNNER_NAMES:
                problem = "it would be started instead of the submission, which is not supported"
                fault = problem, "Only files that are compiled with submissions are supported"
            blob = NamedBlob(name=f"{language}/{relative_path}", content=file.content)
            yield IncludedFile(file.name, language, blob, bool(calls & _FORK_CALLS), fault)


def add_included_files(problem: Problem, files: Sequence[IncludedFile], faults: Faults) -> Problem:
    """Return the problem with the files in include/, and without the languages whose files are unusable.

    At least one accepted solution must remain, because it shows that the package can be solved.
    """
    solved_languages = {solution.language for solution in accepted_solutions(problem)}
    unusable, reasons = [file for file in files if any(file.fault)], dict[str, str]()
    for file in files:
        sentence = "it is compiled with submissions and forks"
        if any(file.fault) or not file.forks:
            continue
        if file.language in (*solved_languages, "default") and solved_languages:
            faults.add_note(
                f"{sentence}; submissions may have as many processes as accepted solutions need", file.path
            )
            continue
        in_language = "" if file.language == "default" else f" in {file.language}"
        remedy = f"Add an accepted solution{in_language}, which shows how many processes are needed"
        unusable.append(
            file._replace(
                fault=(f"{sentence}, but the package has no accepted solution{in_language}", remedy)
            )
        )
    unusable_languages = {name for file in unusable for name in _list_languages_using(file.language)}
    for file in unusable:
        if "default" in unusable_languages or not solved_languages - unusable_languages:
            faults.report(file.fault[0], file.path, remedy=file.fault[1])
        else:
            faults.add_note(f"{file.language} is excluded: {file.fault[0]}. {file.fault[1]}", file.path)
            for name in _list_languages_using(file.language):
                reasons.setdefault(name, f"{file.path}: {file.fault[0]}")
    for solution in problem.solutions:
        if solution.language in reasons:
            faults.add_note(f"ignored: {solution.language} is excluded", f"submissions: {solution.name}")
    used_files = [file for file in files if file.language not in reasons]
    return replace(
        problem,
        included=tuple(file.file for file in used_files),
        forks_by=tuple(file.file.name for file in used_files if file.forks),
        left_out=reasons,
        solutions=tuple(item for item in problem.solutions if item.language not in reasons),
    )


def _list_languages_using(language: str) -> tuple[str, ...]:
    """Return the languages that use a folder of include/. PyPy also uses Python's folder."""
    if language == "default":
        return (language,)
    python = find_language(language).syntax == "python"
    return tuple(item.name for item in LANGUAGES if item.syntax == "python") if python else (language,)


def _language_of_folder(name: str) -> str:
    """Return the language of a folder of include/, or `default`. An empty string means no known language."""
    try:
        return name if name == "default" else find_language(name).name
    except InputError:
        return ""


def _find_process_calls(file: NamedBlob) -> set[str]:
    """Return the names of the calls in a source that start processes."""
    return set(_PROCESS_CALL.findall(_COMMENTS.sub("", file.content.read().decode(errors="replace"))))
