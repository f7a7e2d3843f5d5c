"""Who belongs to the cluster: found, looked at, let in, and let go when it is found no more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence

from ioi_eval.engines.piston.endpoints import Condition, Discovery, Endpoint
from ioi_eval.engines.piston.pool import Pool
from ioi_eval.engines.piston.profiles import differences, joined, merged, why_not
from ioi_eval.engines.piston.reports import EndpointReport
from ioi_eval.engines.piston.timing import Patience, ServerTimes, rest_after
from ioi_eval.engines.values import Profile
from ioi_eval.model.errors import EngineError, EngineUnavailable, InputError

_AT_ONCE = 128  # endpoints that are looked at
_TOLD = 3  # reasons in a message


class Members:
    """Keeps the pool as the discovery says. `inspect` reports on one endpoint and raises nothing."""

    def __init__(
        self,
        discovery: Discovery,
        pool: Pool,
        patience: Patience,
        inspect: Callable[[str], Awaitable[EndpointReport]],
        spawn: Callable[[Coroutine[None, None, None]], None],
        *,
        per_endpoint: int | None,
        given: Profile | None,
    ) -> None:
        self._discovery, self._pool, self._patience = discovery, pool, patience
        self._inspect, self._spawn = inspect, spawn
        self._per_endpoint, self._given = per_endpoint, given
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._found = frozenset[str]()
        self._endpoints: dict[str, Endpoint] = {}
        self.reports: dict[str, EndpointReport] = {}
        self.left_out: dict[str, str] = {}
        self.profile = given

    async def begin(self, *, same_compiler: bool) -> None:
        """Looks at all that is found at first; at least one must be of use."""
        self._found = await self._discovery.find()
        if not self._found:
            raise EngineUnavailable(f"no server was found by {self._discovery}")
        await asyncio.gather(*(self._look_at(url) for url in self._found))
        there = [report for report in self._in_order() if report.reachable]
        if not there:
            raise EngineUnavailable(_nobody(tuple(self._in_order())))
        if same_compiler and (lines := differences(there)):
            what = "; ".join(f"{line.name}: {line.detail}" for line in lines)
            raise InputError(what, where=str(self._discovery), remedy="Give all workers the same image")
        if self._given is None:
            chosen = merged(there)
            self.profile = chosen.profile
            self.left_out.update(chosen.left_out)
        for report in there:
            self._let_in(report)
        for url in sorted(self._found - {report.url for report in there}):
            self._spawn(self._until_there(url))
        if self._discovery.every is not None:
            self._spawn(self._keep_up(self._discovery.every))

    def _in_order(self) -> Iterable[EndpointReport]:
        return (self.reports[url] for url in sorted(self.reports))

    async def _look_at(self, url: str) -> EndpointReport:
        async with self._room:
            report = await self._inspect(url)
        self.reports[url] = report
        return report

    def _let_in(self, report: EndpointReport) -> None:
        assert self.profile is not None, "members begin with a profile"
        if report.url in self.left_out:
            return
        if self._given is None and (reason := why_not(self.profile, report)):
            self.left_out[report.url] = reason
            return
        self.profile = joined(self.profile, report)
        usual = ServerTimes()
        times = ServerTimes(
            compile=report.max_compile_time or self.profile.max_compile_time or usual.compile,
            run=report.max_run_time or self.profile.max_run_time or usual.run,
            strict=report.is_strict,
        )
        endpoint = Endpoint(report.url, self._per_endpoint or report.slots or 1, times)
        self._endpoints[report.url] = endpoint
        self._pool.update(endpoint, Condition.HEALTHY)

    # --- later ---------------------------------------------------------------------------------------

    async def _keep_up(self, every: float) -> None:
        while True:
            await asyncio.sleep(every)
            try:
                found = await self._discovery.find()
            except (EngineError, InputError):
                continue  # workers outlive a scheduler or a name server that is away for a minute
            for url in sorted(self._found - found):
                self._let_go(url)
            new, self._found = found - self._found, found
            for url in sorted(new):
                self._spawn(self._until_there(url))

    def _let_go(self, url: str) -> None:
        self.left_out.pop(url, None)
        if (endpoint := self._endpoints.pop(url, None)) is not None:
            self._pool.update(endpoint, Condition.GONE)

    async def _until_there(self, url: str) -> None:
        """One that is found and cannot be reached may still be starting."""
        rests = 0
        while url in self._found and url not in self._endpoints:
            report = await self._look_at(url)
            if report.reachable and url in self._found:
                self._let_in(report)
                return
            await asyncio.sleep(rest_after(rests, self._patience))
            rests += 1


def _nobody(reports: Sequence[EndpointReport]) -> str:
    reasons = [report.reason for report in reports]
    remedies = dict.fromkeys(line.remedy for report in reports for line in report.findings)
    more = f"; and {len(reasons) - _TOLD} more" if len(reasons) > _TOLD else ""
    return ". ".join([f"no server can be used: {'; '.join(reasons[:_TOLD])}{more}", *filter(None, remedies)])
