"""A run grows with its dump and its problems.

A result stays as long as its program and problem are unchanged.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.command_line import contents, results, row, write_dump, write_package

from ioi_eval import InputError, score_dump
from ioi_eval.benchmarks import DumpOptions
from ioi_eval.runs import (
    Event,
    Forecast,
    JudgedAgain,
    RunOptions,
    RunSummary,
    Selection,
    SubmissionJudged,
    Timing,
    forecast_dump,
)
from ioi_eval.testing import FakeEngine

PROBLEMS = ("add", "sum")


class Session:
    """A dump and packages that change between calls of the same run."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.rows = folder, list[dict[str, Any]]()
        self.judged, self.told = list[str](), dict[str, int]()
        for name in PROBLEMS:
            write_package(folder / "problems" / name)

    async def score(
        self,
        out: str = "run",
        selection: Selection | None = None,
        reading: DumpOptions | None = None,
        **options: Any,
    ) -> RunSummary:
        """Call the run with a new engine, so that earlier results come from the run only."""
        events = list[Event]()
        called = await score_dump(
            write_dump(self.folder / "dump.jsonl", self.rows),
            self.folder / "problems",
            out=self.folder / out,
            selection=selection,
            reading=reading,
            engine=FakeEngine(),
            options=RunOptions(**options),
            on_event=events.append,
        )
        judged_events = (event for event in events if isinstance(event, SubmissionJudged))
        self.judged = sorted(event.key for event in judged_events if not event.repeated)
        again_events = (event for event in events if isinstance(event, JudgedAgain))
        self.told = {
            reason.value: number for event in again_events for reason, number in event.reasons.items()
        }
        return called.call

    def results(self, out: str = "run") -> dict[str, dict[str, Any]]:
        return results(self.folder / out)

    def edit(self, problem: str) -> None:
        (self.folder / "problems" / problem / "tests" / "1-1.out").write_text("4\n")

    @property
    def aside(self) -> list[str]:
        path = self.folder / "run" / "earlier.jsonl"
        return [json.loads(line)["key"] for line in path.read_text().splitlines()] if path.exists() else []


def forecast(session: Session, **options: Any) -> Forecast:
    """Return the forecast of the next call."""
    dump = write_dump(session.folder / "dump.jsonl", session.rows)
    return forecast_dump(
        dump, session.folder / "problems", out=session.folder / "run", options=RunOptions(**options)
    )


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Return a session whose calls write no reports, which would take most of the time."""
    monkeypatch.setattr("ioi_eval.runs.score.write_reports", lambda *_, **__: None)
    return Session(tmp_path)


def programs(numbers: Iterable[int]) -> list[dict[str, Any]]:
    """Return programs by number. Every fourth is for `sum`."""
    return [row(f"r{n}", f"int main() {{ return {n}; }}", problem_id=PROBLEMS[n % 4 == 3]) for n in numbers]


async def test_only_new_or_changed_rows_are_judged(session: Session) -> None:
    session.rows = programs(range(20))
    assert (await session.score()).judged == 20 and session.told == {}

    session.edit("sum")
    del session.rows[0]
    session.rows += programs(range(20, 25))
    call = await session.score()
    of_sum = {f"r{n}" for n in range(3, 25, 4)}
    assert set(session.judged) == of_sum | {f"r{n}" for n in range(20, 25)}
    assert session.told == {"problem": 5, "gone": 1} and call.skipped == 14
    assert session.results().keys() == {session_row["uuid"] for session_row in session.rows}
    assert set(session.aside) == {"r0", *(f"r{n}" for n in range(3, 20, 4))}

    assert (await session.score()).skipped == 24 and session.judged == []


async def test_edited_program_is_judged_again(session: Session) -> None:
    session.rows = programs(range(3))
    await session.score()
    session.rows[1]["code"] += "int better;"  # a change of the program, not only of a comment
    await session.score()
    assert (session.judged, session.told) == (["r1"], {"program": 1})
    assert len(session.results()) == 3


@pytest.mark.parametrize("share", [True, False])
async def test_changed_columns_are_rewritten_without_judging(session: Session, share: bool) -> None:
    session.rows = programs(range(3))
    await session.score(share=share)
    for session_row in session.rows[:2]:
        session_row["model"] = "renamed"
    session.rows[2]["note"] = [1, {"a": None}]
    call = await session.score(share=share)
    assert (session.judged, session.told, call.repeated) == ([], {"columns": 3}, 3)
    stored_rows = session.results()
    assert [session_row["repeats"] for session_row in stored_rows.values()] == [None] * 3
    assert [stored_rows[key]["model"] for key in ("r0", "r1", "r2")] == ["renamed", "renamed", "m"]
    assert stored_rows["r2"]["note"] == [1, {"a": None}]


def without_ids(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in session_row.items() if name != "uuid"} for session_row in rows]


async def test_rows_without_ids_keep_their_keys(session: Session) -> None:
    session.rows = without_ids([*programs(range(4)), *programs(range(1))])
    await session.score()
    rows_before = session.results()
    assert len(rows_before) == 5
    session.rows.insert(0, {**session.rows[0], "code": "int main() {}"})
    call = await session.score()
    assert (call.judged, call.skipped, session.told) == (1, 5, {})
    assert session.results().items() > rows_before.items()


async def test_run_of_earlier_version_keeps_its_rule_for_keys(session: Session) -> None:
    """An added row would rename all rows, so they are matched by their programs."""
    session.rows = without_ids(programs(range(4)))
    await session.score(reading=DumpOptions(keys_of_content=False))
    run_file = session.folder / "run" / "run.json"
    info = json.loads(run_file.read_text())
    del info["fingerprint"]["options"]["keys_of_content"]
    run_file.write_text(json.dumps(info))
    rows_before = session.results()
    assert (await session.score()).skipped == 4
    session.rows.append({**session.rows[0], "code": "int main() {}"})
    call = await session.score()
    assert (call.judged, call.repeated, session.told) == (5, 4, {"gone": 4})
    rows_after = session.results().values()
    assert {session_row["submission_sha256"] for session_row in rows_after} > {
        session_row["submission_sha256"] for session_row in rows_before.values()
    }
    assert {key.rpartition("-")[2] for key in session.results()} == set("01234")


def of_year(package: Path, year: int) -> None:
    header = json.loads((package / "problem.json").read_text())
    (package / "problem.json").write_text(json.dumps({**header, "code": "sum", "year": year}))


@pytest.mark.parametrize("edited", [False, True], ids=["same", "edited"])
async def test_renamed_problem_with_year_keeps_results(session: Session, edited: bool) -> None:
    """It becomes `sum@2023`. Otherwise rows with the old name would be of another problem."""
    packages = session.folder / "problems"
    of_year(packages / "sum", 2023)
    session.rows = [row(f"r{n}", f"int main() {{ return {n}; }}", problem_id="sum") for n in range(3)]
    for session_row in session.rows:
        session_row["year"] = 2023
    await session.score(selection=Selection(limit=2))
    assert {session_row["problem_id"] for session_row in session.results().values()} == {"sum"}

    of_year(write_package(packages / "later"), 2024)
    if edited:
        session.edit("sum")
    rejudged = forecast(session).again
    assert rejudged is not None and rejudged.problems == (("sum@2023",) if edited else ())
    await session.score()
    assert session.told == {"problem" if edited else "columns": 2}
    assert session.judged == (["r0", "r1", "r2"] if edited else ["r2"])
    assert {session_row["problem_id"] for session_row in session.results().values()} == {"sum@2023"}
    shutil.rmtree(packages / "later")
    await session.score()
    assert (session.judged, session.told) == ([], {"columns": 3})
    assert {session_row["problem_id"] for session_row in session.results().values()} == {"sum"}


# --- another dump ------------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", [True, False], ids=["ids", "contents"])
async def test_unrelated_dump_is_refused_without_changes(session: Session, ids: bool) -> None:
    def rows(numbers: Iterable[int]) -> list[dict[str, Any]]:
        return programs(numbers) if ids else without_ids(programs(numbers))

    session.rows = rows(range(8))
    await session.score()
    folder = session.folder / "run"
    files_before = contents(folder)
    session.rows = rows(range(5, 12))
    with pytest.raises(InputError) as caught:
        await session.score()
    assert (
        caught.value.problem
        == "the folder has results of another dump: this dump contains only 3 of their 8 rows"
    )
    assert caught.value.where == str(folder)
    assert "out=FOLDER" in caught.value.remedy and "fresh=True" in caught.value.remedy
    with pytest.raises(InputError, match="another dump"):
        forecast(session)
    assert contents(folder) == files_before

    session.rows = rows(range(4, 12))
    await session.score()
    assert session.told == {"gone": 4} and len(session.results()) == 8
    session.rows = rows(range(20, 24))
    await session.score(fresh=True)
    assert len(session.results()) == 4


async def test_dump_of_other_problems_is_refused(session: Session) -> None:
    both = programs(range(8))
    ours, sum_rows = ([row for row in both if row["problem_id"] == name] for name in ("add", "sum"))
    session.rows = ours
    await session.score()
    session.rows = sum_rows
    with pytest.raises(InputError, match=f"this dump contains only 0 of their {len(ours)} rows"):
        await session.score()
    session.rows = both
    await session.score()
    assert len(session.results()) == len(both)


async def test_changed_rows_without_program_are_not_matched_to_results(session: Session) -> None:
    session.rows = [{**row, "code": None} for row in without_ids(programs(range(8)))]
    await session.score()
    session.rows = [{**row, "code": None, "note": "another"} for row in without_ids(programs(range(8)))]
    with pytest.raises(
        InputError, match="the folder has results of another dump: this dump contains only 0 of their 8 rows"
    ):
        await session.score()


async def test_run_of_selected_rows_keeps_results_of_other_rows(session: Session) -> None:
    session.rows = programs(range(20))
    await session.score()
    call = await session.score(selection=Selection(limit=2))
    assert (call.skipped, session.told, len(session.results())) == (2, {}, 20)
    session.edit("add")
    session.edit("sum")
    await session.score()
    assert session.told == {"problem": 20} and len(session.results()) == 20


async def test_removed_and_readded_row_keeps_its_result(session: Session) -> None:
    session.rows = programs(range(3))
    await session.score()
    removed_row = session.rows.pop()
    await session.score()
    session.rows.append(removed_row)
    call = await session.score()
    assert (session.judged, call.repeated) == ([], 1)


async def test_problem_edited_back_keeps_results(session: Session) -> None:
    session.rows = programs(range(4))
    await session.score()
    session.edit("add")
    await session.score()
    assert session.judged == ["r0", "r1", "r2"]
    (session.folder / "problems" / "add" / "tests" / "1-1.out").write_text("3\n")
    await session.score()
    assert session.judged == []


async def test_results_of_unselected_rows_are_kept(session: Session) -> None:
    session.rows = programs(range(8))
    await session.score()
    session.rows += programs(range(8, 12))
    call = await session.score(selection=Selection(problems=frozenset({"add"}), limit=7))
    assert (session.judged, session.told, call.skipped) == (["r8"], {}, 6)
    assert len(session.results()) == 9


async def test_results_of_another_run_are_reused(session: Session) -> None:
    session.rows = programs(range(4))
    await session.score("first")
    session.rows += programs(range(4, 6))
    session.edit("sum")
    call = await session.score("second", reuse=(str(session.folder / "first"),))
    assert session.judged == ["r3", "r4", "r5"] and call.repeated == 3
    assert session.results("second").keys() == {session_row["uuid"] for session_row in session.rows}


async def test_column_repeats_contains_only_keys_of_rows_with_same_program(session: Session) -> None:
    """Keys of another run, or of a row before an edit, are removed."""
    session.rows = programs(range(2))
    await session.score("first")
    session.rows = [{**session_row, "uuid": f"r{1 - n}"} for n, session_row in enumerate(session.rows)]
    call = await session.score("second", reuse=(str(session.folder / "first"),))
    repeats_by_key = {key: session_row["repeats"] for key, session_row in session.results("second").items()}
    assert (call.repeated, repeats_by_key) == (2, {"r1": None, "r0": None})

    await session.score()
    original_code, session.rows[0]["code"] = session.rows[0]["code"], "int main() { return 9; }"
    session.rows.append({**session.rows[0], "uuid": "late", "code": original_code})
    await session.score()
    assert session.judged == ["r1"] and session.results()["late"]["repeats"] is None


@pytest.mark.parametrize("gone", [False, True])
async def test_column_repeats_loses_key_of_edited_row(session: Session, gone: bool) -> None:
    session.rows = [*programs(range(3)), {**programs([0])[0], "uuid": "equal"}]
    await session.score()
    assert session.results()["equal"]["repeats"] == "r0"
    session.rows[0]["code"] = "int main() { return 9; }"
    del session.rows[: int(gone)]
    await session.score()
    assert session.judged == ([] if gone else ["r0"]) and session.results()["equal"]["repeats"] is None
    assert session.told == {"gone" if gone else "program": 1, "columns": 1}


@pytest.mark.parametrize(
    ("reuse", "options", "says"),
    [
        ("first", {"all_tests": True}, "option all-tests: false -> true"),
        ("nowhere", {}, "the folder does not contain a run"),
    ],
)
async def test_unusable_reuse_folder_is_input_error(
    session: Session, reuse: str, options: Mapping[str, Any], says: str
) -> None:
    session.rows = programs(range(1))
    await session.score("first")
    with pytest.raises(InputError, match=says):
        await session.score("second", reuse=(str(session.folder / reuse),), **options)
    assert not (session.folder / "second").exists()


@pytest.mark.parametrize("column", ["test_columns", "checker"])
async def test_invalid_row_of_reused_run_is_input_error(session: Session, column: str) -> None:
    session.rows = programs(range(1))
    await session.score("first")
    rows = session.folder / "first" / "results.jsonl"
    rows.write_text(json.dumps({**json.loads(rows.read_text()), column: 3}) + "\n")
    with pytest.raises(InputError, match="is not a valid result") as caught:
        await session.score("second", reuse=(str(session.folder / "first"),))
    assert (caught.value.where, caught.value.row, caught.value.field) == (str(rows), 1, column)


async def test_run_with_results_of_another_compiler_is_refused_and_names_it(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.rows = programs(range(2))
    await session.score()
    rows = session.folder / "run" / "results.jsonl"
    compiler = session.results()["r0"]["compiler"]
    rows.write_text(rows.read_text().replace(compiler, f"{compiler}.9"))
    rows_before = rows.read_bytes()
    session.rows += programs(range(2, 4))
    with pytest.raises(InputError, match="programs are now built by") as caught:
        await session.score()
    assert f"{compiler}.9" in caught.value.problem and "accept_compiler=True" in caught.value.remedy
    assert rows.read_bytes() == rows_before
    await session.score(accept_compiler=True)
    assert Counter(session_row["compiler"] for session_row in session.results().values()) == {
        compiler: 2,
        f"{compiler}.9": 2,
    }


async def test_dry_run_forecast_equals_the_following_run(session: Session) -> None:
    session.rows = [*programs(range(8)), {**programs([0])[0], "uuid": "equal"}]
    first = forecast(session)
    assert (first.rows, first.known, first.judged, first.tests, first.problems) == (9, 1, 8, 8 * 4, 2)
    assert first.cpu_hours == pytest.approx(8 * 4 * 2 / 3600) and first.expected_cpu_hours is None
    assert not (session.folder / "run").exists()
    await session.score()
    assert len(session.judged) == first.judged

    session.edit("sum")
    session.rows += programs(range(8, 10))
    files_before = contents(session.folder / "run")
    second = forecast(session, timing=Timing(factor=1.0))
    assert contents(session.folder / "run") == files_before
    assert second.again is not None and second.expected_cpu_hours is not None
    await session.score()
    assert len(session.judged) == second.judged == 4
    assert dict(second.again.reasons) == session.told


async def test_dry_run_counts_equal_programs_if_deduplication_is_off(session: Session) -> None:
    session.rows = [*programs(range(3)), {**programs([0])[0], "uuid": "equal"}]
    first = forecast(session, share=False)
    assert (first.judged, first.known) == (4, 0)
    await session.score(share=False)
    assert len(session.judged) == first.judged
    session.rows.append({**programs([1])[0], "uuid": "later"})
    second = forecast(session, share=False)
    assert (second.judged, second.known) == (1, 4)
    await session.score(share=False)
    assert len(session.judged) == second.judged


async def test_dry_run_refuses_changed_options_like_a_run(session: Session) -> None:
    session.rows = programs(range(2))
    await session.score()
    with pytest.raises(InputError, match="all-tests"):
        forecast(session, all_tests=True)
