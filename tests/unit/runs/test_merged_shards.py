"""Runs in shards: each call judges its share, and the merged report equals the report of one run."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.command_line import write_package

from ioi_eval import InputError, score_dump_sync
from ioi_eval.benchmarks import dumps
from ioi_eval.runs import (
    DumpOptions,
    RunOptions,
    Selection,
    Shard,
    report_sync,
)
from ioi_eval.store.folder import MeasuredLimit, read_info, read_limits, read_rows, write_limits
from ioi_eval.testing import Broken, FakeEngine, FakeTest

ROWS = 20


def outcome(test: FakeTest) -> float | Broken:
    """Return a result by the row's number: every fifth fails in the judge, the rest fail up to one test."""
    number = int(test.source.partition("row_")[2].partition(";")[0])
    return Broken("no disk") if number % 5 == 4 else float(number % 5 != test.index)


def write_problems(folder: Path) -> Path:
    for name in ("add", "sub"):
        write_package(folder / "problems" / name)
    return folder / "problems"


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    return write_problems(tmp_path)


def row(number: int) -> dict[str, Any]:
    code = None if number == 7 else f"int main() {{}} int row_{number};"
    problem = ("add", "sub")[number % 2]
    return {"id": f"r{number}", "problem_id": problem, "model": f"m{number % 3}", "code": code}


def write(path: Path, rows: Any) -> Path:
    path.write_text("".join(json.dumps(dump_row) + "\n" for dump_row in rows))
    return path


def write_rows(folder: Path) -> Path:
    return write(folder / "rows.jsonl", map(row, range(ROWS)))


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    return write_rows(tmp_path)


def scored(
    dump: Path, problems: Path, out: Path, shard: str = "", judged: int | None = None, **more: Any
) -> Path:
    """Score a dump or one shard of it. `judged` is the expected number of judged rows."""
    chosen = {"selection": Selection(shard=Shard.parse(shard) if shard else None), **more}
    report = score_dump_sync(dump, problems, out=out, engine=FakeEngine(outcome), **chosen)
    assert judged is None or report.call.judged == judged
    return out


def by_shards(dump: Path, problems: Path, number: int, of: str = "part", **more: Any) -> list[Path]:
    folders = [dump.with_name(f"{of}-shard-{index}-of-{number}") for index in range(1, number + 1)]
    for index, folder in enumerate(folders, 1):
        scored(dump, problems, folder, f"{index}/{number}", **more)
    return folders


@pytest.fixture(scope="module")
def finished(own_folder: Path) -> Path:
    """Return a folder with a whole run and with the same run in three shards. Tests use copies of them."""
    folder = Path(tempfile.mkdtemp(prefix="merged-shards-", dir=own_folder))
    dump, problems = write_rows(folder), write_problems(folder)
    scored(dump, problems, folder / "whole")
    by_shards(dump, problems, 3)
    return folder


@pytest.fixture
def whole(finished: Path, tmp_path: Path) -> Path:
    return shutil.copytree(finished / "whole", tmp_path / "whole")


@pytest.fixture
def shards(finished: Path, tmp_path: Path) -> list[Path]:
    names = (f"part-shard-{index}-of-3" for index in (1, 2, 3))
    return [shutil.copytree(finished / name, tmp_path / name) for name in names]


def summary_of(folder: Path) -> Mapping[str, Any]:
    """Return a summary without its date."""
    summary: Mapping[str, Any] = json.loads((folder / "summary.json").read_text())
    return {name: value for name, value in summary.items() if name != "date"}


def report_of(folder: Path) -> str:
    """Return a report without its date, which only runs of more than a second have."""
    return re.sub(r"\d{4}-\d\d-\d\d, ", "", (folder / "report.md").read_text())


def test_merged_shards_report_equals_report_of_one_run(whole: Path, shards: list[Path]) -> None:
    report_equals_report_of_one_run(whole, shards)


@pytest.mark.nightly
def test_merged_report_with_empty_shards_equals_report_of_one_run(dump: Path, problems: Path) -> None:
    whole = scored(dump, problems, dump.with_name("whole"))
    shards = by_shards(dump, problems, 16)
    assert not all(list(read_rows(shard)) for shard in shards)
    report_equals_report_of_one_run(whole, shards)


def report_equals_report_of_one_run(whole: Path, shards: list[Path]) -> None:
    keys = [result_row["key"] for shard in shards for result_row in read_rows(shard)]
    assert sorted(keys) == sorted(result_row["key"] for result_row in read_rows(whole))
    merged = whole.with_name("merged")
    report = report_sync(shards, out=merged)
    assert [*report.summaries] == [str(merged)] and report.page == str(merged / "report.html")
    assert summary_of(merged) == summary_of(whole)
    assert report_of(merged) == report_of(whole)
    assert (merged / "problems.json").read_text() == (whole / "problems.json").read_text()
    rows = [sorted(read_rows(folder), key=lambda row: str(row["key"])) for folder in (merged, whole)]
    assert rows[0] == rows[1]
    summary_before = summary_of(merged)
    report_sync(shards, out=merged)
    assert summary_of(merged) == summary_before


def test_single_shard_equals_whole_run(finished: Path, tmp_path: Path) -> None:
    shard = scored(finished / "rows.jsonl", finished / "problems", tmp_path / "part", "1/1")
    assert summary_of(shard) == summary_of(finished / "whole")


def test_merged_shards_count_rejected_rows_like_one_run(tmp_path: Path, problems: Path) -> None:
    """Rejected rows and duplicate rows."""
    lines = [row(number) for number in range(12)]
    lines += [
        lines[3],
        {**row(13), "code": "int main() {} int row_13;\n```cpp"},
        {**row(14), "problem_id": "gone"},
    ]
    dump = write(tmp_path / "rows.jsonl", lines)
    reading = DumpOptions(skip_bad_rows=True)
    whole = scored(dump, problems, tmp_path / "whole", reading=reading)
    given_settings = summary_of(whole)["settings"]["given"]
    assert any("cannot be used" in remark for remark in given_settings["rows"])
    shards = by_shards(dump, problems, 3, reading=reading)
    report_sync(shards, out=tmp_path / "merged")
    assert summary_of(tmp_path / "merged")["settings"] == summary_of(whole)["settings"]
    assert (tmp_path / "merged" / "rejected.jsonl").exists()


@pytest.mark.nightly(unless="choice1")
@pytest.mark.parametrize("choice", [{"limit": 9}, {"keys": frozenset({"r1", "r2", "r12"})}])
def test_shards_select_same_rows_as_one_run(dump: Path, problems: Path, choice: dict[str, Any]) -> None:
    whole = scored(dump, problems, dump.with_name("whole"), selection=Selection(**choice))
    shard_keys = list[str]()
    for index in (1, 2, 3):
        selection = Selection(**choice, shard=Shard(index=index, number=3))
        folder = scored(dump, problems, dump.with_name(f"p{index}"), selection=selection)
        shard_keys += [str(result_row["key"]) for result_row in read_rows(folder)]
    assert sorted(shard_keys) == sorted(str(result_row["key"]) for result_row in read_rows(whole))


def test_large_dump_in_shards_reports_like_one_run(
    dump: Path, problems: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first rows are judged while the rest is scanned."""
    monkeypatch.setattr(dumps, "LARGE_DUMP_BYTES", 0)
    monkeypatch.setattr(dumps, "SAMPLED_ROWS", 10)
    shards = by_shards(dump, problems, 2)
    report_sync(shards, out=dump.with_name("merged"))
    merged_summary, expected = summary_of(dump.with_name("merged")), summary_of(whole)
    assert merged_summary["models"] == expected["models"] and merged_summary["complete"]


def test_report_warns_of_missing_shards(shards: list[Path]) -> None:
    lone = summary_of(shards[1])
    assert not lone["complete"] and "shards 1, 3 of 3 are missing" in lone["warnings"][0]
    report_sync([shards[2], shards[0]])
    merged = shards[0].with_name("part-merged")
    merged_summary = summary_of(merged)
    assert not merged_summary["complete"] and "shard 2 of 3 is missing" in merged_summary["warnings"][0]
    assert "with the folders of all 3 shards makes one run" in merged_summary["warnings"][0]
    info = read_info(merged)
    assert info is not None and info.shard == "1,3/3" and len(info.merged) == 2
    report_sync(shards)
    merged_summary = summary_of(merged)
    assert merged_summary["complete"] and "incomplete" not in "".join(merged_summary["warnings"])


def test_run_json_names_the_shard(shards: list[Path]) -> None:
    folder = shards[1]
    assert json.loads((folder / "run.json").read_text())["shard"] == "2/3"
    assert json.loads((folder / "run.json").read_text())["expected"] == len(list(read_rows(folder))) + len(
        (folder / "failures.jsonl").read_text().splitlines()
    )


def test_default_run_folder_names_shard(dump: Path, problems: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(dump.parent)
    chosen = Selection(shard=Shard(index=2, number=3))
    report = score_dump_sync(dump, problems, engine=FakeEngine(outcome), selection=chosen)
    assert report.out == "runs/rows-shard-2-of-3"


@pytest.mark.nightly(unless="^(1/4-2/4|-1/4)")
@pytest.mark.parametrize(
    ("first_shard", "second_shard", "message"),
    [
        ("1/4", "2/4", "holds shard 1/4, but this call is for shard 2/4"),
        ("1/4", "1/5", "holds shard 1/4, but this call is for shard 1/5"),
        ("1/4", "", "holds shard 1/4, but this call is for a whole run"),
        ("", "1/4", "holds a whole run, but this call is for shard 1/4"),
    ],
)
def test_folder_of_another_shard_is_refused(
    dump: Path, problems: Path, first_shard: str, second_shard: str, message: str
) -> None:
    folder = scored(dump, problems, dump.with_name("part"), first_shard)
    rows = (folder / "results.jsonl").read_bytes()
    with pytest.raises(InputError, match=message) as refused:
        scored(dump, problems, folder, second_shard)
    assert refused.value.where == str(folder) and (folder / "results.jsonl").read_bytes() == rows
    scored(dump, problems, folder, second_shard, options=RunOptions(fresh=True))
    info = read_info(folder)
    assert info is not None and info.shard == second_shard


def test_resumed_shard_judges_only_its_new_rows(dump: Path, problems: Path, shards: list[Path]) -> None:
    folder = shards[0]
    rows_before = len((folder / "results.jsonl").read_text().splitlines())
    write(dump, map(row, range(ROWS + 20)))
    scored(dump, problems, folder, "1/3")
    keys_after = [str(result_row["key"]) for result_row in read_rows(folder)]
    assert rows_before < len(keys_after) and all(Shard.parse("1/3").contains(key) for key in keys_after)


def test_warning_about_many_missing_shards_has_their_number(dump: Path, problems: Path) -> None:
    folder = scored(dump, problems, dump.with_name("part"), "2/2000")
    assert "1,999 of 2,000 shards are missing" in summary_of(folder)["warnings"][0]


def test_incomplete_shard_makes_merged_run_incomplete(
    dump: Path, problems: Path, whole: Path, shards: list[Path]
) -> None:
    results = shards[1] / "results.jsonl"
    lines = results.read_bytes().splitlines(keepends=True)
    results.write_bytes(b"".join(lines[:-1]))
    report_sync(shards, out=dump.with_name("merged"))
    merged_summary = summary_of(dump.with_name("merged"))
    assert (
        not merged_summary["complete"] and "Repeat the command of each shard" in merged_summary["warnings"][0]
    )
    scored(dump, problems, shards[1], "2/3", judged=1)
    report_sync(shards, out=dump.with_name("merged"))
    assert summary_of(dump.with_name("merged")) == summary_of(whole)


@pytest.mark.nightly(unless="shards|all-tests")
@pytest.mark.parametrize(
    ("shard", "more", "message"),
    [
        ("2/4", {}, "number of shards: 3 -> 4"),
        ("2/3", {"options": RunOptions(all_tests=True)}, "option all-tests: false -> true"),
        ("2/3", {"reading": DumpOptions(model_column="id")}, "option model-column"),
        ("2/3", {"selection": Selection(shard=Shard.parse("2/3"), limit=9)}, "limit of rows: None -> 9"),
    ],
)
def test_shard_with_other_settings_is_refused(
    dump: Path, problems: Path, shards: list[Path], shard: str, more: dict[str, Any], message: str
) -> None:
    first_shard = shards[0]
    two = scored(dump, problems, dump.with_name("two"), shard, **more)
    refuses([first_shard, two], f"the folder does not contain a shard of the run in {first_shard}: ", message)


def test_shard_of_another_dump_is_refused(problems: Path, shards: list[Path], tmp_path: Path) -> None:
    other = write(tmp_path / "other.jsonl", map(row, range(ROWS + 1)))
    refuses([shards[0], scored(other, problems, tmp_path / "two", "2/3")], "another dump")


def test_shard_of_a_changed_problem_is_refused(dump: Path, problems: Path, shards: list[Path]) -> None:
    (problems / "add" / "tests" / "1-1.in").write_text("1 3\n")
    refuses([shards[0], scored(dump, problems, dump.with_name("two"), "2/3")], "other problems")


def refuses(folders: list[Path], *message: str) -> None:
    """Check that a report of the folders is refused with these messages, and that nothing is written."""
    files_before = sorted(folders[0].parent.rglob("*"))
    with pytest.raises(InputError) as refused:
        report_sync(folders)
    assert all(expected in str(refused.value) for expected in message) and refused.value.remedy
    assert sorted(folders[0].parent.rglob("*")) == files_before


def test_merging_shard_with_whole_run_is_refused(whole: Path, shards: list[Path]) -> None:
    refuses([*shards, whole], "whole", f"the folder does not contain a shard, unlike {shards[0]}")
    refuses([*shards, whole.with_name("gone")], "gone", "the folder does not contain a shard")


def test_runs_by_shards_are_compared_by_their_merged_folders(
    dump: Path, problems: Path, shards: list[Path]
) -> None:
    merged = [dump.with_name(name) for name in ("part-merged", "second-merged")]
    report_sync(shards)
    report_sync(by_shards(dump, problems, 2, "second", options=RunOptions(all_tests=True)))
    report = report_sync(merged, out=dump.with_name("both"))
    assert [*report.summaries] == list(map(str, merged))


def test_shard_in_two_folders_is_refused(shards: list[Path]) -> None:
    first_shard = shards[0]
    two = shutil.copytree(first_shard, first_shard.with_name("two"))
    refuses([first_shard, two], f"shard 1/3 is in {first_shard} already")
    refuses([first_shard, first_shard], f"shard 1/3 is in {first_shard} already")


def test_row_of_another_shard_is_refused(shards: list[Path]) -> None:
    strange = (shards[0] / "results.jsonl").read_bytes().splitlines(keepends=True)[0]
    with (shards[1] / "results.jsonl").open("ab") as results:
        results.write(strange)
    with pytest.raises(InputError, match="does not belong to shard 2/3"):
        report_sync(shards)


def test_shards_that_measured_different_limits_are_refused(shards: list[Path]) -> None:
    limit = MeasuredLimit(
        problem="add", cpu_time=1.0, slowest=0.5, solution="right", test="1", multiplier=2.0
    )
    write_limits(shards[0], {"add": limit})
    write_limits(shards[1], {"add": msgspec.structs.replace(limit, cpu_time=1.5)})
    refuses(
        shards[:2], "the shard's measured limits of add, 1.5 s and 1 process, differ", "1 s and 1 process"
    )
    write_limits(shards[1], {"add": limit})
    report_sync(shards[:2])
    assert read_limits(shards[0].with_name("part-merged")) == {"add": limit}


def test_merged_settings_list_engines_of_all_shards(shards: list[Path]) -> None:
    for folder, engine in zip(shards, ("http://a", "http://b", "http://a"), strict=True):
        content = json.loads((folder / "run.json").read_text())
        content["settings"]["engine"] = engine
        (folder / "run.json").write_text(json.dumps(content))
    report_sync(shards)
    merged_summary = summary_of(shards[0].with_name("part-merged"))
    assert merged_summary["settings"]["given"]["engine"] == "http://a,http://b"


def test_merged_shards_do_not_overwrite_a_run(whole: Path, shards: list[Path]) -> None:
    results_before = (whole / "results.jsonl").read_bytes()
    with pytest.raises(InputError, match="the folder contains a judged run"):
        report_sync(shards, out=whole)
    with pytest.raises(InputError, match="the folder contains a judged run"):
        report_sync(shards, out=shards[0])
    assert (whole / "results.jsonl").read_bytes() == results_before
