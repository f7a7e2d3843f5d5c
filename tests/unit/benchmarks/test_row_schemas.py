"""Dumps in the formats of other tools, and the messages about their schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dump_rows import CODE, PROBLEMS, write_json, write_jsonl
from evalplus_rows import SUMS
from hub_rows import apps, livecodebench, write_rows
from support.command_line import CommandLine, results
from support.datasets import Problems, find_benchmark, load, open_dump
from support.plugins import needs_plugin

from ioi_eval.benchmarks import BenchmarkOptions, DumpOptions, list_named_problem_ids
from ioi_eval.benchmarks.dumps import CONTINUED, guess_benchmark
from ioi_eval.benchmarks.row_schemas import ROW_SCHEMAS, find_schema
from ioi_eval.errors import BadRows, InputError
from ioi_eval.model.text import format_count
from ioi_eval.models import Blob, Problem, Submission

ANSWER = f"Here:\n```cpp\n{CODE}```\n"
STATEMENT = "Given two whole numbers A and B,\nprint their sum."
ASKED = Problems([Problem(id="sum", statement=Blob.of(STATEMENT)), Problem(id="tree")])
PROMPT = "<|user|>\nSolve it in C++.\n\nGiven two whole numbers  A and B, print their sum.\n<|assistant|>"


def read(path: Path, problems: Problems = PROBLEMS, **options: Any) -> list[Submission]:
    return list(open_dump([path], problems=problems, options=DumpOptions(**options)))


def understood(path: Path, problems: Problems = PROBLEMS, **options: Any) -> str:
    return str(open_dump([path], problems=problems, options=DumpOptions(**options)).info.understood)


# --- a single object or list ---------------------------------------------------------------------------

PROGRAMS = {"sum": [CODE, CODE + "\n"], "tree": [CODE, None]}


@pytest.mark.parametrize("name", ["x.json", "indented.json"])
def test_json_object_of_problems_with_lists_of_programs_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(PROGRAMS, indent=1 if name.startswith("indented") else None))
    submissions = read(path)
    assert [(submission.problem_id, submission.code) for submission in submissions] == [
        ("sum", CODE),
        ("sum", CODE + "\n"),
        ("tree", CODE),
        ("tree", None),
    ]
    assert list_named_problem_ids([path]) == {"sum", "tree"}
    assert len({submission.key for submission in submissions}) == 4


def test_json_object_by_problem_is_read_as_rows(tmp_path: Path) -> None:
    rows_by_problem = {
        "sum": {"code": "print(1)", "language": "python", "model": "m"},
        "tree": {"response": ANSWER},
    }
    submissions = read(write_json(tmp_path / "x.json", rows_by_problem))
    assert [
        (submission.problem_id, submission.code, submission.language, submission.row.get("model"))
        for submission in submissions
    ] == [
        ("sum", "print(1)", "python", "m"),
        ("tree", CODE, "c++", None),
    ]


def test_list_of_lists_follows_benchmark_order(tmp_path: Path) -> None:
    copies = write_rows(tmp_path / "copies", "apps", [apps(number) for number in range(3)])
    path = write_json(tmp_path / "generations.json", [["print(0)", "print(1)"], ["print(2)"]])
    assert list_named_problem_ids([path]) == {"#0", "#1"}
    options = BenchmarkOptions(data_dir=str(copies))
    problems = load(
        find_benchmark("apps"), options, cache=tmp_path / "cache", only=list_named_problem_ids([path])
    )
    submissions = read(path, problems, default_language="python")
    assert [
        (submission.problem_id, submission.code.strip() if submission.code else "")
        for submission in submissions
    ] == [
        ("apps_0", "print(0)"),
        ("apps_0", "print(1)"),
        ("apps_1", "print(2)"),
    ]
    with pytest.raises(InputError, match="unknown problem '#0'"):
        read(path)  # packages are not ordered, so a list cannot match them
    path = write_json(tmp_path / "x.json", [["print(0)"]] * 4)
    problems = load(
        find_benchmark("apps"), options, cache=tmp_path / "cache", only=list_named_problem_ids([path])
    )
    with pytest.raises(InputError, match="unknown problem '#3'"):
        read(path, problems)


def lcb(tmp_path: Path, lists: list[list[str]], **options: Any) -> list[tuple[str, str]]:
    """Read a list of lists for three LiveCodeBench problems, whose rows are not sorted by id."""
    dates = {"abc302_a": "2024-01-01", "2727": "2024-02-01", "abc301_a": "2024-03-01"}
    rows = [livecodebench(name, contest_date=f"{date}T00:00:00") for name, date in dates.items()]
    copies = write_rows(tmp_path / "copies", "livecodebench", rows)
    path = write_json(tmp_path / "outputs.json", lists)
    choice = BenchmarkOptions(data_dir=str(copies), **options)
    mentioned = list_named_problem_ids([path])
    problems = load(find_benchmark("livecodebench"), choice, cache=tmp_path / "cache", only=mentioned)
    submissions = read(path, problems, default_language="python")
    return [(submission.problem_id, (submission.code or "").strip()) for submission in submissions]


def test_list_of_lists_for_livecodebench_is_in_the_order_of_the_ids(tmp_path: Path) -> None:
    """LiveCodeBench's custom evaluator sorts the benchmark by id."""
    lists = [["print(2727)"], ["print(301)", "print(1)"], ["print(302)"]]
    assert lcb(tmp_path, lists) == [
        ("2727", "print(2727)"),
        ("abc301_a", "print(301)"),
        ("abc301_a", "print(1)"),
        ("abc302_a", "print(302)"),
    ]


def test_livecodebench_replies_without_ids_match_problems_of_selected_dates(tmp_path: Path) -> None:
    lists = [["print(2727)"], ["print(301)"]]
    submissions = lcb(tmp_path, lists, date_from="2024-01-15")
    assert submissions == [("2727", "print(2727)"), ("abc301_a", "print(301)")]


@pytest.mark.parametrize("length", [1, 2, 4])
def test_livecodebench_list_with_wrong_problem_count_is_refused(tmp_path: Path, length: int) -> None:
    message = f"a list with the replies for {format_count(length, 'problem')}, but the benchmark has 3"
    with pytest.raises(InputError, match=message):
        lcb(tmp_path, [["print(1)"]] * length)
    if length != 2:
        with pytest.raises(InputError, match=f"{message}, of which 2 are chosen"):
            lcb(tmp_path, [["print(1)"]] * length, date_from="2024-01-15")


# --- rows ----------------------------------------------------------------------------------------------


BATCH = {"body": {"choices": [{"message": {"content": ANSWER}}]}}
OJBENCH = {"id": "sum", "prompt": "-", "dataset": "NOI", "language": "cpp", "difficulty": "easy"}
VERL = {"output": ANSWER, "score": 0.0, "step": 1}


@pytest.mark.parametrize(
    ("columns", "read_as"),
    [
        ({"task_id": "sum", "output": [ANSWER, ANSWER]}, "problem <- task_id, reply <- output"),
        ({"instance_id": "sum", "solution_code": CODE}, "problem <- instance_id, program <- solution_code"),
        ({"problem": "sum", "lang": "cpp", "code": CODE}, "problem <- problem, program <- code"),
        ({**OJBENCH, "content": ANSWER}, "problem <- id, reply <- content"),
        ({"input": "-", "gts": "sum", **VERL}, "problem <- gts, reply <- output"),
        ({"custom_id": "sum", "error": None, "response": BATCH}, "problem <- custom_id, reply <- response"),
    ],
)
def test_columns_of_other_tools_are_recognized(tmp_path: Path, columns: dict[str, Any], read_as: str) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [columns, {**columns, "sample": 2}])
    assert {(submission.problem_id, submission.code) for submission in read(path)} == {("sum", CODE)}
    assert understood(path).startswith(f"{read_as}, language c++ (")
    assert list_named_problem_ids([path]) in ({"sum"}, None)


CHAT = {
    "prompt": [{"role": "user", "content": PROMPT}],
    "completion": [{"role": "assistant", "content": ANSWER}],
}


@pytest.mark.parametrize(
    "columns",
    [
        {"step": 3, "prompt": PROMPT, "completion": ANSWER, "reward": 0.5, "advantage": 0.1},
        {"step": 3, **CHAT, "reward": 0.5, "advantage": 0.1},
        {"input": PROMPT, "gts": '{"inputs": ["1 2"], "outputs": ["3"]}', **VERL},
    ],
    ids=["TRL", "TRL's chats", "verl"],
)
def test_rollout_problem_is_found_by_statement_in_prompt(tmp_path: Path, columns: dict[str, Any]) -> None:
    unasked = {**columns, "prompt": "Write a poem.", "input": "Write a poem."}
    if isinstance(columns.get("prompt"), list):
        unasked["prompt"] = [{"role": "user", "content": "Write a poem."}]
    if "input" not in columns:
        del unasked["input"]
    path = write_jsonl(tmp_path / "completions_00003.jsonl", [columns, unasked])
    dump = open_dump([path], problems=ASKED)
    assert [(submission.problem_id, submission.code) for submission in dump] == [("sum", CODE)]
    assert list(dump.info.left_out.values()) == [1]
    assert list_named_problem_ids([path]) is None
    assert "reply <- " in str(dump.info.understood) and "the statement in " in str(dump.info.understood)


@pytest.mark.parametrize("ids", [("a", "b"), ("b", "a")])
def test_longer_of_nested_statements_is_matched(tmp_path: Path, ids: tuple[str, str]) -> None:
    longer, shorter = (
        Problem(id=name, statement=Blob.of(statement))
        for name, statement in zip(ids, (f"{STATEMENT} And their product.", STATEMENT), strict=True)
    )
    row = {"step": 3, "prompt": f"{PROMPT} And their product.", "completion": ANSWER, "advantage": 0.1}
    row["prompt"] = row["prompt"].replace("<|assistant|>", "")
    submissions = read(write_jsonl(tmp_path / "x.jsonl", [row]), Problems([shorter, longer]))
    assert [submission.problem_id for submission in submissions] == [longer.id]


def test_trl_completion_may_name_problem(tmp_path: Path) -> None:
    """TRL's `log_extra` writes such columns."""
    columns = {"step": 3, "prompt": "-", "completion": ANSWER, "problem_id": "sum", "advantage": 0.1}
    path = write_jsonl(tmp_path / "x.jsonl", [columns])
    assert [(submission.problem_id, submission.code) for submission in read(path)] == [("sum", CODE)]
    assert list_named_problem_ids([path]) == {"sum"}


# --- messages ------------------------------------------------------------------------------------------


def test_first_rows_of_large_dump_are_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ioi_eval.benchmarks.dumps.SAMPLED_ROWS", 3)
    path = write_jsonl(tmp_path / "x.jsonl", [{"problem_id": "sum", "code": CODE}] * 7)
    assert understood(path).endswith("0 of 3 without a program (from the first 3 rows)")


def test_missing_column_is_reported_once(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "x.jsonl", [{"problm": "sum", "code": CODE}] * 500)
    with pytest.raises(BadRows) as caught:
        read(path)
    [error] = caught.value.errors
    assert str(error) == (
        f"{path}, line 1: missing column `problem_id` (in 500 rows; this is the first). "
        "The columns are: problm, code. Did you mean problem_column=problm?"
    )


# --- the page -----------------------------------------------------------------------------------------

PAGE = Path(__file__).parents[3] / "docs" / "dumps.md"


def test_dump_page_has_an_example_of_every_row_schema() -> None:
    _, _, block = PAGE.read_text().partition("reads each of these rows -->\n```json\n")
    rows = [json.loads(line) for line in block.partition("\n```")[0].splitlines()]
    assert [find_schema(row) for row in rows] == [*ROW_SCHEMAS]


# --- from the command line -----------------------------------------------------------------------------


@needs_plugin("functions")
def test_humaneval_prompt_and_completion_are_judged_together(cli: CommandLine, tmp_path: Path) -> None:
    rows = write_jsonl(tmp_path / "humaneval.jsonl", [SUMS])
    samples = [
        {"task_id": "HumanEval/7", "completion": "    return sum(numbers)\n"},
        {"task_id": "HumanEval/7", "completion": "    return 7\n"},
    ]
    dump = write_jsonl(tmp_path / "samples.jsonl", samples)
    completed = cli("score", dump, "--problems", rows, "--packages", "none", "--out", "run")
    assert completed.returncode == 0, completed.stderr
    assert (
        "Rows: problem <- task_id, reply <- completion, language python (2 by their format), "
        "0 of 2 without a program" in completed.stderr
    )
    rows_by_completion = {row["completion"]: row for row in results(cli.folder / "run").values()}
    assert [rows_by_completion[sample["completion"]]["verdict"] for sample in samples] == ["AC", "WA"]
    assert all(row["repairs"] == [CONTINUED] for row in rows_by_completion.values())


@needs_plugin("functions")
def test_failed_batch_requests_are_listed_and_other_rows_are_scored(cli: CommandLine, tmp_path: Path) -> None:
    rows = write_jsonl(tmp_path / "humaneval.jsonl", [SUMS])
    reply = "```python\ndef total(numbers):\n    return sum(numbers)\n```"
    body = {"choices": [{"message": {"content": reply}}]}
    answered = {"id": "1", "custom_id": "HumanEval/7#1", "response": {"body": body}, "error": None}
    failed = {**answered, "id": "2", "response": None, "error": {"code": "expired"}}
    dump = write_jsonl(tmp_path / "batch.jsonl", [answered, failed])
    completed = cli("score", dump, "--problems", rows, "--packages", "none", "--out", "run")
    assert completed.returncode == 3, completed.stderr
    assert "Left out 1 row that cannot be used" in completed.stdout
    assert [row["verdict"] for row in results(cli.folder / "run").values()] == ["AC"]
    [listed] = (cli.folder / "run" / "rejected.jsonl").read_text().splitlines()
    assert "expired" in listed
    dump = write_jsonl(tmp_path / "batch.jsonl", [failed])
    completed = cli("score", dump, "--problems", rows, "--packages", "none", "--out", "other")
    assert completed.returncode == 2 and "the request failed" in completed.stderr


# --- folders of programs, and APPS' file of programs --------------------------------------------------


def sampled(folder: Path, **programs: str) -> Path:
    for name, code in programs.items():
        task, _, number = name.rpartition("_")
        (folder / task).mkdir(parents=True, exist_ok=True)
        (folder / task / f"{number}.py").write_text(code)
    return folder


@needs_plugin("functions")
def test_folder_of_programs_of_evalplus_is_a_dump(tmp_path: Path) -> None:
    problems = Problems([Problem(id=f"HumanEval/{number}") for number in (2, 10)])
    files = {"HumanEval_10_0": "a = 1\n", "HumanEval_2_0": "a = 1\n", "HumanEval_2_10": "c(\n"}
    folder = sampled(tmp_path / "model_temp_0.8", **files, HumanEval_2_9="b\n")
    (folder / ".DS_Store").touch()
    submissions = read(folder, problems)
    assert [
        (submission.problem_id, submission.code, submission.row["file"], submission.language)
        for submission in submissions
    ] == [
        ("HumanEval/2", "a = 1\n", "HumanEval_2/0.py", "python"),
        ("HumanEval/2", "b\n", "HumanEval_2/9.py", "python"),
        ("HumanEval/2", "c(\n", "HumanEval_2/10.py", "python"),
        ("HumanEval/10", "a = 1\n", "HumanEval_10/0.py", "python"),
    ]
    assert list_named_problem_ids([folder]) == {"HumanEval/2", "HumanEval/10"}
    assert guess_benchmark([folder]) == "humaneval_plus"
    dump = open_dump([folder], problems=problems)
    sampled(folder, HumanEval_2_9="other = 1\n")
    with pytest.raises(InputError, match="changed while it was being scored"):
        list(dump)


def test_folder_of_programs_by_names_of_problems_is_a_dump(tmp_path: Path) -> None:
    folder = sampled(tmp_path / "x", sum_0="print(1)\n", tree_0="print(2)\n")
    assert [(submission.problem_id, submission.code) for submission in read(folder)] == [
        ("sum", "print(1)\n"),
        ("tree", "print(2)\n"),
    ]


@pytest.mark.parametrize("other", ["notes.txt", "sum/main.py", "sum/a/0.py"])
def test_folder_with_other_files_is_not_read_as_folder_of_programs(tmp_path: Path, other: str) -> None:
    folder = sampled(tmp_path / "x", sum_0="print(1)\n")
    (folder / other).parent.mkdir(exist_ok=True)
    (folder / other).touch()
    with pytest.raises(InputError, match="the folder contains no dump"):
        read(folder)


@pytest.mark.parametrize(
    "content", [{"0": ["print(0)"], "2": ["print(2)"]}, {"0": "print(0)", "2": "print(2)"}]
)
def test_apps_codes_file_is_recognized_by_name(tmp_path: Path, content: dict[str, Any]) -> None:
    copies = write_rows(tmp_path / "copies", "apps", [apps(number) for number in range(3)])
    path = write_json(tmp_path / "all_codes.json", content)
    assert guess_benchmark([path]) == "apps"
    options = BenchmarkOptions(data_dir=str(copies))
    problems = load(
        find_benchmark("apps"), options, cache=tmp_path / "cache", only=list_named_problem_ids([path])
    )
    submissions = read(path, problems, default_language="python")
    assert [(submission.problem_id, submission.code) for submission in submissions] == [
        ("apps_0", "print(0)"),
        ("apps_2", "print(2)"),
    ]
