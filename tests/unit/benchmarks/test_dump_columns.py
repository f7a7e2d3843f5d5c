"""Columns of dumps under other names: the usual ones are known, others are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dump_rows import CODE, PROBLEMS, problem, row, write_csv, write_jsonl, write_parquet
from support.datasets import Problems, open_dump

from ioi_eval.benchmarks import DumpOptions, Selection, mentioned
from ioi_eval.errors import InputError
from ioi_eval.models import Submission
from ioi_eval.store.folder import Fingerprint, changes
from ioi_eval.store.rows import model_of

pytestmark = pytest.mark.once

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


@pytest.mark.parametrize("written", ["completion", "solution", "response", "output", "generation"])
@pytest.mark.parametrize("problem", ["task_id", "question_id", "name", "problem_id"])
def test_usual_names_are_known(tmp_path: Path, problem: str, written: str) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [{problem: "sum", written: ANSWER}])
    (submission,) = read(path)
    assert (submission.problem_id, submission.code) == ("sum", CODE)
    assert mentioned([path]) == {"sum"}


ASKED = [
    {"role": "user", "content": "One"},
    {"role": "assistant", "content": ""},
    {"role": "user", "content": "More"},
]


@pytest.mark.parametrize("asked", [ASKED, ASKED[:1], json.dumps(ASKED)])
def test_a_reply_beside_the_messages_that_asked_for_it(tmp_path: Path, asked: object) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [{"problem_id": "sum", "messages": asked, "response": ANSWER}])
    dump = open_dump([path], problems=PROBLEMS)
    assert [one.code for one in dump] == [CODE]
    assert "reply <- response" in str(dump.info.understood)


def test_messages_that_end_with_a_reply_count_before_other_columns(tmp_path: Path) -> None:
    chat = [*ASKED, {"role": "assistant", "content": ANSWER}]
    (one,) = read(
        write_jsonl(tmp_path / "x.jsonl", [{"problem_id": "sum", "messages": chat, "response": ""}])
    )
    assert one.code == CODE


@pytest.mark.parametrize("model", ["gpt", "assistant", "chatbot"])
@pytest.mark.parametrize("as_text", [False, True])
def test_chats_as_sharegpt_has_them(tmp_path: Path, model: str, as_text: bool) -> None:
    chat = [{"from": "human", "value": REFERENCE}, {"from": model, "value": ANSWER}]
    held = json.dumps(chat) if as_text else chat
    rows = [{"problem_id": "sum", "conversations": held}, {"problem_id": "sum", "conversations": chat[:1]}]
    path = write_jsonl(tmp_path / "x.jsonl", rows)
    assert [one.code for one in read(path)] == [CODE, None]
    several = {"problem_id": "sum", "responses": [chat, chat]}
    assert len(read(write_jsonl(tmp_path / "y.jsonl", [several]))) == 2


@pytest.mark.parametrize(
    "more", [{}, {"id": "sum", "metadata": '{"problem_id": "sum"}'}], ids=["no-id", "text"]
)
def test_rows_that_only_look_like_a_log_of_inspect_ai(tmp_path: Path, more: dict[str, Any]) -> None:
    row = {"problem_id": "sum", "generation": ANSWER, "inspect_ai": {"task": "t"}, "epoch": 1, **more}
    (one,) = read(write_jsonl(tmp_path / "x.jsonl", [row]))
    assert (one.problem_id, one.code) == ("sum", CODE)


CHAT = {"role": "assistant", "content": ANSWER}
SERVED = {"object": "chat.completion", "choices": [{"index": 0, "message": CHAT, "finish_reason": "stop"}]}


@pytest.mark.parametrize("written", ["response", "responses", "completions", "generations"])
@pytest.mark.parametrize("more", [{}, {"messages": ASKED[:1]}], ids=["prompt", "messages"])
def test_a_dataset_s_own_solution_beside_a_reply(tmp_path: Path, written: str, more: dict[str, Any]) -> None:
    columns = {"solution": REFERENCE, written: [ANSWER] if written.endswith("s") else ANSWER, **more}
    (one,) = read(write_jsonl(tmp_path / "x.jsonl", [{"problem_id": "sum", **columns}]))
    assert one.code == CODE


def test_a_dataset_s_own_solution_is_no_reply_to_messages(tmp_path: Path) -> None:
    row = {"problem_id": "sum", "messages": ASKED[:1], "solution": REFERENCE}
    (one,) = read(write_jsonl(tmp_path / "x.jsonl", [row]))
    assert one.code is None


@pytest.mark.parametrize("own", ["solution", "output"])
@pytest.mark.parametrize("written", ["generated_code", "model_output", "llm_response", "prediction", "gen"])
def test_a_dataset_s_own_column_beside_one_of_an_unusual_name(tmp_path: Path, own: str, written: str) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [{"problem_id": "sum", own: REFERENCE, written: ANSWER}])
    with pytest.raises(
        InputError, match=rf"missing column .* The columns are: .*{written}.*code_column="
    ) as no:
        read(path)
    assert f"code_column={own}" not in str(no.value)
    (one,) = read(path, code_column=written, always_extract=True)
    assert one.code == CODE


@pytest.mark.parametrize("written", ["generation", "completion", "response", "output", "responses"])
def test_the_own_programs_of_mbpp_beside_replies(tmp_path: Path, written: str) -> None:
    own = {"task_id": "sum", "text": "Add.", "code": "own\n", "test_list": ["assert f(1) == 1"]}
    rows = [{**own, written: [ANSWER] if written.endswith("s") else ANSWER}, {**own, written: None}]
    path = write_jsonl(tmp_path / "x.jsonl", rows)
    assert [one.code for one in read(path)] == [CODE, None]
    assert [one.code for one in read(path, code_column="code")] == ["own\n"] * 2
    (one,) = read(write_jsonl(tmp_path / "y.jsonl", [own | {"code": CODE}]))
    assert one.code == CODE


@pytest.mark.parametrize("gap", ["generation", "messages", "completion"])
def test_a_gap_where_another_column_has_the_reply(tmp_path: Path, gap: str) -> None:
    rows = [{"problem_id": "sum", gap: None, "response": ANSWER}, {"problem_id": "sum", gap: None}]
    assert [one.code for one in read(write_jsonl(tmp_path / "x.jsonl", rows))] == [CODE, None]
    several = [{"problem_id": "sum", gap: None, "response": [ANSWER, None], "completions": ANSWER}]
    assert [one.code for one in read(write_jsonl(tmp_path / "z.jsonl", several))] == [CODE, None]
    row = {"problem_id": "sum", gap: None, "response": None, "solution": REFERENCE}
    assert [one.code for one in read(write_jsonl(tmp_path / "y.jsonl", [row]))] == [None]


@pytest.mark.parametrize(
    ("columns", "field"),
    [
        ({"responses": [ANSWER, {"error": "x"}]}, "responses"),
        ({"custom_id": "nile", "response": {"body": SERVED}}, "custom_id"),
    ],
)
def test_a_fault_is_named_by_the_dump_s_own_column(
    tmp_path: Path, columns: dict[str, Any], field: str
) -> None:
    named = {} if "custom_id" in columns else {"problem_id": "sum"}
    with pytest.raises(InputError) as caught:
        read(write_jsonl(tmp_path / "x.jsonl", [{**named, **columns}]))
    assert caught.value.field == field


REFERENCE = ANSWER.replace("main", "reference")
TEXT = {"index": 0, "text": ANSWER, "token_ids": [1], "finish_reason": "stop"}


@pytest.mark.parametrize(
    ("columns", "number"),
    [
        ({"outputs": [TEXT]}, 1),
        ({"outputs": [TEXT, TEXT]}, 2),
        ({"outputs": [ANSWER, ANSWER]}, 2),
        ({"response": SERVED}, 1),
        ({"responses": [SERVED, SERVED]}, 2),
        ({"responses": [CHAT, CHAT, CHAT]}, 3),
        ({"messages": [ASKED[0], {**CHAT, "role": "model"}]}, 1),
        ({"messages": [ASKED[0], {**CHAT, "role": "Assistant"}]}, 1),
        ({"messages": [ASKED[0], {**CHAT, "role": "ai"}]}, 1),
        ({"response": json.dumps(SERVED)}, 1),
        ({"response": json.dumps({"id": "c", **SERVED}, indent=1)}, 1),
        ({"responses": [json.dumps(SERVED), json.dumps(SERVED)]}, 2),
        ({"response": {"type": "message", "content": [TEXT]}}, 1),
        ({"responses": [*ASKED, CHAT]}, 1),
        ({"completion": {**SERVED, "choices": SERVED["choices"] * 2}}, 2),
        ({"output": CHAT}, 1),
        ({"response": {"reasoning_content": "Hm.", "content": ANSWER}}, 1),
        ({"completion": {"choices": [{"text": ANSWER}]}}, 1),
        ({"response": {"id": "r", "output": [{"type": "message", "content": [TEXT]}]}}, 1),
    ],
)
def test_answers_as_servers_give_them(tmp_path: Path, columns: dict[str, Any], number: int) -> None:
    found = read(write_jsonl(tmp_path / "x.jsonl", [{"problem_id": "sum", **columns}]))
    assert [one.code for one in found] == [CODE] * number


DRAFT = {"type": "reasoning", "text": ANSWER.replace("main", "draft")}
PART = {"type": "text", "text": ANSWER}
ITEM = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]}
THOUGHT = {"type": "thinking", "thinking": [PART]}


@pytest.mark.parametrize(
    ("columns", "number"),
    [
        ({"generation": [DRAFT, PART]}, 1),
        ({"responses": [DRAFT, PART]}, 1),
        ({"responses": [PART, PART]}, 2),
        ({"responses": [[DRAFT, PART], [THOUGHT, PART]]}, 2),
        ({"output": [{"type": "reasoning", "summary": [PART]}, ITEM]}, 1),
        ({"response": {"choices": [{"message": {"content": [THOUGHT, PART, {"text": ""}]}}]}}, 1),
        ({"response": {"content": [PART, DRAFT]}}, 1),
        ({"messages": [*ASKED, {"role": "assistant", "content": [PART, DRAFT]}]}, 1),
        ({"messages": [{"role": "assistant", "content": [{"text": {"value": ANSWER}}]}]}, 1),
        ({"messages": [{"role": "model", "parts": [{"text": ANSWER}, {**PART, "thought": True}]}]}, 1),
        ({"messages": [CHAT, {"role": "assistant", "channel": "analysis", "content": "Hm."}]}, 1),
        ({"messages": [{**each, "type": "text"} for each in (*ASKED, CHAT)]}, 1),
        ({"generation": [*ASKED, CHAT, {"role": "tool", "type": "text", "content": ""}]}, 1),
    ],
)
def test_an_answer_in_parts_is_one_and_its_thoughts_are_none_of_it(
    tmp_path: Path, columns: dict[str, Any], number: int
) -> None:
    found = read(write_jsonl(tmp_path / "x.jsonl", [{"problem_id": "sum", **columns}]))
    assert [one.code for one in found] == [CODE] * number
    silent = json.loads(json.dumps(columns).replace(json.dumps(ANSWER), '"No."'))
    found = read(write_jsonl(tmp_path / "x.jsonl", [{"problem_id": "sum", **silent}]))
    assert [one.code for one in found] == [None] * number


CALL = {"type": "tool_use", "name": "submit", "input": {}}
FENCED = {"type": "text", "text": ANSWER.rstrip()}
DONE = {"type": "text", "text": "**Done.**"}


@pytest.mark.parametrize(
    "columns",
    [
        {"response": {"content": [FENCED, CALL, DONE]}},
        {"messages": [{"role": "assistant", "content": [FENCED, CALL, DONE]}]},
        {"messages": [{"role": "model", "parts": [FENCED, {"text": "?", "thought": True}, DONE]}]},
        {"response": {"output": [{"type": "message", "content": [part]} for part in (FENCED, DONE)]}},
    ],
)
def test_parts_that_stand_apart_are_in_lines_of_their_own(tmp_path: Path, columns: dict[str, Any]) -> None:
    """The closing fence and the words behind it were one line, which closed nothing."""
    path = write_jsonl(tmp_path / "x.jsonl", [{"problem_id": "sum", **columns}])
    assert [one.code for one in read(path)] == [CODE]


@pytest.mark.parametrize(
    "columns",
    [
        {"response": {"content": [CALL]}},
        {"messages": [{"role": "assistant", "content": None, "tool_calls": [{"type": "function"}]}]},
        {"response": {"choices": [{"message": {"content": None, "function_call": {"name": "submit"}}}]}},
        {"response": {"candidates": [{"content": {"parts": [{"functionCall": {"name": "submit"}}]}}]}},
        {"response": {"output": [{"type": "function_call", "arguments": "{}"}]}},
    ],
)
def test_a_call_of_a_tool_without_a_text_is_told(tmp_path: Path, columns: dict[str, Any]) -> None:
    empty = {"problem_id": "tree", "messages": [{"role": "assistant", "content": "", "tool_calls": []}]}
    path = write_jsonl(tmp_path / "x.jsonl", [{"problem_id": "tree", **columns}, empty])
    dump = open_dump([path], problems=PROBLEMS)
    assert [one.code for one in dump] == [None, None]
    assert sorted(what[:24] for what in dump.info.noted) == [
        "with a call of a tool an",
        "with neither a program n",
    ]


def test_a_text_that_is_cut_into_parts_is_put_together(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": ANSWER[at : at + 7]} for at in range(0, len(ANSWER), 7)]
    path = write_jsonl(tmp_path / "x.jsonl", [{"problem_id": "sum", "response": {"content": parts}}])
    assert [one.code for one in read(path)] == [CODE]


@pytest.mark.parametrize("text", ['{"id": 1, "text": ""}', '{"choices": [', '{"id": ' + "[" * 100_000])
def test_other_texts_of_json_are_replies(tmp_path: Path, text: str) -> None:
    (one,) = read(write_jsonl(tmp_path / "x.jsonl", [{"problem_id": "sum", "code": text}]))
    assert one.code == text


def test_outputs_beside_programs_are_those_of_tests(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [{"problem_id": "sum", "code": [CODE], "outputs": ["1", "2"]}])
    assert [one.code for one in read(path)] == [CODE]


REPLY = f"{ANSWER}Done.\n"


@pytest.mark.parametrize(
    ("columns", "options", "field"),
    [
        ({"code": REPLY}, {}, "code"),
        ({"code": ANSWER.partition("\n")[2]}, {}, "code"),
        ({"out": {"text": REPLY}}, {"code_column": "out.text"}, "out.text"),
    ],
)
def test_replies_in_the_column_of_programs_are_refused(
    tmp_path: Path, columns: dict[str, Any], options: dict[str, Any], field: str
) -> None:
    """All of them were CE, and nobody said a word."""
    path = write_jsonl(tmp_path / "x.jsonl", [{"problem_id": "sum", **columns}] * 2)
    with pytest.raises(InputError) as caught:
        read(path, **options)
    assert (caught.value.where, caught.value.field) == (str(path), field)
    assert caught.value.problem.startswith("2 of 2 texts hold fenced blocks")
    remedy = {"code_column": field, "always_extract": True}
    assert all(f"{name}={value}" in caught.value.remedy for name, value in remedy.items())
    assert [one.code for one in read(path, **remedy)] == [CODE] * 2


def test_a_single_reply_in_the_column_of_programs_is_no_program(tmp_path: Path) -> None:
    codes = [ANSWER.partition("\n")[2], CODE, f'{CODE}char s[] = "```";\n', None]
    path = write_jsonl(tmp_path / "x.jsonl", [{"problem_id": "sum", "code": code} for code in codes])
    dump = open_dump([path], problems=PROBLEMS)
    assert [one.code for one in dump] == [None, CODE, codes[2], None]
    empty = "with neither a program nor a reply (null or blank): each counts as `no program`"
    assert dump.info.noted[empty] == 1


def test_some_replies_in_the_column_of_programs_are_told(tmp_path: Path) -> None:
    """They do not compile, which nobody would look for in a table."""
    path = write_jsonl(
        tmp_path / "x.jsonl", [{"problem_id": "sum", "code": code} for code in (REPLY, CODE, CODE)]
    )
    noted = open_dump([path], problems=PROBLEMS).info.noted
    assert noted["whose program holds a fenced block, as replies do: no fence is taken off"] == 1
    path = write_jsonl(
        path, [{"problem_id": name, "code": code} for name, code in (("sum", CODE), ("tree", REPLY))]
    )
    assert len(read(path)) == 2
    only = open_dump([path], problems=PROBLEMS, selection=Selection(problems=frozenset({"sum"})))
    assert not [what for what in only.info.noted if "fenced" in what]


def test_the_reply_beside_a_fenced_program_is_what_is_taken(tmp_path: Path) -> None:
    """The column of programs has gaps, which the column of replies has not."""
    rows = [{"problem_id": "sum", "code": code, "generation": REPLY} for code in (REPLY, REPLY, None)]
    path = write_jsonl(tmp_path / "x.jsonl", rows)
    with pytest.raises(InputError) as caught:
        read(path)
    assert "code_column" not in caught.value.remedy
    assert "always_extract=True" in caught.value.remedy
    assert [one.code for one in read(path, always_extract=True)] == [CODE] * 3


def test_names_of_ours_come_first(tmp_path: Path) -> None:
    columns = {"name": "Two numbers", "task_id": "tree", "problem_id": "sum", "output": "-", "code": CODE}
    path = write_jsonl(tmp_path / "x.jsonl", [columns])
    assert [(one.problem_id, one.code) for one in read(path)] == [("sum", CODE)]
    assert mentioned([path]) == {"sum"}


@pytest.mark.parametrize(("name", "write"), [("x.jsonl", write_jsonl), ("x.parquet", write_parquet)])
def test_columns_are_named_by_paths(tmp_path: Path, name: str, write: Any) -> None:
    path = write(tmp_path / name, [NESTED])
    (submission,) = read(path, **NAMED)
    assert (submission.problem_id, submission.year) == ("old@2021", 2021)
    assert (submission.target_subtask, submission.language) == ("01-small", "python")
    assert (submission.code, submission.row["model"]) == (CODE, "m")
    assert mentioned([path], NAMED["problem_column"]) == {"old"}


def test_a_column_with_a_dot_in_its_name(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [{"a.b": "sum", "a": {"b": "tree"}, "code": CODE}])
    assert [one.problem_id for one in read(path, problem_column="a.b")] == ["sum"]


def test_code_is_taken_out_of_a_reply_that_is_named(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [NESTED])
    named = {name: column for name, column in NAMED.items() if name != "language_column"}
    (submission,) = read(path, **{**named, "code_column": "out.text"}, always_extract=True)
    assert submission.code == CODE


def test_a_path_leads_into_a_list(tmp_path: Path) -> None:
    """As the results of OpenAI's batches are."""
    said = {"body": {"choices": [{"message": {"content": ANSWER}}]}}
    path = write_jsonl(tmp_path / "x.jsonl", [{"custom_id": "sum", "response": said}])
    within = "response.body.choices.0.message.content"
    (submission,) = read(path, problem_column="custom_id", code_column=within, always_extract=True)
    assert (submission.problem_id, submission.code) == ("sum", CODE)


def batch(custom_id: str, *answers: str | None, **columns: Any) -> dict[str, Any]:
    choices = [
        {"index": n, "message": {"role": "assistant", "content": one}} for n, one in enumerate(answers)
    ]
    body = {"object": "chat.completion", "model": "m-1", "choices": choices}
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": f"req-{custom_id}", "custom_id": custom_id, "response": response, "error": None, **columns}


def test_results_of_a_batch(tmp_path: Path) -> None:
    rows = [batch("sum", ANSWER), batch("sum#1", ANSWER, "none"), batch("sum/2", None)]
    path = write_jsonl(tmp_path / "x.jsonl", rows)
    dump = open_dump([path], problems=PROBLEMS)
    found = list(dump)
    assert [one.key for one in found] == ["req-sum", "req-sum#1/0", "req-sum#1/1", "req-sum/2"]
    assert [one.code for one in found] == [CODE, CODE, None, None]
    assert {(one.problem_id, one.row["model"]) for one in found} == {("sum", "m-1")}
    assert dump.info.noted["read as OpenAI's batch results"] == 3 and mentioned([path]) == {"sum"}


@pytest.mark.parametrize(
    "failed",
    [
        {"response": None, "error": {"code": "expired", "message": "too late"}},
        {"response": {"status_code": 400, "body": {"error": {"message": "too late"}}}},
    ],
)
def test_a_request_of_a_batch_that_failed_is_no_answer(tmp_path: Path, failed: dict[str, Any]) -> None:
    """Nobody's fault but the server's: the others are scored, and it is listed with what was said."""
    path = write_jsonl(tmp_path / "x.jsonl", [batch("sum", ANSWER), {**batch("tree", ANSWER), **failed}])
    dump = open_dump([path], problems=PROBLEMS)
    assert [one.problem_id for one in dump] == ["sum"]
    assert dump.info.rejected == 1
    [why] = map(str, dump.rejected)
    assert "line 2, field 'response': the request failed: " in why and "too late" in why


def test_an_id_of_a_request_beside_a_text_is_a_column_like_others(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [{"custom_id": "x", "task_id": "sum", "response": ANSWER}])
    assert [(one.problem_id, one.code) for one in read(path)] == [("sum", CODE)]


@pytest.mark.parametrize("as_text", [False, True])
def test_a_log_of_an_evaluation_harness(tmp_path: Path, as_text: bool) -> None:
    doc: Any = {"task_id": "sum", "prompt": "Add."}
    row = {
        "doc_id": 0,
        "doc": json.dumps(doc) if as_text else doc,
        "target": "",
        "resps": [[ANSWER, "none"]],
        "filtered_resps": [[ANSWER, "none"]],
    }
    path = write_jsonl(tmp_path / "x.jsonl", [row])
    dump = open_dump([path], problems=PROBLEMS)
    assert [(one.problem_id, one.code) for one in dump] == [("sum", CODE), ("sum", None)]
    assert "read as a log of lm-evaluation-harness" in dump.info.noted and mentioned([path]) == {"sum"}


LISTS = {
    "texts": {"task_id": "sum", "generations": [ANSWER, "none", ANSWER]},
    "messages": {
        "task_id": "sum",
        "completions": [[{"role": "assistant", "content": ANSWER}], "none", ANSWER],
    },
    "LiveCodeBench's": {"question_id": "sum", "output_list": ["x", "y", "z"], "code_list": [CODE, "", CODE]},
}


@pytest.mark.parametrize("row", LISTS.values(), ids=[*LISTS])
def test_each_of_a_list_is_a_submission(tmp_path: Path, row: dict[str, Any]) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [{"id": "a", **row}, {"id": "b", "name": "sum", "code": CODE}])
    found = read(path)
    assert [one.key for one in found] == ["a/0", "a/1", "a/2", "b"]
    assert [one.code for one in found] == [CODE, None, CODE, CODE]
    assert not any(isinstance(value, list) and len(value) == 3 for one in found for value in one.row.values())


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
def test_what_rows_are_read_as_is_told(tmp_path: Path, row: dict[str, Any], told: str) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [row])
    asked = Problems([problem(row.get("task_id", "sum"))])
    noted = open_dump([path], problems=asked).info.noted
    assert [*noted] == ([told] if told else [])


def test_outputs_of_nemo_skills(tmp_path: Path) -> None:
    """One file for each sample, with the rows of its dataset; `id` counts these."""
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
    assert dump.info.noted["read as NeMo-Skills' outputs"] == 2 and mentioned(paths) == {"sum"}
    judged = {"task_id": "sum", "release_version": "v5", "generation": ANSWER, "completion": CODE}
    judged |= {"code_list": [CODE], "graded_list": [True]}
    (one,) = open_dump([write_jsonl(tmp_path / "x.jsonl", [judged])], problems=PROBLEMS)
    assert (one.problem_id, one.code) == ("sum", CODE)


@pytest.mark.parametrize("read_as", ["code", "response", "generation"])
def test_replies_of_a_column_that_is_not_read_are_told(tmp_path: Path, read_as: str) -> None:
    row = {"problem_id": "tree", read_as: CODE, "responses": [ANSWER, ANSWER], "outputs": ["1", "2"]}
    dump = open_dump([write_jsonl(tmp_path / "x.jsonl", [row])], problems=PROBLEMS)
    assert [one.code for one in dump] == [CODE]
    told = "whose column `responses` holds several replies, and is not read: name it with code_column=NAME"
    assert dump.info.noted == {told: 1}
    dump = open_dump([tmp_path / "x.jsonl"], problems=PROBLEMS, options=DumpOptions(code_column=read_as))
    assert [one.code for one in dump] == [CODE] and not dump.info.noted


@pytest.mark.parametrize("other", [12, {"status": "AC"}, ["1", "2"]])
def test_a_program_is_read_whatever_it_is_beside(tmp_path: Path, other: Any) -> None:
    """As what it printed, or how it was judged."""
    row = {"problem_id": "sum", "code": CODE, "output": other}
    assert [one.code for one in read(write_parquet(tmp_path / "x.parquet", [row]))] == [CODE]


@pytest.mark.parametrize("gap", [None, ""])
def test_a_list_of_replies_beside_a_gap_in_programs(tmp_path: Path, gap: str | None) -> None:
    row = {"problem_id": "sum", "id": 1, "code": gap, "responses": [ANSWER, ANSWER]}
    found = read(write_jsonl(tmp_path / "x.jsonl", [row, {**row, "id": 2, "responses": ANSWER}]))
    assert [(one.key, one.code) for one in found] == [("1/0", CODE), ("1/1", CODE), ("2", CODE)]


def test_lists_in_a_table(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "x.parquet", [{"name": "sum", "generations": [ANSWER, ANSWER]}])
    found = read(path)
    assert [one.code for one in found] == [CODE, CODE]
    assert [one.key[-2:] for one in found] == ["-1", "-2"]
    assert [one.key[-4:] for one in read(path, keys_of_content=False)] == ["-0/0", "-0/1"]


@pytest.mark.parametrize(
    ("lists", "words"),
    [
        ({"generations": []}, "field 'generations': an empty list"),
        ({"code_list": [CODE], "output_list": ["a", "b"]}, "lists of different lengths"),
    ],
)
def test_lists_that_hold_no_answers(tmp_path: Path, lists: dict[str, Any], words: str) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [{"name": "sum", **lists}])
    with pytest.raises(InputError, match=f"line 1.*{words}"):
        read(path)


@pytest.mark.parametrize("option", NAMED)
def test_a_named_column_must_be_there(tmp_path: Path, option: str) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [NESTED])
    with pytest.raises(InputError, match=r"line 1: missing column `meta\.no`\. The columns are: meta, out"):
        read(path, **{**NAMED, option: "meta.no"})


def test_mistakes_name_the_path(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [NESTED])
    with pytest.raises(InputError, match=r"field 'meta\.by': 'm' is not a year"):
        read(path, **{**NAMED, "year_column": "meta.by"})


@pytest.mark.parametrize(
    ("columns", "options", "model"),
    [
        ({"model": 7}, {}, "7"),
        ({"model": None, "model_id": 70}, {}, "70"),
        ({"model": {"name": "m"}, "model_id": "n"}, {}, "n"),
        ({"model": {"name": "m"}}, {"model_column": "model.name"}, "m"),
        ({"by": 7}, {"model_column": "by"}, "7"),
        ({"model": ""}, {}, ""),
        ({"model": float("nan")}, {}, ""),
    ],
)
def test_a_model_is_known_by_a_text_or_a_number(
    tmp_path: Path, columns: dict[str, Any], options: dict[str, str], model: str
) -> None:
    (submission,) = read(write_jsonl(tmp_path / "x.jsonl", [row(**columns)]), **options)
    assert model_of(submission.row) == model


@pytest.mark.parametrize("value", [{"name": "m"}, ["m"], 7.5, True])
@pytest.mark.parametrize("column", ["model", "model_id", "by"])
def test_a_model_that_has_no_name_is_refused(tmp_path: Path, value: Any, column: str) -> None:
    """All such would be one model, and its pass@k nobody's."""
    path = write_jsonl(tmp_path / "x.jsonl", [row(**{column: value})])
    with pytest.raises(InputError, match=rf"line 1, field '{column}': .* is not (the name|a text)"):
        read(path, **({"model_column": "by"} if column == "by" else {}))


@pytest.mark.parametrize("code", [b"\xff", [b"\xff", b"fine"]])
def test_bytes_that_are_no_text_are_no_program(tmp_path: Path, code: Any) -> None:
    path = write_parquet(tmp_path / "x.parquet", [row(code=code)])
    with pytest.raises(InputError, match=r"field 'code': bytes that are no text in UTF-8"):
        read(path)


def test_bytes_that_are_no_text_cost_no_other_row(tmp_path: Path) -> None:
    """All rows that were read together with such a one were bad ones."""
    rows = [
        {"problem_id": b"sum", "response": reply} for reply in (ANSWER.encode(), b"\xff", ANSWER.encode())
    ]
    path = write_parquet(tmp_path / "x.parquet", rows)
    dump = open_dump([path], problems=PROBLEMS, options=DumpOptions(skip_bad_rows=True))
    assert [one.code for one in dump] == [CODE, CODE]
    assert [error.row for error in dump.rejected] == [2]


def test_reading_rows_otherwise_is_no_other_run() -> None:
    """What it changes are programs, and each of them is looked at."""
    read = [fields(), fields(code_column="x"), fields(language="python"), fields(always_extract=True)]
    usual, *others = (Fingerprint(dump="d", options=options) for options in read)
    assert all(other != usual and changes(usual, other) == () for other in others)
    assert changes(usual, Fingerprint(dump="d", options={**fields(), "all_tests": True}))


def fields(**options: Any) -> dict[str, Any]:
    named = DumpOptions(**options)
    return {name: getattr(named, name) for name in DumpOptions.__struct_fields__ if name != "repairs"}


SEVERAL = [ANSWER, ANSWER.replace("main", "other")]
SERVED_TWICE = {**SERVED, "choices": SERVED["choices"] * 2}


@pytest.mark.parametrize("column", ["response", "responses", "code"])
@pytest.mark.parametrize("text", [json.dumps(SEVERAL), repr(SEVERAL), json.dumps(SERVED_TWICE)])
def test_a_model_does_not_choose_how_many_answers_it_has(tmp_path: Path, column: str, text: str) -> None:
    """By a reply that is the text of a list, or of a server's answer, it had as many tries as it liked."""
    path = write_jsonl(tmp_path / "x.jsonl", [{"problem_id": "sum", "id": 7, column: text}])
    dump = open_dump([path], problems=PROBLEMS)
    (one,) = dump
    assert one.key == "7" and one.code != CODE
    assert [number for what, number in dump.info.noted.items() if "counts as one" in what] == [1]


def test_nor_does_one_of_several_answers_split_itself(tmp_path: Path) -> None:
    """The row was refused."""
    rows = [{"problem_id": "sum", "responses": [ANSWER, json.dumps(SEVERAL)]}]
    assert [one.code for one in read(write_jsonl(tmp_path / "x.jsonl", rows))] == [CODE, None]


@pytest.mark.parametrize("first", [ANSWER, "", "[]"])
def test_column_of_a_table_with_a_plural_name_holds_lists_or_replies(tmp_path: Path, first: str) -> None:
    texts = enumerate((first, str(SEVERAL)))
    rows = [{"problem_id": "sum", "id": n, "completions": text} for n, text in texts]
    found = [one.key for one in read(write_csv(tmp_path / "x.csv", rows))]
    assert found == (["0", "1"] if first == ANSWER else ["0", "1/0", "1/1"])


@pytest.mark.parametrize("column", ["solutions", "Samples", "model_answers", "gen_list", "outputs"])
def test_named_column_of_a_table_with_a_plural_name_holds_lists(tmp_path: Path, column: str) -> None:
    path = write_csv(tmp_path / "x.csv", [{"problem_id": "sum", "id": 1, column: json.dumps(SEVERAL)}])
    found = read(path, code_column=column, always_extract=True)
    assert [one.key for one in found] == ["1/0", "1/1"]


GUESSES = json.dumps([f"```cpp\n{CODE}// {n}\n```\n" for n in range(12)])


@pytest.mark.parametrize("column", ["completion", "response", "generation", "output", "solution", "answer"])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json", "parquet"])
def test_reply_of_a_list_of_guesses_is_one_try(tmp_path: Path, suffix: str, column: str) -> None:
    """Also if every reply of the dump is such a list."""
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


def test_answer_of_a_server_in_a_column_of_lists_is_one_try(tmp_path: Path) -> None:
    """The first hundred rows tell that a column holds lists."""
    texts = [json.dumps(SEVERAL)] * 100 + [json.dumps(SERVED_TWICE)]
    rows = [{"problem_id": "sum", "id": n, "responses": text} for n, text in enumerate(texts)]
    assert [one.key for one in read(write_csv(tmp_path / "x.csv", rows))][-2:] == ["99/1", "100"]


@pytest.mark.parametrize("written", [json.dumps, str])
def test_a_gap_in_a_list_of_a_table_is_one_reply(tmp_path: Path, written: Any) -> None:
    """All lists of its column were one reply each."""
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
def test_no_reply_makes_its_row_a_bad_one(tmp_path: Path, column: str, text: str) -> None:
    """Texts that began as chats or as a server's answers did: the dump was refused, or the row left out."""
    several = column == "responses"
    row = {"problem_id": "sum", column: [text, ANSWER] if several else text}
    found = read(write_jsonl(tmp_path / "x.jsonl", [row]))
    assert [one.code for one in found][1:] == [CODE] * several and found[0].code != CODE
    read(write_csv(tmp_path / "x.csv", [{"problem_id": "sum", column: text}]))


def test_a_text_that_looks_like_a_list_is_parsed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reply of 300 KB took 8 s."""
    asked = list[str]()
    monkeypatch.setattr("ioi_eval.benchmarks.dump_reader.list_in", lambda text: asked.append(text))
    row = {"problem_id": "sum", "id": 7, "response": f"[{'[], ' * 3}7]"}
    assert [one.code for one in read(write_jsonl(tmp_path / "x.jsonl", [row]))] == [None]
    assert len(asked) == 1
