from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import msgspec
import pytest
from requirements import require_language
from support.builds import HELLO, lay_out, named, plain_problem, submitted
from support.cached_lookups import sandbox_tool
from support.engines import CPU_LIMIT, BuildSpec, compiler_in_shell, find_language, submission_recipe

from ioi_eval.engines.jobs.build import make_compile_script, make_control_program_command
from ioi_eval.models import Blob, BuildLimits, Ending, NamedBlob, StageStatus, Toolchain
from ioi_eval.rules.verdicts import MACHINE_AT_FAULT, BuildEnding, classify_build, format_build_log
from ioi_eval.store.resources import graders_folder

LIMITS = BuildLimits()


def recipe_of(code: str = HELLO, limits: BuildLimits = LIMITS, language: str = "c++") -> BuildSpec:
    name = find_language(language).helper
    helpers = [NamedBlob(name=name, content=Blob.of_file(graders_folder() / name))] if name else []
    return submission_recipe(plain_problem(), submitted(code, language), limits, helpers)


def build(folder: Path, recipe: BuildSpec, tool: Toolchain) -> Ending:
    """Run the script like an engine: in the folder of its files."""
    box = folder / "box"
    lay_out(box, recipe)
    (box / "compile").write_text(make_compile_script(recipe, tool))
    environment = {**os.environ, "GOCACHE": str(box / "cache")}  # not everybody has a home
    completed = subprocess.run(
        ["sh", "compile"], cwd=box, env=environment, capture_output=True, text=True, check=False
    )
    return Ending(stdout=completed.stdout, stderr=completed.stderr, code=completed.returncode)


def test_valid_source_is_built_without_output(tmp_path: Path) -> None:
    stage = build(tmp_path, recipe_of("int main() {}"), sandbox_tool())
    assert (classify_build(stage), stage.stdout) == (BuildEnding.BUILT, "")
    assert (tmp_path / "box/submission").stat().st_size > 0


def test_artifact_over_file_size_limit_fails_build(tmp_path: Path) -> None:
    """Servers report file size limits in different ways."""
    code = 'asm(".data\\n.fill {size}, 1, 7"); int main() {{}}'
    limits = msgspec.structs.replace(LIMITS, file_size=8 << 20)
    for size, end in ((1 << 20, BuildEnding.BUILT), (9 << 20, BuildEnding.CRASHED)):
        stage = build(tmp_path / str(size), recipe_of(code.format(size=size), limits), sandbox_tool())
        assert classify_build(stage) is end, stage


def test_invalid_source_is_refused_with_compiler_message(tmp_path: Path) -> None:
    stage = build(tmp_path, recipe_of("int main() { return x; }"), sandbox_tool())
    assert classify_build(stage) is BuildEnding.REFUSED
    log = format_build_log(stage, BuildLimits(log=10_000))
    assert re.search(r"graders/sum\.cpp:1:21: error: .x. was not declared", log)


def test_undefined_function_is_refused(tmp_path: Path) -> None:
    stage = build(tmp_path, recipe_of("int f();\nint main() { return f(); }"), sandbox_tool())
    assert classify_build(stage) is BuildEnding.REFUSED


def test_unsupported_language_standard_is_machine_fault(tmp_path: Path) -> None:
    recipe = submission_recipe(plain_problem(cpp_standard="gnu++99"), submitted("int main() {}"), LIMITS)
    stage = build(tmp_path, recipe, sandbox_tool())
    assert classify_build(stage) is BuildEnding.MACHINE
    assert "-std=gnu++99" in stage.stderr


@pytest.mark.parametrize(("code", "end"), [("print(1)", BuildEnding.BUILT), ("print(", BuildEnding.REFUSED)])
def test_python_source_is_syntax_checked_and_unchanged(tmp_path: Path, code: str, end: BuildEnding) -> None:
    stage = build(tmp_path, recipe_of(code, language="python"), sandbox_tool("python3"))
    assert classify_build(stage) is end
    if end is BuildEnding.BUILT:
        assert (tmp_path / "box/submission").read_text() == code and stage.stdout == ""
    else:
        assert "SyntaxError" in stage.stdout


def test_missing_compiler_is_machine_fault(tmp_path: Path) -> None:
    gone = Toolchain(command="g++", path="/nowhere/g++", version="1", identity="1")
    assert classify_build(build(tmp_path, recipe_of(), gone)) is BuildEnding.MACHINE


def test_full_disk_in_build_is_machine_fault(tmp_path: Path) -> None:
    tool = compiler_in_shell(
        tmp_path, "echo 'fatal error: error writing to x.s: No space left on device' >&2; exit 1"
    )
    stage = build(tmp_path, recipe_of(), tool)
    assert classify_build(stage) is BuildEnding.MACHINE
    assert "No space left" in stage.stderr


WORKS_FOR_CONTROL = "for name; do case $name in *control.*) exit 0;; esac; done"


def test_nearly_full_disk_in_build_is_machine_fault(tmp_path: Path) -> None:
    """The disk has space for an empty program only."""
    failing = "head -c 5000000 /dev/zero > submission || { rm submission; exit 1; }"
    tool = compiler_in_shell(tmp_path, f"{WORKS_FOR_CONTROL}\n{failing}")
    assert classify_build(build(tmp_path, recipe_of(), tool)) is BuildEnding.BUILT
    (tmp_path / "box/compile").write_text(make_compile_script(recipe_of(), tool))
    mount = 'mount -t tmpfs -o size=4m disk "$0" && cp "$1" "$0" && cd "$0" && exec sh compile'
    small, script = tmp_path / "small", tmp_path / "box" / "compile"
    small.mkdir()
    arguments = (
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        mount,
        str(small),
        str(script),
    )
    completed = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if "unshare" in completed.stderr:
        pytest.skip("this user cannot create namespaces")
    stage = Ending(stderr=completed.stderr, code=completed.returncode)
    assert classify_build(stage) is BuildEnding.MACHINE
    assert "No space left on device" in completed.stderr


@pytest.mark.parametrize(
    ("shell_code", "end"),
    [
        ("echo 'error: no' >&2; exit 1", BuildEnding.REFUSED),
        ("exit 4", BuildEnding.CRASHED),
        ("kill -SEGV $$", BuildEnding.CRASHED),
        (
            "echo 'g++: fatal error: Killed signal terminated program cc1plus' >&2; exit 1",
            BuildEnding.CRASHED,
        ),
        ("echo 'cannot execute cc1plus' >&2; exit 1", BuildEnding.CRASHED),
        (
            "echo 'collect2: fatal error: vfork: Resource temporarily unavailable' >&2; exit 1",
            BuildEnding.CRASHED,
        ),
    ],
)
def test_compiler_exit_maps_to_build_ending_if_control_builds(
    tmp_path: Path, shell_code: str, end: BuildEnding
) -> None:
    tool = compiler_in_shell(tmp_path, f"{WORKS_FOR_CONTROL}\n{shell_code}")
    assert classify_build(build(tmp_path, recipe_of(), tool)) is end


@pytest.mark.parametrize(
    ("code", "end"),
    [(1, BuildEnding.REFUSED), (2, BuildEnding.REFUSED), (3, BuildEnding.CRASHED), (0, BuildEnding.BUILT)],
)
def test_go_compiler_exit_code_1_or_2_is_a_compile_error(tmp_path: Path, code: int, end: BuildEnding) -> None:
    """Go before 1.20 exits with 2, later versions with 1. Neither needs a second build."""
    recipe = recipe_of("package main", language="go")
    tool = compiler_in_shell(tmp_path, f"{WORKS_FOR_CONTROL}\n: > submission\nexit {code}")
    stage = build(tmp_path, recipe, msgspec.structs.replace(tool, command="go"))
    assert classify_build(stage, recipe.refusals) is end


def test_build_without_output_file_counts_as_refused_source(tmp_path: Path) -> None:
    stage = build(tmp_path, recipe_of(), compiler_in_shell(tmp_path, "exit 0"))
    assert (classify_build(stage), stage.stdout) == (BuildEnding.REFUSED, "the compiler made no file\n")


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("rust", '#![crate_type = "lib"]\npub fn f() {}'),
        pytest.param("rust", '#![crate_type = "cdylib"]\npub fn f() {}', marks=pytest.mark.nightly),
        ("go", "package lib\nfunc F() {}"),
    ],
)
def test_source_without_entry_point_is_refused(tmp_path: Path, language: str, code: str) -> None:
    """Otherwise the error would appear only when the program is started."""
    recipe = recipe_of(code, language=language)
    require_language(language)
    assert (
        classify_build(build(tmp_path, recipe, sandbox_tool(recipe.toolchain_command)), recipe.refusals)
        is BuildEnding.REFUSED
    )


def test_long_compiler_output_is_truncated_without_stopping_build(tmp_path: Path) -> None:
    tool = compiler_in_shell(tmp_path, "seq --format='warning %.0f' 20000 && : > submission")
    stage = build(tmp_path, recipe_of(limits=BuildLimits(log=1000)), tool)
    assert (classify_build(stage), len(stage.stdout)) == (BuildEnding.BUILT, 1000)


def test_file_names_are_quoted_in_build_script(tmp_path: Path) -> None:
    problem = plain_problem(grader_files=(named("graders/it's; touch owned .h", "int x;"),))
    recipe = submission_recipe(
        problem, submitted('#include "it\'s; touch owned .h"\nint main() { return x; }'), LIMITS
    )
    assert classify_build(build(tmp_path, recipe, sandbox_tool())) is BuildEnding.BUILT
    assert not list(tmp_path.rglob("owned*"))


def test_control_build_compiles_control_program_instead_of_sources() -> None:
    recipe = recipe_of()
    control = make_control_program_command(recipe)
    assert control[:-2] == recipe.command[:-2]
    assert control[-1] == recipe.control.name
    assert "submission" not in control


@pytest.mark.parametrize(
    ("status", "expected_message"),
    [
        (StageStatus.TO, "it took too long"),
        (StageStatus.OL, "it printed too much"),
        (StageStatus.SG, "Memory limit exceeded"),
    ],
)
def test_build_stopped_by_limit_names_limit_in_log(status: StageStatus, expected_message: str) -> None:
    message = CPU_LIMIT if status is StageStatus.TO else "Memory limit exceeded"
    stage = Ending(stdout="half a ", signal="SIGKILL", status=status, message=message)
    assert classify_build(stage) is BuildEnding.CUT_SHORT
    assert (
        format_build_log(stage, BuildLimits(log=100))
        == f"half a \nThe compiler was stopped: {expected_message}."
    )


def test_compile_log_is_printable_and_truncated() -> None:
    stage = Ending(stdout="\x1b[31mred\x07\ttab\nüñ" + "x" * 100, code=1)
    assert format_build_log(stage, BuildLimits(log=20)) == "\ufffd[31mred\ufffd\ttab\nüñxxxx"


def test_machine_at_fault_exit_code_differs_from_compiler_exit_codes() -> None:
    assert MACHINE_AT_FAULT not in {0, 1, 2, 4, 126, 127, *range(129, 166)}


def test_temporary_file_names_are_removed_from_compile_log() -> None:
    """The compiler's temporary names differ between builds."""
    temporary_paths = ("/tmp/ccaB3dE9", "/tmp/ccZz00Qq", "/dev/shm/ioi-eval-0-1-x_y/box-12/ccaB3dE9")
    messages = (
        f"ld: {temporary_path}.o: undefined reference to `f()'\n" for temporary_path in temporary_paths
    )
    logs = {format_build_log(Ending(stdout=message, code=1), LIMITS) for message in messages}
    assert logs == {"ld: /tmp/cc.o: undefined reference to `f()'"}


@pytest.mark.parametrize(
    ("killed", "ending"),
    [("wall", BuildEnding.IDLED), ("hard", BuildEnding.STOPPED), ("cpu", BuildEnding.CUT_SHORT)],
)
def test_ending_of_killed_build_depends_on_exceeded_limit(killed: str, ending: BuildEnding) -> None:
    """A build that waited, or was slow on a busy machine, is repeated."""
    assert classify_build(Ending.by_limit(killed)) is ending
