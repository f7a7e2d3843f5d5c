"""The servers or nodes of an engine, their states, a queue for their slots, and their jobs.

Only `Fleet` changes an endpoint. Subclasses search for endpoints, inspect them and send jobs to them. This
module uses no network.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from ioi_eval.engines.contract import Change, Check, JobsWait, OnServer, ServerChanged
from ioi_eval.model.doing import log_step, mark_step_executing
from ioi_eval.model.errors import (
    AttemptsUsedUp,
    BrokenReply,
    EngineError,
    EngineOverloaded,
    EngineUnavailable,
    InputError,
    JobRejected,
    MachineAtFault,
    ServerReplaced,
    ToolchainGone,
)
from ioi_eval.model.job import Job
from ioi_eval.model.retry import DISCOVERY, LATE_JOB, RECOVERY, SERVER
from ioi_eval.model.text import format_count
from ioi_eval.model.values import ServerState, Value

_log = logging.getLogger(__name__)

# --- states ------------------------------------------------------------------------------------------


class State(StrEnum):
    """The state of an endpoint."""

    NEW = "new"  # the endpoint is inspected until it answers, and gets no jobs yet
    HEALTHY = "healthy"
    TRIAL = "on trial"  # the endpoint answers again, and gets a single job at a time
    DOWN = "down"  # the endpoint gets no jobs until an inspection succeeds
    LEFT_OUT = "left out"  # the endpoint answers, but is unfit for jobs
    GONE = "gone"  # the last search did not find the endpoint; its running jobs may finish


class Cause(StrEnum):
    """The reason why the state of an endpoint changes."""

    FOUND = "found again"
    FIT = "inspection: fit"
    UNFIT = "inspection: unfit"
    FAILED = "failed jobs, or no answer"
    ANSWERED = "a job was answered"
    NOT_FOUND = "not found"


TRANSITIONS: Mapping[tuple[State, Cause], State] = {
    (State.NEW, Cause.FIT): State.HEALTHY,
    (State.NEW, Cause.UNFIT): State.LEFT_OUT,
    (State.NEW, Cause.NOT_FOUND): State.GONE,
    (State.HEALTHY, Cause.FAILED): State.DOWN,
    (State.HEALTHY, Cause.NOT_FOUND): State.GONE,
    (State.DOWN, Cause.FIT): State.TRIAL,
    (State.DOWN, Cause.UNFIT): State.LEFT_OUT,
    (State.DOWN, Cause.NOT_FOUND): State.GONE,
    (State.TRIAL, Cause.ANSWERED): State.HEALTHY,
    (State.TRIAL, Cause.FAILED): State.DOWN,
    (State.TRIAL, Cause.NOT_FOUND): State.GONE,
    (State.LEFT_OUT, Cause.FIT): State.TRIAL,
    (State.LEFT_OUT, Cause.NOT_FOUND): State.GONE,
    (State.GONE, Cause.FOUND): State.NEW,
}
"""The next state for each state and cause. No other changes are possible."""


def draw_state_diagram() -> str:
    """Return the transitions as a diagram in the language Mermaid, for docs/architecture.md."""
    lines = [
        f"    {old_state.name} --> {new_state.name}: {cause}"
        for (old_state, cause), new_state in TRANSITIONS.items()
    ]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {State.NEW.name}: found", *lines])


ReportT = TypeVar("ReportT")
"""The type of an inspection's report about an endpoint."""

_RATE_S = 60.0  # seconds over which the rate of an endpoint's jobs is averaged
_FAULTS = 3  # number of failed jobs in a row after which an endpoint gets no jobs for a while
# Number of failed trials in a row after which an endpoint with a job on trial no longer counts as working.
_FAILED_TRIALS = 2


class Endpoint(Generic[ReportT]):
    """A server or node. Only its fleet writes these fields."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.state, self.since = State.NEW, time.time()
        self.report: ReportT | None = None  # report of the last successful inspection
        self.slots = 0
        self.busy = 0  # number of jobs that the endpoint executes now
        self.errors = 0  # number of jobs that failed on the endpoint
        self.reason = ""  # the last error, or the reason why the endpoint gets no jobs
        self.failed_in_a_row = 0  # number of failed jobs in a row
        # Score for useless answers: each refused job and each answer that a check refused adds 2, and each
        # other answer subtracts 1.
        self.uselessness = 0
        self.inspections = 0  # number of inspections since the endpoint was last healthy
        # True if the endpoint's last failure was a lack of capacity, so that no full inspection is needed.
        self.is_full = False
        self.failed_trials = 0  # number of failed trials since the endpoint was last healthy
        self.answered_at = 0.0  # time of the endpoint's last answer, or of its first job
        self.changes_message = ""  # sentence about the changes that the last inspection found
        self._recent_answers = 0.0  # number of recently answered jobs; older jobs count less
        self._counted_at_s = self._began_at_s = time.monotonic()

    @property
    def is_usable(self) -> bool:
        return self.state in (State.HEALTHY, State.TRIAL)

    @property
    def is_fleet_member(self) -> bool:
        """True if the endpoint gets jobs, or may get jobs again when it answers."""
        return self.is_usable or self.state is State.DOWN

    @property
    def was_ever_fit_for_jobs(self) -> bool:
        """True if the endpoint was ever fit for jobs."""
        return self.report is not None

    @property
    def free_slots(self) -> int:
        if self.state is State.TRIAL:
            return 1 - self.busy
        return self.slots - self.busy if self.state is State.HEALTHY else 0

    @property
    def server_state(self) -> ServerState:
        """The state of the server now, for display."""
        return ServerState(
            url=self.url,
            state=self.state,
            slots=self.slots,
            busy=self.busy,
            errors=self.errors,
            why=self.reason,
            since=self.since,
            rate=self.answers_per_s,
        )

    @property
    def answers_per_s(self) -> float:
        """Number of jobs answered per second, averaged over about the last minute."""
        now_s = time.monotonic()
        averaged_s = _RATE_S * (1 - math.exp(-max(1.0, now_s - self._began_at_s) / _RATE_S))
        return round(self._recent_answers * math.exp((self._counted_at_s - now_s) / _RATE_S) / averaged_s, 2)

    def count_answer(self) -> None:
        now_s = time.monotonic()
        self._recent_answers = self._recent_answers * math.exp((self._counted_at_s - now_s) / _RATE_S) + 1
        self._counted_at_s = now_s

    def __repr__(self) -> str:
        return f"Endpoint({self.url}, {self.state.value}, {self.busy}/{self.slots})"


# --- errors and times --------------------------------------------------------------------------------


SERVERS_FAULT = (EngineUnavailable, EngineOverloaded, BrokenReply, ServerReplaced)
_CLOSED = "the engine was closed"
_MAX_NAMES = 4  # maximum number of servers that a message names


class NoAnswer(EngineUnavailable):
    """The server cannot be reached, or does not answer in time."""


class LateAnswer(NoAnswer):
    """The server did not answer in time, but may be running."""


class EndpointUnfit(EngineError):
    """The server answers, but is unfit for jobs."""


class RefusedAnswerError(Exception):
    """An endpoint answered a job, and the job's `check` refused the answer."""

    def __init__(self, error: EngineError) -> None:
        self.error = error


class NoFittingEndpoint(Exception):
    """An endpoint that cannot execute a waiting job became usable, and no working endpoint can execute it."""


class WaitTimes(Value):
    """Times in seconds. The defaults are for clusters; tests use shorter times."""

    # An outage is a time in which jobs wait without a usable endpoint. Seconds after which these jobs fail.
    max_outage: float = SERVER.max_total_seconds
    first_wait: float = SERVER.first_wait
    longest_wait: float = SERVER.longest_wait
    # Seconds between an endpoint's failure and its first inspection, and between later inspections.
    first_pause: float = RECOVERY.first_wait
    longest_pause: float = RECOVERY.longest_wait
    # Seconds without an answer to a job after which its endpoint is inspected.
    silence: float = LATE_JOB.max_total_seconds

    def choose_wait_s(self, attempt: int) -> float:
        """Return a random time to wait after a failed attempt, in seconds. The first attempt has number 1."""
        retry_rule = replace(SERVER, first_wait=self.first_wait, longest_wait=self.longest_wait)
        return retry_rule.delay_s_after(attempt)

    def choose_pause_s(self, failed_inspections: int) -> float:
        """Return a random time until the next inspection of a failed endpoint, in seconds.

        The time grows with the number of inspections that failed since then.
        """
        retry_rule = replace(RECOVERY, first_wait=self.first_pause, longest_wait=self.longest_pause)
        return retry_rule.delay_s_after(failed_inspections + 1)


def get_event_loop_time_s() -> float:
    return asyncio.get_running_loop().time()


def _choose_server_change(error: EngineError) -> Change:
    if isinstance(error, EngineOverloaded):
        return Change.FULL
    if isinstance(error, ServerReplaced):
        return Change.REPLACED
    return Change.SLOW if isinstance(error, LateAnswer) else Change.LOST


def _join_names(names: Iterable[str]) -> str:
    """Return a string with the first names and the number of the other names."""
    all_names = [*names]
    suffix = f" and {len(all_names) - _MAX_NAMES} more" if len(all_names) > _MAX_NAMES else ""
    return ", ".join(all_names[:_MAX_NAMES]) + suffix


# --- a job -------------------------------------------------------------------------------------------


AnyEndpoint = Endpoint[Any]
EndpointFilter = Callable[[AnyEndpoint], bool]


def _accept_any_endpoint(endpoint: AnyEndpoint) -> bool:
    return True


@dataclass(frozen=True)
class _SlotRequest:
    """A job's request for a slot: the endpoints to avoid, to prefer and to exclude."""

    # Endpoints that get the job only if no other endpoint that fits is usable.
    avoided_endpoints: Collection[AnyEndpoint] = ()
    # Endpoint that gets the job if the endpoint has a free slot now.
    preferred_endpoint: AnyEndpoint | None = None
    # A function that returns False for endpoints that must not get the job.
    is_suitable: EndpointFilter = _accept_any_endpoint


@dataclass
class JobAttempts:
    """The attempts of a job."""

    attempts_left: int
    waits: WaitTimes
    tried_endpoints: list[AnyEndpoint] = field(default_factory=list)
    # Time of the first refusal for lack of capacity; None if there was no such refusal.
    overloaded_since: float | None = None
    last_failure: EngineError | None = None

    def add_failure(self, endpoint: AnyEndpoint, error: EngineError) -> None:
        """Count a failed attempt, unless the endpoint was full or was replaced for the first time."""
        self.last_failure, is_repeated = error, endpoint in self.tried_endpoints
        self.tried_endpoints.append(endpoint)
        if isinstance(error, EngineOverloaded):
            self.overloaded_since = self.overloaded_since or get_event_loop_time_s()
        elif is_repeated or not isinstance(error, ServerReplaced):
            self.attempts_left -= 1

    def raise_if_exhausted(self, error: EngineError) -> None:
        """Raise AttemptsUsedUp after too many attempts, or if servers have been full for too long."""
        refused_s = (
            get_event_loop_time_s() - self.overloaded_since if self.overloaded_since is not None else 0.0
        )
        if self.attempts_left <= 0 or (
            isinstance(error, EngineOverloaded) and refused_s > self.waits.max_outage
        ):
            context = f"(retry rule `{SERVER.name}`), on {self._join_tried_endpoint_names()}"
            raise AttemptsUsedUp(
                f"{format_count(len(self.tried_endpoints), 'attempt')} failed"
                f" {context}"
                f"{self.describe_last_error()}"
            ) from error

    def add_server_names(self, error: EngineError) -> EngineError:
        """Return the error of a job that servers failed, with the names of the servers."""
        if isinstance(error, MachineAtFault):
            return MachineAtFault(error.reason, error.answer, self._join_tried_endpoint_names())
        if len(self.tried_endpoints) == 1:
            return error
        return AttemptsUsedUp(
            f"{format_count(len(self.tried_endpoints), 'attempt')}"
            f" failed,"
            f" on {self._join_tried_endpoint_names()}{self.describe_last_error()}"
        )

    def _join_tried_endpoint_names(self) -> str:
        return _join_names(dict.fromkeys(endpoint.url for endpoint in self.tried_endpoints))

    def list_endpoints_to_avoid(self, fitting_endpoints: Collection[AnyEndpoint]) -> list[AnyEndpoint]:
        """Return all tried endpoints if an untried endpoint fits.

        Otherwise return the last tried endpoint, or nothing if only a single endpoint fits.
        """
        if any(endpoint not in self.tried_endpoints for endpoint in fitting_endpoints):
            return self.tried_endpoints
        return self.tried_endpoints[-1:] if len(fitting_endpoints) > 1 else []

    def describe_last_error(self) -> str:
        return f", the last one: {self.last_failure}" if self.last_failure is not None else ""


@dataclass(eq=False)
class _SentJob:
    """A job that runs on an endpoint, and on a second endpoint if the first endpoint is late."""

    endpoint: AnyEndpoint
    job: Job
    attempts: JobAttempts
    check: Check | None
    began: float = field(default_factory=get_event_loop_time_s)
    # Timeout for the first endpoint's answer. It expires when the second endpoint answers.
    wait: asyncio.Timeout = field(default_factory=partial(asyncio.timeout, None))
    second_task: asyncio.Task[None] | None = None
    answer: Any = None
    give_up_reason: str = ""  # reason for giving up waiting for an answer; empty while an answer is awaited


# --- the fleet ---------------------------------------------------------------------------------------


class Fleet(ABC, Generic[ReportT]):
    """Endpoints, their states, and a queue for their slots.

    A job that fails by an endpoint's fault is tried on another endpoint. An endpoint that fails gets no jobs
    until an inspection succeeds, and then a single job on trial.

    A free slot goes to the first waiting job that it suits. Jobs that no working endpoint fits for
    `wait_times.max_outage` seconds raise EngineUnavailable. If no endpoint works, later jobs raise it at once
    until an endpoint is usable again. The clock stops while a fitting endpoint works. The next healthy
    endpoint resets the clock to zero, and an endpoint on trial does not.
    """

    def __init__(
        self, wait_times: WaitTimes, *, max_attempts: int, max_jobs: int | None, on_event: OnServer
    ) -> None:
        self._wait_times, self._max_attempts, self._max_jobs, self._on_event = (
            wait_times,
            max_attempts,
            max_jobs,
            on_event,
        )
        self.endpoints = dict[str, Endpoint[ReportT]]()  # all endpoints that any search found, by address
        self.usable_endpoints: dict[Endpoint[ReportT], None] = {}
        self.found_addresses: frozenset[str] = frozenset()
        # True after the first search. An endpoint that joins after that is reported as an event.
        self.has_begun = False
        self.busy = 0  # number of jobs that run on all endpoints
        # Endpoints with a free slot, by number of running jobs. For each number, the endpoint that has been
        # idle longest comes first.
        self._free_by_jobs: list[dict[AnyEndpoint, None]] = [{}]
        self._has_no_free_slot = True
        self._slot_requests: OrderedDict[asyncio.Future[AnyEndpoint], _SlotRequest] = OrderedDict()
        # Healthy endpoints, and endpoints with a job on trial and fewer than `_FAILED_TRIALS` failed trials.
        self._working_endpoints: dict[AnyEndpoint, None] = {}
        # Jobs that wait although no working endpoint fits them.
        self._stranded_requests = set[asyncio.Future[AnyEndpoint]]()
        self._outage_timer: asyncio.TimerHandle | None = None
        # Time at which the clock of the outage (see `WaitTimes`) was last started, and seconds before that.
        self._outage_start = self._outage_elapsed = 0.0
        self._refusal_reason = ""  # reason why no job gets a slot; empty if jobs get slots
        self._active_jobs = dict[_SentJob, None]()
        self._under_inspection = set[
            AnyEndpoint
        ]()  # endpoints that are inspected until they are fit for jobs
        self._tasks = set[asyncio.Task[None]]()

    # --- methods that each kind of cluster implements ---------------------------------------------------

    @abstractmethod
    async def find_server_addresses(self) -> frozenset[str]:
        """Return the addresses of all endpoints. Raises EngineError or InputError."""

    @abstractmethod
    async def inspect(self, address: str) -> ReportT:
        """Return a report about an endpoint that is fit for jobs. Raises NoAnswer or EndpointUnfit."""

    @abstractmethod
    async def ping(self, endpoint: Endpoint[ReportT]) -> None:
        """Raise EngineError if an endpoint does not answer, or if another server now has its address."""

    @abstractmethod
    async def send(self, endpoint: Endpoint[ReportT], job: Job) -> Any:
        """Execute a job on an endpoint once. Raises EngineError."""

    @abstractmethod
    def count_slots(self, report: ReportT) -> int:
        """Return the number of jobs that an endpoint gets at a time."""

    @abstractmethod
    def can_run_job(self, endpoint: Endpoint[ReportT], job: Job, *, same_versions: bool = True) -> bool:
        """Return True if an endpoint can execute a job.

        `same_versions`: True if the endpoint must have versions of the toolchains that the job accepts.
        """

    def update_capabilities(self) -> None:
        """Update the capabilities of the engine. Called after endpoints joined, left or changed."""

    def describe_changes(self, before: ReportT, after: ReportT) -> str:
        """Return a message about the changes between two reports of an endpoint."""
        return ""

    def max_job_seconds(self, endpoint: Endpoint[ReportT], job: Job) -> float:
        """Return the maximum seconds that a job runs on an endpoint."""
        return math.inf

    # --- states ------------------------------------------------------------------------------------------

    @property
    def exclusion_reasons(self) -> dict[str, str]:
        """The reasons why endpoints that answer get no jobs, by address."""
        return {
            url: endpoint.reason
            for url, endpoint in self.endpoints.items()
            if endpoint.state is State.LEFT_OUT
        }

    @property
    def members(self) -> list[Endpoint[ReportT]]:
        """The endpoints that get jobs, or may get jobs again."""
        return [endpoint for endpoint in self.endpoints.values() if endpoint.is_fleet_member]

    @property
    def waiting(self) -> int:
        """The number of jobs that wait for a slot."""
        return len(self._slot_requests)

    @property
    def slots(self) -> int:
        total_slots = sum(endpoint.slots for endpoint in self.usable_endpoints)
        return max(1, total_slots if self._max_jobs is None else min(total_slots, self._max_jobs))

    def change_endpoint_state(
        self, endpoint: Endpoint[ReportT], cause: Cause, server_change: Change | None, reason: str = ""
    ) -> None:
        """Change the state of an endpoint, and log the new state.

        Args:
            endpoint: The endpoint in its old state.
            cause: Reason of the change. TRANSITIONS has the new state for each old state and cause.
            server_change: Kind of the event to emit; None means no event.
            reason: Text for the log and the event. If it is not empty and the new state is not HEALTHY, it
                replaces the reason that is stored in the endpoint.
        """
        old_state, new_state = endpoint.state, TRANSITIONS[endpoint.state, cause]
        endpoint.state, endpoint.since = new_state, time.time()
        if reason and new_state is not State.HEALTHY:
            endpoint.reason = reason
        suffix = f": {reason}" if reason else ""
        _log.debug("%s is %s, it was %s (%s)%s", endpoint.url, new_state, old_state, cause, suffix)
        if endpoint.is_usable:
            self.usable_endpoints[endpoint] = None
            if self._refusal_reason != _CLOSED:
                self._refusal_reason = ""
        else:
            self.usable_endpoints.pop(endpoint, None)
        if self.has_begun and cause in (Cause.FIT, Cause.UNFIT, Cause.NOT_FOUND):
            self.update_capabilities()
        self._update_load(endpoint)
        self._assign_slots()
        if endpoint.is_usable:
            unfit_requests = [
                assigned_endpoint
                for assigned_endpoint in self._stranded_requests
                if not self._slot_requests[assigned_endpoint].is_suitable(endpoint)
            ]
            self._fail_requests(unfit_requests, NoFittingEndpoint())
        if new_state is State.HEALTHY:
            endpoint.failed_trials, self._outage_elapsed = 0, 0.0
        if new_state is State.GONE and not endpoint.was_ever_fit_for_jobs:
            del self.endpoints[endpoint.url]
        if server_change is not None:
            self._emit_server_change(endpoint.url, server_change, reason)

    def _emit_server_change(self, server_url: str, server_change: Change, reason: str) -> None:
        slots = sum(endpoint.slots for endpoint in self.usable_endpoints)
        self._on_event(
            ServerChanged(
                url=server_url,
                change=server_change,
                reason=reason,
                usable=len(self.usable_endpoints),
                slots=slots,
            )
        )

    # --- the queue ---------------------------------------------------------------------------------------

    async def take_slot(
        self,
        avoided_endpoints: Collection[AnyEndpoint] = (),
        preferred_endpoint: AnyEndpoint | None = None,
        is_suitable: EndpointFilter = _accept_any_endpoint,
    ) -> Endpoint[ReportT]:
        """Reserve a slot, and return its endpoint. The caller must release the slot.

        Args:
            avoided_endpoints: endpoints to choose only if no other usable endpoint fits.
            preferred_endpoint: endpoint to choose if it has a free slot now.
            is_suitable: returns False for endpoints that must not be chosen.

        Raises:
            EngineUnavailable: no endpoint that fits has worked for `wait_times.max_outage` seconds.
            NoFittingEndpoint: no endpoint that fits works, and a different endpoint became usable meanwhile.
        """
        if self._refusal_reason:
            raise EngineUnavailable(self._refusal_reason)
        if (endpoint := self.take_free_slot(avoided_endpoints, preferred_endpoint, is_suitable)) is not None:
            return endpoint
        assigned_endpoint: asyncio.Future[AnyEndpoint] = asyncio.get_running_loop().create_future()
        request = self._slot_requests[assigned_endpoint] = _SlotRequest(
            avoided_endpoints, preferred_endpoint, is_suitable
        )
        if self._has_no_working_endpoint(request):
            self._stranded_requests.add(assigned_endpoint)
        self._assign_slots()
        try:
            return await assigned_endpoint
        except asyncio.CancelledError:
            if (
                assigned_endpoint.done()
                and not assigned_endpoint.cancelled()
                and not assigned_endpoint.exception()
            ):
                self.release_slot(
                    assigned_endpoint.result()
                )  # the slot was assigned just before the cancellation
            raise
        finally:
            self._remove_request(assigned_endpoint)
            self._update_outage_timer()

    def take_free_slot(
        self,
        avoided_endpoints: Collection[AnyEndpoint] = (),
        preferred_endpoint: AnyEndpoint | None = None,
        is_suitable: EndpointFilter = _accept_any_endpoint,
    ) -> Endpoint[ReportT] | None:
        """Reserve a slot that is free now, and return its endpoint. Return None if jobs wait for slots."""
        endpoint = (
            None
            if self._slot_requests
            else self._choose_endpoint(_SlotRequest(avoided_endpoints, preferred_endpoint, is_suitable))
        )
        if endpoint is not None:
            self._update_load(endpoint, +1)
        return endpoint

    def release_slot(self, endpoint: AnyEndpoint) -> None:
        self._update_load(endpoint, -1)
        self._assign_slots()

    def _choose_endpoint(self, request: _SlotRequest) -> AnyEndpoint | None:
        """Return the endpoint for a job: the preferred endpoint, otherwise the endpoint with the fewest jobs.

        If several endpoints have equally few jobs, the endpoint that has been idle longest is chosen.

        This is the only place that assigns jobs to endpoints.
        """
        if self._has_no_free_slot:
            return None
        avoided_endpoints, preferred_endpoint, is_suitable = (
            request.avoided_endpoints,
            request.preferred_endpoint,
            request.is_suitable,
        )
        has_free_slot = (
            preferred_endpoint is not None
            and preferred_endpoint in self._free_by_jobs[preferred_endpoint.busy]
        )
        if (
            preferred_endpoint is not None
            and has_free_slot
            and preferred_endpoint not in avoided_endpoints
            and is_suitable(preferred_endpoint)
        ):
            return preferred_endpoint
        candidates = (
            endpoint for endpoints in self._free_by_jobs for endpoint in endpoints if is_suitable(endpoint)
        )
        suitable_endpoints = filter(is_suitable, self.usable_endpoints)
        if not avoided_endpoints or all(endpoint in avoided_endpoints for endpoint in suitable_endpoints):
            return next(candidates, None)
        return next((endpoint for endpoint in candidates if endpoint not in avoided_endpoints), None)

    def _assign_slots(self) -> None:
        """Assign free slots to waiting jobs in order. A job that no free slot suits is skipped."""
        while (
            not self._has_no_free_slot
            and (assignment := next(self._list_assignable_slots(), None)) is not None
        ):
            assigned_endpoint, endpoint = assignment
            self._remove_request(assigned_endpoint)
            self._update_load(endpoint, +1)
            assigned_endpoint.set_result(endpoint)
        self._update_outage_timer()

    def _list_assignable_slots(self) -> Iterator[tuple[asyncio.Future[AnyEndpoint], AnyEndpoint]]:
        """Yield the waiting jobs that can have a slot now, in order, each with its endpoint."""
        for assigned_endpoint, request in self._slot_requests.items():
            if not assigned_endpoint.done() and (endpoint := self._choose_endpoint(request)) is not None:
                yield assigned_endpoint, endpoint

    def _update_load(self, endpoint: AnyEndpoint, job_count_change: int = 0) -> None:
        """Add a number of jobs to an endpoint, and update the tables of free slots."""
        if job_count_change:
            self._free_by_jobs[endpoint.busy].pop(endpoint, None)
        endpoint.busy += job_count_change
        self.busy += job_count_change
        while len(self._free_by_jobs) <= endpoint.busy:
            self._free_by_jobs.append({})
        if endpoint.free_slots > 0:
            self._free_by_jobs[endpoint.busy][endpoint] = None
        else:
            self._free_by_jobs[endpoint.busy].pop(endpoint, None)
        has_trial_job = endpoint.state is State.TRIAL and endpoint.busy > 0
        is_working = endpoint.state is State.HEALTHY or (
            has_trial_job and endpoint.failed_trials < _FAILED_TRIALS
        )
        if is_working != (endpoint in self._working_endpoints):
            if is_working:
                self._working_endpoints[endpoint] = None
            else:
                del self._working_endpoints[endpoint]
            self._stranded_requests = {
                assigned_endpoint
                for assigned_endpoint, request in self._slot_requests.items()
                if self._has_no_working_endpoint(request)
            }
        is_job_limit_reached = self._max_jobs is not None and self.busy >= self._max_jobs
        self._has_no_free_slot = is_job_limit_reached or not any(self._free_by_jobs)

    def _remove_request(self, assigned_endpoint: asyncio.Future[AnyEndpoint]) -> None:
        self._slot_requests.pop(assigned_endpoint, None)
        self._stranded_requests.discard(assigned_endpoint)

    def _has_no_working_endpoint(self, request: _SlotRequest) -> bool:
        return not any(map(request.is_suitable, self._working_endpoints))

    def _update_outage_timer(self) -> None:
        """Start the outage's timer if no working endpoint fits a waiting job, and stop it otherwise.

        If no endpoint works, running jobs count as waiting: their endpoints are down.
        """
        is_outage = bool(self._stranded_requests) or bool(
            self.busy and not self._working_endpoints and not self._refusal_reason
        )
        if is_outage == (self._outage_timer is not None):
            return
        loop, max_outage_s = asyncio.get_running_loop(), self._wait_times.max_outage
        if is_outage:
            if not self._outage_elapsed:
                self._on_event(JobsWait(seconds=max_outage_s))
            self._outage_start = loop.time()
            self._outage_timer = loop.call_later(
                max(0.0, max_outage_s - self._outage_elapsed), self._fail_waiting_jobs
            )
        elif self._outage_timer is not None:
            self._outage_timer.cancel()
            self._outage_timer, self._outage_elapsed = (
                None,
                self._outage_elapsed + loop.time() - self._outage_start,
            )

    def _fail_waiting_jobs(self) -> None:
        """Fail the jobs that no working endpoint fits, and jobs on endpoints that are down.

        Called when no fitting endpoint has worked for the maximum time.
        """
        self._outage_timer, self._outage_elapsed = None, self._wait_times.max_outage
        members_once_fit = [
            endpoint for _, endpoint in sorted(self.endpoints.items()) if endpoint.was_ever_fit_for_jobs
        ]
        unusable = [endpoint for endpoint in members_once_fit if endpoint.state is not State.HEALTHY]
        unusable_names = (
            _join_names(
                f"{endpoint.url}{f' ({endpoint.reason})' if endpoint.reason else ''}" for endpoint in unusable
            )
            or "all"
        )
        subject = "server that can do this job" if self._working_endpoints else "server"
        reason = f"no {subject} has been usable for {self._wait_times.max_outage:g} s; gone: {unusable_names}"
        if not self._working_endpoints:
            self._refusal_reason = reason  # makes later jobs fail at once
        self._fail_requests([*self._stranded_requests], EngineUnavailable(reason))
        for sent_job in self._active_jobs:
            has_fitting_endpoint = any(
                self.can_run_job(endpoint, sent_job.job) for endpoint in self.usable_endpoints
            )
            if not sent_job.endpoint.is_usable and sent_job.second_task is None and not has_fitting_endpoint:
                sent_job.give_up_reason = reason
                sent_job.wait.reschedule(get_event_loop_time_s())

    def _fail_requests(self, requests: Iterable[asyncio.Future[AnyEndpoint]], error: Exception) -> None:
        for assigned_endpoint in requests:
            if not assigned_endpoint.done():
                assigned_endpoint.set_exception(error)
            self._remove_request(assigned_endpoint)
        self._update_outage_timer()

    # --- jobs --------------------------------------------------------------------------------------------

    async def execute(self, job: Job, preferred_address: str = "", check: Check | None = None) -> Any:
        """Execute a job on an endpoint, preferably at the address `preferred_address`, and return the answer.

        If `check` raises for the answer of an endpoint, the endpoint has failed the job. If all endpoints
        fail it, the error of `check` is raised.

        Raises:
            AttemptsUsedUp: if no further attempt helps.
            ToolchainGone: if no endpoint has the job's toolchains.
            JobRejected: if an endpoint refused the job.
        """
        job_attempts = JobAttempts(self._max_attempts, self._wait_times)
        is_suitable = partial(self._can_endpoint_run_job, job)
        while True:
            if not any(map(is_suitable, self.usable_endpoints)) and self._must_prepare_job_again(job):
                raise ToolchainGone(
                    f"no server has {', '.join(job.accepted_toolchains)}, which the job needs"
                )
            try:
                avoided_endpoints = (
                    job_attempts.list_endpoints_to_avoid([*filter(is_suitable, self.usable_endpoints)])
                    if job_attempts.tried_endpoints
                    else ()
                )
                log_step(_log, "queued")
                endpoint = await self.take_slot(
                    avoided_endpoints, self.endpoints.get(preferred_address), is_suitable
                )
            except NoFittingEndpoint:
                continue
            except EngineUnavailable as error:
                exclusions = "".join(
                    f"; {name} is left out: {exclusion_reason}"
                    for name, exclusion_reason in self.exclusion_reasons.items()
                )
                raise AttemptsUsedUp(f"{error}{exclusions}{job_attempts.describe_last_error()}") from error
            try:
                with mark_step_executing(endpoint.url, _log):
                    return await self._await_first_answer(_SentJob(endpoint, job, job_attempts, check))
            except RefusedAnswerError as refused:
                job_attempts.add_failure(endpoint, refused.error)
                has_untried_endpoint = any(
                    endpoint_to_try not in job_attempts.tried_endpoints
                    for endpoint_to_try in filter(is_suitable, self.usable_endpoints)
                )
                if job_attempts.attempts_left <= 0 or not has_untried_endpoint:
                    raise job_attempts.add_server_names(refused.error) from refused.error
            except SERVERS_FAULT as error:
                job_attempts.add_failure(endpoint, error)
                job_attempts.raise_if_exhausted(error)
                SERVER.log(_log, error)
            finally:
                self.release_slot(endpoint)
            await asyncio.sleep(self._wait_times.choose_wait_s(len(job_attempts.tried_endpoints)))

    def _can_endpoint_run_job(self, job: Job, endpoint: AnyEndpoint) -> bool:
        return self.can_run_job(endpoint, job)

    def _must_prepare_job_again(self, job: Job) -> bool:
        """Return True if a job that no usable endpoint fits has to be prepared again.

        The job is outdated if a usable endpoint has other versions of its toolchains, or if none of the
        endpoints that may come back fits the job.
        """
        if not self.usable_endpoints:
            return False
        if any(self.can_run_job(endpoint, job, same_versions=False) for endpoint in self.usable_endpoints):
            return True
        return not any(self.can_run_job(endpoint, job) for endpoint in self.members)

    async def _await_first_answer(self, sent_job: _SentJob) -> Any:
        """Return the first good answer: of the endpoint, or of a second endpoint."""
        endpoint = sent_job.endpoint
        self._active_jobs[sent_job] = None
        try:
            try:
                async with sent_job.wait:
                    return await self._send_job_to_endpoint(endpoint, sent_job)
            finally:
                del self._active_jobs[sent_job]
        except TimeoutError:
            if sent_job.give_up_reason:
                raise NoAnswer(f"{endpoint.url} did not answer; {sent_job.give_up_reason}") from None
            if endpoint.is_usable:
                message = f"{endpoint.url} did not answer a job, which another server has executed meanwhile"
                self.count_failure(endpoint, LateAnswer(message))
            assert sent_job.answer is not None, "only an answer stops the wait early"
            return sent_job.answer
        except (*SERVERS_FAULT, RefusedAnswerError):
            if sent_job.second_task is not None:
                await asyncio.wait([sent_job.second_task])
            if sent_job.answer is not None:
                return sent_job.answer
            raise
        finally:
            if sent_job.second_task is not None and not sent_job.second_task.done():
                sent_job.second_task.cancel()
                await asyncio.wait([sent_job.second_task])

    async def _send_job_to_endpoint(self, endpoint: Endpoint[ReportT], sent_job: _SentJob) -> Any:
        """Send a job once, and update the endpoint's state before its slot is free again."""
        result: Any = None
        refusal: JobRejected | None = None
        if endpoint.busy == 1:
            endpoint.answered_at = get_event_loop_time_s()
        try:
            result = await self.send(endpoint, sent_job.job)
        except JobRejected as error:
            refusal = error  # the endpoint answered, and the job itself is at fault
            if error.by_server:
                self._count_useless_job_answer(endpoint, error)
        except EngineError as error:
            self.count_failure(endpoint, error)
            raise
        if sent_job.check is not None and refusal is None:
            try:
                result = await sent_job.check(result)
            except EngineError as error:
                self._count_useless_job_answer(endpoint, error)
                raise RefusedAnswerError(error) from error
            endpoint.uselessness = max(0, endpoint.uselessness - 1)
        endpoint.failed_in_a_row, endpoint.answered_at = 0, get_event_loop_time_s()
        endpoint.count_answer()
        if endpoint.state is State.TRIAL:
            endpoint.inspections = endpoint.inspections if endpoint.uselessness else 0
            self.change_endpoint_state(endpoint, Cause.ANSWERED, Change.BACK, endpoint.changes_message)
            endpoint.changes_message = ""
        if refusal is not None:
            raise refusal
        return result

    def _count_useless_job_answer(self, endpoint: Endpoint[ReportT], error: EngineError) -> None:
        """Count an answer that the job's `check` refused, or a refusal of the job.

        The job itself may be at fault. So this endpoint is suspended only if another endpoint sends good
        answers.
        """
        endpoint.uselessness += 2
        other_endpoints = (other for other in self.usable_endpoints if other is not endpoint)
        self.count_failure(
            endpoint, error, do_other_endpoints_work=any(not other.uselessness for other in other_endpoints)
        )

    def count_failure(
        self, endpoint: Endpoint[ReportT], error: EngineError, *, do_other_endpoints_work: bool | None = None
    ) -> None:
        """Count a failed job, and give the endpoint no jobs for a while after too many failures.

        `do_other_endpoints_work`: None if the endpoint failed to answer. Otherwise its answer was useless,
        and the value is True if another endpoint sends good answers.
        """
        endpoint.failed_in_a_row += 1
        endpoint.errors += 1
        endpoint.failed_trials += endpoint.state is State.TRIAL
        endpoint.reason = str(error)
        is_certainly_down = endpoint.state is State.TRIAL or isinstance(error, NoAnswer | ServerReplaced)
        has_failed_often = (
            endpoint.failed_in_a_row >= _FAULTS
            if do_other_endpoints_work is None
            else do_other_endpoints_work and endpoint.uselessness >= 2 * _FAULTS
        )
        if endpoint.is_usable and (is_certainly_down or has_failed_often):
            self.suspend_endpoint(endpoint, _choose_server_change(error), str(error))

    def suspend_endpoint(self, endpoint: Endpoint[ReportT], server_change: Change, reason: str) -> None:
        endpoint.is_full = server_change is Change.FULL
        self.change_endpoint_state(endpoint, Cause.FAILED, server_change, reason)
        self._begin_inspection(endpoint)

    # --- late jobs ---------------------------------------------------------------------------------------

    async def watch_late_jobs(self) -> None:
        """Ask silent endpoints whether they still answer, and send late jobs to a second endpoint."""
        while True:
            await asyncio.sleep(self._wait_times.silence / 2)
            silent_since_s = get_event_loop_time_s() - self._wait_times.silence
            silent_endpoints = [
                endpoint
                for endpoint in self.usable_endpoints
                if endpoint.busy and endpoint.answered_at < silent_since_s
            ]
            await asyncio.gather(*map(self._check_endpoint_alive, silent_endpoints))
            for sent_job in [endpoint for endpoint in self._active_jobs if self._is_late(endpoint)]:
                second_endpoint = self.take_free_slot(
                    is_suitable=partial(self._can_be_second_endpoint, sent_job)
                )
                if second_endpoint is not None:
                    LATE_JOB.log(
                        _log, f"{sent_job.endpoint.url} has not answered, {second_endpoint.url} is free"
                    )
                    sent_job.second_task = self.start_task(
                        self._send_to_second_endpoint(sent_job, second_endpoint)
                    )

    async def _check_endpoint_alive(self, endpoint: Endpoint[ReportT]) -> None:
        try:
            await self.ping(endpoint)
        except EngineError as error:
            if endpoint.is_usable:
                self.suspend_endpoint(endpoint, _choose_server_change(error), str(error))
        else:
            endpoint.answered_at = get_event_loop_time_s()

    def _is_late(self, sent_job: _SentJob) -> bool:
        """Return True if a job without a second endpoint exceeds its limits, or its endpoint is down."""
        max_answer_s = self.max_job_seconds(sent_job.endpoint, sent_job.job) + self._wait_times.silence
        is_overdue = (
            not sent_job.endpoint.is_usable or get_event_loop_time_s() - sent_job.began > max_answer_s
        )
        return sent_job.second_task is None and is_overdue

    def _can_be_second_endpoint(self, sent_job: _SentJob, endpoint: AnyEndpoint) -> bool:
        was_tried = endpoint is sent_job.endpoint or endpoint in sent_job.attempts.tried_endpoints
        return not was_tried and self.can_run_job(endpoint, sent_job.job)

    async def _send_to_second_endpoint(self, sent_job: _SentJob, second_endpoint: Endpoint[ReportT]) -> None:
        try:
            sent_job.answer = await self._send_job_to_endpoint(second_endpoint, sent_job)
        except (EngineError, RefusedAnswerError) as error:
            sent_job.attempts.add_failure(
                second_endpoint, error.error if isinstance(error, RefusedAnswerError) else error
            )
            sent_job.second_task = None  # so that the job may be sent to another endpoint
        else:
            if sent_job in self._active_jobs:
                sent_job.wait.reschedule(get_event_loop_time_s())
        finally:
            self.release_slot(second_endpoint)

    # --- endpoints that join, leave and change -----------------------------------------------------------

    async def search_endpoints_repeatedly(self, interval_s: float) -> None:
        """Search for endpoints until the engine closes."""
        while True:
            await asyncio.sleep(interval_s)
            # If the search fails, for instance while a scheduler restarts, keep the known servers.
            try:
                self.update_endpoints(await self.find_server_addresses())
            except (EngineError, InputError) as error:
                DISCOVERY.log(_log, error)

    def update_endpoints(self, addresses: frozenset[str]) -> None:
        """Drop endpoints that are not in `addresses`, and inspect new endpoints until they join."""
        for address in sorted(self.found_addresses - addresses):
            endpoint = self.endpoints.get(address)
            if endpoint is not None and endpoint.state is not State.GONE:
                self.change_endpoint_state(
                    endpoint, Cause.NOT_FOUND, Change.GONE if endpoint.was_ever_fit_for_jobs else None
                )
        self.found_addresses = addresses
        for address in sorted(addresses):
            endpoint = self.endpoints.get(address)
            if endpoint is None or endpoint.state is State.GONE:
                self._begin_inspection(self.add_endpoint(address))

    def add_endpoint(self, address: str) -> Endpoint[ReportT]:
        """Return the endpoint of an address. A new endpoint is created if the address is new."""
        endpoint = self.endpoints.setdefault(address, Endpoint[ReportT](address))
        if endpoint.state is State.GONE:
            endpoint.inspections = 0
            self.change_endpoint_state(endpoint, Cause.FOUND, None)
        return endpoint

    def _begin_inspection(self, endpoint: Endpoint[ReportT]) -> None:
        if endpoint not in self._under_inspection:
            self._under_inspection.add(endpoint)
            self.start_task(self._inspect_until_fit_for_jobs(endpoint))

    def admit_endpoint(self, endpoint: Endpoint[ReportT], report: ReportT) -> None:
        """Make an endpoint healthy, so that it gets jobs."""
        self._store_report(endpoint, report)
        endpoint.failed_in_a_row = endpoint.uselessness = endpoint.inspections = 0
        endpoint.changes_message, endpoint.is_full = "", False
        self.change_endpoint_state(endpoint, Cause.FIT, Change.JOINED if self.has_begun else None)

    def exclude_endpoint(self, endpoint: Endpoint[ReportT], reason: str) -> None:
        self.change_endpoint_state(endpoint, Cause.UNFIT, Change.LEFT_OUT if self.has_begun else None, reason)

    def _store_report(self, endpoint: Endpoint[ReportT], report: ReportT) -> None:
        """Store the report of an inspection, and a message about the changes since the last report."""
        if endpoint.report is not None:
            endpoint.changes_message = self.describe_changes(endpoint.report, report)
        endpoint.report, endpoint.slots = report, self.count_slots(report)

    async def _inspect_until_fit_for_jobs(self, endpoint: Endpoint[ReportT]) -> None:
        """Inspect a new endpoint until it answers, or a failed endpoint until it is fit, with pauses."""
        try:
            while endpoint.state in (State.NEW, State.DOWN) or (
                endpoint.state is State.LEFT_OUT and endpoint.was_ever_fit_for_jobs
            ):
                is_new, earlier_inspections = endpoint.state is State.NEW, endpoint.inspections
                endpoint.inspections += 1
                if earlier_inspections or not is_new:
                    RECOVERY.log(_log, endpoint.reason)
                    await asyncio.sleep(self._wait_times.choose_pause_s(max(0, earlier_inspections - is_new)))
                await self._inspect_once(endpoint)
        finally:
            self._under_inspection.discard(endpoint)

    async def _inspect_once(self, endpoint: Endpoint[ReportT]) -> None:
        try:
            if endpoint.is_full and endpoint.report is not None:
                await self.ping(endpoint)
                report = endpoint.report
            else:
                report = await self.inspect(endpoint.url)
        except EndpointUnfit as error:
            if endpoint.state in (State.NEW, State.DOWN):
                self.exclude_endpoint(endpoint, str(error))
        except EngineError as error:
            endpoint.is_full = False
            if endpoint.state is State.NEW:
                endpoint.reason = str(error)
        else:
            if endpoint.state is State.NEW:
                self.admit_endpoint(endpoint, report)
            elif endpoint.state in (State.DOWN, State.LEFT_OUT):
                self._store_report(endpoint, report)
                self.change_endpoint_state(endpoint, Cause.FIT, Change.TRIAL)

    # --- background tasks ----------------------------------------------------------------------------------

    def start_task(self, coroutine: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._forget_task)
        return task

    def _forget_task(self, task: asyncio.Task[None]) -> None:
        """Forget a task that succeeded. An error is a bug, which `close` raises."""
        if task.cancelled() or task.exception() is None:
            self._tasks.discard(task)

    async def close(self) -> None:
        self._refusal_reason = _CLOSED
        self._fail_requests([*self._slot_requests], EngineUnavailable(_CLOSED))
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome
