"""Sources of problems: packages on disk, a benchmark by its name or definition, or a file of its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import msgspec

from ioi_eval.benchmarks import (
    Benchmark,
    BenchmarkOptions,
    benchmarks,
    detect_benchmark,
    entries,
    find_benchmark,
    load,
)
from ioi_eval.benchmarks.loaded import SUFFIX, choose_sample, load_benchmark_file
from ioi_eval.benchmarks.row_files import read_column_names, read_rows
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import find_similar_names, suggest_names
from ioi_eval.model.text import format_count
from ioi_eval.problems import Package, Problems, check_problems
from ioi_eval.problems import load_problems as load_packages
from ioi_eval.registries import MissingPlugin
from ioi_eval.store import Store

_ROW_SUFFIXES = frozenset({".parquet", ".jsonl", ".json", ".csv"})

Source = str | Path | Problems  # name or path of a source of problems, or loaded problems


@contextmanager
def open_problem_source(
    source: Source,
    options: BenchmarkOptions | None,
    store: Store,
    find_needed_labels: Callable[[], Collection[str] | None] = lambda: None,
) -> Iterator[Problems]:
    """Context manager: the problems of a source. Loaded problems stay open afterwards.

    Args:
        source: Packages, a benchmark's name, a file of its rows, or loaded problems.
        options: The selection of problems. None means all problems.
        store: The cache for downloaded and extracted files.
        find_needed_labels: Returns the labels of the needed problems, or None for all. It is called only for
            benchmarks.

    Raises:
        InputError: The source is not one of these, or `options` selects among loaded problems.
    """
    check_source_type(source)
    if not isinstance(source, Problems):
        with closing(
            open_problems(str(source), options or BenchmarkOptions(), store, find_needed_labels)
        ) as problems:
            yield problems
    elif options is None or options == BenchmarkOptions():
        yield source
    else:
        raise InputError(
            "these options cannot select among problems that are already loaded",
            field="choice",
            remedy="Choose problems when you load them, or name their source",
        )


def check_source_type(source: object) -> None:
    """Raise InputError if the argument is not a source, for example a dict of problems."""
    if not isinstance(source, Source):
        raise InputError(
            f"{type(source).__name__} is not a source of problems",
            field="problems",
            remedy="Give a path, a benchmark's name, or ioi_eval.sources.Problems([problem, ...])",
        )


def source_name(source: Source) -> str:
    """Return the name of a source in reports."""
    check_source_type(source)
    return f"{format_count(len(source), 'problem')}, loaded" if isinstance(source, Problems) else str(source)


def open_problems(
    source: str,
    options: BenchmarkOptions,
    store: Store,
    find_needed_labels: Callable[[], Collection[str] | None] = lambda: None,
) -> Problems:
    """Return the problems of a source.

    Args:
        source: Path of packages, a benchmark's name, or a file of its rows.
        options: The selection of problems. Packages accept only some of these options.
        store: The cache for downloaded and extracted files.
        find_needed_labels: Returns the labels of the needed problems, or None for all. It is called only for
            benchmarks.

    Raises:
        InputError: The source or an option is wrong.
    """
    benchmark = benchmark_of(source)
    if benchmark is None:
        _refuse_benchmark_options(options)
        cache = store.root / "packages"
        return load_packages(
            source,
            cache=cache,
            only=options.problems,
            choose=_make_package_filter(options),
            change=options.apply_limits,
            packages=options.packages or (),
        )
    if Path(source).suffix.lower() in _ROW_SUFFIXES:
        options = msgspec.structs.replace(options, dataset=source)
    return load(benchmark, options, cache=store.root / "benchmarks", only=find_needed_labels())


def load_problems(
    source: Source,
    choice: BenchmarkOptions | None = None,
    *,
    only: Collection[str] = frozenset(),
    cache: str | Path | None = None,
) -> Problems:
    """Return the problems of a source, as `score --problems` reads them. Raises InputError for anything else.

        problems = load_problems("examples/problems")
        some = load_problems("apps", BenchmarkOptions(first=10))

    Args:
        source: packages (a folder or zip, or a folder of these), the name of a benchmark, a file of its rows,
            a benchmark of your own (`.py`, `.toml`), or loaded problems.
        choice: which problems of a benchmark, and their limits.
        only: ids (default: all).
        cache: a folder for downloaded and extracted files, by default the private folder.
    """
    options = choice or BenchmarkOptions()
    options = msgspec.structs.replace(options, problems=options.problems | frozenset(only))
    if isinstance(source, Problems):
        with open_problem_source(source, options, Store.private()) as problems:
            return problems
    check_source_type(source)
    return open_problems(str(source), options, Store.private() if cache is None else Store(Path(cache)))


def check_source_problems(source: str, options: BenchmarkOptions, store: Store) -> tuple[Package, ...]:
    """Return the problems of a source with their errors. Raises the first error if it is a benchmark."""
    benchmark = benchmark_of(source)
    if benchmark is None:
        _refuse_benchmark_options(options)
        return check_problems(
            source,
            cache=store.root / "packages",
            only=options.problems,
            choose=_make_package_filter(options),
            change=options.apply_limits,
        )
    with open_problem_source(source, options, store) as problems:
        usable_packages = [
            Package(where=source, format=benchmark.name, problem=problem) for problem in problems.values()
        ]
        excluded_counts = problems.left_out
    if not usable_packages and not excluded_counts:
        raise make_no_problem_error(source)
    unusable_counts = Counter(
        package.problem.unusable
        for package in usable_packages
        if package.problem and package.problem.unusable
    )
    notes = tuple(
        f"{format_count(number, 'problem')} left out: {reason}" for reason, number in excluded_counts.items()
    )
    notes += tuple(
        f"{format_count(number, 'problem')} that cannot be judged: {unusable_reason}"
        for unusable_reason, number in unusable_counts.items()
    )
    return (*usable_packages, *([Package(where=source, format=benchmark.name, notes=notes)] if notes else []))


def make_no_problem_error(source: Source) -> InputError:
    """Return the error for a source without any problem that matches all filters."""
    return InputError(
        "no problem matches the filters",
        where=source_name(source),
        field="choice",
        remedy="Give fewer filters",
    )


def benchmark_of(source: Source | None) -> Benchmark | None:
    """Return the benchmark, or None for a folder or a zip.

    A folder with a benchmark's name is written as ./name.
    """
    if source is None or isinstance(source, Problems):
        return None
    check_source_type(source)
    source, path = str(source), Path(source)
    if source in {benchmark.name for benchmark in benchmarks()}:
        return find_benchmark(source)
    if path.is_file() and path.suffix.lower() in _ROW_SUFFIXES:
        names = read_column_names(path)
        row = next((row.columns for row in read_rows(path)), {})
        return detect_benchmark(names, where=source, row=row)
    if path.is_file() and path.suffix == SUFFIX:
        return load_benchmark_file(path)
    if path.is_file() and path.suffix == entries.SUFFIX:
        return entries.read_benchmark_entry(path)
    if path.exists() or "/" in source or path.suffix:
        return None
    try:
        return find_benchmark(source)
    except MissingPlugin:
        raise
    except InputError as error:
        names = tuple(benchmark.name for benchmark in benchmarks())
        paths = tuple(entry.name for entry in Path().iterdir() if not entry.name.startswith("."))
        raise InputError(
            f"{source!r} is not a folder, a file or the name of a benchmark",
            remedy=suggest_names(source, (*names, *paths) if find_similar_names(source, paths) else names),
        ) from error


def language_of(source: Source | None) -> str:
    """Return the default language of rows: the benchmark's, or C++."""
    benchmark = benchmark_of(source)
    return "c++" if benchmark is None else benchmark.language


def find_promised_packages(source: str, options: BenchmarkOptions) -> tuple[str, ...]:
    """Return the Python packages that programs may import: from the options, else from the benchmark."""
    benchmark = benchmark_of(source)
    return (() if benchmark is None else benchmark.packages) if options.packages is None else options.packages


def _make_package_filter(options: BenchmarkOptions) -> Callable[[Sequence[str]], Sequence[str]] | None:
    """Return the function that selects packages by their ids, or None for all packages."""
    return None if options.first is None and options.sample is None else partial(_select_problem_ids, options)


def _select_problem_ids(options: BenchmarkOptions, ids: Sequence[str]) -> Sequence[str]:
    """Return the first packages, or a sample of them, which depends only on the seed."""
    first_ids = ids[: options.first]
    return (
        first_ids
        if options.sample is None
        else choose_sample(first_ids, options.sample, options.seed, key=str)
    )


def _refuse_benchmark_options(options: BenchmarkOptions) -> None:
    """Raise InputError for options of benchmarks, which packages would silently ignore."""
    plain_options = msgspec.structs.replace(
        options,
        problems=frozenset(),
        first=None,
        sample=None,
        seed=0,
        packages=None,
        time_limit=None,
        memory_limit=None,
    )
    for field in msgspec.structs.fields(BenchmarkOptions):
        if getattr(plain_options, field.name) != field.default:
            raise InputError(
                "this option selects only problems of a benchmark",
                field=f"choice.{field.name}",
                remedy="Leave out the option, or name a benchmark with problems=...",
            )
