"""Unjudged submissions are counted until the process exits, when the log may be closed."""

from __future__ import annotations

import subprocess
import sys

NOTING = """
import io, logging
from ioi_eval.integrations.unjudged import count_unjudged
from ioi_eval.model.errors import JudgeFailure

log = io.StringIO()
logging.basicConfig(stream=log)
count_unjudged(JudgeFailure("out of disks"))
assert "out of disks" in log.getvalue()
log.close()
"""


def test_logging_to_closed_stream_at_exit_causes_no_error() -> None:
    completed = subprocess.run([sys.executable, "-c", NOTING], capture_output=True, text=True, check=True)
    assert completed.stderr == ""
