"""Points of batches and checkers in DMOJ packages. tests/data/packages/dmoj has the expected problems."""

from __future__ import annotations

from pathlib import Path

import pytest
from package_files import sound
from support.runs import score_submission

from ioi_eval.models import CheckerKind, Submission, TaskType, TestResult, Verdict
from ioi_eval.store.resources import graders_folder

PACKAGES = Path(__file__).parents[2] / "packages"


def package(tmp_path: Path, config: str) -> Path:
    """Write a package with two cases."""
    folder = tmp_path / "pond"
    folder.mkdir()
    for name, content in {"1.in": "1", "1.out": "1\r\n2", "2.in": "2", "2.out": "2\n"}.items():
        (folder / name).write_text(content, newline="")
    (folder / "init.yml").write_text(config)
    return folder


def test_dmoj_batch_with_dependencies_includes_tests_of_dependencies(tmp_path: Path) -> None:
    """A batch of 0 points is a dependency of all later batches. Dependencies are transitive."""
    case = "[{in: 1.in, out: 1.out}]"
    batches = [
        f"{{points: 0, batched: {case}}}",
        f"{{points: 1, batched: {case}}}",
        f"{{points: 2, batched: {case}, dependencies: [2]}}",
        f"{{points: 3, batched: {case}, dependencies: [3]}}",
    ]
    problem = sound(package(tmp_path, f"test_cases: [{', '.join(batches)}]\n"), "pond")
    points_and_tests = [(subtask.points, subtask.tests) for subtask in problem.subtasks]
    assert points_and_tests == [(0, ("1",)), (1, ("1", "2")), (2, ("1", "2", "3")), (3, ("1", "2", "3", "4"))]

    status = {0: Verdict.WA, 1: Verdict.AC}

    def earned(*scores: float) -> list[float]:
        results = {
            name: TestResult(test_name=name, score=score, status=status.get(score, Verdict.PA))
            for name, score in zip("1234", scores, strict=True)
        }
        result = score_submission(
            problem, Submission(key="1", problem_id="pond", code="", language="c++"), results
        )
        return [subtask.exact_score * subtask.points for subtask in result.subtasks]

    assert earned(1, 1, 1, 1) == [0, 1, 2, 3]
    assert earned(1, 0.5, 1, 0.25) == [0, 0.5, 2, 0.75], "a test passes with partial points"
    assert earned(1, 1, 0, 1) == [0, 1, 0, 0]
    assert earned(0, 1, 1, 1) == [0, 0, 0, 0]


def test_dmoj_checkers_graders_and_managers_are_read() -> None:
    lodestone, pulleys = sound(PACKAGES / "lodestone"), sound(PACKAGES / "pulleys")
    assert lodestone.task_type is TaskType.INTERACTIVE
    assert lodestone.manager and lodestone.manager.kind is CheckerKind.EXIT_CODE
    assert (pulleys.checker.kind, pulleys.checker.full) == (CheckerKind.TESTLIB, 80)
    assert [source.name for source in pulleys.checker.sources] == ["checker.cpp", "limits.h"]
    assert [test.full for test in pulleys.tests] == [20, None]
    assert [file.name for file in pulleys.grader_files] == [
        "graders/grader.c",
        "graders/grader.cpp",
        "graders/pulleys.h",
    ]
    assert '#include "pulleys.h"\n#define main' in pulleys.options.prelude


# --- points of outputs -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def script() -> dict[str, object]:
    path = graders_folder() / "python" / "dmoj_checker.py"
    namespace: dict[str, object] = {"__name__": "dmoj_checker"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    return namespace


@pytest.mark.parametrize(
    ("name", "output", "answer", "args", "worth"),
    [
        ("standard", b"1  2\n\n3", b"1 2\n3\n", {}, 1),
        ("standard", b"1\n2", b"1 2", {}, 0),
        ("easy", b"B a", b"ab\n", {}, 1),
        ("easy", b"ab", b"abb", {}, 0),
        ("identical", b"1 \n", b"1\n", {}, 0),
        ("identical", b"1\n", b"1\n", {"pe_allowed": False}, 1),
        ("floats", b"x 1.0000001", b"x 1", {}, 1),
        ("floats", b"1.01", b"1", {"precision": 1}, 1),
        ("floats", b"1000.01", b"1000", {"precision": 4, "error_mode": "absolute"}, 0),
        ("floats", b"1000.01", b"1000", {"precision": 4, "error_mode": "relative"}, 1),
        ("floats", b"nan", b"1", {}, 0),
        ("floats", b"1\n2", b"1 2", {}, 0),
        ("floatsabs", b"1000.01", b"1000", {"precision": 4}, 0),
        ("floatsrel", b"1000.01", b"1000", {"precision": 4}, 1),
        ("sorted", b"b a\nc", b"c\nb a", {}, 1),
        ("sorted", b"b a\nc", b"c\na b", {}, 0),
        ("sorted", b"b a\nc", b"c\na b", {"split_on": "whitespace"}, 1),
        ("unordered", b"3 2 1", b"1\n2\n3", {}, 1),
        ("linecount", b"1\n5\n3\n", b"1\n2\n3\n4\n", {}, 0.5),
        ("linecount", b"1\n2\n3\n", b"1\n2\n", {}, 0),
        ("linematches", b"1\n5\n", b"1\n2\n", {"point_distribution": [3, 1]}, 0.75),
        ("linematches", b"1\n", b"1\n2\n", {"point_distribution": [3, 1]}, 0),
        ("rstripped", b"1  \n2\n", b"1\n2\n", {}, 1),
        ("rstripped", b" 1\n2\n", b"1\n2\n", {}, 0),
    ],
)
def test_dmoj_builtin_checker_gives_expected_points(
    script: dict[str, object], name: str, output: bytes, answer: bytes, args: dict[str, object], worth: float
) -> None:
    checker_result = script["CHECKERS"][name](output, answer, point_value=20, **args)  # type: ignore[index]
    assert script["compute_score"](checker_result, 20, stops_batch=False) == worth  # type: ignore[operator]


def test_failed_dmoj_test_scores_0_if_it_ends_the_batch(script: dict[str, object]) -> None:
    failed_result = script["CheckerResult"](False, 5)  # type: ignore[operator]
    worth = script["compute_score"]
    scores = [worth(failed_result, 10, stops_batch=stops) for stops in (False, True)]  # type: ignore[operator]
    assert [*scores, worth(failed_result, 0, stops_batch=False)] == [0.5, 0, 0]  # type: ignore[operator]
