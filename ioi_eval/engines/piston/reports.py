"""Reports of probed servers, their common capabilities and their differences. No I/O."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ioi_eval.engines.contract import BASH, OWN, Capabilities, Change, HealthCheck, min_limit
from ioi_eval.engines.jobs.piston_api import find_limit_in_message
from ioi_eval.engines.piston.sending import NO_HTTP, NO_TLS, UNKNOWN_HOST, WORKER, ServerIdentity
from ioi_eval.model.job import Toolchain
from ioi_eval.model.values import Value

CODEFORCES = "cf_python3"
"""A language of the package `codeforces`, which shows that the package is installed."""

NO_PISTON = "is not a Piston server"
TOO_SLOW = "is too slow to be asked"
RUNS_NOTHING = "accepts jobs, but runs no script"
MOVED = "sends its callers to"
BECAME_ANOTHER_SERVER = "became another server"
_NOT_SAME_SERVER = "is not the same server as before"  # part of the message of a ServerReplaced error
"""Reasons why a server is not used although its limits are unknown."""

NEEDS_TLS = "serves https alone"
# Errors with which https servers answer plain http.
_HTTPS_SYMPTOMS = ("ServerDisconnectedError", "ClientOSError", NO_HTTP)
_FOREIGN_HOST = "does not answer to"  # part of a message in server/options.py, which has its own remedy


class EndpointReport(Value):
    """The findings of a probe, with times in ms and sizes in bytes. None means that no limit was found."""

    url: str
    reachable: bool = True
    reason: str = ""  # reason why the server cannot be reached; empty if it can be reached
    # State of a server that cannot be reached for a reason that may be temporary, or None.
    temporary_state: Change | None = msgspec.field(default=None, name="passes")
    unfit: str = ""  # reason why the server gets no jobs of any kind; empty if it can get jobs
    server: str = ""  # name that the server reports, such as Piston v3.1.1
    # True if the server uses isolate; older servers report neither statuses nor times.
    isolates: bool | None = None
    runtimes: tuple[str, ...] = ()  # names and aliases of the server's runtimes
    runtime: str = ""  # name of the runtime in which the probe ran
    slots: int | None = None  # number of jobs that the server runs at a time, if it reports the number
    contents: int = 0  # bytes of contents that the server can store by their hashes
    keeps_programs: bool = False  # True if the server stores programs that its jobs have built
    exclusive: bool = False  # True if the server can run exclusive jobs
    identity: ServerIdentity = ServerIdentity()
    architecture: str = ""
    cores: int | None = None
    toolchains: Mapping[str, Toolchain] = {}  # by command
    cpp_standard: str = ""  # newest C++ standard that g++ accepts
    # C++ standards for which g++ accepts the package's precompiled bits/stdc++.h.
    headers: tuple[str, ...] = ()
    static: bool | None = None  # True if g++ can link statically; None if unknown
    max_run_time: int | None = None
    max_compile_time: int | None = None
    max_run_cpu_time: int | None = None
    max_compile_cpu_time: int | None = None
    max_run_memory: int | None = None
    max_compile_memory: int | None = None
    max_body: int | None = None
    # Maximum bytes of a request that a gateway in front of the server lets through.
    max_gateway_body: int | None = msgspec.field(default=None, name="max_passed")
    max_output: int | None = None
    max_file: int | None = None
    max_processes: int | None = None
    max_open_files: int | None = None
    findings: tuple[HealthCheck, ...] = ()  # health checks, which `ioi-eval doctor` prints as lines

    @property
    def is_worker(self) -> bool:
        """True if the server is an `ioi-eval worker`, and not another Piston server."""
        return WORKER in self.server

    @property
    def idle_cores(self) -> int:
        """The number of cores that are idle if the server gets a single job at a time.

        It is 0 if the server reports its number of jobs.
        """
        return (self.cores or 1) - 1 if self.slots is None else 0

    @property
    def has_strict_time_limits(self) -> bool:
        """True if the server's time limits are known and include the time in which programs wait.

        Only the time limits of workers do not include the time in which programs wait for a processor.
        """
        return self.max_run_time is not None and not self.is_worker


# --- health checks ---------------------------------------------------------------------------


COMPILER = "C++ compiler"
"""The name of a health check."""
_CONTEST_STANDARD = "gnu++20"
_GATEWAY, _SANDBOXES, _ONLY_UP_TO = "gateway", "boxes", "only up to "
_NOT_IN_FORCE = "not in force"  # name of a health check in health_checks.py
_SET_VARIABLE = re.compile(r"Set (PISTON_\w+=\S+) on the server")
_BODY_REMEDY = (
    "Set PISTON_REQUEST_BODY_LIMIT=512mb on the server; 3.1.1 and older have the limit in src/index.js: "
    'body_parser.json({limit: "512mb"}), and the same for urlencoded, which piston/official/start does'
)


_ISOLATE = "isolate's: programs see the machine's /etc and /dev/shm, where files of earlier jobs remain"
_NO_SANDBOXES = "none: programs see the machine's public files, and files of other jobs in /tmp and /dev/shm"
_TOKEN_REMEDY = (
    "Put the worker's token into IOI_EVAL_TOKEN, or pass token=...; write the token of a different server"
    " after its address: http://judge:2000 TOKEN, or USER:PASSWORD for a gateway that asks for them"
)
_SIZES = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "bytes"))

_BUILD_MEMORY = 2 << 30  # bytes of memory for a build job
_MIN_BODY = 4 << 20  # minimum bytes of a request; an ordinary program has 1 to 2 MB


class _NeededLimit(Value):
    """A limit that jobs need: below `minimum` few problems can be judged, below `enough` not all."""

    field: str
    name: str
    minimum: int
    enough: int
    unit: str  # unit of the limit: s, bytes or empty
    remedy: str
    option: str = ""  # option of a worker that corresponds to the environment variable in `remedy`


_NEEDS = (
    _NeededLimit(field="max_run_time", name="run time", minimum=10_000, enough=60_000, unit="s",
        remedy="Set PISTON_RUN_TIMEOUT=600000 on the server", option="--set run-timeout=600"),
    _NeededLimit(field="max_run_cpu_time", name="run CPU time", minimum=10_000, enough=60_000, unit="s",
        remedy="Set PISTON_RUN_CPU_TIME=600000 on the server", option="--set run-timeout=600"),
    _NeededLimit(field="max_compile_time", name="compile time", minimum=10_000, enough=60_000, unit="s",
        remedy="Set PISTON_COMPILE_TIMEOUT=300000 on the server", option="--set compile-timeout=300"),
    _NeededLimit(field="max_compile_cpu_time", name="compile CPU time", minimum=10_000, enough=60_000,
        unit="s", remedy="Set PISTON_COMPILE_CPU_TIME=120000 on the server",
        option="--set compile-timeout=300"),
    _NeededLimit(field="max_run_memory", name="memory", minimum=512 << 20, enough=4 << 30, unit="bytes",
        remedy="Set PISTON_RUN_MEMORY_LIMIT=-1 on the server"),
    _NeededLimit(field="max_compile_memory", name="compile memory", minimum=_BUILD_MEMORY,
        enough=_BUILD_MEMORY, unit="bytes",
        remedy="Set PISTON_COMPILE_MEMORY_LIMIT=-1 on the server"),
    _NeededLimit(field="max_body", name="request body", minimum=_MIN_BODY, enough=32 << 20, unit="bytes",
        remedy=_BODY_REMEDY, option="--set max-body=512mb"),
    _NeededLimit(field="max_output", name="output", minimum=64_000, enough=4 << 20, unit="bytes",
        remedy="Set PISTON_OUTPUT_MAX_SIZE=67108864 on the server", option="--set max-output=64mb"),
    _NeededLimit(field="max_file", name="file size", minimum=8 << 20, enough=64 << 20, unit="bytes",
        remedy="Set PISTON_MAX_FILE_SIZE=1073741824 on the server"),
    _NeededLimit(field="max_processes", name="processes", minimum=16, enough=64, unit="",
        remedy="Set PISTON_MAX_PROCESS_COUNT=256 on the server"),
    _NeededLimit(field="max_open_files", name="open files", minimum=128, enough=1040, unit="",
        remedy="Set PISTON_MAX_OPEN_FILES=2048 on the server"),
)  # fmt: skip


def make_health_checks(report: EndpointReport) -> tuple[HealthCheck, ...]:
    """Return the health checks of a server. A check comes before the checks that depend on it."""
    if not report.reachable:
        return (_make_unreachable_check(report.reason),)
    kind_by_isolation = {
        True: "a sandbox per job",
        False: "from before isolate: jobs see each other",
        None: "kind unknown",
    }
    detail = f"{report.server or 'a server without a name'}, {kind_by_isolation[report.isolates]}"
    return (
        HealthCheck(name="server", ok=True if report.isolates else None, detail=detail),
        *_check_sandboxes(report),
        _check_runtimes(report),
        *_check_limits(report),
        *_check_gateway(report),
        *_check_machine(report),
    )


def _make_unreachable_check(reason: str) -> HealthCheck:
    remedy = "Check that the server runs and that this machine reaches it"
    if _FOREIGN_HOST in reason or "HTTP 504" in reason:  # such a reason already contains a remedy
        remedy = ""
    elif NEEDS_TLS in reason:
        remedy = "Write https://"
    elif NO_TLS in reason:
        remedy = "Write http://, or put a proxy before it that serves https"
    elif UNKNOWN_HOST in reason:
        remedy = "Check the spelling, and that this machine's name server can resolve the name"
    elif reason.startswith("http://") and any(symptom in reason for symptom in _HTTPS_SYMPTOMS):
        remedy += "; if it serves https alone, write https://"
    elif "HTTP 401" in reason or "HTTP 403" in reason:
        remedy = _TOKEN_REMEDY
    elif MOVED in reason:
        remedy = "Use that address, if the server there runs jobs; redirects are not followed"
    elif (
        BECAME_ANOTHER_SERVER in reason or _NOT_SAME_SERVER in reason or find_limit_in_message(reason)
    ):  # the limit has changed
        remedy = "If a load balancer distributes to different servers, name each server instead"
    elif NO_PISTON in reason:
        remedy = "Name the address of a Piston server, or of `ioi-eval worker`, with its port"
    elif TOO_SLOW in reason:
        remedy = "Ask again when it has less to do, or set PISTON_RUN_TIMEOUT=600000 on the server"
    elif RUNS_NOTHING in reason:
        remedy = "See the server's log: even a job that only runs `echo` printed nothing"
    return HealthCheck(name="reachable", ok=False, detail=reason, remedy=remedy)


def _check_sandboxes(report: EndpointReport) -> Iterator[HealthCheck]:
    """Yield a health check of a server's own sandboxes, inside which the proctor starts its sandboxes."""
    if report.is_worker or report.isolates is None:
        return
    yield HealthCheck(
        name=_SANDBOXES,
        ok=None,
        detail=_ISOLATE if report.isolates else _NO_SANDBOXES,
        remedy="Batched jobs bring the proctor's sandbox; classic jobs have only the server's sandbox",
    )


def _check_runtimes(report: EndpointReport) -> HealthCheck:
    install_remedy = (
        "Install the package ioi_eval: run `ioi-eval package DIR` on its folder of packages and restart it."
        " Or install the stock package bash (docs/piston.md)"
    )
    if "ioi_eval" in report.runtimes or "bash" in report.runtimes:
        runtime = "ioi_eval" if "ioi_eval" in report.runtimes else "bash"
        return HealthCheck(name="runtime", ok=True, detail=f"{runtime}, for jobs of many tests")
    package_by_language = {"cms_ioi": "cms_ioi", CODEFORCES: "codeforces"}
    classic_packages = [
        package for language, package in package_by_language.items() if language in report.runtimes
    ]
    if classic_packages:
        detail = f"only {' and '.join(classic_packages)}: each job has a single test and compiles everything"
        return HealthCheck(name="runtime", ok=None, detail=detail, remedy=install_remedy)
    return HealthCheck(name="runtime", ok=False, detail="none that can run jobs", remedy=install_remedy)


def _check_limits(report: EndpointReport) -> Iterator[HealthCheck]:
    for need in _NEEDS:
        limit = getattr(report, need.field)
        if limit is None and not _was_limit_probed(report, need.field):
            detail = "unknown: its packages cannot start the script that measures it"
            yield HealthCheck(name=need.name, ok=None, detail=detail)
        elif limit is None or limit >= need.enough:
            detail = "no limit was met" if limit is None else f"up to {_format_amount(limit, need.unit)}"
            yield HealthCheck(name=need.name, ok=True, detail=detail)
        else:
            # Without a compile stage, builds use the memory limit of the run stage.
            is_too_low = limit < (
                _BUILD_MEMORY if need.field == "max_run_memory" and report.runtime == "bash" else need.minimum
            )
            detail = f"{_ONLY_UP_TO}{_format_amount(limit, need.unit)}"
            worker_remedy = f"Start the worker with {need.option}" if report.is_worker and need.option else ""
            yield HealthCheck(
                name=need.name,
                ok=False if is_too_low else None,
                detail=detail,
                remedy=worker_remedy or need.remedy,
            )


def _was_limit_probed(report: EndpointReport, field: str) -> bool:
    """Return True if the probe tried to find a limit of a server.

    The probe finds some limits by requests, and others by a shell script in a job.
    """
    if field == "max_body":
        return True
    return bool(report.runtime) if field in ASKED_BY else report.runtime in SHELLS


def summarize_low_limits(report: EndpointReport) -> str:
    """Return the limits of a server that are too low or low, for a cell of a table."""
    limit_names = {_GATEWAY, *(need.name for need in _NEEDS)}
    limit_checks = [health_check for health_check in report.findings if health_check.name in limit_names]
    low_limit_checks = [
        health_check for health_check in limit_checks if health_check.ok is None and health_check.remedy
    ]
    checks_by_degree = {
        "too low": [health_check for health_check in limit_checks if health_check.ok is False],
        "low": low_limit_checks,
    }
    phrases = (
        f"{degree}: {', '.join(f'{check.name} {check.detail.removeprefix(_ONLY_UP_TO)}' for check in checks)}"
        for degree, checks in checks_by_degree.items()
        if checks
    )
    return "; ".join(phrases) or (
        "enough" if all(health_check.ok for health_check in limit_checks) else "enough, as far as measured"
    )


def list_remedies(report: EndpointReport) -> tuple[str, ...]:
    """Return the remedies for a server's problems. All variables to set are in a single line."""
    remedies = [
        health_check.remedy
        for health_check in report.findings
        if health_check.remedy and health_check.name not in (_SANDBOXES, _NOT_IN_FORCE)
    ]
    variable_matches = [
        variable_match for remedy in remedies if (variable_match := _SET_VARIABLE.fullmatch(remedy))
    ]
    merged_remedies = [
        f"Set {' '.join(match[1] for match in variable_matches)} on the server, and restart it"
    ]
    other_remedies = [remedy for remedy in remedies if not _SET_VARIABLE.fullmatch(remedy)]
    if report.idle_cores:
        other_remedies.append(
            f"Give per_endpoint=N: it has {report.cores} cores, and runs a single job at a time by default"
        )
    return tuple(dict.fromkeys([*(merged_remedies if variable_matches else ()), *other_remedies]))


def _check_gateway(report: EndpointReport) -> Iterator[HealthCheck]:
    """Yield the check of a gateway's limit. For workers it is no problem: files are sent before jobs."""
    if report.max_gateway_body is not None:
        yield HealthCheck(
            name=_GATEWAY,
            ok=None if report.is_worker or report.max_gateway_body >= _MIN_BODY else False,
            detail=f"refuses requests of more than {_format_amount(report.max_gateway_body, 'bytes')}",
            remedy="Raise its limit (client_max_body_size of nginx) to 512mb",
        )


def _format_amount(number: int, unit: str) -> str:
    if unit == "s":
        return f"{number / 1000:g} s"
    if unit == "bytes":
        unit_bytes, unit_name = next(
            size_unit for size_unit in _SIZES if number >= size_unit[0] or size_unit[0] == 1
        )
        return f"{number / unit_bytes:.4g} {unit_name}"
    return str(number)


def _check_machine(report: EndpointReport) -> Iterator[HealthCheck]:
    if not report.architecture:
        return  # no runtime of the server could run the probe's script
    core_count = f", {report.cores} cores" if report.cores else ""
    yield HealthCheck(name="machine", ok=True, detail=report.architecture + core_count)
    yield _check_compiler(report)
    if report.static is False:
        remedy = "Install the static C and C++ libraries in the worker's image"
        yield HealthCheck(name="static linking", ok=None, detail="does not work", remedy=remedy)
    if report.headers:
        detail = f"bits/stdc++.h, precompiled for {', '.join(report.headers)} by its package"
        yield HealthCheck(name="C++ headers", ok=True, detail=detail)
    python = report.toolchains.get("python3")
    if python is not None:
        yield HealthCheck(name="python", ok=True, detail=f"python {python.version}")
    else:
        remedy = "Install python3 in the worker's image"
        yield HealthCheck(name="python", ok=None, detail="no python3: none for submissions", remedy=remedy)


def _check_compiler(report: EndpointReport) -> HealthCheck:
    compiler = report.toolchains.get("g++")
    if compiler is None:
        return HealthCheck(
            name=COMPILER, ok=False, detail="no g++", remedy="Install g++ in the worker's image"
        )
    is_recent = report.cpp_standard >= _CONTEST_STANDARD
    return HealthCheck(
        name=COMPILER,
        ok=True if is_recent else None,
        detail=f"g++ {compiler.version}, up to {report.cpp_standard or 'an unknown standard'}",
        remedy="" if is_recent else f"Recent contests use {_CONTEST_STANDARD}: a worker with g++ 10 or newer",
    )


# --- capabilities of all servers, and their differences ----------------------------------------------


NAME = "piston"
# Runtimes that jobs can use, in order of preference. The probe runs in the first of them that a server has.
RUNTIMES = ("ioi_eval", "bash", "cms_ioi", CODEFORCES)
SHELLS = RUNTIMES[:2]
_MAX_TESTS = 500  # maximum number of tests in a job
_OTHER_FILES, _FILES_PER_TEST = 40, 2  # number of open files of a job, and of each of its tests
_LIMITS = (
    "max_run_time",
    "max_compile_time",
    "max_run_cpu_time",
    "max_run_memory",
    "max_output",
    "max_body",
)


def group_toolchains(
    all_toolchains: Iterable[Mapping[str, Toolchain]],
) -> dict[str, tuple[Toolchain, ...]]:
    """Return the distinct toolchains of all machines, by command."""
    tools_by_command = dict[str, dict[str, Toolchain]]()
    for tools in all_toolchains:
        for command, tool in tools.items():
            tools_by_command.setdefault(command, {})[tool.identity] = tool
    return {command: tuple(tools.values()) for command, tools in tools_by_command.items()}


def describe_changed_tools(before: EndpointReport, after: EndpointReport) -> str:
    """Return the differences between the tools of two reports about a server, or an empty string."""
    old_tools = before.toolchains
    changed_tools = [
        t for command, t in after.toolchains.items() if old_tools.get(command, t).identity != t.identity
    ]
    tool_list = ", ".join(f"{tool.command}: {tool.version}" for tool in changed_tools)
    return f"it has another {tool_list}" if changed_tools else ""


def merge_capabilities(reports: Iterable[EndpointReport]) -> Capabilities:
    """Return the capabilities of an engine with several servers.

    Its limits are the tightest limits of all servers. Its tools and runtimes are those of any server, because
    each job goes to a server that has the tools it needs. `reports` must not be empty.
    """
    all_reports = [*reports]
    limits: dict[str, Any] = {
        name: min_limit(*(_get_limit(report, name) for report in all_reports)) for name in _LIMITS
    }
    max_open_files = min_limit(*(report.max_open_files for report in all_reports))
    all_toolchains = [report.toolchains for report in all_reports]
    return add_toolchains(
        Capabilities(
            name=NAME,
            architecture=find_most_common(
                report.architecture for report in all_reports if report.architecture
            ),
            confines=all(report.is_worker for report in all_reports),
            exclusive=all(report.exclusive for report in all_reports),
            shares_builds=True,
            toolchains={name: tools[0] for name, tools in group_toolchains(all_toolchains).items()},
            runtimes=tuple(dict.fromkeys(name for report in all_reports for name in report.runtimes)),
            max_files=_MAX_TESTS
            if max_open_files is None
            else max(1, min(_MAX_TESTS, (max_open_files - _OTHER_FILES) // _FILES_PER_TEST)),
            strict=any(report.has_strict_time_limits for report in all_reports),
            **limits,
        ),
        all_toolchains,
    )


def _get_limit(report: EndpointReport, name: str) -> int | None:
    """Return a limit of a server. For builds it is the lower one of wall-clock and CPU time."""
    limit: int | None = getattr(report, name)
    if name == "max_compile_time" and report.runtime == BASH:
        # Builds on this server run in the run stage, so the limit of the compile stage does not apply.
        return None
    # A server that is not a worker gets the whole job in a single request.
    if name == "max_body" and not report.is_worker:
        return min_limit(limit, report.max_gateway_body)
    return min_limit(limit, report.max_compile_cpu_time) if name == "max_compile_time" else limit


def _merge_toolchains(tools: Sequence[Toolchain]) -> Toolchain:
    """Return one toolchain for several. If they differ, its identity covers all of them."""
    identities = sorted({tool.identity for tool in tools})
    if len(identities) == 1:
        return tools[0]
    identities_digest = hashlib.sha256("\n".join(identities).encode()).hexdigest()[:16]
    paths = {tool.path for tool in tools}
    return Toolchain(
        command=tools[0].command,
        path=paths.pop() if len(paths) == 1 else tools[0].command,
        version=", ".join(sorted({tool.version for tool in tools})),
        identity=f"one of {len(identities)}: {identities_digest}",
        modules=_intersect_modules(tools),
    )


def _intersect_modules(tools: Iterable[Toolchain]) -> tuple[str, ...] | None:
    """Return the Python packages that all interpreters report, or `None` if none reports packages."""
    module_sets = [set(tool.modules) for tool in tools if tool.modules is not None]
    return tuple(sorted(set.intersection(*module_sets))) if module_sets else None


def find_most_common(values: Iterable[str]) -> str:
    """Return the most common value, or the alphabetically first of equally common values."""
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], value)) if counts else ""


# --- servers that join after the start or were replaced ----------------------------------------------


ASKED_BY = {
    "max_run_time": "run_timeout",
    "max_compile_time": "compile_timeout",
    "max_run_cpu_time": "run_cpu_time",
    "max_compile_cpu_time": "compile_cpu_time",
    "max_run_memory": "run_memory_limit",
    "max_compile_memory": "compile_memory_limit",
}
"""Request fields by the report's field: a server that refuses a too large value names its limit."""
_UNKNOWN = "runtime is unknown"  # end of a server's message about a job whose runtime it lacks


def comes_from_another_server(refusal: str, runtime: str, report: EndpointReport) -> bool:
    """Return True if the refusal of a job cannot come from the server that a report describes.

    `refusal` is the message of the server that now has the address.
    """
    if refusal.startswith(f"{runtime}-") and refusal.endswith(_UNKNOWN):
        return runtime in report.runtimes
    exceeded_limit = find_limit_in_message(refusal)
    if exceeded_limit is None or runtime != report.runtime:
        return False
    return any(
        getattr(report, field) != exceeded_limit[1]
        for field, request_field in ASKED_BY.items()
        if request_field == exceeded_limit[0]
    )


def list_job_runtimes(capabilities: Capabilities) -> frozenset[str]:
    """Return the runtimes that jobs of a run can use.

    If `ioi_eval` is a runtime of the run, `bash` can run its jobs that compile nothing.
    """
    runtimes = {name for name in RUNTIMES if name in capabilities.runtimes}
    return frozenset(runtimes | {BASH} if OWN in runtimes else runtimes)


def explain_exclusion(
    capabilities: Capabilities, report: EndpointReport, initial_capabilities: Capabilities | None = None
) -> str:
    """Return why an endpoint cannot join a run that relies on `capabilities`, or an empty string if it can.

    `initial_capabilities`: None if endpoints may have different compilers and interpreters. Otherwise the
    endpoint must have the compilers and interpreters of these capabilities.
    """
    if list_job_runtimes(capabilities).isdisjoint(report.runtimes):
        return f"it has no runtime {' or '.join(sorted(list_job_runtimes(capabilities)))}, which the run uses"
    if report.architecture != capabilities.architecture:
        return (
            f"the run is on {capabilities.architecture}, it is {report.architecture or 'something unknown'}"
        )
    if capabilities.confines and not report.is_worker:
        return "the run needs the sandboxes of an ioi-eval worker, and the server is not such a worker"
    if capabilities.exclusive and not report.exclusive:
        return "the server cannot run exclusive jobs, and the run needs them"
    if tight_limits := [
        limit_name
        for limit_name in _LIMITS
        if _is_tighter(_get_limit(report, limit_name), getattr(capabilities, limit_name))
    ]:
        return f"its {tight_limits[0]} is {_get_limit(report, tight_limits[0])}, and the run needs more"
    for command in capabilities.toolchains:
        if (toolchain := report.toolchains.get(command)) is None:
            if initial_capabilities is None:
                continue  # jobs that need this toolchain are sent to other servers
            return f"it has no {command}, and the run started with servers that have it"
        if missing_modules := set(_intersect_modules(capabilities.list_toolchains(command)) or ()) - set(
            toolchain.modules or ()
        ):
            return f"its {command} has no {', '.join(sorted(missing_modules))}, and the run may count on that"
        initial_toolchains = (
            initial_capabilities.list_toolchains(command) if initial_capabilities is not None else ()
        )
        if initial_toolchains and toolchain.identity not in {tool.identity for tool in initial_toolchains}:
            return f"its {command} {toolchain.version} differs from the versions that the run started with"
    return ""


def _is_tighter(limit: int | None, expected_limit: int | None) -> bool:
    return limit is not None and (expected_limit is None or limit < expected_limit)


def add_toolchains(
    capabilities: Capabilities, all_toolchains: Iterable[Mapping[str, Toolchain]]
) -> Capabilities:
    """Return the capabilities with the toolchains of these endpoints, or unchanged without any endpoint."""
    tools_by_command = group_toolchains(all_toolchains)
    offered_tools = {
        command: tools_by_command[command]
        for command in capabilities.toolchains
        if command in tools_by_command
    }
    toolchains = {
        **capabilities.toolchains,
        **{command: _merge_toolchains(tools) for command, tools in offered_tools.items()},
    }
    return (
        msgspec.structs.replace(capabilities, toolchains=toolchains, offers=offered_tools)
        if offered_tools
        else capabilities
    )


def check_differences(reports: Iterable[EndpointReport]) -> tuple[HealthCheck, ...]:
    """Return a health check for each compiler or interpreter that is not the same on all servers."""
    reachable_reports = [report for report in reports if report.reachable]
    differing_commands = sorted(
        command
        for command, tools in group_toolchains(report.toolchains for report in reachable_reports).items()
        if len(tools) > 1 or not all(command in report.toolchains for report in reachable_reports)
    )
    return tuple(
        _make_toolchain_difference_check(command, reachable_reports) for command in differing_commands
    )


def _make_toolchain_difference_check(command: str, reports: Sequence[EndpointReport]) -> HealthCheck:
    """Return the health check about a compiler or interpreter, `command`, that differs between servers."""
    toolchains = [report.toolchains.get(command) for report in reports]
    version_counts = Counter(tool.version if tool else "none" for tool in toolchains)
    detail = ", ".join(f"{version} on {version_counts[version]}" for version in sorted(version_counts))
    if len(version_counts) == 1:
        detail += ", but not the same build"
    remedy = "Give all workers the same image, or refuse other compilers with same_compiler=True"
    return HealthCheck(name=f"{command} differs", ok=None, detail=detail, remedy=remedy)
