"""The body of a request: inflated while it comes, never more of it than the limit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from aiohttp import ClientPayloadError, web
from aiohttp.http_exceptions import HttpProcessingError

from ioi_eval.engines.transport import Refused, too_large

_ENCODINGS = ("", "identity", "gzip", "deflate")
_SILENT = 60.0  # seconds without a byte


async def pieces_of(
    request: web.Request, limit: int, bring: Callable[[int], None]
) -> AsyncGenerator[bytes, None]:
    """Raises Refused as a Piston server with that limit would. `bring` is told of bytes that come."""
    encoding = request.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        raise _broken(f'UnsupportedMediaTypeError: unsupported content encoding "{encoding}"')
    told = request.content_length or 0
    if told > limit:
        raise too_large(limit)
    bring(told)
    size = 0
    while piece := await _next(request):
        size += len(piece)
        if size > limit:
            raise too_large(limit)
        bring(max(0, size - told))
        told = max(told, size)
        yield piece


async def _next(request: web.Request) -> bytes:
    try:
        async with asyncio.timeout(_SILENT):
            return await request.content.readany()
    except TimeoutError:
        raise Refused(f"no byte of the request's body came for {_SILENT:g} s", status=408) from None
    except (web.RequestPayloadError, ClientPayloadError, HttpProcessingError) as error:
        raise _broken(f"BadRequestError: the request's body cannot be read: {error}") from error


def _broken(words: str) -> Refused:
    return Refused(words, body={"stack": words})
