"""Tasks, the scorer and the metrics with inspect_ai. Logs are read back and compared."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")

from inspect_ai._util.error import PrerequisiteError
from inspect_ai._util.registry import registry_lookup
from inspect_ai.log import EvalLog, read_eval_log
from inspect_runs import PACKAGES, metrics, replying, run, solution

from ioi_eval import Submission, load_problems, score_dump, score_sync
from ioi_eval.benchmarks import benchmarks
from ioi_eval.integrations.runtime import Runtime
from ioi_eval.model.languages import find_language
from ioi_eval.rules.extraction import extract
from ioi_eval.rules.selection import Budget
from ioi_eval.runs import RunOptions

# The model's replies for each problem, one per epoch, with their results.
REPLIES = {
    "Garland": [
        (solution("garland", "model_solution/matrix.cpp"), "AC", 100),
        (solution("garland", "incorrect/forgets_the_scratches.cpp"), "WA", 0),
        (solution("garland", "compile_error/no_headers.cpp"), "CE", 0),
        ("I do not know.", "CE", 0),
    ],
    "Pumpkins": [
        (solution("pumpkins", "partially_correct/heaviest_first.cpp"), None, None),
        (solution("pumpkins", "partially_correct/heaviest_first.cpp"), None, None),
        (solution("pumpkins", "incorrect/digits.cpp"), None, None),
        (solution("pumpkins", "runtime_error/asks_for_too_much.cpp"), None, None),
    ],
}
CHOSEN = ["garland", "pumpkins"]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> EvalLog:
    model = replying({keyword: [reply for reply, *_ in replies] for keyword, replies in REPLIES.items()})
    options = {"T_source": str(PACKAGES), "T_problems": CHOSEN, "epochs": 4}
    finished_log = run("ioi_eval/problems", model, tmp_path_factory.mktemp("logs"), max_samples=1, **options)
    return read_eval_log(finished_log.location)


def test_reply_without_a_program_scores_0_with_explanation(log: EvalLog) -> None:
    scores = [(sample.scores or {})["judged"] for sample in log.samples or ()]
    without = [score for score in scores if (score.metadata or {}).get("reason") == "no program"]
    [score] = without
    assert score.value == 0 and (score.explanation or "").endswith("\n\nThe reply contains no program.")
    assert sum("no program" in (score.explanation or "") for score in scores) == 1


def test_inspect_score_equals_score_of_the_library(log: EvalLog) -> None:
    problems = load_problems(PACKAGES, only=frozenset(CHOSEN))
    assert log.status == "success" and log.samples is not None and len(log.samples) == 8
    for sample in log.samples:
        problem = problems[sample.metadata["problem_id"]]
        code = extract(sample.output.completion, find_language("c++"))
        alone = score_sync(problem, Submission(key="1", problem_id=problem.id, code=code, language="c++"))
        score = (sample.scores or {})["judged"]
        score_metadata = score.metadata or {}
        assert (
            score_metadata["points"] == alone.points
            and score_metadata["max_points"] == 100
            and score_metadata["compiles"] == alone.compiles
        )
        assert score.value == pytest.approx(alone.points / 100) and score.answer == code
        assert [
            (subtask["subtask"], subtask["exact_score"], subtask["status"])
            for subtask in score_metadata["subtasks"]
        ] == [(subtask.subtask, subtask.exact_score, subtask.status) for subtask in alone.subtasks]
        assert [(test["test_name"], test["status"]) for test in score_metadata["tests"]] == [
            (test.test_name, test.status) for test in alone.tests
        ]


def test_score_explanation_has_verdict_and_subtask_table(log: EvalLog) -> None:
    garland = [sample for sample in log.samples or () if sample.id == "garland"]
    for sample, (_, verdict, points) in zip(garland, REPLIES["Garland"], strict=True):
        score = (sample.scores or {})["judged"]
        assert score.explanation is not None and score.metadata is not None
        assert score.metadata["verdict"] == verdict
        assert score.explanation.startswith(f"**{verdict}**: {points} of 100 points\n\n| subtask | points")
    wrong, broken = ((sample.scores or {})["judged"].explanation or "" for sample in garland[1:3])
    assert "The first failed test: `1-01` (WA," in wrong
    assert "The compiler:\n\n```\n" in broken and "error" in broken


async def test_inspect_metrics_equal_metrics_of_the_report(log: EvalLog, tmp_path: Path) -> None:
    """The log is read as a dump and scored again."""
    library_run = await score_dump([log.location], PACKAGES, out=tmp_path / "run", options=RunOptions())
    for row in map(json.loads, (tmp_path / "run" / "results.jsonl").open()):
        assert row["metadata"]["usage"]["output_tokens"] == len(row["generation"])
        assert row["limit"] is None
    [model] = library_run.summary.models
    assert model.model == "mockllm/model" and library_run.summary.scored == 8
    log_metrics = metrics(log)
    assert log_metrics["points"] == pytest.approx(model.budgets[Budget.LIMITED])
    assert log_metrics["points"] > log_metrics["mean"] * 200, "different submissions solve different subtasks"
    assert log_metrics["max_points"] == model.max_points == 200
    assert log_metrics["problems_solved"] == model.problems_solved == 1
    assert log_metrics["pass@1"] == pytest.approx(1 / 8) and "pass@5" not in log_metrics
    assert {estimate.k: estimate.value for estimate in model.pass_at}[1] == pytest.approx(
        log_metrics["pass@1"]
    )


def test_every_benchmark_is_an_inspect_task() -> None:
    names = [benchmark.name for benchmark in benchmarks()]
    assert "ioi" in names
    assert [name for name in names if registry_lookup("task", f"ioi_eval/{name}") is None] == []


def test_benchmark_task_prompts_the_model_and_is_judged(tmp_path: Path) -> None:
    from benchmark_tables import write_ioi

    tables = write_ioi(tmp_path / "tables", {"garland": 2024, "threes": 2025})
    model = replying({"Garland": [solution("garland", "correct/doubling.cpp")]})
    log = run("ioi_eval/ioi", model, tmp_path, T_data_dir=str(tables), T_years=2024)
    assert log.status == "success", log.error
    [sample] = log.samples or ()
    assert (sample.id, sample.metadata["year"]) == ("garland", 2024)
    assert sample.input.startswith("This is a problem of the International Olympiad in Informatics.")
    assert metrics(log)["points"] == 100
    assert log.eval.task == "ioi_eval/ioi" and log.eval.dataset.name == "ioi"


def test_invalid_task_option_is_a_prerequisite_error(tmp_path: Path) -> None:
    model = replying({"": [""]})
    for options, message in [
        ({"T_problem": "garland"}, "Did you mean 'problems'"),
        ({"T_unscored": "maybe"}, "unscored"),
        ({"T_problems": "garlnd"}, "garland"),
        ({"T_years": 2024}, "only problems of a benchmark"),
        ({"T_language": "cobol"}, "cobol"),
    ]:
        with pytest.raises(PrerequisiteError) as error:
            run("ioi_eval/problems", model, tmp_path, T_source=str(PACKAGES), **options)
        assert message in str(error.value.message)


def test_concurrent_judging_is_limited_to_the_engine_slots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way: list[int] = []
    running = 0
    judge = Runtime.score

    async def score(self: Runtime, *arguments: Any) -> Any:
        nonlocal running
        running += 1
        under_way.append(running)
        try:
            await asyncio.sleep(0.05)
            return await judge(self, *arguments)
        finally:
            running -= 1

    monkeypatch.setattr(Runtime, "score", score)
    model = replying({"Garland": [solution("garland", "correct/doubling.cpp")]})
    chosen = {"T_source": str(PACKAGES), "T_problems": "garland"}
    log = run("ioi_eval/problems", model, tmp_path, T_slots=2, epochs=8, **chosen)
    assert log.status == "success" and len(under_way) == 8
    assert max(under_way) == 2


def test_inspect_epoch_reducers_reduce_scores(tmp_path: Path) -> None:
    from inspect_ai import Epochs

    replies = [solution("garland", name) for name in ("correct/doubling.cpp", "compile_error/no_headers.cpp")]
    chosen = {"T_source": str(PACKAGES), "T_problems": "garland"}
    log = run(
        "ioi_eval/problems",
        replying({"Garland": replies}),
        tmp_path,
        epochs=Epochs(2, ["max", "pass_at_1"]),
        **chosen,
    )
    assert log.results is not None
    means = {score.reducer: score.metrics["mean"].value for score in log.results.scores if score.reducer}
    assert means == {"max": 1.0, "pass_at_1": 0.5}


def test_metrics_of_no_samples_are_empty() -> None:
    from ioi_eval.integrations.inspect_ai import pass_at, points

    assert points()([]) == {} and pass_at()([]) == {}


def test_inspect_integration_import_loads_no_heavy_packages() -> None:
    code = (
        "import sys, inspect_ai, inspect_ai.scorer, inspect_ai.util; before = set(sys.modules)\n"
        "import ioi_eval.integrations.inspect_ai; print(*set(sys.modules) - before)"
    )
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(completed.stdout.split())
    assert not {"aiohttp", "datasets", "pyarrow", "pandas", "typer", "jinja2", "trl", "verl"} & loaded
    other_integrations = {"open_r1", "trl", "verl", "eval_protocol", "rewards", "runtime"}
    assert not {f"ioi_eval.integrations.{other}" for other in other_integrations} & loaded
    assert (
        not {f"ioi_eval.{package}" for package in ("engines.embedded", "judge", "reports", "runs")} & loaded
    )


def test_custom_inspect_task_can_use_the_scorer_judged(tmp_path: Path) -> None:
    """As in docs/inspect_ai.md: sample ids are problem ids."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample

    from ioi_eval.integrations.inspect_ai import judged

    samples = [Sample(id="garland", input="Garland, please."), Sample(id="garlnd", input="Garland, or so.")]
    task = Task(dataset=samples, scorer=judged(str(PACKAGES)))
    model = replying({"Garland": [solution("garland", "correct/doubling.cpp")]})
    [log] = eval(task, model=model, log_dir=str(tmp_path), display="none")
    assert log.status == "success"
    sample_scores = {sample.id: (sample.scores or {})["judged"] for sample in log.samples or ()}
    assert sample_scores["garland"].value == 1
    unknown = sample_scores["garlnd"]
    assert unknown.value != 0 and unknown.explanation is not None
    assert unknown.explanation.startswith("Not judged: ") and "Did you mean 'garland'" in unknown.explanation
    strict = Task(dataset=samples, scorer=judged(str(PACKAGES), unscored="error"))
    [log] = eval(strict, model=model, log_dir=str(tmp_path), display="none", fail_on_error=False)
    errors = {sample.id: sample.error for sample in log.samples or ()}
    assert errors["garlnd"] is not None and "Did you mean 'garland'" in errors["garlnd"].message
