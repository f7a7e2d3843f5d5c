"""Models behind OpenAI's chat completions, as most servers offer them. Nothing is streamed.

A reply that is late, broken or refused for the moment is asked for again, elsewhere in time: with the pause
that the server names, for all requests, else with one that grows. What the server will never accept is an
InputError at once.
"""

from __future__ import annotations

import asyncio
import email.utils
import random
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import httpx
import msgspec

from ioi_eval.errors import InputError
from ioi_eval.generate.asking import Ask, GenerationFailed, Text
from ioi_eval.generate.budget import Budget
from ioi_eval.models import Value

_LONGEST_PAUSE = 120.0  # seconds; a server that names a longer one is not waited for so long
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_CLIPPED = 300  # characters of what a server said, in messages


class Sampling(Value):
    """How the model is to write; None: as its server likes."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None  # of the first sample; the next one gets the next number
    extra: Mapping[str, Any] = {}  # any other field of a request


class ModelOptions(Value):
    name: str
    base_url: str  # up to and without /chat/completions
    key: str = ""  # a secret: it goes into requests and nowhere else
    system: str = ""  # a message ahead of the prompt
    sampling: Sampling = Sampling()
    timeout: float = 600.0  # seconds for one reply
    attempts: int = 6
    requests_per_minute: float | None = None
    pause: float = 1.0  # seconds before the second attempt; doubled each time


class _Message(msgspec.Struct):
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Reply(msgspec.Struct):
    choices: list[_Choice]
    usage: dict[str, Any] | None = None


class _Passing(Exception):
    """Worth another attempt, after `pause` seconds if the server names them."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        self.reason, self.pause = reason, pause
        super().__init__(reason)


class ChatModel:
    """An author that is asked over HTTP. `async with` opens and closes its connections."""

    def __init__(
        self, options: ModelOptions, budget: Budget, *, transport: httpx.AsyncBaseTransport | None = None
    ):
        self._options, self._budget = options, budget
        headers = {"Authorization": f"Bearer {options.key}"} if options.key else {}
        self._http = httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(options.timeout, connect=30.0),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
            transport=transport,
        )
        self._gate = _Gate(options.requests_per_minute)

    @property
    def name(self) -> str:
        return self._options.name

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.__aexit__(kind, error, trace)

    async def write(self, ask: Ask) -> Text:
        body = self._request(ask)
        for attempt in range(1, self._options.attempts + 1):
            self._budget.check()
            await self._gate.passed()
            try:
                return self._text(await self._reply(body), body)
            except _Passing as fault:
                if attempt == self._options.attempts:
                    raise GenerationFailed(f"{fault.reason} ({attempt} attempts)") from fault
                self._gate.close_for(fault.pause)
                if fault.pause is None:
                    await asyncio.sleep(self._growing(attempt))
        raise AssertionError("the last attempt returns or raises")

    def _growing(self, attempt: int) -> float:
        longest: float = min(_LONGEST_PAUSE, self._options.pause * 2.0 ** (attempt - 1))
        return longest * random.uniform(0.5, 1.0)

    # --- one request ---

    def _request(self, ask: Ask) -> dict[str, Any]:
        sampling, system = self._options.sampling, self._options.system
        messages = [{"role": "system", "content": system}] if system else []
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

    async def _reply(self, body: Mapping[str, Any]) -> _Reply:
        url = f"{self._options.base_url.rstrip('/')}/chat/completions"
        try:
            # httpx's own limit is for each piece of a reply, and a server may send one a minute.
            async with asyncio.timeout(self._options.timeout):
                response = await self._http.post(url, json=body)
        except TimeoutError as error:
            raise _Passing(f"no reply within {self._options.timeout:g} s") from error
        except httpx.InvalidURL as error:
            raise InputError(f"{url} is no URL: {error}", field="base_url") from error
        except httpx.TransportError as error:
            raise _Passing(f"{type(error).__name__}: {error}".rstrip(": ")) from error
        return _decoded(response, url)

    def _text(self, reply: _Reply, body: Mapping[str, Any]) -> Text:
        usage = reply.usage or {}
        cost = self._budget.spend(usage)
        if not reply.choices:
            raise _Passing("a reply without a choice")
        choice = reply.choices[0]
        reasoning = choice.message.reasoning_content or choice.message.reasoning
        return Text(
            generation=_plain(choice.message.content),
            reasoning=_plain(reasoning),
            stop_reason=choice.finish_reason or "",
            usage=usage,
            cost=cost,
            settings={
                name: value for name, value in body.items() if name not in ("messages", "model", "stream")
            },
        )


def _decoded(response: httpx.Response, url: str) -> _Reply:
    if response.status_code in _PASSING:
        raise _Passing(_said(response), _named_pause(response))
    if response.status_code != 200:
        raise InputError(
            f"{url} refuses: {_said(response)}",
            field="model",
            remedy="Look at the model's name, its base URL and the key in the environment",
        )
    try:
        return msgspec.json.decode(response.content, type=_Reply)
    except (msgspec.MsgspecError, ValueError) as error:
        raise _Passing(f"a reply that is no chat completion: {error}") from error


def _said(response: httpx.Response) -> str:
    words = " ".join(response.text.split())[:_CLIPPED]
    return f"HTTP {response.status_code}{f': {words}' if words else ''}"


def _named_pause(response: httpx.Response) -> float | None:
    """Retry-After, in seconds or as a date."""
    named = response.headers.get("Retry-After", "")
    try:
        seconds = float(named)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(named).timestamp() - time.time()
        except (TypeError, ValueError):
            return None
    return min(max(seconds, 0.0), _LONGEST_PAUSE) if seconds == seconds else None


def _plain(content: Any) -> str:
    """A text, or the texts of a list of parts; whatever else a server sends counts as nothing."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))


class _Gate:
    """Lets requests through: none while the server wants a pause, and only so many a minute."""

    def __init__(self, per_minute: float | None) -> None:
        self._distance = 60.0 / per_minute if per_minute else 0.0
        self._free_at = 0.0  # the loop's time

    async def passed(self) -> None:
        now = asyncio.get_running_loop().time()
        begin = max(now, self._free_at)
        self._free_at = begin + self._distance if self._distance else self._free_at
        if begin > now:
            await asyncio.sleep(begin - now)

    def close_for(self, pause: float | None) -> None:
        if pause is not None:
            self._free_at = max(self._free_at, asyncio.get_running_loop().time() + pause)
