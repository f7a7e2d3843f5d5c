"""Find benchmarks by name or columns, and load the problems of a benchmark."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import json
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from ioi_eval.benchmarks.benchmark import (
    Benchmark,
    BenchmarkOptions,
    ContentStore,
    ProblemCandidate,
    StoredProblem,
    Unusable,
    load_stored_problem,
    normalize_date,
    write_cached_rows,
)
from ioi_eval.benchmarks.codeforces import CodeContests, Codeforces
from ioi_eval.benchmarks.entries import ENTRIES, BenchmarkFromEntry
from ioi_eval.benchmarks.olympiads import Ioi, LiveOIBench
from ioi_eval.benchmarks.row_files import read_rows
from ioi_eval.benchmarks.tables import SUFFIXES, Tables, TableSource
from ioi_eval.benchmarks.usaco import Usaco
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import find_similar_names, suggest_names
from ioi_eval.model.text import format_count
from ioi_eval.model.values import Checker, CheckerKind, Problem, Solution, TaskType
from ioi_eval.problems import Problems
from ioi_eval.problems.collection import NOT_SELECTED, LeftOut
from ioi_eval.registries import Registry, load_entries, load_entry
from ioi_eval.store import Store
from ioi_eval.store.rows import convert_to_label
from ioi_eval.store.tasks import People

_T = TypeVar("_T")

# The built-in benchmarks. docs/extending.md shows how to add a benchmark.
BENCHMARKS: tuple[Benchmark, ...] = (
    Ioi(),
    Codeforces(),
    CodeContests(),
    Usaco(),
    LiveOIBench(),
    *map(BenchmarkFromEntry, ENTRIES),
)


def benchmarks() -> tuple[Benchmark, ...]:
    """Return all benchmarks of the core, of its plugins and of other packages."""
    return (*BENCHMARKS, *(make() for make in load_entries(Registry.BENCHMARKS).values()))


def find_benchmark(name: str) -> Benchmark:
    """Return the benchmark with this name. Case, hyphens and underscores do not matter.

    Raises:
        InputError: The name is unknown.
    """
    normal_name = name.strip().lower().replace("-", "_")
    for benchmark in benchmarks():
        if benchmark.name == normal_name:
            return benchmark
    # This call raises an InputError if the benchmark belongs to a plugin that was removed.
    load_entry(Registry.BENCHMARKS, normal_name)
    benchmark_names = tuple(benchmark.name for benchmark in benchmarks())
    raise InputError(f"unknown benchmark {name!r}", remedy=suggest_names(normal_name, benchmark_names))


def detect_benchmark(
    columns: Collection[str], *, where: str, row: Mapping[str, Any] = MappingProxyType({})
) -> Benchmark:
    """Return the benchmark of a file of rows, detected by its columns.

    If several benchmarks match, the one with the most specific columns wins: rows of TACO have all columns of
    APPS.

    Args:
        columns: The names of the file's columns.
        where: The file's name in messages.
        row: The first row, whose values distinguish benchmarks with the same columns.

    Raises:
        InputError: Not exactly one benchmark matches.
    """
    matching_benchmarks = [
        benchmark
        for benchmark in benchmarks()
        if set(benchmark.columns) <= set(columns) and benchmark.accepts_row(row)
    ]
    most_specific = [
        benchmark
        for benchmark in matching_benchmarks
        if not any(set(benchmark.columns) < set(other.columns) for other in matching_benchmarks)
    ]
    if len(most_specific) != 1:
        benchmark_names = " and ".join(benchmark.name for benchmark in most_specific)
        raise InputError(
            f"the rows fit {benchmark_names}" if benchmark_names else "the rows fit no known benchmark",
            where=where,
            remedy="Name the benchmark with problems=SOURCE, and the file with dataset=FILE",
        )
    return most_specific[0]


def select_candidates(
    candidates: Iterable[ProblemCandidate], options: BenchmarkOptions
) -> list[ProblemCandidate]:
    """Return the candidates that match all options, in the order of the rows, or a sample of them.

    Raises:
        InputError: No problem has an id, a difficulty, a tag or a year that the options name. If several are
        named, a single match suffices, unless other names look misspelled.
    """
    selected_candidates = list(candidates)
    requested_difficulties, requested_tags = (
        _lowercase_names(map(convert_to_label, options.difficulty)),
        _lowercase_names(options.tags),
    )
    first_date, last_date = (
        _parse_date_option(options.date_from, "choice.date_from"),
        _parse_date_option(options.date_to, "choice.date_to"),
    )
    # Pairs of an option's value and a function that returns True if a candidate matches the value. An empty
    # value matches all candidates.
    filters: list[tuple[object, Callable[[ProblemCandidate], bool]]] = [
        (requested_difficulties, lambda candidate: candidate.difficulty.lower() in requested_difficulties),
        (requested_tags, lambda candidate: not requested_tags.isdisjoint(_lowercase_names(candidate.tags))),
        (options.years, lambda candidate: candidate.year in options.years),
        (options.problems, lambda candidate: candidate.id in options.problems),
        (first_date, lambda candidate: candidate.date[:10] >= first_date),
        (last_date, lambda candidate: candidate.date[:10] <= last_date),
    ]
    # Each requested value must exist in the dataset. A range of dates without problems is not an error.
    existing_difficulties = _lowercase_names(candidate.difficulty for candidate in selected_candidates) - {""}
    _check_values_exist("difficulty", requested_difficulties, existing_difficulties)
    _check_values_exist(
        "tag",
        requested_tags,
        _lowercase_names(tag for candidate in selected_candidates for tag in candidate.tags),
    )
    _check_values_exist(
        "year",
        set(map(str, options.years)),
        {str(candidate.year) for candidate in selected_candidates if candidate.year},
    )
    _check_values_exist("problem", options.problems, {candidate.id for candidate in selected_candidates})
    if (options.date_from or options.date_to) and not any(
        candidate.date for candidate in selected_candidates
    ):
        raise InputError(
            "the benchmark's problems have no dates", field="choice.date_from", remedy="Leave out the dates"
        )
    for option_value, matches_option in filters:
        selected_candidates = [
            candidate for candidate in selected_candidates if not option_value or matches_option(candidate)
        ]
    if options.first is not None:
        selected_candidates = [candidate for candidate in selected_candidates if not candidate.unusable][
            : options.first
        ]
    return (
        selected_candidates
        if options.sample is None
        else sample_candidates(selected_candidates, options.sample, options.seed)
    )


def sample_candidates(candidates: Sequence[ProblemCandidate], size: int, seed: int) -> list[ProblemCandidate]:
    """Return a sample of the usable candidates. It depends only on their ids, their years and the seed."""
    usable_candidates = [candidate for candidate in candidates if not candidate.unusable]
    return choose_sample(
        usable_candidates, size, seed, key=lambda candidate: f"{candidate.id}\n{candidate.year}"
    )


def choose_sample(items: Sequence[_T], size: int, seed: int, *, key: Callable[[_T], str]) -> list[_T]:
    """Return the `size` items with the smallest hashes of seed and key, in their order.

    A larger sample contains every smaller sample.

    Args:
        items: All items from which the sample is taken.
        size: Number of items in the sample. If there are fewer items, all are returned.
        seed: Number that decides, together with the keys, which items are in the sample.
        key: Returns a text that is different for each item.
    """

    def rank(item: _T) -> str:
        return hashlib.sha256(f"{seed}\n{key(item)}".encode()).hexdigest()

    selected_ranks = set(sorted(map(rank, items))[:size])
    return [item for item in items if rank(item) in selected_ranks]


def _lowercase_names(names: Iterable[str]) -> set[str]:
    """Return the names in lower case."""
    return {name.lower() for name in names}


def _parse_date_option(text: str, option: str) -> str:
    """Return the date in an option's value, or an empty string if it is empty."""
    try:
        return normalize_date(text)
    except InputError as error:
        raise error.with_details(field=option) from None


def _check_values_exist(kind: str, requested: Iterable[str], existing: set[str]) -> None:
    """Raise an InputError if no problem has a requested value.

    Args:
        kind: What the values are: `problem`, `difficulty`, `tag` or `year`.
        requested: The values of an option.
        existing: The values that problems have.
    """
    missing_values = sorted(set(requested) - existing)
    if missing_values and kind != "problem" and set(requested) & existing:
        # A list of values may be meant for several datasets, so an absent value is an error only if it looks
        # misspelled. Numbers are not checked, because different numbers may look alike.
        other_values = [value for value in existing - set(requested) if not value.isdigit()]
        missing_values = [value for value in missing_values if find_similar_names(value, other_values)]
    for value in missing_values:
        raise InputError(
            f"no problem with the {kind} {value!r}" if kind != "problem" else f"no problem {value!r}",
            field="choice.difficulty" if kind == "difficulty" else f"choice.{kind}s",
            remedy=suggest_names(value, tuple(sorted(existing))),
        )


class LoadedProblems(Problems):
    """The loaded problems of a benchmark. `find` reports why another problem is not among them."""

    def __init__(
        self,
        problems: Iterable[Problem],
        *,
        exclusion_reasons: Mapping[tuple[str, int | None], str],
        read_references: Callable[[Problem], tuple[Solution, ...]],
        aliases: Mapping[str, str],
        packages: Collection[str] = (),
        read_people: Callable[[], People | None] = lambda: None,
    ) -> None:
        """Create the collection.

        Args:
            problems: The loaded problems.
            exclusion_reasons: Why each other problem is missing, by id and year.
            read_references: Returns a problem's solutions from the dataset.
            aliases: Ids of problems by their other names.
            packages: Python packages that programs may import.
            read_people: Returns the results of human contestants, or raises an InputError.
        """
        super().__init__(problems, packages=packages)
        self._exclusion_reasons, self._read_references, self._aliases = (
            exclusion_reasons,
            read_references,
            aliases,
        )
        self.read_people = read_people
        # A reason applies to an id and a year, or to the id alone if the reason is the same in all years.
        reasons_by_name = {
            _format_name(*id_and_year): reason for id_and_year, reason in exclusion_reasons.items()
        }
        reasons_by_id: dict[str, set[str]] = {}
        for (problem_id, _year), reason in exclusion_reasons.items():
            reasons_by_id.setdefault(problem_id, set()).add(reason)
        reasons_of_ids = {
            problem_id: next(iter(id_reasons))
            for problem_id, id_reasons in reasons_by_id.items()
            if len(id_reasons) == 1
        }
        self._reasons_by_name = {**reasons_of_ids, **reasons_by_name}

    @property
    def left_out(self) -> dict[str, int]:
        """Return the number of selected problems that cannot be judged, by reason."""
        return dict(
            Counter(reason for reason in self._exclusion_reasons.values() if reason not in ("", NOT_SELECTED))
        )

    def find(self, problem_id: str, year: int | None = None) -> Problem:
        """Return a problem by its id or alias. Raise LeftOut if it exists but was not loaded."""
        problem_id = self._aliases.get(problem_id, problem_id)
        try:
            return super().find(problem_id, year)
        except InputError as error:
            if reason := (
                self._reasons_by_name.get(_format_name(problem_id, year))
                or self._reasons_by_name.get(problem_id)
            ):
                raise LeftOut(problem_id, reason) from error
            if error.problem.startswith("unknown"):
                remedy = suggest_names(
                    problem_id, tuple(name for name in self._reasons_by_name if "@" not in name)
                )
                raise error.with_details(remedy=remedy) from error
            raise

    def exclude(self, labels: Collection[str], reason: str) -> LoadedProblems:
        """Return the collection without the problems with these labels, which are missing for this reason."""
        removed_problems = [self[label] for label in labels]
        return LoadedProblems(
            (self[label] for label in self if label not in labels),
            exclusion_reasons={
                **self._exclusion_reasons,
                **{(problem.id, problem.year): reason for problem in removed_problems},
            },
            read_references=self._read_references,
            aliases=self._aliases,
            packages=self.packages,
            read_people=self.read_people,
        )

    def read_references(self, label: str) -> tuple[Solution, ...]:
        """Return the dataset's own solutions of a problem."""
        return self._read_references(self[label])


def load(
    benchmark: Benchmark, options: BenchmarkOptions, *, cache: Path, only: Collection[str] | None = None
) -> LoadedProblems:
    """Load the problems that the options select. Problems are cached until their rows change.

    Args:
        benchmark: The benchmark.
        options: The user's options.
        cache: The folder of the cache.
        only: Load only problems with these ids or aliases. None means all selected problems.

    Raises:
        InputError: The dataset or an option is wrong.
    """
    tables = open_tables(benchmark, options, cache)
    candidates = list(benchmark.candidates(tables.main))
    if (
        benchmark.all_splits
        and not (options.split or options.dataset)
        and _are_names_mostly_unknown(only, candidates)
    ):
        options = msgspec.structs.replace(options, split=benchmark.all_splits)
        tables = open_tables(benchmark, options, cache)
        candidates = list(benchmark.candidates(tables.main))
    first_rows: dict[tuple[str, int | None], int] = {}
    for candidate in candidates:
        first_row = first_rows.setdefault(_get_id_and_year(candidate), candidate.rows[0])
        if first_row != candidate.rows[0]:
            raise InputError(
                f"problem {candidate.id!r} occurs twice, first in row {first_row + 1}",
                where=tables.main.where,
                row=candidate.rows[0] + 1,
                remedy="Remove the duplicate",
            )
    aliases = _collect_aliases(candidates)
    selected_ids = frozenset(aliases.get(name, name) for name in options.problems)
    selected_candidates = select_candidates(
        candidates, msgspec.structs.replace(options, problems=selected_ids)
    )
    if benchmark.lists_by_id and (problem_count := _count_numbered_problems(only or ())):
        aliases = _collect_aliases(
            _select_numbered_problems(problem_count, candidates, selected_candidates, tables.main.where)
        )
    needed_ids = None if only is None else {aliases.get(name, name) for name in only}
    needed_candidates = [
        candidate
        for candidate in selected_candidates
        if (needed_ids is None or candidate.id in needed_ids) and not candidate.unusable
    ]
    store = Store(cache)
    comparison = CheckerKind.built_in(options.checker) if options.checker else None
    stored_problems = [
        _load_problem(benchmark, candidate, tables, options, store) for candidate in needed_candidates
    ]
    problems = [
        options.apply_limits(stored_problem.problem)
        for stored_problem in stored_problems
        if stored_problem.problem is not None
    ]
    # The option `checker` replaces neither checker programs nor comparisons of functions' results.
    if comparison is not None:
        problems = [
            problem
            if problem.checker.sources or problem.task_type is not TaskType.BATCH
            else msgspec.structs.replace(problem, checker=Checker(kind=comparison))
            for problem in problems
        ]
    reasons = {_get_id_and_year(candidate): NOT_SELECTED for candidate in candidates}
    reasons |= {_get_id_and_year(candidate): candidate.unusable for candidate in selected_candidates}
    reasons |= {
        _get_id_and_year(candidate): stored_problem.unusable
        for candidate, stored_problem in zip(needed_candidates, stored_problems, strict=True)
    }
    candidates_by_id_and_year = {_get_id_and_year(candidate): candidate for candidate in needed_candidates}
    return LoadedProblems(
        problems,
        exclusion_reasons=reasons,
        read_references=lambda problem: benchmark.references(
            candidates_by_id_and_year[problem.id, problem.year], tables
        ),
        aliases=aliases,
        packages=benchmark.packages if options.packages is None else options.packages,
        read_people=lambda: benchmark.read_people(tables),
    )


def _are_names_mostly_unknown(
    problem_names: Collection[str] | None, candidates: Sequence[ProblemCandidate]
) -> bool:
    """Return True if more than half of these names are not names of candidates."""
    candidate_names = {name for candidate in candidates for name in (candidate.id, candidate.alias)}
    return problem_names is not None and 2 * sum(name not in candidate_names for name in problem_names) > len(
        problem_names
    )


def _count_numbered_problems(names: Collection[str]) -> int:
    """Return the number of problems if the dump is a list of lists of replies, else 0.

    The names in such a dump are `#0`, `#1` and so on.
    """
    indexes = (int(name[1:]) for name in names if name.startswith("#") and name[1:].isdecimal())
    return max(indexes, default=-1) + 1


def _select_numbered_problems(
    problem_count: int,
    candidates: Sequence[ProblemCandidate],
    selected_candidates: Sequence[ProblemCandidate],
    where: str,
) -> Sequence[ProblemCandidate]:
    """Return the problems of a dump that has only a list of replies for each problem, sorted by id.

    Raises:
        InputError: The list is neither as long as all problems nor as long as the selected problems.
    """
    for listed_candidates in (candidates, selected_candidates):
        if problem_count == len(listed_candidates):
            return sorted(listed_candidates, key=lambda candidate: candidate.id)
    selection_note = (
        f", of which {len(selected_candidates):,} are chosen"
        if len(selected_candidates) < len(candidates)
        else ""
    )
    raise InputError(
        f"the dump is a list with the replies for {format_count(problem_count, 'problem')}, but the"
        f" benchmark has {len(candidates):,}{selection_note}",
        where=where,
        remedy="Give the rows and dates that the list was made for, or a dump of rows with a question_id",
    )


def open_tables(benchmark: Benchmark, options: BenchmarkOptions, cache: Path) -> Tables:
    """Return the tables of a benchmark, or of the dataset or file of rows that the options name."""
    dataset = options.dataset or benchmark.dataset
    is_file = Path(dataset).is_file()
    if options.dataset and not options.data_dir and Path(dataset).suffix.lower() in SUFFIXES and not is_file:
        raise InputError(f"the file {dataset} does not exist", field="choice.dataset")
    rows_file = None if options.dataset else benchmark.make_rows_file(options.data_dir, cache)
    if benchmark.mixed and Path(dataset).suffix.lower() in (".jsonl", ".json") and is_file:
        rows = (
            {
                name: json.dumps(value) if name in benchmark.mixed else value
                for name, value in row.columns.items()
            }
            for row in read_rows(Path(dataset))
        )
        rows_file = write_cached_rows(rows, benchmark.name, cache)
    source = TableSource(
        dataset=dataset,
        config=options.config or (benchmark.config if not (options.dataset or options.data_dir) else ""),
        split=options.split or benchmark.split,
        revision=options.revision,
        without=benchmark.other_files,
        files=(str(rows_file),) if rows_file else (dataset,) if is_file else (),
    )
    return Tables(
        source,
        cache=cache,
        data_dir=options.data_dir,
        columns=benchmark.columns,
        datasets={other.dataset for other in benchmarks()},
    )


def _load_problem(
    benchmark: Benchmark, candidate: ProblemCandidate, tables: Tables, options: BenchmarkOptions, store: Store
) -> StoredProblem:
    """Return the problem of a candidate from the cache, or create it."""

    def make(contents: ContentStore) -> StoredProblem:
        try:
            return StoredProblem(problem=benchmark.problem(candidate, tables, contents, options))
        except Unusable as error:
            return StoredProblem(unusable=str(error))
        finally:
            tables.release_memory()

    key_parts = [
        benchmark.name,
        type(benchmark).__module__,
        str(benchmark.version),
        benchmark.fingerprint(candidate, tables),
        benchmark.fingerprint_options(options),
        candidate.id,
        str(candidate.year),
        str(candidate.rows),
    ]
    key = hashlib.sha256("\n".join(key_parts).encode()).hexdigest()
    return load_stored_problem(store, key, make)


# --- names of problems -------------------------------------------------------------------------------


def _collect_aliases(candidates: Collection[ProblemCandidate]) -> dict[str, str]:
    """Return the ids of problems by their aliases. `#0` is an alias of the first row's problem.

    A name of several problems, or a name that is another problem's id, is not an alias.
    """
    names_with_ids = [
        (name, candidate.id)
        for index, candidate in enumerate(candidates)
        for name in (candidate.alias, f"#{index}")
    ]
    name_counts, problem_ids = (
        Counter(name for name, _ in names_with_ids),
        {candidate.id for candidate in candidates},
    )
    return {
        name: problem_id
        for name, problem_id in names_with_ids
        if name_counts[name] == 1 and name and name not in problem_ids
    }


def _get_id_and_year(candidate: ProblemCandidate) -> tuple[str, int | None]:
    """Return the id and the year, which identify a problem: olympiads reuse names."""
    return candidate.id, candidate.year


def _format_name(problem_id: str, year: int | None) -> str:
    """Return the name of a problem with its year, as in `nile@2024`."""
    return problem_id if year is None else f"{problem_id}@{year}"


# --- a benchmark in a Python file --------------------------------------------------------------------


SUFFIX = ".py"
# Types of errors that a benchmark file with a mistake may raise when it is loaded.
_LOADING_ERRORS = (
    SyntaxError,
    ImportError,
    AttributeError,
    NameError,
    TypeError,
    ValueError,
    LookupError,
    OSError,
)


def load_benchmark_file(path: Path) -> Benchmark:
    """Load a Python file, and return the single benchmark that it defines.

    Raises:
        InputError: The file cannot be loaded, or does not define exactly one benchmark.
    """
    content = path.read_bytes()
    # The module's name contains the file's hash, so that cached problems of an older version are not used.
    module_name = f"ioi_eval_benchmark_{hashlib.sha256(content).hexdigest()[:16]}"
    if (module := sys.modules.get(module_name)) is None:
        module_spec = importlib.util.spec_from_file_location(module_name, path)
        assert module_spec is not None and module_spec.loader is not None, "a file that ends in .py"
        module = sys.modules[module_name] = importlib.util.module_from_spec(module_spec)
        try:
            module_spec.loader.exec_module(module)
        except _LOADING_ERRORS as error:
            del sys.modules[module_name]
            frames = traceback.extract_tb(error.__traceback__)
            line_numbers = [frame.lineno for frame in frames if frame.filename == str(path)]
            line_number = (
                error.lineno if isinstance(error, SyntaxError) else line_numbers[-1] if line_numbers else None
            )
            problem = f"cannot be loaded ({type(error).__name__}: {error})"
            raise InputError(
                problem, where=str(path), row=line_number, remedy="Correct the Python file"
            ) from error
    classes = (
        member
        for member in vars(module).values()
        if isinstance(member, type) and member.__module__ == module_name
    )
    benchmark_classes = [
        member for member in classes if issubclass(member, Benchmark) and not inspect.isabstract(member)
    ]
    if len(benchmark_classes) != 1:
        remedy = "Define one class derived from ioi_eval.benchmarks.Benchmark"
        raise InputError(
            f"the file must define one benchmark, not {len(benchmark_classes)}",
            where=str(path),
            remedy=remedy,
        )
    benchmark: Benchmark = benchmark_classes[0]()
    return benchmark
