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
from ioi_eval.engines.embedded.proctor import proctor_binary
from ioi_eval.engines.embedded.toolchains import find_compiler
from ioi_eval.engines.environment import CALLER
from ioi_eval.engines.health_checks import conditions, place_to_try
from ioi_eval.engines.piston.reports import (
    COMPILER,
    EndpointReport,
    differences,
    limits_in_short,
    remedies,
)
from ioi_eval.engines.piston.uses import IN_SHORT, ServerRole, ServerUse, packages_of, uses
from ioi_eval.engines.registry import EngineChoice, open_nodes
from ioi_eval.model.errors import EngineUnavailable, InputError
from ioi_eval.model.values import Value
from ioi_eval.runs.needs import check_needs_sync
from ioi_eval.store.resources import graders_folder

_EXAMPLES = """
  ioi-eval doctor
  ioi-eval doctor --engine http://localhost:2000         a line for each thing that a server needs
  ioi-eval doctor --engine http://a:2000,http://b:2000   a table: each server, and what it is used for
  ioi-eval doctor --engine slurm --json
  ioi-eval doctor --engine ray
  ioi-eval doctor --problems examples/problems           what these problems need and lack
"""
_MAX_CONCURRENT = 64  # servers that are checked at the same time
_MARKS = {True: "ok", None: "note", False: "MISSING"}
_COLOURS = {True: console.GREEN, None: console.YELLOW, False: console.RED}
_MARK = 8  # columns
_TABLE_WIDTH = 80  # columns of the table of servers
_MAX_ADDRESS = 23  # characters of an address in the table; longer ones are numbered
_HEADS = ("server", "version", "packages", "compilers", "limits", "used for")


class _LocalFindings(Value):
    ok: bool
    conditions: list[HealthCheck]

    def show(self) -> None:
        _show(self.conditions)

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

    Exit code 0: submissions can be judged there; 2: something is missing.
    """
    chosen = EngineOptions(engine=engine, token_file=token_file, python=python).choice()
    if choice != BenchmarkOptions() and not problems:
        remedy = "Name their source with --problems"
        raise InputError("options select problems, but there is no source of problems", remedy=remedy)
    found: _LocalFindings | ClusterFindings | _Nodes
    if chosen.on_ray:
        found = asyncio.run(_check_nodes(chosen))
    elif chosen.remote:
        found = asyncio.run(_check_servers(chosen))
    else:
        store = open_store()
        here = _with_option_names(
            asyncio.run(conditions(store, python=chosen.python or CALLER, folders=os.get_exec_path()))
        )
        here.append(HealthCheck(name="cache", ok=True, detail=str(store.root)))
        found = _LocalFindings(ok=_has_no_failure(here), conditions=here)
    needed: Sequence[HealthCheck] = ()
    if problems and found.ok:  # if nothing can be judged, that must be fixed first
        needed = _with_option_names(check_needs_sync(problems, choice, chosen, store=open_store()))
    if as_json:
        console.show_json({**msgspec.to_builtins(found), "problems": needed} if problems else found)
    else:
        found.show()
        console.show(found.conclusion)
        if needed:
            console.show("")
            _show(needed)
    if not found.ok or not _has_no_failure(needed):
        raise typer.Exit(console.BAD_INPUT)


def _show(found: Sequence[HealthCheck]) -> None:
    width = max(len(condition.name) for condition in found)
    indent = " " * (_MARK + width + 2)
    for condition in found:
        mark = _MARKS[condition.ok]
        begin = f"{mark:<{_MARK}}{condition.name:<{width}}  "
        first, *others = console.wrapped(condition.detail, begin, indent)
        console.show(console.coloured(mark, _COLOURS[condition.ok], sys.stdout) + first.removeprefix(mark))
        for line in others:
            console.show(line)
        if condition.remedy:
            console.show_wrapped(condition.remedy, f"{indent}-> ", f"{indent}   ")


# --- many servers ------------------------------------------------------------------------------------


class ClusterFindings(Value):
    """The findings about servers."""

    ok: bool
    good: tuple[str, ...]  # servers that can judge submissions
    servers: tuple[EndpointReport, ...]
    uses: tuple[ServerUse, ...] = ()  # how a run would use the servers that can be reached
    together: tuple[HealthCheck, ...] = ()  # differences between the servers

    def show(self) -> None:
        if len(self.servers) == 1:
            console.show_wrapped(self.servers[0].url, "", "  ")
            _show(self.servers[0].findings)
        else:
            self._show_table()
        if self.together:
            console.show("")
            _show(self.together)
        console.show("")

    def _show_table(self) -> None:
        """Print a row for each server, and below the table how to improve the servers."""
        names = {report.url: report.url for report in self.servers}
        if max(map(len, names)) > _MAX_ADDRESS:
            names = {url: str(number) for number, url in enumerate(names, 1)}
            for url, number in names.items():
                console.show(f"{number}  {url}")
            console.show("")
        rows = [(names[report.url], *self._row(report)) for report in self.servers]
        console.show_table(_HEADS, rows, width=_TABLE_WIDTH)
        urls_by_remedies = dict[tuple[str, ...], list[str]]()
        for report in self.servers:
            lines = tuple(map(console.as_called, remedies(report)))
            if not report.reachable:
                lines = (report.reason, *lines)
            urls_by_remedies.setdefault(lines, []).append(report.url)
        for lines, urls in urls_by_remedies.items():
            if lines:
                console.show("")
                console.show_wrapped(", ".join(urls), "", "  ")
                for line in lines:
                    console.show_wrapped(line, "  -> ", "     ")

    def _row(self, report: EndpointReport) -> tuple[str, ...]:
        if not report.reachable:
            return ("-", "-", "-", "-", "nothing: not reachable")
        return (
            re.sub(r"^Piston v", "", report.server) or "unknown",
            packages_of(report.runtimes),
            _compilers(report),
            limits_in_short(report),
            self._use(report),
        )

    def _use(self, report: EndpointReport) -> str:
        use = next(each for each in self.uses if each.url == report.url)
        if use.use is ServerRole.NONE:
            return f"nothing: {use.reason}"
        lacking = [line.name for line in report.findings if line.ok is False]
        if report.url in self.good:
            return IN_SHORT[use.use] + (f", but no {' or '.join(lacking)}" if lacking else "")
        return f"nothing before it has: {', '.join(lacking)}"

    @property
    def conclusion(self) -> str:
        number, of = len(self.good), len(self.servers)
        if of == 1:
            return f"Submissions can{'' if number else 'not'} be judged there{'' if number else ' yet'}."
        if not number:
            return f"Submissions cannot be judged on any of {of} servers yet."
        return f"Submissions can be judged on {'all' if number == of else f'{number} of'} {of} servers."


def _compilers(report: EndpointReport) -> str:
    """Return the C++ compiler of a server and the number of its other tools."""
    if not report.architecture:
        return "not known"
    found = report.toolchains.get("g++")
    others = len(report.toolchains.keys() - {"g++", "gcc"})
    return (f"g++ {found.version}" if found else "no g++") + (f", {others} others" if others else "")


async def _check_servers(choice: EngineChoice) -> ClusterFindings:
    """Check the servers of an engine. Raises InputError or EngineUnavailable if there are none."""
    # The HTTP client takes as long to load as everything else.
    from ioi_eval.engines.piston.discovery import discovery
    from ioi_eval.engines.piston.probe import Prober
    from ioi_eval.engines.piston.sending import HttpClient

    urls = await discovery(choice.text).find()
    if not urls:
        raise EngineUnavailable(f"no server was found by {choice.text}")
    async with HttpClient(token=choice.token) as wire:
        prober, room, proctor = Prober(wire), asyncio.Semaphore(_MAX_CONCURRENT), await _packed_proctor()

        async def probed(url: str) -> EndpointReport:
            async with room:
                report = await prober.probe(url)
                return report if proctor is None else await prober.confined(report, proctor)

        found = summed_up(await asyncio.gather(*map(probed, sorted(urls))))
    servers = (
        msgspec.structs.replace(server, findings=tuple(_with_option_names(server.findings)))
        for server in found.servers
    )
    return msgspec.structs.replace(
        found, servers=tuple(servers), together=tuple(_with_option_names(found.together))
    )


async def _packed_proctor() -> bytes | None:
    """Return the proctor for servers to try, or `None` if this machine has no compiler."""
    with place_to_try() as folder:
        compiler = await asyncio.to_thread(find_compiler)
        try:
            binary = await proctor_binary(compiler, graders_folder() / "proctor", open_store(), folder)
        except EngineUnavailable:
            return None
        return await asyncio.to_thread(gzip.compress, binary.content)


def summed_up(reports: Sequence[EndpointReport]) -> ClusterFindings:
    there = [report for report in reports if report.reachable]
    found = uses(there)
    used = [report for report in there if report.url not in found.not_used]
    ok = any(_has_no_failure(report.findings) for report in used)
    # If one server can judge, a server without a compiler gets the programs that it compiles.
    good = [
        report.url
        for report in used
        if ok and all(line.ok is not False or line.name == COMPILER for line in report.findings)
    ]
    return ClusterFindings(
        ok=ok, good=tuple(good), servers=tuple(reports), uses=found.servers, together=differences(used)
    )


# --- Ray ---------------------------------------------------------------------------------------------


class _Nodes(Value):
    ok: bool
    slots: int
    nodes: Mapping[str, list[HealthCheck]]
    left_out: Mapping[str, str]
    together: tuple[HealthCheck, ...] = ()

    def show(self) -> None:
        together = [HealthCheck(name=name, ok=None, detail=why) for name, why in self.left_out.items()]
        together += self.together
        for title, findings in {**self.nodes, **({"Together": together} if together else {})}.items():
            console.show_wrapped(title, "", "  ")
            _show(findings)
            console.show("")

    @property
    def conclusion(self) -> str:
        fit = sum(_has_no_failure(findings) for findings in self.nodes.values())
        return f"Submissions can be judged on {fit} of {len(self.nodes) + len(self.left_out)} nodes."


async def _check_nodes(choice: EngineChoice) -> _Nodes:
    """Check the nodes of a Ray cluster. Raises EngineUnavailable if no node can be used."""
    async with open_nodes(choice, open_store()) as engine:
        nodes, servers = await engine.conditions(), engine.servers()
        return _Nodes(
            ok=any(map(_has_no_failure, nodes.values())),
            slots=servers.slots,
            nodes={name: _with_option_names(findings) for name, findings in nodes.items()},
            left_out={**servers.unreachable, **servers.left_out},
            together=tuple(_with_option_names(servers.differences)),
        )


def _with_option_names(findings: Iterable[HealthCheck]) -> list[HealthCheck]:
    """Return the findings with options instead of the library's arguments."""
    return [
        msgspec.structs.replace(
            finding, detail=console.as_called(finding.detail), remedy=console.as_called(finding.remedy)
        )
        for finding in findings
    ]


def _has_no_failure(findings: Sequence[HealthCheck]) -> bool:
    return all(finding.ok is not False for finding in findings)
