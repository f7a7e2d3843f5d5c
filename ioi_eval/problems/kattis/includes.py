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
from ioi_eval.store.folder import list_accepted_solutions

# Pattern for calls that start another process. Comments are removed first, so that calls in comments do not
# count.
_PROCESS_CALLS = r"v?fork|posix_spawnp?|popen|system|os\.(?:fork|system|popen|spawn\w+)|subprocess\.\w+"
# Names of the calls that are allowed. The other calls start other programs.
_FORK_CALLS = frozenset({"fork", "os.fork"})
_PROCESS_CALL = re.compile(rf"(?<![\w.>:])(?:(?:std)?::)?({_PROCESS_CALLS})\s*\(")
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/|^\s*#(?!\s*(?:include|define)).*?$", re.DOTALL | re.MULTILINE)


# Names of entry points in languages that start a single source.
_RUNNER_NAMES = frozenset({"main.py", "__main__.py", "main.js"})


class IncludedFile(NamedTuple):
    """A file in include/."""

    path: str  # path of the file in the package
    language: str  # name of the language, or `default` for all languages
    file: NamedBlob  # content of the file, and its path below the folder of its language
    forks: bool  # True if the file starts processes
    # Reason why submissions cannot use the file, and a remedy. Both are empty if they can use it.
    fault: tuple[str, str]


def list_included_files(folder: Path, faults: Faults) -> Iterator[IncludedFile]:
    """Yield the files in include/. It has one folder for each language, and `default` for all languages."""
    for path in list_visible_paths((folder / "include").glob("*/")):
        folder_name = path.name
        language = _find_folder_language(folder_name)
        if not language:
            faults.add_note("ignored: not a supported language", f"include/{folder_name}")
            continue
        for file in list_files(folder, f"include/{folder_name}"):
            relative_path, problem_and_remedy, process_calls = (
                file.name.removeprefix(f"include/{folder_name}/"),
                ("", ""),
                _find_process_calls(file),
            )
            if forbidden_calls := sorted(process_calls - _FORK_CALLS):
                problem = f"it is compiled with submissions and calls {forbidden_calls[0]}"
                problem_and_remedy = problem, "It may fork, but submissions cannot start other programs"
            if relative_path in _RUNNER_NAMES:
                problem = "it would be started instead of the submission, which is not supported"
                problem_and_remedy = problem, "Only files that are compiled with submissions are supported"
            named_blob = NamedBlob(name=f"{language}/{relative_path}", content=file.content)
            yield IncludedFile(
                file.name, language, named_blob, bool(process_calls & _FORK_CALLS), problem_and_remedy
            )


def add_included_files(problem: Problem, files: Sequence[IncludedFile], faults: Faults) -> Problem:
    """Return the problem with the files in include/, and without the languages whose files are unusable.

    At least one accepted solution must remain, because it shows that the package can be solved.
    """
    solved_languages = {solution.language for solution in list_accepted_solutions(problem)}
    unusable_files, reasons_by_language = [file for file in files if any(file.fault)], dict[str, str]()
    for file in files:
        problem_text = "it is compiled with submissions and forks"
        if any(file.fault) or not file.forks:
            continue
        if file.language in (*solved_languages, "default") and solved_languages:
            faults.add_note(
                f"{problem_text}; submissions may have as many processes as accepted solutions need",
                file.path,
            )
            continue
        language_suffix = "" if file.language == "default" else f" in {file.language}"
        remedy = f"Add an accepted solution{language_suffix}, which shows how many processes are needed"
        unusable_files.append(
            file._replace(
                fault=(f"{problem_text}, but the package has no accepted solution{language_suffix}", remedy)
            )
        )
    unusable_languages = {
        language_name
        for file in unusable_files
        for language_name in _list_languages_of_include_folder(file.language)
    }
    for file in unusable_files:
        if "default" in unusable_languages or not solved_languages - unusable_languages:
            faults.report(file.fault[0], file.path, remedy=file.fault[1])
        else:
            faults.add_note(f"{file.language} is excluded: {file.fault[0]}. {file.fault[1]}", file.path)
            for language_name in _list_languages_of_include_folder(file.language):
                reasons_by_language.setdefault(language_name, f"{file.path}: {file.fault[0]}")
    for solution in problem.solutions:
        if solution.language in reasons_by_language:
            faults.add_note(f"ignored: {solution.language} is excluded", f"submissions: {solution.name}")
    used_files = [file for file in files if file.language not in reasons_by_language]
    return replace(
        problem,
        included=tuple(file.file for file in used_files),
        forks_by=tuple(file.file.name for file in used_files if file.forks),
        left_out=reasons_by_language,
        solutions=tuple(item for item in problem.solutions if item.language not in reasons_by_language),
    )


def _list_languages_of_include_folder(folder_language: str) -> tuple[str, ...]:
    """Return the languages that use the folder include/LANGUAGE. PyPy also uses Python's folder."""
    if folder_language == "default":
        return (folder_language,)
    is_python = find_language(folder_language).syntax == "python"
    return (
        tuple(python_language.name for python_language in LANGUAGES if python_language.syntax == "python")
        if is_python
        else (folder_language,)
    )


def _find_folder_language(name: str) -> str:
    """Return the language of a folder of include/, or `default`. An empty string means no known language."""
    try:
        return name if name == "default" else find_language(name).name
    except InputError:
        return ""


def _find_process_calls(file: NamedBlob) -> set[str]:
    """Return the names of the calls in a source that start processes."""
    return set(_PROCESS_CALL.findall(_COMMENTS.sub("", file.content.read().decode(errors="replace"))))
