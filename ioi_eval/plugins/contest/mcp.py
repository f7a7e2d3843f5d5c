"""A contest's tools over the Model Context Protocol, with its SDK: standard input, or streamable HTTP.

Over HTTP a token identifies the participant. The contest decides which calls count or are refused, and which
results are reported.
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
from ioi_eval.integrations import require_extra
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
from ioi_eval.plugins.contest.episodes import convert_reply_to_dict
from ioi_eval.plugins.contest.tools import (
    TOOLS,
    Tool,
    copy_signature,
    read_parameter_descriptions,
    select_tools,
    test,
)

with require_extra("mcp"):
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
# Number of simultaneous requests that a participant may have in addition to its allowed calls.
_EXTRA_REQUESTS = 4
_ISSUER = "https://localhost"  # issuer of tokens, which the SDK requires; the contest itself issues them


def make_contest_mcp_server(
    contest: Contest, *, participant: str = "", tokens: Mapping[str, str] | None = None
) -> Any:
    """Return an MCP server for a contest: for a single participant, or for all participants with `tokens`.

    server = make_contest_mcp_server(contest, participant="otter")
    await server.run_stdio_async()
    """

    def session() -> Session:
        token = get_access_token() if tokens is not None else None
        return contest.session(participant if token is None else token.client_id)

    if tokens is None and not participant:
        raise InputError(
            "the participant's name is missing",
            field="participant",
            remedy="Name a participant, or give participants tokens",
        )
    security_options: dict[str, Any] = {}
    if tokens is not None:
        settings = AuthSettings(issuer_url=_ISSUER, resource_server_url=None)  # type: ignore[arg-type]
        security_options = {"token_verifier": _TokenVerifier(tokens), "auth": settings}
    server = _ContestServer(
        _TITLE, instructions=contest.rules.make_rules_text(), log_level="WARNING", **security_options
    )
    server.contest = contest
    for function, reply_type, tool_annotations in _list_tool_functions(contest, session):
        description = (function.__doc__ or "").partition("\n")[0]
        server.add_tool(
            function, description=description, annotations=tool_annotations, structured_output=True
        )
        server.reply_schemas[function.__name__] = _make_reply_schema(reply_type)
    for label in contest.problems:
        _add_statement(server, session, label)
    return server


class _ContestServer(MCPServer[Any]):
    """An MCP server that lists tools with enums of parameters and with schemas of replies.

    It has messages for wrong arguments. The SDK alone would return its parser's messages, and ignore unknown
    arguments such as `lang`.
    """

    def __init__(self, *positional: Any, **keywords: Any) -> None:
        super().__init__(*positional, **keywords)
        self.contest: Contest | None = None
        self.reply_schemas: dict[str, dict[str, Any]] = {}  # JSON schemas of replies, by tool

    async def list_tools(self) -> Any:
        tools = await super().list_tools()
        for tool in tools:
            tool.output_schema = self.reply_schemas[tool.name]
            # These enums do not restrict calls: the contest checks values, and accepts other names of a
            # language.
            for name, parameter in tool.input_schema.get("properties", {}).items():
                parameter["description"] = _PARAMETERS[name]
                if self.contest is not None and (values := _list_allowed_values(self.contest, name)):
                    parameter["enum"] = values
                if name == "language":
                    parameter.pop("default", None)  # remove the default "", which is not a value of the enum
        return tools

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        parameters_by_tool = {
            tool.name: tool.input_schema.get("properties", {}) for tool in await self.list_tools()
        }
        if name in parameters_by_tool and (
            unknown_arguments := [
                f"`{argument}`" for argument in arguments if argument not in parameters_by_tool[name]
            ]
        ):
            allowed_arguments = ", ".join(f"`{argument}`" for argument in parameters_by_tool[name]) or "none"
            message = (
                f"unknown arguments: {', '.join(unknown_arguments)}. The arguments are: {allowed_arguments}"
            )
            raise ToolError(f"Error executing tool {name}: {message}")
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            messages = (
                f"`{'.'.join(map(str, fault['loc']))}` {_ARGUMENT_ERRORS.get(fault['type'], fault['msg'])}"
                for fault in error.__cause__.errors()
            )
            raise ToolError(f"Error executing tool {name}: {'; '.join(messages)}") from None


# Messages about invalid arguments, by the type of pydantic's error.
_ARGUMENT_ERRORS = {
    "missing": "is missing",
    "string_type": "must be a string",
    "dict_type": "must be an object",
}
_ARGUMENT_ERRORS |= dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "must be a whole number")
_MAX_VALUES = 200  # maximum number of problems that are listed in the schema of a parameter
# Descriptions of the tools' parameters, by parameter.
_PARAMETERS = {
    "name": "The name of the text, as `statement` returns it.",
    "offset": "The offset of the first character.",
    **{name: text for tool in TOOLS for name, text in read_parameter_descriptions(tool).items()},
}


def _list_allowed_values(contest: Contest, parameter: str) -> list[str]:
    """Return the values of a parameter, or an empty list if any value is allowed."""
    if parameter == "problem" and len(contest.problems) <= _MAX_VALUES:
        return [*contest.problems]
    return sorted(contest.languages) if parameter == "language" else []


def _make_reply_schema(reply_type: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON schema of a reply, in which values may be missing."""
    _, definitions = msgspec.json.schema_components([reply_type], ref_template="#/$defs/{name}")
    schema = definitions.pop(reply_type.__name__)
    required_types = {"boolean", "integer", "number"}
    properties = schema["properties"]
    required_fields = [
        name for name in schema.get("required", []) if properties[name].get("type") in required_types
    ]
    return {**schema, "required": required_fields, "$defs": definitions}


class _TokenVerifier:
    """Finds participants by their tokens, in a time that does not depend on the token."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._tokens = {name: token.encode() for name, token in tokens.items()}

    async def verify_token(self, token: str) -> AccessToken | None:
        token_bytes = token.encode(errors="replace")
        participants = [
            name
            for name, expected_token in self._tokens.items()
            if hmac.compare_digest(expected_token, token_bytes)
        ]
        return AccessToken(token=token, client_id=participants[0], scopes=[]) if participants else None


def _list_tool_functions(
    contest: Contest, get_session: Callable[[], Session]
) -> Iterator[tuple[Callable[..., Any], type[msgspec.Struct], ToolAnnotations]]:
    """Yield functions for tools, the types of their replies, and hints for clients."""

    async def problems() -> dict[str, Any]:
        """List the problems, with your points, attempts and what is left."""
        return convert_reply_to_dict(ProblemList(problems=get_session().problems()))

    async def statement(problem: str) -> dict[str, Any]:
        """Read a problem: text, limits, languages, samples, files. `cut` lists what is not shown in full."""
        return await _reply_or_tool_error(
            lambda: get_session().statement(problem, characters=MAX_PART_LENGTH)
        )

    async def attachment(problem: str, name: str, offset: int = 0) -> dict[str, Any]:
        """Read a text of a problem from an offset: an attachment, a sample, or the rest of the statement."""
        return await _reply_or_tool_error(lambda: get_session().attachment(problem, name, offset))

    async def standing() -> dict[str, Any]:
        """Return your points, your calls in progress, the time left, and the scoreboard if shown."""
        return convert_reply_to_dict(get_session().standing())

    read_only_hints = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    state_change_hints = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
    yield problems, ProblemList, read_only_hints
    yield statement, Statement, read_only_hints
    yield attachment, TextPart, read_only_hints
    for tool in select_tools(contest.problems.values()):
        reply_type = get_type_hints(tool)["return"]
        yield (
            _make_tool_with_progress(tool, get_session),
            reply_type,
            read_only_hints if tool is test else state_change_hints,
        )
    yield standing, Standing, read_only_hints


def _make_tool_with_progress(tool: Tool, get_session: Callable[[], Session]) -> Any:
    """Return a tool as a function that reports progress to its client every few seconds."""

    async def call(context: Context[Any, Any], **arguments: Any) -> dict[str, Any]:
        progress_task = asyncio.create_task(_report_progress(context))
        try:
            return await _reply_or_tool_error(lambda: tool(get_session(), **arguments))
        finally:
            progress_task.cancel()

    copy_signature(call, tool, ["problem"])
    # The SDK passes its context as the argument with this annotation.
    call.__annotations__["context"] = Context
    return call


# Seconds between two notifications of progress; some clients give up after 30 s of silence.
_REPORT_INTERVAL_S = 5.0


async def _report_progress(context: Context[Any, Any]) -> None:
    for count in itertools.count(1):
        await asyncio.sleep(_REPORT_INTERVAL_S)
        try:
            await context.report_progress(count, message="waiting for its turn, or being judged")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # the client has left, but its call continues


async def _reply_or_tool_error(
    call: Callable[[], Awaitable[msgspec.Struct] | msgspec.Struct],
) -> dict[str, Any]:
    """Return a call's reply. A refused call is a tool error with the reason."""
    try:
        reply = call()
        return convert_reply_to_dict(reply if isinstance(reply, msgspec.Struct) else await reply)
    except (RefusedCall, UnjudgedCall) as error:
        raise ToolError(str(error)) from None


def _add_statement(server: MCPServer[Any], get_session: Callable[[], Session], label: str) -> None:
    uri = f"contest://problems/{quote(label, safe='')}"

    @server.resource(uri, name=label, description=f"The statement of {label}", mime_type="text/markdown")
    def read_statement() -> str:
        try:
            return as_markdown(get_session().statement(label, characters=MAX_PART_LENGTH))
        except RefusedCall as error:
            raise ResourceError(str(error)) from None


# --- standard input ----------------------------------------------------------------------------------


def start_stdin_forwarding() -> Callable[[], None]:
    """Replace standard input by a socket that forwards it, and return a function that closes the socket.

    The SDK reads standard input in a thread, which stops only when the input is closed.
    """
    if sys.stdin is None:  # if standard input is closed, its descriptor may belong to another file
        return lambda: None
    old_input, (writer, reader) = os.dup(0), socket.socketpair()
    with reader:
        os.dup2(reader.fileno(), 0)

    def close_input() -> None:
        with contextlib.suppress(OSError):  # the stream may already be closed
            writer.shutdown(socket.SHUT_WR)

    def forward_input() -> None:
        with contextlib.suppress(OSError):  # standard input may be closed or unreadable
            while chunk := os.read(old_input, 1 << 16):
                writer.sendall(chunk)
        close_input()

    threading.Thread(target=forward_input, daemon=True).start()
    return close_input


# --- streamable HTTP ---------------------------------------------------------------------------------


_GRACE_S = 0.2  # seconds for completing replies when the server stops


class _McpHttpServer(uvicorn.Server):
    """A uvicorn server that does not handle signals and does not wait for clients when it stops."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().call_later(_GRACE_S, self._abort_connections)
        await super().shutdown(sockets)
        for task in self.server_state.tasks:
            task.cancel()
        # Shut down the application here, because uvicorn would cancel this if it does not wait for clients.
        await self.lifespan.shutdown()

    def _abort_connections(self) -> None:
        """Close all connections: from Python 3.12 on, closing a server waits for its connections."""
        for connection in [*self.server_state.connections]:
            if (transport := connection.transport) is not None:
                transport.abort()


def listen(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """Return a socket that listens on a port, or on any free port for 0.

    Clients that connect before `serving` uses the socket wait. Raises InputError if listening is impossible.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    message, remedy = f"cannot listen on {host}:{port}", "Choose an address of this machine"
    try:
        socket.getaddrinfo(host, port, family)
    except (socket.gaierror, UnicodeError) as error:
        reason = "the address is not known"
        raise InputError(f"{message}: {reason}", field="host", remedy=remedy) from error
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        reason = os.strerror(error.errno or 0)  # the error's own message would repeat the address
        is_host_error = error.errno == errno.EADDRNOTAVAIL
        wrong_field, remedy = (
            ("host", remedy) if is_host_error else ("port", "Choose another address or port")
        )
        raise InputError(f"{message}: {reason}", field=wrong_field, remedy=remedy) from error


@contextlib.asynccontextmanager
async def serving(
    contest: Contest,
    tokens: Mapping[str, str],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    max_connections: int = 2_000,
    listening_socket: socket.socket | None = None,
) -> AsyncIterator[str]:
    """Serve a contest over streamable HTTP, and yield its address.

    The connection is closed after each request. A call that is being judged continues and counts if its
    client disconnects.

    Args:
        contest: The contest.
        tokens: Tokens by participant.
        host: The address to listen on.
        port: The port. 0 means any free port.
        listening_socket: A socket from `listen`, instead of a port. Leaving `async with` closes it.
        max_connections: Maximum number of connections. Each participant has an equal share of them, and all
            clients without a token together have another share.
    """
    app = make_contest_mcp_server(contest, tokens=tokens).streamable_http_app(
        streamable_http_path=_PATH, stateless_http=True, host=host
    )
    for logger_name in ("mcp.server.streamable_http", "uvicorn.error"):
        logging.getLogger(logger_name).addFilter(_should_log)
    max_requests = contest.rules.at_once + contest.rules.waiting + _EXTRA_REQUESTS
    connection_limits = _ConnectionLimits(max(max_requests, max_connections // (len(tokens) + 1)))
    # This middleware is added last, so that tokens are already checked when it runs.
    app.user_middleware += [
        Middleware(connection_limits.wrap_app),
        Middleware(_limit_requests, max_requests=max_requests),
    ]
    listening_socket = listening_socket or listen(host, port)
    config = uvicorn.Config(
        app,
        http=connection_limits.protocol_class(),
        ws="none",
        log_level="warning",
        access_log=False,
        proxy_headers=False,  # a client could forge its address with proxy headers
    )
    server = _McpHttpServer(config)
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve(sockets=[listening_socket]))
        try:
            url_host = f"[{host}]" if ":" in host else host
            yield f"http://{url_host}:{listening_socket.getsockname()[1]}{_PATH}"
        finally:
            server.should_exit = server.force_exit = True


def _should_log(record: logging.LogRecord) -> bool:
    """Return False for a log record about a disconnected client. Logging it takes a third of a second."""
    return not (record.exc_info and isinstance(record.exc_info[1], ClientDisconnect | asyncio.CancelledError))


class _ConnectionLimits:
    """Limits connections: `max_connections` for each participant, and for all unknown clients together.

    An unknown client has not sent a token yet. If there are too many, the oldest is disconnected, so that
    silent clients do not block participants. A participant with too many connections gets an error.
    """

    def __init__(self, max_connections: int) -> None:
        self._max_connections = max_connections
        self._unknown_clients: dict[Any, asyncio.Transport] = {}
        self._participants: dict[Any, str] = {}
        self._clients_by_name = defaultdict[str, set[Any]](set)

    def protocol_class(self) -> type[asyncio.Protocol]:
        """Return the protocol class that uvicorn instantiates for each connection."""
        limits = self

        class CountedProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
            def connection_made(self, transport: asyncio.Transport) -> None:
                super().connection_made(transport)
                limits._unknown_clients[self.client] = transport
                if len(limits._unknown_clients) > limits._max_connections:
                    limits._unknown_clients.pop(next(iter(limits._unknown_clients))).abort()

            def connection_lost(self, error: Exception | None) -> None:
                limits._forget_client(self.client)
                super().connection_lost(error)

        return CountedProtocol

    def wrap_app(self, app: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        """Wrap an application: refuse a participant's requests on more connections than its share."""

        async def limited_app(scope: Any, receive: Any, send: Any) -> None:
            token = get_access_token() if scope["type"] == "http" else None
            if token is None or self._admit_client(scope["client"], token.client_id):
                await app(scope, receive, send)
                return
            reply = {"error": f"You have {self._max_connections} open connections, the maximum. Close some."}
            await JSONResponse(reply, 429, {"Connection": "close"})(scope, receive, send)

        return limited_app

    def _admit_client(self, client: Any, name: str) -> bool:
        clients = self._clients_by_name[name]
        if client not in clients:
            if len(clients) >= self._max_connections:
                return False
            self._forget_client(client)
            self._participants[client] = name
            clients.add(client)
        return True

    def _forget_client(self, client: Any) -> None:
        self._unknown_clients.pop(client, None)
        if (name := self._participants.pop(client, None)) is not None:
            self._clients_by_name[name].discard(client)


def _limit_requests(app: Callable[..., Awaitable[None]], max_requests: int) -> Callable[..., Awaitable[None]]:
    """Wrap an application: refuse more than `max_requests` simultaneous requests of a participant.

    The SDK starts a stream and several tasks for each request, so a flood would delay everybody else.
    """
    slots = defaultdict[str, asyncio.Semaphore](lambda: asyncio.Semaphore(max_requests))

    async def limited_app(scope: Any, receive: Any, send: Any) -> None:
        token = get_access_token() if scope["type"] == "http" and scope["method"] == "POST" else None
        async with contextlib.nullcontext() if token is None else slots[token.client_id]:
            await app(scope, receive, send)

    return limited_app
