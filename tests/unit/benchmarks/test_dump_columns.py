"""Columns of dumps: common names are detected, and options name the other columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dump_rows import CODE, PROBLEMS, problem, row, write_csv, write_jsonl, write_parquet
from support.datasets import Problems, open_dump

from ioi_eval.benchmarks import DumpOptions, Selection, named_problem_ids
from ioi_eval.errors import InputError
from ioi_eval.models import Submission
from ioi_eval.store.folder import Fingerprint, fingerprint_changes

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
    text = '{"id": ' + "[" * 100_000
    (one,) = read(write_jsonl(tmp_path / "x.jsonl", [{"problem_id": "sum", "code": text}]))
    assert one.code == text


REPLY = f"{ANSWER}Done.\n"


def test_fenced_code_note_ignores_unselected_problems(tmp_path: Path) -> None:
    rows = [{"problem_id": name, "code": code} for name, code in (("sum", CODE), ("tree", REPLY))]
    path = write_jsonl(tmp_path / "x.jsonl", rows)
    only = open_dump([path], problems=PROBLEMS, selection=Selection(problems=frozenset({"sum"})))
    assert not [what for what in only.info.noted if "fenced" in what]


def test_nested_table_columns_are_named_by_paths(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "x.parquet", [NESTED])
    (submission,) = read(path, **NAMED)
    assert (submission.problem_id, submission.year) == ("old@2021", 2021)
    assert (submission.target_subtask, submission.language) == ("01-small", "python")
    assert (submission.code, submission.row["model"]) == (CODE, "m")
    assert named_problem_ids([path], NAMED["problem_column"]) == {"old"}


LISTS = {
    "texts": {"task_id": "sum", "generations": [ANSWER, "none", ANSWER]},
    "messages": {
        "task_id": "sum",
        "completions": [[{"role": "assistant", "content": ANSWER}], "none", ANSWER],
    },
    "LiveCodeBench's": {"question_id": "sum", "output_list": ["x", "y", "z"], "code_list": [CODE, "", CODE]},
}


@pytest.mark.parametrize(
    ("row", "told"),
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
def test_dump_notes_name_the_columns_that_are_read(tmp_path: Path, row: dict[str, Any], told: str) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [row])
    asked = Problems([problem(row.get("task_id", "sum"))])
    noted = open_dump([path], problems=asked).info.noted
    assert [*noted] == ([told] if told else [])


def test_nemo_skills_outputs_are_read(tmp_path: Path) -> None:
    """Each sample has its file with the rows of the dataset, which `id` numbers."""
    stats = {"num_generated_tokens": 9, "generation_time": 1.5}
    row = {"id": 0, "name": "Two Numbers", "ioi_id": "sum", "subtask": "01-small", "score": 20, **stats}
    paths = [
        write_jsonl(tmp_path / f"output-rs{sample}.jsonl", [{**row, "generation": f"{sample}\n{ANSWER}"}])
        for sample in range(2)
    ]
    dump = open_dump(paths, problems=PROBLEMS)
    found = list(dump)
    assert {(one.problem_id, one.target_subtask, one.code) for one in found} == {("sum", "01-small", CODE)}
    assert len({one.key for one in found}) == 2
    assert dump.info.noted["read as NeMo-Skills' outputs"] == 2 and named_problem_ids(paths) == {"sum"}
    judged = {"task_id": "sum", "release_version": "v5", "generation": ANSWER, "completion": CODE}
    judged |= {"code_list": [CODE], "graded_list": [True]}
    (one,) = open_dump([write_jsonl(tmp_path / "x.jsonl", [judged])], problems=PROBLEMS)
    assert (one.problem_id, one.code) == ("sum", CODE)


@pytest.mark.parametrize("other", [12, {"status": "AC"}, ["1", "2"]])
def test_code_column_is_read_despite_output_column(tmp_path: Path, other: Any) -> None:
    """The output column contains printed output or verdicts."""
    row = {"problem_id": "sum", "code": CODE, "output": other}
    assert [one.code for one in read(write_jsonl(tmp_path / "x.jsonl", [row]))] == [CODE]


def test_parquet_list_of_replies_is_split(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "x.parquet", [{"name": "sum", "generations": [ANSWER, ANSWER]}])
    found = read(path)
    assert [one.code for one in found] == [CODE, CODE]
    assert [one.key[-2:] for one in found] == ["-1", "-2"]
    assert [one.key[-4:] for one in read(path, keys_of_content=False)] == ["-0/0", "-0/1"]


@pytest.mark.parametrize("code", [b"\xff", [b"\xff", b"fine"]])
def test_non_utf8_code_is_bad_row(tmp_path: Path, code: Any) -> None:
    path = write_parquet(tmp_path / "x.parquet", [row(code=code)])
    with pytest.raises(InputError, match=r"field 'code': bytes that are no text in UTF-8"):
        read(path)


def test_non_utf8_row_spoils_no_other_row(tmp_path: Path) -> None:
    """Rows of the same batch stay usable."""
    rows = [
        {"problem_id": b"sum", "response": reply} for reply in (ANSWER.encode(), b"\xff", ANSWER.encode())
    ]
    path = write_parquet(tmp_path / "x.parquet", rows)
    dump = open_dump([path], problems=PROBLEMS, options=DumpOptions(skip_bad_rows=True))
    assert [one.code for one in dump] == [CODE, CODE]
    assert [error.row for error in dump.rejected] == [2]


def test_changed_column_options_do_not_change_the_run_fingerprint() -> None:
    """Changed programs are detected row by row."""
    read = [fields(), fields(code_column="x"), fields(language="python"), fields(always_extract=True)]
    usual, *others = (Fingerprint(dump="d", options=options) for options in read)
    assert all(other != usual and fingerprint_changes(usual, other) == () for other in others)
    assert fingerprint_changes(usual, Fingerprint(dump="d", options={**fields(), "all_tests": True}))


def fields(**options: Any) -> dict[str, Any]:
    named = DumpOptions(**options)
    return {name: getattr(named, name) for name in DumpOptions.__struct_fields__ if name != "repairs"}


SEVERAL = [ANSWER, ANSWER.replace("main", "other")]
SERVED_TWICE = {**SERVED, "choices": SERVED["choices"] * 2}


@pytest.mark.parametrize("first", [ANSWER, "", "[]"])
def test_csv_column_with_plural_name_contains_lists_or_single_replies(tmp_path: Path, first: str) -> None:
    texts = enumerate((first, str(SEVERAL)))
    rows = [{"problem_id": "sum", "id": n, "completions": text} for n, text in texts]
    found = [one.key for one in read(write_csv(tmp_path / "x.csv", rows))]
    assert found == (["0", "1"] if first == ANSWER else ["0", "1/0", "1/1"])


@pytest.mark.parametrize("column", ["solutions", "Samples", "model_answers", "gen_list", "outputs"])
def test_csv_column_with_plural_name_given_by_option_contains_lists(tmp_path: Path, column: str) -> None:
    path = write_csv(tmp_path / "x.csv", [{"problem_id": "sum", "id": 1, column: json.dumps(SEVERAL)}])
    found = read(path, code_column=column, always_extract=True)
    assert [one.key for one in found] == ["1/0", "1/1"]


GUESSES = json.dumps([f"```cpp\n{CODE}// {n}\n```\n" for n in range(12)])


@pytest.mark.nightly(unless="^(?!parquet)|parquet-completion")  # reading parquet starts a process
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
    named = {"code_column": column, "always_extract": True}
    dump = open_dump([path], problems=PROBLEMS, options=DumpOptions(**named))
    assert [one.key for one in dump] == ["0", "1"]
    assert [number for what, number in dump.info.noted.items() if "split_lists=True" in what] == [2]
    split = read(path, **named, split_lists=True)
    assert [one.key for one in split] == [f"{row}/{n}" for row in range(2) for n in range(12)]
    assert split[0].code == CODE + "// 0\n"


def test_server_reply_in_a_column_of_lists_is_one_submission(tmp_path: Path) -> None:
    """The first hundred rows show that the column contains lists."""
    texts = [json.dumps(SEVERAL)] * 100 + [json.dumps(SERVED_TWICE)]
    rows = [{"problem_id": "sum", "id": n, "responses": text} for n, text in enumerate(texts)]
    assert [one.key for one in read(write_csv(tmp_path / "x.csv", rows))][-2:] == ["99/1", "100"]


@pytest.mark.parametrize("written", [json.dumps, str])
def test_null_in_list_of_replies_is_one_empty_reply(tmp_path: Path, written: Any) -> None:
    """The other lists of the column must still be split."""
    lists: list[Any] = [[ANSWER, None], [ANSWER, ANSWER]]
    rows = [{"problem_id": "sum", "id": n, "responses": written(texts)} for n, texts in enumerate(lists)]
    found = [(one.key, one.code) for one in read(write_csv(tmp_path / "x.csv", rows))]
    assert found == [("0/0", CODE), ("0/1", None), ("1/0", CODE), ("1/1", CODE)]


@pytest.mark.parametrize("column", ["response", "responses", "messages", "code"])
@pytest.mark.parametrize(
    "text",
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
def test_reply_that_looks_like_chat_is_no_bad_row(tmp_path: Path, column: str, text: str) -> None:
    """Replies that start like a chat or a server reply must not be refused."""
    read(write_csv(tmp_path / "x.csv", [{"problem_id": "sum", column: text}]))


def test_reply_that_looks_like_a_list_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsing a reply of 300 KB repeatedly needed 8 s."""
    asked = list[str]()
    monkeypatch.setattr("ioi_eval.benchmarks.dump_reader.parse_list", lambda text: asked.append(text))
    row = {"problem_id": "sum", "id": 7, "response": f"[{'[], ' * 3}7]"}
    assert [one.code for one in read(write_jsonl(tmp_path / "x.jsonl", [row]))] == [None]
    assert len(asked) == 1
