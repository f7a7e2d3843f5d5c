"""The engines for servers that join and leave.

`ServerFleetEngine` works with any client of servers (`ServerClient`). `PistonEngine` uses HTTP connections to
Piston servers and workers.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from types import TracebackType
from typing import Self

import msgspec

from ioi_eval.engines.contract import (
    BASH,
    OWN,
    Capabilities,
    Check,
    OnServer,
    ServerStates,
    SharedBuild,
    WorkerArtifact,
    has_toolchains,
    ignore_server_event,
)
from ioi_eval.engines.fleet import (
    EndpointUnfit,
    Fleet,
    LateAnswer,
    NoAnswer,
    WaitTimes,
    get_event_loop_time_s,
)
from ioi_eval.engines.jobs.run import require_working_sandboxes
from ioi_eval.engines.piston.contents import ContentSender, Server
from ioi_eval.engines.piston.discovery import Discovery
from ioi_eval.engines.piston.reports import (
    SHELLS,
    EndpointReport,
    add_toolchains,
    check_differences,
    comes_from_another_server,
    describe_changed_tools,
    explain_exclusion,
    list_job_runtimes,
    merge_capabilities,
)
from ioi_eval.engines.piston.sending import LATE, ServerTokens
from ioi_eval.engines.piston.uses import ServerRoles, choose_server_roles
from ioi_eval.engines.piston.wire import HttpServerClient, ServerClient
from ioi_eval.model.errors import EngineUnavailable, InputError, JobRejected, ServerReplaced
from ioi_eval.model.job import Job, JobResult
from ioi_eval.model.options import JobShape
from ioi_eval.model.retry import FIRST_LOOK, SERVER
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import Value
from ioi_eval.rules.limits import compute_hard_stop, compute_request_timeout

_log = logging.getLogger(__name__)

# --- time limits of servers' answers ------------------------------------------------------------


_MIN_BODY_BYTES_PER_S = 1 << 20  # minimum speed at which a request is sent, in bytes per second


class Patience(WaitTimes):
    """Times in seconds. The defaults are for clusters; tests use shorter times."""

    # Seconds in addition to a job's limits, for its queue on the server and for the reply.
    margin: float = 60.0
    connect: float = 10.0
    health: float = 10.0  # seconds for the answer to an inspection
    # Seconds after the start of an engine within which a first server must answer.
    first_look: float = FIRST_LOOK.max_total_seconds


class ServerTimeLimits(Value):
    """A server's time limits in ms, which apply to stages without limits in the job."""

    compile: int = 60_000
    run: int = 60_000
    # True if the server's wall-clock limit includes the time in which programs wait for a processor.
    strict: bool = False


def get_server_time_limits(report: EndpointReport, capabilities: Capabilities) -> ServerTimeLimits:
    default_times = ServerTimeLimits()
    return ServerTimeLimits(
        compile=report.max_compile_time or capabilities.max_compile_time or default_times.compile,
        run=report.max_run_time or capabilities.max_run_time or default_times.run,
        strict=report.has_strict_time_limits,
    )


def extend_time_limits(job: Job, time_limits: ServerTimeLimits) -> Job:
    """Return the job with longer limits for a server whose clock runs while programs wait."""
    if not time_limits.strict:
        return job
    compile_ms, run_ms = job.compile_timeout, job.run_timeout
    return msgspec.structs.replace(
        job,
        compile_timeout=compile_ms and compute_request_timeout(compile_ms, time_limits.compile),
        run_timeout=run_ms and compute_request_timeout(run_ms, time_limits.run),
    )


def compute_max_stages_ms(job: Job, time_limits: ServerTimeLimits) -> int:
    """Return the maximum duration of a job's compile and run stages together, in ms.

    `job` is the job as sent to the server.
    """
    # Packages that start a job's own scripts have a compile stage only if the job contains the script
    # `compile`.
    has_compile_stage = job.runtime not in SHELLS or any(file.name == "compile" for file in job.files)
    return (job.compile_timeout or time_limits.compile) * has_compile_stage + (
        job.run_timeout or time_limits.run
    )


def compute_max_answer_seconds(
    job: Job, body_bytes: int, time_limits: ServerTimeLimits, patience: Patience
) -> float:
    """Return the maximum seconds until a job's answer arrives: for its stages, the transfer and a margin.

    A client must not give up earlier than the server, otherwise it would send the job again while the first
    request still runs.

    Args:
        job: The job as sent to the server.
        body_bytes: Size of the request's body, in bytes, as sent.
        time_limits: The server's limits, for stages without limits in the job.
        patience: Its `margin` is the time for the queue on the server and for the reply.
    """
    max_ms = compute_max_stages_ms(job, time_limits)
    return (
        (max_ms if time_limits.strict else compute_hard_stop(max_ms)) / 1000
        + body_bytes / _MIN_BODY_BYTES_PER_S
        + patience.margin
    )


def find_runtime_for_job(report: EndpointReport, job: Job) -> str:
    """Return the server's runtime that can start a job, or an empty string if it has none."""
    if job.runtime in report.runtimes:
        return job.runtime
    has_single_stage = job.runtime == OWN and all(file.name != "compile" for file in job.files)
    return BASH if has_single_stage and BASH in report.runtimes else ""


def adapt_to_runtime(job: Job, runtime: str) -> Job:
    """Return the job for a runtime of its server. `bash` starts the first file, so `run` comes first."""
    if runtime in ("", job.runtime):
        return job
    sorted_files = tuple(sorted(job.files, key=lambda file: file.name != "run"))
    return msgspec.structs.replace(job, files=sorted_files, runtime=runtime)


# --- the servers of an open engine ------------------------------------------------


_MAX_INSPECTIONS = 128  # maximum number of endpoints that are inspected at the same time
_MAX_REASONS = 3  # maximum number of reasons in a message


class ServerUsage(Value):
    """The user's settings for the use of servers; see `PistonEngine`."""

    per_endpoint: int | None = None
    total: int | None = None
    same_compiler: bool = False
    attempts: int = SERVER.max_attempts
    # Capabilities that all servers are assumed to have; None means that servers are probed.
    capabilities: Capabilities | None = None
    job: JobShape = "auto"


class ServerFleet(Fleet[EndpointReport]):
    """Chooses which servers of a client get jobs, and merges their capabilities."""

    def __init__(
        self, client: ServerClient, usage: ServerUsage, patience: Patience, on_event: OnServer
    ) -> None:
        super().__init__(patience, max_attempts=usage.attempts, max_jobs=usage.total, on_event=on_event)
        self._client, self._usage, self._patience = client, usage, patience
        self._sender = ContentSender(client)
        # Capabilities of the servers that the first search found; set only if all compilers must be the same.
        self._initial_capabilities: Capabilities | None = None
        self._inspection_slots = asyncio.Semaphore(_MAX_INSPECTIONS)
        # Roles of the servers that the first search found; `None` if the caller passed capabilities.
        self.server_roles: ServerRoles | None = None
        self.reports = dict[str, EndpointReport]()  # last report of each server, by address
        self.capabilities = usage.capabilities or Capabilities(name="", architecture="")

    async def admit_first_servers(self) -> None:
        """Inspect the servers of the first search. Raises EngineUnavailable if none can be used."""
        self.found_addresses = await self.find_server_addresses()
        if not self.found_addresses and not self._client.is_elastic:
            raise EngineUnavailable(self._client.no_servers_error_message)
        reports = await self._search_first_servers()
        if self._usage.capabilities is None:
            self.server_roles = choose_server_roles(reports, self._usage.job)
            reasons_by_unused_server = self.server_roles.reasons_by_unused_server
            used_reports = [report for report in reports if report.url not in reasons_by_unused_server]
            if self._usage.same_compiler and (differences := check_differences(used_reports)):
                if not self._client.is_elastic:
                    problem = "; ".join(
                        f"{difference.name}: {difference.detail}" for difference in differences
                    )
                    raise InputError(
                        problem, where=str(self._client), remedy="Give all workers the same image"
                    )
                # Other servers are compared with the first server when they join.
                used_reports = used_reports[:1]
            self.capabilities = self._client.complete_capabilities(merge_capabilities(used_reports))
            self._initial_capabilities = self.capabilities if self._usage.same_compiler else None
            for url, reason in reasons_by_unused_server.items():
                self.exclude_endpoint(self.add_endpoint(url), reason)
            reports = used_reports
        if error := self._check_capacity(sum(map(self.count_slots, reports))):
            raise error
        for report in reports:
            self.admit_endpoint(self.add_endpoint(report.url), report)
        self.has_begun = True
        self.update_endpoints(self.found_addresses)
        self.start_task(self.watch_late_jobs())
        if self._client.search_interval_s is not None:
            self.start_task(self.search_endpoints_repeatedly(self._client.search_interval_s))

    async def _search_first_servers(self) -> list[EndpointReport]:
        """Return the reports of the servers that answer. If none answers, wait for servers that start."""
        reports, failed_searches, deadline_s = (
            await self._inspect_all_servers(),
            0,
            get_event_loop_time_s() + self._patience.first_look,
        )
        while not reports and get_event_loop_time_s() < deadline_s and self._may_servers_be_starting():
            for report in self._sort_reports_by_url() if not failed_searches else ():
                if report.temporary_state:
                    self._emit_server_change(report.url, report.temporary_state, report.reason)
            FIRST_LOOK.log(_log, "; ".join(report.reason for report in self._sort_reports_by_url()))
            rest_s = self._patience.choose_pause_s(failed_searches)
            if self._client.is_elastic:
                rest_s = min(rest_s, self._client.search_interval_s or rest_s)
            await asyncio.sleep(rest_s)
            if self._client.is_elastic:
                self.found_addresses = await self.find_server_addresses()
            reports, failed_searches = await self._inspect_all_servers(), failed_searches + 1
        if not reports:
            failed_reports = [*self._sort_reports_by_url()]
            if not failed_reports:
                raise EngineUnavailable(self._client.no_servers_error_message)
            reasons = [report.reason for report in failed_reports]
            remedies = dict.fromkeys(
                health_check.remedy for report in failed_reports for health_check in report.findings
            )
            more_reasons = f"; and {len(reasons) - _MAX_REASONS} more" if len(reasons) > _MAX_REASONS else ""
            problem = f"no server can be used: {'; '.join(reasons[:_MAX_REASONS])}{more_reasons}"
            raise EngineUnavailable(". ".join([problem, *filter(None, remedies)]))
        while (
            self._client.is_elastic
            and (addresses := await self.find_server_addresses()) - self.found_addresses
        ):
            self.found_addresses = addresses  # machines that joined meanwhile are used from the start
            reports = await self._inspect_all_servers()
        return reports

    def _may_servers_be_starting(self) -> bool:
        return not self.found_addresses or any(report.temporary_state for report in self.reports.values())

    async def _inspect_all_servers(self) -> list[EndpointReport]:
        await asyncio.gather(*(self._inspect_server(url) for url in self.found_addresses))
        return [report for report in self._sort_reports_by_url() if report.reachable and not report.unfit]

    def _sort_reports_by_url(self) -> Iterable[EndpointReport]:
        return (self.reports[url] for url in sorted(self.reports))

    async def _inspect_server(self, address: str) -> EndpointReport:
        async with self._inspection_slots:
            report = await self._client.inspect(address, list_job_runtimes(self.capabilities))
        self.reports[address] = report
        return report

    def _check_capacity(self, slots: int) -> InputError | None:
        max_jobs = slots if self._usage.total is None else min(slots, self._usage.total)
        return self._client.check_connection_capacity(max_jobs, len(self.found_addresses))

    # --- methods that the class Fleet requires --------------------------------------------------------------

    async def find_server_addresses(self) -> frozenset[str]:
        return await self._client.find_server_addresses()

    async def inspect(self, address: str) -> EndpointReport:
        report = await self._inspect_server(address)
        if not report.reachable:
            raise NoAnswer(report.reason)
        if report.unfit:
            raise EndpointUnfit(report.unfit)
        if self._usage.capabilities is None and (
            reason := explain_exclusion(self.capabilities, report, self._initial_capabilities)
        ):
            raise EndpointUnfit(reason)
        other_slots = sum(member.slots for member in self.members if member.url != address)
        if error := self._check_capacity(other_slots + self.count_slots(report)):
            raise EndpointUnfit(str(error))
        return report

    async def ping(self, endpoint: Server) -> None:
        report = await self._client.identify_server(endpoint.url)
        if not report.reachable:
            raise (LateAnswer if LATE in report.reason else NoAnswer)(report.reason)
        if endpoint.report is not None and report.identity.worker != endpoint.report.identity.worker:
            raise ServerReplaced(endpoint.url)

    def count_slots(self, report: EndpointReport) -> int:
        return self._usage.per_endpoint or report.slots or 1

    def describe_changes(self, before: EndpointReport, after: EndpointReport) -> str:
        return describe_changed_tools(before, after)

    def update_capabilities(self) -> None:
        member_toolchains = [member.report.toolchains for member in self.members if member.report is not None]
        self.capabilities = self._client.complete_capabilities(
            add_toolchains(self.capabilities, member_toolchains)
        )

    def can_run_job(self, endpoint: Server, job: Job, *, same_versions: bool = True) -> bool:
        report = endpoint.report
        if report is None or not self._can_start_job(report, job):
            return False
        if report.runtime not in SHELLS:
            return True  # the tools of such a server were not probed
        return has_toolchains(job, report.toolchains, same_versions=same_versions)

    def _can_start_job(self, report: EndpointReport, job: Job) -> bool:
        # If the runtime is unknown, the server refuses the job with a reason.
        is_known_runtime = job.runtime in self.capabilities.runtimes
        return not is_known_runtime or bool(find_runtime_for_job(report, job))

    def max_job_seconds(self, endpoint: Server, job: Job) -> float:
        assert endpoint.report is not None, "it has jobs"
        time_limits = get_server_time_limits(endpoint.report, self.capabilities)
        return compute_max_stages_ms(extend_time_limits(job, time_limits), time_limits) / 1000

    async def send(self, endpoint: Server, job: Job) -> JobResult:
        report = endpoint.report  # a reply counts only if it comes from the server that this report describes
        assert report is not None, "it has jobs"
        time_limits = get_server_time_limits(report, self.capabilities)
        job = extend_time_limits(adapt_to_runtime(job, find_runtime_for_job(report, job)), time_limits)
        get_max_seconds = partial(
            compute_max_answer_seconds, job, time_limits=time_limits, patience=self._patience
        )
        try:
            result = require_working_sandboxes(await self._sender.execute(endpoint, job, get_max_seconds))
        except JobRejected as refusal:
            if comes_from_another_server(str(refusal), job.runtime, report):
                raise ServerReplaced(endpoint.url) from refusal
            raise
        for file in job.files:
            if isinstance(file.content, SharedBuild) and self._sender.should_build(endpoint, file.content):
                get_max_seconds = partial(
                    compute_max_answer_seconds,
                    file.content.build,
                    time_limits=time_limits,
                    patience=self._patience,
                )
                self.start_task(self._sender.run_shared_build(endpoint, file.content, get_max_seconds))
        return msgspec.structs.replace(result, toolchains=report.toolchains)


# --- the engines ---------------------------------------------------------------------------------------


class ServerFleetEngine(ABC):
    """Sends each job to the server with the fewest jobs of this process.

    A job that fails by a server's fault is tried again on another server. The output of programs has no
    influence on this. If the attempts are used up, `execute` raises AttemptsUsedUp.
    """

    _kind = ""
    _min_slots = 1

    def __init__(self, usage: ServerUsage, patience: Patience) -> None:
        self._usage, self._patience = usage, patience
        self._fleet: ServerFleet | None = None
        self._exit_stack = AsyncExitStack()
        self.on_event: OnServer = ignore_server_event
        """Receives an event for each change of a server's state, and when no server is left."""

    @abstractmethod
    def _create_server_client(self) -> ServerClient:
        """Return a new client of the servers. The engine calls this method each time it is opened."""

    @property
    def slots(self) -> int:
        """The number of jobs that run at the same time now. Before the engine is opened, the minimum."""
        return self._fleet.slots if self._fleet is not None else self._min_slots

    async def capabilities(self) -> Capabilities:
        return self.fleet.capabilities

    async def execute(self, job: Job, check: Check | None = None) -> JobResult:
        """Execute a job. Return its result, or the value that `check` returns for it."""
        builder_urls = (file.content.at for file in job.files if isinstance(file.content, WorkerArtifact))
        result: JobResult = await self.fleet.execute(job, next(builder_urls, ""), check)
        return result

    @property
    def endpoints(self) -> Sequence[Server]:
        """All servers that ever got jobs, in their current state."""
        return tuple(endpoint for endpoint in self.fleet.endpoints.values() if endpoint.was_ever_fit_for_jobs)

    @property
    def reports(self) -> tuple[EndpointReport, ...]:
        """The reports of all servers that were inspected, by address."""
        reports = self.fleet.reports
        return tuple(reports[url] for url in sorted(reports))

    @property
    def exclusion_reasons(self) -> Mapping[str, str]:
        """The reasons why servers that answer get no jobs now, by address."""
        return self.fleet.exclusion_reasons

    def servers(self) -> ServerStates:
        left_out_reasons, server_roles = self.exclusion_reasons, self.fleet.server_roles
        used_reports = [
            server_report
            for server_report in self.reports
            if server_report.reachable and server_report.url not in left_out_reasons
        ]
        return ServerStates(
            found=len(self.reports),
            slots=self.slots,
            used={report.url: report.findings for report in used_reports},
            left_out=left_out_reasons,
            unreachable={
                server_report.url: server_report.reason
                for server_report in self.reports
                if not server_report.reachable
            },
            differences=check_differences(used_reports),
            standings=tuple(endpoint.server_state for endpoint in self.endpoints),
            uses="" if server_roles is None else server_roles.summary,
            jobs="" if server_roles is None else server_roles.role,
            cores=self._count_usable_cores(used_reports),
        )

    def _count_usable_cores(self, used_reports: Sequence[EndpointReport]) -> int:
        """Return the number of cores of the servers if the default number of jobs leaves cores idle.

        Return 0 if no core is idle, or if the user has set the number of jobs.
        """
        has_job_limit = self._usage.per_endpoint or self._usage.total
        has_idle_cores = any(report.idle_cores for report in used_reports)
        return (
            sum(report.slots or report.cores or 1 for report in used_reports)
            if has_idle_cores and not has_job_limit
            else 0
        )

    @property
    def fleet(self) -> ServerFleet:
        """The servers of the open engine, for engines that extend this class.

        Raises EngineUnavailable if the engine is not open.
        """
        if self._fleet is None:
            raise EngineUnavailable(f"the {self._kind} engine must be used inside `async with`")
        return self._fleet

    async def __aenter__(self) -> Self:
        if self._fleet is not None:
            raise EngineUnavailable(f"the {self._kind} engine is in use already")
        async with AsyncExitStack() as exit_stack:
            client = await exit_stack.enter_async_context(self._create_server_client())
            fleet = ServerFleet(client, self._usage, self._patience, lambda event: self.on_event(event))
            exit_stack.push_async_callback(fleet.close)
            await fleet.admit_first_servers()
            self._fleet, self._exit_stack = fleet, exit_stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._fleet = None
        await self._exit_stack.aclose()


class PistonEngine(ServerFleetEngine):
    """Sends jobs to Piston servers and workers by HTTP.

        async with PistonEngine(discovery("http://a:2000,http://b:2000")) as engine:
            result = await engine.execute(job)

    A server that was away, or that was replaced by another server, is probed again before it gets more jobs.
    Replies of a server that was not probed are discarded.
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
        capabilities: Capabilities | None = None,
        job: JobShape = "auto",
    ) -> None:
        """Args:
        per_endpoint: jobs at a time on each server. By default as many as the server reports, or 1.
        total: jobs at a time on all servers together.
        token: token for workers, or an address and the token for the server there:
            "http://judge:2000 TOKEN".
        same_compiler: refuse servers whose compilers differ. Servers that join later with different compilers
            get no jobs.
        attempts: maximum number of attempts of a job, on different servers if possible.
        patience: time limits for answers, and waits between attempts.
        capabilities: capabilities of all servers. If the caller passes them, servers are not probed.
        job: shape of the jobs: "batched" has many tests in a job, "classic" has one test in a job, and "auto"
            is the best shape for the servers. Servers that cannot execute such jobs get no jobs.
        """
        for name, value in (("per_endpoint", per_endpoint), ("total", total), ("attempts", attempts)):
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")
        usage = ServerUsage(
            per_endpoint=per_endpoint,
            total=total,
            same_compiler=same_compiler,
            attempts=attempts,
            capabilities=capabilities,
            job=job,
        )
        super().__init__(usage, patience or Patience())
        self._discovery, self._token = discovery, Secret(token or "")
        ServerTokens(self._token)  # raises an InputError if the token is invalid
        self._min_slots = per_endpoint or 1

    def _create_server_client(self) -> HttpServerClient:
        patience = self._patience
        return HttpServerClient(
            self._discovery,
            token=self._token,
            max_connect_s=patience.connect,
            max_inspection_s=patience.health,
            max_content_s=patience.margin,
            has_known_capabilities=self._usage.capabilities is not None,
        )
