"""Members of the cluster: found, looked at, let in, and let go; and what all of them together can do."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ioi_eval.engines.contract import Change, Condition, Profile, least
from ioi_eval.engines.piston.discovery import Discovery
from ioi_eval.engines.piston.reports import CODEFORCES, EndpointReport
from ioi_eval.engines.piston.sending import HttpEndpoint, Patience, ServerTimes, rest_after
from ioi_eval.engines.pool import Pool, State, differing, offers_of
from ioi_eval.model.errors import EngineError, EngineUnavailable, InputError
from ioi_eval.model.job import Job, Toolchain
from ioi_eval.model.values import Value

# --- many servers as one engine: what all can do, and which had better be left out -------------------


NAME = "piston"
# What a job can be for, the most useful first; a cluster that agrees on none of them is used in part.
_KNOWN = ("ioi_eval", "bash", "cms_ioi", CODEFORCES)
_MOST_FILES = 500  # tests in one job
_OTHER_FILES, _FILES_EACH = 40, 2  # descriptors of a job, and of each of its tests
_LIMITS = ("max_run_time", "max_compile_time", "max_run_cpu_time", "max_output", "max_body")


class Merged(Value):
    profile: Profile
    left_out: Mapping[str, str] = {}  # endpoint -> why


def merged(reports: Iterable[EndpointReport]) -> Merged:
    """Merge the reports of reachable endpoints, at least one, into a profile that all of them have."""
    kept, left_out = [report for report in reports if report.reachable], dict[str, str]()

    def keep(fits: Callable[[EndpointReport], bool], reason: str) -> None:
        left_out.update({report.url: reason for report in kept if not fits(report)})
        kept[:] = [report for report in kept if fits(report)]

    machine = _most_common(report.architecture for report in kept)
    keep(lambda report: report.architecture == machine, f"most of the others are {machine}, it is not")
    runtime = _needed(kept)
    if runtime:
        keep(lambda report: runtime in report.runtimes, f"most of the others have the runtime {runtime}")
    limits: dict[str, Any] = {name: least(*(_limit(report, name) for report in kept)) for name in _LIMITS}
    files = least(*(report.max_open_files for report in kept))
    tools = kept[0].toolchains
    common = {name: tools[name] for name in tools if all(name in report.toolchains for report in kept)}
    return Merged(
        profile=offering(
            Profile(
                name=NAME,
                architecture=machine,
                confines=all(report.is_ours for report in kept),
                toolchains=common,
                runtimes=tuple(
                    name for name in kept[0].runtimes if all(name in report.runtimes for report in kept)
                ),
                max_files=_MOST_FILES
                if files is None
                else max(1, min(_MOST_FILES, (files - _OTHER_FILES) // _FILES_EACH)),
                strict=any(report.is_strict for report in kept),
                **limits,
            ),
            [report.toolchains for report in kept],
        ),
        left_out=left_out,
    )


def _needed(reports: Sequence[EndpointReport]) -> str:
    """The runtime that an endpoint needs to be of use. Empty: all have one in common, or none has any."""
    if any(all(name in report.runtimes for report in reports) for name in _KNOWN):
        return ""
    return _most_common(name for report in reports for name in _KNOWN if name in report.runtimes)


def _other_runtime(reports: Sequence[EndpointReport]) -> tuple[str, ...]:
    """Return the runtimes that all have, where some were looked at in a better one."""
    if not reports:
        return ()
    common = merged(reports).profile.runtimes
    used = next((name for name in _KNOWN if name in common), "")
    return common if used and any(report.runtime not in ("", used) for report in reports) else ()


def _limit(report: EndpointReport, name: str) -> int | None:
    """Of compiling there is one limit, for either clock: compilers do not wait."""
    own: int | None = getattr(report, name)
    return least(own, report.max_compile_cpu_time) if name == "max_compile_time" else own


def _one_for(tools: Sequence[Toolchain]) -> Toolchain:
    """Merge toolchains. Where they differ, the identity stands for all, and jobs look the path up."""
    identities = sorted({tool.identity for tool in tools})
    if len(identities) == 1:
        return tools[0]
    digest = hashlib.sha256("\n".join(identities).encode()).hexdigest()[:16]
    paths = {tool.path for tool in tools}
    return Toolchain(
        command=tools[0].command,
        path=paths.pop() if len(paths) == 1 else tools[0].command,
        version=", ".join(sorted({tool.version for tool in tools})),
        identity=f"one of {len(identities)}: {digest}",
        modules=_in_all(tools),
    )


def _in_all(tools: Iterable[Toolchain]) -> tuple[str, ...] | None:
    """Return the Python packages that all interpreters have which tell theirs; None where none does."""
    told = [set(tool.modules) for tool in tools if tool.modules is not None]
    return tuple(sorted(set.intersection(*told))) if told else None


def _most_common(words: Iterable[str]) -> str:
    """Return the most common value; of equally common ones the first in the alphabet."""
    counted = Counter(words)
    return min(counted, key=lambda word: (-counted[word], word)) if counted else ""


# --- those that come later ---------------------------------------------------------------------------


def why_not(profile: Profile, report: EndpointReport, begun_with: Profile | None = None) -> str:
    """Return why an endpoint cannot join a run that counts on `profile`. Empty: it can.

    `begun_with`: whose compilers and interpreters it must have, where all are to be the same.
    """
    if report.architecture != profile.architecture:
        return f"the run is on {profile.architecture}, it is {report.architecture or 'something unknown'}"
    if missing := [name for name in profile.runtimes if name in _KNOWN and name not in report.runtimes]:
        return f"it has no runtime {missing[0]}, which the run uses"
    if profile.confines and not report.is_ours:
        return "the run counts on the boxes of workers of ours, and it is none"
    if tight := [name for name in _LIMITS if _is_tighter(_limit(report, name), getattr(profile, name))]:
        return f"its {tight[0]} is {_limit(report, tight[0])}, and the run counts on more"
    for command in profile.toolchains:
        if command not in report.toolchains:
            return f"it has no {command} that works, which the run may use"
        there = report.toolchains[command]
        if lacking := set(_in_all(profile.offered(command)) or ()) - set(there.modules or ()):
            return f"its {command} has no {', '.join(sorted(lacking))}, and the run may count on that"
        known = begun_with.offered(command) if begun_with is not None else ()
        if known and there.identity not in {tool.identity for tool in known}:
            return f"its {command} {there.version} is none of those that the run began with"
    return ""


def _is_tighter(own: int | None, counted_on: int | None) -> bool:
    return own is not None and (counted_on is None or own < counted_on)


def offering(profile: Profile, there: Iterable[Mapping[str, Toolchain]]) -> Profile:
    """Return the profile with the toolchains of these endpoints. Without any it keeps those it had."""
    all_tools = offers_of(there)
    offers = {command: all_tools[command] for command in profile.toolchains if command in all_tools}
    toolchains = {**profile.toolchains, **{command: _one_for(tools) for command, tools in offers.items()}}
    return msgspec.structs.replace(profile, toolchains=toolchains, offers=offers) if offers else profile


def differences(reports: Iterable[EndpointReport]) -> tuple[Condition, ...]:
    """A line for each compiler or interpreter that is not the same everywhere."""
    there = [report for report in reports if report.reachable]
    return tuple(_difference(command, there) for command in differing([each.toolchains for each in there]))


def _difference(command: str, reports: Sequence[EndpointReport]) -> Condition:
    found = [report.toolchains.get(command) for report in reports]
    counted = Counter(tool.version if tool else "none" for tool in found)
    detail = ", ".join(f"{version} on {counted[version]}" for version in sorted(counted))
    if len(counted) == 1:
        detail += ", but not the same build"
    remedy = "Give all workers the same image, or refuse what differs with same_compiler=True"
    return Condition(name=f"{command} differs", ok=None, detail=detail, remedy=remedy)


# --- members that come and go ------------------------------------------------------------------------


_AT_ONCE = 128  # endpoints that are looked at
_TOLD = 3  # reasons in a message


class Members:
    """The endpoints that the discovery finds. `inspect` reports on one of them and raises nothing.

    It is also told of which runtimes jobs use the best, once that is known.
    """

    def __init__(
        self,
        discovery: Discovery,
        pool: Pool[HttpEndpoint],
        patience: Patience,
        inspect: Callable[[str, Collection[str]], Awaitable[EndpointReport]],
        spawn: Callable[[Coroutine[None, None, None]], object],
        *,
        per_endpoint: int | None,
        given: Profile | None,
        same_compiler: bool,
    ) -> None:
        self._discovery, self._pool, self._patience = discovery, pool, patience
        self._inspect, self._spawn = inspect, spawn
        self._per_endpoint, self._given, self._same_compiler = per_endpoint, given, same_compiler
        self._begun_with: Profile | None = None  # where all compilers are to stay the same
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._found = frozenset[str]()
        self._endpoints: dict[str, HttpEndpoint] = {}
        self._tools: dict[str, Mapping[str, Toolchain]] = {}  # of those that are in
        self.reports: dict[str, EndpointReport] = {}
        self.left_out: dict[str, str] = {}
        self.profile = given

    async def begin(self) -> None:
        """Looks at all that is found at first; at least one must be of use."""
        self._found = await self._discovery.find()
        if not self._found:
            raise EngineUnavailable(f"no server was found by {self._discovery}")
        there = await self._reachable(self._found)
        if used := _other_runtime(there):
            # A runtime may bring compilers of its own: all are looked at in the one that jobs will use.
            there = await self._reachable(self._found, used)
        if not there:
            reports = tuple(self._in_order())
            reasons = [report.reason for report in reports]
            remedies = dict.fromkeys(line.remedy for report in reports for line in report.findings)
            more = f"; and {len(reasons) - _TOLD} more" if len(reasons) > _TOLD else ""
            raise EngineUnavailable(
                ". ".join(
                    [f"no server can be used: {'; '.join(reasons[:_TOLD])}{more}", *filter(None, remedies)]
                )
            )
        if self._same_compiler and (lines := differences(there)):
            what = "; ".join(f"{line.name}: {line.detail}" for line in lines)
            raise InputError(what, where=str(self._discovery), remedy="Give all workers the same image")
        if self._given is None:
            chosen = merged(there)
            self.profile = chosen.profile
            self._begun_with = chosen.profile if self._same_compiler else None
            self.left_out.update(chosen.left_out)
        for report in there:
            self._let_in(report)
        self._offer()
        for url in sorted(self._found - {report.url for report in there}):
            self._spawn(self._until_there(url))
        if self._discovery.every is not None:
            self._spawn(self._keep_up(self._discovery.every))

    async def _reachable(self, urls: Iterable[str], runtimes: Collection[str] = ()) -> list[EndpointReport]:
        await asyncio.gather(*(self._look_at(url, runtimes) for url in urls))
        return [report for report in self._in_order() if report.reachable]

    def _in_order(self) -> Iterable[EndpointReport]:
        return (self.reports[url] for url in sorted(self.reports))

    async def _look_at(self, url: str, runtimes: Collection[str] = ()) -> EndpointReport:
        if self.profile is not None:
            runtimes = self.profile.runtimes
        async with self._room:
            report = await self._inspect(url, runtimes)
        self.reports[url] = report
        return report

    @property
    def endpoints(self) -> Iterable[HttpEndpoint]:
        return tuple(self._endpoints.values())

    def _let_in(self, report: EndpointReport) -> None:
        """Give an endpoint jobs from now on, unless it is left out."""
        if report.url not in self.left_out and self._takes(report):
            endpoint = self._endpoints[report.url] = HttpEndpoint(report.url)
            self._learn(endpoint, report)
            self._pool.update(endpoint, State.HEALTHY)

    def _takes(self, report: EndpointReport) -> bool:
        """Return True if a server may have jobs; otherwise leave it out, and tell the reason once."""
        assert self.profile is not None, "members begin with a profile"
        reason = "" if self._given is not None else why_not(self.profile, report, self._begun_with)
        told = self.left_out.pop(report.url, "")
        if reason:
            self.left_out[report.url] = reason
            self._tools.pop(report.url, None)
            self._offer()
            if reason != told:
                self._pool.changed(report.url, Change.LEFT_OUT, reason)
        return not reason

    def _learn(self, endpoint: HttpEndpoint, report: EndpointReport) -> None:
        assert self.profile is not None, "members begin with a profile"
        usual = ServerTimes()
        times = ServerTimes(
            compile=report.max_compile_time or self.profile.max_compile_time or usual.compile,
            run=report.max_run_time or self.profile.max_run_time or usual.run,
            strict=report.is_strict,
        )
        endpoint.learn(report, slots=self._per_endpoint or report.slots or 1, times=times)
        self._tools[report.url] = report.toolchains

    def _offer(self) -> None:
        """Bring the profile up to date with the endpoints that are in."""
        assert self.profile is not None, "members begin with a profile"
        self.profile = offering(self.profile, self._tools.values())

    def all_fit(self, job: Job) -> bool:
        """Return True if every endpoint has what the job was made for."""
        assert self.profile is not None, "members begin with a profile"
        return all(
            tool.identity in identities
            for command, identities in job.made_for.items()
            for tool in self.profile.offered(command)
        )

    async def is_back(self, endpoint: HttpEndpoint) -> bool:
        """Probe an endpoint that was away, take over what it is now, and return True if it may have jobs."""
        report = await self._look_at(endpoint.url)
        if not report.reachable or self._endpoints.get(endpoint.url) is not endpoint:
            return False
        if not self._takes(report):
            return False
        before, now = endpoint.report.toolchains, report.toolchains
        new = [tool for command, tool in now.items() if before.get(command, tool).identity != tool.identity]
        endpoint.news = (
            "it has another " + ", ".join(f"{tool.command}: {tool.version}" for tool in new) if new else ""
        )
        self._learn(endpoint, report)
        self._offer()
        return True

    # --- later ---------------------------------------------------------------------------------------

    async def _keep_up(self, every: float) -> None:
        while True:
            await asyncio.sleep(every)
            try:
                found = await self._discovery.find()
            except (EngineError, InputError):
                continue  # workers outlive a scheduler or a name server that is away for a minute
            for url in sorted(self._found - found):
                self.left_out.pop(url, None)
                if (endpoint := self._endpoints.pop(url, None)) is not None:
                    self._pool.update(endpoint, State.GONE)
                    self._tools.pop(url, None)
                    self._offer()
                    self._pool.changed(url, Change.GONE, "")
            new, self._found = found - self._found, found
            for url in sorted(new):
                self._spawn(self._until_there(url))

    async def _until_there(self, url: str) -> None:
        """Try an unreachable endpoint again: it may still be starting."""
        rests = 0
        while url in self._found and url not in self._endpoints:
            report = await self._look_at(url)
            if report.reachable and url in self._found:
                self._let_in(report)
                self._offer()
                if url in self._endpoints:
                    self._pool.changed(url, Change.JOINED, "")
                return
            await asyncio.sleep(rest_after(rests, self._patience))
            rests += 1
