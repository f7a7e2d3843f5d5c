"""The table of system calls that `proctor profile` prints: which profile allows which call, and why."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

PROFILES = [
    "submission",
    "with threads",
    "that forks",
    "that forks, with threads",
    "tool",
    "stage",
    "stage without namespaces",
]


@pytest.fixture
def rows(proctor: Path) -> list[list[str]]:
    output = subprocess.run([proctor, "profile"], capture_output=True, text=True, check=True).stdout
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in output.splitlines()]


def test_each_seccomp_rule_has_system_calls_and_a_reason(rows: list[list[str]]) -> None:
    titles, _, *lines = rows
    assert titles == ["calls", *PROFILES, "on condition", "why"]
    assert len(lines) > 40
    for calls, *whose, _condition, reason in lines:
        assert calls and reason
        assert "yes" in whose and set(whose) <= {"yes", ""}


def test_system_call_is_in_one_rule_of_a_seccomp_profile(rows: list[list[str]]) -> None:
    for column, profile in enumerate(PROFILES, start=1):
        calls = Counter(call for line in rows[2:] if line[column] for call in line[0].split())
        assert [call for call, times in calls.items() if times > 1] == [], profile


def test_no_seccomp_profile_allows_networking_or_tracing(rows: list[list[str]]) -> None:
    allowed = {call for line in rows[2:] for call in line[0].split()}
    assert not allowed & {
        "socket",
        "connect",
        "bind",
        "ptrace",
        "bpf",
        "io_uring_setup",
        "perf_event_open",
        "keyctl",
    }
