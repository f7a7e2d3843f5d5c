"""Ask models over OpenAI's API for chat completions, which most servers offer. Nothing is streamed.

If a reply is late, broken or refused, the request is sent again: after the pause that the server names, which
holds for all requests, or after a pause that grows. An error that affects all requests raises InputError at
once, and so does a server that has never answered like a model. An error that affects one prompt raises
GenerationFailed.
"""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import logging
import re
import time
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Self

import httpx
import msgspec

from ioi_eval.generate.model_requests import (
    BudgetTracker,
    GeneratedReply,
    GenerationFailed,
    ModelOptions,
    ModelRequest,
)
from ioi_eval.model.errors import InputError
from ioi_eval.model.nesting import require_shallow
from ioi_eval.model.retry import MODEL, MODEL_ADDRESS
from ioi_eval.model.secret import Secret, is_secret_name
from ioi_eval.model.values import Value

_log = logging.getLogger(__name__)
_PAUSES_PER_ATTEMPT = 10  # number of refusals with a named pause that together count as a failed attempt
_MAX_FAILURES = 100  # number of failed requests in a row after which no further requests are sent
_MAX_REPLY_BYTES = 64 << 20
_URL_REMEDY = "Write the URL as http://127.0.0.1:8000/v1"
# Fields of a request that only this module may set.
_RESERVED = frozenset({"messages", "model", "n", "stream"})


class ChatModel:
    """A model on a server, asked over HTTP. `async with` opens and closes its connections."""

    def __init__(self, options: ModelOptions, budget: BudgetTracker, *, key: str = "") -> None:
        """Create the model.

        `key` is a secret. It is sent to the server and removed from everything that the server returns.
        """
        check_model_options(options, key)
        self._options, self._budget, self._key = options, budget, Secret(key.strip())
        self._url, url_with_userinfo = (
            _make_completions_url(options.base_url),
            httpx.URL(options.base_url.strip()),
        )
        self._http = httpx.AsyncClient(
            headers=_make_request_headers(self._key),
            # Move name and password from the address to a header, because messages contain the address.
            auth=httpx.BasicAuth(url_with_userinfo.username, url_with_userinfo.password)
            if url_with_userinfo.userinfo
            else None,
            timeout=httpx.Timeout(options.timeout, connect=30.0),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
        )
        self._rate_limiter = _RateLimiter(options.requests_per_minute)
        self._retry_rule = msgspec.structs.replace(MODEL, attempts=options.attempts, first_wait=options.pause)
        self._has_answered = False  # True if the server has answered at least once as a model's server does
        self._failures = 0  # number of failed requests in a row

    @property
    def name(self) -> str:
        """Return the model's name."""
        return self._options.name

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._http.aclose()

    async def write(self, request: ModelRequest) -> GeneratedReply:
        """Return the model's reply to a request. See `Author.write`."""
        if self._failures >= _MAX_FAILURES:
            raise GenerationFailed(
                f"the request was not sent, because {self._failures} requests in a row failed"
            )
        body = self._make_request_body(request)
        try:
            reply = await self._send_with_retries(body)
        except GenerationFailed:
            self._failures += 1
            raise
        self._has_answered, self._failures = True, 0
        prompt_characters = len(self._options.system + request.prompt) + sum(
            len(message) for _, message in request.earlier
        )
        usage = self._budget.add_missing_usage(
            reply.usage,
            prompt_characters=prompt_characters,
            reply_characters=len(reply.content + reply.reasoning),
        )
        return GeneratedReply(
            generation=reply.content,
            reasoning=reply.reasoning,
            stop_reason=reply.stop_reason,
            usage=usage,
            cost=self._budget.add_usage_and_get_cost(usage),
            settings={name: value for name, value in body.items() if name not in _RESERVED},
        )

    # --- attempts ---

    async def _send_with_retries(self, body: Mapping[str, Any]) -> Reply:
        """Return the reply to a request. If a fault is temporary, the request is sent again.

        If the server names a pause, all requests wait. Ten such pauses count as one failed attempt.
        """
        attempts = pauses = 0
        while True:
            self._budget.check_budget()
            await self._rate_limiter.wait()
            try:
                return await self._send_request(body)
            except ModelServerFault as fault:
                self._budget.add_usage_and_get_cost(fault.usage)
                pauses += fault.kind is FaultKind.PAUSE
                attempts += fault.kind is not FaultKind.PAUSE
                self._raise_if_final(fault, attempts + pauses // _PAUSES_PER_ATTEMPT)
                self._retry_rule.log(_log, self._key.remove_from(fault.reason))
                if fault.retry_after_s is not None:
                    self._rate_limiter.delay_requests(min(fault.retry_after_s, self._retry_rule.longest_wait))
                else:
                    await asyncio.sleep(self._retry_rule.delay_s_after(attempts))

    def _raise_if_final(self, fault: ModelServerFault, attempts: int) -> None:
        """Return if another attempt may succeed. Otherwise raise GenerationFailed or InputError."""
        reason = self._key.remove_from(fault.reason)
        is_last = self._retry_rule.is_last(attempts)
        is_not_model_server = fault.kind is FaultKind.STRANGE and (is_last or MODEL_ADDRESS.is_last(attempts))
        is_hopeless = not self._has_answered and (is_not_model_server or fault.kind is FaultKind.REFUSED)
        if is_hopeless or fault.kind is FaultKind.FINAL:
            attempts_text = (
                f", {MODEL_ADDRESS.describe_exhaustion(attempts)}"
                if is_not_model_server and attempts > 1
                else ""
            )
            raise InputError(
                f"the request to the model failed: {reason}{attempts_text}",
                # Remove the query from the address, because it may contain a key.
                where=str(self._url.copy_with(query=None)),
                remedy="Check model.name, model.base_url and the key in the environment",
            )
        if fault.kind in (FaultKind.PROMPT, FaultKind.REFUSED):
            raise GenerationFailed(reason)
        if is_last:
            raise GenerationFailed(
                f"{reason}, {self._retry_rule.describe_exhaustion(attempts)}" if attempts > 1 else reason
            )

    # --- one request ---

    def _make_request_body(self, request: ModelRequest) -> dict[str, Any]:
        """Return the body of a request."""
        sampling, system = self._options.sampling, self._options.system
        messages = [{"role": "system", "content": system}] if system else []
        messages += [{"role": role, "content": content} for role, content in request.earlier]
        seed = None if sampling.seed is None else sampling.seed + request.number
        sampling_options = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "seed": seed,
        }
        return {
            "model": self._options.name,
            "messages": [*messages, {"role": "user", "content": request.prompt}],
            "stream": False,
            **{name: value for name, value in sampling_options.items() if value is not None},
            **sampling.extra,
        }

    async def _send_request(self, body: Mapping[str, Any]) -> Reply:
        """Send a request once and return the reply. Raise ModelServerFault if there is none."""
        content = msgspec.json.encode(body)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        try:
            # Limit the whole request: httpx's timeout holds for each piece of a reply, so a slow server could
            # exceed it many times.
            async with asyncio.timeout(self._options.timeout):
                pieces, size_bytes = list[bytes](), 0
                async with self._http.stream("POST", self._url, content=content, headers=headers) as response:
                    async for piece in response.aiter_bytes():
                        size_bytes += len(piece)
                        if size_bytes > _MAX_REPLY_BYTES:
                            raise ModelServerFault(
                                FaultKind.LATER,
                                f"the server's reply has more than {_MAX_REPLY_BYTES >> 20} MB",
                            )
                        pieces.append(piece)
        except TimeoutError as error:
            raise ModelServerFault(
                FaultKind.LATER, f"the server did not reply within {self._options.timeout:g} s"
            ) from error
        except httpx.RequestError as error:
            fault_kind = FaultKind.STRANGE if isinstance(error, httpx.ConnectError) else FaultKind.LATER
            reason = self._key.remove_from(f"{type(error).__name__}: {error}".rstrip(": "))
            # The original error is hidden, because its message may contain what the server sent.
            raise ModelServerFault(fault_kind, reason) from None
        remove_key = self._key.remove_from_reply
        reply_headers = {
            name: remove_key(value.encode()).decode() for name, value in response.headers.items()
        }
        reply_body = remove_key(b"".join(pieces))
        return read_reply(response.status_code, reply_headers, reply_body, now=time.time())


def check_model_options(options: ModelOptions, api_key: str) -> None:
    """Raise an InputError for options that are wrong in any case. No request is sent."""
    _make_completions_url(options.base_url)
    _make_request_headers(Secret(api_key.strip()))
    for name in sorted(_RESERVED & options.sampling.extra.keys()):
        remedy = "Set `samples` to ask for several programs" if name == "n" else "Remove the field"
        message = f"{name!r} is set by ioi-eval in every request"
        raise InputError(message, field=f"model.extra.{name}", remedy=remedy)
    for name in filter(is_secret_name, options.sampling.extra):
        remedy = "Put the key into the environment variable that model.api_key_env names"
        message = f"the value of {name!r} would be written into the run's folder, but seems to be a secret"
        raise InputError(message, field=f"model.extra.{name}", remedy=remedy)


def _make_completions_url(base_url: str) -> httpx.URL:
    """Return the address for chat completions, without name and password."""
    try:
        parsed_url = httpx.URL(base_url.strip())
        url = parsed_url.copy_with(path=parsed_url.path.rstrip("/") + "/chat/completions", userinfo=b"")
    except httpx.InvalidURL:  # the original error is dropped, because its message may contain a password
        raise InputError("the address is not a URL", field="model.base_url", remedy=_URL_REMEDY) from None
    if url.scheme not in ("http", "https") or not url.host:
        raise InputError(
            "the URL is not the address of an HTTP server", field="model.base_url", remedy=_URL_REMEDY
        )
    return url


def _make_request_headers(key: Secret) -> dict[str, str]:
    """Return the header with the key. Raise an InputError if the key is not valid in a header."""
    if not (key.isascii() and key.isprintable()):
        remedy = "Check that the variable holds only the key"
        raise InputError(
            "the API key contains control or non-ASCII characters", field="model.api_key_env", remedy=remedy
        )
    return {"Authorization": key.as_authorization_header} if key else {}


class _RateLimiter:
    """Delays requests: while the server asks for a pause, and to limit the number of requests per minute."""

    def __init__(self, requests_per_minute: float | None) -> None:
        self._interval_s = 60.0 / requests_per_minute if requests_per_minute else 0.0
        # Time in the event loop's clock for which the latest request was scheduled.
        self._next_request_time = 0.0
        self._paused_until = 0.0

    async def wait(self) -> None:
        """Wait until the next request may be sent."""
        clock = asyncio.get_running_loop().time
        if self._interval_s:
            start_time = self._next_request_time = max(clock(), self._next_request_time + self._interval_s)
            await asyncio.sleep(start_time - clock())
        while self._paused_until > clock():  # noqa: ASYNC110 - the time may be extended while waiting
            await asyncio.sleep(self._paused_until - clock())

    def delay_requests(self, seconds: float) -> None:
        """Delay all requests by at least this number of seconds."""
        self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + seconds)


# --- replies -----------------------------------------------------------------------------------------


_MAX_MESSAGE = 300  # maximum characters of a server's message in an error
# HTTP statuses after which the same request may succeed later.
_LATER = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
# HTTP statuses that may concern a single prompt. If the server has accepted no prompt yet, they concern all
# prompts.
_OF_ONE_PROMPT = frozenset({400, 403, 413, 422})
# Pattern for messages that refuse a single prompt.
_PROMPT_REFUSED = re.compile(
    r"context.?(length|window|size)|too long|(input|prompt) tokens? (count\b.{,40} )?exceed"
    r"|content.?(filter|management|policy)|moderation|invalid_prompt",
    re.IGNORECASE,
)
# Finish reasons of replies that the server did not complete.
_BROKEN_OFF = frozenset({"error", "abort", "insufficient_system_resource"})
_UNPAID = "insufficient_quota"  # code of a status 429 that waiting does not remedy
_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)


class FaultKind(StrEnum):
    """Kinds of faults of a model's server. The kind determines if a request is sent again."""

    LATER = "later"  # the same request may succeed later
    PAUSE = "pause"  # the same request may succeed after the pause that the server names
    STRANGE = "strange"  # the address may not belong to a model's server
    PROMPT = "prompt"  # the server refuses this prompt
    REFUSED = (
        "refused"  # the server refuses this prompt and, unless it has accepted a prompt before, all prompts
    )
    FINAL = "final"  # the server refuses all requests


class ModelServerFault(Exception):
    """Raised if a request has no reply.

    `retry_after_s`: the pause in seconds that the server names. `usage`: the tokens that the server reports.
    """

    def __init__(
        self,
        kind: FaultKind,
        reason: str,
        retry_after_s: float | None = None,
        *,
        usage: Mapping[str, Any] | None = None,
    ) -> None:
        self.kind, self.reason, self.retry_after_s, self.usage = kind, reason, retry_after_s, usage or {}
        super().__init__(reason)


class Reply(Value):
    """A model's reply."""

    content: str
    reasoning: str
    stop_reason: str
    usage: Mapping[str, Any] = {}


def read_reply(status: int, headers: Mapping[str, str], body: bytes, *, now: float) -> Reply:
    """Return the reply in a server's response. Raise ModelServerFault if there is none.

    Args:
        status: The HTTP status.
        headers: The headers, with names in lower case.
        body: The body.
        now: The time in seconds since the epoch.
    """
    if status != 200:
        raise _make_status_fault(status, headers, body, now)
    if body.lstrip()[:1] == b"<":
        raise ModelServerFault(
            FaultKind.STRANGE,
            "the server returned an HTML page instead of a chat"
            f" completion{_prepend_colon(_read_error_message(body))}",
        )
    if headers.get("content-type", "").startswith("text/event-stream") or body.startswith(b"data:"):
        return _parse_streamed_reply(body)
    reply = _parse_chat_completion(body)
    choice = next(iter(reply["choices"]), None)  # the request asks for a single choice
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ModelServerFault(FaultKind.LATER, "the server's reply contains no message")
    return _make_reply(message, choice.get("finish_reason"), reply.get("usage"))


# --- refusals ----------------------------------------------------------------------------------------


def _make_status_fault(status: int, headers: Mapping[str, str], body: bytes, now: float) -> ModelServerFault:
    """Return the fault for a status other than 200."""
    message = _read_error_message(body)
    reason = f"HTTP {status}{_prepend_colon(message)}"
    retry_after_s = _parse_retry_after(headers.get("retry-after", ""), now)
    if status == 429 and _UNPAID in body[:10_000].decode(errors="replace"):
        return ModelServerFault(FaultKind.FINAL, reason)
    if status in _LATER:
        return ModelServerFault(
            FaultKind.LATER if retry_after_s is None else FaultKind.PAUSE, reason, retry_after_s
        )
    if 300 <= status < 400:
        location = headers.get("location", "")
        return ModelServerFault(
            FaultKind.FINAL, f"HTTP {status}: the server has moved to {location or 'another address'}"
        )
    if status in _OF_ONE_PROMPT:
        is_page = body.lstrip()[:1] == b"<"  # a reply that is not a web page may contain an error code
        answer = message if is_page else body[:10_000].decode(errors="replace")
        return ModelServerFault(
            FaultKind.PROMPT if status == 413 or _PROMPT_REFUSED.search(answer) else FaultKind.REFUSED, reason
        )
    return ModelServerFault(FaultKind.FINAL, reason)


def _parse_retry_after(retry_after: str, now: float) -> float | None:
    """Return the pause in seconds that a header `Retry-After` names, or None if there is none."""
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(retry_after).timestamp() - now
        except (TypeError, ValueError, OverflowError):
            return None
    return seconds if seconds > 0 else None


def _read_error_message(body: bytes) -> str:
    """Return the message in a server's response: of an error in JSON, or the title of a page."""
    message = body[:100_000].decode(errors="replace")
    if message.lstrip().startswith("<"):
        title = _TITLE.search(message)
        message = title[1] if title else ""
    else:
        with contextlib.suppress(msgspec.MsgspecError, ValueError):
            answer = msgspec.json.decode(require_shallow(body))
            while isinstance(answer, dict):
                answer = answer.get("error") or answer.get("message") or answer.get("detail")
            message = answer if isinstance(answer, str) and answer else message
    return " ".join(message.split())[:_MAX_MESSAGE]


def _prepend_colon(message: str) -> str:
    """Return a message with a colon in front of it, or an empty string."""
    return f": {message}" if message else ""


# --- replies -----------------------------------------------------------------------------------------


def _parse_chat_completion(body: bytes) -> dict[str, Any]:
    """Return the chat completion in a body. Raise ModelServerFault if it is not one."""
    try:
        reply = msgspec.json.decode(require_shallow(body))
    except (msgspec.MsgspecError, ValueError) as error:
        raise ModelServerFault(
            FaultKind.STRANGE,
            f"the server's reply is not a chat completion ({error})"
            f"{_prepend_colon(_read_error_message(body))}",
        ) from error
    if not isinstance(reply, dict):
        raise ModelServerFault(
            FaultKind.STRANGE,
            f"the server's reply is not a chat completion{_prepend_colon(_read_error_message(body))}",
        )
    if reply.get("error"):
        raise ModelServerFault(
            FaultKind.LATER,
            f"the server returned an error instead of a reply{_prepend_colon(_read_error_message(body))}",
        )
    if not isinstance(reply.get("choices"), list):
        raise ModelServerFault(
            FaultKind.STRANGE,
            f"the chat completion has no choices{_prepend_colon(_read_error_message(body))}",
        )
    return reply


def _make_reply(message: Mapping[str, Any], stop_reason: Any, usage: Any) -> Reply:
    """Return the reply in a message. Raise ModelServerFault if it is empty or broken off."""
    content, reasoning = _join_text_parts(message.get("content")), _read_reasoning(message)
    stop_text = stop_reason if isinstance(stop_reason, str) else ""
    if stop_text in _BROKEN_OFF or not (stop_text or content or reasoning):
        reason = "the server's reply was broken off" if stop_text else "the server's reply is empty"
        raise ModelServerFault(FaultKind.LATER, reason, usage=_dict_or_empty(usage))
    return Reply(
        content=content,
        reasoning=reasoning,
        stop_reason=stop_text,
        usage=_dict_or_empty(usage),
    )


def _dict_or_empty(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def _read_reasoning(message: Mapping[str, Any]) -> str:
    """Return the reasoning in a message, or an empty string."""
    return _join_text_parts(message.get("reasoning_content")) or _join_text_parts(message.get("reasoning"))


def _join_text_parts(content: Any) -> str:
    """Return the string in a message's field, or in its list of parts. Ignore other values."""
    if isinstance(content, str):
        return content
    content_parts = content if isinstance(content, list) else []
    strings = (content_part.get("text") for content_part in content_parts if isinstance(content_part, dict))
    return "".join(string for string in strings if isinstance(string, str))


# --- servers that stream although the request asks for no stream ---------------------------------------


def _parse_streamed_reply(body: bytes) -> Reply:
    """Return the reply in a stream of events. Raise ModelServerFault if it was cut off."""
    content_parts, reasoning_parts = list[str](), list[str]()
    stop_reason: Any = None
    usage: Any = None
    data_lines = (
        line.removeprefix(b"data:").strip() for line in body.splitlines() if line.startswith(b"data:")
    )
    for data in data_lines:
        if not data or data == b"[DONE]":
            continue
        completion = _parse_chat_completion(data)
        usage = completion.get("usage") or usage
        for choice in completion["choices"]:
            if not isinstance(choice, dict) or choice.get("index", 0) != 0:
                continue
            delta = _dict_or_empty(choice.get("delta"))
            content_parts.append(_join_text_parts(delta.get("content")))
            reasoning_parts.append(_read_reasoning(delta))
            stop_reason = choice.get("finish_reason") or stop_reason
    if not stop_reason:
        raise ModelServerFault(FaultKind.LATER, "the streamed reply was cut off")
    return _make_reply(
        {"content": "".join(content_parts), "reasoning": "".join(reasoning_parts)}, stop_reason, usage
    )
