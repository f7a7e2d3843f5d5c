from __future__ import annotations

import json
from typing import Any

import pytest

from ioi_eval.engines.embedded.sandbox import decode_sandbox_report, signal_name
from ioi_eval.errors import BrokenReply


@pytest.mark.parametrize(
    ("report", "overflowed_stream", "expected"),
    [
        ({}, "", (0, None, None, None)),
        ({"code": 3}, "", (3, None, "RE", "Exited with error status 3")),
        ({"signal": 11}, "", (None, "SIGSEGV", "SG", "Caught fatal signal 11")),
        ({"killed": "wall", "signal": 9}, "", (None, "SIGKILL", "TO", "Time limit exceeded (wall clock)")),
        ({"killed": "cpu", "code": 1}, "", (None, "SIGKILL", "TO", "Time limit exceeded")),
        ({"killed": "memory"}, "", (None, "SIGKILL", "SG", "Memory limit exceeded")),
        ({"killed": "processes"}, "", (None, "SIGKILL", "SG", "Too many processes")),
        ({"killed": "leash"}, "stdout", (None, "SIGKILL", "OL", "stdout length exceeded")),
        ({"killed": "leash"}, "stderr", (None, "SIGKILL", "EL", "stderr length exceeded")),
        ({"code": 1}, "stdout", (None, "SIGKILL", "OL", "stdout length exceeded")),
        ({"killed": "something new"}, "", (None, "SIGKILL", "XX", "the sandbox was killed from outside")),
        ({"failure": "no room"}, "", (None, None, "XX", "no room")),
    ],
)
def test_sandbox_report_becomes_job_ending(
    report: dict[str, Any], overflowed_stream: str, expected: tuple[Any, ...]
) -> None:
    ending, _ = decode_sandbox_report(json.dumps({"v": 2, **report}).encode(), overflowed_stream)
    assert (ending.code, ending.signal, ending.status, ending.message) == expected


@pytest.mark.parametrize(
    "fields", ['"code":3', '"killed":"cpu"', '"signal":6', '"failure":"no room"', '"code":0']
)
def test_sandbox_report_gives_usage_and_confinement(fields: str) -> None:
    report = (
        f'{{"v":2,{fields},"cpu_us":1999,"wall_us":2000,"waited_us":5,"memory":77,"confinement":{{"uid":1}}}}'
    )
    ending, confinement = decode_sandbox_report(report.encode())
    assert (ending.cpu_time, ending.wall_time, ending.memory) == (1, 2, 77)
    assert confinement == {"uid": 1}


def test_unnamed_signal_is_shown_as_number() -> None:
    assert signal_name(9) == "SIGKILL"
    assert signal_name(200) == "SIG200"


@pytest.mark.parametrize("report", [b"{}", b'{"v":2,"code":"x"}', b'{"v":2', b'{"v":1}'])
def test_malformed_sandbox_report_is_broken_reply(report: bytes) -> None:
    with pytest.raises(BrokenReply):
        decode_sandbox_report(report)
