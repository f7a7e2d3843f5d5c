from __future__ import annotations

import hashlib
import json
import re

import msgspec
import pytest
from support.builds import HELLO, checked_problem, graded_problem, named, plain_problem, submitted
from support.engines import LANGUAGES, submission_recipe

from ioi_eval.engines.jobs.build import make_control_program_command
from ioi_eval.engines.jobs.headers import make_precompiled_header_spec
from ioi_eval.errors import InputError, JobRejected, JudgeFailure
from ioi_eval.judge.recipes import make_proctor_build_spec, make_trusted_program_spec
from ioi_eval.models import BuildLimits, Submission, TaskOptions, TaskType, Toolchain

LIMITS = BuildLimits()
TOOL = Toolchain(command="g++", path="/usr/bin/g++", version="12.2.0", identity="g++ 12.2.0 abc")
FLAGS = ("-DEVAL", "-std=gnu++20", "-O2", "-static", "-s", "-o", "submission")


def test_build_without_grader_compiles_submission_only() -> None:
    recipe = submission_recipe(plain_problem(), submitted(), LIMITS)
    assert recipe.command == ("g++", *FLAGS, "graders/sum.cpp")
    assert [source.name for source in recipe.sources] == ["graders/sum.cpp"]
    assert recipe.main_source.content.read().decode() == HELLO


def test_build_with_grader_compiles_grader_before_submission() -> None:
    recipe = submission_recipe(graded_problem(), submitted("int add(int a, int b);"), LIMITS)
    assert recipe.command == ("g++", *FLAGS, "graders/grader.cpp", "graders/sum.cpp")
    assert {source.name for source in recipe.sources} == {
        "graders/grader.cpp",
        "graders/sum.h",
        "graders/sum.cpp",
    }
    assert recipe.main_source.name == "graders/sum.cpp", "the submission's source comes last"


SEVERAL = Submission(
    key="1",
    problem_id="sum",
    code="main",
    language="c++",
    files=(named("b.cpp"), named("inner/b.h"), named("sum.h", "own")),
)


def test_several_sources_are_built_together() -> None:
    recipe = submission_recipe(graded_problem(), SEVERAL, LIMITS)
    assert recipe.command[-3:] == ("graders/grader.cpp", "graders/sum.cpp", "graders/b.cpp")
    assert {source.name for source in recipe.sources} == {
        *("graders/grader.cpp", "graders/sum.h", "graders/sum.cpp", "graders/b.cpp", "graders/inner/b.h")
    }
    header = next(source for source in recipe.sources if source.name == "graders/sum.h")
    assert header.content.read() != b"own", "the problem's file replaces the file of the same name"
    assert make_control_program_command(recipe)[-1] == recipe.control.name


def test_submission_file_named_like_problem_renames_main_source() -> None:
    twin = msgspec.structs.replace(SEVERAL, files=(named("sum.cpp"),))
    command = submission_recipe(plain_problem(), twin, LIMITS).command
    assert command[-2:] == ("graders/sum-main.cpp", "graders/sum.cpp")


@pytest.mark.parametrize("name", ["../b.cpp", "/b.cpp", ""])
def test_submission_file_outside_the_source_folder_is_rejected(name: str) -> None:
    with pytest.raises(JobRejected, match="is not a valid name of a source"):
        submission_recipe(plain_problem(), msgspec.structs.replace(SEVERAL, files=(named(name),)), LIMITS)


def test_function_problem_rejects_several_sources() -> None:
    with pytest.raises(JobRejected, match="has several"):
        submission_recipe(plain_problem(task_type=TaskType.FUNCTION), SEVERAL, LIMITS)


C_GRADER = named("graders/grader.c", '#include "sum.h"\nint main(void) { return add(1, 2) - 3; }\n')


def test_each_language_is_compiled_with_its_own_grader() -> None:
    problem = graded_problem()
    both = msgspec.structs.replace(problem, grader_files=(*problem.grader_files, C_GRADER))
    in_c = submission_recipe(both, submitted("int add(int a, int b);", "c"), LIMITS).command
    assert in_c[0] == "gcc"
    assert "-std=gnu11" in in_c
    assert in_c[-3:] == ("graders/grader.c", "graders/sum.c", "-lm")
    in_cpp = submission_recipe(both, submitted(), LIMITS).command
    assert in_cpp[-2:] == ("graders/grader.cpp", "graders/sum.cpp")


@pytest.mark.parametrize(
    ("grader_name", "language"),
    [("grader.c", "c++"), ("grader.cpp", "c"), ("grader.cpp", "python"), ("grader.py", "c++")],
)
def test_missing_grader_in_language_is_judge_failure(grader_name: str, language: str) -> None:
    problem = graded_problem(grader_files=(named(f"graders/{grader_name}"),))
    with pytest.raises(JudgeFailure, match=f"problem sum has no grader in {re.escape(language)}"):
        submission_recipe(problem, submitted("", language), LIMITS)


@pytest.mark.parametrize("language", ["python", "pypy"])
def test_python_grader_is_main_program_of_build(language: str) -> None:
    files = [named(f"graders/{name}.py") for name in ("grader", "tools", "manager", "checker", "interactor")]
    problem = graded_problem(grader_files=tuple(files))
    recipe = submission_recipe(problem, submitted("x = 1", language), LIMITS)
    assert recipe.command[-3:] == ("graders/grader.py", "graders/sum.py", "graders/tools.py")
    python_files = {"graders/grader.py", "graders/tools.py", "graders/sum.py"}
    assert {source.name for source in recipe.sources if source.name.endswith(".py")} == python_files


def test_submission_replaces_grader_file_of_same_name() -> None:
    problem = plain_problem(grader_files=(named("graders/sum.cpp", "theirs"),))
    recipe = submission_recipe(problem, submitted("ours"), LIMITS)
    assert [source.content.read() for source in recipe.sources] == [b"ours"]


@pytest.mark.parametrize("name", ["1520/B", "-rf", "", "a b", "../up", "x\ny", "long" * 63])
def test_problem_id_unfit_as_file_name_is_replaced_in_source_name(name: str) -> None:
    recipe = submission_recipe(plain_problem(id=name), submitted(), LIMITS)
    assert recipe.main_source.name == "graders/submission.cpp"


@pytest.mark.parametrize("language", [language.name for language in LANGUAGES if not language.links_grader])
def test_source_name_ignores_problem_id_without_grader(language: str) -> None:
    """Go treats `pair_test.go` as a test, and Pascal treats `math.pas` as the unit `math`."""
    program = submitted(language=language)
    names = [
        {file.name for file in submission_recipe(plain_problem(id=id), program, LIMITS).sources}
        for id in ("pair_test", "math", "submission")
    ]
    assert names[0] == names[1] == names[2]


def test_source_name_is_lower_case_problem_id() -> None:
    assert (
        submission_recipe(plain_problem(id="Sum"), submitted(), LIMITS).main_source.name == "graders/sum.cpp"
    )


def test_cpp_standard_follows_problem_unless_language_names_one() -> None:
    older_standard = plain_problem(cpp_standard="gnu++17")
    assert "-std=gnu++17" in submission_recipe(older_standard, submitted(), LIMITS).command
    assert "-std=gnu++23" in submission_recipe(older_standard, submitted(language="C++23"), LIMITS).command


def test_missing_grader_is_input_error() -> None:
    problem = plain_problem(options=TaskOptions(with_grader=True))
    with pytest.raises(InputError, match="problems/sum: the problem's grader is missing"):
        submission_recipe(problem, submitted(), LIMITS)


def test_language_that_cannot_link_grader_is_judge_failure() -> None:
    with pytest.raises(JudgeFailure, match="cannot be linked"):
        submission_recipe(graded_problem(), submitted("class Sum {}", "java"), LIMITS)


@pytest.mark.parametrize(
    "code",
    [
        "",
        "int main() {}\0",
        "\ud800",
        pytest.param("x" * 1_100_000, id="1 MB"),
        pytest.param("x" * 10_000_000, id="10 MB", marks=pytest.mark.nightly),
    ],
)
def test_source_with_any_text_gets_build_spec(code: str) -> None:
    recipe = submission_recipe(plain_problem(), submitted(code), LIMITS)
    assert recipe.main_source.content.size >= len(code)


def test_checker_build_compiles_first_source_only() -> None:
    problem = checked_problem()
    recipe = make_trusted_program_spec(problem, problem.checker, "checker", LIMITS)
    assert recipe.command[-3:] == ("-o", "checker.out", "checker/checker.cpp")
    assert [source.name for source in recipe.sources] == ["checker/testlib.h", "checker/checker.cpp"]
    assert recipe.limits.wall_time is not None
    assert LIMITS.wall_time is not None
    assert recipe.limits.wall_time > LIMITS.wall_time, (
        "a checker has longer limits, because it is trusted and built once"
    )


def test_proctor_build_includes_all_units() -> None:
    recipe = make_proctor_build_spec(
        [named("main.cpp"), named("a.hpp"), named("z.cpp"), named("a.cpp")], LIMITS
    )
    assert recipe.command[-5:] == ("-include", "a.cpp", "-include", "z.cpp", "main.cpp")
    assert make_control_program_command(recipe)[-3:] == ("-o", "ioi-eval-control", "ioi-eval-control.cpp")


def test_header_is_precompiled_with_flags_of_build() -> None:
    build = submission_recipe(plain_problem(), submitted(), LIMITS)
    header = make_precompiled_header_spec(build)
    assert set(FLAGS[:5]) <= set(header.command)
    assert header.main_source.content.read() == b"#include <bits/stdc++.h>\n"


# --- keys --------------------------------------------------------------------------------------------


def test_build_key_equals_protocol_definition() -> None:
    recipe = submission_recipe(plain_problem(), submitted("x"), LIMITS)
    document = {
        "v": 1,
        "kind": "submission",
        "architecture": "x86_64",
        "toolchain": "g++ 12.2.0 abc",
        "command": list(recipe.command),
        "sources": [["graders/sum.cpp", hashlib.sha256(b"x").hexdigest()]],
    }
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    assert recipe.make_cache_key("x86_64", TOOL) == hashlib.sha256(canonical.encode()).hexdigest()


def test_build_key_changes_with_everything_that_changes_artifact() -> None:
    recipe = submission_recipe(graded_problem(), submitted("x"), LIMITS)
    keys = {
        recipe.make_cache_key("x86_64", TOOL),
        recipe.make_cache_key("aarch64", TOOL),
        recipe.make_cache_key("x86_64", msgspec.structs.replace(TOOL, identity="g++ 13")),
        submission_recipe(graded_problem(), submitted("y"), LIMITS).make_cache_key("x86_64", TOOL),
        submission_recipe(plain_problem(), submitted("x"), LIMITS).make_cache_key("x86_64", TOOL),
        submission_recipe(graded_problem(cpp_standard="gnu++17"), submitted("x"), LIMITS).make_cache_key(
            "x86_64", TOOL
        ),
    }
    assert len(keys) == 6


def test_build_key_ignores_submission_key_limits_and_paths() -> None:
    first = submission_recipe(plain_problem(), submitted("x", key="1"), LIMITS)
    second = submission_recipe(
        plain_problem(source="elsewhere"), submitted("x", key="2"), BuildLimits(wall_time=9)
    )
    elsewhere = msgspec.structs.replace(TOOL, path="/opt/bin/g++")
    assert first.make_cache_key("x86_64", TOOL) == second.make_cache_key("x86_64", elsewhere)


def test_total_source_size_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ioi_eval.judge.recipes.MAX_SOURCE_BYTES", 100)
    extra_files = (named("more.h", "/" * 60),)
    fitting, larger = (msgspec.structs.replace(submitted("x" * size), files=extra_files) for size in (40, 41))
    assert submission_recipe(plain_problem(), fitting, LIMITS)
    with pytest.raises(JobRejected, match="the source has 101 bytes; the maximum is 100"):
        submission_recipe(plain_problem(), larger, LIMITS)
