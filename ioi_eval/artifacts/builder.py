"""Artifacts: what is compiled once is never compiled again."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from ioi_eval.artifacts.making import Made, Maker
from ioi_eval.artifacts.precompiled import Demand, header_name, serves
from ioi_eval.artifacts.recipes import (
    CHECKER,
    MANAGER,
    header_recipe,
    proctor_recipe,
    submission_recipe,
    trusted_recipe,
)
from ioi_eval.artifacts.runtimes import path_of, shell_runtime
from ioi_eval.artifacts.script import Ending, ending, log_of
from ioi_eval.artifacts.scripts import is_script, script_of
from ioi_eval.artifacts.sharing import Shared
from ioi_eval.artifacts.shelf import Shelf
from ioi_eval.artifacts.shipping import Shipping
from ioi_eval.artifacts.values import (
    BuildOptions,
    Built,
    CheckerBroken,
    ManagerBroken,
    ProgramBroken,
    Recipe,
    Trusted,
)
from ioi_eval.engines import Engine
from ioi_eval.errors import InputError, JudgeFailure
from ioi_eval.languages import Language, find, remedy
from ioi_eval.models import (
    Blob,
    Checker,
    JobFile,
    Manager,
    NamedBlob,
    Problem,
    Profile,
    Submission,
    TaskType,
    Toolchain,
)
from ioi_eval.resources import graders
from ioi_eval.store import Store

_MANAGED = frozenset({TaskType.COMMUNICATION, TaskType.INTERACTIVE})  # somebody answers the submission
_WRITE_IT_IN = "Write it in C++ or Python"
_OTHER_MACHINE = "Run `ioi-eval doctor` to see which compilers the engine has"


class Artifacts:
    """Builds by build jobs on an engine, remembers in a store that processes may share.

    Whoever asks for something that is being built waits for that build. Errors in a source are remembered as
    builds are; time-outs and kills are not. Leaving the context ends what goes on in the background.
    """

    def __init__(
        self,
        engine: Engine,
        store: Store,
        options: BuildOptions | None = None,
        *,
        trusted: Engine | None = None,
    ) -> None:
        """`trusted`: builds proctor, checkers and managers instead, where it has the same architecture."""
        self._options = options or BuildOptions()
        self.shipping = Shipping()
        self._own = Maker(engine, self.shipping, self._options.attempts)
        self._other = Maker(trusted, self.shipping, self._options.attempts) if trusted is not None else None
        self._shelf = Shelf(store)
        self._builds: Shared[Built] = Shared()
        self._demand = Demand(self._options.precompile_after)
        self._background: dict[str, asyncio.Task[Built]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._background.values():
            task.cancel()
        await asyncio.gather(*self._background.values(), return_exceptions=True)
        self._background.clear()
        self._shelf.close()

    @property
    def busy(self) -> bool:
        """Whether something is being made in the background."""
        return any(not task.done() for task in self._background.values())

    # --- what there is to ask for ---

    async def prepare(self, problem: Problem) -> None:
        """Everything that does not depend on a submission. Raises `ProgramBroken` before any is judged."""
        await self.proctor()
        await self.checker(problem)
        await self.manager(problem)

    async def proctor(self) -> Blob:
        """The engine's own proctor, or one that it builds."""
        maker = await self._for_trusted()
        profile = await maker.profile()
        if profile.proctor is not None:
            return profile.proctor
        built = await self._build(maker, proctor_recipe(_proctor_sources(), self._options.limits))
        if built.artifact is None:
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
            tool = toolchain(await self._own.profile(), language.command, f"running a {kind}")
            file = JobFile(name=f"{kind}.py", content=script_of(program))
            return Trusted(file=file, argv=(path_of(tool), file.name))
        if language.run() != (language.artifact_name,):
            raise InputError(f"a {kind} in {language.name} cannot be run", where=where, remedy=_WRITE_IT_IN)
        maker = await self._for_trusted()
        built = await self._build(maker, trusted_recipe(problem, program, kind, self._options.limits))
        if built.artifact is None:
            raise _broken(problem, program, kind, built)
        return Trusted(file=JobFile(name=kind, content=built.artifact, executable=True), argv=(kind,))

    async def submission(self, problem: Problem, submission: Submission) -> Built:
        helpers = _helpers(find(submission.language, where=problem.source or problem.id))
        recipe = submission_recipe(problem, submission, self._options.limits, helpers)
        return await self._build(self._own, recipe)

    async def _for_trusted(self) -> Maker:
        """What it makes is static: it runs on every machine of the architecture."""
        if self._other is None:
            return self._own
        here, there = await self._other.profile(), await self._own.profile()
        return self._other if here.architecture == there.architecture else self._own

    # --- one build ---

    async def _build(self, maker: Maker, recipe: Recipe) -> Built:
        profile = await maker.profile()
        if not profile.takes_paths:
            shell_runtime(profile)  # what cannot start a script has no compilers either, but that is not why
        tool = toolchain(profile, recipe.tool, f"building a {recipe.kind}")
        key = recipe.key(profile.architecture, tool)
        return await self._builds.call(key, lambda: self._find_or_make(maker, key, recipe, tool))

    async def _find_or_make(self, maker: Maker, key: str, recipe: Recipe, tool: Toolchain) -> Built:
        found = await asyncio.to_thread(self._shelf.find, key)
        if found is not None:
            return found
        header = await self._header(maker, recipe)
        made = await maker.make(recipe, tool, header)
        if ending(made.stage, recipe.refusals) is Ending.CRASHED:
            made.discard()
            return await self._second_build(maker, key, recipe, tool)
        return await self._take(key, recipe, made, lasting=True)

    async def _second_build(self, maker: Maker, key: str, recipe: Recipe, tool: Toolchain) -> Built:
        """After a crash of the compiler, without our header. If this fails too, the source is at fault."""
        return await self._take(key, recipe, await maker.make(recipe, tool, None), lasting=False)

    async def _take(self, key: str, recipe: Recipe, made: Made, *, lasting: bool) -> Built:
        end = ending(made.stage, recipe.refusals)
        try:
            if end is Ending.MACHINE:
                raise _machine_at_fault(recipe, made)
            built = Built(
                ok=end is Ending.BUILT,
                log=log_of(made.stage, recipe.limits.log),
                compiler=made.compiler,
                lasting=end is Ending.BUILT or (end is Ending.REFUSED and lasting),
            )
            return await asyncio.to_thread(self._shelf.keep, key, built, made.content)
        finally:
            made.discard()

    # --- precompiled headers ---

    async def _header(self, maker: Maker, recipe: Recipe) -> JobFile | None:
        """The precompiled header for a build, if there is one by now. Making one never holds a build up.

        It is too large to travel with every build.
        """
        profile = await maker.profile()
        if self._options.precompile_after is None or not profile.takes_paths or not serves(recipe):
            return None
        header = header_recipe(recipe)
        key = header.key(profile.architecture, toolchain(profile, header.tool, "building a header"))
        found = await asyncio.to_thread(self._shelf.find, key)
        if found is None:
            self._make_in_background(maker, key, header)
        if found is None or found.artifact is None:
            return None
        return JobFile(name=header_name(recipe), content=found.artifact)

    def _make_in_background(self, maker: Maker, key: str, header: Recipe) -> None:
        if self._demand.pays(key) and key not in self._background:
            task = self._background[key] = asyncio.create_task(self._build(maker, header))
            task.add_done_callback(_look_at)


def _look_at(task: asyncio.Task[Built]) -> None:
    """A header that cannot be made is done without, and not tried again."""
    if not task.cancelled():
        task.exception()


def toolchain(profile: Profile, command: str, purpose: str) -> Toolchain:
    """The engine's own, or a JudgeFailure that says how to get it."""
    tool = profile.toolchains.get(command)
    if tool is None:
        raise JudgeFailure(
            f"engine {profile.name} has no {command}, which {purpose} needs",
            phase="compiling",
            remedy=f"Install {command}{_by(remedy(command))}. {_OTHER_MACHINE}",
        )
    return tool


def _by(command: str) -> str:
    return f": {command}" if command else ""


def _machine_at_fault(recipe: Recipe, made: Made) -> JudgeFailure:
    words = " ".join((made.stage.stderr or made.stage.stdout).split())[:1000]
    return JudgeFailure(
        f"{made.compiler} cannot build an empty program with the flags of this {recipe.kind}: {words}",
        phase="compiling",
        remedy=_OTHER_MACHINE,
    )


def _broken(problem: Problem, program: Checker | Manager, kind: str, built: Built) -> ProgramBroken:
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
