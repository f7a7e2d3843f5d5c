"""Run agents: commands that read a statement in their folder and write a solution there.

An agent runs with the rights of the user and not in a sandbox, because it needs the network and tools. Its
solution is judged in a sandbox, like any program.
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

from ioi_eval.engines.open_files import make_open_file_limit_command
from ioi_eval.generate.model_requests import GeneratedReply, GenerationFailed, ModelRequest
from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import find_language
from ioi_eval.model.options import CliOption
from ioi_eval.model.values import Value

# Names of the statement's file and of the log file in an agent's folder.
STATEMENT, LOG = "problem.md", "agent.log"
_VARIABLES = ".mcp.env"  # name of the file with the agent's environment variables
# File name of a solution, by language.
SOLUTIONS: Mapping[str, str] = {
    "python": "solution.py",
    "c++": "solution.cpp",
}
_MAX_SOLUTION_BYTES = 10 << 20
_MAX_LOG_BYTES = 16 << 20
_SUPERVISOR = Path(__file__).with_name("agent_supervisor.py")
_MAX_LINE_LENGTH = 300  # maximum characters of a log's line in a message
# Exit codes with which a shell reports that it cannot run the command.
_NOT_STARTED = frozenset({"exit 126", "exit 127"})


class AgentOptions(Value):
    """An agent's command, folder and time limit."""

    # A shell command that starts an agent in a folder that contains the problem's statement.
    command: Annotated[
        str,
        CliOption(
            metavar="TEXT", help="Command that starts an agent, which writes the programs instead of a model."
        ),
    ]
    folder: str = ""  # path of the folder that contains a folder for each request
    timeout: float = 600.0  # maximum seconds for a request


class McpAccess(Value):
    """The MCP server of a contest in which an agent takes part."""

    address: str
    tokens: tuple[str, ...]  # tokens of the contest's participants, by the number of the sample

    def make_config_files(self, sample_number: int) -> dict[str, str]:
        """Return the files with the server's address and a participant's token, by name.

        `sample_number`: the number of the sample, whose agent gets the files.
        """
        token = self.tokens[sample_number]
        server_config = {"type": "http", "url": self.address, "headers": {"Authorization": f"Bearer {token}"}}
        return {
            ".mcp.json": json.dumps({"mcpServers": {"contest": server_config}}, indent=2) + "\n",
            _VARIABLES: f"export IOI_EVAL_MCP_URL={quote(self.address)} IOI_EVAL_MCP_TOKEN={quote(token)}\n",
        }


class Agent:
    """An author of programs that is a command. Its folders are not removed."""

    def __init__(self, options: AgentOptions, access: McpAccess | None = None) -> None:
        self._options, self._access = options, access

    @property
    def name(self) -> str:
        """Return the name of the agent's program."""
        return read_command_name(self._options.command)

    async def write(self, request: ModelRequest) -> GeneratedReply:
        """Run the agent for a request and return its solution. See `Author.write`."""
        # The name of the folder is valid in every file system, and distinct for each key.
        safe_key = re.sub(r"[^\w.@#-]|^\.", "_", request.key, flags=re.ASCII)[:100]
        folder_name = (
            safe_key
            if safe_key == request.key
            else f"{safe_key}-{hashlib.sha256(request.key.encode()).hexdigest()[:8]}"
        )
        folder = Path(self._options.folder) / folder_name
        files = {} if self._access is None else self._access.make_config_files(request.number)
        await asyncio.to_thread(_write_folder, folder, {STATEMENT: request.prompt, **files})
        # Pass the token in a file, because all users of the machine can read command lines.
        limit_command = make_open_file_limit_command()
        variables_command = "" if self._access is None else f". ./{_VARIABLES}\n"
        with (folder / LOG).open("wb") as log_file:
            supervisor = await asyncio.create_subprocess_exec(
                *(
                    sys.executable,
                    "-I",
                    "-S",
                    str(_SUPERVISOR),
                    str(_MAX_LOG_BYTES),
                    limit_command + variables_command + self._options.command,
                ),
                cwd=folder,
                stdin=asyncio.subprocess.PIPE,
                stdout=log_file,
                stderr=log_file,
                start_new_session=True,
            )
        try:
            async with asyncio.timeout(self._options.timeout):
                stop_reason = f"exit {await supervisor.wait()}"
        except TimeoutError:
            stop_reason = "timeout"
        finally:
            await _stop_supervisor(supervisor)
        return await asyncio.to_thread(
            _read_solution, folder, stop_reason, find_language(request.language).name
        )


async def _stop_supervisor(supervisor: asyncio.subprocess.Process) -> None:
    """Close the supervisor's standard input, and wait until it has killed the agent's processes.

    If this task is cancelled, it still waits.
    """
    assert supervisor.stdin is not None, "created with a pipe"
    supervisor.stdin.close()
    is_cancelled = False
    while supervisor.returncode is None:
        try:
            await supervisor.wait()
        except asyncio.CancelledError:
            is_cancelled = True
    if is_cancelled:
        raise asyncio.CancelledError


def read_command_name(command: str) -> str:
    """Return the name of a command's program, without its folder and variables, which may be secret."""
    try:
        arguments = shlex.split(command)
    except ValueError:
        arguments = command.split()
    programs = (argument for argument in arguments if not re.match(r"\w+=", argument))
    return Path(next(programs, "")).name


def _write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Create a folder with these files. Remove the files of an earlier attempt first."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file_name, content in files.items():
            # Files with tokens are readable only by this user.
            (folder / file_name).touch(0o600 if file_name.startswith(".") else 0o666)
            (folder / file_name).write_text(content, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot create the agent's folder: {error.strerror or error}", where=str(folder)
        ) from error


def _read_solution(folder: Path, stop_reason: str, language_name: str) -> GeneratedReply:
    """Return the solution in an agent's folder, if possible in the requested language.

    Raises:
        GenerationFailed: The agent failed without a solution.
        InputError: The command cannot be run.
    """
    for language, file_name in sorted(SOLUTIONS.items(), key=lambda pair: pair[0] != language_name):
        if (code := _read_program(folder / file_name)) is not None:
            return GeneratedReply(generation=code, code=code, language=language, stop_reason=stop_reason)
    log_path = folder / LOG
    if stop_reason in _NOT_STARTED:
        # An agent starts in its own folder, so a relative path is the usual cause.
        remedy = (
            "Give the absolute path of an executable file, because each command starts in a new folder."
            f" Its log is {log_path}"
        )
        message = (
            f"the agent's command cannot be run: {_read_last_line(log_path) or 'no message'} ({stop_reason})"
        )
        raise InputError(message, field="command", remedy=remedy)
    # The agent ended or used its whole time without a solution, which is an empty submission.
    if stop_reason in ("exit 0", "timeout"):
        return GeneratedReply(generation="", stop_reason=stop_reason)
    file_names = " or ".join(SOLUTIONS.values())
    raise GenerationFailed(f"the agent wrote no file {file_names} ({stop_reason}); see {log_path}")


def _read_last_line(log_path: Path) -> str:
    """Return the last line of a log that is not blank, shortened; empty if there is none."""
    lines = [
        line for line in log_path.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()
    ]
    return lines[-1].strip()[:_MAX_LINE_LENGTH] if lines else ""


def _read_program(file: Path) -> str | None:
    """Return the content of a file, or None if it does not exist. A link counts as missing."""
    try:
        if file.is_symlink() or not file.is_file():
            return None
        with file.open("rb") as stream:
            code = stream.read(_MAX_SOLUTION_BYTES + 1)
    except OSError as error:
        raise GenerationFailed(f"{file} cannot be read: {error.strerror or error}") from error
    if len(code) > _MAX_SOLUTION_BYTES:
        raise GenerationFailed(f"{file.name} is larger than {_MAX_SOLUTION_BYTES >> 20} MB")
    return code.decode(errors="replace")
