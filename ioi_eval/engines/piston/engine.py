"""The engine for Piston servers: one, or a cluster of them that comes and goes."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from contextlib import AsyncExitStack

import msgspec

from ioi_eval.engines.cluster import (
    SERVERS_FAULT,
    ClusterEngine,
    LateAnswer,
    MemberLeftOut,
    Members,
    NoAnswer,
    Tries,
    now,
)
from ioi_eval.engines.contract import Change, OnServer, Profile, Servers, Staying
from ioi_eval.engines.jobs.carrier import sound
from ioi_eval.engines.piston.contents import (
    HttpEndpoint,
    Patience,
    Sender,
    ServerTimes,
    at_its_pace,
    stages,
)
from ioi_eval.engines.piston.discovery import Discovery
from ioi_eval.engines.piston.probe import Prober, glance
from ioi_eval.engines.piston.profiles import differences, merged, offering, other_runtime, why_not
from ioi_eval.engines.piston.reports import EndpointReport
from ioi_eval.engines.piston.sending import LATE, Tokens, Wire
from ioi_eval.model.errors import EngineError, EngineUnavailable, InputError, ServerReplaced
from ioi_eval.model.job import Job, JobResult
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import Value

_ATTEMPTS = 8
_AT_ONCE = 128  # endpoints that are looked at
_REASONS = 3  # in a message


class PistonEngine(ClusterEngine["_Servers"]):
    """Sends jobs to Piston servers, each to the one with the fewest of ours.

        async with PistonEngine(discovery("http://a:2000,http://b:2000")) as engine:
            result = await engine.execute(job)

    A server's fault is tried again on another one, the job's own is not. Nothing that a job
    prints has a say in it. A fault that stays is AttemptsUsedUp.

    A server that was away, or that replies as another one than was probed, is probed again before it gets
    more jobs. What it replied as another one counts for nothing.
    """

    _kind = "Piston"

    def __init__(
        self,
        discovery: Discovery,
        *,
        per_endpoint: int | None = None,
        total: int | None = None,
        token: str | None = None,
        same_compiler: bool = False,
        attempts: int = _ATTEMPTS,
        patience: Patience | None = None,
        profile: Profile | None = None,
    ) -> None:
        """`per_endpoint`: jobs at a time on each; None: as many as it says, one where it says nothing.

        `same_compiler`: refuse servers whose compilers differ, and leave out what comes later with others.
        `token`: for workers; behind an address, for another server there: "http://judge:2000 TOKEN".
        `profile`: what all endpoints can do, for who knows it; none of them is probed then.
        """
        super().__init__()
        for name, value in (("per_endpoint", per_endpoint), ("total", total), ("attempts", attempts)):
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")
        self._discovery, self._patience = discovery, patience or Patience()
        self._wanted = _Wanted(
            per_endpoint=per_endpoint,
            total=total,
            same_compiler=same_compiler,
            attempts=attempts,
            profile=profile,
        )
        self._token = Secret(token or "")
        Tokens(self._token)  # raises InputError for what is none
        self._least_slots = per_endpoint or 1

    @property
    def reports(self) -> tuple[EndpointReport, ...]:
        """The reports of all endpoints that were probed, by address."""
        found = self._entered().reports
        return tuple(found[url] for url in sorted(found))

    def servers(self) -> Servers:
        reports, left_out = self._entered().reports, self.left_out
        used = [each for each in self.reports if each.reachable and each.url not in left_out]
        return Servers(
            found=len(self.reports),
            slots=self.slots,
            used={report.url: report.findings for report in used},
            left_out=left_out,
            unreachable={url: each.reason for url, each in reports.items() if not each.reachable},
            differences=differences(used),
            standings=tuple(endpoint.standing for endpoint in self.endpoints),
        )

    async def execute(self, job: Job) -> JobResult:
        running = self._entered()
        where = (file.content.at for file in job.files if isinstance(file.content, Staying))
        result: JobResult = await running.execute(job, running.endpoints.get(next(where, "")))
        return result

    async def _open(self, opening: AsyncExitStack) -> _Servers:
        wire = Wire(token=self._token, connect=self._patience.connect)
        await opening.enter_async_context(wire)
        return _Servers(wire, self._discovery, self._wanted, self._patience, lambda event: self.tell(event))


class _Wanted(Value):
    """The use of servers that the user wants."""

    per_endpoint: int | None
    total: int | None
    same_compiler: bool
    attempts: int
    profile: Profile | None  # where the caller knows it


class _Servers(Members[HttpEndpoint]):
    """The servers that the discovery finds, between entering and leaving an engine."""

    def __init__(
        self, wire: Wire, discovery: Discovery, wanted: _Wanted, patience: Patience, tell: OnServer
    ) -> None:
        super().__init__(patience, attempts=wanted.attempts, total=wanted.total, tell=tell)
        self._wire, self._discovery, self._wanted, self._patience = wire, discovery, wanted, patience
        self._sender = Sender(wire, patience)
        self._sendings = dict[_Sending, None]()
        self._prober = _Glances(wire, patience.health) if wanted.profile else Prober(wire)
        self._begun_with: Profile | None = None  # where all compilers are to stay the same
        self._room = asyncio.Semaphore(_AT_ONCE)
        self.reports: dict[str, EndpointReport] = {}
        self.profile = wanted.profile or self.profile
        self.begun = True
        self.spawn(self._watch())

    # --- found and looked at -----------------------------------------------------------------------------

    async def begin(self) -> None:
        """Look at all that is found at first; at least one must be of use."""
        self.found = await self.find()
        if not self.found:
            raise EngineUnavailable(f"no server was found by {self._discovery}")
        there = await self._reachable()
        if self._wanted.profile is None and (used := other_runtime(there)):
            # A runtime may bring compilers of its own: all are looked at in the one that jobs will use.
            there = await self._reachable(used)
        if not there:
            reports = tuple(self._in_order())
            reasons = [report.reason for report in reports]
            remedies = dict.fromkeys(line.remedy for report in reports for line in report.findings)
            more = f"; and {len(reasons) - _REASONS} more" if len(reasons) > _REASONS else ""
            raise EngineUnavailable(
                ". ".join(
                    [f"no server can be used: {'; '.join(reasons[:_REASONS])}{more}", *filter(None, remedies)]
                )
            )
        if self._wanted.same_compiler and (lines := differences(there)):
            what = "; ".join(f"{line.name}: {line.detail}" for line in lines)
            raise InputError(what, where=str(self._discovery), remedy="Give all workers the same image")
        if self._wanted.profile is None:
            chosen = merged(there)
            self.profile = chosen.profile
            self._begun_with = chosen.profile if self._wanted.same_compiler else None
            self.left_out.update(chosen.left_out)
        for report in there:
            if report.url not in self.left_out:
                self.let_in(self._learned(report))
        self.compare(self.found)
        if self._discovery.every is not None:
            self.spawn(self.keep_up(self._discovery.every))

    async def find(self) -> frozenset[str]:
        return await self._discovery.find()

    async def inspect(self, name: str) -> HttpEndpoint:
        report = await self._look_at(name)
        if not report.reachable:
            raise NoAnswer(report.reason)
        if self._wanted.profile is None and (reason := why_not(self.profile, report, self._begun_with)):
            raise MemberLeftOut(reason)
        return self._learned(report)

    async def is_well(self, endpoint: HttpEndpoint, trouble: Change) -> bool:
        if trouble is Change.FULL:
            return (await glance(self._wire, endpoint.url, self._patience.health)).reachable
        return await super().is_well(endpoint, trouble)

    async def _reachable(self, runtimes: Collection[str] = ()) -> list[EndpointReport]:
        await asyncio.gather(*(self._look_at(url, runtimes) for url in self.found))
        return [report for report in self._in_order() if report.reachable]

    def _in_order(self) -> Iterable[EndpointReport]:
        return (self.reports[url] for url in sorted(self.reports))

    async def _look_at(self, url: str, runtimes: Collection[str] = ()) -> EndpointReport:
        async with self._room:
            report = self.reports[url] = await self._prober.probe(url, self.profile.runtimes or runtimes)
        return report

    def _learned(self, report: EndpointReport) -> HttpEndpoint:
        usual = ServerTimes()
        times = ServerTimes(
            compile=report.max_compile_time or self.profile.max_compile_time or usual.compile,
            run=report.max_run_time or self.profile.max_run_time or usual.run,
            strict=report.is_strict,
        )
        endpoint = self.endpoints.get(report.url) or HttpEndpoint(report.url)
        endpoint.learn(report, slots=self._wanted.per_endpoint or report.slots or 1, times=times)
        if report.url in self.endpoints:
            self.offer()
        return endpoint

    def offer(self) -> None:
        self.profile = offering(self.profile, [each.tools for each in self.endpoints.values()])

    # --- jobs --------------------------------------------------------------------------------------------

    def unfit(self, job: Job) -> Collection[HttpEndpoint]:
        offered = ((made, self.profile.offered(command)) for command, made in job.made_for.items())
        if all(tool.identity in made for made, tools in offered for tool in tools):
            return ()
        return [each for each in self.pool.usable if not each.fits(job)]

    async def answer(self, endpoint: HttpEndpoint, job: Job, tries: Tries[HttpEndpoint]) -> JobResult:
        """Return the first good answer: of this server, or of one that was asked beside it."""
        sending = _Sending(endpoint, job, tries)
        self._sendings[sending] = None
        try:
            try:
                async with sending.alone:
                    result: JobResult = await super().answer(endpoint, job, tries)
                    return result
            finally:
                del self._sendings[sending]
        except TimeoutError:
            if endpoint.usable:
                late = f"{endpoint.url} {LATE} to a job that another server did meanwhile"
                self.failed(endpoint, LateAnswer(late))
            assert sending.answer is not None, "only an answer ends it before its time"
            return sending.answer
        except SERVERS_FAULT:
            if sending.beside is not None:
                await asyncio.wait([sending.beside])
            if sending.answer is not None:
                return sending.answer
            raise
        finally:
            if sending.beside is not None and not sending.beside.done():
                sending.beside.cancel()
                await asyncio.wait([sending.beside])

    async def send(self, endpoint: HttpEndpoint, job: Job) -> JobResult:
        report = endpoint.report  # the reply has to be of the server that this is about
        if endpoint.busy == 1:
            endpoint.heard = now()
        asked = at_its_pace(job, endpoint.times)
        result = sound(await self._sender.execute(endpoint, asked, report.identity))
        for ahead in job.ahead:
            if self._sender.wants(endpoint, ahead):
                self.spawn(self._sender.make(endpoint, ahead, report.identity))
        return msgspec.structs.replace(result, toolchains=report.toolchains)

    def _send_beside(self) -> None:
        """Try late jobs on free slots of other servers. The first good answer is the job's."""
        for sending in [each for each in self._sendings if each.is_late(self._patience)]:
            away = [*self.unfit(sending.job), sending.endpoint, *sending.tries.tried]
            if any(each not in away for each in self.pool.usable):
                other = self.pool.spare(away)
                if other is not None:
                    sending.beside = self.spawn(self._beside(sending, other))

    async def _beside(self, sending: _Sending, other: HttpEndpoint) -> None:
        try:
            sending.answer = await super().answer(other, sending.job, sending.tries)
        except EngineError as error:
            sending.tries.failed(other, error)
            sending.beside = None  # another one may be asked
        else:
            if sending in self._sendings:
                sending.alone.reschedule(now())
        finally:
            self.pool.give_back(other)

    async def _watch(self) -> None:
        """Ask those that have jobs and have been silent whether they are there: a job may take long."""
        while True:
            await asyncio.sleep(self._patience.silence / 2)
            silent = now() - self._patience.silence
            quiet = [each for each in self.endpoints.values() if each.busy and each.heard < silent]
            await asyncio.gather(*(self._ask(each) for each in quiet if each.usable))
            self._send_beside()

    async def _ask(self, endpoint: HttpEndpoint) -> None:
        report = await glance(self._wire, endpoint.url, self._patience.health)
        if not endpoint.usable:
            return
        if not report.reachable:
            trouble = Change.SLOW if LATE in report.reason else Change.LOST
            self.let_rest(endpoint, trouble, report.reason)
        elif report.identity.worker != endpoint.report.identity.worker:
            self.let_rest(endpoint, Change.REPLACED, str(ServerReplaced(endpoint.url)))
        else:
            endpoint.heard = now()


class _Glances:
    """A prober for servers whose caller knows what they can do: it looks whether they are there."""

    def __init__(self, wire: Wire, time: float) -> None:
        self._wire, self._time = wire, time

    async def probe(self, url: str, runtimes: Collection[str] = ()) -> EndpointReport:
        return await glance(self._wire, url, self._time)


class _Sending:
    """A job on its server, and on another one beside it where that keeps it waiting too long."""

    def __init__(self, endpoint: HttpEndpoint, job: Job, tries: Tries[HttpEndpoint]) -> None:
        self.endpoint, self.job, self.tries = endpoint, job, tries
        self._began = now()
        self.alone = asyncio.timeout(None)  # ends when the other one has answered
        self.beside: asyncio.Task[None] | None = None
        self.answer: JobResult | None = None

    def is_late(self, patience: Patience) -> bool:
        """Return True for a job alone on a server that is out, or that exceeds all limits of the job."""
        longest = stages(at_its_pace(self.job, self.endpoint.times), self.endpoint.times) / 1000
        late = not self.endpoint.usable or now() - self._began > longest + patience.silence
        return self.beside is None and late
