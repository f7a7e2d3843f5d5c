"""A fleet without servers, whose endpoint states a test sets."""

from __future__ import annotations

from typing import Any

from ioi_eval.engines.contract import OnServer, ignore_server_event
from ioi_eval.engines.fleet import TRANSITIONS, Cause, Endpoint, Fleet, NoAnswer, State, WaitTimes
from ioi_eval.models import Job


class StillFleet(Fleet[int]):
    """A fleet without background tasks. The report about an endpoint is its number of slots."""

    def __init__(
        self,
        waits: WaitTimes | None = None,
        *,
        total: int | None = None,
        tell: OnServer = ignore_server_event,
    ) -> None:
        super().__init__(waits or WaitTimes(), max_attempts=3, max_jobs=total, on_event=tell)
        self.fitting: frozenset[str] | None = None  # addresses that fit; `None` means that all endpoints fit
        self.others_could = False

    async def find_server_addresses(self) -> frozenset[str]:
        return frozenset(self.endpoints)

    async def inspect(self, address: str) -> int:
        raise NoAnswer(f"{address} is no server")

    async def ping(self, endpoint: Endpoint[int]) -> None: ...

    async def send(self, endpoint: Endpoint[int], job: Job) -> Any:
        return job

    def count_slots(self, report: int) -> int:
        return report

    def can_run_job(self, endpoint: Endpoint[int], job: Job, *, same_versions: bool = True) -> bool:
        return (self.fitting is None or endpoint.url in self.fitting) if same_versions else self.others_could

    def join(self, url: str, slots: int) -> Endpoint[int]:
        endpoint = self.add_endpoint(url)
        self.admit_endpoint(endpoint, slots)
        return endpoint

    def put(self, endpoint: Endpoint[int], state: State) -> None:
        """Bring an endpoint into a state by the shortest path of transitions, without events and tasks."""
        for cause in path(endpoint.state, state):
            self.change_endpoint_state(endpoint, cause, None)


def path(start: State, end: State) -> list[Cause]:
    paths: dict[State, list[Cause]] = {start: []}
    while end not in paths:
        for (state, cause), next_state in TRANSITIONS.items():
            if state in paths and next_state not in paths:
                paths[next_state] = [*paths[state], cause]
    return paths[end]
