"""ONLINE_JUDGE is defined only for problems of judges that define it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest
from requirements import require_language
from support.engines import submission_recipe
from support.proctor_protocol import Plan

from ioi_eval import EmbeddedEngine, Scorer, Store
from ioi_eval.models import Blob, BuildLimits, Limits, Problem, Submission, TaskOptions, Test
from ioi_eval.scoring import Deduplication
from ioi_eval.testing import FakeEngine

DEFINED = """
#include <stdio.h>
int main(void) {
#ifndef ONLINE_JUDGE
  freopen("in.txt", "r", stdin);
#endif
  int n;
  if (scanf("%d", &n) == 1) printf("%d\\n", n);
}
"""
IN_PYTHON = "import os\nprint(input() if os.environ.get('ONLINE_JUDGE') else 'at home')\n"
IN_JAVA = """
public class Main {
    public static void main(String[] arguments) {
        boolean online = System.getProperty("ONLINE_JUDGE") != null && System.getenv("ONLINE_JUDGE") != null;
        System.out.println(online ? new java.util.Scanner(System.in).next() : "at home");
    }
}
"""


def problem(online: bool) -> Problem:
    return Problem(
        id="echo",
        limits=Limits.contest(5.0, 256 << 20),
        options=TaskOptions(online_judge=online),
        tests=(Test(name="t", input=Blob.of("7\n"), answer=Blob.of("7\n")),),
    )


@pytest.fixture
async def scorer(request: pytest.FixtureRequest, store: Store) -> AsyncIterator[Scorer]:
    has_fork_servers = getattr(request, "param", True)
    async with Scorer(EmbeddedEngine(store=store, slots=1, waiting=has_fork_servers), store=store) as opened:
        yield opened


async def verdicts(scorer: Scorer, code: str, language: str) -> list[str]:
    """Return the verdicts with and without the definition. The results are not reused for each other."""
    deduplication, statuses = Deduplication(), list[str]()
    for online in (True, False):
        submission = Submission(key=str(online), problem_id="echo", code=code, language=language)
        result = await scorer.score(problem(online), submission, deduplication=deduplication)
        assert result.compiles, result.compile_output
        statuses.append(result.tests[0].status.value)
    return statuses


@pytest.mark.nightly(unless="^c$")  # test_online_judge_flag_changes_build_command_only
@pytest.mark.parametrize("language", ["c", "c++"])
async def test_online_judge_is_defined_in_c_and_cpp(scorer: Scorer, language: str) -> None:
    assert await verdicts(scorer, DEFINED, language) == ["AC", "WA"]


@pytest.mark.parametrize("scorer", [True, False], indirect=True, ids=["forked", "started"])
async def test_online_judge_is_set_in_python(scorer: Scorer) -> None:
    assert await verdicts(scorer, IN_PYTHON, "python") == ["AC", "WA"]


@pytest.mark.nightly
async def test_online_judge_is_set_in_java(scorer: Scorer) -> None:
    require_language("java")
    assert await verdicts(scorer, IN_JAVA, "java") == ["AC", "WA"]


async def test_online_judge_is_in_java_command_and_environment() -> None:
    engine, submission = FakeEngine(), Submission(key="1", problem_id="echo", code=IN_JAVA, language="java")
    async with Scorer(engine) as scorer:
        for online in (True, False):
            await scorer.score(problem(online), submission)
    plans = (file.content.read() for job in engine.runs for file in job.files if file.name == "plan.json")
    plan_online, other = (msgspec.json.decode(plan, type=Plan).submission for plan in plans)
    assert [argument for argument in plan_online.argv if argument not in other.argv] == [
        "-DONLINE_JUDGE=true"
    ]
    assert dict(plan_online.env).items() - dict(other.env).items() == {("ONLINE_JUDGE", "true")}


@pytest.mark.parametrize("language", ["rust", "go", "python", "java"])
def test_online_judge_does_not_change_builds_of_other_languages(language: str) -> None:
    submission = Submission(key="1", problem_id="echo", code="", language=language)
    with_flag, other = (
        submission_recipe(problem(online), submission, BuildLimits()) for online in (True, False)
    )
    assert with_flag == other


@pytest.mark.parametrize("language", ["c", "c++"])
def test_online_judge_flag_changes_build_command_only(language: str) -> None:
    submission = Submission(key="1", problem_id="echo", code="", language=language)
    with_flag, other = (
        submission_recipe(problem(online), submission, BuildLimits()) for online in (True, False)
    )
    assert [argument for argument in with_flag.command if argument not in other.command] == ["-DONLINE_JUDGE"]
    assert with_flag.precompile == other.precompile, "the precompiled header does not depend on the flag"
