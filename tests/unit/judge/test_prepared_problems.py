"""The preparation of problems, and how many prepared problems are cached."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest
from borrowed_engine import artifacts_on
from judge_samples import problem, submission

from ioi_eval import JudgeOptions, Scorer, Store
from ioi_eval.judge import programs
from ioi_eval.judge.deduplication import Deduplication
from ioi_eval.judge.programs import Artifacts, PreparedProblem
from ioi_eval.model.languages import find_language
from ioi_eval.models import Blob, Checker, CheckerKind, NamedBlob, Problem, Test
from ioi_eval.testing import FakeEngine


def prepared_on(artifacts: Artifacts, problems: list[Problem]) -> list[PreparedProblem]:
    return [artifacts.prepare_problem(some_problem) for some_problem in problems]


async def opened(store: Store) -> Artifacts:
    async with artifacts_on(FakeEngine(), store) as artifacts:
        return artifacts


async def test_problem_is_prepared_once_for_all_submissions_in_a_language(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = Counter[str]()

    def count(name: str) -> None:
        original = getattr(programs, name)

        def counting(*positional: Any, **keywords: Any) -> Any:
            counted[name] += 1
            return original(*positional, **keywords)

        monkeypatch.setattr(programs, name, counting)

    once = (
        "refuse_invalid_problem",
        "problem_digest",
        "Schedule",
        "SubmissionSources",
        "JudgingSetup",
        "refuse_unsupported_language",
    )
    for name in (*once, "find_trusted_programs"):
        count(name)
    source = NamedBlob(name="checker/checker.cpp", content=Blob.of("int main() {}"))
    shared_problem = problem(checker=Checker(kind=CheckerKind.CMS, sources=(source,)))
    async with Scorer(FakeEngine()) as scorer:
        await scorer.prepare(shared_problem)
        for number in range(3):
            code = f"int main() {{ return {number}; }}"
            await scorer.score(
                shared_problem, submission(code, key=f"{number}"), deduplication=Deduplication()
            )
        assert counted == dict.fromkeys(once, 1) | {"find_trusted_programs": 3}, (
            "one each for checker, manager and grader"
        )
        await scorer.score(
            shared_problem, submission("pass", language="python"), deduplication=Deduplication()
        )
    every_language = {
        "problem_digest",
        "Schedule",
        "SubmissionSources",
        "JudgingSetup",
        "refuse_unsupported_language",
    }
    assert {name for name, number in counted.items() if number == 2} == every_language


async def test_prepared_problem_caches_setup_for_each_set_of_options(store: Store) -> None:
    prepared = (await opened(store)).prepare_problem(problem())
    default_setup = prepared.setup(None, JudgeOptions())
    assert prepared.setup(None, JudgeOptions()) is default_setup
    assert prepared.setup(None, JudgeOptions(echo=100)).options.echo == 100


async def test_each_standard_of_a_language_has_its_own_build(store: Store) -> None:
    prepared = (await opened(store)).prepare_problem(problem())
    languages = [find_language(name) for name in ("c++17", "c++20", "C++17")]
    commands = [prepared.sources(language).create_build_spec(submission()).command for language in languages]
    setups = [prepared.setup(language, JudgeOptions()).language for language in languages[:2]]
    assert ["-std=gnu++17" in command for command in commands] == [True, False, True]
    assert [language and language.standard for language in setups] == ["gnu++17", "gnu++20"]


async def test_changed_problem_of_the_same_name_is_prepared_again(store: Store) -> None:
    artifacts, first = await opened(store), problem()
    changed = msgspec.structs.replace(first, name="of another year")
    prepared = prepared_on(artifacts, [first, first, changed, first])
    assert prepared[0] is prepared[1]
    assert [prepared_problem.problem for prepared_problem in prepared[2:]] == [changed, first]
    assert len({id(prepared_problem) for prepared_problem in prepared}) == 3


def large(number: int) -> Problem:
    test = Test(name="1", input=Blob.of(b"%d" % (number % 10) * (4 << 20)), answer=Blob.of(""))
    return problem(id=f"large {number}", tests=(test,), subtasks=())


async def test_only_few_large_prepared_problems_are_cached(store: Store) -> None:
    """A trainer's rows hold tests in memory and are rarely judged again. Small problems are cached."""
    artifacts = await opened(store)
    small = [problem(id=f"{number}") for number in range(200)]
    assert prepared_on(artifacts, small) == (prepared_again := prepared_on(artifacts, small))
    few = [large(number) for number in range(30)]
    first = prepared_on(artifacts, few)
    assert (
        artifacts.prepare_problem(few[-1]) is first[-1] and artifacts.prepare_problem(few[0]) is not first[0]
    )
    assert artifacts.prepare_problem(small[0]) is not prepared_again[0], "the oldest problems were dropped"
