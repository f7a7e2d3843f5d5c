from __future__ import annotations

import datetime
import json

import msgspec
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_samples import SUM, columns, judged, problem, result, submission

from ioi_eval.errors import JudgeFailure
from ioi_eval.models import Blob, NamedBlob, Problem, Submission, SubmissionResult, Verdict
from ioi_eval.store.rows import (
    MAX_COMPILE_OUTPUT,
    MAX_OUTPUT,
    RESULT_COLUMNS,
    as_json_value,
    failure_row,
    hash_submission,
    read_model_name,
    read_result,
    result_row,
)

Judged = tuple[Submission, Problem, SubmissionResult]


@given(judged())
def test_row_survives_json_unchanged(case: Judged) -> None:
    row = result_row(case[0], case[1], case[2])
    line = msgspec.json.encode(row)
    assert b"\n" not in line
    assert msgspec.json.decode(line) == row
    assert json.loads(line) == row


@given(judged())
def test_row_of_a_read_result_equals_the_original_row(case: Judged) -> None:
    of, the_problem, first = case
    row = result_row(of, the_problem, first)
    read_again = read_result(msgspec.json.decode(msgspec.json.encode(row)))
    assert result_row(of, the_problem, read_again) == row
    assert read_again.points == first.points
    assert [subtask.exact_score for subtask in read_again.subtasks] == [
        subtask.exact_score for subtask in first.subtasks
    ]
    assert {test.test_name: test.status for test in read_again.tests} == {
        t.test_name: t.status for t in first.tests
    }


def test_first_wrong_output_is_stored_with_the_expected_output() -> None:
    of, wrong = submission("k"), {"2-a": Verdict.WA, "3-a": Verdict.PA}
    problem_with_answers = msgspec.structs.replace(
        SUM, tests=tuple(msgspec.structs.replace(test, answer=Blob.of("7\n" * 999)) for test in SUM.tests)
    )
    original_result = result(of, wrong, problem=problem_with_answers)
    shown = tuple(
        msgspec.structs.replace(
            test, output="8\n" * 999 if test.status is Verdict.PA else "9 \ud800</script>"
        )
        for test in original_result.tests
        if test.test_name in wrong
    )
    shown_result = msgspec.structs.replace(original_result, tests=(original_result.tests[0], *shown))
    stored_output = result_row(of, problem_with_answers, shown_result, outputs=True)["wrong_output"]
    [test_input] = [test.input.read().decode() for test in SUM.tests if test.name == "2-a"]
    both = {"output": "9 \ufffd</script>", "expected": "7\n" * 200}
    assert stored_output == {"test_name": "2-a", "input": test_input, **both}
    assert "wrong_output" not in result_row(of, problem_with_answers, shown_result)
    read_again = read_result(
        json.loads(json.dumps(result_row(of, problem_with_answers, shown_result, outputs=True)))
    )
    assert [test.output for test in read_again.tests] == ["", stored_output["output"], "", ""]
    huge = tuple(
        msgspec.structs.replace(test, input=Blob.of("1\n" * 999)) for test in problem_with_answers.tests
    )
    large = result_row(
        of, msgspec.structs.replace(problem_with_answers, tests=huge), shown_result, outputs=True
    )["wrong_output"]
    assert large["input"] == "1\n" * (MAX_OUTPUT // 2)
    longest = msgspec.structs.replace(original_result, tests=shown[1:])
    last = result_row(of, SUM, longest, outputs=True)["wrong_output"]
    assert len(last["output"]) == MAX_OUTPUT and last["expected"] is None


def test_input_of_a_test_that_ended_early_is_stored() -> None:
    of = submission("k")
    ended = result(of, {"2-a": Verdict.TLE, "3-a": Verdict.RE})
    row = result_row(of, SUM, ended, outputs=True)
    [test_input] = [test.input.read().decode() for test in SUM.tests if test.name == "2-a"]
    assert row["wrong_output"] == {"test_name": "2-a", "input": test_input, "output": None, "expected": None}
    assert read_result(json.loads(json.dumps(row))) == ended
    assert "wrong_output" not in result_row(of, SUM, result(of), outputs=True)
    assert "wrong_output" not in result_row(
        of, SUM, msgspec.structs.replace(ended, compiles=False), outputs=True
    )


def test_rows_have_the_columns_of_published_result_sets() -> None:
    of = submission("k", target_subtask="02-middle", row={"uuid": "u", "generation": "text"})
    row = result_row(of, SUM, result(of, {"2-b": Verdict.TLE}))
    assert row["uuid"] == "u" and row["generation"] == "text" and row["key"] == "k"
    assert row["target_subtask"] == "02-middle"
    assert (row["target_subtask_score"], row["target_subtask_status"]) == (0.0, "TLE")
    assert row["code_compiles"] is True
    assert row["all_subtasks_points"] == 20
    middle = row["all_subtasks_results"][1]
    assert set(middle) == {
        *(
            "problem",
            "subtask",
            "points",
            "score",
            "weighted_score",
            "score_precision",
            "status",
            "test_results",
        )
    }
    assert middle["test_results"][2] == {
        "test_name": "2-b",
        "score": 0.0,
        "status": "TLE",
        "feedback": "",
        "cpu_time": 0.1,
        "wall_time": 0.2,
        "waited_time": None,
        "memory": 1 << 20,
    }
    assert not {"resolved", "passed", "total", "pass_rate", "test_results"} & set(row)


def test_row_of_problem_without_subtasks_counts_tests() -> None:
    plain_problem = problem("plain", subtasks=False)
    of = submission("k", problem_id="plain")
    row = result_row(of, plain_problem, result(of, {"2-b": Verdict.PA}, problem=plain_problem))
    assert (row["resolved"], row["passed"], row["total"], row["pass_rate"]) == (False, 3, 4, 0.75)
    assert [test["status"] for test in row["test_results"]] == ["AC", "AC", "PA", "AC"]
    assert row["all_subtasks_results"] == [] and row["target_subtask_score"] is None


def test_unknown_target_subtask_has_no_score() -> None:
    of = submission("k", target_subtask="99-nothing")
    assert result_row(of, SUM, result(of))["target_subtask_score"] is None


def test_result_replaces_columns_of_an_earlier_scoring() -> None:
    of = submission("k", row=dict.fromkeys(RESULT_COLUMNS, "old"))
    assert "old" not in result_row(of, SUM, result(of)).values()


@given(judged())
def test_result_columns_are_all_listed(case: Judged) -> None:
    assert set(result_row(*case)) - set(case[0].row) <= RESULT_COLUMNS


def test_year_and_difficulty_of_row_come_from_problem_or_else_from_dump() -> None:
    of = submission("k", row={"year": "2024.0", "difficulty": "mine", "tags": "x"})
    plain_row = result_row(of, SUM, result(of))
    assert (plain_row["year"], plain_row["difficulty"], plain_row["tags"]) == ("2024.0", "mine", "x")
    labelled = msgspec.structs.replace(SUM, year=2024, difficulty="hard", tags=("dp", "graphs"))
    row = result_row(of, labelled, result(of))
    assert (row["year"], row["difficulty"], row["tags"]) == (2024, "hard", ["dp", "graphs"])


def test_long_compiler_output_is_cut() -> None:
    of = submission("k")
    row = result_row(of, SUM, result(of, compile_output="x" * 10 * MAX_COMPILE_OUTPUT))
    assert len(row["compile_output"]) == MAX_COMPILE_OUTPUT and row["compile_output"].endswith("…")


def test_failure_row_has_the_reason_and_the_model() -> None:
    of = submission("k", row={"model": "m", "generation": "long"})
    failure = JudgeFailure("it crashed", phase="checking", test="1-a", remedy="Mend it")
    assert failure_row(of, failure) == {
        "model": "m",
        "key": "k",
        "problem_id": "sum",
        "reason": "it crashed",
        "phase": "checking",
        "test": "1-a",
        "remedy": "Mend it",
        "final": False,
    }
    labelled = msgspec.structs.replace(SUM, difficulty="hard", tags=("dp",))
    row = failure_row(of, failure, labelled)
    assert (row["difficulty"], row["tags"], row["model"]) == ("hard", ["dp"], "m")


@pytest.mark.parametrize(
    "other",
    [
        (SUM, submission("k", code="other")),
        (SUM, submission("k", code="same", language="python")),
        (problem("tree"), submission("k", code="same")),
        (SUM, Submission(key="k", problem_id="sum", code=None)),
    ],
)
def test_submission_identity_is_problem_language_and_code(other: tuple[Problem, Submission]) -> None:
    mine = hash_submission(SUM, submission("k", code="same"))
    assert mine == hash_submission(SUM, submission("another", code="same", row={"uuid": 1}))
    assert mine != hash_submission(*other)


def test_submission_identity_distinguishes_surrogates() -> None:
    """Rows contain U+FFFD for each half of a surrogate pair, but the compiler reads the halves."""
    programs = ['char c[] = "\ud800";', 'char c[] = "\ud801";', 'char c[] = "\ufffd";']
    assert len({hash_submission(SUM, submission("k", code=program)) for program in programs}) == 3


def test_submission_identity_includes_output_files() -> None:
    first, two, other = (NamedBlob(name=name, content=Blob.of(name[0])) for name in ("a1", "b1", "b2"))
    mine = hash_submission(SUM, submission("k", outputs=(first, two)))
    assert mine == hash_submission(SUM, submission("k", outputs=(two, first)))
    assert (
        len(
            {
                mine,
                *(
                    hash_submission(SUM, submission("k", outputs=files))
                    for files in ((), (first,), (first, other))
                ),
            }
        )
        == 4
    )


def test_submission_identity_includes_additional_source_files() -> None:
    file = (NamedBlob(name="a.cpp", content=Blob.of("a")),)
    variants = (submission("k"), submission("k", files=file), submission("k", outputs=file))
    assert len({hash_submission(SUM, variant) for variant in variants}) == 3


@pytest.mark.parametrize(
    ("row", "model"),
    [
        ({"model": "a", "model_id": "b"}, "a"),
        ({"model": None, "model_id": "b"}, "b"),
        ({"model_kwargs": {"seed": 1, "model": "c"}}, "c"),
        ({"model_kwargs": {"seed": 1}}, ""),
        ({"model_kwargs": "text", "model": 3}, "3"),
        ({"model": True, "model_name": ["a"]}, ""),
        ({}, ""),
    ],
)
def test_model_is_read_from_a_row(row: dict[str, object], model: str) -> None:
    assert read_model_name(row) == model


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("nan"), None),
        (float("inf"), None),
        (b"\xff", "/w=="),
        (datetime.datetime(2024, 9, 1, 12), "2024-09-01T12:00:00"),
        (numpy.float32(0.5), 0.5),
        (numpy.array([[1, 2]]), [[1, 2]]),
        ((1, Verdict.AC), [1, "AC"]),
        ({1: 2}, {"1": 2}),
        ("a\ud800b", "a\ufffdb"),
        ("a\ud83d\ude00", "a😀"),
        (10**30, str(10**30)),
        (True, True),
    ],
)
def test_values_without_a_json_form_are_converted(value: object, expected: object) -> None:
    assert as_json_value(value) == expected and type(as_json_value(value)) is type(expected)


@given(columns | st.lists(columns))
def test_as_json_value_is_idempotent(value: object) -> None:
    assert as_json_value(as_json_value(value)) == as_json_value(value)
