"""Probes of servers: with sufficient limits, with stock limits, from before isolate, and unreachable."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import shutil
import zipfile
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web
from piston_loopback import Answer, Loopback, always, engine_on, silence, told
from support.loopback import serve_on_loopback
from support.servers import Server, ServerOptions
from support.waiting import until

from ioi_eval import EmbeddedEngine, Store
from ioi_eval.engines.contract import Change
from ioi_eval.engines.jobs.piston_api import LIMITS
from ioi_eval.engines.piston import probe, sending
from ioi_eval.engines.piston.probe import (
    INSPECTION_SCRIPT,
    OUTPUT_STEPS,
    Prober,
    count_growing_output_bytes,
    make_growing_output_script,
    parse_inspection,
)
from ioi_eval.engines.piston.reports import EndpointReport, make_health_checks, merge_capabilities
from ioi_eval.engines.piston.sending import HttpClient, Request
from ioi_eval.engines.piston.uses import choose_server_roles
from ioi_eval.errors import ServerReplaced
from ioi_eval.models import Ending, Job, JobResult, StageStatus

SAMPLES = Path(__file__).parents[1] / "jobs" / "piston_samples"


@pytest.fixture(autouse=True)
def bodies_are_small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use small request bodies, because packing 32 MB is slow. Not for servers without a limit."""
    if request.function is not test_probe_of_unlimited_worker_finds_no_problem:
        monkeypatch.setattr(probe, "BODY_SIZES", probe.BODY_SIZES[:2])


async def probed(url: str, **options: Any) -> EndpointReport:
    async with HttpClient(**options) as wire:
        return await Prober(wire).probe(url)


def found(report: EndpointReport) -> dict[str, tuple[bool | None, str, str]]:
    return {line.name: (line.ok, line.detail, line.remedy) for line in report.findings}


async def test_probe_of_unlimited_worker_finds_no_problem(store: Store) -> None:
    # With several Pythons an engine uses the newest.
    system_python = shutil.which("python3", path="/usr/bin:/bin") or ""
    async with (
        EmbeddedEngine(store=store, python=system_python) as engine,
        Server(engine, ServerOptions(port=0)) as server,
    ):
        async with HttpClient() as wire:
            prober = Prober(wire)
            report = await prober.probe(server.url)
            assert (
                await prober.add_confinement_checks(report, b"ours make boxes of the proctor's anyway")
                == report
            )
        capabilities = await engine.capabilities()
    assert report.reachable and report.isolates and report.runtime == "ioi_eval"
    assert report.architecture == capabilities.architecture
    for command in ("g++", "gcc"):
        assert report.toolchains[command].version == capabilities.toolchains[command].version
    assert report.toolchains["python3"].path == capabilities.toolchains["python3"].path
    assert report.toolchains["python3"].modules == capabilities.toolchains["python3"].modules
    assert report.cpp_standard >= "gnu++20" and report.static
    options = ServerOptions()
    assert report.max_run_time == options.run_timeout
    assert report.max_compile_cpu_time == options.compile_cpu_time
    assert report.max_run_memory is report.max_body is report.max_output is None
    assert report.max_processes and report.max_open_files and report.max_file
    assert {line.name: line for line in report.findings if not line.ok} == {}
    assert "boxes" not in found(report)


async def test_probe_of_worker_with_stock_limits_names_remedies(store: Store) -> None:
    stock = ServerOptions(
        port=0, max_body=100 << 10, run_timeout=3000, compile_timeout=10_000, run_cpu_time=3000,
        compile_cpu_time=10_000, run_memory_limit=256 << 20,
    )  # fmt: skip
    async with (
        EmbeddedEngine(store=store, max_stdout=1024, max_file=10_000_000) as engine,
        Server(engine, stock) as server,
    ):
        report = await probed(server.url)
    assert (report.max_run_time, report.max_run_cpu_time, report.max_compile_time) == (3000, 3000, 10_000)
    assert (report.max_body, report.max_run_memory) == (100 << 10, 256 << 20)
    assert report.max_output is not None and 1000 <= report.max_output <= 1024
    assert report.toolchains["g++"].version  # this short output is enough for the probe
    lines = found(report)
    for name, value, remedy in (
        ("run time", "3 s", "Start the worker with --set run-timeout=600"),
        ("run CPU time", "3 s", "Start the worker with --set run-timeout=600"),
        ("output", "1", "Start the worker with --set max-output=64mb"),
        ("request body", "102.4 kB", "Start the worker with --set max-body=512mb"),
        ("memory", "268.4 MB", "PISTON_RUN_MEMORY_LIMIT="),
    ):
        ok, detail, advice = lines[name]
        assert ok is False and detail.startswith(f"only up to {value}") and remedy in advice
    assert lines["compile time"][0] is None and "--set compile-timeout=300" in lines["compile time"][2]
    assert lines["file size"][0] is None and "PISTON_MAX_FILE_SIZE=" in lines["file size"][2]


async def test_gateway_body_limit_is_probed_without_sending_body() -> None:
    """The gateway, like nginx, refuses a request before it reads the body.

    A compressed body does not test the limit, and an uncompressed body would be sent in vain.
    """
    bodies = list[bytes]()

    async def limited(request: web.Request) -> None:
        size = request.content_length or 0
        if size > 1 << 20:
            raise web.HTTPRequestEntityTooLarge(max_size=1 << 20, actual_size=size)
        assert request.transport is not None
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    async def silent(request: web.Request) -> None:
        await over.wait()

    async def taken(request: web.Request) -> web.Response:
        bodies.append(await request.read())
        return web.Response()

    over = asyncio.Event()
    for expects, told_of in ((limited, [False, True]), (silent, [None, None])):
        runner, port = await serve_on_loopback(web.post("/api/v2/execute", taken, expect_handler=expects))
        url, time = f"http://127.0.0.1:{port}", 5.0 if expects is limited else 0.05
        async with HttpClient() as wire:
            assert [await wire.accepts_body(url, size, time) for size in (8 << 20, 1 << 20)] == told_of
        over.set()
        await runner.cleanup()
    assert bodies == []


def test_gateway_body_limit_applies_to_pistons_only() -> None:
    """Workers get contents in separate requests, and jobs are split if a request is refused."""
    ours = {"server": "Piston v3.1.1 (ioi-eval worker)"}
    assert [lines_of(max_gateway_body=1 << 20, **more)["gateway"][0] for more in ({}, ours)] == [False, None]
    assert "gateway" not in lines_of()
    reports = [EndpointReport(url="http://a", max_gateway_body=8 << 20, max_body=16 << 20, **ours)]
    assert merge_capabilities(reports).max_body == 16 << 20
    reports.append(msgspec.structs.replace(reports[0], url="http://b", server="Piston v3.1.1"))
    assert merge_capabilities(reports).max_body == 8 << 20


async def test_probe_runs_proctor_to_report_confinement(store: Store) -> None:
    """Only servers other than ioi-eval workers need this probe."""
    async with HttpClient() as wire:
        prober = Prober(wire)
        async with EmbeddedEngine(store=store) as engine, Server(engine, ServerOptions(port=0)) as server:
            proctor = (await engine.capabilities()).proctor
            assert proctor is not None
            packed = gzip.compress(proctor.read(), 1)
            base_report = EndpointReport(url=server.url, server="Piston v3.1.1", runtime="ioi_eval")
            whole = found(await prober.add_confinement_checks(base_report, packed))
            broken = found(
                await prober.add_confinement_checks(
                    base_report, gzip.compress(b"#!/bin/sh\necho no >&2; exit 3")
                )
            )
        gone = found(await prober.add_confinement_checks(base_report, packed))
    assert whole["confinement"][0] is True and "seccomp" in whole["confinement"][1]
    assert broken["confinement"][:2] == (False, "no")
    assert gone["confinement"][0] is None and "no proctor could be tried" in gone["confinement"][1]


def test_server_without_proctor_sandboxes_is_reported_for_classic_jobs_only() -> None:
    names = {True: "isolate's", False: "none"}
    for isolates, expected_start in names.items():
        other = EndpointReport(url="", server="Piston v3.1.1", runtime="ioi_eval", isolates=isolates)
        (line,) = (line for line in make_health_checks(other) if line.name == "boxes")
        assert line.ok is None and line.detail.startswith(expected_start) and "classic jobs" in line.remedy


def old_server(limit: int = 3000) -> Answer:
    """Answer like a server before isolate: no CPU limits, no statuses and no times."""

    async def answer(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
        for name in LIMITS:
            if name.endswith("timeout") and (getattr(received_job, name) or 0) > limit:
                message = f"{name} cannot exceed the configured limit of {limit}"
                return web.json_response({"message": message}, status=400)
        script = received_job.files[0].content.read().decode()
        message = (
            "machine aarch64\ntool g++ /usr/bin/g++ 8.3.0 0123\nstandard gnu++17\nstatic no\nopen_files 9\n"
        )
        out = "x" * 1500 if script == make_growing_output_script(OUTPUT_STEPS) else message
        return told(JobResult(run=Ending(stdout=out, code=0)))

    return answer


async def test_probe_of_old_server_reports_its_limits() -> None:
    async with Loopback(old_server()) as server:
        report = await probed(server.url)
        assert report.isolates is False and report.architecture == "aarch64"
        assert (report.max_run_time, report.max_run_cpu_time, report.max_output) == (3000, None, 1500)
        lines = found(report)
        assert "before isolate" in lines["server"][1]
        assert lines["C++ compiler"][:2] == (None, "g++ 8.3.0, up to gnu++17")
        assert lines["static linking"][0] is None and lines["python"][0] is None
        assert lines["open files"][0] is False and "PISTON_MAX_OPEN_FILES" in lines["open files"][2]


WORDS = "machine aarch64\ntool python3 /usr/bin/python3 3.11.2 0123\n"
TIMED_OUT = Ending(
    stdout="machine aarch64\n", code=None, signal="SIGKILL", status=StageStatus.TO, wall_time=9
)
KILLED = Ending(stdout="machine aarch64\n", code=137)  # as servers without isolate report it


def busy_server(script: str, *stopped: Ending) -> Answer:
    """Reply to this script with the endings in `stopped` first, and to all other scripts with success."""
    remaining = list(stopped)

    async def answer(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
        if received_job.files[0].content.read().decode() != script:
            return told(JobResult(run=Ending(stdout=WORDS, code=0)))
        out = (
            "x" * count_growing_output_bytes(OUTPUT_STEPS)
            if script == make_growing_output_script(OUTPUT_STEPS)
            else WORDS
        )
        return told(JobResult(run=remaining.pop(0) if remaining else Ending(stdout=out, code=0)))

    return answer


async def probed_in(seconds: float, server: Loopback) -> EndpointReport:
    """Probe a server with a clock by which each script runs for this time."""
    async with HttpClient() as wire:
        return await Prober(wire, clock=count(step=seconds).__next__).probe(server.url)


@pytest.mark.parametrize("script", [INSPECTION_SCRIPT, make_growing_output_script(OUTPUT_STEPS)])
@pytest.mark.parametrize("stopped", [TIMED_OUT, KILLED])
async def test_probe_script_that_timed_out_is_repeated_with_more_time(script: str, stopped: Ending) -> None:
    async with Loopback(busy_server(script, stopped, stopped)) as server:
        report = await probed_in(60, server)
        timeouts = [
            job.run_timeout for job in server.executed if job.files[0].content.read() == script.encode()
        ]
    assert report.reachable and report.toolchains["python3"].version == "3.11.2"
    if script == make_growing_output_script(OUTPUT_STEPS):
        assert report.max_output is None
    assert timeouts == [30_000, 60_000, 120_000]


@pytest.mark.parametrize("script", [INSPECTION_SCRIPT, make_growing_output_script(OUTPUT_STEPS)])
@pytest.mark.parametrize("stopped", [TIMED_OUT, KILLED])
async def test_server_too_slow_for_probe_is_reported_as_slow(script: str, stopped: Ending) -> None:
    async with Loopback(busy_server(script, *[stopped] * 3)) as server:
        report = await probed_in(120, server)
    [(ok, detail, remedy)] = found(report).values()
    assert ok is False and detail.startswith(f"{server.url} is too slow to be asked: ")
    assert "did not finish in 120 s" in detail and remedy.startswith("Ask again when")


async def test_probe_script_killed_early_is_not_counted_as_timeout() -> None:
    """A server from before isolate kills scripts that print too much, without a reason."""
    stopped = Ending(stdout="x" * 1000, code=None, signal="SIGKILL")
    async with Loopback(busy_server(make_growing_output_script(OUTPUT_STEPS), *[stopped] * 3)) as server:
        report = await probed_in(1, server)
    assert report.reachable and report.max_output == 1000


NOTHING = Ending(stderr="prlimit: failed to execute nosocket: No such file or directory", code=127)


async def test_server_that_runs_no_script_is_unusable() -> None:
    async with Loopback(always_told(NOTHING)) as server:
        report = await probed(server.url)
    [(ok, detail, remedy)] = found(report).values()
    assert ok is False and detail.startswith(f"{server.url} accepts jobs, but runs no script: prlimit: ")
    assert "server's log" in remedy


async def test_capabilities_come_from_the_working_server_among_broken_servers() -> None:
    broken = always_told(NOTHING)
    async with (
        Loopback(broken) as a,
        Loopback(broken) as b,
        Loopback(busy_server(INSPECTION_SCRIPT)) as well,
        engine_on(a, b, well, capabilities=None) as engine,
    ):
        assert (await engine.capabilities()).architecture == "aarch64"
        assert {endpoint.url for endpoint in engine.endpoints if endpoint.is_usable} == {well.url}


async def test_proctor_timeout_in_probe_reports_slow_server() -> None:
    slow = EndpointReport(url="", server="Piston v3.1.1", runtime="ioi_eval")
    async with Loopback(always_told(TIMED_OUT)) as server, HttpClient() as wire:
        report = msgspec.structs.replace(slow, url=server.url)
        [line] = (await Prober(wire).add_confinement_checks(report, gzip.compress(b"proctor"))).findings
    assert line.ok is None and "is too slow to be asked" in line.detail


def always_told(stage: Ending) -> Answer:
    async def answer(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
        return told(JobResult(run=stage))

    return answer


async def test_probe_reports_of_servers_are_merged() -> None:
    async with Loopback(old_server(3000)) as a, Loopback(old_server(9000)) as b:
        async with engine_on(a, b, capabilities=None) as engine:
            profile = await engine.capabilities()
            assert {endpoint.url for endpoint in engine.endpoints} == {a.url, b.url}
        assert (profile.architecture, profile.max_run_time, profile.max_output) == ("aarch64", 3000, 1500)
        assert profile.toolchains["g++"].version == "8.3.0"


async def test_probe_bodies_are_compressed_once_for_all_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest body has 32 MB uncompressed, and many servers are probed at the same time."""
    packed = list[int]()

    def compressed(body: bytes) -> Request:
        packed.append(len(body))
        return sending.make_compressed_request(body)

    monkeypatch.setattr(probe, "make_compressed_request", compressed)
    async with Loopback(old_server()) as a, Loopback(old_server()) as b, HttpClient() as wire:
        prober = Prober(wire)
        await asyncio.gather(*(prober.probe(server.url) for server in (a, b)))
    assert len(packed) == len(set(packed)) > 1


@pytest.mark.parametrize("fault", [always(500), always(200, b"<html>"), always(503)])
async def test_server_that_fails_probe_is_unreachable_with_reason(fault: Answer) -> None:
    async with Loopback(fault) as server:
        report = await probed(server.url)
        assert not report.reachable and server.url in report.reason
        [(ok, detail, remedy)] = found(report).values()
        assert ok is False and detail == report.reason and remedy


async def test_probe_reports_missing_server_and_refused_token() -> None:
    report = await probed("http://127.0.0.1:1")
    assert not report.reachable and re.match(r"http://127\.0\.0\.1:1 cannot be reached: ", report.reason)
    async with Loopback() as server:
        server.runtimes_status = 401
        report = await probed(server.url, token="wrong")
        assert not report.reachable and "IOI_EVAL_TOKEN" in report.findings[0].remedy
        assert "token=..." in report.findings[0].remedy
        assert "wrong" not in json.dumps([line.detail for line in report.findings])


async def test_probe_reports_server_without_http() -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
        await writer.drain()
        await reader.read()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        report = await probed(url)
    assert (
        not report.reachable and report.reason == f"{url} is not a Piston server ({url} does not speak HTTP)"
    )


async def test_cancelled_probe_raises_cancelled_error() -> None:
    async with Loopback(silence) as server, HttpClient() as wire:
        task = asyncio.create_task(Prober(wire).probe(server.url))
        await until(lambda: bool(server.executed))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


# --- reports of a sandbox ----------------------------------------------------------------------------


def test_truncated_or_unknown_probe_output_is_ignored() -> None:
    fields = parse_inspection(
        "machine x86_64\ncores 4\nfile_kib unlimited\ntool g++ /usr/bin/g++\nwhat is this\nproces"
    )
    assert (fields["architecture"], fields["cores"], fields["max_file"]) == ("x86_64", 4, None)
    assert fields["toolchains"] == {} and fields["max_processes"] is None and fields["static"] is None
    assert parse_inspection("")["architecture"] == ""


@pytest.mark.parametrize("has_archive", [True, False])
async def test_kotlin_version_is_read_from_file_without_starting_compiler(
    tmp_path: Path, has_archive: bool
) -> None:
    """Starting the compiler would use half of the stock time limit."""
    tools, kotlin_home = tmp_path / "tools", tmp_path / "kotlin"
    for folder in (tools, kotlin_home / "bin", kotlin_home / "lib"):
        folder.mkdir(parents=True)
    for name in ("bash", "readlink", "dirname", "stat", "tail", "head", "sed", "sha256sum", "python3"):
        (tools / name).symlink_to(shutil.which(name, path="/usr/bin:/bin") or "")
    command = kotlin_home / "bin" / "kotlinc"
    command.write_text("#!/bin/sh\necho OpenJDK 64-Bit >&2\necho info: kotlinc-jvm 1.9.2 '(JRE 17)' >&2\n")
    command.chmod(0o755)
    (tools / "kotlinc").symlink_to(command)
    if has_archive:
        with zipfile.ZipFile(kotlin_home / "lib" / "kotlin-compiler.jar", "w") as archive:
            archive.writestr("META-INF/MANIFEST.MF", "Implementation-Version: 2.1.0-rc\r\nMain-Class: X\r\n")
    script = ("bash", "-c", INSPECTION_SCRIPT)
    running = await asyncio.create_subprocess_exec(
        *script, cwd=tmp_path, env={"PATH": str(tools)}, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await running.communicate()
    assert parse_inspection(output.decode())["toolchains"]["kotlinc"].version == (
        "2.1.0-rc" if has_archive else "1.9.2"
    )


def test_output_of_output_limit_script_has_known_size() -> None:
    assert count_growing_output_bytes(OUTPUT_STEPS) == 4_096_000 and count_growing_output_bytes(1) == 1000


# --- lines for a reader ------------------------------------------------------------------------------


def lines_of(**fields: Any) -> dict[str, tuple[bool | None, str, str]]:
    report = EndpointReport(url="http://a", **fields)
    return {line.name: (line.ok, line.detail, line.remedy) for line in make_health_checks(report)}


async def test_redirect_is_reported_and_not_followed() -> None:
    async with Loopback() as target, Loopback(moved=f"{target.url}/é") as server:
        report = await probed(server.url)
        [line] = make_health_checks(report)
        assert line.detail == f"{server.url} sends its callers to '{target.url}/\\xe9'"
        assert line.remedy.startswith("Use that address") and target.asked == 0


@pytest.mark.parametrize(
    ("answer", "remedy"),
    [
        (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 52\r\n\r\n"
         b"The plain HTTP request was sent to HTTPS port, sorry", "Write https://"),
        (b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n", "Write https://"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "https://"),
        (b"", "https://"),
    ],
    ids=["nginx", "go", "alert", "silence"],
)  # fmt: skip
async def test_plain_http_to_a_port_of_https_names_the_remedy(answer: bytes, remedy: str) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1") as server:
        [line] = (await probed("http://127.0.0.1:{1}".format(*server.sockets[0].getsockname()))).findings
    assert line.ok is False and remedy in line.remedy


async def test_https_to_a_port_of_plain_http_names_the_remedy() -> None:
    async with Loopback() as server:
        [line] = (await probed(server.url.replace("http:", "https:"))).findings
    assert "it serves no https" in line.detail and line.remedy.startswith("Write http://")


async def test_unresolvable_host_name_is_reported() -> None:
    [line] = (await probed("http://no-such-host.invalid:2000")).findings
    assert "no address is known for 'no-such-host.invalid'" in line.detail and "spelling" in line.remedy


async def test_redirect_error_names_a_usable_address() -> None:
    async with Loopback() as target, Loopback(moved=f"{target.url}/api/v2/runtimes") as server:
        assert (await probed(server.url)).reason == f"{server.url} sends its callers to '{target.url}'"


async def cut_off(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        (always(503), Change.FULL),
        (always(502), Change.LOST),
        (always(500), Change.LOST),
        (always(200, b"{}"), Change.LOST),
        (cut_off, Change.LOST),
        (always(401), None),
    ],
)
async def test_probe_failure_in_transit_counts_as_temporary(answer: Answer, passes: Change | None) -> None:
    """A probe sends some twenty requests, and a request may fail on a bad network or after a restart."""
    async with Loopback(answer) as server:
        report = await probed(server.url)
    assert not report.reachable and report.temporary_state is passes


@pytest.mark.parametrize(
    "reason",
    [
        "a became another server while it was probed",
        str(ServerReplaced("http://a")),
        "http://a: run_timeout cannot exceed the configured limit of 3000",
    ],
)
def test_load_balancer_before_different_servers_names_remedy(reason: str) -> None:
    [line] = make_health_checks(EndpointReport(url="http://a", reachable=False, reason=reason))
    assert "name each server" in line.remedy


def test_probe_reports_kind_of_jobs_for_runtimes() -> None:
    assert lines_of(runtimes=("bash", "ioi_eval"))["runtime"][:2] == (
        True,
        "ioi_eval, for jobs of many tests",
    )
    assert lines_of(runtimes=("bash", "sh"))["runtime"][1].startswith("bash")
    ok, detail, remedy = lines_of(runtimes=("cms", "cms_ioi"))["runtime"]
    assert ok is None and "only cms_ioi" in detail and "ioi_eval" in remedy
    assert lines_of(runtimes=("python",))["runtime"][0] is False


def test_codeforces_package_is_detected_by_its_languages() -> None:
    """A real server lists none of its languages under the package's name."""
    recorded = json.loads((SAMPLES / "runtimes.json").read_text())["response"]["body"]
    provided = [package for package in recorded if package.get("runtime") == "codeforces"]
    names = tuple(name for package in provided for name in (package["language"], *package["aliases"]))
    assert "codeforces" not in names
    ok, detail, _ = lines_of(runtimes=names)["runtime"]
    assert ok is None and "only codeforces" in detail
    apart = [EndpointReport(url="http://a", runtimes=names), EndpointReport(url="http://b", runtimes=("go",))]
    assert list(choose_server_roles(apart).reasons_by_unused_server) == ["http://b"]


def test_server_without_shell_runtime_gets_no_checks_of_its_machine() -> None:
    assert not {"machine", "C++ compiler", "python"} & lines_of(runtimes=("cms_ioi",)).keys()
    assert lines_of(architecture="x86_64")["C++ compiler"][0] is False


@pytest.mark.parametrize(
    ("limit", "ok", "detail_text"),
    [
        (None, True, "no limit was met"),
        (64 << 20, True, "up to 67.11 MB"),
        (1 << 20, None, "only up to 1.049 MB"),
        (1024, False, "only up to 1.024 kB"),
        (12, False, "only up to 12 bytes"),
    ],
)
def test_output_limit_is_described_with_remedy(limit: int | None, ok: bool | None, detail_text: str) -> None:
    found_ok, detail, remedy = lines_of(max_output=limit, runtime="bash")["output"]
    assert (found_ok, detail) == (ok, detail_text) and bool(remedy) == (ok is not True)


@pytest.mark.parametrize(
    ("runtime", "unlimited"),
    [
        ("bash", {"run time", "memory", "request body", "output", "processes", "open files", "file size"}),
        ("cms_ioi", {"run time", "memory", "request body"}),
        ("", {"request body"}),
    ],
)
def test_untested_limit_is_reported_as_unknown(runtime: str, unlimited: set[str]) -> None:
    names = {"run time", "memory", "request body", "output", "processes", "open files", "file size"}
    lines = lines_of(runtime=runtime, runtimes=(runtime,))
    assert {name for name in names if lines[name][1] == "no limit was met"} == unlimited
    assert {lines[name][:2] for name in names - unlimited} <= {
        (None, "unknown: its packages cannot start the script that measures it")
    }


@pytest.mark.parametrize(("limit", "ok"), [(1 << 20, False), (3 << 20, False), (4 << 20, None)])
def test_request_limit_below_static_program_size_fails_health_check(limit: int, ok: bool | None) -> None:
    """A static C++ program needs a megabyte of a request, and would be CE."""
    assert lines_of(max_body=limit)["request body"][0] is ok


def test_build_memory_is_checked_in_stage_that_compiles() -> None:
    for runtime, name in (("ioi_eval", "compile memory"), ("bash", "memory")):
        ok, _, remedy = lines_of(runtime=runtime, max_compile_memory=1 << 30, max_run_memory=1 << 30)[name]
        assert ok is False and "MEMORY_LIMIT=-1" in remedy
    assert lines_of(runtime="ioi_eval", max_run_memory=1 << 30)["memory"][0] is None
