"""Servers that were replaced: their replies do not count, and they are probed again."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from threading import Event
from typing import Any

import msgspec
import pytest
from aiohttp import web
from piston_loopback import PROFILE, Found, Loopback, always, endpoints_of, engine_on, in_turn, job, told
from support.servers import EndpointReport, Server, ServerOptions
from support.waiting import until

from ioi_eval import EmbeddedEngine, PistonEngine, Store, discovery
from ioi_eval.engines.contract import OWN, Change, ServerChanged
from ioi_eval.engines.jobs.piston_api import find_first_script
from ioi_eval.engines.piston.sending import (
    HEADER,
    IDENTITY_SCRIPT,
    REQUEST,
    ServerIdentity,
    split_off_identity_hash,
)
from ioi_eval.errors import (
    AttemptsUsedUp,
    BrokenReply,
    JobRejected,
    JobTooLarge,
    ServerReplaced,
    ToolchainGone,
)
from ioi_eval.models import Blob, Ending, Job, JobFile, JobResult, Toolchain

EVERY = 0.002


def compiler(version: str) -> Toolchain:
    return Toolchain(command="g++", path="/usr/bin/g++", version=version, identity=f"g++ {version}")


def words(version: str) -> str:
    return f"ioi-eval tells x86_64\n/usr/bin/g++ {version}\nioi-eval told\n"


class Machine(Loopback):
    """A server whose compiler a test changes while it runs."""

    def __init__(self, version: str = "12", worker: str = "") -> None:
        super().__init__(self._done)
        self.version, self.worker = version, worker
        self.probed = 0
        self.shells = PROFILE.runtimes
        self.limits: dict[str, int] = {}
        self.tools: Mapping[str, Toolchain] | None = None  # reported instead of its compiler
        self.heard: str | None = None  # the job to which the server replies, if it confuses jobs
        self.marks: list[str] = []

    async def _done(self, server: Loopback, request: web.Request, asked: Job) -> web.StreamResponse:
        """Print the compiler's version."""
        version = self.version
        script = asked.files[0].content.read().decode()
        tells = words(version) if script.startswith(IDENTITY_SCRIPT.partition(";")[0]) else ""
        if echo_match := re.search('\necho "(ioi-eval answers [0-9a-f]+)"\n', script):
            tells += f"{echo_match[1] if self.heard is None else self.heard}\n"
            self.marks.append(echo_match[1])
        stage = Ending(stdout=f"{tells}built by {version}\n", code=0)
        two = any(file.name == "compile" for file in asked.files) and asked.runtime == "ioi_eval"
        reply = told(JobResult(run=Ending(code=0), compile=stage) if two else JobResult(run=stage))
        if self.worker:
            reply.headers[HEADER] = self.worker
        return reply

    def _there(self) -> Mapping[str, Toolchain]:
        return {"g++": compiler(self.version)} if self.tools is None else self.tools

    def report(self, runtimes: Collection[str] = ()) -> EndpointReport:
        self.probed += 1
        runtime = next(name for name in self.shells if name in (runtimes or self.shells))
        identity = ServerIdentity(tools=split_off_identity_hash(words(self.version))[0], worker=self.worker)
        return EndpointReport(
            url=self.url, architecture="x86_64", runtimes=self.shells, runtime=runtime,
            toolchains=self._there(), identity=identity, **self.limits,  # type: ignore[arg-type]
        )  # fmt: skip


Opening = Callable[..., Any]


@pytest.fixture
async def open_machines(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return an engine on machines that probes find."""
    async with AsyncExitStack() as stack:

        async def opened(
            *machines: Machine, found: Found | None = None, **options: Any
        ) -> tuple[PistonEngine, list[ServerChanged]]:
            """Open an engine on machines.

            With a discovery `found`, that discovery lists only the first machine.
            """

            async def probe(prober: object, url: str, runtimes: Collection[str] = ()) -> EndpointReport:
                return next(machine for machine in machines if machine.url == url).report(runtimes)

            monkeypatch.setattr("ioi_eval.engines.piston.probe.Prober.probe", probe)
            for machine in machines:
                await stack.enter_async_context(machine)
            if found is not None:
                found.urls = {machines[0].url}
            engine = engine_on(*machines, capabilities=None, discovery=found, **options)
            heard: list[ServerChanged] = []
            engine.on_event = lambda event: heard.append(event) if isinstance(event, ServerChanged) else None
            await stack.enter_async_context(engine)
            return engine, heard

        yield opened


def version_of(result: JobResult) -> str:
    return result.toolchains["g++"].version


# -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("runtime", ["ioi_eval", "bash"])
async def test_identity_lines_are_removed_from_reply(open_machines: Opening, runtime: str) -> None:
    engine, heard = await open_machines(Machine())
    result = await engine.execute(job(runtime=runtime))
    assert (result.run.stdout, version_of(result), heard) == ("built by 12\n", "12", [])


async def test_job_answered_by_replaced_server_is_repeated(open_machines: Opening) -> None:
    machine = Machine()
    engine, heard = await open_machines(machine, attempts=1)
    await engine.execute(job())
    machine.version = "13"  # the compiler changes without a failed request
    result = await engine.execute(job())
    assert (result.run.stdout, version_of(result)) == ("built by 13\n", "13")
    assert [event.change for event in heard] == [Change.REPLACED, Change.TRIAL, Change.BACK]
    assert heard[-1].reason == "it has another g++: 13"
    assert machine.probed == 2 and len(machine.executed) == 3
    profile = await engine.capabilities()
    assert profile.toolchains["g++"].version == "13" and profile.list_toolchains("g++") == (compiler("13"),)


async def test_failed_compile_stage_also_reports_identity(open_machines: Opening) -> None:
    """The result of a refused build does not have a run stage."""
    machine = Machine()
    engine, _ = await open_machines(machine)
    building = job("run", JobFile(name="compile", content=Blob.of("make")))
    building = msgspec.structs.replace(building, files=building.files[::-1])
    assert (await engine.execute(building)).compile.stdout == "built by 12\n"
    machine.version = "13"
    second_result = await engine.execute(building)
    assert (second_result.compile.stdout, version_of(second_result)) == ("built by 13\n", "13")


async def test_reply_with_mark_of_another_job_is_refused(open_machines: Opening) -> None:
    """Otherwise another program's build would be cached."""
    mixed_up, good = Machine(), Machine()
    engine, _ = await open_machines(mixed_up, good)
    mixed_up.heard = "ioi-eval answers 0123456789abcdef"
    for _ in range(4):
        result = await engine.execute(job())
        assert (result.endpoint, result.run.stdout) == (good.url, "built by 12\n")
    assert mixed_up.marks and len({*mixed_up.marks, *good.marks}) == len(mixed_up.marks + good.marks)


async def test_reply_without_identity_is_broken(open_machines: Opening) -> None:
    machine = Machine()
    engine, _ = await open_machines(machine, attempts=2)
    silent = ServerIdentity(tools="x").check_and_remove_identity
    with pytest.raises(BrokenReply, match="does not report the compilers"):
        silent("run", JobResult(run=Ending(stdout="built by 12\n")))

    async def mute(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
        return told(JobResult(run=Ending(stdout="built by 12\n", code=0)))

    machine.answer = mute
    with pytest.raises(AttemptsUsedUp, match="does not report the compilers"):
        await engine.execute(job())


@pytest.mark.parametrize(
    ("runtime", "message", "limits"),
    [
        ("bash", "bash-* runtime is unknown", {}),
        ("ioi_eval", "run_timeout cannot exceed the configured limit of 3000", {"max_run_time": 3000}),
    ],
    ids=["package", "limit"],
)
async def test_refusal_contradicting_probe_is_retried_and_server_probed_again(
    open_machines: Opening, runtime: str, message: str, limits: dict[str, int]
) -> None:
    """For example if a load balancer has different servers, or a package was removed.

    Such a server refuses at once, and would receive and fail nearly all jobs.
    """
    lacks, has = Machine(), Machine()
    engine, heard = await open_machines(lacks, has)
    lacks.answer = always(400, msgspec.json.encode({"message": message}))
    lacks.shells, lacks.limits = (lacks.shells if limits else ("ioi_eval",)), limits
    for _ in range(9):
        assert (await engine.execute(job(runtime=runtime, run_timeout=5000))).endpoint == has.url
    if limits:
        await until(lambda: lacks.url in engine.exclusion_reasons)
        assert [event.change for event in heard] == [Change.REPLACED, Change.LEFT_OUT]
        return
    assert {event.change for event in heard} - {Change.TRIAL} == {Change.REPLACED}
    lacks.answer = lacks._done
    await until(lambda: endpoints_of(engine)[lacks.url].is_usable)
    endpoints = {(await engine.execute(job())).endpoint for _ in range(4)}
    assert endpoints == {lacks.url, has.url}, "the server still runs jobs of its remaining package"


async def test_refusal_consistent_with_probe_is_job_rejected(open_machines: Opening) -> None:
    machine = Machine()
    engine, heard = await open_machines(machine)
    for message, runtime in (
        ("nope-1 runtime is unknown", "nope"),
        ("run_timeout cannot exceed the configured limit of 3000", "cms_ioi"),  # limit of the package cms_ioi
    ):
        machine.answer = always(400, msgspec.json.encode({"message": message}))
        with pytest.raises(JobRejected, match=message):
            await engine.execute(job(runtime=runtime, run_timeout=5000))
    assert not heard


def test_identity_lines_printed_by_program_are_ignored() -> None:
    server_identity = ServerIdentity(tools=split_off_identity_hash(words("12"))[0])
    forged = words("13") + words("12")
    with pytest.raises(ServerReplaced):
        server_identity.check_and_remove_identity("run", JobResult(run=Ending(stdout=forged)))
    checked = server_identity.check_and_remove_identity(
        "run", JobResult(run=Ending(stdout=words("12") + words("13")))
    )
    assert checked.run.stdout == words("13")


def test_identity_is_read_from_run_stage_if_package_compiles() -> None:
    """For a job without `compile` a real server runs the package's `compile`."""
    run_alone = Job(runtime=OWN, files=(JobFile(name="run", content=Blob.of("true")),))
    server_identity = ServerIdentity(tools=split_off_identity_hash(words("12"))[0])
    script = find_first_script(run_alone)
    reply = JobResult(compile=Ending(code=0), run=Ending(stdout=words("12") + "3\n"))
    assert server_identity.check_and_remove_identity(script, reply).run.stdout == "3\n"
    other = msgspec.structs.replace(reply, run=Ending(stdout=words("13") + "3\n"))
    with pytest.raises(ServerReplaced):
        server_identity.check_and_remove_identity(script, other)


async def test_worker_header_detects_replacement_for_classic_jobs(open_machines: Opening) -> None:
    machine = Machine(worker="one")
    engine, heard = await open_machines(machine)
    classic = job(runtime="cms_ioi")
    assert (await engine.execute(classic)).run.stdout == "built by 12\n"
    machine.worker, machine.version = "two", "13"
    assert (await engine.execute(classic)).run.stdout == "built by 13\n"
    assert [event.change for event in heard] == [
        Change.REPLACED,
        Change.TRIAL,
        Change.BACK,
    ] and machine.probed == 2


async def test_gateway_413_raises_job_too_large_without_new_probe(open_machines: Opening) -> None:
    machine = Machine(worker="one")
    engine, heard = await open_machines(machine, attempts=2)

    async def gateway(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
        return web.Response(status=413, text="<html>413 Request Entity Too Large</html>")

    machine.answer = gateway
    with pytest.raises(JobTooLarge, match="larger than the server accepts"):
        await engine.execute(job())
    assert not heard and machine.probed == 1


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, b'{"message": "API rate limit exceeded"}'),
        (403, b'{"message": "Forbidden"}'),
        (404, b"404 page not found"),
        (400, b"<html>400 Bad Request</html>"),
    ],
)
async def test_gateway_refusal_is_retried_without_new_probe(
    open_machines: Opening, status: int, body: bytes
) -> None:
    machine = Machine(worker="one")
    engine, heard = await open_machines(machine)
    machine.answer = in_turn(always(status, body), machine._done)
    assert (await engine.execute(job())).run.stdout == "built by 12\n"
    assert not heard and machine.probed == 1
    assert f"HTTP {status}" in engine.servers().standings[0].why


async def test_reply_with_id_of_another_request_is_refused(open_machines: Opening) -> None:
    """With a proxy that repeats or mixes replies, a program would run as another program's build."""
    machine = Machine(worker="one")
    engine, _ = await open_machines(machine, attempts=2)
    mixed = True

    async def repeats(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
        reply = await machine._done(server, request, received_job)
        reply.headers[REQUEST] = "another" if mixed else request.headers[REQUEST]
        return reply

    machine.answer = repeats
    with pytest.raises(AttemptsUsedUp, match="reply to another request"):
        await engine.execute(job())
    mixed = False
    assert (await engine.execute(job())).run.stdout == "built by 12\n"


@pytest.mark.parametrize(("worker", "preference"), [("one", "return=minimal"), ("", None)])
async def test_short_replies_are_requested_from_workers_only(
    open_machines: Opening, worker: str, preference: str | None
) -> None:
    machine = Machine(worker=worker)
    engine, _ = await open_machines(machine)
    await engine.execute(job())
    assert [sent.get("Prefer") for sent in machine.headers] == [preference]


async def test_refusal_by_replaced_worker_is_retried(open_machines: Opening) -> None:
    machine = Machine(worker="one")
    engine, _ = await open_machines(machine)
    refuses = True

    async def tighter(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
        nonlocal refuses
        if not refuses:
            return await machine._done(server, request, received_job)
        refuses, machine.worker = False, "two"
        body = b'{"message": "run_timeout cannot exceed the configured limit of 1"}'
        return web.Response(status=400, body=body, headers={HEADER: "two"})

    machine.answer = tighter
    assert (await engine.execute(job())).run.code == 0


async def test_same_compiler_option_excludes_server_with_another_compiler(open_machines: Opening) -> None:
    changes, stays = Machine(), Machine()
    engine, heard = await open_machines(changes, stays, same_compiler=True)
    changes.version = "13"
    results = [await engine.execute(job()) for _ in range(6)]
    assert {version_of(result) for result in results} == {"12"}
    await until(lambda: changes.probed > 4)
    assert [event.change for event in heard] == [Change.REPLACED, Change.LEFT_OUT]
    assert "g++ 13 differs from the versions" in heard[-1].reason and changes.url in engine.exclusion_reasons
    assert (await engine.capabilities()).list_toolchains("g++") == (compiler("12"),)
    changes.version = "12"
    await until(lambda: changes.url not in engine.exclusion_reasons)


@pytest.mark.parametrize("same", [False, True])
async def test_late_server_with_other_compiler_joins_unless_same_compiler(
    open_machines: Opening, same: bool
) -> None:
    first, late = Machine(), Machine("13")
    discovered = Found(every=EVERY)
    engine, heard = await open_machines(first, late, found=discovered, same_compiler=same)
    discovered.urls.add(late.url)
    await until(lambda: bool(heard))
    assert [event.change for event in heard] == [Change.LEFT_OUT if same else Change.JOINED]
    offered = {tool.version for tool in (await engine.capabilities()).list_toolchains("g++")}
    assert offered == ({"12"} if same else {"12", "13"})


async def test_job_runs_only_on_server_with_accepted_toolchain(open_machines: Opening) -> None:
    older, newer = Machine("12"), Machine("13")
    engine, _ = await open_machines(older, newer, per_endpoint=4)
    made_job = job(accepted_toolchains={"g++": ("g++ 13",)})
    results = await asyncio.gather(*(engine.execute(made_job) for _ in range(12)))
    assert {version_of(result) for result in results} == {"13"} and older.executed == []
    newer.version = "12"
    with pytest.raises(ToolchainGone):
        await engine.execute(made_job)
    await until(lambda: all(endpoint.is_usable for endpoint in engine.endpoints))
    with pytest.raises(ToolchainGone):
        await engine.execute(made_job)


async def test_each_server_runs_jobs_in_its_best_runtime(open_machines: Opening) -> None:
    """A package may contain a compiler that jobs in another runtime do not see."""
    whole, small = Machine(), Machine()
    small.shells = ("bash",)
    engine, _ = await open_machines(whole, small)
    assert sorted(report.runtime for report in engine.reports) == ["bash", "ioi_eval"]
    assert (
        await engine.capabilities()
    ).find_shell_runtime() == "ioi_eval" and whole.probed == small.probed == 1
    for _ in range(4):
        await engine.execute(job("true", JobFile(name="box/compile", content=Blob.of("make"))))
    building = job("print", JobFile(name="compile", content=Blob.of("make")))
    building = msgspec.structs.replace(building, files=building.files[::-1])
    for _ in range(4):
        assert (await engine.execute(building)).endpoint == whole.url, "bash cannot run a compile stage"
    assert {executed_job.runtime for executed_job in whole.executed} == {"ioi_eval"} and len(
        small.executed
    ) == 2
    assert {executed_job.runtime for executed_job in small.executed} == {"bash"}


async def test_run_script_is_first_file_for_bash_runtime(open_machines: Opening) -> None:
    small = Machine()
    small.shells = ("bash",)
    engine, _ = await open_machines(small)
    data = JobFile(name="data.txt", content=Blob.of("1"))
    await engine.execute(msgspec.structs.replace(job("true"), files=(data, *job("true").files)))
    assert [file.name for file in small.executed[0].files] == ["run", "data.txt"]


async def test_server_without_a_tool_gets_no_jobs_that_need_it(open_machines: Opening) -> None:
    has, lacks = Machine(), Machine()
    lacks.tools = {}
    engine, _ = await open_machines(has, lacks)
    assert [tool.version for tool in (await engine.capabilities()).list_toolchains("g++")] == ["12"]
    accepted_toolchains = {"g++": (compiler("12").identity,)}
    for _ in range(4):
        assert (await engine.execute(job(accepted_toolchains=accepted_toolchains))).endpoint == has.url
    assert {(await engine.execute(job())).endpoint for _ in range(2)} == {has.url, lacks.url}


async def test_rolling_upgrade_mixes_no_compiler_versions_in_results(open_machines: Opening) -> None:
    all_machines = [Machine() for _ in range(4)]
    engine, _ = await open_machines(*all_machines, attempts=2)
    outputs_and_versions: list[tuple[str, str]] = []

    async def works(number: int) -> None:
        for _ in range(number):
            result = await engine.execute(job())
            outputs_and_versions.append((result.run.stdout, version_of(result)))

    await works(8)
    for pair in (all_machines[:2], all_machines[2:]):
        busy = asyncio.gather(*(works(6) for _ in range(4)))
        for machine in pair:
            machine.version = "13"
        await busy
    assert {printed for printed, _ in outputs_and_versions} == {"built by 12\n", "built by 13\n"}
    assert all(printed == f"built by {version}\n" for printed, version in outputs_and_versions)
    assert [version for _, version in outputs_and_versions[-8:]] == ["13"] * 8


@pytest.mark.usefixtures("quick_probes")
async def test_worker_without_namespaces_keeps_identity_under_load(store: Store) -> None:
    """Its process limit depends on the user's current number of processes."""
    embedded, finished = EmbeddedEngine(store=store, slots=1, layers=("landlock", "seccomp")), Event()
    with ThreadPoolExecutor(30) as busy:
        async with embedded, Server(embedded, ServerOptions(port=0)) as server:
            heard = list[object]()
            async with PistonEngine(discovery(server.url)) as engine, asyncio.timeout(60):
                engine.on_event = heard.append
                for _ in range(30):
                    busy.submit(finished.wait)
                try:
                    assert (await engine.execute(job("echo 7"))).run.stdout == "7\n"
                finally:
                    finished.set()
    assert heard == []


# --- the identity lines ------------------------------------------------------------------------------


def asked(path: str) -> str:
    completed = subprocess.run(
        ["/bin/bash", "-c", IDENTITY_SCRIPT + "echo after"],
        env={"PATH": path},
        capture_output=True,
        check=True,
        text=True,
    )
    assert completed.stderr == ""
    tools, remainder = split_off_identity_hash(completed.stdout)
    assert remainder == "after\n" and tools
    return tools


def test_identity_changes_only_with_compilers(tmp_path: Any) -> None:
    path = f"{tmp_path}:/usr/bin:/bin"
    as_it_is = asked(path)
    (tmp_path / "other").write_text("nothing that builds or runs programs")
    assert asked(path) == as_it_is == asked(path)
    wrapper = tmp_path / "g++"
    wrapper.write_text('#!/bin/sh\nexec /usr/bin/g++ -O0 "$@"\n')
    wrapper.chmod(0o755)
    wrapped = asked(path)
    wrapper.write_text('#!/bin/sh\nexec /usr/bin/g++ -O1 -g "$@"\n')
    changed = asked(path)
    (tmp_path / "python3").symlink_to("/bin/sh")
    assert len({as_it_is, wrapped, changed, asked(path)}) == 4
