"""The needs of a problem and of its submissions, and what an engine lacks of them, before any build."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath

from ioi_eval.engines.contract import Capabilities
from ioi_eval.judge.recipes import CHECKER, GRADER, MANAGER, linked_grader
from ioi_eval.model.errors import FileEdited, InputError, InterpreterRefused, JudgeFailure, ModuleMissing
from ioi_eval.model.job import SHOW_OR_NAME, Toolchain
from ioi_eval.model.languages import MODULES, Language, find, known_modules
from ioi_eval.model.values import Checker, Manager, Problem, TaskType
from ioi_eval.rules.plan import MANAGED, refuse_impossible

PYTHON = "python3"  # the interpreter whose packages a benchmark promises; those of PyPy nobody does


def refuse_language(problem: Problem, language: Language) -> None:
    """Raise a final JudgeFailure where no program in a language can be judged on a problem, whatever it does.

    InputError: no program in any language can, because the problem is incomplete or contradicts itself.
    """
    refuse_impossible(problem)
    refuse_untaken(problem, language)


def refuse_untaken(problem: Problem, language: Language) -> None:
    """Do as `refuse_language` for a problem that `refuse_impossible` has let pass."""
    where = problem.source or problem.id
    if not problem.tests:
        raise InputError(
            f"problem {problem.id!r} has no tests", where=where, remedy="Add them to the problem"
        )
    if problem.task_type is TaskType.FUNCTION:
        if not problem.options.function:
            raise InputError("the problem does not say which function", where=where)
        if language.syntax != "python":
            what = f"problem {problem.id} calls a function of a Python submission, not {language.name}"
            raise JudgeFailure(what, phase="preparing", final=True)
    linked_grader(problem, language)


def refuse_edited(problem: Problem, tests: Collection[str]) -> None:
    """Raise FileEdited where files of the problem have changed since it was read: results are of neither.

    `tests`: those that the results are of. Nobody looks at the files of others, which may be thousands.
    """
    programs = [program for program in (problem.checker, problem.manager, problem.grader) if program]
    named = [*problem.grader_files, *problem.included, *(file for each in programs for file in each.sources)]
    asked = (test for test in problem.tests if test.name in tests)
    contents = (content for test in asked for content in (test.input, test.answer) if content)
    for content in (*contents, *(file.content for file in named)):
        if content.is_stale:
            raise FileEdited(content.path or "a file")


def trusted_programs(problem: Problem) -> dict[str, Checker | Manager]:
    """Return the programs that judge a problem's submissions, by kind. InputError where one has no source.

    A comparison that is built in needs none, and a manager's word is enough where there is no checker.
    """
    managed, found = problem.task_type in MANAGED, dict[str, Checker | Manager | None]()
    if problem.checker.kind.is_program and (problem.checker.sources or not managed):
        found[CHECKER] = problem.checker
    if managed:
        found[MANAGER] = problem.manager
    if problem.grader is not None:
        found[GRADER] = problem.grader
    there = {kind: program for kind, program in found.items() if program is not None and program.sources}
    for kind in found.keys() - there.keys():
        raise InputError(f"the problem has no source of its {kind}", where=problem.source or problem.id)
    return there


def lacks(
    problem: Problem, language: Language | None, here: Capabilities, builder: Capabilities, code: str = ""
) -> Iterator[JudgeFailure | InputError]:
    """Yield why no submission in a language, or this solution, can be judged on a problem by an engine.

    At most two: the first of the submission's program, and the first of the problem's own programs.
    `code`: of a solution that is trusted, so that its imports are the judge's to have.
    `here`: the engine's profile; `builder`: that of the engine that builds the problem's own programs.
    `language` is None for submissions of files alone. Only a final JudgeFailure cannot be mended.
    """
    if problem.unusable:
        yield JudgeFailure(problem.unusable, phase=f"problem {problem.id}", final=True)
        return
    try:
        if language is None:
            refuse_impossible(problem)
        else:
            refuse_language(problem, language)
            tool, *_ = [here.tool(tool, f"a submission in {language.name}") for tool in language.tools]
            if language.syntax == "python":
                refuse_imports(code, (), tool, "the solution")
    except (InputError, JudgeFailure) as error:
        yield error
    try:
        for kind, program in trusted_programs(problem).items():
            command = find(program.language, where=problem.source or problem.id, field=kind).command
            refuse_script(program, kind, here) if is_script(program) else builder.tool(command, f"a {kind}")
    except (InputError, JudgeFailure) as error:
        yield error


def is_script(program: Checker | Manager) -> bool:
    """Tell whether a program is run by an interpreter as it is written: nothing is built."""
    return find(program.language).syntax == "python"


def has_scripts(program: Checker | Manager) -> bool:
    """Tell whether a program is built by a script of its own, called `build`, and is what it calls `run`."""
    return PurePosixPath(program.sources[0].name).name in ("build", "run")


def refuse_script(program: Checker | Manager, kind: str, profile: Capabilities) -> None:
    """Raise JudgeFailure for a checker or manager in Python that cannot start on an engine."""
    tool = profile.tool(find(program.language).command, f"running a {kind}")
    if has_scripts(program):
        return
    own = {PurePosixPath(part).stem for file in program.sources for part in PurePosixPath(file.name).parts}
    refuse_imports(program.sources[0].content.read(), own, tool, f"the {kind}")


def refuse_imports(source: str | bytes, own: Collection[str], tool: Toolchain, who: str) -> None:
    """Raise ModuleMissing for packages that an interpreter lacks and that a source cannot start without.

    `own`: modules that lie beside it.
    """
    named = imported(source) & MODULES.keys()
    if tool.modules is not None and (missing := sorted(named - set(own) - set(tool.modules))):
        raise modules_missing(missing, tool, who)


def imported(source: str | bytes) -> set[str]:
    """Return the modules that a Python program cannot start without: its imports at the top level."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names = [alias.name for node in body if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in body if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.partition(".")[0] for name in names}


def modules_missing(modules: Collection[str], tool: Toolchain, who: str) -> ModuleMissing:
    """Return the failure of a trusted program that imports packages which its interpreter does not have."""
    return ModuleMissing(
        tuple(modules),
        f"{who} imports {', '.join(modules)}, which {tool.path} (Python {tool.version}) does not have",
        remedy=_install(modules, tool),
    )


def refuse_interpreter(language: Language, here: Capabilities) -> None:
    """Raise InterpreterRefused if the interpreter of a language judges no submission."""
    tool = here.toolchains.get(language.command)
    if tool is not None and tool.refusal:
        raise InterpreterRefused(tool.refusal, phase="preparing", remedy=SHOW_OR_NAME)


def refuse_promises(packages: Collection[str], commands: Collection[str], here: Capabilities) -> None:
    """Raise InputError if an interpreter of the engine judges no submissions, or lacks promised packages.

    `commands`: the toolchains of the submissions. Nothing that a submission imports matters, so none can
    choose this. Interpreters of servers that do not tell their packages pass.
    """
    promised = known_modules(packages)
    for tool in here.offered(PYTHON) if PYTHON in commands else ():
        if tool.refusal:
            raise InputError(tool.refusal, where="the Python for submissions", remedy=SHOW_OR_NAME)
        if tool.modules is not None and (missing := [name for name in promised if name not in tool.modules]):
            raise InputError(
                f"submissions may count on {', '.join(missing)}, which {tool.path} (Python {tool.version})"
                " does not have",
                field="choice.packages",
                remedy=f"{_install(missing, tool)}; packages=none promises nothing, and what a program then"
                " imports in vain is its runtime error",
            )


def _install(modules: Collection[str], tool: Toolchain) -> str:
    packages = " ".join(MODULES[name] for name in modules)
    return (
        f"Install {packages}: {tool.path} -m pip install {packages}; or, where that is refused,"
        f" python3 -m venv DIR && DIR/bin/pip install {packages}, and let python=PATH or IOI_EVAL_PYTHON name"
        " DIR/bin/python (`ioi-eval doctor` lists what interpreters have)"
    )
