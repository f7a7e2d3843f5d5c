"""A contest's tools over the Model Context Protocol, by its own SDK: standard input, or streamable HTTP.

A participant is whoever brings its token. Everything that is told, counted or refused is the contest's.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hmac
import itertools
import logging
import os
import socket
import sys
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any, get_type_hints
from urllib.parse import quote

import msgspec

from ioi_eval.errors import InputError
from ioi_eval.integrations import needs
from ioi_eval.plugins.contest import (
    MAX_PART_LENGTH,
    Contest,
    ProblemList,
    RefusedCall,
    Session,
    Standing,
    Statement,
    TextPart,
    UnjudgedCall,
    as_markdown,
)
from ioi_eval.plugins.contest.episodes import plain
from ioi_eval.plugins.contest.tools import TOOLS, Tool, described, descriptions, test, tools_for

with needs("mcp"):
    import anyio
    import uvicorn
    from mcp.server.auth.middleware.auth_context import get_access_token
    from mcp.server.auth.provider import AccessToken
    from mcp.server.auth.settings import AuthSettings
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.mcpserver.exceptions import ResourceError, ToolError
    from mcp.types import ToolAnnotations
    from pydantic import ValidationError
    from starlette.middleware import Middleware
    from starlette.requests import ClientDisconnect
    from starlette.responses import JSONResponse
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

_TITLE = "ioi-eval contest"
_PATH = "/mcp"
_SPARE = 4  # requests of a participant at the same time, beside the calls that its rules let wait
_ISSUER = "https://localhost"  # the SDK asks who issues tokens: the contest itself does


def contest_server(
    contest: Contest, *, participant: str = "", tokens: Mapping[str, str] | None = None
) -> Any:
    """Return the SDK's server of a contest: for one participant, or by the `tokens` of each.

    server = contest_server(contest, participant="otter")
    await server.run_stdio_async()
    """

    def session() -> Session:
        token = get_access_token() if tokens is not None else None
        return contest.session(participant if token is None else token.client_id)

    if tokens is None and not participant:
        raise InputError(
            "nobody takes part", field="participant", remedy="Name a participant, or give tokens"
        )
    secured: dict[str, Any] = {}
    if tokens is not None:
        settings = AuthSettings(issuer_url=_ISSUER, resource_server_url=None)  # type: ignore[arg-type]
        secured = {"token_verifier": _Tokens(tokens), "auth": settings}
    server = _Tools(_TITLE, instructions=contest.rules.told(), log_level="WARNING", **secured)
    server.contest = contest
    for function, answer, hints in _tools(contest, session):
        about = (function.__doc__ or "").partition("\n")[0]
        server.add_tool(function, description=about, annotations=hints, structured_output=True)
        server.answers[function.__name__] = _schema(answer)
    for label in contest.problems:
        _add_statement(server, session, label)
    return server


class _Tools(MCPServer[Any]):
    """Lists tools with descriptions and enums of parameters and with schemas of answers.

    It says in its own words which argument of a call is wrong: the SDK hands on its parser's, and drops one
    that no tool has, such as `lang`.
    """

    def __init__(self, *positional: Any, **named: Any) -> None:
        super().__init__(*positional, **named)
        self.contest: Contest | None = None
        self.answers: dict[str, dict[str, Any]] = {}  # schemas, by tool

    async def list_tools(self) -> Any:
        tools = await super().list_tools()
        for tool in tools:
            tool.output_schema = self.answers[tool.name]
            # The contest checks the values itself and also takes other names of a language.
            for name, parameter in tool.input_schema.get("properties", {}).items():
                parameter["description"] = _PARAMETERS[name]
                if self.contest is not None and (values := _values(self.contest, name)):
                    parameter["enum"] = values
                if name == "language":
                    parameter.pop("default", None)  # "" is not among the values
        return tools

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        known = {tool.name: tool.input_schema.get("properties", {}) for tool in await self.list_tools()}
        if name in known and (unknown := [f"`{each}`" for each in arguments if each not in known[name]]):
            there = ", ".join(f"`{each}`" for each in known[name]) or "none"
            words = f"no such argument: {', '.join(unknown)}. There are: {there}"
            raise ToolError(f"Error executing tool {name}: {words}")
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            wrong = (
                f"`{'.'.join(map(str, each['loc']))}` {_WANTED.get(each['type'], each['msg'])}"
                for each in error.__cause__.errors()
            )
            raise ToolError(f"Error executing tool {name}: {'; '.join(wrong)}") from None


# What an argument lacks, by pydantic's name of the error.
_WANTED = {"missing": "is missing", "string_type": "must be a text", "dict_type": "must be an object"}
_WANTED |= dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "must be a whole number")
_MOST_VALUES = 200  # problems that an enum lists
# Descriptions of the tools' parameters.
_PARAMETERS = {
    "name": "The name of the text, as `statement` tells it.",
    "offset": "Where to begin, in characters.",
    **{name: text for tool in TOOLS for name, text in descriptions(tool).items()},
}


def _values(contest: Contest, parameter: str) -> list[str]:
    """Return the values of a parameter; none if it may have any."""
    if parameter == "problem" and len(contest.problems) <= _MOST_VALUES:
        return [*contest.problems]
    return sorted(contest.languages) if parameter == "language" else []


def _schema(answer: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON schema of an answer, which leaves out what is not told."""
    _, parts = msgspec.json.schema_components([answer], ref_template="#/$defs/{name}")
    schema = parts.pop(answer.__name__)
    always = {"boolean", "integer", "number"}
    found = schema["properties"]
    required = [name for name in schema.get("required", []) if found[name].get("type") in always]
    return {**schema, "required": required, "$defs": parts}


class _Tokens:
    """Tells participants by their tokens. How long it takes says nothing of them."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._tokens = {name: token.encode() for name, token in tokens.items()}

    async def verify_token(self, token: str) -> AccessToken | None:
        given = token.encode(errors="replace")
        found = [name for name, own in self._tokens.items() if hmac.compare_digest(own, given)]
        return AccessToken(token=token, client_id=found[0], scopes=[]) if found else None


def _tools(
    contest: Contest, session: Callable[[], Session]
) -> Iterator[tuple[Callable[..., Any], type[msgspec.Struct], ToolAnnotations]]:
    """Yield functions, the types of their answers, and hints for clients."""

    async def problems() -> dict[str, Any]:
        """List the problems, with your points, attempts and what is left."""
        return plain(ProblemList(problems=session().problems()))

    async def statement(problem: str) -> dict[str, Any]:
        """Read a problem: text, limits, languages, samples, files. `cut` lists what is not shown in full."""
        return await _answered(lambda: session().statement(problem, characters=MAX_PART_LENGTH))

    async def attachment(problem: str, name: str, offset: int = 0) -> dict[str, Any]:
        """Read a text of a problem from an offset: an attachment, a sample, or the rest of the statement."""
        return await _answered(lambda: session().attachment(problem, name, offset))

    async def standing() -> dict[str, Any]:
        """Tell your points, the calls in progress, the time left, and the scoreboard if the rules show it."""
        return plain(session().standing())

    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    writes = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
    yield problems, ProblemList, reads
    yield statement, Statement, reads
    yield attachment, TextPart, reads
    for tool in tools_for(contest.problems.values()):
        answer = get_type_hints(tool)["return"]
        yield _judging(tool, session), answer, reads if tool is test else writes
    yield standing, Standing, reads


def _judging(tool: Tool, session: Callable[[], Session]) -> Any:
    """Return a tool as a function that tells its client every few seconds that it goes on."""

    async def call(context: Context[Any, Any], **arguments: Any) -> dict[str, Any]:
        reporting = asyncio.create_task(_report(context))
        try:
            return await _answered(lambda: tool(session(), **arguments))
        finally:
            reporting.cancel()

    described(call, tool, ["problem"])
    call.__annotations__["context"] = Context  # the SDK passes what has this type
    return call


_REPORTING = 5.0  # seconds between two notifications of progress: some clients give up after 30 without any


async def _report(context: Context[Any, Any]) -> None:
    for number in itertools.count(1):
        await asyncio.sleep(_REPORTING)
        try:
            await context.report_progress(number, message="waiting for its turn, or being judged")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # the client has left: the call goes on


async def _answered(call: Callable[[], Awaitable[msgspec.Struct] | msgspec.Struct]) -> dict[str, Any]:
    """Return a call's answer. What the contest refuses is the tool's error, with its reason."""
    try:
        answer = call()
        return plain(answer if isinstance(answer, msgspec.Struct) else await answer)
    except (RefusedCall, UnjudgedCall) as error:
        raise ToolError(str(error)) from None


def _add_statement(server: MCPServer[Any], session: Callable[[], Session], label: str) -> None:
    uri = f"contest://problems/{quote(label, safe='')}"

    @server.resource(uri, name=label, description=f"The statement of {label}", mime_type="text/markdown")
    def read() -> str:
        try:
            return as_markdown(session().statement(label, characters=MAX_PART_LENGTH))
        except RefusedCall as error:
            raise ResourceError(str(error)) from None


# --- standard input ----------------------------------------------------------------------------------


def endable_input() -> Callable[[], None]:
    """Let standard input be handed on by a socket, and return what ends it.

    The SDK reads it in a thread, which nothing stops but its end.
    """
    if sys.stdin is None:  # it is closed: its number may be that of another file
        return lambda: None
    given, (ours, theirs) = os.dup(0), socket.socketpair()
    with theirs:
        os.dup2(theirs.fileno(), 0)

    def end() -> None:
        with contextlib.suppress(OSError):  # it has ended
            ours.shutdown(socket.SHUT_WR)

    def hand_on() -> None:
        with contextlib.suppress(OSError):  # it has ended, or cannot be read any more
            while piece := os.read(given, 1 << 16):
                ours.sendall(piece)
        end()

    threading.Thread(target=hand_on, daemon=True).start()
    return end


# --- streamable HTTP ---------------------------------------------------------------------------------


_GRACE = 0.2  # seconds for answers that are being written


class _Server(uvicorn.Server):
    """Leaves signals to whoever started it, and waits for no client when it ends."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().call_later(_GRACE, self._leave)
        await super().shutdown(sockets)
        for task in self.server_state.tasks:
            task.cancel()
        await self.lifespan.shutdown()  # which a server that waits for nobody leaves to be cancelled

    def _leave(self) -> None:
        """End what is still connected: from Python 3.12 on a server is waited for until nobody is."""
        for connection in [*self.server_state.connections]:
            if (transport := connection.transport) is not None:
                transport.abort()


def listen(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """Take a port, before anything is opened that must not be where there is none. Port 0: any free one.

    Clients that come before `serving` has the socket wait for it.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    what, remedy = f"cannot listen on {host}:{port}", "Choose an address of this machine"
    try:
        socket.getaddrinfo(host, port, family)
    except (socket.gaierror, UnicodeError) as error:
        reason = "the address is not known"
        raise InputError(f"{what}: {reason}", field="host", remedy=remedy) from error
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        reason = os.strerror(error.errno or 0)  # the error's own text repeats the address
        of_host = error.errno == errno.EADDRNOTAVAIL
        field, remedy = ("host", remedy) if of_host else ("port", "Choose another address or port")
        raise InputError(f"{what}: {reason}", field=field, remedy=remedy) from error


@contextlib.asynccontextmanager
async def serving(
    contest: Contest,
    tokens: Mapping[str, str],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    connections: int = 2_000,
    listening: socket.socket | None = None,
) -> AsyncIterator[str]:
    """Serve a contest over streamable HTTP; yield its address. Port 0: any free one.

    `listening`: what `listen` gave for this host, in place of a port. It is closed at the end.

    No connection is kept between two requests of a client. A call that is being judged goes on and counts if
    its client is lost. Each participant has an equal share of the `connections`, and so have all that have
    not shown a token.
    """
    app = contest_server(contest, tokens=tokens).streamable_http_app(
        streamable_http_path=_PATH, stateless_http=True, host=host
    )
    for logs in ("mcp.server.streamable_http", "uvicorn.error"):
        logging.getLogger(logs).addFilter(_worth_a_line)
    most = contest.rules.at_once + contest.rules.waiting + _SPARE
    guests = _Guests(max(most, connections // (len(tokens) + 1)))
    # The last ones: tokens are known.
    app.user_middleware += [Middleware(guests.seated), Middleware(_queued, most=most)]
    listening = listening or listen(host, port)
    config = uvicorn.Config(
        app,
        http=guests.protocol(),
        ws="none",
        log_level="warning",
        access_log=False,
        proxy_headers=False,  # by which a client could bear another one's address
    )
    server = _Server(config)
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve(sockets=[listening]))
        try:
            name = f"[{host}]" if ":" in host else host
            yield f"http://{name}:{listening.getsockname()[1]}{_PATH}"
        finally:
            server.should_exit = server.force_exit = True


def _worth_a_line(record: logging.LogRecord) -> bool:
    """Tell what need not be logged: clients that leave while they are read, or are left when the server ends.

    Each cost a third of a second.
    """
    return not (record.exc_info and isinstance(record.exc_info[1], ClientDisconnect | asyncio.CancelledError))


class _Guests:
    """The connections to a contest: of each participant at most `share`, and of strangers as many.

    A stranger has not shown a token yet. One too many of them costs the oldest its place, so that those who
    say nothing keep nobody out; a participant's one too many is told so.
    """

    def __init__(self, share: int) -> None:
        self._share = share
        self._strangers: dict[Any, asyncio.Transport] = {}
        self._names: dict[Any, str] = {}
        self._places = defaultdict[str, set[Any]](set)

    def protocol(self) -> type[asyncio.Protocol]:
        """Return what uvicorn makes for each connection."""
        guests = self

        class Greeted(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
            def connection_made(self, transport: asyncio.Transport) -> None:
                super().connection_made(transport)
                guests._strangers[self.client] = transport
                if len(guests._strangers) > guests._share:
                    guests._strangers.pop(next(iter(guests._strangers))).abort()

            def connection_lost(self, error: Exception | None) -> None:
                guests._goes(self.client)
                super().connection_lost(error)

        return Greeted

    def seated(self, app: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        """Let a participant's requests in by as many connections as its share."""

        async def served(scope: Any, receive: Any, send: Any) -> None:
            token = get_access_token() if scope["type"] == "http" else None
            if token is None or self._takes_place(scope["client"], token.client_id):
                await app(scope, receive, send)
                return
            words = {"error": f"You have {self._share} connections open, which is the most. Close some."}
            await JSONResponse(words, 429, {"Connection": "close"})(scope, receive, send)

        return served

    def _takes_place(self, client: Any, name: str) -> bool:
        places = self._places[name]
        if client not in places:
            if len(places) >= self._share:
                return False
            self._goes(client)
            self._names[client] = name
            places.add(client)
        return True

    def _goes(self, client: Any) -> None:
        self._strangers.pop(client, None)
        if (name := self._names.pop(client, None)) is not None:
            self._places[name].discard(client)


def _queued(app: Callable[..., Awaitable[None]], most: int) -> Callable[..., Awaitable[None]]:
    """Let `most` requests of a participant in at the same time: the others wait, and are not read.

    The SDK starts a stream and several tasks for each: it would serve a whole flood before anybody else.
    """
    rooms = defaultdict[str, asyncio.Semaphore](lambda: asyncio.Semaphore(most))

    async def served(scope: Any, receive: Any, send: Any) -> None:
        token = get_access_token() if scope["type"] == "http" and scope["method"] == "POST" else None
        async with contextlib.nullcontext() if token is None else rooms[token.client_id]:
            await app(scope, receive, send)

    return served
