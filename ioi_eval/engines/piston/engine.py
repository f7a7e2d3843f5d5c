"""The engine for Piston servers: one, or a cluster of them that comes and goes."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Self

import msgspec

from ioi_eval.engines.contract import Change, OnServer, Profile, Servers, ignore
from ioi_eval.engines.jobs.carrier import sound
from ioi_eval.engines.piston.contents import Sender
from ioi_eval.engines.piston.discovery import Discovery
from ioi_eval.engines.piston.members import Members, differences
from ioi_eval.engines.piston.probe import Prober, glance
from ioi_eval.engines.piston.reports import EndpointReport
from ioi_eval.engines.piston.sending import (
    LATE,
    HttpEndpoint,
    LateAnswer,
    NoAnswer,
    Patience,
    Wire,
    at_its_pace,
    rest_after,
    stages,
    wait_before,
)
from ioi_eval.engines.piston.tokens import Tokens
from ioi_eval.engines.pool import Endpoint, Pool, State
from ioi_eval.model.errors import (
    AttemptsUsedUp,
    BrokenReply,
    EngineError,
    EngineOverloaded,
    EngineUnavailable,
    JobRejected,
    ServerReplaced,
    ToolchainGone,
)
from ioi_eval.model.job import Job, JobResult
from ioi_eval.model.secret import Secret

_ATTEMPTS = 8
_NAMED = 4  # servers that a message names
_FAULTS = 3  # in a row; one that does not answer at all has had its chance with the first
_SERVERS_FAULT = (EngineUnavailable, EngineOverloaded, BrokenReply, ServerReplaced)


class PistonEngine:
    """Sends jobs to Piston servers, each to the one with the fewest of ours.

        async with PistonEngine(discovery("http://a:2000,http://b:2000")) as engine:
            result = await engine.execute(job)

    A server's fault is tried again on another one, the job's own is not. Nothing that a job
    prints has a say in it. A fault that stays is AttemptsUsedUp.

    A server that was away, or that replies as another one than was probed, is probed again before it gets
    more jobs. What it replied as another one counts for nothing.
    """

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
        for name, value in (("per_endpoint", per_endpoint), ("total", total), ("attempts", attempts)):
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")
        self._discovery, self._same_compiler, self._attempts = discovery, same_compiler, attempts
        self._per_endpoint, self._total, self._given = per_endpoint, total, profile
        self._patience = patience or Patience()
        self._token = Secret(token or "")
        Tokens(self._token)  # raises InputError for what is none
        self._running: _Running | None = None
        self.tell: OnServer = ignore
        """Hears of servers that are lost, slow, full or back."""

    @property
    def slots(self) -> int:
        """As of now: endpoints come and go. Before the engine is entered, what is certain."""
        return self._running.pool.slots if self._running is not None else self._per_endpoint or 1

    @property
    def reports(self) -> tuple[EndpointReport, ...]:
        """The reports of all endpoints that were probed, by address."""
        found = self._entered().members.reports
        return tuple(found[url] for url in sorted(found))

    @property
    def endpoints(self) -> Sequence[Endpoint]:
        """All that ever got jobs, as they are now."""
        return tuple(self._entered().pool.known.values())

    @property
    def left_out(self) -> Mapping[str, str]:
        """Endpoints that can be reached and get no jobs, and why."""
        return dict(self._entered().members.left_out)

    def servers(self) -> Servers:
        members, left_out = self._entered().members, self.left_out
        used = [each for each in self.reports if each.reachable and each.url not in left_out]
        return Servers(
            found=len(self.reports),
            slots=self.slots,
            used={report.url: report.findings for report in used},
            left_out=left_out,
            unreachable={url: each.reason for url, each in members.reports.items() if not each.reachable},
            differences=differences(used),
            standings=tuple(endpoint.standing for endpoint in self.endpoints),
        )

    async def profile(self) -> Profile:
        profile = self._entered().members.profile
        assert profile is not None, "an engine is entered with a profile"
        return profile

    async def execute(self, job: Job) -> JobResult:
        running = self._entered()
        tries = _Tries(self._attempts, self._patience)
        while True:
            try:
                endpoint = await running.take(job, tries)
            except EngineUnavailable as error:
                out = "".join(f"; {url} is left out: {why}" for url, why in running.members.left_out.items())
                raise AttemptsUsedUp(f"{error}{out}{tries.last_words()}") from error
            try:
                return await running.sent(endpoint, job, tries)
            except _SERVERS_FAULT as error:
                tries.check(error)
            await asyncio.sleep(wait_before(len(tries.tried), self._patience))

    def _entered(self) -> _Running:
        if self._running is None:
            raise EngineUnavailable("the Piston engine works inside `async with` only")
        return self._running

    async def __aenter__(self) -> Self:
        if self._running is not None:
            raise EngineUnavailable("the Piston engine is in use already")
        wire = Wire(token=self._token, connect=self._patience.connect)
        running = _Running(
            wire,
            self._discovery,
            self._patience,
            self._total,
            self._per_endpoint,
            self._given,
            lambda event: self.tell(event),
            same_compiler=self._same_compiler,
        )
        await wire.__aenter__()
        try:
            await running.members.begin()
        except BaseException:
            await running.close()
            raise
        self._running = running
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running.close()


class _Running:
    """The parts of an engine between entering and leaving it."""

    def __init__(
        self,
        wire: Wire,
        discovery: Discovery,
        patience: Patience,
        total: int | None,
        per_endpoint: int | None,
        given: Profile | None,
        tell: OnServer,
        *,
        same_compiler: bool,
    ) -> None:
        self.wire, self._patience = wire, patience
        self._sender = Sender(wire, patience)
        self._tasks = set[asyncio.Task[None]]()
        self._sendings = dict[_Sending, None]()
        self.pool = Pool[HttpEndpoint](total=total, patience=patience.drought, tell=tell)
        inspect = _Glances(wire, patience.health) if given else Prober(wire)
        self.members = Members(
            discovery,
            self.pool,
            patience,
            inspect.probe,
            self._spawn,
            per_endpoint=per_endpoint,
            given=given,
            same_compiler=same_compiler,
        )
        self._spawn(self._watch())

    async def take(self, job: Job, tries: _Tries) -> HttpEndpoint:
        """Return a server that has what the job was made for. Raises ToolchainGone where none has."""
        while True:
            fitting: Collection[HttpEndpoint] = self.pool.usable
            others: list[HttpEndpoint] = []
            if not self.members.all_fit(job):
                fitting = [each for each in self.pool.usable if each.fits(job)]
                others = [each for each in self.pool.usable if not each.fits(job)]
            if self.pool.usable and not fitting:
                raise ToolchainGone(f"no server has the {', '.join(job.made_for)} that a job was made for")
            endpoint = await self.pool.take([*others, *tries.to_avoid(fitting)])
            if endpoint.fits(job):
                return endpoint
            self.pool.give_back(endpoint)  # the others went meanwhile

    async def sent(self, endpoint: HttpEndpoint, job: Job, tries: _Tries) -> JobResult:
        """Return the first good answer: of this server, or of one that was asked beside it."""
        sending = _Sending(endpoint, job, tries)
        self._sendings[sending] = None
        try:
            try:
                async with sending.alone:
                    return await self._send(endpoint, job)
            finally:
                del self._sendings[sending]
        except TimeoutError:
            if endpoint.usable:
                late = f"{endpoint.url} {LATE} to a job that another server did meanwhile"
                self._failed(endpoint, LateAnswer(late))
            assert sending.answer is not None, "only an answer ends it before its time"
            return sending.answer
        except _SERVERS_FAULT as error:
            tries.failed(endpoint, error)
            if sending.beside is not None:
                await asyncio.wait([sending.beside])
            if sending.answer is not None:
                return sending.answer
            raise
        finally:
            self.pool.give_back(endpoint)
            await sending.close()

    def _send_beside(self) -> None:
        """Try late jobs on free slots of other servers. The first good answer is the job's."""
        for sending in [each for each in self._sendings if each.is_late(self._patience)]:
            away = [each for each in self.pool.usable if not each.fits(sending.job)]
            away += [sending.endpoint, *sending.tries.tried]
            if any(each not in away for each in self.pool.usable):
                other = self.pool.spare(away)
                if other is not None:
                    sending.beside = self._spawn(self._beside(sending, other))

    async def _beside(self, sending: _Sending, other: HttpEndpoint) -> None:
        try:
            sending.answer = await self._send(other, sending.job)
        except EngineError as error:
            sending.tries.failed(other, error)
            sending.beside = None  # another one may be asked
        else:
            if sending in self._sendings:
                sending.alone.reschedule(_now())
        finally:
            self.pool.give_back(other)

    async def _send(self, endpoint: HttpEndpoint, job: Job) -> JobResult:
        """Once. How it went is noted before the slot is anybody else's."""
        report = endpoint.report  # the reply has to be of the server that this is about
        if endpoint.busy == 1:
            endpoint.heard = _now()
        try:
            asked = at_its_pace(job, endpoint.times)
            result = sound(await self._sender.execute(endpoint, asked, report.identity))
        except JobRejected:
            self._succeeded(endpoint)  # it answered, and with reason
            raise
        except EngineError as error:
            self._failed(endpoint, error)
            raise
        self._succeeded(endpoint)
        return msgspec.structs.replace(result, toolchains=report.toolchains)

    # --- an endpoint that fails rests, is asked by itself, and then has one job to show for it -----------

    def _succeeded(self, endpoint: HttpEndpoint) -> None:
        endpoint.faults, endpoint.heard = 0, _now()
        if endpoint.state is State.TRIAL:
            endpoint.rests = 0
            self.pool.update(endpoint, State.HEALTHY)
            endpoint.trouble = None
            self.pool.changed(endpoint.url, Change.BACK, endpoint.news)
            endpoint.news = ""

    def _failed(self, endpoint: HttpEndpoint, error: EngineError) -> None:
        endpoint.faults += 1
        endpoint.errors += 1
        endpoint.trials += endpoint.state is State.TRIAL
        endpoint.why = str(error)
        certain = endpoint.state is State.TRIAL or isinstance(error, NoAnswer | ServerReplaced)
        if endpoint.usable and (certain or endpoint.faults >= _FAULTS):
            self._let_rest(endpoint, _trouble(error), str(error))

    def _let_rest(self, endpoint: HttpEndpoint, trouble: Change, reason: str) -> None:
        self.pool.update(endpoint, State.DOWN)
        self._spawn(self._recover(endpoint, trouble))
        if endpoint.trouble is None:
            endpoint.trouble = trouble
            self.pool.changed(endpoint.url, trouble, reason)

    async def _watch(self) -> None:
        """Ask those that have jobs and have been silent whether they are there: a job may take long."""
        while True:
            await asyncio.sleep(self._patience.silence / 2)
            silent = _now() - self._patience.silence
            found = [each for each in self.members.endpoints if each.busy and each.heard < silent]
            await asyncio.gather(*(self._ask(each) for each in found if each.usable))
            self._send_beside()

    async def _ask(self, endpoint: HttpEndpoint) -> None:
        report = await glance(self.wire, endpoint.url, self._patience.health)
        if not endpoint.usable:
            return
        if not report.reachable:
            trouble = Change.SLOW if LATE in report.reason else Change.LOST
            self._let_rest(endpoint, trouble, report.reason)
        elif report.identity.worker != endpoint.report.identity.worker:
            self._let_rest(endpoint, Change.REPLACED, str(ServerReplaced(endpoint.url)))
        else:
            endpoint.heard = _now()

    async def _recover(self, endpoint: HttpEndpoint, trouble: Change) -> None:
        """Wait until a server may have jobs again. One that was away is probed again: it may be another."""
        while endpoint.state is State.DOWN:
            rest = rest_after(endpoint.rests, self._patience)
            endpoint.rests += 1
            await asyncio.sleep(rest)
            if trouble is Change.FULL:
                report = await glance(self.wire, endpoint.url, self._patience.health)
                trouble = trouble if report.reachable else Change.LOST
                is_well = report.reachable
            else:
                is_well = await self.members.is_back(endpoint)
            if is_well and endpoint.state is State.DOWN:
                self.pool.update(endpoint, State.TRIAL)

    # --- what goes on in the background ------------------------------------------------------------------

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)
        return task

    def _over(self, task: asyncio.Task[None]) -> None:
        """Forget a task that ended well. An error is a bug, which leaving the engine raises."""
        if task.cancelled() or task.exception() is None:
            self._tasks.discard(task)

    async def close(self) -> None:
        self.pool.close()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        try:
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            await self.wire.__aexit__(None, None, None)
        for end in ended:
            if isinstance(end, Exception):
                raise end


class _Glances:
    """A prober for servers whose caller knows what they can do: it looks whether they are there."""

    def __init__(self, wire: Wire, time: float) -> None:
        self._wire, self._time = wire, time

    async def probe(self, url: str, runtimes: Collection[str] = ()) -> EndpointReport:
        return await glance(self._wire, url, self._time)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _trouble(error: EngineError) -> Change:
    if isinstance(error, EngineOverloaded):
        return Change.FULL
    if isinstance(error, ServerReplaced):
        return Change.REPLACED
    return Change.SLOW if isinstance(error, LateAnswer) else Change.LOST


class _Sending:
    """A job on its server, and on another one beside it where that keeps it waiting too long."""

    def __init__(self, endpoint: HttpEndpoint, job: Job, tries: _Tries) -> None:
        self.endpoint, self.job, self.tries = endpoint, job, tries
        self._began = _now()
        self.alone = asyncio.timeout(None)  # ends when the other one has answered
        self.beside: asyncio.Task[None] | None = None
        self.answer: JobResult | None = None

    def is_late(self, patience: Patience) -> bool:
        """Return True for a job alone on a server that is out, or that exceeds all limits of the job."""
        longest = stages(at_its_pace(self.job, self.endpoint.times), self.endpoint.times) / 1000
        late = not self.endpoint.usable or _now() - self._began > longest + patience.silence
        return self.beside is None and late

    async def close(self) -> None:
        if self.beside is not None and not self.beside.done():
            self.beside.cancel()
            await asyncio.wait([self.beside])


class _Tries:
    """The tries of one job: where, how often, for how long, and whether that is enough."""

    def __init__(self, attempts: int, patience: Patience) -> None:
        self._left, self._patience = attempts, patience
        self._turned_away: float | None = None  # since when nobody had room
        self._last: EngineError | None = None
        self.tried: list[HttpEndpoint] = []

    def failed(self, endpoint: HttpEndpoint, error: EngineError) -> None:
        """Note a failed attempt. Being turned away is none, and a server's being replaced is none once."""
        self._last, again = error, endpoint in self.tried
        self.tried.append(endpoint)
        if isinstance(error, EngineOverloaded):
            self._turned_away = self._turned_away or _now()
        elif again or not isinstance(error, ServerReplaced):
            self._left -= 1

    def check(self, error: EngineError) -> None:
        """Raise AttemptsUsedUp after too many attempts, or after being turned away for too long."""
        away = _now() - self._turned_away if self._turned_away is not None else 0.0
        if self._left <= 0 or (isinstance(error, EngineOverloaded) and away > self._patience.drought):
            named = list(dict.fromkeys(endpoint.url for endpoint in self.tried))
            where = ", ".join(named[:_NAMED]) + (
                f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
            )
            raise AttemptsUsedUp(
                f"{len(self.tried)} attempts failed, on {where}{self.last_words()}"
            ) from error

    def to_avoid(self, fitting: Collection[HttpEndpoint]) -> list[HttpEndpoint]:
        """Return all that were tried, while there are others; then the last, unless it is the only one."""
        if any(endpoint not in self.tried for endpoint in fitting):
            return self.tried
        return self.tried[-1:] if len(fitting) > 1 else []

    def last_words(self) -> str:
        return f", the last one: {self._last}" if self._last is not None else ""
