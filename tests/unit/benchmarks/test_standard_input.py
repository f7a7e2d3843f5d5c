"""A dump from standard input is read like a file, named in messages, and removed afterwards."""

from __future__ import annotations

import gzip
import io
import json
import os
from pathlib import Path

import pyarrow as pa
import pytest
from dump_rows import CODE, PROBLEMS, row
from support.datasets import open_dump

from ioi_eval.benchmarks import list_named_problem_ids
from ioi_eval.benchmarks.dumps import replace_stdin_dump_by_file
from ioi_eval.benchmarks.hub import RowFile
from ioi_eval.errors import InputError

ROWS = [row(uuid=name) for name in "abc"]
LINES = "".join(json.dumps(one) + "\n" for one in ROWS).encode()


@pytest.mark.parametrize(
    "content",
    [
        LINES,
        json.dumps(ROWS, indent=1).encode(),
        gzip.compress(LINES),
        pa.compress(LINES, "zstd", asbytes=True),
    ],
    ids=["lines", "list", "gzip", "zstd"],
)
def test_standard_input_rows_are_read_in_any_format(tmp_path: Path, content: bytes) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps(row(uuid="d")) + "\n")
    with replace_stdin_dump_by_file([str(other), "-"], io.BytesIO(content)) as dumps:
        submissions = list(open_dump(dumps, problems=PROBLEMS))
        stored_input = dumps[1]
        assert isinstance(stored_input, RowFile)
        assert stored_input.path.exists()
    assert [submission.key for submission in submissions] == ["d", "a", "b", "c"]
    assert {submission.code for submission in submissions} == {CODE}
    assert not stored_input.path.parent.exists()


def test_standard_input_is_not_read_unless_named() -> None:
    with replace_stdin_dump_by_file(["x.jsonl"], io.BytesIO(b"kept")) as dumps:
        assert dumps == ["x.jsonl"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "standard input: standard input is empty"),
        (b"a,b\n1,2\n", "standard input, line 1: the file is not valid JSON"),
        (LINES + b"{\n", "standard input, line 4: the file is not valid JSON"),
        (LINES + b"{}\n", "standard input, line 4"),
        (gzip.compress(LINES)[:-9], "standard input: the file cannot be read"),
    ],
    ids=["nothing", "csv", "broken", "no problem", "cut off"],
)
def test_errors_name_standard_input(content: bytes, message: str) -> None:
    with (
        pytest.raises(InputError, match=message),
        replace_stdin_dump_by_file(["-"], io.BytesIO(content)) as dumps,
    ):
        open_dump(dumps, problems=PROBLEMS)


def test_problem_ids_are_listed_from_standard_input() -> None:
    with (
        replace_stdin_dump_by_file(["-"], io.BytesIO(b"\xff")) as dumps,
        pytest.raises(InputError, match="standard input, line 1"),
    ):
        list_named_problem_ids(dumps)
    with replace_stdin_dump_by_file(["-"], io.BytesIO(b"{\n" + LINES)) as dumps:
        assert list_named_problem_ids(dumps) == {"sum"}  # reading reports the bad first line with the rest


def test_standard_input_named_twice_is_refused() -> None:
    with pytest.raises(InputError, match="twice"), replace_stdin_dump_by_file(["-", "-"], io.BytesIO(LINES)):
        pass


def test_named_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "rows.jsonl"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match=r"rows\.jsonl: a dump must be a file.* Name - in its place"):
        open_dump([pipe], problems=PROBLEMS)
