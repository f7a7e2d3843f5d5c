"""Server answers: a model's reply, or the reason why there is none and whose fault that is. Pure."""

from __future__ import annotations

import contextlib
import email.utils
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from ioi_eval.model.nesting import shallow
from ioi_eval.model.values import Value

_CLIPPED = 300  # characters of what a server said, in messages
_LATER = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
_OF_ONE_PROMPT = frozenset({400, 403, 413, 422})  # or of all: seen by whether any prompt is accepted
_TOO_MUCH = re.compile(
    r"context.?(length|window|size)|too long|content.?(filter|management|policy)|moderation", re.IGNORECASE
)
_UNPAID = "insufficient_quota"  # a 429 that no pause mends
_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)


class Kind(StrEnum):
    """The remedy for a fault."""

    LATER = "later"  # the same again may be answered
    PAUSE = "pause"  # so it will be, after the pause that the server names
    STRANGE = "strange"  # this may be no model's server at all
    PROMPT = "prompt"  # this prompt will not be accepted
    REFUSED = "refused"  # nothing will be accepted, unless other prompts are
    FINAL = "final"  # nothing will be accepted


class Fault(Exception):
    """No reply. `pause`: seconds that the server wants."""

    def __init__(self, kind: Kind, reason: str, pause: float | None = None) -> None:
        self.kind, self.reason, self.pause = kind, reason, pause
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
        raise Fault(Kind.STRANGE, f"a page and no chat completion{_colon(_said(body))}")
    if headers.get("content-type", "").startswith("text/event-stream") or body.startswith(b"data:"):
        return _streamed(body)
    reply = _decoded(body)
    choice = next(iter(reply["choices"]), None)  # others were not asked for
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise Fault(Kind.LATER, "a reply without a message")
    return _reply(message, choice.get("finish_reason"), reply.get("usage"))


# --- refusals ----------------------------------------------------------------------------------------


def _refusal(status: int, headers: Mapping[str, str], body: bytes, now: float) -> Fault:
    words = _said(body)
    reason = f"HTTP {status}{_colon(words)}"
    pause = _named_pause(headers.get("retry-after", ""), now)
    if status == 429 and _UNPAID in body[:10_000].decode(errors="replace"):
        return Fault(Kind.FINAL, reason)
    if status in _LATER:
        return Fault(Kind.LATER if pause is None else Kind.PAUSE, reason, pause)
    if 300 <= status < 400:
        elsewhere = headers.get("location", "")
        return Fault(Kind.FINAL, f"HTTP {status}: it is to be asked at {elsewhere or 'another address'}")
    if status in _OF_ONE_PROMPT:
        return Fault(Kind.PROMPT if status == 413 or _TOO_MUCH.search(words) else Kind.REFUSED, reason)
    return Fault(Kind.FINAL, reason)


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
            said = msgspec.json.decode(shallow(body))
            while isinstance(said, dict):
                said = said.get("error") or said.get("message") or said.get("detail")
            text = said if isinstance(said, str) and said else text
    return " ".join(text.split())[:_CLIPPED]


def _colon(words: str) -> str:
    return f": {words}" if words else ""


# --- replies -----------------------------------------------------------------------------------------


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        reply = msgspec.json.decode(shallow(body))
    except (msgspec.MsgspecError, ValueError) as error:
        raise Fault(Kind.STRANGE, f"no chat completion ({error}){_colon(_said(body))}") from error
    if not isinstance(reply, dict):
        raise Fault(Kind.STRANGE, f"no chat completion{_colon(_said(body))}")
    if reply.get("error"):
        raise Fault(Kind.LATER, f"an error in the place of a reply{_colon(_said(body))}")
    if not isinstance(reply.get("choices"), list):
        raise Fault(Kind.STRANGE, f"no chat completion, it has no choices{_colon(_said(body))}")
    return reply


def _reply(message: Mapping[str, Any], stop_reason: Any, usage: Any) -> Reply:
    content, reasoning = _plain(message.get("content")), _reasoning(message)
    stop = stop_reason if isinstance(stop_reason, str) else ""
    if stop == "error" or not (stop or content or reasoning):
        raise Fault(Kind.LATER, "a reply that was broken off" if stop else "an empty reply")
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
        raise Fault(Kind.LATER, "a stream that was cut off")
    return _reply({"content": "".join(content), "reasoning": "".join(reasoning)}, stop_reason, usage)
