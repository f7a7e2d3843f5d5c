"""Agents: any program that finds a statement in its folder and leaves a solution there.

It runs as the user who started us and with his rights, not in a box: an agent needs the network and tools.
What it leaves is judged in a box like everything else.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
from pathlib import Path

from ioi_eval.errors import InputError
from ioi_eval.generate.asking import Ask, GenerationFailed, Text
from ioi_eval.models import Value

STATEMENT, LOG = "problem.md", "agent.log"
_SOLUTIONS = (("solution.py", "python"), ("solution.cpp", "c++"))
_LARGEST = 10 << 20  # bytes of a solution
_GRACE = 5.0  # seconds between asking to end and ending it


class AgentOptions(Value):
    command: str  # for a shell; it runs in the folder that has the statement
    folder: str  # where the folders of all asks lie
    timeout: float = 600.0  # seconds


class Agent:
    """An author that is a program. Its folder stays, with what it left and its log."""

    def __init__(self, options: AgentOptions) -> None:
        self._options = options

    @property
    def name(self) -> str:
        return self._options.command.split()[0] if self._options.command.strip() else ""

    async def write(self, ask: Ask) -> Text:
        folder = Path(self._options.folder) / re.sub(r"[^\w.@#-]", "_", ask.key)
        await asyncio.to_thread(_lay_out, folder, ask)
        ended = await self._run(folder)
        return await asyncio.to_thread(_left, folder, ended)

    async def _run(self, folder: Path) -> str:
        """How it ended: its exit code, or that it took too long. Nothing of it is left."""
        with (folder / LOG).open("wb") as log:
            process = await asyncio.create_subprocess_shell(
                self._options.command,
                cwd=folder,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            async with asyncio.timeout(self._options.timeout):
                return f"exit {await process.wait()}"
        except TimeoutError:
            return "timeout"
        finally:
            await _end(process)


def _lay_out(folder: Path, ask: Ask) -> None:
    """A fresh folder, whatever an earlier attempt left."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / STATEMENT).write_text(ask.prompt)
    except OSError as error:
        raise InputError(f"no folder for the agent: {error}", where=str(folder)) from error


async def _end(process: asyncio.subprocess.Process) -> None:
    """Its whole process group: asked first, then killed."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(_gone(process)), _GRACE)
    await process.wait()


async def _gone(process: asyncio.subprocess.Process) -> None:
    """Until nobody of the group is left, the children of one that has ended included."""
    await process.wait()
    with contextlib.suppress(ProcessLookupError):
        while True:
            os.killpg(process.pid, 0)
            await asyncio.sleep(0.05)


def _left(folder: Path, ended: str) -> Text:
    for name, language in _SOLUTIONS:
        file = folder / name
        if file.is_symlink() or not file.is_file():
            continue
        with file.open("rb") as stream:
            code = stream.read(_LARGEST + 1).decode(errors="replace")
        if len(code) > _LARGEST:
            raise GenerationFailed(f"{name} is larger than {_LARGEST >> 20} MB")
        return Text(generation=code, code=code, language=language, stop_reason=ended)
    names = " or ".join(name for name, _ in _SOLUTIONS)
    if ended == "exit 0" or ended == "timeout":  # it had its chance: no program is what it handed in
        return Text(generation="", stop_reason=ended)
    raise GenerationFailed(f"the agent left no {names} ({ended}); see {folder / LOG}")
