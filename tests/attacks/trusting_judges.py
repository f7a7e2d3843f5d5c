"""Judges without the layer `apart`, like common pipelines: the submission's process has the expected result,
or its report is believed.

A harness calls the function, or runs the program, in the process that compares the result; that process reports
the verdict. A checker believes the output. A plainly wrong submission fails with all of these judges.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attack import CHECKER, SECRET, Attack, Outcome, cpp_program, is_clean, python_program, seconds_of_work
from attack_environment import lost
from attacks_files import HandedIn
from attacks_functions import Call, functions_program
from catalogue import PROGRAMS
from harness import PYTHON, Bench, Judged
from support.proctor_protocol import PlanChecker, PlanLimits, PlanSubmission

ECHO = 1000
_LIMITS = PlanLimits(cpu_ms=400, wall_ms=10000, memory=96 << 20, output=4 << 20)
_OF_CHECKERS = PlanLimits(cpu_ms=5000, wall_ms=20000)
QUOTING = PlanChecker(kind="cms", argv=("checker",), limits=_OF_CHECKERS)
OURS = (Path(__file__).parents[2] / "graders" / "python" / "harness.py").read_text()
_LINES = re.compile(r"[\n\t]")  # an output has several lines
_THROUGH_HARNESS = PlanSubmission(
    argv=(PYTHON, "-I", "harness.py", "submission.py", "solve"),
    files=("harness.py", "submission.py"),
    threads=4,
)


@dataclass(frozen=True)
class Telling:
    """Code with which a judging process reports that `it`, the submission's result, was right, and its output."""

    code: str
    right: str


TELLINGS: Mapping[str, Telling] = MappingProxyType(
    {
        "by its exit code": Telling("assert IT", ""),
        "by printing": Telling("os.dup2(descriptor, 1)\n    print(json.dumps(IT))", "true"),
        "by writing": Telling("os.write(descriptor, json.dumps(IT).encode())", "true"),
    }
)

_CALLING = """import json, os, sys
def same(result, expected):
    if isinstance(result, float):
        return not abs(result - expected) > 1e-6
    return result == expected
def main():
    descriptor = int(sys.argv[3])
    test = json.load(sys.stdin)
    arguments, expected = test["input"], test["expected"]
    module = {}
    with open(sys.argv[1]) as stream:
        exec(stream.read(), module)
    result = module[sys.argv[2]](*arguments)
    TELL
main()
"""
_RUNNING = """import io, json, os, sys
def main(program):
    descriptor, screen = 1, sys.stdout
    test = json.load(sys.stdin)
    expected = test["expected"]
    sys.stdin, sys.stdout = io.StringIO(test["input"]), io.StringIO()
    captured = sys.stdout
    exec(program, {"__name__": "__main__"})
    sys.stdout = screen
    TELL
main(PROGRAM)
"""
# Reads files that the output names, believes verdicts in it, and compares only as many tokens as there are.
CHECKING = """import sys
def text(path):
    try:
        with open(path, errors="replace") as stream:
            return stream.read()
    except (OSError, ValueError):
        return ""
def is_right(output):
    tokens = output.split()
    return "Output is correct" in output or tokens[:1] == ["1"] or all(a == b for a, b in zip(tokens, answer.split()))
answer, output = text(sys.argv[2]), text(sys.argv[3])
named = [text(name) for name in output.split()[:9]]
print(int(is_right(output) or any(is_right(content) for content in named if content)))
"""


def calling(telling: Telling) -> str:
    """Return a harness that judges the function it has called."""
    return _CALLING.replace("TELL", telling.code.replace("IT", "same(result, expected)"))


def running(telling: Telling, program: str) -> str:
    """Return a program that judges the program that it runs."""
    tell = telling.code.replace("IT", "captured.getvalue().strip() == expected")
    return _RUNNING.replace("TELL", tell).replace("PROGRAM", repr(program))


def judged_there(given: object, expected: object) -> str:
    """Return a test for judges that run in the submission's process."""
    return json.dumps({"input": given, "expected": expected})


# --- functions ---


def attempt_call(bench: Bench, call: Call, away: tuple[str, ...]) -> Outcome:
    """Try a function: called by the shipped harness, or by harnesses that judge in the function's process."""
    arguments = [call.name, False, seconds_of_work(call, away)]
    if "apart" not in away:
        weakened = replace(bench, without=away)
        return _points(call_with(weakened, OURS, [(json.dumps(arguments), call.right)], kind="json"))
    test = judged_there(arguments, json.loads(call.right))
    return _any_of(call_with(bench, calling(way), [(test, way.right)]) for way in TELLINGS.values())


def call_with(
    bench: Bench, harness: str, tests: Sequence[tuple[str, str]], *, kind: str = "white-diff"
) -> Judged:
    return _judged(
        bench,
        functions_program(),
        tests,
        language="python",
        task_type="Function",
        submission=_THROUGH_HARNESS,
        extra={"harness.py": harness.encode()},
        checker=PlanChecker(kind=kind),
    )


# --- programs ---


def attempt_program(bench: Bench, attack: Attack, away: tuple[str, ...]) -> Outcome:
    """Try a program: its output is compared, believed, or compared in the program's process."""
    with lost(bench.workshop) as ground:
        order = ground.order(attack.name, wild=False)
    if attack.language == "python" and "apart" in away:
        test = judged_there(order, SECRET)
        return _any_of(run_with(bench, way, [test]) for way in TELLINGS.values())
    code = (cpp_program if attack.language == "c++" else python_program)(PROGRAMS)
    believed = with_belief() if "apart" in away else {}
    return _points(_judged(bench, code, [(order, SECRET)], language=attack.language, **believed))


def run_with(bench: Bench, way: Telling, tests: Sequence[str]) -> Judged:
    code = running(way, python_program(PROGRAMS))
    return _judged(bench, code, [(test, way.right) for test in tests], language="python")


# --- files ---


def attempt_file(bench: Bench, file: HandedIn, away: tuple[str, ...]) -> Outcome:
    """Try a file: compared or believed, and quoted if it attacks the feedback."""
    if "cleaning" in file.layers:
        weakened = replace(bench, without=away)
        result = files_with(weakened, [file.content], checker=QUOTING, checker_source=CHECKER, echo=ECHO)
        return Outcome(is_unclean(result, 0), f"{result.lines}")
    return _points(files_with(bench, [file.content], **(with_belief() if "apart" in away else {})))


def files_with(bench: Bench, contents: Sequence[bytes], **more: Any) -> Judged:
    outputs = dict(enumerate(contents))
    tests = [("a-file", SECRET)] * len(contents)
    return _judged(
        bench, "", tests, task_type="OutputOnly", submission=PlanSubmission(), outputs=outputs, **more
    )


# --- shared by all kinds ---


def is_unclean(judged: Judged, test: int) -> bool:
    """Return True if the feedback of `test` is unprintable, too long, or not UTF-8."""
    try:
        judged.boxed.raw.decode()
    except UnicodeDecodeError:
        return True
    line = judged.tests.get(test)
    return line is not None and not (is_clean(line.feedback) and is_clean(_LINES.sub(" ", line.output)))


def with_belief() -> dict[str, Any]:
    return {
        "checker": PlanChecker(kind="cms", argv=(PYTHON, "checking.py"), limits=_OF_CHECKERS),
        "extra": {"checking.py": CHECKING.encode()},
    }


def _judged(bench: Bench, code: str, tests: Sequence[tuple[str, str]], **more: Any) -> Judged:
    spec = {"limits": {"wall_ms": 300_000}, "allow_unconfined": True}
    return bench.judge(code, tests, limits=_LIMITS, spec=spec, allow_unconfined=True, **more)


def _points(judged: Judged) -> Outcome:
    line = judged.tests.get(0)
    failed = line is None or line.failure is not None
    return Outcome(not failed and line.score > 0, f"{judged}")


def _any_of(judged: Iterable[Judged]) -> Outcome:
    """Return the first success. A real judge has a single one of these weaknesses, not all."""
    outcomes = []
    for result in judged:
        outcomes.append(outcome := _points(result))
        if outcome.succeeded:
            return outcome
    return Outcome(False, " ".join(outcome.why for outcome in outcomes))
