"""Decides the role of each server: which jobs it gets. For runs and `ioi-eval doctor`. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from ioi_eval.engines.contract import BASH, CLASSIC, OWN
from ioi_eval.engines.piston.reports import CODEFORCES, COMPILER, EndpointReport, find_most_common
from ioi_eval.model.options import JobShape
from ioi_eval.model.values import Value


class ServerRole(StrEnum):
    """The jobs that a server gets."""

    BATCHES = "many tests a job"
    CLASSIC = "classic jobs: a single test per job, which compiles everything"
    NONE = "not used"


class ServerPackage(Value):
    """A package of servers, and the jobs that it starts."""

    name: str
    runtimes: frozenset[str]  # a server with one of these runtimes has the package
    roles: tuple[ServerRole, ...]


PACKAGES = (
    ServerPackage(name="ioi_eval", runtimes=frozenset({OWN}), roles=(ServerRole.BATCHES, ServerRole.CLASSIC)),
    ServerPackage(name="bash", runtimes=frozenset({BASH}), roles=(ServerRole.BATCHES,)),
    ServerPackage(name="cms_ioi", runtimes=frozenset(CLASSIC), roles=(ServerRole.CLASSIC,)),
    ServerPackage(name="codeforces", runtimes=frozenset({CODEFORCES}), roles=(ServerRole.CLASSIC,)),
)
"""The packages that jobs can use, in order of preference."""

ROLE_NAMES = {ServerRole.BATCHES: "many tests a job", ServerRole.CLASSIC: "classic jobs"}
"""Short name of each role of a server, for tables."""
_ROLES_OF_SHAPE: dict[JobShape, tuple[ServerRole, ...]] = {
    "auto": (ServerRole.BATCHES, ServerRole.CLASSIC),
    "batched": (ServerRole.BATCHES,),
    "classic": (ServerRole.CLASSIC,),
}


class AssignedServer(Value):
    """A server, and its role in a run."""

    url: str
    kind: str  # kind of the server, for display: "ioi_eval", "cms_ioi only", "bash and low limits"
    role: ServerRole = msgspec.field(name="use")
    reason: str = ""  # reason why the server is not used; empty if it is used


class ServerRoles(Value):
    """The roles of reachable servers: the jobs that each of them gets."""

    role: ServerRole  # kind of jobs with which the run's tests are judged
    servers: tuple[AssignedServer, ...]

    @property
    def reasons_by_unused_server(self) -> dict[str, str]:
        """Return the reason for each server that gets no jobs, by address."""
        return {server.url: server.reason for server in self.servers if server.role is ServerRole.NONE}

    @property
    def summary(self) -> str:
        """Return the number and role of servers of each kind: "2 with bash, 1 with ... is not used"."""
        package_names = [package.name for package in PACKAGES]
        sorted_servers = sorted(
            self.servers,
            key=lambda server: (
                server.role is ServerRole.NONE,
                [name not in server.kind for name in package_names],
            ),
        )
        server_counts = Counter((server.kind, server.role) for server in sorted_servers)
        return ", ".join(
            f"{number} with {kind}{self._describe_role(role, number)}"
            for (kind, role), number in server_counts.items()
        )

    def _describe_role(self, role: ServerRole, server_count: int) -> str:
        if role is ServerRole.NONE:
            return " is not used" if server_count == 1 else " are not used"
        return "" if role is self.role else " for C++, by classic jobs"


def choose_server_roles(reports: Iterable[EndpointReport], job_shape: JobShape = "auto") -> ServerRoles:
    """Return the role of each reachable server.

    Jobs have many tests each ("batched") if any server can execute such jobs, and one test each ("classic")
    otherwise, unless `job_shape` decides. A server that cannot execute these jobs, or whose limits are too
    low for them, is not used if another server can execute them.
    """
    reachable_reports = sorted(
        (report for report in reports if report.reachable), key=lambda report: report.url
    )
    role, role_reports = _choose_role(reachable_reports, _ROLES_OF_SHAPE[job_shape])
    reason_by_url = dict[str, str]()
    if role is ServerRole.BATCHES:
        common_architecture = find_most_common(report.architecture for report in role_reports)
        for report in role_reports:
            if report.architecture != common_architecture:
                reason_by_url[report.url] = (
                    f"its architecture is {report.architecture}, but most servers are {common_architecture}"
                )
    elif any(OWN in report.runtimes for report in role_reports):
        for report in role_reports:
            if OWN not in report.runtimes:
                reason_by_url[report.url] = "other servers start the scripts of classic jobs"
    role_by_url = {report.url: role for report in role_reports if report.url not in reason_by_url}
    has_compiler = any("g++" in report.toolchains for report in role_reports if report.url in role_by_url)
    if role is ServerRole.BATCHES and job_shape == "auto" and not has_compiler:
        role_by_url |= {
            server_report.url: ServerRole.CLASSIC
            for server_report in reachable_reports
            if _can_judge(server_report, ServerRole.CLASSIC) and server_report.url not in role_by_url
        }
    assigned_servers = (
        AssignedServer(
            url=report.url,
            kind=describe_server_packages(report.runtimes)
            + _describe_unsuitability(report, role, role_by_url),
            role=role_by_url.get(report.url, ServerRole.NONE),
            reason=""
            if report.url in role_by_url
            else reason_by_url.get(report.url) or _explain_unused_server(report, role),
        )
        for report in reachable_reports
    )
    return ServerRoles(role=role, servers=tuple(assigned_servers))


def _choose_role(
    reports: Sequence[EndpointReport], roles: Sequence[ServerRole]
) -> tuple[ServerRole, list[EndpointReport]]:
    """Return the best role for which any server is fit, and the reports of all servers that are fit for it.

    If no server is fit, return the servers that can at least start jobs.
    """
    for has_role in (_can_judge, _can_start_jobs):
        for role in roles:
            if able_reports := [report for report in reports if has_role(report, role)]:
                return role, able_reports
    return roles[0], [*reports]


def _can_start_jobs(report: EndpointReport, role: ServerRole) -> bool:
    return any(role in package.roles for package in _find_known_packages(report.runtimes))


def _can_judge(report: EndpointReport, role: ServerRole) -> bool:
    return _can_start_jobs(report, role) and not _list_low_limits(report)


def _list_low_limits(report: EndpointReport) -> list[str]:
    """Return descriptions of the limits that are too low for jobs: the failed health checks of a server.

    The check of its compiler is not included.
    """
    failed_checks = (health_check for health_check in report.findings if health_check.ok is False)
    return [
        f"{health_check.name} {health_check.detail}"
        for health_check in failed_checks
        if health_check.name != COMPILER
    ]


def _describe_unsuitability(
    report: EndpointReport, role: ServerRole, role_by_url: Mapping[str, ServerRole]
) -> str:
    """Return a suffix with the reason why a server is not used although it has a package for the jobs."""
    if report.url in role_by_url or not _can_start_jobs(report, role):
        return ""
    if _list_low_limits(report):
        return " and low limits"
    return f" on {report.architecture or 'an unknown machine'}" if role is ServerRole.BATCHES else ""


def _explain_unused_server(report: EndpointReport, role: ServerRole) -> str:
    if not _can_start_jobs(report, role):
        return f"it has {describe_server_packages(report.runtimes)}, and other servers run {ROLE_NAMES[role]}"
    return "; ".join(_list_low_limits(report))


def _find_known_packages(runtimes: Collection[str]) -> list[ServerPackage]:
    return [package for package in PACKAGES if not package.runtimes.isdisjoint(runtimes)]


def describe_server_packages(runtimes: Collection[str]) -> str:
    """Return the packages of a server that jobs can use, for display."""
    packages = _find_known_packages(runtimes)
    if packages and ServerRole.BATCHES in packages[0].roles:
        return packages[0].name
    return f"{' and '.join(package.name for package in packages)} only" if packages else "no package for jobs"
