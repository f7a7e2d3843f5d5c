"""Which endpoints get jobs: one that fails rests, is asked by itself, and then has one job to show for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine

from ioi_eval.engines.piston.endpoints import Condition, Endpoint
from ioi_eval.engines.piston.pool import Pool
from ioi_eval.engines.piston.sending import NoAnswer
from ioi_eval.engines.piston.timing import Patience, rest_after
from ioi_eval.model.errors import EngineError

_FAULTS = 3  # in a row; one that does not answer at all has had its chance with the first


class Health:
    """Told of every answer. `ask` says whether one endpoint answers; `spawn` starts a task."""

    def __init__(
        self,
        pool: Pool,
        patience: Patience,
        ask: Callable[[Endpoint], Awaitable[bool]],
        spawn: Callable[[Coroutine[None, None, None]], None],
    ) -> None:
        self._pool, self._patience, self._ask, self._spawn = pool, patience, ask, spawn

    def succeeded(self, endpoint: Endpoint) -> None:
        endpoint.faults = 0
        if endpoint.condition is Condition.TRIAL:
            endpoint.rests = 0
            self._pool.update(endpoint, Condition.HEALTHY)

    def failed(self, endpoint: Endpoint, error: EngineError) -> None:
        endpoint.faults += 1
        tried = endpoint.condition is Condition.TRIAL
        if endpoint.usable and (tried or isinstance(error, NoAnswer) or endpoint.faults >= _FAULTS):
            self._pool.update(endpoint, Condition.DOWN)
            self._spawn(self._recover(endpoint))

    async def _recover(self, endpoint: Endpoint) -> None:
        while endpoint.condition is Condition.DOWN:
            rest = rest_after(endpoint.rests, self._patience)
            endpoint.rests += 1
            await asyncio.sleep(rest)
            if await self._ask(endpoint) and endpoint.condition is Condition.DOWN:
                self._pool.update(endpoint, Condition.TRIAL)
