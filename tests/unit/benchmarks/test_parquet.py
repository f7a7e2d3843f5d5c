"""Pages of parquet: what is read of them, what memory that takes, and what does not fit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ioi_eval.benchmarks.parquet import _check, batches
from ioi_eval.errors import InputError

pytestmark = pytest.mark.once

MB = 1 << 20
ROWS = 10
ONE_PAGE: dict[str, Any] = {"use_dictionary": False}
A_PAGE_FOR_EACH: dict[str, Any] = {"use_dictionary": False, "write_batch_size": 1, "data_page_size": 1}


def write(path: Path, size: int, **options: Any) -> Path:
    """Rows of that many bytes together, in one group."""
    line = "0123456789 " * (size // ROWS // 11)
    rows = [f"{number}\n{line}" for number in range(ROWS)]
    table = pa.table({"name": [str(number) for number in range(ROWS)], "text": rows})
    pq.write_table(table, path, **{"compression": "zstd", **options})
    return path


def names(path: Path, **options: Any) -> list[str]:
    return [name for batch in batches(path, **options) for name in batch.column("name").to_pylist()]


@pytest.mark.sample("dictionary")
@pytest.mark.parametrize(
    ("small", "size", "memory", "said"),
    [
        (50 * MB, 80 * MB, 60 * MB, ("", "0.1", "0.2")),
        pytest.param(None, 140 * MB, 100 * MB, ("", "0.1", "0.3"), marks=pytest.mark.long),
    ],
    ids=["smaller", "real"],
)
@pytest.mark.parametrize(
    ("options", "copies"),
    [
        (ONE_PAGE, 1),
        ({**ONE_PAGE, "data_page_version": "2.0"}, 1),
        ({"use_dictionary": True}, 2),
        (A_PAGE_FOR_EACH, 0),
        ({**ONE_PAGE, "compression": "none"}, 0),
    ],
    ids=["page", "second version", "dictionary", "pages", "not packed"],
)
def test_a_page_that_does_not_fit_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    copies: int,
    small: int | None,
    size: int,
    memory: int,
    said: tuple[str, ...],
) -> None:
    if small is not None:
        monkeypatch.setattr("ioi_eval.benchmarks.parquet._SMALL", small)
    path = write(tmp_path / "rows.parquet", size, **options)
    every = [str(number) for number in range(ROWS)]
    assert names(path, memory=400 * MB) == every
    assert names(path, memory=MB, columns=["name"]) == every, "the other column is not read"
    if not copies:
        assert names(path, memory=memory) == every
        return
    with pytest.raises(InputError, match="row group 1 has pages of ") as caught:
        names(path, memory=memory)
    assert f"pages of {said[copies]} GiB in its column text" in str(caught.value)
    assert "there are 0.1" in str(caught.value)
    assert str(path) == caught.value.where and "row_group_size=5" in caught.value.remedy


READS = """
import sys, threading, time
from pathlib import Path
from ioi_eval.benchmarks.parquet import batches

def own():
    return int(Path("/proc/self/status").read_text().partition("RssAnon:")[2].split()[0]) >> 10

def watch():
    while True:
        seen.append(own())
        time.sleep(0.002)

path = Path(sys.argv[1])
assert sum(batch.num_rows for batch in batches(path, columns=["name"])) == 10
seen = [own()]
threading.Thread(target=watch, daemon=True).start()
assert sum(batch.num_rows for batch in batches(path)) == 10
print(max(seen) - seen[0])
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "most"),
    [
        (A_PAGE_FOR_EACH, 130),
        ({**ONE_PAGE, "compression": "none"}, 130),
        (ONE_PAGE, 430),
    ],
    ids=["pages", "not packed", "page"],
)
def test_memory_is_that_of_a_page_and_some_rows(tmp_path: Path, options: dict[str, Any], most: int) -> None:
    """Of 300 MB: the process's own, in MiB, without the mapped file."""
    path = write(tmp_path / "rows.parquet", 300 * MB, **options)
    done = subprocess.run(
        [sys.executable, "-c", READS, str(path)], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < most


@pytest.mark.parametrize(
    "header",
    [b"\x15\x00\x15\x02\x15\x0d\x00", b"\x1c" * 50_000, b"\x15" + b"\xff" * 100_000],
    ids=["leads back to itself", "nests", "has a number without end"],
)
def test_a_hostile_header_is_read_to_an_end(tmp_path: Path, header: bytes) -> None:
    """Only a column's part is asked, which says anything of its size as well."""
    place = {
        "physical_type": "BYTE_ARRAY",
        "dictionary_page_offset": None,
        "data_page_offset": 4,
        "total_compressed_size": len(header),
    }
    part = SimpleNamespace(path_in_schema="text", total_uncompressed_size=MB << 10, compression="X", **place)
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1" + header)
    _check(path, 0, [part], MB)


def test_rows_that_share_a_text_are_read_a_few_at_a_time(tmp_path: Path) -> None:
    """A file of a kilobyte, whose rows are a GB together."""
    path = tmp_path / "rows.parquet"
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 128, pa.int32()), pa.array(["x" * (8 * MB)]))
    options: dict[str, Any] = {"dictionary_pagesize_limit": 1 << 30, "store_schema": False}
    pq.write_table(pa.table({"text": texts}), path, compression="zstd", **options)
    first = next(batches(path))
    assert path.stat().st_size < 10_000 and first.nbytes <= 130 * MB


@pytest.mark.parametrize("deep", [False, True])
def test_a_list_that_names_one_text_again_and_again_is_refused(tmp_path: Path, deep: bool) -> None:
    path = tmp_path / "rows.parquet"
    text = pa.array(["x" * MB])
    many = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int32()), text)
    lists = pa.ListArray.from_arrays(pa.array([0, 2000], pa.int32()), many)
    if deep:
        lists = pa.ListArray.from_arrays(pa.array([0, 1]), pa.StructArray.from_arrays([lists], ["inputs"]))
    options: dict[str, Any] = {"dictionary_pagesize_limit": 1 << 30, "store_schema": False}
    pq.write_table(pa.table({"tests": lists}), path, compression="zstd", **options)
    assert path.stat().st_size < 10_000
    with pytest.raises(InputError, match=r"row group 1 has a row of 2[.]0 GiB in its lists tests"):
        next(batches(path, memory=1 << 30))


def test_a_list_of_many_texts_that_fit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    texts = [str(number) * 1000 for number in range(1000)]
    pq.write_table(pa.table({"tests": [texts, texts[:1]]}), path, dictionary_pagesize_limit=1 << 30)
    assert [row["tests"] for batch in batches(path, memory=256 * MB) for row in batch.to_pylist()] == [
        texts,
        texts[:1],
    ]


def test_a_size_that_lies_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The footer says that a page of 70 MB has none."""
    monkeypatch.setattr("ioi_eval.benchmarks.parquet._SMALL", 50 * MB)
    path = write(tmp_path / "rows.parquet", 70 * MB, **ONE_PAGE)
    size = pq.ParquetFile(path).metadata.row_group(0).column(1).total_uncompressed_size
    path.write_bytes(path.read_bytes().replace(_packed(size), b"\x82\x80\x80\x00"))
    assert pq.ParquetFile(path).metadata.row_group(0).column(1).total_uncompressed_size == 1
    with pytest.raises(InputError, match=r"row group 1 has pages of 0[.]1 GiB in its column text"):
        names(path, memory=60 * MB)


def _packed(number: int) -> bytes:
    """A whole number as Thrift writes it."""
    number, digits = 2 * number, []
    while number:
        number, digit = divmod(number, 128)
        digits.append(digit | 128 * bool(number))
    return bytes(digits)
