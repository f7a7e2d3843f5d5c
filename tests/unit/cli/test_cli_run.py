"""`ioi-eval run` with a model server or an agent."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.command_line import (
    RIGHT,
    CommandLine,
    adopt_orphans,
    children,
    contents,
    results,
    wait_until_gone,
    write_package,
)
from support.plugins import needs_plugin
from support.stub_server import StubReply, StubRequest, chat_reply, code_reply, json_reply, model_server


@pytest.fixture(autouse=True)
def over_http(no_certificates: None) -> None:
    """Skip loading TLS certificates, because no test here uses TLS."""


SECRET = "sk-never-to-be-seen"
LEVELS = ("introductory", "interview", "competition")
DOUBLE = "print(2 * int(input()))\n"
HALF = "n = int(input())\nprint(2 * n if n < 4 else 0)\n"  # correct on three of five tests
FUNCTION, BROKEN_TESTS, NO_TESTS = 155, 158, 159


def problem(index: int) -> dict[str, Any]:
    """Return an APPS row of a problem that doubles a number. Its id does not follow its index."""
    tests = {"inputs": [f"{n}\n" for n in range(1, 6)], "outputs": [f"\n {2 * n} \n\n" for n in range(1, 6)]}
    function = {"fn_name": "double", "inputs": [[1], [2]], "outputs": [2, 4]}
    unusual = {FUNCTION: json.dumps(function), BROKEN_TESTS: '{"inputs": [', NO_TESTS: ""}
    return {
        "problem_id": 5000 - index,
        "question": f"Problem number {index}. Double it.",
        "solutions": "",
        "input_output": unusual.get(index, json.dumps(tests)),
        "difficulty": LEVELS[index % 3],
        "starter_code": "",
    }


@pytest.fixture(scope="session")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copies")
    (folder / "apps").mkdir()
    rows = [problem(index) for index in range(160)]
    pq.write_table(pa.Table.from_pylist(rows), folder / "apps" / "test.parquet")
    return folder


def write_config(cli: CommandLine, copies: Path, url: str = "", **values: Any) -> Path:
    model = {"name": "otter", "base_url": url, "attempts": 1, "seed": 10, "api_key_env": "MODEL_KEY"}
    defaults = {"benchmark": "apps", "data_dir": str(copies), "packages": "none", "out": "run"}
    config = {**defaults, "model": model, **values}
    path = cli.folder / "config.yaml"
    path.write_text(json.dumps(config))  # JSON is valid YAML
    return path


def place(request: StubRequest) -> int:
    number_match = re.search(r"Problem number (\d+)", request.prompt)
    assert number_match is not None, request.prompt
    return int(number_match[1])


def right(request: StubRequest) -> StubReply:
    return code_reply(DOUBLE)


def instances(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "instances.jsonl").read_text().splitlines()]


def tasks(*positions: int) -> list[str]:
    return [argument for number in positions for argument in ("-t", f"apps_{number}")]


@pytest.fixture
def cli(cli: CommandLine) -> CommandLine:
    return replace(cli, environment={"MODEL_KEY": SECRET})


# --- the examples of the format that these results follow ------------------------------------------------


def test_run_command_asks_model_and_writes_results(cli: CommandLine, copies: Path) -> None:
    def answer(request: StubRequest) -> StubReply:
        return code_reply(HALF if place(request) == 157 else DOUBLE)

    with model_server(answer) as server:
        config = write_config(cli, copies, server.url)
        arguments = ["run", "-c", config, "--benchmark", "apps", "-n", "20"]
        levels = ["--filter-difficulty", "introductory", "--filter-difficulty", "interview"]
        completed = cli(*arguments, *tasks(42, 157, NO_TESTS, BROKEN_TESTS, 41), *levels)
        assert completed.returncode == 3, completed.stderr
    # apps_158 and apps_41 are of another level; `apps_N` counts all rows before the selection.
    expected = [
        {"instance_id": "apps_42", "resolved": True, "passed": 5, "total": 5, "pass_rate": 1.0},
        {"instance_id": "apps_157", "resolved": False, "passed": 3, "total": 5, "pass_rate": 0.6},
        {"instance_id": "apps_159", "resolved": False, "error": "No test cases provided"},
    ]
    lines = [json.dumps(line, separators=(",", ":")) for line in expected]
    assert (cli.folder / "run" / "instances.jsonl").read_text().splitlines() == lines
    assert "not judged: apps_159#0: No test cases provided" in completed.stderr
    [failure] = (cli.folder / "run" / "failures.jsonl").read_text().splitlines()
    assert json.loads(failure)["key"] == "apps_159#0", "as if a dump were scored"
    assert "Resolved 1 of 3" in completed.stdout and "apps_157" in completed.stdout
    assert sorted(map(place, server.asked)) == [42, 157], "no program can be judged on the other problems"
    assert all("10 s for each test" in request.prompt for request in server.asked)
    assert all(request.headers["Authorization"] == f"Bearer {SECRET}" for request in server.asked)
    written = b"".join(contents(cli.folder).values()).decode(errors="replace")
    assert "Bearer" not in written and SECRET not in written + completed.stdout + completed.stderr


def test_run_command_reports_unparsable_tests(cli: CommandLine, copies: Path) -> None:
    with model_server(right) as server:
        config = write_config(cli, copies, server.url)
        completed = cli("run", "-c", config, *tasks(BROKEN_TESTS), "--json")
    assert completed.returncode == 3, completed.stderr
    [only] = json.loads(completed.stdout)["instances"]
    assert (list(only), only["instance_id"]) == (["instance_id", "resolved", "error"], "apps_158")
    assert only["resolved"] is False and only["error"].startswith("Could not parse test cases")
    assert server.asked == []


# --- flags, going on, reports ----------------------------------------------------------------------------


class Unsteady:
    """A model that fails to write a certain program until it is repaired."""

    broken = True

    def __call__(self, asked: StubRequest) -> StubReply:
        if self.broken and work(asked) == (7, 11):
            return json_reply({"error": {"message": f"overloaded, {SECRET}\x1b[31m"}}, 500)
        return code_reply(f"{DOUBLE}# {asked.body['seed']}\n")


def work(request: StubRequest) -> tuple[int, int]:
    return place(request), request.body["seed"]


def test_run_flags_override_config_and_replies_are_reused(cli: CommandLine, copies: Path) -> None:
    (cli.folder / "prompt.j2").write_text("{{ statement }}")
    values = {"samples": 7, "concurrency": 1, "prompt": "prompt.j2"}
    nowhere, model, run = "http://127.0.0.1:1/v1", Unsteady(), cli.folder / "runs" / "a"
    with model_server(model) as server:
        config = write_config(cli, copies, nowhere, **values)
        arguments = ["run", "-c", config, "-b", "apps", *tasks(4, 7), "--base-url", server.url, "-m", "heron"]
        arguments += [
            "--samples",
            "2",
            "--set",
            "temperature=0.25",
            "--set",
            "max-tokens=99",
            "--out",
            "runs/a",
        ]
        first = cli(*arguments)
        assert first.returncode == 3, first.stderr
        assert "not written: apps_7#1: HTTP 500: overloaded, ***" in first.stderr
        assert "1 program not written" in first.stderr and "\x1b" not in first.stderr
        assert list(map(work, server.asked)) == [(4, 10), (7, 10), (4, 11), (7, 11)]
        sent = server.asked[0].body
        assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("heron", 0.25, 99)
        last = instances(run)[-1]
        assert (last["instance_id"], last["sample"], last["resolved"]) == ("apps_7", 1, None)
        assert last["error"].startswith("HTTP 500: overloaded, ***")
        missing = "This run is incomplete: 3 of 4 submissions judged."
        assert missing in (run / "report.md").read_text()

        model.broken = False
        second = cli(*arguments, "--json")
        assert second.returncode == 0, second.stderr
        assert list(map(work, server.asked[4:])) == [(7, 11)]
        assert json.loads(second.stdout)["this_call"]["judged"] == 1
        assert [instance["resolved"] for instance in instances(run)] == [True] * 4
        assert "no result" not in (run / "report.md").read_text()

    # The server is stopped. A different time limit changes the problems, but not the stored programs.
    write_config(cli, copies, nowhere, time_limit=7, **values)
    longer = cli(*arguments, "--json")
    assert longer.returncode == 0, longer.stderr
    assert json.loads(longer.stdout)["this_call"]["judged"] == 4
    refused = cli(*arguments, "--time-factor", "2")
    assert refused.returncode == 2 and "--rejudge" in refused.stderr and "--fresh" not in refused.stderr
    rejudged = cli(*arguments, "--time-factor", "2", "--rejudge", "--json")
    assert rejudged.returncode == 0, rejudged.stderr
    assert json.loads(rejudged.stdout)["this_call"]["judged"] == 4


@pytest.mark.nightly
def test_run_output_can_be_scored_and_compared(cli: CommandLine, copies: Path) -> None:
    with model_server(right) as server:
        config = write_config(cli, copies, server.url)
        for name in ("otter", "heron"):
            completed = cli("run", "-c", config, *tasks(1, 2), "-m", name, "--out", f"runs/{name}", "--quiet")
            assert completed.returncode == 0, completed.stderr
    dump = cli.folder / "runs" / "otter" / "generations.jsonl"
    scored = cli(
        *("score", dump, "--problems", "apps", "--data-dir", copies, "--packages", "none"),
        *("--out", "scored", "--quiet"),
    )
    assert scored.returncode == 0, scored.stderr
    assert numbers(cli.folder / "scored") == numbers(cli.folder / "runs" / "otter")
    report = cli("report", "runs/otter", "runs/heron")
    assert report.returncode == 0, report.stderr
    assert all(expected in report.stdout for expected in ("heron", "otter", "interview", "competition"))


def numbers(run: Path) -> dict[str, Any]:
    names = ("problem_id", "resolved", "passed", "total", "pass_rate", "language", "model")
    return {key: {name: row[name] for name in names} for key, row in results(run).items()}


@pytest.mark.nightly
def test_checker_option_of_run_command_changes_output_comparison(cli: CommandLine, copies: Path) -> None:
    with model_server(lambda _: code_reply("print(2.0 * int(input()))\n")) as server:
        config = write_config(cli, copies, server.url)
        for options, resolved in ((), False), (("--set", "checker=apps"), True):
            completed = cli("run", "-c", config, *tasks(1), *options, "--rejudge")
            assert completed.returncode == 0, completed.stderr
            assert [instance["resolved"] for instance in instances(cli.folder / "run")] == [resolved]
    assert len(server.asked) == 1
    wrong = cli("run", "-c", config, *tasks(1), "--set", "checker=float")
    assert wrong.returncode == 2 and "unknown comparison 'float'" in wrong.stderr


def test_dry_run_asks_no_model(cli: CommandLine, copies: Path) -> None:
    config = write_config(cli, copies, "http://127.0.0.1:1/v1", time_limit=3)
    completed = cli("run", "-c", config, *tasks(42), "--dry-run")
    assert completed.returncode == 0, completed.stderr
    assert "Problem number 42." in completed.stdout and "(introductory)" in completed.stdout
    assert "3 s for each test" in completed.stdout and "```python" in completed.stdout
    assert not (cli.folder / "run").exists()


def test_run_judges_while_model_still_writes(cli: CommandLine, copies: Path) -> None:
    results_file = cli.folder / "run" / "results.jsonl"

    def answer(request: StubRequest) -> StubReply:
        while request.number and not (results_file.exists() and results_file.read_bytes().endswith(b"\n")):
            if server.over.wait(0.02):
                return json_reply({}, 500)
        return code_reply(DOUBLE)

    with model_server(answer) as server:
        config = write_config(cli, copies, server.url, concurrency=1, timeout_seconds=100)
        completed = cli("run", "-c", config, *tasks(1, 2), "--quiet")
    assert (completed.returncode, completed.stdout) == (0, ""), completed.stderr
    assert len(results(cli.folder / "run")) == 2


# --- errors --------------------------------------------------------------------------------------------


def test_model_server_refusal_is_one_error_line(cli: CommandLine, copies: Path) -> None:
    refusal = json_reply({"error": {"message": f"Incorrect API key provided: {SECRET}"}}, 401)
    with model_server(refusal) as server:
        config = write_config(cli, copies, server.url)
        completed = cli("run", "-c", config, "-n", "30")
    assert (completed.returncode, completed.stdout) == (2, "")
    [line] = [line for line in completed.stderr.splitlines() if line.startswith("error:")]
    assert "HTTP 401: Incorrect API key provided: ***" in line and server.url in line
    assert SECRET not in completed.stderr and "Traceback" not in completed.stderr
    assert not (cli.folder / "run").exists(), "no run folder is created"


# --- problems that can never be judged -----------------------------------------------------------------


def test_model_is_not_asked_for_problem_unsolvable_in_language(cli: CommandLine, copies: Path) -> None:
    name = f"apps_{FUNCTION}"
    reason = f"problem {name} calls a function of a Python submission, not c++"
    double = '#include <cstdio>\nint main() { int n; scanf("%d", &n); printf("%d", 2 * n); }\n'
    with model_server(chat_reply(f"```cpp\n{double}```\n")) as server:
        config = write_config(cli, copies, server.url, language="c++")
        alone = cli("run", "-c", config, *tasks(FUNCTION))
        assert (alone.returncode, server.asked) == (2, []), alone.stderr
        assert reason in alone.stderr and not (cli.folder / "run").exists()
        completed = cli("run", "-c", config, *tasks(0, FUNCTION, 2))
    assert completed.returncode == 3, completed.stderr
    assert sorted(map(place, server.asked)) == [0, 2]
    assert f"not judged: {name}#0: {reason}" in completed.stderr
    assert "no other try helps" in completed.stderr and "retries" not in completed.stderr
    assert {instance["instance_id"]: instance.get("error") for instance in instances(cli.folder / "run")}[
        name
    ] == reason


# --- packages ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [(), pytest.param(("--turns", "2"), marks=needs_plugin("contest"))])
def test_model_is_not_asked_for_output_only_problem(cli: CommandLine, turns: tuple[str, ...]) -> None:
    cli("new", "problems/files", "--type", "output-only")
    cli("new", "problems/sum")
    with model_server(chat_reply(f"```cpp\n{RIGHT}```\n")) as server:
        arguments = ("run", "-m", "otter", "--base-url", server.url, "--out", "run", *turns)
        if not turns:
            alone = cli(*arguments, "--problems", "problems/files")
            assert server.asked == [], alone.stderr
            assert alone.returncode == 2 and "files asks for files, not for a program" in alone.stderr
        completed = cli(*arguments, "--problems", "problems", "--fresh")
    assert completed.returncode == 3 and {"# sum" in request.prompt for request in server.asked} == {True}
    assert "files asks for files, not for a program" in completed.stderr
    assert (
        "1 program not written; no other try helps" in completed.stderr
        and "asks only" not in completed.stderr
    )
    assert {row["problem_id"] for row in results(cli.folder / "run").values()} == {"sum"}


def test_instance_ids_distinguish_years(cli: CommandLine) -> None:
    for year in (2023, 2024):
        package = write_package(cli.folder / "problems" / f"{year}")
        header = json.loads((package / "problem.json").read_text())
        (package / "problem.json").write_text(json.dumps({**header, "code": "add", "year": year}))
        (package / "statement.md").write_text("Add two numbers.")
    (cli.folder / "ioi-eval.toml").write_text("allow-suspicious = true\n")
    completed = cli("run", "-b", "problems", "--command", "true", "--out", "run")
    assert completed.returncode == 0, completed.stderr
    names = [instance["instance_id"] for instance in instances(cli.folder / "run")]
    assert names == sorted({row["problem_id"] for row in results(cli.folder / "run").values()})


def test_run_command_uses_statements_of_packages(cli: CommandLine) -> None:
    """Packages without a statement are skipped. Problems are selected by number or by name."""
    for name in ("add", "sum", "more"):
        package = write_package(cli.folder / "problems" / name)
        (package / "statement.md").write_text(f"Add two numbers, says {name}.")
    (cli.folder / "right.cpp").write_text(RIGHT)
    agent = f"grep -q 'Add two' problem.md && cp {cli.folder}/right.cpp solution.cpp"
    base = ("run", "-b", "problems", "--command", agent)
    completed = cli(*base, "--first", "2", "--out", "two")
    assert completed.returncode == 0, completed.stderr
    assert [
        (instance["instance_id"], instance["resolved"]) for instance in instances(cli.folder / "two")
    ] == [("add", True), ("more", True)]
    assert "says sum" in cli(*base, "-t", "sum", "--dry-run").stdout

    (cli.folder / "problems" / "add" / "statement.md").unlink()
    refused = cli(*base, "--out", "three")
    assert refused.returncode == 2 and "statement.md" in refused.stderr


@pytest.mark.nightly
def test_option_n_of_run_overrides_sample_size_in_config(cli: CommandLine, tmp_path: Path) -> None:
    """The tool whose options this command follows does the same."""
    for number in range(9):
        package = write_package(tmp_path / "packages" / f"p{number}")
        (package / "statement.md").write_text(f"Statement {number}.")
    base = ("run", "-b", tmp_path / "packages", "--command", "true")
    config = tmp_path / "config.yaml"

    def asked(name: str, *arguments: str) -> list[str]:
        cli(*base, "-c", config, *arguments, "--out", name)
        lines = (cli.folder / name / "instances.jsonl").read_text().splitlines()
        return [json.loads(line)["instance_id"] for line in lines]

    config.write_text("sample_size: 3")
    chosen = asked("file")
    assert len(chosen) == 3 and set(chosen) < set(asked("flag", "-n", "5"))
    config.write_text("sample_size: 9")
    assert asked("both", "-n", "3") == chosen


# --- agents --------------------------------------------------------------------------------------------

AGENT = r"""
case $(grep -o 'number [0-9]*' problem.md) in
    *1) echo 'print(2 * int(input()))' > solution.py; head -c 300000 /dev/zero | tr '\0' 'z' ;;
    *2) echo '#include <cstdio>' > solution.cpp
        echo 'int main() { int n; scanf("%d", &n); printf("%d", 2 * n); }' >> solution.cpp ;;
    *3) echo nothing today ;;
    *4) echo 'print(2 * int(input()))' > solution.py; trap '' TERM; while :; do sleep 9; done ;;
    *5) setsid sh -c 'trap "" TERM; while :; do sleep 9; done' & echo 'print(2)' > solution.py ;;
    *6) echo cannot >&2; exit 5 ;;
esac
"""


def test_run_command_runs_agents(cli: CommandLine, copies: Path) -> None:
    adopt_orphans()
    children_before = children()
    config = write_config(cli, copies, command=AGENT, timeout_seconds=8, concurrency=6)
    arguments = ("run", "-c", config, *tasks(1, 2, 3, 4, 5, 6))
    completed = cli(*arguments)
    assert children() <= children_before, "left behind"
    assert completed.returncode == 3, completed.stderr
    run = cli.folder / "run"
    shown = {instance["instance_id"]: instance["resolved"] for instance in instances(run)}
    expected = dict(
        zip([f"apps_{n}" for n in range(1, 7)], [True, True, False, True, False, None], strict=True)
    )
    assert shown == expected, "the agent that never exits had written its program before"
    assert "apps_6#0: the agent wrote no file solution.py or solution.cpp (exit 5)" in completed.stderr
    assert (run / "agents" / "apps_6#0" / "agent.log").read_text() == "cannot\n"
    assert (run / "agents" / "apps_1#0" / "agent.log").stat().st_size == 300_000
    assert "`solution.py`" in (run / "agents" / "apps_1#0" / "problem.md").read_text()

    written_at = (run / "agents" / "apps_1#0" / "solution.py").stat().st_mtime_ns
    second_call = cli(*arguments)
    assert second_call.returncode == 3 and "Nothing new to do: 5 submissions" in second_call.stdout
    assert (run / "agents" / "apps_1#0" / "solution.py").stat().st_mtime_ns == written_at, (
        "the agent was started again"
    )

    dump = run / "generations.jsonl"
    scored = cli(
        *("score", dump, "--problems", "apps", "--data-dir", copies, "--packages", "none"),
        *("--out", "scored", "--quiet"),
    )
    assert scored.returncode == 0, scored.stderr
    assert numbers(cli.folder / "scored") == numbers(run)


# --- interruption --------------------------------------------------------------------------------------


def test_interrupted_run_leaves_no_agent_process(cli: CommandLine, copies: Path) -> None:
    adopt_orphans()
    children_before = children()
    endless = "while :; do sleep 9; done"
    stubborn = f"trap '' TERM INT HUP; (setsid sh -c '{endless}' &) ; touch begun; {endless}"
    config = write_config(cli, copies, command=stubborn, concurrency=3)
    process = cli.start("run", "-c", config, "-n", "9")
    while len(list((cli.folder / "run").glob("agents/*/begun"))) < 3 and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130, errors
    assert children() <= children_before, "left behind"
    assert "the same command continues from there" in errors and "Traceback" not in errors


def test_interrupt_during_generation_exits_with_130(cli: CommandLine, copies: Path) -> None:
    def stall(request: StubRequest) -> StubReply:
        server.over.wait()
        return code_reply(DOUBLE)

    with model_server(stall) as server:
        process = cli.start("run", "-c", write_config(cli, copies, server.url), "-n", "20")
        while len(server.asked) < 8 and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate()
    assert process.returncode == 130, errors
    assert len(server.asked) == 8 and "Traceback" not in errors


@pytest.mark.nightly
def test_killed_run_does_not_ask_again_for_stored_replies(cli: CommandLine, copies: Path) -> None:
    adopt_orphans()
    children_before = children()
    running: list[subprocess.Popen[str]] = []
    deadly = {1, 4}  # the run is killed at these requests

    def answer(request: StubRequest) -> StubReply:
        if request.number in deadly:
            os.kill(running[-1].pid, signal.SIGKILL)
        return code_reply(DOUBLE)

    with model_server(answer) as server:
        arguments = (
            "run",
            "-c",
            write_config(cli, copies, server.url, concurrency=1),
            *tasks(*range(5)),
            "--quiet",
        )
        for _ in deadly:
            running.append(cli.start(*arguments))
            _, errors = running[-1].communicate()
            wait_until_gone(children_before)
            assert running[-1].returncode == -signal.SIGKILL, errors
        completed = cli(*arguments)
    assert completed.returncode == 0, completed.stderr
    times = Counter(map(place, server.asked))
    assert sum(times.values()) == 5 + len(deadly), "only requests in progress are sent again"
    assert results(cli.folder / "run").keys() == {f"apps_{n}#0" for n in range(5)}
