"""A plainly wrong submission loses even with a judge that trusts it: so an attack that wins there is a real attack."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from attack import SECRET
from attack_environment import prepared
from harness import EVERYTHING, Bench, Judged
from message_verdicts import verdict_of, words_are_believed
from support.proctor_protocol import TestReport
from trusting_judges import TELLINGS, call_with, calling, files_with, judged_there, run_with, with_belief

from ioi_eval.models import Limits


@pytest.fixture
def shipped(workshop: Path, proctor: Path, compiled: Callable[[str], Path]) -> Bench:
    return Bench(workshop=workshop, proctor=proctor, compiled=compiled, layers=EVERYTHING)


def scores(judged: Judged) -> list[float]:
    return [judged.tests[number].score for number in sorted(judged.tests)]


@pytest.mark.parametrize("way", TELLINGS)
def test_function_scores_only_with_right_result(shipped: Bench, way: str) -> None:
    telling = TELLINGS[way]
    tests = [(judged_there(["behave", False], right), telling.right) for right in ("fine", "other")]
    assert scores(call_with(shipped, calling(telling), tests)) == [1, 0]


@pytest.mark.parametrize("way", TELLINGS)
def test_program_scores_only_with_right_output(shipped: Bench, workshop: Path, way: str) -> None:
    with prepared(workshop) as ground:
        order = ground.order("behave", wild=False)
    tests = [judged_there(order, right) for right in ("fine", "other")]
    assert scores(run_with(shipped, TELLINGS[way], tests)) == [1, 0]


def test_file_scores_only_with_right_content(shipped: Bench) -> None:
    contents = [SECRET.encode(), b"other", b"/dev/null"]
    assert scores(files_with(shipped, contents, **with_belief())) == [1, 0, 0]


def test_program_without_output_gets_the_verdict_of_its_exit_code() -> None:
    line = TestReport(v=1, nonce="n", test=0, end="exit", code=1, feedback="KeyError: 7")
    with words_are_believed():
        assert verdict_of(line, Limits()) == "RE"
