"""`ioi-eval score` on small packages with real compilers, proctor and sandboxes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from support.command_line import (
    BROKEN,
    PYTHON,
    RIGHT,
    SMALL,
    WRONG,
    CommandLine,
    contents,
    results,
    row,
    write_dump,
    write_package,
)

from ioi_eval.cli.score import format_hours

ROWS = [
    row("right", RIGHT),
    row("small", SMALL),
    row("wrong", WRONG, model="other"),
    row("broken", BROKEN),
    row("python", PYTHON, language="python"),
    row("equal", RIGHT, model="other"),
    row("nothing", None, generation="I do not know."),
    row("talk", None, generation=f"<think>```cpp\n{WRONG}```</think>So:\n```cpp\n{RIGHT}```\nDone."),
]
POINTS = {
    "right": 100,
    "small": 40,
    "wrong": 0,
    "broken": 0,
    "python": 100,
    "equal": 100,
    "nothing": 0,
    "talk": 100,
}


def test_dump_is_scored_once_by_repeated_calls(cli: CommandLine, problems: Path) -> None:
    dump = write_dump(cli.folder / "d.jsonl", ROWS)
    cli.set_keys(keep_outputs=True)
    first = cli("score", dump, "--problems", problems)
    assert first.returncode == 0, first.stderr
    run = cli.folder / "runs" / "d"
    rows = results(run)
    assert {key: result_row["all_subtasks_points"] for key, result_row in rows.items()} == POINTS
    wrong_output = rows["wrong"]["wrong_output"]
    assert wrong_output.pop("input").split() == ["1", "2"]
    assert wrong_output == {"test_name": "1-1", "output": "0", "expected": "3\n"}
    assert {key for key, result_row in rows.items() if "wrong_output" in result_row} == {"small", "wrong"}
    assert "Scored 8 submissions (2 equal to another one)" in first.stdout
    assert first.stdout.splitlines()[-1] == "Report: runs/d/report.md, for a browser runs/d/report.html"
    assert {"results.jsonl", "run.json", "summary.json", "report.md"} <= contents(run).keys()

    files_before = contents(run)
    second = cli("score", dump, "--problems", problems)
    assert second.returncode == 0, second.stderr
    assert "Nothing new to do: 8 submissions" in second.stdout
    assert contents(run) == files_before


def test_gzip_dump_and_standard_input_are_same_dump(cli: CommandLine, problems: Path) -> None:
    lines = write_dump(cli.folder / "d.jsonl", [ROWS[0], ROWS[2]]).read_bytes()
    (cli.folder / "d.jsonl").unlink()
    (cli.folder / "d.jsonl.gz").write_bytes(gzip.compress(lines))
    first = cli("score", cli.folder / "d.jsonl.gz", "--problems", problems)
    assert first.returncode == 0, first.stderr
    assert results(cli.folder / "runs" / "d").keys() == {"right", "wrong"}

    piped = cli.given(lines, "score", "-", "--problems", problems, "--out", "runs/d")
    assert piped.returncode == 0, piped.stderr
    assert "Nothing new to do: 2 submissions" in piped.stdout


def test_result_rows_have_verdicts_and_measurements(cli: CommandLine, problems: Path) -> None:
    dump = write_dump(cli.folder / "d.jsonl", ROWS)
    assert cli("score", dump, "--problems", problems, "--out", "run", "--all-tests").returncode == 0
    rows = results(cli.folder / "run")
    assert {key: result_row["all_subtasks_points"] for key, result_row in rows.items()} == POINTS
    statuses = {
        key: [subtask["status"] for subtask in result_row["all_subtasks_results"]]
        for key, result_row in rows.items()
    }
    assert statuses["right"] == statuses["python"] == ["AC", "AC"]
    assert statuses["small"] == ["AC", "WA"]
    assert statuses["broken"] == statuses["nothing"] == ["CE", "CE"]
    assert not rows["broken"]["code_compiles"]
    assert "error" in rows["broken"]["compile_output"]
    nothing = rows["nothing"]["all_subtasks_results"][0]["test_results"][0]
    assert nothing["feedback"] == "no code found"
    reasons = {key: result_row["reason"] for key, result_row in rows.items() if result_row["reason"]}
    assert reasons == {"broken": "not compiled", "nothing": "no program"}
    assert rows["nothing"]["verdict"] == "CE"
    summary = json.loads((cli.folder / "run" / "summary.json").read_text())
    assert (summary["verdicts"]["no program"], summary["verdicts"]["CE"]) == (1, 1)
    report = (cli.folder / "run" / "report.md").read_text()
    assert "| CE | no program |" in " ".join(report.split())
    tested = rows["small"]["all_subtasks_results"][1]["test_results"]
    assert [(test["test_name"], test["status"]) for test in tested] == [
        ("2-1", "WA"),
        ("2-2", "AC"),
        ("1-1", "AC"),
    ]
    assert all(test["memory"] > 0 for test in tested)
    assert rows["right"]["confinement"]["no_new_privs"]
    assert rows["right"]["model"] == "m"


def test_programs_in_livecodebench_output_files_are_python(cli: CommandLine, problems: Path) -> None:
    """Otherwise all of them would be CE as C++."""
    outputs = [{"question_id": "add", "output_list": ["Sure."] * 2, "code_list": [PYTHON] * 2}]
    (cli.folder / "d.json").write_text(json.dumps(outputs))
    completed = cli("score", "d.json", "--problems", problems, "--out", "run")
    assert completed.returncode == 0, completed.stderr
    rows = results(cli.folder / "run").values()
    assert [(entry["points"], entry["language"], entry["language_from"]) for entry in rows] == [
        (100, "python", "format")
    ] * 2


def test_next_call_extends_selection_of_rows(cli: CommandLine, problems: Path) -> None:
    dump = write_dump(cli.folder / "d.jsonl", ROWS[:5])
    base = ("score", dump, "--problems", problems, "--out", "run")
    assert cli(*base, "--limit", "2").returncode == 0
    assert results(cli.folder / "run").keys() == {"right", "small"}
    only = ("--only", "small", "--only", "wrong", "--only", "python")
    last = cli(*base, *only, "--problem", "add", "--workers", "1")
    assert last.returncode == 0, last.stderr
    assert "1 was scored by earlier calls" in last.stdout, last.stdout
    assert results(cli.folder / "run").keys() == {"right", "small", "wrong", "python"}


def test_changed_options_of_a_run_are_refused_unless_fresh(cli: CommandLine, problems: Path) -> None:
    dump = write_dump(cli.folder / "d.jsonl", [ROWS[4]])
    base = ("score", dump, "--problems", problems, "--out", "run")
    assert cli(*base).returncode == 0
    files_before = contents(cli.folder / "run")

    options = cli(*base, "--all-tests")
    assert (options.returncode, "all-tests" in options.stderr) == (2, True)
    assert contents(cli.folder / "run") == files_before

    assert cli(*base, "--fresh").returncode == 0
    assert contents(cli.folder / "run").keys() == files_before.keys()


def test_resumed_run_judges_changed_rows_with_reasons(cli: CommandLine, problems: Path) -> None:
    """The reasons are printed before rows are judged again."""
    dump = write_dump(cli.folder / "d.jsonl", ROWS[:3])
    base = ("score", dump, "--problems", problems, "--out", "run")
    assert cli(*base).returncode == 0
    write_dump(dump, [row("right", SMALL), row("small", SMALL, model="renamed"), ROWS[4]])
    changed = cli(*base)
    assert changed.returncode == 0, changed.stderr
    for line in (
        "1 earlier result: judged again, because the program changed",
        "1 earlier result: written again, because other columns of the row changed",
        "1 earlier result: no longer in the input; moved to earlier.jsonl",
    ):
        assert line in changed.stderr.splitlines()
    points = {
        key: result_row["all_subtasks_points"] for key, result_row in results(cli.folder / "run").items()
    }
    assert points == {"right": 40, "small": 40, "python": 100}

    (problems / "add" / "tests" / "1-1.out").write_text("4\n")
    edited = cli(*base)
    assert "3 earlier results: judged again, because the problem changed (add)" in edited.stderr
    points = {
        key: result_row["all_subtasks_points"] for key, result_row in results(cli.folder / "run").items()
    }
    assert points == {"right": 0, "small": 0, "python": 0}

    other = cli("score", dump, "--problems", problems, "--out", "other", "--reuse", "run")
    assert "Scored 3 submissions (3 equal to another one)" in other.stdout
    missing = cli("score", dump, "--problems", problems, "--out", "new", "--reuse", "d.jsonl")
    assert missing.returncode == 2 and "--reuse" in missing.stderr


def test_dry_run_counts_work_without_judging(cli: CommandLine, problems: Path) -> None:
    dump = write_dump(cli.folder / "d.jsonl", ROWS)
    arguments = ("score", dump, "--problems", problems, "--out", "run", "--dry-run")
    completed = cli(*arguments)
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.splitlines() == [
        "8 submissions: 5 to judge (1 problem, 20 tests), 2 known or equal to another, 1 without a program",
        "At most 0.7 minutes of CPU, if each test uses its whole limit",
        "Nothing was judged",
    ]
    assert not (cli.folder / "run").exists()
    counts = json.loads(cli(*arguments, "--json").stdout)
    assert [counts[name] for name in ("rows", "judged", "known", "without", "tests")] == [8, 5, 2, 1, 20]


def test_dry_run_and_report_count_empty_and_equal_rows_alike(cli: CommandLine, problems: Path) -> None:
    """Rows without a program are not equal programs, although nothing distinguishes them."""
    rows = [row(key, RIGHT) for key in "ab"] + [
        {"uuid": key, "problem_id": "add", "generation": "I cannot."} for key in "cde"
    ]
    dump = write_dump(cli.folder / "d.jsonl", rows)
    arguments = ("score", dump, "--problems", problems, "--out", "run")
    assert "5 submissions: 1 to judge (1 problem, 4 tests), 1 known or equal to another, 3 without" in (
        cli(*arguments, "--dry-run").stdout
    )
    scored = cli(*arguments)
    assert "Scored 5 submissions (1 equal to another one)" in scored.stdout, scored.stderr
    assert json.loads((cli.folder / "run" / "summary.json").read_text())["repeated"] == 1


def test_report_lists_options_that_change_verdicts(cli: CommandLine, problems: Path) -> None:
    dump = write_dump(cli.folder / "d.jsonl", [row("a", RIGHT)])
    keys = ("time-limit=3", "memory-limit=64", "borderline=1:1")
    arguments = (
        "--time-factor",
        "2",
        "--packages",
        "none",
        *(part for key in keys for part in ("--set", key)),
    )
    scored = cli("score", dump, "--problems", problems, "--out", "run", *arguments)
    assert scored.returncode == 0, scored.stderr
    report = " ".join((cli.folder / "run" / "report.md").read_text().split())
    (page,) = (cli.folder / "run" / "report").glob("submission-*.html")
    assert "d.jsonl, line 1" in page.read_text() and "<td>uuid</td>" in page.read_text()
    for line in (
        "| Time limit | 3 s |",
        "| Memory limit | 64 MiB |",
        "| Packages | none |",
        "| Time factor | 2.0 |",
        "| Borderline | 1:1 |",
    ):
        assert line in report


def test_dry_run_refuses_python_that_does_not_exist(cli: CommandLine, problems: Path) -> None:
    dump = write_dump(cli.folder / "d.jsonl", [row("a", RIGHT)])
    completed = cli("score", dump, "--problems", problems, "--python", "2.5", "--dry-run")
    assert completed.returncode == 2 and "no interpreter of Python 2.5 was found" in completed.stderr, (
        completed.stderr
    )


def test_dry_run_reports_unselected_rows(cli: CommandLine) -> None:
    for name in ("apple", "pear"):
        write_package(cli.folder / "packages" / name)
    rows = [row(name, RIGHT, problem_id=name) for name in ("apple", "pear")]
    dump = write_dump(cli.folder / "d.jsonl", rows)
    arguments = ("score", dump, "--problems", "packages", "--sample", "1", "--dry-run")
    completed = cli(*arguments)
    assert "Left out 1 row: not selected" in completed.stdout.splitlines(), completed.stderr
    assert json.loads(cli(*arguments, "--json").stdout)["notes"] == ["Left out 1 row: not selected"]


def test_note_about_rows_names_keys_of_set_option(cli: CommandLine, problems: Path) -> None:
    dump = write_dump(cli.folder / "d.jsonl", [row("list", json.dumps([RIGHT, WRONG]))])
    completed = cli("score", dump, "--problems", problems, "--dry-run")
    assert "(--set split-lists=true reads each as a reply)" in completed.stdout, completed.stderr


def test_results_option_refuses_to_overwrite_inputs(cli: CommandLine, problems: Path) -> None:
    dump = write_dump(cli.folder / "d.jsonl", ROWS[:1])
    (cli.folder / "link.jsonl").symlink_to(dump)
    arguments = ("score", dump, "--problems", problems, "--out", "run")
    assert cli(*arguments).returncode == 0
    files_before = contents(cli.folder)
    for name in ("d.jsonl", "link.jsonl", "run/results.jsonl", "run/tests.parquet"):
        refused = cli(*arguments, "--results", name)
        assert refused.returncode == 2 and f"{name}, --results: " in refused.stderr, refused.stderr
    assert contents(cli.folder) == files_before and (cli.folder / "link.jsonl").is_symlink()


def test_dry_run_estimates_no_cpu_time_for_output_only(cli: CommandLine) -> None:
    cli("new", "packages/files", "--type", "output-only")
    write_package(cli.folder / "packages" / "add")
    rows = [row(name, RIGHT, problem_id=name) for name in ("add", "files")]
    dump = write_dump(cli.folder / "d.jsonl", rows)
    completed = cli("score", dump, "--problems", "packages", "--out", "run", "--dry-run")
    assert "At most 0.1 minutes of CPU" in completed.stdout, "four tests of 2 s each"


def test_sample_option_skips_rows_of_other_packages(cli: CommandLine) -> None:
    """Like a sample of a benchmark. A problem that no package has is still an error."""
    names = ("apple", "pear")
    for name in names:
        write_package(cli.folder / "packages" / name)
    rows = [row(name, RIGHT, problem_id=name) for name in names]
    options = ("--problems", "packages", "--sample", "1", "--out", "run", "--json")
    completed = cli("score", write_dump(cli.folder / "d.jsonl", rows), *options)
    assert completed.returncode == 0, completed.stderr
    assert json.loads(completed.stdout)["dump"]["left_out"] == {"not selected": 1}
    listed = json.loads(cli("problems", "packages", "--sample", "1", "--json").stdout)
    assert [entry["id"] for entry in listed] == list(results(cli.folder / "run"))

    rows.append(row("plum", RIGHT, problem_id="plum"))
    unknown = cli("score", write_dump(cli.folder / "d.jsonl", rows), *options)
    assert unknown.returncode == 2 and "unknown problem 'plum'" in unknown.stderr, unknown.stderr


def test_extract_key_selects_program_of_reply(cli: CommandLine, problems: Path) -> None:
    """The run continues, and only rows with changed programs are judged again."""
    both = f"```cpp\n{WRONG}```\nBetter:\n```cpp\n{RIGHT}```"
    dump = write_dump(cli.folder / "d.jsonl", [row("both", None, generation=both), row("right", RIGHT)])
    base = ("score", dump, "--problems", problems, "--out", "run")
    for method, points in (("last", 100), ("first", 0)):
        cli.set_keys(extract=method)
        completed = cli(*base)
        assert completed.returncode == 0, completed.stderr
        rows = results(cli.folder / "run")
        assert [rows[key]["all_subtasks_points"] for key in ("both", "right")] == [points, 100]
        assert rows["both"]["repairs"] == ([] if method == "last" else [f"extract:{method}"])
    assert "1 earlier result: judged again" in completed.stderr
    cli.set_keys(extract="best")
    assert cli(*base).returncode == 2


def test_json_option_prints_only_json(cli: CommandLine, problems: Path) -> None:
    dump = write_dump(cli.folder / "d.jsonl", [row("right", RIGHT), row("equal", RIGHT, model="other")])
    completed = cli("score", dump, "--problems", problems, "--out", "run", "--json")
    printed = json.loads(completed.stdout)
    assert (printed["scored"], printed["unscored"], printed["submissions"]) == (2, 0, 2)
    assert printed["this_call"]["judged"] == 2
    assert printed["report"] == "run/report.md"
    points = {model["model"]: model["points"] for model in printed["models"]}
    assert points == {"m": 100, "other": 100}
    assert completed.stderr == ""


def test_quiet_option_prints_nothing(cli: CommandLine, problems: Path) -> None:
    dump = write_dump(cli.folder / "d.jsonl", ROWS[:1])
    completed = cli("score", dump, "--problems", problems, "--out", "run", "--quiet")
    assert (completed.returncode, completed.stdout, completed.stderr) == (0, "", "")
    assert results(cli.folder / "run").keys() == {"right"}


# Gives more than full marks to an output that is better than the answer.
CHECKER_THAT_MAY_FAIL = """
#include <cstdio>
int main(int, char **argv) {
    long long want = 0, got = 0;
    std::fscanf(std::fopen(argv[2], "r"), "%lld", &want);
    std::fscanf(std::fopen(argv[3], "r"), "%lld", &got);
    if (got == 777) return std::puts("1.25"), 0;
    std::puts(want == got ? "1.0" : "0.0");
}
"""


def test_unjudged_rows_are_listed_and_only_they_are_retried(cli: CommandLine) -> None:
    write_package(cli.folder / "problems" / "add", checker=CHECKER_THAT_MAY_FAIL)
    strange = row("strange", "print(777)\n", language="python")
    dump = write_dump(cli.folder / "d.jsonl", [row("right", RIGHT), strange])
    base = ("score", dump, "--problems", "problems", "--out", "run")
    first = cli(*base)
    assert first.returncode == 3
    assert "not judged: strange:" in first.stderr
    assert "1 submission could not be judged, see run/failures.jsonl" in first.stderr
    assert "50.0 % of its submissions are unscored" in first.stderr
    assert results(cli.folder / "run").keys() == {"right"}
    failures = (cli.folder / "run" / "failures.jsonl").read_text().splitlines()
    assert [json.loads(line)["key"] for line in failures] == ["strange"]

    second = cli(*base, "--json")
    assert second.returncode == 3
    called = json.loads(second.stdout)
    assert (called["this_call"]["skipped"], called["this_call"]["failed"]) == (1, 1)
    assert called["models"][0]["unscored"] == 1
    assert len((cli.folder / "run" / "failures.jsonl").read_text().splitlines()) == 1


# Computes, measured by its CPU clock, for longer than the limits of these packages.
SLOW = """
#include <ctime>
#include <cstdio>
int main() {
    while (std::clock() < 0.08 * CLOCKS_PER_SEC) {}
    long long a, b;
    std::scanf("%lld %lld", &a, &b);
    std::printf("%lld", a + b);
}
"""


@pytest.mark.nightly
def test_time_factor_changes_verdict_and_is_recorded(cli: CommandLine) -> None:
    write_package(cli.folder / "packages" / "add", time_limit=0.06, subtasks={"01": (100, ["1-1"])})
    dump = write_dump(cli.folder / "d.jsonl", [row("slow", SLOW)])
    arguments = ("score", dump, "--problems", "packages", "--out", "run")
    assert cli(*arguments).returncode == 0
    assert results(cli.folder / "run")["slow"]["all_subtasks_results"][0]["status"] == "TLE"

    refused = cli(*arguments, "--time-factor", "5")
    assert refused.returncode == 2 and "time-factor" in refused.stderr and "--fresh" in refused.stderr

    assert cli(*arguments, "--time-factor", "5", "--fresh").returncode == 0
    assert {result_row["all_subtasks_points"] for result_row in results(cli.folder / "run").values()} == {100}
    assert (
        json.loads((cli.folder / "run" / "run.json").read_text())["fingerprint"]["options"]["time_factor"]
        == 5
    )
    assert cli(*arguments, "--time-factor", "5").stdout.startswith("Nothing new to do")


def test_time_limit_option_overrides_limits_of_problems(cli: CommandLine) -> None:
    write_package(cli.folder / "packages" / "add", time_limit=0.06, subtasks={"01": (100, ["1-1"])})
    dump = write_dump(cli.folder / "d.jsonl", [row("slow", SLOW)])
    arguments = ("score", dump, "--problems", "packages", "--out", "run")
    assert cli(*arguments).returncode == 0
    assert results(cli.folder / "run")["slow"]["verdict"] == "TLE"

    longer = cli(*arguments, "--set", "time-limit=5")
    assert longer.returncode == 0 and "1 earlier result: judged again" in longer.stderr, longer.stderr
    assert results(cli.folder / "run")["slow"]["verdict"] == "AC"
    assert cli(*arguments).stderr.count("judged again") == 1  # the problem's limit is valid again
    assert results(cli.folder / "run")["slow"]["verdict"] == "TLE"

    small = cli("problems", "packages", "--set", "time-limit=3", "--set", "memory-limit=48", "--json")
    assert '"memory": 50331648' in small.stdout and '"cpu_time": 3.0' in small.stdout, small.stdout
    assert cli(*arguments, "--set", "time-limit=0").returncode == 2
    slower = cli(*arguments, "--time-factor", "5")
    assert slower.returncode == 2 and "time-factor" in slower.stderr and "--fresh" in slower.stderr


def test_report_counts_borderline_verdicts(cli: CommandLine) -> None:
    write_package(cli.folder / "packages" / "add", time_limit=0.07, subtasks={"01": (100, ["1-1"])})
    dump = write_dump(cli.folder / "d.jsonl", [row("slow", SLOW)])
    arguments = ("score", dump, "--problems", "packages", "--out", "run")
    cli.set_keys(borderline="0.9:10")
    assert cli(*arguments).returncode == 0
    (test,) = results(cli.folder / "run")["slow"]["all_subtasks_results"][0]["test_results"]
    assert test["status"] == "TLE" and len(test["cpu_times"]) == 4
    report = (cli.folder / "run" / "report.md").read_text()
    assert "1 test took as long as the time limit or a little longer" in report
    assert "0 verdicts hung" in report
    cli.set_keys(borderline="2:1")
    assert cli(*arguments).returncode == 2


@pytest.mark.parametrize(
    ("hours", "formatted"),
    [(2.0, "2.0 hours"), (0.02, "1.2 minutes"), (0.0015, "5.4 seconds"), (0.00001, "0.036 seconds")],
)
def test_cpu_time_amount_is_rounded(hours: float, formatted: str) -> None:
    assert format_hours(hours) == formatted
