"""Commands that show the evidence of a diagnosis."""

from __future__ import annotations

import shlex
from pathlib import Path

from ioi_eval.models import CheckerKind, Value

_ROWS = frozenset({".parquet", ".jsonl", ".json", ".csv"})


class AuditOrigin(Value):
    """The origin of an audit's problems and solutions, as the user named it."""

    source: str
    benchmark: str  # name of the benchmark; empty for problem packages
    references: int
    data_dir: str = ""
    checker: str = ""
    time_factor: float = 1.0
    dump: str = ""  # name of a dump with further solutions
    column: str | None = None  # column of the dump with expected scores or verdicts
    dump_names: frozenset[str] = frozenset()  # names of the solutions that come from the dump


class ReproductionCommands:
    """Creates commands that reproduce the findings about a problem."""

    def __init__(self, origin: AuditOrigin, problem_label: str) -> None:
        self._origin = origin
        name, _, year = problem_label.rpartition("@")
        year_option = ["--year", year] if name and year.isdigit() else []
        self._problem_options = ["--problem", name if year_option else problem_label, *year_option]

    def make_validate_command(
        self, solution_names: list[str], *, factor: float = 1.0, checker: str = ""
    ) -> str:
        """Return the command that judges solutions by their names.

        Args:
            solution_names: Names of the solutions. If only some are in the dump, the command omits these.
            factor: Factor on the time limits, in addition to the factor of the audit.
            checker: A comparison instead of the audit's, ignored if commands cannot name it.
        """
        origin = self._origin
        if not origin.dump_names.issuperset(solution_names):  # no command reads solutions from two sources
            solution_names = [name for name in solution_names if name not in origin.dump_names]
        built_in_kinds = {kind.value for kind in CheckerKind if not kind.is_program}
        checker = checker if checker in built_in_kinds and origin.benchmark else origin.checker
        factor *= origin.time_factor
        options = [
            *self._problem_options,
            *(argument for name in solution_names for argument in ("--only", name)),
            *(["--data-dir", origin.data_dir] if origin.data_dir else []),
            *(["--set", f"checker={checker}"] if checker else []),
            *(["--time-factor", f"{factor:g}"] if factor != 1 else []),
        ]
        return shlex.join(["ioi-eval", "validate", *self._make_source_arguments(solution_names), *options])

    def _make_source_arguments(self, solution_names: list[str]) -> list[str]:
        origin = self._origin
        if origin.dump and origin.dump_names.issuperset(solution_names):
            column_option = ["--columns", f"expected={origin.column}"] if origin.column else []
            return [origin.dump, "--problems", origin.source, *column_option]
        if not origin.benchmark:
            return [origin.source]
        is_file = Path(origin.source).suffix.lower() in _ROWS
        source_arguments = (
            [origin.benchmark, "--set", f"dataset={origin.source}"] if is_file else [origin.source]
        )
        return [*source_arguments, "--set", f"references={origin.references}"]
