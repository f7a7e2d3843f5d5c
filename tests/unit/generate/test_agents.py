"""Agents that write programs, nothing, or much more. They are shell commands here."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import msgspec
import pytest
from generate_helpers import ask
from support.clocks import FastForwardClock
from support.model_requests import GeneratedReply, GenerationFailed

from ioi_eval.errors import InputError
from ioi_eval.generate import Agent, AgentOptions
from ioi_eval.generate.agents import LOG, STATEMENT, read_command_name

FOR_EVER = "while :; do sleep 30; done"


def agent(folder: Path, command: str, limit: float = 60.0) -> Agent:
    return Agent(AgentOptions(command=command, folder=str(folder), timeout=limit))


async def reply_of_agent(folder: Path, command: str, limit: float = 60.0) -> GeneratedReply:
    return await agent(folder, command, limit).write(ask())


def is_alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for_number(file: Path) -> int:
    while not (file.exists() and file.read_text().endswith("\n")):
        time.sleep(0.01)
    return int(file.read_text())


def wait_until_dead(number: int) -> None:
    for _ in range(3000):
        if not is_alive(number):
            return
        time.sleep(0.01)
    raise AssertionError(f"process {number} is left")


async def test_agent_program_may_be_python_or_cpp(tmp_path: Path) -> None:
    reply = await reply_of_agent(tmp_path / "a", "cp problem.md solution.py; echo hello; echo oops >&2")
    assert (reply.code, reply.language, reply.stop_reason) == ("Solve it.", "python", "exit 0")
    folder = tmp_path / "a" / "p#0"
    assert (folder / STATEMENT).read_text() == "Solve it."
    assert (folder / LOG).read_text() == "hello\noops\n"
    reply = await reply_of_agent(tmp_path / "b", "echo 'int main() {}' > solution.cpp; exit 3")
    assert (reply.code, reply.language, reply.stop_reason) == ("int main() {}\n", "c++", "exit 3")


@pytest.mark.parametrize(("requested", "counts"), [("python", "python"), ("c++", "c++"), ("c++17", "c++")])
async def test_agent_program_in_requested_language_is_preferred(
    tmp_path: Path, requested: str, counts: str
) -> None:
    """An agent may first try its idea in another language."""
    both = agent(tmp_path, "echo print > solution.py; echo main > solution.cpp")
    reply = await both.write(msgspec.structs.replace(ask(), language=requested))
    assert reply.language == counts


async def test_files_of_an_earlier_attempt_are_removed(tmp_path: Path) -> None:
    await reply_of_agent(tmp_path, "echo old > solution.py; mkdir -p deep/er")
    reply = await reply_of_agent(tmp_path, "ls -A > listing; true")
    assert (reply.code, reply.generation) == (None, "")
    assert set((tmp_path / "p#0" / "listing").read_text().split()) == {LOG, "listing", STATEMENT}


async def test_agent_with_exit_code_0_and_no_program_submits_nothing(tmp_path: Path) -> None:
    reply = await reply_of_agent(tmp_path, "true")
    assert (reply.code, reply.generation, reply.stop_reason) == (None, "", "exit 0")


async def test_agent_that_fails_without_a_program_raises_generation_failed(tmp_path: Path) -> None:
    with pytest.raises(GenerationFailed, match=r"wrote no file solution.py or solution.cpp \(exit 5\)"):
        await reply_of_agent(tmp_path, "exit 5")
    with pytest.raises(GenerationFailed, match=r"exit 137"):
        await reply_of_agent(tmp_path, "kill -9 $$")


async def test_missing_command_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be run") as caught:
        await reply_of_agent(tmp_path, "no-such-agent --fast")
    log = tmp_path / "p#0" / LOG
    assert str(log) in str(caught.value) and "no-such-agent" in log.read_text()
    assert "no-such-agent: not found (exit 127). Give the absolute path" in str(caught.value)


async def test_file_that_is_not_executable_is_an_input_error_with_the_shells_reason(tmp_path: Path) -> None:
    (tmp_path / "agent.sh").write_text("#!/bin/sh\n")
    with pytest.raises(InputError, match=r"agent.sh: Permission denied \(exit 126\)"):
        await reply_of_agent(tmp_path, str(tmp_path / "agent.sh"))


async def test_unreadable_solution_raises_generation_failed(tmp_path: Path) -> None:
    assert (await reply_of_agent(tmp_path / "a", "ln -s /etc/passwd solution.py")).code is None
    assert (await reply_of_agent(tmp_path / "b", "mkfifo solution.py; mkdir solution.cpp")).code is None
    with pytest.raises(GenerationFailed, match="larger"):
        await reply_of_agent(tmp_path / "c", "head -c 11000000 /dev/zero > solution.py")
    assert (await reply_of_agent(tmp_path / "d", r"printf '\377x' > solution.py")).code == "\ufffdx"


async def reply_after_timeout(folder: Path, command: str) -> GeneratedReply:
    """Return the reply of an agent that still runs when its timeout expires."""
    clock, writing = FastForwardClock(), asyncio.create_task(reply_of_agent(folder, command))
    await asyncio.to_thread(wait_for_number, folder / "p#0" / "me")
    await clock.advance(61.0)
    return await writing


async def test_agent_is_killed_after_timeout_and_its_solution_counts(tmp_path: Path) -> None:
    reply = await reply_after_timeout(
        tmp_path, f"trap '' TERM; echo 'print(1)' > solution.py; echo $$ > me; {FOR_EVER}"
    )
    assert (reply.code, reply.stop_reason) == ("print(1)\n", "timeout")
    assert not is_alive(wait_for_number(tmp_path / "p#0" / "me"))


@pytest.mark.parametrize("prefix", ["", "setsid", "trap '' TERM; setsid", "setsid setsid env -i"])
async def test_child_processes_of_an_agent_are_killed(tmp_path: Path, prefix: str) -> None:
    command = f"{prefix} sh -c 'echo $$ > child; {FOR_EVER}' & while ! [ -s child ]; do sleep 0.02; done"
    await reply_of_agent(tmp_path, command)
    assert not is_alive(wait_for_number(tmp_path / "p#0" / "child"))


async def test_terminated_agent_may_still_save_program(tmp_path: Path) -> None:
    command = f"trap 'echo saved > solution.py; exit' TERM; echo $$ > me; {FOR_EVER.replace('30', '0.05')}"
    assert (await reply_after_timeout(tmp_path, command)).code == "saved\n"


async def test_log_of_an_agent_is_bounded(tmp_path: Path) -> None:
    await reply_of_agent(tmp_path, "echo first; head -c 19000000 /dev/zero; echo x > solution.py")
    log = (tmp_path / "p#0" / LOG).read_bytes()
    assert log.startswith(b"first\n") and len(log) < (16 << 20) + 100
    assert log.endswith(f"[{19_000_006 - (16 << 20)} more bytes are omitted]\n".encode())


@pytest.mark.parametrize("times", [1, 3])
async def test_cancelled_agent_leaves_no_processes(tmp_path: Path, times: int) -> None:
    task = asyncio.create_task(agent(tmp_path, f"trap '' TERM; echo $$ > me; {FOR_EVER}").write(ask()))
    number = await asyncio.to_thread(wait_for_number, tmp_path / "p#0" / "me")
    for _ in range(times):  # a second interruption does not leave a process running
        task.cancel()
        await asyncio.sleep(0.01)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_alive(number)


def test_killed_caller_leaves_no_agent_processes(tmp_path: Path) -> None:
    script = f"""
        import asyncio
        from ioi_eval.generate import Agent, AgentOptions, ModelRequest
        agent = Agent(AgentOptions(command="echo $$ > me; {FOR_EVER}", folder={str(tmp_path)!r}))
        ask = ModelRequest(key="p", problem_id="p", prompt="", language="python", number=0)
        asyncio.run(agent.write(ask))
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)])
    number = wait_for_number(tmp_path / "p" / "me")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_until_dead(number)


async def test_each_request_has_its_own_folder(tmp_path: Path) -> None:
    author = agent(tmp_path, "cp problem.md solution.py")
    keys = ["a/b#0", "a_b#0", "a b#0", "../x", "é" * 300, "..", "n" * 300]
    replies = await asyncio.gather(*(author.write(ask(key, prompt=f"{n}")) for n, key in enumerate(keys)))
    assert [reply.code for reply in replies] == [str(n) for n in range(len(keys))]
    assert len(await asyncio.to_thread(os.listdir, tmp_path)) == len(keys)


@pytest.mark.parametrize(
    "command, name",
    [
        ("my-agent --fast", "my-agent"),
        ("/opt/bin/my-agent problem.md", "my-agent"),
        ("TOKEN=secret A='b c' my-agent", "my-agent"),
        ("'my agent' x", "my agent"),
        ("it's", "it's"),
        ("", ""),
    ],
)
def test_agent_name_is_derived_from_command(command: str, name: str) -> None:
    assert read_command_name(command) == name
