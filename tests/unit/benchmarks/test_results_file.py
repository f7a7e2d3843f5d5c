"""The file of --results with a run's rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ioi_eval.benchmarks.exports import check_results_path, write_results
from ioi_eval.errors import InputError


def run_of(folder: Path, rows: Sequence[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"key": str(number), **row}) + "\n" for number, row in enumerate(rows)]
    (folder / "results.jsonl").write_text("".join(lines))
    return folder


def table(folder: Path, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    path = folder / "deep" / "x.parquet"
    write_results(run_of(folder / "run", rows), path)
    stored_rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return stored_rows


def test_results_file_has_line_for_each_row(tmp_path: Path) -> None:
    rows = [{"key": "a", "a": 1}, {"key": "b", "b": [None, {}]}]
    write_results(run_of(tmp_path / "run", rows), tmp_path / "x.jsonl")
    assert [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()] == rows


def test_unwritable_results_path_is_refused_before_run(tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "file").touch()
    for path in (tmp_path / "folder.jsonl", tmp_path / "file" / "x.jsonl"):
        with pytest.raises(InputError, match="cannot be written"):
            check_results_path(path)
    check_results_path(tmp_path / "new" / "x.parquet")
    assert not list((tmp_path / "new").iterdir())


def test_results_table_columns_have_types_of_values(tmp_path: Path) -> None:
    rows = [
        {"n": 1, "part": {"x": 1}, "list": ["a"]},
        {"n": 2.5, "part": {"y": "b"}, "list": []},
        {"n": None},
    ]
    assert table(tmp_path, rows) == [
        {"key": "0", "n": 1.0, "part": {"x": 1, "y": None}, "list": ["a"]},
        {"key": "1", "n": 2.5, "part": {"x": None, "y": "b"}, "list": []},
        {"key": "2", "n": None, "part": None, "list": None},
    ]


@pytest.mark.parametrize("times", [1, 500], ids=["in a row group", "in a row group each"])
def test_mixed_result_values_become_json(tmp_path: Path, times: int) -> None:
    mixed_rows = [{"id": 1, "empty": {}}, {"id": "b", "empty": {}}, {"id": [3], "empty": None}]
    stored_rows = table(tmp_path, [row for row in mixed_rows for _ in range(times)])
    assert [row["id"] for row in stored_rows[::times]] == ["1", "b", "[3]"]
    assert [row["empty"] for row in stored_rows[::times]] == ["{}", "{}", None]


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=30, deadline=None)
@given(rows=st.lists(st.dictionaries(st.sampled_from("abc"), values), min_size=1, max_size=5))
def test_any_rows_can_be_written_to_the_results_file(
    rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    stored_rows = table(tmp_path_factory.mktemp("any"), rows)
    assert [row["key"] for row in stored_rows] == [str(number) for number in range(len(rows))]


def test_unwritable_results_file_is_input_error(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", [{"a": 1}])
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_results(run, tmp_path / "file" / "x.parquet")
    with pytest.raises(InputError, match=r"Expected one of \.parquet, \.jsonl"):
        write_results(run, tmp_path / "x.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "run"], "no partial file is left"
