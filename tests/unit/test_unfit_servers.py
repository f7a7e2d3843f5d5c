"""A run on servers that cannot judge stops before its first row, with the doctor's messages."""

from __future__ import annotations

import pytest
from support.servers import HealthCheck

from ioi_eval import InputError
from ioi_eval.runs.engine import refuse_unfit_servers

GOOD = HealthCheck(name="output", ok=True, detail="up to 64 MiB")
COULD_BE_BETTER = HealthCheck(name="processes", ok=None, detail="only up to 32", remedy="Set more")
OUTPUT = HealthCheck(
    name="output", ok=False, detail="only up to 1 KiB", remedy="Set PISTON_OUTPUT_MAX_SIZE=9"
)
TIME = HealthCheck(name="run time", ok=False, detail="only up to 3 s", remedy="Set PISTON_RUN_TIMEOUT=9")


def servers(*findings: list[HealthCheck]) -> dict[str, list[HealthCheck]]:
    return {f"http://s{number}": finding for number, finding in enumerate(findings, 1)}


def test_unfit_server_error_names_limits_to_raise() -> None:
    with pytest.raises(InputError) as refused:
        refuse_unfit_servers(servers([GOOD, OUTPUT, TIME, COULD_BE_BETTER]))
    message = str(refused.value)
    assert message.startswith(
        "http://s1: the server cannot judge the submissions: output only up to 1 KiB; run"
    )
    assert (
        "PISTON_OUTPUT_MAX_SIZE" in message and "PISTON_RUN_TIMEOUT" in message and "Set more" not in message
    )


def test_unfit_server_error_counts_similar_servers() -> None:
    with pytest.raises(InputError, match="http://s1 and 2 more"):
        refuse_unfit_servers(servers([OUTPUT], [TIME], [OUTPUT]))


@pytest.mark.parametrize("used_servers", [servers(), servers([GOOD]), servers([OUTPUT], [COULD_BE_BETTER])])
def test_one_fit_server_of_several_is_enough(used_servers: dict[str, list[HealthCheck]]) -> None:
    refuse_unfit_servers(used_servers)
