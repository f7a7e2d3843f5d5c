"""A fault in a dump is reported before anything is judged."""

from __future__ import annotations

from pathlib import Path

import pytest
from dump_rows import CODE, PROBLEMS, row, write_jsonl
from support.datasets import Problems, open_dump

from ioi_eval.errors import InputError
from ioi_eval.models import Problem

# --- bad dumps ---------------------------------------------------------------------------------------


def test_subtask_of_problem_without_subtasks_is_refused(tmp_path: Path) -> None:
    bare = Problems([Problem(id="sum")])
    path = write_jsonl(tmp_path / "x.jsonl", [row(subtask="01-small")])
    with pytest.raises(InputError, match="subtasks are: none"):
        open_dump([path], problems=bare)


def test_dump_yields_nothing_before_all_rows_are_checked(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [row()] * 500 + [row(problem_id="nothing")])
    came = []
    with pytest.raises(InputError) as caught:
        came.extend(open_dump([path], problems=PROBLEMS))
    assert caught.value.row == 501
    assert came == []


def test_dump_submissions_are_read_one_by_one(tmp_path: Path) -> None:
    """The second pass reads row by row, so it fails if the file is truncated between the passes."""
    path = write_jsonl(tmp_path / "x.jsonl", [row(prompt="x" * 10_000) for _ in range(300)])
    submissions = iter(open_dump([path], problems=PROBLEMS))
    assert next(submissions).code == CODE
    with path.open("r+") as stream:
        stream.truncate(2_000_000)  # of three million bytes, the last of which are not read yet
    with pytest.raises(InputError, match="the file is not valid JSON"):
        list(submissions)


@pytest.mark.parametrize("target", ["folder", "nothing.jsonl"])
def test_broken_or_folder_link_in_dump_is_refused(tmp_path: Path, target: str) -> None:
    for folder in ("dumps", "folder"):
        (tmp_path / folder).mkdir()
        write_jsonl(tmp_path / folder / f"{folder}.jsonl", [row()])
    (tmp_path / "dumps" / "link.jsonl").symlink_to(tmp_path / target)
    with pytest.raises(InputError, match=r"the link leads to (a folder|nothing)") as caught:
        open_dump([tmp_path / "dumps"], problems=PROBLEMS)
    assert caught.value.where == str(tmp_path / "dumps" / "link.jsonl")
    (tmp_path / "dumps" / "link.jsonl").unlink()
    (tmp_path / "dumps" / "link.txt").symlink_to(tmp_path / "nothing.txt")
    assert len(open_dump([tmp_path / "dumps"], problems=PROBLEMS)) == 1
