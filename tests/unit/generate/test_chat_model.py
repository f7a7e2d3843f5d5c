"""Requests to a model server on loopback that fails in every way."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from dataclasses import replace
from typing import Any

import pytest
from generate_helpers import ask
from support.clocks import FastForwardClock
from support.model_requests import GeneratedReply, GenerationFailed, OutOfBudget
from support.stub_server import StubReply, StubRequest, StubServer, chat_reply, json_reply, model_server, page
from support.waiting import until

from ioi_eval.errors import InputError
from ioi_eval.generate import BudgetOptions, BudgetTracker, ModelOptions, Sampling
from ioi_eval.generate.chat import ChatModel

KEY = "sk-very-secret"
RIGHT = chat_reply("the program", usage={"prompt_tokens": 3, "completion_tokens": 2})
BROKEN = StubReply(200, b'{"choices": [', {"Content-Type": "application/json"}, cut=50)


def model(
    server: StubServer | str, budget: BudgetTracker | None = None, key: str = "", **options: Any
) -> ChatModel:
    url = server if isinstance(server, str) else server.url
    values = {"name": "m", "base_url": url, "pause": 0.001, "attempts": 3, **options}
    return ChatModel(ModelOptions(**values), budget or BudgetTracker(), key=key)


async def request_reply(server: StubServer | str, **options: Any) -> GeneratedReply:
    async with model(server, **options) as author:
        return await author.write(ask())


# --- requests and stored replies ---------------------------------------------------------------------


async def test_chat_request_is_sent_and_reply_read() -> None:
    sampling = Sampling(temperature=0.5, top_p=0.9, max_tokens=7, seed=40, extra={"reasoning_effort": "high"})
    with model_server(chat_reply("text", reasoning="thoughts", usage={"prompt_tokens": 3})) as server:
        async with model(server, key=f" {KEY}\n", system="Be brief.", sampling=sampling) as author:
            reply = await author.write(ask(number=2))
    sent = server.asked[0]
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["Authorization"] == f"Bearer {KEY}"
    chosen = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 7, "seed": 42, "reasoning_effort": "high"}
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Solve it."}]
    assert sent.body == {"model": "m", "messages": messages, "stream": False, **chosen}
    assert (reply.generation, reply.reasoning, reply.stop_reason) == ("text", "thoughts", "stop")
    assert (reply.settings, reply.usage) == (chosen, {"prompt_tokens": 3})


async def test_unset_model_options_are_not_sent() -> None:
    with model_server(RIGHT) as server:
        await request_reply(server)
    assert set(server.asked[0].body) == {"model", "messages", "stream"}
    assert "Authorization" not in server.asked[0].headers


async def test_base_url_query_follows_path() -> None:
    with model_server(RIGHT) as server:
        await request_reply(f"{server.url}/?api-version=3")
    assert server.asked[0].path == "/v1/chat/completions?api-version=3"


@pytest.mark.parametrize(
    "url", ["", "localhost:8000/v1", "ftp://host/v1", "http://", "http://h:port/v1", "/v1"]
)
def test_invalid_base_url_is_an_input_error(url: str) -> None:
    with pytest.raises(InputError, match="base_url"):
        model(url)


@pytest.mark.parametrize("name", ["n", "stream", "messages", "model"])
def test_reserved_extra_field_is_input_error(name: str) -> None:
    with pytest.raises(InputError, match=f"model.extra.{name}"):
        model("http://127.0.0.1:1", sampling=Sampling(extra={name: 4}))


@pytest.mark.parametrize("key", ["sk-a\nb", "sk-\u20ac", "sk-\x00"])
def test_invalid_model_key_error_hides_key(key: str) -> None:
    with pytest.raises(InputError) as caught:
        model("http://127.0.0.1:1", key=key)
    assert "sk-" not in str(caught.value)


# --- retried requests --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        json_reply({"error": {"message": "overloaded"}}, 500),
        page(502, "Bad Gateway"),
        json_reply({}, 429),
        json_reply({}, 429, **{"Retry-After": "0.001"}),
        json_reply({}, 503, **{"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}),
        json_reply({"choices": []}),
        chat_reply(None, stop=None),
        BROKEN,
        StubReply(200, RIGHT.body, {"Content-Encoding": "gzip"}),
    ],
)
async def test_temporary_model_server_fault_is_retried(fault: StubReply) -> None:
    with model_server(fault, RIGHT) as server:
        assert (await request_reply(server)).generation == "the program"
    assert len(server.asked) == 2


async def test_stalled_model_server_is_asked_again() -> None:
    def stall(request: StubRequest) -> StubReply:
        server.over.wait()
        return RIGHT

    with model_server(stall, RIGHT) as server:
        clock, writing = FastForwardClock(), asyncio.create_task(request_reply(server, timeout=600.0))
        await until(lambda: server.asked)
        await clock.advance(601.0)
        assert (await writing).generation == "the program"


async def test_persistent_model_fault_fails_generation() -> None:
    with model_server(RIGHT, json_reply({"error": {"message": "overloaded"}}, 500)) as server:
        async with model(server) as author:
            await author.write(ask())
            with pytest.raises(
                GenerationFailed, match=r"HTTP 500: overloaded, after 3 attempts \(retry rule `model`\)"
            ):
                await author.write(ask("p#1"))
    assert len(server.asked) == 4


async def test_retry_after_pauses_allow_more_attempts() -> None:
    busy = json_reply({}, 429, **{"Retry-After": "0.001"})
    with model_server(*[busy] * 9, RIGHT) as server:
        assert (await request_reply(server, attempts=1)).generation == "the program"
    with model_server(busy) as server, pytest.raises(GenerationFailed, match="429"):
        await request_reply(server, attempts=2)
    assert len(server.asked) == 20


async def test_retry_after_header_delays_all_model_requests(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "ioi_eval")
    times = list[float]()

    def note(request: StubRequest) -> StubReply:
        times.append(time.monotonic())
        return RIGHT if request.number else json_reply({}, 429, **{"Retry-After": "0.2"})

    with model_server(note) as server:
        async with model(server) as author:
            first = asyncio.create_task(author.write(ask()))
            await until(lambda: any("HTTP 429" in message for message in caplog.messages))
            await author.write(ask("p#1"))
            await first
    assert len(times) == 3 and min(times[1:]) - times[0] >= 0.2  # it may be later, but never earlier


async def test_requests_per_minute_are_limited() -> None:
    with model_server(RIGHT) as server:
        async with model(server, requests_per_minute=600) as author:
            begin = time.monotonic()
            await asyncio.gather(*(author.write(ask(f"p#{number}")) for number in range(7)))
            assert time.monotonic() - begin >= 6 * 0.09  # it may be later, but never earlier


# --- permanent errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer, message",
    [
        (json_reply({"error": {"message": f"bad key {KEY}"}}, 401), "bad key"),
        (json_reply({"detail": "Not Found"}, 404), "Not Found"),
        (json_reply({"error": {"message": "unknown field"}}, 400), "unknown field"),
        (StubReply(307, b"", {"Location": "https://elsewhere/v1"}), "https://elsewhere/v1"),
        (json_reply({"error": {"code": "insufficient_quota", "message": "pay"}}, 429), "pay"),
    ],
)
async def test_permanent_model_refusal_is_input_error(answer: StubReply, message: str) -> None:
    with model_server(answer) as server, pytest.raises(InputError) as caught:
        await request_reply(server, key=KEY)
    assert message in str(caught.value) and "base_url" in str(caught.value)
    assert KEY not in str(caught.value)
    assert len(server.asked) == 1


@pytest.mark.parametrize("answer", [page(), json_reply(["models"]), StubReply(200, b"OK")])
async def test_server_that_never_answered_like_a_model_is_an_input_error(answer: StubReply) -> None:
    with model_server(answer) as server, pytest.raises(InputError, match="chat completion"):
        await request_reply(server, attempts=6)
    assert len(server.asked) == 2


async def test_unreachable_server_is_an_input_error() -> None:
    with socket.socket() as bound_socket:
        bound_socket.bind(("127.0.0.1", 0))  # but not listening
        url = f"http://me:password@127.0.0.1:{bound_socket.getsockname()[1]}/v1?key=secret"
        with pytest.raises(InputError) as caught:
            await request_reply(url)
    assert "ConnectError" in str(caught.value)
    assert "password" not in str(caught.value) and "secret" not in str(caught.value)


@pytest.mark.parametrize("answer", [page(), json_reply({"error": "no"}, 400), json_reply({}, 403)])
async def test_faults_after_first_answer_are_generation_failures(answer: StubReply) -> None:
    with model_server(RIGHT, answer, answer, answer, RIGHT) as server:
        async with model(server, attempts=1) as author:
            await author.write(ask())
            for number in range(3):
                with pytest.raises(GenerationFailed):
                    await author.write(ask(f"p#{number}"))
            await author.write(ask("p#9"))


async def test_too_long_prompt_fails_only_its_generation() -> None:
    long = json_reply({"error": {"message": "This model's maximum context length is 4096 tokens"}}, 400)
    with model_server(long, RIGHT) as server:
        async with model(server) as author:
            with pytest.raises(GenerationFailed, match="4096"):
                await author.write(ask())
            await author.write(ask("p#1"))
    assert len(server.asked) == 2


async def test_requests_stop_after_too_many_failures() -> None:
    with model_server(json_reply({}, 500)) as server:
        async with model(server, attempts=1) as author:
            for number in range(100):
                with pytest.raises(GenerationFailed, match="HTTP 500"):
                    await author.write(ask(f"p#{number}"))
            with pytest.raises(GenerationFailed, match="100 requests in a row"):
                await author.write(ask())
    assert len(server.asked) == 100


async def test_oversized_model_reply_is_asked_again() -> None:
    small = chat_reply("the program is long")
    oversized = replace(small, body=small.body + b" " * (64 << 20))
    with model_server(oversized, RIGHT) as server:
        assert (await request_reply(server)).generation == "the program"


# --- budgets -----------------------------------------------------------------------------------------


async def test_exhausted_budget_stops_requests() -> None:
    budget = BudgetTracker(BudgetOptions(tokens=10))
    with model_server(RIGHT) as server:
        async with model(server, budget) as author:
            for _ in range(2):
                await author.write(ask())
            with pytest.raises(OutOfBudget, match="10 tokens"):
                await author.write(ask())
    assert (len(server.asked), budget.used_tokens) == (2, 10)


@pytest.mark.parametrize("stop", ["error", None])
async def test_repeated_replies_count_for_budget(stop: str | None) -> None:
    budget = BudgetTracker(BudgetOptions(tokens=10))
    broken = chat_reply("", stop=stop, usage={"prompt_tokens": 3, "completion_tokens": 7})
    with model_server(broken, RIGHT) as server:
        with pytest.raises(OutOfBudget, match="10 tokens"):
            await request_reply(server, budget=budget)
        assert len(server.asked) == 1


async def test_missing_usage_of_reply_is_estimated() -> None:
    budget = BudgetTracker(BudgetOptions(tokens=100))
    with model_server(chat_reply("x" * 30)) as server:
        reply = await request_reply(server, budget=budget)
    assert reply.usage == {"prompt_tokens": 3, "completion_tokens": 10, "estimated": True}
    assert budget.used_tokens == 13
    with model_server(chat_reply("x" * 30)) as server:
        reply = await request_reply(server, budget=budget, system="Be brief.")
    assert reply.usage["prompt_tokens"] == 6, "the system prompt counts as well"


async def test_cancelled_model_request_raises_cancelled_error() -> None:
    def stall(request: StubRequest) -> StubReply:
        server.over.wait()
        return RIGHT

    with model_server(stall) as server:
        async with model(server) as author:
            task = asyncio.create_task(author.write(ask()))
            await until(lambda: bool(server.asked))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
