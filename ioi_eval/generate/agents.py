"""Agents: any program that finds a statement in its folder and leaves a solution there.

It runs as the user who started us and with his rights, not in a box: an agent needs the network and tools.
What it leaves is judged in a box like everything else.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Annotated

from ioi_eval.engines.open_files import usual_open_files
from ioi_eval.generate.asks import Ask, GenerationFailed, Text
from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import find
from ioi_eval.model.options import CliOption
from ioi_eval.model.values import Value

STATEMENT, LOG, _VARIABLES = "problem.md", "agent.log", ".mcp.env"
SOLUTIONS: Mapping[str, str] = {
    "python": "solution.py",
    "c++": "solution.cpp",
}
_LARGEST = 10 << 20  # bytes of a solution
_LARGEST_LOG = 16 << 20  # bytes
_KEEPER = Path(__file__).with_name("keeper.py")
_NOT_STARTED = frozenset({"exit 126", "exit 127"})  # what shells say of a command that is not there


class AgentOptions(Value):
    # For a shell; it runs in the folder that has the statement.
    command: Annotated[str, CliOption(metavar="TEXT", help="Start this agent instead of asking a model.")]
    folder: str = ""  # where the folders of all asks lie
    timeout: float = 600.0  # seconds


class Access(Value):
    """The MCP server of a contest in which an agent takes part while it works."""

    address: str
    tokens: tuple[str, ...]  # by the number of the sample

    def files(self, number: int) -> dict[str, str]:
        """Return the files that tell an agent of it: where agents look for servers, and variables."""
        token = self.tokens[number]
        server = {"type": "http", "url": self.address, "headers": {"Authorization": f"Bearer {token}"}}
        return {
            ".mcp.json": json.dumps({"mcpServers": {"contest": server}}, indent=2) + "\n",
            _VARIABLES: f"export IOI_EVAL_MCP_URL={quote(self.address)} IOI_EVAL_MCP_TOKEN={quote(token)}\n",
        }


class Agent:
    """An author that is a program. Its folder stays, with what it left and its log."""

    def __init__(self, options: AgentOptions, access: Access | None = None) -> None:
        self._options, self._access = options, access

    @property
    def name(self) -> str:
        return name_of(self._options.command)

    async def write(self, ask: Ask) -> Text:
        # A name that every file system takes, and another one for each key.
        plain = re.sub(r"[^\w.@#-]|^\.", "_", ask.key, flags=re.ASCII)[:100]
        name = plain if plain == ask.key else f"{plain}-{hashlib.sha256(ask.key.encode()).hexdigest()[:8]}"
        folder = Path(self._options.folder) / name
        files = {} if self._access is None else self._access.files(ask.number)
        await asyncio.to_thread(_lay_out, folder, {STATEMENT: ask.prompt, **files})
        # By a file: a command line is read by every user of the machine.
        limits = usual_open_files()
        reading = "" if self._access is None else f". ./{_VARIABLES}\n"
        with (folder / LOG).open("wb") as log:
            keeper = await asyncio.create_subprocess_exec(
                *(
                    sys.executable,
                    "-I",
                    "-S",
                    str(_KEEPER),
                    str(_LARGEST_LOG),
                    limits + reading + self._options.command,
                ),
                cwd=folder,
                stdin=asyncio.subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            async with asyncio.timeout(self._options.timeout):
                ended = f"exit {await keeper.wait()}"
        except TimeoutError:
            ended = "timeout"
        finally:
            await _end(keeper)
        return await asyncio.to_thread(_left, folder, ended, find(ask.language).name)


async def _end(keeper: asyncio.subprocess.Process) -> None:
    """Closes our end of the pipe, which tells its keeper. However often we are told to stop: first this."""
    assert keeper.stdin is not None, "it was made with one"
    keeper.stdin.close()
    cancelled = False
    while keeper.returncode is None:
        try:
            await keeper.wait()
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError


def name_of(command: str) -> str:
    """The program's name, without its folder, and without variables set for it: they may be secret."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    programs = (word for word in words if not re.match(r"\w+=", word))
    return Path(next(programs, "")).name


def _lay_out(folder: Path, files: Mapping[str, str]) -> None:
    """A fresh folder, whatever an earlier attempt left."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name, text in files.items():
            (folder / name).touch(0o600 if name.startswith(".") else 0o666)  # tokens are the agent's alone
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"no folder for the agent: {error.strerror or error}", where=str(folder)) from error


def _left(folder: Path, ended: str, asked: str) -> Text:
    """Read the solution that is there; of two, the one in the language that was asked for."""
    for language, name in sorted(SOLUTIONS.items(), key=lambda pair: pair[0] != asked):
        if (code := _read(folder / name)) is not None:
            return Text(generation=code, code=code, language=language, stop_reason=ended)
    log = folder / LOG
    if ended in _NOT_STARTED:
        raise InputError(
            f"the command cannot be run ({ended})", field="command", remedy=f"What the shell says is in {log}"
        )
    if ended in ("exit 0", "timeout"):  # it had its chance: no program is what it handed in
        return Text(generation="", stop_reason=ended)
    names = " or ".join(SOLUTIONS.values())
    raise GenerationFailed(f"the agent left no {names} ({ended}); see {log}")


def _read(file: Path) -> str | None:
    """Read a file; None where there is none. A link counts as none, since it may lead out of the folder."""
    try:
        if file.is_symlink() or not file.is_file():
            return None
        with file.open("rb") as stream:
            code = stream.read(_LARGEST + 1)
    except OSError as error:
        raise GenerationFailed(f"{file} cannot be read: {error.strerror or error}") from error
    if len(code) > _LARGEST:
        raise GenerationFailed(f"{file.name} is larger than {_LARGEST >> 20} MB")
    return code.decode(errors="replace")
