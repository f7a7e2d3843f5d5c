"""Many servers as one engine: what all of them can do, and which had better be left out."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ioi_eval.engines.cluster import differing, offers_of
from ioi_eval.engines.contract import Condition, Profile, least
from ioi_eval.engines.piston.reports import CODEFORCES, EndpointReport
from ioi_eval.model.job import Toolchain
from ioi_eval.model.values import Value

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


def other_runtime(reports: Sequence[EndpointReport]) -> tuple[str, ...]:
    """Return the runtimes that all have, where some were looked at in a better one."""
    if not reports:
        return ()
    common = merged(reports).profile.runtimes
    used = next((name for name in _KNOWN if name in common), "")
    return common if used and any(report.runtime not in ("", used) for report in reports) else ()


def _limit(report: EndpointReport, name: str) -> int | None:
    """Return a limit; that of builds is the least of both clocks, for compilers do not wait."""
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
        linker=tools[0].linker,  # that of all, by `offers_of`
    )


def _in_all(tools: Iterable[Toolchain]) -> tuple[str, ...] | None:
    """Return the Python packages that all interpreters have which tell theirs; None where none does."""
    modules = [set(tool.modules) for tool in tools if tool.modules is not None]
    return tuple(sorted(set.intersection(*modules))) if modules else None


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
        offered = begun_with.offered(command) if begun_with is not None else ()
        if offered and there.identity not in {tool.identity for tool in offered}:
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
