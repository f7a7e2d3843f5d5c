"""A client of a Piston server, and reasons to skip tests that a server cannot answer."""

from __future__ import annotations

import http.client
import json
import re
import shutil
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

JSON = {"Content-Type": "application/json"}


class Reply(NamedTuple):
    status: int
    kind: str | None  # content type
    body: Any  # JSON, or text


class PistonServer:
    """A client of a server. `ours` is True for a worker that these tests started."""

    def __init__(self, url: str, *, ours: bool) -> None:
        address = urlsplit(url)
        assert address.hostname is not None
        self._host, self._port, self.ours = address.hostname, address.port or 80, ours
        path = address.path.rstrip("/")
        self._api = path if path.endswith("/api/v2") else f"{path}/api/v2"

    def call(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Reply:
        """Send a request. `path` is relative to /api/v2."""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=120)
        try:
            connection.request(method, self._api + path, body, headers or {})
            reply = connection.getresponse()
            data = reply.read()
        finally:
            connection.close()
        kind = reply.headers.get("Content-Type")
        content = data.decode()
        return Reply(reply.status, kind, json.loads(content) if kind and "json" in kind else content)

    def execute(self, **job: Any) -> Reply:
        """Execute a job. Skip the test if the server's limits or packages do not allow it."""
        return self.able(self.call("POST", "/execute", json.dumps(job).encode(), JSON))

    def bash(self, script: str, **fields: Any) -> dict[str, Any]:
        """Execute a script in bash, and return its run stage."""
        files = [{"name": "run", "content": script}, *fields.pop("files", [])]
        reply = self.execute(**{"language": "bash", "version": "*", "files": files, **fields})
        assert reply.status == 200, reply
        run: dict[str, Any] = reply.body["run"]
        return run

    def able(self, reply: Reply) -> Reply:
        message = (
            reply.body.get("message") or reply.body.get("stack") or "" if isinstance(reply.body, dict) else ""
        )
        if not self.ours and re.search("configured limit|runtime is unknown|PayloadTooLarge", message):
            pytest.skip(f"this server refuses the request: {message.splitlines()[0]}")
        return reply

    @cached_property
    def languages(self) -> frozenset[str]:
        entries = self.call("GET", "/runtimes").body
        return frozenset(name for entry in entries for name in (entry["language"], *entry["aliases"]))

    @cached_property
    def is_current(self) -> bool:
        """True if the server's replies have statuses. Servers before isolate have none."""
        return "status" in self.bash("true")

    def needs(self, language: str) -> None:
        if language not in self.languages:
            pytest.skip(f"this server lacks {language}")

    def needs_to_be_current(self) -> None:
        if not self.is_current:
            pytest.skip("this server is older than isolate and does not report statuses")


def lacks(language: str) -> bool:
    """Return True if this machine cannot have a language that the recorded server had."""
    return language == "kotlin" or (language == "java" and shutil.which("javac") is None)
