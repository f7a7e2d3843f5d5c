"""Problems that cannot be judged are refused before anything is built or requested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from judge_samples import problem, some_tests, submission, subtask
from support.engines import fake_capabilities

from ioi_eval import Scorer
from ioi_eval.errors import InputError, JudgeFailure, ModuleMissing
from ioi_eval.judge import needs, programs
from ioi_eval.judge.needs import find_imported_modules, find_unmet_needs, refuse_language
from ioi_eval.model.languages import find_language
from ioi_eval.models import (
    Blob,
    Checker,
    CheckerKind,
    Limits,
    Manager,
    NamedBlob,
    Problem,
    TaskOptions,
    TaskType,
    Test,
    Toolchain,
)
from ioi_eval.testing import FakeEngine

FUNCTION: dict[str, Any] = {"task_type": TaskType.FUNCTION, "options": TaskOptions(function="add")}
GRADED: dict[str, Any] = {
    "options": TaskOptions(with_grader=True),
    "grader_files": (NamedBlob(name="graders/grader.cpp", content=Blob.of("int main() {}")),),
}
PROFILE = fake_capabilities()


def judged_by(source: str, name: str = "checker.py", **changes: Any) -> Problem:
    language = "python" if name.endswith(".py") else "c++"
    sources = (NamedBlob(name=name, content=Blob.of(source)),)
    return problem(checker=Checker(kind=CheckerKind.CMS, sources=sources, language=language), **changes)


def reasons(
    problem: Problem,
    language: str = "c++",
    without: str = "",
    toolchains: Mapping[str, Toolchain] = PROFILE.toolchains,
) -> list[str]:
    tools = {name: tool for name, tool in toolchains.items() if name != without}
    profile = msgspec.structs.replace(PROFILE, toolchains=tools)
    return [str(error) for error in find_unmet_needs(problem, find_language(language), profile, profile)]


@pytest.mark.parametrize(
    ("changes", "language", "reason"),
    [
        (FUNCTION, "c++", "calls a function of a Python submission, not c++"),
        (GRADED, "java", "has a grader, and java cannot be linked with it"),
        (GRADED, "python", "has no grader in python"),
        ({"unusable": "No test cases provided"}, "c++", "No test cases provided"),
    ],
)
async def test_unjudgeable_submission_is_final_judge_failure_without_job(
    changes: dict[str, Any], language: str, reason: str
) -> None:
    engine, wrong = FakeEngine(), judged_by("int main() {}", "checker.cpp", **changes)
    async with Scorer(engine) as scorer:
        with pytest.raises(JudgeFailure, match=reason) as caught:
            await scorer.score(wrong, submission(language=language))
        assert caught.value.final, "a retry cannot help"
        assert [
            str(error) for error in await scorer.judge.find_unmet_needs(wrong, find_language(language))
        ] == [str(caught.value)]
    assert engine.jobs == []


async def test_incomplete_problem_is_input_error_without_job() -> None:
    engine = FakeEngine()
    async with Scorer(engine) as scorer:
        with pytest.raises(InputError, match="problem 'sum' has no tests"):
            await scorer.score(problem(0, subtasks=()), submission())
        with pytest.raises(InputError, match="does not name the function"):
            await scorer.score(problem(task_type=TaskType.FUNCTION), submission(language="python"))
    assert engine.jobs == []


UNANSWERED = tuple(Test(name=f"t{index}", input=Blob.of("")) for index in range(4))
IMPOSSIBLE: dict[str, tuple[dict[str, Any], str]] = {
    "no answer": ({"tests": UNANSWERED}, "test 't0' has no answer"),
    "no answer to a file": (
        {"tests": UNANSWERED, "task_type": TaskType.OUTPUT_ONLY},
        "test 't0' has no answer",
    ),
    "two tests of a name": (
        {"tests": (*some_tests(4), *some_tests(1))},
        "two tests have the name 't0'",
    ),
    "no memory": ({"limits": Limits.contest(1.0, 0)}, "field 'limits.memory': 0 is not a valid limit"),
    "negative points": ({"subtasks": (subtask("all", -10, range(4)),)}, "subtask 'all' has -10 points"),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
async def test_impossible_problem_is_input_error_for_all_entry_points(name: str) -> None:
    """Even for a submission without code, which needs no test to score 0."""
    changes, reason = IMPOSSIBLE[name]
    engine, wrong = FakeEngine(), problem(**changes)
    async with Scorer(engine) as scorer:
        for code in ("int main() {}", None):
            with pytest.raises(InputError, match=reason):
                await scorer.score(wrong, submission(code))
        with pytest.raises(InputError, match=reason):
            await scorer.prepare(wrong)
        for language in (find_language("c++"), None):
            (error,) = await scorer.judge.find_unmet_needs(wrong, language)
            assert isinstance(error, InputError) and reason in str(error)
    with pytest.raises(InputError, match=reason):  # before a request to a model
        refuse_language(wrong, find_language("c++"))
    assert engine.jobs == []


async def test_missing_answer_is_accepted_with_manager() -> None:
    manager = Manager(sources=(NamedBlob(name="manager.cpp", content=Blob.of("int main() {}")),))
    talking = problem(task_type=TaskType.COMMUNICATION, manager=manager, tests=UNANSWERED)
    async with Scorer(FakeEngine()) as scorer:
        assert (await scorer.score(talking, submission())).points == 100


async def test_problem_is_validated_once_for_all_submissions(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = list[Problem]()
    for module in (needs, programs):
        monkeypatch.setattr(module, "refuse_invalid_problem", looks.append)
    shared_problem = problem()
    async with Scorer(FakeEngine()) as scorer:
        await scorer.score(shared_problem, submission())
        assert looks.count(shared_problem) == 1
        for code in ("int main() { return 0; }", None, "int main() { return 1; }"):
            await scorer.score(shared_problem, submission(code))
    assert looks.count(shared_problem) == 1


def test_missing_tools_are_named_with_install_command() -> None:
    assert reasons(problem()) == []
    (reason,) = reasons(problem(), "rust", without="rustc")
    assert (
        "engine fake has no rustc, which a submission in rust needs" in reason and "apt-get install" in reason
    )
    assert reasons(problem(), "rust", without="java") == []
    (checker,) = reasons(judged_by("int main() {}", "checker.cpp"), "python", without="g++")
    assert "no g++, which a checker needs" in checker
    both = reasons(judged_by("int main() {}", "checker.cpp"), "c++", without="g++")
    assert len(both) == 2, "one for the submission, one for the problem's programs"


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("import numpy as np\n", "numpy"),
        ("import os\nfrom scipy.sparse import csr_matrix\n", "scipy"),
        ("try:\n    import numpy\nexcept ImportError:\n    pass\n", ""),
        ("def f():\n    import numpy\n", ""),
        ("import a_name_that_somebody_made_up\n", ""),
        ("import sympy\n", ""),
        ("import (\n", ""),
    ],
)
async def test_checker_with_missing_python_packages_is_refused(source: str, missing: str) -> None:
    tool = msgspec.structs.replace(PROFILE.toolchains["python3"], modules=("sympy",))
    tools = {**PROFILE.toolchains, "python3": tool}
    found_reasons = reasons(judged_by(source), toolchains=tools)
    assert ([f"the checker imports {missing}" in reason for reason in found_reasons] == [True]) == bool(
        missing
    )
    engine = FakeEngine(capabilities=msgspec.structs.replace(PROFILE, toolchains=tools))
    async with Scorer(engine) as scorer:
        if not missing:
            await scorer.prepare(judged_by(source))
            return
        with pytest.raises(ModuleMissing, match=f"-m pip install {missing}"):
            await scorer.prepare(judged_by(source))
    assert engine.runs == []
    unknown = msgspec.structs.replace(tool, modules=None)
    assert reasons(judged_by(source), toolchains={**tools, "python3": unknown}) == []


def test_module_in_checker_sources_is_not_a_missing_package() -> None:
    tool = msgspec.structs.replace(PROFILE.toolchains["python3"], modules=())
    checker_sources = tuple(
        NamedBlob(name=name, content=Blob.of("import yaml")) for name in ("checker.py", "yaml.py")
    )
    own_problem = problem(checker=Checker(kind=CheckerKind.CMS, sources=checker_sources, language="python"))
    assert reasons(own_problem, toolchains={**PROFILE.toolchains, "python3": tool}) == []


def test_only_unconditional_top_level_imports_are_required() -> None:
    assert find_imported_modules(
        "import a.b, c as d\nfrom e.f import g\nfrom . import h\nif 1:\n    import i\n"
    ) == {
        "a",
        "c",
        "e",
    }
    assert find_imported_modules(b"\x00") == find_imported_modules("(" * 10_000) == set()
