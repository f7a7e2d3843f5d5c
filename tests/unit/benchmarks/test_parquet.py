"""Parquet files: reading, the memory that reading needs, and refused files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ioi_eval.benchmarks import parquet
from ioi_eval.benchmarks.parquet import read_batches
from ioi_eval.benchmarks.row_files import read_rows
from ioi_eval.errors import InputError

MB = 1 << 20
ROWS = 10
ONE_PAGE: dict[str, Any] = {"use_dictionary": False}
A_PAGE_FOR_EACH: dict[str, Any] = {"use_dictionary": False, "write_batch_size": 1, "data_page_size": 1}


def write(path: Path, size: int, **options: Any) -> Path:
    """Write rows of this total size in a single row group."""
    line = "0123456789 " * (size // ROWS // 11)
    rows = [f"{number}\n{line}" for number in range(ROWS)]
    table = pa.table({"name": [str(number) for number in range(ROWS)], "text": rows})
    pq.write_table(table, path, **{"compression": "zstd", **options})
    return path


def names(path: Path, **options: Any) -> list[str]:
    return [name for batch in read_batches(path, **options) for name in batch.column("name").to_pylist()]


@pytest.mark.nightly(unless="^(page|pages)$")
@pytest.mark.parametrize(
    ("options", "fits"),
    [
        (ONE_PAGE, False),
        ({**ONE_PAGE, "data_page_version": "2.0"}, False),
        ({"use_dictionary": True}, False),
        (A_PAGE_FOR_EACH, True),
    ],
    ids=["page", "second version", "dictionary", "pages"],
)
def test_parquet_page_larger_than_memory_limit_is_refused(
    tmp_path: Path, options: dict[str, Any], fits: bool
) -> None:
    path = write(tmp_path / "rows.parquet", 65 * MB, **options)
    every = [str(number) for number in range(ROWS)]
    assert names(path, max_memory_bytes=400 * MB) == every
    assert names(path, max_memory_bytes=60 * MB, columns=["name"]) == every, "the large column is not read"
    if fits:
        assert names(path, max_memory_bytes=60 * MB) == every
        return
    with pytest.raises(
        InputError, match=r"takes more than 0[.]1 GiB of memory when it is unpacked"
    ) as caught:
        names(path, max_memory_bytes=60 * MB)
    assert str(path) == caught.value.where and "row_group_size=5" in caught.value.remedy


READS = """
import sys, threading, time
from pathlib import Path
from ioi_eval.benchmarks.parquet import read_batches

def own():
    return int(Path("/proc/self/status").read_text().partition("RssAnon:")[2].split()[0]) >> 10

def watch():
    while True:
        seen.append(own())
        time.sleep(0.002)

path = Path(sys.argv[1])
assert sum(batch.num_rows for batch in read_batches(path, columns=["name"])) == 10
seen = [own()]
threading.Thread(target=watch, daemon=True).start()
assert sum(batch.num_rows for batch in read_batches(path)) == 10
print(max(seen) - seen[0])
"""


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("options", "max_mb"),
    [
        (A_PAGE_FOR_EACH, 130),
        ({**ONE_PAGE, "compression": "none"}, 130),
        (ONE_PAGE, 130),
    ],
    ids=["pages", "not packed", "page"],
)
def test_parquet_reader_memory_is_bounded(tmp_path: Path, options: dict[str, Any], max_mb: int) -> None:
    """The file has 300 MB. It measures the memory of the reading process in MiB."""
    path = write(tmp_path / "rows.parquet", 300 * MB, **options)
    completed = subprocess.run(
        [sys.executable, "-c", READS, str(path)], capture_output=True, text=True, check=True
    )
    assert int(completed.stdout) < max_mb


@pytest.mark.parametrize(
    "header",
    [b"\x15\x00\x15\x02\x15\x0d\x00", b"\x1c" * 50_000, b"\x15" + b"\xff" * 100_000],
    ids=["leads back to itself", "nests", "has a number without end"],
)
def test_hostile_parquet_header_is_input_error(tmp_path: Path, header: bytes) -> None:
    path = write(tmp_path / "rows.parquet", MB)
    data = bytearray(path.read_bytes())
    data[4 : 4 + len(header)] = header
    path.write_bytes(data)
    with pytest.raises(InputError, match="parquet"):
        list(read_rows(path))


def test_parquet_rows_sharing_large_text_are_read_in_small_batches(tmp_path: Path) -> None:
    """A file of a kilobyte has rows of 128 MB. Only each single row must fit into memory."""
    path = tmp_path / "rows.parquet"
    large_texts = pa.DictionaryArray.from_arrays(pa.array([0] * 16, pa.int32()), pa.array(["x" * (8 * MB)]))
    options: dict[str, Any] = {"dictionary_pagesize_limit": 1 << 30, "store_schema": False}
    pq.write_table(pa.table({"text": large_texts}), path, compression="zstd", **options)
    assert path.stat().st_size < 10_000
    assert max(batch.nbytes for batch in read_batches(path)) <= 17 * MB
    assert sum(batch.num_rows for batch in read_batches(path, max_memory_bytes=100 * MB)) == 16


@pytest.mark.nightly(unless="True-True")
@pytest.mark.parametrize("schema", [False, True])
@pytest.mark.parametrize("deep", [False, True])
def test_parquet_list_repeating_large_text_is_refused(tmp_path: Path, deep: bool, schema: bool) -> None:
    """With `schema` the file records that the list has dictionary indices."""
    path = tmp_path / "rows.parquet"
    large_text = pa.array(["x" * MB])
    many = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int32()), large_text)
    lists = pa.ListArray.from_arrays(pa.array([0, 2000], pa.int32()), many)
    if deep:
        lists = pa.ListArray.from_arrays(pa.array([0, 1]), pa.StructArray.from_arrays([lists], ["inputs"]))
    options: dict[str, Any] = {"dictionary_pagesize_limit": 1 << 30, "store_schema": schema}
    pq.write_table(pa.table({"tests": lists}), path, compression="zstd", **options)
    assert path.stat().st_size < 10_000
    with pytest.raises(InputError, match=r"takes more than 0[.]1 GiB of memory when it is unpacked"):
        next(read_batches(path, max_memory_bytes=100 * MB))


def test_parquet_list_of_texts_within_memory_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    test_texts = [str(number) * 1000 for number in range(1000)]
    pq.write_table(pa.table({"tests": [test_texts, test_texts[:1]]}), path, dictionary_pagesize_limit=1 << 30)
    assert [
        row["tests"] for batch in read_batches(path, max_memory_bytes=256 * MB) for row in batch.to_pylist()
    ] == [
        test_texts,
        test_texts[:1],
    ]


def test_wrong_parquet_size_is_not_trusted(tmp_path: Path) -> None:
    """The footer gives a size of 0 for a page of 65 MB."""
    path = write(tmp_path / "rows.parquet", 65 * MB, **ONE_PAGE)
    size = pq.ParquetFile(path).metadata.row_group(0).column(1).total_uncompressed_size
    path.write_bytes(path.read_bytes().replace(_packed(size), b"\x82\x80\x80\x00"))
    assert pq.ParquetFile(path).metadata.row_group(0).column(1).total_uncompressed_size == 1
    with pytest.raises(InputError, match=r"takes more than 0[.]1 GiB"):
        names(path, max_memory_bytes=60 * MB)


# --- the child process -------------------------------------------------------------------------------


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Record the child processes that a test starts. All must exit before the test returns."""
    started = list[subprocess.Popen[bytes]]()

    class RecordedPopen(subprocess.Popen[bytes]):
        def __init__(self, command: Any, **options: Any) -> None:
            super().__init__(command, **options)
            if any("parquet_child" in str(argument) for argument in command):
                started.append(self)

    monkeypatch.setattr(subprocess, "Popen", RecordedPopen)
    parquet._kill_idle_children()
    yield started
    parquet._kill_idle_children()
    assert all(child.returncode is not None for child in started)


def test_parquet_child_process_is_reused(tmp_path: Path, children: list[subprocess.Popen[bytes]]) -> None:
    path = write(tmp_path / "rows.parquet", MB)
    for _ in range(3):
        assert len(names(path)) == ROWS
    assert len(children) == 1
    first_reader, other = read_batches(path), read_batches(path)
    assert next(first_reader).equals(next(other)) and len(children) == 2
    assert [len([*first_reader]), len([*other])] == [0, 0]
    assert sorted(child.pid for child in parquet._idle) == sorted(child.pid for child in children)


def test_exited_parquet_child_process_is_replaced(
    tmp_path: Path, children: list[subprocess.Popen[bytes]]
) -> None:
    path = write(tmp_path / "rows.parquet", MB)
    assert len(names(path)) == ROWS
    children[0].kill()
    children[0].wait()
    assert len(names(path)) == ROWS
    assert parquet._idle == children[1:] and len(children) == 2


def test_abandoned_parquet_reading_kills_child_process(
    tmp_path: Path, children: list[subprocess.Popen[bytes]]
) -> None:
    reading = read_batches(write(tmp_path / "rows.parquet", 20 * MB))
    next(reading)
    reading.close()
    assert [child.returncode for child in children] == [-signal.SIGKILL] and not parquet._idle


@pytest.mark.nightly(unless="9")
@pytest.mark.parametrize(
    ("ending", "message"),
    [(signal.SIGKILL, "takes more than"), (signal.SIGSEGV, "the process that unpacks it ended with -11")],
)
def test_killed_parquet_child_process_is_input_error(
    tmp_path: Path, children: list[subprocess.Popen[bytes]], ending: signal.Signals, message: str
) -> None:
    """The kernel kills it if memory is short, and a broken file may crash it."""
    reading = read_batches(write(tmp_path / "rows.parquet", 20 * MB))
    next(reading)
    children[0].send_signal(ending)
    with pytest.raises(InputError, match=message):
        list(reading)


def test_forked_process_does_not_share_parquet_child_process(
    tmp_path: Path, children: list[subprocess.Popen[bytes]]
) -> None:
    assert len(names(write(tmp_path / "rows.parquet", MB))) == ROWS
    if (forked := os.fork()) == 0:
        os._exit(len(parquet._idle))
    assert os.waitpid(forked, 0)[1] == 0 and parquet._idle == children and len(children) == 1


def _packed(number: int) -> bytes:
    """Return an integer in Thrift's encoding."""
    number, digits = 2 * number, []
    while number:
        number, digit = divmod(number, 128)
        digits.append(digit | 128 * bool(number))
    return bytes(digits)
