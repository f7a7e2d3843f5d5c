"""Recipes: sources and commands of proctor, checker, manager, submission and header. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

import msgspec

from ioi_eval.engines.contract import DRIVERS, HEADER, SUBMISSION, WRAPPER, BuildSpec, check_names
from ioi_eval.model.errors import InputError, JobRejected, JudgeFailure
from ioi_eval.model.languages import LANGUAGES, Language, find
from ioi_eval.model.options import BuildLimits
from ioi_eval.model.values import (
    Blob,
    Checker,
    CheckerKind,
    Manager,
    NamedBlob,
    Problem,
    Submission,
    TaskType,
)
from ioi_eval.rules.languages import grader_name, grader_of, suffixes
from ioi_eval.rules.limits import MOST_SOURCE
from ioi_eval.store.compiling import proctor_arguments

CHECKER, MANAGER, GRADER, PROCTOR = "checker", "manager", "grader", "proctor"
_SCRIPTS = "ioi-eval-scripts.py"
_PROGRAM = ".out"  # packages have a folder called checker

# Standard output as on a terminal: written at the end of each line, and before standard input is read. It
# includes nothing, so that a source may still say which of a header's names it wants.
_LINE_BUFFERED = """#ifdef __cplusplus
extern "C" {
#endif
extern void *ioi_eval_in __asm__("stdin"), *ioi_eval_out __asm__("stdout");
int ioi_eval_setvbuf(void *, char *, int, unsigned long) __asm__("setvbuf");
__attribute__((constructor)) static void ioi_eval_line_buffered(void) {
  ioi_eval_setvbuf(ioi_eval_in, 0, 1, 0);
  ioi_eval_setvbuf(ioi_eval_out, 0, 1, 0);
}
#ifdef __cplusplus
}
#endif
"""
_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,199}")  # a file's name has at most 255 bytes
_SOURCES = frozenset({".h", ".hh", ".hpp", ".hxx", ".inc", ".c", ".cc", ".cpp", ".cxx", ".py"})

# Files of a package that are no business of a submission's build, unless it is compiled with them.
_JUDGES_OWN = frozenset(
    f"{name}{suffix}" for name in ("manager", "checker", "interactor") for suffix in (".cpp", ".c", ".py")
)


class Sources:
    """The builds of all submissions to a problem in one language; only their own sources are still to come.

    The grader in its language first, then the submission, headers beside them. No test is in it.
    `helpers`: the language's own, see `Language.helper`.
    """

    def __init__(
        self, problem: Problem, language: Language, limits: BuildLimits, helpers: Iterable[NamedBlob] = ()
    ) -> None:
        self._problem, self._language, self._limits, self._helpers = problem, language, limits, helpers
        options, included = problem.options, dict[str, NamedBlob]()
        # The problem's files beside submissions; of its own those for the language replace their namesakes.
        for wanted in ("default", language.name):
            for file in problem.included:
                of, _, rest = file.name.partition("/")
                if of == wanted:
                    included[rest] = NamedBlob(name=f"graders/{rest}", content=file.content)
        self._included = tuple(included.values())
        self._grader = linked_grader(problem, language)
        self._standard = problem.cpp_standard if language.command == "g++" else ""
        self._prelude = ""
        if language.command in DRIVERS:
            self._prelude = options.prelude + (_LINE_BUFFERED if options.line_buffered else "")
        self._usual = self._with(())

    def recipe(self, submission: Submission) -> BuildSpec:
        """Return the build of a submission.

        Raises JobRejected for sources that no compiler can be given: too many bytes, or names of no files.
        A submission has both in its hand, so neither may make the judge fail.
        """
        recipe = self._with(submission.files) if submission.files else self._usual
        text = submission.code or ""
        if self._prelude:
            text = f"{self._prelude}#line 1\n{text}"  # its own lines keep their numbers
        data = text.encode(errors="surrogatepass")
        size = sum(file.content.size for file in submission.files) + len(data)
        if size > MOST_SOURCE:
            raise JobRejected(f"the source has {size} bytes, and {MOST_SOURCE} are the most that is taken")
        texts = (data, *(file.content.read() for file in submission.files)) if self._language.acts else ()
        return msgspec.structs.replace(
            recipe,
            acts=any(re.search(self._language.acts.encode(), each) for each in texts),
            sources=(*recipe.sources[:-1], NamedBlob(name=recipe.main.name, content=Blob.of(data))),
        )

    def _with(self, files: Sequence[NamedBlob]) -> BuildSpec:
        """Return the build with these files of a submission and an empty source, which is the last."""
        problem, language, grader = self._problem, self._language, self._grader
        further = (*self._own(files), *self._included)

        # The main source lies where the grader's header does. An id that is no name of a file gives way, and
        # so does each where no grader names it: to compilers of Go and Pascal some names say more.
        suffix, name = suffixes(language)[0], "graders/submission"
        if language.links_grader:
            usual = problem.id.lower() if _SAFE_NAME.fullmatch(problem.id) else "submission"
            name = f"graders/{next(iter(problem.options.source_names), usual)}"
        if any(file.name == name + suffix for file in further):
            name += "-main"
        name += suffix
        beside = tuple(
            file
            for file in problem.grader_files
            if file.name != name
            and PurePosixPath(file.name).suffix in _SOURCES
            and (PurePosixPath(file.name).name not in _JUDGES_OWN or file.name == grader)
        )
        units = [] if language.finds_sources else [file.name for file in further if _is_unit(file, language)]
        if grader and language.syntax == "python":  # a grader may import what lies beside it
            units += [file.name for file in beside if _is_unit(file, language) and file.name != grader]
        sources = (*self._helpers, *beside, *further, NamedBlob(name=name, content=Blob.of("")))
        _check_places([file.name for file in sources])
        return BuildSpec(
            kind=SUBMISSION,
            output=language.artifact_name,
            command=language.build(
                [*([grader] if grader else []), name, *units],
                language.artifact_name,
                self._standard,
                extra=language.online_flags if problem.options.online_judge else (),
            ),
            sources=sources,
            control=_control(language),
            limits=self._limits,
            refusals=language.refusals,
            precompile=() if files else language.precompile(WRAPPER, HEADER, self._standard),
            shared="" if files or language.command not in DRIVERS else grader,
        )

    def _own(self, files: Sequence[NamedBlob]) -> Iterator[NamedBlob]:
        """Yield a submission's files that the problem has no file in the place of."""
        if files and self._problem.task_type is TaskType.FUNCTION:
            raise JobRejected("a function is called in one source, and this submission has several")
        taken = {file.name for file in (*self._problem.grader_files, *self._included)}
        for file in files:
            path = PurePosixPath(file.name)
            if path.is_absolute() or ".." in path.parts or not path.parts:
                raise JobRejected(f"{file.name!r} is no name of a source")
            if (name := f"graders/{path.as_posix()}") not in taken:
                yield NamedBlob(name=name, content=file.content)


def _check_places(names: Sequence[str]) -> None:
    """Raise JobRejected for files that cannot lie beside each other."""
    check_names(names)
    folders = {folder.as_posix() for name in names for folder in PurePosixPath(name).parents}
    for name in sorted(folders.intersection(names)):
        raise JobRejected(f"{name!r} is a file and a folder at once")


def scripts_recipe(program: Checker | Manager, kind: str, limits: BuildLimits, packer: Blob) -> BuildSpec:
    """Return the build of a program that has scripts of its own: the archive that Python starts it from."""
    helper = NamedBlob(name=_SCRIPTS, content=packer)
    first, *others = program.sources
    python = find("python")
    folder = str(PurePosixPath(first.name).parent)
    return BuildSpec(
        kind=kind,
        output=kind + _PROGRAM,
        command=(python.command, "-I", f"./{_SCRIPTS}", kind + _PROGRAM, folder),
        sources=(helper, *others, first),
        control=_control(python),
        limits=limits.trusted,
    )


def trusted_recipe(problem: Problem, program: Checker | Manager, kind: str, limits: BuildLimits) -> BuildSpec:
    """A checker's or a manager's. `kind` says which."""
    first, *others = program.sources
    language = find(program.language, where=problem.source or problem.id, field=kind)
    units = [first.name, *_further_units(problem, program, language)]
    return BuildSpec(
        kind=kind,
        output=kind + _PROGRAM,
        command=language.build(
            units, kind + _PROGRAM, problem.cpp_standard if language.command == "g++" else ""
        ),
        sources=(*others, first),
        control=_control(language),
        limits=limits.trusted,
    )


def _further_units(problem: Problem, program: Checker | Manager, language: Language) -> list[str]:
    """A validator of the ICPC's kind is all sources of its folder; other programs include what they need."""
    if program.kind is not CheckerKind.ICPC:
        return []
    submissions = {file.name for file in problem.grader_files}
    names = (file.name for file in program.sources[1:] if file.name not in submissions)
    return [name for name in names if PurePosixPath(name).suffix in language.suffixes]


def proctor_recipe(sources: Iterable[NamedBlob], limits: BuildLimits) -> BuildSpec:
    """`sources`: all files of graders/proctor. It is C++17, so that older compilers than ours make it too."""
    files = tuple(sorted(sources, key=lambda file: file.name))
    units = [file.name for file in files if file.name.endswith(".cpp")]
    command = ("g++", *proctor_arguments(units, PROCTOR))
    return BuildSpec(
        kind=PROCTOR,
        output=PROCTOR,
        command=command,
        sources=files,
        control=_control(find("c++")),
        limits=limits.trusted,
    )


def _is_unit(file: NamedBlob, language: Language) -> bool:
    return PurePosixPath(file.name).suffix.lower() in suffixes(language)


def linked_grader(problem: Problem, language: Language) -> str:
    """Return the name of the file that a submission is compiled with; empty where it is compiled alone.

    Raises:
        JudgeFailure: (final) if the package can be used with other languages only.
        InputError: if the grader is missing in every language.
    """
    if (why := problem.left_out.get(language.name)) is not None:
        what = f"problem {problem.id} is not judged in {language.name}: {why}"
        raise JudgeFailure(what, phase="compiling", final=True)
    if (found := grader_of(problem, language)) is not None:
        return found
    if not language.links_grader:
        what = f"problem {problem.id} has a grader, and {language.name} cannot be linked with it"
        raise JudgeFailure(what, final=True)
    stem, names = grader_name(problem.task_type), {file.name for file in problem.grader_files}
    missing = f"there is no {stem}{suffixes(language)[0]}"
    others = (other for other in LANGUAGES if other.links_grader and other.name != language.name)
    if any(stem + suffix in names for other in others for suffix in other.suffixes):
        raise JudgeFailure(
            f"problem {problem.id} has no grader in {language.name}: {missing}", phase="compiling", final=True
        )
    raise InputError(
        f"the problem's grader is missing: {missing}",
        where=problem.source or problem.id,
        remedy="Add it to the package",
    )


def _control(language: Language) -> NamedBlob:
    name = f"ioi-eval-control{language.suffixes[0]}"
    return NamedBlob(name=name, content=Blob.of(language.control))
