"""Small tables in tests/data/benchmarks: the problems built from their rows, or why a row is refused.

A line of `NAME.jsonl` is a table of the benchmark NAME: its rows, each as the columns in which it differs
from the benchmark's sound row, and the options that it is read with. The first line is the sound row. `keep`
names the only columns that the table has. `NAME.expected` holds the fields in which each problem differs from
the sound row's problem. `pytest --update` on this file writes `NAME.expected`; a reviewer reads the
difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from codeforces_rows import codeforces
from dump_rows import write_jsonl
from hub_rows import aethercode, apps, code_contests, deepcoder, livecodebench, taco
from support.datasets import BenchmarkOptions, LoadedProblems, find_benchmark, load
from support.goldens import golden, outcomes
from support.package_goldens import described

from ioi_eval.errors import InputError

FOLDER = Path(__file__).parents[2] / "data" / "benchmarks"
SOUND: Mapping[str, dict[str, Any]] = {
    "aethercode": aethercode(),
    "apps": apps(0),
    "code_contests": code_contests("1575_A. Add"),
    "codeforces": codeforces(),
    "deepcoder": deepcoder(),
    "livecodebench": livecodebench("abc301_a"),
    "taco": taco(),
}


def read(name: str, case: Mapping[str, Any], path: Path) -> LoadedProblems:
    rows = [{**SOUND[name], **columns} for columns in case["rows"]]
    kept_columns = case.get("keep", rows[0])
    write_jsonl(path, [{column: row[column] for column in kept_columns} for row in rows])
    options = {
        option: frozenset(value) if isinstance(value, list) else value
        for option, value in case.get("options", {}).items()
    }
    choice = BenchmarkOptions(dataset=str(path), **options)
    return load(find_benchmark(name), choice, cache=path.with_suffix(""))


def facts(problems: LoadedProblems, label: str) -> dict[str, Any]:
    """Return a problem's fields and its solutions as JSON has them."""
    try:
        solutions = [
            (reference.language, reference.expected, reference.code)
            for reference in problems.read_references(label)
        ]
    except InputError as error:
        return {**described(problems[label]), "solutions": f"refused: {error}"}
    return {**described(problems[label]), "solutions": solutions}


def outcome(name: str, case: Mapping[str, Any], sound_facts: Mapping[str, Any], path: Path) -> Iterator[str]:
    """Yield the lines of a case in `NAME.expected`. `sound_facts`: facts about the sound row's problem."""
    try:
        problems = read(name, case, path)
    except InputError as error:
        yield f"  refused: {error}".replace(str(path), "FILE")
        return
    for label in problems:
        yield f"  {label}"
        problem_facts = facts(problems, label)
        for field in {**sound_facts, **problem_facts}:
            if problem_facts.get(field) != sound_facts.get(field) and field not in ("id", "source"):
                yield f"    {field}: {json.dumps(problem_facts.get(field), sort_keys=True)}".replace(
                    str(path), "FILE"
                )
    yield from (f"  excluded {number}: {reason}" for reason, number in problems.left_out.items())


@pytest.mark.parametrize("name", sorted(SOUND))
def test_rows_become_problems_or_are_refused_as_expected(name: str, tmp_path: Path) -> None:
    sound = read(name, {"rows": [{}]}, tmp_path / "sound.jsonl")
    sound_facts = facts(sound, next(iter(sound)))

    def lines(case: Mapping[str, Any], number: int) -> Iterator[str]:
        assert (case["case"] == "the sound row") == (number == 0)
        return outcome(name, case, sound_facts if number else {}, tmp_path / f"{number}.jsonl")

    assert outcomes(FOLDER / f"{name}.jsonl", lines) == golden(FOLDER / f"{name}.expected")
