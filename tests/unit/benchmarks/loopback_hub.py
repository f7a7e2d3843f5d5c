"""The part of the hub's HTTP API that datasets are listed, fetched and pushed by, served on the loopback.

Repositories are folders: `<root>/<owner>/<name>/<revision>/...`, of which `main` is always one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

DATE = "2025-01-01T00:00:00.000Z"


class Hub(NamedTuple):
    url: str
    root: Path
    asked: list[str]  # methods and paths

    def environment(self, cache: Path, **more: str) -> dict[str, str]:
        return {"HF_ENDPOINT": self.url, "HF_HOME": str(cache), "HF_HUB_DISABLE_TELEMETRY": "1", **more}


@contextmanager
def serve(root: Path) -> Iterator[Hub]:
    asked: list[str] = []

    class Handler(_Handler):
        folder, log = root, asked

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield Hub(f"http://127.0.0.1:{server.server_port}", root, asked)
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    folder: Path
    log: list[str]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        self.log.append(f"{self.command} {unquote(url.path)}")
        parts = unquote(url.path).strip("/").split("/")
        if parts[:2] == ["api", "datasets"]:
            self._api(parts[2:], parse_qs(url.query), body)
        elif parts == ["api", "repos", "create"]:
            self._create(json.loads(body))
        elif parts == ["api", "validate-yaml"]:
            self._json({"errors": [], "warnings": []})
        elif parts[0] == "datasets" and parts[3] == "resolve":
            self._file("/".join(parts[1:3]), parts[4], "/".join(parts[5:]))
        else:
            self._json({"error": "no such thing"}, 404)

    def _api(self, parts: list[str], query: dict[str, list[str]], body: bytes) -> None:
        if len(parts) < 2:
            self._listing(query)
            return
        repo, rest = "/".join(parts[:2]), parts[2:]
        revision = rest[1] if len(rest) > 1 else "main"
        if not self._place(repo, revision).is_dir():
            self._json({"error": "Repository not found"}, 404, {"X-Error-Code": "RepoNotFound"})
        elif not rest or rest[0] == "revision":
            self._json(self._info(repo, revision))
        elif rest[0] == "tree":
            self._json(self._entries(repo, revision, "/".join(rest[2:])))
        elif rest[0] == "paths-info":
            asked = parse_qs(body.decode()).get("paths") or json.loads(body or b"{}").get("paths", [])
            self._json([one for one in self._entries(repo, revision, "") if one["path"] in asked])
        elif rest[0] == "preupload":
            files = json.loads(body)["files"]
            self._json(
                {
                    "files": [
                        {"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in files
                    ]
                }
            )
        elif rest[0] == "commit":
            self._commit(repo, revision, body)
        else:
            self._json({"error": "no such thing"}, 404)

    # --- what there is ---

    def _place(self, repo: str, revision: str) -> Path:
        for place in (self.folder / repo).glob("*"):
            if revision in (place.name, _sha(repo, place.name)):
                return place
        return self.folder / repo / revision

    def _listing(self, query: dict[str, list[str]]) -> None:
        author, search = query.get("author", [""])[0], query.get("search", [""])[0]
        found = sorted(path.parent for path in (self.folder / author).glob("*/main"))
        repos = [f"{author}/{path.name}" for path in found if search.lower() in path.name.lower()]
        self._json([self._info(repo, "main") for repo in repos])

    def _info(self, repo: str, revision: str) -> dict[str, Any]:
        place = self._place(repo, revision)
        files = [{"rfilename": one["path"]} for one in self._entries(repo, revision, "") if "oid" in one]
        sha = _sha(repo, place.name)
        shared = {"id": repo, "_id": "0" * 24, "sha": sha, "siblings": files, "tags": [], "private": False}
        return {**shared, "lastModified": DATE, "createdAt": DATE, "downloads": 0, "likes": 0}

    def _entries(self, repo: str, revision: str, below: str) -> list[dict[str, Any]]:
        place = self._place(repo, revision)
        paths = sorted(path for path in (place / below).rglob("*"))
        return [self._entry(path, path.relative_to(place).as_posix()) for path in paths]

    def _entry(self, path: Path, name: str) -> dict[str, Any]:
        if path.is_dir():
            return {"type": "directory", "oid": "0" * 40, "size": 0, "path": name}
        content = path.read_bytes()
        return {"type": "file", "oid": hashlib.sha1(content).hexdigest(), "size": len(content), "path": name}

    def _file(self, repo: str, revision: str, name: str) -> None:
        place = self._place(repo, revision)
        if not (place / name).is_file():
            self._json({"error": "Entry not found"}, 404, {"X-Error-Code": "EntryNotFound"})
            return
        content = (place / name).read_bytes()
        oid = hashlib.sha1(content).hexdigest()
        self._send(content, 200, {"ETag": f'"{oid}"', "X-Repo-Commit": _sha(repo, place.name)})

    # --- what is pushed ---

    def _create(self, wanted: dict[str, Any]) -> None:
        repo = f"{wanted.get('organization') or 'me'}/{wanted['name']}"
        (self.folder / repo / "main").mkdir(parents=True, exist_ok=True)
        (self.folder / repo / "created.json").write_text(json.dumps(wanted))
        self._json({"url": f"http://{self.headers['Host']}/datasets/{repo}", "name": repo})

    def _commit(self, repo: str, revision: str, body: bytes) -> None:
        for line in map(json.loads, body.splitlines()):
            if line["key"] == "file":
                path = self.folder / repo / revision / line["value"]["path"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(base64.b64decode(line["value"]["content"]))
        url = f"http://{self.headers['Host']}/datasets/{repo}/commit/{_sha(repo, revision)}"
        self._json({"success": True, "commitUrl": url, "commitOid": _sha(repo, revision), "hookOutput": ""})

    # --- answers ---

    def _json(self, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self._send(
            json.dumps(value).encode(), status, {"Content-Type": "application/json", **(headers or {})}
        )

    def _send(self, content: bytes, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _sha(repo: str, revision: str) -> str:
    return hashlib.sha1(f"{repo}@{revision}".encode()).hexdigest()
