"""Models behind OpenAI's chat completions, as most servers offer them. Nothing is streamed.

A late, broken or refused reply is asked for again: after the pause that the server names, for
all requests, else after one that grows. What the server will never accept is an InputError at once, and so is
what has not once been answered like a model; what it will not accept of one prompt is that prompt's failure.
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

from ioi_eval.generate.asks import Ask, GenerationFailed, ModelOptions, Spending, Text
from ioi_eval.model.errors import InputError
from ioi_eval.model.nesting import shallow
from ioi_eval.model.retry import MODEL, MODEL_ADDRESS
from ioi_eval.model.secret import Secret, names_a_secret
from ioi_eval.model.values import Value

_log = logging.getLogger(__name__)
_PAUSES = 10  # refusals with a named pause that weigh as much as one fault
_HOPELESS = 100  # asks in a row that failed: nobody else is asked
_LARGEST = 64 << 20  # bytes of a reply
_LIKE_THIS = "Write it as http://127.0.0.1:8000/v1"
_RESERVED = frozenset({"messages", "model", "n", "stream"})  # fields of a request that are ours


class ChatModel:
    """An author that is asked over HTTP. `async with` opens and closes its connections.

    `key` is a secret: it goes into requests and nowhere else, not even where a server repeats it.
    """

    def __init__(self, options: ModelOptions, budget: Spending, *, key: str = "") -> None:
        check_model(options, key)
        self._options, self._budget, self._key = options, budget, Secret(key.strip())
        self._url, given = _completions(options.base_url), httpx.URL(options.base_url.strip())
        self._http = httpx.AsyncClient(
            headers=_headers(self._key),
            # A name and a password of the address. There they would be in every message that names it.
            auth=httpx.BasicAuth(given.username, given.password) if given.userinfo else None,
            timeout=httpx.Timeout(options.timeout, connect=30.0),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
        )
        self._gate = _Gate(options.requests_per_minute)
        self._rule = msgspec.structs.replace(MODEL, attempts=options.attempts, first_wait=options.pause)
        self._answered = False  # once, like a model
        self._failed = 0  # asks in a row

    @property
    def name(self) -> str:
        return self._options.name

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._http.aclose()

    async def write(self, ask: Ask) -> Text:
        if self._failed >= _HOPELESS:
            raise GenerationFailed(f"not asked: {self._failed} others in a row failed")
        body = self._request(ask)
        try:
            reply = await self._insist(body)
        except GenerationFailed:
            self._failed += 1
            raise
        self._answered, self._failed = True, 0
        given = len(self._options.system + ask.prompt) + sum(len(words) for _, words in ask.earlier)
        usage = self._budget.usage(reply.usage, given=given, written=len(reply.content + reply.reasoning))
        return Text(
            generation=reply.content,
            reasoning=reply.reasoning,
            stop_reason=reply.stop_reason,
            usage=usage,
            cost=self._budget.spend(usage),
            settings={name: value for name, value in body.items() if name not in _RESERVED},
        )

    # --- attempts ---

    # A pause that the server names holds back all requests, and is a tenth of an attempt.
    async def _insist(self, body: Mapping[str, Any]) -> Reply:
        attempts = pauses = 0
        while True:
            self._budget.check()
            await self._gate.passed()
            try:
                return await self._reply(body)
            except Fault as fault:
                self._budget.spend(fault.usage)
                pauses += fault.kind is FaultKind.PAUSE
                attempts += fault.kind is not FaultKind.PAUSE
                self._give_up(fault, attempts + pauses // _PAUSES)
                self._rule.log(_log, self._key.out_of(fault.reason))
                if fault.pause is not None:
                    self._gate.close_for(min(fault.pause, self._rule.longest_wait))
                else:
                    await asyncio.sleep(self._rule.wait_after(attempts))

    def _give_up(self, fault: Fault, attempts: int) -> None:
        """Returns where another attempt is worth it."""
        reason = self._key.out_of(fault.reason)
        is_last = self._rule.is_last(attempts)
        strange = fault.kind is FaultKind.STRANGE and (is_last or MODEL_ADDRESS.is_last(attempts))
        hopeless = not self._answered and (strange or fault.kind is FaultKind.REFUSED)
        if hopeless or fault.kind is FaultKind.FINAL:
            tried = f", {MODEL_ADDRESS.used_up(attempts)}" if strange and attempts > 1 else ""
            raise InputError(
                f"the model cannot be asked: {reason}{tried}",
                # Without what may be secret: a key behind the question mark.
                where=str(self._url.copy_with(query=None)),
                remedy="Check model.name, model.base_url and the key in the environment",
            )
        if fault.kind in (FaultKind.PROMPT, FaultKind.REFUSED):
            raise GenerationFailed(reason)
        if is_last:
            raise GenerationFailed(f"{reason}, {self._rule.used_up(attempts)}" if attempts > 1 else reason)

    # --- one request ---

    def _request(self, ask: Ask) -> dict[str, Any]:
        sampling, system = self._options.sampling, self._options.system
        messages = [{"role": "system", "content": system}] if system else []
        messages += [{"role": role, "content": words} for role, words in ask.earlier]
        seed = None if sampling.seed is None else sampling.seed + ask.number
        chosen = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "seed": seed,
        }
        return {
            "model": self._options.name,
            "messages": [*messages, {"role": "user", "content": ask.prompt}],
            "stream": False,
            **{name: value for name, value in chosen.items() if value is not None},
            **sampling.extra,
        }

    async def _reply(self, body: Mapping[str, Any]) -> Reply:
        content = msgspec.json.encode(body)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        try:
            # httpx's own limit is for each piece of a reply, and a server may send one a minute.
            async with asyncio.timeout(self._options.timeout):
                pieces, size = list[bytes](), 0
                async with self._http.stream("POST", self._url, content=content, headers=headers) as response:
                    async for piece in response.aiter_bytes():
                        size += len(piece)
                        if size > _LARGEST:
                            raise Fault(FaultKind.LATER, f"a reply of more than {_LARGEST >> 20} MB")
                        pieces.append(piece)
        except TimeoutError as error:
            raise Fault(FaultKind.LATER, f"no reply within {self._options.timeout:g} s") from error
        except httpx.RequestError as error:
            kind = FaultKind.STRANGE if isinstance(error, httpx.ConnectError) else FaultKind.LATER
            reason = self._key.out_of(f"{type(error).__name__}: {error}".rstrip(": "))
            raise Fault(kind, reason) from None  # its own words may be those of the server
        hidden = self._key.out_of_reply
        public = {name: hidden(value.encode()).decode() for name, value in response.headers.items()}
        received = hidden(b"".join(pieces))
        return read_reply(response.status_code, public, received, now=time.time())


def check_model(options: ModelOptions, key: str) -> None:
    """Raises InputError for what can be seen to be wrong without asking anybody."""
    _completions(options.base_url)
    _headers(Secret(key.strip()))
    for name in sorted(_RESERVED & options.sampling.extra.keys()):
        remedy = "Set `samples` to ask for several programs" if name == "n" else "Leave it out"
        raise InputError("ioi-eval sets this field itself", field=f"model.extra.{name}", remedy=remedy)
    for name in filter(names_a_secret, options.sampling.extra):
        remedy = "The key's place is the variable that model.api_key_env names"
        raise InputError("would be written into the run's folder", field=f"model.extra.{name}", remedy=remedy)


def _completions(base_url: str) -> httpx.URL:
    try:
        base = httpx.URL(base_url.strip())
        url = base.copy_with(path=base.path.rstrip("/") + "/chat/completions", userinfo=b"")
    except httpx.InvalidURL:  # whose words may repeat a password
        raise InputError("is not a URL", field="model.base_url", remedy=_LIKE_THIS) from None
    if url.scheme not in ("http", "https") or not url.host:
        raise InputError("is not the address of a server", field="model.base_url", remedy=_LIKE_THIS)
    return url


def _headers(key: Secret) -> dict[str, str]:
    if not (key.isascii() and key.isprintable()):
        remedy = "Does the variable hold the key alone?"
        raise InputError(
            "the key has control or non-ASCII characters", field="model.api_key_env", remedy=remedy
        )
    return {"Authorization": key.bearer} if key else {}


class _Gate:
    """Lets requests through: none while the server wants a pause, and only so many a minute."""

    def __init__(self, per_minute: float | None) -> None:
        self._distance = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0  # the loop's time of the next place in the row
        self._closed_until = 0.0

    async def passed(self) -> None:
        clock = asyncio.get_running_loop().time
        if self._distance:
            place = self._next = max(clock(), self._next + self._distance)
            await asyncio.sleep(place - clock())
        while self._closed_until > clock():  # noqa: ASYNC110 - a time is waited for, and it may move
            await asyncio.sleep(self._closed_until - clock())

    def close_for(self, pause: float) -> None:
        self._closed_until = max(self._closed_until, asyncio.get_running_loop().time() + pause)


# --- replies -----------------------------------------------------------------------------------------


_CLIPPED = 300  # characters of what a server said, in messages
_LATER = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
_OF_ONE_PROMPT = frozenset({400, 403, 413, 422})  # or of all: seen by whether any prompt is accepted
_TOO_MUCH = re.compile(
    r"context.?(length|window|size)|too long|(input|prompt) tokens? (count\b.{,40} )?exceed"
    r"|content.?(filter|management|policy)|moderation|invalid_prompt",
    re.IGNORECASE,
)
_BROKEN_OFF = frozenset({"error", "abort", "insufficient_system_resource"})  # ends of replies: by the server
_UNPAID = "insufficient_quota"  # a 429 that no pause mends
_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)


class FaultKind(StrEnum):
    """The remedy for a fault."""

    LATER = "later"  # the same again may be answered
    PAUSE = "pause"  # so it will be, after the pause that the server names
    STRANGE = "strange"  # this may be no model's server at all
    PROMPT = "prompt"  # this prompt will not be accepted
    REFUSED = "refused"  # nothing will be accepted, unless other prompts are
    FINAL = "final"  # nothing will be accepted


class Fault(Exception):
    """No reply. `pause`: seconds that the server wants; `usage`: what it says that it has used."""

    def __init__(
        self,
        kind: FaultKind,
        reason: str,
        pause: float | None = None,
        *,
        usage: Mapping[str, Any] | None = None,
    ) -> None:
        self.kind, self.reason, self.pause, self.usage = kind, reason, pause, usage or {}
        super().__init__(reason)


class Reply(Value):
    content: str
    reasoning: str
    stop_reason: str
    usage: Mapping[str, Any] = {}


def read_reply(status: int, headers: Mapping[str, str], body: bytes, *, now: float) -> Reply:
    """Raises Fault. `headers` with names in lower case; `now`: seconds since the epoch."""
    if status != 200:
        raise _refusal(status, headers, body, now)
    if body.lstrip()[:1] == b"<":
        raise Fault(FaultKind.STRANGE, f"a page and no chat completion{_colon(_said(body))}")
    if headers.get("content-type", "").startswith("text/event-stream") or body.startswith(b"data:"):
        return _streamed(body)
    reply = _decoded(body)
    choice = next(iter(reply["choices"]), None)  # others were not asked for
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise Fault(FaultKind.LATER, "a reply without a message")
    return _reply(message, choice.get("finish_reason"), reply.get("usage"))


# --- refusals ----------------------------------------------------------------------------------------


def _refusal(status: int, headers: Mapping[str, str], body: bytes, now: float) -> Fault:
    words = _said(body)
    reason = f"HTTP {status}{_colon(words)}"
    pause = _named_pause(headers.get("retry-after", ""), now)
    if status == 429 and _UNPAID in body[:10_000].decode(errors="replace"):
        return Fault(FaultKind.FINAL, reason)
    if status in _LATER:
        return Fault(FaultKind.LATER if pause is None else FaultKind.PAUSE, reason, pause)
    if 300 <= status < 400:
        location = headers.get("location", "")
        return Fault(FaultKind.FINAL, f"HTTP {status}: it is to be asked at {location or 'another address'}")
    if status in _OF_ONE_PROMPT:
        is_page = body.lstrip()[:1] == b"<"  # else its code may say what its words do not
        whole = words if is_page else body[:10_000].decode(errors="replace")
        return Fault(
            FaultKind.PROMPT if status == 413 or _TOO_MUCH.search(whole) else FaultKind.REFUSED, reason
        )
    return Fault(FaultKind.FINAL, reason)


def _named_pause(named: str, now: float) -> float | None:
    """Retry-After, in seconds or as a date. None where it says nothing, or that the time is now."""
    try:
        seconds = float(named)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(named).timestamp() - now
        except (TypeError, ValueError, OverflowError):
            return None
    return seconds if seconds > 0 else None


def _said(body: bytes) -> str:
    """A server's words: its own message where there is one, the title of a page."""
    text = body[:100_000].decode(errors="replace")
    if text.lstrip().startswith("<"):
        title = _TITLE.search(text)
        text = title[1] if title else ""
    else:
        with contextlib.suppress(msgspec.MsgspecError, ValueError):
            answer = msgspec.json.decode(shallow(body))
            while isinstance(answer, dict):
                answer = answer.get("error") or answer.get("message") or answer.get("detail")
            text = answer if isinstance(answer, str) and answer else text
    return " ".join(text.split())[:_CLIPPED]


def _colon(words: str) -> str:
    return f": {words}" if words else ""


# --- replies -----------------------------------------------------------------------------------------


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        reply = msgspec.json.decode(shallow(body))
    except (msgspec.MsgspecError, ValueError) as error:
        raise Fault(FaultKind.STRANGE, f"no chat completion ({error}){_colon(_said(body))}") from error
    if not isinstance(reply, dict):
        raise Fault(FaultKind.STRANGE, f"no chat completion{_colon(_said(body))}")
    if reply.get("error"):
        raise Fault(FaultKind.LATER, f"an error in the place of a reply{_colon(_said(body))}")
    if not isinstance(reply.get("choices"), list):
        raise Fault(FaultKind.STRANGE, f"no chat completion, it has no choices{_colon(_said(body))}")
    return reply


def _reply(message: Mapping[str, Any], stop_reason: Any, usage: Any) -> Reply:
    content, reasoning = _plain(message.get("content")), _reasoning(message)
    stop = stop_reason if isinstance(stop_reason, str) else ""
    if stop in _BROKEN_OFF or not (stop or content or reasoning):
        reason = "a reply that was broken off" if stop else "an empty reply"
        raise Fault(FaultKind.LATER, reason, usage=_dictionary(usage))
    return Reply(
        content=content,
        reasoning=reasoning,
        stop_reason=stop,
        usage=_dictionary(usage),
    )


def _dictionary(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _reasoning(message: Mapping[str, Any]) -> str:
    return _plain(message.get("reasoning_content")) or _plain(message.get("reasoning"))


def _plain(content: Any) -> str:
    """A text, or the texts of a list of parts; whatever else a server sends counts as nothing."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))


# --- servers that stream although they were told not to ------------------------------------------------


def _streamed(body: bytes) -> Reply:
    content, reasoning = list[str](), list[str]()
    stop_reason: Any = None
    usage: Any = None
    lines = (line.removeprefix(b"data:").strip() for line in body.splitlines() if line.startswith(b"data:"))
    for data in lines:
        if not data or data == b"[DONE]":
            continue
        piece = _decoded(data)
        usage = piece.get("usage") or usage
        for choice in piece["choices"]:
            if not isinstance(choice, dict) or choice.get("index", 0) != 0:
                continue
            delta = _dictionary(choice.get("delta"))
            content.append(_plain(delta.get("content")))
            reasoning.append(_reasoning(delta))
            stop_reason = choice.get("finish_reason") or stop_reason
    if not stop_reason:
        raise Fault(FaultKind.LATER, "a stream that was cut off")
    return _reply({"content": "".join(content), "reasoning": "".join(reasoning)}, stop_reason, usage)
