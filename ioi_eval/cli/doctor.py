"""The command `doctor`: check this machine or servers, and print remedies."""

from __future__ import annotations

import asyncio
import gzip
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import msgspec
import typer

from ioi_eval.benchmarks import BenchmarkOptions
from ioi_eval.cli import console
from ioi_eval.cli.groups import command
from ioi_eval.cli.options import (
    EngineOptions,
    EngineText,
    Json,
    ProblemOptions,
    PythonText,
    TokenFile,
    open_store,
    problems_option,
)
from ioi_eval.engines.contract import HealthCheck
from ioi_eval.engines.embedded.proctor import get_proctor_binary
from ioi_eval.engines.embedded.toolchains import find_compiler
from ioi_eval.engines.environment import CALLER
from ioi_eval.engines.health_checks import create_health_check_folder, run_health_checks
from ioi_eval.engines.piston.reports import (
    COMPILER,
    EndpointReport,
    check_differences,
    list_remedies,
    summarize_low_limits,
)
from ioi_eval.engines.piston.uses import (
    ROLE_NAMES,
    AssignedServer,
    ServerRole,
    choose_server_roles,
    describe_server_packages,
)
from ioi_eval.engines.registry import EngineChoice, open_cluster_nodes_engine
from ioi_eval.model.errors import EngineUnavailable, InputError
from ioi_eval.model.text import format_count
from ioi_eval.model.values import Value
from ioi_eval.runs.needs import check_problem_needs_sync
from ioi_eval.store.resources import graders_folder

_EXAMPLES = """
  ioi-eval doctor
  ioi-eval doctor --engine http://localhost:2000         a line for each thing that a server needs
  ioi-eval doctor --engine http://a:2000,http://b:2000   a table: each server, and what it is used for
  ioi-eval doctor --engine slurm --json
  ioi-eval doctor --engine ray
  ioi-eval doctor --problems examples/problems           what these problems need and lack
"""
_MAX_CONCURRENT = 64  # maximum number of servers that are checked at the same time
_MARKS = {True: "ok", None: "note", False: "MISSING"}
_COLOURS = {True: console.GREEN, None: console.YELLOW, False: console.RED}
_MARK_WIDTH = 8  # columns
_TABLE_WIDTH = 80  # width of the table of servers, in columns
_MAX_ADDRESS = 23  # maximum characters of an address in the table; longer addresses are replaced by numbers
_HEADS = ("server", "version", "packages", "compilers", "limits", "used for")


class LocalFindings(Value):
    ok: bool
    conditions: list[HealthCheck]

    def print_findings(self) -> None:
        _print_checks(self.conditions)

    @property
    def conclusion(self) -> str:
        return "Submissions can be judged here." if self.ok else "Submissions cannot be judged here yet."


@command(_EXAMPLES)
def doctor(
    choice: ProblemOptions,
    engine: EngineText = None,
    token_file: TokenFile = None,
    python: PythonText = None,
    problems: Annotated[
        str,
        problems_option(
            "Also check what the problems of SOURCE need: languages, packages, compilers, tests.", None
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Check this machine or servers: list what works, what fails and how to fix it.

    Exit code 0: this machine or the servers can judge submissions; 2: something is missing.
    """
    engine_choice = EngineOptions(engine=engine, token_file=token_file, python=python).read_engine_choice()
    if choice != BenchmarkOptions() and not problems:
        remedy = "Name their source with --problems"
        raise InputError("options select problems, but there is no source of problems", remedy=remedy)
    findings: LocalFindings | ClusterFindings | NodeFindings
    if engine_choice.is_on_ray:
        findings = asyncio.run(_check_nodes(engine_choice))
    elif engine_choice.is_remote:
        findings = asyncio.run(_check_servers(engine_choice))
    else:
        store = open_store()
        local_checks = _replace_arguments_by_options(
            asyncio.run(
                run_health_checks(store, python=engine_choice.python or CALLER, folders=os.get_exec_path())
            )
        )
        local_checks.append(HealthCheck(name="cache", ok=True, detail=str(store.root)))
        findings = LocalFindings(ok=_has_no_failure(local_checks), conditions=local_checks)
    problem_checks: Sequence[HealthCheck] = ()
    if problems and findings.ok:  # problems are checked only if this machine can judge at all
        problem_checks = _replace_arguments_by_options(
            check_problem_needs_sync(problems, choice, engine_choice, store=open_store())
        )
    if as_json:
        console.print_json(
            {**msgspec.to_builtins(findings), "problems": problem_checks} if problems else findings
        )
    else:
        findings.print_findings()
        console.print_line(findings.conclusion)
        if problem_checks:
            console.print_line("")
            _print_checks(problem_checks)
    if not findings.ok or not _has_no_failure(problem_checks):
        raise typer.Exit(console.BAD_INPUT)


def _print_checks(checks: Sequence[HealthCheck]) -> None:
    name_width = max(len(check.name) for check in checks)
    indent = " " * (_MARK_WIDTH + name_width + 2)
    for check in checks:
        mark = _MARKS[check.ok]
        check_head = f"{mark:<{_MARK_WIDTH}}{check.name:<{name_width}}  "
        first_line, *more_lines = console.wrap_text(check.detail, check_head, indent)
        console.print_line(
            console.colour_text(mark, _COLOURS[check.ok], sys.stdout) + first_line.removeprefix(mark)
        )
        for line in more_lines:
            console.print_line(line)
        if check.remedy:
            console.print_wrapped(check.remedy, f"{indent}-> ", f"{indent}   ")


# --- many servers ------------------------------------------------------------------------------------


class ClusterFindings(Value):
    """The findings about servers."""

    ok: bool
    good: tuple[str, ...]  # addresses of servers that can judge submissions
    servers: tuple[EndpointReport, ...]
    uses: tuple[AssignedServer, ...] = ()  # how a run would use the servers that can be reached
    together: tuple[HealthCheck, ...] = ()  # health checks about differences between the servers

    def print_findings(self) -> None:
        if len(self.servers) == 1:
            console.print_wrapped(self.servers[0].url, "", "  ")
            _print_checks(self.servers[0].findings)
        else:
            self._print_table()
        if self.together:
            console.print_line("")
            _print_checks(self.together)
        console.print_line("")

    def _print_table(self) -> None:
        """Print a row for each server, and below the table how to improve the servers."""
        server_name_by_url = {report.url: report.url for report in self.servers}
        if max(map(len, server_name_by_url)) > _MAX_ADDRESS:
            server_name_by_url = {url: str(number) for number, url in enumerate(server_name_by_url, 1)}
            for url, number in server_name_by_url.items():
                console.print_line(f"{number}  {url}")
            console.print_line("")
        rows = [(server_name_by_url[report.url], *self._format_row(report)) for report in self.servers]
        console.print_table(_HEADS, rows, width=_TABLE_WIDTH)
        urls_by_remedies = dict[tuple[str, ...], list[str]]()
        for report in self.servers:
            lines = tuple(map(console.replace_arguments_by_options, list_remedies(report)))
            if not report.reachable:
                lines = (report.reason, *lines)
            urls_by_remedies.setdefault(lines, []).append(report.url)
        for lines, urls in urls_by_remedies.items():
            if lines:
                console.print_line("")
                console.print_wrapped(", ".join(urls), "", "  ")
                for line in lines:
                    console.print_wrapped(line, "  -> ", "     ")

    def _format_row(self, report: EndpointReport) -> tuple[str, ...]:
        if not report.reachable:
            return ("-", "-", "-", "-", "nothing: not reachable")
        return (
            re.sub(r"^Piston v", "", report.server) or "unknown",
            describe_server_packages(report.runtimes),
            _describe_compilers(report),
            summarize_low_limits(report),
            self._describe_server_use(report),
        )

    def _describe_server_use(self, report: EndpointReport) -> str:
        server_use = next(entry for entry in self.uses if entry.url == report.url)
        if server_use.role is ServerRole.NONE:
            return f"nothing: {server_use.reason}"
        failed_checks = [line.name for line in report.findings if line.ok is False]
        if report.url in self.good:
            return ROLE_NAMES[server_use.role] + (
                f", but no {' or '.join(failed_checks)}" if failed_checks else ""
            )
        return f"nothing before it has: {', '.join(failed_checks)}"

    @property
    def conclusion(self) -> str:
        good_count, server_count = len(self.good), len(self.servers)
        if server_count == 1:
            return (
                f"Submissions can{'' if good_count else 'not'} be judged there{'' if good_count else ' yet'}."
            )
        if not good_count:
            return f"Submissions cannot be judged on any of {server_count} servers yet."
        usable_phrase = "all" if good_count == server_count else f"{good_count} of"
        return f"Submissions can be judged on {usable_phrase} {server_count} servers."


def _describe_compilers(report: EndpointReport) -> str:
    """Return the C++ compiler of a server and the number of its other tools."""
    if not report.architecture:
        return "not known"
    gxx_toolchain = report.toolchains.get("g++")
    other_count = len(report.toolchains.keys() - {"g++", "gcc"})
    return (f"g++ {gxx_toolchain.version}" if gxx_toolchain else "no g++") + (
        f", {format_count(other_count, 'other')}" if other_count else ""
    )


async def _check_servers(choice: EngineChoice) -> ClusterFindings:
    """Check the servers of an engine. Raises InputError or EngineUnavailable if there are none."""
    # Imported here, because loading the HTTP client doubles the time of all imports.
    from ioi_eval.engines.piston.discovery import discovery
    from ioi_eval.engines.piston.probe import Prober
    from ioi_eval.engines.piston.sending import HttpClient

    urls = await discovery(choice.text).find()
    if not urls:
        raise EngineUnavailable(f"no server was found for the engine {choice.text}")
    async with HttpClient(token=choice.token) as client:
        prober, semaphore, proctor = (
            Prober(client),
            asyncio.Semaphore(_MAX_CONCURRENT),
            await _build_gzipped_proctor(),
        )

        async def probe_server(url: str) -> EndpointReport:
            async with semaphore:
                report = await prober.probe(url)
                return report if proctor is None else await prober.add_confinement_checks(report, proctor)

        findings = combine_reports(await asyncio.gather(*map(probe_server, sorted(urls))))
    servers = (
        msgspec.structs.replace(server, findings=tuple(_replace_arguments_by_options(server.findings)))
        for server in findings.servers
    )
    return msgspec.structs.replace(
        findings, servers=tuple(servers), together=tuple(_replace_arguments_by_options(findings.together))
    )


async def _build_gzipped_proctor() -> bytes | None:
    """Return the program that supervises submissions on servers, or None if this machine lacks a compiler."""
    with create_health_check_folder() as folder:
        compiler = await asyncio.to_thread(find_compiler)
        try:
            binary = await get_proctor_binary(compiler, graders_folder() / "proctor", open_store(), folder)
        except EngineUnavailable:
            return None
        return await asyncio.to_thread(gzip.compress, binary.content)


def combine_reports(reports: Sequence[EndpointReport]) -> ClusterFindings:
    reachable_reports = [report for report in reports if report.reachable]
    cluster_uses = choose_server_roles(reachable_reports)
    used_reports = [
        report for report in reachable_reports if report.url not in cluster_uses.reasons_by_unused_server
    ]
    can_judge = any(_has_no_failure(report.findings) for report in used_reports)
    # A server without a compiler gets built programs, if another server has the compiler.
    good_urls = [
        report.url
        for report in used_reports
        if can_judge and all(line.ok is not False or line.name == COMPILER for line in report.findings)
    ]
    return ClusterFindings(
        ok=can_judge,
        good=tuple(good_urls),
        servers=tuple(reports),
        uses=cluster_uses.servers,
        together=check_differences(used_reports),
    )


# --- Ray ---------------------------------------------------------------------------------------------


class NodeFindings(Value):
    ok: bool
    slots: int
    nodes: Mapping[str, list[HealthCheck]]
    left_out: Mapping[str, str]
    together: tuple[HealthCheck, ...] = ()

    def print_findings(self) -> None:
        cluster_checks = [
            HealthCheck(name=name, ok=None, detail=reason) for name, reason in self.left_out.items()
        ]
        cluster_checks += self.together
        for title, findings in {
            **self.nodes,
            **({"Together": cluster_checks} if cluster_checks else {}),
        }.items():
            console.print_wrapped(title, "", "  ")
            _print_checks(findings)
            console.print_line("")

    @property
    def conclusion(self) -> str:
        usable_count = sum(_has_no_failure(findings) for findings in self.nodes.values())
        return f"Submissions can be judged on {usable_count} of {len(self.nodes) + len(self.left_out)} nodes."


async def _check_nodes(engine_choice: EngineChoice) -> NodeFindings:
    """Check the nodes of a Ray cluster. Raises EngineUnavailable if no node can be used."""
    async with open_cluster_nodes_engine(engine_choice, open_store()) as engine:
        nodes, servers = await engine.check_health(), engine.servers()
        return NodeFindings(
            ok=any(map(_has_no_failure, nodes.values())),
            slots=servers.slots,
            nodes={name: _replace_arguments_by_options(findings) for name, findings in nodes.items()},
            left_out={**servers.unreachable, **servers.left_out},
            together=tuple(_replace_arguments_by_options(servers.differences)),
        )


def _replace_arguments_by_options(findings: Iterable[HealthCheck]) -> list[HealthCheck]:
    """Return the findings with options instead of the library's arguments."""
    return [
        msgspec.structs.replace(
            finding,
            detail=console.replace_arguments_by_options(finding.detail),
            remedy=console.replace_arguments_by_options(finding.remedy),
        )
        for finding in findings
    ]


def _has_no_failure(findings: Sequence[HealthCheck]) -> bool:
    return all(finding.ok is not False for finding in findings)
