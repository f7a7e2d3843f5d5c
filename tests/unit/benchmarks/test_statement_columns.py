"""Dump rows that name their problem by its statement, or in a column that is detected by its values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmark_tables import write_table
from codeforces_rows import SCHEMA, codeforces, write
from dump_rows import CODE, write_jsonl, write_parquet
from support.datasets import Problems, find_benchmark, load, open_dump

from ioi_eval.benchmarks import BenchmarkOptions, DumpOptions, Selection, list_named_problem_ids
from ioi_eval.benchmarks.dumps import guess_benchmark
from ioi_eval.errors import InputError
from ioi_eval.models import Blob, Problem, Submission, Test

ANSWER = f"<think>\nHm.\n</think>\nHere:\n```cpp\n{CODE}```\n"
SUM = "Given two whole numbers A and B,\nprint their sum."
SUMS = f"{SUM}\nThen print it once more."
TREE = "A tree of N nodes is given. Find its height."


def problem_with_statement(name: str, statement: str, *tests: str) -> Problem:
    test_objects = tuple(
        Test(name=content, input=Blob.of(content), answer=Blob.of(content)) for content in tests
    )
    return Problem(id=name, statement=Blob.of(statement), tests=test_objects)


PROBLEMS = Problems(
    [
        problem_with_statement("sum", SUM, "1"),
        problem_with_statement("sums", SUMS, "2"),
        problem_with_statement("1234/A", TREE, "3"),
    ]
)
PROMPT = f"<|user|>\nSolve this in C++.\n\n{SUM.replace(chr(10), ' ')}\n<|assistant|>"
USER = {"role": "user", "content": PROMPT}
CHAT = [{"role": "system", "content": "You code."}, USER, {"role": "assistant", "content": ANSWER + TREE}]
SHAREGPT = [{"from": "user", "value": PROMPT}, {"from": "assistant", "value": ANSWER}]


def read(path: Path, problems: Problems = PROBLEMS, **options: Any) -> list[Submission]:
    return list(open_dump([path], problems=problems, options=DumpOptions(**options)))


def rows(tmp_path: Path, *table_rows: dict[str, Any]) -> Path:
    return write_jsonl(tmp_path / "x.jsonl", table_rows)


OF_OTHERS: dict[str, dict[str, Any]] = {
    "OpenCodeReasoning": {
        **{"id": "87bf", "input": SUM, "output": ANSWER, "source": "codechef", "license": "mit"},
        **{"dataset": "code_contests", "split": "train", "difficulty": "2", "solution": CODE},
    },
    "Llama-Nemotron": {"input": [USER], "output": ANSWER, "category": "code", "generator": "R1"},
    "Nemotron v1": {"uuid": "u", "messages": CHAT, "metadata": "{}", "category": "code", "license": "cc"},
    "OpenThoughts": {"system": "Think.", "conversations": SHAREGPT},
    "OpenThoughts metadata": {"problem": SUM, "deepseek_solution": ANSWER, "domain": "code"},
    "slime": {
        **{"group_index": 0, "index": 3, "prompt": [USER], "tokens": [1], "response": ANSWER},
        **{"label": "[]", "reward": 1.0, "status": "completed", "metadata": {}},
    },
    "Atropos": {"tokens": [[1]], "masks": [[1]], "scores": [1.0], "messages": [CHAT]},
    "CURE": {
        **{"task_id": 7, "question": SUM, "test_input": ["1 2"], "test_output": ["3"]},
        **{"full_code_generation": [ANSWER], "generated_code": [CODE], "case_input": ["1"]},
    },
    "lighteval": {
        "doc": {"query": PROMPT, "task_name": "lcb", "choices": [""], "specific": {"inputs": ["1"]}},
        "model_response": {"input": PROMPT, "text": [ANSWER], "output_tokens": [[1]]},
        "metric": {"pass": 0},
    },
    "lighteval before 0.10": {
        **{"example": SUM, "instruction": "", "full_prompt": PROMPT, "predictions": [ANSWER]},
        **{"gold": [""], "choices": [""], "metrics": {}},
    },
}


@pytest.mark.parametrize("name", OF_OTHERS)
def test_dump_row_is_matched_to_problem_by_its_statement(tmp_path: Path, name: str) -> None:
    column_options = (
        {"code_column": "deepseek_solution", "always_extract": True}
        if "deepseek_solution" in OF_OTHERS[name]
        else {}
    )
    path = rows(tmp_path, OF_OTHERS[name])
    assert [(submission.problem_id, submission.code) for submission in read(path, **column_options)] == [
        ("sum", CODE)
    ]
    assert list_named_problem_ids([path]) is None


def test_rows_without_known_statement_are_excluded_if_prompt_column_is_named(tmp_path: Path) -> None:
    path = rows(
        tmp_path, *({"problem_id": 1, "ask": prompt, "generation": ANSWER} for prompt in (PROMPT, "Hi"))
    )
    dump = open_dump([path], problems=PROBLEMS, options=DumpOptions(prompt_column="ask"))
    assert [submission.problem_id for submission in dump] == ["sum"]
    assert dump.info.left_out == {"no problem's statement is in `ask`": 1}
    assert "problem <- the statement in ask" in str(dump.info.understood)
    with pytest.raises(InputError, match="missing column `asks`"):
        read(path, prompt_column="asks")


def test_paraphrased_statement_is_not_matched_to_a_problem(tmp_path: Path) -> None:
    path = rows(tmp_path, {"prompt": PROMPT.replace("sum", "product"), "generation": ANSWER})
    with pytest.raises(
        InputError, match="missing column `problem_id`, and no problem's statement is in `prompt`"
    ):
        read(path)


def test_longest_statement_in_prompt_is_matched_and_several_are_refused(tmp_path: Path) -> None:
    (submission,) = read(rows(tmp_path, {"prompt": f"Solve: {SUMS}", "generation": ANSWER}))
    assert submission.problem_id == "sums"
    path = rows(tmp_path, {"prompt": f"{TREE} Now: {SUM}", "generation": ANSWER})
    with pytest.raises(InputError, match="the statements of several problems are in `prompt`"):
        read(path)


@pytest.mark.parametrize(("tests", "is_found"), [(("1", "2"), True), (("1", "3"), False)])
def test_equal_statements_are_one_problem_if_their_tests_are_equal(
    tmp_path: Path, tests: tuple[str, str], is_found: bool
) -> None:
    twins = Problems([problem_with_statement("a", SUM, "1", "2"), problem_with_statement("b", SUM, *tests)])
    path = rows(tmp_path, {"prompt": SUM, "generation": ANSWER})
    if is_found:
        assert [submission.problem_id for submission in read(path, twins)] == ["a"]
    else:
        with pytest.raises(InputError, match="several problems"):
            read(path, twins)


def test_statement_of_another_problem_is_not_selected(tmp_path: Path) -> None:
    path = rows(tmp_path, *({"prompt": prompt, "generation": ANSWER} for prompt in (SUM, TREE)))
    chosen = Selection(problems=frozenset({"1234/A"}))
    assert [
        submission.problem_id for submission in open_dump([path], problems=PROBLEMS, selection=chosen)
    ] == ["1234/A"]


COTS = {
    **{"id": "1234/A", "aliases": ["1235/C"], "contest_id": "1234", "contest_name": "Round", "index": "A"},
    **{"time_limit": 1.0, "title": "T", "description": "Text.", "examples": [{"input": "1", "output": "1"}]},
    **{"prompt": "You will be given a problem.", "generation": ANSWER, "finish_reason": "stop"},
    "messages": CHAT,
}


@pytest.mark.nightly(unless="jsonl")
@pytest.mark.parametrize("write", [write_jsonl, write_parquet])
def test_codeforces_cots_dump_is_read_without_options(tmp_path: Path, write: Any) -> None:
    path = write(
        tmp_path / f"x.{'parquet' if write is write_parquet else 'jsonl'}", [COTS, COTS | {"title": "U"}]
    )
    assert [submission.problem_id for submission in read(path)] == ["1234/A"] * 2
    assert list_named_problem_ids([path]) == {"1234/A"}
    assert guess_benchmark([path]) == "codeforces"
    assert [submission.problem_id for submission in read(path, problem_column="id")] == ["1234/A"] * 2


def test_codeforces_loads_the_split_that_has_most_of_the_problems(tmp_path: Path) -> None:
    copies = write(tmp_path / "copies", [codeforces("1/A")])
    train = copies / "codeforces" / "data" / "train-00000-of-00001.parquet"
    write_table(train, [codeforces("1234/A"), codeforces("1234/B")], SCHEMA)

    def ids(*only: str, **options: Any) -> list[str]:
        choice = BenchmarkOptions(data_dir=str(copies), **options)
        loaded = load(find_benchmark("codeforces"), choice, cache=tmp_path / "cache", only=only)
        return [problem.id for problem in loaded.values()]

    assert ids("1234/A", "1234/B", "1/A") == ["1/A", "1234/A", "1234/B"]
    assert ids("1/A", "1234/A") == ["1/A"]
    assert ids("1234/A", split="test") == []


def test_numeric_row_id_is_not_used_as_problem_id(tmp_path: Path) -> None:
    path = rows(tmp_path, {"id": "7", "generation": ANSWER})
    with pytest.raises(InputError, match="missing column `problem_id`"):
        read(path, Problems([problem_with_statement("7", SUM)]))


@pytest.mark.parametrize(
    ("columns", "suggestion"),
    [
        ({"cf": "1234/A", "prompt": "Solve.", "generation": ANSWER}, "problem_column=cf"),
        ({"meta": {"cf": "1234/A"}, "problem_name": "T", "generation": ANSWER}, "problem_column=meta.cf"),
        ({"meta": '{"cf": "1234/A"}', "problems": 3, "generation": ANSWER}, "problem_column=meta.cf"),
        ({"text": PROMPT, "problem_nr": 3, "generation": ANSWER}, "prompt_column=text"),
        ({"task_id": 3, "question": PROMPT, "generation": ANSWER}, "prompt_column=question"),
        ({"problem_id": "1234/A", "gen_code": 3, "r1": ANSWER}, "code_column=r1"),
        ({"problem_id": "1234/A", "codes": "none", "raw": {"text": ANSWER}}, "code_column=raw.text"),
        ({"problem_id": "1234/A", "prompt_code": ANSWER, "final": "import sys\n"}, "code_column=final"),
    ],
)
def test_missing_column_error_suggests_column_by_its_values(
    tmp_path: Path, columns: dict[str, Any], suggestion: str
) -> None:
    with pytest.raises(InputError, match=rf"Did you mean {suggestion}\?"):
        read(rows(tmp_path, columns))


def test_column_paths_lead_into_json_encoded_strings(tmp_path: Path) -> None:
    nested = json.dumps({"task": json.dumps({"id": "sum"}), "by": ["m"]})
    path = rows(tmp_path, {"extra": nested, "out": json.dumps({"text": ANSWER})})
    column_options = {
        "problem_column": "extra.task.id",
        "code_column": "out.text",
        "model_column": "extra.by.0",
    }
    (submission,) = read(path, **column_options, always_extract=True)
    assert (submission.problem_id, submission.code, submission.row["model"]) == ("sum", CODE, "m")
    assert list_named_problem_ids([path], "extra.task.id") == {"sum"}
    broken = rows(tmp_path, {"extra": "{broken", "out": "{}"})
    with pytest.raises(InputError, match=r"missing column `extra\.task\.id`"):
        read(broken, **column_options)


def test_row_id_is_read_from_json_encoded_column(tmp_path: Path) -> None:
    encoded_rows = ({"meta": json.dumps({"key": key}), "problem_id": "sum", "code": CODE} for key in "ab")
    assert [submission.key for submission in read(rows(tmp_path, *encoded_rows), id_column="meta.key")] == [
        "a",
        "b",
    ]
