"""Check, before any build, whether an engine can judge a problem and its submissions."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath

from ioi_eval.engines.contract import Capabilities
from ioi_eval.judge.recipes import CHECKER, GRADER, MANAGER, find_linked_grader_name
from ioi_eval.model.errors import FileEdited, InputError, InterpreterRefused, JudgeFailure, ModuleMissing
from ioi_eval.model.job import SHOW_OR_NAME, Toolchain
from ioi_eval.model.languages import MODULES, Language, find_language, require_supported_packages
from ioi_eval.model.values import Checker, Manager, Problem, TaskType
from ioi_eval.rules.plan import MANAGED_TASK_TYPES, refuse_invalid_problem

# Command of the Python interpreter that must have a benchmark's packages. PyPy need not have them.
PYTHON = "python3"


def refuse_language(problem: Problem, language: Language) -> None:
    """Raise an error unless programs in a language can be judged on a problem.

    Raises:
        JudgeFailure: (final) if programs in this language cannot be judged.
        InputError: if no program can be judged, because the problem is incomplete or contradictory.
    """
    refuse_invalid_problem(problem)
    refuse_unsupported_language(problem, language)


def refuse_unsupported_language(problem: Problem, language: Language) -> None:
    """Raise an error if a language cannot be judged. The problem itself is only partly checked."""
    problem_location = problem.source or problem.id
    if not problem.tests:
        raise InputError(
            f"problem {problem.id!r} has no tests", where=problem_location, remedy="Add them to the problem"
        )
    if problem.task_type is TaskType.FUNCTION:
        if not problem.options.function:
            raise InputError("the problem does not name the function to call", where=problem_location)
        if language.syntax != "python":
            message = f"problem {problem.id} calls a function of a Python submission, not {language.name}"
            raise JudgeFailure(message, phase="preparing", final=True)
    find_linked_grader_name(problem, language)


def refuse_changed_problem_files(problem: Problem, test_names: Collection[str]) -> None:
    """Raise FileEdited if files of the problem have changed since it was read.

    Only the files of these tests are checked, because a problem can have thousands of tests.
    """
    programs = [program for program in (problem.checker, problem.manager, problem.grader) if program]
    sources = (file for program in programs for file in program.sources)
    files = [*problem.grader_files, *problem.included, *sources]
    run_tests = (test for test in problem.tests if test.name in test_names)
    contents = (content for test in run_tests for content in (test.input, test.answer) if content)
    for content in (*contents, *(file.content for file in files)):
        if content.is_stale:
            raise FileEdited(content.path or "a file")


def find_trusted_programs(problem: Problem) -> dict[str, Checker | Manager]:
    """Return the checker, the manager and the grader that a problem needs, by kind.

    A built-in comparison needs no program, and a problem with a manager needs no checker. Raises InputError
    if a needed program has no source.
    """
    has_manager, needed_programs = (
        problem.task_type in MANAGED_TASK_TYPES,
        dict[str, Checker | Manager | None](),
    )
    if problem.checker.kind.is_program and (problem.checker.sources or not has_manager):
        needed_programs[CHECKER] = problem.checker
    if has_manager:
        needed_programs[MANAGER] = problem.manager
    if problem.grader is not None:
        needed_programs[GRADER] = problem.grader
    present_programs = {
        kind: program for kind, program in needed_programs.items() if program is not None and program.sources
    }
    for kind in needed_programs.keys() - present_programs.keys():
        raise InputError(f"the {kind}'s source is missing", where=problem.source or problem.id)
    return present_programs


def find_unmet_needs(
    problem: Problem,
    language: Language | None,
    engine_capabilities: Capabilities,
    builder_capabilities: Capabilities,
    code: str = "",
) -> Iterator[JudgeFailure | InputError]:
    """Yield why an engine cannot judge submissions in a language on a problem.

    There are up to two reasons: about submissions, and about the problem's programs. All
    reasons except a final JudgeFailure can be fixed.

    Args:
        problem: the problem.
        language: the language of submissions. `None` means submissions that are only files.
        engine_capabilities: capabilities of the engine.
        builder_capabilities: capabilities of the engine that builds the problem's own programs.
        code: a trusted solution, whose imports the engine must have.
    """
    if problem.unusable:
        yield JudgeFailure(problem.unusable, phase=f"problem {problem.id}", final=True)
        return
    try:
        if language is None:
            refuse_invalid_problem(problem)
        else:
            refuse_language(problem, language)
            tool, *_ = [
                engine_capabilities.require_tool(tool, f"a submission in {language.name}")
                for tool in language.tools
            ]
            if language.syntax == "python":
                refuse_missing_imports(code, (), tool, "the solution")
    except (InputError, JudgeFailure) as error:
        yield error
    try:
        for kind, program in find_trusted_programs(problem).items():
            command = find_language(program.language, where=problem.source or problem.id, field=kind).command
            refuse_unrunnable_script(program, kind, engine_capabilities) if is_script(
                program
            ) else builder_capabilities.require_tool(command, f"a {kind}")
    except (InputError, JudgeFailure) as error:
        yield error


def is_script(program: Checker | Manager) -> bool:
    """Return True if the program is interpreted and needs no build."""
    return find_language(program.language).syntax == "python"


def has_build_and_run_scripts(program: Checker | Manager) -> bool:
    """Return True if the package has a script `build` that builds the program, and a script `run`."""
    return PurePosixPath(program.sources[0].name).name in ("build", "run")


def refuse_unrunnable_script(
    program: Checker | Manager, program_role: str, capabilities: Capabilities
) -> None:
    """Raise JudgeFailure if a checker or manager in Python cannot start on an engine."""
    tool = capabilities.require_tool(find_language(program.language).command, f"running a {program_role}")
    if has_build_and_run_scripts(program):
        return
    package_modules = {
        PurePosixPath(component).stem
        for file in program.sources
        for component in PurePosixPath(file.name).parts
    }
    refuse_missing_imports(program.sources[0].content.read(), package_modules, tool, f"the {program_role}")


def refuse_missing_imports(
    source: str | bytes, package_modules: Collection[str], tool: Toolchain, subject: str
) -> None:
    """Raise ModuleMissing if a source imports, at its top level, packages that an interpreter lacks.

    Args:
        source: the program.
        package_modules: names of modules that are bundled with the program.
        tool: the interpreter.
        subject: the name of the program in the message: "the checker".
    """
    needed_modules = find_imported_modules(source) & MODULES.keys()
    if tool.modules is not None and (
        missing_modules := sorted(needed_modules - set(package_modules) - set(tool.modules))
    ):
        raise make_missing_modules_failure(missing_modules, tool, subject)


def find_imported_modules(source: str | bytes) -> set[str]:
    """Return the modules that a Python program imports at its top level."""
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    module_names = [alias.name for node in statements if isinstance(node, ast.Import) for alias in node.names]
    module_names += [
        node.module or "" for node in statements if isinstance(node, ast.ImportFrom) and not node.level
    ]
    return {name.partition(".")[0] for name in module_names}


def make_missing_modules_failure(modules: Collection[str], tool: Toolchain, subject: str) -> ModuleMissing:
    """Return the failure of a trusted program that imports packages which its interpreter does not have."""
    return ModuleMissing(
        tuple(modules),
        f"{subject} imports {', '.join(modules)}, which {tool.path} (Python {tool.version}) does not have",
        remedy=_make_install_remedy(modules, tool),
    )


def refuse_disallowed_interpreter(language: Language, capabilities: Capabilities) -> None:
    """Raise InterpreterRefused if the interpreter of a language must not run submissions."""
    tool = capabilities.toolchains.get(language.command)
    if tool is not None and tool.refusal:
        raise InterpreterRefused(tool.refusal, phase="preparing", remedy=SHOW_OR_NAME)


def refuse_missing_packages(
    packages: Collection[str], commands: Collection[str], capabilities: Capabilities
) -> None:
    """Raise InputError if the engine's Python must not run submissions, or lacks promised packages.

    The imports of submissions do not matter, so no submission can cause this error. A server whose packages
    are unknown is accepted.

    Args:
        packages: packages that the benchmark promises to submissions.
        commands: commands of the submissions' toolchains.
        capabilities: capabilities of the engine.
    """
    promised_modules = require_supported_packages(packages)
    for tool in capabilities.list_toolchains(PYTHON) if PYTHON in commands else ():
        if tool.refusal:
            raise InputError(
                tool.refusal, where="the Python interpreter for submissions", remedy=SHOW_OR_NAME
            )
        if tool.modules is not None and (
            missing_modules := [name for name in promised_modules if name not in tool.modules]
        ):
            raise InputError(
                f"submissions may import {', '.join(missing_modules)}, which {tool.path} (Python"
                f" {tool.version})"
                " does not have",
                field="choice.packages",
                remedy=f"{_make_install_remedy(missing_modules, tool)}; packages=none promises nothing,"
                " and what a program then"
                " imports in vain is its runtime error",
            )


def _make_install_remedy(modules: Collection[str], tool: Toolchain) -> str:
    package_names = " ".join(MODULES[name] for name in modules)
    return (
        f"Install {package_names}: {tool.path} -m pip install {package_names}; or, where that is refused,"
        f" python3 -m venv DIR && DIR/bin/pip install {package_names}, and let python=PATH or"
        " IOI_EVAL_PYTHON name DIR/bin/python (`ioi-eval doctor` lists what interpreters have)"
    )
