"""The builds of the proctor, of checkers, managers and submissions: their sources and commands. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

import msgspec

from ioi_eval.engines.contract import DRIVERS, HEADER, SUBMISSION, WRAPPER, BuildSpec, check_file_names
from ioi_eval.model.errors import InputError, JobRejected, JudgeFailure
from ioi_eval.model.languages import LANGUAGES, Language, find_language
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
from ioi_eval.rules.languages import find_grader, grader_name, list_source_suffixes
from ioi_eval.rules.limits import MAX_SOURCE_BYTES
from ioi_eval.store.compiling import proctor_compiler_arguments

CHECKER, MANAGER, GRADER, PROCTOR = "checker", "manager", "grader", "proctor"
_SCRIPTS = "ioi-eval-scripts.py"
# Suffix of built programs. Without it, a program called checker could collide with a folder of that name.
_PROGRAM = ".out"

# Source code that switches standard output to line buffering, as on a terminal. It includes no header,
# because the submission may define macros that change the declarations in headers.
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
# Pattern for names that are usable as file names, which file systems limit to 255 bytes.
_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,199}")
_SOURCES = frozenset({".h", ".hh", ".hpp", ".hxx", ".inc", ".c", ".cc", ".cpp", ".cxx", ".py"})

# Names of files in a package that are not part of a submission's build, unless the file is its grader.
_JUDGE_FILES = frozenset(
    f"{name}{suffix}" for name in ("manager", "checker", "interactor") for suffix in (".cpp", ".c", ".py")
)


class SubmissionSources:
    """Creates the build specs of submissions to a problem in a language.

    The sources of a build are the grader, the headers, and last the submission. No test is among them.
    """

    def __init__(
        self, problem: Problem, language: Language, limits: BuildLimits, helpers: Iterable[NamedBlob] = ()
    ) -> None:
        """Prepare the parts that all builds share. `helpers`: files of the language (`Language.helper`)."""
        self._problem, self._language, self._limits, self._helpers = problem, language, limits, helpers
        options, included_by_path = problem.options, dict[str, NamedBlob]()
        # The problem's files for submissions. A file for the language replaces the default file of the same
        # name.
        for folder in ("default", language.name):
            for file in problem.included:
                file_folder, _, path = file.name.partition("/")
                if file_folder == folder:
                    included_by_path[path] = NamedBlob(name=f"graders/{path}", content=file.content)
        self._included = tuple(included_by_path.values())
        self._grader = find_linked_grader_name(problem, language)
        self._standard = problem.cpp_standard if language.command == "g++" else ""
        self._prelude = ""
        if language.command in DRIVERS:
            self._prelude = options.prelude + (_LINE_BUFFERED if options.line_buffered else "")
        self._spec_without_files = self._make_spec_without_program(())

    def create_build_spec(self, submission: Submission) -> BuildSpec:
        """Return the build spec of a submission.

        Raises JobRejected for sources that are too large or have invalid names: that is the submission's
        fault, and must not become a failure of the judge.
        """
        spec = (
            self._make_spec_without_program(submission.files)
            if submission.files
            else self._spec_without_files
        )
        code = submission.code or ""
        if self._prelude:
            # Number the lines, so that the compiler's messages refer to lines of the submission.
            code = f"{self._prelude}#line 1\n{code}"
        source_code = code.encode(errors="surrogatepass")
        source_bytes = sum(file.content.size for file in submission.files) + len(source_code)
        if source_bytes > MAX_SOURCE_BYTES:
            raise JobRejected(f"the source has {source_bytes} bytes; the maximum is {MAX_SOURCE_BYTES}")
        sources = (
            (source_code, *(file.content.read() for file in submission.files))
            if self._language.build_code_pattern
            else ()
        )
        return msgspec.structs.replace(
            spec,
            acts=any(re.search(self._language.build_code_pattern.encode(), source) for source in sources),
            sources=(*spec.sources[:-1], NamedBlob(name=spec.main_source.name, content=Blob.of(source_code))),
        )

    def _make_spec_without_program(self, files: Sequence[NamedBlob]) -> BuildSpec:
        """Return the build spec with a submission's files, and with an empty program as its last source."""
        problem, language, grader = self._problem, self._language, self._grader
        other_files = (*self._submission_files(files), *self._included)

        # The main source is in the same folder as the grader's header. It is named after the problem only if
        # a grader may need this name and the id is a valid file name, because some names have a meaning in Go
        # and Pascal.
        suffix, name = list_source_suffixes(language)[0], "graders/submission"
        if language.links_grader:
            default_name = problem.id.lower() if _SAFE_NAME.fullmatch(problem.id) else "submission"
            name = f"graders/{next(iter(problem.options.source_names), default_name)}"
        if any(file.name == name + suffix for file in other_files):
            name += "-main"
        name += suffix
        grader_files = tuple(
            file
            for file in problem.grader_files
            if file.name != name
            and PurePosixPath(file.name).suffix in _SOURCES
            and (PurePosixPath(file.name).name not in _JUDGE_FILES or file.name == grader)
        )
        compiled_names = (
            []
            if language.finds_sources
            else [file.name for file in other_files if _is_compilable(file, language)]
        )
        if grader and language.syntax == "python":  # a grader in Python may import files in its own folder
            compiled_names += [
                file.name for file in grader_files if _is_compilable(file, language) and file.name != grader
            ]
        sources = (*self._helpers, *grader_files, *other_files, NamedBlob(name=name, content=Blob.of("")))
        _refuse_path_conflicts([file.name for file in sources])
        return BuildSpec(
            kind=SUBMISSION,
            output=language.artifact_name,
            command=language.build_command(
                [*([grader] if grader else []), name, *compiled_names],
                language.artifact_name,
                self._standard,
                extra=language.online_flags if problem.options.online_judge else (),
            ),
            sources=sources,
            control=_make_minimal_valid_program(language),
            limits=self._limits,
            refusals=language.refusals,
            precompile=() if files else language.precompile_command(WRAPPER, HEADER, self._standard),
            shared="" if files or language.command not in DRIVERS else grader,
        )

    def _submission_files(self, files: Sequence[NamedBlob]) -> Iterator[NamedBlob]:
        """Yield the files of a submission, except those with the path of a file of the problem."""
        if files and self._problem.task_type is TaskType.FUNCTION:
            raise JobRejected("a function must be in a single source, and this submission has several")
        problem_paths = {file.name for file in (*self._problem.grader_files, *self._included)}
        for file in files:
            path = PurePosixPath(file.name)
            if path.is_absolute() or ".." in path.parts or not path.parts:
                raise JobRejected(f"{file.name!r} is not a valid name of a source")
            if (name := f"graders/{path.as_posix()}") not in problem_paths:
                yield NamedBlob(name=name, content=file.content)


def _refuse_path_conflicts(names: Sequence[str]) -> None:
    """Raise JobRejected if a path is invalid, or is both a file and a folder."""
    check_file_names(names)
    parent_folders = {folder.as_posix() for name in names for folder in PurePosixPath(name).parents}
    for name in sorted(parent_folders.intersection(names)):
        raise JobRejected(f"{name!r} is both a file and a folder")


def make_scripts_build_spec(
    program: Checker | Manager, kind: str, limits: BuildLimits, packer_script: Blob
) -> BuildSpec:
    """Return the build spec of a program with its own build script. It creates an archive for Python.

    Args:
        program: The program, with its scripts `build` and `run` in the folder of its first source.
        kind: The program's role, such as `checker`. The name of the archive starts with it.
        limits: Limits of a submission's build. This build gets more time.
        packer_script: The content of graders/python/scripts.py, which runs `build` and creates the archive.
    """
    helper = NamedBlob(name=_SCRIPTS, content=packer_script)
    main_source, *other_sources = program.sources
    python = find_language("python")
    folder = str(PurePosixPath(main_source.name).parent)
    return BuildSpec(
        kind=kind,
        output=kind + _PROGRAM,
        command=(python.command, "-I", f"./{_SCRIPTS}", kind + _PROGRAM, folder),
        sources=(helper, *other_sources, main_source),
        control=_make_minimal_valid_program(python),
        limits=limits.for_trusted_sources,
    )


def make_trusted_program_spec(
    problem: Problem, program: Checker | Manager, program_role: str, limits: BuildLimits
) -> BuildSpec:
    """Return the build spec of the checker, manager or grader, depending on `program_role`.

    Args:
        problem: The problem, which sets the C++ standard.
        program: The checker, manager or grader, with its sources; the first one is the main source.
        program_role: Such as `checker`, for messages. The name of the build's output starts with it.
        limits: Limits of a submission's build. This build gets more time.
    """
    main_source, *other_sources = program.sources
    language = find_language(program.language, where=problem.source or problem.id, field=program_role)
    compiled_names = [main_source.name, *_list_additional_sources(problem, program, language)]
    return BuildSpec(
        kind=program_role,
        output=program_role + _PROGRAM,
        command=language.build_command(
            compiled_names, program_role + _PROGRAM, problem.cpp_standard if language.command == "g++" else ""
        ),
        sources=(*other_sources, main_source),
        control=_make_minimal_valid_program(language),
        limits=limits.for_trusted_sources,
    )


def _list_additional_sources(problem: Problem, program: Checker | Manager, language: Language) -> list[str]:
    """Return further sources to compile: all sources of an ICPC validator, none of other programs."""
    if program.kind is not CheckerKind.ICPC:
        return []
    submission_paths = {file.name for file in problem.grader_files}
    names = (file.name for file in program.sources[1:] if file.name not in submission_paths)
    return [name for name in names if PurePosixPath(name).suffix in language.suffixes]


def make_proctor_build_spec(sources: Iterable[NamedBlob], limits: BuildLimits) -> BuildSpec:
    """Return the build spec of the proctor (docs/protocol.md) from the C++17 files of graders/proctor."""
    files = tuple(sorted(sources, key=lambda file: file.name))
    compiled_names = [file.name for file in files if file.name.endswith(".cpp")]
    command = ("g++", *proctor_compiler_arguments(compiled_names, PROCTOR))
    return BuildSpec(
        kind=PROCTOR,
        output=PROCTOR,
        command=command,
        sources=files,
        control=_make_minimal_valid_program(find_language("c++")),
        limits=limits.for_trusted_sources,
    )


def _is_compilable(file: NamedBlob, language: Language) -> bool:
    return PurePosixPath(file.name).suffix.lower() in list_source_suffixes(language)


def find_linked_grader_name(problem: Problem, language: Language) -> str:
    """Return the name of the grader that submissions are compiled with, or an empty string without a grader.

    Raises:
        JudgeFailure: (final) if the problem can be solved in other languages only.
        InputError: if the grader is missing in all languages.
    """
    if (reason := problem.left_out.get(language.name)) is not None:
        message = f"problem {problem.id} is not judged in {language.name}: {reason}"
        raise JudgeFailure(message, phase="compiling", final=True)
    if (grader := find_grader(problem, language)) is not None:
        return grader
    if not language.links_grader:
        message = f"problem {problem.id} has a grader, and {language.name} cannot be linked with it"
        raise JudgeFailure(message, final=True)
    grader_stem, grader_file_names = (
        grader_name(problem.task_type),
        {file.name for file in problem.grader_files},
    )
    missing_message = f"there is no {grader_stem}{list_source_suffixes(language)[0]}"
    other_languages = (
        other_language
        for other_language in LANGUAGES
        if other_language.links_grader and other_language.name != language.name
    )
    if any(
        grader_stem + suffix in grader_file_names
        for other_language in other_languages
        for suffix in other_language.suffixes
    ):
        raise JudgeFailure(
            f"problem {problem.id} has no grader in {language.name}: {missing_message}",
            phase="compiling",
            final=True,
        )
    raise InputError(
        f"the problem's grader is missing: {missing_message}",
        where=problem.source or problem.id,
        remedy="Add it to the package",
    )


def _make_minimal_valid_program(language: Language) -> NamedBlob:
    """Return a program that every working compiler of the language accepts."""
    name = f"ioi-eval-control{language.suffixes[0]}"
    return NamedBlob(name=name, content=Blob.of(language.control))
