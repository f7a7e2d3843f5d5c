"""What a benchmark is: one file that says how rows become problems, and one entry in the registry.

A benchmark lists its problems from cheap columns first (`candidates`). Only what is selected, and of that
only what a dump mentions, is made into a problem (`problem`), once for each state of its tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from ioi_eval.benchmarks.keeping import Keep
from ioi_eval.benchmarks.tables import Table, Tables
from ioi_eval.errors import IoiEvalError
from ioi_eval.models import Problem, Solution, Value


class BenchmarkOptions(Value):
    """Where the rows come from, and which problems are wanted. Empty: the benchmark's own, or all."""

    dataset: str = ""  # a hub id, or a file of rows
    split: str = ""
    revision: str = ""
    data_dir: str = ""  # copies of the tables: nothing is fetched
    difficulty: frozenset[str] = frozenset()  # the dataset's own words, in any case
    tags: frozenset[str] = frozenset()  # any of these, in any case; the platform is one
    years: frozenset[int] = frozenset()
    problems: frozenset[str] = frozenset()  # ids
    date_from: str = ""  # the first and the last day, as 2024-05-31
    date_to: str = ""
    sample: int | None = None  # so many of what the other options leave, whatever the order of the rows
    seed: int = 0
    generated_tests: bool = True  # also tests that are not the contest's own, where the dataset tells


class Candidate(Value):
    """A problem as selections see it, before anything expensive of it is read."""

    id: str
    rows: tuple[int, ...]  # of the main table
    alias: str = ""  # what dumps may call it as well
    year: int | None = None
    difficulty: str = ""
    tags: tuple[str, ...] = ()
    date: str = ""  # 2024-05-31, whatever follows
    unusable: str = ""  # why it cannot be judged, where that is known already


class Unusable(IoiEvalError):
    """A problem that cannot be judged, by a known flaw of the dataset. It is left out, and counted."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Benchmark(ABC):
    """Knows its dataset's schema, and nothing of caches, selections or dumps."""

    name: ClassVar[str]
    about: ClassVar[str]  # one line for people
    dataset: ClassVar[str]  # hub id of the main table
    config: ClassVar[str] = ""  # of that on the hub
    split: ClassVar[str]  # several with a plus between them
    columns: ClassVar[tuple[str, ...]]  # of the main table, that every row needs: also what it is known by
    other_files: ClassVar[str] = ""  # a pattern: names of files that are not the main table's
    language: ClassVar[str] = "c++"  # of rows that do not say
    version: ClassVar[int] = 1  # to be raised when `problem` makes something else of the same rows

    @abstractmethod
    def candidates(self, main: Table) -> Iterator[Candidate]:
        """Every problem of the main table, read from cheap columns."""

    @abstractmethod
    def problem(self, candidate: Candidate, tables: Tables, keep: Keep, options: BenchmarkOptions) -> Problem:
        """The problem; contents of tests through `keep`. Raises InputError or `Unusable`."""

    def fingerprint(self, candidate: Candidate, tables: Tables) -> str:
        """Changes when a table changes that the problem is made of."""
        return tables.main.fingerprint

    def matter(self, options: BenchmarkOptions) -> str:
        """Those options that `problem` heeds, as a text."""
        return ""

    def references(self, candidate: Candidate, tables: Tables) -> tuple[Solution, ...]:
        """The dataset's own solutions; they are read when somebody asks, and kept nowhere."""
        return ()
