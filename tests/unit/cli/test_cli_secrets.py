"""A secret appears in no output, log, report, row, cache or command line."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import leftovers
import pytest
from secret_echo_server import repeating
from support.command_line import RIGHT, CommandLine, results, row, wait_for_rows, write_dump
from support.stub_server import StubReply, StubRequest, code_reply, json_reply, model_server
from support.warm_command import warm_command
from test_cli_run import copies, place, tasks, write_config
from test_cli_worker import working
from test_without_datasets import core

from ioi_eval.cli import list_commands, load_command_function

__all__ = ["copies", "core"]  # fixtures

TOKEN, KEY, HUB = "t0ken-9b6c2f51d7", "sk-7d1c-a-model-s-key", "hf_a0b1c2d3e4f5g6h7"
SECRETS = {"IOI_EVAL_TOKEN": TOKEN, "MODEL_KEY": KEY, "HF_TOKEN": HUB}
# Prints all secrets that it can read, in its error output, which becomes feedback.
CURIOUS = """import glob, os, sys
sys.stderr.write(repr(dict(os.environ)) + " ".join(sys.argv))
for name in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline"):
    try:
        sys.stderr.write(open(name).read())
    except OSError:
        pass
sys.exit(1)
"""
# All debug logs are on, as in a search for a fault.
LOUD = "import logging\nlogging.basicConfig(level=logging.DEBUG)\n"
COMMAND = "from ioi_eval.cli import main\nmain()\n"


@pytest.fixture
def loud(cli: CommandLine, tmp_path: Path) -> CommandLine:
    """Return a command line with all secrets in its environment, and all library logs on standard error."""
    (tmp_path / "loud").mkdir()
    (tmp_path / "loud" / "sitecustomize.py").write_text(LOUD)
    more = {
        "PYTHONPATH": str(tmp_path / "loud"),
        "HF_HUB_VERBOSITY": "debug",
        "HF_HOME": str(tmp_path / "hf"),
    }
    return replace(cli, environment={**SECRETS, **more}, alone=True)


@pytest.fixture(autouse=True)
def begun(tmp_path: Path) -> None:
    (tmp_path / "begun").touch()


def places_of_secrets(cli: CommandLine, *outputs: object) -> list[str]:
    """Return the outputs, and the files changed since the test started, that contain a secret."""
    occurrences = [secret for secret in SECRETS.values() if secret in repr(outputs)]
    since = (cli.folder / "begun").stat().st_ctime_ns
    for path in (*cli.folder.rglob("*"), *cli.cache.rglob("*")):
        if path.is_file() and path.name != "secret" and path.stat().st_ctime_ns >= since:
            content = path.read_bytes()
            occurrences += [str(path) for secret in SECRETS.values() if secret.encode() in content]
    return occurrences


@contextmanager
def recorded_command_lines(lines_found: list[str]) -> Iterator[None]:
    """Record the command lines of all descendants while a test runs."""
    finished = threading.Event()

    def look() -> None:
        while not finished.wait(0.4):
            lines_found.extend(leftovers.command_lines())

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield
    finally:
        finished.set()
        watcher.join()


class Guarded:
    """A worker that reads its token from a file."""

    def __init__(self, process: subprocess.Popen[str], port: int, shown: list[str]) -> None:
        self._process, self._shown = process, shown
        self.url = f"http://127.0.0.1:{port}"

    def ended(self) -> tuple[list[str], str]:
        """End the worker. Return the command lines that were visible since its start, and its output."""
        self._process.terminate()
        return self._shown, "".join(self._process.communicate())


@pytest.fixture
def guarded(cli: CommandLine, tmp_path: Path) -> Iterator[Guarded]:
    (tmp_path / "secret").write_text(TOKEN + "\n")
    shown: list[str] = []
    with (
        recorded_command_lines(shown),
        working(replace(with_token(cli, ""), alone=True), "--token-file", tmp_path / "secret") as (
            worker,
            port,
        ),
    ):
        yield Guarded(worker, port, shown)


def with_token(cli: CommandLine, token: str) -> CommandLine:
    """Return a command line with this token and all other secrets in its environment."""
    return replace(cli, environment={**SECRETS, "IOI_EVAL_TOKEN": token})


def test_worker_token_is_hidden_from_programs_and_logs(
    cli: CommandLine, core: CommandLine, problems: Path, guarded: Guarded, tmp_path: Path
) -> None:
    """The worker reads it from a file, and the client from the environment."""
    # A process of its own, because the program searches /proc for the token. It starts faster without pandas,
    # and writes no tables: the nightly test below searches tables as well.
    client = replace(core, environment={**core.environment, **SECRETS})
    dump = write_dump(tmp_path / "dump.jsonl", [row("b", CURIOUS, language="python")])
    arguments = ("score", dump, "--problems", problems, "--engine", guarded.url, "--out")
    scored, without = client(*arguments, "run"), with_token(cli, "another")(*arguments, "refused")
    (tmp_path / "other").write_text("another")
    looked = with_token(cli, "")("doctor", "--engine", guarded.url, "--token-file", tmp_path / "other")
    shown, worker_log = guarded.ended()
    assert scored.returncode == 0, scored.stderr
    assert results(tmp_path / "run").keys() == {"b"}
    assert without.returncode != 0, "the worker required the token"
    assert "not this worker's token. Put the worker's token" in without.stderr
    assert "into IOI_EVAL_TOKEN, or pass --token-file FILE" in without.stderr
    assert looked.returncode == 2 and "not this worker's token" in looked.stdout
    assert any("worker" in line for line in shown), "the program did look for secrets"
    assert (
        places_of_secrets(cli, shown, worker_log, scored.stdout, scored.stderr, without.stderr, looked.stdout)
        == []
    )


@pytest.mark.nightly
def test_worker_token_is_hidden_from_compilers_and_doctor(
    cli: CommandLine, problems: Path, guarded: Guarded, tmp_path: Path
) -> None:
    """The worker runs compilers as well."""
    looked = with_token(cli, "")("doctor", "--engine", guarded.url, "--token-file", tmp_path / "secret")
    client = replace(with_token(cli, TOKEN), alone=True)
    # So slow to compile that it is observed, and not in the build cache.
    code = f'#include <regex>\n{RIGHT}std::regex _{os.getpid()}_{time.monotonic_ns()}("a");\n'
    dump = write_dump(tmp_path / "dump.jsonl", [row("a", code), row("b", CURIOUS, language="python")])
    scored = client("score", dump, "--problems", problems, "--engine", guarded.url, "--out", "run")
    shown, worker_log = guarded.ended()
    assert looked.returncode == 0, looked.stdout
    assert scored.returncode == 0, scored.stderr
    assert results(tmp_path / "run").keys() == {"a", "b"}
    assert any("cc1plus" in line for line in shown), "a compiler was observed"
    outputs = (looked.stdout, looked.stderr, scored.stdout, scored.stderr)
    assert places_of_secrets(cli, shown, worker_log, *outputs) == []


@pytest.mark.nightly
def test_model_key_is_hidden_from_output_and_files(loud: CommandLine, copies: Path) -> None:
    """The server repeats the key in programs and refusals, in a complete and in an interrupted run."""

    def answer(request: StubRequest) -> StubReply:
        refusal = {"error": {"message": f"{'x' * 290} {KEY} is not good enough"}}
        cut = StubReply(200, KEY.encode(), cut=9)
        replies = {1: code_reply(f"print(2 * int(input()))  # {KEY}\n"), 2: json_reply(refusal, 500), 3: cut}
        return replies.get(place(request)) or hanging(server.over)

    shown: list[str] = []
    with recorded_command_lines(shown), model_server(answer) as server:
        arguments = ["run", "-c", write_config(loud, copies, server.url, concurrency=4)]
        ended = loud(*arguments, *tasks(1, 2, 3))
        process = loud.start(*arguments, *tasks(1, 4), "--out", "interrupted")
        wait_for_rows(loud.folder / "interrupted", 1, process)
        process.send_signal(signal.SIGINT)
        interrupted = process.communicate()
    assert all(request.headers["Authorization"] == f"Bearer {KEY}" for request in server.asked)
    assert (ended.returncode, process.returncode) == (3, 130), ended.stderr
    assert results(loud.folder / "run").keys() == {"apps_1#0"}
    assert "DEBUG:httpcore" in ended.stderr and "not written: apps_2#0: HTTP 500: xx" in ended.stderr
    assert places_of_secrets(loud, shown, ended.stdout, ended.stderr, interrupted) == []


def hanging(over: threading.Event) -> StubReply:
    over.wait()
    return StubReply()


def test_hub_token_is_hidden_from_output(loud: CommandLine, problems: Path) -> None:
    (loud.folder / "loud.py").write_text(LOUD + COMMAND)
    with repeating("401") as (hub, _):
        environment = {**loud.env, "HF_ENDPOINT": hub.url}
        arguments = ["score", "me/x", "--problems", str(problems)]
        completed = warm_command().run(arguments, loud.folder, environment, str(loud.folder / "loud.py"))
    assert any(HUB in str(request.headers) for request in hub.asked), "the hub received the token"
    assert completed.returncode == 2 and "error: me/x: " in completed.stderr and "DEBUG:" in completed.stderr
    assert places_of_secrets(loud, completed.stdout, completed.stderr) == []


# --- options contain no secrets, because users can see them ----------------------------------------------


def options() -> Iterator[tuple[str, Any]]:
    """Return the names of all options, and the types of their values."""
    for command in list_commands():
        signature = inspect.signature(load_command_function(command), eval_str=True)
        for name, parameter in signature.parameters.items():
            kind, *more = get_args(parameter.annotation) or (parameter.annotation,)
            written = [option for info in more for option in getattr(info, "param_decls", None) or ()]
            yield from ((f"{command} {option}", kind) for option in (f"--{name}", *written))


def test_no_option_value_is_a_secret() -> None:
    """Command lines are visible to other users, so a secret's option must be a file name."""
    secret_names = ("key", "token", "secret", "password", "credential", "auth")
    suspicious = {
        name: kind for name, kind in options() if any(secret_name in name for secret_name in secret_names)
    }
    assert {"score --token_file", "worker --token_file", "run --max_tokens"} <= suspicious.keys()
    harmless = (Path | None, int | None, bool)
    assert {name: kind for name, kind in suspicious.items() if kind not in harmless} == {}
