"""Goes on with a run whose rows are known: as it is, grown by five rows, with one model renamed."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ioi_eval.runs import RunSummary, score_dump_sync
from ioi_eval.testing import FakeEngine

TESTS = 12
PROBLEMS = 50
HOW = {"compilation": "alone", "output_eval": "diff"}


def packages(folder: Path) -> Path:
    """Two subtasks of six tests each."""
    for number in range(PROBLEMS):
        package = folder / f"p{number}"
        for part in ("tests", "subtasks"):
            (package / part).mkdir(parents=True)
        how = {
            "task_type_parameters_Batch_compilation": "alone",
            "task_type_parameters_Batch_output_eval": "diff",
        }
        header = {"code": package.name, "time_limit": 1.0, "memory_limit": 1 << 28, "score_precision": 2}
        header |= {"task_type": "Batch", "task_type_params": json.dumps(how)}
        (package / "problem.json").write_text(json.dumps(header))
        names = [f"{test:02}" for test in range(TESTS)]
        for name in names:
            (package / "tests" / f"{name}.in").write_text(f"{number} {name}\n")
            (package / "tests" / f"{name}.out").write_text("1\n")
        for part, tests in enumerate((names[: TESTS // 2], names[TESTS // 2 :])):
            (package / "subtasks" / f"{part}.json").write_text(json.dumps({"score": 50, "testcases": tests}))
    return folder


def row(number: int, model: str = "") -> dict[str, Any]:
    return {
        "id": f"r{number}",
        "problem_id": f"p{number % PROBLEMS}",
        "model": model or f"model-{number % 8}",
        "code": f"int main() {{ return {number}; }}\n",
    }


def rows(number: int, renamed: bool = False) -> list[dict[str, Any]]:
    return [row(n, "renamed" if renamed and n % 8 == 7 else "") for n in range(number)]


def call(folder: Path, written: list[dict[str, Any]]) -> None:
    """One call in a process of its own, so that its memory is its own."""
    dump = folder / "dump.jsonl"
    dump.write_text("".join(json.dumps(row) + "\n" for row in written))
    done: RunSummary | None = None
    begin = time.process_time()
    done = score_dump_sync(dump, folder / "problems", out=folder / "run", engine=FakeEngine(slots=8)).call
    seconds = time.process_time() - begin
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{done.judged - done.repeated:7,} judged  {seconds:6.1f} s of CPU  {most:5,} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    number = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        packages(folder / "problems")
        steps: dict[str, Callable[[], list[dict[str, Any]]]] = {
            "new": lambda: rows(number),
            "as it was": lambda: rows(number),
            "five more": lambda: rows(number + 5),
            "a model renamed": lambda: rows(number + 5, renamed=True),
        }
        for name, made in steps.items():
            print(f"{name:<16}", end=" ", flush=True)
            process = multiprocessing.get_context("spawn").Process(target=call, args=(folder, made()))
            process.start()
            process.join()
        size = (folder / "run" / "results.jsonl").stat().st_size
        print(f"results.jsonl: {size / (number + 5):,.0f} bytes a row")


if __name__ == "__main__":
    main()
