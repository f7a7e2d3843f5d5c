"""A run reports every lasting change of its servers once."""

from __future__ import annotations

import pytest
from support.clocks import Clock

from ioi_eval.cli.progress import ServerEventLog, format_server_states
from ioi_eval.cli.progress import describe_servers as lines_about
from ioi_eval.engines.contract import Change, JobsWait, ServerChanged
from ioi_eval.model.values import ServerState
from ioi_eval.runs import ServersFound


def server_change(name: str, change: Change, *, usable: int = 2, reason: str = "") -> ServerChanged:
    return ServerChanged(
        url=f"http://{name}:2000", change=change, reason=reason, usable=usable, slots=4 * usable
    )


def printed_messages(
    news: ServerEventLog, clock: Clock, *events: ServerChanged | JobsWait, after: float = 3.0
) -> list[str]:
    for event in events:
        news.add_event(event)
    clock.now += after
    return list(news.take_messages())


def test_server_change_is_printed_once() -> None:
    clock = Clock()
    news = ServerEventLog(clock)
    lost = server_change("a", Change.LOST, reason="connection refused")
    assert printed_messages(news, clock, lost, after=0.5) == []  # not yet: more may follow
    assert printed_messages(news, clock) == [
        "http://a:2000 is lost (connection refused); 2 servers for 8 jobs at a time now"
    ]
    assert printed_messages(news, clock, lost) == []
    assert printed_messages(news, clock, server_change("a", Change.BACK, usable=3)) == [
        "http://a:2000 accepts jobs again; 3 servers for 12 jobs at a time now"
    ]
    assert printed_messages(news, clock) == []


def test_many_server_changes_are_printed_as_one_line() -> None:
    clock = Clock()
    news = ServerEventLog(clock)
    events = [server_change(f"n{number}", Change.LOST, usable=1500 - number) for number in range(1, 1500)]
    [line] = printed_messages(news, clock, *events)
    assert line == (
        "http://n1:2000, http://n2:2000, http://n3:2000 and 1496 more are lost; "
        "1 server for 4 jobs at a time now"
    )


def test_brief_server_change_is_not_printed() -> None:
    clock = Clock()
    news = ServerEventLog(clock)
    assert (
        printed_messages(news, clock, server_change("a", Change.FULL), server_change("a", Change.BACK)) == []
    )


def test_replaced_server_with_new_compiler_is_always_printed() -> None:
    clock = Clock()
    news = ServerEventLog(clock)
    back = server_change("a", Change.BACK, reason="it has another g++: 13.2.0")
    [line] = printed_messages(news, clock, server_change("a", Change.REPLACED), back)
    assert line.startswith("http://a:2000 accepts jobs again (it has another g++: 13.2.0); ")


def test_server_that_changes_often_is_printed_rarely() -> None:
    clock = Clock()
    news = ServerEventLog(clock)
    lines = []
    for _ in range(50):
        lines += printed_messages(news, clock, server_change("a", Change.LOST))
        lines += printed_messages(news, clock, server_change("a", Change.BACK))
    assert len(lines) == 4
    clock.now += 700
    assert len(printed_messages(news, clock, server_change("a", Change.LOST))) == 1


def test_waiting_submissions_are_explained() -> None:
    clock = Clock()
    news = ServerEventLog(clock)
    lines = printed_messages(news, clock, server_change("a", Change.SLOW, usable=0), JobsWait(seconds=300))
    assert lines[0].startswith("http://a:2000 does not answer in time; 0 servers")
    assert lines[1].startswith("No server can be used: submissions wait for one, 300 s at most")


def test_pending_server_changes_are_printed_at_end() -> None:
    news = ServerEventLog(Clock())
    news.add_event(server_change("a", Change.GONE))
    assert len(list(news.take_messages(ignores_delay=True))) == 1


@pytest.mark.parametrize(
    ("cores", "cores_note"), [(0, ""), (16, " on 16 cores (--set per-endpoint=N gives each server N jobs)")]
)
def test_first_line_about_servers_counts_idle_cores(cores: int, cores_note: str) -> None:
    servers_found = ServersFound(
        servers=2, used=2, slots=2, unreachable=(), left_out={}, differences=(), uses="2 with bash",
        jobs="many tests a job", cores=cores,
    )  # fmt: skip
    assert [*lines_about(servers_found)] == [
        f"2 servers: 2 with bash; 2 jobs at a time{cores_note}, many tests a job"
    ]


def test_trial_of_lost_server_is_not_printed() -> None:
    clock = Clock()
    news = ServerEventLog(clock)
    lost, trial = server_change("a", Change.LOST), server_change("a", Change.TRIAL)
    assert [line.partition(";")[0] for line in printed_messages(news, clock, lost, trial)] == [
        "http://a:2000 is lost"
    ]
    assert printed_messages(news, clock, lost, trial, lost, trial) == [], "the server is still lost"
    assert [
        line.partition(";")[0] for line in printed_messages(news, clock, server_change("a", Change.BACK))
    ] == ["http://a:2000 accepts jobs again"]


def test_servers_are_listed_with_state_slots_rate_and_last_error() -> None:
    well = ServerState(url="http://a", state="healthy", slots=2, busy=1, rate=1.25)
    down = ServerState(url="http://b", state="down", slots=4, errors=3, why="HTTP 500", since=0.0)
    line = format_server_states([well, down])
    assert line.startswith("Servers: http://b is down since ")
    assert line.endswith(
        ", 0 of 4 slots busy, 0.00 jobs/s, last error: HTTP 500;"
        " http://a works, 1 of 2 slots busy, 1.25 jobs/s"
    )
    many = [ServerState(url=f"http://{n}", state="healthy", slots=2, busy=1, rate=0.5) for n in range(9)]
    assert format_server_states([*many, down]).endswith("; 7 of 7 more work, 7 of 14 slots busy, 3.50 jobs/s")
