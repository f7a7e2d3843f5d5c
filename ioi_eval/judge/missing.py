"""Python programs that cannot have run because the judge lacks a package that they import.

Nothing that a program prints or ends with says so: only what the interpreter finds in its source, and only
packages that exist. A name that somebody made up, and an error that somebody wrote, stay the program's fault.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import PurePosixPath

import msgspec

from ioi_eval.engines.values import Built, Recipe
from ioi_eval.judge.programs import Artifacts
from ioi_eval.model.errors import ModuleMissing
from ioi_eval.model.job import Toolchain
from ioi_eval.model.languages import find
from ioi_eval.model.modules import MODULES
from ioi_eval.model.options import JudgeOptions
from ioi_eval.model.values import Blob, NamedBlob, Problem, Submission, TestResult, Verdict
from ioi_eval.store.resources import graders

IMPORTS = "imports"
_SCRIPT = "python/imports.py"


async def refuse_missing(
    artifacts: Artifacts,
    problem: Problem,
    submission: Submission,
    results: Iterable[TestResult],
    options: JudgeOptions,
) -> None:
    """Raise ModuleMissing where every test that ran failed, and could not have done otherwise."""
    language = find(submission.language)
    if language.syntax != "python" or options.missing_modules == "re":
        return
    if {result.status for result in results} - {Verdict.SKIPPED} != {Verdict.RE}:
        return
    tool = (await artifacts.engine.profile()).toolchains.get(language.command)
    if tool is None or tool.modules is None:
        return
    recipe = await artifacts.submission_recipe(problem, submission)
    lacking = _named(recipe, set(MODULES) - set(tool.modules))
    if not lacking:
        return
    built = await artifacts.engine.build(_recipe(recipe))
    imported = built.artifact.read().decode().split() if isinstance(built, Built) else []
    if missing := tuple(name for name in imported if name in lacking):
        raise _missing(missing, tool)


def _named(recipe: Recipe, modules: Iterable[str]) -> frozenset[str]:
    """The modules that stand anywhere in the sources, and that these do not bring themselves."""
    own = {PurePosixPath(part).stem for file in recipe.sources for part in PurePosixPath(file.name).parts}
    texts = [file.content.read() for file in recipe.sources]
    return frozenset(
        name for name in modules if name not in own and any(name.encode() in text for text in texts)
    )


def _recipe(build: Recipe) -> Recipe:
    """Lists what the sources of a program import."""
    script = NamedBlob(name=_SCRIPT, content=Blob.of_file(graders() / _SCRIPT))
    sources = [file.name for file in build.sources if file.name in build.command]
    return msgspec.structs.replace(
        build,
        kind=IMPORTS,
        output=IMPORTS,
        tells_program=False,
        command=(build.tool, "-I", f"./{_SCRIPT}", IMPORTS, *sources),
        sources=(script, *build.sources),
    )


def _missing(modules: Collection[str], tool: Toolchain) -> ModuleMissing:
    packages = " ".join(MODULES[name] for name in modules)
    return ModuleMissing(
        tuple(modules),
        f"the program imports {', '.join(modules)}, which {tool.path} (Python {tool.version}) does not have;"
        f" install {packages}, or see --python and --missing-modules",
        remedy=f"Install {packages} for it, or in a virtual environment that --python or IOI_EVAL_PYTHON"
        " names (`ioi-eval doctor` lists what interpreters have). --missing-modules=re scores it as RE",
    )
