"""Whole benchmark runs on the command line: filters, exclusions, resumed runs, pushed results."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from benchmark_tables import EXAMPLES, write_ioi, write_table
from codeforces_rows import ADD, SCHEMA, codeforces, write
from dump_rows import write_jsonl
from hub_rows import livecodebench
from loopback_hub import Hub
from support.command_line import CommandLine, contents, results, write_dump

GARLAND = (EXAMPLES / "garland" / "solutions" / "model_solution").glob("*.cpp")
NOTHING = "int main() {}\n"


def points(run: Path) -> dict[str, float]:
    return {key: row["all_subtasks_points"] for key, row in results(run).items()}


def ioi_dump(folder: Path) -> Path:
    right = next(iter(GARLAND)).read_text()
    chat = [
        {"role": "assistant", "content": f"<think>\n```cpp\n{NOTHING}```\n</think>\n~~~cpp\n{right}~~~\n"}
    ]
    rows: list[dict[str, Any]] = [
        {"uuid": "right", "problem_id": "garland", "year": 2023, "code": right, "subtask": "03-full"},
        {"uuid": "chat", "problem_id": "garland", "messages": chat},
        {"uuid": "chat", "problem_id": "garland", "messages": chat},
        {"uuid": "empty", "problem_id": "garland", "year": 2023, "code": NOTHING},
        {"uuid": "later", "problem_id": "lanterns", "year": 2024, "generation": "I do not know."},
    ]
    return write_dump(folder / "d.jsonl", rows)


def test_ioi_benchmark_is_scored_by_year_and_extended(cli: CommandLine, tmp_path: Path) -> None:
    copies = write_ioi(tmp_path / "copies", {"garland": 2023, "lanterns": 2024})
    dump = ioi_dump(tmp_path)
    command = ("score", dump, "--problems", "ioi", "--data-dir", copies, "--out", "run")
    first = cli(*command, "--year", "2023", "--results", "scores/run.parquet")
    assert first.returncode == 0, first.stderr
    assert "Left out 1 row: not selected" in first.stdout
    assert "Left out 1 row: the same row is there already" in first.stdout
    assert "Note: 1 row without a year: each id matches one problem only" in first.stdout
    assert points(tmp_path / "run") == {"right": 100, "chat": 100, "empty": 0}
    row = results(tmp_path / "run")["right"]
    assert (row["year"], row["checker"], row["target_subtask_status"]) == (2023, "white-diff", "AC")
    assert row["all_subtasks_results"][0]["subtask"] == "00-samples"

    table = pq.read_table(tmp_path / "scores" / "run.parquet").to_pylist()
    assert {entry["key"]: entry["all_subtasks_points"] for entry in table} == points(tmp_path / "run")
    assert table[0]["all_subtasks_results"][0]["test_results"][0]["test_name"] == "0-01"

    results_before = (tmp_path / "run" / "results.jsonl").read_bytes()
    second = cli(*command, "--push-to-hub", "me/scores", "--dry-run")
    assert second.returncode == 0, second.stderr
    assert (tmp_path / "run" / "results.jsonl").read_bytes().startswith(results_before), (
        "the run continues the file"
    )
    assert points(tmp_path / "run")["later"] == 0
    assert "Would push to me/scores (private, if it is new):" in second.stdout
    assert "data/results.parquet" in second.stdout and "configs:" in second.stdout


def on_the_hub(cli: CommandLine, hub: Hub, **more: str) -> CommandLine:
    online = {"HF_HUB_OFFLINE": "0", **hub.environment(cli.folder / "hf"), **more}
    return dataclasses.replace(cli, environment={**cli.environment, **online})


def write_dataset(
    hub: Hub, repo: str, configs: Mapping[str, list[dict[str, Any]]], revision: str = "main"
) -> None:
    """Write a dataset with a config for each model, like published dumps of generations."""
    revision_folder = hub.root / repo / revision
    lines = ["---", "configs:"]
    for name, rows in configs.items():
        write_table(revision_folder / name / "train-00000-of-00001.parquet", rows)
        lines += [f"- config_name: {name}", "  data_files:", "  - split: train", f"    path: {name}/train-*"]
    (revision_folder / "README.md").write_text("\n".join([*lines, "---", ""]))


def put_codeforces(hub: Hub, *problems: dict[str, Any]) -> None:
    """Write the benchmark's dataset with generated tests, and a dataset of this schema without parquet.

    The benchmark's dataset has another split with other problems.
    """
    revision_folder = hub.root / "open-r1" / "codeforces" / "main"
    for path in write(hub.root / "written", problems).rglob("*.parquet"):
        (revision_folder / "data").mkdir(parents=True)
        path.rename(revision_folder / "data" / path.name)
    other_split = [codeforces("3/C"), codeforces("3/D")]
    write_table(revision_folder / "data" / "train-00000-of-00001.parquet", other_split, SCHEMA)
    tests = [{"problem_id": "1/A", "input": "5 5\n", "output": "10\n"}]
    write_table(revision_folder / "generated_tests" / "test_cases_0001.parquet", tests)
    lines = ["---", "configs:", "- config_name: default", "  data_files:"]
    for split in ("train", "test"):
        lines += [f"  - split: {split}", f"    path: data/{split}-*"]
    lines += ["---", ""]
    (revision_folder / "README.md").write_text("\n".join(lines))
    plain = hub.root / "org" / "plain" / "main"
    plain.mkdir(parents=True)
    write_jsonl(plain / "test.jsonl", [{**row, "generated_tests": 0} for row in problems])


def rows(name: str, *codes: str) -> list[dict[str, Any]]:
    return [
        {"uuid": f"{name}{n}", "problem_id": "1/A", "code": code, "language": "python"}
        for n, code in enumerate(codes)
    ]


def pushed_of(hub: Hub, run: Path) -> bytes:
    """Return all files that a run pushed.

    Check that the repository is private and the card agrees with the run.
    """
    pushed = hub.root / "me" / "scores"
    created = json.loads((pushed / "created.json").read_text())
    assert created.get("private") or created.get("visibility") == "private"
    card = (pushed / "main" / "README.md").read_text()
    assert card.startswith("---\ntags:\n- ioi-eval\n")
    assert card.endswith((run / "report.md").read_text())
    table = pq.read_table(pushed / "main" / "data" / "results.parquet").to_pylist()
    assert {row["key"] for row in table} == results(run).keys()
    return b"".join(contents(pushed).values())


@pytest.mark.nightly
def test_dumps_are_read_from_hub_and_results_pushed(cli: CommandLine, hub: Hub, tmp_path: Path) -> None:
    put_codeforces(hub, codeforces(generated_tests=1), codeforces("1/B", interaction_format="Ask."))
    write_dataset(hub, "org/models-a", {"small": rows("s", "print(3)"), "large": rows("l", ADD, "print(3)")})
    write_dataset(hub, "org/models-b", {"large": rows("b", ADD)})
    write_dataset(hub, "org/models-b", {"large": rows("old", "1", "2", "3")}, "v1")
    write_dataset(hub, "org/other", {"large": rows("x", ADD)})
    connected = on_the_hub(cli, hub, HF_TOKEN="hf_secret")
    scored = connected(
        *("score", "org/models-*/large", "org/models-a/small", "--problems", "codeforces"),
        *("--out", "run", "--push-to-hub", "me/scores"),
    )
    assert scored.returncode == 0, scored.stderr
    result_rows = results(tmp_path / "run")
    assert {key: (row["model"], row["resolved"]) for key, row in result_rows.items()} == {
        "l0": ("models-a/large", True),
        "l1": ("models-a/large", False),
        "b0": ("models-b/large", True),
        "s0": ("small", False),
    }
    assert result_rows["b0"]["total"] == 3, "one example, one official and one generated test"
    assert (result_rows["b0"]["difficulty"], result_rows["b0"]["tags"]) == ("800", ["math", "implementation"])
    assert "Pushed to me/scores" in scored.stdout
    everything = pushed_of(hub, tmp_path / "run") + scored.stdout.encode() + scored.stderr.encode()
    assert b"hf_secret" not in everything + b"".join(contents(tmp_path / "run").values())

    older = connected("score", "org/models-b@v1", "--problems", "codeforces", "--set", "dataset=org/plain")
    assert older.returncode == 0, older.stderr
    assert {row["total"] for row in results(tmp_path / "runs" / "org-models-b-v1").values()} == {2}
    nobody = connected("score", "org/nobody", "--problems", "codeforces")
    assert (nobody.returncode, nobody.stdout) == (2, "")
    assert "org/nobody: the hub has no dataset with this name" in nobody.stderr

    dump = write_dump(tmp_path / "d.jsonl", rows("d", ADD))
    hub.asked.clear()
    offline = cli("score", dump, "--problems", "codeforces")
    assert offline.returncode == 0, offline.stderr
    assert results(tmp_path / "runs" / "d")["d0"]["total"] == 3, "cached downloads need no network"
    described = json.loads(cli("problems", "codeforces", "--json").stdout)
    assert [entry["id"] for entry in described if "id" in entry] == ["1/A"], "no problem of the other split"
    assert hub.asked == []


@pytest.mark.nightly
def test_rows_file_is_problem_source_and_lists_excluded_problems(cli: CommandLine, tmp_path: Path) -> None:
    bad = codeforces("2/A", interaction_format="Ask.", note=None)
    source = write_jsonl(tmp_path / "rows.jsonl", [codeforces(), codeforces("1/B", rating=1900), bad])
    listed = cli("problems", source)
    assert listed.returncode == 0, listed.stderr
    assert "1 problem left out: interactive, and the dataset has no interactor" in listed.stdout
    assert "2 of 2 packages can be used" in listed.stdout
    tested = write_jsonl(tmp_path / "lcb.jsonl", [livecodebench("a"), livecodebench("b", private="?")])
    listed = cli("problems", tested)
    assert "note: 1 problem that cannot be judged: Could not parse test cases" in listed.stdout
    assert "1 of 2 packages can be used" in listed.stdout
    described = json.loads(cli("problems", source, "--difficulty", "1900", "--json").stdout)
    assert [entry["id"] for entry in described if "id" in entry] == ["1/B"]


def test_invalid_benchmark_options_print_one_error_line(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir()
    dump = write_dump(tmp_path / "d.jsonl", [{"problem_id": "1/A", "code": "x"}])
    copies = write(tmp_path / "copies", [codeforces()])
    wrong = {
        (
            "--problems",
            "codefrces",
        ): "is not a folder, a file or the name of a benchmark. Did you mean 'codeforces'",
        (
            "--problems",
            "packages",
            "--difficulty",
            "easy",
        ): "this option selects only problems of a benchmark",
        ("--problems", "codeforces", "--data-dir", "nowhere"): "nowhere",
        ("--problems", "codeforces", "--data-dir", str(copies), "--results", "x.xlsx"): "Expected one of",
        ("--problems", "codeforces", "--push-to-hub", "me/x"): "Set HF_TOKEN, or add --dry-run",
    }
    for arguments, message in wrong.items():
        completed = cli("score", dump, *arguments)
        assert (completed.returncode, completed.stdout, completed.stderr.count("\n")) == (2, "", 1), (
            completed.stderr
        )
        assert message in completed.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.nightly
def test_official_ioi_solutions_are_validated(cli: CommandLine, tmp_path: Path) -> None:
    copies = write_ioi(tmp_path / "copies", {"garland": 2023})
    right = next((EXAMPLES / "garland" / "solutions" / "model_solution").glob("*.cpp")).read_text()
    solutions = [
        {"label": "model", "year": 2023, "problem_id": "garland", "code": right, "total": 100.0},
        {"label": "empty", "year": 2023, "problem_id": "garland", "code": NOTHING, "total": 20.0},
    ]
    path = write_table(tmp_path / "solutions.parquet", solutions)
    validated = cli(
        *("validate", path, "--problems", "ioi", "--data-dir", copies),
        *("--columns", "expected=total", "--out", "run"),
    )
    assert validated.returncode == 1, validated.stderr
    assert "1 difference, in 1 of 2 solutions" in validated.stdout
    assert "solutions.parquet:2 empty" in validated.stdout and "expected 20" in validated.stdout
