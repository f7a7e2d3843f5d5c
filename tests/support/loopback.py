"""Servers on loopback."""

from __future__ import annotations

from aiohttp import web


async def serve_on_loopback(*routes: web.RouteDef, port: int = 0) -> tuple[web.AppRunner, int]:
    """Start a server. Return its runner, whose `cleanup` stops it, and its port."""
    application = web.Application(client_max_size=0)
    application.add_routes(routes)
    runner = web.AppRunner(application, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
    except OSError:
        await runner.cleanup()
        raise
    return runner, runner.addresses[0][1]
