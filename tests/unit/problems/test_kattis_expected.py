"""Expectations in ICPC packages: submissions.yaml, and a tag with a score."""

from __future__ import annotations

from pathlib import Path

import pytest
from kattis_files import GROUPS, write
from msgspec.structs import replace
from package_files import sound

from ioi_eval.models import Solution, TestResult, Verdict
from ioi_eval.rules.calibration import find_expected_speed
from ioi_eval.rules.expectations import (
    collect_package_solutions,
    is_expectation_met,
    is_known_keyword,
    list_expectations,
)

HEADER = """problem_format_version: 2025-09
name: Doubling
limits: {time_limit: 3, memory: 256}
"""
RULES = "submissions/submissions.yaml"
TESTS = ("sample/1", "secret/01-small", "secret/02-big")


def solutions(folder: Path, rules: str, **files: str) -> dict[str, Solution]:
    more = {f"submissions/{name.replace('__', '/')}.py": code for name, code in files.items()}
    problem = sound(write(folder / "p", {**more, RULES: rules}, header=HEADER))
    return {solution.name: solution for solution in problem.solutions}


@pytest.mark.parametrize(
    ("statuses", "agrees"),
    [("AC AC AC", True), ("AC PA PA", True), ("AC PA WA", False), ("AC TLE AC", False)],
)
def test_accepted_solution_may_have_any_points_with_scoring_validator(
    tmp_path: Path, statuses: str, agrees: bool
) -> None:
    validator = {"output_validator/validate.py": "exit(42)\n"}
    problem = sound(write(tmp_path / "p", validator, header=f"{HEADER}type: scoring\n"))
    (best,) = [solution for solution in problem.solutions if solution.name == "best.cpp"]
    (expectation,) = list_expectations(problem, best)
    scores = {"AC": 1.0, "PA": 0.5}
    results = {
        name: TestResult(test_name=name, score=scores.get(status, 0.0), status=Verdict(status))
        for name, status in zip(TESTS, statuses.split(), strict=True)
    }
    assert is_expectation_met(expectation, results, points_fraction=statuses == "AC AC AC") is agrees
    assert find_expected_speed(problem, best) == "right"


@pytest.mark.parametrize(
    ("rule_text", "statuses", "agrees"),
    [
        ("permitted AC WA", (Verdict.AC, Verdict.WA), True),
        ("permitted AC WA", (Verdict.AC, Verdict.TLE), False),
        ("permitted AC RTE", (Verdict.PA, Verdict.MLE), True),
        ("required TLE RTE", (Verdict.AC, Verdict.RE), True),
        ("required TLE", (Verdict.AC, Verdict.WA), False),
        ("permitted AC WA TLE RTE", (Verdict.CE, Verdict.CE), False),
    ],
)
def test_rules_of_submissions_yaml_become_expectations(
    tmp_path: Path, rule_text: str, statuses: tuple[Verdict, ...], agrees: bool
) -> None:
    rule, *verdicts = rule_text.split()
    off_solution = solutions(tmp_path, f"wrong_answer/off.py: {{{rule}: [{', '.join(verdicts)}]}}\n")[
        "off.py"
    ]
    problem = sound(tmp_path / "p")
    (expectation,) = [
        candidate for candidate in list_expectations(problem, off_solution) if candidate.word == rule_text
    ]
    results = {
        name: TestResult(test_name=name, score=float(status is Verdict.AC), status=status)
        for name, status in zip(TESTS, (statuses[0], *statuses), strict=True)
    }
    assert is_known_keyword(rule_text)
    assert is_expectation_met(expectation, results, points_fraction=0) is agrees


def test_kattis_submission_with_required_tle_is_a_slow_solution(tmp_path: Path) -> None:
    loaded_solutions = solutions(tmp_path, "wrong_answer: {required: [TLE]}\naccepted: {permitted: [AC]}\n")
    kinds = {
        name: find_expected_speed(sound(tmp_path / "p"), solution)
        for name, solution in loaded_solutions.items()
    }
    assert kinds == {"best.cpp": "right", "off.py": "slow"}


@pytest.mark.parametrize(("tag", "score"), [("@EXPECTED_SCORE@: 30", 30), ("@EXPECTED_SCORE@:30.25", 30.25)])
def test_expected_score_tag_in_kattis_submission_gives_expected_points(
    tmp_path: Path, tag: str, score: float
) -> None:
    files = {**GROUPS, "submissions/partially_accepted/some.py": f"# {tag}\nprint(1)\n"}
    problem = sound(write(tmp_path / "p", files))
    (some,) = [solution for solution in problem.solutions if solution.name == "some.py"]
    assert some.score == (score, score)
    _, cases = collect_package_solutions({"p": problem})
    (case,) = [case for case in cases if case.solution == "some.py"]
    assert case.score is not None
    assert (case.score.value, case.score.most, case.score.fraction) == (score, score, False)


def test_empty_solution_file_is_program(tmp_path: Path) -> None:
    problem = sound(write(tmp_path / "p", {"submissions/wrong_answer/empty.py": ""}))
    submissions, _ = collect_package_solutions({"p": problem})
    assert {submission.key: submission.code for submission in submissions}["p/wrong_answer/empty.py"] == ""
    files_only = replace(problem, solutions=(Solution(name="files", expected="correct"),))
    assert [submission.code for submission in collect_package_solutions({"p": files_only})[0]] == [None]
