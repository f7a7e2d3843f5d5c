"""Unusable rows are all reported, and usable rows are not lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dump_rows import CODE, PROBLEMS, write_jsonl
from support.datasets import open_dump

from ioi_eval.benchmarks import DumpOptions
from ioi_eval.errors import BadRows, InputError

GOOD = {"problem_id": "sum", "code": CODE}
BAD: list[dict[str, Any]] = [
    {"problem_id": "sum", "code": 7},
    {"code": CODE},
    {"problem_id": "sum", "code": CODE, "year": "soon"},
    {"problem_id": "sum", "generations": []},
    {"problem_id": "sum", "code": CODE, "language": "klingon"},
]
SKIPPING = DumpOptions(skip_bad_rows=True)


def test_all_bad_rows_are_reported_in_order(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [BAD[0], GOOD, *BAD[1:]])
    with pytest.raises(BadRows, match=r"line 1, field 'code'.* 4 more rows cannot be used") as caught:
        open_dump([path], problems=PROBLEMS)
    error_fields = [(error.where, error.row, error.field) for error in caught.value.errors]
    lines = [(str(path), line) for line in (1, 3, 4, 5, 6)]
    assert error_fields == [(*line, field) for line, field in zip(lines, FIELDS, strict=True)]


FIELDS = ["code", "", "year", "generations", "language"]


def test_single_bad_row_is_reported_without_count(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [GOOD, BAD[0]])
    with pytest.raises(InputError, match=r"line 2, field 'code': 7 is not a text. Expected a text or null$"):
        open_dump([path], problems=PROBLEMS)


def test_skip_bad_rows_keeps_usable_rows(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [*BAD, GOOD, *BAD, GOOD])
    dump = open_dump([path], problems=PROBLEMS, options=SKIPPING)
    assert [submission.code for submission in dump] == [CODE, CODE]
    assert (len(dump), dump.info.rejected, len(dump.rejected)) == (2, 10, 10)


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.csv"])
def test_unparsable_row_is_bad_row(tmp_path: Path, name: str) -> None:
    good, code = '{"problem_id": "sum", "code": "x"}', "sum,x"
    contents = {
        "x.jsonl": f'{good}\n{{"problem_id": \n[1]\n\n{good}\n',
        "x.json": f"[{good}, 7, null,\n{good}]",
        "x.csv": f"problem_id,code\n{code}\nsum\na,b,c\n{code}\n",
    }
    path = tmp_path / name
    path.write_text(contents[name])
    with pytest.raises(BadRows) as caught:
        open_dump([path], problems=PROBLEMS)
    assert len(caught.value.errors) == 2
    assert len(open_dump([path], problems=PROBLEMS, options=SKIPPING)) == 2


def test_first_of_two_rows_with_same_id_is_kept(tmp_path: Path) -> None:
    rows = [{"id": "a", **GOOD}, {"id": "a", **GOOD, "code": "other"}, {"id": "b", **GOOD}]
    path = write_jsonl(tmp_path / "x.jsonl", rows)
    with pytest.raises(InputError, match="duplicate id 'a'"):
        open_dump([path], problems=PROBLEMS)
    dump = open_dump([path], problems=PROBLEMS, options=SKIPPING)
    assert [(submission.key, submission.code) for submission in dump] == [("a", CODE), ("b", CODE)]


def test_damaged_file_is_refused_despite_skip_bad_rows(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"problem_id": "sum", "code": "\xff"}\n')
    with pytest.raises(InputError, match="not UTF-8"):
        open_dump([path], problems=PROBLEMS, options=SKIPPING)
