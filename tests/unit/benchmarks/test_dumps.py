"""Rows become submissions. All unusable rows are reported before the first submission."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dump_rows import (
    CODE,
    PROBLEMS,
    read,
    row,
    write_arrow,
    write_csv,
    write_json,
    write_jsonl,
    write_parquet,
)
from support.datasets import Selection, open_dump

from ioi_eval.benchmarks import list_named_problem_ids
from ioi_eval.errors import InputError
from ioi_eval.models import LanguageFrom, Submission

ANSWER = "<think>maybe\n```cpp\nint wrong;\n```\n</think>\nHere:\n```cpp\nint main() { return 0; }\n```\n"


def read_single_row(tmp_path: Path, columns: dict[str, Any], **options: Any) -> Submission:
    (submission,) = read(write_jsonl(tmp_path / "x.jsonl", [columns]), **options)
    return submission


# --- a row -------------------------------------------------------------------------------------------


def test_row_of_published_dump_becomes_submission(tmp_path: Path) -> None:
    columns = {
        "uuid": "u-1",
        "problem_id": "sum",
        "subtask": "02-full",
        "prompt": "Write",
        "generation": ANSWER,
        "code": CODE,
        "language": "cpp",
        "solution_number": 3,
        "model_kwargs": {"seed": 7},
        "metadata": {"usage": None, "timestamp": "2025-01-01"},
    }
    submission = read_single_row(tmp_path, columns)
    assert submission == Submission(
        key="u-1",
        problem_id="sum",
        code=CODE,
        language="cpp",
        language_from=LanguageFrom.ROW,
        year=2023,
        target_subtask="02-full",
        dump_row=submission.dump_row,
        row=columns,
    )
    assert submission.dump_row.endswith(".jsonl, line 1")


def test_lone_surrogate_in_row_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"problem_id": "sum", "code": "// \\ud83d\\nint x;", "prompt": "\\udc00"}\n')
    (submission,) = read(path)
    assert submission.code == "// \ufffd\nint x;"
    json.dumps(dict(submission.row), ensure_ascii=False).encode()


# --- keys --------------------------------------------------------------------------------------------


def test_key_of_row_without_id_depends_on_content_and_position(tmp_path: Path) -> None:
    rows = [row(uuid="a"), row(uuid="b"), row(uuid="b")]
    path = write_jsonl(tmp_path / "x.jsonl", rows)
    keys = [submission.key for submission in read(path, id_column="")]
    assert len(set(keys)) == 3
    moved = write_jsonl(tmp_path / "moved.jsonl", rows)
    assert [submission.key for submission in read(moved, id_column="")] == keys
    changed = write_jsonl(tmp_path / "changed.jsonl", [row(uuid="c"), *rows])
    assert {submission.key for submission in read(changed, id_column="")} > set(keys)
    other = write_jsonl(tmp_path / "other.jsonl", [row(uuid="a"), row(uuid="b", model="m")])
    assert {submission.key for submission in read(other, id_column="")} & set(keys) == {keys[0]}
    # As in runs started by earlier versions: any change of the file changes all keys.
    positional = [read(path, id_column="", keys_of_content=False) for path in (moved, changed)]
    assert not {dump_submission.key for dump_submission in positional[0]} & {
        dump_submission.key for dump_submission in positional[1]
    }


def test_rows_of_other_problems_and_keys_are_counted(tmp_path: Path) -> None:
    rows = [row(uuid="a"), row(uuid="b", problem_id="tree"), row(uuid="c"), row(uuid="d", problem_id="what")]
    selection = Selection(problems=frozenset({"sum"}), keys=frozenset({"c"}))
    info = open_dump([write_jsonl(tmp_path / "x.jsonl", rows)], problems=PROBLEMS, selection=selection).info
    assert tuple(info.keys) == ("c",)
    assert info.left_out == {"of another problem": 2, "not asked for": 1}


def test_mentioned_problems_of_dump_are_listed(tmp_path: Path) -> None:
    rows = [row(), row(problem_id=" tree "), row(problem_id=7), row(problem_id=None), {"code": ""}]
    first = write_jsonl(tmp_path / "1.jsonl", rows)
    second = write_parquet(tmp_path / "2.parquet", [row(problem_id="old"), row(problem_id="sum")])
    assert list_named_problem_ids([first, second]) == {"sum", "tree", "7", "old"}
    assert list_named_problem_ids([write_parquet(tmp_path / "3.parquet", [{"code": "x"}])]) == set()


# --- chat messages -----------------------------------------------------------------------------------

ANSWER = f"So:\n```cpp\n{CODE}```\n"


def said(*messages: Any) -> list[Any]:
    return [dict(zip(("role", "content"), message, strict=True)) for message in messages]


@pytest.mark.parametrize("column", ["generation", "messages"])
def test_code_is_taken_from_the_last_answer_of_a_chat_in_a_table(tmp_path: Path, column: str) -> None:
    chat = said(("user", "```cpp\nno\n```"), ("assistant", "first"), ("user", "go on"), ("assistant", ANSWER))
    rows = [
        {"problem_id": "sum", "uuid": "a", column: chat},
        {"problem_id": "sum", "uuid": "b", column: None},
    ]
    path = write_arrow(tmp_path / "x.arrow", rows)
    assert [submission.code for submission in open_dump([path], problems=PROBLEMS)] == [CODE, None]


def by_numpy(values: list[Any]) -> str:
    return "[" + "\n ".join(map(repr, values)) + "]"


@pytest.mark.parametrize("written", [json.dumps, repr, by_numpy])
def test_chat_stored_as_text_is_read(tmp_path: Path, written: Any) -> None:
    """Otherwise it would be a single reply whose escaped lines contain no valid program."""
    chat = said(("system", "```cpp\nno\n```"), ("user", "it's"), ("assistant", ANSWER))
    rows = [{"problem_id": "sum", "messages": cell} for cell in (written(chat), ANSWER, '[{"role"')]
    path = write_csv(tmp_path / "x.csv", rows)
    assert [submission.code for submission in open_dump([path], problems=PROBLEMS)] == [CODE, CODE, None]


@pytest.mark.parametrize("written", [json.dumps, repr, by_numpy])
@pytest.mark.parametrize("column", ["generations", "completions"])
def test_list_of_replies_stored_as_text_is_split(tmp_path: Path, written: Any, column: str) -> None:
    """Otherwise it would be a single reply without a program."""
    rows = [{"problem_id": "sum", "id": "7", column: written([ANSWER, "it's none", ANSWER])}]
    submissions = list(open_dump([write_csv(tmp_path / "x.csv", rows)], problems=PROBLEMS))
    assert [(submission.key, submission.code) for submission in submissions] == [
        ("7/0", CODE),
        ("7/1", None),
        ("7/2", CODE),
    ]


def test_duplicate_id_in_two_files_is_refused(tmp_path: Path) -> None:
    first = write_jsonl(tmp_path / "1.jsonl", [row(uuid="a")])
    second = write_csv(tmp_path / "2.csv", [row(uuid="b"), row(uuid="a", code="other")])
    with pytest.raises(InputError, match="duplicate id") as caught:
        open_dump([first, second], problems=PROBLEMS)
    assert caught.value.where == str(second)


def test_dump_file_named_twice_is_refused(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [row()])
    with pytest.raises(InputError, match="the same content as"):
        open_dump([path, path], problems=PROBLEMS)


# --- files together ----------------------------------------------------------------------------------


def test_folder_dump_combines_all_formats(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "1.jsonl", [row(uuid="a", year=None), row(uuid="b", year=2023)])
    write_json(tmp_path / "2.json", [row(uuid="c")])
    write_csv(tmp_path / "3.csv", [row(uuid="d", subtask=""), row(uuid="e", subtask="01-small")])
    write_parquet(tmp_path / "4.parquet", [row(uuid=name, n=[1]) for name in "fghij"])
    dump = open_dump([tmp_path], problems=PROBLEMS)
    submissions = list(dump)
    assert [submission.key for submission in submissions] == list("abcdefghij")
    assert {submission.code for submission in submissions} == {CODE}
    assert submissions[4].target_subtask == "01-small"
    assert submissions[9].row == row(uuid="j", n=[1])
    assert (len(dump), dump.info.rows, tuple(dump.info.keys)) == (10, 10, tuple("abcdefghij"))
    assert submissions[0] in dump
    assert list(dump) == submissions, "it can be read again"


def test_dump_can_be_read_again(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "1.jsonl", [row(uuid="a"), row(uuid="b")])
    write_csv(tmp_path / "2.csv", [row(uuid="c")])
    write_arrow(tmp_path / "3.arrow", [row(uuid="d", n=[1])])
    dump = open_dump([tmp_path], problems=PROBLEMS)
    submissions = list(dump)
    assert [submission.key for submission in submissions] == list("abcd")
    assert list(dump) == submissions


def test_dump_hash_depends_on_contents_only(tmp_path: Path) -> None:
    first, second = (write_jsonl(tmp_path / f"{name}.jsonl", [row(uuid=name)]) for name in "ab")
    dump_hash = open_dump([first, second], problems=PROBLEMS).info.sha256
    assert open_dump([second, first], problems=PROBLEMS).info.sha256 == dump_hash
    assert open_dump([tmp_path], problems=PROBLEMS).info.sha256 == dump_hash
    assert open_dump([first], problems=PROBLEMS).info.sha256 != dump_hash
    write_jsonl(second, [row(uuid="b", more=1)])
    assert open_dump([first, second], problems=PROBLEMS).info.sha256 != dump_hash


def test_file_changed_during_scoring_is_input_error(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [row(uuid="a")])
    dump = open_dump([path], problems=PROBLEMS)
    write_jsonl(path, [row(uuid="a"), row(uuid="b")])
    with pytest.raises(InputError, match="changed while it was being scored"):
        list(dump)


def test_empty_dump_file_next_to_other_files_is_accepted(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").touch()
    with pytest.raises(InputError, match="the dump has no rows"):
        open_dump([tmp_path], problems=PROBLEMS)
    write_jsonl(tmp_path / "c.jsonl", [row()])
    assert open_dump([tmp_path], problems=PROBLEMS).info.rows == 1


# --- selection ---------------------------------------------------------------------------------------


def selected(tmp_path: Path, **selection: Any) -> list[str]:
    rows = [
        row(uuid="a"),
        row(uuid="b", problem_id="elsewhere"),
        row(uuid="c", problem_id="tree"),
        row(uuid="d"),
    ]
    path = write_jsonl(tmp_path / "x.jsonl", rows)
    chosen = Selection(**{"problems": frozenset({"sum", "tree"}), **selection})
    dump = open_dump([path], problems=PROBLEMS, selection=chosen)
    keys = [submission.key for submission in dump]
    assert keys == list(dump.info.keys)
    assert (len(dump), dump.info.rows) == (len(keys), 4)
    return keys


def test_selection_filters_dump_rows_by_problem_key_and_limit(tmp_path: Path) -> None:
    assert selected(tmp_path) == ["a", "c", "d"]
    assert selected(tmp_path, problems=frozenset({"sum"})) == ["a", "d"]
    assert selected(tmp_path, limit=2) == ["a", "c"]
    assert selected(tmp_path, limit=0) == []
    assert selected(tmp_path, keys=frozenset({"d"})) == ["d"]
    assert selected(tmp_path, keys=frozenset({"c", "d"}), limit=1) == ["c"]
    with pytest.raises(InputError, match="no row with the key 'zzz'"):
        selected(tmp_path, keys=frozenset({"a", "zzz"}))


def test_unknown_key_is_refused_with_suggestion(tmp_path: Path) -> None:
    path = tmp_path / "dump.jsonl"
    write_jsonl(path, [{"uuid": name, "problem_id": "sum", "code": "1"} for name in ("row-one", "row-two")])
    with pytest.raises(InputError, match=r"no row with the key 'row-owe'\. Did you mean 'row-one'\?"):
        open_dump([path], problems=PROBLEMS, selection=Selection(keys=frozenset({"row-two", "row-owe"})))


def test_large_dump_reports_progress_and_problem_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ioi_eval.benchmarks.dumps.SAMPLED_ROWS", 100)
    number, row_counts = 201, list[int]()
    dump = tmp_path / "dump.jsonl"
    dump.write_text("".join(f'{{"id": "r{n}", "problem_id": "sum", "code": "{n}"}}\n' for n in range(number)))
    opened = open_dump([dump], problems=PROBLEMS, on_rows=row_counts.append)
    assert row_counts == [100, 200]
    assert len(opened.problem_ids) == number and set(opened.problem_ids.values()) == {"sum"}
