"""Find a package's Python programs that cannot run, such as Python 2 programs, without running them."""

from __future__ import annotations

import ast
import builtins
import platform
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import PurePosixPath
from typing import NamedTuple

import msgspec

from ioi_eval.model.languages import LANGUAGES, find_language
from ioi_eval.model.values import NamedBlob, Problem
from ioi_eval.rules.languages import find_grader

_REMEDY = "Write it in Python 3"
# Names of builtins that exist only in Python 2.
_OLD_NAMES = frozenset(
    {"basestring", "execfile", "long", "raw_input", "reduce", "unichr", "unicode", "xrange"}
)
_OLD_MODULES = frozenset(
    {"ConfigParser", "HTMLParser", "Queue", "StringIO", "cPickle", "cStringIO", "commands", "sets", "urllib2"}
)


class Finding(NamedTuple):
    """A file of a package that Python cannot run, or that fails when some statement is reached."""

    file: str
    problem: str  # description of the problem, with Python's error message
    fails: bool  # True if every run of the file fails
    remedy: str = _REMEDY


def find_unrunnable_programs(problem: Problem) -> Iterator[Finding]:
    """Yield the findings about the problem's checker, manager and custom grading, if they are in Python."""
    for program in (problem.checker, problem.manager, problem.grader):
        if program and program.sources and find_language(program.language).syntax == "python":
            yield from _find_program_faults(program.sources)


def remove_broken_graders(problem: Problem) -> tuple[Problem, tuple[Finding, ...]]:
    """Return the problem, and the findings about the grader that starts Python submissions.

    If that grader cannot run and the problem has a grader in another language, Python is excluded from the
    problem.
    """
    grader_name = find_grader(problem, find_language("python"))
    grader = next((file for file in problem.grader_files if grader_name and file.name == grader_name), None)
    submission_modules = problem.options.source_names or (problem.id.lower(),)
    other_files = (file for file in problem.grader_files if file != grader)
    findings = tuple(_find_program_faults((grader, *other_files), submission_modules)) if grader else ()
    failing_finding = next((finding for finding in findings if finding.fails), None)
    other_graders = (find_grader(problem, language) for language in LANGUAGES if language.syntax != "python")
    if failing_finding is None or not any(other_graders):
        return problem, findings
    python_languages = [language.name for language in LANGUAGES if language.syntax == "python"]
    reasons_by_language = dict.fromkeys(
        python_languages, f"{failing_finding.file}: {failing_finding.problem}"
    )
    solutions = tuple(
        solution for solution in problem.solutions if solution.language not in reasons_by_language
    )
    excluded_languages = {**problem.left_out, **reasons_by_language}
    return msgspec.structs.replace(problem, left_out=excluded_languages, solutions=solutions), tuple(
        finding._replace(fails=False) for finding in findings
    )


def _find_program_faults(
    sources: Sequence[NamedBlob], submission_modules: Sequence[str] = ()
) -> Iterator[Finding]:
    """Yield the findings about a program's main source, and about the sources that it mentions.

    Args:
        sources: The program's files; the first one is the main source.
        submission_modules: For a grader of submissions, the names of their modules.
    """
    main_source, *other_sources = sources
    if PurePosixPath(main_source.name).suffix != ".py":  # scripts named build or run start the program
        return
    main_code = main_source.content.read().decode(errors="replace")
    module_names = {
        PurePosixPath(segment).stem for file in sources for segment in PurePosixPath(file.name).parts
    }
    for file in (
        main_source,
        *(source for source in other_sources if PurePosixPath(source.name).suffix == ".py"),
    ):
        if file is main_source or re.search(rf"\b{re.escape(PurePosixPath(file.name).stem)}\b", main_code):
            yield from find_faults_in_source(
                file, module_names, submission_modules if file is main_source else ()
            )


def find_faults_in_source(
    file: NamedBlob, package_modules: Set[str] = frozenset(), submission_modules: Sequence[str] = ()
) -> Iterator[Finding]:
    """Yield the problems in a source file.

    Args:
        file: The source.
        package_modules: Modules that the package contains.
        submission_modules: For a grader of submissions, the names of their modules.
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(file.content.read(), file.name)
            compile(tree, file.name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line_prefix = f"line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        problem = (
            f"Python {platform.python_version()} cannot run it: {line_prefix}{type(error).__name__}: {reason}"
        )
        yield Finding(file.name, problem, fails=True)
        return
    except (RecursionError, MemoryError):
        return
    imported_modules = _list_imported_modules(tree.body)
    for module in sorted((imported_modules & _OLD_MODULES) - package_modules):
        problem = f"Python cannot run it: ModuleNotFoundError: No module named '{module}'"
        yield Finding(file.name, problem, fails=True)
    for module in submission_modules:
        miswritten_names = {
            miswritten_name
            for miswritten_name in imported_modules
            if miswritten_name.lower() == module.lower()
        } - {module}
        for miswritten_name in sorted(miswritten_names):
            problem = f"it imports {miswritten_name}, but the module of submissions is called {module}"
            yield Finding(file.name, problem, fails=True, remedy=f"Import {module}")
    if submission_modules and _list_imported_modules(ast.walk(tree)).isdisjoint(submission_modules):
        problem = f"it has no `import {submission_modules[0]}`, which is the module of submissions"
        yield Finding(file.name, problem, fails=False, remedy="Import it, unless it is loaded in another way")
    if old_names := sorted(_list_unbound_names(tree) & _OLD_NAMES):
        problem = f"it uses {', '.join(old_names)}, which Python 3 does not have: NameError if it reaches one"
        yield Finding(file.name, problem, fails=False)


def _list_imported_modules(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the modules that these statements import."""
    statements = list(nodes)
    module_names = [alias.name for node in statements if isinstance(node, ast.Import) for alias in node.names]
    module_names += [
        node.module or "" for node in statements if isinstance(node, ast.ImportFrom) and not node.level
    ]
    return {module_name.partition(".")[0] for module_name in module_names}


def _list_unbound_names(tree: ast.Module) -> set[str]:
    """Return the names that are read but never set.

    If the program catches NameError, the result is empty because the program handles missing names itself.
    """
    nodes = list(ast.walk(tree))
    name_nodes = [node for node in nodes if isinstance(node, ast.Name)]
    if any(name_node.id == "NameError" for name_node in name_nodes):
        return set()
    bound_names = {name_node.id for name_node in name_nodes if not isinstance(name_node.ctx, ast.Load)} | set(
        dir(builtins)
    )
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound_names.add(node.name)
        elif isinstance(node, ast.arg):
            bound_names.add(node.arg)
        elif isinstance(node, ast.alias):
            bound_names.add((node.asname or node.name).partition(".")[0])
    return {name_node.id for name_node in name_nodes} - bound_names
