"""A dataset's own solutions: judged once, stored, and used for the reliability of problems."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hub_rows import ADD, apps, code_contests, livecodebench, loaded
from support.datasets import LeftOut, LoadedProblems
from support.runs import score_submission

from ioi_eval import Scorer, Store
from ioi_eval.errors import JudgeFailure
from ioi_eval.models import Capabilities, Problem, Submission, SubmissionResult
from ioi_eval.models import Verdict as V
from ioi_eval.reports.records import write_json
from ioi_eval.runs import Timing
from ioi_eval.runs.references import (
    REFERENCES,
    ProblemReferences,
    Reference,
    References,
    Reliability,
    compute_reliability,
    judge_references,
)
from ioi_eval.runs.runner import SubmissionJudge
from ioi_eval.testing import FakeEngine

OLD = "print sum(map(int, raw_input().split()))"  # a program in Python 2
WRONG = "print(3)"


class Counting:
    """A judge that records the programs and limits that it gets, and may fail."""

    def __init__(self, judge: SubmissionJudge, failing: Sequence[str] = ()) -> None:
        self._judge, self._failing = judge, failing
        self.codes: list[str | None] = []
        self.limits: list[float | None] = []

    async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
        self.codes.append(submission.code)
        self.limits.append(problem.limits.cpu_time)
        if submission.code in self._failing:
            raise JudgeFailure("no power")
        return await self._judge.judge(problem, submission)


async def judged(
    judge: SubmissionJudge,
    problems: LoadedProblems,
    folder: Path,
    *,
    most: int = 3,
    fresh: bool = False,
    timing: Timing | None = None,
    here: Capabilities | None = None,
) -> dict[str, ProblemReferences]:
    store = Store(folder / "references")
    references = await judge_references(
        judge,
        problems,
        problems.read_references,
        store=store,
        max_solutions=most,
        workers=2,
        ignores_cache=fresh,
        timing=timing,
        capabilities=here,
    )
    assert references.most == most
    return {problem_references.problem: problem_references for problem_references in references.problems}


def solved(number: int, *codes: str) -> dict[str, object]:
    return apps(number, solutions=json.dumps(codes))


async def test_reliability_of_problem_follows_from_its_own_solutions(scorer: Scorer, tmp_path: Path) -> None:
    rows = [
        solved(0, OLD, ADD),
        solved(1, ADD, WRONG),
        solved(2, OLD),
        solved(3),
        apps(4, input_output=""),
        apps(5, solutions="["),
    ]
    references = await judged(scorer.judge, loaded(tmp_path, "apps", rows), tmp_path)
    assert [reference.reliability.value for reference in references.values()] == [
        "reliable",
        "unreliable",
        "unreliable",
        "unknown",
        "unknown",
        "unknown",
    ]
    assert [reference.status for reference in references["apps_0"].references] == [V.CE, V.AC]
    wrong = references["apps_1"].references[1]
    assert (wrong.solution, wrong.status, wrong.passed, wrong.total, wrong.test) == ("1", V.WA, 1, 2, "1")
    assert "SyntaxError" in references["apps_2"].references[0].reason
    assert references["apps_3"].note == "the dataset has none"
    assert references["apps_4"].note == "No test cases provided"
    assert "field 'solutions'" in references["apps_5"].note


async def test_reference_solutions_are_judged_once(scorer: Scorer, tmp_path: Path) -> None:
    problems = loaded(tmp_path, "apps", [solved(0, ADD, WRONG), solved(1, ADD)])
    judge = Counting(scorer.judge)
    first = await judged(judge, problems, tmp_path, most=1)
    assert judge.codes == [ADD, ADD]
    assert await judged(judge, problems, tmp_path, most=1) == first
    assert len(judge.codes) == 2
    more = await judged(judge, problems, tmp_path, most=2)
    assert judge.codes[2:] == [WRONG], "a stored result is not judged again"
    assert more["apps_0"].reliability is Reliability.UNRELIABLE
    assert (first["apps_0"].others, more["apps_0"].others) == (1, 0)
    assert await judged(judge, problems, tmp_path, most=1, fresh=True) == first
    assert len(judge.codes) == 5


async def test_time_factor_applies_to_reference_solutions(scorer: Scorer, tmp_path: Path) -> None:
    """Results with another factor are not reused."""
    problems, judge = loaded(tmp_path, "apps", [solved(0, ADD)]), Counting(scorer.judge)
    for factor in (1.0, 2.5, 2.5):
        await judged(judge, problems, tmp_path, timing=Timing(factor=factor))
    once, more = judge.limits
    assert once is not None and more == 2.5 * once


async def test_reference_solutions_are_judged_again_by_another_interpreter(
    scorer: Scorer, tmp_path: Path
) -> None:
    """A problem with a solution for an old Python is unreliable only if that Python is missing."""
    problems, judge = loaded(tmp_path, "apps", [solved(0, ADD)]), Counting(scorer.judge)
    capabilities = await scorer.judge.capabilities()
    other = msgspec.structs.replace(capabilities.toolchains["python3"], identity="another")
    changed_capabilities = msgspec.structs.replace(
        capabilities, toolchains={**capabilities.toolchains, "python3": other}
    )
    for profile in (capabilities, capabilities, changed_capabilities):
        await judged(judge, problems, tmp_path, here=profile)
    assert len(judge.codes) == 2


async def test_reference_solution_without_its_library_is_judged_again(tmp_path: Path) -> None:
    class Lacking:
        async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
            compiler_error = "gmpxx.h: No such file or directory"
            return score_submission(problem, submission, {}, compiles=False, compile_output=compiler_error)

    problems, judge = loaded(tmp_path, "apps", [solved(0, ADD)]), Counting(Lacking())
    for _ in range(2):
        references = await judged(judge, problems, tmp_path)
        assert references["apps_0"].reliability is Reliability.UNRELIABLE
    assert len(judge.codes) == 2


async def test_reference_solutions_of_changed_problem_are_judged_again(
    scorer: Scorer, tmp_path: Path
) -> None:
    judge = Counting(scorer.judge)
    await judged(judge, loaded(tmp_path, "apps", [solved(0, ADD)]), tmp_path)
    other = apps(0, solutions=json.dumps([ADD]), tests={"inputs": ["1 2"], "outputs": ["4"]})
    references = await judged(judge, loaded(tmp_path, "apps", [other]), tmp_path)
    assert (references["apps_0"].reliability, len(judge.codes)) == (Reliability.UNRELIABLE, 2)


async def test_reference_solution_that_could_not_be_judged_is_judged_again(
    scorer: Scorer, tmp_path: Path
) -> None:
    problems = loaded(tmp_path, "apps", [solved(0, ADD)])
    references = await judged(Counting(scorer.judge, failing=[ADD]), problems, tmp_path)
    assert references["apps_0"].reliability is Reliability.UNKNOWN
    assert references["apps_0"].references == (Reference(solution="0", language="python", reason="no power"),)
    second_references = await judged(scorer.judge, problems, tmp_path)
    assert second_references["apps_0"].reliability is Reliability.RELIABLE


async def test_only_correct_reference_solutions_in_known_languages_are_judged(
    scorer: Scorer, tmp_path: Path
) -> None:
    rows = [
        code_contests("a"),
        code_contests("b", solutions={"language": [0, 1], "solution": [ADD, OLD]}),
    ]
    references = await judged(scorer.judge, loaded(tmp_path, "code_contests", rows), tmp_path)
    (only,) = references["a"].references
    assert (only.solution, only.language, only.status) == ("solutions 0", "python3", V.AC)
    assert references["a"].others == 1
    assert (references["b"].references, references["b"].others) == ((), 2)
    assert references["b"].note == "no solution is in a supported language"


async def test_reference_solution_in_other_language_is_judged_again(tmp_path: Path) -> None:
    languages_and_statuses = []
    for score, language in ((0.0, 3), (1.0, 2), (1.0, 3)):
        solutions = {"language": [language], "solution": [ADD]}
        problems = loaded(tmp_path, "code_contests", [code_contests("a", solutions=solutions)])
        async with Scorer(FakeEngine(dict.fromkeys(range(9), score))) as scorer:
            [only] = (await judged(scorer.judge, problems, tmp_path))["a"].references
        languages_and_statuses.append((only.language, only.status))
    assert languages_and_statuses == [("python3", V.WA), ("c++", V.AC), ("python3", V.WA)]


async def test_fresh_option_replaces_stored_reference_results(tmp_path: Path) -> None:
    problems = loaded(tmp_path, "apps", [apps(7)])
    statuses = []
    for score, fresh in ((0.0, False), (1.0, False), (1.0, True), (0.0, False)):
        outcomes = dict.fromkeys(range(9), score)
        async with Scorer(FakeEngine(outcomes)) as scorer:
            references = await judged(scorer.judge, problems, tmp_path, fresh=fresh)
        statuses.append(references["apps_0"].references[0].status)
    assert statuses == [V.WA, V.WA, V.AC, V.AC]


async def test_dataset_without_solutions_has_unknown_reliability(scorer: Scorer, tmp_path: Path) -> None:
    references = await judged(scorer.judge, loaded(tmp_path, "livecodebench", [livecodebench("a")]), tmp_path)
    assert (references["a"].reliability, references["a"].note) == (
        Reliability.UNKNOWN,
        "the dataset has none",
    )


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([], "unknown"),
        ([None], "unknown"),
        ([V.AC], "reliable"),
        ([V.AC, None, V.TLE, V.RE, V.CE, V.MLE], "reliable"),
        ([V.AC, V.WA], "unreliable"),
        ([V.AC, V.PA], "unreliable"),
        ([V.TLE, None], "unreliable"),
    ],
)
def test_reliability_follows_statuses_of_solutions(statuses: list[V | None], expected: str) -> None:
    references = [Reference(solution="", language="", status=status) for status in statuses]
    assert compute_reliability(references).value == expected


def test_references_are_written_as_json(tmp_path: Path) -> None:
    problem_references = ProblemReferences(problem="p", reliability=Reliability.RELIABLE)
    references = References(most=3, problems=(problem_references,))
    assert references.list_labels(Reliability.RELIABLE) == ("p",)
    write_json(tmp_path / REFERENCES, references)
    written = json.loads((tmp_path / REFERENCES).read_text())
    assert (written["most"], written["problems"][0]["reliability"]) == (3, "reliable")


def test_excluded_problem_raises_exception_with_the_reason(tmp_path: Path) -> None:
    problems = loaded(tmp_path, "apps", [apps(7), apps(8)])
    remaining = problems.exclude(["apps_0"], "not sound")
    assert list(remaining) == ["apps_1"] and list(problems) == ["apps_0", "apps_1"]
    for name in ("7", "apps_0"):
        with pytest.raises(LeftOut) as left_out:
            remaining.find(name)
        assert left_out.value.reason == "not sound"
    assert remaining.find("8").id == "apps_1" and remaining.left_out == {"not sound": 1}
    assert remaining.read_references("apps_1") == problems.read_references("apps_1")
