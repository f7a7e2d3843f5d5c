"""SOURCE of a command: packages on disk, a benchmark by its name, or a file of a benchmark's rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from ioi_eval.benchmarks import (
    BENCHMARKS,
    Benchmark,
    BenchmarkOptions,
    DumpOptions,
    Loaded,
    find_benchmark,
    load,
    of_columns,
)
from ioi_eval.benchmarks.formats import column_names
from ioi_eval.cli.console import counted
from ioi_eval.cli.injecting import takes
from ioi_eval.cli.options import Problem
from ioi_eval.errors import InputError
from ioi_eval.problems import Package, Problems, check_problems, load_problems
from ioi_eval.problems.fields import nearest
from ioi_eval.store import Store

_FILES = frozenset({".parquet", ".jsonl", ".json", ".csv"})

SOURCE_HELP = "A benchmark's name, a folder or a zip of problem packages, or a file of a benchmark's rows."
Source = Annotated[str, typer.Option("--problems", metavar="SOURCE", help=SOURCE_HELP)]
DataDir = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Copies of a benchmark's datasets: nothing is fetched."),
]
Dataset = Annotated[str, typer.Option(metavar="ID", help="Another dataset of the benchmark's schema.")]
Split = Annotated[str, typer.Option(metavar="NAME", help="The dataset's split, or several as a+b.")]
Revision = Annotated[str, typer.Option(metavar="REV", help="The dataset's revision on the hub.")]
Difficulty = Annotated[
    list[str] | None, typer.Option(metavar="WORD", help="Only problems of this difficulty; may be repeated.")
]
Tag = Annotated[list[str] | None, typer.Option(metavar="WORD", help="Only of this tag; may be repeated.")]
Year = Annotated[list[int] | None, typer.Option(metavar="YEAR", help="Only of this year; may be repeated.")]
DateFrom = Annotated[str, typer.Option(metavar="DAY", help="Only problems from this day on: 2024-05-31.")]
DateTo = Annotated[str, typer.Option(metavar="DAY", help="Only up to this day.")]
Sample = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="N problems of what the other options leave.")
]
Seed = Annotated[int, typer.Option(metavar="S", help="Another sample of the same size.")]
Generated = Annotated[
    bool, typer.Option("--generated-tests/--no-generated-tests", help="Also tests not of the contest itself.")
]


def choose(
    problem: Problem = None,
    year: Year = None,
    difficulty: Difficulty = None,
    tag: Tag = None,
    date_from: DateFrom = "",
    date_to: DateTo = "",
    sample: Sample = None,
    seed: Seed = 0,
    data_dir: DataDir = None,
    dataset: Dataset = "",
    split: Split = "",
    revision: Revision = "",
    generated_tests: Generated = True,
) -> BenchmarkOptions:
    return BenchmarkOptions(
        data_dir="" if data_dir is None else str(data_dir),
        dataset=dataset,
        split=split,
        revision=revision,
        difficulty=frozenset(difficulty or ()),
        tags=frozenset(tag or ()),
        years=frozenset(year or ()),
        problems=frozenset(problem or ()),
        date_from=_day(date_from, "--date-from"),
        date_to=_day(date_to, "--date-to"),
        sample=sample,
        seed=seed,
        generated_tests=generated_tests,
    )


chooses_problems = takes("choice", choose)


def _day(written: str, option: str) -> str:
    if not written:
        return ""
    try:
        return datetime.strptime(written, "%Y-%m-%d").date().isoformat()
    except ValueError as error:
        raise InputError(f"{written!r} is no day", field=option, remedy="Write 2024-05-31") from error


def open_source(
    source: str, options: BenchmarkOptions, store: Store, mentioned: Callable[[], Collection[str] | None]
) -> Problems:
    """The problems of a source. Of a benchmark only those that are mentioned are made; None: all."""
    benchmark = benchmark_of(source)
    if benchmark is None:
        _check_unused(options)
        return load_problems(source, cache=store.root / "packages", only=options.problems)
    if Path(source).suffix.lower() in _FILES:
        options = msgspec.structs.replace(options, dataset=source)
    return load(benchmark, options, cache=store.root / "benchmarks", only=mentioned())


def check_source(source: str, options: BenchmarkOptions, store: Store) -> tuple[Package, ...]:
    """Every problem of a source with what is wrong with it. Of a benchmark the first fault is raised."""
    benchmark = benchmark_of(source)
    if benchmark is None:
        _check_unused(options)
        wanted = options.problems
        packages = check_problems(source, cache=store.root / "packages")
        return tuple(one for one in packages if not wanted or one.problem is None or one.problem.id in wanted)
    with closing(open_source(source, options, store, lambda: None)) as problems:
        good = [Package(where=source, format=benchmark.name, problem=one) for one in problems.values()]
        left_out = problems.left_out if isinstance(problems, Loaded) else {}
    broken = Counter(one.problem.unusable for one in good if one.problem and one.problem.unusable)
    notes = tuple(f"{counted(number, 'problem')} left out: {reason}" for reason, number in left_out.items())
    notes += tuple(f"{counted(number, 'problem')} nobody can judge: {why}" for why, number in broken.items())
    return (*good, *([Package(where=source, format=benchmark.name, notes=notes)] if notes else []))


def benchmark_of(source: str) -> Benchmark | None:
    """None where the source is a folder or a zip. A folder of a benchmark's name is written as ./name."""
    path = Path(source)
    if source in {benchmark.name for benchmark in BENCHMARKS}:
        return find_benchmark(source)
    if path.is_file() and path.suffix.lower() in _FILES:
        return of_columns(column_names(path), where=source)
    if path.exists() or "/" in source or path.suffix:
        return None
    try:
        return find_benchmark(source)
    except InputError as error:
        known = tuple(benchmark.name for benchmark in BENCHMARKS)
        problem = f"no folder or file {source!r}, and no benchmark of that name"
        raise InputError(problem, remedy=nearest(source, known)) from error


def language_of(source: str | None) -> str:
    """Of rows that do not say: the benchmark's, where the source is one."""
    benchmark = None if source is None else benchmark_of(source)
    return DumpOptions().language if benchmark is None else benchmark.language


def _check_unused(options: BenchmarkOptions) -> None:
    """Options of benchmarks say nothing of packages, where they would be passed over in silence."""
    plain = msgspec.structs.replace(options, problems=frozenset())
    for field in msgspec.structs.fields(BenchmarkOptions):
        if getattr(plain, field.name) != field.default:
            name = {"tags": "tag", "years": "year"}.get(field.name, field.name).replace("_", "-")
            raise InputError(
                "only problems of a benchmark can be chosen by it",
                field=f"--{name}",
                remedy="Leave it out, or name a benchmark with --problems",
            )
