"""`proctor stand` judges the plans of the bundles whose names it reads. Other commands print the usage."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from harness import DIFF, EVERYTHING, LIMITS, PYTHON, Bench, Boxed
from support.proctor_protocol import Plan, PlanSubmission, PlanTest, decode_lines

# The proctor removes the files of a bundle, so the next bundle is written after the line `done`.
ONE_AFTER_THE_OTHER = """
exec 5<second
coproc PROCTOR { ./proctor stand; }
echo first >&${PROCTOR[1]}
plans=1
while read -r line <&${PROCTOR[0]}; do
    echo "$line"
    case $line in *'"done":true'*)
        if [ $plans = 2 ]; then break; fi
        plans=2
        cat <&5 >third
        echo third >&${PROCTOR[1]}
    esac
done
exit 0
"""


def bundle(nonce: str, code: str, layers: Sequence[str] = EVERYTHING) -> bytes:
    """Return a bundle with a plan of one test, and the plan's files."""
    plan = Plan(
        nonce=nonce,
        task_type="Batch",
        limits=LIMITS,
        checker=DIFF,
        layers=tuple(layers),
        submission=PlanSubmission(argv=(PYTHON, "submission.py"), files=("submission.py",), threads=4),
        tests=(PlanTest(index=0, input="0.in", answer="0.out"),),
    )
    contents = {
        "plan.json": msgspec.json.encode(plan),
        "submission.py": code.encode(),
        "0.in": b"3\n",
        "0.out": b"6\n",
    }
    names = "".join(f"{len(content)} {name}\0" for name, content in contents.items())
    return b"".join((names.encode(), b"\0", *contents.values()))


def stand(bench: Bench, script: str, **bundles: bytes) -> Boxed:
    return bench.box(script, files={"proctor": bench.proctor}, contents=bundles, profile="stage")


def test_plans_on_standard_input_are_judged_in_one_sandbox(bench: Bench) -> None:
    bundles = {
        "first": bundle("one", "print(2 * int(input()))", bench.layers),
        "second": bundle("two", "print(4)", bench.layers),
    }
    boxed = stand(bench, ONE_AFTER_THE_OTHER, **bundles)
    if "namespaces" not in bench.layers:
        assert "a persistent proctor needs namespaces" in boxed.stdout
        return
    first, second = ([*decode_lines(boxed.stdout, nonce)] for nonce in ("one", "two"))
    assert [(line.end, line.score) for line in first if line.test == 0] == [("ok", 1)], boxed
    assert [(line.end, line.score) for line in second if line.test == 0] == [("ok", 0)], boxed
    assert first[-1].done and second[-1].done


@pytest.mark.nightly(unless="everything")
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "the bundle is incomplete"),
        (b"\0", "the bundle is empty"),
        (b"9 plan.json\0\0{}", "the bundle is incomplete"),
    ],
)
def test_broken_bundle_is_a_fatal_failure(bench: Bench, content: bytes, problem: str) -> None:
    boxed = stand(bench, "echo first | ./proctor stand", first=content)
    assert boxed.report["code"] == 2 and problem in boxed.stdout, boxed


@pytest.mark.parametrize("arguments", ["", "stand plan.json", "judge plan.json"])
def test_unknown_command_of_proctor_prints_the_usage(bench: Bench, arguments: str) -> None:
    boxed = bench.box(f"./proctor {arguments}", files={"proctor": bench.proctor})
    assert boxed.report["code"] == 2 and boxed.stderr.startswith("proctor run PLAN "), boxed
