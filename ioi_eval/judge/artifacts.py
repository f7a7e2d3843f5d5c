"""Which artifacts judging takes: proctor, checker and manager of a problem, and the submission's program."""

from __future__ import annotations

import msgspec

from ioi_eval.engines import Engine
from ioi_eval.engines.transport.runtimes import toolchain
from ioi_eval.engines.values import Built, Rejected
from ioi_eval.judge.interpreted import is_script, script_of
from ioi_eval.judge.recipes import CHECKER, MANAGER, proctor_recipe, submission_recipe, trusted_recipe
from ioi_eval.model.errors import CheckerBroken, InputError, JudgeFailure, ManagerBroken, ProgramBroken
from ioi_eval.model.languages import Language, find
from ioi_eval.model.options import BuildLimits
from ioi_eval.model.values import (
    Blob,
    Checker,
    JobFile,
    Manager,
    NamedBlob,
    Problem,
    Submission,
    TaskType,
    Value,
)
from ioi_eval.store.resources import graders

_MANAGED = frozenset({TaskType.COMMUNICATION, TaskType.INTERACTIVE})  # somebody answers the submission
_WRITE_IT_IN = "Write it in C++ or Python"


class Trusted(Value):
    """A program that belongs to a problem and judges: its file in a job, and how a plan starts it."""

    file: JobFile
    argv: tuple[str, ...]


class ProblemPrograms(Value):
    """What judges all submissions to a problem; None where it has no such program."""

    proctor: Blob
    checker: Trusted | None
    manager: Trusted | None


class Artifacts:
    """Asks an engine for what is to be built.

    `trusted` builds proctor, checkers and managers instead, where it has the same architecture: what is built
    is static, so it runs on every machine of it.
    """

    def __init__(
        self, engine: Engine, limits: BuildLimits | None = None, *, trusted: Engine | None = None
    ) -> None:
        self.engine, self._other, self._limits = engine, trusted, limits or BuildLimits()

    async def of_problem(self, problem: Problem) -> ProblemPrograms:
        """Everything that does not depend on a submission. Raises `ProgramBroken` before any is judged."""
        return ProblemPrograms(
            proctor=await self.proctor(),
            checker=await self.checker(problem),
            manager=await self.manager(problem),
        )

    async def proctor(self) -> Blob:
        """The engine's own proctor, or one that it builds."""
        engine = await self._for_trusted()
        profile = await engine.profile()
        if profile.proctor is not None:
            return profile.proctor
        built = await engine.build(proctor_recipe(_proctor_sources(), self._limits))
        if isinstance(built, Rejected):
            raise JudgeFailure(f"the proctor does not compile: {built.log}", phase="preparing")
        return built.artifact

    async def checker(self, problem: Problem) -> Trusted | None:
        """The problem's checker; None where the comparison is built in, or the manager's word is enough."""
        sources = problem.checker.sources
        if not problem.checker.kind.is_program or (problem.task_type in _MANAGED and not sources):
            return None
        return await self._trusted(problem, problem.checker, CHECKER)

    async def manager(self, problem: Problem) -> Trusted | None:
        """The program on the other side; None for tasks that have none."""
        if problem.task_type not in _MANAGED:
            return None
        return await self._trusted(problem, problem.manager, MANAGER)

    async def _trusted(self, problem: Problem, program: Checker | Manager | None, kind: str) -> Trusted:
        where = problem.source or problem.id
        if program is None or not program.sources:
            raise InputError(f"the problem has no source of its {kind}", where=where)
        language = find(program.language, where=where, field=kind)
        if is_script(language):
            toolchain(await self.engine.profile(), language.command, f"running a {kind}")
            file = JobFile(name=f"{kind}.py", content=script_of(program))
            return Trusted(file=file, argv=(language.command, file.name))
        if language.run() != (language.artifact_name,):
            raise InputError(f"a {kind} in {language.name} cannot be run", where=where, remedy=_WRITE_IT_IN)
        engine = await self._for_trusted()
        built = await engine.build(trusted_recipe(problem, program, kind, self._limits))
        if isinstance(built, Rejected):
            raise _broken(problem, program, kind, built)
        return Trusted(file=JobFile(name=kind, content=built.artifact, executable=True), argv=(kind,))

    async def submission(self, problem: Problem, submission: Submission) -> Built | Rejected:
        helpers = _helpers(find(submission.language, where=problem.source or problem.id))
        recipe = submission_recipe(problem, submission, self._limits, helpers)
        if not (await self.engine.profile()).confines:
            recipe = msgspec.structs.replace(recipe, proctor=await self.proctor())
        return await self.engine.build(recipe)

    async def _for_trusted(self) -> Engine:
        if self._other is None:
            return self.engine
        here, there = await self._other.profile(), await self.engine.profile()
        return self._other if here.architecture == there.architecture else self.engine


def _broken(problem: Problem, program: Checker | Manager, kind: str, built: Rejected) -> ProgramBroken:
    first = next((line for line in built.log.splitlines() if "error" in line), built.log[:300])
    broken = CheckerBroken if kind == CHECKER else ManagerBroken
    return broken(
        f"the {kind} {program.sources[0].name} does not compile: {first}",
        where=problem.source or problem.id,
        log=built.log,
        remedy=f"Correct it; {built.compiler or 'the compiler'} must take it",
    )


def _helpers(language: Language) -> list[NamedBlob]:
    if not language.helper:
        return []
    return [NamedBlob(name=language.helper, content=Blob.of_file(graders() / language.helper))]


def _proctor_sources() -> list[NamedBlob]:
    folder = graders() / "proctor"
    files = (path for path in folder.iterdir() if path.suffix in {".cpp", ".hpp"})
    return [NamedBlob(name=path.name, content=Blob.of_file(path)) for path in sorted(files)]
