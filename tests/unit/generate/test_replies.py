"""Decoding of replies of model servers."""

from __future__ import annotations

import email.utils
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ioi_eval.generate.chat import FaultKind, ModelServerFault, read_reply

NOW = 1_000_000.0


def choices(message: Any, stop: str | None = "stop", **more: Any) -> bytes:
    return json.dumps({"choices": [{"message": message, "finish_reason": stop}], **more}).encode()


def fault(status: int, body: bytes = b"", **headers: str) -> ModelServerFault:
    with pytest.raises(ModelServerFault) as caught:
        read_reply(status, headers, body, now=NOW)
    return caught.value


@pytest.mark.parametrize(
    "message, content, reasoning",
    [
        ({"content": "a"}, "a", ""),
        ({"content": "a", "reasoning_content": "b"}, "a", "b"),
        ({"content": "a", "reasoning": "b", "reasoning_content": None}, "a", "b"),
        ({"content": None, "reasoning": "only this"}, "", "only this"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"text": "b"}, 7]}, "ab", ""),
        ({"content": None, "tool_calls": [{"function": {"name": "run", "arguments": "{}"}}]}, "", ""),
        ({}, "", ""),
        ({"content": {"text": "neither a text nor parts"}}, "", ""),
    ],
)
def test_reply_message_gives_content_and_reasoning(message: Any, content: str, reasoning: str) -> None:
    reply = read_reply(200, {}, choices(message), now=NOW)
    assert (reply.content, reply.reasoning, reply.stop_reason) == (content, reasoning, "stop")


def test_first_of_several_model_choices_is_used() -> None:
    body = json.dumps(
        {"choices": [{"message": {"content": content}, "finish_reason": "stop"} for content in "ab"]}
    )
    assert read_reply(200, {}, body.encode(), now=NOW).content == "a"


def test_malformed_usage_is_read_as_empty() -> None:
    assert read_reply(200, {}, choices({"content": "a"}, usage=[1]), now=NOW).usage == {}
    usage = {"prompt_tokens": 3, "details": {"cached": 1}}
    assert read_reply(200, {}, choices({"content": "a"}, usage=usage), now=NOW).usage == usage


@pytest.mark.parametrize(
    "body, kind, message",
    [
        (b"", FaultKind.STRANGE, "not a chat completion"),
        (b"not json", FaultKind.STRANGE, "not json"),
        (b"[]", FaultKind.STRANGE, "not a chat completion"),
        (b'{"object": "list", "data": []}', FaultKind.STRANGE, "has no choices"),
        (b'{"choices": null}', FaultKind.STRANGE, "has no choices"),
        (
            b"\n<html><title>Log\nin</title>",
            FaultKind.STRANGE,
            "the server returned an HTML page instead of a chat completion: Log in",
        ),
        (b'{"error": {"message": "upstream died", "code": 502}}', FaultKind.LATER, "upstream died"),
        (b'{"choices": []}', FaultKind.LATER, "contains no message"),
        (b'{"choices": [{}]}', FaultKind.LATER, "contains no message"),
        (b'{"choices": ["a"]}', FaultKind.LATER, "contains no message"),
        (choices({"content": ""}, None), FaultKind.LATER, "empty"),
        (choices({"content": "half"}, "error"), FaultKind.LATER, "broken off"),
        (choices({"content": "half"}, "abort"), FaultKind.LATER, "broken off"),
        (choices({"content": "half"}, "insufficient_system_resource"), FaultKind.LATER, "broken off"),
        (b"[" * 100_000, FaultKind.STRANGE, "not a chat completion"),
        (b'{"choices": [{"message": {"content": "\\ud800"}}]}', FaultKind.STRANGE, "not a chat completion"),
    ],
)
def test_reply_that_is_not_a_chat_completion_is_fault(body: bytes, kind: FaultKind, message: str) -> None:
    reply_fault = fault(200, body)
    assert reply_fault.kind is kind and message in reply_fault.reason
    assert len(reply_fault.reason) < 500 and "\n" not in reply_fault.reason


@pytest.mark.parametrize(
    "status, body, kind",
    [
        (401, b"", FaultKind.FINAL),
        (402, b"", FaultKind.FINAL),
        (404, b'{"detail": "Not Found"}', FaultKind.FINAL),
        (405, b"", FaultKind.FINAL),
        (400, b'{"error": {"message": "unknown field"}}', FaultKind.REFUSED),
        (403, b'{"error": {"message": "not for you"}}', FaultKind.REFUSED),
        (400, b'{"error": {"message": "maximum context length is 4096 tokens"}}', FaultKind.PROMPT),
        (
            400,
            b'{"error": {"code": "content_filter", "message": "content management policy"}}',
            FaultKind.PROMPT,
        ),
        (
            400,
            b'{"error": {"code": "context_length_exceeded", "message": "Input tokens exceed the limit"}}',
            FaultKind.PROMPT,
        ),
        (
            400,
            b'[{"error": {"message": "The input token count (9) exceeds the maximum number of tokens"}}]',
            FaultKind.PROMPT,
        ),
        (400, b'{"error": {"code": "invalid_prompt", "message": "Limited access"}}', FaultKind.PROMPT),
        (403, b"<html><title>Forbidden</title><meta name='content-policy'>", FaultKind.REFUSED),
        (413, b"", FaultKind.PROMPT),
        (429, b"", FaultKind.LATER),
        (429, b'{"error": {"code": "insufficient_quota", "message": "pay"}}', FaultKind.FINAL),
        (500, b"", FaultKind.LATER),
        (503, b"", FaultKind.LATER),
    ],
)
def test_http_status_determines_kind_of_fault(status: int, body: bytes, kind: FaultKind) -> None:
    reply_fault = fault(status, body)
    assert (reply_fault.kind, reply_fault.retry_after_s) == (kind, None)
    assert f"HTTP {status}" in reply_fault.reason


def test_fault_reason_quotes_error_message_of_server() -> None:
    assert (
        fault(400, b'{"error": {"message": "no\\nsuch  field", "type": "x"}}').reason
        == "HTTP 400: no such field"
    )
    assert fault(404, b'{"detail": "Not Found"}').reason == "HTTP 404: Not Found"
    assert fault(502, b"<html><TITLE>Bad Gateway</TITLE>" + b"x" * 9999).reason == "HTTP 502: Bad Gateway"
    assert fault(502, b"<html><body>nothing to quote").reason == "HTTP 502"
    assert fault(500, b"\xff\xfe" * 400).reason.startswith("HTTP 500: ")


def test_fault_of_redirecting_model_server_names_the_location() -> None:
    reply_fault = fault(308, location="https://there/v1")
    assert reply_fault.kind is FaultKind.FINAL and "https://there/v1" in reply_fault.reason


@pytest.mark.parametrize(
    "header_value, pause",
    [
        ("7", 7),
        ("0.25", 0.25),
        (email.utils.formatdate(NOW + 30, usegmt=True), 30),
        (email.utils.formatdate(NOW - 30, usegmt=True), None),
        ("0", None),
        ("-1", None),
        ("nan", None),
        ("soon", None),
        ("", None),
        ("Mon, 99 Foo 2026", None),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_header_sets_pause(status: int, header_value: str, pause: float | None) -> None:
    reply_fault = fault(status, **{"retry-after": header_value})
    assert (reply_fault.kind, reply_fault.retry_after_s) == (
        FaultKind.LATER if pause is None else FaultKind.PAUSE,
        pause,
    )


def stream(*deltas: Any, stop: str | None = "stop") -> bytes:
    pieces = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": stop}], "usage": {"prompt_tokens": 1}}
    lines = [f"data: {json.dumps(piece)}\n\n" for piece in (*pieces, end)]
    return "".join([": keep-alive\n\n", *lines, "data: [DONE]\n\n"]).encode()


@pytest.mark.parametrize("headers", [{}, {"content-type": "text/event-stream; charset=utf-8"}])
def test_unrequested_event_stream_is_read(headers: dict[str, str]) -> None:
    body = stream({"role": "assistant"}, {"reasoning": "hm"}, {"content": "a"}, {"content": "b"})
    body = body if headers else body.partition(b"\n\n")[2]
    reply = read_reply(200, headers, body, now=NOW)
    assert (reply.content, reply.reasoning, reply.stop_reason) == ("ab", "hm", "stop")
    assert reply.usage == {"prompt_tokens": 1}


def test_event_stream_uses_first_choice_only() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "other"}, "finish_reason": "length"}]}
    body = stream({"content": "a"}).replace(b"data: [DONE]", b"data: " + json.dumps(other).encode())
    reply = read_reply(200, {"content-type": "text/event-stream"}, body, now=NOW)
    assert (reply.content, reply.stop_reason) == ("a", "stop")


def test_truncated_event_stream_is_fault() -> None:
    headers = {"content-type": "text/event-stream"}
    whole = stream({"content": "a"}, stop=None)
    with pytest.raises(ModelServerFault, match="cut off"):
        read_reply(200, headers, whole, now=NOW)
    with pytest.raises(ModelServerFault, match="not a chat completion"):
        read_reply(200, headers, b'data: {"choices": [{"ind', now=NOW)


WORDS = st.sampled_from(["choices", "message", "content", "error", "delta", "usage", "finish_reason"])
ANYTHING = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
JSON = ANYTHING.map(lambda value: json.dumps(value).encode())


@settings(max_examples=60)
@given(
    st.sampled_from([200, 400, 429]),
    st.binary(max_size=60) | JSON,
    st.sampled_from(["", "text/event-stream"]),
)
def test_arbitrary_reply_gives_reply_or_fault(status: int, body: bytes, kind: str) -> None:
    try:
        reply = read_reply(status, {"content-type": kind}, body, now=NOW)
    except ModelServerFault as raised:
        assert raised.reason
    else:
        assert reply.content or reply.reasoning or reply.stop_reason
