"""Decides the use of each server, for runs and for `ioi-eval doctor`. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum

from ioi_eval.engines.contract import BASH, CLASSIC, OWN
from ioi_eval.engines.piston.reports import CODEFORCES, COMPILER, EndpointReport, most_common
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
    uses: tuple[ServerRole, ...]


PACKAGES = (
    ServerPackage(name="ioi_eval", runtimes=frozenset({OWN}), uses=(ServerRole.BATCHES, ServerRole.CLASSIC)),
    ServerPackage(name="bash", runtimes=frozenset({BASH}), uses=(ServerRole.BATCHES,)),
    ServerPackage(name="cms_ioi", runtimes=frozenset(CLASSIC), uses=(ServerRole.CLASSIC,)),
    ServerPackage(name="codeforces", runtimes=frozenset({CODEFORCES}), uses=(ServerRole.CLASSIC,)),
)
"""The packages that jobs can use, in order of preference."""

ROLE_NAMES = {ServerRole.BATCHES: "many tests a job", ServerRole.CLASSIC: "classic jobs"}
"""Short name of each use of a server, for tables."""
_ROLES_OF_SHAPE: dict[JobShape, tuple[ServerRole, ...]] = {
    "auto": (ServerRole.BATCHES, ServerRole.CLASSIC),
    "batched": (ServerRole.BATCHES,),
    "classic": (ServerRole.CLASSIC,),
}


class ServerUse(Value):
    url: str
    kind: str  # kind of the server, for display: "ioi_eval", "cms_ioi only", "bash and low limits"
    use: ServerRole
    reason: str = ""  # reason why the server is not used; empty if it is used


class ClusterUses(Value):
    """The uses of reachable servers, by address."""

    use: ServerRole  # kind of jobs with which the run's tests are judged
    servers: tuple[ServerUse, ...]

    @property
    def not_used(self) -> dict[str, str]:
        """Return the servers that get no jobs, with the reasons."""
        return {server.url: server.reason for server in self.servers if server.use is ServerRole.NONE}

    @property
    def summary(self) -> str:
        """Return the number and use of servers of each kind: "2 with bash, 1 with ... is not used"."""
        names = [package.name for package in PACKAGES]
        order = sorted(
            self.servers,
            key=lambda server: (server.use is ServerRole.NONE, [name not in server.kind for name in names]),
        )
        counts = Counter((server.kind, server.use) for server in order)
        return ", ".join(
            f"{number} with {kind}{self._role_suffix(use, number)}" for (kind, use), number in counts.items()
        )

    def _role_suffix(self, use: ServerRole, number: int) -> str:
        if use is ServerRole.NONE:
            return " is not used" if number == 1 else " are not used"
        return "" if use is self.use else " for C++, by classic jobs"


def choose_uses(reports: Iterable[EndpointReport], job: JobShape = "auto") -> ClusterUses:
    """Return the use of each reachable server.

    Servers get the best shape of jobs that any server can do, unless `job` sets the shape. A server that
    cannot do such jobs, or whose limits are too low for them, is not used if another server can do them.
    """
    reachable = sorted((report for report in reports if report.reachable), key=lambda report: report.url)
    use, role_reports = _choose_role(reachable, _ROLES_OF_SHAPE[job])
    reasons = dict[str, str]()
    if use is ServerRole.BATCHES:
        common_architecture = most_common(report.architecture for report in role_reports)
        for report in role_reports:
            if report.architecture != common_architecture:
                reasons[report.url] = (
                    f"its architecture is {report.architecture}, but most servers are {common_architecture}"
                )
    elif any(OWN in report.runtimes for report in role_reports):
        for report in role_reports:
            if OWN not in report.runtimes:
                reasons[report.url] = "other servers start the scripts of classic jobs"
    uses = {report.url: use for report in role_reports if report.url not in reasons}
    compiled = any("g++" in report.toolchains for report in role_reports if report.url in uses)
    if use is ServerRole.BATCHES and job == "auto" and not compiled:
        uses |= {
            server_report.url: ServerRole.CLASSIC
            for server_report in reachable
            if _can_judge(server_report, ServerRole.CLASSIC) and server_report.url not in uses
        }
    servers = (
        ServerUse(
            url=report.url,
            kind=describe_packages(report.runtimes) + _handicap_suffix(report, use, uses),
            use=uses.get(report.url, ServerRole.NONE),
            reason="" if report.url in uses else reasons.get(report.url) or _unused_reason(report, use),
        )
        for report in reachable
    )
    return ClusterUses(use=use, servers=tuple(servers))


def _choose_role(
    reports: Sequence[EndpointReport], roles: Sequence[ServerRole]
) -> tuple[ServerRole, list[EndpointReport]]:
    """Return the best use that any server is fit for, with all such servers.

    If no server is fit, return the servers that can at least start jobs.
    """
    for has_role in (_can_judge, _can_start):
        for use in roles:
            if able_reports := [report for report in reports if has_role(report, use)]:
                return use, able_reports
    return roles[0], [*reports]


def _can_start(report: EndpointReport, use: ServerRole) -> bool:
    return any(use in package.uses for package in _known_packages(report.runtimes))


def _can_judge(report: EndpointReport, use: ServerRole) -> bool:
    return _can_start(report, use) and not _low_limits(report)


def _low_limits(report: EndpointReport) -> list[str]:
    """Return the limits of a server that are too low to judge, without missing compilers."""
    failed = (line for line in report.findings if line.ok is False)
    return [f"{line.name} {line.detail}" for line in failed if line.name != COMPILER]


def _handicap_suffix(report: EndpointReport, use: ServerRole, used: Mapping[str, ServerRole]) -> str:
    """Return the reason why a server cannot execute jobs that its packages start."""
    if report.url in used or not _can_start(report, use):
        return ""
    if _low_limits(report):
        return " and low limits"
    return f" on {report.architecture or 'an unknown machine'}" if use is ServerRole.BATCHES else ""


def _unused_reason(report: EndpointReport, use: ServerRole) -> str:
    if not _can_start(report, use):
        return f"it has {describe_packages(report.runtimes)}, and other servers run {ROLE_NAMES[use]}"
    return "; ".join(_low_limits(report))


def _known_packages(runtimes: Collection[str]) -> list[ServerPackage]:
    return [package for package in PACKAGES if not package.runtimes.isdisjoint(runtimes)]


def describe_packages(runtimes: Collection[str]) -> str:
    """Return the packages of a server that jobs can use, for display."""
    packages = _known_packages(runtimes)
    if packages and ServerRole.BATCHES in packages[0].uses:
        return packages[0].name
    return f"{' and '.join(package.name for package in packages)} only" if packages else "no package for jobs"
