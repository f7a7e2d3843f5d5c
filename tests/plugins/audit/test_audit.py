"""`ioi-eval audit` finds every planted fault, and none in clean problems."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from faulty_rows import CHECKER, COMPARED, EXAMPLES, SEVERAL_ANSWERS, make_rows
from support.command_line import CommandLine, write_package

FOUND = 1
FAULT_OF = {"broken spaces": "broken test"}
ADD = "a, b = map(int, input().split())\n"


def read_audit(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / "audit.json").read_text())
    return report


def faults_by_problem(report: Mapping[str, Any]) -> dict[str, list[str]]:
    return {
        problem["problem"]: [diagnosis["fault"] for diagnosis in problem["diagnoses"]]
        for problem in report["problems"]
    }


def row(name: str, right: Sequence[str], wrong: Sequence[str] = (), **columns: Any) -> dict[str, Any]:
    """Return a row of a problem that adds two numbers."""
    return {
        "name": name,
        "description": "Add two numbers.",
        "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
        "private_tests": {"input": ["20 30\n"], "output": ["50\n"]},
        "solutions": {"language": [3] * len(right), "solution": list(right)},
        "incorrect_solutions": {"language": [3] * len(wrong), "solution": list(wrong)},
        "time_limit": {"seconds": 2, "nanos": 0},
        "memory_limit_bytes": 256 << 20,
        **columns,
    }


def write_rows(folder: Path, *rows: Mapping[str, Any]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(columns) + "\n" for columns in rows))
    return path


def write_problem(
    folder: Path,
    right: Sequence[str],
    wrong: Sequence[str] = (),
    tests: Sequence[tuple[str, str]] = (("1 2\n", "3\n"), ("20 30\n", "50\n")),
    time_limit: float = 2.0,
) -> Path:
    """Write a package of the problem `add` with solutions. It is read faster than a row."""
    names = [str(number) for number in range(len(tests))]
    package = write_package(folder / "add", time_limit=time_limit, tests={}, subtasks={"1": (100, names)})
    for test, (input_text, answer) in zip(names, tests, strict=True):
        (package / "tests" / f"{test}.in").write_text(input_text)
        (package / "tests" / f"{test}.out").write_text(answer)
    for kind, codes in (("correct", right), ("incorrect", wrong)):
        (package / "solutions" / kind).mkdir(parents=True)
        for number, code in enumerate(codes):
            (package / "solutions" / kind / f"{number}.py").write_text(code)
    return package


@pytest.mark.nightly(unless="some")
@pytest.mark.parametrize(
    ("repeats", "names"),
    [
        pytest.param(1, ("frame", "banners"), id="some"),
        pytest.param(3, (*COMPARED, *SEVERAL_ANSWERS), id="all"),
    ],
)
def test_audit_finds_every_planted_fault_and_none_in_clean_problems(
    cli: CommandLine, repeats: int, names: Sequence[str]
) -> None:
    faulty_rows = list(make_rows(repeats, names))
    assert repeats == 1 or len(faulty_rows) >= 100
    source = write_rows(cli.folder, *(faulty_row.columns for faulty_row in faulty_rows))
    completed = cli("audit", source.name, "--out", "first", "--quiet")
    assert completed.returncode == FOUND, completed.stderr
    report = read_audit(cli.folder / "first")
    expected = {
        faulty_row.columns["name"]: []
        if faulty_row.fault == "clean"
        else [FAULT_OF.get(faulty_row.fault, faulty_row.fault)]
        for faulty_row in faulty_rows
    }
    assert faults_by_problem(report) == expected
    assert report["untrusted"].keys() == {name for name, faults in expected.items() if faults}
    assert "reject a right solution; on them pass@1 is a lower bound." in report["sentences"][0]
    page = (cli.folder / "first" / "audit.html").read_text()
    assert "<svg" in page and CHECKER in page
    if repeats > 1:
        cli("audit", source.name, "--out", "second", "--quiet")
        first, second = (cli.folder / name / "audit.json" for name in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()


def test_command_of_diagnosis_prints_the_output_difference(cli: CommandLine) -> None:
    right = [ADD + "print(a + b)", ADD + "print(b + a)"]
    tests = [("1 2\n", "3\n"), ("1 1\n", "3\n")]
    source = write_problem(cli.folder / "two words", right, tests=tests)
    cli("audit", source.relative_to(cli.folder), "--out", "found", "--quiet")
    (problem,) = read_audit(cli.folder / "found")["problems"]
    (diagnosis,) = problem["diagnoses"]
    assert diagnosis["fault"] == "broken test" and diagnosis["tests"] == ["1"]
    assert problem["rejections"][0]["difference"] == "Word 1 is '2', expected '3'"
    program, *arguments = shlex.split(diagnosis["command"])
    shown, difference = cli(*arguments), "add, 0.py: expected correct, got WA"
    assert (program, shown.returncode) == ("ioi-eval", 1) and difference in shown.stdout, shown.stderr


def test_comparison_is_too_strict_only_if_no_more_wrong_solutions_are_accepted(cli: CommandLine) -> None:
    right = [ADD + "print(a + b)", ADD + "print(a + b, end=' \\n')"]
    source = write_rows(
        cli.folder,
        row("blanks", right, [ADD + "print(a + b + 1)"]),
        row("blanks matter", right, [ADD + "print(' ', a + b)"]),
    )
    cli("audit", source.name, "--set", "checker=exact", "--out", "found", "--quiet")
    strict, matter = read_audit(cli.folder / "found")["problems"]
    assert [diagnosis["fault"] for diagnosis in strict["diagnoses"]] == ["comparison too strict"]
    sentence = strict["diagnoses"][0]["sentence"]
    assert "no more wrong ones: stripped, white-diff, stripped-lines, lines, word-lines, tokens," in sentence
    assert "--set checker=stripped" in strict["diagnoses"][0]["command"]
    assert [diagnosis["fault"] for diagnosis in matter["diagnoses"]] == ["needs a checker"]


def test_repeated_audit_judges_nothing_again(cli: CommandLine) -> None:
    """The debug log of an audit has the steps of each solution, and that of its repetition has none."""
    source = write_problem(cli.folder, ["while True: pass"], tests=[("1 2\n", "3\n")], time_limit=0.02)
    first = cli("audit", source.name, "--out", "found", "--log-level", "debug")
    assert first.returncode == FOUND and "add/correct/0.py: test 0: TLE" in first.stderr, first.stderr
    (diagnosis,) = read_audit(cli.folder / "found")["problems"][0]["diagnoses"]
    assert "needs more than 8 times the time" in diagnosis["sentence"]
    files = [cli.folder / "found" / name for name in ("audit.json", "probes.jsonl", "run/results.jsonl")]
    contents = [path.read_bytes() for path in files]
    repeated = cli("audit", source.name, "--out", "found", "--log-level", "debug")
    assert repeated.returncode == FOUND and "test 0: TLE" not in repeated.stderr
    assert [path.read_bytes() for path in files] == contents


def test_right_solution_that_cannot_run_is_listed_as_unusable(cli: CommandLine) -> None:
    right = [ADD + "print(a + b)", "print 3", "raise SystemExit(3)"]
    source = write_problem(cli.folder, right, ["print(3)"])
    completed = cli("audit", source.name, "--out", "found", "--quiet")
    assert completed.returncode == 0, completed.stdout + completed.stderr
    (problem,) = read_audit(cli.folder / "found")["problems"]
    assert (problem["right"]["number"], problem["right"]["of"]) == (1, 1) and len(problem["unusable"]) == 2


def test_audit_reads_verdicts_of_solutions_from_a_dump_column(cli: CommandLine) -> None:
    source = write_problem(cli.folder, [ADD + "print(a + b)"])
    dump = cli.folder / "known.jsonl"
    dump.write_text(
        "".join(
            json.dumps(
                {"id": name, "problem_id": "add", "code": code, "language": "python", "verdict": verdict}
            )
            + "\n"
            for name, code, verdict in (
                ("good", ADD + "print(a + b)", "AC"),
                ("bad", ADD + "print(a * b)", "WA"),
                ("sly", ADD + "print(a + b if a < 100 else 0)", "WRONG_ANSWER"),
            )
        )
    )
    completed = cli("audit", source.name, "--solutions", dump.name, "--out", "found")
    assert completed.returncode == FOUND, completed.stderr
    report = read_audit(cli.folder / "found")
    assert (report["right"]["of"], report["wrong"]["number"], report["wrong"]["of"]) == (2, 1, 2)
    assert faults_by_problem(report) == {"add": ["weak"]} and "sly" in completed.stdout
    assert "validate known.jsonl --problems add" in completed.stdout


def test_wrong_mutant_accepted_by_all_tests_is_reported_as_weak_tests(cli: CommandLine) -> None:
    right = [
        "a, b = map(int, input().split())\nif a < b:\n    a = b\nprint(a)\n",
        "print(max(map(int, input().split())))\n",
    ]
    source = write_problem(cli.folder, right, tests=[("9 1\n", "9\n"), ("8 2\n", "8\n"), ("7 3\n", "7\n")])
    arguments = ("audit", source.name, "--mutants", "8", "--quiet", "--out")
    completed = cli(*arguments, "found")
    (problem,) = read_audit(cli.folder / "found")["problems"]
    counts = problem["mutants"]
    assert completed.returncode == FOUND, (completed.stderr, counts)
    assert counts["judged"] == counts["rejected"] + len(counts["accepted"]) + counts["same"]
    assert any("missing case" in key for key in counts["accepted"]) and counts["same"], counts
    assert [diagnosis["fault"] for diagnosis in problem["diagnoses"]] == ["weak"]
    cli(*arguments, "again")
    first, second = (cli.folder / name / "audit.json" for name in ("found", "again"))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.nightly
def test_audit_finds_no_fault_in_example_packages(cli: CommandLine) -> None:
    chosen = ("--problem", "kettle", "--problem", "shelves")
    completed = cli("audit", EXAMPLES, *chosen, "--out", "found")
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert "0.0 % of this dataset's problems reject a right solution" in completed.stdout


def test_audit_refuses_expected_column_without_solutions(cli: CommandLine) -> None:
    source = write_problem(cli.folder, [ADD + "print(a + b)"])
    completed = cli("audit", source.name, "--set", "expected-column=verdict")
    assert (
        completed.returncode == 2
        and "--set expected-column: it has no effect without --solutions" in completed.stderr
    )
    dump = cli.folder / "known.jsonl"
    dump.write_text(json.dumps({"id": "a", "problem_id": "add", "code": "", "score": 1, "verdict": "AC"}))
    completed = cli("audit", source.name, "--solutions", dump.name)
    assert completed.returncode == 2 and "Name it with --set expected-column=NAME" in completed.stderr


def test_problem_that_cannot_be_built_is_named_with_the_reason(cli: CommandLine) -> None:
    for name in ("broken", "sound"):
        checker = "int main( {" if name == "broken" else None
        package = write_package(cli.folder / "packages" / name, checker=checker)
        (package / "solutions" / "correct").mkdir(parents=True)
        (package / "solutions" / "correct" / "add.py").write_text(ADD + "print(a + b)")
    completed = cli("audit", "packages", "--out", "found")
    assert completed.returncode == 3, completed.stderr
    assert "broken: 1 solution could not be judged, such as broken/correct/add.py: " in completed.stdout
    assert "Nothing is known of 1 problem: no right or wrong solution could be used." in completed.stdout
    assert "does not compile" in (cli.folder / "found" / "audit.html").read_text()


def test_audit_of_dataset_without_solutions_is_refused(cli: CommandLine) -> None:
    completed = cli("audit", write_problem(cli.folder, []).name)
    assert completed.returncode == 2 and "no solutions with known verdicts" in completed.stderr
    assert not (cli.folder / "audits").exists()
