"""The benchmarks that there are, and problems of one: listed, selected, made once, found."""

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
    Candidate,
    Keep,
    Kept,
    Unusable,
    kept,
    read_day,
    written,
)
from ioi_eval.benchmarks.codeforces import CodeContests, Codeforces
from ioi_eval.benchmarks.entries import ENTRIES, ListedBenchmark
from ioi_eval.benchmarks.olympiads import Ioi, LiveOIBench
from ioi_eval.benchmarks.row_files import read_rows
from ioi_eval.benchmarks.tables import SUFFIXES, Tables, TableSource
from ioi_eval.benchmarks.usaco import Usaco
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import near, nearest
from ioi_eval.model.values import Checker, CheckerKind, Problem, Solution, TaskType
from ioi_eval.problems import Problems
from ioi_eval.problems.collection import NOT_SELECTED, LeftOut
from ioi_eval.registries import Registry, find_registered, registered
from ioi_eval.store import Store
from ioi_eval.store.rows import as_label
from ioi_eval.store.tasks import People

_T = TypeVar("_T")

Test = Callable[[Candidate], bool]
# A new benchmark is one file with a `Benchmark`, and an entry in the registry of benchmarks, as
# docs/extending.md shows.
BENCHMARKS: tuple[Benchmark, ...] = (
    Ioi(),
    Codeforces(),
    CodeContests(),
    Usaco(),
    LiveOIBench(),
    *map(ListedBenchmark, ENTRIES),
)


def benchmarks() -> tuple[Benchmark, ...]:
    """Return the benchmarks of the core, of its plugins and of other packages, each an instance."""
    return (*BENCHMARKS, *(each() for each in registered(Registry.BENCHMARKS).values()))


def find_benchmark(name: str) -> Benchmark:
    """By its name; hyphens and capitals do not matter."""
    plain = name.strip().lower().replace("-", "_")
    for benchmark in benchmarks():
        if benchmark.name == plain:
            return benchmark
    find_registered(Registry.BENCHMARKS, plain)  # InputError if it belongs to a plugin that was removed
    names = tuple(benchmark.name for benchmark in benchmarks())
    raise InputError(f"unknown benchmark {name!r}", remedy=nearest(plain, names))


def of_columns(
    names: Collection[str], *, where: str, row: Mapping[str, Any] = MappingProxyType({})
) -> Benchmark:
    """Return the benchmark that a file of rows belongs to: the one whose columns are all there.

    The benchmark that needs most columns wins: rows of TACO have all columns of APPS. `row`: the first row,
    whose values tell benchmarks with the same columns apart.
    """
    fitting = [
        benchmark
        for benchmark in benchmarks()
        if set(benchmark.columns) <= set(names) and benchmark.may_have(row)
    ]
    found = [
        benchmark
        for benchmark in fitting
        if not any(set(benchmark.columns) < set(more.columns) for more in fitting)
    ]
    if len(found) != 1:
        several = " and ".join(benchmark.name for benchmark in found)
        raise InputError(
            f"rows that may be of {several}" if found else "rows of no benchmark that is known",
            where=where,
            remedy="Name the benchmark with problems=SOURCE, and the file with dataset=FILE",
        )
    return found[0]


def select(candidates: Iterable[Candidate], options: BenchmarkOptions) -> list[Candidate]:
    """Return those that pass every option, in the order of the rows; at last the sample of what is left.

    Raise InputError for an id that no problem has, for difficulties, tags or years of which no problem has
    any, and for a word that is nearly one that problems have.
    """
    found, difficulty, tags = (
        list(candidates),
        _lower(map(as_label, options.difficulty)),
        _lower(options.tags),
    )
    begin, end = _day(options.date_from, "choice.date_from"), _day(options.date_to, "choice.date_to")
    tests: list[tuple[object, Test]] = [
        (difficulty, lambda candidate: candidate.difficulty.lower() in difficulty),
        (tags, lambda candidate: not tags.isdisjoint(_lower(candidate.tags))),
        (options.years, lambda candidate: candidate.year in options.years),
        (options.problems, lambda candidate: candidate.id in options.problems),
        (begin, lambda candidate: candidate.date[:10] >= begin),
        (end, lambda candidate: candidate.date[:10] <= end),
    ]
    # Dates are no names: a window may be empty, but only of problems that have dates.
    words = _lower(candidate.difficulty for candidate in found) - {""}
    _check("difficulty", difficulty, words)
    _check("tag", tags, _lower(tag for candidate in found for tag in candidate.tags))
    _check(
        "year", set(map(str, options.years)), {str(candidate.year) for candidate in found if candidate.year}
    )
    _check("problem", options.problems, {candidate.id for candidate in found})
    if (options.date_from or options.date_to) and not any(candidate.date for candidate in found):
        raise InputError(
            "its problems have no dates", field="choice.date_from", remedy="Leave the window out"
        )
    for given, test in tests:
        found = [candidate for candidate in found if not given or test(candidate)]
    if options.first is not None:
        found = [candidate for candidate in found if not candidate.unusable][: options.first]
    return found if options.sample is None else sample(found, options.sample, options.seed)


def sample(candidates: Sequence[Candidate], size: int, seed: int) -> list[Candidate]:
    usable = [candidate for candidate in candidates if not candidate.unusable]
    return sampled(usable, size, seed, key=lambda candidate: f"{candidate.id}\n{candidate.year}")


def sampled(items: Sequence[_T], size: int, seed: int, *, key: Callable[[_T], str]) -> list[_T]:
    """Return the items with the least hashes, in their order. A larger sample contains the smaller one."""

    def rank(item: _T) -> str:
        return hashlib.sha256(f"{seed}\n{key(item)}".encode()).hexdigest()

    chosen = set(sorted(map(rank, items))[:size])
    return [item for item in items if rank(item) in chosen]


def _lower(words: Iterable[str]) -> set[str]:
    return {word.lower() for word in words}


def _day(text: str, option: str) -> str:
    try:
        return read_day(text)
    except InputError as error:
        raise error.but(field=option) from None


def _check(what: str, wanted: Iterable[str], existing: set[str]) -> None:
    missing = sorted(set(wanted) - existing)
    if missing and what != "problem" and set(wanted) & existing:
        # A list of words may serve several datasets. Numbers are alike without being slips of the pen.
        others = [word for word in existing - set(wanted) if not word.isdigit()]
        missing = [word for word in missing if near(word, others)]
    for word in missing:
        raise InputError(
            f"no problem with the {what} {word!r}" if what != "problem" else f"no problem {word!r}",
            field="choice.difficulty" if what == "difficulty" else f"choice.{what}s",
            remedy=nearest(word, tuple(sorted(existing))),
        )


class Loaded(Problems):
    """Problems of a benchmark. `find` knows also those that are left out, and says why."""

    def __init__(
        self,
        problems: Iterable[Problem],
        *,
        reasons: Mapping[tuple[str, int | None], str],
        references: Callable[[Problem], tuple[Solution, ...]],
        aliases: Mapping[str, str],
        packages: Collection[str] = (),
        people: Callable[[], People | None] = lambda: None,
    ) -> None:
        super().__init__(problems, packages=packages)
        self._reasons, self._references, self._aliases = reasons, references, aliases
        self.people = people  # what they reached at these problems' contests, read now. InputError
        # Why each problem is not there, by id and year; by id alone where that holds for all of its years.
        names = {_name(*place): reason for place, reason in reasons.items()}
        by_id: dict[str, set[str]] = {}
        for (problem_id, _year), reason in reasons.items():
            by_id.setdefault(problem_id, set()).add(reason)
        alone = {problem_id: next(iter(all_)) for problem_id, all_ in by_id.items() if len(all_) == 1}
        self._known = {**alone, **names}

    @property
    def left_out(self) -> dict[str, int]:
        """Count the wanted problems that cannot be judged, by reason."""
        return dict(Counter(reason for reason in self._reasons.values() if reason not in ("", NOT_SELECTED)))

    def find(self, problem_id: str, year: int | None = None) -> Problem:
        problem_id = self._aliases.get(problem_id, problem_id)
        try:
            return super().find(problem_id, year)
        except InputError as error:
            if reason := self._known.get(_name(problem_id, year)) or self._known.get(problem_id):
                raise LeftOut(problem_id, reason) from error
            if error.problem.startswith("unknown"):
                remedy = nearest(problem_id, tuple(name for name in self._known if "@" not in name))
                raise error.but(remedy=remedy) from error
            raise

    def without(self, labels: Collection[str], reason: str) -> Loaded:
        """The same problems but for some, which are left out for a reason of the caller's."""
        gone = [self[label] for label in labels]
        return Loaded(
            (self[label] for label in self if label not in labels),
            reasons={**self._reasons, **{(problem.id, problem.year): reason for problem in gone}},
            references=self._references,
            aliases=self._aliases,
            packages=self.packages,
            people=self.people,
        )

    def references(self, label: str) -> tuple[Solution, ...]:
        """The dataset's own solutions of a problem, read now."""
        return self._references(self[label])


def load(
    benchmark: Benchmark, options: BenchmarkOptions, *, cache: Path, only: Collection[str] | None = None
) -> Loaded:
    """The problems that `options` select, and of these only those with the ids in `only`.

    Nothing is made twice from the same rows: what was made stays in the store at `cache`.
    """
    tables = open_tables(benchmark, options, cache)
    candidates = list(benchmark.candidates(tables.main))
    if benchmark.all_splits and not (options.split or options.dataset) and _are_of_others(only, candidates):
        options = msgspec.structs.replace(options, split=benchmark.all_splits)
        tables = open_tables(benchmark, options, cache)
        candidates = list(benchmark.candidates(tables.main))
    seen: dict[tuple[str, int | None], int] = {}
    for candidate in candidates:
        first = seen.setdefault(_place(candidate), candidate.rows[0])
        if first != candidate.rows[0]:
            raise InputError(
                f"a second problem {candidate.id!r}; the first is in row {first + 1}",
                where=tables.main.where,
                row=candidate.rows[0] + 1,
                remedy="Is a file there twice?",
            )
    aliases = _aliases(candidates)
    ids = frozenset(aliases.get(name, name) for name in options.problems)
    selected = select(candidates, msgspec.structs.replace(options, problems=ids))
    if benchmark.lists_by_id and (length := _length_of_list(only or ())):
        aliases = _aliases(_in_list(length, candidates, selected, tables.main.where))
    wanted = None if only is None else {aliases.get(name, name) for name in only}
    needed = [
        candidate
        for candidate in selected
        if (wanted is None or candidate.id in wanted) and not candidate.unusable
    ]
    store = Store(cache)
    kind = CheckerKind.built_in(options.checker) if options.checker else None
    results = [_kept(benchmark, candidate, tables, options, store) for candidate in needed]
    problems = [options.limited(result.problem) for result in results if result.problem is not None]
    if kind is not None:  # for outputs that are compared, not where a program judges or a function is called
        problems = [
            problem
            if problem.checker.sources or problem.task_type is not TaskType.BATCH
            else msgspec.structs.replace(problem, checker=Checker(kind=kind))
            for problem in problems
        ]
    reasons = {_place(candidate): NOT_SELECTED for candidate in candidates}
    reasons |= {_place(candidate): candidate.unusable for candidate in selected}
    reasons |= {_place(candidate): result.unusable for candidate, result in zip(needed, results, strict=True)}
    by_place = {_place(candidate): candidate for candidate in needed}
    return Loaded(
        problems,
        reasons=reasons,
        references=lambda problem: benchmark.references(by_place[problem.id, problem.year], tables),
        aliases=aliases,
        packages=benchmark.packages if options.packages is None else options.packages,
        people=lambda: benchmark.people(tables),
    )


def _are_of_others(names: Collection[str] | None, candidates: Sequence[Candidate]) -> bool:
    """Return True if most of these names are of no candidate."""
    known = {name for candidate in candidates for name in (candidate.id, candidate.alias)}
    return names is not None and 2 * sum(name not in known for name in names) > len(names)


def _length_of_list(names: Collection[str]) -> int:
    """Return the number of problems of a dump that is a list with the replies for each; 0 for other dumps."""
    places = (int(name[1:]) for name in names if name.startswith("#") and name[1:].isdecimal())
    return max(places, default=-1) + 1


def _in_list(
    length: int, candidates: Sequence[Candidate], selected: Sequence[Candidate], where: str
) -> Sequence[Candidate]:
    """Return the problems that a list of this length has the replies for, in its order.

    InputError: the benchmark has another number of problems, and so has the choice of them.
    """
    for all_or_chosen in (candidates, selected):
        if length == len(all_or_chosen):
            return sorted(all_or_chosen, key=lambda candidate: candidate.id)
    chosen = f", of which {len(selected):,} are chosen" if len(selected) < len(candidates) else ""
    raise InputError(
        f"the dump is a list with the replies for {length:,} problems, but the benchmark has"
        f" {len(candidates):,}{chosen}",
        where=where,
        remedy="Give the rows and dates that the list was made for, or a dump of rows with a question_id",
    )


def open_tables(benchmark: Benchmark, options: BenchmarkOptions, cache: Path) -> Tables:
    """The benchmark's tables, or those that the options name instead. `dataset` may be a file of rows."""
    dataset = options.dataset or benchmark.dataset
    is_file = Path(dataset).is_file()
    if options.dataset and not options.data_dir and Path(dataset).suffix.lower() in SUFFIXES and not is_file:
        raise InputError(f"no such file: {dataset}", field="choice.dataset")
    own = None if options.dataset else benchmark.rows(options.data_dir, cache)
    if benchmark.mixed and Path(dataset).suffix.lower() in (".jsonl", ".json") and is_file:
        texts = (
            {
                name: json.dumps(value) if name in benchmark.mixed else value
                for name, value in row.columns.items()
            }
            for row in read_rows(Path(dataset))
        )
        own = written(texts, benchmark.name, cache)
    source = TableSource(
        dataset=dataset,
        config=options.config or (benchmark.config if not (options.dataset or options.data_dir) else ""),
        split=options.split or benchmark.split,
        revision=options.revision,
        without=benchmark.other_files,
        files=(str(own),) if own else (dataset,) if is_file else (),
    )
    return Tables(
        source,
        cache=cache,
        data_dir=options.data_dir,
        columns=benchmark.columns,
        datasets={each.dataset for each in benchmarks()},
    )


def _kept(
    benchmark: Benchmark, candidate: Candidate, tables: Tables, options: BenchmarkOptions, store: Store
) -> Kept:
    def make(keep: Keep) -> Kept:
        try:
            return Kept(problem=benchmark.problem(candidate, tables, keep, options))
        except Unusable as flaw:
            return Kept(unusable=str(flaw))
        finally:
            tables.release()

    made_of = [
        benchmark.name,
        type(benchmark).__module__,
        str(benchmark.version),
        benchmark.fingerprint(candidate, tables),
        benchmark.matter(options),
        candidate.id,
        str(candidate.year),
        str(candidate.rows),
    ]
    key = hashlib.sha256("\n".join(made_of).encode()).hexdigest()
    return kept(store, key, make)


# --- names of problems -------------------------------------------------------------------------------


def _aliases(candidates: Collection[Candidate]) -> dict[str, str]:
    """Ids by what else problems are called: `#0` is the first row's.

    What several are called, or one by its id, says nothing.
    """
    called = [
        (name, candidate.id) for n, candidate in enumerate(candidates) for name in (candidate.alias, f"#{n}")
    ]
    counts, ids = Counter(name for name, _ in called), {candidate.id for candidate in candidates}
    return {name: identity for name, identity in called if counts[name] == 1 and name and name not in ids}


def _place(candidate: Candidate) -> tuple[str, int | None]:
    return candidate.id, candidate.year


def _name(problem_id: str, year: int | None) -> str:
    return problem_id if year is None else f"{problem_id}@{year}"


# --- a benchmark in a file of somebody's own ---------------------------------------------------------


SUFFIX = ".py"
# What a file with a mistake raises while it is loaded.
_FAULTS = (SyntaxError, ImportError, AttributeError, NameError, TypeError, ValueError, LookupError, OSError)


def benchmark_in(path: Path) -> Benchmark:
    """Run a file, and return the one benchmark that it defines. InputError: it cannot run, or has none."""
    content = path.read_bytes()
    # A name that changes with the file: what was made of its rows by other code is not found again.
    name = f"ioi_eval_benchmark_{hashlib.sha256(content).hexdigest()[:16]}"
    if (module := sys.modules.get(name)) is None:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None, "a file that ends in .py"
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except _FAULTS as error:
            del sys.modules[name]
            frames = traceback.extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in frames if frame.filename == str(path)]
            row = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
            words = f"cannot be loaded ({type(error).__name__}: {error})"
            raise InputError(words, where=str(path), row=row, remedy="Mend the file") from error
    classes = (
        member for member in vars(module).values() if isinstance(member, type) and member.__module__ == name
    )
    found = [member for member in classes if issubclass(member, Benchmark) and not inspect.isabstract(member)]
    if len(found) != 1:
        remedy = "Define one class derived from ioi_eval.benchmarks.Benchmark"
        raise InputError(f"{len(found) or 'no'} benchmarks in it", where=str(path), remedy=remedy)
    benchmark: Benchmark = found[0]()
    return benchmark
