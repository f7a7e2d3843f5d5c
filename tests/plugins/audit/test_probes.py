"""What is said if a probe cannot be judged: that solutions are rejected, and no reason."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

from ioi_eval import JudgeFailure, Problem, SubmissionResult, TestResult, Verdict
from ioi_eval.models import Checker, CheckerKind, Solution
from ioi_eval.plugins import audit
from ioi_eval.plugins.audit.comparisons import looser, loosest
from ioi_eval.plugins.audit.diagnosis import Diagnosing, Known
from ioi_eval.plugins.audit.evidence import EvidenceCommands, Origin
from ioi_eval.plugins.audit.records import Flaw, MutantCounts


class FailingScorer:
    slots = 1

    async def score(self, problem: Problem, submission: object) -> SubmissionResult:
        raise JudgeFailure("the machine is on fire")


def known(*outputs: str) -> Known:
    solutions = tuple(
        Solution(name=f"{number}.py", language="python", code="", expected="correct")
        for number in range(len(outputs))
    )
    problem = Problem.of([("1", "1")], id="one", solutions=solutions)
    results = {
        f"one/correct/{number}.py": SubmissionResult(
            key=f"one/correct/{number}.py",
            problem_id="one",
            compiles=True,
            tests=(TestResult(test_name="1", score=0.0, status=Verdict.WA, output=output),),
        )
        for number, output in enumerate(outputs)
    }
    origin = Origin(source="packages", benchmark="", references=3)
    return Known(
        label="one", problem=problem, results=results, unjudged={}, commands=EvidenceCommands(origin, "one")
    )


async def test_failed_probe_gives_no_reason() -> None:
    scorer: Any = FailingScorer()
    found = await Diagnosing(known("2", "2"), scorer).audit(MutantCounts(), ())
    (diagnosis,) = found.diagnoses
    assert diagnosis.fault is Flaw.UNCLEAR and "the machine is on fire" in diagnosis.sentence
    assert diagnosis.rows == ("one/correct/0.py", "one/correct/1.py")


def test_command_names_the_file_of_a_benchmark_and_the_factor_of_the_audit() -> None:
    origin = Origin(source="rows.jsonl", benchmark="code_contests", references=5, time_factor=2.0)
    command = EvidenceCommands(origin, "a b").shows(["s 1"], factor=4)
    assert command == (
        "ioi-eval validate code_contests --dataset rows.jsonl --references 5 --problem 'a b' --only 's 1'"
        " --time-factor 8"
    )


def test_looser_comparisons_keep_what_the_own_one_tolerates() -> None:
    own = Checker(kind=CheckerKind.TOKENS, case_sensitive=False, absolute=1e-5)
    assert [name for name, _ in looser(own)] == ["tokens with tolerance 0.0001"]
    assert loosest(own).absolute == 1e-4 and not loosest(own).case_sensitive
    assert list(looser(Checker(kind=CheckerKind.APPS))) == []


def test_plugin_imports_public_names_alone() -> None:
    public = {"", "engines", "errors", "models", "runs", "scoring", "sources"}
    for path in Path(audit.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("ioi_eval"):
                continue
            module = str(node.module).removeprefix("ioi_eval").removeprefix(".")
            assert module in public or module.startswith("plugins.audit."), f"{path.name}: {module}"
            offered = importlib.import_module(str(node.module))
            names = {alias.name for alias in node.names}
            assert module not in public or names <= set(offered.__all__), f"{path.name}: {names}"
