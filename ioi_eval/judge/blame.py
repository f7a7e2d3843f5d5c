"""Blame for a failure: two cases in which the judge, or the submission, may be at fault.

A manager breaks on what a submission says: an honest program in its place tells. Otherwise a submission could
choose not to be scored, by saying what no manager was ever tried on.

A Python program fails and imports a package that the judge lacks. Nothing that a program prints or ends with
says so: only what the interpreter finds in its source, and only packages that exist. A name that somebody
made up, and an error that somebody wrote, stay the program's fault.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath

import msgspec

from ioi_eval.engines.contract import Answers, Batch, Built, Engine, Program, Recipe
from ioi_eval.judge.needs import modules_missing
from ioi_eval.judge.programs import Artifacts, Compiled, ProblemPrograms, program
from ioi_eval.model.languages import find
from ioi_eval.model.modules import MODULES
from ioi_eval.model.options import JudgeOptions
from ioi_eval.model.protocol import Line
from ioi_eval.model.values import (
    Blob,
    NamedBlob,
    Problem,
    Solution,
    Submission,
    TaskType,
    TestResult,
    Verdict,
)
from ioi_eval.rules.expectations import must_be_right
from ioi_eval.rules.plan import PlannedTest
from ioi_eval.store.resources import graders


async def tried(engine: Engine, batch: Batch, answers: Answers, partner: Partner | None) -> Answers:
    """The answers, with 0 points where a manager breaks on the submission and not on a right solution."""
    broken = _provoked(batch, answers.lines)
    if not broken or partner is None or (control := await partner.instead_of(batch)) is None:
        return answers
    # A machine that was busy is not busy twice: alone this time.
    again = await engine.judge(_only(batch, broken))
    lines = {**answers.lines, **again.lines}
    if broken := _provoked(batch, again.lines):
        managed = (await engine.judge(_only(control, broken))).lines
        lines |= {name: _blamed(lines[name]) for name in broken if _is_right(managed.get(name))}
    return msgspec.structs.replace(answers, lines=lines)


def _provoked(batch: Batch, lines: Mapping[str, Line]) -> list[str]:
    names = (planned.test.name for planned in batch.tests)
    return [name for name in names if name in lines and lines[name].provoked]


def _only(batch: Batch, names: list[str]) -> Batch:
    tests = tuple(planned for planned in batch.tests if planned.test.name in names)
    return msgspec.structs.replace(batch, tests=tests, alone=True)


def _is_right(line: Line | None) -> bool:
    return line is not None and line.failure is None and line.end == "ok" and line.score > 0


def _blamed(line: Line) -> Line:
    feedback = f"Output isn't correct: {line.failure}, but not with the package's own right solution"
    return msgspec.structs.replace(line, failure=None, provoked=False, end="ok", score=0.0, feedback=feedback)


class Partner:
    """The first solution of the package that must be right, built when somebody asks for it."""

    def __init__(
        self, artifacts: Artifacts, problem: Problem, ours: ProblemPrograms, options: JudgeOptions
    ) -> None:
        self._artifacts, self._problem, self._ours, self._options = artifacts, problem, ours, options

    async def instead_of(self, batch: Batch) -> Batch | None:
        """The batch with that solution in the submission's place; None where there is none that compiles."""
        for solution in self._problem.solutions:
            if solution.code and must_be_right(solution.expected) and not solution.exceptions:
                return await self._with(solution, batch)
        return None

    async def _with(self, solution: Solution, batch: Batch) -> Batch | None:
        problem, language = self._problem, find(solution.language)
        own = Submission(
            key=solution.name,
            problem_id=problem.id,
            code=solution.code,
            language=solution.language,
            files=solution.files,
        )
        built = await self._artifacts.submission(problem, own)
        if not isinstance(built, Built):
            return None
        compiled = Compiled(language=language, built=built)
        limited = msgspec.structs.replace(problem, limits=language.limits(problem.limits))
        honest = program(limited, own, compiled, self._ours, options=self._options)
        return msgspec.structs.replace(batch, problem=limited, program=honest)


# --- packages that are missing -----------------------------------------------------------------------

IMPORTS = "imports"
_SCRIPT = "python/imports.py"


_MISSED = 97  # exit code of a program that comes to the import of a package that is missing
_TRIED_AGAIN = frozenset({TaskType.BATCH, TaskType.FUNCTION})


async def refuse_missing(
    artifacts: Artifacts,
    problem: Problem,
    submission: Submission,
    results: Collection[TestResult],
    options: JudgeOptions,
    taking_part: Program,
) -> None:
    """Raise ModuleMissing where every test that ran failed, and could not have done otherwise.

    A program that fails before it comes to the import has failed of itself. One test shows that: what only a
    run says could be forged, but who forges it needs the import as well.
    """
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
    missing = tuple(name for name in imported if name in lacking)
    if missing and await _comes_to_import(artifacts.engine, problem, results, options, taking_part, missing):
        raise modules_missing(missing, tool)


async def _comes_to_import(
    engine: Engine,
    problem: Problem,
    results: Collection[TestResult],
    options: JudgeOptions,
    taking_part: Program,
    missing: tuple[str, ...],
) -> bool:
    """Run a test that failed once more, with a program that ends with _MISSED instead of such an import."""
    name = find("python").artifact_name
    source = next(file.content for file in taking_part.files if file.name == name).read()
    if problem.task_type not in _TRIED_AGAIN or source.startswith(b"PK"):  # an archive: modules beside it
        return True
    text = (
        "__import__('sys').meta_path.insert(0, type('', (), {'find_spec': staticmethod("
        f"lambda name, *more, leave=__import__('os')._exit: leave({_MISSED}) if name in {missing!r} else None"
        ")}))\n"
        f"exec(compile({source!r}, {name!r}, 'exec', 0, True))\n"
    )
    files = tuple(
        msgspec.structs.replace(file, content=Blob.of(text)) if file.name == name else file
        for file in taking_part.files
    )
    failed = next(result.test_name for result in results if result.status is Verdict.RE)
    test = next(test for test in problem.tests if test.name == failed)
    batch = Batch(
        problem=problem,
        program=msgspec.structs.replace(taking_part, files=files),
        tests=(PlannedTest(test=test, names=(failed,), groups=()),),
        options=options,
    )
    line = (await engine.judge(batch)).lines.get(failed)
    return line is None or line.code == _MISSED


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
        command=(build.tool, "-I", f"./{_SCRIPT}", IMPORTS, *sources),
        sources=(script, *build.sources),
    )
