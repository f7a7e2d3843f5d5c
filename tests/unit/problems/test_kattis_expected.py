"""What authors of packages in the ICPC's format expect: submissions.yaml, and a tag with a score."""

from __future__ import annotations

from pathlib import Path

import pytest
from kattis_files import FILES, GROUPS, write
from msgspec.structs import replace
from package_files import only_error, read, sound

from ioi_eval.models import Solution, TestResult, Verdict
from ioi_eval.rules.calibration import kind_of
from ioi_eval.rules.expectations import expectations, is_known, met, of_packages

pytestmark = pytest.mark.once

HEADER = """problem_format_version: 2025-09
name: Doubling
limits: {time_limit: 3, memory: 256}
"""
RULES = "submissions/submissions.yaml"
TESTS = ("sample/1", "secret/01-small", "secret/02-big")


def solutions(folder: Path, rules: str, **files: str) -> dict[str, Solution]:
    more = {f"submissions/{name.replace('__', '/')}.py": text for name, text in files.items()}
    problem = sound(write(folder / "p", {**more, RULES: rules}, header=HEADER))
    return {solution.name: solution for solution in problem.solutions}


def said(solution: Solution) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.subtask, one.word, one.tests) for one in solution.said]


def test_rules_by_patterns(tmp_path: Path) -> None:
    rules = """
"*/{off,best}.{py,cpp}": {permitted: [AC, WA]}
wrong_answer/*: {required: [WA]}
"wrong_answer/*x.py": {required: [TLE]}
accepted/best.cpp:
  authors: somebody
  sample: {permitted: [AC]}
  "secret/*-big": {required: [AC]}
"""
    found = solutions(tmp_path, rules)
    assert said(found["off.py"]) == [("", "permitted AC WA", TESTS), ("", "required WA", TESTS)]
    assert said(found["best.cpp"]) == [
        ("", "permitted AC WA", TESTS),
        ("sample", "permitted AC", TESTS[:1]),
        ("secret/*-big", "required AC", TESTS[2:]),
    ]
    assert [found[name].expected for name in ("best.cpp", "off.py")] == ["accepted", "wrong_answer"]


def test_rules_for_a_folder_take_the_place_of_its_name(tmp_path: Path) -> None:
    found = solutions(tmp_path, "wrong_answer: {permitted: [AC, WA, TLE], required: [TLE]}\n")
    assert (found["off.py"].expected, len(found["off.py"].said)) == ("", 2)


def test_an_accepted_solution_may_have_a_part_of_the_points(tmp_path: Path) -> None:
    (best, *_) = solutions(tmp_path, "accepted/best.cpp: {score: 40}\n").values()
    assert (best.expected, [word for _, word, _ in said(best)]) == ("", ["permitted AC"])


@pytest.mark.parametrize(
    ("statuses", "agrees"),
    [("AC AC AC", True), ("AC PA PA", True), ("AC PA WA", False), ("AC TLE AC", False)],
)
def test_where_a_validator_gives_points_an_accepted_solution_may_have_any(
    tmp_path: Path, statuses: str, agrees: bool
) -> None:
    validator = {"output_validator/validate.py": "exit(42)\n"}
    problem = sound(write(tmp_path / "p", validator, header=f"{HEADER}type: scoring\n"))
    (best,) = [one for one in problem.solutions if one.name == "best.cpp"]
    (expectation,) = expectations(problem, best)
    scores = {"AC": 1.0, "PA": 0.5}
    results = {
        name: TestResult(test_name=name, score=scores.get(status, 0.0), status=Verdict(status))
        for name, status in zip(TESTS, statuses.split(), strict=True)
    }
    assert met(expectation, results, share=statuses == "AC AC AC") is agrees
    assert kind_of(problem, best) == "right"


def test_what_is_said_of_a_folder_beside_rules_leaves_them(tmp_path: Path) -> None:
    found = solutions(tmp_path / "a", "wrong_answer: {use_for_time_limit: false}\n")
    assert (found["off.py"].expected, found["off.py"].said) == ("wrong_answer", ())
    found = solutions(tmp_path / "b", "wrong_answer: {permitted: [AC, WA, TLE]}\n")
    assert {word for _, word, _ in said(found["off.py"])} == {"permitted AC WA TLE", "required WA"}


def test_a_folder_that_only_younger_versions_define(tmp_path: Path) -> None:
    found = solutions(tmp_path, "{}", brute_force__slow="print(1)\n")
    assert [word for _, word, _ in said(found["slow.py"])] == ["permitted AC RTE TLE", "required RTE TLE"]


def test_a_language_and_an_entry_point(tmp_path: Path) -> None:
    rules = "accepted/both: {entrypoint: start.py}\naccepted/alone.py: {language: pypy3}\n"
    files = {"accepted__both__start": "import other\n", "accepted__both__other": "\n"}
    found = solutions(tmp_path, rules, accepted__alone="print(1)\n", **files)
    assert (found["both"].code, [file.name for file in found["both"].files]) == (
        "import other\n",
        ["other.py"],
    )
    assert found["alone.py"].language == "pypy"


@pytest.mark.parametrize(
    ("word", "statuses", "agrees"),
    [
        ("permitted AC WA", (Verdict.AC, Verdict.WA), True),
        ("permitted AC WA", (Verdict.AC, Verdict.TLE), False),
        ("permitted AC RTE", (Verdict.PA, Verdict.MLE), True),
        ("required TLE RTE", (Verdict.AC, Verdict.RE), True),
        ("required TLE", (Verdict.AC, Verdict.WA), False),
        ("permitted AC WA TLE RTE", (Verdict.CE, Verdict.CE), False),
    ],
)
def test_what_rules_mean(tmp_path: Path, word: str, statuses: tuple[Verdict, ...], agrees: bool) -> None:
    rule, *verdicts = word.split()
    found = solutions(tmp_path, f"wrong_answer/off.py: {{{rule}: [{', '.join(verdicts)}]}}\n")["off.py"]
    problem = sound(tmp_path / "p")
    (expectation,) = [one for one in expectations(problem, found) if one.word == word]
    results = {
        name: TestResult(test_name=name, score=float(status is Verdict.AC), status=status)
        for name, status in zip(TESTS, (statuses[0], *statuses), strict=True)
    }
    assert is_known(word)
    assert met(expectation, results, share=0) is agrees


def test_who_must_be_too_slow(tmp_path: Path) -> None:
    found = solutions(tmp_path, "wrong_answer: {required: [TLE]}\naccepted: {permitted: [AC]}\n")
    kinds = {name: kind_of(sound(tmp_path / "p"), one) for name, one in found.items()}
    assert kinds == {"best.cpp": "right", "off.py": "slow"}


@pytest.mark.parametrize(
    ("rules", "field", "words"),
    [
        ("accepted: {permitted: [AC, MLE]}", "accepted.permitted", "Expected some of AC, WA, TLE, RTE"),
        ("accepted: {required: AC}", "accepted.required", "list of texts"),
        ("accepted: {allowed: [AC]}", "accepted.allowed", "Expected entrypoint, language, permitted, req"),
        ("accepted: {sample: {allowed: [AC]}}", "accepted.sample.allowed", "Expected permitted or required"),
        ("accepted: {score: many}", "accepted.score", '"many" is not a score'),
        ("accepted: {language: klingon}", "accepted.language", "klingon"),
        ("accepted: AC", "accepted", "an object"),
    ],
)
def test_what_is_refused(tmp_path: Path, rules: str, field: str, words: str) -> None:
    package = read(write(tmp_path / "p", {RULES: rules}, header=HEADER))
    assert package.errors
    error = package.errors[0]
    assert (error.where, error.field) == (f"sum/{RULES}", field)
    assert words in str(error)


def test_what_is_not_compared_is_told(tmp_path: Path) -> None:
    rules = "accepted: {message: hello, sample: {score: 3}, secret/x: {permitted: [AC]}}\n"
    package = read(write(tmp_path / "p", {RULES: rules}, header=HEADER))
    assert [note.split(": ", 1)[1] for note in package.notes][:3] == [
        "message is not compared",
        "score of sample is not compared",
        "secret/x matches no test",
    ]


def test_older_versions_do_not_have_it(tmp_path: Path) -> None:
    assert all(not one.said for one in sound(write(tmp_path / "p", {RULES: "nonsense: 3\n"})).solutions)


@pytest.mark.parametrize(("tag", "score"), [("@EXPECTED_SCORE@: 30", 30), ("@EXPECTED_SCORE@:30.25", 30.25)])
def test_a_tag_with_a_score(tmp_path: Path, tag: str, score: float) -> None:
    files = {**GROUPS, "submissions/partially_accepted/some.py": f"# {tag}\nprint(1)\n"}
    problem = sound(write(tmp_path / "p", files))
    (some,) = [one for one in problem.solutions if one.name == "some.py"]
    assert some.score == (score, score)
    _, cases = of_packages({"p": problem})
    (case,) = [case for case in cases if case.solution == "some.py"]
    assert case.score is not None
    assert (case.score.value, case.score.most, case.score.fraction) == (score, score, False)


def test_empty_file_is_a_program(tmp_path: Path) -> None:
    problem = sound(write(tmp_path / "p", {"submissions/wrong_answer/empty.py": ""}))
    submissions, _ = of_packages({"p": problem})
    assert {one.key: one.code for one in submissions}["p/wrong_answer/empty.py"] == ""
    files_only = replace(problem, solutions=(Solution(name="files", expected="correct"),))
    assert [one.code for one in of_packages({"p": files_only})[0]] == [None]


def test_a_score_says_nothing_where_there_are_no_points(tmp_path: Path) -> None:
    files = {**FILES, "submissions/wrong_answer/off.py": "# @EXPECTED_SCORE@: 3\nprint(1)\n"}
    assert all(one.score is None for one in sound(write(tmp_path / "p", files)).solutions)
    assert only_error(write(tmp_path / "q", header="[]")) is not None
