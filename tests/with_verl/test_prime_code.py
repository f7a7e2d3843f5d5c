"""verl's reward for code and ioi_eval's compare outputs alike on generated pairs.

It runs if verl is installed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

theirs = pytest.importorskip("verl.utils.reward_score.prime_code.utils", reason="verl is not installed")

from ioi_eval.integrations.runtime import close_all  # noqa: E402
from ioi_eval.integrations.verl import compute_score_batch  # noqa: E402

BLANKS = [" ", "\t", "\n", "\n", "\n\n", "\r\n"]
PARTS = [*BLANKS, "A", "b", "1", "2", "1.0", "-1", "1000001", "1000002", "-1000001", "-1000002"]
OURS = "```python\nimport sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())\n```"
THEIRS = "import sys\nsys.stdout.write(sys.stdin.read())"
COUNT = 120


@pytest.fixture(scope="module", autouse=True)
def own_runtime() -> Iterator[None]:
    yield
    close_all()


def pairs() -> Iterator[tuple[str, str]]:
    """Yield pairs of expected and printed outputs, typically nearly equal."""
    draw = random.Random(29)
    for _ in range(COUNT):
        pieces = draw.choices(PARTS, k=draw.randrange(8))
        other = list(pieces)
        for _ in range(draw.randrange(3)):
            at = draw.randrange(len(other) + 1)
            other[at : at + draw.randrange(2)] = [draw.choice(PARTS)]
        yield "".join(pieces), "".join(other)


def test_output_comparison_equals_prime_code_on_generated_pairs() -> None:
    output_pairs = list(pairs())
    tests = [{"inputs": [printed], "outputs": [expected]} for expected, printed in output_pairs]
    expected_passes = [
        theirs.check_correctness({"inputs": [printed], "outputs": [expected]}, THEIRS, debug=False)[0]
        == [True]
        for expected, printed in output_pairs
    ]
    assert 20 < sum(expected_passes) < COUNT - 20, "both results occur often"
    ours = compute_score_batch(["apps"] * COUNT, [OURS] * COUNT, tests)
    different = [pair for pair, a, b in zip(output_pairs, ours, expected_passes, strict=True) if a != b]
    assert not different
