"""A server with an embedded engine, and a client."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest
from server_helpers import Caller

from ioi_eval import EmbeddedEngine, Store
from ioi_eval.server import Server, ServerOptions


@pytest.fixture
def options() -> ServerOptions:
    return ServerOptions(port=0, queue=1, max_body=1 << 20, run_timeout=60_000, run_memory_limit=1 << 30)


@pytest.fixture
async def engine(store: Store) -> AsyncIterator[EmbeddedEngine]:
    async with EmbeddedEngine(store=store, slots=1, max_stdout=10_000, max_stderr=10_000) as opened:
        yield opened


@pytest.fixture
async def server(engine: EmbeddedEngine, options: ServerOptions) -> AsyncIterator[Server]:
    async with Server(engine, options) as started:
        yield started


@pytest.fixture
async def call(server: Server) -> AsyncIterator[Caller]:
    async with aiohttp.ClientSession(server.url) as session:
        yield Caller(session)
