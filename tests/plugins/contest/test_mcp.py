"""A contest over MCP with the SDK's own client: over HTTP with tokens, and over standard input."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import signal
import socket
import struct
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from requirements import skip_or_fail_in_ci
from support.clocks import Clock, FastForwardClock
from support.command_line import CommandLine
from support.waiting import until
from support.warm_command import WarmCommand
from test_contest import FILES, GRADED, PROBLEMS, SECRET, SUM, HeldEngine, outcome

from ioi_eval import InputError, Scorer
from ioi_eval.cli import main
from ioi_eval.models import Blob, NamedBlob, Problem
from ioi_eval.plugins.contest import Contest, Feedback, Rules, as_markdown
from ioi_eval.store.folder import read_rows
from ioi_eval.store.resources import examples_folder
from ioi_eval.testing import FakeEngine

try:
    import httpx2
    from mcp import Client, MCPError, StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamable_http_client

    from ioi_eval.plugins.contest.mcp import make_contest_mcp_server, serving, start_stdin_forwarding
except ModuleNotFoundError:
    skip_or_fail_in_ci("mcp")

TOKENS = {"otter": "otters-token", "heron": "herons-token"}
CODE = "wrong:3"
TOOLS = ["problems", "statement", "run", "test", "submit", "standing"]


@asynccontextmanager
async def served(
    rules: Rules | None = None,
    engine: FakeEngine | None = None,
    problems: Mapping[str, Problem] = PROBLEMS,
) -> AsyncIterator[str]:
    async with Scorer(engine or FakeEngine(outcome)) as scorer:
        contest = Contest(problems, rules, judge=scorer.judge, participants=TOKENS, clock=Clock())
        async with serving(contest, TOKENS) as address:
            yield address


@asynccontextmanager
async def client(address: str, token: str, mode: str = "auto") -> AsyncIterator[Any]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120) as http,
        Client(streamable_http_client(address, http_client=http), mode=mode) as connected,
    ):
        yield connected


async def told(client_of_contest: Any, tool: str, **arguments: Any) -> Any:
    """Call a tool, and return its structured reply, or its error as a string."""
    result = await client_of_contest.call_tool(tool, arguments)
    content = "".join(block.text for block in result.content)
    return content if result.is_error else json.loads(content)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_mcp_contest_over_http_offers_tools_and_statements(mode: str) -> None:
    async with served(Rules(submissions=2)) as address, client(address, TOKENS["otter"], mode) as otter:
        tools = (await otter.list_tools()).tools
        assert {tool.name for tool in tools} == {"attachment", *TOOLS}
        assert all(tool.description for tool in tools)
        statements = (await otter.list_resources()).resources
        assert [statement.name for statement in statements] == ["sum", "graded"]
        (content,) = (await otter.read_resource(str(statements[0].uri))).contents
        assert "Add two numbers." in content.text and "## Sample 0-a" in content.text
        assert (await told(otter, "statement", problem="graded"))["attachments"] == {
            "graded.h": "int add(int, int);"
        }
        first = await told(otter, "submit", problem="sum", code=CODE)
        assert (first["points"], first["submissions_left"], first["number"]) == (40, 1, 1)
        assert (await told(otter, "submit", problem="sum", code=CODE))["repeats"]
        assert (await told(otter, "run", problem="sum", code="a", input="7"))["ended"] == "completed"
        assert (await told(otter, "test", problem="sum", code="a"))["samples"][0]["verdict"] == "AC"
        assert "no problem 'other'" in await told(otter, "submit", problem="other", code="a")
        assert (await told(otter, "standing"))["points"] == 40
        assert (await told(otter, "problems"))["problems"][0]["attempts"] == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "`problem` is missing"),
        ({"problem": "sum", "code": ["a"]}, "`code` must be a string"),
        ({"problem": 5, "outputs": {"1": 5}}, "`problem` must be a string; `outputs.1` must be a string"),
        ({"problem": "sum", "outputs": "a"}, "`outputs` must be an object"),
        (
            {"problem": "sum", "code": "x", "lang": "python"},
            "unknown arguments: `lang`. The arguments are: `problem`, `code`, `language`, `outputs`",
        ),
    ],
)
async def test_invalid_tool_argument_is_named_in_the_error(arguments: dict[str, Any], says: str) -> None:
    async with served() as address, client(address, TOKENS["otter"]) as otter:
        assert await told(otter, "submit", **arguments) == f"Error executing tool submit: {says}"


async def test_mcp_tools_describe_parameters_and_replies() -> None:
    async with served() as address, client(address, TOKENS["otter"]) as otter:
        tools = {tool.name: tool for tool in (await otter.list_tools()).tools}
    for tool in tools.values():
        assert all(parameter["description"] for parameter in tool.input_schema["properties"].values()), (
            tool.name
        )
        assert tool.output_schema["type"] == "object" and tool.output_schema["properties"], tool.name
        assert tool.annotations.read_only_hint is (tool.name not in {"run", "submit"})
    submit = tools["submit"].input_schema
    assert submit["properties"]["problem"]["enum"] == ["sum", "graded"] and submit["required"] == ["problem"]
    languages = submit["properties"]["language"]["enum"]
    assert {"c++", "python"} <= {*languages} and "default" not in submit["properties"]["language"]
    assert {"points", "points_max", "submissions_left"} <= {*tools["submit"].output_schema["properties"]}
    assert "runs_left" in tools["run"].output_schema["properties"]


async def test_run_tool_is_not_offered_if_no_problem_allows_own_inputs() -> None:
    async with (
        served(problems={"graded": GRADED, "files": FILES}) as address,
        client(address, TOKENS["otter"]) as otter,
    ):
        assert "run" not in {tool.name for tool in (await otter.list_tools()).tools}
        assert "Unknown tool" in await told(otter, "run", problem="graded", code="a")


@pytest.mark.nightly(unless="u9648")
@pytest.mark.parametrize("letter", ["x", "\u00e9", "\u9648"])
async def test_long_statement_is_read_in_parts(letter: str) -> None:
    statement_text = "".join(f"{number} {letter}\n" for number in range(40_000))
    header = NamedBlob(name="long.h", content=Blob.of("int f();" * 10_000))
    notes = NamedBlob(name="statement.md", content=Blob.of("notes"))
    long = msgspec.structs.replace(SUM, statement=Blob.of(statement_text), attachments=(header, notes))
    async with served(problems={"sum": long}) as address, client(address, TOKENS["otter"]) as otter:
        answer = await otter.call_tool("statement", {"problem": "sum"})
        assert len(answer.content[0].text) < 100_000
        statement = json.loads(answer.content[0].text)
        cut = {attachment["name"]: attachment for attachment in statement["cut"]}
        assert cut["long.h"]["characters"] == 80_000 and cut["_statement.md"]["characters"] == len(
            statement_text
        )
        pieces, offset = [statement["text"]], cut["_statement.md"]["shown"]
        call = f"attachment(problem='sum', name='_statement.md', offset={offset})"
        assert cut["_statement.md"]["read_rest"] == call
        while offset is not None:
            piece = await told(otter, "attachment", problem="sum", name="_statement.md", offset=offset)
            assert piece["offset"] == offset and len(piece["text"]) <= 1 << 16
            pieces.append(piece["text"])
            offset = piece.get("next_offset")
        assert "".join(pieces) == statement_text
        notes_read = await told(otter, "attachment", problem="sum", name="statement.md")
        assert notes_read == {"name": "statement.md", "characters": 5, "offset": 0, "text": "notes"}
        for wrong, message in (
            ({"name": "hidden"}, "sum has no text named 'hidden': its texts are _statement.md"),
            ({"name": "long.h", "offset": -1}, "the offset must be 0 to 80000, not -1"),
            ({"name": "long.h", "offset": 80_001}, "the offset must be 0 to 80000, not 80001"),
            ({"name": "long.h", "offset": "x"}, "`offset` must be a whole number"),
        ):
            assert message in await told(otter, "attachment", problem="sum", **wrong)
        (resource,) = (await otter.list_resources()).resources
        (resource_content,) = (await otter.read_resource(str(resource.uri))).contents
        assert len(resource_content.text) < 100_000 and call in resource_content.text


async def test_mcp_client_gets_progress_while_submission_is_judged() -> None:
    engine, reports, clock = HeldEngine("run"), asyncio.Queue[float](), FastForwardClock()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        reports.put_nowait(progress)

    async with served(engine=engine) as address, client(address, TOKENS["otter"]) as otter:
        program = {"problem": "sum", "code": CODE}
        call = asyncio.create_task(otter.call_tool("submit", program, progress_callback=note))
        await engine.reached.wait()
        for number in (1, 2):
            await clock.advance(5.5)
            assert await reports.get() == number
        assert not call.done()
        engine.go.set()
        assert not (await call).is_error


async def test_participant_is_identified_by_bearer_token() -> None:
    async with served(Rules(scoreboard=True)) as address:
        async with client(address, TOKENS["otter"]) as otter, client(address, TOKENS["heron"]) as heron:
            await asyncio.gather(
                told(otter, "submit", problem="sum", code=CODE),
                told(heron, "submit", problem="sum", code="all"),
            )
            assert (await told(otter, "standing"))["points"] == 40
            board = (await told(heron, "standing"))["scoreboard"]
            assert [(entry["participant"], entry["points"]) for entry in board] == [
                ("heron", 100),
                ("otter", 40),
            ]
        for token in ("", "otter", "otters-toke", "otters-token2", "\u00e9"):
            async with httpx.AsyncClient() as http:
                headers = {"Authorization": f"Bearer {token}".encode()} if token else {}
                answer = await http.post(
                    address, headers=headers, json={"jsonrpc": "2.0", "id": 1, "method": "ping"}
                )
                assert answer.status_code == 401 and "otters-token" not in answer.text


async def test_hostile_mcp_requests_are_refused_without_cost() -> None:
    """The server continues, no request counts, and no reply contains data of other participants."""
    async with served(Rules(feedback=Feedback.FULL)) as address:
        async with httpx.AsyncClient(headers={"Authorization": "Bearer otters-token"}) as http:
            accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
            statuses = [
                (await http.post(address, headers=accept, content=body)).status_code
                for body in (b"", b"{", b"[" * 100_000, b"\xff\xfe", b'{"jsonrpc":"2.0"}', b"7" * (5 << 20))
            ]
            assert all(400 <= status < 500 for status in statuses) and statuses[-1] == 413
        async with client(address, TOKENS["otter"]) as otter:
            for arguments in (
                {},
                {"problem": "sum"},
                {"problem": 7, "code": []},
                {"problem": "sum", "code": "x" * 200_000},
                {"problem": "sum\x00\x1b[31m\u202e", "code": "x"},
                {"problem": "sum", "code": "x", "outputs": {"1-a": "3"}},
                {"problem": "sum", "code": "x", "participant": "heron", "language": "no"},
                {"problem": "sum", "code": "break"},
            ):
                message = await told(otter, "submit", **arguments)
                assert isinstance(message, str) and SECRET not in message and "\x1b" not in message
            assert "Unknown tool" in await told(otter, "hidden_tests")
            for uri in ("contest://problems/other", "contest://problems/..%2Fsum", "file:///etc/passwd"):
                with pytest.raises(MCPError):
                    await otter.read_resource(uri)
            assert (await told(otter, "standing"))["points"] == 0


HANGING_UP = ("cancels", "closes", "resets")


@pytest.mark.parametrize("way", HANGING_UP)
async def test_submission_of_disconnected_mcp_client_counts(way: str) -> None:
    engine = HeldEngine("run")
    async with served(Rules(at_once=1, waiting=1, submissions=2), engine) as address:
        await hang_up_over_http(address, way, engine.reached)
        async with client(address, TOKENS["otter"]) as otter:
            current = (await told(otter, "standing"))["in_progress"]
            assert current == [{"problem": "sum", "call": "submit", "number": 1}]
            engine.go.set()
            repeated_reply = await told(otter, "submit", problem="sum", code=CODE)
            assert repeated_reply["repeats"] and (
                repeated_reply["number"],
                repeated_reply["points"],
                repeated_reply["submissions_left"],
            ) == (
                1,
                40,
                1,
            )
            standing = await told(otter, "standing")
            assert standing["points"] == 40 and "in_progress" not in standing


async def hang_up_over_http(address: str, way: str, reached: asyncio.Event) -> None:
    """Submit, and disconnect while the submission is judged, with the SDK's client or a bare connection."""
    if way == "cancels":
        async with client(address, TOKENS["otter"]) as otter:
            call = asyncio.create_task(told(otter, "submit", problem="sum", code=CODE))
            await reached.wait()
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
        return
    program = {"name": "submit", "arguments": {"problem": "sum", "code": CODE}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": program})
    url = httpx.URL(address)
    _, writer = await asyncio.open_connection(url.host, url.port)
    for line in (
        *("POST /mcp HTTP/1.1", f"Host: {url.host}:{url.port}", "Authorization: Bearer otters-token"),
        *("Accept: application/json, text/event-stream", "Content-Type: application/json"),
        *(f"Content-Length: {len(body)}", ""),
    ):
        writer.write(f"{line}\r\n".encode())
    writer.write(body.encode())
    await reached.wait()
    if way == "resets":
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.close()
    await writer.wait_closed()


async def test_contest_server_without_participants_is_refused() -> None:
    async with Scorer(FakeEngine()) as scorer:
        with pytest.raises(InputError, match="the participant's name is missing"):
            make_contest_mcp_server(Contest(PROBLEMS, judge=scorer.judge))


async def test_contest_server_on_used_port_is_input_error() -> None:
    async with Scorer(FakeEngine()) as scorer, served() as address:
        port = int(re.findall(r":(\d+)/", address)[0])
        with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1:{port}"):
            async with serving(Contest(PROBLEMS, judge=scorer.judge), TOKENS, port=port):
                pass


async def test_statement_as_markdown_has_title_and_no_control_characters() -> None:
    async with Scorer(FakeEngine()) as scorer:
        statement = Contest(PROBLEMS, judge=scorer.judge).session("x").statement("graded")
    markdown = as_markdown(statement)
    assert markdown.startswith("# Sum") and "\x1b" not in markdown and "Languages: c++." in markdown


# --- the command -------------------------------------------------------------------------------------

GARLAND = str(examples_folder() / "problems" / "garland")
# An agent: it submits the requested program, and leaves a different program.
AGENT = """
import json, os, pathlib, urllib.request
server = json.loads(pathlib.Path(".mcp.json").read_text())["mcpServers"]["contest"]
assert server["url"] == os.environ["IOI_EVAL_MCP_URL"]
assert server["headers"]["Authorization"] == "Bearer " + os.environ["IOI_EVAL_MCP_TOKEN"]
code = {"problem": "garland", "code": "int main( {"}
call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "submit", "arguments": code}}
kinds = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
asked = urllib.request.Request(server["url"], json.dumps(call).encode(), {**server["headers"], **kinds})
[answer] = [line for line in urllib.request.urlopen(asked).read().splitlines() if line.startswith(b"data: {")]
print(json.loads(answer[6:])["result"]["content"][0]["text"])
pathlib.Path("solution.cpp").write_text("int main( { return 0; }")
"""


@pytest.fixture(scope="module")
def warm() -> Iterator[WarmCommand]:
    """Return a forking process that has preloaded the SDK and the modules of reports."""
    ours = (f"ioi_eval.{name}" for name in ("plugins.contest.command", "cli.run", "plugins.contest.mcp"))
    late = ("anyio._backends._asyncio", "rich.logging", "uvicorn.lifespan.on", "typer._adapters")
    opened = WarmCommand(*ours, *late, "markdown_it", "pandas", "pyarrow.parquet")
    yield opened
    opened.close()


def test_run_command_with_agent_records_its_submissions(
    warm: WarmCommand, cli: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    agent = f"{sys.executable} {tmp_path}/agent.py"
    arguments = ["run", "-b", GARLAND, "--command", agent, "--out", "cup", "--turns", "2"]
    completed = warm.run(arguments, cli.folder, cli.env)
    (folder,) = (tmp_path / "cup" / "agents").iterdir()
    assert completed.returncode == 0, completed.stderr + (folder / "agent.log").read_text()
    rows = [json.loads(line) for line in (tmp_path / "cup" / "results.jsonl").open()]
    assert [row["code"] for row in rows] == ["int main( {", "int main( { return 0; }"]
    assert "The problem is called `garland`." in (folder / "problem.md").read_text()
    assert '"submissions_left": 1' in (folder / "agent.log").read_text()
    assert warm.run(arguments, cli.folder, cli.env).returncode == 0
    assert len((tmp_path / "cup" / "turns.jsonl").read_text().splitlines()) == 1


def test_contest_serve_speaks_mcp_over_standard_input(warm: WarmCommand, cli: CommandLine) -> None:
    arguments = ["contest", "serve", GARLAND, "--out", "cup", "--stdio", "otter", "--submissions", "3"]
    server = warm.start(arguments, cli.folder, cli.env, listens=True)
    assert server.stdin is not None

    def answered(method: str, **params: Any) -> Any:
        call = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
        print(json.dumps(call), file=server.stdin, flush=True)
        return json.loads(server.stdout.readline())["result"]

    about = {"clientInfo": {"name": "otter", "version": "1"}, "capabilities": {}}
    assert answered("initialize", protocolVersion="2025-06-18", **about)["serverInfo"]["name"]
    program = {"problem": "garland", "code": "int main( {"}
    (content,) = answered("tools/call", name="submit", arguments=program)["content"]
    assert (
        json.loads(content["text"])["compiles"] is False
        and json.loads(content["text"])["submissions_left"] == 2
    )
    server.stdin.close()
    assert (*server.communicate(), server.returncode) == ("", "", 0)
    (row,) = read_rows(cli.folder / "cup")
    assert row["participant"] == "otter"


def test_submission_in_progress_when_standard_input_closes_counts(
    warm: WarmCommand, cli: CommandLine
) -> None:
    """The server stops after the submission is judged, and the report contains it."""
    arguments = ["contest", "serve", GARLAND, "--out", "cup", "--stdio", "otter"]
    server = warm.start(arguments, cli.folder, cli.env, listens=True)
    assert server.stdin is not None
    about = {"clientInfo": {"name": "otter", "version": "1"}, "capabilities": {}}
    opening = {"protocolVersion": "2025-06-18", **about}
    print(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}), file=server.stdin
    )
    server.stdin.flush()
    server.stdout.readline()
    # Its compilation lasts a moment, and is not in the build cache.
    code = f"#include <vector>\nint main( {{ // {time.monotonic_ns()}"
    program = {"name": "submit", "arguments": {"problem": "garland", "code": code}}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": program}
    print(json.dumps(call), file=server.stdin, flush=True)
    begun = cli.folder / "cup" / "in-progress"
    while not any(begun.glob("[!.]*")) and not any(read_rows(cli.folder / "cup")):
        assert server.poll() is None
    server.stdin.close()
    server.communicate()
    assert server.returncode == 0
    (row,) = read_rows(cli.folder / "cup")
    assert row["participant"] == "otter" and not any(begun.iterdir())


async def test_sigterm_ends_contest_serve_while_a_client_is_connected(
    warm: WarmCommand, cli: CommandLine
) -> None:
    arguments = ["contest", "serve", GARLAND, "--out", "cup", "--stdio", "otter"]
    server = warm.start(arguments, cli.folder, cli.env, listens=True)
    assert server.stdin is not None
    print('{"jsonrpc": "2.0", "id": 1, "method": "ping"}', file=server.stdin, flush=True)
    assert json.loads(server.stdout.readline())["id"] == 1
    server.send_signal(signal.SIGTERM)
    try:
        await until(lambda: server.poll() is not None)
    finally:
        server.stdin.close()
    assert server.returncode == 0
    assert (cli.folder / "cup" / "report.md").is_file()


def test_closed_standard_input_is_not_forwarded(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin_before = os.fstat(0)
    monkeypatch.setattr(sys, "stdin", None)
    start_stdin_forwarding()()
    assert os.path.samestat(stdin_before, os.fstat(0))


@pytest.mark.nightly
async def test_mcp_client_starts_contest_serve_as_subprocess(cli: CommandLine, tmp_path: Path) -> None:
    serve = ["contest", "serve", GARLAND, "--out", str(tmp_path / "cup")]
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "ioi_eval", *serve, "--stdio", "otter", "--submissions", "3"],
        env={**os.environ, "IOI_EVAL_CACHE": str(cli.cache), "PYTHONPATH": ":".join(filter(None, sys.path))},
    )
    async with Client(stdio_client(parameters)) as otter:
        assert (await told(otter, "submit", problem="garland", code="int main( {"))["compiles"] is False
        assert (await told(otter, "problems"))["problems"][0]["submissions_left"] == 2
    rows = [json.loads(line) for line in (tmp_path / "cup" / "results.jsonl").open()]
    assert [row["participant"] for row in rows] == ["otter"]


async def one_life(warm: WarmCommand, cli: CommandLine, number: int, ending: signal.Signals) -> str:
    """Serve a contest for its `number`-th submission, send a signal, and return the last output."""
    (cli.folder / "names").write_text("# who\r\notter\tchosen-token-16ch\r\nheron\r\n")
    arguments = ["contest", "serve", GARLAND, "--participants", "names", "--out", "cup", "--port", "0"]
    server = warm.start(arguments, cli.folder, cli.env)
    try:
        address = re.findall(r"contest at (\S+),", server.stdout.readline())[0]
        async with client(address, "chosen-token-16ch") as otter:
            arguments = await told(otter, "submit", problem="garland", code=f"int main( {{ // {number}")
            assert arguments["number"] == number
        # A request is half sent: the server does not wait for its client, and logs no error.
        port = httpx.URL(address).port
        reader, half = await asyncio.open_connection("127.0.0.1", port)
        for line in (
            *("POST /mcp HTTP/1.1", f"Host: 127.0.0.1:{port}", "Authorization: Bearer chosen-token-16ch"),
            *("Content-Length: 9", "Expect: 100-continue", ""),
        ):
            half.write(f"{line}\r\n".encode())
        assert b" 100 " in await reader.readline()
    finally:
        server.send_signal(ending)
        output, complaints = server.communicate()
    half.close()
    assert "Traceback" not in complaints and "ERROR" not in complaints, complaints
    assert server.returncode == (0 if ending is signal.SIGTERM else -ending)
    return output


async def test_killed_contest_server_resumes_with_its_tokens(warm: WarmCommand, cli: CommandLine) -> None:
    await one_life(warm, cli, 1, signal.SIGKILL)
    output = await one_life(warm, cli, 2, signal.SIGTERM)
    assert "report.md" in output
    assert re.search(r"^place +participant +points\n( +\d .*\n)* +1 +otter +\d", output, re.MULTILINE), output
    cup, tokens = cli.folder / "cup", cli.folder / "cup" / "tokens.tsv"
    assert tokens.read_text().startswith("otter\tchosen-token-16ch\nheron\t")
    assert tokens.stat().st_mode & 0o077 == 0
    assert files_with("chosen-token-16ch", cup) == [tokens]


COUNTED_BY_THE_COMPILER = """
constexpr long count() {
    long sum = 0;
    for (int i = 0; i < 1000; ++i) for (int j = 0; j < 1000; ++j) sum += i ^ j;
    return sum;
}
static_assert(count() == 0);
"""


@pytest.mark.nightly  # slow compilation; test_open_contest kills a running contest as well
async def test_submission_in_progress_at_server_stop_is_judged_by_next_start(
    warm: WarmCommand, cli: CommandLine
) -> None:
    """Its compilation lasts a second or more and fails. The server is stopped before that."""
    (cli.folder / "names").write_text("otter\tchosen-token-16ch\n")
    arguments = ["contest", "serve", GARLAND, "--participants", "names", "--out", "cup", "--port", "0"]
    begun = cli.folder / "cup" / "in-progress"
    server = warm.start(arguments, cli.folder, cli.env)
    try:
        address = re.findall(r"contest at (\S+),", server.stdout.readline())[0]
        async with client(address, "chosen-token-16ch") as otter:
            program = {"problem": "garland", "code": COUNTED_BY_THE_COMPILER}
            call = asyncio.create_task(told(otter, "submit", **program))
            await until(lambda: any(begun.glob("[!.]*.json")))
            server.send_signal(signal.SIGTERM)
            output, _ = server.communicate()
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
    finally:
        server.kill()
    assert "note: 1 submission in progress: the same command judges them" in output
    assert list(read_rows(cli.folder / "cup")) == []
    server = warm.start(arguments, cli.folder, cli.env)
    try:
        await until(lambda: not any(begun.iterdir()))
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate()
    (row,) = read_rows(cli.folder / "cup")
    assert (row["key"], row["verdict"]) == ("otter/garland#1", "CE")


def test_raising_the_number_of_participants_keeps_names_and_tokens(
    warm: WarmCommand, cli: CommandLine
) -> None:
    token_tables = []
    for number in ("9", "100"):
        arguments = ["contest", "serve", GARLAND, "--participants", number, "--out", "cup", "--port", "0"]
        server = warm.start(arguments, cli.folder, cli.env)
        assert "contest at" in server.stdout.readline()
        server.send_signal(signal.SIGTERM)
        server.communicate()
        lines = (cli.folder / "cup" / "tokens.tsv").read_text().splitlines()
        token_tables.append(dict(line.split("\t") for line in lines))
    assert token_tables[0].items() < token_tables[1].items()
    assert token_tables[1].keys() - token_tables[0].keys() == {f"p{number}" for number in range(10, 101)}


async def test_full_disk_is_reported_to_the_operator(warm: WarmCommand, cli: CommandLine) -> None:
    """A file size limit has the effect of a full disk: only the first row fits into results.jsonl."""
    (cli.folder / "names").write_text("otter\tchosen-token-16ch\n")
    arguments = ["contest", "serve", GARLAND, "--participants", "names", "--out", "cup", "--port", "0"]
    server = warm.start([*arguments, "--quiet"], cli.folder, cli.env)
    codes = [f"int main( {{ // {number} {'x' * 90_000}" for number in range(3)]
    try:
        address = re.findall(r"contest at (\S+),", server.stdout.readline())[0]
        async with client(address, "chosen-token-16ch") as otter:
            file_size_limits = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (150_000, file_size_limits[1]))
            answers = [await told(otter, "submit", problem="garland", code=code) for code in codes]
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, file_size_limits)
            second_reply = await told(otter, "submit", problem="garland", code=codes[1])
    finally:
        server.send_signal(signal.SIGTERM)
        _, complaints = server.communicate()
    assert answers[0]["number"] == 1 and second_reply["number"] == 2
    assert all("the judge failed; this costs nothing" in answer for answer in answers[1:])
    (line,) = complaints.splitlines()
    assert line.startswith("a tool call was not answered") and line.endswith("(logged once)")
    assert "cup/results.jsonl: the file cannot be written: No space left on device. Free space" in line


def files_with(secret_text: str, folder: Path) -> list[Path]:
    return [
        path for path in folder.rglob("*") if path.is_file() and secret_text.encode() in path.read_bytes()
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "the contest has no participants"),
        (("--participants", "2", "--stdio", "x"), "the contest has no participants"),
        (("--participants", "0"), "0 participants"),
        (("--participants", "nothing.txt"), "cannot be read"),
        (("--stdio", "a/b"), "cannot be a participant's name"),
        (("--participants", "2", "--set", "allow-language=klingon"), "klingon"),
        (("--participants", "2", "--contest-time=-5"), "--contest-time: "),
        (("--participants", "2", "--contest-time=0"), "--contest-time: "),
        (("--participants", "2", "--contest-time=nan"), "--contest-time: "),
        (("--participants", "2", "--set", "pause=nan"), "--set pause: "),
    ],
)
def test_invalid_contest_serve_arguments_are_refused(
    cli: CommandLine,
    arguments: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    check_refused(cli, arguments, monkeypatch)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "names", "message"),
    [
        (("--port", "TAKEN"), "otter", "--port: cannot listen on 127.0.0.1:TAKEN: Address already in use"),
        (("--host", "x::y"), "otter", "--host: cannot listen on x::y:0: the address is not known"),
        (("--host", "300.1.2.3"), "otter", "--host: cannot listen on 300.1.2.3:0: the address is not known"),
        (("--host", "192.0.2.1"), "otter", "--host: cannot listen on 192.0.2.1:0: Cannot assign"),
    ],
)
def test_contest_that_cannot_be_served_creates_no_folder(
    cli: CommandLine,
    arguments: tuple[str, ...],
    names: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (cli.folder / "names").write_text(names)
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        port = str(occupied.getsockname()[1])
        replaced_arguments = [port if argument == "TAKEN" else argument for argument in arguments]
        common = ("--participants", "names", "--contest-time", "8")
        check_refused(cli, (*common, *replaced_arguments), monkeypatch)
    assert message.replace("TAKEN", port) in capsys.readouterr().err
    assert not (cli.folder / "cup").exists()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("heron\notter\tshort-token-15c", "line 2, field 'token': the token of 'otter' is not 16 or more"),
        ("otter\tt\u00f6ken-of-16-characters", "line 1, field 'token': the token of 'otter' is not 16"),
        ("otter\ttoken of 16 characters", "line 1, field 'token': the token of 'otter' is not 16"),
        ("otter\t", "line 1, field 'token': the token of 'otter' is not 16"),
        (
            "otter\ttoken-of-sixteen-1\ttoken-of-sixteen-2",
            "line 1, field 'token': participant 'otter' has 2 tokens",
        ),
        ("\ttoken-of-sixteen-1", "line 1, field 'name': '' cannot be a participant's name"),
        ("a/b\ttoken-of-sixteen-1", "line 1, field 'name': 'a/b' cannot be a participant's name"),
        ("otter\nheron\notter", "line 3, field 'name': duplicate participant 'otter'"),
        ("Zo\u00eb\nZoe\u0308", "line 2, field 'name': duplicate participant 'Zo\u00eb'"),
        ("otter\nOtter", "line 2, field 'name': 'Otter' and 'otter' look alike"),
        (
            "otter\ttoken-of-sixteen-1\nheron\ttoken-of-sixteen-1",
            "line 2, field 'token': 'otter' and 'heron' have the same token. Give each",
        ),
        ("# nobody\n", "the file contains no names of participants. Write a name in each line"),
    ],
)
def test_error_in_participants_file_names_line_and_field(
    cli: CommandLine,
    lines: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (cli.folder / "names").write_text(lines)
    check_refused(cli, ("--participants", "names"), monkeypatch)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: names") and message in line and ". " in line
    assert not (cli.folder / "cup").exists()


async def test_participants_file_accepts_names_with_spaces_in_any_script(
    warm: WarmCommand, cli: CommandLine
) -> None:
    names = [
        "Claude Opus",
        "O'Brien",
        "\u9648\u4f1f",
        "\u05d3\u05e0\u05d4 \u05db\u05d4\u05df",
        "\u0930\u093e\u092e",
    ]
    lines = "\ufeff" + "\n".join(names).replace("Claude Opus", "Claude Opus\topus-token-16-ch")
    (cli.folder / "names").write_text(lines, encoding="utf-8")
    arguments = ["contest", "serve", GARLAND, "--participants", "names", "--out", "cup", "--port", "0"]
    server = warm.start(arguments, cli.folder, cli.env)
    try:
        address = re.findall(r"contest at (\S+),", server.stdout.readline())[0]
        async with client(address, "opus-token-16-ch") as opus:
            assert (await told(opus, "standing"))["participant"] == "Claude Opus"
            await told(opus, "submit", problem="garland", code="int main( {")
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate()
    tokens = dict(line.split("\t") for line in (cli.folder / "cup" / "tokens.tsv").read_text().splitlines())
    assert list(tokens) == names and all(len(token) >= 16 for token in tokens.values())
    (row,) = read_rows(cli.folder / "cup")
    assert row["participant"] == "Claude Opus"
    report = (cli.folder / "cup" / "report.md").read_text()
    assert all(name in report for name in names)


@pytest.mark.nightly(unless="starlette")
@pytest.mark.parametrize("missing", ["mcp", "mcp starlette uvicorn"])
def test_contest_serve_without_mcp_package_prints_install_command(missing: str, cli: CommandLine) -> None:
    script = cli.folder / "without.py"
    hidden = f"import sys; sys.modules.update(dict.fromkeys({missing.split()!r}))"
    script.write_text(f"{hidden}\nfrom ioi_eval.cli import main; main()\n")
    completed = cli.script(str(script), "contest", "serve", GARLAND, "--participants", "2", "--out", "cup")
    (line,) = completed.stderr.splitlines()
    assert completed.returncode == 2 and line.startswith("error: ")
    assert line.endswith(" is not installed. Install it in a clone of ioi_eval: pip install '.[mcp]'")
    assert not (cli.folder / "cup").exists()


def check_refused(cli: CommandLine, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the command in this process, which has loaded the SDK, and check that it exits with 2."""
    common = ("--out", "cup", "--port", "0")
    monkeypatch.chdir(cli.folder)
    monkeypatch.setenv("IOI_EVAL_CACHE", str(cli.cache))
    monkeypatch.setattr("sys.argv", ["ioi-eval", "contest", "serve", GARLAND, *common, *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
