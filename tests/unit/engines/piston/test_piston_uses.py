"""The kind of jobs that different servers are used for."""

from __future__ import annotations

from typing import Any

import pytest
from support.servers import EndpointReport

from ioi_eval.engines.contract import HealthCheck
from ioi_eval.engines.piston.reports import COMPILER
from ioi_eval.engines.piston.uses import ServerRole, choose_server_roles
from ioi_eval.models import Toolchain

KINDS: dict[str, dict[str, Any]] = {
    "own": {"runtimes": ("ioi_eval", "bash")},
    "bash": {"runtimes": ("bash", "sh")},
    "cms": {"runtimes": ("cms", "cms_ioi"), "architecture": "", "toolchains": {}},
    "forces": {"runtimes": ("cf_python3", "c++17"), "architecture": "", "toolchains": {}},
    "both": {"runtimes": ("bash", "cms_ioi")},
    "python": {"runtimes": ("python",), "architecture": "", "toolchains": {}},
    "arm": {"runtimes": ("bash",), "architecture": "aarch64"},
    "low": {
        "runtimes": ("bash",),
        "findings": (HealthCheck(name="output", ok=False, detail="only up to 1 kB"),),
    },
    "no_cpp": {
        "runtimes": ("bash",),
        "toolchains": {},
        "findings": (HealthCheck(name=COMPILER, ok=False, detail="no g++"),),
    },
    "away": {"reachable": False},
}  # fmt: skip
GPP = Toolchain(command="g++", path="/usr/bin/g++", version="12", identity="g++ 12")


def servers(*kinds: str) -> list[EndpointReport]:
    defaults = {"architecture": "x86_64", "toolchains": {"g++": GPP}}
    return [
        EndpointReport(url=f"http://{index}-{kind}", **{**defaults, **KINDS[kind]})
        for index, kind in enumerate(kinds)
    ]


BATCHES, CLASSIC, NONE = ServerRole.BATCHES, ServerRole.CLASSIC, ServerRole.NONE


@pytest.mark.parametrize(
    ("kinds", "job", "expected"),
    [
        (["bash", "cms"], "auto", [BATCHES, NONE]),
        (["cms", "bash", "cms"], "auto", [NONE, BATCHES, NONE]),
        (["own", "bash"], "auto", [BATCHES, BATCHES]),
        (["own", "no_cpp"], "auto", [BATCHES, BATCHES]),
        (["own", "low"], "auto", [BATCHES, NONE]),
        (["low"], "auto", [BATCHES]),
        (["low", "cms"], "auto", [NONE, CLASSIC]),
        (["cms", "forces"], "auto", [CLASSIC, CLASSIC]),
        (["no_cpp", "cms"], "auto", [BATCHES, CLASSIC]),
        (["no_cpp", "cms"], "batched", [BATCHES, NONE]),
        (["bash", "cms"], "classic", [NONE, CLASSIC]),
        (["both", "cms"], "classic", [CLASSIC, CLASSIC]),
        (["both", "cms"], "auto", [BATCHES, NONE]),
        (["own", "cms"], "classic", [CLASSIC, NONE]),
        (["bash", "python"], "auto", [BATCHES, NONE]),
        (["own", "bash", "arm"], "auto", [BATCHES, BATCHES, NONE]),
        (["cms"], "batched", [BATCHES]),
        (["python"], "auto", [BATCHES]),
        (["away", "cms"], "auto", [CLASSIC]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else str(value),
)
def test_each_server_is_used_for_best_common_kind_of_job(
    kinds: list[str], job: Any, expected: list[ServerRole]
) -> None:
    choice = choose_server_roles(servers(*kinds), job)
    assert [server_use.role for server_use in choice.servers] == expected
    assert all(bool(server_use.reason) == (server_use.role is NONE) for server_use in choice.servers)
    assert choice.role == max(expected, key=[NONE, CLASSIC, BATCHES].index)


@pytest.mark.parametrize(
    ("kinds", "line"),
    [
        (["cms", "own"], "1 with ioi_eval, 1 with cms_ioi only is not used"),
        (["own", "own", "cms", "cms"], "2 with ioi_eval, 2 with cms_ioi only are not used"),
        (["no_cpp", "cms"], "1 with bash, 1 with cms_ioi only for C++, by classic jobs"),
        (["cms", "forces"], "1 with cms_ioi only, 1 with codeforces only"),
        (
            ["own", "own", "low", "arm"],
            "2 with ioi_eval, 1 with bash and low limits is not used, 1 with bash on aarch64 is not used",
        ),
        (["bash", "python"], "1 with bash, 1 with no package for jobs is not used"),
    ],
)
def test_first_line_of_run_counts_servers_by_runtime(kinds: list[str], line: str) -> None:
    assert choose_server_roles(servers(*kinds)).summary == line


def test_summary_for_classic_jobs_counts_servers_by_package() -> None:
    assert (
        choose_server_roles(servers("own", "cms"), "classic").summary
        == "1 with ioi_eval, 1 with cms_ioi only is not used"
    )


def test_unused_servers_are_listed_with_reason() -> None:
    choice = choose_server_roles(servers("own", "low", "cms", "arm", "own"))
    assert choice.reasons_by_unused_server == {
        "http://1-low": "output only up to 1 kB",
        "http://2-cms": "it has cms_ioi only, and other servers run many tests a job",
        "http://3-arm": "its architecture is aarch64, but most servers are x86_64",
    }
