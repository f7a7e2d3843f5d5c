"""The commands `ioi-eval contest serve SOURCE` and `ioi-eval export harbor SOURCE DIR`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer

from ioi_eval.cli import console
from ioi_eval.cli.groups import OptionGroup, command
from ioi_eval.cli.options import Engine, ProblemOptions, Quiet, Source, TimingOptions, open_store
from ioi_eval.model.errors import InputError
from ioi_eval.model.options import CliOption
from ioi_eval.model.text import format_count, visible
from ioi_eval.model.values import Value
from ioi_eval.plugins.contest import Contest, Rules, Session, open_contest
from ioi_eval.plugins.contest.harbor import write_tasks
from ioi_eval.plugins.contest.names import ParticipantNames
from ioi_eval.plugins.contest.scoreboard import read_scoreboard
from ioi_eval.reports.document import format_number
from ioi_eval.runs import BenchmarkOptions, RunOptions
from ioi_eval.runs.score import run_name
from ioi_eval.server import ServerOptions
from ioi_eval.store.files import replace
from ioi_eval.store.folder import IN_PROGRESS

_EXAMPLES = """
  ioi-eval contest serve packages --participants 8
  ioi-eval contest serve ioi --participants names.txt --contest-time 18000
  ioi-eval contest serve packages --participants 64 --feedback points
  ioi-eval contest serve packages --stdio otter      an agent starts it so
"""
TOKENS = "tokens.tsv"
_TOKEN_BYTES = 24
_MIN_TOKEN = 16  # minimum characters of a token
_MAX_STANDINGS = 20  # maximum number of participants whose places are printed at the end
_PORT = {"port": {"default": 8765}}


class _AccessOptions(Value):
    """The participants of a contest, and how they connect."""

    participants: Annotated[
        str | None,
        CliOption(
            metavar="FILE|N",
            help="Number of participants, or a file with lines NAME or NAME<TAB>TOKEN.",
        ),
    ] = None
    stdio: Annotated[
        str | None, CliOption(metavar="NAME", help="Serve this participant over standard input and output.")
    ] = None


@command(_EXAMPLES)
def contest(
    action: Annotated[
        Literal["serve"], typer.Argument(metavar="serve", help="Serve a contest to agents over MCP.")
    ],
    source: Source,
    problems: ProblemOptions,
    rules: Annotated[Rules, OptionGroup("Rules")],
    access: Annotated[_AccessOptions, OptionGroup("Access")],
    serving: Annotated[ServerOptions, OptionGroup("Access", only=("port", "host"), changes=_PORT)],
    timing: TimingOptions,
    engine: Engine,
    running: Annotated[RunOptions, OptionGroup("Output", only=("fresh",))],
    output: Quiet,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder for the results: new, empty, or of a contest to continue.",
            show_default="runs/<SOURCE>-contest",
            rich_help_panel="Output",
        ),
    ] = None,
) -> None:
    """Hold a contest over MCP: agents read statements, try programs, submit them.

    Every participant has a token; tokens.tsv in the run's folder lists them. Ctrl-C stops the contest, and
    the same command continues it. `ioi-eval report` and `view` show participants instead of models, and
    `view` has a scoreboard for a projector. The command needs the extra `mcp`: pip install '.[mcp]' in
    a clone of ioi_eval.

    Exit code 0: the contest was stopped; 2: bad input.
    """
    if (access.stdio is None) == (access.participants is None):
        remedy = "Set --participants FILE|N, or --stdio NAME"
        raise InputError("the contest has no participants", field="--participants", remedy=remedy)
    folder = out or Path("runs") / f"{run_name(source)}-contest"
    tokens_by_name = _read_tokens_by_participant(access, folder / TOKENS)
    contest_opening = open_contest(
        source,
        rules,
        out=folder,
        participants=tuple(tokens_by_name),
        choice=problems,
        engine=engine.read_engine_choice(),
        options=msgspec.structs.replace(running, timing=timing),
        store=open_store(),
    )
    asyncio.run(
        _serve_contest(contest_opening, folder, tokens_by_name, access.stdio, serving, quiet=output.quiet)
    )


def _read_tokens_by_participant(access_options: _AccessOptions, tokens_path: Path) -> dict[str, str]:
    """Return the token of each participant, or "" if the user names none.

    If only the number of participants is given, they have the names of an earlier call, whose tokens are in
    the file `tokens_path`.
    """
    if access_options.stdio is not None:
        tokens = {_normalize_name(access_options.stdio): ""}
    elif access_options.participants is not None and access_options.participants.isdecimal():
        number_of_participants = int(access_options.participants)
        if not 1 <= number_of_participants <= 100_000:
            raise InputError(
                f"the contest cannot have {number_of_participants} participants",
                field="--participants",
                remedy="Set a number from 1 to 100000",
            )
        old_tokens = _read_tokens(tokens_path) if tokens_path.exists() else {}
        default_digits = len(access_options.participants)
        digit_count = next(
            (digit_count for digit_count in range(1, 7) if f"p{1:0{digit_count}}" in old_tokens),
            default_digits,
        )
        tokens = {f"p{number:0{digit_count}}": "" for number in range(1, number_of_participants + 1)}
    else:
        tokens = _read_tokens(Path(access_options.participants or ""))
    return tokens


def _normalize_name(name: str) -> str:
    """Return a name in normal form: single spaces, and Unicode's form NFC."""
    return unicodedata.normalize("NFC", " ".join(name.split()))


def _read_tokens(path: Path) -> dict[str, str]:
    """Return the token of each name in a file, or "" for a line without a token.

    Raises:
        InputError: A line is wrong. The error names the line and the field.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        remedy = "Name a file in UTF-8 with a name in each line, or give a number"
        message, path_text = f"cannot be read: {error}", str(path)
        raise InputError(message, where=path_text, field="--participants", remedy=remedy) from error
    tokens: dict[str, str] = {}
    # Names in use, and the name of the participant by token.
    used_names, names_by_token = ParticipantNames(), dict[str, str]()
    for line_number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            name, token = _parse_participant(line.removesuffix("\r"))
            used_names.add(name, field="name")
            if name in tokens:
                raise InputError(
                    f"duplicate participant {name!r}", field="name", remedy="Remove one of the two lines"
                )
            if token and names_by_token.setdefault(token, name) != name:
                message = f"{names_by_token[token]!r} and {name!r} have the same token"
                raise InputError(message, field="token", remedy="Give each participant its own token")
        except InputError as error:
            raise error.with_details(where=str(path), row=line_number) from None
        tokens[name] = token
    if not tokens:
        remedy = "Write a name in each line"
        raise InputError(
            "the file contains no names of participants",
            where=str(path),
            field="--participants",
            remedy=remedy,
        )
    return tokens


def _parse_participant(line: str) -> tuple[str, str]:
    """Return the name and the token of a line NAME or NAME<TAB>TOKEN. The token may be empty."""
    name, *tokens = line.split("\t")
    name = _normalize_name(name)
    if not tokens:
        return name, ""
    if len(tokens) > 1:
        remedy = "Write NAME, or NAME<TAB>TOKEN"
        raise InputError(f"participant {name!r} has {len(tokens)} tokens", field="token", remedy=remedy)
    token = tokens[0].strip(" ")
    if len(token) < _MIN_TOKEN or not all("!" <= char <= "~" for char in token):
        raise InputError(
            f"the token of {name!r} is not {_MIN_TOKEN} or more ASCII letters, digits and signs",
            field="token",
            remedy="Choose another token, or remove the tab and the token to get a new token",
        )
    return name, token


async def _serve_contest(
    contest_opening: contextlib.AbstractAsyncContextManager[Contest],
    folder: Path,
    user_tokens: Mapping[str, str],
    stdio_participant: str | None,
    server_options: ServerOptions,
    *,
    quiet: bool,
) -> None:
    """Hold the contest until a signal arrives or standard input is closed."""
    # Imported here, because the package `mcp` may be missing.
    from ioi_eval.plugins.contest.mcp import listen, make_contest_mcp_server, serving, start_stdin_forwarding

    stop_signals = console.StopSignals()
    if stdio_participant is not None:
        async with contest_opening as contest:
            _set_up_log(quiet)
            server, close_input = (
                make_contest_mcp_server(contest, participant=stdio_participant),
                start_stdin_forwarding(),
            )
            stop_task = asyncio.create_task(stop_signals.wait())
            client_task = asyncio.create_task(_serve_client(server, contest.session(stdio_participant)))
            await asyncio.wait({stop_task, client_task}, return_when=asyncio.FIRST_COMPLETED)
            for task in (stop_task, client_task):
                task.cancel()
            close_input()
            await asyncio.gather(stop_task, client_task, return_exceptions=True)
        return
    # Raise all errors that the user can correct before the contest is opened, which starts its clock.
    host, path = server_options.host, folder / TOKENS
    tokens = _add_missing_tokens(path, user_tokens)
    with contextlib.closing(listen(host, server_options.port)) as listening_socket:
        async with contest_opening as contest:
            _set_up_log(quiet)
            _write_tokens(path, tokens)
            async with serving(contest, tokens, host=host, listening_socket=listening_socket) as address:
                console.print_line(f"contest at {address}, tokens in {path}")
                await stop_signals.wait()
    if pending_count := len([*(folder / IN_PROGRESS).glob("[!.]*.json")]):
        console.print_line(
            f"note: {format_count(pending_count, 'submission')} in progress: the same command judges them"
        )
    if not quiet:
        _print_standings(folder)
        console.print_line(console.format_report_line(str(folder)))


def _print_standings(folder: Path) -> None:
    """Print the places and points of the first participants."""
    scoreboard = read_scoreboard(folder)
    entrants = () if scoreboard is None else scoreboard.entrants
    console.print_table(
        ("place", "participant", "points"),
        [
            (str(entrant.place), visible(entrant.participant), format_number(entrant.points))
            for entrant in entrants[:_MAX_STANDINGS]
        ],
        right_aligned_heads=("place", "points"),
    )
    if len(entrants) > _MAX_STANDINGS:
        console.print_line(f"and {len(entrants) - _MAX_STANDINGS:,} more in the report")


async def _serve_client(server: Any, session: Session) -> None:
    """Serve a client until its input is closed, and finish the calls for which the client did not wait."""
    await server.run_stdio_async()
    await session.settle()


def _set_up_log(quiet: bool) -> None:
    """Send all log messages to standard error. Called before the SDK sets up its log.

    Otherwise the SDK would print this package's messages a second time.
    """
    console.set_log_output(of_other_packages=True)
    console.set_quiet(quiet)


def _add_missing_tokens(path: Path, user_tokens: Mapping[str, str]) -> dict[str, str]:
    """Return every participant's token: from the user, from an earlier call, or a new token."""
    old_tokens = _read_tokens(path) if path.exists() else {}
    tokens = {
        name: token or old_tokens.get(name) or secrets.token_urlsafe(_TOKEN_BYTES)
        for name, token in user_tokens.items()
    }
    if len({*tokens.values()}) < len(tokens):
        remedy = f"Give each participant its own token, which is not in {path} either"
        raise InputError("two participants have the same token", field="--participants", remedy=remedy)
    return tokens


def _write_tokens(path: Path, tokens: Mapping[str, str]) -> None:
    """Write the tokens for the next call, including tokens of earlier calls."""
    old_tokens = _read_tokens(path) if path.exists() else {}
    old_umask = os.umask(0o077)  # new files, such as the file with tokens, can be read only by the user
    try:
        replace(path, (f"{name}\t{token}\n".encode() for name, token in {**old_tokens, **tokens}.items()))
    finally:
        os.umask(old_umask)


# --- export of a contest as tasks of other programs ---------------------------------------------------


_EXPORT_EXAMPLES = """
  ioi-eval export harbor examples/problems tasks
  ioi-eval export harbor packages/aplusb.zip tasks
  ioi-eval export harbor packages tasks --problem lanterns      then: harbor run -p tasks -a oracle
"""


@command(_EXPORT_EXAMPLES)
def export(
    form: Annotated[
        Literal["harbor"],
        typer.Argument(metavar="harbor", help="Format of the tasks: `harbor`."),
    ],
    source: Source,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder in which each task gets its own folder.")
    ],
    problems: Annotated[BenchmarkOptions, OptionGroup("Problems", only=("problems", "sample", "seed"))],
) -> None:
    """Write problem packages as tasks of Harbor, whose tests call `ioi-eval judge`.

    A task has the statement and the files that contestants get. Its tests run in a separate container, which
    an agent cannot reach. The reward is the share of the points.

    Exit code 0: the tasks are written; 2: bad input.
    """
    export_result = write_tasks(source, folder, choice=problems, store=open_store())
    for label, reason in export_result.left_out.items():
        console.print_line(f"note: {visible(label)} is excluded: {reason}")
    console.print_line(f"{format_count(len(export_result.tasks), 'task')} in {folder}")
    console.print_line("Copy a wheel of ioi_eval into the folder tests of each task (see docs/contest.md)")
