"""A hostile participant of a contest over HTTP does not affect how other participants are judged."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from attacks_contest import FLOODS, HERON, LINKS, NAMES, OTTER, REQUESTS, SHOWN, Flood, Knocking, asked, call
from requirements import skip_or_fail_in_ci
from support.contest_problems import PROBLEMS, RIGHT, SUM, find_hidden_strings
from support.waiting import until

from ioi_eval import EmbeddedEngine, InputError, Scorer, Store
from ioi_eval.models import Blob, Limits, Problem, Submission, SubmissionResult
from ioi_eval.plugins.contest import Contest, Rules, open_contest
from ioi_eval.sources import Problems

try:
    from ioi_eval.plugins.contest.mcp import serving
except ModuleNotFoundError:
    skip_or_fail_in_ci("mcp")

TOKENS = {"otter": OTTER, "heron": HERON}
KINDS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
SHORT = msgspec.structs.replace(SUM, limits=Limits.contest(0.1, 256 << 20))  # endless loops stop soon


class Held:
    """A judge that holds otter's programs until it is released."""

    def __init__(self, judge: Any, go: asyncio.Event) -> None:
        self._judge, self._go = judge, go

    def with_options(self, **changes: Any) -> Held:
        return Held(self._judge.with_options(**changes), self._go)

    async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
        result: SubmissionResult = await self._judge.judge(problem, submission)
        if submission.code != RIGHT:
            await self._go.wait()
        return result


class Door:
    """The address of a contest, with methods that send participants' requests."""

    def __init__(self, address: str, contest: Contest, http: httpx.AsyncClient) -> None:
        self.address, self.contest, self._http = address, contest, http

    async def post(
        self, body: bytes, token: str | None, headers: tuple[tuple[str, str], ...] = ()
    ) -> httpx.Response:
        bearer = {} if token is None else {"Authorization": f"Bearer {token}".strip().encode()}
        return await self._http.post(self.address, content=body, headers={**KINDS, **bearer, **dict(headers)})

    async def tool(self, token: str, body: bytes) -> Any:
        """Return the answer of a tool, or its message if the call is refused."""
        result = told_by(await self.post(body, token))["result"]
        message = "".join(block["text"] for block in result["content"])
        return message if result.get("isError") else json.loads(message)

    async def check_heron(self) -> None:
        """Assert that heron's program is judged and is heron's first submission."""
        answer = await self.tool(HERON, call("submit", problem="sum", code=RIGHT))
        assert (answer["points"], answer["number"], answer["repeats"]) == (100, 1, False)


def told_by(answer: httpx.Response) -> Any:
    """Return the only message of an answer, in JSON or as an event."""
    (message,) = re.findall(r"^(?:data: )?(\{.*\})\r?$", answer.text, re.MULTILINE)
    return json.loads(message)


@asynccontextmanager
async def opened(
    cache: Path,
    problem: Problem = SUM,
    go: asyncio.Event | None = None,
    connections: int = 2_000,
    rules: Rules | None = None,
) -> AsyncIterator[Door]:
    """Open a contest on a port. Until `go` is set, otter gets no results."""
    store = Store(cache)
    async with Scorer(EmbeddedEngine(store=store), store=store) as scorer:
        judge: Any = scorer.judge if go is None else Held(scorer.judge, go)
        problems = {**PROBLEMS, "sum": problem}
        async with (
            Contest(problems, rules, judge=judge, participants=TOKENS) as contest,
            serving(contest, TOKENS, max_connections=connections) as address,
            httpx.AsyncClient(timeout=600, limits=httpx.Limits(max_connections=None)) as http,
        ):
            yield Door(address, contest, http)


async def test_hostile_requests_are_refused(shared_cache: Path) -> None:
    """A request wins by a forbidden answer. Requests cost no attempts, and none stops the server."""
    wrong = []
    async with opened(shared_cache) as door:
        for attack in REQUESTS:
            if fault := await _fault(door, attack):
                wrong.append(f"{attack.name}: {fault}")
        assert not wrong
        assert all(state.attempts == 0 for name in TOKENS for state in door.contest.session(name).problems())
        await door.check_heron()
    assert len({attack.name for attack in REQUESTS}) == len(REQUESTS)


async def _fault(door: Door, attack: Knocking) -> str:
    answer = await door.post(attack.body, attack.token, attack.headers)
    if answer.status_code not in attack.statuses:
        return f"status {answer.status_code}"
    if (
        attack.told not in answer.text.replace('\\"', '"').replace(": ", ":")
        and attack.told not in answer.text
    ):
        return f"the answer is {answer.text[:300]}"
    if attack.statuses != (200,) and '"isError":false' in answer.text.replace(" ", ""):
        return "it is answered"
    request = attack.body.decode(errors="replace")
    secrets = [secret for secret in find_hidden_strings(answer.text) if secret not in request]
    if secrets or HERON in answer.text or "root:" in answer.text:
        return f"the answer contains a secret: {secrets}"
    return "" if len(answer.content) < 4_000 else f"{len(answer.content)} bytes for an answer"


async def test_participant_cannot_cancel_calls_of_another_participant(shared_cache: Path) -> None:
    """The cancelled request number is the same for both participants."""
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    async with opened(shared_cache) as door:
        under_way = asyncio.create_task(door.check_heron())
        while not under_way.done():
            await door.post(json.dumps(cancelled).encode(), OTTER)
        await under_way


# Before a merge, `nobody` tries two of the five floods.
@pytest.mark.nightly(unless="^(loops|builds)$")
@pytest.mark.parametrize("flood", FLOODS, ids=lambda one: one.name)
async def test_flood_of_calls_does_not_starve_another_participant(flood: Flood, shared_cache: Path) -> None:
    """Heron, on a separate connection, is judged while otter's programs wait for results."""
    go = asyncio.Event()
    async with (
        opened(shared_cache, SHORT, go, rules=Rules(waiting=4)) as door,
        httpx.AsyncClient(timeout=600) as http,
    ):
        language = "c++" if "int main" in flood.code else "python"
        calls = [
            asyncio.create_task(
                door.tool(
                    OTTER,
                    call(
                        flood.tool,
                        problem="sum",
                        code=flood.code.replace("NUMBER", str(number)),
                        language=language,
                    ),
                )
            )
            for number in range(flood.calls)
        ]
        await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        await Door(door.address, door.contest, http).check_heron()
        accepted = door.contest.rules.at_once + door.contest.rules.waiting
        first = [await answer for answer in islice(asyncio.as_completed(calls), flood.calls - accepted)]
        assert all("too many calls at the same time" in answer for answer in first)
        go.set()
        answers = await asyncio.gather(*calls)
        assert sum(isinstance(answer, dict) for answer in answers) == accepted
        assert not find_hidden_strings(*answers)


async def test_submission_whose_client_disconnects_counts(shared_cache: Path) -> None:
    """A program runs long if a bit of a hidden input is set. Its author checks the progress of judging, disconnects
    before the answer, and sends a program for the next bit. All these programs count as submissions.
    """
    go, bits = asyncio.Event(), 3
    rules = Rules(submissions=bits)
    async with opened(shared_cache, SHORT, go, rules=rules) as door:
        session = door.contest.session("otter")
        for bit in range(bits):
            code = f"while int(input().split()[0]) >> {bit} & 1: pass"
            program = call("submit", problem="sum", code=code, language="python")
            waiting = asyncio.create_task(door.tool(OTTER, program))
            await until(lambda: session.standing().in_progress)
            assert (await door.tool(OTTER, call("standing")))["in_progress"][0]["number"] == bit + 1
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            go.set()
            await session.settle()
            go.clear()
            (state,) = [problem for problem in session.problems() if problem.id == "sum"]
            assert (state.attempts, state.submissions_left) == (bit + 1, bits - bit - 1)
        answer = await door.tool(OTTER, call("submit", problem="sum", code="print(3)", language="python"))
        assert f"all {bits} submissions for sum are used up" in answer
        await door.check_heron()


async def test_incomplete_http_requests_do_not_starve_another_participant(shared_cache: Path) -> None:
    async with opened(shared_cache) as door:
        port = httpx.URL(door.address).port or 0
        halves = [await asyncio.open_connection("127.0.0.1", port) for _ in range(300)]
        for number, (_, writer) in enumerate(halves):
            head = f"POST /mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {OTTER}\r\nContent-Length: 9999\r\n\r\n["
            writer.write(head[: 20 + number].encode())
        try:
            await door.check_heron()
        finally:
            for _, writer in halves:
                writer.close()


async def test_concurrent_http_requests_of_a_participant_are_limited(
    shared_cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The participant's next request waits until an earlier request is done. Other participants do not wait.

    Clients that disconnect are not logged as errors.
    """
    async with opened(shared_cache) as door:
        port = httpx.URL(door.address).port or 0
        kinds = {
            "Host": f"127.0.0.1:{port}",
            "Authorization": f"Bearer {OTTER}",
            **KINDS,
            "Content-Length": 9,
        }
        head = "POST /mcp HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in kinds.items())
        halves = [await asyncio.open_connection("127.0.0.1", port) for _ in range(22)]
        for reader, writer in halves:
            writer.write(f"{head}Expect: 100-continue\r\n\r\n".encode())
            assert b" 100 " in await reader.readline()  # it is let in: its body is read
        waiting = asyncio.create_task(door.tool(OTTER, call("standing")))
        await door.check_heron()
        assert not waiting.done()
        for _, writer in halves:
            writer.close()
        assert (await waiting)["participant"] == "otter"
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_idle_connections_do_not_starve_another_participant(shared_cache: Path) -> None:
    """The limit is 90 connections: 30 for each of two participants, and 30 for clients without a token."""
    head = "{} /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\nContent-Length: 9\r\n\r\n"
    async with opened(shared_cache, connections=90) as door:
        port = httpx.URL(door.address).port or 0
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(120)]
        for number, (reader, _) in enumerate(silent):
            if number < 90:
                with contextlib.suppress(ConnectionResetError):
                    assert await reader.read() == b""  # a newer connection replaced it
        await door.check_heron()

        otters = []
        for number in range(35):
            otters.append(await asyncio.open_connection("127.0.0.1", port))
            otters[-1][1].write(head.format(("POST", "GET")[number % 2], OTTER).encode())
            if number % 10 == 0:  # the server reads the earlier requests before it answers this request
                await door.tool(HERON, call("standing"))
        first = [asyncio.create_task(reader.readline()) for reader, _ in otters]
        refused = [await status_line for status_line in islice(asyncio.as_completed(first), 5)]
        assert all(b" 429 " in line for line in refused)
        refused_readers = [
            reader for (reader, _), status_line in zip(otters, first, strict=True) if status_line.done()
        ]
        assert all(["30 open connections" in (await reader.read()).decode() for reader in refused_readers])
        await door.tool(HERON, call("standing"))

        for _, writer in (*silent, *otters):
            writer.close()
        assert (await door.tool(OTTER, call("standing")))["participant"] == "otter"
        await asyncio.gather(*first)


@pytest.mark.parametrize("name", NAMES)
async def test_hostile_participant_name_is_refused(name: str, store: Store, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        async with open_contest(Problems([SUM]), out=tmp_path / "cup", participants=[name], store=store):
            pass
    assert not (tmp_path / "cup").exists() and str(refused.value).replace("\n", "").isprintable()


async def test_markup_in_statements_and_programs_is_shown_as_text(store: Store, tmp_path: Path) -> None:
    """Nothing in statements or programs is opened, filled in or run: no link, no placeholder, no markup."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        port = str(listening.getsockname()[1])
        statement = LINKS.replace("PORT", port)
        linked = msgspec.structs.replace(SUM, statement=Blob.of(statement))
        async with (
            open_contest(
                Problems([linked]), out=tmp_path / "cup", participants=TOKENS, store=store
            ) as contest,
            serving(contest, TOKENS) as address,
            httpx.AsyncClient(timeout=600) as http,
        ):
            door = Door(address, contest, http)
            assert (await door.tool(OTTER, call("statement", problem="sum")))["text"] == statement
            request = asked("resources/read", uri="contest://problems/sum")
            assert "7 * 7" in (await door.post(request, OTTER)).text
            for code in SHOWN:
                answer = await door.tool(
                    OTTER, call("submit", problem="sum", code=code.replace("PORT", port))
                )
                assert (
                    answer["points"] == 0
                    and "\x1b" not in answer.get("compiler", "")
                    and "\u202e" not in answer.get("compiler", "")
                )
            await door.check_heron()
        with pytest.raises(BlockingIOError):
            listening.accept()
    pages = list((tmp_path / "cup").rglob("*.html"))
    assert pages
    for page in pages:
        written = page.read_text()
        assert "alert(1)</script>" not in written
        loaded = re.findall(r"<(?:img|script|iframe|link|object|embed)\b[^>]*>", written)
        assert not [url for url in loaded if port in url]
