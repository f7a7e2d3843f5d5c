"""`score` without --problems detects the benchmark by a dump's ids and columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dump_rows import write_jsonl
from hub_rows import ADD, apps, write_rows
from support.command_line import CommandLine, results
from support.plugins import needs_plugin

from ioi_eval.benchmarks.dumps import guess_benchmark
from ioi_eval.errors import InputError


def dump(folder: Path, *ids: str, column: str = "problem_id", **columns: Any) -> Path:
    return write_jsonl(
        folder / "d.jsonl", [{column: problem_id, "code": ADD, **columns} for problem_id in ids]
    )


@pytest.mark.parametrize(
    ("ids", "columns", "name"),
    [
        (("apps_1", "apps_20"), {}, "apps"),
        (("taco_3",), {}, "taco"),
        (("1575/A", "2043/B2"), {}, "codeforces"),
        (("1575_A. Add",), {}, "code_contests"),
        (("1575_A",), {}, "code_contests_plus"),
        (("abc300_a", "2727"), {"column": "question_id"}, "livecodebench"),
        (("nile", "sphinx"), {"year": 2024, "subtask": "01"}, "ioi"),
        pytest.param(
            ("HumanEval/0",), {"column": "task_id"}, "humaneval_plus", marks=needs_plugin("functions")
        ),
        pytest.param(("Mbpp/2",), {"column": "task_id"}, "mbpp_plus", marks=needs_plugin("functions")),
        (("IOI-2024-contest-nile", "CEOI-2023-day1-grading-server"), {}, "liveoibench"),
        pytest.param(("loj-2083", "nwerc2022_A"), {}, "ojbench", marks=needs_plugin("dmoj")),
    ],
)
def test_benchmark_is_detected_from_ids_and_columns(
    tmp_path: Path, ids: tuple[str, ...], columns: dict[str, Any], name: str
) -> None:
    assert guess_benchmark([dump(tmp_path, *ids, **columns)]) == name


@pytest.mark.parametrize(
    ("ids", "columns", "message"),
    [
        (("1873_A",), {"column": "question_id"}, "fit the benchmarks livecodebench and code_contests_plus"),
        pytest.param(
            ("1873A", "2053B"),
            {},
            r"fit the benchmarks codeforces and livecodebench_pro. Name the right benchmark:"
            r" problems=codeforces or problems=livecodebench_pro",
            marks=needs_plugin("lightcp"),
        ),
        (("nile",), {}, r"do not identify.*\(their ids: nile\).*Name a benchmark"),
        (("apps_1", "nile"), {}, "do not identify their problems"),
    ],
)
def test_ambiguous_dump_requires_problems_option(
    tmp_path: Path, ids: tuple[str, ...], columns: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        guess_benchmark([dump(tmp_path, *ids, **columns)])
    assert caught.value.field == "problems"


def test_benchmark_is_detected_from_named_id_column(tmp_path: Path) -> None:
    rows = [{"meta": {"id": "apps_1"}, "code": ADD}]
    assert guess_benchmark([write_jsonl(tmp_path / "d.jsonl", rows)], "meta.id") == "apps"


def test_dump_is_scored_without_problems_option(cli: CommandLine, tmp_path: Path) -> None:
    copies = write_rows(tmp_path / "copies", "apps", [apps(0)])
    completed = cli(
        "score",
        dump(tmp_path, "apps_0", uuid="1"),
        "--data-dir",
        copies,
        "--out",
        "run",
        "--packages",
        "none",
    )
    assert completed.returncode == 0, completed.stderr
    assumption = "Assumed --problems apps, as the dump's ids and columns say. To choose other problems, add"
    assert assumption in completed.stderr
    assert results(tmp_path / "run")["1"]["solved"] is True
    unknown = cli("score", dump(tmp_path, "nile"), "--out", "other")
    assert unknown.returncode == 2 and ", --problems: the dump's rows do not identify" in unknown.stderr
    assert not (tmp_path / "other").exists()


@needs_plugin("functions")
def test_note_about_detected_benchmark_names_benchmark_with_same_ids(
    cli: CommandLine, tmp_path: Path
) -> None:
    """A dump of HumanEval looks like a dump of HumanEval+, whose results differ."""
    (tmp_path / "copies").mkdir()
    rows = dump(tmp_path, "HumanEval/0", column="task_id")
    completed = cli("score", rows, "--data-dir", tmp_path / "copies", "--dry-run")
    guess_note = "--problems humaneval_plus, as the dump's ids and columns say; humaneval has the same ids"
    assert guess_note in completed.stderr
