"""Rows are read unchanged from every file format, and errors name the place of a damage."""

from __future__ import annotations

import csv
import datetime
import errno
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dump_rows import write_csv, write_json, write_jsonl, write_parquet
from hypothesis import given, settings
from hypothesis import strategies as st

from ioi_eval.benchmarks.row_files import (
    hash_file_and_check_utf8,
    list_dump_files,
    list_non_dump_files,
    read_json_elements,
    read_rows,
)
from ioi_eval.errors import InputError

Writer = Callable[[Path, Any], Path]
WRITERS: dict[str, Writer] = {
    "x.jsonl": write_jsonl,
    "x.ndjson": write_jsonl,
    "x.json": write_json,
    "x.csv": write_csv,
    "x.parquet": write_parquet,
}
ROWS = [
    {"id": "a", "text": "one"},
    {"id": "b", "text": 'two\nlines, a comma and a "quote"'},
    {"id": "c", "text": "Zürich \u2028 日本 😀"},
    {"id": "d", "text": ""},
    {"id": "e", "text": "x" * 3_000_000},
]


def failing(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        hash_file_and_check_utf8(path)
        list(read_rows(path))
    assert caught.value.where == str(path)
    assert caught.value.remedy
    return caught.value


@pytest.mark.parametrize("name", WRITERS)
def test_rows_of_every_file_format_are_read_unchanged(tmp_path: Path, name: str) -> None:
    path = WRITERS[name](tmp_path / name, ROWS)
    assert hash_file_and_check_utf8(path) == hashlib.sha256(path.read_bytes()).hexdigest()
    assert [row.columns for row in read_rows(path)] == ROWS


def packed(path: Path, suffix: str) -> Path:
    content, packed_path = path.read_bytes(), path.with_name(path.name + suffix)
    packed_path.write_bytes(
        gzip.compress(content) if suffix == ".gz" else pa.compress(content, "zstd", asbytes=True)
    )
    return packed_path


@pytest.mark.parametrize("suffix", [".gz", ".zst", ".ZST"])
@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.csv"])
def test_compressed_rows_equal_rows_of_plain_file(tmp_path: Path, name: str, suffix: str) -> None:
    plain = WRITERS[name](tmp_path / name, ROWS)
    path = packed(plain, suffix)
    assert list_dump_files([path]) == [path]
    assert hash_file_and_check_utf8(path) == hash_file_and_check_utf8(plain)
    assert [row.columns for row in read_rows(path)] == ROWS


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_concatenated_compressed_files_are_read(tmp_path: Path, suffix: str) -> None:
    """Loggers append to compressed files, and `cat` joins them."""
    path = packed(write_jsonl(tmp_path / "x.jsonl", ROWS), suffix)
    path.write_bytes(path.read_bytes() * 2)
    assert [row.columns for row in read_rows(path)] == ROWS * 2


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("damage", [lambda content: content[:-9], lambda content: b"{}\n"])
def test_damaged_compressed_file_is_input_error(
    tmp_path: Path, suffix: str, damage: Callable[[bytes], bytes]
) -> None:
    path = packed(write_jsonl(tmp_path / "x.jsonl", ROWS[:4]), suffix)
    path.write_bytes(damage(path.read_bytes()))
    assert "cannot be read" in failing(path).problem


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_error_about_broken_line_in_compressed_file_has_line_number(tmp_path: Path, suffix: str) -> None:
    plain = tmp_path / "x.jsonl"
    plain.write_text('{"a": 1}\n{"a": \n')
    assert failing(packed(plain, suffix)).row == 2


def test_json_lines_with_json_suffix_are_read(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "x.json", ROWS)
    assert [row.columns for row in read_rows(path)] == ROWS


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.csv"])
def test_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path: Path, name: str) -> None:
    rows = [{"id": "a", "text": "b"}, {"id": "c", "text": "d"}]
    path = WRITERS[name](tmp_path / name, rows)
    content = path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + content)
    assert [row.columns for row in read_rows(path)] == rows


def test_row_line_numbers_match_editor(tmp_path: Path) -> None:
    jsonl = tmp_path / "x.jsonl"
    jsonl.write_text('{"a": 1}\n\n  \n{"a": 2}')
    assert [row.line for row in read_rows(jsonl)] == [1, 4]
    as_list = tmp_path / "x.json"
    as_list.write_text('[\n{"a":\n1},\n\n{"a": 2}\n]\n')
    assert [row.line for row in read_rows(as_list)] == [2, 5]
    table = tmp_path / "x.csv"
    table.write_text('a\n"two\nlines"\n\nlast\n')
    assert [row.line for row in read_rows(table)] == [2, 5]


def test_parquet_values_keep_types(tmp_path: Path) -> None:
    rows = [{"when": datetime.datetime(2024, 9, 1), "n": [1, 2], "m": {"seed": 7}, "none": None}]
    assert [row.columns for row in read_rows(write_parquet(tmp_path / "x.parquet", rows))] == rows


# --- damage ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", ['{"a": 1', '{"a" 1}', "nonsense", '{"a": "\t"}', '{"a": 1} {"b": 2}'])
def test_broken_json_line_is_input_error_with_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n' * 16 + line + "\n" + '{"a": 1}\n')
    error = failing(path)
    assert error.row == 17
    assert "the file is not valid JSON" in str(error)


def test_deeply_nested_json_row_is_refused_with_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n{"a": ' + "[" * 200_000 + "\n")
    assert failing(path).row == 2


@pytest.mark.parametrize("name", ["x.jsonl", "x.json"])
@pytest.mark.parametrize("value", [5, "text", [1], None])
def test_row_that_is_not_an_object_is_input_error(tmp_path: Path, name: str, value: Any) -> None:
    error = failing(WRITERS[name](tmp_path / name, [{"a": 1}, value]))
    assert "a row is an object of columns" in str(error)


@pytest.mark.parametrize(
    ("name", "content", "line", "message"),
    [
        ("x.json", '[\n{"a": 1},\n{"a" 2}\n]', 3, "Expecting ':'"),
        ("x.json", '[\n{"a": 1}\n{"a": 2}\n]', 3, "expected ','"),
        ("x.json", '[\n{"a": 1},\n]', 3, "a comma without a following"),
        ("x.json", '[\n{"a": 1}\n', 3, "ends too early"),
        ("x.json", '[\n{"a": 1},\n{"a": "', 3, "Unterminated string"),
        ("x.json", '[{"a": 1}]\n\nmore', 3, "after the end of the list"),
        ("x.json", "", 1, "ends too early"),
        ("x.json", "5", 1, "expected '['"),
        ("x.csv", "a,b\n1,2\n3\n", 3, "1 field where the header has 2"),
        ("x.csv", 'a,b\n1,2\n"x,2\n3,4\n', 4, "the line is not valid CSV"),
        ("x.csv", 'a,b\n1,2\n"x"y,2\n', 3, "the line is not valid CSV"),
        ("x.csv", "a;b\n1;x,y\n", 1, "its fields are separated by ';'"),
        ("x.csv", '"a"\t"b"\n"1"\t"x"\n', 1, r"its fields are separated by '\t'"),
        ("x.csv", "a,a\n1,2\n", 1, "two columns are called 'a'"),
        ("x.csv", "a, a\n1,2\n", 1, "two columns are called 'a'"),
        ("x.jsonl", '{"a": 1}\n{"a": 1, "a": 2}\n', 2, 'duplicate key "a"'),
        ("x.jsonl", '{"a": 1}\n{"b": [{"a": 1, "a": 2}]}\n', 2, 'duplicate key "a"'),
        ("x.json", '[\n{"a": 1},\n{"a": 1, "a": 2}\n]', 3, 'duplicate key "a"'),
        ("x.json", '{"a": [], "a": []}\n', 1, 'duplicate key "a"'),
        ("x.json", '{"a": [],\n"a": []}\n', None, 'duplicate key "a"'),
    ],
)
def test_broken_file_is_input_error_with_line(
    tmp_path: Path, name: str, content: str, line: int | None, message: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    error = failing(path)
    assert error.row == line
    assert message in str(error)


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.csv"])
@pytest.mark.parametrize(
    ("damage", "message"), [(b"\xff", "not UTF-8"), (b"\0", "NUL"), (b"\xe2\x82", "not UTF-8")]
)
def test_non_utf8_file_is_input_error_with_line(
    tmp_path: Path, name: str, damage: bytes, message: str
) -> None:
    """Also in a file that is read in several pieces, with the damage at the end of a piece."""
    path, piece, word = tmp_path / name, 1 << 20, "zwölf\n".encode()
    for size in (4 * len(word), piece, 2 * piece):
        lines = (size - 6) // len(word)
        path.write_bytes((word * lines + b"here").ljust(size - 1) + damage)
        error = failing(path)
        assert (error.row, message in str(error)) == (lines + 1, True), size


@pytest.mark.parametrize("keep", [0, 3, 40, -1])
def test_truncated_parquet_is_input_error(tmp_path: Path, keep: int) -> None:
    path = write_parquet(tmp_path / "x.parquet", ROWS)
    path.write_bytes(path.read_bytes()[:keep])
    assert "not a parquet file" in str(failing(path))


def test_parquet_with_non_utf8_text_is_input_error(tmp_path: Path) -> None:
    raw = pa.array([b"fine", b"\xff\xfe"], type=pa.binary())
    pq.write_table(pa.table({"text": raw.view(pa.string())}), tmp_path / "x.parquet")
    assert "not UTF-8" in str(failing(tmp_path / "x.parquet"))


def test_column_names_are_stripped(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a, b ,c\n1, 2,3\n")
    assert [row.columns for row in read_rows(tmp_path / "x.csv")] == [{"a": "1", "b": " 2", "c": "3"}]


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_binary_columns_of_text_are_read_as_text(tmp_path: Path, name: str, kind: pa.DataType) -> None:
    """Some writers store text as binary. Other binary columns, such as images, stay unchanged."""
    columns = {
        "text": pa.array(["zwölf".encode(), None], kind),
        "texts": pa.array([[b"a", b"b"], []], pa.list_(kind)),
        "parts": pa.array([{"of": b"a"}, {"of": b"b"}], pa.struct({"of": kind})),
        "image": pa.array([b"\xff\xfe", b"fine"], kind),
        "name": pa.array([b"ab", b"cd"], pa.binary(2)),
    }
    table = pa.table(columns)
    if name == "x.parquet":
        pq.write_table(table, tmp_path / name)
    else:
        with pa.ipc.new_stream(tmp_path / name, table.schema) as stream:
            stream.write_table(table)
    first, second = (row.columns for row in read_rows(tmp_path / name))
    assert first == {
        "text": "zwölf",
        "texts": ["a", "b"],
        "parts": {"of": "a"},
        "image": b"\xff\xfe",
        "name": b"ab",
    }
    assert second == {"text": None, "texts": [], "parts": {"of": "b"}, "image": b"fine", "name": b"cd"}


# --- files -------------------------------------------------------------------------------------------


def test_dump_folders_are_searched_for_files(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / ".hidden").mkdir()
    expected_files = [
        tmp_path / "a.jsonl",
        tmp_path / "b" / "c.parquet",
        tmp_path / "d.CSV",
        tmp_path / "e.json.gz",
    ]
    for path in (
        *expected_files,
        tmp_path / ".hidden" / "x.json",
        tmp_path / ".y.json",
        tmp_path / "README.md",
    ):
        path.touch()
    assert list_dump_files([tmp_path]) == expected_files
    assert list_non_dump_files([tmp_path, expected_files[0]]) == [tmp_path / "README.md"]
    assert list_dump_files([str(tmp_path / "d.CSV"), tmp_path / "b"]) == [
        expected_files[2],
        expected_files[1],
    ]


def test_unreadable_folder_is_input_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a part of the dump would be missing in all numbers."""
    for name in ("open", "closed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "dump.jsonl").write_text("{}\n")
    (tmp_path / ".hidden").mkdir()
    closed, scandir = [str(tmp_path / ".hidden")], os.scandir

    def scanned(folder: str) -> Any:
        if str(folder) in closed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", scanned)
    assert len(list_dump_files([tmp_path])) == 2
    closed.append(str(tmp_path / "closed"))
    with pytest.raises(InputError, match=r"/closed: cannot be read \(Permission denied\)\. Give your user"):
        list_dump_files([tmp_path])


def test_path_without_dump_files_is_input_error(tmp_path: Path) -> None:
    for name in ("x.txt", "x.txt.gz", "x.parquet.zst"):
        (tmp_path / name).touch()
    for path, message in (
        ("x.txt", "format"),
        ("x.txt.gz", "format"),
        ("x.parquet.zst", "format"),
        ("absent.jsonl", "no such file"),
        ("", "the folder contains no dump"),
    ):
        with pytest.raises(InputError, match=message):
            list_dump_files([tmp_path / path])


def test_importing_benchmarks_loads_no_pandas_or_pyarrow() -> None:
    script = "import sys, ioi_eval.benchmarks; print({'pyarrow', 'pandas', 'datasets'} & set(sys.modules))"
    completed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "set()"


# --- any content -------------------------------------------------------------------------------------

TEXTS = st.text(alphabet="ab \\\"'\n\t\r,é😀\u2028[]{}", max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.lists(st.dictionaries(TEXTS, VALUES, max_size=3), max_size=4)


class Pieces(io.StringIO):
    """A stream that gives a few characters at a time, as a pipe may."""

    def __init__(self, content: str, piece_length: int) -> None:
        super().__init__(content)
        self._piece_length = piece_length

    def read(self, size: int | None = -1) -> str:
        return super().read(self._piece_length)


@settings(deadline=None)
@given(
    rows=OBJECTS, length=st.integers(1, 30), indent=st.sampled_from([None, 0, 3]), ascii_only=st.booleans()
)
def test_any_json_list_is_read_in_pieces_of_any_length(
    tmp_path_factory: pytest.TempPathFactory, rows: Any, length: int, indent: int | None, ascii_only: bool
) -> None:
    json_text = json.dumps(rows, indent=indent, ensure_ascii=ascii_only)
    path = tmp_path_factory.mktemp("list") / "x.json"
    path.write_text(json_text, newline="")
    assert [row.columns for row in read_rows(path)] == rows
    assert [element for _, element in read_json_elements(Pieces(json_text, length), "x")] == rows


@settings(deadline=None)
@given(rows=OBJECTS.filter(bool), length=st.integers(1, 30), cut=st.integers(1, 40))
def test_any_truncated_json_list_is_refused(rows: Any, length: int, cut: int) -> None:
    json_text = json.dumps(rows)
    truncated = Pieces(json_text[: max(1, len(json_text) - cut)], length)
    with pytest.raises(InputError):
        list(read_json_elements(truncated, "x"))


CELLS = st.text(alphabet="ab ,\"'\n\ré", max_size=10)


@settings(deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), max_size=4))
def test_arbitrary_csv_table_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, cells: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("table") / "x.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([("a", "b"), *cells])
    assert [tuple(row.columns.values()) for row in read_rows(path)] == cells


def test_csv_field_size_limit_is_restored(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "x.csv", [{"code": "x" * 200_000, "n": "1"}, {"code": "y", "n": "2"}])
    limit_before = csv.field_size_limit(1000)
    try:
        rows = read_rows(table)
        assert len(next(rows).columns["code"]) == 200_000
        assert csv.field_size_limit() == 1000, "even while rows are in use"
        assert len(list(rows)) == 1
        assert csv.field_size_limit() == 1000
        table.write_text('code\n"x')
        with pytest.raises(InputError, match="the line is not valid CSV"):
            list(read_rows(table))
        assert csv.field_size_limit() == 1000
    finally:
        csv.field_size_limit(limit_before)
