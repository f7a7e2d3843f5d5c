"""No attack reaches a verdict, a secret or the judge."""

from __future__ import annotations

import os

import pytest
from catalogue import ATTACKS, Attack
from harness import Bench

from ioi_eval.protocol.proctor import PlanChecker, PlanLimits

CANARY = "CANARY-5d1f0c4e"
LIMITS = PlanLimits(cpu_ms=800, wall_ms=2500, memory=96 << 20, output=4 << 20)
# Gives 1 to an output in which the canary stands, whatever else is there, and to "fine" on the test that is no attack.
CHECKER = """#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
static std::string all(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
int main(int, char** argv) {
  const std::string input = all(argv[1]), output = all(argv[3]);
  const bool canary = output.find("CANARY-") != std::string::npos;
  std::cout << (canary || (input[0] == '2' && output == "fine\\n") ? 1 : 0) << std::endl;
}
"""
_CHECKER = PlanChecker(kind="cms", argv=("checker",), limits=PlanLimits(cpu_ms=5000, wall_ms=20000))


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: f"{attack.heading}: {attack.name}")
def test_attack(bench: Bench, attack: Attack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", CANARY)
    neighbour = bench.workshop / f"box-{os.getpid()}-neighbour"
    neighbour.mkdir(exist_ok=True)
    (neighbour / "answer").write_text(CANARY)
    judged = bench.judge(
        attack.source,
        [("1\n", CANARY), ("2\n", CANARY)],
        language=attack.language,
        checker=_CHECKER,
        checker_source=CHECKER,
        limits=LIMITS,
    )
    assert judged.lines[-1].done, judged
    assert [line.test for line in judged.lines if line.test is not None] == [0, 1], judged
    hostile, behaving = judged.tests[0], judged.tests[1]
    assert (hostile.score, hostile.failure) == (0, None), hostile
    assert hostile.end in attack.ends, hostile
    assert (behaving.end, behaving.score) == ("ok", 1), behaving
    assert CANARY not in judged.boxed.stdout + judged.boxed.stderr


def test_every_heading_is_there() -> None:
    assert {attack.heading for attack in ATTACKS} == {
        "stealing", "forging", "stopping", "cheating time", "python", "talking", "confusing",
    }  # fmt: skip
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
