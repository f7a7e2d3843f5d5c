"""Small packages in the ICPC's format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

HEADER = """problem_format_version: legacy
name: Doubling
limits:
  memory: 256
"""
FILES: Mapping[str, str] = {
    "problem.yaml": HEADER,
    ".timelimit": "2\n",
    "data/sample/1.in": "1\n",
    "data/sample/1.ans": "2\n",
    "data/secret/01-small.in": "2\n",
    "data/secret/01-small.ans": "4\n",
    "data/secret/02-big.in": "9\n",
    "data/secret/02-big.ans": "18\n",
    "data/secret/02-big.desc": "as big as can be\n",
    "submissions/accepted/best.cpp": "int main() {}\n",
    "submissions/wrong_answer/off.py": "print(1)\n",
    "submissions/notes.txt": "not a submission\n",
}
SCORING = HEADER + "type: scoring\n"
VALIDATOR = {"output_validators/check.cpp": "int main() {}\n"}
GROUPS: Mapping[str, str | None] = {
    "data/secret/01-small.in": None,
    "data/secret/01-small.ans": None,
    "data/secret/02-big.in": None,
    "data/secret/02-big.ans": None,
    "data/secret/02-big.desc": None,
    "problem.yaml": SCORING,
    "data/testdata.yaml": "on_reject: continue\nrange: 0 100\ngrader_flags: ignore_sample\n",
    "data/secret/testdata.yaml": "grader_flags: always_accept\n",
    "data/secret/group1/testdata.yaml": "accept_score: 30\nrange: 0 30\ngrader_flags: min\n",
    "data/secret/group1/a.in": "1\n",
    "data/secret/group1/a.ans": "1\n",
    "data/secret/group1/b.in": "2\n",
    "data/secret/group1/b.ans": "2\n",
    "data/secret/group2/testdata.yaml": "accept_score: 35\nrange: 0 70\ngrader_flags: sum\n",
    "data/secret/group2/a.in": "3\n",
    "data/secret/group2/a.ans": "3\n",
    "data/secret/group2/b.in": "4\n",
    "data/secret/group2/b.ans": "4\n",
}


def write(folder: Path, files: Mapping[str, str | None] | None = None, *, header: str | None = None) -> Path:
    """Write a package. `files` replaces contents, or omits files with None."""
    own_files = {"problem.yaml": header} if header is not None else {}
    for name, content in {**FILES, **(files or {}), **own_files}.items():
        if content is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
    return folder


def without(folder: str, files: Mapping[str, str | None] = FILES) -> dict[str, str | None]:
    return {name: None for name in files if name.startswith(folder)}
