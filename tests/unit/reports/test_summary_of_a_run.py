from __future__ import annotations

import gc
import itertools
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_samples import SUM, judged, problem, result, submission, write_run
from support.properties import example_count
from support.runs import Fingerprint, ResultLog, Summary, failure_row, result_row, summarize_run

from ioi_eval.errors import InputError, JudgeFailure
from ioi_eval.models import Verdict
from ioi_eval.reports import write_reports
from ioi_eval.reports.records import write_json
from ioi_eval.reports.summary import SUMMARY, reduce_garbage_collection
from ioi_eval.rules.scoring import collect_best_subtasks

MADE_OF = Fingerprint(dump="d" * 64, options={"all_tests": False})
PLAIN = problem("plain", subtasks=False)


def written(folder: Path, rows: Iterable[dict[str, Any]], failures: Iterable[dict[str, Any]] = ()) -> Path:
    return write_run(folder, rows, failures, settings={"engine": "fake"}, made_of=MADE_OF)


def scored(
    key: str, statuses: dict[str, Verdict] | None = None, model: str = "", **fields: Any
) -> dict[str, Any]:
    of = submission(key, row={"model": model} if model else {})
    return result_row(of, SUM, result(of, statuses, **fields))


def unscored(key: str, reason: str = "why", model: str = "", problem_id: str = "sum") -> dict[str, Any]:
    of = submission(key, row={"model": model} if model else {}, problem_id=problem_id)
    return failure_row(of, JudgeFailure(reason, phase="checking", remedy="Mend it"))


# --- numbers -----------------------------------------------------------------------------------------


def test_report_counts_submissions_that_repeat_a_program(tmp_path: Path) -> None:
    rows = [scored("a"), {**scored("b"), "repeats": "a"}, {**scored("c"), "repeats": "a"}]
    run = written(tmp_path / "run", rows)
    assert (summarize_run(run).scored, summarize_run(run).repeated) == (3, 2)
    write_reports(run)
    sentence = "2 submissions repeat another program and share its result."
    assert sentence in (run / "report.md").read_text()
    write_reports(run := written(tmp_path / "once", rows[:2]))
    sentence = "1 submission repeats another program and shares its result."
    assert sentence in (run / "report.md").read_text()


def test_duplicate_key_makes_summary_input_error(tmp_path: Path) -> None:
    """It is unknown which of the two rows should count."""
    folder = written(tmp_path / "run", [scored("a"), scored("b")])
    rows = folder / "results.jsonl"
    rows.write_text(rows.read_text() + rows.read_text().splitlines()[0] + "\n")
    with pytest.raises(InputError, match="duplicate key 'a'"):
        summarize_run(folder)


def test_problem_is_solved_by_submissions_with_different_subtasks(tmp_path: Path) -> None:
    attempts = [scored("a", {"1-a": Verdict.WA}), scored("b")]
    assert summarize_run(written(tmp_path / "run", attempts)).models[0].problems_solved == 1


def test_unscored_submissions_are_in_no_average(tmp_path: Path) -> None:
    rows = [scored("a"), scored("b", {"1-a": Verdict.WA})]
    alone = summarize_run(written(tmp_path / "alone", rows))
    run = summarize_run(
        written(tmp_path / "run", rows, [unscored("c"), unscored("d"), unscored("e", "other")])
    )
    assert (run.submissions, run.scored, run.unscored) == (5, 2, 3)
    only = run.models[0].problems[0]
    assert (only.submissions, only.scored, only.unscored, only.mean_points) == (5, 2, 3, 50)
    assert run.verdicts == alone.verdicts
    assert [(failure.reason, failure.submissions, failure.examples) for failure in run.failures] == [
        ("why", 2, ("c", "d")),
        ("other", 1, ("e",)),
    ]


def test_failure_judged_later_is_not_counted(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", [], [unscored("a"), unscored("b")])
    with ResultLog.open(folder, MADE_OF) as journal:
        journal.record_result(scored("a"))
        run = summarize_run(folder)
    assert (run.scored, run.unscored) == (1, 1) and run == summarize_run(folder)


def test_summary_settings_come_from_run_and_rows(tmp_path: Path) -> None:
    confinement = {"v": 1, "uid": 60001, "landlock": 4}
    of = submission("c", repairs=("header",))
    rows = [
        scored("a", compiler="g++ 12", checker="white-diff", confinement=confinement),
        scored("b", compiler="g++ 12", confinement={**confinement, "uid": 60002}),
        result_row(of, SUM, result(of, compiler="g++ 13")),
    ]
    settings = summarize_run(written(tmp_path / "run", rows)).settings
    assert settings.given == {"engine": "fake"} and settings.options == {"all_tests": False}
    assert settings.compilers == {"g++ 12": 2, "g++ 13": 1}
    assert settings.checkers == {"sum": ("white-diff",)} and settings.repairs == {"header": 1}
    assert settings.confinements == ({"v": 1, "landlock": 4},)


# --- order -------------------------------------------------------------------------------------------


@given(st.lists(judged(), max_size=8, unique_by=lambda case: case[0].key), st.integers(0, 2**32))
@settings(max_examples=settings().max_examples // 4)
def test_order_of_finishing_does_not_change_summary(
    tmp_path_factory: pytest.TempPathFactory, cases: list[Any], seed: int
) -> None:
    folder, dice = tmp_path_factory.mktemp("order"), random.Random(seed)
    failures = [
        failure_row(case[0], JudgeFailure(f"why {n % 2}")) for n, case in enumerate(cases) if n % 4 == 3
    ]
    rows = [result_row(*case) for n, case in enumerate(cases) if n % 4 != 3]
    expected = write_reports(written(folder / "first", rows, failures))
    shuffled = dice.sample(rows, len(rows)), dice.sample(failures, len(failures))
    assert write_reports(written(folder / "second", *shuffled)) == expected
    for name in ("summary.json", "report.md", "report.html"):
        assert (folder / "first" / name).read_bytes() == (folder / "second" / name).read_bytes()


def test_mean_points_do_not_depend_on_row_order(tmp_path: Path) -> None:
    rows = [{**scored(f"k{n}"), "all_subtasks_points": n / 10} for n in (1, 2, 3)]
    means = set()
    for n, order in enumerate(itertools.permutations(rows)):
        means.add(summarize_run(written(tmp_path / f"run-{n}", order)).models[0].problems[0].mean_points)
    assert len(means) == 1


@given(st.lists(judged(), min_size=1, max_size=8, unique_by=lambda case: case[0].key))
@settings(max_examples=example_count(6, 40))
def test_summary_points_equal_points_of_scoring(
    tmp_path_factory: pytest.TempPathFactory, cases: list[Any]
) -> None:
    cases = [(msgspec.structs.replace(of, row={"model": "one"}), *details) for of, *details in cases]
    run = summarize_run(
        written(tmp_path_factory.mktemp("points") / "run", [result_row(*case) for case in cases])
    )
    bests = collect_best_subtasks(case[2] for case in cases)
    assert {p.problem_id: p.points for p in run.models[0].problems} == {
        name: best.points if best.subtasks else None for name, best in bests.items()
    }
    assert sum(run.verdicts.values()) == run.scored == len(cases)


# --- files -------------------------------------------------------------------------------------------


def test_summary_json_decodes_to_summary(tmp_path: Path) -> None:
    run = write_reports(written(tmp_path / "run", [scored("a", model="m")], [unscored("b")]))
    content = (tmp_path / "run" / "summary.json").read_bytes()
    assert msgspec.json.decode(content, type=Summary) == run
    write_json(tmp_path / "run" / SUMMARY, run)
    assert (tmp_path / "run" / "summary.json").read_bytes() == content


def test_incomplete_last_line_is_left_out_of_summary(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", [scored("a")])
    with (folder / "results.jsonl").open("ab") as stream:
        stream.write(b'{"key":"b","all_subt')
    assert summarize_run(folder).scored == 1


def test_folder_without_run_is_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no run in this folder"):
        summarize_run(tmp_path)


def test_run_being_replaced_is_input_error(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", [scored("a")])
    content = (folder / "run.json").read_text()
    (folder / "run.json").write_text(content.replace('"replacing": false', '"replacing": true'))
    with pytest.raises(InputError, match="is replacing the old run"):
        summarize_run(folder)


@pytest.mark.parametrize("column", ["all_subtasks_results", "repairs", "code_compiles"])
def test_row_without_required_column_is_input_error(tmp_path: Path, column: str) -> None:
    row = scored("a")
    del row[column]
    with pytest.raises(InputError, match=f"row of 'a' .*{column}"):
        summarize_run(written(tmp_path / "run", [row]))


def test_failure_reasons_are_bounded_to_100(tmp_path: Path) -> None:
    failures = [unscored(f"k{n:03}", f"reason {n}") for n in range(150)]
    run = summarize_run(written(tmp_path / "run", [], failures))
    assert len(run.failures) == 100 and run.unscored == 150


def test_summary_restores_garbage_collector_thresholds(tmp_path: Path) -> None:
    thresholds_before = gc.get_threshold()
    summarize_run(written(tmp_path, [scored("a")]))
    assert gc.get_threshold() == thresholds_before
    with pytest.raises(KeyError), reduce_garbage_collection():
        raise KeyError("a row")
    assert gc.get_threshold() == thresholds_before
