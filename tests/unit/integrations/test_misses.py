"""What could not be judged is told: each kind once, and how many there were at the end."""

from __future__ import annotations

import subprocess
import sys

NOTING = """
import io, logging, sys
from ioi_eval.integrations.misses import note
from ioi_eval.model.errors import JudgeFailure
from ioi_eval.rules.json_tests import CasesError

logging.basicConfig(stream=sys.argv[1] == "closed" and io.StringIO() or None)
for error in (CasesError("no JSON"), JudgeFailure("out of disks"), CasesError("empty")):
    note(error)
if sys.argv[1] == "closed":
    logging.root.handlers[0].stream.close()
"""


def told(how: str) -> str:
    done = subprocess.run([sys.executable, "-c", NOTING, how], capture_output=True, text=True, check=True)
    return done.stderr


def test_each_kind_is_told_once_and_counted_at_the_end() -> None:
    first, second, last = told("open").splitlines()
    assert "tests that cannot be read: no JSON" in first and "out of disks" in second
    assert "3 not judged: 2 because of tests that cannot be read, 1 because of a failure of" in last


def test_a_log_that_is_closed_at_the_end_is_no_error() -> None:
    assert told("closed") == ""
