"""Which sources and which command make a proctor, a checker, a submission, a header. No I/O in here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from ioi_eval.artifacts.values import BuildLimits, Recipe
from ioi_eval.errors import InputError, JudgeFailure
from ioi_eval.languages import Language, find
from ioi_eval.models import Blob, NamedBlob, Problem, Submission

CHECKER, PROCTOR, HEADER = "checker", "proctor", "header"
_CHECKER_PROGRAM = "checker.out"  # packages have a folder called checker
TRUSTED_SECONDS = 300.0  # what the proctor, a checker or a header may take: they are built once
GRADER = "graders/grader.cpp"
_WRAPPER = "wrapper.hpp"

_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_SOURCES = frozenset({".h", ".hh", ".hpp", ".hxx", ".inc", ".c", ".cc", ".cpp", ".cxx", ".py"})

# Files of a package that are no business of a submission's build.
_JUDGES_OWN = frozenset({"manager.cpp", "checker.cpp", "interactor.cpp"})


def submission_recipe(
    problem: Problem, submission: Submission, limits: BuildLimits, helpers: Iterable[NamedBlob] = ()
) -> Recipe:
    """The grader first, then the submission, headers beside them. No test of the problem is in it.

    `helpers`: the language's own, see `Language.helper`.
    """
    language = find(submission.language, where=problem.source or problem.id)
    source = NamedBlob(
        name=_source_name(problem, language),
        content=Blob.of((submission.code or "").encode(errors="surrogatepass")),
    )
    beside = tuple(file for file in _beside(problem, language) if file.name != source.name)
    compiled = [GRADER] if _links_grader(problem, language, beside) else []
    standard = _standard(problem, language)
    return Recipe(
        kind="submission",
        output=language.artifact_name,
        command=language.build([*compiled, source.name], language.artifact_name, standard),
        sources=(*helpers, *beside, source),
        control=_control(language),
        limits=limits,
        header=language.header,
        precompile=language.precompile(_WRAPPER, HEADER, standard) if language.precompile_template else (),
    )


def checker_recipe(problem: Problem, limits: BuildLimits) -> Recipe:
    first, *others = problem.checker.sources
    language = find(problem.checker.language, where=problem.source or problem.id, field="checker")
    return Recipe(
        kind=CHECKER,
        output=_CHECKER_PROGRAM,
        command=language.build([first.name], _CHECKER_PROGRAM, _standard(problem, language)),
        sources=(*others, first),
        control=_control(language),
        limits=limits.at_least(TRUSTED_SECONDS),
    )


def proctor_recipe(sources: Iterable[NamedBlob], limits: BuildLimits) -> Recipe:
    """`sources`: all files of graders/proctor. It is C++17, so that older compilers than ours make it too."""
    files = tuple(sorted(sources, key=lambda file: file.name))
    units = [file.name for file in files if file.name.endswith(".cpp")]
    command = ("g++", "-std=c++17", "-O2", "-static", "-s", "-pthread", "-o", PROCTOR, *units)
    return Recipe(
        kind=PROCTOR,
        output=PROCTOR,
        command=command,
        sources=files,
        control=_control(find("c++")),
        limits=limits.at_least(TRUSTED_SECONDS),
    )


def header_recipe(recipe: Recipe) -> Recipe:
    """The big header that a recipe's sources include, precompiled for its flags.

    What is compiled is a file that includes the real one: where the compiler keeps that need not be known.
    """
    wrapper = NamedBlob(name=_WRAPPER, content=Blob.of(f"#include <{recipe.header}>\n"))
    return Recipe(
        kind=HEADER,
        output=HEADER,
        command=recipe.precompile,
        sources=(wrapper,),
        control=recipe.control,
        limits=recipe.limits.at_least(TRUSTED_SECONDS),
    )


def _standard(problem: Problem, language: Language) -> str:
    return problem.cpp_standard if language.links_grader else ""


def _source_name(problem: Problem, language: Language) -> str:
    """`graders/<id>.cpp`, where the grader's header lies; ids that are no names of files give way."""
    stem = problem.id.lower() if _SAFE_NAME.fullmatch(problem.id) else "submission"
    return f"graders/{stem}{language.suffixes[0]}"


def _beside(problem: Problem, language: Language) -> Iterable[NamedBlob]:
    return (
        file
        for file in problem.grader_files
        if PurePosixPath(file.name).suffix in _SOURCES and PurePosixPath(file.name).name not in _JUDGES_OWN
    )


def _links_grader(problem: Problem, language: Language, beside: Iterable[NamedBlob]) -> bool:
    if not problem.options.with_grader:
        return False
    if not language.links_grader:
        raise JudgeFailure(f"problem {problem.id} has a grader, and {language.name} cannot be linked with it")
    if not any(file.name == GRADER for file in beside):
        raise InputError(
            f"the problem's grader is missing: there is no {GRADER}",
            where=problem.source or problem.id,
            remedy="Add it to the package",
        )
    return True


def _control(language: Language) -> NamedBlob:
    name = f"ioi-eval-control{language.suffixes[0]}"
    return NamedBlob(name=name, content=Blob.of(language.control))
