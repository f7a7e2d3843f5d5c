"""Columns of dumps: common names are detected, and options name the other columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dump_rows import CODE, PROBLEMS, problem, row, write_arrow, write_csv, write_jsonl, write_parquet
from support.datasets import Problems, open_dump

from ioi_eval.benchmarks import DumpOptions, Selection, list_named_problem_ids
from ioi_eval.errors import InputError
from ioi_eval.models import Submission
from ioi_eval.store.folder import Fingerprint, list_fingerprint_changes

ANSWER = f"Here:\n```cpp\n{CODE}```\n"
NESTED = {
    "meta": {"task": {"id": "old", "year": 2021, "part": "small"}, "by": "m"},
    "out": {"text": ANSWER, "code": CODE, "lang": "python"},
}
NAMED: dict[str, str] = {
    "code_column": "out.code",
    "problem_column": "meta.task.id",
    "language_column": "out.lang",
    "model_column": "meta.by",
    "year_column": "meta.task.year",
    "subtask_column": "meta.task.part",
}


def read(path: Path, **options: Any) -> list[Submission]:
    return list(open_dump([path], problems=PROBLEMS, options=DumpOptions(**options)))


CHAT = {"role": "assistant", "content": ANSWER}
SERVED = {"object": "chat.completion", "choices": [{"index": 0, "message": CHAT, "finish_reason": "stop"}]}


def test_code_column_starting_with_many_brackets_is_a_program(tmp_path: Path) -> None:
    code = '{"id": ' + "[" * 100_000
    (submission,) = read(write_jsonl(tmp_path / "x.jsonl", [{"problem_id": "sum", "code": code}]))
    assert submission.code == code


REPLY = f"{ANSWER}Done.\n"


def test_fenced_code_note_ignores_unselected_problems(tmp_path: Path) -> None:
    rows = [{"problem_id": name, "code": code} for name, code in (("sum", CODE), ("tree", REPLY))]
    path = write_jsonl(tmp_path / "x.jsonl", rows)
    only = open_dump([path], problems=PROBLEMS, selection=Selection(problems=frozenset({"sum"})))
    assert not [note for note in only.info.noted if "fenced" in note]


def test_nested_table_columns_are_named_by_paths(tmp_path: Path) -> None:
    (submission,) = read(write_arrow(tmp_path / "x.arrow", [NESTED]), **NAMED)
    assert (submission.problem_id, submission.year) == ("old@2021", 2021)
    assert (submission.target_subtask, submission.language) == ("01-small", "python")
    assert (submission.code, submission.row["model"]) == (CODE, "m")
    path = write_parquet(tmp_path / "x.parquet", [NESTED])
    assert list_named_problem_ids([path], NAMED["problem_column"]) == {"old"}


LISTS = {
    "texts": {"task_id": "sum", "generations": [ANSWER, "none", ANSWER]},
    "messages": {
        "task_id": "sum",
        "completions": [[{"role": "assistant", "content": ANSWER}], "none", ANSWER],
    },
    "LiveCodeBench's": {"question_id": "sum", "output_list": ["x", "y", "z"], "code_list": [CODE, "", CODE]},
}


@pytest.mark.parametrize(
    ("row", "note"),
    [
        (LISTS["LiveCodeBench's"], "read as LiveCodeBench's outputs"),
        (
            {"task_id": "HumanEval/3", "solution": CODE, "_identifier": "HumanEval/3 (1)"},
            "read as EvalPlus' samples",
        ),
        ({"task_id": "Mbpp/11", "completion": CODE}, "read as EvalPlus' samples"),
        ({"task_id": "sum", "solution": CODE}, ""),
        ({"task_id": "sum", "generation": ANSWER, "num_generated_tokens": 9}, "read as NeMo-Skills' outputs"),
        ({"task_id": "sum", "question": "Add.", "generation": ANSWER}, ""),
    ],
)
def test_dump_notes_name_the_columns_that_are_read(tmp_path: Path, row: dict[str, Any], note: str) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [row])
    named_problems = Problems([problem(row.get("task_id", "sum"))])
    noted = open_dump([path], problems=named_problems).info.noted
    assert [*noted] == ([note] if note else [])


def test_nemo_skills_outputs_are_read(tmp_path: Path) -> None:
    """Each sample has its file with the rows of the dataset, which `id` numbers."""
    stats = {"num_generated_tokens": 9, "generation_time": 1.5}
    row = {"id": 0, "name": "Two Numbers", "ioi_id": "sum", "subtask": "01-small", "score": 20, **stats}
    paths = [
        write_jsonl(tmp_path / f"output-rs{sample}.jsonl", [{**row, "generation": f"{sample}\n{ANSWER}"}])
        for sample in range(2)
    ]
    dump = open_dump(paths, problems=PROBLEMS)
    submissions = list(dump)
    assert {
        (submission.problem_id, submission.target_subtask, submission.code) for submission in submissions
    } == {("sum", "01-small", CODE)}
    assert len({submission.key for submission in submissions}) == 2
    assert dump.info.noted["read as NeMo-Skills' outputs"] == 2 and list_named_problem_ids(paths) == {"sum"}
    judged_row = {"task_id": "sum", "release_version": "v5", "generation": ANSWER, "completion": CODE}
    judged_row |= {"code_list": [CODE], "graded_list": [True]}
    (submission,) = open_dump([write_jsonl(tmp_path / "x.jsonl", [judged_row])], problems=PROBLEMS)
    assert (submission.problem_id, submission.code) == ("sum", CODE)


@pytest.mark.parametrize("other", [12, {"status": "AC"}, ["1", "2"]])
def test_code_column_is_read_despite_output_column(tmp_path: Path, other: Any) -> None:
    """The output column contains printed output or verdicts."""
    row = {"problem_id": "sum", "code": CODE, "output": other}
    assert [submission.code for submission in read(write_jsonl(tmp_path / "x.jsonl", [row]))] == [CODE]


def test_list_of_replies_in_a_table_is_split(tmp_path: Path) -> None:
    path = write_arrow(tmp_path / "x.arrow", [{"name": "sum", "generations": [ANSWER, ANSWER]}])
    submissions = read(path)
    assert [submission.code for submission in submissions] == [CODE, CODE]
    assert [submission.key[-2:] for submission in submissions] == ["-1", "-2"]
    assert [submission.key[-4:] for submission in read(path, keys_of_content=False)] == ["-0/0", "-0/1"]


@pytest.mark.parametrize("code", [b"\xff", [b"\xff", b"fine"]])
def test_non_utf8_code_is_bad_row(tmp_path: Path, code: Any) -> None:
    path = write_arrow(tmp_path / "x.arrow", [row(code=code)])
    with pytest.raises(InputError, match=r"field 'code': the value contains bytes that are not UTF-8"):
        read(path)


def test_rows_next_to_a_non_utf8_row_are_read(tmp_path: Path) -> None:
    """Rows of the same batch stay usable."""
    rows = [
        {"problem_id": b"sum", "response": reply} for reply in (ANSWER.encode(), b"\xff", ANSWER.encode())
    ]
    path = write_arrow(tmp_path / "x.arrow", rows)
    dump = open_dump([path], problems=PROBLEMS, options=DumpOptions(skip_bad_rows=True))
    assert [submission.code for submission in dump] == [CODE, CODE]
    assert [error.row for error in dump.rejected] == [2]


def test_changed_column_options_do_not_change_the_run_fingerprint() -> None:
    """Changed programs are detected row by row."""
    option_sets = [fields(), fields(code_column="x"), fields(language="python"), fields(always_extract=True)]
    default_fingerprint, *other_fingerprints = (
        Fingerprint(dump="d", options=options) for options in option_sets
    )
    assert all(
        other != default_fingerprint and list_fingerprint_changes(default_fingerprint, other) == ()
        for other in other_fingerprints
    )
    assert list_fingerprint_changes(
        default_fingerprint, Fingerprint(dump="d", options={**fields(), "all_tests": True})
    )


def fields(**options: Any) -> dict[str, Any]:
    dump_options = DumpOptions(**options)
    return {name: getattr(dump_options, name) for name in DumpOptions.__struct_fields__ if name != "repairs"}


SEVERAL = [ANSWER, ANSWER.replace("main", "other")]
SERVED_TWICE = {**SERVED, "choices": SERVED["choices"] * 2}


@pytest.mark.parametrize("first", [ANSWER, "", "[]"])
def test_csv_column_with_plural_name_contains_lists_or_single_replies(tmp_path: Path, first: str) -> None:
    cells = enumerate((first, str(SEVERAL)))
    rows = [{"problem_id": "sum", "id": n, "completions": cell} for n, cell in cells]
    keys = [submission.key for submission in read(write_csv(tmp_path / "x.csv", rows))]
    assert keys == (["0", "1"] if first == ANSWER else ["0", "1/0", "1/1"])


@pytest.mark.parametrize("column", ["solutions", "Samples", "model_answers", "gen_list", "outputs"])
def test_csv_column_with_plural_name_given_by_option_contains_lists(tmp_path: Path, column: str) -> None:
    path = write_csv(tmp_path / "x.csv", [{"problem_id": "sum", "id": 1, column: json.dumps(SEVERAL)}])
    submissions = read(path, code_column=column, always_extract=True)
    assert [submission.key for submission in submissions] == ["1/0", "1/1"]


GUESSES = json.dumps([f"```cpp\n{CODE}// {n}\n```\n" for n in range(12)])


@pytest.mark.nightly(unless="^(?!parquet)")  # reading parquet starts a process
@pytest.mark.parametrize("column", ["completion", "response", "generation", "output", "solution", "answer"])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json", "parquet"])
def test_reply_containing_a_list_of_guesses_is_one_submission(
    tmp_path: Path, suffix: str, column: str
) -> None:
    """Even if every reply of the dump is such a list."""
    path, rows = tmp_path / f"x.{suffix}", [{"problem_id": "sum", "id": n, column: GUESSES} for n in range(2)]
    if suffix == "json":
        path.write_text(json.dumps(rows))
    else:
        {"csv": write_csv, "jsonl": write_jsonl, "parquet": write_parquet}[suffix](path, rows)
    column_options = {"code_column": column, "always_extract": True}
    dump = open_dump([path], problems=PROBLEMS, options=DumpOptions(**column_options))
    assert [submission.key for submission in dump] == ["0", "1"]
    assert [number for note, number in dump.info.noted.items() if "split_lists=True" in note] == [2]
    split = read(path, **column_options, split_lists=True)
    assert [submission.key for submission in split] == [f"{row}/{n}" for row in range(2) for n in range(12)]
    assert split[0].code == CODE + "// 0\n"


def test_server_reply_in_a_column_of_lists_is_one_submission(tmp_path: Path) -> None:
    """The first hundred rows show that the column contains lists."""
    cells = [json.dumps(SEVERAL)] * 100 + [json.dumps(SERVED_TWICE)]
    rows = [{"problem_id": "sum", "id": n, "responses": cell} for n, cell in enumerate(cells)]
    assert [submission.key for submission in read(write_csv(tmp_path / "x.csv", rows))][-2:] == [
        "99/1",
        "100",
    ]


@pytest.mark.parametrize("written", [json.dumps, str])
def test_null_in_list_of_replies_is_one_empty_reply(tmp_path: Path, written: Any) -> None:
    """The other lists of the column must still be split."""
    lists: list[Any] = [[ANSWER, None], [ANSWER, ANSWER]]
    rows = [{"problem_id": "sum", "id": n, "responses": written(replies)} for n, replies in enumerate(lists)]
    keys_and_codes = [
        (submission.key, submission.code) for submission in read(write_csv(tmp_path / "x.csv", rows))
    ]
    assert keys_and_codes == [("0/0", CODE), ("0/1", None), ("1/0", CODE), ("1/1", CODE)]


@pytest.mark.parametrize("column", ["response", "responses", "messages", "code"])
@pytest.mark.parametrize(
    "reply",
    [
        '[{"role": 3}]',
        '[{"role": "assistant", "content": 5}]',
        '[{"from": "gpt", "value": 2}]',
        '[{"role": "user", "content": "x"}]',
        '{"choices": []}',
        '{"choices": [{"message": {"content": 5}}]}',
        '{"choices": [{"text": "x"}], "role": 5}',
        '{"candidates": []}',
    ],
)
def test_reply_that_looks_like_chat_is_accepted(tmp_path: Path, column: str, reply: str) -> None:
    """Replies that start like a chat or a server reply must not be refused."""
    read(write_csv(tmp_path / "x.csv", [{"problem_id": "sum", column: reply}]))


def test_reply_that_looks_like_a_list_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsing a reply of 300 KB repeatedly needed 8 s."""
    parsed_texts = list[str]()
    monkeypatch.setattr("ioi_eval.benchmarks.dump_reader.parse_list", lambda text: parsed_texts.append(text))
    row = {"problem_id": "sum", "id": 7, "response": f"[{'[], ' * 3}7]"}
    assert [submission.code for submission in read(write_jsonl(tmp_path / "x.jsonl", [row]))] == [None]
    assert len(parsed_texts) == 1
