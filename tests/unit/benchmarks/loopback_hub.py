"""The part of the hub's HTTP API that lists, downloads and uploads datasets, served on loopback.

Repositories are folders `<root>/<owner>/<name>/<revision>/...`, with the revision `main`.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from support.stub_server import StubReply, StubRequest, StubServer, json_reply

DATE = "2025-01-01T00:00:00.000Z"


class Hub(NamedTuple):
    url: str
    root: Path
    asked: list[str]  # methods and paths

    def environment(self, cache: Path, **more: str) -> dict[str, str]:
        return {"HF_ENDPOINT": self.url, "HF_HOME": str(cache), "HF_HUB_DISABLE_TELEMETRY": "1", **more}


@contextmanager
def serve(root: Path) -> Iterator[Hub]:
    request_lines: list[str] = []

    def answer(request: StubRequest) -> StubReply:
        request_lines.append(f"{request.method} {unquote(urlsplit(request.path).path)}")
        return _Repositories(root, request.headers["Host"]).answer(request)

    with StubServer(answer).running() as server:
        yield Hub(server.url, root, request_lines)


class _Repositories:
    def __init__(self, folder: Path, host: str) -> None:
        self.folder, self.host = folder, host

    def answer(self, asked: StubRequest) -> StubReply:
        url = urlsplit(asked.path)
        path_parts = unquote(url.path).strip("/").split("/")
        if path_parts[:2] == ["api", "datasets"]:
            return self._api(path_parts[2:], parse_qs(url.query), asked.content)
        if path_parts == ["api", "repos", "create"]:
            return self._create(asked.body)
        if path_parts == ["api", "validate-yaml"]:
            return json_reply({"errors": [], "warnings": []})
        if path_parts[0] == "datasets" and path_parts[3] == "resolve":
            return self._file("/".join(path_parts[1:3]), path_parts[4], "/".join(path_parts[5:]))
        return json_reply({"error": "no such thing"}, 404)

    def _api(self, parts: list[str], query: dict[str, list[str]], body: bytes) -> StubReply:
        if len(parts) < 2:
            return self._listing(query)
        repo, subpath = "/".join(parts[:2]), parts[2:]
        revision = subpath[1] if len(subpath) > 1 else "main"
        if not self._place(repo, revision).is_dir():
            return json_reply({"error": "Repository not found"}, 404, **{"X-Error-Code": "RepoNotFound"})
        if not subpath or subpath[0] == "revision":
            return json_reply(self._info(repo, revision))
        if subpath[0] == "tree":
            return json_reply(self._entries(repo, revision, "/".join(subpath[2:])))
        if subpath[0] == "paths-info":
            paths = parse_qs(body.decode()).get("paths") or json.loads(body or b"{}").get("paths", [])
            return json_reply(
                [entry for entry in self._entries(repo, revision, "") if entry["path"] in paths]
            )
        if subpath[0] == "preupload":
            files = json.loads(body)["files"]
            regular = [{"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in files]
            return json_reply({"files": regular})
        if subpath[0] == "commit":
            return self._commit(repo, revision, body)
        return json_reply({"error": "no such thing"}, 404)

    # --- reading ---

    def _place(self, repo: str, revision: str) -> Path:
        for revision_folder in (self.folder / repo).glob("*"):
            if revision in (revision_folder.name, _sha(repo, revision_folder.name)):
                return revision_folder
        return self.folder / repo / revision

    def _listing(self, query: dict[str, list[str]]) -> StubReply:
        author, search = query.get("author", [""])[0], query.get("search", [""])[0]
        repository_folders = sorted(path.parent for path in (self.folder / author).glob("*/main"))
        repos = [
            f"{author}/{path.name}" for path in repository_folders if search.lower() in path.name.lower()
        ]
        return json_reply([self._info(repo, "main") for repo in repos])

    def _info(self, repo: str, revision: str) -> dict[str, Any]:
        revision_folder = self._place(repo, revision)
        files = [
            {"rfilename": entry["path"]} for entry in self._entries(repo, revision, "") if "oid" in entry
        ]
        sha = _sha(repo, revision_folder.name)
        shared = {"id": repo, "_id": "0" * 24, "sha": sha, "siblings": files, "tags": [], "private": False}
        return {**shared, "lastModified": DATE, "createdAt": DATE, "downloads": 0, "likes": 0}

    def _entries(self, repo: str, revision: str, below: str) -> list[dict[str, Any]]:
        revision_folder = self._place(repo, revision)
        paths = sorted(path for path in (revision_folder / below).rglob("*"))
        return [self._entry(path, path.relative_to(revision_folder).as_posix()) for path in paths]

    def _entry(self, path: Path, name: str) -> dict[str, Any]:
        if path.is_dir():
            return {"type": "directory", "oid": "0" * 40, "size": 0, "path": name}
        content = path.read_bytes()
        return {"type": "file", "oid": hashlib.sha1(content).hexdigest(), "size": len(content), "path": name}

    def _file(self, repo: str, revision: str, name: str) -> StubReply:
        revision_folder = self._place(repo, revision)
        if not (revision_folder / name).is_file():
            return json_reply({"error": "Entry not found"}, 404, **{"X-Error-Code": "EntryNotFound"})
        content = (revision_folder / name).read_bytes()
        oid = hashlib.sha1(content).hexdigest()
        return StubReply(
            200, content, {"ETag": f'"{oid}"', "X-Repo-Commit": _sha(repo, revision_folder.name)}
        )

    # --- uploads ---

    def _create(self, wanted: dict[str, Any]) -> StubReply:
        repo = f"{wanted.get('organization') or 'me'}/{wanted['name']}"
        (self.folder / repo / "main").mkdir(parents=True, exist_ok=True)
        (self.folder / repo / "created.json").write_text(json.dumps(wanted))
        return json_reply({"url": f"http://{self.host}/datasets/{repo}", "name": repo})

    def _commit(self, repo: str, revision: str, body: bytes) -> StubReply:
        for line in map(json.loads, body.splitlines()):
            if line["key"] == "file":
                path = self.folder / repo / revision / line["value"]["path"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(base64.b64decode(line["value"]["content"]))
        url = f"http://{self.host}/datasets/{repo}/commit/{_sha(repo, revision)}"
        commit_reply = {
            "success": True,
            "commitUrl": url,
            "commitOid": _sha(repo, revision),
            "hookOutput": "",
        }
        return json_reply(commit_reply)


def _sha(repo: str, revision: str) -> str:
    return hashlib.sha1(f"{repo}@{revision}".encode()).hexdigest()
