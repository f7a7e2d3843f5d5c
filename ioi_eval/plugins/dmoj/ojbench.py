"""OJBench: problems of NOI and ICPC, each a package of DMOJ's judge in a copy of the authors' dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from ioi_eval.benchmarks.benchmark import (
    Benchmark,
    BenchmarkOptions,
    Candidate,
    ColumnNames,
    Keep,
    statement_of,
    written,
)
from ioi_eval.benchmarks.packaged import of_package
from ioi_eval.benchmarks.row_files import read_columns
from ioi_eval.benchmarks.tables import Row, Tables
from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Problem
from ioi_eval.plugins.dmoj.packages import Dmoj
from ioi_eval.problems.names import is_plain

LEFT_OUT = "its own judge leaves it out"
_SKIPPED = frozenset({"nwerc2023_H", "swerc2023_L", "loj-3897"})
_TIME, _MEMORY = 10.0, 1 << 30  # seconds and bytes, of its judge: the same for all problems
_ROWS, _FOLDER = "prompts/full.jsonl", "folder"
_NOI = "NOI"
_WHAT_TO_WRITE = "### Format: "  # of the prompt: what differs by language begins here


class OJBench(Benchmark):
    name: ClassVar = "ojbench"
    about: ClassVar = "232 problems of NOI and ICPC, with checkers and interactors"
    ids: ClassVar = r"loj-[0-9]+|[ns]werc20[0-9]{2}_[A-Z]"
    dataset: ClassVar = "He-Ren/OJBench_testdata"
    version: ClassVar[int] = 2
    split: ClassVar = "train"
    columns: ClassVar = ("id", "prompt", "dataset", "language", "difficulty", _FOLDER)
    named = ColumnNames(difficulty="difficulty", tags=("dataset",))

    def rows(self, data_dir: str, cache: Path) -> Path:
        """Write a row for each problem, with the place of its package; the file has one for each language."""
        found = sorted(Path(data_dir).rglob(_ROWS)) if data_dir else []
        if not found:
            remedy = f"Clone the dataset {self.dataset} with Git LFS and name its folder with data_dir=FOLDER"
            raise InputError(f"there is no {_ROWS}", where=data_dir or self.name, remedy=remedy)
        root = found[0].absolute().parents[1]
        problems: dict[str, dict[str, Any]] = {}
        for row in read_columns(found[0], self.columns):
            name, part = str(row.get("id")), str(row.get("dataset"))
            name = f"loj-{name}" if name.isdecimal() else name  # numbers are those of LibreOJ
            if not (is_plain(name) and is_plain(part)):
                what = f"{part!r} and {name!r} are no names of folders"
                raise InputError(what, where=str(found[0]), remedy="Fetch it again")
            problems.setdefault(name, {**row, "id": name, _FOLDER: str(root / part / name)})
        return written(problems.values(), self.name, cache)

    def candidate(self, row: Row) -> Candidate:
        found = super().candidate(row)
        alias = found.id.removeprefix("loj-") if found.tags == (_NOI,) else ""
        return replace(found, alias=alias, unusable=LEFT_OUT if found.id in _SKIPPED else "")

    def fingerprint(self, candidate: Candidate, tables: Tables) -> str:
        folder = Path(tables.main[candidate.rows[0]].text(_FOLDER))
        files = ((path, path.stat()) for path in sorted(folder.rglob("*")))
        return " ".join(
            (tables.main.fingerprint, *(f"{path} {of.st_size} {of.st_mtime_ns}" for path, of in files))
        )

    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        """All cases must be right, whatever points the package gives them, as its judge has it."""
        row = tables.main[candidate.rows[0]]
        folder = row.text(_FOLDER)
        problem = of_package(Dmoj().read_package(Path(folder), folder), keep)
        limits = problem.limits
        wall = _TIME * (limits.wall_time or 0) / (limits.cpu_time or 1)  # DMOJ's multiple of the time
        return replace(
            problem,
            id=candidate.id,
            subtasks=(),
            limits=replace(limits, cpu_time=_TIME, wall_time=wall, memory=_MEMORY),
            difficulty=candidate.difficulty,
            tags=candidate.tags,
            cpp_standard="c++17",
            statement=statement_of(row.text("prompt").partition(_WHAT_TO_WRITE)[0]),
        )
