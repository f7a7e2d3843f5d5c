"""tests.parquet: a row for each submission and each of its tests, for whoever counts tests."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

from ioi_eval.model.values import SubmissionResult, TestResult
from ioi_eval.reports.summary import Each
from ioi_eval.store.files import draft_of, refused
from ioi_eval.store.rows import model_of

TESTS = "tests.parquet"
COLUMNS = {
    "key": "string",
    "problem_id": "string",
    "model": "string",
    "subtasks": "strings",
    "test_name": "string",
    "status": "string",
    "score": "float64",
    "feedback": "string",
    "cpu_time": "float64",
    "cpu_times": "numbers",
    "wall_time": "float64",
    "waited_time": "float64",
    "memory": "int64",
    "processes": "int64",
    "points": "float64",
}
_HELD = 20_000  # tests in memory, and in a row group
_OF_TESTS = [name for name in COLUMNS if name in TestResult.__struct_fields__ and name != "cpu_times"]
_MEASURED = frozenset({"cpu_time", "wall_time", "waited_time", "memory"})  # hardly a value is there twice
_values_of = attrgetter(*_OF_TESTS)


@contextlib.contextmanager
def writing_tests(folder: Path) -> Iterator[Each]:
    """Yield what adds the tests of a row. The old table stays until the new one is whole.

    A core that was installed without pyarrow has no such table.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        yield lambda row, result: None
        return

    lists = {"strings": pyarrow.list_(pyarrow.string()), "numbers": pyarrow.list_(pyarrow.float64())}
    schema = pyarrow.schema(
        [(name, lists.get(kind) or getattr(pyarrow, kind)()) for name, kind in COLUMNS.items()]
    )
    draft = draft_of(folder / TESTS)
    held: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    try:
        few = [name for name in COLUMNS if name not in _MEASURED]
        with pyarrow.parquet.ParquetWriter(draft, schema, compression="zstd", use_dictionary=few) as writer:

            def add(row: Mapping[str, Any], result: SubmissionResult) -> None:
                _hold(result, model_of(row), held)
                if len(held["key"]) > _HELD:
                    write()

            def write() -> None:
                writer.write_table(pyarrow.Table.from_pydict(held, schema))
                for column in held.values():
                    column.clear()

            yield add
            write()  # also where there are no tests: such a run has a file too
        draft.replace(folder / TESTS)
    except OSError as error:
        raise refused(folder / TESTS, error) from error
    finally:
        draft.unlink(missing_ok=True)


def _hold(result: SubmissionResult, model: str, held: dict[str, list[Any]]) -> None:
    tests, parts = result.tests, defaultdict[str, list[str]](list)
    for part in result.subtasks:
        for test in part.test_results:
            parts[test.test_name].append(part.subtask)
    for name, value in (("key", result.key), ("problem_id", result.problem_id), ("model", model)):
        held[name] += [value] * len(tests)
    held["subtasks"] += [parts[test.test_name] for test in tests] if parts else [[]] * len(tests)
    held["cpu_times"] += [test.cpu_times or None for test in tests]
    for name, values in zip(_OF_TESTS, zip(*map(_values_of, tests), strict=True), strict=bool(tests)):
        held[name] += values
