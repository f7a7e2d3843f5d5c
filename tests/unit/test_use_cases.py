"""Use cases as calls: loaded problems, an open scorer, agent programs, reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_samples import SUM, result, submission, write_run
from support.runs import result_row

from ioi_eval import (
    InputError,
    IoiEvalError,
    Problem,
    Results,
    Scorer,
    Store,
    Submission,
    load_problems,
    report,
    run,
    score_dump,
    score_dump_sync,
    score_sync,
    validate,
)
from ioi_eval.models import Solution, Subtask
from ioi_eval.runs import (
    AgentOptions,
    Asking,
    BenchmarkOptions,
    Event,
    ReportFinished,
    ReportProgress,
    ReportStarted,
    RowsUnderstood,
    RunOptions,
    RunReported,
    RunStarted,
    SubmissionJudged,
)
from ioi_eval.runs.work import Timing
from ioi_eval.sources import Problems
from ioi_eval.store.resources import examples_folder
from ioi_eval.store.tasks import TASKS, read_tasks
from ioi_eval.testing import FakeEngine


def dump(folder: Path, *codes: str) -> Path:
    rows = [{"problem_id": "lanterns", "code": code, "model": "m"} for code in codes]
    (folder / "dump.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "dump.jsonl"


async def test_sync_function_in_event_loop_suggests_the_async_function(tmp_path: Path) -> None:
    problem = load_problems(examples_folder() / "problems" / "lanterns", cache=tmp_path / "cache")["lanterns"]
    with pytest.raises(IoiEvalError, match=r"as in a notebook: write `await score_dump\(\.\.\.\)`"):
        score_dump_sync(dump(tmp_path, "a"), {"lanterns": problem}, out=tmp_path / "run")
    with pytest.raises(IoiEvalError, match=r"write `await scorer\.score\(\.\.\.\)` of an open Scorer"):
        score_sync(
            problem, Submission(key="k", problem_id="lanterns", code="c", language="c++"), engine=FakeEngine()
        )
    assert not (tmp_path / "run").exists()


async def test_use_cases_share_scorer_and_loaded_problems(tmp_path: Path) -> None:
    problems = load_problems(examples_folder() / "problems" / "lanterns", cache=tmp_path / "cache")
    engine, store, events = FakeEngine(), Store(tmp_path / "store"), list[Event]()
    async with Scorer(engine, store=store) as scorer:
        scored = await score_dump(
            dump(tmp_path, "a", "b"), problems, out=tmp_path / "run", engine=scorer, on_event=events.append
        )
        checked = await validate(problems, out=tmp_path / "checked", engine=scorer)
        submission = Submission(key="k", problem_id="lanterns", code="c", language="c++")
        assert (await scorer.score(problems["lanterns"], submission)).points == 100
    assert (scored.call.judged, scored.failures) == (2, {})
    assert [type(event) for event in events[:2]] == [RowsUnderstood, RunStarted]
    assert sum(isinstance(event, SubmissionJudged) for event in events) == 2
    assert (
        json.loads((tmp_path / "run" / "run.json").read_text())["settings"]["problems"] == "1 problem, loaded"
    )
    assert checked.validation.expectations > 0 and checked.conclusion.endswith("solutions")
    assert len(checked.differences()) == checked.validation.differences


async def test_all_tests_option_runs_every_test(tmp_path: Path) -> None:
    problems = load_problems(examples_folder() / "problems" / "lanterns", cache=tmp_path / "cache")
    ran = dict[bool, int]()
    async with Scorer(FakeEngine({0: 0.0, 1: 0.0, 2: 0.0})) as scorer:
        for every in (False, True):
            scored = await score_dump(
                dump(tmp_path, "a"),
                problems,
                out=tmp_path / str(every),
                engine=scorer,
                options=RunOptions(all_tests=every),
            )
            ran[every] = scored.call.tests
    assert ran[False] < ran[True] == len(problems["lanterns"].tests)


@pytest.mark.parametrize(("all_tests", "status"), [(True, "AC"), (False, "SKIPPED")])
async def test_validate_skips_tests_that_change_no_score_unless_all_tests(
    tmp_path: Path, all_tests: bool, status: str
) -> None:
    problem = Problem.of(
        [("1", "1"), ("2", "2")],
        id="one",
        subtasks=(Subtask(name="all", points=1.0, tests=("1", "2")),),
        solutions=(Solution(name="a.py", language="python", code="a", expected="correct"),),
    )
    engine: Any = FakeEngine({0: 0.0})
    await validate(Problems([problem]), out=tmp_path / "run", engine=engine, all_tests=all_tests)
    (validated,) = Results.open(tmp_path / "run")
    assert [test.status for test in validated.tests] == ["WA", status]


async def test_run_keeps_problem_descriptions_with_limits(tmp_path: Path) -> None:
    """With the limits of its submissions. They are written again if the file is missing."""
    problems = load_problems(examples_folder() / "problems" / "lanterns", cache=tmp_path / "cache")
    options = RunOptions(timing=Timing(factor=2.0))
    for _ in range(2):
        async with Scorer(FakeEngine()) as scorer:
            await score_dump(
                dump(tmp_path, "a"), problems, out=tmp_path / "run", engine=scorer, options=options
            )
        [(label, task)] = read_tasks(tmp_path / "run").items()
        assert (label, task.name, task.cpu_time, task.memory) == ("lanterns", "Lanterns", 2.0, 96 << 20)
        assert task.statement.startswith("# Lanterns") and len(task.solutions) == 13
        (tmp_path / "run" / TASKS).unlink()


async def test_problem_selection_with_loaded_problems_is_input_error(tmp_path: Path) -> None:
    problems = load_problems(examples_folder() / "problems" / "lanterns", cache=tmp_path / "cache")
    with pytest.raises(
        InputError, match="these options cannot select among problems that are already loaded"
    ):
        await score_dump(
            dump(tmp_path, "a"), problems, out=tmp_path / "run", choice=BenchmarkOptions(sample=1)
        )
    with pytest.raises(InputError, match="only for a file of solutions"):
        await validate(problems, "packages", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("make", [dict, list, lambda problems: None])
async def test_invalid_problem_source_is_input_error(tmp_path: Path, make: Callable[[Any], Any]) -> None:
    source = make(load_problems(examples_folder() / "problems" / "lanterns", cache=tmp_path / "cache"))
    author = AgentOptions(command="true")
    for call in (
        lambda out: score_dump(dump(tmp_path, "a"), source, out=out),
        lambda out: validate(source, out=out),
        lambda out: run(source, author, out=out),
    ):
        with pytest.raises(
            InputError, match=f"'problems': {type(source).__name__} is not a source of problems"
        ):
            await call(tmp_path / "run")
    assert not (tmp_path / "run").exists()


async def test_library_messages_name_arguments_instead_of_options(tmp_path: Path) -> None:
    problems, store = examples_folder() / "problems" / "lanterns", Store(tmp_path / "store")
    first, second = RunOptions(), RunOptions(all_tests=True)
    where: Any = {"out": tmp_path / "run", "engine": FakeEngine(), "store": store}
    await score_dump(dump(tmp_path, "a"), problems, options=first, **where)
    with pytest.raises(InputError) as caught:
        await score_dump(dump(tmp_path, "a"), problems, options=second, **where)
    assert "Give fresh=True to score everything again" in str(caught.value) and "--" not in str(caught.value)


def apps(folder: Path) -> Path:
    tests = {"inputs": ["1 2\n"], "outputs": ["3\n"]}
    row: dict[str, Any] = {"question": "Add.", "input_output": json.dumps(tests), "difficulty": "interview"}
    (folder / "apps.jsonl").write_text(json.dumps({"solutions": "", "starter_code": "", **row}) + "\n")
    return folder / "apps.jsonl"


async def test_report_sends_progress_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ioi_eval.reports.pages.ROWS_PER_EVENT", 64)
    rows = [result_row(sent, SUM, result(sent)) for sent in (submission(f"{n:04}") for n in range(150))]
    folder, events = write_run(tmp_path / "run", rows), list[Event]()
    await report(folder, on_event=events.append)
    numbers = [(event.read, event.pages) for event in events if isinstance(event, ReportProgress)]
    assert numbers == [(64, None), (128, None), (150, 64), (150, 128)]
    assert isinstance(events[-2], RunReported) and {type(event) for event in events[1:-2]} == {ReportProgress}


async def test_agent_programs_are_run_and_reported(tmp_path: Path) -> None:
    rows, store = apps(tmp_path), Store(tmp_path / "store")
    agent = AgentOptions(command="echo 'print(3)' > solution.py")
    for out in ("a", "b"):
        agent_run = await run(
            rows, agent, out=tmp_path / out, asking=Asking(samples=2), engine=FakeEngine(), store=store
        )
        assert (agent_run.call.judged, agent_run.unwritten, agent_run.failures) == (2, {}, {})
        assert [line["resolved"] for line in agent_run.instances] == [True, True]
    events, folders = list[Event](), [tmp_path / "a", tmp_path / "b"]
    comparison = await report(folders, out=tmp_path / "both", on_event=events.append)
    read_events = [RunReported(folder=str(folder), submissions=2, written=True) for folder in folders]
    assert events == [ReportStarted(runs=2), *read_events, ReportFinished(page=comparison.page)]
    assert [event_or_run.name for event_or_run in comparison.runs] == ["a", "b"]
    assert comparison.page == str(tmp_path / "both" / "comparison.html")
    assert "comparison.html" in {path.name for path in (tmp_path / "both").glob("*")}
    second_run = await run(
        rows, agent, out=tmp_path / "a", asking=Asking(samples=2), engine=FakeEngine(), store=store
    )
    assert (second_run.call.judged, second_run.call.skipped) == (0, 2)
