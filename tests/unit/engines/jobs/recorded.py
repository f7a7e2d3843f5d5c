"""Recorded replies of servers."""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).parent / "piston_samples"
SAMPLES = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}


def reply(name: str) -> tuple[int, bytes]:
    response = SAMPLES[name]["response"]
    body = response["body"]
    return response["status"], b"" if body == "" else json.dumps(body).encode()
