"""Sources of problems: benchmarks, packages and files of rows; and prompts for their problems.

Also the base classes of your own benchmarks and package formats.

    problems = open_problems("apps", BenchmarkOptions(first=10), Store.usual())
    ask = Prompts("", benchmark="apps", language=language_of("apps"))
    prompts = {label: ask(problem) for label, problem in problems.items() if not problem.unusable}

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioi_eval.model.lazy import make_lazy_accessors

if TYPE_CHECKING:
    from ioi_eval.benchmarks import Benchmark, benchmarks
    from ioi_eval.benchmarks.benchmark import ColumnNames, ContentStore, ProblemCandidate
    from ioi_eval.benchmarks.tables import Table, Tables
    from ioi_eval.generate import Prompts
    from ioi_eval.model.digests import problem_digest
    from ioi_eval.model.languages import read_packages
    from ioi_eval.problems import Package, Problems, check_problems
    from ioi_eval.runs.references import with_references
    from ioi_eval.runs.solutions import read_solutions
    from ioi_eval.runs.sources import benchmark_of, language_of, open_problems
else:
    __getattr__, __dir__ = make_lazy_accessors(
        __name__,
        {
            "benchmarks": "Benchmark benchmarks",
            "benchmarks.benchmark": "ColumnNames ContentStore ProblemCandidate",
            "benchmarks.tables": "Table Tables",
            "generate": "Prompts",
            "model.digests": "problem_digest",
            "model.languages": "read_packages",
            "problems": "Package Problems check_problems",
            "runs.references": "with_references",
            "runs.solutions": "read_solutions",
            "runs.sources": "benchmark_of language_of open_problems",
        },
    )

__all__ = [
    "Benchmark",
    "ColumnNames",
    "ContentStore",
    "Package",
    "ProblemCandidate",
    "Problems",
    "Prompts",
    "Table",
    "Tables",
    "benchmark_of",
    "benchmarks",
    "check_problems",
    "language_of",
    "open_problems",
    "problem_digest",
    "read_packages",
    "read_solutions",
    "with_references",
]
