"""`inspect eval ioi_eval/...` on the command line: failures, unscored samples, and retries."""

from __future__ import annotations

import math
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")

from inspect_ai.log import EvalLog, read_eval_log
from inspect_runs import COMMAND, LONGEST, PACKAGES, SOLVER, command, metrics, solution

EVAL = (
    "eval",
    "ioi_eval/problems",
    "-T",
    "source=problems",
    "--model",
    "mockllm/model",
    "--solver",
    "replies.py",
)

SCORER = ("--scorer", "ioi_eval/judged", "-S", "source=problems")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two problems and a reply for each.

    One problem has a checker that does not compile.
    """
    for name in ("garland", "threes"):
        shutil.copytree(PACKAGES / name, tmp_path / "problems" / name)
        accepted = next(iter(sorted((PACKAGES / name / "solutions" / "correct").glob("*.cpp"))))
        (tmp_path / f"{name}.reply").write_text(solution(name, f"correct/{accepted.name}"))
    (tmp_path / "replies.py").write_text(SOLVER)
    checker = checker_of(tmp_path)
    (tmp_path / "checker.cpp").write_text(checker.read_text())
    checker.write_text("no program\n")
    return tmp_path


def checker_of(folder: Path) -> Path:
    [checker] = (folder / "problems" / "threes" / "checker").glob("checker.cpp")
    return checker


def mend(folder: Path) -> None:
    (folder / "checker.cpp").replace(checker_of(folder))


def log_of(folder: Path) -> EvalLog:
    """Return the newest log."""
    return read_eval_log(sorted((folder / "logs").glob("*.eval"))[-1])


def scores(log: EvalLog) -> dict[str, float]:
    return {
        str(sample.id): (sample.scores or {})["judged"].as_float()
        for sample in log.samples or ()
        if sample.scores
    }


def asked_twice(requests_file: Path) -> bool:
    return requests_file.exists() and len(requests_file.read_text().split()) == 2


def wait_until(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST
    while not happened():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.1)


def test_unjudgeable_sample_is_unscored(folder: Path) -> None:
    completed = command(*EVAL, folder=folder)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    log = log_of(folder)
    assert log.status == "success" and log.results is not None
    sample_scores = scores(log)
    assert sample_scores["garland"] == 1 and math.isnan(sample_scores["threes"])
    [unscored] = [
        (sample_or_score.scores or {})["judged"]
        for sample_or_score in log.samples or ()
        if sample_or_score.id == "threes"
    ]
    assert unscored.reason == "scoring_failed" and unscored.answer
    assert (unscored.explanation or "").startswith("Not judged: ") and "does not compile" in str(
        unscored.explanation
    )
    assert {
        (sample_or_score.scored_samples, sample_or_score.unscored_samples)
        for sample_or_score in log.results.scores
    } == {(1, 1)}
    assert metrics(log)["mean"] == 1 and metrics(log)["max_points"] == metrics(log)["points"] == 100
    mend(folder)
    rescored = command(
        "score", str(log.location), *SCORER, "--action", "overwrite", "--overwrite", folder=folder
    )
    assert rescored.returncode == 0, rescored.stdout + rescored.stderr
    assert scores(log_of(folder)) == {"garland": 1, "threes": 1}
    assert metrics(log_of(folder))["points"] == 200
    assert len((folder / "asked").read_text().splitlines()) == 2, "no model was asked again"


def test_eval_retry_judges_only_failed_samples(folder: Path) -> None:
    completed = command(*EVAL, "-T", "unscored=error", "--continue-on-fail", "--epochs", "2", folder=folder)
    assert completed.returncode != 0 or log_of(folder).status == "error"
    log = log_of(folder)
    assert log.status == "error" and scores(log) == {"garland": 1}
    failed = {str(sample.id) for sample in log.samples or () if sample.error is not None}
    assert failed == {"threes"}
    mend(folder)
    retried = command("eval-retry", str(log.location), folder=folder)
    assert retried.returncode == 0, retried.stdout + retried.stderr
    log = log_of(folder)
    assert log.status == "success" and scores(log) == {"garland": 1, "threes": 1}
    requests = (folder / "asked").read_text().split()
    assert sorted(requests) == ["garland#1", "garland#2", *["threes#1"] * 2, *["threes#2"] * 2]


def test_eval_retry_after_interruption_judges_remaining_samples(folder: Path) -> None:
    mend(folder)
    (folder / "wait").touch()
    requests_file, arguments = (
        folder / "asked",
        ("-T", "problems=garland", "--epochs", "2", "--max-samples", "1"),
    )
    with subprocess.Popen([*COMMAND, *EVAL, *arguments], cwd=folder, stdout=subprocess.DEVNULL) as process:
        try:
            # The second is asked when the first is judged: a single sample at a time.
            wait_until(lambda: process.poll() is not None or asked_twice(requests_file))
            process.send_signal(signal.SIGINT)
            process.wait(LONGEST)
        finally:
            process.kill()
    log = log_of(folder)
    assert log.status == "cancelled"
    assert [
        (sample.epoch, sample.scores is not None) for sample in log.samples or () if not sample.error
    ] == [(1, True)]
    (folder / "wait").unlink()
    retried = command("eval-retry", str(log.location), folder=folder)
    assert retried.returncode == 0, retried.stdout + retried.stderr
    log = log_of(folder)
    assert log.status == "success" and sorted(sample.epoch for sample in log.samples or ()) == [1, 2]
    assert metrics(log)["points"] == 100
    assert requests_file.read_text().split() == ["garland#1", "garland#2", "garland#2"]


def test_unknown_task_option_is_reported_without_traceback(folder: Path) -> None:
    completed = command(*EVAL, "-T", "problem=garland", folder=folder, INSPECT_DISPLAY="plain")
    assert completed.returncode != 0
    assert (
        "unknown option 'problem'" in completed.stdout
        and "Traceback" not in completed.stdout + completed.stderr
    )
