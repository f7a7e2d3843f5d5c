"""`--engine` and its environment variable, and commands on a real worker."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import msgspec
import pytest
from support.command_line import (
    BROKEN,
    PYTHON,
    RIGHT,
    SMALL,
    WRONG,
    CommandLine,
    results,
    row,
    wait_for_rows,
    write_dump,
)
from support.plugins import needs_plugin
from support.runs import read_failures
from support.servers import EndpointReport, HealthCheck
from support.stub_server import StubServer, page

from ioi_eval import EmbeddedEngine, PistonEngine, Store
from ioi_eval.cli.doctor import combine_reports
from ioi_eval.cli.options import EngineOptions
from ioi_eval.engines.piston.reports import COMPILER, make_health_checks
from ioi_eval.engines.piston.uses import ServerRole
from ioi_eval.engines.registry import EngineChoice, open_engine
from ioi_eval.errors import InputError
from ioi_eval.models import Toolchain
from ioi_eval.runs.engine import make_servers_found_event

# --- the choice of an engine -------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PISTON_ENDPOINTS", "PISTON_MAX_REQUESTS_PER_ENDPOINT", "IOI_EVAL_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def test_engine_is_embedded_unless_option_or_variable_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert EngineOptions().read_engine_choice() == EngineChoice(text="embedded")
    monkeypatch.setenv("PISTON_ENDPOINTS", " slurm ")
    monkeypatch.setenv("PISTON_MAX_REQUESTS_PER_ENDPOINT", "4")
    assert EngineOptions().read_engine_choice() == EngineChoice(text="slurm", per_endpoint=4)
    assert EngineOptions(per_endpoint=2).read_engine_choice().per_endpoint == 2
    assert EngineOptions(engine="embedded").read_engine_choice() == EngineChoice(text="embedded")
    assert EngineOptions(engine="http://a:2000").read_engine_choice() == EngineChoice(text="http://a:2000")


def test_empty_engine_variable_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PISTON_ENDPOINTS", " ")
    monkeypatch.setenv("PISTON_MAX_REQUESTS_PER_ENDPOINT", "x")
    assert EngineOptions().read_engine_choice() == EngineChoice(text="embedded")


@pytest.mark.parametrize("number", ["x", "0", "-1", "1.5"])
def test_invalid_requests_per_endpoint_is_input_error(monkeypatch: pytest.MonkeyPatch, number: str) -> None:
    monkeypatch.setenv("PISTON_ENDPOINTS", "slurm")
    monkeypatch.setenv("PISTON_MAX_REQUESTS_PER_ENDPOINT", number)
    with pytest.raises(InputError, match="PISTON_MAX_REQUESTS_PER_ENDPOINT"):
        EngineOptions().read_engine_choice()


@pytest.mark.parametrize(
    ("engine_text", "says"),
    [
        pytest.param("ray", "Ray is not installed", marks=needs_plugin("ray")),
        pytest.param("ray://head:10001", "Ray is not installed", marks=needs_plugin("ray")),
        pytest.param("ray:head:10001", "is not the address of a Ray cluster", marks=needs_plugin("ray")),
        ("k8s:", "does not name a service"),
        ("ftp://node", "not the address of a server"),
        ("", "no address"),
    ],
)
def test_invalid_engine_option_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, engine_text: str, says: str
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=says) as caught:
        EngineOptions(engine=engine_text).read_engine_choice()
    assert caught.value.field == "--engine"
    assert "embedded" in str(caught.value)


def test_options_of_other_engines_are_refused() -> None:
    with pytest.raises(InputError, match="per-endpoint"):
        EngineOptions(engine="embedded", per_endpoint=3).read_engine_choice()
    with pytest.raises(InputError, match=r"ioi-eval\.toml, field 'cpus-per-slot'"):
        EngineOptions(engine="slurm", cpus_per_slot=2).read_engine_choice()


def test_engine_choice_opens_engine(tmp_path: Path) -> None:
    store = Store(tmp_path)
    embedded, trusted = open_engine(EngineChoice(slots=3), store)
    assert isinstance(embedded, EmbeddedEngine)
    assert (embedded.slots, trusted) == (3, None)
    piston, trusted = open_engine(EngineChoice(text="http://a:2000", per_endpoint=5), store)
    assert isinstance(piston, PistonEngine)
    assert piston.slots == 5
    assert isinstance(trusted, EmbeddedEngine)
    assert make_servers_found_event(embedded) is None


def test_empty_token_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(" \n")
    with pytest.raises(InputError, match="the token file is empty"):
        EngineOptions(engine="slurm", token_file=tmp_path / "token").read_engine_choice()


# --- many servers ------------------------------------------------------------------------------------


def report(name: str, *, version: str = "12.2.0", broken: bool = False, **fields: Any) -> EndpointReport:
    compiler = Toolchain(command="g++", path="/usr/bin/g++", version=version, identity=f"g++ {version}")
    finding = HealthCheck(name="output", ok=not broken, detail=f"of http://{name}:2000")
    return EndpointReport(
        url=f"http://{name}:2000", runtimes=("ioi_eval",), architecture="x86_64",
        toolchains={"g++": compiler}, findings=(finding,), **fields,
    )  # fmt: skip


def test_doctor_sums_up_usable_broken_and_differing_servers() -> None:
    reports = [report("a"), report("b"), report("c", broken=True), report("d", version="8.3.0")]
    away = EndpointReport(
        url="http://e:2000", reachable=False, findings=(HealthCheck(name="r", ok=False, detail=""),)
    )
    combined = combine_reports([*reports, away])
    assert combined.ok
    assert combined.good == ("http://a:2000", "http://b:2000", "http://d:2000")
    assert {use.url: use.reason for use in combined.uses if use.reason} == {
        "http://c:2000": "output of http://c:2000"
    }
    [line] = combined.together
    assert line.name == "g++ differs"
    assert not combine_reports([away]).ok
    assert not combine_reports([reports[2], away]).ok


def test_server_of_other_architecture_is_not_used() -> None:
    odd = report("odd", broken=False)
    arm = EndpointReport(
        url="http://arm:2000", runtimes=odd.runtimes, architecture="aarch64", toolchains=odd.toolchains
    )
    combined = combine_reports([report("a"), report("b"), arm])
    assert combined.good == ("http://a:2000", "http://b:2000")
    assert [use.url for use in combined.uses if use.role is ServerRole.NONE] == [arm.url]


LOW = {"max_run_time": 3000, "max_output": 1024, "max_run_cpu_time": 60_000}


@pytest.mark.parametrize("domain", ["", ".cluster.example.org"])
def test_doctor_shows_a_row_for_each_of_several_servers(
    domain: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fields: dict[str, dict[str, Any]] = {
        "good": {"runtime": "ioi_eval", "cores": 8, "server": "Piston v3.1.1", "max_output": 64 << 20},
        "low": {"runtime": "ioi_eval", "server": "Piston v3.1.0", **LOW},
        "cms": {"runtimes": ("cms_ioi",), "runtime": "cms_ioi", "architecture": "", "toolchains": {}},
        "away": {"reachable": False, "reason": "the port is closed"},
    }
    probed = [msgspec.structs.replace(report(f"{name}{domain}"), **more) for name, more in fields.items()]
    combined = combine_reports(
        [
            msgspec.structs.replace(server_report, findings=make_health_checks(server_report))
            for server_report in probed
        ]
    )
    combined.print_findings()
    shown = capsys.readouterr().out
    shown_text = " ".join(shown.split())
    table = shown[shown.index("server  ") : shown.index("\n\n", shown.index("server  "))]
    assert max(map(len, table.splitlines())) <= 80
    assert all(f"http://{name}{domain}:2000" in shown for name in fields)
    for expected in ("3.1.1", "3.1.0", "too low:", "cms_ioi only", "not known", "nothing: not reachable"):
        assert expected in shown_text
    assert "Set PISTON_RUN_TIMEOUT=600000 PISTON_OUTPUT_MAX_SIZE=67108864 on the server, and" in shown_text
    assert (
        "`ioi-eval package DIR`" in shown_text
        and "Give --set per-endpoint=N: it has 8 cores" in shown_text
        and "the port is closed" in shown_text
    )


def test_doctor_prints_every_check_of_single_server(capsys: pytest.CaptureFixture[str]) -> None:
    single_report = report("a", runtime="ioi_eval")
    combine_reports(
        [msgspec.structs.replace(single_report, findings=make_health_checks(single_report))]
    ).print_findings()
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == single_report.url
    assert {"server", "runtime", "output", "open files"} <= {line[8:].split("  ")[0] for line in lines}


def test_doctor_counts_server_without_compiler_if_another_server_has_it() -> None:
    compiler = HealthCheck(name=COMPILER, ok=False, detail="no g++")
    lacking = msgspec.structs.replace(report("b"), findings=(compiler,), toolchains={})
    assert combine_reports([report("a"), lacking]).good == ("http://a:2000", "http://b:2000")
    assert not combine_reports([lacking]).ok


# --- a real worker -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def address(shared_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    cli = CommandLine(folder=tmp_path_factory.mktemp("worker"), cache=shared_cache).among_the_systems()
    process = cli.start("worker", "--port", "0", "--slots", "2")
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[3].rstrip(",")
    finally:
        process.terminate()
        process.communicate()


def test_run_on_worker_gives_expected_results(cli: CommandLine, problems: Path, address: str) -> None:
    codes = {"right": RIGHT, "small": SMALL, "wrong": WRONG, "broken": BROKEN}
    dump = write_dump(cli.folder / "d.jsonl", [row(key, code) for key, code in codes.items()])
    variables = {"PISTON_ENDPOINTS": f"{address}/api/v2", "PISTON_MAX_REQUESTS_PER_ENDPOINT": "1"}
    worker_cli = CommandLine(folder=cli.folder, cache=cli.cache, environment=variables)
    completed = worker_cli("score", dump, "--problems", problems, "--out", "there")
    assert completed.returncode == 0, completed.stderr
    assert "1 server: 1 with ioi_eval; 1 job at a time, many tests a job" in completed.stderr
    assert judged(cli.folder / "there") == {
        "right": (100, True, ["AC", "AC"]),
        "small": (40, True, ["AC", "WA"]),
        "wrong": (0, True, ["WA", "WA"]),
        "broken": (0, False, ["CE", "CE"]),
    }
    settings = json.loads((cli.folder / "there" / "run.json").read_text())["settings"]
    assert settings["engine"] == f"{address}/api/v2"
    second_call = cli("score", dump, "--problems", problems, "--out", "there", "--engine", "embedded")
    assert "Nothing new to do" in second_call.stdout


def judged(run: Path) -> dict[str, Any]:
    return {
        key: (
            result_row["all_subtasks_points"],
            result_row["code_compiles"],
            [subtask["status"] for subtask in result_row["all_subtasks_results"]],
        )
        for key, result_row in results(run).items()
    }


@pytest.mark.nightly
def test_killed_worker_loses_no_row(cli: CommandLine, problems: Path, address: str) -> None:
    codes = {f"row-{number:02}": f"own = {number}\n{PYTHON}" for number in range(24)}
    dump = write_dump(
        cli.folder / "d.jsonl", [row(key, code, language="python") for key, code in codes.items()]
    )
    doomed = cli.start("worker", "--port", "0", "--slots", "2")
    try:
        assert doomed.stdout is not None
        other = doomed.stdout.readline().split()[3].rstrip(",")
        run = cli.start(
            "score", dump, "--problems", problems, "--out", "run", "--engine", f"{address},{other}"
        )
        wait_for_rows(cli.folder / "run", 2, run)
        while "ioi_eval_jobs_running 0" in urlopen(f"{other}/metrics").read().decode() and run.poll() is None:
            time.sleep(0.01)
    finally:
        doomed.kill()
        doomed.communicate()
    outputs = run.communicate()
    assert run.returncode == 0, outputs
    points = {
        key: result_row["all_subtasks_points"] for key, result_row in results(cli.folder / "run").items()
    }
    assert points == dict.fromkeys(codes, 100.0)
    assert not list(read_failures(cli.folder / "run"))


def test_doctor_checks_servers_of_engine_option(cli: CommandLine, address: str) -> None:
    nobody = "http://127.0.0.1:1"
    completed = cli("doctor", "--engine", f"{address},{nobody}")
    assert completed.returncode == 0, completed.stdout
    assert "Submissions can be judged on 1 of 2 servers." in completed.stdout
    assert "g++ " in completed.stdout
    assert "Check that the server runs" in completed.stdout
    (line,) = (line for line in completed.stdout.splitlines() if line.startswith(f"  -> {nobody}"))
    assert "cannot be reached" in line and line.endswith(")")  # on a single line, so that grep matches it
    diagnosed = cli("doctor", "--engine", nobody, "--json")
    assert diagnosed.returncode == 2
    answer = json.loads(diagnosed.stdout)
    assert (answer["ok"], answer["good"]) == (False, [])
    assert answer["servers"][0]["url"] == nobody


@needs_plugin("ray")
def test_run_without_usable_server_ends_before_writing(cli: CommandLine, problems: Path) -> None:
    dump = write_dump(cli.folder / "d.jsonl", [row("r", RIGHT)])
    completed = cli("score", dump, "--problems", problems, "--out", "run", "--engine", "http://127.0.0.1:1")
    assert completed.returncode == 2
    assert "no server can be used" in completed.stderr
    assert not (cli.folder / "run" / "results.jsonl").exists()
    assert "Ray" in cli("validate", problems, "--engine", "ray:head").stderr


@pytest.fixture
def website() -> Iterator[str]:
    with StubServer(lambda asked: page(404)).running() as server:
        yield server.url


def test_full_server_is_named_while_run_waits(cli: CommandLine, problems: Path) -> None:
    """Otherwise the run would seem to hang."""
    request_count = count()
    dump = write_dump(cli.folder / "d.jsonl", [row("r", RIGHT)])
    (cli.folder / "right.cpp").write_text(RIGHT)
    for arguments in (("score", dump, "--out", "run"), ("judge", "right.cpp", "--problem", "add")):
        with StubServer(lambda _: page(404 if next(request_count) % 2 else 502)).running() as server:
            completed = cli(*arguments, "--problems", problems, "--engine", server.url)
        log = " ".join(completed.stderr.split())
        assert completed.returncode == 2, log
        wait_index, ends = log.index(f"{server.url} is lost ("), log.index("no server can be used")
        assert wait_index < ends and "0 servers for 0 jobs at a time now" in log


def test_website_is_reported_as_no_piston_server(cli: CommandLine, problems: Path, website: str) -> None:
    dump = write_dump(cli.folder / "d.jsonl", [row("r", RIGHT)])
    (problems / "add" / "solutions" / "correct").mkdir(parents=True)
    (problems / "add" / "solutions" / "correct" / "right.cpp").write_text(RIGHT)
    commands: list[tuple[str | Path, ...]] = [
        ("doctor",),
        ("score", dump, "--problems", problems, "--out", "score"),
        ("validate", problems, "--out", "validate"),
    ]
    for arguments in commands:
        completed = cli(*arguments, "--engine", website)
        output = " ".join((completed.stdout + completed.stderr).split())
        assert completed.returncode == 2, (arguments, output)
        assert (
            output.count(
                f"{website} is not a Piston server (GET /api/v2/runtimes: the server replied with HTTP 404)"
            )
            == 1
        )
        assert "Name the address of a Piston server" in output and "<!DOCTYPE" not in output
