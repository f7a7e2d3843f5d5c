"""The ICPC's format in its younger versions: 2023-07-draft and 2025-09."""

from __future__ import annotations

from pathlib import Path

import pytest
from kattis_files import FILES, without, write
from package_files import only_error, read, sound

from ioi_eval.benchmarks.benchmark import BenchmarkOptions as Benchmark
from ioi_eval.model.values import RAW_POINTS
from ioi_eval.models import CheckerKind, Submission, TaskType, TestResult, Verdict
from ioi_eval.problems import load_problems
from ioi_eval.rules import scoring
from ioi_eval.rules.grading import share

pytestmark = pytest.mark.once

HEADER = """problem_format_version: 2025-09
name: {en: Doubling, sv: Dubbling}
uuid: 00000000-0000-4000-8000-000000000001
limits: {time_limit: 3, memory: 256}
"""
VALIDATOR = {"output_validator/validate.cpp": "int main() {}\n", "output_validator/more.h": "\n"}


@pytest.mark.parametrize("version", ["2023-07-draft", "2025-09"])
def test_comparing_with_arguments(tmp_path: Path, version: str) -> None:
    settings = {
        f"data/{part}/test_group.yaml": "output_validator_args: [float_tolerance, '1e-6']\n"
        for part in ("sample", "secret")
    }
    problem = sound(write(tmp_path / "p", settings, header=HEADER.replace("2025-09", version)))
    assert (problem.name, problem.limits.cpu_time, problem.task_type) == ("Doubling", 3, TaskType.BATCH)
    assert (problem.checker.kind, problem.checker.absolute) == (CheckerKind.TOKENS, 1e-6)
    assert len(problem.tests) == 3
    assert [solution.expected for solution in problem.solutions] == ["accepted", "wrong_answer"]


def test_arguments_of_groups_and_of_single_tests(tmp_path: Path) -> None:
    settings = {
        "data/secret/test_group.yaml": "output_validator_args: [case_sensitive]\n",
        "data/secret/02-big.yaml": "output_validator_args: [float_tolerance, '0.1']\nhint: near\n",
    }
    problem = sound(write(tmp_path / "p", settings, header=HEADER))
    assert {test.name: test.arguments for test in problem.tests} == {
        "sample/1": (),
        "secret/01-small": ("case_sensitive",),
        "secret/02-big": ("float_tolerance", "0.1"),
    }
    assert (problem.checker.case_sensitive, problem.checker.absolute) == (False, None)


def test_a_folder_is_the_validator(tmp_path: Path) -> None:
    problem = sound(write(tmp_path / "p", VALIDATOR, header=HEADER))
    assert problem.checker.kind is CheckerKind.ICPC
    names = [source.name for source in problem.checker.sources]
    assert names == ["output_validator/validate.cpp", "output_validator/more.h"]


def test_a_validator_that_is_a_module_of_python(tmp_path: Path) -> None:
    """The format has such folders start with `__main__.py`."""
    module = {f"output_validator/{name}.py": "\n" for name in ("__init__", "__main__", "helper")}
    names = [source.name for source in sound(write(tmp_path / "p", module, header=HEADER)).checker.sources]
    assert (names[0], len(names)) == ("output_validator/__main__.py", 3)


def test_the_type_says_what_is_interactive(tmp_path: Path) -> None:
    header = HEADER + "type: [pass-fail, interactive]\n"
    problem = sound(write(tmp_path / "p", VALIDATOR, header=header))
    assert problem.task_type is TaskType.INTERACTIVE
    assert problem.manager is not None
    assert only_error(write(tmp_path / "q", header=header)).where == "sum/output_validator"


@pytest.mark.parametrize(
    ("files", "header", "file", "field", "words"),
    [
        (
            {},
            "type: [submit-answer]\n",
            "problem.yaml",
            "type",
            "Expected pass-fail, scoring",
        ),
        ({}, "validation: custom\n", "problem.yaml", "validation", "by `type` and output_validator/"),
        (VALIDATOR, "validation: custom interactive\n", "problem.yaml", "validation", "not of this version"),
        (
            {".timelimit": None},
            HEADER.replace("time_limit: 3", "time_multipliers: {ac_to_time_limit: 0}"),
            "problem.yaml",
            "limits.time_multipliers.ac_to_time_limit",
            "above 0",
        ),
        (
            {"data/secret/test_group.yaml": "args: [x]\n"},
            "",
            "data/secret/test_group.yaml",
            "args",
            "no arguments",
        ),
        ({"data/secret/02-big.yaml": "args: [x]\n"}, "", "data/secret/02-big.yaml", "args", "no arguments"),
        (
            {"data/secret/02-big.yaml": "output_validator_arg: [x]\n"},
            "",
            "data/secret/02-big.yaml",
            "output_validator_arg",
            "knows no such key. Did you mean 'output_validator_args'",
        ),
        (
            {"data/secret/test_group.yaml": "output_validators_args: [x]\n"},
            "",
            "",
            "output_validators_args",
            "knows no such key. Did you mean 'output_validator_args'",
        ),
        ({"data/secret/02-big.files/a": ""}, "", "data/secret/02-big.files", "", "no files here"),
        (
            {"data/secret/test_group.yaml": "output_validator_args: x\n"},
            "",
            None,
            "output_validator_args",
            "list",
        ),
    ],
)
def test_what_is_not_judged_is_refused_in_one_line(
    tmp_path: Path, files: dict[str, str | None], header: str, file: str | None, field: str, words: str
) -> None:
    header = header if header.startswith(HEADER[:20]) else HEADER + header
    package = read(write(tmp_path / "p", {**FILES, **files}, header=header))
    error = package.errors[0]
    assert (error.where, error.field) == (f"sum/{file or 'data/secret/test_group.yaml'}", field)
    assert words in str(error)


# --- scoring -----------------------------------------------------------------------------------------

SCORING = HEADER + "type: scoring\n"
GROUP = "data/secret/group{}/test_group.yaml"
GROUPS = {
    **without("data/secret/"),
    **{
        f"data/secret/group{n}/{test}.{side}": "1\n"
        for n in (1, 2)
        for test in "ab"
        for side in ("in", "ans")
    },
}


def groups(folder: Path, *settings: str, secret: str = "", **files: str) -> Path:
    """A package with a group for each of two settings."""
    own = {GROUP.format(n): said for n, said in enumerate(settings, 1)}
    whole = {"data/secret/test_group.yaml": secret} if secret else {}
    return write(folder / "p", {**GROUPS, **own, **whole, **files}, header=SCORING)


def described(folder: Path) -> list[tuple[str, float, str, int, bool]]:
    found = sound(folder).subtasks
    return [(s.name, s.points, s.score_type.value, len(s.tests), s.grading is not None) for s in found]


def test_groups_have_a_most(tmp_path: Path) -> None:
    folder = groups(tmp_path, "max_score: 40\n", "max_score: 60\nscore_aggregation: sum\n")
    assert described(folder) == [
        ("sample", 0, "Sum", 1, False),
        ("group1", 40, "GroupMin", 2, False),
        ("group2", 60, "Sum", 2, False),
    ]


@pytest.mark.parametrize(
    ("wrong", "part"),
    [((), 1), (("group1/a",), 0), (("group2/a",), 30 / 40), (("group2/a", "group2/b"), 0)],
)
def test_what_the_least_of_groups_earns(tmp_path: Path, wrong: tuple[str, ...], part: float) -> None:
    sums = "max_score: 60\nscore_aggregation: sum\nrequire_pass: secret/group1\n"
    problem = sound(groups(tmp_path, "max_score: 40\n", sums, secret="score_aggregation: min\n"))
    secret = problem.subtasks[1]
    assert (secret.name, secret.points, len(secret.tests)) == ("secret", 40, 4)
    assert secret.grading is not None
    right = {test: test.removeprefix("secret/") not in wrong for test in secret.tests}
    results = {
        test: TestResult(test_name=test, score=float(well), status=Verdict.AC if well else Verdict.WA)
        for test, well in right.items()
    }
    assert share(secret.grading, results) == pytest.approx(part)


def test_groups_that_require_others(tmp_path: Path) -> None:
    needs = "max_score: 60\nscore_aggregation: {}\nrequire_pass: {}\n"
    both = groups(tmp_path / "a", "max_score: 40\n", needs.format("min", "[sample, secret/group1]"))
    assert described(both)[2] == ("group2", 60, "GroupMin", 5, False)
    one = groups(tmp_path / "b", "max_score: 40\n", needs.format("sum", "secret/group1"))
    assert described(one)[2] == ("group2", 60, "Sum", 4, True)


def test_a_group_that_another_requires_has_requirements_of_its_own(tmp_path: Path) -> None:
    """One that was not run because of them was not passed."""
    first, second = (f"max_score: 30\nrequire_pass: {name}\n" for name in ("sample", "secret/group1"))
    problem = sound(groups(tmp_path, first, second))
    group2 = problem.subtasks[2]
    assert set(group2.tests) == {test.name for test in problem.tests}


@pytest.mark.parametrize(
    ("mode", "partly", "earned"),
    [
        ("pass-fail", ("sample/1", "secret/group1/a"), [0, 40, 60]),
        ("min", ("sample/1", "secret/group1/a"), [0, 40, 60]),
        ("min", ("secret/group2/b",), [0, 40, 15]),
        ("sum", ("sample/1", "secret/group2/b"), [0, 40, 37.5]),
    ],
)
def test_scores_count_in_sums_and_minima_only(
    tmp_path: Path, mode: str, partly: tuple[str, ...], earned: list[float]
) -> None:
    needs = f"max_score: 60\nscore_aggregation: {mode}\nrequire_pass: [sample, secret/group1]\n"
    for secret in ("", "score_aggregation: min\n"):
        place = tmp_path / ("min" if secret else "sum")
        problem = sound(groups(place, "max_score: 40\n", needs, secret=secret, **VALIDATOR))
        results = {
            test.name: TestResult(
                test_name=test.name,
                score=0.25 if test.name in partly else 1.0,
                status=Verdict.PA if test.name in partly else Verdict.AC,
            )
            for test in problem.tests
        }
        submission = Submission(key="k", problem_id=problem.id, code="")
        found = scoring.submission_result(problem, submission, results)
        points = [round(part.exact_score * part.points, 6) for part in found.subtasks]
        assert points[1:] == ([min(earned[1:])] if secret else earned[1:])


def test_secret_without_groups_and_as_a_whole(tmp_path: Path) -> None:
    assert described(write(tmp_path / "a", header=SCORING))[1:] == [("secret", 100, "Sum", 2, False)]
    whole = groups(
        tmp_path / "b", secret="score_aggregation: pass-fail\nmax_score: 7\nrequire_pass: sample\n"
    )
    assert described(whole)[1:] == [("secret", 7, "GroupMin", 5, False)]


def test_a_validator_counts_in_points_of_each_test(tmp_path: Path) -> None:
    sums = "max_score: 50\nscore_aggregation: sum\n"
    uneven = sound(groups(tmp_path / "a", sums, sums.replace("sum", "min"), **VALIDATOR))
    assert uneven.checker.full == RAW_POINTS
    assert [test.full for test in uneven.tests] == [0, 25, 25, 50, 50]  # samples take any score
    assert sound(groups(tmp_path / "b", sums, sums.replace("sum", "min"))).checker.full == 1


def test_any_score_passes_where_no_group_counts_scores(tmp_path: Path) -> None:
    problem = sound(groups(tmp_path, "max_score: 40\n", "max_score: 60\n", **VALIDATOR))
    assert problem.checker.full == RAW_POINTS
    assert {test.full for test in problem.tests} == {0.0}


@pytest.mark.parametrize(
    ("settings", "secret", "place", "field", "words"),
    [
        (("", "max_score: 60\n"), "", 1, "max_score", "missing. Give it a number"),
        (("max_score: unbounded\n", "max_score: 60\n"), "", 1, "max_score", '"unbounded" is not judged'),
        (("max_score: 60\n", "max_score: 60\n"), "", 0, "max_score", "worth 120 together. Set it to that"),
        (("max_score: 1\n", "max_score: 1\nrequire_pass: x\n"), "", 2, "require_pass", '"x" is not an earli'),
        (("max_score: 1\nrequire_pass: secret/group2\n", "max_score: 1\n"), "", 1, "require_pass", "earlier"),
        (
            ("max_score: 1\nscore_aggregation: sum\n", "max_score: 1\nrequire_pass: secret/group1\n"),
            "",
            2,
            "require_pass",
            "passed or failed. There are: sample",
        ),
        (
            ("max_score: 1\nscore_aggregation: max\n", "max_score: 1\n"),
            "",
            1,
            "score_aggregation",
            "pass-fail, ",
        ),
        (
            ("max_score: 1\nstatic_validation_score: 3\n", "max_score: 1\n"),
            "",
            1,
            "static_validation_score",
            "not run",
        ),
        (("max_score: 1\nscore_agregation: sum\n", "max_score: 1\n"), "", 1, "score_agregation", "Did you"),
        (
            ("max_score: 1\nscore_aggregation: sum\n", "max_score: 1\n"),
            "score_aggregation: pass-fail\n",
            1,
            "score_aggregation",
            "as a whole",
        ),
    ],
)
def test_scores_that_are_not_judged(
    tmp_path: Path, settings: tuple[str, ...], secret: str, place: int, field: str, words: str
) -> None:
    error = read(groups(tmp_path, *settings, secret=secret)).errors[0]
    file = GROUP.format(place) if place else "data/secret/test_group.yaml"
    assert (error.where, error.field) == (f"sum/{file}", field)
    assert words in str(error)


def test_a_validator_where_drafts_have_it(tmp_path: Path) -> None:
    files = {"output_validators/v/validate.cpp": "int main() {}\n"}
    problem = sound(write(tmp_path / "p", files, header=HEADER + "validation: custom\n"))
    assert [source.name for source in problem.checker.sources] == ["output_validators/v/validate.cpp"]
    both = write(tmp_path / "q", {**files, **VALIDATOR}, header=HEADER)
    assert sound(both).checker.sources[0].name == "output_validator/validate.cpp"


@pytest.mark.parametrize(
    ("header", "file", "content", "where"),
    [
        (HEADER, "data/secret/test_group.yaml", "max_score: 3\n", "data/secret/test_group.yaml"),
        (HEADER, "data/secret/test_group.yaml", "static_validation: true\n", "data/secret/test_group.yaml"),
        (SCORING, "data/sample/test_group.yaml", "max_score: 3\n", "data/sample/test_group.yaml"),
        (SCORING, "data/secret/g/a.in", "", "data/secret"),
    ],
)
def test_what_would_earn_nothing_is_refused(
    tmp_path: Path, header: str, file: str, content: str, where: str
) -> None:
    files = {file: content, "data/secret/g/a.ans": "" if file.endswith(".in") else None}
    assert read(write(tmp_path / "p", files, header=header)).errors[0].where == f"sum/{where}"


def test_constants_stand_for_their_names(tmp_path: Path) -> None:
    files = {
        **VALIDATOR,
        "output_validator/more.h": "const int limit = {{most}}, other = {{unknown}};\n",
        "include/cpp/limits.h": "#define MOST {{most}}\n",
        "submissions/accepted/best.cpp": "int main() { return {{most}} - {{most}}; }\n",
        "statement/problem.en.tex": "At most \\constant{most}.\n",
        "data/secret/test_group.yaml": "output_validator_args: ['{{word}}']\nmax_score: {{worth}}\n",
    }
    header = SCORING + "constants: {most: 1000, word: w 1, worth: 60}\n"
    problem = sound(write(tmp_path / "p", files, header=header))
    texts = [problem.statement, *(file.content for file in (*problem.included, *problem.checker.sources[1:]))]
    assert [text.read().decode() for text in texts if text] == [
        "At most 1000.\n",
        "#define MOST 1000\n",
        "const int limit = 1000, other = {{unknown}};\n",
    ]
    assert problem.solutions[0].code == "int main() { return 1000 - 1000; }\n"
    assert (problem.tests[1].arguments, problem.subtasks[-1].points) == (("w 1",), 60)
    error = only_error(write(tmp_path / "q", header=HEADER + "constants: {most: [1]}\n"))
    assert error.field == "constants.most"


def test_constant_with_variants_stands_for_each_of_them(tmp_path: Path) -> None:
    files = {
        "include/cpp/limits.h": "#define MOST {{most}} // {{most.short}} {{most.other}} {{plain.latex}}\n",
        "statement/problem.en.tex": "$n \\le \\constant{most.latex}$, \\constant{most}\n",
    }
    header = HEADER + "constants: {most: {value: 1000, latex: '10^3', short: 1e-3}, plain: 2}\n"
    problem = sound(write(tmp_path / "p", files, header=header))
    texts = [problem.statement, *(file.content for file in problem.included)]
    assert [text.read().decode() for text in texts if text] == [
        "$n \\le 10^3$, 1000\n",
        "#define MOST 1000 // 1e-3 {{most.other}} {{plain.latex}}\n",
    ]


@pytest.mark.parametrize(
    ("constants", "field", "words"),
    [
        ("{most: {latex: x}}", "constants.most.value", "missing. Add it: the number or the text"),
        ("{most: {value: 1, latex: [x]}}", "constants.most.latex", "neither a number nor a text"),
        ("{most: {value: true}}", "constants.most.value", "neither a number nor a text"),
    ],
)
def test_constant_without_a_value_is_refused(tmp_path: Path, constants: str, field: str, words: str) -> None:
    error = only_error(write(tmp_path / "p", header=HEADER + f"constants: {constants}\n"))
    assert error.field == field
    assert words in str(error)


@pytest.mark.parametrize(
    ("limits", "limit", "noted"),
    [
        ("time_limit: 1.5, time_resolution: 1", 1.5, True),
        ("time_limit: 1.5", 1.5, False),
        ("time_limit: 0.3, time_resolution: 0.1", 0.3, False),
        ("time_limit: 2, time_resolution: 0.5", 2, False),
    ],
)
def test_time_limit_that_is_no_multiple_of_its_resolution_is_noted(
    tmp_path: Path, limits: str, limit: float, noted: bool
) -> None:
    header = HEADER.replace("time_limit: 3", limits)
    folder = write(tmp_path / "p", header=header)
    problem = sound(folder)
    assert (problem.limits.cpu_time, problem.time_resolution) == (limit, None)
    assert (
        any("1.5 s is not a multiple of limits.time_resolution" in note for note in read(folder).notes)
        == noted
    )


@pytest.mark.parametrize(("said", "resolution"), [("", 1), (", time_resolution: 0.1", 0.1)])
def test_measured_time_limit_has_the_resolution_of_the_package(
    tmp_path: Path, said: str, resolution: float
) -> None:
    header = HEADER.replace("time_limit: 3, memory: 256", "memory: 256" + said)
    problem = sound(write(tmp_path / "p", {".timelimit": None}, header=header))
    assert (problem.time_from_solutions, problem.time_resolution) == (2, resolution)


@pytest.mark.parametrize(("said", "factor"), [("", 2), ("  time_multipliers: {ac_to_time_limit: 3}\n", 3)])
def test_a_time_limit_that_solutions_set(tmp_path: Path, said: str, factor: float) -> None:
    header = f"problem_format_version: 2023-07-draft\nname: x\nlimits:\n  memory: 256\n{said}"
    folder = write(tmp_path / "p", {".timelimit": None}, header=header)
    problem = sound(folder)
    assert (problem.limits.cpu_time, problem.time_from_solutions) == (None, factor)
    assert f"{factor} times what the slowest accepted solution takes" in read(folder).notes[0]
    (limited,) = load_problems(folder, change=Benchmark(time_limit=4).limited).values()
    assert (limited.limits.cpu_time, limited.limits.wall_time) == (4, 9)


def test_settings_of_groups_under_their_older_name(tmp_path: Path) -> None:
    files = {**VALIDATOR, "data/secret/testdata.yaml": "output_validator_args: [a, b]\n"}
    header = HEADER.replace("2025-09", "2023-07-draft")
    problem = sound(write(tmp_path / "p", files, header=header))
    told = {test.name: test.arguments for test in problem.tests}
    assert told == {"sample/1": (), "secret/01-small": ("a", "b"), "secret/02-big": ("a", "b")}
    files["data/secret/test_group.yaml"] = "output_validator_args: [c]\n"
    assert sound(write(tmp_path / "q", files, header=header)).tests[1].arguments == ("c",)


def test_a_test_that_is_called_nearly_as_the_settings_of_its_group(tmp_path: Path) -> None:
    own = {
        "data/secret/test.in": "1\n",
        "data/secret/test.ans": "2\n",
        "data/secret/test.yaml": "hint: near\n",
    }
    assert "secret/test" in [test.name for test in sound(write(tmp_path / "p", own, header=HEADER)).tests]
