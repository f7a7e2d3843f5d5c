"""The engine for Piston servers: one, or a cluster of them that comes and goes.

Contents that a server keeps by their hashes travel once. A server that keeps none, or has no room for more,
is sent everything with each job.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from secrets import token_hex
from time import monotonic
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from ioi_eval.engines.cluster import (
    SERVERS_FAULT,
    AnswerRefused,
    ClusterEngine,
    Endpoint,
    LateAnswer,
    MemberLeftOut,
    Members,
    NoAnswer,
    Tries,
    Waits,
    now,
)
from ioi_eval.engines.contract import (
    BASH,
    OWN,
    ArtifactsLost,
    Change,
    Check,
    Far,
    OnServer,
    Profile,
    Servers,
    Staying,
)
from ioi_eval.engines.jobs.build import hidden
from ioi_eval.engines.jobs.headers import MAX_HEADERS, Demand
from ioi_eval.engines.jobs.piston_api import BODY, LACKS_CONTENT, LacksContents, error_of
from ioi_eval.engines.jobs.run import sound
from ioi_eval.engines.open_files import raise_open_files
from ioi_eval.engines.piston.discovery import Discovery
from ioi_eval.engines.piston.probe import Prober, glance
from ioi_eval.engines.piston.reports import (
    SHELLS,
    EndpointReport,
    asked_for,
    contradicts,
    differences,
    merged,
    offering,
    why_not,
)
from ioi_eval.engines.piston.sending import API, LATE, Identity, Request, Tokens, Wire, request_of
from ioi_eval.engines.piston.uses import Uses, uses
from ioi_eval.engines.threads import to_its_end
from ioi_eval.model.doing import log_step
from ioi_eval.model.errors import (
    EngineError,
    EngineOverloaded,
    EngineUnavailable,
    InputError,
    JobRejected,
    JobTooLarge,
    ServerReplaced,
    ungrouped,
)
from ioi_eval.model.job import Ahead, Job, JobFile, JobResult
from ioi_eval.model.options import JobShape
from ioi_eval.model.retry import (
    CONTENTS,
    DECLINED_FILE,
    FIRST_LOOK,
    LATE_JOB,
    SERVER,
    WORKER_HEADER,
    WORKER_PROGRAM,
)
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import Blob, Value
from ioi_eval.rules.limits import asked, hard_stop
from ioi_eval.store.memory import Shared

_log = logging.getLogger(__name__)

# --- how long an answer may take, and how long to wait before the next try ---------------------------


_OTHER_FILES = 128  # open files of this process that are no connections to servers
_SLOWEST_BODY = 1 << 20  # bytes of a body that get through in a second at the least


class Patience(Waits):
    """Seconds. The defaults are for clusters; tests have less time."""

    margin: float = 60.0  # beyond what a job may take: for its turn there, and for the reply
    connect: float = 10.0
    health: float = 10.0  # for the answer to a question of health
    first_look: float = FIRST_LOOK.max_seconds  # until one answers
    silence: float = LATE_JOB.max_seconds  # of one that has jobs, until it is asked


class ServerTimes(Value):
    """A server's limits for stages of jobs that set none; ms."""

    compile: int = 60_000
    run: int = 60_000
    strict: bool = False  # its wall clock runs on while programs wait for a processor; ours does not


class HttpEndpoint(Endpoint):
    """An endpoint that jobs are sent to by HTTP."""

    def __init__(self, url: str) -> None:
        super().__init__(url, slots=1)
        self.report, self.times, self.contents = EndpointReport(url=url), ServerTimes(), 0

    def learn(self, report: EndpointReport, *, slots: int, times: ServerTimes) -> None:
        """Take over what a probe found, also after another server was started in its place."""
        before, self.tools = self.report.toolchains, report.toolchains
        new = [t for name, t in self.tools.items() if before.get(name, t).identity != t.identity]
        others = ", ".join(f"{tool.command}: {tool.version}" for tool in new)
        self.news = f"it has another {others}" if new else ""
        self.report, self.slots, self.times = report, slots, times
        self.contents = report.contents  # bytes that it keeps of what jobs bring; 0: nothing

    def has_tools(self, job: Job, *, exactly: bool) -> bool:
        """Return True if the server has the tools of a job: the builds that it was made for, or any."""
        if self.report.runtime not in SHELLS:
            return True  # nobody looked
        found = ((self.report.toolchains.get(name), made_for) for name, made_for in job.made_for.items())
        return all(
            tool is not None and (not exactly or tool.identity in made_for) for tool, made_for in found
        )

    def runtime_of(self, job: Job) -> str:
        """Return the runtime that starts a job there. Empty: the server has none."""
        if job.runtime in self.report.runtimes:
            return job.runtime
        in_one_stage = job.runtime == OWN and all(file.name != "compile" for file in job.files)
        return BASH if in_one_stage and BASH in self.report.runtimes else ""


def as_started(job: Job, runtime: str) -> Job:
    """Return the job for a runtime of the server that gets it: `bash` starts the first file."""
    if runtime in ("", job.runtime):
        return job
    files = tuple(sorted(job.files, key=lambda file: file.name != "run"))
    return msgspec.structs.replace(job, files=files, runtime=runtime)


def at_its_pace(job: Job, times: ServerTimes) -> Job:
    """The job as a server is to be asked for it: for time that passes where it counts that, not idling."""
    if not times.strict:
        return job
    compiling, running = job.compile_timeout, job.run_timeout
    return msgspec.structs.replace(
        job,
        compile_timeout=compiling and asked(compiling, times.compile),
        run_timeout=running and asked(running, times.run),
    )


def stages(job: Job, times: ServerTimes) -> int:
    """Return the ms that a job's compile and run may take together, as the server was asked for it."""
    # The packages that start our scripts compile only where there is one for it.
    compiles = job.runtime not in SHELLS or any(file.name == "compile" for file in job.files)
    return (job.compile_timeout or times.compile) * compiles + (job.run_timeout or times.run)


def time_for(job: Job, body: int, times: ServerTimes, patience: Patience) -> float:
    """Seconds: compile, run, the way there and back, and a margin.

    `job` is as the server was asked for it. A client that gives up earlier than the server sends the job
    again while the first still runs.
    """
    longest = stages(job, times)
    return (longest if times.strict else hard_stop(longest)) / 1000 + body / _SLOWEST_BODY + patience.margin


# --- jobs, and the contents that they bring ------------------------------------------------------------


# Bytes in the form in which a content travels. A smaller one is not worth two more requests.
_WORTH_NAMING = 1 << 15
_UNKNOWN = Identity()
_PRINTS = "run"  # the script of a build job that prints what was made
_SHARE = 2  # a job whose contents take more than this part of a server's room would push its own out
_AT_ONCE = 4  # contents on their way to one server
_SLOWEST = 1 << 18  # bytes of each of them that get through in a second at the least
_NO_SUCH_API = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED)


class _Shelf:
    """The contents on their way to a server, and those that it had no room for."""

    def __init__(self) -> None:
        self.declined: dict[str, float] = {}  # until when
        self.coming: Shared[None] = Shared()
        # By key, files that were made there. None: one is being made, or could not be.
        self.ahead = dict[str, JobFile | None]()
        self.demand = Demand(MAX_HEADERS)
        self.turns = asyncio.Semaphore(_AT_ONCE)

    def pays(self, ahead: Ahead) -> bool:
        """Count a job that this would have made quicker. Return True if it is to be made now."""
        if not self.demand.is_due(ahead.key, ahead.sights) or ahead.key in self.ahead:
            return False
        self.ahead[ahead.key] = None
        return True

    def forget(self, ahead: Ahead) -> None:
        """Have it made again, after as many jobs."""
        WORKER_HEADER.log(_log, ahead.name)
        self.ahead.pop(ahead.key, None)
        self.demand.forget(ahead.key)

    def named(self, job: Job, room: int) -> dict[str, JobFile]:
        """Return the files that are worth being sent ahead, by the hash of what they hold unpacked.

        `room`: bytes of contents that the server keeps.
        """
        worth = (
            file
            for file in job.files
            if isinstance(file.content, Far) or (file.recurs and file.content.size >= _WORTH_NAMING)
        )
        named = {(file.origin or file).content.sha256: file for file in worth}
        if sum((file.origin or file).content.size for file in named.values()) > room // _SHARE:
            return {}
        return {name: file for name, file in named.items() if self.declined.get(name, 0.0) <= monotonic()}


class Sender:
    """Sends jobs, and ahead of them contents that their server is to keep."""

    def __init__(self, wire: Wire, patience: Patience) -> None:
        self._wire, self._patience = wire, patience
        self._shelves: WeakKeyDictionary[HttpEndpoint, _Shelf] = WeakKeyDictionary()
        self._coming: Shared[Blob] = Shared()

    async def execute(self, server: HttpEndpoint, job: Job, identity: Identity = _UNKNOWN) -> JobResult:
        """Execute a job once, on a server of this identity. Errors are those of the engine's contract."""
        if job.stays and server.contents and server.report.keeps_programs:
            result = await self._sent(server, job, identity, keep=(job.stays,))
            if result.stayed or result.run.code != 0:
                return result
            WORKER_PROGRAM.log(_log, f"{server.url} did not keep {job.stays}")
        return await self._sent(server, msgspec.structs.replace(job, ahead=()), identity)

    async def _sent(
        self, server: HttpEndpoint, job: Job, identity: Identity, keep: tuple[str, ...] = ()
    ) -> JobResult:
        """Send what the server lacks, then the job. `keep`: what stays there, and is not printed."""
        shelf = self._shelves.get(server) or self._shelves.setdefault(server, _Shelf())
        lacking = set[str]()
        if keep:
            silent = tuple(file for file in job.files if file.name != _PRINTS)
            job = msgspec.structs.replace(job, files=silent)
        for _ in range(CONTENTS.max_attempts if server.contents else 0):
            prepared = [
                (ahead, msgspec.structs.replace(file, name=hidden(file.name)))
                for ahead in job.ahead
                if (file := shelf.ahead.get(ahead.key)) is not None
            ]
            named = shelf.named(job, server.contents)
            built = {
                name
                for name, file in named.items()
                if isinstance(file.content, Staying) and file.content.at == server.url and name not in lacking
            }
            missing = {name: named[name] for name in named.keys() - built - server.holds}
            if missing:
                await self._bring(server, shelf, missing)
            named = {name: file for name, file in named.items() if name in built or name in server.holds}
            named |= {file.content.sha256: file for _, file in prepared}
            if not named:
                break
            whole = msgspec.structs.replace(job, files=(*job.files, *(file for _, file in prepared)))
            try:
                return await self._executed(server, whole, named, identity, keep)
            except LacksContents as refused:
                CONTENTS.log(_log, refused)
                server.holds -= refused.names
                lacking |= refused.names
                for ahead, file in prepared:
                    if file.content.sha256 in refused.names:
                        shelf.forget(ahead)
            except JobRejected as refused:
                if isinstance(refused, JobTooLarge) and refused.limit == BODY:
                    break  # by what its contents take when they are unpacked
                if LACKS_CONTENT not in str(refused):
                    raise
                server.contents = 0  # another version was started in its place
        return await self._executed(server, job, {}, identity, keep)

    async def _executed(
        self,
        server: HttpEndpoint,
        job: Job,
        named: Mapping[str, JobFile],
        identity: Identity,
        keep: tuple[str, ...],
    ) -> JobResult:
        files = list[JobFile]()
        for file in job.files:
            if isinstance(file.content, Far) and file.content.sha256 not in named:
                content = await self._content(file)  # it lies elsewhere, and comes along
                files.append(msgspec.structs.replace(file, content=content, origin=None))
            else:
                files.append(file)
        mark = "" if identity.worker else token_hex(8)  # a worker says it in a header
        whole, script = identity.asking(msgspec.structs.replace(job, files=tuple(files)), mark)
        request = await request_of(whole, server.url, named, keep)
        time = time_for(job, len(request.body), server.times, self._patience)
        result = await self._wire.execute(server.url, request, time, worker=identity.worker)
        return identity.checked(script, result, mark)

    # --- what workers make ahead -----------------------------------------------------------------------

    def wants(self, server: HttpEndpoint, ahead: Ahead) -> bool:
        """Return True if a server is to make this now: as many jobs there would have been quicker with it.

        To be asked once after each of them.
        """
        keeps = server.contents > 0 and server.report.keeps_programs
        return keeps and self._shelves[server].pays(ahead)

    async def make(self, server: HttpEndpoint, ahead: Ahead, identity: Identity = _UNKNOWN) -> None:
        """Have a server make a file that it keeps. Jobs do without it until it is there, and if it fails."""
        shelf, job = self._shelves[server], ahead.made_by
        try:
            result = await self._sent(server, job, identity, keep=(job.stays,))
        except EngineError:
            shelf.forget(ahead)
            return
        words = result.compile is not None and (result.compile.stdout or result.compile.stderr)
        if (kept := result.stayed.get(job.stays)) is not None and not words:  # else it would warn no more
            shelf.ahead[ahead.key] = JobFile(name=ahead.name, content=kept)

    # --- programs that lie where they were built -------------------------------------------------------

    async def _content(self, file: JobFile) -> Blob:
        far = file.content
        if not isinstance(far, Far):
            return far
        return await self._coming.call(far.sha256, lambda: self._fetched(far))

    async def _fetched(self, far: Far) -> Blob:
        """Return a program from a server that has it. Raises ArtifactsLost where none has."""
        home = far.at if isinstance(far, Staying) else ""
        there = [each for each in self._shelves if far.sha256 in each.holds or each.url == home]
        for server in [each for each in there if each.usable]:
            with suppress(EngineError):
                path = f"{API}/contents/{far.sha256}"
                answer = await self._wire.ask("GET", server.url, path, self._patience.margin)
                blob = Blob.of(answer.body)
                if answer.status == HTTPStatus.OK and blob.sha256 == far.sha256:
                    return blob
            server.holds.discard(far.sha256)
        raise ArtifactsLost([far])

    # --- contents that are sent ahead ------------------------------------------------------------------

    async def _bring(self, server: HttpEndpoint, shelf: _Shelf, missing: Mapping[str, JobFile]) -> None:
        """Send each of them once for all jobs that want it at the same time."""
        with ungrouped(Exception):  # all are of one server: any of them tells
            async with asyncio.TaskGroup() as group:
                for name, file in missing.items():
                    sending = partial(self._put, server, shelf, name, file)
                    group.create_task(shelf.coming.call(name, sending))

    async def _put(self, server: HttpEndpoint, shelf: _Shelf, name: str, file: JobFile) -> None:
        path = f"{API}/contents/{name}"
        async with shelf.turns:
            if not server.contents or name in server.holds:
                return
            found = await self._wire.ask("HEAD", server.url, path, self._patience.margin)
            if found.status == HTTPStatus.OK:
                server.holds.add(name)
                return
            content = await self._content(file)
            body = await to_its_end(content.read)
            request = Request(body=body, packed=content.sha256 != name, is_json=False)
            time = self._patience.margin + len(body) / _SLOWEST
            answer = await self._wire.ask("PUT", server.url, path, time, request)
        log_step(_log, "file %s to %s: HTTP %d", file.name, server.url, answer.status)
        if answer.status == HTTPStatus.CREATED:
            server.holds.add(name)
            return
        if answer.status in _NO_SUCH_API:
            server.contents = 0
            return
        error = error_of(answer.status, answer.body, server.url)
        if not isinstance(error, EngineOverloaded | JobTooLarge):
            raise error
        DECLINED_FILE.log(_log, error)
        shelf.declined[name] = monotonic() + DECLINED_FILE.longest_wait


# --- the engine, and the servers that it has ---------------------------------------------------------


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
        attempts: int = SERVER.max_attempts,
        patience: Patience | None = None,
        profile: Profile | None = None,
        job: JobShape = "auto",
    ) -> None:
        """`per_endpoint`: jobs at a time on each; None: as many as it says, one where it says nothing.

        `same_compiler`: refuse servers whose compilers differ, and leave out what comes later with others.
        `token`: for workers; behind an address, for another server there: "http://judge:2000 TOKEN".
        `profile`: what all endpoints can do, for who knows it; none of them is probed then.
        `job`: the jobs that servers are wanted for; those that others do better get none.
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
            job=job,
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
        reports, left_out, found = self._entered().reports, self.left_out, self._entered().uses
        used = [each for each in self.reports if each.reachable and each.url not in left_out]
        return Servers(
            found=len(self.reports),
            slots=self.slots,
            used={report.url: report.findings for report in used},
            left_out=left_out,
            unreachable={url: each.reason for url, each in reports.items() if not each.reachable},
            differences=differences(used),
            standings=tuple(endpoint.standing for endpoint in self.endpoints),
            uses="" if found is None else found.line,
            jobs="" if found is None else found.use,
            cores=self._cores(used),
        )

    def _cores(self, used: Sequence[EndpointReport]) -> int:
        """Return the cores of the servers, if some idle because nobody gave a number of jobs."""
        wanted = self._wanted.per_endpoint or self._wanted.total
        idle = any(report.idle_cores for report in used)
        return sum(report.slots or report.cores or 1 for report in used) if idle and not wanted else 0

    async def execute(self, job: Job) -> JobResult:
        result: JobResult = await self._executed(job, None)
        return result

    async def execute_checked(self, job: Job, check: Check) -> Any:
        return await self._executed(job, check)

    async def _executed(self, job: Job, check: Check | None) -> Any:
        running = self._entered()
        where = (file.content.at for file in job.files if isinstance(file.content, Staying))
        return await running.execute(job, running.endpoints.get(next(where, "")), check)

    async def _open(self, opening: AsyncExitStack) -> _Servers:
        wire = Wire(token=self._token, connect=self._patience.connect)
        await opening.enter_async_context(wire)
        raise_open_files()
        return _Servers(wire, self._discovery, self._wanted, self._patience, lambda event: self.tell(event))


class _Wanted(Value):
    """The use of servers that the user wants."""

    per_endpoint: int | None
    total: int | None
    same_compiler: bool
    attempts: int
    profile: Profile | None  # where the caller knows it
    job: JobShape


class _Servers(Members[HttpEndpoint]):
    """The servers that the discovery finds, between entering and leaving an engine."""

    def __init__(
        self, wire: Wire, discovery: Discovery, wanted: _Wanted, patience: Patience, tell: OnServer
    ) -> None:
        super().__init__(patience, attempts=wanted.attempts, total=wanted.total, tell=tell)
        self._wire, self._discovery, self._wanted, self._patience = wire, discovery, wanted, patience
        self._sender = Sender(wire, patience)
        self._sendings = dict[_Sending, None]()
        self.pool.on_drought = self._give_up
        self._prober = _Glances(wire, patience.health) if wanted.profile else Prober(wire)
        self._begun_with: Profile | None = None  # where all compilers are to stay the same
        self.uses: Uses | None = None  # of those that were found at first; None: the caller knows them
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
        there, rests, patient = await self._reachable(), 0, now() + self._patience.first_look
        while not there and now() < patient and any(report.passes for report in self.reports.values()):
            for report in self._in_order() if not rests else ():
                if report.passes:
                    self.pool.changed(report.url, report.passes, report.reason)
            FIRST_LOOK.log(_log, "; ".join(report.reason for report in self._in_order()))
            await asyncio.sleep(self._patience.rest_after(rests))
            there, rests = await self._reachable(), rests + 1
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
        if self._wanted.profile is None:
            self.uses = uses(there, self._wanted.job)
            self.left_out.update(self.uses.not_used)
            there = [report for report in there if report.url not in self.left_out]
            if self._wanted.same_compiler and (lines := differences(there)):
                what = "; ".join(f"{line.name}: {line.detail}" for line in lines)
                raise InputError(what, where=str(self._discovery), remedy="Give all workers the same image")
            self.profile = merged(there)
            self._begun_with = self.profile if self._wanted.same_compiler else None
        if error := self._lack_of_files(sum(self._slots_of(report) for report in there)):
            raise error
        for report in there:
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
        others = sum(each.slots for each in self.endpoints.values() if each.url != name)
        if error := self._lack_of_files(others + self._slots_of(report)):
            raise MemberLeftOut(str(error))
        return self._learned(report)

    async def is_well(self, endpoint: HttpEndpoint, trouble: Change) -> bool:
        if trouble is Change.FULL:
            return (await glance(self._wire, endpoint.url, self._patience.health)).reachable
        return await super().is_well(endpoint, trouble)

    async def _reachable(self) -> list[EndpointReport]:
        await asyncio.gather(*(self._look_at(url) for url in self.found))
        return [report for report in self._in_order() if report.reachable]

    def _lack_of_files(self, slots: int) -> InputError | None:
        """Return an error if this process may not have a connection open for each job and server."""
        jobs = slots if self._wanted.total is None else min(slots, self._wanted.total)
        needed, most = _OTHER_FILES + jobs + len(self.found), raise_open_files()
        if needed <= most:
            return None
        return InputError(
            f"{jobs} jobs at a time on {len(self.found)} servers take {needed} open files, and this process"
            f" may have {most}",
            remedy=f"Raise the hard limit: ulimit -Hn {needed} as root, LimitNOFILE={needed} of a service,"
            f" nofile={needed} of a container. Or name fewer servers",
        )

    def _slots_of(self, report: EndpointReport) -> int:
        return self._wanted.per_endpoint or report.slots or 1

    def _in_order(self) -> Iterable[EndpointReport]:
        return (self.reports[url] for url in sorted(self.reports))

    async def _look_at(self, url: str) -> EndpointReport:
        async with self._room:
            report = self.reports[url] = await self._prober.probe(url, asked_for(self.profile))
        return report

    def _learned(self, report: EndpointReport) -> HttpEndpoint:
        usual = ServerTimes()
        times = ServerTimes(
            compile=report.max_compile_time or self.profile.max_compile_time or usual.compile,
            run=report.max_run_time or self.profile.max_run_time or usual.run,
            strict=report.is_strict,
        )
        endpoint = self.endpoints.get(report.url) or HttpEndpoint(report.url)
        endpoint.learn(report, slots=self._slots_of(report), times=times)
        if report.url in self.endpoints:
            self.offer()
        return endpoint

    def offer(self) -> None:
        self.profile = offering(self.profile, [each.tools for each in self.endpoints.values()])

    # --- jobs --------------------------------------------------------------------------------------------

    def fits(self, endpoint: HttpEndpoint, job: Job) -> bool:
        return self._starts(endpoint, job) and endpoint.has_tools(job, exactly=True)

    def could_replace(self, endpoint: HttpEndpoint, job: Job) -> bool:
        return self._starts(endpoint, job) and endpoint.has_tools(job, exactly=False)

    def _starts(self, endpoint: HttpEndpoint, job: Job) -> bool:
        known = job.runtime in self.profile.runtimes  # else a server refuses it, with reason
        return not known or bool(endpoint.runtime_of(job))

    async def answer(
        self, endpoint: HttpEndpoint, job: Job, tries: Tries[HttpEndpoint], check: Check | None = None
    ) -> Any:
        """Return the first good answer: of this server, or of one that was asked beside it."""
        sending = _Sending(endpoint, job, tries, check)
        self._sendings[sending] = None
        try:
            try:
                async with sending.alone:
                    return await super().answer(endpoint, job, tries, check)
            finally:
                del self._sendings[sending]
        except TimeoutError:
            if sending.given_up:
                raise NoAnswer(f"{endpoint.url} {LATE}; {sending.given_up}") from None
            if endpoint.usable:
                late = f"{endpoint.url} {LATE} to a job that another server did meanwhile"
                self.failed(endpoint, LateAnswer(late))
            assert sending.answer is not None, "only an answer ends it before its time"
            return sending.answer
        except (*SERVERS_FAULT, AnswerRefused):
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
        asked = at_its_pace(as_started(job, endpoint.runtime_of(job)), endpoint.times)
        try:
            result = sound(await self._sender.execute(endpoint, asked, report.identity))
        except JobRejected as refused:
            if contradicts(str(refused), asked.runtime, report):
                raise ServerReplaced(endpoint.url) from refused
            raise
        for ahead in job.ahead:
            if self._sender.wants(endpoint, ahead):
                self.spawn(self._sender.make(endpoint, ahead, report.identity))
        return msgspec.structs.replace(result, toolchains=report.toolchains)

    def _give_up(self, reason: str) -> None:
        """End the jobs on servers that are out, after a drought, if no other server could do them."""
        for sending in self._sendings:
            others = any(self.fits(each, sending.job) for each in self.pool.usable)
            if not sending.endpoint.usable and sending.beside is None and not others:
                sending.given_up = reason
                sending.alone.reschedule(now())

    def _send_beside(self) -> None:
        """Try late jobs on free slots of other servers. The first good answer is the job's."""
        for sending in [each for each in self._sendings if each.is_late(self._patience)]:
            other = self.pool.spare(fits=partial(self._may_also_get, sending))
            if other is not None:
                LATE_JOB.log(_log, f"{sending.endpoint.url} has not answered, {other.url} is free")
                sending.beside = self.spawn(self._beside(sending, other))

    def _may_also_get(self, sending: _Sending, endpoint: HttpEndpoint) -> bool:
        had_it = endpoint is sending.endpoint or endpoint in sending.tries.tried
        return not had_it and self.fits(endpoint, sending.job)

    async def _beside(self, sending: _Sending, other: HttpEndpoint) -> None:
        try:
            sending.answer = await super().answer(other, sending.job, sending.tries, sending.check)
        except (EngineError, AnswerRefused) as error:
            sending.tries.failed(other, error.error if isinstance(error, AnswerRefused) else error)
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


@dataclass(eq=False)
class _Sending:
    """A job on its server, and on another one beside it where that keeps it waiting too long."""

    endpoint: HttpEndpoint
    job: Job
    tries: Tries[HttpEndpoint]
    check: Check | None
    began: float = field(default_factory=now)
    alone: asyncio.Timeout = field(default_factory=partial(asyncio.timeout, None))  # until the other answers
    beside: asyncio.Task[None] | None = None
    answer: Any = None
    given_up: str = ""  # why nobody waits for an answer any more

    def is_late(self, patience: Patience) -> bool:
        """Return True for a job alone on a server that is out, or that exceeds all limits of the job."""
        longest = stages(at_its_pace(self.job, self.endpoint.times), self.endpoint.times) / 1000
        late = not self.endpoint.usable or now() - self.began > longest + patience.silence
        return self.beside is None and late
