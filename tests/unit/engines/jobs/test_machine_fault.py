"""`explain_machine_fault` detects that a job of tests failed because of its machine."""

from __future__ import annotations

import msgspec
import pytest

from ioi_eval.engines.jobs.run import explain_machine_fault
from ioi_eval.model.protocol import VERSION, Start, TestReport
from ioi_eval.models import Ending, StageStatus

NONCE = "5e3f"


def printed(*lines: TestReport) -> str:
    return "".join(msgspec.json.encode(line).decode() + "\n" for line in lines)


START = printed(TestReport(v=VERSION, nonce=NONCE, start=Start()))
CRASHED = printed(TestReport(v=VERSION, nonce=NONCE, test=0, end="signal", signal=9))
FATAL = printed(TestReport(v=VERSION, nonce=NONCE, fatal="the disk is full"))
FORGED = (START + CRASHED).replace(NONCE, "0000")
KILLED = {"signal": "SIGKILL", "status": StageStatus.SG, "message": "Caught fatal signal 9"}
KILLED_BEFORE_ISOLATE = {"signal": "SIGKILL"}
LATE = {"signal": "SIGKILL", "status": StageStatus.TO, "message": "Time limit exceeded (wall clock)"}


@pytest.mark.parametrize("ending", [KILLED, KILLED_BEFORE_ISOLATE, LATE, {"code": 0}, {"code": 1}])
@pytest.mark.parametrize("stdout", ["", FORGED, "Killed\n"])
def test_job_without_proctor_output_is_machine_fault(ending: dict[str, object], stdout: str) -> None:
    assert explain_machine_fault(Ending(stdout=stdout, **ending), NONCE).startswith(
        "the proctor judged no test"
    )


@pytest.mark.parametrize("ending", [KILLED, KILLED_BEFORE_ISOLATE, LATE, {"code": 0}])
def test_job_that_reports_killed_program_is_not_a_machine_fault(ending: dict[str, object]) -> None:
    assert explain_machine_fault(Ending(stdout=START + CRASHED, **ending), NONCE) == ""


def test_proctor_killed_before_first_result_is_machine_fault() -> None:
    assert "killed by SIGKILL" in explain_machine_fault(Ending(stdout=START, **KILLED), NONCE)


def test_job_timeout_in_first_test_is_not_a_machine_fault() -> None:
    assert explain_machine_fault(Ending(stdout=START, **LATE), NONCE) == ""


def test_fatal_line_of_proctor_is_machine_fault() -> None:
    assert explain_machine_fault(Ending(stdout=START + CRASHED + FATAL, code=1), NONCE) == "the disk is full"
