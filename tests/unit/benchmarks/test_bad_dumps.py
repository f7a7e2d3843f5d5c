"""A fault in a dump is named before anything is judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dump_rows import CODE, PROBLEMS, failing, read, row, write_jsonl
from support.datasets import Problems, open_dump

from ioi_eval.errors import InputError
from ioi_eval.models import Problem

pytestmark = pytest.mark.once

# --- what is wrong -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "field", "words"),
    [
        ({"problem_id": "summ"}, "problem_id", "Did you mean 'sum'?"),
        ({"problem_id": None}, "problem_id", "None is not a name"),
        ({"problem_id": ""}, "problem_id", "is not a name"),
        ({"problem_id": ["sum"]}, "problem_id", "is not a name"),
        ({"problem_id": {"0": "sum"}, "code": {"0": CODE}}, "problem_id", "to_json(orient='records')"),
        ({"problem_id": "old"}, "year", "one for each of 2020, 2021"),
        ({"problem_id": "old", "year": 2022}, "year", "no problem 'old' of 2022"),
        ({"year": 2024}, "year", "no problem 'sum' of 2024"),
        ({"year": "soon"}, "year", "'soon' is not a year"),
        ({"year": 2023.5}, "year", "2023.5 is not a year"),
        ({"year": "inf"}, "year", "is not a year"),
        ({"year": True}, "year", "is not a year"),
        ({"subtask": "03-none"}, "subtask", "There are: 01-small, 02-full"),
        ({"language": "cobol"}, "language", "unknown language 'cobol'"),
        ({"language": 5}, "language", "5 is not a text"),
        ({"code": 5}, "code", "5 is not a text"),
        ({"code": None, "generation": [1]}, "generation", "1 is not a text"),
    ],
)
def test_a_wrong_value_is_named(tmp_path: Path, columns: dict[str, Any], field: str, words: str) -> None:
    error = failing(tmp_path, row(), row(**columns))
    assert (error.row, error.field) == (2, field)
    assert words in str(error)


@pytest.mark.parametrize("ids", [{}, {"id": None}, {"id": 1.0}, {"id": ""}])
def test_a_row_without_an_id_where_others_have_one(tmp_path: Path, ids: dict[str, Any]) -> None:
    """Frames make floats of ids that have a gap."""
    error = failing(tmp_path, row(id=1), row(**ids))
    assert error.row == 2 and error.remedy.endswith("or none (id_column='')")


def test_samples_in_columns_of_their_own_are_no_choice(tmp_path: Path) -> None:
    """One of them would have been proposed, and the others lost."""
    error = failing(tmp_path, {"problem_id": "sum", "completion_0": CODE, "completion_1": CODE})
    assert error.remedy.endswith(
        "Make one column of completion_0 to completion_1: a list such as `completions`"
    )


def test_a_missing_column_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    error = failing(tmp_path, {"prblem": "sum", "code": CODE})
    assert "missing column `problem_id`. The columns are: prblem, code" in str(error)
    assert str(error).endswith(". Did you mean problem_column=prblem?")
    assert str(failing(tmp_path, {"x": "sum", "code": CODE})).endswith(". Did you mean problem_column=x?")
    error = failing(tmp_path, {"x": "nile", "code": CODE})
    assert str(error).endswith(
        "The columns are: x, code. Name the one that is meant with problem_column=NAME"
    )
    error = failing(tmp_path, {"problem_id": "sum", "text": CODE})
    assert "missing column `code`, `generation` or `messages`. The columns are: problem_id, text" in str(
        error
    )
    assert "missing column `generation` or `messages`" in str(failing(tmp_path, row(), always_extract=True))
    assert "missing column `name`" in str(failing(tmp_path, row(), id_column="name"))
    assert "missing column `uuid`" in str(failing(tmp_path, row(uuid="a"), row()))
    assert "None is not a name" in str(failing(tmp_path, row(uuid="a"), row(uuid=None)))


def test_an_unknown_default_language(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown language 'cobol'"):
        read(write_jsonl(tmp_path / "x.jsonl", [row()]), language="cobol")


def test_a_subtask_of_a_problem_that_has_none(tmp_path: Path) -> None:
    bare = Problems([Problem(id="sum")])
    path = write_jsonl(tmp_path / "x.jsonl", [row(subtask="01-small")])
    with pytest.raises(InputError, match="There are: none"):
        open_dump([path], problems=bare)


def test_nothing_comes_before_everything_is_known_to_be_usable(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [row()] * 500 + [row(problem_id="nothing")])
    came = []
    with pytest.raises(InputError) as caught:
        came.extend(open_dump([path], problems=PROBLEMS))
    assert caught.value.row == 501
    assert came == []


def test_submissions_stream(tmp_path: Path) -> None:
    """The second pass holds neither the file nor all of its rows: what is cut off meanwhile is missed."""
    path = write_jsonl(tmp_path / "x.jsonl", [row(prompt="x" * 10_000) for _ in range(300)])
    submissions = iter(open_dump([path], problems=PROBLEMS))
    assert next(submissions).code == CODE
    with path.open("r+") as stream:
        stream.truncate(2_000_000)  # of three million: the rest is still to be read
    with pytest.raises(InputError, match="broken JSON"):
        list(submissions)


@pytest.mark.parametrize("target", ["folder", "nothing.jsonl"])
def test_a_link_whose_rows_would_be_missing_is_refused(tmp_path: Path, target: str) -> None:
    for folder in ("dumps", "folder"):
        (tmp_path / folder).mkdir()
        write_jsonl(tmp_path / folder / f"{folder}.jsonl", [row()])
    (tmp_path / "dumps" / "link.jsonl").symlink_to(tmp_path / target)
    with pytest.raises(InputError, match=r"a link to (a folder|nothing)") as caught:
        open_dump([tmp_path / "dumps"], problems=PROBLEMS)
    assert caught.value.where == str(tmp_path / "dumps" / "link.jsonl")
    (tmp_path / "dumps" / "link.jsonl").unlink()
    (tmp_path / "dumps" / "link.txt").symlink_to(tmp_path / "nothing.txt")
    assert len(open_dump([tmp_path / "dumps"], problems=PROBLEMS)) == 1
