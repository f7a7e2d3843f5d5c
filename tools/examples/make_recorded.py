#!/usr/bin/env python3
"""Makes examples/recorded.tar.xz: a run of 2,000 rows that were really judged, of programs by no model.

The packages' own solutions are assigned to invented models at random: right programs more often to better
models, and less often for harder problems. Judging lasts some minutes. Times and sizes in the rows were
measured
on this machine.
"""

from __future__ import annotations

import io
import random
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from toolbox import ROOT

from ioi_eval import load_problems, score_dump_sync
from ioi_eval.models import Problem, Solution

DUMP, PACKED = "dealt.jsonl", ROOT / "examples" / "recorded.tar.xz"
FILES = ("run.json", "results.jsonl", "failures.jsonl", "problems.json")
SKILLS = {
    "invented-huge": 0.62,
    "invented-large": 0.42,
    "invented-medium": 0.27,
    "invented-small": 0.14,
    "invented-tiny": 0.05,
}
# The invented difficulty and tags of the problems, from easy to hard.
PROBLEMS = {
    "tide": ("easy", "grids"),
    "carousel": ("easy", "strings"),
    "garland": ("medium", "matrices"),
    "ferry": ("medium", "greedy"),
    "pumpkins": ("medium", "greedy"),
    "lanterns": ("hard", "queues"),
    "relay": ("hard", "sequences"),
    "threes": ("hard", "graphs"),
}
ATTEMPTS = 50
RIGHT = frozenset({"model_solution", "correct"})
_TAGS = {"c++": "cpp"}


def make_rows() -> Iterator[dict[str, Any]]:
    dice = random.Random(19)
    every = load_problems(ROOT / "examples" / "problems")
    for rank, (name, (difficulty, tag)) in enumerate(PROBLEMS.items()):
        problem = every.find(name)
        for model, skill in SKILLS.items():
            for number in range(ATTEMPTS):
                chosen = _choose_solution(problem, skill * (1.1 - rank / 8), dice)
                yield {
                    "uuid": f"{model}-{name}-{number:02}",
                    "model": model,
                    "problem_id": name,
                    "subtask": dice.choice([None, *(subtask.name for subtask in problem.subtasks if subtask.points)]),
                    "difficulty": difficulty,
                    "tags": [tag],
                    "language": chosen.language,
                    "solution_number": number,
                    "generation": f"```{_TAGS.get(chosen.language, chosen.language)}\n{chosen.code}\n```\n",
                }


def _choose_solution(problem: Problem, skill: float, dice: random.Random) -> Solution:
    solutions = [solution for solution in problem.solutions if solution.code and not solution.files]
    right = [solution for solution in solutions if solution.expected in RIGHT]
    return dice.choice(right if dice.random() < skill**2 else [solution for solution in solutions if solution not in right])


def pack_run(run: Path) -> None:
    """Pack the run without information about the machine, except the judge's measurements."""
    info = msgspec.json.decode((run / "run.json").read_bytes())
    command = f"ioi-eval score {DUMP} --problems examples/problems"
    settings = {"command": command, "dumps": [DUMP], "problems": "examples/problems"}
    info["settings"] = {**info["settings"], **settings}
    with tarfile.open(PACKED, "w:xz", preset=9) as archive:
        for name in FILES:
            content = (run / name).read_bytes() if name != "run.json" else msgspec.json.encode(info)
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="ioi-eval-recorded-") as temporary:
        folder = Path(temporary)
        lines = (msgspec.json.encode(row) + b"\n" for row in make_rows())
        (folder / DUMP).write_bytes(b"".join(lines))
        score_dump_sync(folder / DUMP, ROOT / "examples" / "problems", out=folder / "run")
        pack_run(folder / "run")


if __name__ == "__main__":
    main()
