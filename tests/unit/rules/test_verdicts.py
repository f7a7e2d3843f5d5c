"""The verdict of each report of the proctor, and of each reply of a classic job."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.proctor_protocol import VERSION, TestReport, decode_lines

from ioi_eval.errors import JudgeFailure
from ioi_eval.model.values import RAW_POINTS, STATUS_ORDER, worst_verdict
from ioi_eval.models import Ending, JobResult, Limits, StageStatus, TestResult, Verdict
from ioi_eval.rules import verdicts

LIMITS = Limits(cpu_time=1.0, wall_time=3.0, memory=256 << 20, output=64 << 20)
NO_LIMITS = Limits(cpu_time=None, wall_time=None, memory=None, output=None)


def line(**fields: Any) -> TestReport:
    return TestReport(v=VERSION, nonce="n", test=0, **fields)


# --- order of statuses -------------------------------------------------------------------------------


def test_status_order_is_that_of_published_results_with_ole_before_mle() -> None:
    assert " ".join(STATUS_ORDER) == "CE RE WA OLE MLE TLE PA AC SKIPPED"


def test_every_verdict_is_in_the_status_order() -> None:
    assert sorted(STATUS_ORDER) == sorted(Verdict)


@pytest.mark.parametrize(
    ("worse", "better"),
    [*itertools.combinations(["CE", "RE", "WA", "OLE", "MLE", "TLE", "PA", "AC", "SKIPPED"], 2)],
)
def test_worst_verdict_is_selected(worse: str, better: str) -> None:
    assert worst_verdict([Verdict(better), Verdict(worse)]) is Verdict(worse)


def test_worst_of_no_verdicts_is_skipped() -> None:
    assert worst_verdict([]) is Verdict.SKIPPED


# --- the proctor's lines -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "score", "status", "feedback"),
    [
        ({"end": "ok", "score": 1.0, "feedback": "Output is correct"}, 1, "AC", "Output is correct"),
        ({"end": "ok", "score": 0.5, "feedback": "halfway"}, 0.5, "PA", "halfway"),
        ({"end": "ok", "score": 1e-9}, 1e-9, "PA", ""),
        ({"end": "ok", "score": 0.0, "feedback": "line 3 differs"}, 0, "WA", "line 3 differs"),
        ({"end": "ok", "score": -0.0}, 0, "WA", ""),
        ({"end": "ok", "score": 1.0, "feedback": "translate:success"}, 1, "AC", "Output is correct"),
        (
            {"end": "ok", "score": 0.1, "feedback": "translate:partial\n"},
            0.1,
            "PA",
            "Output is partially correct",
        ),
        ({"end": "ok", "score": 0.0, "feedback": "translate:wrong"}, 0, "WA", "Output isn't correct"),
        (
            {"end": "cpu", "cpu_us": 1_004_000},
            0,
            "TLE",
            "Time limit exceeded (CPU time 1.004 s of 1.000 s)",
        ),
        (
            {"end": "wall", "wall_us": 3_000_400},
            0,
            "TLE",
            "Time limit exceeded (wall time 3.000 s of 3.000 s)",
        ),
        (
            {"end": "memory", "memory": 257 << 20},
            0,
            "MLE",
            "Memory limit exceeded (resident memory 257.0 MiB of 256.0 MiB)",
        ),
        ({"end": "output"}, 0, "OLE", "Output limit exceeded (more than 64.0 MiB)"),
        ({"end": "exit", "code": 3}, 0, "RE", "Runtime error (exit code 3)"),
        ({"end": "signal", "signal": 11}, 0, "RE", "Runtime error (signal 11, SIGSEGV)"),
        ({"end": "signal", "signal": 40}, 0, "RE", "Runtime error (signal 40)"),
    ],
)
def test_report_about_a_test_becomes_result_with_score_and_verdict(
    fields: dict[str, Any], score: float, status: str, feedback: str
) -> None:
    result = verdicts.make_result_from_report("a", line(**fields), limits=LIMITS)
    assert (result.test_name, result.score, result.status, result.feedback) == ("a", score, status, feedback)
    assert math.copysign(1, result.score) == 1


@pytest.mark.parametrize("end", ["cpu", "wall", "memory", "output", "exit", "signal"])
def test_failed_program_scores_zero_despite_reported_score(end: str) -> None:
    assert (
        verdicts.make_result_from_report("a", line(end=end, score=1.0, feedback="OK"), limits=LIMITS).score
        == 0
    )


@pytest.mark.parametrize(
    ("end", "feedback"),
    [
        ("cpu", "Time limit exceeded (CPU time 1.000 s)"),
        ("wall", "Time limit exceeded (wall time 2.000 s)"),
        ("memory", "Memory limit exceeded (resident memory 3.0 MiB)"),
        ("output", "Output limit exceeded"),
    ],
)
def test_feedback_omits_unknown_limits(end: str, feedback: str) -> None:
    measured = line(end=end, cpu_us=1_000_000, wall_us=2_000_000, memory=3 << 20)
    assert verdicts.make_result_from_report("a", measured, limits=NO_LIMITS).feedback == feedback


def test_result_measurements_are_in_seconds_and_bytes() -> None:
    measured = line(end="ok", score=1.0, cpu_us=1200, wall_us=1700, memory=1310720)
    result = verdicts.make_result_from_report("a", measured, limits=LIMITS)
    assert (result.cpu_time, result.wall_time, result.memory) == (0.0012, 0.0017, 1310720)


def test_points_comparison_tolerates_rounding_error() -> None:
    partial = TestResult(test_name="a", score=0.1, status=Verdict.PA)
    assert 0.1 * 3.0 > 0.3
    whole = verdicts.rescale_result(partial, 3.0, 0.3)
    assert (whole.score, whole.status) == (1.0, Verdict.AC)
    with pytest.raises(JudgeFailure, match=r"the score 0.3 exceeds the maximum of 0.2 points"):
        verdicts.rescale_result(partial, 3.0, 0.2)


def test_encoded_result_line_gives_verdict() -> None:
    sent = {"v": VERSION, "nonce": "6f", "test": 1, "end": "signal", "score": 0, "feedback": "", "signal": 11}
    encoded = json.dumps(sent, separators=(",", ":")) + "\n"
    (received,) = decode_lines(encoded, "6f")
    assert verdicts.make_result_from_report("b", received, limits=LIMITS).status is Verdict.RE


def test_failure_in_result_line_is_judge_failure() -> None:
    with pytest.raises(JudgeFailure, match="the checker was killed by signal 11") as caught:
        verdicts.make_result_from_report(
            "a", line(failure="the checker was killed by signal 11"), limits=LIMITS
        )
    assert caught.value.test == "a"


@pytest.mark.parametrize("score", [-0.1, 1.0001, math.nan, math.inf, -math.inf])
def test_score_outside_range_is_judge_failure(score: float) -> None:
    with pytest.raises(JudgeFailure):
        verdicts.make_result_from_report("a", line(end="ok", score=score), limits=LIMITS)


@pytest.mark.parametrize(
    ("score", "max_points", "expected"),
    [
        (0.0, 20, (0.0, "WA", "Output isn't correct")),
        (0.1, 20, (0.5, "PA", "Output is partially correct")),
        (0.2, 20, (1.0, "AC", "Output is correct")),
        (0.3 - 0.1, 20, (1.0, "AC", "Output is correct")),
        (1.0, 100, (1.0, "AC", "Output is correct")),
    ],
)
def test_score_is_rescaled_to_points_of_its_group(
    score: float, max_points: float, expected: tuple[float, str, str]
) -> None:
    feedback = "translate:success" if score == 1 else "translate:partial" if score else "translate:wrong"
    report = line(end="ok", score=score, feedback=feedback)
    result = verdicts.rescale_result(
        verdicts.make_result_from_report("t", report, limits=LIMITS), 100, max_points
    )
    assert (result.score, result.status.value, result.feedback) == expected


def test_score_above_points_of_group_is_judge_failure() -> None:
    result = verdicts.make_result_from_report("t", line(end="ok", score=0.21), limits=LIMITS)
    with pytest.raises(JudgeFailure, match=r"on test t: the score 21 exceeds the maximum of 20"):
        verdicts.rescale_result(result, 100, 20)


@pytest.mark.parametrize(
    ("score", "max_points", "expected"),
    [
        (0.0, 0, (0.0, "WA")),
        (1000 / RAW_POINTS, 0, (1.0, "AC")),  # 0 points, whatever the program reports
        (5 / RAW_POINTS, 20, (0.25, "PA")),
        (1.0, 20, (1.0, "AC")),  # the program reported no number of points
    ],
)
def test_raw_grader_points_are_rescaled_without_bounds(
    score: float, max_points: float, expected: tuple[float, str]
) -> None:
    report = line(end="ok", score=score)
    result = verdicts.rescale_result(
        verdicts.make_result_from_report("t", report, limits=LIMITS), RAW_POINTS, max_points
    )
    assert (result.score, result.status.value) == expected


def test_raw_points_of_grader_are_kept() -> None:
    reported = verdicts.make_result_from_report("t", line(end="ok", score=0.1 / RAW_POINTS), limits=LIMITS)
    result = verdicts.convert_score_to_points(reported)
    assert (result.score, result.status, result.points) == (1.0, Verdict.AC, 0.1)
    none = verdicts.make_result_from_report("t", line(end="ok", score=0.0), limits=LIMITS)
    assert verdicts.convert_score_to_points(none) == none
    with pytest.raises(JudgeFailure, match=r"on test t: .* score\.txt was not written"):
        verdicts.convert_score_to_points(
            verdicts.make_result_from_report("t", line(end="ok", score=1.0), limits=LIMITS)
        )


@pytest.mark.parametrize("end", [None, "", "dreaming"])
def test_unknown_ending_is_judge_failure(end: str | None) -> None:
    with pytest.raises(JudgeFailure):
        verdicts.make_result_from_report("a", line(end=end), limits=LIMITS)


def test_skipped_line_gives_skipped_result() -> None:
    assert verdicts.make_result_from_report(
        "a", line(skipped=True), limits=LIMITS
    ) == verdicts.make_skipped_result("a")


# --- tests without a run -----------------------------------------------------------------------------


def test_skipped_result_has_score_zero_and_no_measurements() -> None:
    result = verdicts.make_skipped_result("a")
    assert (result.test_name, result.score, result.status) == ("a", 0, Verdict.SKIPPED)
    assert (result.cpu_time, result.wall_time, result.memory) == (None, None, None)


def test_not_compiled_result_is_ce_with_feedback() -> None:
    result = verdicts.make_uncompiled_result("a", verdicts.NO_CODE)
    assert (result.score, result.status, result.feedback) == (0, Verdict.CE, "no code found")
    assert verdicts.make_uncompiled_result("a").feedback == "Compilation error"


# --- the classic job ---------------------------------------------------------------------------------

COMPILED = Ending(code=0, stdout="Compiled\n")


@pytest.mark.parametrize(
    ("compile_stage", "run", "outcome"),
    [
        # 1. compile present and its code is not 0, killed included; the run stage does not matter
        (
            Ending(code=1, stderr="no ;"),
            Ending(code=0, stdout="1"),
            ("0", "Compilation error exit code 1\nno ;"),
        ),
        (
            Ending(code=None, signal="SIGKILL", status=StageStatus.TO),
            Ending(stdout="1"),
            ("0", "Compilation error exit code None\n"),
        ),
        # 2. code 1 and MemoryError before a score
        (COMPILED, Ending(code=1, stdout="1", stderr="MemoryError: x"), ("0", "Memory limit exceeded")),
        (COMPILED, Ending(code=2, stdout="1", stderr="MemoryError: x"), ("1", "MemoryError: x")),
        # 3. anything on standard output, whatever code or signal
        (COMPILED, Ending(code=0, stdout="1\n", stderr="ok\n"), ("1\n", "ok\n")),
        (COMPILED, Ending(code=None, stdout="0.5", signal="SIGKILL"), ("0.5", "")),
        (None, Ending(code=0, stdout="1"), ("1", "")),
        # 4. killed without output
        (COMPILED, Ending(code=None, signal="SIGKILL", status=StageStatus.TO), ("0", "Time limit exceeded")),
        # 5. all the rest
        (COMPILED, Ending(code=None, signal="SIGSEGV", stderr="oh"), ("0", "Unknown error")),
        (COMPILED, Ending(code=0), ("0", "Unknown error")),
    ],
)
def test_classic_job_result_has_expected_outcome(
    compile_stage: Ending | None, run: Ending, outcome: tuple[str, str]
) -> None:
    assert verdicts.classic_outcome(JobResult(compile=compile_stage, run=run)) == outcome


@pytest.mark.parametrize("phase", ["compile", "run"])
def test_failed_sandbox_in_classic_job_is_judge_failure(phase: str) -> None:
    broken = Ending(stdout="1", message="no cgroup", status=StageStatus.XX)
    compiling = broken if phase == "compile" else COMPILED
    running = broken if phase == "run" else Ending(code=0, stdout="1")
    with pytest.raises(JudgeFailure, match="no cgroup"):
        verdicts.classic_outcome(JobResult(compile=compiling, run=running))


@pytest.mark.parametrize(
    ("score", "feedback", "number", "status"),
    [
        ("1\n", "Output is correct (diff)\n", 1, "AC"),
        ("1.0", "", 1, "AC"),
        ("0.25\nmore\n", "some", 0.25, "PA"),
        (" 5e-1 \n", "", 0.5, "PA"),
        ("1", "Time limit exceeded, says the checker", 1, "AC"),
        ("0", "Compilation error exit code 1\nMemory limit exceeded", 0, "CE"),
        ("0", "Memory limit exceeded and Time limit exceeded", 0, "MLE"),
        ("0\n", "Time limit exceeded (1.0s)\n", 0, "TLE"),
        ("0\n", "Output isn't correct (diff)\n", 0, "WA"),
        ("0", "translate:wrong\n", 0, "WA"),
        ("0\n", "Runtime error with exit code 134\n", 0, "RE"),
        ("0", "Unknown error", 0, "RE"),
        ("0", "", 0, "RE"),
        ("-0.0", "", 0, "RE"),
    ],
)
def test_classic_score_and_feedback_become_a_test_result(
    score: str, feedback: str, number: float, status: str
) -> None:
    result = verdicts.classic_result("a", score, feedback)
    assert (result.test_name, result.score, result.status) == ("a", number, status)


@pytest.mark.parametrize(
    "score",
    [
        "",
        "\n1",
        "nan",
        "inf",
        "-inf",
        "1.5",
        "-0.1",
        "1_0",
        "0x1",
        "ok",
        "1 point",
        "\N{ARABIC-INDIC DIGIT ONE}",
    ],
)
def test_malformed_classic_score_is_judge_failure(score: str) -> None:
    with pytest.raises(JudgeFailure):
        verdicts.classic_result("a", score, "Output is correct")


@given(st.text())
def test_classic_score_is_in_range_or_judge_failure(score: str) -> None:
    try:
        result = verdicts.classic_result("a", score, "")
    except JudgeFailure:
        return
    assert 0 <= result.score <= 1
    assert result.score == float(score.partition("\n")[0])


@given(st.floats(0, 1))
def test_classic_score_keeps_every_digit(score: float) -> None:
    assert verdicts.classic_result("a", repr(score), "").score == score
