"""The quicker linker: what it links behaves as before, and who lacks it builds as before."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec
import pytest
from missing import lacks
from support.builds import (
    HELLO,
    big_header,
    checked_problem,
    graded_problem,
    lay_out,
    named,
    opened,
    plain_problem,
    recipe,
    submitted,
)
from support.engines import fake_profile
from support.judged_examples import PLACE, judged

from ioi_eval import EmbeddedEngine, JudgeOptions, Scorer, Store, load_problems
from ioi_eval.engines import contract
from ioi_eval.engines.cluster import offers_of
from ioi_eval.engines.contract import LINKING, Built, Recipe, artifact_key
from ioi_eval.engines.embedded import toolchains
from ioi_eval.engines.embedded.toolchains import find_compiler, find_linking, quick_linker
from ioi_eval.engines.jobs.build import OBJECT, compile_script, object_recipe
from ioi_eval.engines.jobs.headers import FOLDER, checker_recipe, header_name, header_recipe, trials
from ioi_eval.engines.piston.probe import LOOK, seen
from ioi_eval.engines.piston.reports import EndpointReport, merged
from ioi_eval.judge.recipes import trusted_recipe
from ioi_eval.models import (
    Blob,
    BuildLimits,
    BuildOptions,
    Problem,
    Submission,
    SubmissionResult,
    Test,
    Toolchain,
    Verdict,
)
from ioi_eval.rules.expectations import of_packages
from ioi_eval.store.resources import graders
from ioi_eval.store.rows import result_of, result_row
from ioi_eval.testing import FakeEngine

pytestmark = pytest.mark.alike

CORPUS = graders() / "headers" / "corpus"
SHORT = "#include <cstdio>\n"
FLAGS = ("-DEVAL", "-std=gnu++20", "-O2", "-pipe", "-static", "-s")


@cache
def linking(name: str = "g++") -> Toolchain:
    found = find_linking(name)
    if found is None or not found.linker:
        lacks("there is no gold that links programs: apt-get install binutils")
    return found


def noting(folder: Path, tool: Toolchain, first: str = "") -> tuple[Toolchain, Path]:
    """The compiler in a shell that notes its calls. `first`: what it does before."""
    path, calls = folder / "noting", folder / "calls"
    path.write_text(f'#!/bin/sh\necho "$@" >> {calls}\n{first}\nexec {tool.path} "$@"\n')
    path.chmod(0o755)
    return msgspec.structs.replace(tool, path=str(path)), calls


def build(
    box: Path, recipe: Recipe, tool: Toolchain, *, headers: str = "", linked: bool = False
) -> tuple[int, str, Path]:
    """Return the compiler's exit code and words, and the place of what was built."""
    lay_out(box, recipe)
    script = compile_script(recipe, tool=tool, headers=headers, linked=linked)
    done = subprocess.run(["bash", "-c", script], cwd=box, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, box / recipe.output


def is_golds(program: Path) -> bool:
    return b"\0gold 1." in program.read_bytes()


# --- what it links -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("language", "command"), [("c++", "g++"), ("c", "gcc")])
def test_it_links_submissions(tmp_path: Path, language: str, command: str) -> None:
    source = recipe('#include <stdio.h>\nint main(void) { puts("built"); }\n', language=language)
    tool = linking(command)
    code, words, quick = build(tmp_path / "quick", source, tool)
    assert (code, words, is_golds(quick)) == (0, "", True)
    *_, usual = build(tmp_path / "usual", source, msgspec.structs.replace(tool, linker=""))
    assert not is_golds(usual)
    assert subprocess.check_output([quick]) == subprocess.check_output([usual]) == b"built\n"


def test_a_graders_object_is_linked_by_it(tmp_path: Path) -> None:
    source, tool = recipe("int add(int a, int b) { return a + b; }\n", graded_problem()), linking()
    _, _, shared = build(tmp_path / "object", object_recipe(source), tool)
    (tmp_path / "box").mkdir()
    (tmp_path / "box" / OBJECT).symlink_to(shared)
    code, words, built = build(tmp_path / "box", source, tool, linked=True)
    assert (code, words, is_golds(built)) == (0, "", True)
    assert subprocess.run([built], check=False).returncode == 0


def test_objects_are_the_same_to_the_byte(tmp_path: Path) -> None:
    code = 'template <class T> T twice(T a) { return a + a; }\nint main() { std::printf("%d", twice(2)); }\n'
    assert _object(tmp_path, SHORT + code) == _object(tmp_path, SHORT + code, *LINKING)


def test_nothing_else_is_linked_by_it() -> None:
    some = recipe(HELLO)
    problem, checked = graded_problem(), checked_problem()
    for other in (
        header_recipe(some),
        checker_recipe(some),
        object_recipe(recipe("int add(int a, int b) { return a + b; }\n", problem)),
        trusted_recipe(checked, checked.checker, "checker", BuildLimits()),
        next(iter(trials(some))).usual,
        recipe("print(1)", language="python"),
    ):
        assert not other.any_linker
    assert some.any_linker and recipe("int main(void) { return 0; }", language="c").any_linker
    spoken = (named("graders/grader.cpp", 'asm("nop");\nint main() {}\n'), named("graders/sum.h"))
    assert not recipe(HELLO, graded_problem(grader_files=spoken)).any_linker


def test_an_error_of_the_compiler_takes_one_try(tmp_path: Path) -> None:
    tool, calls = noting(tmp_path, linking())
    code, words, _ = build(tmp_path / "box", recipe("int main() { return x; }\n"), tool)
    once, control = calls.read_text().splitlines()
    assert code == 1 and "was not declared" in words
    assert "-fuse-ld" in once and "control" in control


def test_a_warning_of_the_compiler_takes_one_try(tmp_path: Path) -> None:
    tool, calls = noting(tmp_path, linking())
    code, words, built = build(tmp_path / "box", recipe("int f() {}\nint main() {}\n"), tool)
    assert code == 0 and "no return statement" in words and is_golds(built)
    assert len(calls.read_text().splitlines()) == 1


@pytest.mark.parametrize(
    "fault",
    [
        "echo 'collect2: fatal error: cannot find ld' >&2; exit 1",
        "echo 'collect2: fatal error: ld terminated with signal 9 [Killed]' >&2; exit 1",
        "exit 1",
        "echo '/usr/bin/ld.gold: warning: no' >&2; exit 0",
    ],
)
def test_where_it_fails_the_compilers_own_links(tmp_path: Path, fault: str) -> None:
    failing = f'case "$*" in *-fuse-ld=*) {fault};; esac'
    tool, calls = noting(tmp_path, linking(), failing)
    code, words, built = build(tmp_path / "box", recipe(SHORT + "int main() {}\n"), tool)
    assert (code, words, is_golds(built)) == (0, "", False)
    assert ["-fuse-ld" in call for call in calls.read_text().splitlines()] == [True, False]


# --- names and machines ------------------------------------------------------------------------------


def test_what_is_kept_is_named_by_it() -> None:
    plain = Toolchain(command="g++", path="/usr/bin/g++", version="12", identity="g++ 12")
    quick, other = (msgspec.structs.replace(plain, linker=f"gold {version}") for version in "12")
    some = recipe(HELLO)
    keys = {some.key("x86_64", tool) for tool in (plain, quick, other)}
    assert len(keys) == 3
    usual = msgspec.structs.replace(some, any_linker=False)
    assert {usual.key("x86_64", tool) for tool in (plain, quick)} == {some.key("x86_64", plain)}
    header = header_recipe(some)
    assert header.key("x86_64", plain) == header.key("x86_64", quick), "no proof hangs on it"


@pytest.mark.parametrize("usual", [True, False])
async def test_it_can_be_turned_off(tmp_path: Path, usual: bool) -> None:
    profile = fake_profile()
    tool = msgspec.structs.replace(profile.toolchains["g++"], linker="gold 1.16 abc")
    profile = msgspec.structs.replace(profile, toolchains={**profile.toolchains, "g++": tool})
    engine = FakeEngine(profile=profile)
    async with opened(tmp_path, engine, BuildOptions(usual_linker=usual)) as artifacts:
        built = await artifacts.submission(plain_problem(), submitted(HELLO))
    assert isinstance(built, Built) and built.linker == ("" if usual else "gold 1.16")
    [script] = [file.content.read().decode() for file in engine.builds[0].files if file.name == "compile"]
    assert ("-fuse-ld" in script) is not usual


def on_machines(*linkers: str) -> tuple[Toolchain, ...]:
    one = Toolchain(command="g++", path="/usr/bin/g++", version="12", identity="g++ 12")
    tools = (msgspec.structs.replace(one, linker=linker) for linker in linkers)
    return offers_of([{"g++": tool} for tool in tools])["g++"]


def test_it_is_used_where_all_machines_have_it() -> None:
    """And machines that lack it have the same compiler."""
    assert [tool.linker for tool in on_machines("gold 1", "gold 1")] == ["gold 1"]
    assert [tool.linker for tool in on_machines("gold 1", "")] == [""]
    assert [tool.linker for tool in on_machines("gold 1", "gold 2")] == [""]


def test_servers_with_several_compilers_share_a_linker() -> None:
    def report(version: str, linker: str) -> EndpointReport:
        tool = Toolchain(command="g++", path="g++", version=version, identity=version, linker=linker)
        return EndpointReport(
            url=version, architecture="x86_64", runtimes=("bash",), toolchains={"g++": tool}
        )

    for linkers, common in ((("gold 1", "gold 1"), "gold 1"), (("gold 1", ""), "")):
        profile = merged(map(report, ("11", "12"), linkers)).profile
        assert profile.toolchains["g++"].linker == common
        assert {tool.linker for tool in profile.offered("g++")} == {common}


@pytest.mark.long
def test_a_server_finds_what_an_engine_finds(tmp_path: Path) -> None:
    done = subprocess.run(["bash", "-c", LOOK], cwd=tmp_path, capture_output=True, text=True, check=False)
    for command in ("g++", "gcc"):
        assert seen(done.stdout)["toolchains"][command].linker == linking(command).linker


def test_a_server_tells_which_it_has() -> None:
    """Find no linker in a line that is cut off."""
    told = "tool gcc /usr/bin/gcc 12 0123\nlinker gcc 1.16 abc\n"
    for words, linker in ((told, "gold 1.16 abc"), (told.replace("linker gcc", "linker"), "")):
        assert seen(words)["toolchains"]["gcc"].linker == linker


@pytest.mark.parametrize(
    "fault",
    [
        'case "$*" in *-fuse-ld=*) exit 1;; esac',
        'case "$*" in *-fuse-ld=*) echo "ld.gold: warning: no" >&2;; esac',
        'for word; do case $word in */program) : > "$word"; chmod +x "$word"; exit 0;; esac; done',
    ],
    ids=["refuses", "has words", "makes what does not work"],
)
def test_one_that_fails_a_trial_is_none(tmp_path: Path, fault: str) -> None:
    found = find_compiler()
    assert found is not None
    tool, calls = noting(tmp_path, linking(), fault)
    assert quick_linker(tool) == "" and "-fuse-ld" in calls.read_text()


def test_a_machine_without_room_for_a_trial_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = linking()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    assert quick_linker(found) == ""


def test_a_trial_is_made_where_programs_may_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Temporary files often go where none may."""
    tool, calls = noting(tmp_path, linking())
    monkeypatch.setattr(toolchains, "is_noexec", lambda place: place == Path(tempfile.gettempdir()))
    quick_linker(tool)
    assert "-o /dev/shm/ioi-eval-" in calls.read_text()


def test_trials_that_were_killed_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each holds a static program, and where temporary files go may be memory."""
    tool, _ = noting(tmp_path, linking(), 'case "$*" in *-fuse-ld=*) exit 1;; esac')
    place = tmp_path / "temporary"
    monkeypatch.setattr("tempfile.tempdir", str(place))
    for name in ("ioi-eval-trial-killed", "ioi-eval-trial-under-way", "other"):
        (place / name).mkdir(parents=True)
        (place / name / "program").write_bytes(b"x")
        if name != "ioi-eval-trial-under-way":
            os.utime(place / name, (1e9, 1e9))
    quick_linker(tool)
    assert sorted(path.name for path in place.iterdir()) == ["ioi-eval-trial-under-way", "other"]


def test_machines_of_another_kind_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    found = linking()
    monkeypatch.setattr(toolchains, "MACHINE", "aarch64")
    assert quick_linker(found) == ""


async def test_rows_tell_which_it_was(store: Store) -> None:
    wanted = " ".join(linking().linker.split()[:2])
    source = submitted(SHORT + 'int main() { std::puts("built"); }\n')
    test = Test(name="1", input=Blob.of(""), answer=Blob.of("built\n"))
    problem = plain_problem(tests=(test,))
    for usual in (False, True):
        builds = BuildOptions(usual_linker=usual)
        async with Scorer(EmbeddedEngine(store=store, slots=1), store=store, builds=builds) as scorer:
            result = await scorer.score(problem, source)
        row = result_row(source, problem, result)
        assert row["linker"] == ("" if usual else wanted)
        assert row["compiler"].startswith("g++ ") and "gold" not in row["compiler"]
        assert result_of(row).linker == row["linker"]
        del row["linker"]  # as rows were before
        assert result_of(row).linker == ""


# --- the corpus and the examples ---------------------------------------------------------------------


def _ran(program: Path, given: bytes = b"3 1 2 3\n") -> tuple[int, bytes]:
    done = subprocess.run([program], input=given, capture_output=True, check=False, timeout=60)
    return done.returncode, done.stdout


def _object(folder: Path, text: str, *more: str) -> bytes:
    (folder / "source.cpp").write_text(text)
    command = [linking().path, "-I", FOLDER, *FLAGS, "-c", "-o", "source.o", "source.cpp", *more]
    subprocess.run(command, cwd=folder, check=True)
    return (folder / "source.o").read_bytes()


@pytest.mark.long
@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.cpp")), ids=lambda path: path.stem)
def test_programs_of_the_corpus_do_the_same(tmp_path: Path, shared: Path, path: Path) -> None:
    """Compare what both linkers make of the same object."""
    text, tool = path.read_text(), linking()
    header = tmp_path / header_name(recipe(text))
    header.parent.mkdir(parents=True)
    header.symlink_to(big_header(shared))
    assert recipe(text).any_linker
    _object(tmp_path, text)
    outcomes = list[tuple[int, bytes]]()
    for name, linker in (("quick", LINKING), ("usual", ())):
        command = [tool.path, *FLAGS, *linker, "-o", name, "source.o"]
        assert not subprocess.run(command, cwd=tmp_path, stderr=subprocess.PIPE, check=True).stderr
        assert is_golds(tmp_path / name) is (name == "quick")
        outcomes.append(_ran(tmp_path / name))
    if path.stem == "printf_scanf":  # its first line prints a pointer that is read before it is set
        outcomes = [(code, printed.partition(b"\n")[2]) for code, printed in outcomes]
    assert outcomes[0] == outcomes[1]


EVERY_ENDING = "relay"
GOOD = ("accepted", "correct", "model_solution", "partially_correct")


def _solutions(problem: Problem) -> Sequence[Submission]:
    """Return what is right, and what is partly; of one package all programs, which end in every way."""
    submissions, _ = of_packages({problem.id: problem})
    return [
        submission
        for submission in submissions
        if submission.language in ("c", "c++")
        and (problem.id == EVERY_ENDING or submission.row["expected"] in GOOD)
    ]


IN_PYTHON = {"calm", "postman"}
PACKAGES = sorted(package for package in PLACE.iterdir() if package.name not in IN_PYTHON)


@pytest.mark.long
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
async def test_solutions_of_the_examples_are_judged_alike(
    package: Path, tmp_path: Path, shared: Path, shared_cache: Path
) -> None:
    (problem,) = load_problems(package, cache=tmp_path / "cache").values()
    quick = await asyncio.to_thread(judged, problem.id, shared, shared_cache)
    store, submissions = Store(shared_cache), _solutions(problem)
    usual, every = BuildOptions(usual_linker=True), JudgeOptions(all_tests=True)
    async with Scorer(EmbeddedEngine(store=store), store=store, options=every, builds=usual) as scorer:
        for submission in submissions:
            found = await scorer.score(problem, submission), quick[submission.row["solution"]]
            # The store is everybody's: a program of the other linker would compare with itself.
            assert [bool(result.linker) for result in found if result.compiles] in ([False, True], [])
            (words, tests), others = (_told(result) for result in found)
            assert tests or not found[0].compiles
            assert (words, tests) == others
    assert submissions


def _told(result: SubmissionResult) -> tuple[str, Mapping[str, tuple[Verdict, float]]]:
    return result.compile_output, {test.test_name: (test.status, test.score) for test in result.tests}


@pytest.mark.long
def test_the_examples_have_every_ending(tmp_path: Path) -> None:
    problems = load_problems(PLACE, cache=tmp_path)
    assert sum(len(_solutions(problem)) for problem in problems.values()) > 45
    endings = {program.expected for program in problems[EVERY_ENDING].solutions}
    assert endings >= {
        "incorrect",
        "runtime_error",
        "time_limit",
        "memory_limit",
        "output_limit",
        "compile_error",
    }


def test_a_program_is_named_by_the_options_of_its_link_too(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = Toolchain(command="g++", path="g++", version="1", identity="1")
    before = artifact_key("submission", "x", tool, ("g++",), (), "gold 1")
    alone = artifact_key("submission", "x", tool, ("g++",), ())
    monkeypatch.setattr(contract, "LINKING", ("-fuse-ld=gold",))
    assert artifact_key("submission", "x", tool, ("g++",), (), "gold 1") != before
    assert artifact_key("submission", "x", tool, ("g++",), ()) == alone
