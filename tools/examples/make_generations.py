#!/usr/bin/env python3
"""Makes examples/generations.jsonl from generations/: the replies of each model, and the parts that they
share.

A reply starts with a line `=== PROBLEM SUBTASK [OPTION...]`. Options: `expect=` the status of its subtask,
`repaired=` the status after missing headers are added, `code` fills the column code, `language=`, `stop=`,
`crlf`. A line `<<PART>>` is replaced by a part.
"""

from __future__ import annotations

import json
import re
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from toolbox import ROOT, package_source

TEXTS = Path(__file__).resolve().parent / "generations"
MODELS = ("heron-7b", "otter-32b")
DUMP = ROOT / "examples" / "generations.jsonl"
_FENCE = re.compile(r"^(```|~~~)([\w+]*)[ \t]*\n(.*?)^\1[ \t]*$", re.M | re.S)
_TAGS = {"cpp": ("cpp", "c++"), "python": ("python",)}


@dataclass
class Text:
    model: str
    problem: str
    subtask: str
    words: dict[str, str]
    generation: str

    @property
    def language(self) -> str:
        return self.words.get("language", "cpp")


def read_texts() -> Iterator[Text]:
    sections = dict(_read_sections("parts"))
    for model in MODELS:
        for head, body in _read_sections(model):
            problem, subtask, *options = head.split()
            pairs = dict(option.split("=") if "=" in option else (option, "yes") for option in options)
            whole = re.sub(r"^<<(.+)>>\n", lambda part: sections[part[1]], body, flags=re.M)
            yield Text(model, problem, subtask, pairs, whole)


def _read_sections(name: str) -> list[tuple[str, str]]:
    content = (TEXTS / f"{name}.txt").read_text()
    pieces = re.split(r"^=== (.+)\n", content, flags=re.M)[1:]
    return list(zip(pieces[::2], pieces[1::2], strict=True))


def extract_code(text: Text) -> str | None:
    """Return the last code block of the language.

    It is a simple parser; the package's parser is more careful.
    """
    answer = text.generation.rpartition("</think>")[2]
    if answer.startswith("<think>"):
        return None
    blocks = _FENCE.findall(answer)
    tagged = [code for _, tag, code in blocks if tag in _TAGS[text.language]]
    return (tagged or [code for _, tag, code in blocks if not tag] or [None])[-1]


def make_rows() -> Iterator[dict[str, Any]]:
    numbers: Counter[tuple[str, str, str]] = Counter()
    for index, reply_text in enumerate(read_texts()):
        number = numbers[reply_text.model, reply_text.problem, reply_text.subtask]
        numbers[reply_text.model, reply_text.problem, reply_text.subtask] += 1
        yield _make_row(index, reply_text, number)


def _make_row(index: int, text: Text, number: int) -> dict[str, Any]:
    rng = Random(f"{text.model} {index}")
    generation = _format_reply(index, text)
    row: dict[str, Any] = {
        "uuid": str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        "model": text.model,
        "problem_id": text.problem,
        "year": 2025,
        "subtask": text.subtask,
        "prompt": _make_prompt(text),
        "generation": generation,
        "code": extract_code(text) if "code" in text.words else None,
        "language": text.language,
        "solution_number": number,
        "model_kwargs": {"seed": 1000 + number, "temperature": 0.7},
        "metadata": _make_metadata(rng, index, text, len(generation)),
    }
    if index % 9 == 4:
        del row["year"]
    elif index % 9 == 7:
        row["year"] = None
    return row


def _format_reply(index: int, text: Text) -> str:
    """Return a reply as servers send it.

    Some replies lack the tag that the chat template opens, and some have Windows line breaks.
    """
    generation = text.generation.rstrip("\n")
    if text.model == "heron-7b" and index % 6 == 2 and "</think>" in generation:
        generation = generation.removeprefix("<think>\n")
    return generation.replace("\n", "\r\n") if "crlf" in text.words else generation


def _make_prompt(text: Text) -> str:
    header = json.loads((package_source(text.problem) / "problem.json").read_text())
    limits = f"{header['time_limit']:g} s, {header['memory_limit'] >> 20} MB"
    language = {"cpp": "C++", "python": "Python 3"}[text.language]
    if text.model == "heron-7b":
        task = f"subtask {text.subtask} of the task {header['name']!r} ({limits})"
        return f"Solve {task} in {language}. Think first."
    task = f"{header['name']}\n\nLimits: {limits}. Subtask: {text.subtask}."
    return f"{task}\n\nAnswer with one program in {language}."


def _make_metadata(rng: Random, index: int, text: Text, length: int) -> dict[str, Any]:
    minute, second = divmod(37 * index + rng.randrange(30), 60)
    usage = {
        "prompt_tokens": rng.randint(420, 780),
        "completion_tokens": round(length / rng.uniform(2.9, 3.6)),
    }
    day, hour = 14 + MODELS.index(text.model), 9 + minute // 60
    return {
        "usage": {**usage, "total_tokens": sum(usage.values())},
        "timestamp": f"2025-09-{day}T{hour:02}:{minute % 60:02}:{second:02}Z",
        "stop_reason": text.words.get("stop", "stop"),
    }


def main() -> None:
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in make_rows()]
    DUMP.write_text("".join(lines), encoding="utf-8")
    print(f"{len(lines)} generations")


if __name__ == "__main__":
    main()
