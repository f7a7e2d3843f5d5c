"""Choose the language of a submission, and list the languages that a problem accepts."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from ioi_eval.model.languages import LANGUAGES, Language, find_language
from ioi_eval.model.values import LanguageFrom, Problem, TaskType
from ioi_eval.rules.extraction import Extraction, detect_reply_language

_GRADERS: Mapping[TaskType, str] = MappingProxyType(
    {TaskType.COMMUNICATION: "graders/stub", TaskType.TWO_STEPS: "graders/manager"}
)


def list_source_suffixes(language: Language) -> tuple[str, ...]:
    """Return the suffixes of a language's source files. Python modules have `.py` for any interpreter."""
    return (".py",) if language.syntax == "python" else language.suffixes


def grader_name(task: TaskType) -> str:
    """Return the name, without suffix, of the source that a task's submissions are compiled with."""
    return _GRADERS.get(task, "graders/grader")


def find_grader(problem: Problem, language: Language) -> str | None:
    """Return the name of the grader with which submissions in a language are compiled.

    An empty string means that the task needs no grader. None means that the task needs a grader, but has no
    grader for this language.
    """
    if not (problem.options.with_grader or problem.task_type is TaskType.TWO_STEPS):
        return ""
    if not language.links_grader:
        return None
    grader_stem, grader_names = grader_name(problem.task_type), {file.name for file in problem.grader_files}
    return next(
        (
            grader_stem + suffix
            for suffix in list_source_suffixes(language)
            if grader_stem + suffix in grader_names
        ),
        None,
    )


def list_allowed_languages(problem: Problem) -> tuple[Language, ...]:
    """Return the languages in which a problem can be solved."""
    languages = [language for language in LANGUAGES if language.name not in problem.left_out]
    if problem.task_type is TaskType.FUNCTION:
        return tuple(language for language in languages if language.syntax == "python")
    return tuple(language for language in languages if find_grader(problem, language) is not None)


class ChosenLanguage(NamedTuple):
    """A submission's language, and the source that named it."""

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
    """Return the language of a submission and its source.

    The sources are asked in the order of the arguments, and the first source with a language decides. `row`
    and `option` always decide. The other sources only decide if the problem accepts their language. After
    `format`, the problem itself decides if it accepts only one language.

    Args:
        problem: the submission's problem.
        row: the language in the dump's row.
        option: the language that the user set for rows without a language.
        format: the language that the format of the dump implies.
        reply: the model's reply; a fence's tag or the program's syntax may show its language.
        extraction: how the program is extracted from the reply.
        default: the language if nothing else decides.
    """
    if row:
        return ChosenLanguage(row, LanguageFrom.ROW)
    if option:
        return ChosenLanguage(option, LanguageFrom.OPTION)
    allowed_languages = {language.name: language for language in list_allowed_languages(problem)}
    if format in allowed_languages:
        return ChosenLanguage(format, LanguageFrom.FORMAT)
    distinct_names = {
        "python" if language.syntax == "python" else name for name, language in allowed_languages.items()
    }
    if len(distinct_names) == 1:
        return ChosenLanguage(distinct_names.pop(), LanguageFrom.PROBLEM)
    if reply is not None:
        reply_language = detect_reply_language(
            reply, allowed_languages.values(), find_language(default), extraction
        )
        if reply_language is not None:
            return ChosenLanguage(reply_language.name, LanguageFrom.REPLY)
    return ChosenLanguage(default, LanguageFrom.DEFAULT)
