"""A guess at a dump's benchmark by columns and ids; the user must say where two fit."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from ioi_eval.benchmarks.benchmark import Benchmark
from ioi_eval.benchmarks.dumps import find_dumps, mentioned
from ioi_eval.benchmarks.hub import Place
from ioi_eval.benchmarks.loaded import benchmarks
from ioi_eval.benchmarks.row_files import column_names
from ioi_eval.model.errors import InputError

FIELD = "problems"


def guessed(dumps: Sequence[str | Path | Place], column: str | None = None) -> str:
    """The name of the benchmark that all ids are of. InputError: none fits, or several do."""
    ids = mentioned(dumps, column) or frozenset()
    columns = {name for place in find_dumps(dumps) for name in column_names(place.path)}
    fitting = [one.name for one in benchmarks() if fits(one, ids, columns)]
    where = ", ".join(str(getattr(dump, "label", dump)) for dump in dumps)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        what = f"its rows may be of {' or '.join(fitting)}"
        raise InputError(what, where=where, field=FIELD, remedy=f"Say which: problems={fitting[0]}")
    shown = ", ".join(sorted(ids)[:3]) or "none"
    what = f"nothing says which problems its rows are of (their ids: {shown})"
    raise InputError(what, where=where, field=FIELD, remedy="Name a benchmark, or packages")


def fits(benchmark: Benchmark, ids: Collection[str], columns: Collection[str]) -> bool:
    """Return True if all ids look like the benchmark's, and its dumps' own columns are there."""
    pattern = benchmark.ids
    return (
        bool(pattern and ids)
        and set(benchmark.dump_columns) <= set(columns)
        and all(re.fullmatch(pattern, one) for one in ids)
    )
