"""The language of a submission: which ones a problem admits, and which one holds where a row names none."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from ioi_eval.model.languages import LANGUAGES, Language, find
from ioi_eval.model.values import LanguageFrom, Problem, TaskType
from ioi_eval.rules.extraction import Extraction, language_of_reply

_GRADERS: Mapping[TaskType, str] = MappingProxyType(
    {TaskType.COMMUNICATION: "graders/stub", TaskType.TWO_STEPS: "graders/manager"}
)


def suffixes(language: Language) -> tuple[str, ...]:
    """The endings of its sources. Modules of Python are found by their ending, whatever runs them."""
    return (".py",) if language.syntax == "python" else language.suffixes


def grader_name(task: TaskType) -> str:
    """Return the name, without its ending, of the source that a task's submissions are compiled with."""
    return _GRADERS.get(task, "graders/grader")


def grader_of(problem: Problem, language: Language) -> str | None:
    """The file that submissions are compiled with: empty where there is none, None where it is missing."""
    if not (problem.options.with_grader or problem.task_type is TaskType.TWO_STEPS):
        return ""
    if not language.links_grader:
        return None
    stem, names = grader_name(problem.task_type), {file.name for file in problem.grader_files}
    return next((stem + suffix for suffix in suffixes(language) if stem + suffix in names), None)


def admitted(problem: Problem) -> tuple[Language, ...]:
    """The languages in which a problem can be solved."""
    there = [language for language in LANGUAGES if language.name not in problem.left_out]
    if problem.task_type is TaskType.FUNCTION:
        return tuple(language for language in there if language.syntax == "python")
    return tuple(language for language in there if grader_of(problem, language) is not None)


class ChosenLanguage(NamedTuple):
    language: str
    source: LanguageFrom


def choose_language(
    problem: Problem,
    *,
    row: str | None = None,
    option: str = "",
    format: str = "",
    reply: str | None = None,
    extraction: Extraction = Extraction.LAST,
    default: str = "c++",
) -> ChosenLanguage:
    """The language of a submission, by the first that tells it.

    `row` and `option` are the user's word. What tells it after them counts only where the problem admits it:
    the format of the dump, the problem's only language, the program in the `reply`. Else it is the default.
    """
    if row:
        return ChosenLanguage(row, LanguageFrom.ROW)
    if option:
        return ChosenLanguage(option, LanguageFrom.OPTION)
    there = {language.name: language for language in admitted(problem)}
    if format in there:
        return ChosenLanguage(format, LanguageFrom.FORMAT)
    only = {"python" if language.syntax == "python" else name for name, language in there.items()}
    if len(only) == 1:
        return ChosenLanguage(only.pop(), LanguageFrom.PROBLEM)
    if reply is not None:
        found = language_of_reply(reply, there.values(), find(default), extraction)
        if found is not None:
            return ChosenLanguage(found.name, LanguageFrom.REPLY)
    return ChosenLanguage(default, LanguageFrom.DEFAULT)
