"""Builds on one transport: what is compiled once is never compiled again."""

from __future__ import annotations

import asyncio
from typing import Any

from ioi_eval.engines import Transport
from ioi_eval.engines.transport.build_script import Ending, ending, log_of
from ioi_eval.engines.transport.making import Made, Maker
from ioi_eval.engines.transport.precompiled import Demand, header_name, header_recipe, serves
from ioi_eval.engines.transport.runtimes import OTHER_MACHINE, shell_runtime, toolchain
from ioi_eval.engines.transport.shelf import Shelf
from ioi_eval.engines.transport.shipping import Shipping
from ioi_eval.engines.values import SUBMISSION, Built, Recipe, Rejected
from ioi_eval.model.errors import JudgeFailure
from ioi_eval.model.options import BuildOptions
from ioi_eval.model.values import JobFile, Toolchain
from ioi_eval.store import Store
from ioi_eval.store.single_flight import Shared

_ONCE_MORE = frozenset({Ending.CRASHED, Ending.STOPPED, Ending.KILLED})


class Builds:
    """Builds by build jobs and remembers what came of them in a store.

    Whoever asks for something that is being built waits for that build. Errors in a source are remembered as
    builds are; time-outs and kills are not. Closing ends what goes on in the background.
    """

    def __init__(self, transport: Transport, store: Store, options: BuildOptions, shipping: Shipping) -> None:
        self._transport = transport
        self._maker = Maker(transport, shipping, options.attempts)
        self._shelf = Shelf(store)
        self._under_way: Shared[Built | Rejected] = Shared()
        self._demand = Demand(options.precompile_after)
        self._background: dict[str, asyncio.Task[Built | Rejected]] = {}

    async def close(self) -> None:
        for task in self._background.values():
            task.cancel()
        await asyncio.gather(*self._background.values(), return_exceptions=True)
        self._background.clear()
        self._shelf.close()

    @property
    def busy(self) -> bool:
        """Whether something is being made in the background."""
        return any(not task.done() for task in self._background.values())

    async def build(self, recipe: Recipe) -> Built | Rejected:
        profile = await self._transport.profile()
        if not profile.takes_paths:
            shell_runtime(profile)  # what cannot start a script has no compilers either, but that is not why
        tool = toolchain(profile, recipe.tool, f"building a {recipe.kind}")
        key = recipe.key(profile.architecture, tool)
        return await self._under_way.call(key, lambda: self._find_or_make(key, recipe, tool))

    async def _find_or_make(self, key: str, recipe: Recipe, tool: Toolchain) -> Built | Rejected:
        found = await asyncio.to_thread(self._shelf.find, key)
        if found is not None:
            return found
        made = await self._maker.make(recipe, tool, await self._header(recipe), recipe.proctor)
        end = ending(made.stage, recipe.refusals)
        if end not in _ONCE_MORE:
            return await self._take(key, recipe, made, lasting=True)
        made.discard()
        # Once more, without our header. What crashes or is stopped twice is the source's fault.
        alone = end is not Ending.CRASHED
        made = await self._maker.make(recipe, tool, None, recipe.proctor, alone=alone)
        return await self._take(key, recipe, made, lasting=False)

    async def _take(self, key: str, recipe: Recipe, made: Made, *, lasting: bool) -> Built | Rejected:
        end = ending(made.stage, recipe.refusals)
        told: dict[str, Any] = {
            "log": log_of(made.stage, recipe.limits.log),
            "compiler": made.compiler,
            "confinement": made.confinement,
        }
        try:
            if end is Ending.MACHINE:
                raise _machine_at_fault(recipe, made)
            if end is Ending.KILLED or (end is Ending.STOPPED and recipe.kind != SUBMISSION):
                raise _killed(recipe, made)
            if end is Ending.BUILT:
                assert made.content is not None, "a build that ended well made something"
                return await asyncio.to_thread(self._shelf.keep, key, Built(artifact=made.content, **told))
            refused = Rejected(**told, lasting=lasting and end is Ending.REFUSED)
            return await asyncio.to_thread(self._shelf.keep, key, refused) if refused.lasting else refused
        finally:
            made.discard()

    # --- precompiled headers ---

    async def _header(self, recipe: Recipe) -> JobFile | None:
        """The precompiled header for a build, if there is one by now. Making one never holds a build up.

        It is too large to travel with every build.
        """
        profile = await self._transport.profile()
        if not (self._demand.wanted and profile.takes_paths and serves(recipe)):
            return None
        header = header_recipe(recipe)
        key = header.key(profile.architecture, toolchain(profile, header.tool, "building a header"))
        found = await asyncio.to_thread(self._shelf.find, key)
        if found is None and self._demand.pays(key) and key not in self._background:
            task = self._background[key] = asyncio.create_task(self.build(header))
            task.add_done_callback(_look_at)
        return JobFile(name=header_name(recipe), content=found.artifact) if isinstance(found, Built) else None


def _look_at(task: asyncio.Task[Built | Rejected]) -> None:
    """A header that cannot be made is done without, and not tried again."""
    if not task.cancelled():
        task.exception()


def _machine_at_fault(recipe: Recipe, made: Made) -> JudgeFailure:
    words = " ".join((made.stage.stderr or made.stage.stdout).split())[:1000]
    return JudgeFailure(
        f"{made.compiler} cannot build an empty program with the flags of this {recipe.kind}: {words}",
        phase="compiling",
        remedy=OTHER_MACHINE,
    )


def _killed(recipe: Recipe, made: Made) -> JudgeFailure:
    return JudgeFailure(
        f"{made.compiler} was killed or stopped twice while it built a {recipe.kind}, not by the source",
        phase="compiling",
        remedy="Give the machine or the server more memory and time, then run the command again",
    )
