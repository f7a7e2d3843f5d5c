"""Servers with different packages. A gateway shows a real server as several servers."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web
from support.command_line import BROKEN, RIGHT, WRONG, results
from support.loopback import serve_on_loopback

PROGRAMS = {"right": RIGHT, "wrong": WRONG, "broken": BROKEN}


class PartOf:
    """A gateway to a server that shows only some of its runtimes."""

    def __init__(self, url: str, *runtimes: str) -> None:
        self._real, self._runtimes = url, {*runtimes}
        self._loop, self._begun = asyncio.new_event_loop(), threading.Event()
        self.url = ""
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        self._begun.wait()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self) -> None:
        self._loop.run_until_complete(self._start())
        self._loop.run_forever()
        self._loop.run_until_complete(self._runner.cleanup())
        self._loop.close()

    async def _start(self) -> None:
        self._runner, port = await serve_on_loopback(web.route("*", "/{path:.*}", self._passed_on))
        self.url = f"http://127.0.0.1:{port}"
        self._begun.set()

    async def _passed_on(self, request: web.Request) -> web.Response:
        body = await request.read()
        if request.path.endswith("/execute"):
            request_fields = json.loads(body) if request.headers.get("Content-Encoding") is None else {}
            if request_fields.get("language", "bash") not in {*self._runtimes, "bash"}:
                return web.json_response(
                    {"message": f"{request_fields['language']}-* runtime is unknown"}, status=400
                )
        forwarded = ("Content-Type", "Content-Encoding")
        headers = {name: request.headers[name] for name in forwarded if name in request.headers}
        async with httpx.AsyncClient(timeout=300) as client:
            url = f"{self._real}{request.path}"
            reply = await client.request(request.method, url, content=body, headers=headers)
        content = reply.content
        if request.path.endswith("/runtimes"):
            own_runtimes = [
                runtime
                for runtime in json.loads(content)
                if self._runtimes & {runtime["language"], *runtime["aliases"]}
            ]
            content = json.dumps(own_runtimes).encode()
        return web.Response(status=reply.status_code, body=content, content_type="application/json")


@pytest.fixture
def parts(real: dict[str, str]) -> Iterator[tuple[PartOf, PartOf]]:
    """Yield a gateway that shows only bash, and a gateway that shows only classic packages."""
    both = PartOf(real["raised"], "bash"), PartOf(real["raised"], "cms_ioi")
    yield both
    for server in both:
        server.close()


def scored(desk: Any, *urls: str) -> tuple[str, Path, dict[str, Any]]:
    completed = desk.cli(*[argument for argument in desk.words(PROGRAMS, *urls) if argument != "--quiet"])
    assert completed.returncode == 0, completed.stdout + completed.stderr
    folder = desk.folder / "there"
    points = {key: row["all_subtasks_points"] for key, row in results(folder).items()}
    assert points == {"right": 100, "wrong": 0, "broken": 0}
    return completed.stderr, folder, json.loads((folder / "run.json").read_text())["settings"]


@pytest.mark.parametrize("order", [1, -1])
def test_classic_only_server_is_unused_next_to_batch_server(
    desk: Any, parts: tuple[PartOf, PartOf], order: int
) -> None:
    shell, classic = parts
    log, folder, settings = scored(desk, *[shell.url, classic.url][::order])
    line = "1 with bash, 1 with cms_ioi only is not used"
    first = re.search(r"2 servers: (.*); 1 job at a time on (\d+) cores \(.*\), many tests a job", log)
    assert first and (first[1], first[2]) == (line, str(len(os.sched_getaffinity(0)))), log
    assert (settings["servers"], settings["jobs"]) == (line, "many tests a job")
    assert line in (folder / "report.md").read_text()
    assert all(row["compiler"].startswith("g++ ") for row in results(folder).values())


def test_option_job_classic_uses_server_with_classic_package(desk: Any, parts: tuple[PartOf, PartOf]) -> None:
    shell, classic = parts
    desk.cli.set_keys(job="classic")
    log, folder, settings = scored(desk, shell.url, classic.url)
    assert "2 servers: 1 with cms_ioi only, 1 with bash is not used; 1 job at a time, classic jobs" in log
    assert settings["jobs"].startswith("classic jobs")
    assert {row["compiler"] for row in results(folder).values()} == {
        "compiler of the server's package cms_ioi"
    }
